//! The text of each kind of violation.

use serde_json::{Value, json};

use crate::foreign::Foreign;

/// The draft before 2019-09, whose lists and dependencies have other keywords.
const DRAFT_7: &str = "http://json-schema.org/draft-07/schema#";

/// An object whose property `k` tells it from others.
fn tagged(kind: Value) -> Value {
    json!({
        "type": "object", "properties": { "k": kind, "n": { "type": "integer" } }, "required": ["k", "n"],
    })
}

fn check(rows: &[(Value, Value, &[&str])]) {
    for (schema, value, expected) in rows {
        let foreign = Foreign::instead_of(&[], schema).unwrap_or_else(|error| panic!("{schema}: {error:?}"));
        let violations: Vec<_> = foreign.violations(value).iter().map(ToString::to_string).collect();
        assert_eq!(violations, *expected, "{schema} {value}");
    }
}

#[test]
fn properties_and_items_that_a_schema_does_not_permit_are_named_with_the_reason() {
    check(&[
        (
            json!({ "unevaluatedProperties": false, "properties": { "a": {} } }),
            json!({ "a": 1, "b": [2], "c/d": 3 }),
            &[
                "/b: expected a property that the schema knows, got [2]",
                "/c~1d: expected a property that the schema knows, got 3",
            ],
        ),
        (
            json!({ "additionalProperties": false, "properties": { "name": {}, "size": {} } }),
            json!({ "nane": 1, "size": 3 }),
            &[
                "/nane: expected a property that the schema knows; did you mean `name`? known: `name`, `size`, got 1",
            ],
        ),
        (
            json!({ "additionalProperties": { "type": "integer" } }),
            json!({ "a": "x", "b": 1 }),
            &[r#"/a: expected an integer, got "x""#],
        ),
        (
            json!({ "properties": { "a": false, "items": false } }),
            json!({ "a": 1, "items": 2 }),
            &["/a: expected no value at all, got 1", "/items: expected no value at all, got 2"],
        ),
        (json!({ "items": false }), json!([1]), &["/0: expected no item here, got 1"]),
        (
            json!({ "unevaluatedItems": false, "prefixItems": [{}] }),
            json!([1, 2]),
            &["the arguments: expected no item but those that the schema speaks of, got [1,2]"],
        ),
        (
            json!({ "propertyNames": false }),
            json!({ "x": 1 }),
            &[r#"the arguments: expected no property at all, got {"x":1}"#],
        ),
        (
            json!({ "propertyNames": { "maxLength": 2 } }),
            json!({ "abc": 1, "x": 2 }),
            &[r#"/abc: expected another name for this property: at most 2 characters, got "abc""#],
        ),
        (
            json!({ "propertyNames": { "additionalProperties": false }, "properties": { "propertyNames": { "maxLength": 1 } } }),
            json!({ "propertyNames": "ab" }),
            &[r#"/propertyNames: expected at most 1 character, got "ab""#],
        ),
        (
            json!({ "$schema": DRAFT_7, "items": [{}], "additionalItems": false }),
            json!([1, 2, "x"]),
            &[
                "/1: expected no item here; at most 1 item, got 2",
                r#"/2: expected no item here; at most 1 item, got "x""#,
            ],
        ),
        (
            json!({ "$schema": DRAFT_7, "items": [{}], "additionalItems": { "type": "integer" } }),
            json!([1, 2, "x"]),
            &[r#"/2: expected an integer, got "x""#],
        ),
        (json!(false), json!("b"), &[r#"the arguments: expected no value at all, got "b""#]),
    ]);
}

#[test]
fn branches_are_explained_by_their_tags_or_by_the_only_one_that_is_meant() {
    check(&[
        (
            json!({ "anyOf": [tagged(json!({ "const": "a" })), tagged(json!({ "enum": ["b", "c"] }))] }),
            json!({ "k": "z", "n": 1 }),
            &[r#"/k: expected one of "a", "b", "c", got "z""#],
        ),
        (
            json!({ "anyOf": [tagged(json!({ "const": "a" })), tagged(json!({ "enum": ["b", "c"] }))] }),
            json!({ "k": "c", "n": "x" }),
            &[
                r#"the arguments: expected any of: an object with `k` "a", `n`; an object with `k`, `n`, got {"k":"c","n":"x"}"#,
            ],
        ),
        (
            json!({ "oneOf": [tagged(json!({ "minLength": 2 })), tagged(json!({ "minLength": 3 }))] }),
            json!({ "k": "abc", "n": 1 }),
            &[
                r#"the arguments: expected a value that fits only one of: an object with `k`, `n`, got {"k":"abc","n":1}"#,
            ],
        ),
        (
            json!({ "anyOf": [{ "required": ["a"] }, { "required": ["b"], "properties": { "b": { "type": "integer" } } }] }),
            json!({ "b": "x" }),
            &[r#"/b: expected an integer, got "x""#],
        ),
        (
            json!({ "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] }),
            json!({}),
            &["the arguments: expected any of: anything, got {}"],
        ),
        (
            json!({ "anyOf": [{ "minimum": 5 }, { "multipleOf": 2 }] }),
            json!(3),
            &["the arguments: expected any of: anything, got 3"],
        ),
        (
            json!({ "not": { "type": "integer" } }),
            json!(3),
            &["the arguments: expected anything but an integer, got 3"],
        ),
        (json!({ "not": {} }), json!(3), &["the arguments: expected anything but anything, got 3"]),
        (
            json!({ "if": { "type": "integer" }, "then": { "minimum": 5 }, "else": { "minLength": 3 } }),
            json!(3),
            &["the arguments: expected at least 5, got 3"],
        ),
    ]);
}

#[test]
fn bounds_and_values_are_explained_with_their_limits() {
    check(&[
        (
            json!({ "contains": { "type": "integer" }, "maxContains": 1 }),
            json!([1, 2]),
            &["the arguments: expected at most 1 item of this kind: an integer, got [1,2]"],
        ),
        (
            json!({ "contains": { "type": "integer" }, "minContains": 2 }),
            json!([1]),
            &["the arguments: expected at least 2 items of this kind: an integer, got [1]"],
        ),
        (
            json!({ "contains": { "type": "integer" } }),
            json!(["a"]),
            &[r#"the arguments: expected at least 1 item of this kind: an integer, got ["a"]"#],
        ),
        (
            json!({ "$schema": DRAFT_7, "dependencies": { "a": ["b"] } }),
            json!({ "a": 1 }),
            &["/b: expected the property `b`, which is required beside `a`, got nothing"],
        ),
        (
            json!({ "dependentRequired": { "a": ["b"] }, "properties": { "b": { "type": "null" } } }),
            json!({ "a": 1 }),
            &["/b: expected the property `b`, which is required beside `a` (null), got nothing"],
        ),
        (
            json!({ "minProperties": 2, "maxProperties": 0 }),
            json!({ "a": 1 }),
            &[
                r#"the arguments: expected at least 2 properties, got {"a":1}"#,
                r#"the arguments: expected at most 0 properties, got {"a":1}"#,
            ],
        ),
        (
            json!({ "minItems": 2, "maxItems": 0 }),
            json!([1]),
            &[
                "the arguments: expected at least 2 items, got [1]",
                "the arguments: expected at most 0 items, got [1]",
            ],
        ),
        (
            json!({ "minLength": 2, "maxLength": 0, "pattern": "^(?=b)" }),
            json!("a"),
            &[
                r#"the arguments: expected at least 2 characters, got "a""#,
                r#"the arguments: expected at most 0 characters, got "a""#,
                r#"the arguments: expected a string that matches the pattern `^(?=b)`, got "a""#,
            ],
        ),
        (
            json!({ "uniqueItems": true }),
            json!([1, 2, 1]),
            &["the arguments: expected items that all differ, got [1,2,1]"],
        ),
        (
            json!({ "minimum": 5, "exclusiveMinimum": 5, "multipleOf": 2 }),
            json!(3),
            &[
                "the arguments: expected at least 5, got 3",
                "the arguments: expected more than 5, got 3",
                "the arguments: expected a multiple of 2, got 3",
            ],
        ),
        (
            json!({ "maximum": 1, "exclusiveMaximum": 1.5 }),
            json!(3),
            &["the arguments: expected at most 1, got 3", "the arguments: expected less than 1.5, got 3"],
        ),
        (json!({ "const": { "a": 1 } }), json!(3), &[r#"the arguments: expected {"a":1}, got 3"#]),
        (json!({ "enum": [1, "a"] }), json!("b"), &[r#"the arguments: expected one of 1, "a", got "b""#]),
        (
            json!({ "type": ["integer", "null"] }),
            json!("b"),
            &[r#"the arguments: expected an integer or null, got "b""#],
        ),
    ]);
}

#[test]
fn a_schema_that_cannot_be_used_is_explained_by_its_mistake() {
    for (schema, mistake) in [
        (json!({ "pattern": "(" }), "at /pattern: the pattern `(` cannot be used"),
        (
            json!({ "patternProperties": { "(": {} } }),
            "at /patternProperties/(: the pattern `(` cannot be used",
        ),
        (json!({ "$ref": "http://x/y" }), r#"`$ref` to "http://x/y" leaves the schema; nothing is fetched"#),
        (json!({ "$ref": "#/a" }), r##"`$ref` to "#/a" leads nowhere"##),
        (
            json!({ "type": 5 }),
            r#"at /type: expected any of: one of "array", "boolean", "integer", "null", "number", "object", "string"; an array, got 5"#,
        ),
    ] {
        assert_eq!(Foreign::instead_of(&[], &schema).err(), Some(vec![mistake.to_owned()]), "{schema}");
    }
}

#[test]
fn at_most_twenty_branches_are_listed() {
    for count in [20, 21] {
        let branches: Vec<_> = (0..count).map(|at| json!({ "const": at })).collect();
        let listed = (0..20).map(|at| at.to_string()).collect::<Vec<_>>().join("; ");
        let rest = if count > 20 { format!("; … ({count} in all)") } else { String::new() };
        let expected = format!("the arguments: expected any of: {listed}{rest}, got \"x\"");
        check(&[(json!({ "anyOf": branches }), json!("x"), &[&expected])]);
    }
}

#[test]
fn violations_within_objects_and_lists_come_in_the_order_of_the_document() {
    let integer = || json!({ "type": "integer" });
    let of = |name: &str| json!({ "properties": { name: integer() } });
    let first = "/o/z: expected an integer, got \"x\"";
    check(&[
        (
            json!({ "properties": { "o": { "allOf": [of("a"), of("z")] } } }),
            json!({ "o": { "z": "x", "a": "y" } }),
            &[first, "/o/a: expected an integer, got \"y\""],
        ),
        (
            json!({ "allOf": [{ "prefixItems": [{}, integer()] }, { "prefixItems": [integer()] }] }),
            json!(["x", "y"]),
            &["/0: expected an integer, got \"x\"", "/1: expected an integer, got \"y\""],
        ),
        (
            json!({ "allOf": [{ "items": of("a") }, { "items": of("z") }] }),
            json!([{ "z": "x", "a": "y" }]),
            &["/0/z: expected an integer, got \"x\"", "/0/a: expected an integer, got \"y\""],
        ),
    ]);
}

#[test]
fn a_value_that_is_nested_too_deeply_is_refused_and_a_mistake_of_the_plan_stays() {
    let nested = |levels: usize| (1..levels).fold(json!([]), |inner, _| json!([inner]));
    let foreign = Foreign::instead_of(&[], &json!({ "pattern": "^(?!x)" })).unwrap();
    assert!(foreign.violations(&nested(128)).is_empty());
    assert_eq!(
        foreign.violations(&nested(129))[0].to_string(),
        "the arguments: expected a value that is nested at most 128 levels deep, got a value that is nested more deeply"
    );
    let mistakes = crate::Plan::compile(&json!({ "minLength": "x" })).unwrap_err();
    let expected = mistakes.iter().map(ToString::to_string).collect();
    assert_eq!(Foreign::instead_of(&mistakes, &json!({})).err(), Some(expected));
}
