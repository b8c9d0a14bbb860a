//! The canonical form of schemas, keyword by keyword.

use serde_json::{Value, json};
use tool_schema::{
    __private::{Closing, canonical_output},
    InputSchema,
};

/// Checks the canonical forms of schemas of results, including the order of their keywords.
fn check<const N: usize>(table: [(Value, Value); N]) {
    for (schema, expected) in table {
        assert_eq!(canonical_output(schema.clone()).to_string(), expected.to_string(), "{schema}");
    }
}

#[test]
fn a_choice_of_constants_is_an_enum_with_the_docs_in_its_description() {
    let named = |name: &str, description: &str| json!({ "const": name, "type": "string", "description": description });
    check([
        (
            json!({ "oneOf": [named("a", "First."), { "enum": ["b", "c"], "type": "string" }], "title": "T" }),
            json!({ "type": "string", "title": "T", "description": "- `a`: First.", "enum": ["a", "b", "c"] }),
        ),
        (
            json!({ "oneOf": [named("a", "One\n  two."), named("b", "Three.")], "description": "All." }),
            json!({ "type": "string", "description": "All.\n- `a`: One two.\n- `b`: Three.", "enum": ["a", "b"] }),
        ),
        (
            json!({ "oneOf": [{ "const": "a" }, { "enum": ["b"], "description": "One of a list.", "title": "B" }] }),
            json!({ "type": "string", "description": "- `b`: One of a list.", "enum": ["a", "b"] }),
        ),
        // Docs of several names belong to none of them; an empty list has none.
        (
            json!({ "oneOf": [{ "enum": ["a", "b"], "description": "Both." }, { "enum": [] }] }),
            json!({ "type": "string", "enum": ["a", "b"] }),
        ),
        // Other branches.
        (
            json!({ "oneOf": [{ "const": "a" }, { "const": 1 }] }),
            json!({ "oneOf": [{ "const": "a" }, { "const": 1 }] }),
        ),
        (
            json!({ "oneOf": [{ "const": "a" }, { "const": "b", "default": "b" }] }),
            json!({ "oneOf": [{ "const": "a" }, { "const": "b", "default": "b" }] }),
        ),
        (
            json!({ "oneOf": [{ "const": "a", "enum": ["a"] }, { "const": "b" }] }),
            json!({ "oneOf": [{ "const": "a", "enum": ["a"] }, { "const": "b" }] }),
        ),
        (
            json!({ "oneOf": [{ "type": "string" }, { "const": "b" }] }),
            json!({ "oneOf": [{ "type": "string" }, { "const": "b" }] }),
        ),
        (json!({ "oneOf": [true, { "const": "b" }] }), json!({ "oneOf": [true, { "const": "b" }] })),
        (json!({ "anyOf": [{ "const": "a" }] }), json!({ "anyOf": [{ "const": "a" }] })),
    ]);
}

#[test]
fn a_root_that_refers_to_a_definition_is_that_definition() {
    let text = json!({ "type": "string" });
    check([
        (json!({ "$ref": "#/$defs/a", "$defs": { "a": text } }), text.clone()),
        // The keywords of the root precede those of the definition.
        (
            json!({ "$ref": "#/$defs/a", "title": "Root", "$defs": { "a": { "type": "string", "title": "A" } } }),
            json!({ "type": "string", "title": "Root" }),
        ),
        // Names are escaped twice.
        (json!({ "$ref": "#/$defs/a~1%25b", "$defs": { "a/%b": text } }), text.clone()),
        (json!({ "$ref": "#/$defs/a", "$defs": { "b": text } }), json!({ "$ref": "#/$defs/a" })),
        (json!({ "$ref": "x" }), json!({ "$ref": "x" })),
        (
            json!({ "$ref": "#/$defs/a", "$defs": { "a": true } }),
            json!({ "$ref": "#/$defs/a", "$defs": { "a": true } }),
        ),
    ]);
}

