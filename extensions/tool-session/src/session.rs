//! Sessions.

use std::{sync::Arc, time::SystemTime};

use serde::{Deserialize, Serialize};

use crate::{ScopedState, SessionKey, millis};

/// A session, without its entries and its state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Session {
    /// The key.
    #[serde(flatten)]
    pub key: SessionKey,
    /// The number of writes so far: each write makes the next revision.
    pub revision: u64,
    /// The number of entries, which is the number of the last one.
    pub entries: u64,
    /// The title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<Arc<str>>,
    /// The time at which the session was made; in JSON, milliseconds since the Unix epoch.
    #[serde(with = "millis")]
    pub created_at: SystemTime,
    /// The time of the last write.
    #[serde(with = "millis")]
    pub updated_at: SystemTime,
    /// The session and entry from which this session was forked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<SessionOrigin>,
}

/// The origin of a [fork](crate::SessionStore::fork).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionOrigin {
    /// The id of the original session, of the same app and user.
    pub id: Arc<str>,
    /// The number of the last shared entry; 0 if none is shared.
    pub entry: u64,
}

impl Session {
    /// Creates a session without entries, of revision 0. A store sets the other fields.
    #[must_use]
    pub fn new(key: SessionKey, created_at: SystemTime) -> Self {
        let created_at = millis::truncated(created_at);
        Self { key, revision: 0, entries: 0, title: None, created_at, updated_at: created_at, origin: None }
    }
}

/// A session with its state, read at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSnapshot {
    /// The session.
    pub session: Session,
    /// The state of the session, of its user and of its app.
    pub state: ScopedState,
}
