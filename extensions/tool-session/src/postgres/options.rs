//! Settings of a store in Postgres.

use std::{fmt, str::FromStr, time::Duration};

use sqlx::postgres::PgConnectOptions;

use super::PostgresStore;
use crate::{Clock, SessionError};

/// Settings of a [`PostgresStore`].
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
///
/// use tool_session::PostgresOptions;
///
/// # async fn example() -> anyhow::Result<()> {
/// let options = PostgresOptions::new("postgres://app@db.example/agents?sslmode=verify-full")?
///     .schema("sessions_of_shop")?
///     .max_connections(20)
///     .operation_timeout(Duration::from_secs(5));
/// let store = options.open().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresOptions {
    pub(super) connection: PgConnectOptions,
    pub(super) schema: String,
    pub(super) max_connections: u32,
    pub(super) operation_timeout: Duration,
    pub(super) clock: Clock,
}

impl PostgresOptions {
    /// The default schema of the tables.
    pub const DEFAULT_SCHEMA: &str = "tool_session";

    /// Creates the default settings for the database at `url`, such as `postgres://user:password@host:5432/database`. Parts that are
    /// left out are those of the environment (`PGHOST`, `PGUSER`, and so on), as for `psql`. A TLS mode that requires TLS needs the
    /// feature `postgres-tls`.
    ///
    /// # Errors
    ///
    /// Returns an error if `url` is not valid.
    pub fn new(url: &str) -> Result<Self, SessionError> {
        // The error of the driver may repeat a part of the URL, which may have a password.
        let invalid = || {
            let problem = "the URL of the database is not valid; write it as `postgres://user@host/database`";
            SessionError::Invalid(problem.to_owned())
        };
        // The driver reads URLs of any scheme.
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(invalid());
        }
        let connection = PgConnectOptions::from_str(url).map_err(|_| invalid())?;
        Ok(Self {
            // A pooler refuses to set it, and no float is read.
            connection: connection.extra_float_digits(None).application_name("tool-session"),
            schema: Self::DEFAULT_SCHEMA.to_owned(),
            max_connections: 10,
            operation_timeout: Duration::from_secs(10),
            clock: Clock::default(),
        })
    }

    /// Sets the schema of the tables, which is made if there is none. Default: [`tool_session`](Self::DEFAULT_SCHEMA).
    ///
    /// # Errors
    ///
    /// Returns an error if `schema` is not a name of at most 63 characters of `a` to `z`, `0` to `9` and `_` that begins with a letter.
    pub fn schema(mut self, schema: impl Into<String>) -> Result<Self, SessionError> {
        let schema = schema.into();
        let is_valid = schema.len() <= 63
            && schema.starts_with(|first: char| first.is_ascii_lowercase())
            && schema.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_')
            && !schema.starts_with("pg_");
        if !is_valid {
            let problem = format!("{schema:?} is not a valid schema; use at most 63 of `a-z`, `0-9` and `_`");
            return Err(SessionError::Invalid(problem));
        }
        self.schema = schema;
        Ok(self)
    }

    /// Sets the maximum number of connections, at least 1. Default: 10.
    #[must_use]
    pub fn max_connections(mut self, connections: u32) -> Self {
        self.max_connections = connections.max(1);
        self
    }

    /// Sets the time after which an operation that waits for a connection, a lock or an answer is
    /// [`Unavailable`](SessionError::Unavailable); at least 1 ms. An import or a deletion of many sessions is one operation, too.
    /// Default: 10 seconds.
    #[must_use]
    pub fn operation_timeout(mut self, timeout: Duration) -> Self {
        self.operation_timeout = timeout.max(Duration::from_millis(1));
        self
    }

    /// Sets the clock. Default: the clock of the system. Processes with one database need clocks that agree within a fraction of
    /// the duration of a lease; otherwise runs lose their leases early, and no more than that.
    #[must_use]
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Opens the store. See [`PostgresStore::open`].
    ///
    /// # Errors
    ///
    /// As [`PostgresStore::open`].
    pub async fn open(self) -> Result<PostgresStore, SessionError> {
        PostgresStore::open_with(self).await
    }
}

/// Formats as a URL without user and password, such as `postgres://db.example/agents`.
impl fmt::Display for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let database = self.connection.get_database().unwrap_or_default();
        write!(f, "postgres://{}/{database}", self.connection.get_host())
    }
}

/// Omits the password.
impl fmt::Debug for PostgresOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PostgresOptions")
            .field("host", &self.connection.get_host())
            .field("database", &self.connection.get_database())
            .field("schema", &self.schema)
            .field("max_connections", &self.max_connections)
            .field("operation_timeout", &self.operation_timeout)
            .finish_non_exhaustive()
    }
}
