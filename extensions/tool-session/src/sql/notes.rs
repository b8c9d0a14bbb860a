//! Notes. An engine has an index of terms; everything else is the same.

use std::sync::Arc;

use super::{
    SqlConnection, SqlRow, SqlStatement,
    rows::{find_and_lock_session, find_session_row},
};
use crate::{
    EntryNotes, Note, NoteContent, SessionError, SessionKey, UserKey, memory::tokens::for_each_token, millis,
    store::not_found_error,
};

/// The statements on the index of terms. A term is the row id of its user, `_`, and a token, so that a search reads the terms of one
/// user only; it has letters, digits, marks and `_`.
pub(crate) trait NoteIndex: SqlConnection {
    /// Adds the terms `?2` of the note `?1`, which are separated by spaces.
    const INSERT_TERMS: &'static str;

    /// Returns the number of notes with the term `?1`; perhaps no row if there is none.
    const COUNT_NOTES: &'static str;

    /// Returns the numbers of the newest `?2` notes with the term `?1`, as a list in JSON.
    const NEWEST_NOTES: &'static str;

    /// Returns the numbers of the notes of a list in JSON and the bytes of their texts, as such a list.
    const NOTE_SIZES: &'static str;

    /// Returns the numbers and texts of the notes of a list in JSON, as such a list.
    const NOTE_TEXTS: &'static str;

    /// The rows of numbers in the list `?1`, which is JSON.
    const LISTED_NUMBERS: &'static str;
}

/// Adds a note.
pub(crate) async fn add_note<C: NoteIndex>(
    connection: &mut C,
    user: &UserKey,
    note: &NoteContent,
) -> Result<Note, SessionError> {
    let session = match &note.session {
        None => None,
        Some(id) => {
            let key = user.session_key(Arc::clone(id))?;
            Some(find_and_lock_session(connection, &key).await?.ok_or_else(|| not_found_error(&key))?.row_id)
        }
    };
    let note_user = find_or_insert_and_lock_note_user(connection, user).await?;
    let (number, tokens) = insert_note(connection, note_user, session, note).await?;
    add_to_note_counts(connection, note_user, 1, tokens).await?;
    Ok(Note { number, content: note.clone() })
}

/// Returns the number of the last entry whose notes are stored; 0 if there is none.
pub(crate) async fn last_noted_entry<C: SqlConnection>(
    connection: &mut C,
    key: &SessionKey,
) -> Result<u64, SessionError> {
    let Some(row) = find_session_row(connection, key).await? else { return Ok(0) };
    last_noted_entry_of_row(connection, row.row_id).await
}

async fn last_noted_entry_of_row<C: SqlConnection>(
    connection: &mut C,
    session: i64,
) -> Result<u64, SessionError> {
    let query = SqlStatement::new("SELECT last_entry FROM noted_sessions WHERE session = ?1").bind(session);
    Ok(connection.fetch_optional(query, |row| row.number(0)).await?.unwrap_or_default())
}

/// Adds the notes of entries, unless the last entry is another one.
pub(crate) async fn add_entry_notes<C: NoteIndex>(
    connection: &mut C,
    key: &SessionKey,
    notes: &EntryNotes,
) -> Result<bool, SessionError> {
    let row = find_and_lock_session(connection, key).await?.ok_or_else(|| not_found_error(key))?;
    if row.session.created_at != notes.session_created_at {
        return Err(not_found_error(key));
    }
    if last_noted_entry_of_row(connection, row.row_id).await? != notes.after {
        return Ok(false);
    }
    let upsert = "INSERT INTO noted_sessions (session, last_entry) VALUES (?1, ?2) \
                  ON CONFLICT (session) DO UPDATE SET last_entry = excluded.last_entry";
    connection.execute(SqlStatement::new(upsert).bind(row.row_id).bind(notes.last_entry)).await?;
    if !notes.notes.is_empty() {
        let note_user = find_or_insert_and_lock_note_user(connection, &key.user_key()).await?;
        let (mut count, mut tokens) = (0, 0);
        for note in &notes.notes {
            tokens += insert_note(connection, note_user, Some(row.row_id), note).await?.1;
            count += 1;
        }
        add_to_note_counts(connection, note_user, count, tokens).await?;
    }
    Ok(true)
}

