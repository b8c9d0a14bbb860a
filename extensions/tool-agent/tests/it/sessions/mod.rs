//! Runs with sessions in a store: one suite for the stores in memory and in a file, and the tests of several processes.

mod contract;
mod failures;
mod kills;
mod open_calls;
mod postgres;
mod processes;
mod recovery;
mod world;

use std::any::Any;

use tool_session::{Clock, InMemoryStore, SharedSessionStore, SqliteOptions};

use self::world::{Folder, StoreFactory};

struct InMemory;

impl StoreFactory for InMemory {
    async fn open(clock: Clock) -> (SharedSessionStore, Box<dyn Any>) {
        (InMemoryStore::new().with_clock(clock).into(), Box::new(()))
    }
}

struct Sqlite;

impl StoreFactory for Sqlite {
    async fn open(clock: Clock) -> (SharedSessionStore, Box<dyn Any>) {
        let folder = Folder::new();
        let store = SqliteOptions::new(folder.file()).clock(clock).open().await.unwrap();
        (store.into(), Box::new(folder))
    }
}

mod in_memory {
    use super::InMemory;

    super::contract::contract_of!(InMemory);
}

mod sqlite {
    use super::Sqlite;

    super::contract::contract_of!(Sqlite);
}
