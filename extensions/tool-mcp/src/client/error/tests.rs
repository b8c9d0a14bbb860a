//! Errors: their texts, kinds, and what they are for a call.

#![allow(clippy::unwrap_used, reason = "tests")]

use rmcp::model::ErrorCode;

use super::*;

fn error(cause: ClientErrorCause) -> ClientError {
    ClientError::new("s", cause)
}

fn lost(never_sent: bool) -> ClientError {
    error(ClientErrorCause::Lost { message: "m".to_owned(), never_sent })
}

/// An error of each cause, with its kind, its text and the kind of the error of a call.
fn all() -> Vec<(ClientError, ClientErrorKind, &'static str, ErrorKind)> {
    let limit = Duration::from_millis(1_500);
    let refused = ErrorData::new(ErrorCode(-32602), "bad", None);
    let program = Box::new(ToolError::new(ErrorKind::Unavailable, "the vault is closed"));
    vec![
        (
            error(ClientErrorCause::Config("problem".to_owned())),
            ClientErrorKind::Config,
            "problem",
            ErrorKind::Unavailable,
        ),
        (
            error(ClientErrorCause::Connect("m".to_owned())),
            ClientErrorKind::Connect,
            "cannot connect to the MCP server `s`: m",
            ErrorKind::Failed,
        ),
        (
            error(ClientErrorCause::Handshake("m".to_owned())),
            ClientErrorKind::Connect,
            "cannot connect to the MCP server `s`: m",
            ErrorKind::Failed,
        ),
        (
            lost(true),
            ClientErrorKind::Lost,
            "the connection to the MCP server `s` was lost: m",
            ErrorKind::Failed,
        ),
        (
            error(ClientErrorCause::SessionExpired),
            ClientErrorKind::Lost,
            "the session of the MCP server `s` has expired",
            ErrorKind::Failed,
        ),
        (
            error(ClientErrorCause::Closed),
            ClientErrorKind::Closed,
            "the toolset of the MCP server `s` is closed",
            ErrorKind::Unavailable,
        ),
        (
            error(ClientErrorCause::TimedOut(limit)),
            ClientErrorKind::TimedOut,
            "the MCP server `s` did not answer within 1.5s",
            ErrorKind::TimedOut,
        ),
        (
            error(ClientErrorCause::Cancelled),
            ClientErrorKind::Cancelled,
            "the request to the MCP server `s` was cancelled",
            ErrorKind::Cancelled,
        ),
        (
            error(ClientErrorCause::Unauthorized(None)),
            ClientErrorKind::Unauthorized,
            "the MCP server `s` requires an authorization",
            ErrorKind::Denied,
        ),
        (
            error(ClientErrorCause::Refused(refused)),
            ClientErrorKind::Refused,
            "the MCP server `s` answered with error -32602: bad",
            ErrorKind::Failed,
        ),
        (
            ClientError::unusable_answer("s", "m"),
            ClientErrorKind::Unusable,
            "the answer of the MCP server `s` cannot be used: m",
            ErrorKind::Failed,
        ),
        (
            error(ClientErrorCause::Program(program)),
            ClientErrorKind::Program,
            "request to the MCP server `s`: the vault is closed",
            ErrorKind::Unavailable,
        ),
        (
            error(ClientErrorCause::Pinned("t".to_owned())),
            ClientErrorKind::Pinned,
            "the tool `t` of the MCP server `s` is not as it was pinned; review the change, and renew its pin",
            ErrorKind::Denied,
        ),
    ]
}

#[test]
fn each_cause_has_a_kind_a_text_and_an_error_of_a_call() {
    for (error, kind, text, of_call) in all() {
        assert_eq!((error.kind(), error.to_string(), error.server()), (kind, text.to_owned(), "s"));
        assert_eq!(error.refusal().is_some(), kind == ClientErrorKind::Refused, "{text}");
        assert_eq!(error.source().is_some(), kind == ClientErrorKind::Program, "{text}");
        assert_eq!(error.is_connection_loss(), kind == ClientErrorKind::Lost, "{text}");
        let never_arrived = error.never_reached_server();
        assert_eq!(never_arrived, kind == ClientErrorKind::Lost, "{text}");
        let of_tool = ToolError::from(error);
        assert_eq!((of_tool.kind(), of_tool.is_retryable()), (of_call, never_arrived), "{text}");
    }
    assert!(lost(false).is_connection_loss() && !lost(false).never_reached_server());
    assert!(!ToolError::from(lost(false)).is_retryable());
    assert!(error(ClientErrorCause::SessionExpired).is_session_expiry() && !lost(true).is_session_expiry());
}

