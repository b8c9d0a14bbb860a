//! Exports of a session that other runs change or delete meanwhile.

use std::sync::{Arc, Mutex};

use tool_runtime::serde_json::Map;
use tool_session::{
    Entry, EntryOrder, EntryPage, EntryQuery, InMemoryStore, JsonText, Lease, LeaseGrant, LeaseRequest,
    Retention, ScopedState, Session, SessionError, SessionExport, SessionFilter, SessionKey, SessionSnapshot,
    SessionStore, SessionVersion, SessionWrite, SharedSessionStore, UnfinishedRun,
};

use crate::contract::world::{key, message};

/// A store of one session, of which `found` entries are left when they are read, and the queries for them.
#[derive(Clone)]
struct Changing {
    entries: u64,
    found: u64,
    queries: Arc<Mutex<Vec<EntryQuery>>>,
}

impl SessionStore for Changing {
    async fn load(&self, key: &SessionKey) -> Result<Option<SessionSnapshot>, SessionError> {
        let mut session = Session::new(key.clone(), std::time::UNIX_EPOCH);
        (session.revision, session.entries) = (1, self.entries);
        let state =
            ScopedState { user: Map::from_iter([("user:a".to_owned(), 1.into())]), ..Default::default() };
        Ok(Some(SessionSnapshot { session, state }))
    }

    async fn entries(&self, _: &SessionKey, query: &EntryQuery) -> Result<EntryPage, SessionError> {
        self.queries.lock().unwrap().push(query.clone());
        let all = (1..=self.found).map(|number| Entry { number, content: message("one", "x") });
        let entries: Vec<_> = all.filter(|entry| query.admits(entry)).take(2).collect();
        let has_more = entries.last().is_some_and(|last| last.number < self.found);
        Ok(EntryPage { entries, has_more })
    }

    async fn list(&self, _: &SessionFilter) -> Result<Vec<Session>, SessionError> {
        Err(SessionError::Closed)
    }

    async fn acquire(&self, _: &SessionKey, _: &LeaseRequest) -> Result<LeaseGrant, SessionError> {
        Err(SessionError::Closed)
    }

    async fn renew(&self, _: &Lease) -> Result<Lease, SessionError> {
        Err(SessionError::Closed)
    }

    async fn release(&self, _: &Lease) -> Result<(), SessionError> {
        Err(SessionError::Closed)
    }

    async fn abandon(&self, _: &Lease) -> Result<(), SessionError> {
        Err(SessionError::Closed)
    }

    async fn write(&self, _: &Lease, _: &SessionWrite) -> Result<SessionVersion, SessionError> {
        Err(SessionError::Closed)
    }

    async fn fork(&self, _: &SessionKey, _: u64, _: &SessionKey) -> Result<Session, SessionError> {
        Err(SessionError::Closed)
    }

    async fn delete(&self, _: &SessionKey) -> Result<bool, SessionError> {
        Err(SessionError::Closed)
    }

    async fn delete_user(&self, _: &str, _: &str) -> Result<u64, SessionError> {
        Err(SessionError::Closed)
    }

    async fn prune(&self, _: &Retention) -> Result<u64, SessionError> {
        Err(SessionError::Closed)
    }

    async fn unfinished(&self, _: &str) -> Result<Vec<UnfinishedRun>, SessionError> {
        Err(SessionError::Closed)
    }

    async fn import(&self, _: &[SessionExport]) -> Result<(), SessionError> {
        Err(SessionError::Closed)
    }
}

#[tokio::test]
async fn an_export_is_of_one_moment_or_an_error() {
    let missing = Err(SessionError::NotFound(Box::new(key("s"))));
    for (entries, found, is_whole) in [(5, 5, true), (5, 8, true), (5, 4, false), (5, 0, false), (0, 0, true)]
    {
        let store = Changing { entries, found, queries: Arc::default() };
        let export = SharedSessionStore::new(store.clone()).export(&key("s")).await;
        let case = format!("{found} of {entries}");
        match is_whole {
            true => {
                let export = export.unwrap();
                assert_eq!(export.entries.len() as u64, entries, "{case}");
                // The state of the user is not the session's.
                assert!(export.state.is_empty());
            }
            false => assert_eq!(export, missing, "{case}"),
        }
        let queries = store.queries.lock().unwrap();
        assert!(queries.iter().all(|it| it.before == Some(entries + 1) && it.order == EntryOrder::Forward));
        assert_eq!((queries[0].after, queries[0].max_entries), (0, EntryQuery::MAX_ENTRIES), "{case}");
    }
}

#[tokio::test]
async fn the_handle_checks_names_and_tells_the_lifetime_of_sessions() {
    let memory = SharedSessionStore::from(InMemoryStore::new());
    let other = SharedSessionStore::new(Changing { entries: 0, found: 0, queries: Arc::default() });
    assert_eq!((memory.outlives_process(), other.outlives_process()), (false, true));
    assert_eq!(format!("{memory:?}"), "SharedSessionStore { outlives_process: false, .. }");
    let long = "x".repeat(SessionKey::MAX_NAME_BYTES + 1);
    for (app, user, role) in [(&*long, "u-7", "app"), ("shop", &long, "user")] {
        let error = memory.delete_user(app, user).await.unwrap_err().to_string();
        assert_eq!(error, format!("the {role} has 769 bytes; at most 768 bytes are stored"));
    }
    // A checked name reaches the store.
    assert_eq!(other.delete_user("shop", "u-7").await, Err(SessionError::Closed));
    assert_eq!(other.fork(&key("s"), 0, "t").await, Err(SessionError::Closed));
    assert_eq!(other.write(&lease(), &SessionWrite::new(0)).await, Err(SessionError::Closed));
    // Four of the largest bodies are exactly as much as a write may have.
    let largest = message("one", &"x".repeat(JsonText::MAX_BYTES - 2));
    let write = SessionWrite::new(0).entries((0..4).map(|_| largest.clone()));
    assert_eq!(other.write(&lease(), &write).await, Err(SessionError::Closed));
    let error = other.write(&lease(), &write.entry(message("one", ""))).await.unwrap_err().to_string();
    assert!(error.starts_with("the entries of the write have 67108866 bytes; at most 67108864"), "{error}");
    let error = memory.export(&key("s")).await.unwrap_err();
    assert_eq!(error, SessionError::NotFound(Box::new(key("s"))));
}

fn lease() -> Lease {
    Lease { key: key("s"), run: "one".into(), epoch: 1, expires_at: std::time::UNIX_EPOCH }
}
