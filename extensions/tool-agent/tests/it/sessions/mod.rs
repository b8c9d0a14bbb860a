//! Runs with sessions in a store: one suite for the stores in memory, in a file and in Postgres, and the tests of several processes.

mod below;
mod below_changes;
mod below_members;
mod below_seams;
mod below_tree;
pub(crate) mod caller;
mod contract;
mod default_store;
mod dynamic_agents;
mod failures;
mod fresh_histories;
mod given_up_leases;
mod histories;
mod kills;
mod member_progress;
mod member_skills;
mod members;
#[cfg(feature = "artifacts")]
mod memory;
mod open_calls;
mod own_session;
#[cfg(unix)]
mod postgres;
mod processes;
mod recovery;
mod redirects;
mod rows;
pub(crate) mod transfer;
mod world;

use tool_runtime::open_calls::MemoryOpenCalls;
use tool_session::{Clock, InMemoryStore, SqliteOptions};

#[cfg(unix)]
use self::postgres::Postgres;
use self::world::{Folder, StoreFactory, Stores};

struct InMemory;

impl StoreFactory for InMemory {
    async fn open(clock: Clock) -> Stores {
        let sessions = InMemoryStore::new().with_clock(clock).into();
        Stores { sessions, open_calls: MemoryOpenCalls::new().into(), owned: Box::new(()) }
    }
}

struct Sqlite;

impl Sqlite {
    /// Opens the stores of a file that other processes have.
    async fn open_file(file: &std::path::Path) -> Stores {
        let store = SqliteOptions::new(file).open().await.unwrap();
        Stores { sessions: store.clone().into(), open_calls: store.into(), owned: Box::new(()) }
    }
}

impl StoreFactory for Sqlite {
    async fn open(clock: Clock) -> Stores {
        let folder = Folder::new();
        let store = SqliteOptions::new(folder.file()).clock(clock).open().await.unwrap();
        Stores { sessions: store.clone().into(), open_calls: store.into(), owned: Box::new(folder) }
    }
}

mod in_memory {
    use super::InMemory;

    super::contract::contract_of!(InMemory);
    super::transfer::transfer_tests!(InMemory);
}

mod sqlite {
    use super::Sqlite;

    super::contract::contract_of!(Sqlite);
    super::transfer::transfer_tests!(Sqlite);
}
