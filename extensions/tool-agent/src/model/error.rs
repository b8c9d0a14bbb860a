//! Errors of models.

use std::{error::Error, fmt, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};

/// An error of a [`Model`](super::Model). Cheap to clone.
#[derive(Debug, Clone)]
pub struct ModelError {
    kind: ModelErrorKind,
    message: Arc<str>,
    status: Option<u16>,
    retry_after: Option<Duration>,
    source: Option<Arc<dyn Error + Send + Sync>>,
}

/// The kind of a [`ModelError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ModelErrorKind {
    /// The key is missing or not accepted.
    Authentication,
    /// The provider does not accept the request.
    InvalidRequest,
    /// The conversation is longer than the context window of the model.
    ContextTooLong,
    /// The provider accepts no further requests for some time.
    RateLimited,
    /// The provider failed or is overloaded.
    Unavailable,
    /// No connection, or the connection was lost.
    Connection,
    /// The response did not arrive in time.
    TimedOut,
    /// The response does not have the format of the provider.
    Malformed,
    /// The provider refused to answer, such as by a content filter.
    Refused,
    /// The request differs from the script, or the script has ended.
    Script,
    /// The request was cancelled.
    Cancelled,
    /// Any other error.
    Other,
}

impl ModelError {
    /// Creates an error.
    pub fn new(kind: ModelErrorKind, message: impl Into<Arc<str>>) -> Self {
        Self { kind, message: message.into(), status: None, retry_after: None, source: None }
    }

    /// Sets the HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = Some(status);
        self
    }

    /// Sets the time after which the provider accepts requests again.
    #[must_use]
    pub fn with_retry_after(mut self, after: Option<Duration>) -> Self {
        self.retry_after = after;
        self
    }

    /// Sets the cause.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(Arc::from(source.into()));
        self
    }

    /// Returns the kind.
    #[must_use]
    pub fn kind(&self) -> ModelErrorKind {
        self.kind
    }

    /// Returns the HTTP status, if the provider sent one.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.status
    }

    /// Returns the time after which the provider accepts requests again, if it sent one.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// Returns `true` if the same request may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        use ModelErrorKind::{Connection, Malformed, RateLimited, TimedOut, Unavailable};
        matches!(self.kind, RateLimited | Unavailable | Connection | TimedOut | Malformed)
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for ModelError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as _)
    }
}
