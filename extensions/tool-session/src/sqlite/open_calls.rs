//! Open calls in the same file.

use std::sync::Arc;

use tool_runtime::{
    call::CallAddress,
    open_calls::{OpenCallStore, OpenFilter, OpenRecord, OpenStoreError},
};

use super::{SqliteStore, error::store_error};
use crate::sql::{self, open_store_error};

impl OpenCallStore for SqliteStore {
    async fn put(&self, record: OpenRecord) -> Result<(), OpenStoreError> {
        let (record, clock) = (Arc::new(record), self.0.clock.clone());
        let result = self.write_with(move |connection| {
            let (record, now) = (Arc::clone(&record), clock.now());
            Box::pin(async move { sql::put_record(connection, &record, now).await })
        });
        sql::put_result(result.await)
    }

    async fn get(&self, address: &CallAddress) -> Result<Option<OpenRecord>, OpenStoreError> {
        let connection = self.0.readers.acquire().await;
        let mut connection = connection.map_err(store_error).map_err(open_store_error)?;
        sql::read_record(&mut *connection, address).await.map_err(open_store_error)
    }

    async fn list(&self, filter: &OpenFilter) -> Result<Vec<OpenRecord>, OpenStoreError> {
        let connection = self.0.readers.acquire().await;
        let mut connection = connection.map_err(store_error).map_err(open_store_error)?;
        sql::read_records(&mut *connection, filter).await.map_err(open_store_error)
    }

    async fn consume(&self, record: &OpenRecord) -> Result<bool, OpenStoreError> {
        let (record, clock) = (Arc::new(record.clone()), self.0.clock.clone());
        let result = self.write_with(move |connection| {
            let (record, now) = (Arc::clone(&record), clock.now());
            Box::pin(async move { sql::consume_record(connection, &record, now).await })
        });
        result.await.map_err(open_store_error)
    }
}
