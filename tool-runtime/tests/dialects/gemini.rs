//! Shapes: <https://ai.google.dev/gemini-api/docs/function-calling> and
//! <https://ai.google.dev/api/generate-content>.

use serde_json::{Value, json};
use tool_runtime::{Registry, ToolOutput, ToolResult, dialect::Dialect};

use super::{assembled, bound, call, calls, cut_off, of_all_kinds, refused, told, tools, whole};

fn dialect() -> Dialect {
    Dialect::gemini()
}

fn response(parts: &Value) -> Value {
    json!({
        "candidates": [{ "content": { "role": "model", "parts": parts }, "finishReason": "STOP", "index": 0 }],
        "usageMetadata": { "totalTokenCount": 9 },
    })
}

fn function_call(id: &str, name: &str, args: Value) -> Value {
    json!({ "functionCall": { "id": id, "name": name, "args": args } })
}

// A04
#[test]
fn all_functions_are_in_one_list_and_native_tools_beside_it() {
    let native = Dialect::gemini().with_native(json!({ "googleSearch": {} }));
    let definitions = bound(&native).definitions().clone();
    assert_eq!(definitions.as_array().unwrap().len(), 2);
    assert_eq!(definitions[0]["functionDeclarations"].as_array().unwrap().len(), 2);
    assert_eq!(definitions[1], json!({ "googleSearch": {} }));
    let none = Registry::builder().build().unwrap();
    assert_eq!(*native.bind_tools(&none).definitions(), json!([{ "googleSearch": {} }]));
}

// A22
#[test]
fn the_simpler_form_has_types_in_capitals() {
    let definitions = bound(&Dialect::gemini_schema()).definitions().clone();
    let parameters = &definitions[0]["functionDeclarations"][0]["parameters"];
    assert_eq!(parameters["type"], "OBJECT");
    assert_eq!(parameters["properties"]["a"]["type"], "INTEGER");
    assert!(parameters.get("additionalProperties").is_none());
}

