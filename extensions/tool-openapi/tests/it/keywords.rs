//! Keywords of a document's schemas: what is kept, and the diagnostic of what is not.

use serde_json::{Value, json};
use tool_openapi::{Document, OpenApiToolSet};
use tool_runtime::Tool as _;

use crate::built;

/// The schema of the body of an operation with `schema`, and the diagnostics, each after its pointer below the schema.
fn translated(version: &str, schema: &Value) -> (Value, Vec<String>) {
    let content = json!({ "application/json": { "schema": schema } });
    let root = json!({
        "openapi": version, "info": { "title": "It", "version": "1" },
        "paths": { "/it": { "post": { "operationId": "it", "requestBody": { "content": content } } } },
    });
    let set = built(OpenApiToolSet::builder(Document::from_value(root).unwrap()).base_url("http://h"));
    assert_eq!(set.skipped(), [], "{schema}");
    let place = "/paths/~1it/post/requestBody/content/application~1json/schema";
    let remarks = set.diagnostics().iter().map(|it| {
        let pointer = it.location.pointer.strip_prefix(place).unwrap();
        format!("{} {} {pointer}: {}", it.severity, it.code, it.message)
    });
    let remarks = remarks.collect();
    (set.tools()[0].definition().input_schema().as_value()["properties"]["body"].clone(), remarks)
}

#[test]
fn a_keyword_that_cannot_be_read_is_left_out_with_one_diagnostic() {
    for (schema, kept, pointer, message) in [
        (json!({ "title": 7 }), json!({}), "/title", "`title` is a string, not `7`; it is ignored"),
        (
            json!({ "description": [] }),
            json!({}),
            "/description",
            "`description` is a string, not a list; it is ignored",
        ),
        (json!({ "format": {} }), json!({}), "/format", "`format` is a string, not an object; it is ignored"),
        (
            json!({ "contentEncoding": true }),
            json!({}),
            "/contentEncoding",
            "`contentEncoding` is a string, not `true`; it is ignored",
        ),
        (
            json!({ "contentMediaType": 1 }),
            json!({}),
            "/contentMediaType",
            "`contentMediaType` is a string, not `1`; it is ignored",
        ),
        (
            json!({ "deprecated": "yes" }),
            json!({}),
            "/deprecated",
            "`deprecated` is a boolean, not `\"yes\"`; it is ignored",
        ),
        (json!({ "enum": [] }), json!({}), "/enum", "`enum` is a list of values, not a list; it is ignored"),
        (
            json!({ "pattern": "(" }),
            json!({}),
            "/pattern",
            "`pattern` is a regular expression, not `\"(\"`; it is ignored",
        ),
        (
            json!({ "pattern": 7 }),
            json!({}),
            "/pattern",
            "`pattern` is a regular expression, not `7`; it is ignored",
        ),
        (
            json!({ "patternProperties": { "(": {}, "a": {} } }),
            json!({ "patternProperties": { "a": {} } }),
            "/patternProperties",
            "a key of `patternProperties` is not a regular expression; it is ignored",
        ),
        (
            json!({ "properties": ["a"] }),
            json!({}),
            "/properties",
            "`properties` is an object, not a list; it is ignored",
        ),
        (
            json!({ "not": 7 }),
            json!({}),
            "/not",
            "a schema is an object or a boolean, not a number; it is ignored",
        ),
        (
            json!({ "type": "integer", "enum": ["1", 2] }),
            json!({ "type": "integer", "enum": [1, 2] }),
            "/enum",
            "the values of `enum` are read as of the type `integer`",
        ),
        (
            json!({ "type": "boolean", "enum": ["true"] }),
            json!({ "type": "boolean", "enum": [true] }),
            "/enum",
            "the values of `enum` are read as of the type `boolean`",
        ),
    ] {
        let (body, remarks) = translated("3.1.0", &schema);
        assert_eq!(body, kept, "{schema}");
        assert_eq!(remarks, [format!("warning malformed_keyword {pointer}: {message}")], "{schema}");
    }
}

