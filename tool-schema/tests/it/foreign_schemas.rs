//! Schemas from elsewhere, whose mistakes are read in another way.

use serde_json::{Value, json};
use tool_schema::{InputSchema, OutputSchema};

/// Returns what is read of `schema`, and the places of its mistakes.
fn read(schema: Value) -> (Value, Vec<String>) {
    let (input, problems) = InputSchema::from_foreign(schema.clone()).unwrap();
    let (output, _) = OutputSchema::from_foreign(schema).unwrap();
    assert_eq!(input.as_value(), output.as_value());
    (input.as_value().clone(), problems.into_iter().map(|it| it.pointer).collect())
}

/// Returns what is read of the schema of a property.
fn read_property(schema: Value) -> Value {
    read(json!({ "type": "object", "properties": { "n": schema } })).0["properties"]["n"].clone()
}

#[test]
fn a_keyword_is_read_as_it_was_meant() {
    for (schema, expected) in [
        (json!({ "type": ["STRING", "string", "Integer"] }), json!({ "type": ["integer", "string"] })),
        (json!({ "type": ["Null", "BOOLEAN"] }), json!({ "type": ["boolean", "null"] })),
        (json!({ "required": ["b", "a", "b", 5] }), json!({ "required": ["a", "b"] })),
        (json!({ "items": [{ "type": "string" }] }), json!({ "prefixItems": [{ "type": "string" }] })),
        (json!({ "minimum": 1, "exclusiveMinimum": true }), json!({ "exclusiveMinimum": 1 })),
        (
            json!({ "minimum": 0, "maximum": 1, "exclusiveMaximum": true }),
            json!({ "minimum": 0, "exclusiveMaximum": 1 }),
        ),
        (json!({ "maximum": 1, "exclusiveMaximum": false }), json!({ "maximum": 1 })),
    ] {
        assert_eq!(read_property(schema.clone()), expected, "{schema}");
    }
}

#[test]
fn only_a_keyword_is_ignored_and_a_property_of_its_name_permits_any_value() {
    assert_eq!(read(json!({ "type": "object", "not": 5 })).0, json!({ "type": "object" }));
    assert_eq!(read_property(json!({ "not": 5, "if": 5, "contains": 5 })), json!({}));
    assert_eq!(read_property(json!({ "properties": { "not": 5 } })), json!({ "properties": { "not": {} } }));
    for around in ["anyOf", "not", "properties"] {
        let schema = json!({ "properties": { around: { "properties": { "not": 5 } } } });
        let expected = json!({ "properties": { around: { "properties": { "not": {} } } } });
        assert_eq!(read_property(schema), expected, "{around}");
    }
    let within = json!({ "anyOf": [{ "properties": { "if": 5 }, "not": 5 }] });
    assert_eq!(read_property(within), json!({ "anyOf": [{ "properties": { "if": {} } }] }));
}

#[test]
fn mistakes_are_listed_in_the_order_of_the_schema() {
    let (_, places) = read(json!({
        "type": "object",
        "properties": { "a": { "minLength": "x" }, "b": { "maxLength": "y" }, "c": { "minimum": "z" } },
    }));
    assert_eq!(places, ["/properties/a", "/properties/b", "/properties/c"]);
    let (_, places) =
        read(json!({ "type": "object", "properties": { "a": { "items": [{ "type": "string" }] } } }));
    assert_eq!(places, ["/properties/a"]);
}
