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

    /// The least limit of a message, in bytes: the messages of workers about themselves have less.
    const MIN_MAX_BYTES: usize = 4096;

    /// The maximum length of a name in Postgres, in bytes.
    const MAX_SCHEMA_BYTES: usize = 63;

    const DEFAULT_MAX_CONNECTIONS: u32 = 10;

    const DEFAULT_OPERATION_TIMEOUT: Duration = Duration::from_secs(5);

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
            max_connections: Self::DEFAULT_MAX_CONNECTIONS,
            operation_timeout: Self::DEFAULT_OPERATION_TIMEOUT,
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
        let is_valid = schema.len() <= Self::MAX_SCHEMA_BYTES
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
        if !(Self::MIN_MAX_BYTES..=Self::MAX_MAX_BYTES).contains(&bytes) {
            let problem = format!(
                "{bytes} bytes are not a valid limit of a message; use {} to {}",
                Self::MIN_MAX_BYTES,
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    const URL: &str = "postgres://app:hush@db.example:5433/tools";

    fn options() -> PostgresOptions {
        PostgresOptions::new(URL).unwrap()
    }

    #[test]
    fn settings_have_their_documented_defaults_and_show_no_password() {
        let expected = "PostgresOptions { host: \"db.example\", database: Some(\"tools\"), schema: \"tool_fleet\", max_connections: 10, \
                        operation_timeout: 5s, poll_interval: None, max_bytes: 1048576, .. }";
        assert_eq!(format!("{:?}", options()), expected);
        assert!(PostgresOptions::new("postgresql://db.example/tools").is_ok());
        for url in ["mysql://db.example/tools", "db.example", "postgres://app:hush@:x/"] {
            let error = PostgresOptions::new(url).unwrap_err().to_string();
            assert!(
                error.contains("write it as `postgres://user@host/database`") && !error.contains("hush"),
                "{error}"
            );
        }
    }

    #[test]
    fn settings_are_within_their_ranges() {
        let connections = [0, 1, 2, 3].map(|number| options().max_connections(number).max_connections);
        assert_eq!(connections, [2, 2, 2, 3]);
        let (hour, micro) = (Duration::from_secs(3_600), Duration::from_micros(1));
        let timeouts = [micro, Duration::from_millis(1), hour, hour + micro];
        let millis = timeouts.map(|time| options().operation_timeout(time).operation_timeout.as_millis());
        assert_eq!(millis, [1, 1, 3_600_000, 3_600_000]);
        let intervals =
            [0, 9, 10, 11].map(|millis| options().poll_interval(Duration::from_millis(millis)).poll_interval);
        assert_eq!(intervals.map(|interval| interval.unwrap().as_millis()), [10, 10, 10, 11]);
        let max_bytes = |bytes| options().max_bytes(bytes).map(|options| options.max_bytes);
        assert_eq!((max_bytes(4_096).unwrap(), max_bytes(64 << 20).unwrap()), (4_096, 64 << 20));
        for bytes in [4_095, (64 << 20) + 1] {
            let error = max_bytes(bytes).unwrap_err().to_string();
            assert!(error.contains(&format!(
                "{bytes} bytes are not a valid limit of a message; use 4096 to 67108864"
            )));
        }
    }

    #[test]
    fn a_schema_is_a_name_that_needs_no_quotes() {
        for schema in ["a", "a_1", "tools9", &"x".repeat(63)] {
            assert_eq!(options().schema(schema).unwrap().schema, schema);
        }
        for schema in ["", "_a", "1a", "A", "aB", "a-b", "a b", "ä", "pg_a", &"x".repeat(64)] {
            let error = options().schema(schema).unwrap_err().to_string();
            let expected =
                format!("{schema:?} is not a valid schema; use at most 63 of `a-z`, `0-9` and `_`");
            assert!(error.contains(&expected), "{error}");
        }
    }
}
