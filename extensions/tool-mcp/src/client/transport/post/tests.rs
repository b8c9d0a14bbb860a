//! The parts of responses.

#![allow(clippy::unwrap_used, reason = "tests")]

use serde_json::json;

use super::*;
use crate::client::notices::Notices;

/// A response of a server.
fn response(headers: &[(&str, &str)], chunks: &[&'static str]) -> Response {
    let chunks: Vec<_> = chunks.iter().map(|chunk| Ok::<_, io::Error>(*chunk)).collect();
    let body = reqwest::Body::wrap_stream(futures_util::stream::iter(chunks));
    let mut response = ::http::Response::builder();
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(body).unwrap().into()
}

#[test]
fn the_scope_of_a_challenge_is_its_parameter() {
    for (challenge, scope) in [
        ("Bearer scope=\"a b\", error=\"x\"", Some("a b")),
        ("Bearer SCOPE=a, error=x", Some("a")),
        ("Bearer scope=a b", Some("a")),
        ("Bearer scope=\"a", Some("a")),
        ("Bearer scope=", None),
        ("Bearer scope=\"\"", None),
        ("Bearer", None),
    ] {
        assert_eq!(scope_in_challenge(challenge).as_deref(), scope, "{challenge}");
    }
}

#[test]
fn a_request_that_failed_is_no_longer_open() {
    let reception = Reception::new(Arc::new(Notices::new("s".into())));
    let call = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": { "name": "one" } });
    let answer = json!({ "jsonrpc": "2.0", "id": 7, "result": { "content": [] } }).to_string();
    let id = RequestId::Number(7);
    for (open, messages) in [(Some(&id), 0), (None, 1)] {
        reception.note_sent_message(&serde_json::from_value(call.clone()).unwrap());
        drop(OpenRequest { reception: &reception, id: open });
        let read = reception.read_messages(answer.as_bytes(), PostedRequest::None);
        assert_eq!(read.messages.len(), messages, "{open:?}");
    }
}

#[test]
fn a_body_has_an_error_in_whatever_form() {
    for (body, expected) in [
        (r#"{"error":{}}"#, true),
        (r#"{"error":"quota"}"#, true),
        (r#"{"error":false}"#, true),
        (r#"{"error":null}"#, false),
        (r#"{"detail":"gone"}"#, false),
        (r#"[{"error":{}}]"#, false),
        ("error", false),
    ] {
        assert_eq!(has_protocol_error(body.as_bytes()), expected, "{body}");
    }
}

#[test]
fn a_preview_is_the_beginning_of_a_text() {
    assert_eq!(body_preview(b" \n"), "it is empty");
    assert_eq!(body_preview(b" [] "), "[]");
    let text = "\u{e4}".repeat(MAX_PREVIEW_CHARS);
    assert_eq!(body_preview(text.as_bytes()), text);
    assert_eq!(body_preview(format!("{text}b").as_bytes()), text);
}

#[test]
fn headers_are_read_without_parameters_and_empty_ones_are_none() {
    assert_eq!(media_type_essence(" Application/JSON ; charset=utf-8"), JSON);
    assert_eq!(media_type_essence(""), "");
    let session = |value| session_id_in_header(&response(&[(SESSION, value)], &[]));
    assert_eq!((session("s"), session("")), (Some("s".to_owned()), None));
    assert_eq!(session_id_in_header(&response(&[], &[])), None);
    assert_eq!(content_type(&response(&[], &[])), None);
    assert_eq!(content_type(&response(&[("content-type", "a/b")], &[])).as_deref(), Some("a/b"));
}

#[tokio::test]
async fn a_body_is_bounded() {
    let read = |chunks: &'static [&'static str], limit| read_bounded_body(response(&[], chunks), limit);
    assert_eq!(read(&["ab", "cd"], 4).await.unwrap(), b"abcd");
    let error = read(&["ab", "cde"], 4).await.unwrap_err();
    assert!(matches!(error, StreamableHttpError::ResponseBodyTooLarge { max_size: 4 }), "{error}");
    let beginning =
        |chunks: &'static [&'static str], limit| read_body_beginning(response(&[], chunks), limit);
    assert_eq!(beginning(&["ab", "cd"], 5).await, b"abcd");
    assert_eq!(beginning(&["ab", "cd", "ef"], 4).await, b"abcd");
    assert_eq!(beginning(&["ab", "cd", "ef"], 3).await, b"abc");
}

#[tokio::test]
async fn the_beginning_of_a_body_does_not_wait_for_the_rest() {
    use futures_util::{FutureExt as _, StreamExt as _, stream};

    for (limit, expected) in [(1, Some("a")), (2, Some("ab")), (3, None)] {
        let body = stream::iter([Ok::<_, io::Error>("ab")]).chain(stream::pending());
        let response = ::http::Response::new(reqwest::Body::wrap_stream(body));
        let read = read_body_beginning(response.into(), limit).now_or_never();
        assert_eq!(read.as_deref(), expected.map(str::as_bytes), "{limit}");
    }
}

#[tokio::test]
async fn a_body_of_another_type_is_read_if_it_begins_as_an_object() {
    let read = |chunks: &'static [&'static str], limit| read_body_if_object(response(&[], chunks), limit);
    assert_eq!(read(&[" {\"a\"", ":1}"], 8).await.unwrap().unwrap(), b" {\"a\":1}");
    assert!(read(&[" {\"a\"", ":1}"], 7).await.is_err());
    for other in [&["<p>"][..], &["[{}]"], &[]] {
        assert_eq!(read(other, 100).await.unwrap(), None);
    }
}

#[tokio::test]
async fn the_explanation_of_a_refusal_is_bounded() {
    let ping = serde_json::from_value(json!({ "jsonrpc": "2.0", "id": 7, "method": "ping" })).unwrap();
    let (uri, headers, limits) = ("http://h/", Headers::default(), StreamableHttpResponseLimits::default());
    let post = MessagePost { uri, message: &ping, session: None, token: None, headers: &headers, limits };
    let reception = Reception::new(Arc::new(Notices::new("s".into())));
    let longest = "\u{e4}".repeat(MAX_REFUSAL_CHARS);
    for body in [longest.clone(), format!(" {longest}\n"), format!("{longest}b")] {
        let refused: Response = ::http::Response::builder().status(500).body(body).unwrap().into();
        let failure = post.read_refusal(refused, &reception).await.err().unwrap();
        let StreamableHttpError::Io(error) = failure else { unreachable!() };
        assert_eq!(error.to_string(), format!("HTTP 500 Internal Server Error: {longest}"));
    }
}
