//! The sessions of a process: the turn of each run, and the open batch of each session. Their conversations are in a store.

use std::{
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::OwnedMutexGuard;
use tool_runtime::{RunContext, call::CallId};
use tool_session::{Lease as StoreLease, SharedSessionStore};

use super::{
    RunUsage,
    child_history::{ChildHistories, HistoryLease},
    control::Control,
    entry::UnstoredMessage,
    open_batch::OpenBatch,
    parent_run::ParentRun,
    session_map::{CurrentRun, SessionKey, SessionMap, SharedSession},
    session_writer::SessionWriter,
    team::Position,
};
use crate::Message;

/// The turns of all sessions of a runner.
#[derive(Clone)]
pub(super) struct Sessions {
    stored: Arc<Mutex<SessionMap>>,
    /// The holder of leases in a store, which no other process or runner is.
    holder: Arc<str>,
}

/// A use of a session, which no other session displaces as long as the lease exists.
struct Lease {
    sessions: Sessions,
    key: SessionKey,
    session: SharedSession,
    current_run: CurrentRun,
}

/// The conversation of one session, which a run reads from the store at its turn, except the open batch. A run without a session, and the runs
/// below its calls, have theirs here alone.
#[derive(Default)]
pub(super) struct Session {
    pub(super) messages: Vec<Message>,
    /// The last batch, while calls of it are open: the last message has its calls.
    pub(super) open: Option<OpenBatch>,
    /// The position of the last run in its tree of agents, if it can be continued there.
    pub(super) position: Option<Position>,
    /// Set while the input check has not accepted the last message: the next run removes it.
    pub(super) is_unchecked: bool,
    /// The messages that the store does not have, since the input check has not accepted one of them.
    pub(super) unstored: Vec<UnstoredMessage>,
    /// The agent that has control, as the session has it; with a store, as it was read.
    pub(super) control: Control,
    /// The revision of the stored session after the turn that left the open batch.
    last_revision: Option<u64>,
    /// The histories of the runs below calls of this session.
    pub(super) children: Arc<ChildHistories>,
    /// Notes about runs below calls, each with the number of messages before it. They are in memory alone: a store has the messages.
    pub(super) notes: Vec<(usize, Message)>,
    /// The usage of the last run, with which the run of a call continues.
    pub(super) usage: RunUsage,
    /// `true` for the history of a call that remains after its run.
    pub(super) is_kept: bool,
}

impl Session {
    /// Removes a last message that no input check accepted: its run was dropped, or failed before.
    pub(super) fn remove_unchecked_message(&mut self) {
        if std::mem::take(&mut self.is_unchecked) {
            self.messages.pop();
        }
    }

    /// Discards the open calls of the session, so that their executor does not keep them.
    async fn discard_open_calls(&mut self) {
        if let Some(open) = &self.open {
            open.discard().await;
        }
        self.open = None;
        self.children.close_all().await;
    }
}

/// The turn of a run in its session: other runs of the session wait for its end.
pub(super) struct SessionTurn {
    session: OwnedMutexGuard<Session>,
    /// Writes to the store of the session; `None` without a store.
    pub(super) writer: Option<Arc<SessionWriter>>,
    /// `None` for a run without a session. Dropped after the guard.
    lease: Option<Lease>,
    /// `None` for a run that is not below a call.
    history: Option<HistoryLease>,
}

impl Deref for SessionTurn {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl DerefMut for SessionTurn {
    fn deref_mut(&mut self) -> &mut Session {
        &mut self.session
    }
}

impl SessionTurn {
    /// Returns the turn of a run with a conversation of its own.
    pub(super) async fn without_session() -> Self {
        let session = SharedSession::default().lock_owned().await;
        Self { session, writer: None, lease: None, history: None }
    }

    /// Returns the turn of a run below a call in its history.
    pub(super) fn of_child(session: OwnedMutexGuard<Session>, history: HistoryLease) -> Self {
        Self { session, writer: None, lease: None, history: Some(history) }
    }

    /// Takes the leases of dropped runs.
    pub(super) fn take_abandoned_leases(&self) -> Vec<StoreLease> {
        match &self.lease {
            Some(lease) => std::mem::take(&mut lease.sessions.lock().abandoned),
            None => Vec::new(),
        }
    }

    /// Takes an open batch that is not the end of the session of this revision, since another process has written.
    pub(super) fn take_stale_batch(&mut self, revision: u64) -> Option<OpenBatch> {
        match self.session.last_revision == Some(revision) {
            true => None,
            false => self.session.open.take(),
        }
    }
}

/// Forgets what the store has; the lease of a run that did not end is abandoned by the next run.
impl Drop for SessionTurn {
    fn drop(&mut self) {
        if let Some(history) = &self.history {
            history.release_session(&mut self.session, self.writer.as_deref());
        }
        let Some(lease) = &self.lease else { return };
        *lease.current_run.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let Some(writer) = &self.writer else { return };
        let (abandoned, revision) = writer.current_lease_and_revision().unzip();
        self.session.messages = Vec::new();
        (self.session.is_unchecked, self.session.last_revision) = (false, revision);
        self.session.unstored = Vec::new();
        lease.sessions.lock().abandoned.extend(abandoned.flatten());
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.sessions.lock().release(&self.key, &self.session);
    }
}

impl Default for Sessions {
    fn default() -> Self {
        Self { stored: Arc::default(), holder: CallId::generate().to_string().into() }
    }
}

impl Sessions {
    /// Returns the holder of leases in a store.
    pub(super) fn holder(&self) -> Arc<str> {
        Arc::clone(&self.holder)
    }

    /// Returns the maximum number of sessions.
    pub(super) fn max_sessions(&self) -> usize {
        self.lock().max_sessions
    }

    /// Waits for the end of a run of a session, unless `run` is that run, or is below a call of it.
    pub(super) async fn wait_for_turn(&self, key: &SessionKey, run: &RunContext) {
        if let Some(lease) = self.lease(key).filter(|lease| !lease.is_held_by(run)) {
            drop(lease.acquire_turn().await);
        }
    }

    /// Returns `true` if `run` has the turn of the session, or is below a call of the run that has it: to wait for that turn would have no end.
    pub(super) fn is_held_by(&self, key: &SessionKey, run: &RunContext) -> bool {
        self.lease(key).is_some_and(|lease| lease.is_held_by(run))
    }

    /// Sets the maximum number of sessions.
    pub(super) fn set_max(&self, max_sessions: usize) {
        self.lock().max_sessions = max_sessions;
    }

    /// Waits for the turn of `run` in its session, at most for `max_wait`; then the error is the run that has it. A run without a
    /// session has a conversation of its own. A session that makes room for this one is deleted from `own_store`, if that is the store.
    pub(super) async fn acquire_turn(
        &self,
        run: &RunContext,
        max_wait: Duration,
        own_store: Option<&SharedSessionStore>,
    ) -> Result<SessionTurn, CallId> {
        let Some(key) = SessionKey::of(run.app().map(str::to_owned), run) else {
            return Ok(SessionTurn::without_session().await);
        };
        let ((session, current_run), displaced) = self.lock().lease_for_run(&key);
        let lease = Lease { sessions: self.clone(), key, session, current_run };
        if !displaced.is_empty() {
            tracing::warn!(
                sessions = displaced.len(),
                "sessions that were not used for the longest time are removed; see `Runner::with_max_sessions`"
            );
        }
        let mut displacement = Displacement { sessions: self, keys: displaced };
        while let Some(key) = displacement.keys.last() {
            self.remove_displaced_session(key, own_store).await;
            displacement.end_last_displacement();
        }
        // A run that its own child waits for cannot end.
        let current_run = lease.current_run.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(above) = current_run.filter(|above| run.id() != above && ParentRun::is_within(run, above))
        {
            return Err(above);
        }
        let turn = lease.acquire_turn_within(max_wait).await?;
        if let Some(lease) = &turn.lease {
            *lease.current_run.lock().unwrap_or_else(PoisonError::into_inner) = Some(run.id().clone());
        }
        Ok(turn)
    }

    /// Removes a session that was idle, unless a run has begun since.
    async fn remove_displaced_session(&self, key: &SessionKey, own_store: Option<&SharedSessionStore>) {
        let Some(lease) = self.lease(key) else { return };
        let Ok(session) = Arc::clone(&lease.session).try_lock_owned() else { return };
        let mut turn = SessionTurn { session, writer: None, lease: Some(lease), history: None };
        if let Some(store) = own_store {
            turn.discard_open_calls().await;
            // A name that a store refuses has no session there.
            if let Ok(key) = key.stored_key()
                && let Err(error) = store.delete(&key).await
            {
                tracing::warn!(%error, "a session that made room for another one was not deleted");
            }
        }
        // The open calls of a store that others share stay open: any process may answer them.
        *turn.session = Session::default();
        self.lock().remove_unless_shared(key);
    }

    /// Removes a session, and deletes it from its store before the next run of it has its turn; returns the result of `delete`. Waits for a run of the
    /// session; runs that wait for their turn begin with an empty one.
    pub(super) async fn remove_and_delete<F: Future<Output = bool>>(
        &self,
        key: &SessionKey,
        delete: impl FnOnce() -> F,
    ) -> bool {
        let Some(lease) = self.lease(key) else { return delete().await };
        let mut turn = lease.acquire_turn().await;
        turn.discard_open_calls().await;
        *turn.session = Session::default();
        let is_removed = delete().await;
        self.lock().remove_unless_shared(key);
        is_removed
    }

    /// Returns the number of sessions.
    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    /// Leases the session with `key`, which does not count as a use; `None` if there is none.
    fn lease(&self, key: &SessionKey) -> Option<Lease> {
        let (session, current_run) = self.lock().lease(key)?;
        Some(Lease { sessions: self.clone(), key: key.clone(), session, current_run })
    }

    /// No user code runs under the lock.
    fn lock(&self) -> MutexGuard<'_, SessionMap> {
        self.stored.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sessions that make room for another one. Those that are not removed when it is dropped are idle again.
struct Displacement<'s> {
    sessions: &'s Sessions,
    keys: Vec<SessionKey>,
}

impl Displacement<'_> {
    fn end_last_displacement(&mut self) {
        if let Some(key) = self.keys.pop() {
            self.sessions.lock().end_displacement(&key);
        }
    }
}

impl Drop for Displacement<'_> {
    fn drop(&mut self) {
        while !self.keys.is_empty() {
            self.end_last_displacement();
        }
    }
}

impl Lease {
    fn is_held_by(&self, run: &RunContext) -> bool {
        let current = self.current_run.lock().unwrap_or_else(PoisonError::into_inner);
        current.as_ref().is_some_and(|current| ParentRun::is_within(run, current))
    }

    /// Waits for the turn in the session.
    async fn acquire_turn(self) -> SessionTurn {
        let session = Arc::clone(&self.session).lock_owned().await;
        SessionTurn { session, writer: None, lease: Some(self), history: None }
    }

    /// Waits for the turn in the session, at most for `max_wait`. The timer is needed only if there is another run.
    async fn acquire_turn_within(self, max_wait: Duration) -> Result<SessionTurn, CallId> {
        if let Ok(session) = Arc::clone(&self.session).try_lock_owned() {
            return Ok(SessionTurn { session, writer: None, lease: Some(self), history: None });
        }
        let current_run = Arc::clone(&self.current_run);
        tokio::time::timeout(max_wait, self.acquire_turn()).await.map_err(|_| {
            let run = current_run.lock().unwrap_or_else(PoisonError::into_inner).clone();
            run.unwrap_or_else(|| CallId::from(""))
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests;
