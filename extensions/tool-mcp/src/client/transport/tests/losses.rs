//! Errors of a transport: whether the connection is lost, and what they say.

use std::{error::Error, fmt, io};

use http::StatusCode;
use rmcp::transport::streamable_http_client::{HttpStatusError, StreamableHttpError};

use crate::client::transport::{
    connection_loss, explanation_of,
    http_error::{HttpFailure, HttpRefusal},
    is_session_expired, is_temporary_refusal,
    sse::SseFailure,
};

/// An error above another one.
#[derive(Debug)]
struct Above<E>(E);

impl<E> fmt::Display for Above<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("above")
    }
}

impl<E: Error + 'static> Error for Above<E> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

fn refusal(status: u16, text: &str) -> HttpFailure {
    let status = StatusCode::from_u16(status).unwrap();
    StreamableHttpError::Io(io::Error::other(HttpRefusal { status, text: text.to_owned() }))
}

#[test]
fn an_error_of_a_pipe_is_a_loss_by_its_kind() {
    use io::ErrorKind as Kind;

    for (kind, expected) in [
        (Kind::ConnectionRefused, Some(true)),
        (Kind::NotConnected, Some(true)),
        (Kind::BrokenPipe, Some(false)),
        (Kind::ConnectionAborted, Some(false)),
        (Kind::ConnectionReset, Some(false)),
        (Kind::UnexpectedEof, Some(false)),
        (Kind::TimedOut, None),
        (Kind::Other, None),
    ] {
        assert_eq!(connection_loss(&io::Error::from(kind)), expected, "{kind:?}");
        assert_eq!(connection_loss(&Above(io::Error::from(kind))), expected, "{kind:?}");
    }
    assert_eq!(connection_loss(&fmt::Error), None);
}

#[test]
fn a_failure_of_http_is_a_loss_unless_the_server_answered() {
    let lost = || io::Error::from(io::ErrorKind::Other);
    let all: [(HttpFailure, Option<bool>); 7] = [
        (StreamableHttpError::SessionExpired, Some(true)),
        (StreamableHttpError::Io(lost()), Some(false)),
        (StreamableHttpError::TransportChannelClosed, Some(false)),
        (StreamableHttpError::UnexpectedEndOfStream, Some(false)),
        (refusal(503, ""), None),
        (StreamableHttpError::UnexpectedContentType(None), None),
        (StreamableHttpError::UnexpectedServerResponse("x".into()), None),
    ];
    for (failure, expected) in all {
        let is_expired = matches!(failure, StreamableHttpError::SessionExpired);
        assert_eq!(connection_loss(&failure), expected, "{failure}");
        assert_eq!(is_session_expired(&failure), is_expired, "{failure}");
        assert_eq!(is_session_expired(&Above(failure)), is_expired);
    }
}

#[test]
fn a_failure_of_the_older_transport_is_a_loss_unless_the_server_answered() {
    for (failure, expected, text) in [
        (SseFailure::Status(404, String::new()), Some(true), "HTTP 404"),
        (SseFailure::Status(500, "oops".to_owned()), None, "HTTP 500: oops"),
        (SseFailure::Ended, Some(false), "the stream ended before the server named its endpoint"),
        (SseFailure::Url("x".to_owned()), None, "the URL cannot be used: x"),
        (
            SseFailure::Elsewhere("http://h".to_owned()),
            None,
            "the server names an endpoint of another origin: http://h",
        ),
    ] {
        assert_eq!((connection_loss(&failure), failure.to_string().as_str()), (expected, text));
        assert!(failure.source().is_none());
        assert_eq!(connection_loss(&Above(failure)), expected);
    }
}

#[test]
fn an_answer_that_is_none_of_the_protocol_says_what_to_check() {
    let path = "check the path of the URL, which is often `/mcp`";
    let kind = |kind: Option<&str>| -> HttpFailure {
        StreamableHttpError::UnexpectedContentType(kind.map(str::to_owned))
    };
    for (failure, expected) in [
        (
            kind(Some("text/html")),
            Some(format!("the answer has `text/html` in place of JSON or an event stream; {path}")),
        ),
        (
            kind(None),
            Some(format!("the answer has no content type in place of JSON or an event stream; {path}")),
        ),
        (refusal(404, "gone"), Some(format!("the answer is HTTP 404, not found; {path}"))),
        (refusal(503, "busy"), Some("HTTP 503 Service Unavailable: busy".to_owned())),
        (refusal(503, ""), Some("HTTP 503 Service Unavailable".to_owned())),
        (StreamableHttpError::SessionExpired, None),
        (StreamableHttpError::Io(io::Error::other("x")), None),
    ] {
        assert_eq!(explanation_of(&failure), expected);
        assert_eq!(explanation_of(&Above(failure)), expected);
    }
    assert_eq!(explanation_of(&fmt::Error), None);
}

#[test]
fn a_server_that_begins_or_ends_refuses_for_now() {
    for (status, expected) in [
        (400, false),
        (404, false),
        (405, false),
        (408, true),
        (429, true),
        (500, false),
        (501, false),
        (502, true),
        (503, true),
        (504, true),
    ] {
        let of_stream: HttpFailure = HttpStatusError::new(status, None).into();
        for failure in [refusal(status, ""), of_stream] {
            assert_eq!(is_temporary_refusal(&failure), expected, "{failure}");
            assert_eq!(is_temporary_refusal(&Above(failure)), expected, "{status}");
        }
    }
    assert!(!is_temporary_refusal(&io::Error::from(io::ErrorKind::ConnectionRefused)));
}
