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

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(status: u16, text: &str) -> HttpFailure {
        let status = StatusCode::from_u16(status).unwrap_or_default();
        StreamableHttpError::Io(io::Error::other(HttpRefusal { status, text: text.to_owned() }))
    }

    fn broken_stream() -> HttpFailure {
        StreamableHttpError::Io(io::ErrorKind::ConnectionReset.into())
    }

    #[test]
    fn a_refusal_is_temporary_by_its_status() {
        for status in [408, 429, 502, 503, 504] {
            assert!(is_temporary_refusal(&refusal(status, "later")), "{status}");
        }
        for status in [400, 401, 404, 405, 409, 410, 500, 501, 505] {
            assert!(!is_temporary_refusal(&refusal(status, "later")), "{status}");
        }
        let session_expired: HttpFailure = StreamableHttpError::SessionExpired;
        assert!(!is_temporary_refusal(&session_expired) && !is_temporary_refusal(&broken_stream()));
        assert!(!is_temporary_refusal(&io::Error::other("503")));
    }

    #[test]
    fn a_session_that_expired_is_not_found_as_an_address_is_not() {
        for (failure, not_found, expired) in [
            (StreamableHttpError::SessionExpired, true, true),
            (refusal(404, ""), true, false),
            (refusal(400, ""), false, false),
            (refusal(405, ""), false, false),
            (broken_stream(), false, false),
        ] {
            assert_eq!(
                (is_not_found(&failure), is_session_expired(&failure)),
                (not_found, expired),
                "{failure}"
            );
        }
        assert!(!is_session_expired(&io::Error::other("expired")));
    }

    #[test]
    fn an_answer_that_no_server_of_the_protocol_gives_is_explained() {
        let path = "check the path of the URL, which is often `/mcp`";
        let content =
            |kind: Option<&str>| StreamableHttpError::UnexpectedContentType(kind.map(str::to_owned));
        for (failure, expected) in [
            (refusal(404, "gone"), Some(format!("the answer is HTTP 404, not found; {path}"))),
            (refusal(503, ""), Some("HTTP 503 Service Unavailable".to_owned())),
            (refusal(400, "no"), Some("HTTP 400 Bad Request: no".to_owned())),
            (
                content(Some("text/html")),
                Some(format!("the answer has `text/html` in place of JSON or an event stream; {path}")),
            ),
            (
                content(None),
                Some(format!("the answer has no content type in place of JSON or an event stream; {path}")),
            ),
            (broken_stream(), None),
            (StreamableHttpError::SessionExpired, None),
        ] {
            assert_eq!(explanation_of(&failure), expected);
        }
        assert_eq!(explanation_of(&io::Error::other("HTTP 404")), None);
    }

    #[test]
    fn a_connection_is_lost_after_a_request_or_before_it() {
        for (failure, expected) in [
            (StreamableHttpError::SessionExpired, Some(true)),
            (broken_stream(), Some(false)),
            (StreamableHttpError::TransportChannelClosed, Some(false)),
            (StreamableHttpError::UnexpectedEndOfStream, Some(false)),
            (refusal(404, ""), None),
            (refusal(503, ""), None),
            (StreamableHttpError::UnexpectedContentType(None), None),
        ] {
            assert_eq!(connection_loss(&failure), Some(expected), "{failure}");
        }
        for (failure, expected) in [
            (SseFailure::Status(404, String::new()), Some(true)),
            (SseFailure::Status(500, String::new()), None),
            (SseFailure::Ended, Some(false)),
            (SseFailure::Url(String::new()), None),
            (SseFailure::Elsewhere(String::new()), None),
        ] {
            assert_eq!(connection_loss(&failure), Some(expected), "{failure}");
        }
        assert_eq!(connection_loss(&io::Error::other("lost")), None);
    }

    #[test]
    fn a_host_without_an_address_is_named_as_the_problem() {
        let error = UnknownHost(io::Error::other("no such host"));
        assert_eq!(error.to_string(), "the name of the host cannot be resolved: no such host");
    }
}
