#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::json;

use super::*;

fn number(number: i64) -> RequestId {
    RequestId::Number(number)
}

fn text(text: &str) -> RequestId {
    RequestId::String(text.into())
}

#[test]
fn an_id_is_a_text_or_a_whole_number() {
    for (id, expected) in [
        (json!("a"), Some(text("a"))),
        (json!(""), Some(text(""))),
        (json!(7), Some(number(7))),
        (json!(-7), Some(number(-7))),
        (json!(7.0), Some(number(7))),
        (json!(7e2), Some(number(700))),
        (json!(7.5), None),
        (json!(1e300), None),
        (json!(u64::MAX), None),
        (json!(null), None),
        (json!(true), None),
        (json!([7]), None),
    ] {
        assert_eq!(parse_request_id(&id), expected, "{id}");
    }
}

#[test]
fn an_open_id_is_found_also_as_a_text() {
    let open = HashMap::from([(number(7), AwaitedAnswer::Other), (text("8"), AwaitedAnswer::Other)]);
    for (id, expected) in [
        (number(7), Some(number(7))),
        (text("7"), Some(number(7))),
        (text(" 7 "), Some(number(7))),
        (text("8"), Some(text("8"))),
        (number(8), None),
        (text("9"), None),
        (text("a"), None),
    ] {
        assert_eq!(open_request_id(&open, &id), expected, "{id}");
    }
}

#[test]
fn an_error_that_says_there_is_none_is_none() {
    for none in [json!(null), json!(false), json!(0), json!(0.0), json!(""), json!([]), json!({})] {
        assert!(means_no_error(&none), "{none}");
    }
    for error in [json!(true), json!(1), json!(-0.5), json!(" "), json!([0]), json!({ "code": 0 })] {
        assert!(!means_no_error(&error), "{error}");
    }
}

#[test]
fn an_answer_to_the_handshake_names_revisions_or_an_error() {
    for (message, expected) in [
        (json!({ "result": { "protocolVersion": "x" } }), true),
        (json!({ "result": { "supportedVersions": [] } }), true),
        (json!({ "error": {} }), true),
        (json!({ "error": "no", "result": {} }), true),
        (json!({ "error": null, "result": {} }), false),
        (json!({ "error": null }), false),
        (json!({ "result": { "tools": [] } }), false),
        (json!({ "result": null }), false),
        (json!({}), false),
    ] {
        assert_eq!(may_answer_handshake(message.as_object().unwrap()), expected, "{message}");
    }
}

#[test]
fn the_id_of_a_head_comes_before_the_result() {
    for (head, expected) in [
        (r#"{"jsonrpc":"2.0","id":7,"result":{"a"#, Some(number(7))),
        (r#"{"jsonrpc":"2.0","id":"x" , "error" : {"#, Some(text("x"))),
        (r#"{"id":7,"error":null,"result":{"#, Some(number(7))),
        (r#"{"id":7,"result":{},"error":{"#, Some(number(7))),
        (r#"{"result":{},"id":7"#, None),
        (r#"{"id":7,"other":{"#, None),
        (r#"{"id":null,"result":{"#, None),
        (r#"[{"id":7,"result":{"#, None),
        ("", None),
    ] {
        assert_eq!(request_id_in_answer_head(head.as_bytes()), expected, "{head}");
    }
}

#[test]
fn each_part_of_an_error_may_be_missing() {
    let long = "ä".repeat(MAX_ERROR_CHARS);
    let internal = ErrorCode::INTERNAL_ERROR.0;
    for (error, code, message, data) in [
        (json!({ "code": -5, "message": "m", "data": 7 }), -5, "m", Some(json!(7))),
        (json!({ "code": "-5", "message": "m" }), -5, "m", None),
        (json!({ "code": -5.0, "message": "m" }), -5, "m", None),
        (json!({ "code": null, "message": "m" }), internal, "m", None),
        (json!({ "code": "E1", "message": "m" }), internal, "m (code E1)", None),
        (json!({ "code": 5e10, "message": "m" }), internal, "m (code 50000000000.0)", None),
        (json!({ "message": { "a": 1 } }), internal, r#"{"a":1}"#, None),
        (json!({ "code": -5 }), -5, NO_MESSAGE, None),
        (json!({ "code": -5, "message": null }), -5, NO_MESSAGE, None),
        (json!({ "code": -5, "reason": "r" }), -5, r#"{"reason":"r"}"#, None),
        (json!({ "code": -5, "data": 7 }), -5, r#"{"data":7}"#, Some(json!(7))),
        (json!({}), internal, NO_MESSAGE, None),
        (json!(false), internal, NO_MESSAGE, None),
        (json!("broken"), internal, "broken", None),
        (json!(["broken"]), internal, r#"["broken"]"#, None),
        (json!({ "code": -5, "message": format!("{long}ä") }), -5, &long, None),
        (json!(format!("{long}ä")), internal, &long, None),
    ] {
        let read = read_error_data(Some(error.clone()), Map::new());
        assert_eq!((read.code.0, &*read.message, read.data), (code, message, data), "{error}");
    }
}

#[test]
fn an_answer_without_result_and_error_is_an_error_with_its_members() {
    for (message, expected) in [
        (json!({ "jsonrpc": "2.0", "id": 7 }), "the answer has neither a result nor an error"),
        (
            json!({ "jsonrpc": "2.0", "id": 7, "detail": "x" }),
            r#"the answer has neither a result nor an error: {"detail":"x"}"#,
        ),
    ] {
        let read = read_error_data(None, message.as_object().unwrap().clone());
        assert_eq!((read.code, &*read.message), (ErrorCode::INTERNAL_ERROR, expected));
    }
}

#[test]
fn only_a_discover_of_older_revisions_goes_on_with_initialize() {
    let older = json!({ "supported": ["2025-06-18"] });
    let newer = json!({ "supported": ["2025-06-18", "2026-07-28"] });
    let unsupported = ErrorCode::UNSUPPORTED_PROTOCOL_VERSION;
    for (awaited, code, data, is_older) in [
        (AwaitedAnswer::Discover, unsupported, Some(&older), true),
        (AwaitedAnswer::Discover, unsupported, Some(&newer), false),
        (AwaitedAnswer::Discover, unsupported, None, false),
        (AwaitedAnswer::Discover, ErrorCode::INTERNAL_ERROR, Some(&older), false),
        (AwaitedAnswer::Initialize, unsupported, Some(&older), false),
    ] {
        let read =
            method_not_found_if_only_older_revisions(&awaited, ErrorData::new(code, "m", data.cloned()));
        assert_eq!(
            read.code,
            if is_older { ErrorCode::METHOD_NOT_FOUND } else { code },
            "{awaited:?} {data:?}"
        );
        assert_eq!((&*read.message, read.data.as_ref()), ("m", data));
    }
}
