//! Settings of a cluster.

use std::{fmt, str::FromStr, time::Duration};

use sqlx::postgres::PgConnectOptions;
use tool_runtime::open_calls::ProgramKey;

use super::{Cluster, ClusterError};

/// Settings of a [`Cluster`].
///
/// # Examples
///
/// ```no_run
/// use std::time::Duration;
///
/// use tool_mcp::server::ClusterOptions;
/// use tool_runtime::open_calls::ProgramKey;
///
/// # async fn example() -> anyhow::Result<()> {
/// let key = ProgramKey::load_or_create("program.key")?;
/// let cluster = ClusterOptions::new("postgres://app@db.example/mcp", key)?
///     .app("shop")?
///     .operation_timeout(Duration::from_secs(2))
///     .open()
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct ClusterOptions {
    pub(super) connection: PgConnectOptions,
    pub(super) key: ProgramKey,
    pub(super) app: String,
    pub(super) schema: String,
    pub(super) max_connections: u32,
    pub(super) operation_timeout: Duration,
    pub(super) event_retention: Duration,
    pub(super) process_timeout: Duration,
    pub(super) poll_interval: Option<Duration>,
}

impl ClusterOptions {
    /// The default schema of the tables.
    pub const DEFAULT_SCHEMA: &str = "tool_mcp";

    /// Creates the default settings for the database at `url`, such as `postgres://user:password@host:5432/database`. Parts that are
    /// left out are those of the environment (`PGHOST`, `PGUSER`, and so on), as for `psql`. A TLS mode that requires TLS needs the
    /// feature `postgres-tls`. All processes have the same `key`, which
    /// [`ProgramKey::load_or_create`] reads from a file.
    ///
    /// # Errors
    ///
    /// Returns [`ClusterError::Invalid`] if `url` is not valid.
    pub fn new(url: &str, key: ProgramKey) -> Result<Self, ClusterError> {
        // The error of the driver may repeat a part of the URL, which may have a password.
        let invalid = || {
            let problem = "the URL of the database is not valid; write it as `postgres://user@host/database`";
            ClusterError::Invalid(problem.to_owned())
        };
        // The driver reads URLs of any scheme.
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            return Err(invalid());
        }
        let connection = PgConnectOptions::from_str(url).map_err(|_| invalid())?;
        Ok(Self {
            // A pooler refuses to set it, and no float is read.
            connection: connection.extra_float_digits(None).application_name("tool-mcp"),
            key,
            app: "mcp".to_owned(),
            schema: Self::DEFAULT_SCHEMA.to_owned(),
            max_connections: 10,
            operation_timeout: Duration::from_secs(5),
            event_retention: Duration::from_secs(10 * 60),
            process_timeout: Duration::from_secs(10),
            poll_interval: None,
        })
    }

    /// Sets the name of the server: servers of different names share nothing but the tables. Default: `mcp`.
    ///
    /// # Errors
    ///
    /// Returns [`ClusterError::Invalid`] if `app` is empty, longer than 200 bytes or has control characters.
    pub fn app(mut self, app: impl Into<String>) -> Result<Self, ClusterError> {
        let app = app.into();
        if app.is_empty() || app.len() > 200 || app.chars().any(char::is_control) {
            let problem = format!(
                "{app:?} is not a valid name of a server; use 1 to 200 bytes without control characters"
            );
            return Err(ClusterError::Invalid(problem));
        }
        self.app = app;
        Ok(self)
    }

    /// Sets the schema of the tables, which is made if there is none. Default: [`tool_mcp`](Self::DEFAULT_SCHEMA).
    ///
    /// # Errors
    ///
    /// Returns [`ClusterError::Invalid`] if `schema` is not a name of at most 63 characters of `a` to `z`, `0` to `9` and `_` that begins
    /// with a letter.
    pub fn schema(mut self, schema: impl Into<String>) -> Result<Self, ClusterError> {
        let schema = schema.into();
        let is_valid = schema.len() <= 63
            && schema.starts_with(|first: char| first.is_ascii_lowercase())
            && schema.chars().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == '_')
            && !schema.starts_with("pg_");
        if !is_valid {
            let problem = format!("{schema:?} is not a valid schema; use at most 63 of `a-z`, `0-9` and `_`");
            return Err(ClusterError::Invalid(problem));
        }
        self.schema = schema;
        Ok(self)
    }

    /// Sets the maximum number of connections, at least 2; one of them waits for messages. Default: 10.
    #[must_use]
    pub fn max_connections(mut self, connections: u32) -> Self {
        self.max_connections = connections.max(2);
        self
    }

    /// Sets the time that a request waits for the database; then it has status 503. At least 1 ms. Default: 5 seconds.
    #[must_use]
    pub fn operation_timeout(mut self, timeout: Duration) -> Self {
        self.operation_timeout = timeout.max(Duration::from_millis(1));
        self
    }

    /// Sets the time for which the events of a stream can be read by a client that resumes it. At least 1 second. Default: 10 minutes.
    #[must_use]
    pub fn event_retention(mut self, time: Duration) -> Self {
        self.event_retention = time.max(Duration::from_secs(1));
        self
    }

    /// Sets the time after which a process that does not write to the database counts as ended, so that the streams of its calls end with an
    /// error. At least 1 second. Default: 10 seconds.
    #[must_use]
    pub fn process_timeout(mut self, time: Duration) -> Self {
        self.process_timeout = time.max(Duration::from_secs(1));
        self
    }

    /// Reads new messages in this interval, such as 250 ms, instead of waiting for them with `LISTEN`: for connections through a pooler in
    /// transaction mode, which has no `LISTEN`. At least 10 ms. Default: `LISTEN`, over a direct connection.
    #[must_use]
    pub fn poll_interval(mut self, interval: Duration) -> Self {
        self.poll_interval = Some(interval.max(Duration::from_millis(10)));
        self
    }

    /// Opens the database; its tables are made if there are none. Needs a `tokio` runtime.
    ///
    /// # Errors
    ///
    /// Returns [`ClusterError::NewerVersion`] if a newer version of this crate made the tables, [`ClusterError::OtherKey`] if the other
    /// processes have another key, and [`ClusterError::Unavailable`] if the server is not reachable.
    pub async fn open(self) -> Result<Cluster, ClusterError> {
        Cluster::open(self).await
    }
}

