//! Conversations of sessions, in memory.

use std::{
    collections::{BTreeMap, HashMap},
    ops::{Deref, DerefMut},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::OwnedMutexGuard;
use tool_runtime::RunContext;

use super::open_batch::OpenBatch;
use crate::Message;

/// The default maximum number of sessions in memory.
const MAX_SESSIONS: usize = 10_000;

/// The conversations of all sessions of a runner.
#[derive(Clone, Default)]
pub(super) struct Sessions(Arc<Mutex<Stored>>);

/// The conversation of a session, which one run at a time changes.
type SharedSession = Arc<tokio::sync::Mutex<Session>>;

/// Program, user and session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SessionKey {
    app: Option<String>,
    user: Option<String>,
    session: String,
}

/// Sessions by their keys, and the keys of those without a lease by the time of their last use.
struct Stored {
    sessions: HashMap<SessionKey, StoredSession>,
    idle: BTreeMap<u64, SessionKey>,
    uses: u64,
    max_sessions: usize,
}

struct StoredSession {
    session: SharedSession,
    last_use: u64,
    leases: usize,
}

/// A use of a session, which no other session displaces as long as the lease exists.
struct Lease {
    sessions: Sessions,
    key: SessionKey,
    session: SharedSession,
}

/// The conversation of one session.
#[derive(Default)]
pub(super) struct Session {
    pub(super) messages: Vec<Message>,
    /// The last batch, while calls of it are open: the last message has its calls.
    pub(super) open: Option<OpenBatch>,
    /// Set while the input check has not accepted the last message: the next run removes it.
    pub(super) is_unchecked: bool,
}

impl Session {
    /// Removes a last message that no input check accepted: its run was dropped, or failed before.
    pub(super) fn forget_unchecked(&mut self) {
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
    }
}

/// The turn of a run in its session: other runs of the session wait for its end.
pub(super) struct SessionTurn {
    session: OwnedMutexGuard<Session>,
    /// `None` for a run without a session. Dropped after the guard.
    _lease: Option<Lease>,
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

impl Drop for Lease {
    fn drop(&mut self) {
        self.sessions.lock().release(self);
    }
}

impl SessionKey {
    /// Returns the key of the session of `run`; `None` for a run without a session.
    pub(super) fn of(app: Option<String>, run: &RunContext) -> Option<Self> {
        Some(Self { app, user: run.user().map(str::to_owned), session: run.session()?.to_owned() })
    }
}

impl Sessions {
    /// Sets the maximum number of sessions.
    pub(super) fn set_max(&self, max_sessions: usize) {
        self.lock().max_sessions = max_sessions;
    }

    /// Waits for the turn of `run` in its session; a run without a session has a conversation of its own.
    pub(super) async fn turn(&self, run: &RunContext) -> SessionTurn {
        let Some(key) = SessionKey::of(run.app().map(str::to_owned), run) else {
            let session = SharedSession::default().lock_owned().await;
            return SessionTurn { session, _lease: None };
        };
        let (session, displaced) = self.lock().lease_for_run(&key);
        let lease = Lease { sessions: self.clone(), key, session };
        if !displaced.is_empty() {
            tracing::warn!(
                sessions = displaced.len(),
                "sessions that were not used for the longest time are removed; see `Runner::with_max_sessions`"
            );
        }
        for session in displaced {
            session.lock().await.discard_open_calls().await;
        }
        lease.turn().await
    }

    /// Returns the conversation of a session.
    pub(super) async fn messages(&self, key: &SessionKey) -> Vec<Message> {
        let Some(lease) = self.lease(key) else { return Vec::new() };
        let session = lease.session.lock().await;
        let mut messages = session.messages.clone();
        if session.is_unchecked {
            messages.pop();
        }
        messages
    }

    /// Removes a session; returns `false` if there is none. Waits for a run of it; runs that wait for their turn begin
    /// with an empty session.
    pub(super) async fn remove(&self, key: &SessionKey) -> bool {
        let Some(lease) = self.lease(key) else { return false };
        let mut turn = lease.turn().await;
        turn.discard_open_calls().await;
        *turn.session = Session::default();
        self.lock().remove_unless_shared(key);
        true
    }

    /// Returns the number of sessions.
    pub(super) fn len(&self) -> usize {
        self.lock().sessions.len()
    }

    /// Leases the session with `key`, which does not count as a use; `None` if there is none.
    fn lease(&self, key: &SessionKey) -> Option<Lease> {
        let session = self.lock().lease(key)?;
        Some(Lease { sessions: self.clone(), key: key.clone(), session })
    }

    /// No user code runs under the lock.
    fn lock(&self) -> MutexGuard<'_, Stored> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    /// Waits for the turn in the session.
    async fn turn(self) -> SessionTurn {
        let session = Arc::clone(&self.session).lock_owned().await;
        SessionTurn { session, _lease: Some(self) }
    }
}

impl Default for Stored {
    fn default() -> Self {
        Self { sessions: HashMap::new(), idle: BTreeMap::new(), uses: 0, max_sessions: MAX_SESSIONS }
    }
}

impl Stored {
    /// Leases the session with `key`, which is a new one if there is none; returns the sessions that it displaces, too.
    fn lease_for_run(&mut self, key: &SessionKey) -> (SharedSession, Vec<SharedSession>) {
        self.uses += 1;
        let last_use = self.uses;
        if let Some(session) = self.lease(key) {
            if let Some(stored) = self.sessions.get_mut(key) {
                stored.last_use = last_use;
            }
            return (session, Vec::new());
        }
        let displaced = self.displace_idle();
        let session = SharedSession::default();
        let stored = StoredSession { session: Arc::clone(&session), last_use, leases: 1 };
        self.sessions.insert(key.clone(), stored);
        (session, displaced)
    }

