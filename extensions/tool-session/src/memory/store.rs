//! The trait of a memory.

use std::future::Future;

use crate::{EntryNotes, Note, NoteContent, NoteMatch, SessionError, SessionKey, UserKey};

/// The notes of users. Methods can be written as `async fn`; programs use a memory by a [`SharedMemory`](crate::SharedMemory), which
/// validates notes and limits first.
///
/// The stores of this crate implement it beside [`SessionStore`](crate::SessionStore), in one database: a note that comes from a session
/// is deleted with it, and all notes of a user with
/// [`delete_user`](crate::SessionStore::delete_user). Each method is one transaction.
pub trait Memory: Send + Sync {
    /// Adds a note of `user`.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](SessionError::NotFound) if the note comes from a session that does not exist.
    fn add_note(
        &self,
        user: &UserKey,
        note: &NoteContent,
    ) -> impl Future<Output = Result<Note, SessionError>> + Send;

    /// Returns the number of the last entry of a session whose notes the memory has; 0 if there is none, or no session.
    ///
    /// # Errors
    ///
    /// Returns an error if the memory could not be read.
    fn last_noted_entry(&self, key: &SessionKey) -> impl Future<Output = Result<u64, SessionError>> + Send;

    /// Adds notes that come from entries of the session `key`, in order, unless the last entry whose notes the memory has is not
    /// [`EntryNotes::after`]; returns `false` in this case.
    ///
    /// # Errors
    ///
    /// Returns [`NotFound`](SessionError::NotFound) if there is no such session, or another one of this key.
    fn add_entry_notes(
        &self,
        key: &SessionKey,
        notes: &EntryNotes,
    ) -> impl Future<Output = Result<bool, SessionError>> + Send;

    /// Returns at most `limit` notes of `user` with words of `query`, the best match first.
    ///
    /// # Errors
    ///
    /// Returns an error if the memory could not be read.
    fn search_notes(
        &self,
        user: &UserKey,
        query: &str,
        limit: usize,
    ) -> impl Future<Output = Result<Vec<NoteMatch>, SessionError>> + Send;

    /// Deletes a note of `user`; returns `false` if the user has no note of this number.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing was deleted.
    fn delete_note(
        &self,
        user: &UserKey,
        number: u64,
    ) -> impl Future<Output = Result<bool, SessionError>> + Send;

    /// Deletes all notes of `user`, whose sessions are kept; returns their number.
    ///
    /// # Errors
    ///
    /// Returns an error if nothing was deleted.
    fn delete_notes(&self, user: &UserKey) -> impl Future<Output = Result<u64, SessionError>> + Send;
}
