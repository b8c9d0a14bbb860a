//! Texts that are never shown.

use std::{fmt, sync::Arc};

/// A secret text: the value of an API key, a token, or a user name with a password. It has no `Display`, and its `Debug` omits
/// the text.
///
/// # Examples
///
/// ```
/// use tool_openapi::Secret;
///
/// assert_eq!(format!("{:?}", Secret::new("hunter2")), "Secret(..)");
/// ```
#[derive(Clone)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Creates a secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into().into())
    }

    /// Creates the secret of a scheme `basic`. A user name has no `:`.
    pub fn basic(user: &str, password: &str) -> Self {
        Self(format!("{user}:{password}").into())
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}
