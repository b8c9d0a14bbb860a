//! Writes: one transaction for each step of a run.

use tool_runtime::serde_json::json;
use tool_session::{
    EntryContent, EntryQuery, JsonText, LeaseRequest, SessionError, SessionVersion, SessionWrite,
};

use super::world::{StoreFactory, World, key, map, message};

pub(crate) async fn a_write_is_one_transaction<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let grant = world.sessions.acquire(&key("s"), &LeaseRequest::new("one", "one")).await.unwrap();
    assert_eq!((grant.session.revision, grant.session.entries), (0, 0));
    assert!(grant.state.is_empty());
    world.time.pass(5);
    let write = SessionWrite::new(0)
        .entries([message("one", "a"), message("one", "b")])
        .changes(map(json!({ "plan": "pro", "user:n": 1, "app:n": 2 })))
        .title("Sums");
    let version = world.sessions.write(&grant.lease, &write).await.unwrap();
    assert_eq!(version, SessionVersion { revision: 1, entries: 2 });
    let snapshot = world.sessions.load(&key("s")).await.unwrap().unwrap();
    let session = &snapshot.session;
    assert_eq!((session.revision, session.entries, session.title.as_deref()), (1, 2, Some("Sums")));
    assert_eq!(session.updated_at.duration_since(session.created_at).unwrap().as_secs(), 5);
    assert_eq!(json!(snapshot.state.merged()), json!({ "plan": "pro", "user:n": 1, "app:n": 2 }));

    // A write that is refused changes nothing of all this.
    let late =
        SessionWrite::new(7).entry(message("one", "c")).changes(map(json!({ "plan": "free" }))).title("No");
    world.sessions.write(&grant.lease, &late).await.unwrap_err();
    assert_eq!(world.sessions.load(&key("s")).await.unwrap().unwrap(), snapshot);
    assert_eq!(world.texts(&key("s")).await, ["a", "b"]);
}

pub(crate) async fn a_write_for_another_revision_is_refused<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    world.write(&lease, &["a"]).await.unwrap();
    let write = SessionWrite::new(0).entry(message("one", "b"));
    let error = world.sessions.write(&lease, &write).await.unwrap_err();
    assert_eq!(error, SessionError::RevisionChanged { expected: 0, revision: 1 });
    assert_eq!(world.texts(&key("s")).await, ["a"]);
}

pub(crate) async fn a_repeated_write_is_stored_once<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    // Its answer was lost, for example since the connection was.
    let write = SessionWrite::new(0).entries([message("one", "a"), message("one", "b")]).end_of_run();
    let version = world.sessions.write(&lease, &write).await.unwrap();
    assert_eq!(world.sessions.write(&lease, &write).await.unwrap(), version);
    assert_eq!(world.texts(&key("s")).await, ["a", "b"]);
}

pub(crate) async fn the_end_of_a_run_ends_its_lease<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    let write = SessionWrite::new(0).entry(message("one", "a")).end_of_run();
    world.sessions.write(&lease, &write).await.unwrap();
    let ended = world.write(&lease, &["late"]).await.unwrap_err();
    assert!(ended.to_string().contains("has ended"), "{ended}");
    world.sessions.renew(&lease).await.unwrap_err();
    world.acquire(&key("s"), "two").await.unwrap();
}

pub(crate) async fn an_entry_of_64_megabytes_is_refused<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    let error = JsonText::of(&"x".repeat(64 << 20)).unwrap_err();
    assert!(error.to_string().contains("at most 16777216 bytes (16 MiB)"), "{error}");
    let largest = "x".repeat(JsonText::MAX_BYTES - 2);
    let many = SessionWrite::new(0).entries((0..5).map(|_| message("one", &largest)));
    let error = world.sessions.write(&lease, &many).await.unwrap_err();
    assert!(error.to_string().contains("at most 67108864 bytes (64 MiB)"), "{error}");
    world.write(&lease, &[&largest]).await.unwrap();
    assert_eq!(world.texts(&key("s")).await, [largest]);
}

