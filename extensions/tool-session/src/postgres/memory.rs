//! Notes in the same database. The configuration of text search is not used: terms are written as they are.

use sqlx::PgConnection;

use super::PostgresStore;
use crate::{
    EntryNotes, Memory, Note, NoteContent, NoteMatch, SessionError, SessionKey, UserKey,
    sql::{self, NoteIndex},
};

impl NoteIndex for PgConnection {
    const INSERT_TERMS: &'static str = "INSERT INTO note_index (row_id, terms) \
                                        VALUES (?1, array_to_tsvector(string_to_array(?2, ' ')))";
    // A term has neither a quotation mark nor a backslash; in quotation marks, it is no operator.
    const COUNT_NOTES: &'static str =
        "SELECT count(*) FROM note_index WHERE terms @@ ('''' || ?1 || '''')::tsquery";
    const NEWEST_NOTES: &'static str = "SELECT coalesce(json_agg(row_id), '[]')::text FROM (SELECT row_id FROM note_index \
                                        WHERE terms @@ ('''' || ?1 || '''')::tsquery ORDER BY row_id DESC LIMIT ?2) AS newest";
    const NOTE_SIZES: &'static str = "SELECT coalesce(json_agg(json_build_array(row_id, octet_length(text))), '[]')::text FROM notes \
                                      WHERE row_id IN (SELECT value::bigint FROM json_array_elements_text(?1::json))";
    const NOTE_TEXTS: &'static str = "SELECT coalesce(json_agg(json_build_array(row_id, text)), '[]')::text FROM notes \
                                      WHERE row_id IN (SELECT value::bigint FROM json_array_elements_text(?1::json))";
    const LISTED_NUMBERS: &'static str = "(SELECT value::bigint FROM json_array_elements_text(?1::json))";
}

impl Memory for PostgresStore {
    async fn add_note(&self, user: &UserKey, note: &NoteContent) -> Result<Note, SessionError> {
        self.run_write_transaction(async |connection| sql::add_note(connection, user, note).await).await
    }

    async fn last_noted_entry(&self, key: &SessionKey) -> Result<u64, SessionError> {
        self.run_read_transaction(async |connection| sql::last_noted_entry(connection, key).await).await
    }

    async fn add_entry_notes(&self, key: &SessionKey, notes: &EntryNotes) -> Result<bool, SessionError> {
        self.run_write_transaction(async |connection| sql::add_entry_notes(connection, key, notes).await)
            .await
    }

    async fn search_notes(
        &self,
        user: &UserKey,
        query: &str,
        limit: usize,
    ) -> Result<Vec<NoteMatch>, SessionError> {
        self.run_read_transaction(async |connection| sql::search_notes(connection, user, query, limit).await)
            .await
    }

    async fn delete_note(&self, user: &UserKey, number: u64) -> Result<bool, SessionError> {
        self.run_write_transaction(async |connection| sql::delete_note(connection, user, number).await).await
    }

    async fn delete_notes(&self, user: &UserKey) -> Result<u64, SessionError> {
        self.run_write_transaction(async |connection| {
            sql::delete_notes(connection, user.app(), user.user()).await
        })
        .await
    }
}
