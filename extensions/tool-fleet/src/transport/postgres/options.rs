use std::{fmt, str::FromStr, time::Duration};

use sqlx::postgres::PgConnectOptions;

use super::PostgresTransport;
use crate::FleetError;

/// Settings of a [`PostgresTransport`].
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
///
/// use tool_fleet::PostgresOptions;
///
/// # async fn example() -> anyhow::Result<()> {
/// let transport = PostgresOptions::new("postgres://app@db.example/tools")?
///     .operation_timeout(Duration::from_secs(2))
///     .connect()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct PostgresOptions {
    pub(super) connection: PgConnectOptions,
    pub(super) schema: String,
    pub(super) max_connections: u32,
    pub(super) operation_timeout: Duration,
    pub(super) poll_interval: Option<Duration>,
    pub(super) max_bytes: usize,
}

impl PostgresOptions {
    /// The default schema of the tables.
    pub const DEFAULT_SCHEMA: &str = "tool_fleet";

    /// The default limit of a message, in bytes, as of a server of NATS.
    pub const DEFAULT_MAX_BYTES: usize = 1 << 20;

    /// The greatest limit of a message, in bytes.
    pub const MAX_MAX_BYTES: usize = 64 << 20;

    /// Creates the default settings for the database at `url`, such as `postgres://user:password@host:5432/database`. Parts that are
    /// left out are those of the environment (`PGHOST`, `PGUSER`, and so on), as for `psql`. A TLS mode that requires TLS needs the
    /// feature `postgres-tls`.
    ///
    /// # Errors
    ///
    /// Returns [`FleetError::Invalid`] if `url` is not valid.
    pub fn new(url: &str) -> Result<Self, FleetError> {
        // The error of the driver may repeat a part of the URL, which may have a password.
        let invalid = || {
            let problem = "the URL of the database is not valid; write it as `postgres://user@host/database`";
            FleetError::Invalid(problem.to_owned())
        };
        // The driver reads URLs of any scheme.
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(invalid());
        }
        let connection = PgConnectOptions::from_str(url).map_err(|_| invalid())?;
        Ok(Self {
            // A pooler refuses to set it, and no float is read.
            connection: connection.extra_float_digits(None).application_name("tool-fleet"),
            schema: Self::DEFAULT_SCHEMA.to_owned(),
            max_connections: 10,
            operation_timeout: Duration::from_secs(5),
            poll_interval: None,
            max_bytes: Self::DEFAULT_MAX_BYTES,
        })
    }

    /// Sets the schema of the tables, which is made if there is none. Workers and callers of one pool have the same one; roles with
    /// schemas of their own separate pools. Default: [`tool_fleet`](Self::DEFAULT_SCHEMA).
    ///
    /// # Errors
    ///
    /// Returns [`FleetError::Invalid`] if `schema` is not a name of at most 63 characters of `a` to `z`, `0` to `9` and `_` that begins
    /// with a letter.
    pub fn schema(mut self, schema: impl Into<String>) -> Result<Self, FleetError> {
        let schema = schema.into();
        let is_valid = schema.len() <= 63
            && schema.starts_with(|first: char| first.is_ascii_lowercase())
            && schema.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_')
            && !schema.starts_with("pg_");
        if !is_valid {
            let problem = format!("{schema:?} is not a valid schema; use at most 63 of `a-z`, `0-9` and `_`");
            return Err(FleetError::Invalid(problem));
        }
        self.schema = schema;
        Ok(self)
    }

    /// Sets the maximum number of connections, at least 2. One of them waits for messages; from 3 on, one shows that receivers live, however many
    /// statements wait for the others. Default: 10.
    #[must_use]
    pub fn max_connections(mut self, connections: u32) -> Self {
        self.max_connections = connections.max(2);
        self
    }

    /// Sets the time that a message waits for the database before its sender receives an error. At least 1 ms, and at most an hour.
    /// Default: 5 seconds.
    #[must_use]
    pub fn operation_timeout(mut self, timeout: Duration) -> Self {
        self.operation_timeout = timeout.clamp(Duration::from_millis(1), Duration::from_secs(60 * 60));
        self
    }

    /// Reads new messages in this interval, such as 250 ms, instead of waiting for them with `LISTEN`: for connections through a pooler in
    /// transaction mode, which has no `LISTEN`. At least 10 ms. Default: `LISTEN`, over a direct connection.
    #[must_use]
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = Some(interval.max(Duration::from_millis(10)));
        self
    }

    /// Sets the limit of a message, in bytes. Default: 1 MiB.
    ///
    /// # Errors
    ///
    /// Returns [`FleetError::Invalid`] if `bytes` is less than 4 KiB or more than [64 MiB](Self::MAX_MAX_BYTES).
    pub fn max_bytes(mut self, bytes: usize) -> Result<Self, FleetError> {
        if !(4096..=Self::MAX_MAX_BYTES).contains(&bytes) {
            let problem = format!(
                "{bytes} bytes are not a valid limit of a message; use 4096 to {}",
                Self::MAX_MAX_BYTES
            );
            return Err(FleetError::Invalid(problem));
        }
        self.max_bytes = bytes;
        Ok(self)
    }

    /// Opens the database; its tables are made if there are none. Needs a `tokio` runtime.
    ///
    /// # Errors
    ///
    /// Returns an error if the server cannot be reached within the operation timeout, refuses the connection, is older than Postgres 14, or
    /// has tables of a newer version of this crate.
    pub async fn connect(self) -> Result<PostgresTransport, FleetError> {
        PostgresTransport::open(self).await
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
            .field("poll_interval", &self.poll_interval)
            .field("max_bytes", &self.max_bytes)
            .finish_non_exhaustive()
    }
}