/// Deletes a note; a trigger removes its terms.
pub(crate) async fn delete_note<C: SqlConnection>(
    connection: &mut C,
    user: &UserKey,
    number: u64,
) -> Result<bool, SessionError> {
    let delete = "DELETE FROM notes WHERE row_id = ?1 \
                  AND note_user = (SELECT row_id FROM note_users WHERE app = ?2 AND user_id = ?3)";
    let delete = SqlStatement::new(delete).bind(number).bind(user.app()).bind(user.user());
    Ok(connection.execute(delete).await? > 0)
}

/// Deletes all notes of a user; returns their number.
pub(crate) async fn delete_notes<C: SqlConnection>(
    connection: &mut C,
    app: &str,
    user: &str,
) -> Result<u64, SessionError> {
    let delete = "DELETE FROM notes WHERE note_user IN \
                  (SELECT row_id FROM note_users WHERE app = ?1 AND user_id = ?2)";
    let count = connection.execute(SqlStatement::new(delete).bind(app).bind(user)).await?;
    let delete = SqlStatement::new("DELETE FROM note_users WHERE app = ?1 AND user_id = ?2");
    let had_notes = connection.execute(delete.bind(app).bind(user)).await? > 0;
    // Not for each user of an app: it costs as much as there are notes of all of them.
    if let Some(forget) = C::FORGET_TERMS.filter(|_| had_notes) {
        connection.execute(SqlStatement::new(forget)).await?;
    }
    Ok(count)
}

/// Returns the row of a user, which is made if there is none, and which no other transaction changes until this one ends.
pub(super) async fn find_or_insert_and_lock_note_user<C: SqlConnection>(
    connection: &mut C,
    user: &UserKey,
) -> Result<i64, SessionError> {
    let upsert = "INSERT INTO note_users (app, user_id, notes, tokens) VALUES (?1, ?2, 0, 0) \
                  ON CONFLICT (app, user_id) DO UPDATE SET notes = note_users.notes RETURNING row_id";
    let upsert = SqlStatement::new(upsert).bind(user.app()).bind(user.user());
    let row_id = connection.fetch_optional(upsert, |row| row.integer(0)).await?;
    row_id.ok_or_else(|| SessionError::Failed("the row of a user was not stored".to_owned()))
}

/// Adds to the counts of a user.
async fn add_to_note_counts<C: SqlConnection>(
    connection: &mut C,
    note_user: i64,
    notes: u64,
    tokens: u64,
) -> Result<(), SessionError> {
    let update = "UPDATE note_users SET notes = notes + ?2, tokens = tokens + ?3 WHERE row_id = ?1";
    connection.execute(SqlStatement::new(update).bind(note_user).bind(notes).bind(tokens)).await.map(drop)
}

/// Adds a note and its terms; returns its number, and the number of its tokens.
async fn insert_note<C: NoteIndex>(
    connection: &mut C,
    note_user: i64,
    session: Option<i64>,
    note: &NoteContent,
) -> Result<(u64, u64), SessionError> {
    let (terms, tokens) = note_terms_and_count(note_user, &note.text);
    let insert = "INSERT INTO notes (note_user, session, time, author, text, tokens) \
                  VALUES (?1, ?2, ?3, ?4, ?5, ?6) RETURNING row_id";
    let insert = SqlStatement::new(insert).bind(note_user).bind(session).bind(millis::from_time(note.time));
    let insert = insert.bind(note.author.as_deref()).bind(&*note.text).bind(tokens);
    let number = connection.fetch_optional(insert, |row| row.number(0)).await?;
    let number = number.ok_or_else(|| SessionError::Failed("a note was not stored".to_owned()))?;
    connection.execute(SqlStatement::new(C::INSERT_TERMS).bind(number).bind(terms)).await?;
    Ok((number, tokens))
}

/// Returns the terms of a note, separated by spaces, and their number.
fn note_terms_and_count(note_user: i64, text: &str) -> (String, u64) {
    let (mut terms, mut count) = (String::with_capacity(text.len()), 0);
    for_each_token(text, |token| {
        if count > 0 {
            terms.push(' ');
        }
        terms.push_str(&user_term(note_user, token));
        count += 1;
    });
    (terms, count)
}

/// Returns the term of a token.
pub(super) fn user_term(note_user: i64, token: &str) -> String {
    format!("{note_user}_{token}")
}