#[test]
fn a_challenge_that_is_empty_is_none() {
    let challenge = |required, challenge| challenge_if_unauthorized(required, challenge);
    assert_eq!(challenge(false, None), None);
    assert_eq!(challenge(true, None), Some(None));
    assert_eq!(challenge(true, Some("")), Some(None));
    assert_eq!(challenge(false, Some("")), Some(None));
    assert_eq!(challenge(false, Some("Bearer")), Some(Some("Bearer".to_owned())));
    let unauthorized = error(ClientErrorCause::Unauthorized(Some("Bearer".to_owned())));
    assert_eq!((unauthorized.challenge(), lost(true).challenge()), (Some("Bearer"), None));
}

#[test]
fn errors_of_the_sdk_keep_their_cause() {
    let from_service_error = |error| ClientError::from_service_error("s", error);
    let refused = ErrorData::new(ErrorCode(-32602), "bad", None);
    assert_eq!(from_service_error(ServiceError::McpError(refused.clone())).refusal(), Some(&refused));
    let closed = from_service_error(ServiceError::TransportClosed);
    assert_eq!(
        closed.to_string(),
        "the connection to the MCP server `s` was lost: the connection was closed"
    );
    assert!(!closed.never_reached_server());
    let limit = Duration::from_secs(2);
    assert_eq!(
        from_service_error(ServiceError::Timeout { timeout: limit }).kind(),
        ClientErrorKind::TimedOut
    );
    assert_eq!(
        from_service_error(ServiceError::Cancelled { reason: None }).kind(),
        ClientErrorKind::Cancelled
    );
    let other = from_service_error(ServiceError::UnexpectedResponse);
    assert!(other.to_string().ends_with("the answer is none to the request"), "{other}");
    let from_initialize_error = |error| ClientError::from_initialize_error("s", &error);
    let closed = from_initialize_error(ClientInitializeError::ConnectionClosed("initialize".to_owned()));
    assert!(closed.to_string().ends_with("the server closed the connection before it answered"), "{closed}");
    assert_eq!(
        from_initialize_error(ClientInitializeError::JsonRpcError(refused.clone())).refusal(),
        Some(&refused)
    );
}

/// An error with another one below it.
#[derive(Debug)]
struct Above(&'static str, Option<Box<Above>>);

impl fmt::Display for Above {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Error for Above {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.1.as_deref().map(|error| error as _)
    }
}

#[test]
fn a_chain_has_each_text_once() {
    let chain = |texts: &[&'static str]| {
        let mut below = None;
        for text in texts.iter().rev() {
            below = Some(Box::new(Above(text, below)));
        }
        error_chain(&*below.unwrap())
    };
    assert_eq!(chain(&["a"]), "a");
    assert_eq!(chain(&["a", "b", "c"]), "a: b: c");
    assert_eq!(chain(&["a: b", "b", "c"]), "a: b: c");
}

#[test]
fn texts_of_a_server_are_escaped_and_bounded() {
    let shown = ClientError::unusable_answer("s", "\u{1b}[31m").to_string();
    assert!(!shown.contains('\u{1b}'), "{shown}");
    let long = ClientError::unusable_answer("s", "x".repeat(10_000)).to_string();
    assert!((4_000..4_200).contains(&long.len()), "{}", long.len());
    for length in [4_000, 4_001] {
        let text = "x".repeat(length);
        let shown = ClientError::unusable_answer("s", text.as_str()).to_string();
        assert!(shown.ends_with(&format!(": {}", Escape::LINES.at_most(4_000).text(&text))), "{length}");
    }
}

#[tokio::test]
async fn the_last_words_of_a_process_explain_a_connection_alone() {
    let tail = StderrTail::default();
    tail.drain_task("s".into(), Vec::new(), &b"one\ntwo\n"[..]).await;
    for (error, kind, ..) in all() {
        let explained =
            matches!(kind, ClientErrorKind::Connect | ClientErrorKind::Lost | ClientErrorKind::TimedOut)
                && !error.is_session_expiry();
        let text = error.to_string();
        let expected = if explained { format!("{text}; its last output: one | two") } else { text };
        assert_eq!(error.with_process_end(&tail).to_string(), expected);
    }
}

#[cfg(unix)]
#[test]
fn the_end_of_a_process_replaces_the_reason_of_a_lost_connection() {
    use std::os::unix::process::ExitStatusExt as _;

    let tail = StderrTail::default();
    tail.begin_activity().note_exit(std::process::ExitStatus::from_raw(256));
    for (error, kind, text, _) in all() {
        let is_handshake = matches!(error.0.cause, ClientErrorCause::Handshake(_));
        let is_replaced = text.ends_with(": m")
            && matches!(kind, ClientErrorKind::Connect | ClientErrorKind::Lost)
            && !is_handshake;
        let shown = error.with_process_end(&tail).to_string();
        let expected = text.replace(": m", ": its process has ended (exit status: 1)");
        assert_eq!(shown, if is_replaced { expected } else { text.to_owned() });
    }
}