#[test]
fn only_definitions_that_are_referred_to_stay() {
    let text = json!({ "type": "string" });
    check([
        (json!({ "type": "object", "$defs": { "a": text } }), json!({ "type": "object" })),
        (
            json!({ "items": { "$ref": "#/$defs/b" }, "$defs": { "a": text, "b": text } }),
            json!({ "items": { "$ref": "#/$defs/b" }, "$defs": { "b": text } }),
        ),
        // One after the other.
        (
            json!({ "$defs": { "a": { "$ref": "#/$defs/b" }, "b": { "$ref": "#/$defs/c" }, "c": text } }),
            json!({}),
        ),
        (
            json!({
                "items": { "$ref": "#/$defs/a" },
                "$defs": { "d": text, "a": { "items": { "$ref": "#/$defs/b/items" } }, "b": { "items": text } },
            }),
            json!({
                "items": { "$ref": "#/$defs/a" },
                "$defs": { "a": { "items": { "$ref": "#/$defs/b/items" } }, "b": { "items": text } },
            }),
        ),
        (
            json!({ "items": { "$ref": "#/$defs/a~1b~0c" }, "$defs": { "a/b~c": text, "a": text } }),
            json!({ "items": { "$ref": "#/$defs/a~1b~0c" }, "$defs": { "a/b~c": text } }),
        ),
        // A definition of itself.
        (
            json!({ "$defs": { "a": { "items": { "$ref": "#/$defs/a" } } } }),
            json!({ "$defs": { "a": { "items": { "$ref": "#/$defs/a" } } } }),
        ),
        // No reference to a definition.
        (
            json!({ "items": { "$ref": "#/a/$defs/b" }, "$defs": { "b": text } }),
            json!({ "items": { "$ref": "#/a/$defs/b" } }),
        ),
        (
            json!({ "default": { "$ref": "#/$defs/a" }, "$defs": { "a": text } }),
            json!({ "default": { "$ref": "#/$defs/a" } }),
        ),
    ]);
}

#[test]
fn internal_keywords_are_removed_where_they_are_keywords() {
    for keyword in ["x-tool-aliases", "x-tool-ignores", "x-tool-fills", "x-tool-single"] {
        let marked = json!({ "type": "string", keyword: true });
        let plain = json!({ "type": "string" });
        check([
            (marked.clone(), plain.clone()),
            (json!({ "items": marked }), json!({ "items": plain })),
            (json!({ "anyOf": [plain, marked] }), json!({ "anyOf": [plain, plain] })),
            (
                json!({ "properties": { keyword: marked }, "default": { keyword: true } }),
                json!({ "properties": { keyword: plain }, "default": { keyword: true } }),
            ),
        ]);
        let own = InputSchema::own(json!({ "type": "object", "properties": { "a": marked } })).unwrap();
        assert_eq!(*own.as_value(), json!({ "type": "object", "properties": { "a": plain } }));
        let kept = own.with_internal_keywords().map(|schema| schema["properties"]["a"].clone());
        assert_eq!(kept, Some(marked), "{keyword}");
        // A default is no keyword.
        let own = InputSchema::own(json!({ "type": "object", "default": { keyword: true } })).unwrap();
        assert_eq!(own.as_value()["default"], json!({ keyword: true }));
        assert_eq!(own.with_internal_keywords(), None, "{keyword}");
    }
}

#[test]
fn keywords_have_one_order_and_unknown_ones_follow_by_their_names() {
    let schema = json!({
        "x-b": 1, "$defs": { "a": true }, "deprecated": true, "examples": [], "default": {}, "not": false,
        "allOf": [{ "$ref": "#/$defs/a" }], "x-a": 1, "maxProperties": 3, "minProperties": 1, "additionalProperties": true,
        "required": [], "properties": { "b": true, "a": true }, "description": "D", "title": "T", "type": "object",
    });
    let expected = json!({
        "type": "object", "title": "T", "description": "D", "properties": { "b": true, "a": true }, "required": [],
        "additionalProperties": true, "minProperties": 1, "maxProperties": 3, "allOf": [{ "$ref": "#/$defs/a" }],
        "not": false, "default": {}, "examples": [], "deprecated": true, "$defs": { "a": true }, "x-a": 1, "x-b": 1,
    });
    check([(schema, expected.clone()), (expected.clone(), expected)]);
}

