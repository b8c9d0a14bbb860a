//! Limits of every store, exactly at them and one above.

use std::time::Duration;

use tool_runtime::serde_json::{Value, json};
use tool_session::{
    EntryQuery, InMemoryStore, LeaseRequest, Retention, ScopedState, Session, SessionError, SessionExport,
    SessionFilter, SessionKey, SessionVersion, SessionWrite, SharedSessionStore,
};

use crate::contract::world::{StoreFactory, World, key, map, message, numbers};

/// Runs the tests over every store.
macro_rules! over_all_stores {
    ($($test:ident),+ $(,)?) => {
        mod in_memory {
            $(
                #[tokio::test]
                async fn $test() {
                    super::$test::<crate::in_memory::InMemory>().await;
                }
            )+
        }

        #[cfg(feature = "sqlite")]
        mod sqlite {
            $(
                #[tokio::test]
                async fn $test() {
                    super::$test::<crate::sqlite::Sqlite>().await;
                }
            )+
        }
    };
}

over_all_stores!(
    a_page_holds_exactly_its_bytes,
    a_page_has_at_most_10_000_entries,
    a_list_has_at_most_1000_sessions,
    a_value_has_at_most_100_levels,
    a_lease_lasts_at_most_100_years,
    a_session_without_a_lease_is_acquired_at_its_revision_only,
    only_the_last_write_is_repeated,
    all_entries_of_a_session_are_forked,
    retention_of_sessions_of_one_time_keeps_the_last_ids,
    retention_takes_a_session_when_its_lease_expires,
    unfinished_runs_of_one_time_are_listed_by_their_keys,
);

async fn session_of<F: StoreFactory>(texts: impl IntoIterator<Item = String>) -> World {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    let entries = texts.into_iter().map(|text| message("one", &text));
    world.sessions.write(&lease, &SessionWrite::new(0).entries(entries)).await.unwrap();
    world
}

async fn a_page_holds_exactly_its_bytes<F: StoreFactory>() {
    // Each body has 100 bytes, with its quotation marks.
    let world = session_of::<F>((0..4).map(|_| "x".repeat(98))).await;
    for (bytes, last, has_more) in
        [(0, 1, true), (199, 1, true), (200, 2, true), (299, 2, true), (300, 3, true), (400, 4, false)]
    {
        let query = EntryQuery::forward().limit_bytes(bytes);
        let page = world.sessions.entries(&key("s"), &query).await.unwrap();
        assert_eq!(
            (numbers(&page.entries), page.has_more),
            ((1..=last).collect(), has_more),
            "{bytes} bytes"
        );
    }
}

async fn a_page_has_at_most_10_000_entries<F: StoreFactory>() {
    let world = session_of::<F>((0..10_001).map(|_| String::new())).await;
    for (query, count) in [
        (EntryQuery::forward(), EntryQuery::DEFAULT_ENTRIES),
        (EntryQuery::forward().limit(9999), 9999),
        (EntryQuery::forward().limit(10_000), 10_000),
        (EntryQuery::forward().limit(10_001), 10_000),
        (EntryQuery::backward().limit(usize::MAX), 10_000),
        (EntryQuery::backward().limit(0), 1),
    ] {
        let page = world.sessions.entries(&key("s"), &query).await.unwrap();
        assert_eq!((page.entries.len(), page.has_more), (count, true), "{query:?}");
        let next = query.clone().next(&page).unwrap();
        let rest = world.sessions.entries(&key("s"), &next).await.unwrap();
        let step = rest.entries[0].number.abs_diff(page.entries[count - 1].number);
        assert_eq!(step, 1, "{query:?}");
    }
    let last = EntryQuery::forward().after(1).limit(10_000);
    let page = world.sessions.entries(&key("s"), &last).await.unwrap();
    assert_eq!((page.entries.len(), page.has_more, last.next(&page)), (10_000, false, None));
}

