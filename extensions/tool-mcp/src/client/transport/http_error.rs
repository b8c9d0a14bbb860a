//! Errors of requests over HTTP: refusals, and lost connections.

use std::{error::Error, fmt, io};

use ::http::StatusCode;
use rmcp::transport::streamable_http_client::StreamableHttpError;

use super::sse::SseFailure;

pub(super) type HttpFailure = StreamableHttpError<reqwest::Error>;

/// The name of a host has no address.
#[derive(Debug)]
pub(super) struct UnknownHost(pub(super) io::Error);

impl fmt::Display for UnknownHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the name of the host cannot be resolved: {}", self.0)
    }
}

impl Error for UnknownHost {}

/// A status by which a server refused a request, with its explanation.
#[derive(Debug)]
pub(super) struct HttpRefusal {
    pub(super) status: StatusCode,
    pub(super) text: String,
}

impl fmt::Display for HttpRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.text.is_empty() {
            true => write!(f, "HTTP {}", self.status),
            false => write!(f, "HTTP {}: {}", self.status, self.text),
        }
    }
}

impl std::error::Error for HttpRefusal {}

/// Returns the text for an answer that no server of the protocol gives.
pub(super) fn explanation_of(error: &(dyn Error + 'static)) -> Option<String> {
    const PATH: &str = "check the path of the URL, which is often `/mcp`";
    match error.downcast_ref::<HttpFailure>()? {
        StreamableHttpError::UnexpectedContentType(kind) => {
            let kind = kind.as_deref().map_or("no content type".to_owned(), |kind| format!("`{kind}`"));
            Some(format!("the answer has {kind} in place of JSON or an event stream; {PATH}"))
        }
        failure => http_refusal(failure).map(|refusal| match refusal.status {
            reqwest::StatusCode::NOT_FOUND => format!("the answer is HTTP 404, not found; {PATH}"),
            _ => refusal.to_string(),
        }),
    }
}

/// Returns the refusal that an error is.
fn http_refusal(failure: &HttpFailure) -> Option<&HttpRefusal> {
    match failure {
        StreamableHttpError::Io(error) => error.get_ref()?.downcast_ref(),
        _ => None,
    }
}

/// Returns `true` if the server does not know the session.
pub(super) fn is_session_expired(error: &(dyn Error + 'static)) -> bool {
    matches!(error.downcast_ref::<HttpFailure>(), Some(StreamableHttpError::SessionExpired))
}

/// Returns `true` if the server, or one before it, refused a request for now.
pub(super) fn is_temporary_refusal(error: &(dyn Error + 'static)) -> bool {
    let status = error.downcast_ref::<HttpFailure>().and_then(refusal_status);
    matches!(status, Some(408 | 429 | 502 | 503 | 504))
}

/// Returns `true` if the server knows no stream at the address, or not the session.
pub(super) fn is_not_found(failure: &HttpFailure) -> bool {
    matches!(failure, StreamableHttpError::SessionExpired) || refusal_status(failure) == Some(404)
}

fn refusal_status(failure: &HttpFailure) -> Option<u16> {
    match failure {
        StreamableHttpError::HttpStatus(failure) => Some(failure.status),
        StreamableHttpError::Client(error) => error.status().map(|status| status.as_u16()),
        failure => http_refusal(failure).map(|refusal| refusal.status.as_u16()),
    }
}

/// `true` if the connection was lost before the request can have been sent.
pub(super) type NeverSent = bool;

/// Returns `Some` for an error of HTTP, and `Some(Some(_))` if the connection is lost.
pub(super) fn connection_loss(error: &(dyn Error + 'static)) -> Option<Option<NeverSent>> {
    if let Some(failure) = error.downcast_ref::<SseFailure>() {
        return Some(connection_loss_of_sse(failure));
    }
    let failure = error.downcast_ref::<HttpFailure>()?;
    Some(match failure {
        StreamableHttpError::SessionExpired => Some(true),
        StreamableHttpError::Client(error) => connection_loss_of_http(error),
        failure if http_refusal(failure).is_some() => None,
        StreamableHttpError::Io(_)
        | StreamableHttpError::TransportChannelClosed
        | StreamableHttpError::UnexpectedEndOfStream => Some(false),
        _ => None,
    })
}

/// Returns `Some` if the connection is lost.
pub(super) fn connection_loss_of_http(error: &reqwest::Error) -> Option<NeverSent> {
    match error {
        error if error.is_timeout() => None,
        error if error.is_connect() => has_known_host(error).then_some(true),
        // A body that ends too early is an error of decoding.
        error => (error.is_request() || error.is_decode()).then_some(false),
    }
}

/// Returns `false` if the name of the host is unknown: connecting again does not help.
fn has_known_host(error: &reqwest::Error) -> bool {
    !super::error_sources(error).any(|error| error.is::<UnknownHost>())
}

/// Returns `Some` if the connection of the older transport is lost.
fn connection_loss_of_sse(failure: &SseFailure) -> Option<NeverSent> {
    match failure {
        SseFailure::Http(error) => connection_loss_of_http(error),
        SseFailure::Status(404, _) => Some(true),
        SseFailure::Ended => Some(false),
        SseFailure::Url(_) | SseFailure::Status(..) | SseFailure::Elsewhere(_) => None,
    }
}
