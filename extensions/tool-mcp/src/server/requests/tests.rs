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

#[test]
fn params_that_the_sdk_does_not_decode_have_the_problem_of_their_method() {
    let problem = |method: &str, params: Value| params_problem(method, Some(&params), false);
    for (method, member) in [
        ("tools/call", "name"),
        ("prompts/get", "name"),
        ("resources/read", "uri"),
        ("resources/subscribe", "uri"),
        ("resources/unsubscribe", "uri"),
        ("tasks/get", "taskId"),
        ("tasks/update", "taskId"),
        ("tasks/cancel", "taskId"),
        ("completion/complete", "ref"),
        ("logging/setLevel", "level"),
        ("subscriptions/listen", "notifications"),
    ] {
        let expected = format!("`params` of `{method}` cannot be read: missing field `{member}`");
        assert_eq!(problem(method, json!({})), Some(expected));
        // Without params, none of their members is there.
        let none = params_problem(method, None, false).unwrap_or_default();
        assert!(none.starts_with(&format!("`params` of `{method}` cannot be read: ")), "{none}");
    }
    for method in ["tools/list", "prompts/list", "resources/list", "resources/templates/list"] {
        let expected =
            format!("`params` of `{method}` cannot be read: invalid type: integer `7`, expected a string");
        assert_eq!(problem(method, json!({ "cursor": 7 })), Some(expected));
        assert_eq!(problem(method, json!({})), Some(format!("`params` of `{method}` cannot be read")));
    }
    assert_eq!(problem("unknown", json!({})), None);
    assert_eq!(params_problem("resources/subscribe", Some(&json!({})), true), None);
}

#[test]
fn methods_have_the_members_of_their_revisions() {
    let old = ["initialize", "logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"];
    let both = [
        "tools/call",
        "prompts/get",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "tasks/get",
        "tasks/cancel",
        "tasks/update",
        "completion/complete",
        "subscriptions/listen",
        "server/discover",
    ];
    let has_members =
        |method: &str| [false, true].map(|is_modern| request_param_members(method, is_modern).is_some());
    for method in old {
        assert_eq!(has_members(method), [true, false], "{method}");
    }
    for method in both {
        assert_eq!(has_members(method), [true, true], "{method}");
    }
    for method in ["", "unknown", "notifications/cancelled", "sampling/createMessage"] {
        assert_eq!(has_members(method), [false, false], "{method}");
    }
}

#[test]
fn a_value_in_a_problem_is_shortened() {
    let id = |digits: usize| format!("1.{}", "5".repeat(digits - 2));
    for (digits, shown) in [(200, 200), (201, 200)] {
        let (code, _, message) =
            refused(&format!(r#"{{"jsonrpc":"2.0","id":{},"method":"ping"}}"#, id(digits)));
        assert_eq!(code, -32600);
        assert_eq!(message, format!("`id` must be a text or an integer of 64 bits, but is {}", id(shown)));
    }
}
