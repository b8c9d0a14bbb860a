//! Shapes: <https://modelcontextprotocol.io/specification/2025-11-25/server/tools>.

use serde_json::{Value, json};
use tool_runtime::{ToolOutput, ToolResult, dialect::Dialect, prelude::*};

use super::{assembled, bound, call, calls, of_all_kinds, refused, told};

fn dialect() -> Dialect {
    Dialect::mcp()
}

fn request(id: Value, name: &str, arguments: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": { "name": name, "arguments": arguments } })
}

/// Counts.
#[tool(register = false, read_only, title = "Counts words")]
fn count(text: String) -> usize {
    text.split_whitespace().count()
}

/// A location.
#[tool_args]
#[derive(serde::Serialize)]
struct Place {
    x: i32,
}

/// Finds.
#[tool(register = false)]
fn find(name: String) -> Option<Place> {
    (name == "here").then_some(Place { x: 1 })
}

#[test]
fn definitions_have_titles_hints_and_both_schemas() {
    let tools = Registry::builder().tool::<count>().build().unwrap();
    let definition = dialect().bind_tools(&tools).definitions()[0].clone();
    assert_eq!(definition["title"], "Counts words");
    assert_eq!(definition["annotations"], json!({ "readOnlyHint": true }));
    assert_eq!(definition["inputSchema"]["required"], json!(["text"]));
    assert_eq!(definition["outputSchema"]["properties"]["result"]["type"], "integer");
}

#[test]
fn a_union_of_arguments_stays_at_the_root() {
    let definitions = bound(&dialect()).definitions().clone();
    assert!(definitions[1]["inputSchema"].get("oneOf").is_some());
}

