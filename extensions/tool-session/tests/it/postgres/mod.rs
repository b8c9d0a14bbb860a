//! The store in Postgres.

mod faults;
mod pooler;

use std::any::Any;

use tool_session::{Clock, PostgresOptions, SharedMemory, SharedSessionStore};

use crate::{
    contract::{contract_of, world::StoreFactory},
    memory::{memory_contract_of, world::MemoryFactory},
};
pub(crate) use test_support::postgres::{new_schema, shared_url};

/// Returns the settings of a new schema of the shared server.
fn options() -> Option<PostgresOptions> {
    Some(PostgresOptions::new(&shared_url()?).unwrap().schema(new_schema()).unwrap())
}

struct Postgres;

impl StoreFactory for Postgres {
    fn is_available() -> bool {
        shared_url().is_some()
    }

    async fn open(clock: Clock) -> (SharedSessionStore, Box<dyn Any>) {
        let store = options().unwrap().clock(clock).open().await.unwrap();
        (store.into(), Box::new(()))
    }
}

contract_of!(Postgres);

impl MemoryFactory for Postgres {
    fn is_available() -> bool {
        shared_url().is_some()
    }

    async fn open_memory(clock: Clock) -> (SharedSessionStore, SharedMemory, Box<dyn Any>) {
        let store = options().unwrap().clock(clock).open().await.unwrap();
        (store.clone().into(), store.into(), Box::new(()))
    }
}

memory_contract_of!(Postgres);

#[cfg(feature = "artifacts")]
impl crate::artifacts::world::ArtifactFactory for Postgres {
    type Rows = tool_session::PostgresStore;

    fn is_available() -> bool {
        shared_url().is_some()
    }

    async fn open_artifacts(
        clock: Clock,
    ) -> (SharedSessionStore, Self::Rows, std::sync::Arc<dyn object_store::ObjectStore>, Box<dyn Any>) {
        let store = options().unwrap().clock(clock).open().await.unwrap();
        let bodies = std::sync::Arc::new(object_store::memory::InMemory::new());
        (store.clone().into(), store, bodies, Box::new(()))
    }
}

#[cfg(feature = "artifacts")]
crate::artifacts::artifact_contract_of!(Postgres);