#[test]
fn calls_are_parts_beside_text() {
    let two = response(&json!([
        { "text": "Let me see.", "thought": true },
        function_call("fc-1", "add", json!({ "a": 1 })),
        function_call("fc-2", "draw", json!({ "arguments": { "shape": "circle" } })),
    ]));
    assert_eq!(
        calls(&dialect(), &two),
        [call("fc-1", "add", r#"{"a":1}"#), call("fc-2", "draw", r#"{"shape":"circle"}"#)]
    );
}

#[test]
fn a_call_without_arguments_has_none_and_one_without_an_id_gets_one() {
    let bare = response(&json!([{ "functionCall": { "name": "add" }, "thoughtSignature": "x" }]));
    let calls = bound(&dialect()).calls(&bare).unwrap();
    assert_eq!(calls[0].arguments.as_str(), "{}");
    assert!(calls[0].id.is_generated());
}

#[test]
fn a_malformed_response_is_refused_with_its_place() {
    let malformed = json!({ "candidates": [{ "finishReason": "MALFORMED_FUNCTION_CALL" }] });
    let cases = [
        (malformed, "/candidates/0/finishReason: expected a call, got MALFORMED_FUNCTION_CALL"),
        (json!({ "candidates": [{}, {}] }), "/candidates: expected one candidate, got a list"),
        (
            json!({ "error": { "code": 429, "message": "Quota" } }),
            "/error: expected calls, got an error of the provider: Quota",
        ),
    ];
    for (response, message) in cases {
        assert_eq!(refused(&dialect(), &response), message);
    }
    assert!(calls(&dialect(), &json!({ "promptFeedback": { "blockReason": "SAFETY" } })).is_empty());
}

#[test]
fn calls_of_all_chunks_are_returned() {
    let mut first = response(&json!([function_call("fc-1", "add", json!({ "a": 1 }))]));
    first["candidates"][0].as_object_mut().unwrap().remove("finishReason");
    let second = response(&json!([{ "text": "" }, function_call("fc-2", "add", json!({}))]));
    let both = assembled(&dialect(), &[first.clone(), second]);
    assert_eq!(told(&both.calls), [call("fc-1", "add", r#"{"a":1}"#), call("fc-2", "add", "{}")]);
    assert!(both.ended);
    // The call arrived whole, but the stop reason does not show that the model finished it.
    let one = assembled(&dialect(), &[first]);
    assert_eq!(cut_off(&one.calls), [call("fc-1", "add", r#"{"a":1}"#)]);
    assert!(!one.ended);
}

/// An event of a stream of arguments.
fn part(call: Value) -> Value {
    let mut response = response(&json!([{ "functionCall": call }]));
    response["candidates"][0].as_object_mut().unwrap().remove("finishReason");
    response
}

fn end(reason: &str) -> Value {
    json!({ "candidates": [{ "content": { "role": "model", "parts": [] }, "finishReason": reason }] })
}

#[test]
fn arguments_in_parts_are_assembled() {
    let events = [
        part(json!({ "id": "fc-1", "name": "add", "willContinue": true })),
        part(json!({ "partialArgs": [{ "jsonPath": "$.a", "numberValue": 50 }], "willContinue": true })),
        part(json!({
            "partialArgs": [{ "jsonPath": "$.in.city", "stringValue": "New ", "willContinue": true }],
            "willContinue": true,
        })),
        part(json!({
            "partialArgs": [
                { "jsonPath": "$.in.city", "stringValue": "York" },
                { "jsonPath": "$.list[0]['a b']", "boolValue": true },
                { "jsonPath": "$.list[1]", "nullValue": "NULL_VALUE" },
                { "jsonPath": "$.empty", "stringValue": "" },
            ],
            "willContinue": true,
        })),
        part(json!({})),
        part(json!({ "name": "add", "willContinue": true, "args": { "a": 1 } })),
        part(json!({ "name": "add", "partialArgs": [{ "jsonPath": "$.b", "numberValue": 2.5 }] })),
        part(json!({ "name": "draw", "willContinue": true })),
        part(json!({})),
        end("STOP"),
    ];
    let done = assembled(&dialect(), &events);
    assert_eq!(done.calls[0].id.to_string(), "fc-1");
    let told: Vec<_> = done.calls.iter().map(|it| (&*it.name, it.arguments.as_str())).collect();
    let first = r#"{"a":50,"in":{"city":"New York"},"list":[{"a b":true},null],"empty":""}"#;
    assert_eq!(told, [("add", first), ("add", r#"{"a":1,"b":2.5}"#), ("draw", "{}")]);
    assert!(done.ended && cut_off(&done.calls).is_empty());
}

// The wire of protocol buffers writes `null` for the only value of that type.
#[test]
fn a_null_in_a_part_is_kept() {
    let parts = json!([{ "jsonPath": "$.a", "nullValue": null }, { "jsonPath": "$.b", "numberValue": 1 }]);
    let done = assembled(&dialect(), &[part(json!({ "name": "add", "partialArgs": parts })), end("STOP")]);
    assert_eq!(done.calls[0].arguments.as_str(), r#"{"a":null,"b":1}"#);
}

#[test]
fn a_part_without_a_value_changes_nothing() {
    let parts =
        json!([{ "jsonPath": "$.a", "stringValue": "x", "willContinue": true }, { "jsonPath": "$.a" }]);
    let done = assembled(&dialect(), &[part(json!({ "name": "add", "partialArgs": parts })), end("STOP")]);
    assert_eq!(done.calls[0].arguments.as_str(), r#"{"a":"x"}"#);
}

// The provider omits empty arguments.
#[test]
fn a_call_without_arguments_before_an_incomplete_call_is_complete() {
    let events = [
        part(json!({ "id": "1", "name": "draw" })),
        part(json!({ "id": "2", "name": "add", "args": { "a": 1 } })),
        end("MAX_TOKENS"),
    ];
    let done = assembled(&dialect(), &events);
    assert_eq!(whole(&done.calls), [call("1", "draw", "{}")]);
    assert_eq!(cut_off(&done.calls), [call("2", "add", r#"{"a":1}"#)]);
}

#[test]
fn alternating_parts_are_assembled_by_call_id() {
    let begins = |id: &str| part(json!({ "id": id, "name": "add", "willContinue": true }));
    let given = |id: &str, path: &str, goes_on: bool| {
        let parts = json!([{ "jsonPath": path, "numberValue": 1 }]);
        part(json!({ "id": id, "name": "add", "partialArgs": parts, "willContinue": goes_on }))
    };
    let events = [
        begins("1"),
        begins("2"),
        given("1", "$.a", true),
        given("2", "$.a", false),
        given("1", "$.b", false),
        end("STOP"),
    ];
    let done = assembled(&dialect(), &events);
    assert_eq!(told(&done.calls), [call("1", "add", r#"{"a":1,"b":1}"#), call("2", "add", r#"{"a":1}"#)]);
    assert!(cut_off(&done.calls).is_empty());
}

#[test]
fn a_call_with_missing_parts_is_incomplete() {
    let events = [
        part(json!({ "name": "add", "partialArgs": [{ "jsonPath": "$.a", "numberValue": 1 }] })),
        part(json!({ "name": "add", "id": "2", "willContinue": true })),
        part(json!({ "partialArgs": [{ "jsonPath": "$.a", "numberValue": 1 }], "willContinue": true })),
        end("MAX_TOKENS"),
    ];
    let done = assembled(&dialect(), &events);
    assert_eq!(whole(&done.calls).len(), 1);
    assert_eq!(cut_off(&done.calls), [call("2", "add", r#"{"a":1}"#)]);
}

#[test]
fn a_part_of_arguments_without_a_place_costs_its_call() {
    let place = "/candidates/0/content/parts/0/functionCall";
    let begins = part(json!({ "name": "add", "willContinue": true }));
    let given = |path: &str, value: Value| {
        let mut given = json!({ "jsonPath": path });
        given.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        part(json!({ "partialArgs": [given], "willContinue": true }))
    };
    let one = given("$.a", json!({ "numberValue": 1 }));
    let wrong = (
        format!("{place}/partialArgs/0/jsonPath"),
        "expected a JSON path to a value that is not there yet, got another",
    );
    let cases = [
        (vec![begins.clone(), given("$..a", json!({ "stringValue": "x" }))], wrong.clone()),
        (vec![begins.clone(), given("$.a[1]", json!({ "boolValue": true }))], wrong.clone()),
        (vec![begins.clone(), given("$.a[999999999]", json!({ "boolValue": true }))], wrong.clone()),
        (vec![begins.clone(), one.clone(), one.clone()], wrong.clone()),
        (vec![begins.clone(), one, given("$.a", json!({ "stringValue": "x" }))], wrong),
        (
            vec![begins, given("$.a", json!({ "stringValue": 1 }))],
            (format!("{place}/partialArgs/0/stringValue"), "expected a text, got a number"),
        ),
    ];
    for (mut events, (pointer, message)) in cases {
        events.extend([part(json!({})), end("STOP")]);
        let done = assembled(&dialect(), &events);
        assert!(done.calls.iter().all(|call| call.completed().is_err()), "{events:?}");
        let diagnostic = &done.diagnostics[0];
        assert_eq!(diagnostic.location.pointer, pointer);
        assert!(diagnostic.message.ends_with(message), "{diagnostic}");
    }
}

// D06, D12
#[test]
fn all_results_are_in_one_content_each_an_object() {
    let told = |id: &str, response: Value| json!({ "functionResponse": { "id": id, "name": "add", "response": response } });
    let picture = json!({ "inlineData": { "mimeType": "image/png", "data": "cG5n" } });
    let below = json!(["[image/png: after the results]"]);
    let archive =
        json!(["[application/zip, 4 bytes: not shown, the provider does not accept this type of file]"]);
    let expected = json!([
        told("text", json!({ "result": "a<b & \"é\"" })),
        told("number", json!({ "result": 5 })),
        told("object", json!({ "temp": 72 })),
        told("nothing", json!({})),
        told("value", json!({ "result": [1, 2] })),
        told("picture", json!({ "result": "Here:", "files": below })),
        told("document", json!({ "result": "file:///notes:\nHi" })),
        told("archive", json!({ "result": "", "files": archive })),
        told("failed", json!({ "error": "the disk is full", "files": below })),
        told("failure", json!({ "error": "HTTP 503" })),
        picture,
        picture,
    ]);
    let results = bound(&dialect()).results(&of_all_kinds());
    assert_eq!(results["role"], "user");
    assert_eq!(results["parts"], expected);
}

#[test]
fn an_id_that_the_provider_did_not_assign_is_not_sent() {
    let bound = Dialect::gemini().with_prefix("my.").bind_tools(&tools());
    let bare = response(&json!([{ "functionCall": { "name": "my.add" } }]));
    let call = bound.calls(&bare).unwrap().remove(0);
    assert_eq!(&*call.name, "add");
    let results = bound.results(&[ToolResult::new(call.id, call.name, Ok(ToolOutput::from("5")))]);
    let response = json!({ "name": "my.add", "response": { "result": "5" } });
    assert_eq!(results["parts"], json!([{ "functionResponse": response }]));
}

#[test]
fn arguments_as_text_are_unchanged() {
    for text in [r#"{"a": 1,"b":2.0}"#, r#"{"a": "#] {
        let call = json!({ "functionCall": { "id": "1", "name": "add", "args": text } });
        let done = assembled(&dialect(), &[response(&json!([call]))]);
        assert_eq!(told(&done.calls), [self::call("1", "add", text)]);
    }
}

#[test]
fn parts_after_arguments_as_text_are_added() {
    let begun = |args: &str| part(json!({ "name": "add", "args": args, "willContinue": true }));
    let more = part(json!({ "partialArgs": [{ "jsonPath": "$.b", "numberValue": 2 }] }));
    let done = assembled(&dialect(), &[begun(r#"{ "a": 1 }"#), more.clone(), end("STOP")]);
    assert_eq!(done.calls[0].arguments.as_str(), r#"{"a":1,"b":2}"#);
    for text in ["[1]", r#"{"a":"#] {
        let done = assembled(&dialect(), &[begun(text), more.clone(), end("STOP")]);
        assert!(done.calls[0].completed().is_err());
        let why = done.diagnostics[0].to_string();
        assert!(why.contains("expected parts of arguments that are an object"), "{why}");
    }
}

#[test]
fn a_partial_call_of_a_whole_response_does_not_run() {
    let read = |goes_on: bool| {
        let call = json!({ "id": "1", "name": "add", "args": { "a": 1 }, "willContinue": goes_on });
        bound(&dialect()).read(&response(&json!([{ "functionCall": call }]))).unwrap()
    };
    assert_eq!(told(&read(false).calls), [call("1", "add", r#"{"a":1}"#)]);
    let done = read(true);
    assert!(done.calls[0].completed().is_err());
    let why = done.diagnostics[0].to_string();
    assert!(
        why.contains("/functionCall/willContinue` is left out") && why.contains("expected whole arguments"),
        "{why}"
    );
}
