//! A handle to a memory of any type.

use std::{fmt, future::Future, sync::Arc};

use tool_runtime::{
    BoxFuture, RunContext,
    guard::{Guarded, catch, catch_async},
};

use super::{Memory, SessionMemory};
use crate::{
    Entry, EntryNotes, EntryPage, EntryQuery, Note, NoteContent, NoteMatch, SessionError, SessionKey,
    SharedSessionStore, UserKey, memory::rank::MAX_MATCHES, store::not_found_error,
};

/// A handle to a [`Memory`] of any type; clones share the memory. It checks names and limits before a memory receives them, and a panic
/// of the memory is an error.
///
/// # Examples
///
/// ```
/// use tool_session::{InMemoryStore, NoteContent, SharedMemory, UserKey};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> anyhow::Result<()> {
/// let memory = SharedMemory::new(InMemoryStore::new());
/// let user = UserKey::new("shop", "u-7")?;
/// memory.add(&user, &NoteContent::new("The dog of the user is called Rex.")).await?;
/// memory.add(&user, &NoteContent::new("The user lives in Lyon.")).await?;
///
/// let matches = memory.search(&user, "What is the name of my dog?", 5).await?;
/// assert_eq!(matches[0].note.content.text.as_ref(), "The dog of the user is called Rex.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct SharedMemory {
    memory: Arc<Guarded<Box<dyn ErasedMemory>>>,
}

impl SharedMemory {
    /// The largest limit of a search; a larger one counts as this.
    pub const MAX_MATCHES: usize = MAX_MATCHES;

    /// Creates a handle to `memory`, such as a store of this crate.
    #[must_use]
    pub fn new(memory: impl Memory + 'static) -> Self {
        Self { memory: Arc::new(Guarded::new(Box::new(memory))) }
    }

    /// Returns the handle that a tool of a run in the session `key` receives as `&SessionMemory`: see [`SessionMemory`].
    #[must_use]
    pub fn for_session(&self, key: &SessionKey) -> SessionMemory {
        SessionMemory::new(self.clone(), key.user_key(), Some(key.id().into()))
    }

    /// Returns a handle for the notes of `user`, which come from no session: they are kept until they or their user are deleted.
    #[must_use]
    pub fn for_user(&self, user: &UserKey) -> SessionMemory {
        SessionMemory::new(self.clone(), user.clone(), None)
    }

    /// Returns the handle of `run`: [`for_session`](Self::for_session), or [`for_user`](Self::for_user) for a run without a session.
    ///
    /// # Errors
    ///
    /// Returns an error if a name of the run is not valid: see [`SessionKey::new`].
    pub fn for_run(&self, run: &RunContext) -> Result<SessionMemory, SessionError> {
        match SessionKey::of_run(run) {
            Some(key) => Ok(self.for_session(&key?)),
            None => Ok(self.for_user(&UserKey::of_run(run)?)),
        }
    }

    /// Adds a note of `user`. See [`Memory::add_note`].
    ///
    /// # Errors
    ///
    /// As [`Memory::add_note`]; and [`Invalid`](SessionError::Invalid) for an empty text, and a name or size beyond a limit.
    pub async fn add(&self, user: &UserKey, note: &NoteContent) -> Result<Note, SessionError> {
        note.check_limits()?;
        self.run_guarded(|memory| memory.add_note(user, note)).await
    }

