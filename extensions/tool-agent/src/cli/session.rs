//! The session of a conversation: its name, and its store if it is stored.

use std::{future::Future, time::Duration};

use tool_cli::{Exit, Failure, Program};
use tool_session::{SessionError, SessionKey, SharedSessionStore};

/// The time without an event after which a person learns that the session is in use.
const BUSY_NOTE_DELAY: Duration = Duration::from_secs(1);

/// The maximum number that is tried for the name of a new session.
const MAX_SESSION_NUMBER: u32 = 10_000;

/// The session of a conversation.
pub(super) struct ChatSession {
    name: String,
    /// The number of the conversation, from 1: each one is a session.
    number: u32,
    stored: Option<StoredSession>,
}

/// A session that outlives the process.
pub(super) struct StoredSession {
    pub(super) store: SharedSessionStore,
    /// The key of the first session.
    pub(super) key: SessionKey,
    /// The time to wait while another process uses the session.
    pub(super) max_wait: Duration,
}

impl ChatSession {
    /// Creates the session of a conversation that ends with the process.
    pub(super) fn in_memory() -> Self {
        Self { name: "chat-1".to_owned(), number: 1, stored: None }
    }

    /// Creates a session that is stored.
    #[cfg(feature = "chat-store")]
    pub(super) fn stored(stored: StoredSession) -> Self {
        Self { name: stored.key.id().to_owned(), number: 1, stored: Some(stored) }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Describes a stored session.
    pub(super) async fn stored_description(&self) -> Result<Option<String>, Failure> {
        let Some(stored) = &self.stored else { return Ok(None) };
        let name = &self.name;
        Ok(Some(match stored.store.load(&stored.key).await.map_err(|error| store_failure(&error))? {
            None => format!("`{name}` is new"),
            Some(snapshot) => format!("`{name}` continues after {} entries", snapshot.session.entries),
        }))
    }

    /// Begins the next conversation; returns the name of a stored one, which no session has: the name of the first one with a number.
    pub(super) async fn begin_next_conversation(&mut self) -> Result<Option<&str>, Failure> {
        let Some(stored) = &self.stored else {
            self.number += 1;
            self.name = format!("chat-{}", self.number);
            return Ok(None);
        };
        for number in self.number + 1..=MAX_SESSION_NUMBER {
            let name = format!("{}-{number}", stored.key.id());
            let key = stored.key.with_id(name.as_str()).map_err(|error| store_failure(&error))?;
            if stored.store.load(&key).await.map_err(|error| store_failure(&error))?.is_none() {
                (self.number, self.name) = (number, name);
                return Ok(Some(&self.name));
            }
        }
        let problem =
            format!("{MAX_SESSION_NUMBER} sessions begin with `{}`; name another one", stored.key.id());
        Err(Failure::quoting(Exit::Usage, problem))
    }

    /// Waits for the first event of a turn. Returns `None` with a note if it does not come soon, since another process uses the session.
    pub(super) async fn wait_with_busy_note<T>(
        &self,
        program: &Program,
        first: impl Future<Output = T>,
    ) -> Option<T> {
        let Some(stored) = self.stored.as_ref().filter(|it| it.max_wait > BUSY_NOTE_DELAY) else {
            return Some(first.await);
        };
        let event = tokio::time::timeout(BUSY_NOTE_DELAY, first).await.ok();
        if event.is_none() {
            let seconds = stored.max_wait.as_secs();
            program
                .note(&format!("the session `{}` is in use; waiting at most {seconds} seconds", self.name));
        }
        event
    }
}

fn store_failure(error: &SessionError) -> Failure {
    Failure::quoting(Exit::Failed, format!("the store of the session failed: {error}"))
}
