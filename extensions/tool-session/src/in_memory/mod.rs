//! The store in memory.

#[cfg(feature = "artifacts")]
mod artifacts;
mod notes;
mod scope;
mod sessions;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use self::sessions::Sessions;
use crate::{
    Clock, EntryPage, EntryQuery, Lease, LeaseGrant, LeaseRequest, Retention, Session, SessionError,
    SessionExport, SessionFilter, SessionKey, SessionSnapshot, SessionStore, SessionVersion, SessionWrite,
    UnfinishedRun,
};

/// A store in memory; clones share it. It ends with the process.
///
/// It holds at most [10,000](Self::MAX_SESSIONS) sessions by default. A new session beyond that displaces the one that was not changed for the
/// longest time and that no run uses, with a warning. The state of a user outlives the sessions of the user while there are fewer users with a state
/// than sessions may be, at most 10,000; beyond that, the state of users without a session is removed, with a warning, too.
///
/// # Examples
///
/// ```
/// use tool_session::{InMemoryStore, SharedSessionStore};
///
/// let sessions = SharedSessionStore::new(InMemoryStore::new().with_max_sessions(100));
/// assert!(!sessions.outlives_process());
/// ```
#[derive(Debug, Clone, Default)]
pub struct InMemoryStore {
    sessions: Arc<Mutex<Sessions>>,
    clock: Clock,
}

impl InMemoryStore {
    /// The default maximum number of sessions.
    pub const MAX_SESSIONS: usize = 10_000;
    /// The default maximum number of [notes](crate::Memory).
    pub const MAX_NOTES: usize = 100_000;

    /// Creates an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the maximum number of sessions. Default: [10,000](Self::MAX_SESSIONS).
    #[must_use]
    pub fn with_max_sessions(self, sessions: usize) -> Self {
        self.lock_sessions().max_sessions = sessions;
        self
    }

    /// Sets the maximum number of [notes](crate::Memory); a note beyond it displaces the oldest one, with a warning. Default:
    /// [100,000](Self::MAX_NOTES).
    #[must_use]
    pub fn with_max_notes(self, notes: usize) -> Self {
        self.lock_sessions().max_notes = notes;
        self
    }

    /// Sets the clock. Default: the clock of the system.
    #[must_use]
    pub fn with_clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    // A poisoned lock can be recovered: no user code runs under it, and every change is checked before it begins.
    fn lock_sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SessionStore for InMemoryStore {
    fn outlives_process(&self) -> bool {
        false
    }

    async fn load(&self, key: &SessionKey) -> Result<Option<SessionSnapshot>, SessionError> {
        Ok(self.lock_sessions().snapshot_of(key))
    }

    async fn list(&self, filter: &SessionFilter) -> Result<Vec<Session>, SessionError> {
        Ok(self.lock_sessions().filtered_sessions(filter))
    }

    async fn entries(&self, key: &SessionKey, query: &EntryQuery) -> Result<EntryPage, SessionError> {
        Ok(self.lock_sessions().entry_page(key, query))
    }

    async fn acquire(&self, key: &SessionKey, request: &LeaseRequest) -> Result<LeaseGrant, SessionError> {
        // The clock is code of the program, which runs outside of the lock.
        let now = self.clock.now();
        self.lock_sessions().acquire_lease(key, request, now)
    }

    async fn renew(&self, lease: &Lease) -> Result<Lease, SessionError> {
        let now = self.clock.now();
        self.lock_sessions().renew_lease(lease, now)
    }

    async fn release(&self, lease: &Lease) -> Result<(), SessionError> {
        self.lock_sessions().release_lease(lease)
    }

    async fn abandon(&self, lease: &Lease) -> Result<(), SessionError> {
        let now = self.clock.now();
        self.lock_sessions().abandon_lease(lease, now)
    }

    async fn write(&self, lease: &Lease, write: &SessionWrite) -> Result<SessionVersion, SessionError> {
        let now = self.clock.now();
        self.lock_sessions().apply_write(lease, write, now)
    }

    async fn fork(
        &self,
        key: &SessionKey,
        last_entry: u64,
        fork: &SessionKey,
    ) -> Result<Session, SessionError> {
        let now = self.clock.now();
        self.lock_sessions().fork_session(key, last_entry, fork, now)
    }

    async fn delete(&self, key: &SessionKey) -> Result<bool, SessionError> {
        Ok(self.lock_sessions().delete_session(key))
    }

    async fn delete_user(&self, app: &str, user: &str) -> Result<u64, SessionError> {
        Ok(self.lock_sessions().delete_user(app, user))
    }

    async fn prune(&self, retention: &Retention) -> Result<u64, SessionError> {
        let now = self.clock.now();
        Ok(self.lock_sessions().prune_sessions(retention, now))
    }

    async fn unfinished(&self, app: &str) -> Result<Vec<UnfinishedRun>, SessionError> {
        let now = self.clock.now();
        Ok(self.lock_sessions().unfinished_runs(app, now))
    }

    async fn import(&self, exports: &[SessionExport]) -> Result<(), SessionError> {
        let now = self.clock.now();
        self.lock_sessions().import_sessions(exports, now)
    }
}