#[test]
fn bounds_that_admit_no_value_are_an_error() {
    let error = |property: Value| {
        let schema = json!({ "type": "object", "properties": { "it": property } });
        InputSchema::canonical(schema, Closing::Closed, Vec::new()).err().map(|error| error.to_string())
    };
    for (kind, keys, least, most, is_empty) in [
        ("integer", ["minimum", "maximum"], json!(2), json!(1), true),
        ("integer", ["minimum", "maximum"], json!(2), json!(2), false),
        ("integer", ["minimum", "maximum"], json!(1.25), json!(1.75), true),
        ("integer", ["minimum", "maximum"], json!(1.0), json!(1.75), false),
        ("integer", ["minimum", "maximum"], json!(1.25), json!(2), false),
        ("integer", ["minimum", "maximum"], json!(1.25), json!(1), true),
        ("integer", ["minimum", "maximum"], json!(u64::MAX), json!(u64::MAX - 1), true),
        ("number", ["minimum", "maximum"], json!(1.25), json!(1.75), false),
        ("number", ["minimum", "maximum"], json!(1.75), json!(1.25), true),
        ("number", ["minimum", "maximum"], json!(1.75), json!(1.75), false),
        ("number", ["minimum", "maximum"], json!(1.5), json!(1), true),
        ("number", ["minimum", "maximum"], json!(1.5), json!(2), false),
        ("number", ["minimum", "maximum"], json!(2), json!(1.5), true),
        ("number", ["minimum", "maximum"], json!(1), json!(1.5), false),
        ("number", ["minimum", "maximum"], json!(u64::MAX), json!(u64::MAX - 1), true),
        ("string", ["minLength", "maxLength"], json!(3), json!(2), true),
        ("string", ["minLength", "maxLength"], json!(3), json!(3), false),
        ("array", ["minItems", "maxItems"], json!(3), json!(2), true),
        ("array", ["minItems", "maxItems"], json!(3), json!(3), false),
    ] {
        let [least_key, most_key] = keys;
        let expected = is_empty.then(|| {
            format!("in `it`, `{least_key}` is {least} and `{most_key}` is {most}, so no value is valid; change one")
        });
        assert_eq!(error(json!({ "type": kind, least_key: least, most_key: most })), expected);
    }
    // A bound of a format, and bounds of different kinds.
    assert!(error(json!({ "type": "integer", "format": "uint8", "minimum": 256 })).is_some());
    assert_eq!(error(json!({ "minimum": 3, "maxLength": 2, "maxItems": 1 })), None);
    assert_eq!(error(json!({ "type": "integer", "minimum": "3", "maximum": 2 })), None);
}

#[test]
fn a_format_of_numbers_becomes_its_bounds() {
    for (format, least, most) in [
        ("int8", json!(-128), json!(127)),
        ("int16", json!(-32768), json!(32767)),
        ("int32", json!(i32::MIN), json!(i32::MAX)),
        ("int64", json!(i64::MIN), json!(i64::MAX)),
        ("int", json!(i64::MIN), json!(i64::MAX)),
        ("uint8", json!(0), json!(255)),
        ("uint16", json!(0), json!(65535)),
        ("uint32", json!(0), json!(u32::MAX)),
        ("uint64", json!(0), json!(u64::MAX)),
        ("uint", json!(0), json!(u64::MAX)),
    ] {
        let kind = |members: Value| {
            let mut schema = json!({ "type": "integer" });
            schema.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            schema
        };
        check([
            (kind(json!({ "format": format })), kind(json!({ "minimum": least, "maximum": most }))),
            (
                kind(json!({ "format": format, "minimum": 1, "maximum": 2 })),
                kind(json!({ "minimum": 1, "maximum": 2 })),
            ),
            (
                kind(json!({ "format": format, "minimum": -1e300, "maximum": 1e300 })),
                kind(json!({ "minimum": least, "maximum": most })),
            ),
        ]);
    }
    let single = f64::from(0.1_f32);
    check([
        (json!({ "type": "integer", "format": "uint128" }), json!({ "type": "integer", "minimum": 0 })),
        (
            json!({ "type": "integer", "format": "uint128", "minimum": 3 }),
            json!({ "type": "integer", "minimum": 3 }),
        ),
        (json!({ "type": "integer", "format": "int128" }), json!({ "type": "integer" })),
        // The digits of the shorter type.
        (
            json!({ "type": "number", "format": "float", "default": single }),
            json!({ "type": "number", "default": 0.1 }),
        ),
        (
            json!({ "type": "number", "format": "float", "default": "x" }),
            json!({ "type": "number", "default": "x" }),
        ),
        (
            json!({ "type": "number", "format": "double", "default": single }),
            json!({ "type": "number", "default": single }),
        ),
        (json!({ "type": "string", "format": "date" }), json!({ "type": "string", "format": "date" })),
    ]);
    let own = InputSchema::canonical(
        json!({ "type": "object", "properties": { "a": { "type": "number", "format": "float" }, "b": { "type": "number", "format": "double" } } }),
        Closing::Closed,
        Vec::new(),
    );
    let properties = own.unwrap().with_internal_keywords().map(|schema| schema["properties"].clone());
    assert_eq!(
        properties,
        Some(json!({ "a": { "type": "number", "x-tool-single": true }, "b": { "type": "number" } }))
    );
}
