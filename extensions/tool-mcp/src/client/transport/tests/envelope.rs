//! Ids and errors in any form.

use std::collections::HashMap;

use rmcp::model::{ErrorCode, ErrorData, RequestId};
use serde_json::{Map, Value, json};

use crate::client::transport::{
    awaited::AwaitedAnswer,
    envelope::{
        may_answer_handshake, means_no_error, method_not_found_if_only_older_revisions, open_request_id,
        parse_request_id, read_error_data, request_id_in_answer_head,
    },
};

fn number(id: i64) -> RequestId {
    RequestId::Number(id)
}

fn text(id: &str) -> RequestId {
    RequestId::String(id.into())
}

#[test]
fn an_id_is_a_text_or_a_whole_number_in_any_notation() {
    for (id, expected) in [
        (json!(7), Some(number(7))),
        (json!(-3.0), Some(number(-3))),
        (json!(1e3), Some(number(1_000))),
        (json!("7"), Some(text("7"))),
        (json!(""), Some(text(""))),
        (json!(7.5), None),
        (json!(1e300), None),
        (json!(u64::MAX), None),
        (json!(null), None),
        (json!([7]), None),
        (json!(true), None),
    ] {
        assert_eq!(parse_request_id(&id), expected, "{id}");
    }
}

#[test]
fn an_open_request_is_known_by_its_id_or_the_text_of_it() {
    let open = HashMap::from([(number(7), AwaitedAnswer::Other), (text("q"), AwaitedAnswer::Other)]);
    for (id, expected) in [
        (number(7), Some(number(7))),
        (text("7"), Some(number(7))),
        (text(" 7 "), Some(number(7))),
        (text("q"), Some(text("q"))),
        (number(8), None),
        (text("8"), None),
        (text("x"), None),
    ] {
        assert_eq!(open_request_id(&open, &id), expected, "{id:?}");
    }
}

#[test]
fn a_message_without_an_id_is_of_the_handshake_if_it_describes_a_server_or_an_error() {
    for (message, expected) in [
        (json!({}), false),
        (json!({ "error": null }), false),
        (json!({ "error": {} }), true),
        (json!({ "error": "no" }), true),
        (json!({ "result": {} }), false),
        (json!({ "result": { "protocolVersion": "x" } }), true),
        (json!({ "result": { "supportedVersions": [] } }), true),
        (json!({ "error": null, "result": { "supportedVersions": [] } }), true),
    ] {
        assert_eq!(may_answer_handshake(message.as_object().unwrap()), expected, "{message}");
    }
}

#[test]
fn an_empty_error_is_none() {
    for none in [json!(null), json!(false), json!(0), json!(0.0), json!(""), json!([]), json!({})] {
        assert!(means_no_error(&none), "{none}");
    }
    for error in [json!(true), json!(1), json!(-1), json!(" "), json!([0]), json!({ "code": 0 })] {
        assert!(!means_no_error(&error), "{error}");
    }
}

#[test]
fn the_beginning_of_an_answer_names_its_request_before_the_result() {
    for (head, expected) in [
        (r#"{"jsonrpc":"2.0","id":7,"result":{"con"#, Some(number(7))),
        (r#"{"id":"a" , "error":{"#, Some(text("a"))),
        (r#"{"id":7.0,"result""#, Some(number(7))),
        // The member that comes first ends the head.
        (r#"{"id":7,"error":{"data":{"result":"#, Some(number(7))),
        (r#"{"id":7,"result":{"error":"#, Some(number(7))),
        (r#"{"result":{},"id":7"#, None),
        (r#"{"id":7"#, None),
        (r#"{"id":null,"result":"#, None),
        (r#"{"id":[7,"result":"#, None),
        ("", None),
    ] {
        assert_eq!(request_id_in_answer_head(head.as_bytes()), expected, "{head}");
    }
    assert_eq!(request_id_in_answer_head(b"{\"id\":7,\"x\":\"\xff\",\"result\":"), Some(number(7)));
}

#[test]
fn only_a_refused_discover_of_older_revisions_goes_on_with_initialize() {
    let older = json!({ "supported": ["2025-11-25"] });
    let unsupported = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
    let code_of = |awaited: &AwaitedAnswer, code: ErrorCode, data: Option<&Value>| {
        let error =
            method_not_found_if_only_older_revisions(awaited, ErrorData::new(code, "m", data.cloned()));
        assert_eq!((&*error.message, error.data.as_ref()), ("m", data));
        error.code
    };
    let discover = &AwaitedAnswer::Discover;
    assert_eq!(code_of(discover, unsupported, Some(&older)), ErrorCode::METHOD_NOT_FOUND);
    assert_eq!(code_of(&AwaitedAnswer::Initialize, unsupported, Some(&older)), unsupported);
    assert_eq!(code_of(discover, ErrorCode::INVALID_PARAMS, Some(&older)), ErrorCode::INVALID_PARAMS);
    assert_eq!(code_of(discover, unsupported, Some(&json!({ "supported": ["2026-07-28"] }))), unsupported);
    assert_eq!(code_of(discover, unsupported, Some(&json!({ "supported": "2025-11-25" }))), unsupported);
    assert_eq!(code_of(discover, unsupported, None), unsupported);
}

#[test]
fn an_error_keeps_the_parts_that_can_be_read() {
    const UNKNOWN: i32 = -32603;
    let check = |error: Value, code: i32, message: &str, data: Option<Value>| {
        let read = read_error_data(Some(error.clone()), Map::new());
        assert_eq!((read.code.0, &*read.message, read.data), (code, message, data), "{error}");
    };
    check(json!({ "code": -32000, "message": "m", "data": [1] }), -32000, "m", Some(json!([1])));
    check(json!({ "code": " -32001 ", "message": "m" }), -32001, "m", None);
    check(json!({ "code": -32000.0, "message": "m" }), -32000, "m", None);
    check(json!({ "code": "x", "message": "m" }), UNKNOWN, "m (code x)", None);
    check(json!({ "code": 99_999_999_999_i64, "message": "m" }), UNKNOWN, "m (code 99999999999)", None);
    check(json!({ "code": null, "message": "m" }), UNKNOWN, "m", None);
    check(json!({ "message": ["m"] }), UNKNOWN, "[\"m\"]", None);
    check(json!({ "code": 5 }), 5, "the server gave no message", None);
    check(json!({ "code": 5, "message": null }), 5, "the server gave no message", None);
    let data = json!({ "data": 1 });
    check(data.clone(), UNKNOWN, r#"{"data":1}"#, Some(json!(1)));
    check(json!({}), UNKNOWN, "the server gave no message", None);
    check(json!(false), UNKNOWN, "the server gave no message", None);
    check(json!("quota"), UNKNOWN, "quota", None);
    check(json!(7), UNKNOWN, "7", None);
    let long = "ä".repeat(2_000);
    check(json!(format!("{long}b")), UNKNOWN, &long, None);
    check(json!({ "message": format!("{long}b") }), UNKNOWN, &long, None);
}

#[test]
fn an_answer_without_result_and_error_shows_what_it_has() {
    let check = |message: Value, expected: &str| {
        let read = read_error_data(None, message.as_object().unwrap().clone());
        assert_eq!((read.code, &*read.message, read.data), (ErrorCode::INTERNAL_ERROR, expected, None));
    };
    check(json!({ "jsonrpc": "2.0", "id": 7 }), "the answer has neither a result nor an error");
    check(
        json!({ "jsonrpc": "2.0", "id": 7, "detail": "gone" }),
        r#"the answer has neither a result nor an error: {"detail":"gone"}"#,
    );
}
