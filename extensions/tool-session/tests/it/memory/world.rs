//! The memories and values that the tests of the contract share.

use std::any::Any;

use tool_session::{
    Clock, Entry, LeaseRequest, NoteContent, SessionKey, SessionWrite, SharedMemory, SharedSessionStore,
    UserKey,
};

use crate::contract::world::{TestTime, message};

/// Makes the memories of one implementation, each with the sessions of the same store.
pub(crate) trait MemoryFactory {
    /// Returns `false` if this machine cannot make a store, which is reported.
    fn is_available() -> bool {
        true
    }

    /// Opens a new, empty store; what the last value owns is kept as long as the store.
    async fn open_memory(clock: Clock) -> (SharedSessionStore, SharedMemory, Box<dyn Any>);
}

/// A new store.
pub(crate) struct World {
    pub(crate) sessions: SharedSessionStore,
    pub(crate) memory: SharedMemory,
    pub(crate) time: TestTime,
    _owned: Box<dyn Any>,
}

impl World {
    pub(crate) async fn new<F: MemoryFactory>() -> Self {
        let time = TestTime::default();
        let (sessions, memory, owned) = F::open_memory(time.clock()).await;
        Self { sessions, memory, time, _owned: owned }
    }

    pub(crate) async fn add(&self, text: &str) -> u64 {
        self.memory.add(&user(), &NoteContent::new(text)).await.unwrap().number
    }

    /// Writes `texts` as messages of a session, which is made if there is none; its run has ended.
    pub(crate) async fn write_session(&self, key: &SessionKey, texts: &[&str]) {
        let grant = self.sessions.acquire(key, &LeaseRequest::new("run", "holder")).await.unwrap();
        let entries = texts.iter().map(|text| message("run", text));
        let write = SessionWrite::new(grant.session.revision).entries(entries).end_of_run();
        self.sessions.write(&grant.lease, &write).await.unwrap();
    }

    /// Adds the texts of a session; returns the number of notes.
    pub(crate) async fn add_session(&self, key: &SessionKey) -> u64 {
        self.memory.add_session(&self.sessions, key, note_of).await.unwrap()
    }

    /// Returns the texts that a query finds.
    pub(crate) async fn find(&self, query: &str) -> Vec<String> {
        self.find_of(&user(), query).await
    }

    pub(crate) async fn find_of(&self, user: &UserKey, query: &str) -> Vec<String> {
        let matches = self.memory.search(user, query, 100).await.unwrap();
        matches.iter().map(|found| found.note.content.text.to_string()).collect()
    }
}

/// The user of [`key`](crate::contract::world::key).
pub(crate) fn user() -> UserKey {
    UserKey::new("shop", "u-7").unwrap()
}

pub(crate) fn note_of(entry: &Entry) -> Option<NoteContent> {
    entry.content.body.read::<String>().ok().map(|text| NoteContent::new(text).with_author("user"))
}
