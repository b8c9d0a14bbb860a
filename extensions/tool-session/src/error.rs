//! Errors of stores.

use std::{fmt, time::SystemTime};

use tool_runtime::call::CallId;

use crate::SessionKey;

/// An error of a [`SessionStore`](crate::SessionStore). If an operation fails, it changed nothing, except after
/// [`Unavailable`](Self::Unavailable), where that is not known.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SessionError {
    /// A value that no store takes, such as a name that is too long; the text names the limit.
    Invalid(String),
    /// There is no session of this key.
    NotFound(Box<SessionKey>),
    /// There is a session of this key already.
    Exists(Box<SessionKey>),
    /// Another run has the lease of the session.
    Busy {
        /// The run that has the lease.
        run: CallId,
        /// The time at which its lease expires, unless it is renewed.
        expires_at: SystemTime,
    },
    /// Another run has taken over the session: a run with an older epoch, or one whose session has changed in the meantime,
    /// must not write.
    Superseded {
        /// The run that last took the lease.
        run: CallId,
    },
    /// The session has another revision than the write expects.
    RevisionChanged {
        /// The revision that the write was made for.
        expected: u64,
        /// The revision of the session.
        revision: u64,
    },
    /// The store holds its maximum number of sessions, and all of them are in use.
    Full {
        /// The maximum number of sessions.
        max_sessions: usize,
    },
    /// The database was made by a newer version of this crate.
    NewerVersion {
        /// The version of the database.
        found: u32,
        /// The newest version that this crate reads.
        supported: u32,
    },
    /// The store was opened for reading only.
    ReadOnly,
    /// The store was closed.
    Closed,
    /// A failure that may pass, such as a locked database: the same operation may be tried again.
    Unavailable(String),
    /// Any other failure, such as a full disk.
    Failed(String),
}

impl SessionError {
    /// Returns `true` if the same operation may succeed a little later without a change of the program or its data.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Busy { .. } | Self::Unavailable(_))
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(problem) => f.write_str(problem),
            Self::NotFound(key) => write!(f, "there is no {key}"),
            Self::Exists(key) => write!(f, "there is a {key} already; delete it, or use another id"),
            Self::Busy { run, .. } => {
                write!(f, "the run {:?} has the lease of the session; wait for its end", run.to_string())
            }
            Self::Superseded { run } => {
                write!(f, "the run {:?} has taken over the session; this run must not write", run.to_string())
            }
            Self::RevisionChanged { expected, revision } => {
                write!(
                    f,
                    "the session has revision {revision}, and the write is for {expected}; load it again"
                )
            }
            Self::Full { max_sessions } => {
                write!(
                    f,
                    "the limit of {max_sessions} sessions is reached, and all are in use; delete some of them"
                )
            }
            Self::NewerVersion { found, supported } => write!(
                f,
                "the database has version {found}, and this program supports versions up to {supported}; update the program"
            ),
            Self::ReadOnly => {
                f.write_str("the store was opened for reading only; open it without `read_only`")
            }
            Self::Closed => f.write_str("the store was closed; open it again"),
            Self::Unavailable(reason) | Self::Failed(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for SessionError {}
