//! Forks.

use tool_runtime::serde_json::json;
use tool_session::{EntryQuery, SessionError, SessionWrite};

use super::world::{StoreFactory, World, key, map, message};

pub(crate) async fn a_fork_shares_entries_and_goes_on_by_itself<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    let write = SessionWrite::new(0)
        .entries(["a", "b", "c"].map(|text| message("one", text)))
        .changes(map(json!({ "own": 1, "user:a": 1 })))
        .title("Sums");
    world.sessions.write(&lease, &write).await.unwrap();

    // The lease of the original, whose run is alive, stays with the original.
    let fork = world.sessions.fork(&key("s"), 2, "fork").await.unwrap();
    assert_eq!((fork.revision, fork.entries, fork.title.as_deref()), (1, 2, Some("Sums")));
    let origin = fork.origin.as_ref().unwrap();
    assert_eq!((origin.id.as_ref(), origin.entry), ("s", 2));
    let snapshot = world.sessions.load(&key("fork")).await.unwrap().unwrap();
    assert_eq!((&snapshot.session, json!(snapshot.state.merged())), (&fork, json!({ "user:a": 1 })));
    let originals = world.entries(&key("s"), EntryQuery::forward().before(3)).await;
    assert_eq!(world.entries(&key("fork"), EntryQuery::forward()).await, originals);

    let forked = world.acquire(&key("fork"), "two").await.unwrap();
    world.write(&forked, &["d"]).await.unwrap();
    world.write(&lease, &["e"]).await.unwrap();
    assert_eq!(world.texts(&key("fork")).await, ["a", "b", "d"]);
    world.sessions.delete(&key("s")).await.unwrap();
    assert_eq!(world.texts(&key("fork")).await, ["a", "b", "d"]);

    let empty = world.sessions.fork(&key("fork"), 0, "empty").await.unwrap();
    assert_eq!((empty.entries, world.texts(&key("empty")).await.len()), (0, 0));
}

pub(crate) async fn a_fork_of_a_missing_entry_is_refused<F: StoreFactory>() {
    let world = World::new::<F>().await;
    world.session(&key("s"), &["a"]).await;
    let error = world.sessions.fork(&key("s"), 2, "fork").await.unwrap_err();
    assert!(error.to_string().contains("has 1 entries"), "{error}");
    let error = world.sessions.fork(&key("no"), 0, "fork").await.unwrap_err();
    assert!(matches!(error, SessionError::NotFound(_)));
    let error = world.sessions.fork(&key("s"), 1, "s").await.unwrap_err();
    assert!(matches!(error, SessionError::Exists(_)));
    assert_eq!(world.sessions.load(&key("fork")).await.unwrap(), None);
}
