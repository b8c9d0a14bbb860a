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
        sql::exists_error_unless_inserted(
            self.run_write_transaction(async |connection| {
                sql::remove_old_and_insert_unless_open(connection, &record, now).await
            })
            .await,
        )
    }

    async fn get(&self, address: &CallAddress) -> Result<Option<OpenRecord>, OpenStoreError> {
        let result =
            self.run_read_transaction(async |connection| sql::read_open_record(connection, address).await);
        result.await.map_err(open_store_error)
    }

    async fn list(&self, filter: &OpenFilter) -> Result<Vec<OpenRecord>, OpenStoreError> {
        let result =
            self.run_read_transaction(async |connection| sql::read_open_records(connection, filter).await);
        result.await.map_err(open_store_error)
    }

    async fn consume(&self, record: &OpenRecord) -> Result<bool, OpenStoreError> {
        let now = self.0.clock.now();
        let result = self.run_write_transaction(async |connection| {
            sql::mark_record_consumed(connection, record, now).await
        });
        result.await.map_err(open_store_error)
    }

    async fn replace(&self, record: &OpenRecord, replacement: OpenRecord) -> Result<bool, OpenStoreError> {
        let result = self.run_write_transaction(async |connection| {
            sql::replace_open_record(connection, record, &replacement).await
        });
        result.await.map_err(open_store_error)
    }
}