#[test]
fn a_value_that_is_absent_or_was_meant_is_read_without_a_diagnostic() {
    for (schema, kept) in [
        (json!({ "title": null, "deprecated": null, "pattern": null, "not": null }), json!({})),
        (
            json!({ "patternProperties": { "a": {}, "^b": {} } }),
            json!({ "patternProperties": { "a": {}, "^b": {} } }),
        ),
        (json!({ "pattern": "a+", "deprecated": false }), json!({ "pattern": "a+", "deprecated": false })),
        (json!({ "minimum": " 1.5 ", "maximum": "2" }), json!({ "minimum": 1.5, "maximum": 2 })),
        (json!({ "maxLength": 3.0, "minItems": "3" }), json!({ "maxLength": 3, "minItems": 3 })),
        (json!({ "type": ["string", null, "string"] }), json!({ "type": ["string", "null"] })),
        (json!({ "required": ["a", "b", "a"] }), json!({ "required": ["a", "b"] })),
        (json!({ "enum": ["a"] }), json!({ "enum": ["a"] })),
        (json!({ "type": "string", "enum": ["1", null] }), json!({ "type": "string", "enum": ["1", null] })),
        (json!({ "type": "number", "enum": [1, "a"] }), json!({ "type": "number", "enum": [1, "a"] })),
        (
            json!({ "type": "boolean", "enum": [true, "maybe"] }),
            json!({ "type": "boolean", "enum": [true, "maybe"] }),
        ),
        (json!({ "x-own": 1, "xml": {}, "externalDocs": {} }), json!({})),
    ] {
        let (body, remarks) = translated("3.1.0", &schema);
        assert_eq!(body, kept, "{schema}");
        assert_eq!(remarks, [""; 0], "{schema}");
    }
}

#[test]
fn keywords_of_earlier_versions_are_replaced_only_where_they_are_meant() {
    for (schema, kept) in [
        (json!({ "minimum": 1, "exclusiveMinimum": true }), json!({ "exclusiveMinimum": 1 })),
        (json!({ "maximum": 2, "exclusiveMaximum": true }), json!({ "exclusiveMaximum": 2 })),
        (json!({ "exclusiveMaximum": true }), json!({})),
        (json!({ "maximum": 2, "exclusiveMaximum": false }), json!({ "maximum": 2 })),
        (json!({ "maximum": 2, "exclusiveMaximum": 1 }), json!({ "maximum": 2, "exclusiveMaximum": 1 })),
        (json!({ "example": 1 }), json!({ "examples": [1] })),
        (json!({ "example": null }), json!({})),
        (json!({ "example": 1, "examples": [2] }), json!({ "examples": [2] })),
        (json!({ "examples": { "one": { "value": 1 } } }), json!({})),
        (json!({ "items": [{ "type": "string" }] }), json!({ "prefixItems": [{ "type": "string" }] })),
        (json!({ "items": [] }), json!({})),
        (json!({ "items": { "type": "string" } }), json!({ "items": { "type": "string" } })),
        (json!({ "type": "file" }), json!({ "type": "string", "format": "binary" })),
        (json!({ "type": "string", "x-nullable": true }), json!({ "type": ["string", "null"] })),
        (json!({ "type": "string", "nullable": "true" }), json!({ "type": "string" })),
        (json!({ "const": 1, "nullable": true }), json!({ "enum": [1, null] })),
        (json!({ "nullable": true, "minLength": 1 }), json!({ "minLength": 1 })),
        (
            json!({ "nullable": true, "title": "T", "description": "D", "default": 1, "deprecated": true, "anyOf": [{ "type": "integer" }] }),
            json!({ "title": "T", "description": "D", "default": 1, "deprecated": true,
                "anyOf": [{ "anyOf": [{ "type": "integer" }] }, { "type": "null" }] }),
        ),
    ] {
        assert_eq!(translated("3.1.0", &schema).0, kept, "{schema}");
    }
}

#[test]
fn null_below_a_keyword_costs_itself_only() {
    let text = json!({ "type": "string" });
    for (schema, kept) in [
        (json!({ "allOf": [null, text] }), json!({ "allOf": [text] })),
        (json!({ "allOf": [null] }), json!({})),
        (json!({ "prefixItems": [null, text] }), json!({ "prefixItems": [true, text] })),
        (
            json!({ "properties": { "a": null, "b": text } }),
            json!({ "properties": { "a": true, "b": text } }),
        ),
        (
            json!({ "patternProperties": { "a": null, "b": text } }),
            json!({ "patternProperties": { "b": text } }),
        ),
        (json!({ "anyOf": text }), json!({ "anyOf": [text] })),
        (json!({ "not": true }), json!({ "not": true })),
        (json!({ "properties": null, "items": null }), json!({})),
    ] {
        assert_eq!(translated("3.1.0", &schema).0, kept, "{schema}");
    }
}
