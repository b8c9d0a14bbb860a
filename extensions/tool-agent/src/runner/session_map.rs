//! The sessions of a process by their keys, and the order in which they make room for others.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
};

use tool_runtime::{RunContext, call::CallId};
use tool_session::{Lease as StoreLease, SessionError};

use super::session::Session;

/// The default maximum number of sessions in memory.
const MAX_SESSIONS: usize = 10_000;

/// The conversation of a session, which one run at a time changes.
pub(super) type SharedSession = Arc<tokio::sync::Mutex<Session>>;

/// Program, user and session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SessionKey {
    app: Option<String>,
    user: Option<String>,
    session: String,
}

/// Sessions by their keys, and the keys of those without a lease by the time of their last use.
pub(super) struct SessionMap {
    pub(super) sessions: HashMap<SessionKey, StoredSession>,
    pub(super) idle: BTreeMap<u64, SessionKey>,
    uses: u64,
    /// The number of sessions that make room for others, until they are removed.
    displaced: usize,
    pub(super) max_sessions: usize,
    /// The leases of dropped runs, which the next run abandons in the store.
    pub(super) abandoned: Vec<StoreLease>,
}

/// The run that has its turn in a session.
pub(super) type CurrentRun = Arc<Mutex<Option<CallId>>>;

pub(super) struct StoredSession {
    session: SharedSession,
    current_run: CurrentRun,
    last_use: u64,
    leases: usize,
}

impl SessionKey {
    /// Returns the key of the session of `run`; `None` for a run without a session.
    pub(super) fn of(app: Option<String>, run: &RunContext) -> Option<Self> {
        // As in a store, an empty name is none.
        let app = app.filter(|app| !app.is_empty());
        let user = run.user().filter(|user| !user.is_empty()).map(str::to_owned);
        Some(Self { app, user, session: run.session()?.to_owned() })
    }

    /// Returns the key of the session in a store.
    pub(super) fn stored_key(&self) -> Result<tool_session::SessionKey, SessionError> {
        let name = |name: &Option<String>| name.clone().unwrap_or_default();
        tool_session::SessionKey::new(name(&self.app), name(&self.user), self.session.clone())
    }
}

impl Default for SessionMap {
    fn default() -> Self {
        let (sessions, idle, abandoned) = (HashMap::new(), BTreeMap::new(), Vec::new());
        Self { sessions, idle, uses: 0, displaced: 0, max_sessions: MAX_SESSIONS, abandoned }
    }
}

impl SessionMap {
    /// Returns the number of sessions.
    pub(super) fn len(&self) -> usize {
        self.sessions.len()
    }

    /// Leases the session with `key`, which is a new one if there is none; returns the keys of the sessions that it displaces, too.
    pub(super) fn lease_for_run(
        &mut self,
        key: &SessionKey,
    ) -> ((SharedSession, CurrentRun), Vec<SessionKey>) {
        self.uses += 1;
        let last_use = self.uses;
        if let Some(session) = self.lease(key) {
            if let Some(stored) = self.sessions.get_mut(key) {
                stored.last_use = last_use;
            }
            return (session, Vec::new());
        }
        let displaced = self.displace_idle();
        let (session, current_run) = (SharedSession::default(), CurrentRun::default());
        let stored = StoredSession {
            session: Arc::clone(&session),
            current_run: Arc::clone(&current_run),
            last_use,
            leases: 1,
        };
        self.sessions.insert(key.clone(), stored);
        ((session, current_run), displaced)
    }

    pub(super) fn lease(&mut self, key: &SessionKey) -> Option<(SharedSession, CurrentRun)> {
        let stored = self.sessions.get_mut(key)?;
        stored.leases += 1;
        self.idle.remove(&stored.last_use);
        Some((Arc::clone(&stored.session), Arc::clone(&stored.current_run)))
    }

    /// Ends a lease of `session`, which is idle after the last one.
    pub(super) fn release(&mut self, key: &SessionKey, session: &SharedSession) {
        let stored = self.sessions.get_mut(key);
        // The session may be removed, or have made way for a new one with this key.
        let Some(stored) = stored.filter(|stored| Arc::ptr_eq(&stored.session, session)) else {
            return;
        };
        stored.leases -= 1;
        if stored.leases == 0 {
            self.idle.insert(stored.last_use, key.clone());
        }
    }

