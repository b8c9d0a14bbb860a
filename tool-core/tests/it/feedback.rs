//! The texts for a model of arguments that do not match their schema.

use serde_json::{Value, json};
use tool_core::{Plan, ToolError};

/// Returns the text for a model of the invalid `arguments`.
fn feedback(schema: &Value, arguments: &Value) -> String {
    let error = Plan::compile(schema).unwrap().fit(arguments.into()).unwrap_err();
    ToolError::from(error).feedback()
}

#[test]
fn violations_that_are_not_listed_are_counted() {
    let schema = json!({
        "properties": {"xs": {"items": {"type": "integer"}}, "y": {"type": "integer"}, "z": {"type": "integer"}},
        "required": ["x", "y"]
    });
    let text = feedback(&schema, &json!({"y": "a", "xs": vec!["b"; 30_000], "z": "c"}));
    assert!(text.contains("\n- and 29,983 more\nReceived: "), "{text}");
}

#[test]
fn a_text_has_at_most_8_kib_whatever_came() {
    let long = "ä".repeat(1_000_000);
    let name = format!("n{long}");
    let escapes = "\u{1}".repeat(100);
    let values: Vec<_> = (0..30).map(|at| format!("{at}{}", "v".repeat(100))).collect();
    let properties: serde_json::Map<_, _> = values.iter().map(|name| (name.clone(), json!({}))).collect();
    for (schema, value) in [
        (json!({"additionalProperties": false}), json!({ name.clone(): 1 })),
        (json!({"additionalProperties": false, "properties": properties}), json!({ &values[1][1..]: 1 })),
        (json!({"additionalProperties": {"type": "integer"}}), json!({ name.clone(): {"x": long} })),
        (json!({"additionalProperties": {"items": {"type": "null"}}}), json!({ name.clone(): [1, 2, 3] })),
        (json!({"required": [name]}), json!({})),
        (json!({"propertyNames": {"maxLength": 3}}), json!({ name.clone(): 1 })),
        (json!({"dependentRequired": {name.clone(): ["b"]}}), json!({ name.clone(): 1 })),
        (json!({"properties": {"a": {"enum": values}}}), json!({"a": &values[7][1..]})),
        (json!({"properties": {"a": {"const": long}}}), json!({"a": 1})),
        (json!({"properties": {"a": {"enum": [long, name]}}}), json!({"a": long[2..]})),
        (json!({"properties": {"a": {"type": "integer"}}}), json!({"a": escapes})),
        (json!({"properties": {"a": {"pattern": format!("^{}$", values.concat())}}}), json!({"a": "x"})),
        (json!({"anyOf": values.iter().map(|it| json!({"required": [it]})).collect::<Vec<_>>()}), json!({})),
    ] {
        let text = feedback(&schema, &value);
        assert!(text.len() <= 8 * 1024, "{} bytes", text.len());
    }
}
