//! Descriptions of parameters and fields.

use serde_json::{Value, json};
use tool_runtime::{ToolDefinition, schema::InputSchema};

use super::{definition, found, of_parameter};

#[test]
fn schemas_at_each_place_are_checked_once_and_values_are_not() {
    let silent = json!({ "type": "object", "properties": { "q": { "type": "string" } } });
    let missing = |at: &str| {
        vec![format!(
            "warning: `search` in all, at `{at}/properties/q`: the field has no description; write a doc comment above it"
        )]
    };
    let of_root = |key: &str, value: Value| {
        let mut schema = json!({ "type": "object", "properties": {}, "additionalProperties": false });
        schema[key] = value;
        let base = definition("search", "Finds the lines that hold a text.", json!({}));
        let tool = ToolDefinition::new(
            base.name().clone(),
            base.description().to_owned(),
            InputSchema::new(schema).unwrap(),
        );
        found([tool.with_metadata(base.metadata().clone())])
    };
    for key in ["$defs", "definitions", "patternProperties"] {
        assert_eq!(of_root(key, json!({ "a/b": silent })), missing(&format!("/{key}/a~1b")), "{key}");
    }
    for key in ["oneOf", "anyOf", "allOf"] {
        assert_eq!(of_root(key, json!([{ "title": "T" }, silent])), missing(&format!("/{key}/1")), "{key}");
    }
    let tuple = json!({ "description": "D", "type": "array", "prefixItems": [silent] });
    assert_eq!(of_parameter(tuple), missing("/properties/p/prefixItems/0"));
    for key in ["default", "examples"] {
        let value = if key == "default" { silent.clone() } else { json!([silent]) };
        assert_eq!(of_parameter(json!({ "description": "D", key: value })), [""; 0], "{key}");
    }
    // The only property of a described branch is the name of a variant.
    let described = |count: usize| {
        let properties: serde_json::Map<_, _> =
            (0..count).map(|at| (format!("q{at}"), json!({ "type": "string" }))).collect();
        json!({ "description": "D", "type": "object", "properties": properties })
    };
    for key in ["oneOf", "anyOf", "allOf"] {
        assert_eq!(of_root(key, json!([described(1)])).len(), usize::from(key == "allOf"), "{key}");
        assert_eq!(of_root(key, json!([described(2)])).len(), 2, "{key}");
    }
}

#[test]
fn a_description_of_a_parameter_has_at_most_a_thousand_characters() {
    let of = |length: usize| of_parameter(json!({ "description": "é".repeat(length), "type": "string" }));
    assert_eq!(of(1_000), [""; 0]);
    let text = "warning: `search` in all, at `/properties/p`: the description of the parameter has 1001 characters; \
                keep it within 1000; shorten it";
    assert_eq!(of(1_001), [text]);
}

#[test]
fn a_parameter_needs_a_description_unless_its_parts_have_one_or_it_has_one_value() {
    let (said, silent) = (json!({ "description": "D", "type": "string" }), json!({ "type": "integer" }));
    for (parameter, is_missing) in [
        (json!({ "allOf": [silent, said] }), false),
        (json!({ "allOf": [silent] }), true),
        (json!({ "anyOf": [said, said] }), false),
        (json!({ "anyOf": [said, silent] }), true),
        (json!({ "oneOf": [said, { "type": "null" }] }), false),
        (json!({ "anyOf": [{ "type": "null" }] }), true),
        (json!({ "enum": ["a"] }), false),
        (json!({ "enum": ["a", "b"] }), true),
        (json!({ "const": null }), false),
        (json!(true), true),
    ] {
        let found = of_parameter(parameter.clone());
        assert_eq!(
            found.iter().any(|it| it.contains("the parameter has no description")),
            is_missing,
            "{parameter} {found:?}"
        );
    }
}
