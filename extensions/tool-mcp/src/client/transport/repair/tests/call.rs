//! Results of tools.

use super::*;
use crate::client::transport::repair::call::MAX_JSON_BLOCKS;

#[track_caller]
fn result(result: Value, expected: Value, problems: &[&str]) {
    check(call_result, &result, &expected, problems);
}

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

#[test]
fn each_member_of_a_result_is_read_by_itself() {
    let content = json!([text("a")]);
    result(json!({ "content": content }), json!({ "content": content }), &[]);
    // Any member of a result makes it one: it has no other content.
    result(json!({ "isError": true, "x": 1 }), json!({ "content": [], "isError": true }), &[]);
    result(
        json!({ "structuredContent": { "n": 1 }, "x": 1 }),
        json!({ "content": [], "structuredContent": { "n": 1 } }),
        &[],
    );
    result(json!({ "content": [], "structuredContent": null }), json!({ "content": [] }), &[]);
    result(json!({ "content": null, "_meta": null }), json!({ "content": [] }), &[]);
    result(
        json!({ "content": content, "_meta": { "a": 1 } }),
        json!({ "content": content, "_meta": { "a": 1 } }),
        &[],
    );
    result(
        json!({ "content": content, "_meta": 7 }),
        json!({ "content": content }),
        &["`_meta` is no object"],
    );
}

#[test]
fn a_result_without_content_is_its_json() {
    result(
        json!({ "sum": 5, "resultType": "complete" }),
        json!({ "content": [text(r#"{"sum":5}"#)] }),
        &["the result has no `content`"],
    );
    // Nothing is left that could be shown.
    result(json!({}), json!({ "content": [] }), &[]);
    result(json!({ "resultType": "complete", "_meta": {} }), json!({ "content": [], "_meta": {} }), &[]);
    result(
        json!("done"),
        json!({ "content": [text("done")] }),
        &["the result is no object", "`content` is no list", "a block is a text"],
    );
    result(json!([text("a")]), json!({ "content": [text("a")] }), &["the result is no object"]);
    result(Value::Null, json!({ "content": [] }), &["the result is no object"]);
}

#[test]
fn a_flag_that_is_set_to_anything_but_a_negation_is_set() {
    for (flag, expected) in [
        (json!(0), false),
        (json!(0.0), false),
        (json!(1), true),
        (json!(-1), true),
        (json!(""), false),
        (json!(" No "), false),
        (json!("FALSE"), false),
        (json!("0"), false),
        (json!("true"), true),
        (json!([]), true),
        (json!({}), true),
    ] {
        let problem = format!("`isError` is no boolean: {flag}");
        result(
            json!({ "content": [], "isError": flag }),
            json!({ "content": [], "isError": expected }),
            &[&problem],
        );
    }
    for flag in [true, false] {
        result(json!({ "content": [], "isError": flag }), json!({ "content": [], "isError": flag }), &[]);
    }
    result(json!({ "content": [], "isError": null }), json!({ "content": [] }), &[]);
}

#[test]
fn a_question_and_a_task_are_no_results_of_a_tool() {
    let question = json!({ "resultType": "input_required", "inputRequests": {}, "requestState": "s" });
    assert!(matches!(call_result(question).result, ServerResult::InputRequiredResult(_)));
    // What a call returned has precedence.
    let both = json!({ "resultType": "input_required", "requestState": "s", "content": [text("a")] });
    result(both, json!({ "content": [text("a")] }), &[]);
    let (code, reason) = error(call_result(json!({ "resultType": "input_required", "requestState": 7 })));
    assert_eq!(code, ErrorCode::INTERNAL_ERROR);
    assert_eq!(reason, "the server asks for input in a form that cannot be read");
}

#[test]
fn a_block_keeps_what_can_be_read_of_it() {
    let malformed = |kind: &str| format!("a block of the type \"{kind}\" has malformed members");
    for (kind, block, expected) in [
        (
            "text",
            json!({ "type": "text", "text": "a", "annotations": 7, "_meta": 7 }),
            json!({ "type": "text", "text": "a" }),
        ),
        (
            "resource",
            json!({ "type": "resource", "resource": { "uri": "a://b", "text": "t", "mimeType": 7, "_meta": 7 } }),
            json!({ "type": "resource", "resource": { "uri": "a://b", "text": "t" } }),
        ),
        (
            "resource",
            json!({ "type": "resource", "annotations": 7, "resource": { "uri": "a://b", "text": "t", "mimeType": "text/x" } }),
            json!({ "type": "resource", "resource": { "uri": "a://b", "text": "t", "mimeType": "text/x" } }),
        ),
        (
            "resource_link",
            json!({ "type": "resource_link", "uri": "a://b", "title": "t", "description": "d", "mimeType": "m", "size": 5 }),
            json!({ "type": "resource_link", "uri": "a://b", "name": "a://b", "title": "t", "description": "d", "mimeType": "m", "size": 5 }),
        ),
        (
            "resource_link",
            json!({ "type": "resource_link", "uri": "a://b", "name": "n", "title": 1, "description": 2, "mimeType": 3, "size": "4", "icons": 5 }),
            json!({ "type": "resource_link", "uri": "a://b", "name": "n" }),
        ),
    ] {
        result(json!({ "content": [block] }), json!({ "content": [expected] }), &[&malformed(kind)]);
    }
}

#[test]
fn a_block_that_cannot_be_read_is_its_json() {
    let unreadable = |kind: &str| format!("a block of the type {kind} cannot be read, and is its JSON");
    for (block, problem) in [
        (json!({ "type": "future", "annotations": 7 }), unreadable("\"future\"")),
        (json!({ "text": "a" }), unreadable("none")),
        (json!({ "type": "resource_link", "name": "n" }), unreadable("\"resource_link\"")),
        (json!({ "type": "x".repeat(80) }), unreadable(&format!("\"{}", "x".repeat(59)))),
        (json!(7), "a block is no object".to_owned()),
        (json!(""), "a block is no object".to_owned()),
        (Value::Null, "a block is no object".to_owned()),
    ] {
        let expected = json!({ "content": [text("a"), text(&block.to_string()), text("b")] });
        result(json!({ "content": [text("a"), block, text("b")] }), expected, &[&problem]);
    }
    result(
        json!({ "content": text("a"), "isError": true }),
        json!({ "content": [text("a")], "isError": true }),
        &["`content` is no list"],
    );
    result(json!({ "content": ["a"] }), json!({ "content": [text("a")] }), &["a block is a text"]);
}

#[test]
fn blocks_beyond_the_first_that_cannot_be_read_are_counted() {
    let blocks = |count: usize| vec![json!(7); count];
    let read_of = |content: Vec<Value>| {
        let (read, _) = read(call_result(json!({ "content": content })));
        read["content"].as_array().unwrap().clone()
    };
    assert_eq!(read_of(blocks(MAX_JSON_BLOCKS)), vec![text("7"); MAX_JSON_BLOCKS]);
    let mut content = blocks(MAX_JSON_BLOCKS + 2);
    content.push(text("last"));
    let mut expected = vec![text("7"); MAX_JSON_BLOCKS];
    expected.extend([text("last"), text("[2 more blocks that cannot be read]")]);
    assert_eq!(read_of(content), expected);
}
