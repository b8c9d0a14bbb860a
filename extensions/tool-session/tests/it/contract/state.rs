//! State by its lifetime. // V01, V05

use tool_runtime::serde_json::{Value, json};
use tool_session::{SessionKey, SessionWrite};

use super::world::{StoreFactory, World, key, map};

impl World {
    /// Applies changes of state in a run of its own.
    async fn change(&self, key: &SessionKey, changes: Value) {
        let lease = self.acquire(key, "run").await.unwrap();
        let revision = self.revision(key).await;
        let write = SessionWrite::new(revision).changes(map(changes)).end_of_run();
        self.sessions.write(&lease, &write).await.unwrap();
    }

    async fn state(&self, key: &SessionKey) -> Value {
        json!(self.sessions.load(key).await.unwrap().unwrap().state.merged())
    }
}

pub(crate) async fn changes_are_merged_by_scope<F: StoreFactory>() {
    let world = World::new::<F>().await;
    world
        .change(&key("s"), json!({ "a": { "x": 1, "z": 1 }, "user:a": 1, "app:a": { "x": 1 }, "_b": 1 }))
        .await;
    world
        .change(&key("s"), json!({ "a": { "y": 2, "z": null }, "user:a": null, "app:a": { "y": [null] } }))
        .await;
    let expected = json!({ "a": { "x": 1, "y": 2 }, "_b": 1, "app:a": { "x": 1, "y": [null] } });
    assert_eq!(world.state(&key("s")).await, expected); // V03
}

pub(crate) async fn values_of_a_run_are_not_stored<F: StoreFactory>() {
    let world = World::new::<F>().await;
    world.change(&key("s"), json!({ "temp:page": 2, "_cursor": 7 })).await;
    assert_eq!(world.state(&key("s")).await, json!({ "_cursor": 7 })); // V05
}

pub(crate) async fn changes_of_two_sessions_are_merged<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let foreign = SessionKey::new("shop", "u-8", "s").unwrap();
    let elsewhere = SessionKey::new("other app", "u-7", "s").unwrap();
    world.change(&key("one"), json!({ "own": 1, "user:a": 1, "app:a": 1 })).await;
    world.change(&key("two"), json!({ "own": 2, "user:b": 2, "app:b": 2 })).await;
    world.change(&foreign, json!({ "user:a": 3 })).await;
    world.change(&elsewhere, json!({ "user:z": 4 })).await;
    let shared = json!({ "own": 1, "user:a": 1, "user:b": 2, "app:a": 1, "app:b": 2 });
    assert_eq!(world.state(&key("one")).await, shared); // V05
    assert_eq!(world.state(&foreign).await, json!({ "user:a": 3, "app:a": 1, "app:b": 2 }));
    assert_eq!(world.state(&elsewhere).await, json!({ "user:z": 4 }));
}

pub(crate) async fn a_scope_has_at_most_16_mib<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let half = "x".repeat(9 << 20);
    for prefix in ["", "user:", "app:"] {
        let names = [format!("{prefix}a"), format!("{prefix}b")];
        world.change(&key("s"), json!({ &names[0]: half })).await;
        let before = world.state(&key("s")).await;
        let lease = world.acquire(&key("s"), "run").await.unwrap();
        let write = SessionWrite::new(world.revision(&key("s")).await)
            .changes(map(json!({ "n": 1, &names[1]: half })));
        let error = world.sessions.write(&lease, &write).await.unwrap_err();
        assert!(error.to_string().contains("(16 MiB)"), "{prefix} {error}");
        assert_eq!(world.state(&key("s")).await, before, "nothing is changed");
        world.sessions.release(&lease).await.unwrap();
        world.change(&key("s"), json!({ &names[0]: null })).await;
    }
}

pub(crate) async fn numbers_and_deep_values_are_kept<F: StoreFactory>() {
    let world = World::new::<F>().await;
    let mut deep = json!({ "big": u64::MAX, "small": i64::MIN, "float": 0.1, "text": "\0\u{10ffff}'\"" });
    let mut depth = 1;
    while depth < 99 {
        (deep, depth) = (json!({ "deeper": [deep] }), depth + 2);
    }
    world.change(&key("s"), json!({ "a": deep })).await;
    assert_eq!(world.state(&key("s")).await, json!({ "a": deep }));

    let deeper = json!([[deep]]);
    let lease = world.acquire(&key("s"), "run").await.unwrap();
    let write = SessionWrite::new(1).changes(map(json!({ "a": deeper })));
    let error = world.sessions.write(&lease, &write).await.unwrap_err();
    assert!(error.to_string().contains("more than 100 levels"), "{error}");
    assert_eq!(world.state(&key("s")).await, json!({ "a": deep }));
}