    /// Takes the idle sessions that were not used for the longest time, as many as make room for one more. Their removal follows: it waits.
    fn displace_idle(&mut self) -> Vec<SessionKey> {
        let remaining = (self.sessions.len() + 1).saturating_sub(self.displaced);
        let excess = remaining.saturating_sub(self.max_sessions);
        let oldest: Vec<_> = std::iter::from_fn(|| self.idle.pop_first()).take(excess).collect();
        self.displaced += oldest.len();
        oldest.into_iter().map(|(_, key)| key).collect()
    }

    /// Ends the displacement of a session: it is removed, or has a run again. One whose removal was dropped is idle again.
    pub(super) fn end_displacement(&mut self, key: &SessionKey) {
        self.displaced = self.displaced.saturating_sub(1);
        if let Some(stored) = self.sessions.get(key).filter(|stored| stored.leases == 0) {
            self.idle.insert(stored.last_use, key.clone());
        }
    }

    /// Removes the session with `key`, unless another caller leases it, too.
    pub(super) fn remove_unless_shared(&mut self, key: &SessionKey) {
        if self.sessions.get(key).is_some_and(|stored| stored.leases == 1) {
            self.sessions.remove(key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(session: &str) -> SessionKey {
        SessionKey { app: None, user: None, session: session.to_owned() }
    }

    fn map(max_sessions: usize) -> SessionMap {
        SessionMap { max_sessions, ..SessionMap::default() }
    }

    /// Uses a session, and returns those that make room for it.
    fn use_session(map: &mut SessionMap, name: &str) -> Vec<String> {
        let ((session, _), displaced) = map.lease_for_run(&key(name));
        map.release(&key(name), &session);
        displaced.into_iter().map(|key| key.session).collect()
    }

    #[test]
    fn sessions_make_room_by_their_last_use_while_others_are_still_removed() {
        let mut map = map(2);
        for name in ["a", "b", "a"] {
            assert_eq!(use_session(&mut map, name), [""; 0], "{name}");
        }
        assert_eq!(use_session(&mut map, "c"), ["b"]);
        // The session `b` is still there, but on its way out.
        assert_eq!((map.len(), use_session(&mut map, "d")), (3, vec!["a".to_owned()]));
        let remove_displaced = |map: &mut SessionMap, name: &str| {
            map.sessions.remove(&key(name));
            map.end_displacement(&key(name));
        };
        remove_displaced(&mut map, "a");
        assert_eq!((map.len(), use_session(&mut map, "e")), (3, vec!["c".to_owned()]));
        remove_displaced(&mut map, "b");
        remove_displaced(&mut map, "c");
        map.max_sessions = 1;
        assert_eq!((map.len(), use_session(&mut map, "f")), (2, ["d", "e"].map(str::to_owned).to_vec()));
    }

    #[test]
    fn a_session_that_was_not_removed_is_idle_again_unless_it_has_a_run() {
        let mut map = map(1);
        use_session(&mut map, "a");
        assert_eq!(use_session(&mut map, "b"), ["a"]);
        map.end_displacement(&key("a"));
        assert_eq!(use_session(&mut map, "c"), ["a", "b"]);
        let lease = map.lease(&key("a"));
        map.end_displacement(&key("a"));
        map.end_displacement(&key("b"));
        assert_eq!(
            (lease.is_some(), use_session(&mut map, "d")),
            (true, vec!["b".to_owned(), "c".to_owned()])
        );
    }

    #[test]
    fn a_session_is_idle_after_the_last_of_its_leases() {
        let mut map = map(1);
        let ((session, _), _) = map.lease_for_run(&key("a"));
        let second = map.lease(&key("a")).map(|(session, _)| session);
        assert!(second.is_some_and(|second| Arc::ptr_eq(&second, &session)));
        assert!(map.lease(&key("b")).is_none());
        map.remove_unless_shared(&key("a"));
        assert_eq!(map.len(), 1);
        map.release(&key("a"), &session);
        assert_eq!(use_session(&mut map, "b"), [""; 0]);
        // A lease of another session with this key ends nothing.
        map.release(&key("a"), &SharedSession::default());
        assert_eq!(map.idle.len(), 1);
        map.remove_unless_shared(&key("a"));
        assert_eq!(map.len(), 1);
        map.release(&key("a"), &session);
        assert_eq!(map.idle.len(), 1);
    }
}
