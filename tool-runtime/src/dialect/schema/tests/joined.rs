//! Members of `allOf` that are joined, in either order.

use serde_json::{Value, json};

use super::ALL;
use crate::dialect::schema::all_of::join_all_of;

/// Returns a schema with two members, joined.
fn joined(one: &Value, other: &Value) -> Value {
    join_all_of(&json!({ "allOf": [one, other] }), &ALL).into_owned()
}

// A22
#[test]
fn closed_objects_are_joined_only_with_what_they_know() {
    let closed = |rest: Value| json!({ "properties": { "a": true }, "additionalProperties": rest });
    let with = |schema: Value| {
        [closed(json!(false)), closed(json!({ "type": "string" }))].map(|closed| (closed, schema.clone()))
    };
    for (closed, other) in [
        with(json!({ "properties": { "b": true } })),
        with(json!({ "properties": { "a": true, "b": true } })),
        with(json!({ "patternProperties": { "^x": true } })),
    ]
    .into_iter()
    .flatten()
    {
        for (one, two) in [(&closed, &other), (&other, &closed)] {
            assert_eq!(joined(one, two)["allOf"], json!([two]), "{one} {two}");
        }
    }
    for (closed, other) in with(json!({ "properties": { "a": true }, "required": ["a"] })) {
        for (one, two) in [(&closed, &other), (&other, &closed)] {
            let both = joined(one, two);
            assert_eq!(both["additionalProperties"], closed["additionalProperties"], "{both}");
            assert_eq!((both.get("allOf"), &both["required"]), (None, &json!(["a"])), "{both}");
        }
    }
    for (closed, _) in with(json!(null)) {
        let open = json!({ "additionalProperties": true, "properties": { "a": true } });
        for (one, two) in [(&closed, &open), (&open, &closed)] {
            assert_eq!(joined(one, two), closed);
        }
    }
}

// A22
#[test]
fn keywords_that_depend_on_others_are_not_joined() {
    for (one, other) in [
        (json!({ "if": true }), json!({ "then": false })),
        (json!({ "contains": true }), json!({ "minContains": 2 })),
        (json!({ "items": true }), json!({ "prefixItems": [false] })),
        (json!({ "type": "string" }), json!({ "type": "integer" })),
        (json!({ "type": ["string", "null"] }), json!({ "type": "integer" })),
        (json!({ "minimum": 1 }), json!({ "minimum": 2 })),
        (
            json!({ "properties": { "a": { "minimum": 1 } } }),
            json!({ "properties": { "a": { "minimum": 2 } } }),
        ),
        (json!({ "properties": { "a": true } }), json!({ "properties": { "a": false } })),
    ] {
        for (one, two) in [(&one, &other), (&other, &one)] {
            let rest = joined(one, two)["allOf"].as_array().cloned().unwrap_or_default();
            assert!(rest.contains(two), "{one} {two}");
        }
    }
    for alone in [
        json!({ "unevaluatedItems": false }),
        json!({ "unevaluatedProperties": false }),
        json!({ "$id": "x" }),
        json!({ "$anchor": "x" }),
        json!({ "$dynamicAnchor": "x" }),
    ] {
        let other = json!({ "type": "array" });
        let expected = json!({ "type": "array", "allOf": [alone] });
        assert_eq!((joined(&alone, &other), joined(&other, &alone)), (expected.clone(), expected));
        let mut beside = alone.clone();
        beside["allOf"] = json!([other]);
        assert_eq!(join_all_of(&beside, &ALL).into_owned(), beside);
    }
    // One group in one member alone.
    let conditional = json!({ "if": true, "then": false, "else": true });
    assert_eq!(joined(&conditional, &json!({ "type": "object" })).get("allOf"), None);
}

// A22
#[test]
fn equal_keywords_and_compatible_ones_are_joined() {
    for (one, other, expected) in [
        (
            json!({ "minimum": 1 }),
            json!({ "minimum": 1, "maximum": 2 }),
            json!({ "minimum": 1, "maximum": 2 }),
        ),
        (json!({ "enum": [1, 2, 3] }), json!({ "enum": [3, 2, 9] }), json!({ "enum": [2, 3] })),
        (
            json!({ "required": ["a", "b"] }),
            json!({ "required": ["b", "c"] }),
            json!({ "required": ["a", "b", "c"] }),
        ),
        (json!({ "type": "number" }), json!({ "type": "integer" }), json!({ "type": "integer" })),
        (
            json!({ "type": ["string", "null", "number"] }),
            json!({ "type": ["null", "string"] }),
            json!({ "type": ["string", "null"] }),
        ),
        (
            json!({ "properties": { "a": { "minimum": 1 } } }),
            json!({ "properties": { "a": { "maximum": 2 }, "b": true } }),
            json!({ "properties": { "a": { "minimum": 1, "maximum": 2 }, "b": true } }),
        ),
        (
            json!({ "title": "A", "description": "One.", "default": 1 }),
            json!({ "title": "B", "description": "Two.", "default": 2 }),
            json!({ "title": "A", "description": "One.\nB\nTwo.", "default": 1 }),
        ),
        (json!({ "title": "A" }), json!({ "title": "B" }), json!({ "title": "A", "description": "B" })),
        (
            json!({ "description": "One." }),
            json!({ "description": "One." }),
            json!({ "description": "One." }),
        ),
        (json!(true), json!({ "type": "object" }), json!({ "type": "object" })),
    ] {
        assert_eq!(joined(&one, &other), expected, "{one} {other}");
    }
    assert_eq!(
        joined(&json!(false), &json!({ "type": "object" })),
        json!({ "type": "object", "allOf": [false] })
    );
}

// A22
#[test]
fn members_are_joined_wherever_schemas_stand_and_not_in_values() {
    let (apart, one) =
        (json!({ "allOf": [{ "minimum": 1 }, { "maximum": 2 }] }), json!({ "minimum": 1, "maximum": 2 }));
    let join = |schema: Value| join_all_of(&schema, &ALL).into_owned();
    for key in ["properties", "patternProperties", "$defs", "definitions", "dependentSchemas"] {
        assert_eq!(join(json!({ key: { "x": apart } })), json!({ key: { "x": one } }), "{key}");
    }
    for key in ["anyOf", "oneOf", "prefixItems"] {
        assert_eq!(join(json!({ key: [true, apart] })), json!({ key: [true, one] }), "{key}");
    }
    for key in ["items", "contains", "additionalProperties", "propertyNames", "not", "if", "then", "else"] {
        assert_eq!(join(json!({ key: apart })), json!({ key: one }), "{key}");
    }
    for key in ["const", "default", "enum", "examples"] {
        let value = if key == "const" || key == "default" { apart.clone() } else { json!([apart]) };
        assert_eq!(join(json!({ key: value })), json!({ key: value }), "{key}");
    }
}
