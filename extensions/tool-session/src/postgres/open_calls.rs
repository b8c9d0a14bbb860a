//! Open calls in the same schema.

use tool_runtime::{
    call::CallAddress,
    open_calls::{OpenCallStore, OpenFilter, OpenRecord, OpenStoreError},
};

use super::PostgresStore;
use crate::sql::{self, open_store_error};

impl OpenCallStore for PostgresStore {
    async fn put(&self, record: OpenRecord) -> Result<(), OpenStoreError> {
        let now = self.0.clock.now();
        sql::put_result(
            self.transact(async |connection| sql::put_record(connection, &record, now).await).await,
        )
    }

    async fn get(&self, address: &CallAddress) -> Result<Option<OpenRecord>, OpenStoreError> {
        let result = self.read(async |connection| sql::read_record(connection, address).await);
        result.await.map_err(open_store_error)
    }

    async fn list(&self, filter: &OpenFilter) -> Result<Vec<OpenRecord>, OpenStoreError> {
        let result = self.read(async |connection| sql::read_records(connection, filter).await);
        result.await.map_err(open_store_error)
    }

    async fn consume(&self, record: &OpenRecord) -> Result<bool, OpenStoreError> {
        let now = self.0.clock.now();
        let result = self.transact(async |connection| sql::consume_record(connection, record, now).await);
        result.await.map_err(open_store_error)
    }
}
