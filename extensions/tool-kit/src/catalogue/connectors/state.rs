//! The state of a connector, as programs and people see it.

use std::{fmt, time::Duration};

/// The state of a connector of a [`Catalogue`](super::super::Catalogue).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ConnectorState {
    /// It is connected once the catalogue [runs](super::super::Catalogue::run).
    Queued,
    /// It is being connected.
    Connecting,
    /// It is connected, and its items are in the catalogue.
    Active,
    /// It is not connected, and is connected again.
    Waiting {
        /// The time from this state on until the next attempt.
        delay: Duration,
    },
    /// The name that its server reports is taken, reserved or no name. It is connected again once a namespace becomes free, if the name is taken.
    Conflict,
    /// It is given up after 100 attempts. Remove it, and add it again.
    Failed,
    /// The run of the catalogue has ended.
    Stopped,
    /// It is removed. Of events only.
    Removed,
}

impl fmt::Display for ConnectorState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Queued => "queued",
            Self::Connecting => "connecting",
            Self::Active => "active",
            Self::Waiting { delay } => return write!(f, "waiting {delay:?}"),
            Self::Conflict => "conflict",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
            Self::Removed => "removed",
        })
    }
}

/// A connector of a [`Catalogue`](super::super::Catalogue), from [`connectors`](super::super::Catalogue::connectors). Texts of others are escaped and
/// bounded.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConnectorInfo {
    /// The key by which it is removed: its URL in canonical form, or its namespace.
    pub key: String,
    /// Its namespace; `None` until its server has reported its name.
    pub namespace: Option<String>,
    /// Its URL in canonical form: without user information, query and fragment, which may be secret. `None` for one without a URL.
    pub url: Option<String>,
    /// The name that its server reported last, before it was made a namespace.
    pub server_name: Option<String>,
    /// Its state.
    pub state: ConnectorState,
    /// The last problem: of a connection that failed or ended, or of its name. `None` while it is active.
    pub last_error: Option<String>,
}
