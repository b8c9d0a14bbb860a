//! Connections to the database.
//!
//! Each operation is one statement, which can be repeated: if its connection breaks, it is sent again until its time is over. Names of tables have
//! their schema, so that no statement needs a setting of its connection. Behind a pooler, each statement has a transaction, and none stays prepared.

use std::time::Duration;

use sqlx::{
    AssertSqlSafe, Connection as _, PgPool, Postgres,
    postgres::{PgArguments, PgPoolOptions, PgRow},
    query::Query,
};
use tokio::time::Instant;

use super::{
    ClusterError, ClusterOptions,
    error::{database_error, is_transient},
};

/// The pauses between two attempts of an operation.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const MAX_PAUSE: Duration = Duration::from_millis(250);

/// The connections to the database.
pub(super) struct Database {
    pub(super) pool: PgPool,
    pub(super) schema: String,
    timeout: Duration,
    is_pooled: bool,
}

/// A value of a statement.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    Text(&'a str),
    Texts(&'a [String]),
    Integer(i64),
    Integers(&'a [i64]),
    Seconds(Duration),
}

impl Value<'_> {
    /// A number of things.
    pub(super) fn count(number: usize) -> Self {
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
    pub(super) async fn fetch(&self, sql: &str, values: &[Value<'_>]) -> Result<Vec<PgRow>, ClusterError> {
        let sql = sql.replace("{schema}", &self.schema);
        let mut attempts = self.attempts();
        loop {
            match self.fetch_once(&sql, values, attempts.deadline).await {
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
    ) -> Result<Vec<PgRow>, sqlx::Error> {
        let acquired = tokio::time::timeout_at(deadline, self.pool.acquire()).await;
        let mut connection = acquired.unwrap_or(Err(sqlx::Error::PoolTimedOut))?;
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
            Ok(result) => result,
            Err(_) => {
                // It may answer later.
                connection.close_on_drop();
                Err(sqlx::Error::PoolTimedOut)
            }
        }
    }

    /// Returns the time of an operation.
    pub(super) fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Begins the attempts of an operation.
    pub(super) fn attempts(&self) -> Attempts {
        Attempts { timeout: self.timeout, deadline: Instant::now() + self.timeout, pause: FIRST_PAUSE }
    }
}

/// The attempts of one operation.
pub(super) struct Attempts {
    timeout: Duration,
    pub(super) deadline: Instant,
    pause: Duration,
}

impl Attempts {
    /// Waits for the next attempt.
    ///
    /// # Errors
    ///
    /// If the error does not pass, or the time of the operation is over.
    pub(super) async fn wait_after(&mut self, error: sqlx::Error) -> Result<(), ClusterError> {
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
    values: &'q [Value<'q>],
    is_prepared: bool,
) -> Query<'q, Postgres, PgArguments> {
    let query = sqlx::query(AssertSqlSafe(sql.to_owned())).persistent(is_prepared);
    values.iter().fold(query, |query, value| match value {
        Value::Text(text) => query.bind(*text),
        Value::Texts(texts) => query.bind(*texts),
        Value::Integers(integers) => query.bind(*integers),
        Value::Integer(integer) => query.bind(*integer),
        Value::Seconds(time) => query.bind(time.as_secs_f64().min(MAX_SECONDS)),
    })
}

/// The longest time, which the server can still subtract from the present: 1000 years.
const MAX_SECONDS: f64 = 1000.0 * 365.0 * 24.0 * 3600.0;