pub(crate) async fn many_sessions_are_written_at_once<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let tasks = (0..40).map(|session| {
        let sessions = world.sessions.clone();
        tokio::spawn(async move {
            let key = key(&format!("s-{session}"));
            let grant = sessions.acquire(&key, &LeaseRequest::new("run", "holder")).await.unwrap();
            for step in 0..5_u64 {
                let name = format!("user:{session}");
                let write = SessionWrite::new(step)
                    .entries((0..3).map(|_| message("run", &format!("{session} {step}"))))
                    .changes(map(json!({ name: step, "app:sum": { session.to_string(): step } })));
                sessions.write(&grant.lease, &write).await.unwrap();
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.unwrap();
    }
    for session in 0..40 {
        let texts = world.texts(&key(&format!("s-{session}"))).await;
        let expected = (0..5).flat_map(|step| (0..3).map(move |_| format!("{session} {step}")));
        assert_eq!(texts, expected.collect::<Vec<_>>());
    }
    let state = world.sessions.load(&key("s-0")).await.unwrap().unwrap().state;
    assert_eq!((state.user.len(), state.app["app:sum"].as_object().unwrap().len()), (40, 40));
}

pub(crate) async fn a_write_without_entries_changes_title_and_revision<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    let version = world.sessions.write(&lease, &SessionWrite::new(0).title("One")).await.unwrap();
    assert_eq!(version, SessionVersion { revision: 1, entries: 0 });
    world.sessions.write(&lease, &SessionWrite::new(1)).await.unwrap();
    let session = world.sessions.load(&key("s")).await.unwrap().unwrap().session;
    assert_eq!((session.revision, session.title.as_deref()), (2, Some("One")));
}

pub(crate) async fn a_removed_view_keeps_the_numbers_of_its_entries_and_nothing_else<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    let of_view = |text: &str, view: &str| message("one", text).with_view(view).with_agent("clerk");
    let write = SessionWrite::new(0).entries([
        message("one", "root"),
        of_view("a", "%_"),
        of_view("below a", "%_/b"),
        of_view("beside a", "%_b"),
        of_view("like a", "xy/b"),
        of_view("above a", "%"),
    ]);
    world.sessions.write(&lease, &write).await.unwrap();
    let other = world.acquire(&key("t"), "one").await.unwrap();
    world.sessions.write(&other, &SessionWrite::new(0).entry(of_view("other", "%_"))).await.unwrap();
    let before = world.entries(&key("s"), EntryQuery::forward()).await;
    // An entry that the same write adds stays.
    let write = SessionWrite::new(1).remove_views(["%_", "missing"]).entry(of_view("again", "%_"));
    let version = world.sessions.write(&lease, &write).await.unwrap();
    assert_eq!(version, SessionVersion { revision: 2, entries: 7 });
    // Its answer was lost.
    assert_eq!(world.sessions.write(&lease, &write).await.unwrap(), version);

    let after = world.entries(&key("s"), EntryQuery::forward()).await;
    for (entry, removed) in after.iter().zip([false, true, true, false, false, false]) {
        let number = usize::try_from(entry.number).unwrap();
        let mut expected = before[number - 1].clone();
        if removed {
            expected.content.kind = EntryContent::REMOVED.into();
            expected.content.body = JsonText::new("null").unwrap();
        }
        assert_eq!(*entry, expected);
    }
    assert_eq!((after.len(), after[6].content.body.as_str()), (7, "\"again\""));
    let texts = world.entries(&key("s"), EntryQuery::forward().of_kind(EntryContent::MESSAGE)).await;
    assert_eq!(texts.len(), 5);
    assert_eq!(world.texts(&key("t")).await, ["other"]);
    // The session is exported, and forked, with what remains.
    let export = world.sessions.export(&key("s")).await.unwrap();
    assert_eq!(export.entries, after);
    assert_eq!(world.sessions.fork(&key("s"), 3, "u").await.unwrap().entries, 3);
    assert_eq!(world.entries(&key("u"), EntryQuery::forward()).await, after[..3]);
}

pub(crate) async fn a_write_that_is_refused_removes_no_view<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    let entry = message("one", "a").with_view("v");
    world.sessions.write(&lease, &SessionWrite::new(0).entry(entry)).await.unwrap();
    let before = world.entries(&key("s"), EntryQuery::forward()).await;
    world.sessions.write(&lease, &SessionWrite::new(0).remove_views(["v"])).await.unwrap_err();
    let error = world.sessions.write(&lease, &SessionWrite::new(1).remove_views([""])).await.unwrap_err();
    assert!(error.to_string().contains("the view key of removed entries is empty; name the view"), "{error}");
    let long = SessionWrite::new(1).remove_views(["v".repeat(10_000)]);
    assert!(matches!(world.sessions.write(&lease, &long).await, Err(SessionError::Invalid(_))));
    assert_eq!(world.entries(&key("s"), EntryQuery::forward()).await, before);
}
