//! The store in Postgres.

mod faults;
mod pooler;
mod server;

use std::any::Any;

use tool_session::{Clock, PostgresOptions, SharedSessionStore};

pub(crate) use self::server::{new_schema, shared_url};
use crate::contract::{contract_of, world::StoreFactory};

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