#[test]
fn calls_are_read_from_one_request_a_list_or_their_parameters() {
    let one = request(json!(2), "add", json!({ "a": 1 }));
    assert_eq!(calls(&dialect(), &one), [call("2", "add", r#"{"a":1}"#)]);
    let other = json!({ "jsonrpc": "2.0", "id": 3, "method": "tools/list" });
    let batch = json!([one, other, request(json!("x"), "draw", json!({}))]);
    assert_eq!(calls(&dialect(), &batch), [call("2", "add", r#"{"a":1}"#), call("x", "draw", "{}")]);
    let bare = bound(&dialect()).calls(&one["params"]).unwrap();
    assert_eq!((&*bare[0].name, bare[0].id.is_generated()), ("add", true));
}

#[test]
fn the_meta_of_a_request_is_kept() {
    let mut request = request(json!(1), "add", json!({}));
    request["params"]["_meta"] = json!({ "progressToken": "abc" });
    let call = bound(&dialect()).calls(&request).unwrap().remove(0);
    assert_eq!(call.meta.unwrap()["progressToken"], "abc");
}

#[test]
fn a_list_without_items_stands_for_arguments_without_members() {
    assert_eq!(calls(&dialect(), &request(json!(1), "add", json!([]))), [call("1", "add", "{}")]);
    let mut request = request(json!(1), "add", json!({}));
    request["params"].as_object_mut().unwrap().remove("arguments");
    assert_eq!(calls(&dialect(), &request), [call("1", "add", "{}")]);
}

#[test]
fn a_malformed_request_is_refused_with_its_place() {
    let cases = [
        (json!("x"), "the root: expected an object, got a text"),
        (request(json!(1), "", json!({})), "/params/name: expected a name, got an empty text"),
        (request(json!(1), "add", json!("{}")), "/params/arguments: expected an object, got a text"),
        (request(json!(1), "add", json!([1])), "/params/arguments: expected an object, got a list"),
        (request(json!([]), "add", json!({})), "/id: expected a text or a number, got a list"),
        (json!({ "method": "tools/call" }), "/params: expected an object, got nothing"),
    ];
    for (response, message) in cases {
        assert_eq!(refused(&dialect(), &response), message);
    }
}

#[test]
fn messages_of_a_stream_are_complete_calls() {
    let done =
        assembled(&dialect(), &[request(json!(1), "add", json!({})), request(json!(2), "draw", json!({}))]);
    assert_eq!(told(&done.calls), [call("1", "add", "{}"), call("2", "draw", "{}")]);
    assert!(done.ended);
}

#[test]
fn results_have_content_structured_objects_and_an_error_flag() {
    let results = bound(&dialect()).results(&of_all_kinds());
    let text = |text: &str| json!([{ "type": "text", "text": text }]);
    // The output schema of `add` is an integer, so that its values are wrapped in an object.
    let held = |value: Value| json!({ "result": value });
    let fine = |content: Value, structured: Value| json!({ "content": content, "isError": false, "structuredContent": structured });
    assert_eq!(results[0], fine(text("a<b & \"é\""), held(json!("a<b & \"é\""))));
    assert_eq!(results[1], fine(text("5"), held(json!(5))));
    assert_eq!(results[3], fine(json!([]), held(Value::Null)));
    assert_eq!(results[4], fine(text("[1,2]"), held(json!([1, 2]))));
    let picture = json!({ "type": "image", "data": "cG5n", "mimeType": "image/png" });
    assert_eq!(results[5]["content"], json!([{ "type": "text", "text": "Here:" }, picture]));
    let document = json!({ "uri": "file:///notes", "mimeType": "text/plain", "text": "Hi" });
    assert_eq!(results[6]["content"], json!([{ "type": "resource", "resource": document }]));
    let failed = json!([{ "type": "text", "text": "the disk is full" }, picture]);
    assert_eq!(results[8], json!({ "content": failed, "isError": true }));
    assert_eq!(results[9], json!({ "content": text("HTTP 503"), "isError": true }));
}

// The schema admits an object or `null`, so that the value is wrapped in `result`.
#[test]
fn a_nullable_result_is_valid_by_the_sent_schema() {
    let tools = Registry::builder().tool::<find>().build().unwrap();
    let bound = dialect().bind_tools(&tools);
    let schema = &bound.definitions()[0]["outputSchema"];
    for outcome in [ToolOutput::json(&Place { x: 1 }), Ok(ToolOutput::empty())] {
        let result = ToolResult::new("1".to_owned().into(), "find", outcome);
        let sent = &bound.results(&[result])[0]["structuredContent"];
        assert!(jsonschema::is_valid(schema, sent), "{sent} is not {schema}");
    }
}

#[test]
fn a_wrapped_output_schema_keeps_its_definitions() {
    let place = json!({ "type": "object", "properties": { "within": { "$ref": "#/$defs/Place" } } });
    let schema =
        json!({ "type": "array", "items": { "$ref": "#/$defs/Place" }, "$defs": { "Place": place.clone() } });
    let places =
        ToolBuilder::new("places").output_schema(tool_runtime::schema::OutputSchema::new(schema).unwrap());
    let tools = Registry::builder()
        .add(
            places.expect_handler(async |_: serde_json::Map<String, Value>, _| Ok::<_, ToolError>(json!([]))),
        )
        .build()
        .unwrap();
    let output = dialect().bind_tools(&tools).definitions()[0]["outputSchema"].clone();
    assert_eq!(output["properties"]["result"]["items"], json!({ "$ref": "#/$defs/Place" }));
    assert_eq!(output["$defs"]["Place"], place);
}

#[test]
fn references_to_the_root_of_a_wrapped_output_schema_are_adjusted() {
    let schema = json!({ "type": "array", "items": { "$ref": "#" } });
    let lists =
        ToolBuilder::new("lists").output_schema(tool_runtime::schema::OutputSchema::new(schema).unwrap());
    let lists =
        lists.expect_handler(async |_: serde_json::Map<String, Value>, _| Ok::<_, ToolError>(json!([])));
    let tools = Registry::builder().add(lists).build().unwrap();
    let output = dialect().bind_tools(&tools).definitions()[0]["outputSchema"].clone();
    assert_eq!(output["properties"]["result"]["items"], json!({ "$ref": "#/properties/result" }));
    assert!(jsonschema::is_valid(&output, &json!({ "result": [[], [[]]] })));
    assert!(!jsonschema::is_valid(&output, &json!({ "result": [{}] })));
}

#[test]
fn an_object_without_an_output_schema_is_structured_content() {
    let results = [json!({ "temp": 72 }), json!([1])].map(|value| {
        ToolResult::new("1".to_owned().into(), "unknown", Ok(ToolOutput::empty().with_structured(value)))
    });
    let written = bound(&dialect()).results(&results);
    assert_eq!(written[0]["structuredContent"], json!({ "temp": 72 }));
    assert_eq!(written[1].get("structuredContent"), None);
}
