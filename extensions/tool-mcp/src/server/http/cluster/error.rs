//! Errors of the database of a cluster.

use std::{error::Error, fmt};

/// The reason why the database of a [`Cluster`](super::Cluster) cannot be used.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ClusterError {
    /// A setting is not valid.
    Invalid(String),
    /// A newer version of this crate made the tables.
    NewerVersion {
        /// The version of the tables.
        found: i64,
        /// The newest version that this crate reads.
        supported: i64,
    },
    /// Another key made the data of this server, or the data was altered.
    OtherKey(String),
    /// The database does not answer in time; a later attempt may succeed.
    Unavailable(String),
    /// The database refuses an operation.
    Failed(String),
}

impl fmt::Display for ClusterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(problem) | Self::Unavailable(problem) | Self::Failed(problem) => {
                f.write_str(problem)
            }
            Self::NewerVersion { found, supported } => write!(
                f,
                "the tables have the version {found}, and this program reads versions up to {supported}; update the program"
            ),
            Self::OtherKey(app) => write!(
                f,
                "the data of the server `{app}` is of another key or was altered; use the key of the other processes, or another \
                 name or schema"
            ),
        }
    }
}

impl Error for ClusterError {}

/// Returns `true` for errors that may pass: lost connections, and servers that stop, start or have too many connections.
pub(super) fn is_transient(error: &sqlx::Error) -> bool {
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

/// Converts an error of the driver that does not pass.
pub(super) fn database_error(error: &sqlx::Error) -> ClusterError {
    match error {
        sqlx::Error::PoolClosed => ClusterError::Unavailable("the cluster is closed".to_owned()),
        error if is_transient(error) => ClusterError::Unavailable(format!("the database failed: {error}")),
        error => ClusterError::Failed(format!("the database failed: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use sqlx::error::{DatabaseError, ErrorKind};

    use super::*;

    /// An error of a server, with its code.
    #[derive(Debug)]
    struct ServerError(Option<&'static str>);

    impl fmt::Display for ServerError {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("it broke")
        }
    }

    impl Error for ServerError {}

    impl DatabaseError for ServerError {
        fn message(&self) -> &str {
            "it broke"
        }

        fn code(&self) -> Option<Cow<'_, str>> {
            self.0.map(Cow::Borrowed)
        }

        fn as_error(&self) -> &(dyn Error + Send + Sync + 'static) {
            self
        }

        fn as_error_mut(&mut self) -> &mut (dyn Error + Send + Sync + 'static) {
            self
        }

        fn into_error(self: Box<Self>) -> Box<dyn Error + Send + Sync + 'static> {
            self
        }

        fn kind(&self) -> ErrorKind {
            ErrorKind::Other
        }
    }

    fn server_error(code: Option<&'static str>) -> sqlx::Error {
        sqlx::Error::Database(Box::new(ServerError(code)))
    }

    #[test]
    fn errors_of_connections_and_of_servers_that_stop_or_are_busy_pass() {
        for code in ["25P03", "40001", "40P01", "53300", "55P03", "57014", "08000", "08006", "57P01", "57P03"]
        {
            assert!(is_transient(&server_error(Some(code))), "{code}");
        }
        for code in [None, Some("23505"), Some("42P01"), Some("57000"), Some("40002"), Some("0A000")] {
            assert!(!is_transient(&server_error(code)), "{code:?}");
        }
        for (error, expected) in [
            (sqlx::Error::PoolTimedOut, true),
            (sqlx::Error::Io(std::io::ErrorKind::ConnectionReset.into()), true),
            (sqlx::Error::WorkerCrashed, true),
            (sqlx::Error::PoolClosed, false),
            (sqlx::Error::RowNotFound, false),
        ] {
            assert_eq!(is_transient(&error), expected, "{error:?}");
        }
    }

    #[test]
    fn an_error_of_the_driver_is_unavailable_if_it_may_pass() {
        let closed = database_error(&sqlx::Error::PoolClosed);
        assert!(matches!(&closed, ClusterError::Unavailable(problem) if problem == "the cluster is closed"));
        for (code, is_unavailable) in [("57P01", true), ("42P01", false)] {
            let error = server_error(Some(code));
            let (expected, error) = (format!("the database failed: {error}"), database_error(&error));
            assert_eq!(matches!(error, ClusterError::Unavailable(_)), is_unavailable, "{error:?}");
            assert_eq!(matches!(error, ClusterError::Failed(_)), !is_unavailable, "{error:?}");
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn an_error_is_its_problem_or_says_what_to_do() {
        let problem = || "the problem".to_owned();
        for error in [
            ClusterError::Invalid(problem()),
            ClusterError::Unavailable(problem()),
            ClusterError::Failed(problem()),
        ] {
            assert_eq!(error.to_string(), "the problem");
        }
        let newer = ClusterError::NewerVersion { found: 3, supported: 2 }.to_string();
        let expected =
            "the tables have the version 3, and this program reads versions up to 2; update the program";
        assert_eq!(newer, expected);
        let other = ClusterError::OtherKey("mcp".to_owned()).to_string();
        let expected = "the data of the server `mcp` is of another key or was altered; use the key of the other processes, \
                        or another name or schema";
        assert_eq!(other, expected);
    }
}
