//! The stores and values that the tests of the contract share.

use std::{
    any::Any,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use tool_runtime::serde_json::Value;
use tool_session::{
    Clock, Entry, EntryContent, EntryQuery, JsonText, Lease, LeaseRequest, SessionError, SessionKey,
    SessionVersion, SessionWrite, SharedSessionStore,
};

/// Makes the stores of one implementation.
pub(crate) trait StoreFactory {
    /// Returns `true` if this machine can open such stores; otherwise it reports that the test is skipped.
    fn is_available() -> bool {
        true
    }

    /// Opens a new, empty store with `clock`; what the second value owns is kept as long as the store.
    async fn open(clock: Clock) -> (SharedSessionStore, Box<dyn Any>);
}

/// A new store, and its clock.
pub(crate) struct World {
    pub(crate) sessions: SharedSessionStore,
    pub(crate) time: TestTime,
    _owned: Box<dyn Any>,
}

impl World {
    pub(crate) async fn new<F: StoreFactory>() -> Self {
        let time = TestTime::default();
        let (sessions, owned) = F::open(time.clock()).await;
        Self { sessions, time, _owned: owned }
    }

    /// Takes the lease of a session for `run`, whose holder has the same name.
    pub(crate) async fn acquire(&self, key: &SessionKey, run: &str) -> Result<Lease, SessionError> {
        Ok(self.sessions.acquire(key, &LeaseRequest::new(run, run)).await?.lease)
    }

    /// Writes `texts` as messages, in one write at the present revision.
    pub(crate) async fn write(&self, lease: &Lease, texts: &[&str]) -> Result<SessionVersion, SessionError> {
        let revision = self.revision(&lease.key).await;
        let entries = texts.iter().map(|text| message(&lease.run.to_string(), text));
        self.sessions.write(lease, &SessionWrite::new(revision).entries(entries)).await
    }

    /// Makes a session with `texts` as messages, whose run has ended.
    pub(crate) async fn session(&self, key: &SessionKey, texts: &[&str]) {
        let lease = self.acquire(key, "maker").await.unwrap();
        self.write(&lease, texts).await.unwrap();
        self.sessions.release(&lease).await.unwrap();
    }

    pub(crate) async fn revision(&self, key: &SessionKey) -> u64 {
        self.sessions.load(key).await.unwrap().map_or(0, |it| it.session.revision)
    }

    /// Returns all bodies, as texts.
    pub(crate) async fn texts(&self, key: &SessionKey) -> Vec<String> {
        texts(&self.entries(key, EntryQuery::forward()).await)
    }

    /// Returns all entries of `query`, page by page.
    pub(crate) async fn entries(&self, key: &SessionKey, query: EntryQuery) -> Vec<Entry> {
        let (mut entries, mut next) = (Vec::new(), Some(query));
        while let Some(query) = next {
            let page = self.sessions.entries(key, &query).await.unwrap();
            next = query.next(&page);
            entries.extend(page.entries);
        }
        entries
    }
}

/// A time that passes when a test says so.
#[derive(Clone)]
pub(crate) struct TestTime(Arc<Mutex<SystemTime>>);

impl Default for TestTime {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000))))
    }
}

impl TestTime {
    pub(crate) fn clock(&self) -> Clock {
        let time = Arc::clone(&self.0);
        Clock::new(move || *time.lock().unwrap())
    }

    pub(crate) fn pass(&self, seconds: u64) {
        *self.0.lock().unwrap() += Duration::from_secs(seconds);
    }

    pub(crate) fn jump_back(&self, seconds: u64) {
        *self.0.lock().unwrap() -= Duration::from_secs(seconds);
    }
}

/// The key of a session of one app and user.
pub(crate) fn key(id: &str) -> SessionKey {
    SessionKey::new("shop", "u-7", id).unwrap()
}

/// Writes one message in a run of its own.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) async fn write_run(
    sessions: &SharedSessionStore,
    id: &str,
    text: &str,
) -> Result<(), SessionError> {
    let grant = sessions.acquire(&key(id), &LeaseRequest::new("run", "holder")).await?;
    let write = SessionWrite::new(grant.session.revision).entry(message("run", text)).end_of_run();
    sessions.write(&grant.lease, &write).await.map(drop)
}

/// Returns the number of entries of a session.
#[cfg(any(feature = "sqlite", feature = "postgres"))]
pub(crate) async fn entries_of(sessions: &SharedSessionStore, id: &str) -> u64 {
    sessions.load(&key(id)).await.unwrap().map_or(0, |it| it.session.entries)
}

pub(crate) fn message(run: &str, text: &str) -> EntryContent {
    entry(run, EntryContent::MESSAGE, text)
}

pub(crate) fn entry(run: &str, kind: &str, text: &str) -> EntryContent {
    EntryContent::new(run, kind, JsonText::of(&text).unwrap())
}

pub(crate) fn texts(entries: &[Entry]) -> Vec<String> {
    entries.iter().map(|entry| entry.content.body.read().unwrap()).collect()
}

pub(crate) fn numbers(entries: &[Entry]) -> Vec<u64> {
    entries.iter().map(|entry| entry.number).collect()
}

/// Returns the members of an object.
pub(crate) fn map(value: Value) -> tool_runtime::serde_json::Map<String, Value> {
    value.as_object().cloned().unwrap()
}
