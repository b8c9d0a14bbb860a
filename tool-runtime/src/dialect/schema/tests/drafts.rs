//! Schemas of earlier drafts.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::dialect::schema::drafts::convert_draft;

const FOUR: &str = "http://json-schema.org/draft-04/schema#";
const SIX: &str = "http://json-schema.org/draft-06/schema#";
const SEVEN: &str = "http://json-schema.org/draft-07/schema#";
const NINE: &str = "https://json-schema.org/draft/2019-09/schema";
const NOW: &str = "https://json-schema.org/draft/2020-12/schema";

/// Returns the conversion of `schema` with this `$schema`.
fn converted(draft: &str, mut schema: Value) -> Value {
    schema["$schema"] = draft.into();
    convert_draft(&schema).into_owned()
}

// A22
#[test]
fn a_schema_of_the_current_draft_stays_unless_its_definitions_move() {
    for schema in [
        json!({ "type": "string" }),
        json!({ "$schema": NOW, "items": [true], "additionalItems": false, "dependencies": { "a": ["b"] } }),
        json!({ "$schema": "https://example.com/other", "id": "x" }),
        json!({ "$defs": { "a": true }, "definitions": { "a": false }, "$ref": "#/definitions/a" }),
        json!(true),
    ] {
        assert!(matches!(convert_draft(&schema), Cow::Borrowed(_)), "{schema}");
    }
    let moved = convert_draft(&json!({
        "$schema": NOW,
        "definitions": { "a": { "$ref": "#/definitions/b", "maxLength": 1 } },
        "properties": { "p": { "$ref": "#/definitions/a" }, "q": { "$ref": "#/properties/p" } },
        "items": [true], "additionalItems": false, "dependencies": { "a": ["b"] },
        "id": "x", "minimum": 1, "exclusiveMinimum": true,
    }))
    .into_owned();
    let expected = json!({
        "$schema": NOW,
        "$defs": { "a": { "$ref": "#/$defs/b", "maxLength": 1 } },
        "properties": { "p": { "$ref": "#/$defs/a" }, "q": { "$ref": "#/properties/p" } },
        "items": [true], "additionalItems": false, "dependencies": { "a": ["b"] },
        "id": "x", "minimum": 1, "exclusiveMinimum": true,
    });
    assert_eq!(moved.to_string(), expected.to_string());
}

// A22
#[test]
fn keywords_beside_a_reference_count_since_2019_09() {
    let property = json!({
        "$ref": "#/$defs/a", "title": "T", "description": "D", "default": 1, "maxLength": 1, "type": "string",
    });
    let kept = json!({ "$ref": "#/$defs/a", "title": "T", "description": "D", "default": 1 });
    for (draft, expected) in [(FOUR, &kept), (SIX, &kept), (SEVEN, &kept), (NINE, &property)] {
        let schema = json!({ "properties": { "p": property }, "$defs": { "a": true } });
        assert_eq!(converted(draft, schema)["properties"]["p"], *expected, "{draft}");
        let root = json!({ "$ref": "#/$defs/a", "$defs": { "a": true }, "maxLength": 1 });
        assert_eq!(converted(draft, root).get("maxLength").is_some(), draft == NINE, "{draft}");
    }
}

// A22
#[test]
fn tuples_of_all_earlier_drafts_are_converted() {
    for draft in [FOUR, SIX, SEVEN, NINE] {
        for (schema, expected) in [
            (json!({ "items": [true] }), json!({ "prefixItems": [true] })),
            (
                json!({ "items": [true], "additionalItems": false }),
                json!({ "prefixItems": [true], "items": false }),
            ),
            (json!({ "items": true, "additionalItems": false }), json!({ "items": true })),
            (json!({ "items": {}, "additionalItems": false }), json!({ "items": {} })),
            (json!({ "additionalItems": false }), json!({})),
            (json!({ "minItems": 1 }), json!({ "minItems": 1 })),
        ] {
            assert_eq!(converted(draft, schema), expected, "{draft}");
        }
    }
}

// A22
#[test]
fn dependencies_are_split_before_2019_09() {
    let schema = json!({ "dependencies": { "a": ["b"], "c": { "type": "object" }, "d": true } });
    let split = json!({ "dependentRequired": { "a": ["b"] }, "dependentSchemas": { "c": { "type": "object" }, "d": true } });
    for draft in [FOUR, SIX, SEVEN] {
        assert_eq!(converted(draft, schema.clone()), split, "{draft}");
        let required = json!({ "dependencies": { "a": ["b"] } });
        assert_eq!(converted(draft, required), json!({ "dependentRequired": { "a": ["b"] } }));
        let schemas = json!({ "dependencies": { "a": { "type": "object" } } });
        assert_eq!(converted(draft, schemas), json!({ "dependentSchemas": { "a": { "type": "object" } } }));
        assert_eq!(converted(draft, json!({ "dependencies": {} })), json!({}));
    }
    assert_eq!(converted(NINE, schema.clone()), schema);
}

// A22
#[test]
fn bounds_and_ids_of_draft_4_are_converted() {
    for (schema, expected) in [
        (json!({ "id": "a", "minimum": 1 }), json!({ "minimum": 1 })),
        (json!({ "minimum": 1, "exclusiveMinimum": true }), json!({ "exclusiveMinimum": 1 })),
        (json!({ "maximum": 1, "exclusiveMaximum": true }), json!({ "exclusiveMaximum": 1 })),
        (json!({ "minimum": 1, "exclusiveMinimum": false }), json!({ "minimum": 1 })),
        (json!({ "maximum": 1, "exclusiveMaximum": false }), json!({ "maximum": 1 })),
        (json!({ "minimum": 1, "exclusiveMinimum": 0 }), json!({ "minimum": 1, "exclusiveMinimum": 0 })),
        (json!({ "exclusiveMaximum": true }), json!({})),
    ] {
        assert_eq!(converted(FOUR, schema.clone()), expected);
        assert_eq!(converted(SIX, schema.clone()), schema);
    }
    // The order of the keywords stays.
    let ordered =
        converted(FOUR, json!({ "type": "number", "maximum": 1, "exclusiveMaximum": true, "title": "T" }));
    assert_eq!(ordered.to_string(), r#"{"type":"number","exclusiveMaximum":1,"title":"T"}"#);
}

// A22
#[test]
fn schemas_at_every_place_are_converted_and_values_are_not() {
    let (old, new) = (json!({ "id": "a", "type": "string" }), json!({ "type": "string" }));
    for key in ["properties", "patternProperties", "$defs", "dependentSchemas"] {
        assert_eq!(converted(FOUR, json!({ key: { "x": old } })), json!({ key: { "x": new } }), "{key}");
    }
    let definitions = json!({ "definitions": { "x": old, "y": { "definitions": { "z": old } } } });
    let moved = json!({ "$defs": { "x": new, "y": { "definitions": { "z": new } } } });
    assert_eq!(converted(FOUR, definitions), moved);
    for key in ["anyOf", "oneOf", "allOf", "prefixItems"] {
        assert_eq!(converted(FOUR, json!({ key: [true, old] })), json!({ key: [true, new] }), "{key}");
    }
    for key in ["items", "additionalProperties", "not", "if", "then", "else", "contains", "propertyNames"] {
        assert_eq!(converted(FOUR, json!({ key: old })), json!({ key: new }), "{key}");
    }
    for key in ["const", "default", "enum", "examples"] {
        let value = if key == "const" || key == "default" { old.clone() } else { json!([old]) };
        assert_eq!(converted(FOUR, json!({ key: value })), json!({ key: value }), "{key}");
    }
}
