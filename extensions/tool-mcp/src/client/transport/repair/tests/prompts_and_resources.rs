//! Prompts, resources and completions.

use super::*;

fn text(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

fn user(content: Value) -> Value {
    json!({ "role": "user", "content": content })
}

#[test]
fn a_prompt_is_read_message_by_message() {
    let check = |messages: Value, expected: Value, problems: &[&str]| {
        let (received, expected) = (json!({ "messages": messages }), json!({ "messages": expected }));
        check(prompt_result, &received, &expected, problems);
    };
    let assistant = json!({ "role": "assistant", "content": text("a") });
    check(json!([assistant]), json!([assistant]), &[]);
    let no_content = "a message has no `content`, and is its JSON";
    check(json!([{ "role": "assistant" }]), json!([user(text(r#"{"role":"assistant"}"#))]), &[no_content]);
    check(json!(["a"]), json!([user(text("a"))]), &[no_content]);
    check(json!([7]), json!([user(text("7"))]), &[no_content]);
    check(json!("a"), json!([user(text("a"))]), &["`messages` is no list", no_content]);
    check(Value::Null, json!([]), &["`messages` is missing"]);
    check(
        json!([{ "role": "system", "content": text("a") }]),
        json!([user(text("a"))]),
        &["a message has the role \"system\", and is one of the user"],
    );
    check(
        json!([{ "content": text("a") }]),
        json!([user(text("a"))]),
        &["a message has the role null, and is one of the user"],
    );
    check(
        json!([{ "role": "assistant", "content": [text("a"), 7] }]),
        json!([assistant, { "role": "assistant", "content": text("7") }]),
        &["the `content` of a message is a list", "a block is no object"],
    );
    check(json!([user(json!(7))]), json!([user(text("7"))]), &["a block is no object"]);
    check(json!([user(json!("a"))]), json!([user(text("a"))]), &["a block is a text"]);
}

#[test]
fn the_members_beside_the_items_are_read_by_themselves() {
    check(
        prompt_result,
        &json!({ "messages": [], "description": "d", "_meta": { "a": 1 } }),
        &json!({ "messages": [], "description": "d", "_meta": { "a": 1 } }),
        &[],
    );
    check(
        prompt_result,
        &json!({ "messages": [], "description": 7, "_meta": 7 }),
        &json!({ "messages": [] }),
        &["`description` is malformed", "`_meta` is malformed"],
    );
    check(
        prompt_result,
        &json!({ "messages": [], "description": null, "_meta": null }),
        &json!({ "messages": [] }),
        &[],
    );
    let of_uri: fn(Value) -> RepairedResult = |result| resource_result(result, "a://asked");
    check(
        of_uri,
        &json!({ "contents": [], "_meta": 7 }),
        &json!({ "contents": [] }),
        &["`_meta` is malformed"],
    );
    check(
        completion_result,
        &json!({ "completion": { "values": [] }, "_meta": 7 }),
        &json!({ "completion": { "values": [] } }),
        &["`_meta` is malformed"],
    );
}

#[test]
fn a_result_without_the_required_member_is_of_another_kind() {
    let of_uri: fn(Value) -> RepairedResult = |result| resource_result(result, "a://asked");
    for repair in [prompt_result, of_uri, completion_result] {
        check(repair, &json!({ "x": 1 }), &json!({ "x": 1 }), &[]);
        check(repair, &json!([1]), &json!([1]), &["the result is no object"]);
        check(repair, &Value::Null, &json!({}), &["the result is `null`"]);
    }
}

/// A text whose type the server did not give.
fn plain(uri: &str, text: &str) -> Value {
    json!({ "uri": uri, "mimeType": "text/plain", "text": text })
}

#[test]
fn a_resource_is_read_document_by_document() {
    let of_uri: fn(Value) -> RepairedResult = |result| resource_result(result, "a://asked");
    let check = |contents: Value, expected: Value, problems: &[&str]| {
        check(of_uri, &json!({ "contents": contents }), &json!({ "contents": expected }), problems);
    };
    let own = json!({ "uri": "a://own", "text": "t", "mimeType": "text/x" });
    check(json!([own]), json!([own]), &[]);
    let malformed = "a document has malformed members";
    let no_body = "a document has neither a `text` nor a `blob`, and is its JSON";
    check(json!([7]), json!([plain("a://asked", "7")]), &["a document is no object, and is its JSON"]);
    check(json!([{ "text": "t" }]), json!([plain("a://asked", "t")]), &[malformed]);
    check(
        json!([{ "uri": 7, "blob": "aGk=", "mimeType": 7 }]),
        json!([{ "uri": "a://asked", "blob": "aGk=" }]),
        &["`uri` is malformed", "`mimeType` is malformed", malformed],
    );
    check(
        json!([{ "blob": "aGk=", "mimeType": "image/x" }]),
        json!([{ "uri": "a://asked", "blob": "aGk=", "mimeType": "image/x" }]),
        &[malformed],
    );
    check(
        json!([{ "uri": "a://own", "mimeType": "text/x" }]),
        json!([{ "uri": "a://own", "text": r#"{"uri":"a://own","mimeType":"text/x"}"#, "mimeType": "text/x" }]),
        &[no_body, malformed],
    );
    check(
        json!([{ "uri": "a://own", "text": null }]),
        json!([plain("a://own", r#"{"uri":"a://own","text":null}"#)]),
        &[no_body, malformed],
    );
    check(json!([{ "text": [1] }]), json!([plain("a://asked", "[1]")]), &[no_body, malformed]);
    check(own.clone(), json!([own]), &["`contents` is no list"]);
    check(Value::Null, json!([]), &["`contents` is missing"]);
}

#[test]
fn completions_are_read_value_by_value() {
    let check = |completion: Value, expected: Value, problems: &[&str]| {
        check(
            completion_result,
            &json!({ "completion": completion }),
            &json!({ "completion": expected }),
            problems,
        );
    };
    check(
        json!({ "values": ["a"], "total": 5, "hasMore": true }),
        json!({ "values": ["a"], "total": 5, "hasMore": true }),
        &[],
    );
    check(
        json!({ "values": ["a", 7, "b"], "total": "5", "hasMore": 1 }),
        json!({ "values": ["a", "b"] }),
        &["a value is no text: 7", "`total` is malformed", "`hasMore` is malformed"],
    );
    check(json!({ "total": 5 }), json!({ "values": [], "total": 5 }), &["`values` is missing"]);
    check(json!(["a"]), json!({ "values": ["a"] }), &["`completion` is no object"]);
    check(json!("a"), json!({ "values": ["a"] }), &["`completion` is no object", "`values` is no list"]);
    check(Value::Null, json!({ "values": [] }), &["`completion` is no object", "`values` is missing"]);
}
