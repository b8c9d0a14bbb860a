//! The suite over Postgres: on the server that `.ci/session/install` finds, and skipped with a report without one.

use test_support::postgres::{new_schema, shared_url};
use tool_session::{Clock, PostgresOptions};

use super::world::{StoreFactory, Stores};

pub(super) struct Postgres;

impl StoreFactory for Postgres {
    fn is_available() -> bool {
        shared_url().is_some()
    }

    async fn open(clock: Clock) -> Stores {
        let options = PostgresOptions::new(&shared_url().unwrap()).unwrap().schema(new_schema()).unwrap();
        let store = options.clock(clock).open().await.unwrap();
        Stores { sessions: store.clone().into(), open_calls: store.into(), owned: Box::new(()) }
    }
}

super::contract::contract_of!(Postgres);
super::transfer::transfer_tests!(Postgres);
