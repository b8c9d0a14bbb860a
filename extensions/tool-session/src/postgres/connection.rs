//! Connections and their transactions.
//!
//! Every statement is part of a transaction, and no statement stays prepared: a pooler may give each transaction another connection of
//! the server. All settings end with their transaction, too.

use std::{borrow::Cow, time::Duration};

use sqlx::{
    AssertSqlSafe, Connection, PgConnection, Postgres, SqlSafeStr, SqlStr,
    postgres::{PgArguments, PgRow},
    query::Query,
};

use super::error::store_error;
use crate::{SessionError, sql::sqlx_connection};

/// The statements that begin transactions.
#[derive(Debug, Clone)]
pub(super) struct BeginStatements {
    read: SqlStr,
    write: SqlStr,
    pub(super) migration: SqlStr,
}

impl BeginStatements {
    /// Creates the statements for a schema, whose name is valid, and for the time of one operation.
    pub(super) fn new(schema: &str, timeout: Duration) -> Self {
        /// The largest time that the server takes, in milliseconds.
        const MAX_MILLIS: u128 = i32::MAX as u128;
        let millis = timeout.as_millis().clamp(1, MAX_MILLIS);
        // A process that is stopped in a transaction loses its locks.
        let settings = format!(
            "SET LOCAL search_path = {schema}; SET LOCAL lock_timeout = {millis}; \
             SET LOCAL idle_in_transaction_session_timeout = {millis}"
        );
        let begin = |mode: &str, end: &str| {
            AssertSqlSafe(format!("BEGIN ISOLATION LEVEL {mode}; {settings}{end}")).into_sql_str()
        };
        let lock = format!("; SELECT pg_advisory_xact_lock({MIGRATION_LOCK})");
        Self {
            read: begin("REPEATABLE READ READ ONLY", ""),
            write: begin("READ COMMITTED", ""),
            migration: begin("READ COMMITTED", &lock),
        }
    }

    /// Runs `operation` in a transaction that sees one moment.
    pub(super) async fn run_read_transaction<T>(
        &self,
        connection: &mut PgConnection,
        operation: impl AsyncFnOnce(&mut PgConnection) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        run_transaction(connection, self.read.clone(), operation).await
    }

    /// Runs `operation` in a transaction that writes.
    pub(super) async fn run_write_transaction<T>(
        &self,
        connection: &mut PgConnection,
        operation: impl AsyncFnOnce(&mut PgConnection) -> Result<T, SessionError>,
    ) -> Result<T, SessionError> {
        run_transaction(connection, self.write.clone(), operation).await
    }
}

/// `tses` as a number: the advisory lock of migrations.
const MIGRATION_LOCK: i64 = 0x7473_6573;

async fn run_transaction<T>(
    connection: &mut PgConnection,
    begin: SqlStr,
    operation: impl AsyncFnOnce(&mut PgConnection) -> Result<T, SessionError>,
) -> Result<T, SessionError> {
    let mut transaction = connection.begin_with(begin).await.map_err(store_error)?;
    match operation(&mut transaction).await {
        Ok(value) => {
            transaction.commit().await.map_err(store_error)?;
            Ok(value)
        }
        Err(error) => {
            // If it fails, the connection is lost, and the transaction with it.
            drop(transaction.rollback().await);
            Err(error)
        }
    }
}

sqlx_connection!(PgConnection, PgRow, store_error, postgres_query, {
    const ROW_LOCK: &'static str = " FOR UPDATE";
    const FORGET_TERMS: Option<&'static str> = None;
    // A sequence is not locked until the end of a transaction. A session is, so that its epochs ascend.
    const NEXT_EPOCH: &'static str = "SELECT nextval('epochs')";
    // It takes 65,535 values.
    const MAX_ROWS: usize = 1000;
    const SENDS_ALL_ROWS: bool = true;
});

/// Returns the query of a statement, whose parameters are spelled `$1` here.
fn postgres_query(sql: Cow<'static, str>) -> Query<'static, Postgres, PgArguments> {
    sqlx::query(AssertSqlSafe(sql.replace('?', "$"))).persistent(false)
}
