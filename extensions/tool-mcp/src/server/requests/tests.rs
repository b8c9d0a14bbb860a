//! Messages that are read before the SDK does.

#![allow(clippy::panic, reason = "a test fails by panicking")]

use super::*;

fn refused(text: &str) -> (i32, Option<String>, String) {
    let ReadMessage::Refused(refused) = read_message(text.as_bytes()) else { panic!("{text}") };
    (refused.error.code.0, refused.id.map(|id| id.to_string()), refused.error.message.into_owned())
}

fn forwarded(text: &str) -> String {
    let ReadMessage::Forwarded(text, _) = read_message(text.as_bytes()) else { panic!("{text}") };
    String::from_utf8_lossy(&text).into_owned()
}

#[test]
fn an_empty_list_in_the_place_of_an_object_is_an_empty_object() {
    let request = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#)
    };
    for (method, params, expected) in [
        ("tools/list", "[]", "{}"),
        ("ping", "[ ]", "{}"),
        ("unknown", "[]", "{}"),
        ("tools/call", r#"{"name":"t","arguments":[]}"#, r#"{"name":"t","arguments":{}}"#),
        (
            "prompts/get",
            r#"{"name":"t","arguments":[ ],"_meta":[]}"#,
            r#"{"name":"t","arguments":{},"_meta":{}}"#,
        ),
        (
            "initialize",
            r#"{"protocolVersion":"2025-11-25","capabilities":{"roots":[]},"clientInfo":{"name":"a","version":"1"}}"#,
            r#"{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"a","version":"1"}}"#,
        ),
        // Unchanged.
        ("tools/call", r#"{"name":"t","arguments":{"a":[]}}"#, r#"{"name":"t","arguments":{"a":[]}}"#),
        ("unknown", "[1]", "[1]"),
    ] {
        assert_eq!(forwarded(&request(method, params)), request(method, expected));
    }
    let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}"#;
    assert_eq!(forwarded(notification), notification.replace("[]", "{}"));
}

#[test]
fn an_answer_with_an_error_of_any_form_is_an_answer() {
    for (error, expected) in [
        (r#"{"code":-32000}"#, r#"{"code":-32000,"message":"{\"code\":-32000}"}"#),
        (r#""quota""#, r#"{"code":-32603,"message":"quota"}"#),
        (r#"{"code":"-32001","message":"no"}"#, r#"{"code":-32001,"message":"no"}"#),
        (r#"{"code":99999999999,"message":"no"}"#, r#"{"code":-32603,"message":"no"}"#),
        ("null", r#"{"code":-32603,"message":"null"}"#),
        (r#"{"code":1,"message":"no","data":[1]}"#, r#"{"code":1,"message":"no","data":[1]}"#),
    ] {
        let answer = |error: &str| format!(r#"{{"jsonrpc":"2.0","id":7,"error":{error}}}"#);
        assert_eq!(forwarded(&answer(error)), answer(expected));
    }
    // An answer is not answered, or two programs would answer each other without an end.
    for id in ["", r#""id":null,"#, r#""id":1.5,"#] {
        let answer = format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32700,"message":"no"}}}}"#);
        assert!(matches!(read_message(answer.as_bytes()), ReadMessage::Dropped(_)), "{answer}");
    }
    let both = r#"{"jsonrpc":"2.0","id":7,"error":null,"result":{"a":1}}"#;
    assert_eq!(forwarded(both), r#"{"jsonrpc":"2.0","id":7,"result":{"a":1}}"#);
}

#[test]
fn a_message_that_is_no_request_has_the_code_of_its_mistake() {
    for (text, code, id, problem) in [
        ("not json", -32700, None, "not JSON"),
        (r#"{"jsonrpc":"2.0","id":7,"method":"ping""#, -32700, None, "not JSON"),
        ("[]", -32600, None, "but is a list"),
        ("7", -32600, None, "but is a number"),
        (r#"{"id":7,"method":"ping"}"#, -32600, Some("7"), "`jsonrpc`"),
        (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600, Some("a"), "`jsonrpc`"),
        (r#"{"jsonrpc":"2.0","id":7}"#, -32600, Some("7"), "`method` is required"),
        (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, -32600, Some("7"), "`method` must be a text"),
        (r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}"#, -32600, Some("8"), "duplicate"),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, None, "`id` must be"),
        (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, None, "`id` must be"),
    ] {
        let (received, received_id, message) = refused(text);
        assert_eq!((received, received_id.as_deref()), (code, id), "{text}: {message}");
        assert!(message.contains(problem), "{text}: {message}");
    }
}
