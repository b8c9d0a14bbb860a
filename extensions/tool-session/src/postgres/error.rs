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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::CodedError;

    fn error_of(code: Option<&'static str>) -> SessionError {
        store_error(sqlx::Error::Database(Box::new(CodedError(code))))
    }

    #[test]
    fn an_error_of_the_server_passes_if_its_code_says_so() {
        for code in ["08006", "57P01", "25P03", "40001", "53300", "55P03", "57014"] {
            let text = error_of(Some(code)).to_string();
            assert!(error_of(Some(code)).is_transient() && text.contains("it failed"), "{code}: {text}");
        }
        for code in [Some("42601"), Some("58P01"), Some(""), None] {
            let error = error_of(code);
            let problem = "the database failed: error returned from database: it failed".to_owned();
            assert_eq!(error, SessionError::Failed(problem), "{code:?}");
        }
    }

    #[test]
    fn some_errors_of_the_server_say_what_to_do() {
        assert_eq!(error_of(Some("25006")), SessionError::ReadOnly);
        for (code, hint) in [
            ("3F000", "; open the store again to make its tables"),
            ("42P01", "; open the store again to make its tables"),
            ("53100", "; free space, or delete sessions"),
        ] {
            assert!(
                matches!(error_of(Some(code)), SessionError::Failed(text) if text.ends_with(hint)),
                "{code}"
            );
        }
        let deadlock = error_of(Some("40P01"));
        assert!(is_deadlock(&deadlock) && deadlock.is_transient());
        for other in
            [error_of(Some("40001")), SessionError::Closed, SessionError::Failed(DEADLOCK.to_owned())]
        {
            assert!(!is_deadlock(&other), "{other}");
        }
    }

    #[test]
    fn other_errors_are_those_of_the_pool_and_of_rows() {
        for (error, is_transient, is_closed) in [
            (sqlx::Error::PoolTimedOut, true, false),
            (sqlx::Error::Io(std::io::Error::other("gone")), true, false),
            (sqlx::Error::WorkerCrashed, true, false),
            (sqlx::Error::PoolClosed, false, true),
            (sqlx::Error::RowNotFound, false, false),
        ] {
            let error = store_error(error);
            assert_eq!(
                (error.is_transient(), error == SessionError::Closed),
                (is_transient, is_closed),
                "{error}"
            );
        }
    }
}
