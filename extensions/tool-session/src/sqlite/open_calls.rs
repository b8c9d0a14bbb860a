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
        let result = self.run_write(move |connection| {
            let (record, now) = (Arc::clone(&record), clock.now());
            Box::pin(async move { sql::remove_old_and_insert_unless_open(connection, &record, now).await })
        });
        sql::exists_error_unless_inserted(result.await)
    }

    async fn get(&self, address: &CallAddress) -> Result<Option<OpenRecord>, OpenStoreError> {
        let connection = self.0.readers.acquire().await;
        let mut connection = connection.map_err(store_error).map_err(open_store_error)?;
        sql::read_open_record(&mut *connection, address).await.map_err(open_store_error)
    }

    async fn list(&self, filter: &OpenFilter) -> Result<Vec<OpenRecord>, OpenStoreError> {
        let connection = self.0.readers.acquire().await;
        let mut connection = connection.map_err(store_error).map_err(open_store_error)?;
        sql::read_open_records(&mut *connection, filter).await.map_err(open_store_error)
    }

    async fn consume(&self, record: &OpenRecord) -> Result<bool, OpenStoreError> {
        let (record, clock) = (Arc::new(record.clone()), self.0.clock.clone());
        let result = self.run_write(move |connection| {
            let (record, now) = (Arc::clone(&record), clock.now());
            Box::pin(async move { sql::mark_record_consumed(connection, &record, now).await })
        });
        result.await.map_err(open_store_error)
    }

    async fn replace(&self, record: &OpenRecord, replacement: OpenRecord) -> Result<bool, OpenStoreError> {
        let records = Arc::new((record.clone(), replacement));
        let result = self.run_write(move |connection| {
            let records = Arc::clone(&records);
            Box::pin(async move { sql::replace_open_record(connection, &records.0, &records.1).await })
        });
        result.await.map_err(open_store_error)
    }
}
