//! Errors of the database.

use crate::SessionError;

/// The problem of a transaction that the server rolled back, since it and another one waited for each other.
const DEADLOCK: &str = "two transactions of the database waited for each other; try again";

/// Returns `true` if the server rolled the transaction back, so that it can be repeated as a whole.
pub(super) fn is_deadlock(error: &SessionError) -> bool {
    matches!(error, SessionError::Unavailable(problem) if problem == DEADLOCK)
}

/// Converts an error of the driver.
pub(super) fn store_error(error: sqlx::Error) -> SessionError {
    let text = format!("the database failed: {error}");
    match &error {
        sqlx::Error::Database(database) => match database.code().as_deref().unwrap_or_default() {
            // A transaction or a server that only reads.
            "25006" => SessionError::ReadOnly,
            // No schema, or no table: never made, or deleted since.
            "3F000" | "42P01" => {
                SessionError::Failed(format!("{text}; open the store again to make its tables"))
            }
            "40P01" => SessionError::Unavailable(DEADLOCK.to_owned()),
            "53100" => SessionError::Failed(format!("{text}; free space, or delete sessions")),
            code if is_transient_code(code) => SessionError::Unavailable(text),
            _ => SessionError::Failed(text),
        },
        sqlx::Error::PoolTimedOut | sqlx::Error::Io(_) | sqlx::Error::WorkerCrashed => {
            SessionError::Unavailable(text)
        }
        sqlx::Error::PoolClosed => SessionError::Closed,
        _ => SessionError::Failed(text),
    }
}

/// Returns `true` for the codes (SQLSTATE) of failures that may pass.
fn is_transient_code(code: &str) -> bool {
    /// A transaction that was stopped while it was idle, a serialization failure, too many connections, a lock that was not free in time, a
    /// query that was stopped.
    const CODES: [&str; 5] = ["25P03", "40001", "53300", "55P03", "57014"];
    // Lost connections, and servers that stop or start.
    CODES.contains(&code) || code.starts_with("08") || code.starts_with("57P")
}
