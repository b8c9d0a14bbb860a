//! The canonical form, step by step.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::{Map, Value, json};

use super::{
    ALIASES, Closing, FILLS, IGNORES, canonical_output, canonicalize_schema, close_object,
    combines_object_parts, is_scalar, make_optional_properties_non_null, remove_null,
    set_root_type_to_object,
};

/// Returns `schema` after `change`, and the result of `change`.
fn changed<T>(schema: &Value, change: impl FnOnce(&mut Map<String, Value>) -> T) -> (Value, T) {
    let Value::Object(mut schema) = schema.clone() else { panic!("an object") };
    let result = change(&mut schema);
    (schema.into(), result)
}

// B21
#[test]
fn null_is_removed_from_the_schema_of_an_optional_property() {
    let (text, number, nothing) =
        (json!({ "type": "string" }), json!({ "type": "integer" }), json!({ "type": "null" }));
    for (schema, expected, was_nullable) in [
        (json!({ "type": ["string", "null"] }), text.clone(), true),
        (json!({ "type": ["null", "string", "integer"] }), json!({ "type": ["string", "integer"] }), true),
        (json!({ "type": ["string", "integer"] }), json!({ "type": ["string", "integer"] }), false),
        (json!({ "type": ["null"] }), nothing.clone(), false),
        (nothing.clone(), nothing.clone(), false),
        (json!({ "enum": ["a", null] }), json!({ "enum": ["a"] }), false),
        (json!({ "enum": [null] }), json!({ "enum": [null] }), false),
        (json!({ "type": "string", "default": null }), text.clone(), true),
        (json!({ "type": "string", "default": "a" }), json!({ "type": "string", "default": "a" }), false),
        (json!({ "anyOf": [text, nothing] }), text.clone(), true),
        (json!({ "oneOf": [nothing, text] }), text.clone(), true),
        (json!({ "anyOf": [text, number, nothing] }), json!({ "anyOf": [text, number] }), true),
        (json!({ "anyOf": [text, number] }), json!({ "anyOf": [text, number] }), false),
        (json!({ "anyOf": [true, nothing] }), json!({ "anyOf": [true] }), true),
        (
            json!({ "anyOf": [text, { "type": "null", "title": "T" }] }),
            json!({ "anyOf": [text, { "type": "null", "title": "T" }] }),
            false,
        ),
        // The keywords of the property precede those of its type.
        (
            json!({ "anyOf": [{ "type": "string", "title": "Type", "minLength": 1 }, nothing], "title": "Property" }),
            json!({ "title": "Property", "type": "string", "minLength": 1 }),
            true,
        ),
    ] {
        assert_eq!(changed(&schema, remove_null), (expected, was_nullable), "{schema}");
    }
}

// B21
#[test]
fn only_optional_properties_lose_null_and_defaults_that_are_unknown() {
    let nullable = || json!({ "type": ["string", "null"], FILLS: false });
    let schema = json!({
        "properties": {
            "required": nullable(),
            "optional": nullable(),
            "defaulted": { "type": "string", "default": "a", FILLS: false },
            "filled": { "type": ["string", "null"], FILLS: true },
            "plain": { "type": "string", FILLS: false },
            "any": true,
        },
        "required": ["required"],
    });
    let expected = json!({
        "properties": {
            "required": nullable(),
            "optional": { "type": "string" },
            "defaulted": { "type": "string", "default": "a" },
            "filled": { "type": "string", FILLS: true },
            "plain": { "type": "string", FILLS: false },
            "any": true,
        },
        "required": ["required"],
    });
    assert_eq!(changed(&schema, make_optional_properties_non_null).0, expected);
    let none = json!({ "type": "object" });
    assert_eq!(changed(&none, make_optional_properties_non_null).0, none);
}

