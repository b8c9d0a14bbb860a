//! A command with its options: the program, the store and the names.

use std::sync::Arc;

use tool_cli::{Exit, Failure, Program, clap::ArgMatches};
use tool_runtime::policy::Escape;

use super::{StoreConnection, StoreLocation};
use crate::{SessionError, SessionKey, SharedSessionStore};

/// The maximum number of characters of a name or value within a line.
pub(super) const MAX_LINE_CHARS: usize = 300;

/// A command on the sessions of an app.
pub(super) struct SessionRequest<'p> {
    pub(super) program: &'p Program,
    pub(super) matches: &'p ArgMatches,
    pub(super) location: StoreLocation,
    pub(super) app: Arc<str>,
}

impl SessionRequest<'_> {
    pub(super) fn option_text(&self, option: &str) -> Option<&str> {
        self.matches.try_get_one::<String>(option).ok().flatten().map(String::as_str)
    }

    pub(super) fn has_flag(&self, flag: &str) -> bool {
        self.matches.try_get_one::<bool>(flag).ok().flatten().is_some_and(|is_set| *is_set)
    }

    pub(super) fn has_json_output(&self) -> bool {
        self.option_text("output") == Some("json")
    }

    /// Returns the keys of the sessions that the command line names.
    pub(super) fn session_keys(&self) -> Result<Vec<SessionKey>, Failure> {
        let user = self.option_text("user").unwrap_or_default();
        let names = self.matches.get_many::<String>("name").into_iter().flatten();
        let key = |name: &String| SessionKey::new(Arc::clone(&self.app), user, name.as_str());
        names.map(key).collect::<Result<_, _>>().map_err(|error| operation_failure(&error))
    }

    /// Opens a store that exists.
    ///
    /// # Errors
    ///
    /// If it does not, or cannot be opened.
    pub(super) fn open_existing_store(&self) -> Result<StoreConnection, Failure> {
        if self.location.may_exist() {
            return self.location.open(self.program);
        }
        Err(Failure::quoting(
            Exit::Usage,
            match self.location.is_default() {
                true => format!("there are no sessions yet: there is no file {}", self.location),
                false => format!("there is no file {}; correct `--store`", self.location),
            },
        ))
    }

    /// Runs `operation` on a store, and closes it.
    pub(super) fn run_and_close<T>(
        &self,
        store: StoreConnection,
        operation: impl AsyncFnOnce(&SharedSessionStore) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.program.block_on(async {
            let output = operation(store.sessions()).await;
            store.close().await;
            output
        })?
    }

    /// Checks that all sessions exist, before anything is written or deleted.
    pub(super) async fn check_sessions_exist(
        &self,
        store: &SharedSessionStore,
        keys: &[SessionKey],
    ) -> Result<(), Failure> {
        for key in keys {
            let snapshot = store.load(key).await.map_err(|error| operation_failure(&error))?;
            snapshot.ok_or_else(|| self.unknown_session_failure(key))?;
        }
        Ok(())
    }

    /// Returns the failure for a session that does not exist.
    pub(super) fn unknown_session_failure(&self, key: &SessionKey) -> Failure {
        let user = match key.user() {
            "" => String::new(),
            user => format!(" of the user `{}`", escaped_line(user)),
        };
        let name = self.program.name();
        let message = format!(
            "there is no session `{}`{user} in the app `{}`; `{name} sessions list` lists all sessions",
            escaped_line(key.id()),
            escaped_line(key.app())
        );
        Failure::quoting(Exit::Usage, message)
    }
}

/// Returns the failure of an operation of the store: 2 if nothing can be done about the arguments, and 1 otherwise.
pub(super) fn operation_failure(error: &SessionError) -> Failure {
    let exit = match error {
        SessionError::Invalid(_) | SessionError::NotFound(_) | SessionError::Exists(_) => Exit::Usage,
        _ => Exit::Failed,
    };
    Failure::quoting(exit, error.to_string())
}

/// Escapes and shortens a name or a value.
pub(super) fn escaped_line(text: &str) -> String {
    Escape::LINE.at_most(MAX_LINE_CHARS).text(text)
}

/// Formats a number with its noun: `1 session`, `2 sessions`.
pub(super) fn counted_noun(count: u64, singular: &str, plural: &str) -> String {
    format!("{count} {}", if count == 1 { singular } else { plural })
}