async fn a_list_has_at_most_1000_sessions<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let exports: Vec<_> = (0..1001).map(|at| export(&key(&at.to_string()))).collect();
    world.sessions.import(&exports).await.unwrap();
    for (filter, count) in [
        (SessionFilter::new("shop"), 100),
        (SessionFilter::new("shop").limit(0), 1),
        (SessionFilter::new("shop").limit(1000), 1000),
        (SessionFilter::new("shop").limit(1001), 1000),
        (SessionFilter::new("shop").of_user("u-7").limit(usize::MAX), 1000),
    ] {
        assert_eq!(world.sessions.list(&filter).await.unwrap().len(), count, "{filter:?}");
    }
}

fn export(key: &SessionKey) -> SessionExport {
    let session = Session::new(key.clone(), std::time::UNIX_EPOCH);
    SessionExport { session, state: map(json!({})), entries: Vec::new() }
}

async fn a_value_has_at_most_100_levels<F: StoreFactory>() {
    type Wrap = fn(Value) -> Value;
    let nested = |levels: usize, wrap: Wrap| (0..levels).fold(json!(1), |it, _| wrap(it));
    let (list, object): (Wrap, Wrap) = (|it| json!([it]), |it| json!({ "a": it }));
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "run").await.unwrap();
    let mut revision = 0;
    for name in ["a", "user:a", "app:a"] {
        for wrap in [list, object] {
            let change = |levels| map(json!({ name: nested(levels, wrap), "z": 1 }));
            let write = |levels| SessionWrite::new(revision).changes(change(levels));
            let error = world.sessions.write(&lease, &write(101)).await.unwrap_err();
            assert_eq!(error.to_string(), "a value of the state is nested more than 100 levels deep");
            world.sessions.write(&lease, &write(100)).await.unwrap();
            revision += 1;
        }
    }
    for (levels, is_imported) in [(101, false), (100, true)] {
        let state = map(json!({ "a": nested(levels, list) }));
        let export = SessionExport { state, ..export(&key("imported")) };
        assert_eq!(world.sessions.import(&[export]).await.is_ok(), is_imported, "{levels}");
    }
}

async fn a_lease_lasts_at_most_100_years<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let now = world.time.clock().now();
    let longest = Duration::from_secs(100 * 365 * 86_400);
    for (duration, expected) in [
        (LeaseRequest::DEFAULT_DURATION, Duration::from_secs(30)),
        (Duration::MAX, longest),
        (longest - Duration::from_millis(1), longest - Duration::from_millis(1)),
        (Duration::from_micros(2999), Duration::from_millis(2)),
    ] {
        let request = LeaseRequest::new("one", "one").for_duration(duration);
        let lease = world.sessions.acquire(&key("s"), &request).await.unwrap().lease;
        assert_eq!(lease.expires_at.duration_since(now).unwrap(), expected);
        assert_eq!(world.sessions.renew(&lease).await.unwrap(), lease);
    }
    let ends_at_once = LeaseRequest::new("one", "one").for_duration(Duration::ZERO);
    world.sessions.acquire(&key("s"), &ends_at_once).await.unwrap();
    world.acquire(&key("s"), "two").await.unwrap();
}

async fn a_session_without_a_lease_is_acquired_at_its_revision_only<F: StoreFactory>() {
    let world = World::new::<F>().await;
    world.session(&key("s"), &["a"]).await;
    world.sessions.fork(&key("s"), 1, "fork").await.unwrap();
    let at = |revision| LeaseRequest::new("one", "one").at_revision(revision);
    for expected in [0, 2] {
        let error = world.sessions.acquire(&key("fork"), &at(expected)).await.unwrap_err();
        assert_eq!(error, SessionError::RevisionChanged { expected, revision: 1 });
    }
    let grant = world.sessions.acquire(&key("fork"), &at(1)).await.unwrap();
    assert_eq!((grant.session.revision, grant.usage, grant.interrupted), (1, None, None));
}