// B20
#[test]
fn an_object_that_describes_all_its_properties_is_closed() {
    let close = |schema: &Value, closing: Closing| changed(schema, |it| close_object(it, closing)).0;
    let with = |schema: &Value, key: &str, value: bool| {
        changed(schema, |it| it.insert(key.to_owned(), value.into())).0
    };
    let (bare, named) = (json!({ "type": "object" }), json!({ "properties": { "a": true } }));
    for schema in [&bare, &named] {
        assert_eq!(close(schema, Closing::Closed), with(schema, "additionalProperties", false));
    }
    assert_eq!(close(&bare, Closing::Open), bare);
    assert_eq!(close(&named, Closing::Open), with(&named, IGNORES, true));
    let patterns = json!({ "properties": { "a": true }, "patternProperties": { "^x": true } });
    assert_eq!(close(&patterns, Closing::Open), patterns);
    for schema in [
        json!({ "type": "string" }),
        json!({ "type": "object", "additionalProperties": true }),
        json!({ "type": "object", "oneOf": [] }),
        json!({ "type": "object", "anyOf": [] }),
        json!({ "type": "object", "allOf": [] }),
        json!({ "type": "object", "$ref": "#" }),
        json!({ "properties": {}, "anyOf": [] }),
        json!({}),
    ] {
        for closing in [Closing::Closed, Closing::Open] {
            assert_eq!(close(&schema, closing), schema, "{closing:?}");
        }
    }
}

// B18
#[test]
fn a_choice_alone_says_all_of_its_object() {
    for (schema, says_more) in [
        (json!({}), false),
        (json!({ "type": "object", "oneOf": [] }), false),
        (json!({ "anyOf": [] }), false),
        (json!({ "$ref": "#" }), false),
        (json!({ "allOf": [true] }), false),
        (json!({ "properties": {} }), false),
        (json!({ "allOf": [true, true] }), true),
        (json!({ "oneOf": [], "anyOf": [] }), true),
        (json!({ "$ref": "#", "allOf": [true] }), true),
        (json!({ "oneOf": [], "properties": {} }), true),
        (json!({ "anyOf": [], "patternProperties": {} }), true),
        (json!({ "$ref": "#", "additionalProperties": true }), true),
    ] {
        assert_eq!(combines_object_parts(schema.as_object().unwrap()), says_more, "{schema}");
    }
}

// B18
#[test]
fn the_root_has_the_type_of_its_branches_and_properties() {
    let (object, text) = (json!({ "type": "object" }), json!({ "type": "string" }));
    for (schema, expected) in [
        (json!({}), json!({})),
        (object.clone(), json!({ "type": "object", "properties": {} })),
        (
            json!({ "type": "object", "properties": { "a": true } }),
            json!({ "type": "object", "properties": { "a": true } }),
        ),
        (text.clone(), text.clone()),
        (json!({ "oneOf": [object, object] }), json!({ "type": "object", "oneOf": [object, object] })),
        (json!({ "anyOf": [object] }), json!({ "type": "object", "anyOf": [object] })),
        (json!({ "anyOf": [object, text] }), json!({ "type": "one of several", "anyOf": [object, text] })),
        (json!({ "anyOf": [true] }), json!({ "type": "one of several", "anyOf": [true] })),
        (json!({ "type": "object", "anyOf": [text] }), json!({ "type": "object", "anyOf": [text] })),
        (json!({ "type": "object", "allOf": [true] }), json!({ "type": "object", "allOf": [true] })),
        (json!({ "type": "object", "$ref": "#" }), json!({ "type": "object", "$ref": "#" })),
    ] {
        assert_eq!(changed(&schema, set_root_type_to_object).0, expected, "{schema}");
    }
}

#[test]
fn a_scalar_has_only_keywords_of_scalars() {
    for (schema, is_it) in [
        (json!({ "type": "string", "minLength": 1, "pattern": "a", "enum": ["a"], "default": "a" }), true),
        (json!({ "type": ["string", "null"], "title": "T", "description": "D", "deprecated": true }), true),
        (json!({}), true),
        (json!({ "type": "object" }), false),
        (json!({ "type": "array", "items": true }), false),
        (json!({ "anyOf": [] }), false),
        (json!({ "type": "string", "$schema": "x" }), false),
    ] {
        assert_eq!(is_scalar(schema.as_object().unwrap()), is_it, "{schema}");
    }
}

