use super::*;
use crate::sql::CodedError;

#[test]
fn an_error_of_the_database_passes_if_its_code_says_so() {
    // The second code of each pair is an extended one of the first.
    for (code, is_transient) in [
        (Some("5"), true),
        (Some("261"), true),
        (Some("6"), true),
        (Some("10"), true),
        (Some("778"), true),
        (Some("14"), true),
        (Some("13"), false),
        (Some("1"), false),
        (Some("11"), false),
        (Some("2067"), false),
        (Some("none"), false),
        (None, false),
    ] {
        let error = store_error(sqlx::Error::Database(Box::new(CodedError(code))));
        assert_eq!(error.is_transient(), is_transient, "{code:?}");
        assert_eq!(matches!(error, SessionError::Failed(_)), !is_transient, "{code:?}");
        let text = error.to_string();
        assert!(text.starts_with("the database failed: ") && text.contains("it failed"), "{text}");
        assert_eq!(text.ends_with("; free space, or delete sessions"), code == Some("13"), "{text}");
    }
}

#[test]
fn other_errors_are_those_of_the_pool_and_of_rows() {
    for (error, is_transient, is_closed) in [
        (sqlx::Error::PoolTimedOut, true, false),
        (sqlx::Error::Io(std::io::Error::other("gone")), true, false),
        (sqlx::Error::PoolClosed, false, true),
        (sqlx::Error::WorkerCrashed, false, true),
        (sqlx::Error::RowNotFound, false, false),
    ] {
        let text = error.to_string();
        let error = store_error(error);
        assert_eq!(error.is_transient(), is_transient, "{text}");
        assert_eq!(error == SessionError::Closed, is_closed, "{text}");
        assert!(may_have_ended_transaction(&error), "{text}");
    }
    for error in
        [SessionError::ReadOnly, SessionError::Invalid("x".into()), SessionError::Full { max_sessions: 1 }]
    {
        assert!(!may_have_ended_transaction(&error), "{error}");
    }
}
