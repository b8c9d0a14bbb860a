//! The store behind a pooler that gives each transaction one of a few connections of the server, and forgets what a session had.

use std::any::Any;

use test_support::postgres::{new_schema, pooler_url};
use tool_session::{Clock, PostgresOptions, SharedSessionStore};

use crate::contract::{contract_of, world::StoreFactory};

struct Pooled;

impl StoreFactory for Pooled {
    fn is_available() -> bool {
        pooler_url().is_some()
    }

    async fn open(clock: Clock) -> (SharedSessionStore, Box<dyn Any>) {
        let options = PostgresOptions::new(&pooler_url().unwrap()).unwrap().schema(new_schema()).unwrap();
        (options.clock(clock).open().await.unwrap().into(), Box::new(()))
    }
}

contract_of!(Pooled);
