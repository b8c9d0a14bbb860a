//! The user whose notes and artifacts a store keeps.

use std::{fmt, sync::Arc};

use tool_runtime::RunContext;

use crate::{SessionError, SessionKey, key::check_name};

/// The key of a user of an app, to whom notes and artifacts belong. Users of two apps are two users.
///
/// # Examples
///
/// ```
/// use tool_session::{SessionKey, UserKey};
///
/// let user = UserKey::new("shop", "u-7")?;
/// assert_eq!(SessionKey::new("shop", "u-7", "s-1")?.user_key(), user);
/// # Ok::<(), tool_session::SessionError>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UserKey {
    app: Arc<str>,
    user: Arc<str>,
}

impl UserKey {
    /// Creates a key. An empty app or user is the one of runs without an app or user.
    ///
    /// # Errors
    ///
    /// Returns an error if a name has more than [768 bytes](SessionKey::MAX_NAME_BYTES) or a NUL.
    pub fn new(app: impl Into<Arc<str>>, user: impl Into<Arc<str>>) -> Result<Self, SessionError> {
        let key = Self { app: app.into(), user: user.into() };
        check_name("app", &key.app)?;
        check_name("user", &key.user)?;
        Ok(key)
    }

    /// Returns the user of `run`.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn of_run(run: &RunContext) -> Result<Self, SessionError> {
        Self::new(run.app().unwrap_or_default(), run.user().unwrap_or_default())
    }

    /// Returns the app.
    #[must_use]
    pub fn app(&self) -> &str {
        &self.app
    }

    /// Returns the user.
    #[must_use]
    pub fn user(&self) -> &str {
        &self.user
    }

    /// Returns the key of a session of the user.
    ///
    /// # Errors
    ///
    /// Returns an error if `id` is not a valid id: see [`SessionKey::new`].
    pub fn session_key(&self, id: impl Into<Arc<str>>) -> Result<SessionKey, SessionError> {
        SessionKey::new(Arc::clone(&self.app), Arc::clone(&self.user), id)
    }
}

/// Formats as `user "u-7" in app "shop"`, with escapes.
impl fmt::Display for UserKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "user {:?} in app {:?}", self.user, self.app)
    }
}

impl SessionKey {
    /// Returns the key of the user of the session.
    #[must_use]
    pub fn user_key(&self) -> UserKey {
        UserKey { app: self.app().into(), user: self.user().into() }
    }
}
