//! The smallest example of a schema.

use serde_json::{Value, json};
use tool_schema::InputSchema;

fn example(schema: Value) -> Option<Value> {
    InputSchema::own(schema).unwrap().example().cloned()
}

/// Returns the example of a required property `it`.
fn example_of(kind: &Value) -> Option<Value> {
    let schema = json!({
        "type": "object",
        "properties": { "it": kind },
        "required": ["it"],
        "$defs": { "count": { "type": "integer", "minimum": 4 }, "own": { "type": "object", "required": ["a"], "properties": { "a": { "$ref": "#/$defs/own" } } } },
    });
    Some(example(schema)?["it"].take())
}

#[test]
fn an_example_has_a_value_of_each_kind_for_what_is_required() {
    for (kind, expected) in [
        (json!({ "type": "string" }), json!("it")),
        (json!({ "type": "integer" }), json!(1)),
        (json!({ "type": "number" }), json!(1)),
        (json!({ "type": "boolean" }), json!(true)),
        (json!({ "type": "null" }), json!(null)),
        (json!({ "type": "array" }), json!([])),
        (json!({ "type": "object" }), json!({})),
        (json!({ "type": ["null", "object"] }), json!({})),
        (json!({ "type": ["null", "boolean"] }), json!(true)),
        (
            json!({ "type": "object", "required": ["a", "b"], "properties": { "a": { "type": "object" }, "c": {} } }),
            json!({ "a": {}, "b": "b" }),
        ),
        (json!({ "properties": { "a": { "type": "integer" } }, "required": ["a"] }), json!({ "a": 1 })),
        (json!(true), json!("it")),
        (json!({}), json!("it")),
        (json!({ "$ref": "#/$defs/count" }), json!(4)),
        (json!({ "anyOf": [{ "$ref": "#/$defs/own" }, { "type": "boolean" }] }), json!(true)),
        (json!({ "oneOf": [{ "type": "null" }, { "type": "boolean" }] }), json!(null)),
        (json!({ "const": 7, "enum": [7, 8], "default": 7 }), json!(7)),
        (json!({ "enum": ["a", "b"], "default": "b" }), json!("a")),
        (json!({ "type": "string", "default": "d" }), json!("d")),
        (json!({ "type": "string", "examples": ["e", "f"], "enum": ["f", "e"], "default": "f" }), json!("e")),
        (json!({ "type": "array", "items": { "type": "integer" }, "minItems": 2 }), json!([1, 1])),
        (
            json!({ "type": "array", "prefixItems": [{ "type": "boolean" }, { "type": "null" }], "items": { "type": "integer" } }),
            json!([true, null]),
        ),
        (
            json!({ "type": "array", "prefixItems": [{ "type": "boolean" }], "items": { "type": "integer" }, "minItems": 2 }),
            json!([true, 1]),
        ),
        (json!({ "type": "array", "minItems": 2 }), json!(["it", "it"])),
        (json!({ "type": "array", "minItems": 16 }), json!(vec!["it"; 16])),
    ] {
        assert_eq!(example_of(&kind), Some(expected), "{kind}");
    }
    for kind in [
        json!({ "type": "array", "minItems": 17 }),
        json!({ "$ref": "#/$defs/own" }),
        json!({ "type": "string", "pattern": "^[0-9]+$" }),
        json!(false),
    ] {
        assert_eq!(example_of(&kind), None, "{kind}");
    }
}

#[test]
fn the_text_of_an_example_has_the_form_and_the_length_that_are_required() {
    for (format, text) in [
        ("date", "2026-01-31"),
        ("date-time", "2026-01-31T12:00:00Z"),
        ("time", "12:00:00Z"),
        ("duration", "PT1H"),
        ("email", "name@example.org"),
        ("hostname", "example.org"),
        ("ipv4", "192.0.2.1"),
        ("ip", "192.0.2.1"),
        ("ipv6", "2001:db8::1"),
        ("uri", "https://example.org"),
        ("url", "https://example.org"),
        ("uuid", "00000000-0000-4000-8000-000000000000"),
        ("colour", "it"),
    ] {
        assert_eq!(example_of(&json!({ "type": "string", "format": format })), Some(json!(text)), "{format}");
    }
    for (limits, text) in [
        (json!({ "minLength": 1 }), Some("it".to_owned())),
        (json!({ "minLength": 4 }), Some("itxx".to_owned())),
        (json!({ "maxLength": 2 }), Some("it".to_owned())),
        (json!({ "maxLength": 1 }), Some("i".to_owned())),
        (json!({ "minLength": 66 }), Some(format!("it{}", "x".repeat(64)))),
        (json!({ "minLength": 67 }), None),
    ] {
        let mut kind = limits.clone();
        kind["type"] = "string".into();
        assert_eq!(example_of(&kind), text.map(Value::from), "{limits}");
    }
}

#[test]
fn the_number_of_an_example_is_the_one_within_its_limits_that_is_closest_to_one() {
    for (kind, limits, number) in [
        ("integer", json!({ "minimum": -3 }), json!(1)),
        ("integer", json!({ "minimum": 3 }), json!(3)),
        ("integer", json!({ "maximum": 0 }), json!(0)),
        ("integer", json!({ "exclusiveMinimum": 3 }), json!(4)),
        ("integer", json!({ "exclusiveMaximum": 1 }), json!(0)),
        ("integer", json!({ "minimum": 7, "multipleOf": 5 }), json!(10)),
        ("integer", json!({ "minimum": 10, "multipleOf": 5 }), json!(10)),
        ("number", json!({ "exclusiveMinimum": 3 }), json!(3.5)),
        ("number", json!({ "exclusiveMaximum": 1 }), json!(0.5)),
        ("number", json!({ "minimum": 1.25 }), json!(1.25)),
        ("number", json!({ "minimum": 1.1, "multipleOf": 0.5 }), json!(1.5)),
    ] {
        let mut schema = limits.clone();
        schema["type"] = kind.into();
        assert_eq!(example_of(&schema), Some(number), "{kind} {limits}");
    }
}
