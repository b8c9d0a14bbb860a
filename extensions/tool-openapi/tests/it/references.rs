//! References within a document: resources with an `$id`, anchors, chains.

use serde_json::{Value, json};
use tool_openapi::OpenApiToolSet;
use tool_runtime::Tool as _;

use crate::{built, document};

/// The tools, or the reason of the skip, of an operation whose body refers to the component `It`.
fn imported(schemas: Value) -> Result<Value, String> {
    let content = json!({ "application/json": { "schema": { "$ref": "#/components/schemas/It" } } });
    let operation = json!({ "operationId": "it", "requestBody": { "content": content } });
    let document =
        document(json!({ "/it": { "post": operation } }), json!({ "components": { "schemas": schemas } }));
    let set = built(OpenApiToolSet::builder(document).base_url("http://h"));
    match set.skipped() {
        [] => Ok(set.tools()[0].definition().input_schema().as_value()["properties"]["body"].clone()),
        [skipped, ..] => Err(skipped.reason.clone()),
    }
}

/// A component with an `$id`, the definition `A` and the properties `a`, which refers to it, and others.
fn resource(id: Value, others: Value) -> Value {
    let mut properties = json!({ "a": { "$ref": "#/$defs/A" } });
    properties.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
    json!({ "It": { "$id": id, "$defs": { "A": { "type": "integer" } }, "properties": properties } })
}

#[test]
fn a_pointer_is_one_within_the_closest_schema_with_an_id() {
    let id = "https://h.example/it";
    let body = imported(resource(json!(id), json!({}))).unwrap();
    assert_eq!(body["properties"]["a"], json!({ "type": "integer" })); // P06
    // A property of that name is none.
    let body = imported(resource(json!(id), json!({ "$id": { "type": "string" } }))).unwrap();
    assert_eq!(body["properties"]["a"], json!({ "type": "integer" })); // P06
    assert_eq!(body["properties"]["$id"], json!({ "type": "string" }));
    for id in [json!(7), Value::Null] {
        let reason = imported(resource(id, json!({}))).unwrap_err();
        assert_eq!(reason, "the reference `#/$defs/A` leads to nothing");
    }
    // The pointer is tried from the document first, and within another resource only there.
    let elsewhere = json!({
        "It": { "$id": id, "$defs": { "A": { "type": "integer" } }, "properties": { "a": { "$ref": "https://h.example/b#/$defs/A" } } },
        "B": { "$id": "https://h.example/b", "type": "string" },
    });
    let reason = imported(elsewhere).unwrap_err();
    assert_eq!(reason, "the reference `https://h.example/b#/$defs/A` leads to nothing");
    let both = json!({
        "It": { "$id": id, "components": { "schemas": { "B": { "type": "integer" } } }, "properties": { "b": { "$ref": "#/components/schemas/B" } } },
        "B": { "type": "string" },
    });
    assert_eq!(imported(both).unwrap()["properties"]["b"], json!({ "type": "string" }));
}

#[test]
fn an_anchor_leads_to_one_schema() {
    let anchored = |others: Value| {
        let mut all = json!({ "It": { "properties": { "a": { "$ref": "#here" } } }, "A": { "$anchor": "here", "type": "integer" } });
        all.as_object_mut().unwrap().extend(others.as_object().unwrap().clone());
        imported(all)
    };
    assert_eq!(anchored(json!({})).unwrap()["properties"]["a"], json!({ "type": "integer" })); // P06
    let reason = anchored(json!({ "B": { "$anchor": "here" } })).unwrap_err();
    assert_eq!(reason, "the reference `#here` leads to an anchor that several schemas have");
    // A pointer without its slash.
    let slip = json!({ "It": { "properties": { "a": { "$ref": "#components/schemas/A" } } }, "A": { "type": "integer" } });
    assert_eq!(imported(slip).unwrap()["properties"]["a"], json!({ "type": "integer" }));
}
