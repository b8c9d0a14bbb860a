//! Deletion and retention.

use std::time::Duration;

use tool_runtime::serde_json::json;
use tool_session::{LeaseRequest, Retention, SessionError, SessionFilter, SessionKey, SessionWrite};

use super::world::{StoreFactory, World, key, map, message};

pub(crate) async fn a_deleted_session_is_gone_and_its_run_writes_nothing<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let lease = world.acquire(&key("s"), "one").await.unwrap();
    world.write(&lease, &["a"]).await.unwrap();
    assert!(world.sessions.delete(&key("s")).await.unwrap());
    assert!(!world.sessions.delete(&key("s")).await.unwrap());
    let write = SessionWrite::new(1).entry(message("one", "b"));
    for error in [
        world.sessions.write(&lease, &write).await.unwrap_err(),
        world.sessions.renew(&lease).await.unwrap_err(),
        world.sessions.release(&lease).await.unwrap_err(),
    ] {
        assert_eq!(error, SessionError::NotFound(Box::new(key("s"))));
    }
    assert_eq!(world.sessions.load(&key("s")).await.unwrap(), None);
    assert_eq!(world.texts(&key("s")).await.len(), 0);
}

pub(crate) async fn a_session_made_again_is_not_the_one_before<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let before = world.acquire(&key("s"), "one").await.unwrap();
    world.write(&before, &["a"]).await.unwrap();
    world.sessions.delete(&key("s")).await.unwrap();
    let again = world.acquire(&key("s"), "one").await.unwrap();
    assert!(again.epoch > before.epoch);
    assert_eq!(world.texts(&key("s")).await.len(), 0);
    let error = world.write(&before, &["late"]).await.unwrap_err();
    assert_eq!(error, SessionError::Superseded { run: "one".into() });
}

pub(crate) async fn a_deleted_user_leaves_nothing<F: StoreFactory>() {
    let world = World::new::<F>().await;
    for user in ["u-7", "u-8", "U-7", ""] {
        for id in ["a", "b"] {
            let key = SessionKey::new("shop", user, id).unwrap();
            let lease = world.acquire(&key, "run").await.unwrap();
            let changes = map(json!({ "user:a": 1, "app:a": 1 }));
            let write = SessionWrite::new(0).entry(message("run", "x")).changes(changes);
            world.sessions.write(&lease, &write).await.unwrap();
        }
    }
    assert_eq!(world.sessions.delete_user("shop", "u-7").await.unwrap(), 2);
    assert_eq!(world.sessions.delete_user("shop", "u-7").await.unwrap(), 0);
    let left = world.sessions.list(&SessionFilter::new("shop")).await.unwrap();
    assert_eq!(left.len(), 6);
    assert!(left.iter().all(|session| session.key.user() != "u-7"));
    world.session(&key("a"), &[]).await;
    let state = world.sessions.load(&key("a")).await.unwrap().unwrap().state;
    assert_eq!(json!(state.merged()), json!({ "app:a": 1 }));
    assert_eq!(world.texts(&key("a")).await.len(), 0);
}

pub(crate) async fn retention_keeps_young_and_last_changed_sessions<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let foreign = SessionKey::new("shop", "u-8", "a").unwrap();
    let elsewhere = SessionKey::new("other", "u-7", "a").unwrap();
    for key in [&foreign, &elsewhere, &key("a"), &key("b"), &key("c")] {
        world.session(key, &["x"]).await;
        world.time.pass(10);
    }
    let ids = async || {
        let sessions = world.sessions.list(&SessionFilter::new("shop").of_user("u-7")).await.unwrap();
        sessions.iter().map(|session| session.key.id().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(world.sessions.prune(&Retention::new("shop")).await.unwrap(), 0);
    assert_eq!(world.sessions.prune(&Retention::new("shop").max_sessions(2)).await.unwrap(), 1);
    assert_eq!(ids().await, ["c", "b"]);
    let young = Retention::new("shop").max_age(Duration::from_secs(10));
    assert_eq!(world.sessions.prune(&young).await.unwrap(), 2);
    assert_eq!(ids().await, ["c"]);
    assert_eq!(world.sessions.prune(&Retention::new("shop").max_sessions(0)).await.unwrap(), 1);
    assert_eq!(world.texts(&elsewhere).await, ["x"]);
}

pub(crate) async fn retention_keeps_a_session_whose_run_is_alive<F: StoreFactory>() {
    let world = World::new::<F>().await;
    world.acquire(&key("alive"), "one").await.unwrap();
    world.session(&key("ended"), &["x"]).await;
    let none = Retention::new("shop").max_sessions(0);
    assert_eq!(world.sessions.prune(&none).await.unwrap(), 1);
    assert!(world.sessions.load(&key("alive")).await.unwrap().is_some());
    world.time.pass(31);
    assert_eq!(world.sessions.prune(&none).await.unwrap(), 1);
}

/// Each operation is refused for its reason, or takes effect: none fails since it waits for another one.
pub(crate) async fn a_user_is_deleted_while_runs_write<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let writers = (0..12).map(|number| {
        let sessions = world.sessions.clone();
        tokio::spawn(async move {
            let (key, name) = (key(&format!("s-{}", number % 6)), format!("run {number}"));
            for _ in 0..10 {
                let grant = match sessions.acquire(&key, &LeaseRequest::new(&*name, &*name)).await {
                    Ok(grant) => grant,
                    Err(SessionError::Busy { .. }) => continue,
                    Err(error) => panic!("{error}"),
                };
                let changes = map(json!({ "user:a": { &*name: 1 }, "app:a": { &*name: 1 } }));
                let write =
                    SessionWrite::new(grant.session.revision).entry(message(&name, "x")).changes(changes);
                match sessions.write(&grant.lease, &write.end_of_run()).await {
                    Ok(_) | Err(SessionError::NotFound(_) | SessionError::Superseded { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        })
    });
    let deletions = (0..4).map(|number| {
        let sessions = world.sessions.clone();
        tokio::spawn(async move {
            for _ in 0..10 {
                if number % 2 == 0 {
                    sessions.delete_user("shop", "u-7").await.unwrap();
                } else {
                    sessions.prune(&Retention::new("shop").max_sessions(1)).await.unwrap();
                }
            }
        })
    });
    for task in writers.chain(deletions).collect::<Vec<_>>() {
        task.await.unwrap();
    }
    world.sessions.delete_user("shop", "u-7").await.unwrap();
    assert_eq!(world.sessions.list(&SessionFilter::new("shop")).await.unwrap(), []);
}
