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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use std::future::{pending, ready};

    use tool_cli::{Cli, Command, clap};
    use tool_session::{InMemoryStore, LeaseRequest, SessionWrite};

    use super::*;

    fn key(session: &str) -> SessionKey {
        SessionKey::new("program", "", session).unwrap()
    }

    /// A session of the name `a` in a store that has the sessions `names`.
    async fn stored_session(names: &[&str], number: u32, max_wait: Duration) -> ChatSession {
        let store = SharedSessionStore::new(InMemoryStore::new());
        for name in names {
            let grant = store.acquire(&key(name), &LeaseRequest::new("run-1", "process-1")).await.unwrap();
            let write = SessionWrite::new(0).title("Stored").end_of_run();
            store.write(&grant.lease, &write).await.unwrap();
        }
        let stored = StoredSession { store, key: key("a"), max_wait };
        ChatSession { name: "a".to_owned(), number, stored: Some(stored) }
    }

    #[tokio::test]
    async fn a_conversation_of_the_process_has_a_number_and_no_description() {
        let mut session = ChatSession::in_memory();
        assert_eq!((session.name(), session.stored_description().await.unwrap()), ("chat-1", None));
        for name in ["chat-2", "chat-3"] {
            assert_eq!(session.begin_next_conversation().await.unwrap(), None);
            assert_eq!(session.name(), name);
        }
    }

    #[tokio::test]
    async fn a_stored_conversation_is_new_or_continues() {
        for (names, description) in
            [(&[][..], "`a` is new"), (&["b"], "`a` is new"), (&["a"], "`a` continues after 0 entries")]
        {
            let session = stored_session(names, 1, Duration::ZERO).await;
            assert_eq!(session.stored_description().await.unwrap().unwrap(), description);
        }
    }

    #[tokio::test]
    async fn the_next_stored_conversation_has_the_first_number_that_is_free() {
        let mut session = stored_session(&["a", "a-2", "a-4"], 1, Duration::ZERO).await;
        for name in ["a-3", "a-5", "a-6"] {
            assert_eq!(session.begin_next_conversation().await.unwrap(), Some(name));
            assert_eq!(session.name(), name);
        }
        let mut last = stored_session(&[], MAX_SESSION_NUMBER - 1, Duration::ZERO).await;
        assert_eq!(last.begin_next_conversation().await.unwrap(), Some("a-10000"));
        let failure = last.begin_next_conversation().await.unwrap_err();
        assert_eq!(failure.to_string(), "10000 sessions begin with `a`; name another one");
        assert_eq!(last.name(), "a-10000");
    }

    /// A command that waits for events of sessions, within a paused clock.
    struct Wait;

    impl Command for Wait {
        fn grammar(&self) -> clap::Command {
            clap::Command::new("wait")
        }

        fn run(&self, program: &Program, _: &clap::ArgMatches) -> Result<Exit, Failure> {
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
            runtime.unwrap().block_on(async {
                let late = |seconds: u64| async move {
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                    seconds
                };
                let in_memory = ChatSession::in_memory();
                assert_eq!(in_memory.wait_with_busy_note(program, late(60)).await, Some(60));
                // Within the delay of the note, the end of the wait is near.
                let soon = stored_session(&[], 1, BUSY_NOTE_DELAY).await;
                assert_eq!(soon.wait_with_busy_note(program, late(60)).await, Some(60));
                let session = stored_session(&[], 1, Duration::from_secs(30)).await;
                assert_eq!(session.wait_with_busy_note(program, ready(1)).await, Some(1));
                assert_eq!(session.wait_with_busy_note(program, pending::<u64>()).await, None);
                assert_eq!(session.wait_with_busy_note(program, late(2)).await, None);
            });
            Ok(Exit::Done)
        }
    }

    #[test]
    fn a_turn_that_does_not_begin_soon_is_waited_for_with_a_note() {
        assert_eq!(Cli::new().command(Wait).run(["program", "wait"]), Exit::Done);
    }
}
