//! The names of a session.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use tool_runtime::RunContext;

use crate::SessionError;

/// The key of a session: its app, its user and its id. Two users may have sessions of one id.
///
/// An empty app or user is the one of runs without an app or user. Keys are ordered and compared as text, exactly.
///
/// # Examples
///
/// ```
/// use tool_runtime::RunContext;
/// use tool_session::SessionKey;
///
/// let key = SessionKey::new("shop", "u-7", "../'; --")?;
/// assert_eq!((key.app(), key.user(), key.id()), ("shop", "u-7", "../'; --"));
/// assert!(SessionKey::new("shop", "u-7", "").is_err());
///
/// let run = RunContext::new().with_app("shop").with_user("u-7").with_session("../'; --");
/// assert_eq!(SessionKey::of_run(&run), Some(Ok(key)));
/// # Ok::<(), tool_session::SessionError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct SessionKey {
    app: Arc<str>,
    user: Arc<str>,
    id: Arc<str>,
}

impl SessionKey {
    /// The maximum number of bytes of each name: an index of Postgres takes three of them.
    pub const MAX_NAME_BYTES: usize = 768;

    /// Creates a key.
    ///
    /// # Errors
    ///
    /// Returns an error if `id` is empty, and if a name has more than [768 bytes](Self::MAX_NAME_BYTES) or a NUL.
    pub fn new(
        app: impl Into<Arc<str>>,
        user: impl Into<Arc<str>>,
        id: impl Into<Arc<str>>,
    ) -> Result<Self, SessionError> {
        let key = Self { app: app.into(), user: user.into(), id: id.into() };
        check_name("app", &key.app)?;
        check_name("user", &key.user)?;
        check_name("session id", &key.id)?;
        if key.id.is_empty() {
            return Err(SessionError::Invalid("the session id is empty; give each session an id".to_owned()));
        }
        Ok(key)
    }

    /// Returns the key of the session of `run`; `None` for a run without a session.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    #[must_use]
    pub fn of_run(run: &RunContext) -> Option<Result<Self, SessionError>> {
        let session = run.session()?;
        Some(Self::new(run.app().unwrap_or_default(), run.user().unwrap_or_default(), session))
    }

    /// Returns the key of another session of the same user.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_id(&self, id: impl Into<Arc<str>>) -> Result<Self, SessionError> {
        Self::new(Arc::clone(&self.app), Arc::clone(&self.user), id)
    }

    /// Returns the app; empty for sessions of runs without an app.
    #[must_use]
    pub fn app(&self) -> &str {
        &self.app
    }

    /// Returns the user; empty for sessions of runs without a user.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Returns the id, which is unique among the sessions of the user.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// Formats as `session "s-1" of user "u-7" in app "shop"`, with escapes.
impl fmt::Display for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "session {:?} of user {:?} in app {:?}", self.id, self.user, self.app)
    }
}

impl<'de> Deserialize<'de> for SessionKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Names {
            app: String,
            user: String,
            id: String,
        }
        let Names { app, user, id } = Names::deserialize(deserializer)?;
        Self::new(app, user, id).map_err(D::Error::custom)
    }
}

/// Checks a name that stands in a column of its own. NUL is refused since one of the databases cannot store it.
pub(crate) fn check_name(role: &str, name: &str) -> Result<(), SessionError> {
    const MAX: usize = SessionKey::MAX_NAME_BYTES;
    if name.len() > MAX {
        let problem = format!("the {role} has {} bytes; at most {MAX} bytes are stored", name.len());
        return Err(SessionError::Invalid(problem));
    }
    if name.contains('\0') {
        return Err(SessionError::Invalid(format!("the {role} contains a NUL; use an id without it")));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
