//! Conversations of sessions, in memory.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::OwnedMutexGuard;
use tool_runtime::{CallOutcome, RunContext};

use super::open::OpenBatch;
use crate::Message;

/// The default maximum number of sessions in memory.
const MAX_SESSIONS: usize = 10_000;

/// The conversations of all sessions of a runner.
#[derive(Clone, Default)]
pub(super) struct Sessions(Arc<Mutex<Stored>>);

type Shared = Arc<tokio::sync::Mutex<Session>>;

/// Program, user and session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SessionKey {
    app: Option<String>,
    user: Option<String>,
    session: String,
}

/// Sessions by their keys, and their keys by the time of their last use.
struct Stored {
    sessions: HashMap<SessionKey, StoredSession>,
    by_use: BTreeMap<u64, SessionKey>,
    uses: u64,
    max_sessions: usize,
}

struct StoredSession {
    session: Shared,
    last_use: u64,
}

/// The conversation of one session.
#[derive(Default)]
pub(super) struct Session {
    pub(super) messages: Vec<Message>,
    /// The last batch, while calls of it are open: the last message has its calls.
    pub(super) open: Option<OpenBatch>,
    /// Set while the input check has not accepted the last message: the next run removes it.
    pub(super) unchecked: AtomicBool,
}

impl Session {
    /// Removes a last message that no input check accepted: its run was dropped, or failed before.
    pub(super) fn forget_unchecked(&mut self) -> bool {
        let is_unchecked = std::mem::take(self.unchecked.get_mut());
        if is_unchecked {
            self.messages.pop();
        }
        is_unchecked
    }

    /// Discards the open calls of the session, so that their executor does not keep them.
    async fn discard_open_calls(&mut self) {
        let Some(open) = &self.open else { return };
        for address in open.outcomes.iter().filter_map(CallOutcome::address) {
            // A call that is not open any more needs nothing.
            drop(open.executor.discard(address).await);
        }
        self.open = None;
    }
}

/// The turn of a run in its session: other runs of the session wait for its end.
pub(super) type Turn = OwnedMutexGuard<Session>;

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
    pub(super) async fn turn(&self, run: &RunContext) -> Turn {
        let Some(key) = SessionKey::of(run.app().map(str::to_owned), run) else {
            return Shared::default().lock_owned().await;
        };
        let (session, removed) = self.lock().used(key);
        if !removed.is_empty() {
            tracing::warn!(
                sessions = removed.len(),
                "sessions that were not used for the longest time are removed; see `Runner::with_max_sessions`"
            );
        }
        for mut session in removed {
            session.discard_open_calls().await;
        }
        session.lock_owned().await
    }

    /// Returns the conversation of a session.
    pub(super) async fn messages(&self, key: &SessionKey) -> Vec<Message> {
        let session = self.lock().sessions.get(key).map(|stored| Arc::clone(&stored.session));
        let Some(session) = session else { return Vec::new() };
        let session = session.lock().await;
        let mut messages = session.messages.clone();
        if session.unchecked.load(Ordering::Acquire) {
            messages.pop();
        }
        messages
    }

    /// Removes a session; returns `false` if there is none. Waits for a run of it; runs that wait for their turn begin
    /// with an empty session.
    pub(super) async fn remove(&self, key: &SessionKey) -> bool {
        let session = self.lock().sessions.get(key).map(|stored| Arc::clone(&stored.session));
        let Some(session) = session else { return false };
        let mut turn = Arc::clone(&session).lock_owned().await;
        turn.discard_open_calls().await;
        *turn = Session::default();
        let mut stored = self.lock();
        let is_same = stored.sessions.get(key).is_some_and(|it| Arc::ptr_eq(&it.session, &session));
        // The store has it, and this function twice; others wait for their turn.
        if is_same && Arc::strong_count(&session) == 3 {
            drop(stored.remove(key));
        }
        true
    }

    /// Returns the number of sessions.
    pub(super) fn len(&self) -> usize {
        self.lock().sessions.len()
    }

    /// No user code runs under the lock.
    fn lock(&self) -> MutexGuard<'_, Stored> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Stored {
    fn default() -> Self {
        Self { sessions: HashMap::new(), by_use: BTreeMap::new(), uses: 0, max_sessions: MAX_SESSIONS }
    }
}

impl Stored {
    /// Returns the session with `key`, which is a new one if there is none, and the sessions that make place for it.
    fn used(&mut self, key: SessionKey) -> (Shared, Vec<Turn>) {
        self.uses += 1;
        let mut removed = Vec::new();
        let session = match self.sessions.remove(&key) {
            Some(stored) => {
                self.by_use.remove(&stored.last_use);
                stored.session
            }
            None => {
                removed = self.make_place();
                Shared::default()
            }
        };
        self.by_use.insert(self.uses, key.clone());
        let stored = StoredSession { session: Arc::clone(&session), last_use: self.uses };
        self.sessions.insert(key, stored);
        (session, removed)
    }

    /// Removes the sessions that were not used for the longest time until there is place for one more; those with a run
    /// stay.
    fn make_place(&mut self) -> Vec<Turn> {
        let excess = (self.sessions.len() + 1).saturating_sub(self.max_sessions);
        if excess == 0 {
            return Vec::new();
        }
        let idle = |key: &SessionKey| {
            let session = &self.sessions.get(key)?.session;
            // A run that has not taken its turn yet holds the session too.
            let is_idle = Arc::strong_count(session) == 1;
            let turn = is_idle.then(|| Arc::clone(session).try_lock_owned().ok())??;
            Some((key.clone(), turn))
        };
        let removed: Vec<_> = self.by_use.values().filter_map(idle).take(excess).collect();
        let turns = removed.into_iter().map(|(key, turn)| {
            drop(self.remove(&key));
            turn
        });
        turns.collect()
    }

    fn remove(&mut self, key: &SessionKey) -> Option<Shared> {
        let stored = self.sessions.remove(key)?;
        self.by_use.remove(&stored.last_use);
        Some(stored.session)
    }
}
