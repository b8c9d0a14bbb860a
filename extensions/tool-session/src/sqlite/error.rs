//! Errors of the database.

use crate::SessionError;

/// Primary result codes of SQLite.
const BUSY: i64 = 5;
const LOCKED: i64 = 6;
const IO_ERROR: i64 = 10;
const FULL: i64 = 13;
const CANNOT_OPEN: i64 = 14;

/// Converts an error of the driver.
pub(super) fn store_error(error: sqlx::Error) -> SessionError {
    let text = format!("the database failed: {error}");
    match error {
        sqlx::Error::Database(database) => {
            let code = database.code().and_then(|code| code.parse::<i64>().ok()).map(|code| code & 0xff);
            match code {
                Some(BUSY | LOCKED | IO_ERROR | CANNOT_OPEN) => SessionError::Unavailable(text),
                Some(FULL) => SessionError::Failed(format!("{text}; free space, or delete sessions")),
                _ => SessionError::Failed(text),
            }
        }
        sqlx::Error::PoolTimedOut | sqlx::Error::Io(_) => SessionError::Unavailable(text),
        sqlx::Error::PoolClosed | sqlx::Error::WorkerCrashed => SessionError::Closed,
        _ => SessionError::Failed(text),
    }
}

/// Returns `true` for errors of the database, after which its transaction may be gone; the others leave it as it is.
pub(super) fn may_have_ended_transaction(error: &SessionError) -> bool {
    matches!(error, SessionError::Unavailable(_) | SessionError::Failed(_) | SessionError::Closed)
}

#[cfg(test)]
mod tests;
