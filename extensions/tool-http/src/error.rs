//! Errors of requests.

use std::{error::Error, fmt};

use crate::{AddressError, Origin};

/// The reason why a request has no response, or a response no body.
///
/// Its text names the origin and the reason, and neither the path nor the query of a URL, which may have a credential.
#[derive(Debug)]
pub struct HttpError {
    kind: HttpErrorKind,
    origin: Option<Origin>,
    reason: String,
    source: Option<Box<dyn Error + Send + Sync>>,
}

/// The kind of an [`HttpError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HttpErrorKind {
    /// The settings of the client, or the request: its URL is too long, has a user, or is not of `http` or `https`.
    Invalid,
    /// No address of the host is [permitted](crate::AddressPolicy).
    RefusedAddress,
    /// The origin is not one of those that were [allowed](crate::HttpClientBuilder::only_origin).
    RefusedOrigin,
    /// A redirect is not [followed](crate::RedirectPolicy).
    RefusedRedirect,
    /// The server did not answer in time.
    Timeout,
    /// The server cannot be reached.
    Unreachable,
    /// The response broke off, or cannot be decompressed.
    Interrupted,
    /// The body is larger than the [limit](crate::HttpClientBuilder::body_limit).
    TooLarge,
    /// The connection failed in another way.
    Failed,
}

impl HttpError {
    pub(crate) fn new(kind: HttpErrorKind, origin: Option<Origin>, reason: impl Into<String>) -> Self {
        Self { kind, origin, reason: reason.into(), source: None }
    }

    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Adds the origin of `url` to an error of a body, which has none by itself.
    pub(crate) fn with_origin_if_missing(mut self, url: &reqwest::Url) -> Self {
        self.origin = self.origin.or_else(|| Origin::of(url));
        self
    }

    pub(crate) fn refused_address(error: AddressError, origin: Option<Origin>) -> Self {
        let reason = error.to_string();
        Self::new(HttpErrorKind::RefusedAddress, origin, reason).with_source(error)
    }

    /// Returns the kind of the error.
    #[must_use]
    pub fn kind(&self) -> HttpErrorKind {
        self.kind
    }

    /// Returns the origin that the error is about: of the request, or of the redirect that was not followed. `None` for settings.
    #[must_use]
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// Returns the reason, without the origin.
    #[must_use]
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// Returns `true` if the same request may have a response later.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        use HttpErrorKind::{Failed, Interrupted, Timeout, Unreachable};
        matches!(self.kind, Timeout | Unreachable | Interrupted | Failed)
    }
}

impl From<reqwest::Error> for HttpError {
    fn from(error: reqwest::Error) -> Self {
        let origin = error.url().and_then(Origin::of);
        if let Some(refusal) = AddressError::find_in_error_chain(&error) {
            let reason = refusal.to_string();
            return Self::new(HttpErrorKind::RefusedAddress, origin, reason).with_source(error.without_url());
        }
        let (kind, reason) = match () {
            () if error.is_timeout() => (HttpErrorKind::Timeout, "the server did not answer in time"),
            () if error.is_connect() => (HttpErrorKind::Unreachable, "the server cannot be reached"),
            () if error.is_builder() => {
                (HttpErrorKind::Invalid, "the request cannot be sent: its URL is too long")
            }
            () if error.is_decode() => {
                (HttpErrorKind::Interrupted, "the response broke off, or cannot be decompressed")
            }
            () => (HttpErrorKind::Failed, "the connection failed"),
        };
        Self::new(kind, origin, reason).with_source(error.without_url())
    }
}

impl fmt::Display for HttpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Some(origin) => write!(f, "`{origin}`: {}", self.reason),
            None => f.write_str(&self.reason),
        }
    }
}

impl Error for HttpError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|it| it as _)
    }
}
