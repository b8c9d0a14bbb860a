//! Connections to the database.
//!
//! Each operation is one statement, which can be repeated: if its connection breaks, it is sent again until its time is over. Names of tables have
//! their schema, so that no statement needs a setting of its connection. Behind a pooler, each statement has a transaction, and none stays prepared.

use std::{
    fmt::Display,
    sync::atomic::{AtomicBool, Ordering},
    time::Duration,
};

use sqlx::{
    AssertSqlSafe, Connection as _, Decode, Postgres, Row as _, Type,
    postgres::{PgArguments, PgRow},
    query::Query,
};
use tokio::time::Instant;

use super::{PostgresOptions, connections::Connections};
use crate::FleetError;

/// The pauses between two attempts of an operation.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const MAX_PAUSE: Duration = Duration::from_millis(250);

/// The connections to the database.
pub(super) struct Database {
    pub(super) connections: Connections,
    pub(super) schema: String,
    timeout: Duration,
    is_pooled: bool,
}

/// The connections that a statement may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    Shared,
    /// The one that shows that the receivers of a process live, for which no other statement waits.
    Refresh,
}

/// The end of the time of an operation.
#[derive(Debug, Clone, Copy)]
pub(super) struct Deadline {
    timeout: Duration,
    pub(super) time: Instant,
}

impl Deadline {
    /// Returns the end of an operation that begins now.
    pub(super) fn after(timeout: Duration) -> Self {
        Self { timeout, time: Instant::now() + timeout }
    }

    /// Returns the error of an operation whose time is over.
    pub(super) fn error(self, problem: &dyn Display) -> FleetError {
        let timeout = self.timeout;
        FleetError::Transport(format!("the database did not answer within {timeout:?}: {problem}"))
    }
}