async fn only_the_last_write_is_repeated<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    let changed = |expected, revision| SessionError::RevisionChanged { expected, revision };
    let empty = SessionWrite::new(0).title("One");
    world.sessions.write(&lease, &empty).await.unwrap();
    // Without entries, it cannot be told from another one.
    assert_eq!(world.sessions.write(&lease, &empty).await.unwrap_err(), changed(0, 1));
    let step = |revision, texts: &[&str]| {
        SessionWrite::new(revision).entries(texts.iter().map(|text| message("one", text)))
    };
    world.sessions.write(&lease, &step(1, &["a"])).await.unwrap();
    let last = world.sessions.write(&lease, &step(2, &["a"])).await.unwrap();
    assert_eq!(last, SessionVersion { revision: 3, entries: 2 });
    // An earlier one has the same entries as the last.
    assert_eq!(world.sessions.write(&lease, &step(1, &["a"])).await.unwrap_err(), changed(1, 3));
    for other in [step(2, &["b"]), step(2, &["a", "a", "a"]), step(2, &[])] {
        assert_eq!(world.sessions.write(&lease, &other).await.unwrap_err(), changed(2, 3));
    }
    assert_eq!(
        world.sessions.write(&lease, &step(u64::MAX, &["a"])).await.unwrap_err(),
        changed(u64::MAX, 3)
    );
    assert_eq!(world.texts(&key("s")).await, ["a", "a"]);
}

async fn all_entries_of_a_session_are_forked<F: StoreFactory>() {
    let world = World::new::<F>().await;
    world.session(&key("s"), &["a", "b"]).await;
    world.time.pass(7);
    let fork = world.sessions.fork(&key("s"), 2, "fork").await.unwrap();
    let now = world.time.clock().now();
    assert_eq!((fork.entries, fork.created_at, fork.updated_at, fork.title), (2, now, now, None));
    assert_eq!(world.texts(&key("fork")).await, ["a", "b"]);
    let error = world.sessions.fork(&key("s"), 3, "other").await.unwrap_err();
    assert_eq!(error.to_string(), "the session has 2 entries, and cannot be forked at entry 3");
}

async fn retention_of_sessions_of_one_time_keeps_the_last_ids<F: StoreFactory>() {
    let world = World::new::<F>().await;
    for id in ["b", "c", "a"] {
        world.session(&key(id), &["x"]).await;
    }
    // Nothing is as old as that.
    let old = Retention::new("shop").max_age(Duration::MAX);
    assert_eq!(world.sessions.prune(&old).await.unwrap(), 0);
    assert_eq!(world.sessions.prune(&Retention::new("shop").max_sessions(3)).await.unwrap(), 0);
    assert_eq!(world.sessions.prune(&Retention::new("other").max_sessions(0)).await.unwrap(), 0);
    assert_eq!(world.sessions.prune(&Retention::new("shop").max_sessions(2)).await.unwrap(), 1);
    let listed = world.sessions.list(&SessionFilter::new("shop")).await.unwrap();
    assert_eq!(listed.iter().map(|it| it.key.id()).collect::<Vec<_>>(), ["c", "b"]);
    // A session that is old and surplus is counted once.
    world.time.pass(10);
    let both = Retention::new("shop").max_sessions(1).max_age(Duration::from_secs(9));
    assert_eq!(world.sessions.prune(&both).await.unwrap(), 2);
}

async fn retention_takes_a_session_when_its_lease_expires<F: StoreFactory>() {
    let world = World::new::<F>().await;
    world.acquire(&key("s"), "one").await.unwrap();
    let none = Retention::new("shop").max_sessions(0);
    for (seconds, pruned) in [(29, 0), (1, 1)] {
        world.time.pass(seconds);
        assert_eq!(world.sessions.prune(&none).await.unwrap(), pruned, "after {seconds} more seconds");
    }
}