    /// Adds the texts of the entries of a session that the memory does not have yet, by pages; returns the number of notes. `text_of` returns the
    /// note of an entry, or `None`; a text beyond [64 KiB](NoteContent::MAX_TEXT_BYTES) becomes several notes. The notes come from
    /// the session: they are deleted with it.
    ///
    /// The memory stores the number of the last entry with the notes, so that a session is added at most once for each of its revisions,
    /// also if two processes add it at once, or if one of them is interrupted.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](SessionError::NotFound) if there is no such session in the sessions or in the memory, and
    /// [`Failed`](SessionError::Failed) if `text_of` panics. The pages before the error are added.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_session::{
    ///     EntryContent, InMemoryStore, JsonText, LeaseRequest, NoteContent, SessionKey, SessionWrite, SharedMemory, SharedSessionStore,
    /// };
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> anyhow::Result<()> {
    /// let store = InMemoryStore::new();
    /// let (sessions, memory) = (SharedSessionStore::new(store.clone()), SharedMemory::new(store));
    /// let key = SessionKey::new("shop", "u-7", "s-1")?;
    /// let lease = sessions.acquire(&key, &LeaseRequest::new("run-1", "process-1")).await?.lease;
    /// let entry = EntryContent::new("run-1", EntryContent::MESSAGE, JsonText::of(&"My dog is called Rex.")?);
    /// sessions.write(&lease, &SessionWrite::new(0).entry(entry)).await?;
    ///
    /// let add = || memory.add_session(&sessions, &key, |entry| entry.content.body.read::<String>().ok().map(NoteContent::new));
    /// assert_eq!((add().await?, add().await?), (1, 0));
    ///
    /// sessions.delete(&key).await?;
    /// assert!(memory.search(&key.user_key(), "dog", 5).await?.is_empty());
    /// # Ok(())
    /// # }
    /// ```
    pub async fn add_session(
        &self,
        sessions: &SharedSessionStore,
        key: &SessionKey,
        text_of: impl Fn(&Entry) -> Option<NoteContent>,
    ) -> Result<u64, SessionError> {
        self.add_session_until(sessions, key, u64::MAX, text_of).await
    }

    /// Adds the texts of a session as [`add_session`](Self::add_session) does, up to the entry with the number `last`: those of a run that has
    /// not ended are added later.
    ///
    /// # Errors
    ///
    /// As [`add_session`](Self::add_session).
    pub async fn add_session_until(
        &self,
        sessions: &SharedSessionStore,
        key: &SessionKey,
        last: u64,
        text_of: impl Fn(&Entry) -> Option<NoteContent>,
    ) -> Result<u64, SessionError> {
        let session = sessions.load(key).await?.ok_or_else(|| not_found_error(key))?.session;
        let (mut count, mut previous) = (0, None);
        loop {
            let after = self.last_noted_entry(key).await?;
            if previous.is_some_and(|previous| after <= previous) {
                let problem = "the memory did not store the number of the last entry; add the session again";
                return Err(SessionError::Failed(problem.to_owned()));
            }
            previous = Some(after);
            let query = EntryQuery::forward().after(after);
            let query = match last.checked_add(1) {
                Some(end) => query.before(end),
                None => query,
            };
            let page = sessions.entries(key, &query).await?;
            let Some(last) = page.entries.last() else { return Ok(count) };
            let notes = notes_of_page(key, &page, &text_of)?;
            let (note_count, last_entry) = (u64::try_from(notes.len()).unwrap_or_default(), last.number);
            let notes = EntryNotes { session_created_at: session.created_at, after, last_entry, notes };
            // If another process was faster, the next page begins behind its notes.
            if self.run_guarded(|memory| memory.add_entry_notes(key, &notes)).await? {
                count += note_count;
            }
        }
    }

    /// Returns the number of the last entry of a session whose notes the memory has; 0 if there is none, or no session.
    ///
    /// # Errors
    ///
    /// As [`Memory::last_noted_entry`].
    pub async fn last_noted_entry(&self, key: &SessionKey) -> Result<u64, SessionError> {
        self.run_guarded(|memory| memory.last_noted_entry(key)).await
    }

    /// Returns at most `limit` notes of `user` with words of `query`, the best match first. The query is text without a syntax; its first
    /// 64 different words count. At most 1,000 notes and 8 MiB of text are compared: those with the rarest words, the newest first; a
    /// warning counts the notes that were left out since their texts are too long. All stores return the same notes in the same order.
    ///
    /// # Errors
    ///
    /// As [`Memory::search_notes`].
    pub async fn search(
        &self,
        user: &UserKey,
        query: &str,
        limit: usize,
    ) -> Result<Vec<NoteMatch>, SessionError> {
        let limit = limit.min(MAX_MATCHES);
        if limit == 0 {
            return Ok(Vec::new());
        }
        self.run_guarded(|memory| memory.search_notes(user, query, limit)).await
    }

    /// Deletes a note of `user`; returns `false` if the user has no note of this number.
    ///
    /// # Errors
    ///
    /// As [`Memory::delete_note`].
    pub async fn delete(&self, user: &UserKey, number: u64) -> Result<bool, SessionError> {
        self.run_guarded(|memory| memory.delete_note(user, number)).await
    }

    /// Deletes all notes of `user`, whose sessions are kept; returns their number.
    ///
    /// # Errors
    ///
    /// As [`Memory::delete_notes`].
    pub async fn delete_user(&self, user: &UserKey) -> Result<u64, SessionError> {
        self.run_guarded(|memory| memory.delete_notes(user)).await
    }

    /// Runs an operation of the memory inside the panic barrier.
    async fn run_guarded<'a, T, F>(
        &'a self,
        operation: impl FnOnce(&'a dyn ErasedMemory) -> F,
    ) -> Result<T, SessionError>
    where
        F: Future<Output = Result<T, SessionError>>,
    {
        let memory = self.memory.get().ok_or(SessionError::Closed)?;
        let output = catch_async(|| operation(&**memory)).await;
        output.unwrap_or_else(|panic| Err(SessionError::Failed(format!("the memory {panic}"))))
    }
}

/// Returns the notes of a page of entries.
fn notes_of_page(
    key: &SessionKey,
    page: &EntryPage,
    text_of: impl Fn(&Entry) -> Option<NoteContent>,
) -> Result<Vec<NoteContent>, SessionError> {
    let mut notes = Vec::new();
    for entry in &page.entries {
        let note = catch(|| text_of(entry)).map_err(|panic| {
            SessionError::Failed(format!("the function for the text of an entry {panic}"))
        })?;
        if let Some(note) = note {
            for part in note.of_session(key.id()).with_time(entry.content.time).split_to_limit() {
                part.check_limits()?;
                notes.push(part);
            }
        }
    }
    Ok(notes)
}

impl fmt::Debug for SharedMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedMemory").finish_non_exhaustive()
    }
}

impl<M: Memory + 'static> From<M> for SharedMemory {
    fn from(memory: M) -> Self {
        Self::new(memory)
    }
}

/// Defines the object-safe form of [`Memory`].
macro_rules! erased {
    ($(fn $name:ident($($arg:ident: $type:ty),*) -> $output:ty;)*) => {
        trait ErasedMemory: Send + Sync {
            $(fn $name<'a>(&'a self $(, $arg: $type)*) -> BoxFuture<'a, Result<$output, SessionError>>;)*
        }

        impl<M: Memory> ErasedMemory for M {
            $(fn $name<'a>(&'a self $(, $arg: $type)*) -> BoxFuture<'a, Result<$output, SessionError>> {
                Box::pin(Memory::$name(self $(, $arg)*))
            })*
        }
    };
}

erased! {
    fn add_note(user: &'a UserKey, note: &'a NoteContent) -> Note;
    fn last_noted_entry(key: &'a SessionKey) -> u64;
    fn add_entry_notes(key: &'a SessionKey, notes: &'a EntryNotes) -> bool;
    fn search_notes(user: &'a UserKey, query: &'a str, limit: usize) -> Vec<NoteMatch>;
    fn delete_note(user: &'a UserKey, number: u64) -> bool;
    fn delete_notes(user: &'a UserKey) -> u64;
}
