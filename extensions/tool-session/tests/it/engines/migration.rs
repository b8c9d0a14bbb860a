//! Databases of earlier versions.

use tool_runtime::open_calls::OpenCallStore;
use tool_session::{Clock, SharedSessionStore};

use super::{Engine, for_each_engine, open_calls::record};
use crate::contract::world::{entries_of, write_run};

for_each_engine![a_database_of_the_first_version_is_migrated_with_its_sessions];

async fn a_database_of_the_first_version_is_migrated_with_its_sessions<E: Engine>() {
    let Some(engine) = E::new().await else { return };
    engine.make_first_version().await;
    let columns = "app, user_id, id, revision, entries, created_at, updated_at, state";
    engine
        .execute(&format!("INSERT INTO sessions ({columns}) VALUES ('shop', 'u-7', 's', 0, 0, 1, 1, '{{}}')"))
        .await;
    for count in 1..3 {
        let store = engine.open(Clock::default()).await;
        store.put(record(Some("run"), "call", count)).await.unwrap();
        let sessions = SharedSessionStore::new(store);
        write_run(&sessions, "s", "x").await.unwrap();
        assert_eq!(entries_of(&sessions, "s").await, count);
    }
}