#[test]
fn the_schema_of_a_result_is_in_order_and_keeps_null_and_open_objects() {
    let part = json!({ "properties": { "x": true }, "type": "object" });
    let schema = json!({
        "title": "T",
        "type": "object",
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "properties": {
            "none": { "maximum": 1, "title": "N", "minimum": 2, "type": "integer" },
            "nullable": { "default": null, "type": ["string", "null"], ALIASES: ["n"] },
            "byte": { "format": "uint8", "type": "integer" },
            "part": part,
        },
        "$defs": { "unused": true },
        "x-b": 1,
        "x-a": 2,
    });
    let expected = json!({
        "type": "object",
        "title": "T",
        "properties": {
            "none": { "type": "integer", "title": "N", "minimum": 2, "maximum": 1 },
            "nullable": { "type": ["string", "null"], "default": null },
            "byte": { "type": "integer", "minimum": 0, "maximum": 255 },
            "part": { "type": "object", "properties": { "x": true } },
        },
        "x-a": 2,
        "x-b": 1,
    });
    assert_eq!(canonical_output(schema.clone()).to_string(), expected.to_string());
    let mut arguments = schema.clone();
    let error = canonicalize_schema(&mut arguments, Closing::Closed).unwrap_err();
    assert_eq!(
        error.to_string(),
        "in `none`, `minimum` is 2 and `maximum` is 1, so no value is valid; change one"
    );
    let mut arguments = schema;
    arguments["properties"].as_object_mut().unwrap().shift_remove("none");
    let with_closing = |closing: Closing| {
        let mut schema = arguments.clone();
        canonicalize_schema(&mut schema, closing).unwrap();
        schema.to_string()
    };
    let closed = json!({
        "type": "object",
        "title": "T",
        "properties": {
            "nullable": { "type": "string", ALIASES: ["n"] },
            "byte": { "type": "integer", "minimum": 0, "maximum": 255 },
            "part": { "type": "object", "properties": { "x": true }, "additionalProperties": false },
        },
        "additionalProperties": false,
        "x-a": 2,
        "x-b": 1,
    });
    assert_eq!(with_closing(Closing::Closed), closed.to_string());
    let open = json!({
        "type": "object",
        "title": "T",
        "properties": {
            "nullable": { "type": "string", ALIASES: ["n"] },
            "byte": { "type": "integer", "minimum": 0, "maximum": 255 },
            "part": { "type": "object", "properties": { "x": true }, IGNORES: true },
        },
        "x-a": 2,
        "x-b": 1,
        IGNORES: true,
    });
    assert_eq!(with_closing(Closing::Open), open.to_string());
}

#[test]
fn a_bound_that_is_no_number_is_left_to_the_compiler() {
    let schema = json!({ "type": "object", "properties": {
        "n": { "type": "integer", "format": "uint8", "minimum": "x", "maximum": 300 },
    } });
    let expected = json!({ "type": "object", "properties": {
        "n": { "type": "integer", "minimum": "x", "maximum": 255 },
    } });
    assert_eq!(canonical_output(schema), expected);
}

// B21
#[test]
fn parts_of_a_result_that_cannot_be_merged_stay_separate_and_are_canonical() {
    let unit =
        |names: [&str; 2]| json!({ "oneOf": names.map(|name| json!({ "type": "string", "const": name })) });
    let one = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
    let mut schema = json!({
        "type": "object",
        "properties": { "a": { "type": "integer", "format": "uint8", "minimum": 0 }, "k": unit(["x", "y"]) },
        "anyOf": [
            one,
            { "type": "object", "properties": { "b": unit(["z", "w"]) }, "required": ["b", "b"] },
        ],
    });
    assert_eq!(
        canonical_output(schema.clone()),
        json!({
            "type": "object",
            "properties": {
                "a": { "type": "integer", "minimum": 0, "maximum": 255 },
                "k": { "type": "string", "enum": ["x", "y"] },
            },
            "anyOf": [
                one,
                {
                    "type": "object",
                    "properties": { "b": { "type": "string", "enum": ["z", "w"] } },
                    "required": ["b"],
                },
            ],
        })
    );
    // Arguments have no such parts.
    let error = canonicalize_schema(&mut schema, Closing::Closed).unwrap_err().to_string();
    let expected = "two parts of this object describe the property `a` in different ways; rename one of them";
    assert_eq!(error, expected);
}
