//! The reason why a session is not served.

use std::fmt;

use rmcp::transport::streamable_http_server::session::local::{LocalSessionManagerError, SessionError};

#[cfg(feature = "postgres")]
use super::ClusterError;

/// A limit of sessions that is reached.
#[derive(Debug, Clone, Copy)]
pub(super) enum SessionLimit {
    Server(usize),
    /// The limit of each identity.
    Caller(usize),
}

impl fmt::Display for SessionLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Server(limit) => write!(f, "{limit} sessions are open, the limit of the server"),
            Self::Caller(limit) => {
                write!(f, "{limit} sessions of this caller are open, the limit of each caller")
            }
        }
    }
}

/// The reason why a session is not served.
#[derive(Debug)]
pub(super) enum SessionsError {
    Full(SessionLimit),
    /// A request of the session has the id of another one.
    IdInUse,
    #[cfg(feature = "postgres")]
    Cluster(ClusterError),
    Local(LocalSessionManagerError),
}

impl fmt::Display for SessionsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(full) => full.fmt(f),
            Self::IdInUse => f.write_str("the id of the request is in use"),
            #[cfg(feature = "postgres")]
            Self::Cluster(error) => error.fmt(f),
            Self::Local(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for SessionsError {}

impl From<SessionError> for SessionsError {
    fn from(error: SessionError) -> Self {
        Self::Local(error.into())
    }
}

impl From<LocalSessionManagerError> for SessionsError {
    fn from(error: LocalSessionManagerError) -> Self {
        Self::Local(error)
    }
}