async fn unfinished_runs_of_one_time_are_listed_by_their_keys<F: StoreFactory>() {
    let world = World::new::<F>().await;
    for id in ["c", "a", "b"] {
        world.acquire(&key(id), id).await.unwrap();
    }
    let other = SessionKey::new("shop", "u-1", "z").unwrap();
    world.acquire(&other, "z").await.unwrap();
    for (seconds, runs) in [(29, &[][..]), (1, &["z", "a", "b", "c"])] {
        world.time.pass(seconds);
        let unfinished = world.sessions.unfinished("shop").await.unwrap();
        let found: Vec<_> = unfinished.iter().map(|it| it.run.to_string()).collect();
        assert_eq!(found, runs);
    }
}

// The rest is about the store in memory, which forgets.

async fn ids(sessions: &SharedSessionStore) -> Vec<String> {
    let listed = sessions.list(&SessionFilter::new("shop")).await.unwrap();
    listed.iter().map(|it| it.key.id().to_owned()).collect()
}

/// A store of at most four sessions, with `a` to `d`, which were changed in this order.
async fn full_store() -> (World, SharedSessionStore) {
    let mut world = World::new::<crate::in_memory::InMemory>().await;
    let store = InMemoryStore::new().with_max_sessions(4).with_clock(world.time.clock());
    world.sessions = store.into();
    for id in ["a", "b", "c", "d"] {
        world.session(&key(id), &[id]).await;
        world.time.pass(1);
    }
    let sessions = world.sessions.clone();
    (world, sessions)
}

#[tokio::test]
async fn new_sessions_displace_those_that_were_changed_first() {
    let (world, sessions) = full_store().await;
    assert_eq!(ids(&sessions).await, ["d", "c", "b", "a"]);
    world.session(&key("e"), &["e"]).await;
    assert_eq!(ids(&sessions).await, ["e", "d", "c", "b"]);
    world.time.pass(1);
    sessions.fork(&key("e"), 1, "f").await.unwrap();
    assert_eq!(ids(&sessions).await, ["f", "e", "d", "c"]);
    let exports = [export(&key("g")), export(&key("h"))];
    sessions.import(&exports).await.unwrap();
    assert_eq!(ids(&sessions).await, ["f", "e", "h", "g"]);
}

#[tokio::test]
async fn a_session_in_use_is_displaced_by_none() {
    let (world, sessions) = full_store().await;
    for id in ["a", "b", "c"] {
        world.acquire(&key(id), "long").await.unwrap();
    }
    let full = SessionError::Full { max_sessions: 4 };
    let two = [export(&key("g")), export(&key("h"))];
    assert_eq!(sessions.import(&two).await.unwrap_err(), full);
    assert_eq!(ids(&sessions).await, ["d", "c", "b", "a"]);
    sessions.import(&two[..1]).await.unwrap();
    assert_eq!(ids(&sessions).await, ["c", "b", "a", "g"]);
    // An imported session has no lease; a lease that expired protects none.
    world.time.pass(30);
    sessions.import(&two[1..]).await.unwrap();
    assert_eq!(ids(&sessions).await, ["c", "b", "a", "h"]);
    world.acquire(&key("h"), "long").await.unwrap();
    world.session(&key("i"), &["i"]).await;
    assert_eq!(ids(&sessions).await, ["i", "c", "b", "h"]);
}

#[test]
fn a_state_is_empty_if_all_its_scopes_are() {
    assert!(ScopedState::default().is_empty());
    for name in ["a", "user:a", "app:a"] {
        let state = ScopedState::from_changes(map(json!({ name: 1, "temp:a": 2 })));
        assert!(!state.is_empty(), "{name}");
        assert_eq!(json!(state.merged()), json!({ name: 1 }));
        let mut changed = state.clone();
        changed.apply(&ScopedState::from_changes(map(json!({ name: null, "user:b": 1 }))));
        assert_eq!(json!(changed.merged()), json!({ "user:b": 1 }), "{name}");
    }
    assert!(ScopedState::from_changes(map(json!({ "temp:a": 1 }))).is_empty());
}
