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
