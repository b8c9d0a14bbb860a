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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    fn attempts_within(timeout: Duration) -> OperationAttempts {
        OperationAttempts { timeout, deadline: Instant::now() + timeout, pause: FIRST_PAUSE }
    }

    #[tokio::test(start_paused = true)]
    async fn an_operation_is_tried_again_after_longer_and_longer_pauses_until_its_time_is_over() {
        let (mut attempts, start) = (attempts_within(Duration::from_secs(1)), Instant::now());
        let mut times = Vec::new();
        let error = loop {
            match attempts.wait_for_retry_after(sqlx::Error::PoolTimedOut).await {
                Ok(()) => times.push(start.elapsed().as_millis()),
                Err(error) => break error,
            }
        };
        assert_eq!(times, [20, 60, 140, 300, 550, 800]);
        assert_eq!(start.elapsed(), Duration::from_millis(800), "no pause goes beyond the time");
        assert!(matches!(error, ClusterError::Unavailable(_)), "{error:?}");
        let expected = format!("the database did not answer within 1s: {}", sqlx::Error::PoolTimedOut);
        assert_eq!(error.to_string(), expected);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pause_that_ends_with_the_time_is_too_long() {
        for (timeout, is_tried_again) in
            [(FIRST_PAUSE, false), (FIRST_PAUSE + Duration::from_millis(1), true)]
        {
            let tried = attempts_within(timeout).wait_for_retry_after(sqlx::Error::WorkerCrashed).await;
            assert_eq!(tried.is_ok(), is_tried_again, "{timeout:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_that_does_not_pass_ends_an_operation_at_once() {
        let start = Instant::now();
        for (error, expected) in [
            (sqlx::Error::PoolClosed, "the cluster is closed".to_owned()),
            (sqlx::Error::RowNotFound, format!("the database failed: {}", sqlx::Error::RowNotFound)),
        ] {
            let refused =
                attempts_within(Duration::from_secs(1)).wait_for_retry_after(error).await.unwrap_err();
            assert_eq!(refused.to_string(), expected);
        }
        assert_eq!(start.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn a_database_has_the_settings_of_its_options() {
        let key = tool_runtime::open_calls::ProgramKey::new([7; 32]);
        let options = ClusterOptions::new("postgres://none@127.0.0.1:1/none", key).unwrap();
        let options =
            options.schema("other").unwrap().max_connections(5).operation_timeout(Duration::from_secs(7));
        let database = Database::new(&options);
        // One connection is for the listener.
        assert_eq!((database.statements.available_permits(), &*database.schema), (4, "other"));
        assert_eq!((database.timeout(), database.is_pooled), (Duration::from_secs(7), false));
        let attempts = database.attempts();
        assert_eq!((attempts.timeout, attempts.pause), (Duration::from_secs(7), FIRST_PAUSE));
        assert_eq!(attempts.deadline, Instant::now() + Duration::from_secs(7));
        assert!(Database::new(&options.poll_interval(Duration::ZERO)).is_pooled);
    }

    #[test]
    fn a_count_that_no_integer_of_the_database_holds_is_the_largest_one() {
        for (count, expected) in [(0, 0), (7, 7), (usize::MAX, i64::MAX)] {
            assert!(matches!(SqlValue::from_count(count), SqlValue::Integer(it) if it == expected));
        }
    }

    /// Returns a database that answers, with the options that `set` sets; `None` if the machine has no server.
    fn answering_database(set: impl FnOnce(ClusterOptions) -> ClusterOptions) -> Option<Database> {
        let key = tool_runtime::open_calls::ProgramKey::new([7; 32]);
        let options = ClusterOptions::new(&test_support::postgres::shared_url()?, key).unwrap();
        Some(Database::new(&set(options)))
    }

    /// Leaves two idle connections in `database`.
    async fn open_two_connections(database: &Database) {
        let (one, other) = tokio::join!(database.fetch("SELECT 1", &[]), database.fetch("SELECT 1", &[]));
        assert_eq!([one.unwrap().len(), other.unwrap().len()], [1, 1]);
        assert_eq!((database.lock_idle().len(), database.pool.size()), (2, 2));
    }

    #[tokio::test]
    async fn a_connection_waits_for_the_next_statement_unless_it_waits_for_long() {
        let Some(database) = answering_database(|options| options) else { return };
        let idle = || database.lock_idle().len();
        for _ in 0..2 {
            database.fetch("SELECT 1", &[]).await.unwrap();
            assert_eq!((idle(), database.pool.size()), (1, 1));
        }
        open_two_connections(&database).await;
        let taken = database.take_idle().unwrap();
        assert_eq!(idle(), 1);
        database.keep_idle(taken);
        assert_eq!(idle(), 2);
        for connection in database.lock_idle().iter_mut() {
            connection.since -= MAX_IDLE_TIME + Duration::from_secs(1);
        }
        assert!(database.take_idle().is_none());
        assert_eq!(idle(), 0);
    }

    #[tokio::test]
    async fn a_database_that_is_closed_has_no_connections() {
        let Some(database) = answering_database(|options| options) else { return };
        open_two_connections(&database).await;
        let taken = database.take_idle().unwrap();
        let ((), ()) = tokio::join!(database.close(), async {
            assert!(database.pool.is_closed());
            database.keep_idle(taken);
        });
        assert_eq!(database.lock_idle().len(), 0);
        let error = database.fetch("SELECT 1", &[]).await.unwrap_err();
        assert!(matches!(error, ClusterError::Unavailable(_)), "{error:?}");
        assert_eq!(error.to_string(), "the cluster is closed");
    }

    #[tokio::test]
    async fn a_connection_that_the_server_closes_takes_the_idle_ones_with_it() {
        for (sql, is_transient_error, left) in
            [("SELECT 1 / 0", false, 1), ("SELECT pg_terminate_backend(pg_backend_pid())", true, 0)]
        {
            let Some(database) = answering_database(|options| options) else { return };
            open_two_connections(&database).await;
            let deadline = Instant::now() + Duration::from_secs(60);
            let error = database.fetch_once(sql, &[], deadline).await.unwrap_err();
            assert_eq!(is_transient(&error), is_transient_error, "{error}");
            assert_eq!(database.lock_idle().len(), left);
        }
    }

    #[tokio::test]
    async fn behind_a_pooler_no_statement_stays_prepared() {
        for is_pooled in [false, true] {
            let interval = Duration::from_millis(250);
            let database = answering_database(|options| match is_pooled {
                true => options.poll_interval(interval),
                false => options,
            });
            let Some(database) = database else { return };
            database.fetch("SELECT 1", &[]).await.unwrap();
            let count = "SELECT count(*) FROM pg_prepared_statements";
            let rows = database.fetch(count, &[]).await.unwrap();
            let prepared: i64 = super::super::event_log::decode_first_value(&rows).unwrap();
            assert_eq!(prepared == 0, is_pooled, "{prepared}");
        }
    }

    #[tokio::test]
    async fn each_kind_of_value_is_bound() {
        let Some(database) = answering_database(|options| options.schema("other").unwrap()) else { return };
        let sql = "SELECT concat_ws(' ', '{schema}', $1::text, $2::text[], $3::bigint, $4::bigint[], \
                   $5::double precision, $6::double precision)";
        let values = [
            SqlValue::Text("a"),
            SqlValue::Texts(&["b", "c"]),
            SqlValue::Integer(7),
            SqlValue::Integers(&[8, 9]),
            SqlValue::Seconds(Duration::from_millis(1_500)),
            SqlValue::Seconds(Duration::MAX),
        ];
        let rows = database.fetch(sql, &values).await.unwrap();
        let text: String = super::super::event_log::decode_first_value(&rows).unwrap();
        assert_eq!(text, "other a {b,c} 7 {8,9} 1.5 31536000000");
    }
}