/// Omits the password and the key.
impl fmt::Debug for ClusterOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterOptions")
            .field("host", &self.connection.get_host())
            .field("database", &self.connection.get_database())
            .field("app", &self.app)
            .field("schema", &self.schema)
            .field("max_connections", &self.max_connections)
            .field("operation_timeout", &self.operation_timeout)
            .field("event_retention", &self.event_retention)
            .field("process_timeout", &self.process_timeout)
            .field("poll_interval", &self.poll_interval)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    fn options() -> ClusterOptions {
        ClusterOptions::new("postgres://user@host/x", ProgramKey::new([7; 32])).unwrap()
    }

    #[test]
    fn the_default_settings_are_those_of_the_documentation() {
        let options = options();
        assert_eq!((&*options.app, &*options.schema, options.max_connections), ("mcp", "tool_mcp", 10));
        let times = [options.operation_timeout, options.event_retention, options.process_timeout];
        assert_eq!(times.map(|time| time.as_secs()), [5, 600, 10]);
        assert_eq!(options.poll_interval, None);
    }

    #[test]
    fn a_setting_below_its_least_value_is_the_least_value() {
        for (connections, expected) in [(0, 2), (1, 2), (2, 2), (3, 3)] {
            assert_eq!(options().max_connections(connections).max_connections, expected);
        }
        let millis = Duration::from_millis;
        for (time, [operation, retention, process, poll]) in
            [(0, [1, 1_000, 1_000, 10]), (999, [999, 1_000, 1_000, 999]), (2_000, [2_000; 4])]
        {
            let time = millis(time);
            let options = options()
                .operation_timeout(time)
                .event_retention(time)
                .process_timeout(time)
                .poll_interval(time);
            let times = [options.operation_timeout, options.event_retention, options.process_timeout];
            assert_eq!(times, [operation, retention, process].map(millis));
            assert_eq!(options.poll_interval, Some(millis(poll)));
        }
    }

    #[test]
    fn a_url_has_a_scheme_of_the_database() {
        let error = |url: &str| {
            let options = ClusterOptions::new(url, ProgramKey::new([7; 32]));
            options.err().map(|error| error.to_string())
        };
        for url in ["postgres://host/x", "postgresql://host/x", "postgres://"] {
            assert_eq!(error(url), None, "{url}");
        }
        let problem = "the URL of the database is not valid; write it as `postgres://user@host/database`";
        for url in ["mysql://host/x", "host/x", "", "postgres:", "postgres://user@[/x"] {
            assert_eq!(error(url).as_deref(), Some(problem), "{url}");
        }
    }

    #[test]
    fn names_of_servers_and_schemas_have_their_characters_and_lengths() {
        for app in ["a".to_owned(), "Shop \u{e9}".to_owned(), "a".repeat(200)] {
            assert_eq!(options().app(&*app).unwrap().app, app);
        }
        for app in [String::new(), "a\tb".to_owned(), "a".repeat(201)] {
            let expected = format!(
                "{app:?} is not a valid name of a server; use 1 to 200 bytes without control characters"
            );
            assert_eq!(options().app(app).unwrap_err().to_string(), expected);
        }
        for schema in ["a".to_owned(), "a_1".to_owned(), "pga".to_owned(), "a".repeat(63)] {
            assert_eq!(options().schema(&*schema).unwrap().schema, schema);
        }
        for schema in ["", "_a", "1a", "aB", "a-b", "pg_a", &"a".repeat(64)] {
            let expected =
                format!("{schema:?} is not a valid schema; use at most 63 of `a-z`, `0-9` and `_`");
            assert_eq!(options().schema(schema).unwrap_err().to_string(), expected);
        }
    }
}
