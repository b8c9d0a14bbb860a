//! Export and import.

use tool_runtime::serde_json::json;
use tool_session::{EntryQuery, SessionError, SessionWrite, jsonl};

use super::world::{StoreFactory, World, key, map, message};

pub(crate) async fn an_imported_session_equals_the_exported_one<F: StoreFactory>() {
    let (world, other) = (World::new::<F>().await, World::new::<F>().await);
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    let write = SessionWrite::new(0)
        .entries(["a", "line\nbreak"].map(|text| message("one", text).with_view("v")))
        .changes(map(json!({ "own": 1.5, "user:a": 1 })))
        .title("Sums");
    world.sessions.write(&lease, &write).await.unwrap();
    world.sessions.fork(&key("s"), 1, "fork").await.unwrap();

    let exports =
        [world.sessions.export(&key("s")).await.unwrap(), world.sessions.export(&key("fork")).await.unwrap()];
    let read = jsonl::from_jsonl(&jsonl::to_jsonl(&exports).unwrap()).unwrap();
    assert_eq!(read, exports);
    other.sessions.import(&read).await.unwrap();
    for id in ["s", "fork"] {
        assert_eq!(
            other.sessions.export(&key(id)).await.unwrap(),
            world.sessions.export(&key(id)).await.unwrap()
        );
    }
    let state = other.sessions.load(&key("s")).await.unwrap().unwrap().state;
    assert_eq!(json!(state.merged()), json!({ "own": 1.5 }));
    // The imported session goes on; a lease of the original is none of its.
    other.sessions.renew(&lease).await.unwrap_err();
    let lease = other.acquire(&key("s"), "two").await.unwrap();
    other.write(&lease, &["c"]).await.unwrap();
    assert_eq!(other.entries(&key("s"), EntryQuery::forward()).await.len(), 3);
}

pub(crate) async fn an_import_is_all_or_nothing<F: StoreFactory>() {
    let world = World::new::<F>().await;
    world.session(&key("a"), &["x"]).await;
    world.session(&key("b"), &["y"]).await;
    let exports =
        [world.sessions.export(&key("a")).await.unwrap(), world.sessions.export(&key("b")).await.unwrap()];
    world.sessions.delete(&key("a")).await.unwrap();
    let error = world.sessions.import(&exports).await.unwrap_err();
    assert_eq!(error, SessionError::Exists(Box::new(key("b"))));
    assert_eq!(world.sessions.load(&key("a")).await.unwrap(), None);

    let twice = [exports[0].clone(), exports[0].clone()];
    let error = world.sessions.import(&twice).await.unwrap_err();
    assert!(error.to_string().contains("two exports"), "{error}");
    let mut gap = exports[0].clone();
    gap.entries[0].number = 2;
    let error = world.sessions.import(&[gap]).await.unwrap_err();
    assert!(error.to_string().contains("not numbered"), "{error}");
    assert_eq!(world.sessions.load(&key("a")).await.unwrap(), None);
}

pub(crate) async fn a_large_session_is_exported_whole<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    for revision in 0..3 {
        let entries = (0..4000).map(|number| message("one", &number.to_string()));
        world.sessions.write(&lease, &SessionWrite::new(revision).entries(entries)).await.unwrap();
    }
    let export = world.sessions.export(&key("s")).await.unwrap();
    assert_eq!(export.entries.len(), 12_000);
}
