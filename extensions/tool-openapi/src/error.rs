//! Errors of documents and of their import.

use std::{error::Error, fmt};

/// The reason why a document gives no tools.
///
/// An operation that cannot be a tool is no error: see [`OpenApiToolSet::skipped`](crate::OpenApiToolSet::skipped).
#[derive(Debug)]
pub struct OpenApiError {
    kind: OpenApiErrorKind,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The kind of an [`OpenApiError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OpenApiErrorKind {
    /// The document cannot be read or fetched.
    Unreadable,
    /// The text is neither JSON nor YAML.
    Malformed,
    /// The value is not an OpenAPI document, or of a version that is not supported.
    Unsupported,
    /// An address that is not public, or a redirect, is not allowed.
    Refused,
    /// The settings contradict each other or the document.
    Config,
}

impl OpenApiError {
    pub(crate) fn new(kind: OpenApiErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::new(OpenApiErrorKind::Config, message)
    }

    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> OpenApiErrorKind {
        self.kind
    }
}

impl fmt::Display for OpenApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for OpenApiError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|it| it as _)
    }
}