/// A value of a statement.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Value<'a> {
    Text(&'a str),
    OptionalText(Option<&'a str>),
    Texts(&'a [String]),
    OptionalTexts(&'a [Option<String>]),
    OptionalBytes(Option<&'a [u8]>),
    Integer(i64),
    Seconds(Duration),
    /// `true` if the statement may have been sent before; then it is noted as sent.
    WasSent(&'a AtomicBool),
}

impl Database {
    pub(super) fn new(options: &PostgresOptions) -> Self {
        Self {
            connections: Connections::new(options),
            schema: options.schema.clone(),
            timeout: options.operation_timeout,
            is_pooled: options.poll_interval.is_some(),
        }
    }

    /// Runs a statement, in which `{schema}` stands for the schema, and returns its rows.
    ///
    /// # Errors
    ///
    /// If the database refuses it, or does not answer in time.
    pub(super) async fn fetch(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<PgRow>, FleetError> {
        self.fetch_until(sql, values, self.deadline(), Lane::Shared).await
    }

    /// As [`fetch`](Self::fetch), until a time that other statements of an operation have, too.
    pub(super) async fn fetch_until(
        &self,
        sql: &str,
        values: &[Value<'_>],
        deadline: Deadline,
        lane: Lane,
    ) -> Result<Vec<PgRow>, FleetError> {
        let sql = sql.replace("{schema}", &self.schema);
        let mut attempts = Attempts::new(deadline);
        loop {
            match self.fetch_once(&sql, values, deadline.time, lane).await {
                Ok(rows) => return Ok(rows),
                Err(error) => attempts.wait_after(error).await?,
            }
        }
    }

    async fn fetch_once(
        &self,
        sql: &str,
        values: &[Value<'_>],
        deadline: Instant,
        lane: Lane,
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        loop {
            let acquired = tokio::time::timeout_at(deadline, self.connections.acquire(lane)).await;
            let mut acquired = acquired.unwrap_or(Err(sqlx::Error::PoolTimedOut))?;
            let connection = &mut acquired.connection;
            let fetching = async {
                if !self.is_pooled {
                    return bound_query(sql, values, true).fetch_all(&mut **connection).await;
                }
                let mut transaction = connection.begin().await?;
                let rows = bound_query(sql, values, false).fetch_all(&mut *transaction).await?;
                transaction.commit().await?;
                Ok(rows)
            };
            match tokio::time::timeout_at(deadline, fetching).await {
                Ok(Ok(rows)) => {
                    acquired.keep();
                    return Ok(rows);
                }
                // The server may have closed it since it was used; others, too. The next one is new.
                Ok(Err(error)) if acquired.is_reused && is_lost(&error) => {
                    acquired.connection.close_on_drop();
                    self.connections.close_idle();
                }
                Ok(Err(error)) => return Err(error),
                Err(_) => {
                    // It may answer later.
                    acquired.connection.close_on_drop();
                    return Err(sqlx::Error::PoolTimedOut);
                }
            }
        }
    }

    /// Returns the end of the time of an operation that begins now.
    pub(super) fn deadline(&self) -> Deadline {
        Deadline::after(self.timeout)
    }
}

/// The attempts of one operation.
pub(super) struct Attempts {
    pub(super) deadline: Deadline,
    pause: Duration,
}

impl Attempts {
    pub(super) fn new(deadline: Deadline) -> Self {
        Self { deadline, pause: FIRST_PAUSE }
    }

    /// Waits for the next attempt.
    ///
    /// # Errors
    ///
    /// If the error does not pass, or the time of the operation is over.
    pub(super) async fn wait_after(&mut self, error: sqlx::Error) -> Result<(), FleetError> {
        if !is_transient(&error) {
            return Err(database_error(&error));
        }
        if Instant::now() + self.pause >= self.deadline.time {
            return Err(self.deadline.error(&error));
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(MAX_PAUSE);
        Ok(())
    }
}

/// Converts an error of the driver.
pub(super) fn database_error(error: &sqlx::Error) -> FleetError {
    FleetError::Transport(match error {
        sqlx::Error::PoolClosed => "the transport is closed".to_owned(),
        error => format!("the database failed: {error}"),
    })
}

/// Reads a column of a row.
///
/// # Errors
///
/// If it has another type.
pub(crate) fn read_column<'r, T: Decode<'r, Postgres> + Type<Postgres>>(
    row: &'r PgRow,
    column: usize,
) -> Result<T, FleetError> {
    row.try_get(column).map_err(|error| database_error(&error))
}

/// Returns `true` if the connection of the statement is lost.
fn is_lost(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Database(database) => {
            let code = database.code().unwrap_or_default();
            code.starts_with("08") || code.starts_with("57P") || code == "25P03"
        }
        sqlx::Error::Io(_) | sqlx::Error::WorkerCrashed => true,
        _ => false,
    }
}

/// Returns `true` for errors that may pass: lost connections, and servers that stop, start or have too many connections.
fn is_transient(error: &sqlx::Error) -> bool {
    /// A transaction that was stopped while it was idle, a serialization failure, a deadlock, too many connections, a lock that was not free in
    /// time, a query that was stopped.
    const CODES: [&str; 6] = ["25P03", "40001", "40P01", "53300", "55P03", "57014"];
    match error {
        sqlx::Error::Database(database) => {
            let code = database.code().unwrap_or_default();
            CODES.contains(&&*code) || code.starts_with("08") || code.starts_with("57P")
        }
        sqlx::Error::PoolTimedOut | sqlx::Error::Io(_) | sqlx::Error::WorkerCrashed => true,
        _ => false,
    }
}

fn bound_query<'q>(
    sql: &str,
    values: &'q [Value<'q>],
    is_prepared: bool,
) -> Query<'q, Postgres, PgArguments> {
    let query = sqlx::query(AssertSqlSafe(sql.to_owned())).persistent(is_prepared);
    values.iter().fold(query, |query, value| match value {
        Value::Text(text) => query.bind(*text),
        Value::OptionalText(text) => query.bind(*text),
        Value::Texts(texts) => query.bind(*texts),
        Value::OptionalTexts(texts) => query.bind(*texts),
        Value::OptionalBytes(bytes) => query.bind(*bytes),
        Value::Integer(integer) => query.bind(*integer),
        Value::Seconds(time) => query.bind(time.as_secs_f64()),
        Value::WasSent(was_sent) => query.bind(was_sent.swap(true, Ordering::Relaxed)),
    })
}

#[cfg(test)]
mod tests;
