//! The statements of the stores in databases, each written once for all engines.
//!
//! A statement has numbered parameters (`?1`) and returns rows of texts and integers; [`SqlConnection`] is what differs between engines. Each
//! operation runs in a transaction that its store began.

#[cfg(feature = "artifacts")]
mod artifacts;
#[cfg(test)]
mod coded_error;
mod connection;
mod note_search;
mod notes;
mod open_calls;
mod read;
mod rows;
mod session_writes;
mod statement;
mod write;

#[cfg(feature = "artifacts")]
pub(crate) use self::artifacts::{
    add_artifact, delete_artifacts, delete_upload, delete_versions, find_version, insert_upload,
    read_last_versions, read_versions, remove_expired_uploads_and_list_unused_bodies,
};
#[cfg(test)]
pub(crate) use self::coded_error::CodedError;
#[cfg(feature = "postgres")]
pub(crate) use self::session_writes::apply_write;
pub(crate) use self::{
    connection::{SqlConnection, SqlRow, bind_values, sqlx_connection},
    note_search::search_notes,
    notes::{NoteIndex, add_entry_notes, add_note, delete_note, delete_notes, last_noted_entry},
    open_calls::{
        exists_error_unless_inserted, mark_record_consumed, open_store_error, read_open_record,
        read_open_records, remove_old_and_insert_unless_open, replace_open_record,
    },
    read::{read_entry_page, read_session_page, read_snapshot, read_unfinished_runs},
    session_writes::apply_writes,
    statement::{SqlStatement, SqlValue},
    write::{
        abandon_lease, acquire_lease, delete_session, delete_user, fork_session, import_sessions,
        prune_sessions, release_lease, renew_lease,
    },
};

/// Returns a number as a database stores it.
pub(crate) fn sql_integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Returns the limit of a number of rows.
pub(crate) fn sql_limit(rows: usize) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}
