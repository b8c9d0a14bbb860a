//! The memory of the user of a run.

use std::sync::Arc;

use super::SharedMemory;
use crate::{Note, NoteContent, NoteMatch, SessionError, UserKey};

/// The notes of one user, for the tools of a run: a tool has a parameter `&SessionMemory`, and no argument of a model names another
/// user. The program provides it for each run; a run without one answers such a call with an error that says so.
///
/// # Examples
///
/// ```
/// use tool_runtime::{RunContext, prelude::*};
/// use tool_session::{InMemoryStore, SessionMemory, SharedMemory};
///
/// /// Counts what is known about a topic.
/// #[tool]
/// async fn count_notes(topic: String, memory: &SessionMemory) -> Result<usize, ToolError> {
///     let matches = memory.search(&topic, 10).await.map_err(ToolError::from_source)?;
///     Ok(matches.len())
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> anyhow::Result<()> {
/// let registry = Registry::builder().tool::<count_notes>().provide_per_run::<SessionMemory>().build()?;
/// let memory = SharedMemory::new(InMemoryStore::new());
/// let run = RunContext::new().with_app("shop").with_user("u-7");
/// let notes = memory.for_run(&run)?;
/// notes.add("The dog is called Rex.").await?;
/// let run = run.provide(notes);
/// # drop((registry, run));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct SessionMemory {
    memory: SharedMemory,
    user: UserKey,
    session: Option<Arc<str>>,
}

impl SessionMemory {
    pub(super) fn new(memory: SharedMemory, user: UserKey, session: Option<Arc<str>>) -> Self {
        Self { memory, user, session }
    }

    /// Returns the user whose notes these are.
    #[must_use]
    pub fn user(&self) -> &UserKey {
        &self.user
    }

    /// Returns the id of the session that new notes come from; `None` for notes that come from no session.
    #[must_use]
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Adds a note, which comes from the session.
    ///
    /// # Errors
    ///
    /// Returns [`Invalid`](SessionError::Invalid) for an empty text, and one beyond [64 KiB](NoteContent::MAX_TEXT_BYTES), and
    /// [`NotFound`](SessionError::NotFound) if the store of the memory does not have the session.
    pub async fn add(&self, text: impl Into<Arc<str>>) -> Result<Note, SessionError> {
        self.add_note(NoteContent::new(text)).await
    }

    /// Adds a note with its author and time; it comes from the session of the handle, whatever it says.
    ///
    /// # Errors
    ///
    /// As [`add`](Self::add).
    pub async fn add_note(&self, mut note: NoteContent) -> Result<Note, SessionError> {
        note.session.clone_from(&self.session);
        self.memory.add(&self.user, &note).await
    }

    /// Returns at most `limit` notes of the user with words of `query`, the best match first, from all sessions of the user. See
    /// [`SharedMemory::search`].
    ///
    /// # Errors
    ///
    /// As [`SharedMemory::search`].
    pub async fn search(&self, query: &str, limit: usize) -> Result<Vec<NoteMatch>, SessionError> {
        self.memory.search(&self.user, query, limit).await
    }

    /// Deletes a note of the user; returns `false` if the user has no note of this number.
    ///
    /// # Errors
    ///
    /// As [`SharedMemory::delete`].
    pub async fn delete(&self, number: u64) -> Result<bool, SessionError> {
        self.memory.delete(&self.user, number).await
    }
}
