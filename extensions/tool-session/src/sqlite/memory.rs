//! Notes in the database.

use std::sync::Arc;

use sqlx::SqliteConnection;

use super::{SqliteStore, error::store_error, writer::JobKind};
use crate::{
    EntryNotes, Memory, Note, NoteContent, NoteMatch, SessionError, SessionKey, UserKey,
    sql::{self, NoteIndex},
};

impl NoteIndex for SqliteConnection {
    const INSERT_TERMS: &'static str = "INSERT INTO note_index (rowid, terms) VALUES (?1, ?2)";
    const COUNT_NOTES: &'static str = "SELECT doc FROM note_terms WHERE term = ?1";
    // A term has no quotation mark; in quotation marks, it is no operator.
    const NEWEST_NOTES: &'static str = "SELECT json_group_array(rowid) FROM (SELECT rowid FROM note_index \
                                        WHERE note_index MATCH ('\"' || ?1 || '\"') ORDER BY rowid DESC LIMIT ?2)";
    const NOTE_SIZES: &'static str = "SELECT json_group_array(json_array(row_id, octet_length(text))) FROM notes \
                                      WHERE row_id IN (SELECT value FROM json_each(?1))";
    const NOTE_TEXTS: &'static str = "SELECT json_group_array(json_array(row_id, text)) FROM notes \
                                      WHERE row_id IN (SELECT value FROM json_each(?1))";
    const LISTED_NUMBERS: &'static str = "(SELECT value FROM json_each(?1))";
}

impl Memory for SqliteStore {
    async fn add_note(&self, user: &UserKey, note: &NoteContent) -> Result<Note, SessionError> {
        let values = Arc::new((user.clone(), note.clone()));
        self.run_write(move |connection| {
            let values = Arc::clone(&values);
            Box::pin(async move { sql::add_note(connection, &values.0, &values.1).await })
        })
        .await
    }

    async fn last_noted_entry(&self, key: &SessionKey) -> Result<u64, SessionError> {
        let mut connection = self.0.readers.acquire().await.map_err(store_error)?;
        sql::last_noted_entry(&mut *connection, key).await
    }

    async fn add_entry_notes(&self, key: &SessionKey, notes: &EntryNotes) -> Result<bool, SessionError> {
        let values = Arc::new((key.clone(), notes.clone()));
        self.run_write(move |connection| {
            let values = Arc::clone(&values);
            Box::pin(async move { sql::add_entry_notes(connection, &values.0, &values.1).await })
        })
        .await
    }

    async fn search_notes(
        &self,
        user: &UserKey,
        query: &str,
        limit: usize,
    ) -> Result<Vec<NoteMatch>, SessionError> {
        // In one transaction, whose statements see one moment.
        let mut transaction = self.0.readers.begin().await.map_err(store_error)?;
        let matches = sql::search_notes(&mut *transaction, user, query, limit).await?;
        transaction.rollback().await.map_err(store_error)?;
        Ok(matches)
    }

    async fn delete_note(&self, user: &UserKey, number: u64) -> Result<bool, SessionError> {
        let user = user.clone();
        self.require_writer()?
            .run_in_transaction(JobKind::Deletion, move |connection| {
                let user = user.clone();
                Box::pin(async move { sql::delete_note(connection, &user, number).await })
            })
            .await
    }

    async fn delete_notes(&self, user: &UserKey) -> Result<u64, SessionError> {
        let user = user.clone();
        self.require_writer()?
            .run_in_transaction(JobKind::Deletion, move |connection| {
                let user = user.clone();
                Box::pin(async move { sql::delete_notes(connection, user.app(), user.user()).await })
            })
            .await
    }
}