    fn lease(&mut self, key: &SessionKey) -> Option<SharedSession> {
        let stored = self.sessions.get_mut(key)?;
        stored.leases += 1;
        self.idle.remove(&stored.last_use);
        Some(Arc::clone(&stored.session))
    }

    /// Ends a lease. The session is idle after the last one.
    fn release(&mut self, lease: &Lease) {
        let stored = self.sessions.get_mut(&lease.key);
        // The session may be removed, or have made way for a new one with this key.
        let Some(stored) = stored.filter(|stored| Arc::ptr_eq(&stored.session, &lease.session)) else {
            return;
        };
        stored.leases -= 1;
        if stored.leases == 0 {
            self.idle.insert(stored.last_use, lease.key.clone());
        }
    }

    /// Removes the idle sessions that were not used for the longest time until there is room for one more.
    fn displace_idle(&mut self) -> Vec<SharedSession> {
        let excess = (self.sessions.len() + 1).saturating_sub(self.max_sessions);
        let oldest = std::iter::from_fn(|| self.idle.pop_first()).take(excess);
        oldest.filter_map(|(_, key)| self.sessions.remove(&key)).map(|stored| stored.session).collect()
    }

    /// Removes the session with `key`, unless another caller leases it, too.
    fn remove_unless_shared(&mut self, key: &SessionKey) {
        if self.sessions.get(key).is_some_and(|stored| stored.leases == 1) {
            self.sessions.remove(key);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::pin::pin;

    use super::*;

    fn run(session: &str) -> RunContext {
        RunContext::new().with_session(session)
    }

    fn key(session: &str) -> SessionKey {
        SessionKey::of(None, &run(session)).unwrap()
    }

    #[test]
    fn a_session_is_of_a_program_and_a_user() {
        assert_eq!(SessionKey::of(None, &RunContext::new()), None);
        let app = |app: &str| SessionKey::of(Some(app.to_owned()), &run("s")).unwrap();
        let user = SessionKey::of(None, &run("s").with_user("ada")).unwrap();
        assert!(key("s") == key("s") && key("s") != key("t") && app("a") != app("b"));
        assert!(key("s") != app("a") && key("s") != user);
    }

    #[tokio::test]
    async fn a_session_is_removed_once_and_not_while_a_run_waits_for_it() {
        let sessions = Sessions::default();
        assert!(!sessions.remove(&key("a")).await);
        let mut turn = sessions.turn(&run("a")).await;
        turn.messages.push(Message::user("Hi."));
        drop(turn);
        drop(sessions.turn(&run("b")).await);
        assert_eq!((sessions.len(), sessions.messages(&key("a")).await.len()), (2, 1));
        assert!(sessions.remove(&key("a")).await);
        assert_eq!((sessions.len(), sessions.messages(&key("a")).await.len()), (1, 0));
        assert!(!sessions.remove(&key("a")).await);

        let mut turn = sessions.turn(&run("b")).await;
        turn.messages.push(Message::user("Hi."));
        let (b, run) = (key("b"), run("b"));
        let mut removing = pin!(sessions.remove(&b));
        assert!(futures_util::poll!(&mut removing).is_pending(), "a run has its turn");
        let mut waiting = pin!(sessions.turn(&run));
        assert!(futures_util::poll!(&mut waiting).is_pending());
        drop(turn);
        assert!(removing.await);
        let turn = waiting.await;
        assert_eq!(
            (sessions.len(), turn.messages.len()),
            (1, 0),
            "the next run begins with an empty session"
        );
    }

    #[tokio::test]
    async fn the_session_that_was_not_used_for_the_longest_time_makes_room() {
        let sessions = Sessions::default();
        sessions.set_max(2);
        for name in ["a", "b", "a", "c"] {
            drop(sessions.turn(&run(name)).await);
        }
        let has = |name: &str| sessions.lock().sessions.contains_key(&key(name));
        assert_eq!(["a", "b", "c"].map(has), [true, false, true]);
        // To look at a session is no use of it, and one that is in use stays.
        sessions.messages(&key("a")).await;
        let turn = sessions.turn(&run("c")).await;
        drop(sessions.turn(&run("d")).await);
        assert_eq!(["a", "b", "c", "d"].map(has), [false, false, true, true]);
        let other = sessions.turn(&run("d")).await;
        drop(sessions.turn(&run("e")).await);
        assert_eq!((["c", "d", "e"].map(has), sessions.len()), ([true; 3], 3));
        drop((turn, other));
        drop(sessions.turn(&run("f")).await);
        assert_eq!((has("f"), sessions.len()), (true, 2));
        assert_eq!(sessions.lock().idle.len(), 2);
    }

    #[test]
    fn an_unchecked_message_is_forgotten_once() {
        let messages = vec![Message::user("a"), Message::user("b")];
        let mut session = Session { messages, ..Session::default() };
        session.forget_unchecked();
        assert_eq!(session.messages.len(), 2);
        session.is_unchecked = true;
        session.forget_unchecked();
        session.forget_unchecked();
        assert_eq!((session.messages.len(), session.is_unchecked), (1, false));
    }
}
