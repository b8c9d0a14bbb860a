//! The open sessions, and those of them that rest.
//!
//! The SDK keeps tasks and channels for a session, of more than 60 KiB. A session without a request and a stream does not need them: beyond a
//! number of sessions, those that were used least recently rest. Of a session that rests, its state and the text of its `initialize` are
//! kept, with which the next request sets it up again.

use std::{
    collections::{HashMap, VecDeque},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rmcp::transport::streamable_http_server::session::{
    SessionId, SessionManager as _, local::LocalSessionManager,
};
use tokio::{runtime::Handle, sync::Mutex as AsyncMutex, time::Instant};
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

use super::{
    Identity,
    activity::{OpenStream, SessionActivity},
};
use crate::server::session_state::SessionState;

/// The sessions that are looked at for one that may rest.
const MAX_CANDIDATES: usize = 16;

/// The open sessions of a server.
pub(super) struct SessionTable {
    pub(super) local: LocalSessionManager,
    /// The most sessions that do not rest although they could.
    max_ready: usize,
    sessions: Mutex<OpenSessions>,
    incarnations: AtomicU64,
    /// The handlers of sessions that rested, and sessions that are being closed.
    pub(super) tasks: TaskTracker,
}

#[derive(Default)]
struct OpenSessions {
    open: HashMap<SessionId, OpenSession>,
    /// Those that do not rest, the least recently set up first.
    ready: VecDeque<SessionId>,
}

/// An open session, and the task that ends it.
pub(super) struct OpenSession {
    activity: Arc<SessionActivity>,
    state: Arc<SessionState>,
    pub(super) identity: Option<Arc<Identity>>,
    /// The JSON of the params of `initialize`, once it is answered.
    initialize: Option<Box<str>>,
    /// The number of the handler that serves the session; `None` while it rests.
    incarnation: Option<u64>,
    /// Locked while the session is set up again.
    waking: Arc<AsyncMutex<()>>,
    /// Ends the session when it is idle.
    _task: AbortOnDropHandle<()>,
}

impl OpenSessions {
    fn remove(&mut self, id: &str) -> Option<OpenSession> {
        let (id, session) = self.open.remove_entry(id)?;
        if session.incarnation.is_some() {
            self.ready.retain(|ready| *ready != id);
        }
        Some(session)
    }
}

/// A session that is to be opened.
pub(super) struct NewSession {
    pub(super) identity: Option<Arc<Identity>>,
    pub(super) state: Arc<SessionState>,
    /// The JSON of the params of `initialize`, if it was answered.
    pub(super) initialize: Option<Box<str>>,
}

/// A session that is set up.
pub(super) struct ReadySession {
    pub(super) activity: Arc<SessionActivity>,
    pub(super) end: SessionEnd,
}

impl SessionTable {
    pub(super) fn new(local: LocalSessionManager, max_ready: usize) -> Arc<Self> {
        let (sessions, incarnations, tasks) = (Mutex::default(), AtomicU64::new(0), TaskTracker::new());
        Arc::new(Self { local, max_ready, sessions, incarnations, tasks })
    }

    fn lock_sessions(&self) -> MutexGuard<'_, OpenSessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of open sessions.
    pub(super) fn len(&self) -> usize {
        self.lock_sessions().open.len()
    }

    /// Returns the number of sessions that do not rest.
    #[cfg(test)]
    pub(super) fn ready_session_count(&self) -> usize {
        self.lock_sessions().ready.len()
    }

    pub(super) fn activity(&self, id: &str) -> Option<Arc<SessionActivity>> {
        self.lock_sessions().open.get(id).map(|session| Arc::clone(&session.activity))
    }

    pub(super) fn state(&self, id: &str) -> Option<Arc<SessionState>> {
        self.lock_sessions().open.get(id).map(|session| Arc::clone(&session.state))
    }

    /// Returns the ids of the sessions that have a stream or a request.
    #[cfg(feature = "postgres")]
    pub(super) fn used_sessions(&self) -> Vec<String> {
        let sessions = self.lock_sessions();
        let used = sessions.open.iter().filter(|(_, session)| !session.activity.is_unused());
        used.map(|(id, _)| id.to_string()).collect()
    }

    /// Keeps the session `id` from resting, if there is one. Returns the lock of its set-up, too, if it rests or is being set up.
    pub(super) fn hold_session_and_wake_lock(
        &self,
        id: &str,
    ) -> Option<(OpenStream, Option<Arc<AsyncMutex<()>>>)> {
        // Under the lock, under which a session is put to rest.
        let sessions = self.lock_sessions();
        let session = sessions.open.get(id)?;
        let is_ready = session.incarnation.is_some() && session.waking.try_lock().is_ok();
        let waking = (!is_ready).then(|| Arc::clone(&session.waking));
        Some((session.activity.open_stream(), waking))
    }

    /// Opens the session `id`, which rests until it is [set up](Self::set_up_session), unless it is open, or `is_full` returns a reason for
    /// those that are.
    pub(super) fn open_session<E>(
        self: &Arc<Self>,
        id: &SessionId,
        new: NewSession,
        idle_time: Duration,
        is_full: impl FnOnce(&mut dyn Iterator<Item = &OpenSession>) -> Option<E>,
    ) -> Result<(), E> {
        let mut sessions = self.lock_sessions();
        if sessions.open.contains_key(id) {
            return Ok(());
        }
        if let Some(full) = is_full(&mut sessions.open.values()) {
            return Err(full);
        }
        let NewSession { identity, state, initialize } = new;
        let activity = Arc::new(SessionActivity::default());
        let ending =
            end_session_when_idle(Arc::downgrade(self), Arc::clone(id), Arc::clone(&activity), idle_time);
        #[expect(clippy::disallowed_methods, reason = "the session aborts it")]
        let task = AbortOnDropHandle::new(tokio::spawn(ending));
        let session = OpenSession {
            activity,
            state,
            identity,
            initialize,
            incarnation: None,
            waking: Arc::default(),
            _task: task,
        };
        sessions.open.insert(Arc::clone(id), session);
        Ok(())
    }

    /// Gives the session `id` a handler of its own, unless it has ended.
    pub(super) fn set_up_session(self: &Arc<Self>, id: &SessionId) -> Option<ReadySession> {
        let mut sessions = self.lock_sessions();
        let sessions = &mut *sessions;
        let session = sessions.open.get_mut(id)?;
        let incarnation = self.incarnations.fetch_add(1, Ordering::Relaxed);
        if session.incarnation.replace(incarnation).is_none() {
            sessions.ready.push_back(Arc::clone(id));
        }
        let end = SessionEnd { table: Arc::downgrade(self), id: Arc::clone(id), incarnation };
        Some(ReadySession { activity: Arc::clone(&session.activity), end })
    }

    /// Returns `true` if the session `id` has a handler.
    pub(super) fn is_ready(&self, id: &str) -> bool {
        self.lock_sessions().open.get(id).is_some_and(|session| session.incarnation.is_some())
    }

    /// Removes the session `id`.
    pub(super) fn remove(&self, id: &str) {
        // Dropped outside the lock, with code of the program.
        let _removed = self.lock_sessions().remove(id);
    }

    /// Removes all sessions. Those that are ready end with their handlers.
    pub(super) fn remove_all(&self) {
        let _removed = std::mem::take(&mut *self.lock_sessions());
    }

    /// Puts sessions to rest that are not used, beyond the number of those that need not.
    pub(super) fn rest_unused_sessions(&self) {
        let mut sessions = self.lock_sessions();
        let mut candidates = MAX_CANDIDATES.min(sessions.ready.len());
        while candidates > 0 && sessions.ready.len() > self.max_ready {
            candidates -= 1;
            let Some(id) = sessions.ready.pop_front() else { return };
            if !self.rest_if_unused(&mut sessions, &id) {
                sessions.ready.push_back(id);
            }
        }
    }

    /// Puts the session `id` to rest, if it is not used.
    fn rest_if_unused(&self, sessions: &mut OpenSessions, id: &SessionId) -> bool {
        let Some(session) = sessions.open.get_mut(id) else { return true };
        if session.initialize.is_none() || !session.activity.is_unused() {
            return false;
        }
        let Ok(mut local) = self.local.sessions.try_write() else { return false };
        // Without its handle, the tasks of the SDK end.
        local.remove(id);
        session.incarnation = None;
        tracing::trace!(session = &**id, "the session rests");
        true
    }

    /// Returns the session `id`, if it rests.
    pub(super) fn resting_session(&self, id: &str) -> Option<RestingSession> {
        let sessions = self.lock_sessions();
        let (id, session) = sessions.open.get_key_value(id)?;
        let initialize = session.initialize.clone().filter(|_| session.incarnation.is_none())?;
        Some(RestingSession { id: Arc::clone(id), initialize, state: Arc::clone(&session.state) })
    }

    /// Sets the JSON of the params with which the session is set up again.
    pub(super) fn set_initialize_params(&self, id: &str, initialize: Box<str>) {
        if let Some(session) = self.lock_sessions().open.get_mut(id) {
            session.initialize = Some(initialize);
        }
    }
}

/// A session that rests.
pub(super) struct RestingSession {
    pub(super) id: SessionId,
    pub(super) initialize: Box<str>,
    pub(super) state: Arc<SessionState>,
}

/// Ends the session with the handler of the SDK, unless it rests or has another one.
pub(super) struct SessionEnd {
    table: Weak<SessionTable>,
    id: SessionId,
    incarnation: u64,
}

impl Drop for SessionEnd {
    fn drop(&mut self) {
        let Some(table) = self.table.upgrade() else { return };
        // Dropped outside the lock.
        let _removed = {
            let mut sessions = table.lock_sessions();
            let incarnation = sessions.open.get(&self.id).and_then(|session| session.incarnation);
            match incarnation == Some(self.incarnation) {
                true => sessions.remove(&self.id),
                false => return,
            }
        };
        if let Ok(runtime) = Handle::try_current() {
            let id = Arc::clone(&self.id);
            let closing = Arc::clone(&table);
            table.tasks.spawn_on(async move { closing.local.close_session(&id).await.ok() }, &runtime);
        }
    }
}

async fn end_session_when_idle(
    table: Weak<SessionTable>,
    id: SessionId,
    activity: Arc<SessionActivity>,
    time: Duration,
) {
    loop {
        // Beyond the clock, the session never ends.
        let Some(at) = activity.idle_deadline(time) else { return };
        if at <= Instant::now() {
            break;
        }
        tokio::time::sleep_until(at).await;
    }
    tracing::debug!(session = &*id, "the session ends: it is idle");
    let Some(table) = table.upgrade() else { return };
    if let Err(error) = table.local.close_session(&id).await {
        tracing::warn!(session = &*id, %error, "the idle session cannot be ended");
    }
    // Aborts this task.
    table.remove(&id);
}

#[cfg(test)]
mod tests;
