//! Connections to the database.
//!
//! Each operation is one statement, which can be repeated: if its connection breaks, it is sent again until its time is over. Names of tables have
//! their schema, so that no statement needs a setting of its connection. Behind a pooler, each statement has a transaction, and none stays prepared.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use sqlx::{
    AssertSqlSafe, Connection as _, PgPool, Postgres,
    pool::PoolConnection,
    postgres::{PgArguments, PgPoolOptions, PgRow},
    query::Query,
};
use tokio::{sync::Semaphore, time::Instant};

use super::{
    ClusterError, ClusterOptions,
    error::{database_error, is_transient},
};

/// The pauses between two attempts of an operation.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const MAX_PAUSE: Duration = Duration::from_millis(250);

/// The time after which an idle connection is tested before it is used.
const MAX_IDLE_TIME: Duration = Duration::from_secs(30);

/// The connections to the database.
pub(super) struct Database {
    pub(super) pool: PgPool,
    idle: Mutex<Vec<IdleConnection>>,
    /// The statements at once; one connection of the pool may listen.
    statements: Semaphore,
    pub(super) schema: String,
    timeout: Duration,
    is_pooled: bool,
}

/// A connection that waits for the next statement, outside of the pool: that tests a connection before and after each use, which takes two more
/// exchanges with the server. If the connection was lost meanwhile, the statement is sent again.
struct IdleConnection {
    connection: PoolConnection<Postgres>,
    since: Instant,
}

/// A value of a statement.
#[derive(Debug, Clone, Copy)]
pub(super) enum SqlValue<'a> {
    Text(&'a str),
    Texts(&'a [&'a str]),
    Integer(i64),
    Integers(&'a [i64]),
    Seconds(Duration),
}

impl SqlValue<'_> {
    /// A number of things.
    pub(super) fn from_count(number: usize) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl Database {
    pub(super) fn new(options: &ClusterOptions) -> Self {
        let pool = PgPoolOptions::new()
            .max_connections(options.max_connections)
            .acquire_timeout(options.operation_timeout)
            .connect_lazy_with(options.connection.clone());
        Self {
            pool,
            idle: Mutex::default(),
            statements: Semaphore::new(usize::try_from(options.max_connections - 1).unwrap_or(usize::MAX)),
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
    pub(super) async fn fetch(&self, sql: &str, values: &[SqlValue<'_>]) -> Result<Vec<PgRow>, ClusterError> {
        let sql = sql.replace("{schema}", &self.schema);
        let mut attempts = self.attempts();
        loop {
            match self.fetch_once(&sql, values, attempts.deadline).await {
                Ok(rows) => return Ok(rows),
                Err(error) => attempts.wait_for_retry_after(error).await?,
            }
        }
    }

    async fn fetch_once(
        &self,
        sql: &str,
        values: &[SqlValue<'_>],
        deadline: Instant,
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        let acquiring = async {
            let permit = self.statements.acquire().await.map_err(|_| sqlx::Error::PoolClosed)?;
            let connection = match self.take_idle() {
                Some(connection) => connection,
                None => self.pool.acquire().await?,
            };
            Ok((permit, connection))
        };
        let acquired = tokio::time::timeout_at(deadline, acquiring).await;
        let (_permit, mut connection) = acquired.unwrap_or(Err(sqlx::Error::PoolTimedOut))?;
        let fetching = async {
            if !self.is_pooled {
                return bound_query(sql, values, true).fetch_all(&mut *connection).await;
            }
            let mut transaction = connection.begin().await?;
            let rows = bound_query(sql, values, false).fetch_all(&mut *transaction).await?;
            transaction.commit().await?;
            Ok(rows)
        };
        match tokio::time::timeout_at(deadline, fetching).await {
            Ok(Ok(rows)) => {
                self.keep_idle(connection);
                Ok(rows)
            }
            Ok(Err(error)) => {
                // If the server has closed this connection, it has closed the others, too. The pool tests them.
                if is_transient(&error) {
                    self.lock_idle().clear();
                }
                Err(error)
            }
            Err(_) => {
                // It may answer later.
                connection.close_on_drop();
                Err(sqlx::Error::PoolTimedOut)
            }
        }
    }

    fn lock_idle(&self) -> MutexGuard<'_, Vec<IdleConnection>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the connection that was used last, unless that is long ago.
    fn take_idle(&self) -> Option<PoolConnection<Postgres>> {
        let mut idle = self.lock_idle();
        let last = idle.pop()?;
        if last.since.elapsed() > MAX_IDLE_TIME {
            // The others are idle for longer.
            idle.clear();
            return None;
        }
        Some(last.connection)
    }

    fn keep_idle(&self, connection: PoolConnection<Postgres>) {
        let mut idle = self.lock_idle();
        if !self.pool.is_closed() {
            idle.push(IdleConnection { connection, since: Instant::now() });
        }
    }

    /// Closes all connections. Statements that run end before.
    pub(super) async fn close(&self) {
        let closing = self.pool.close();
        self.lock_idle().clear();
        closing.await;
    }

    /// Returns the time of an operation.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Begins the attempts of an operation.
    pub(super) fn attempts(&self) -> OperationAttempts {
        OperationAttempts {
            timeout: self.timeout,
            deadline: Instant::now() + self.timeout,
            pause: FIRST_PAUSE,
        }
    }
}

/// Idle connections are closed without the runtime, which may have ended.
impl Drop for Database {
    fn drop(&mut self) {
        let idle = self.idle.get_mut().unwrap_or_else(PoisonError::into_inner);
        idle.drain(..).for_each(|idle| drop(idle.connection.detach()));
    }
}

/// The attempts of one operation.
pub(super) struct OperationAttempts {
    timeout: Duration,
    pub(super) deadline: Instant,
    pause: Duration,
}

impl OperationAttempts {
    /// Waits for the next attempt.
    ///
    /// # Errors
    ///
    /// If the error does not pass, or the time of the operation is over.
    pub(super) async fn wait_for_retry_after(&mut self, error: sqlx::Error) -> Result<(), ClusterError> {
        if !is_transient(&error) {
            return Err(database_error(&error));
        }
        if Instant::now() + self.pause >= self.deadline {
            let timeout = self.timeout;
            let problem = format!("the database did not answer within {timeout:?}: {error}");
            return Err(ClusterError::Unavailable(problem));
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(MAX_PAUSE);
        Ok(())
    }
}

fn bound_query<'q>(
    sql: &str,
    values: &'q [SqlValue<'q>],
    is_prepared: bool,
) -> Query<'q, Postgres, PgArguments> {
    let query = sqlx::query(AssertSqlSafe(sql.to_owned())).persistent(is_prepared);
    values.iter().fold(query, |query, value| match value {
        SqlValue::Text(text) => query.bind(*text),
        SqlValue::Texts(texts) => query.bind(*texts),
        SqlValue::Integers(integers) => query.bind(*integers),
        SqlValue::Integer(integer) => query.bind(*integer),
        SqlValue::Seconds(time) => query.bind(time.as_secs_f64().min(MAX_SECONDS)),
    })
}

/// The longest time, which the server can still subtract from the present: 1000 years.
const MAX_SECONDS: f64 = 1000.0 * 365.0 * 24.0 * 3600.0;
