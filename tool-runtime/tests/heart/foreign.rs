//! Foreign schemas, with the feature `foreign-schemas`.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tool_runtime::{
    ErrorKind, Tool, ToolDefinition, ToolName,
    definition::{Metadata, Prepared},
    prelude::*,
    registry::BuildDiagnostic,
    schema::{Arguments, InputSchema, OutputSchema},
};

use crate::{
    call, feedback, run, text,
    uncovered::{mistakes, taking},
};

const FOUR: &str = "http://json-schema.org/draft-04/schema#";
const SIX: &str = "http://json-schema.org/draft-06/schema#";
const SEVEN: &str = "http://json-schema.org/draft-07/schema#";
const NINETEEN: &str = "https://json-schema.org/draft/2019-09/schema";

/// Returns a schema that no plan covers, with this schema of the property `it`.
fn foreign(schema: Value) -> Value {
    json!({"dependencies": {}, "properties": {"it": schema}})
}

/// Returns the violations of these arguments.
fn violations_of(schema: &Value, arguments: &str) -> Vec<String> {
    match call(Registry::builder().add(taking(schema.clone())), "take", arguments) {
        Ok(_) => Vec::new(),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::InvalidArguments, "{error}");
            error.violations().iter().map(ToString::to_string).collect()
        }
    }
}

/// Checks that `schema` admits all of `good` and none of `bad`.
#[track_caller]
fn check<const G: usize, const B: usize>(schema: Value, good: [Value; G], bad: [Value; B]) {
    for value in &good {
        assert_eq!(
            violations_of(&schema, &value.to_string()),
            Vec::<String>::new(),
            "{schema} should admit {value}"
        );
    }
    for value in &bad {
        assert!(!violations_of(&schema, &value.to_string()).is_empty(), "{schema} should refuse {value}");
    }
}

/// Returns the violations of the property `it` with the schema `schema`.
#[track_caller]
fn says(schema: Value, value: Value, expected: &[&str]) {
    assert_eq!(violations_of(&foreign(schema), &json!({ "it": value }).to_string()), expected);
}

// F11
#[test]
fn a_schema_is_read_by_the_rules_of_its_own_draft() {
    let four = json!({"$schema": FOUR, "properties": {"n": {"minimum": 3, "exclusiveMinimum": true}}});
    check(four, [json!({"n": 4})], [json!({"n": 3})]);
    let six = json!({"$schema": SIX, "properties": {"n": {"exclusiveMinimum": 3, "if": false}}});
    check(six, [json!({"n": 4})], [json!({"n": 3})]);
    let seven = json!({
        "$schema": SEVEN,
        "properties": {
            "pair": {"items": [{"type": "string"}, {"type": "integer"}], "additionalItems": false},
            // Keywords beside a reference are ignored.
            "name": {"$ref": "#/definitions/name", "maxLength": 1},
        },
        "dependencies": {"pair": ["name"]},
        "definitions": {"name": {"type": "string"}}
    });
    check(
        seven,
        [json!({"pair": ["a", 1], "name": "long"}), json!({"pair": [], "name": ""})],
        [
            json!({"pair": ["a"]}),
            json!({"pair": ["a", 1, 2], "name": ""}),
            json!({"pair": [1], "name": ""}),
            json!({"name": 1}),
        ],
    );
    let nineteen = json!({
        "$schema": NINETEEN,
        "$recursiveAnchor": true,
        "properties": {"in": {"$recursiveRef": "#"}, "a": {"type": "null"}},
        "dependentRequired": {"a": ["in"]},
        "unevaluatedProperties": false
    });
    check(
        nineteen,
        [json!({"in": {"in": {}}}), json!({"a": null, "in": {}})],
        [json!({"b": 1}), json!({"in": {"in": {"b": 1}}}), json!({"a": null})],
    );
}

#[test]
fn a_schema_without_a_draft_is_read_as_2020_12() {
    let schema = json!({
        "$ref": "strings",
        "type": "object",
        "$defs": {
            "item": {"$dynamicAnchor": "item", "type": "string"},
            "strings": {
                "$id": "strings",
                "properties": {"list": {"prefixItems": [true], "items": {"$dynamicRef": "#item"}}},
                "$defs": {"item": {"$dynamicAnchor": "item"}}
            }
        }
    });
    check(schema, [json!({"list": [1, "a"]})], [json!({"list": [1, 2]}), json!({"list": [1, "a", null]})]);
}

#[test]
fn a_meta_schema_is_known_without_being_fetched() {
    let schema = json!({"properties": {"schema": {"$ref": "https://json-schema.org/draft/2020-12/schema"}}});
    check(schema, [json!({"schema": {"type": "string"}})], [json!({"schema": {"minLength": -1}})]);
}

// B20, E05
#[test]
fn violations_have_the_same_texts_as_the_built_in_check() {
    says(json!({"type": "integer"}), json!("3"), &["/it: expected an integer, got \"3\""]);
    says(
        json!({"type": ["null", "integer", "number", "string"]}),
        json!([]),
        &["/it: expected a string, a number or null, got []"],
    );
    says(json!(false), json!(1), &["/it: expected no value at all, got 1"]);
    says(json!({"enum": ["a", "b"]}), json!("c"), &["/it: expected one of \"a\", \"b\", got \"c\""]);
    says(json!({"const": 5}), json!("c"), &["/it: expected 5, got \"c\""]);
    says(json!({"minimum": 3}), json!(2), &["/it: expected at least 3, got 2"]);
    says(json!({"maximum": 3}), json!(3.5), &["/it: expected at most 3, got 3.5"]);
    says(json!({"exclusiveMinimum": 3}), json!(3), &["/it: expected more than 3, got 3"]);
    says(json!({"exclusiveMaximum": 3}), json!(3), &["/it: expected less than 3, got 3"]);
    says(json!({"multipleOf": 3}), json!(4), &["/it: expected a multiple of 3, got 4"]);
    says(json!({"multipleOf": 0.5}), json!(0.7), &["/it: expected a multiple of 0.5, got 0.7"]);
    says(json!({"minLength": 2}), json!("é"), &["/it: expected at least 2 characters, got \"é\""]);
    says(json!({"maxLength": 1}), json!("ab"), &["/it: expected at most 1 character, got \"ab\""]);
    says(
        json!({"pattern": r"^\d+$"}),
        json!("x"),
        &[r#"/it: expected a string that matches the pattern `^\d+$`, got "x""#],
    );
    says(json!({"minItems": 1}), json!([]), &["/it: expected at least 1 item, got []"]);
    says(json!({"maxItems": 1}), json!([1, 2]), &["/it: expected at most 1 item, got [1,2]"]);
    says(json!({"uniqueItems": true}), json!([1, 1]), &["/it: expected items that all differ, got [1,1]"]);
    says(json!({"minProperties": 1}), json!({}), &["/it: expected at least 1 property, got {}"]);
    says(
        json!({"maxProperties": 0}),
        json!({"a": 1}),
        &["/it: expected at most 0 properties, got {\"a\":1}"],
    );
    says(json!({"not": {"type": "string"}}), json!("a"), &["/it: expected anything but a string, got \"a\""]);
}

#[test]
fn violations_of_properties_name_the_property() {
    let schema = json!({
        "properties": {"limit": {"type": "integer"}, "kind": {"const": "x"}, "any": {}},
        "required": ["limit", "kind", "any"],
        "additionalProperties": false
    });
    says(
        schema,
        json!({"limti": 1}),
        &[
            "/it/limti: expected a property that the schema knows; did you mean `limit`? known: `limit`, `kind`, `any`, got 1",
            "/it/limit: expected the property `limit`, which is required (integer), got nothing",
            "/it/kind: expected the property `kind`, which is required (\"x\"), got nothing",
            "/it/any: expected the property `any`, which is required, got nothing",
        ],
    );
    says(
        json!({"additionalProperties": false}),
        json!({"a/b": 1, "c": 2}),
        &["/it/a~1b: expected no such property, got 1", "/it/c: expected no such property, got 2"],
    );
    says(
        json!({"properties": {"items": false}}),
        json!({"items": 1}),
        &["/it/items: expected no value at all, got 1"],
    );
    says(
        json!({"unevaluatedProperties": false, "properties": {"a": {}}}),
        json!({"a": 1, "b": 2}),
        &["/it/b: expected a property that the schema knows, got 2"],
    );
    says(
        json!({"dependencies": {"a": ["b"]}, "properties": {"b": {"type": "array"}}}),
        json!({"a": 1}),
        &["/it/b: expected the property `b`, which is required beside `a` (array), got nothing"],
    );
    says(
        json!({"propertyNames": {"maxLength": 2}}),
        json!({"bcd": 1}),
        &["/it/bcd: expected another name for this property: at most 2 characters, got \"bcd\""],
    );
}

#[test]
fn violations_of_items_name_the_item_or_the_missing_value() {
    says(
        json!({"contains": {"type": "integer"}}),
        json!(["a"]),
        &["/it: expected at least 1 item of this kind: an integer, got [\"a\"]"],
    );
    says(
        json!({"contains": {"enum": [1, 2]}, "minContains": 2, "maxContains": 3}),
        json!([1]),
        &["/it: expected at least 2 items of this kind: one of 1, 2, got [1]"],
    );
    says(
        json!({"contains": {"const": 1}, "maxContains": 1}),
        json!([1, 1]),
        &["/it: expected at most 1 item of this kind: 1, got [1,1]"],
    );
    says(
        json!({"prefixItems": [true], "unevaluatedItems": false}),
        json!([1, 2]),
        &["/it: expected no item but those that the schema speaks of, got [1,2]"],
    );
    says(
        json!({"prefixItems": [true], "items": false}),
        json!([1, 2]),
        &["/it/1: expected no item here, got 2"],
    );
    let tuple = json!({"$schema": SEVEN, "properties": {"it": {"items": [{}], "additionalItems": false}}});
    assert_eq!(
        violations_of(&tuple, r#"{"it":[1,2,"x"]}"#),
        [
            "/it/1: expected no item here; at most 1 item, got 2",
            "/it/2: expected no item here; at most 1 item, got \"x\""
        ]
    );
}

#[test]
fn the_closest_branch_is_explained() {
    let shape = |kind: &str, size: &str| {
        json!({
            "type": "object",
            "properties": {"kind": {"const": kind}, (size): {"type": "integer"}},
            "required": ["kind", size]
        })
    };
    for key in ["anyOf", "oneOf"] {
        let schema = json!({key: [{"type": "string"}, shape("circle", "radius"), shape("square", "side")]});
        says(
            schema.clone(),
            json!(5),
            &[
                "/it: expected any of: a string; an object with `kind` \"circle\", `radius`; an object with `kind` \"square\", `side`, got 5",
            ],
        );
        says(
            schema.clone(),
            json!({"kind": "cube", "side": 1}),
            &["/it/kind: expected one of \"circle\", \"square\", got \"cube\""],
        );
        let only = json!({key: [{"type": "string"}, shape("circle", "radius")]});
        says(only, json!({"kind": "circle", "radius": "x"}), &["/it/radius: expected an integer, got \"x\""]);
        let unlike =
            json!({key: [{"required": ["a"], "properties": {"a": {"type": "null"}}}, {"required": ["b"]}]});
        says(unlike, json!({"a": 1}), &["/it/a: expected null, got 1"]);
    }
    says(
        json!({"oneOf": [{"type": "integer"}, {"$ref": "#/properties/it/$defs/n"}], "$defs": {"n": {"type": "number"}}}),
        json!(3),
        &["/it: expected a value that fits only one of: an integer; a number, got 3"],
    );
}

#[test]
fn all_violations_are_reported_in_the_order_of_the_document() {
    let schema = json!({
        "$schema": SEVEN,
        "properties": {"a": {"type": "string"}, "b": {"items": [{"type": "null"}], "minItems": 3}, "z": {}},
        "required": ["z"],
        "dependencies": {"b": {"properties": {"a": {"type": "string"}}}},
        "additionalProperties": false
    });
    assert_eq!(
        violations_of(&schema, r#"{"c":1,"b":[1,2],"a":5}"#),
        [
            "/c: expected a property that the schema knows; known: `a`, `b`, `z`, got 1",
            "/b: expected at least 3 items, got [1,2]",
            "/b/0: expected null, got 1",
            "/a: expected a string, got 5",
            "/z: expected the property `z`, which is required, got nothing",
        ]
    );
}

#[test]
fn a_long_value_is_truncated() {
    let said =
        violations_of(&foreign(json!({"type": "integer"})), &json!({"it": "é".repeat(100_000)}).to_string());
    assert_eq!(said, [format!("/it: expected an integer, got \"{}…\" (100000 characters)", "é".repeat(80))]);
}

// B21
#[test]
fn a_pattern_may_use_look_around() {
    let schema = json!({"properties": {"password": {"pattern": r"^(?=.*[A-Z])(?!.*\s).{8,}$"}}});
    check(
        schema.clone(),
        [json!({"password": "Passwort"})],
        [json!({"password": "passwort"}), json!({"password": "Pass wort"})],
    );
    assert_eq!(
        violations_of(&schema, r#"{"password":"x"}"#),
        [r#"/password: expected a string that matches the pattern `^(?=.*[A-Z])(?!.*\s).{8,}$`, got "x""#]
    );
    check(
        json!({"properties": {"x": {"pattern": r"^(a|b)\1$"}}}),
        [json!({"x": "aa"})],
        [json!({"x": "ab"})],
    );
    check(json!({"properties": {"x": {"pattern": r"^\p{Lu}$"}}}), [json!({"x": "Ä"})], [json!({"x": "ä"})]);
}

#[test]
fn a_pattern_with_excessive_backtracking_is_refused() {
    let started = Instant::now();
    let pattern = r"^(?=a)(a|aa)+(?<!x)$";
    let schema = json!({"properties": {"x": {"pattern": pattern}, "y": {"not": {"pattern": pattern}}}});
    let long = "a".repeat(60) + "b";
    check(schema.clone(), [json!({"x": "aaa", "y": "b"})], [json!({"y": "aaa"})]);
    let refused = format!(
        "expected a text for which the pattern `{pattern}` can be decided in a bounded number of steps, got \"{long}\""
    );
    assert_eq!(violations_of(&schema, &json!({ "x": long }).to_string()), [format!("/x: {refused}")]);
    // An undecided pattern does not count as a mismatch, which would admit the value here.
    let undecided = violations_of(&schema, &json!({ "y": long }).to_string());
    assert!(undecided.len() == 1 && undecided[0].contains("in a bounded number of steps"), "{undecided:?}");
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

#[test]
fn a_format_is_an_annotation_in_every_draft() {
    for draft in [FOUR, SIX, SEVEN, NINETEEN, "https://json-schema.org/draft/2020-12/schema"] {
        let rules = [
            json!({"format": "email"}),
            json!({"contentEncoding": "base64"}),
            json!({"contentMediaType": "application/json"}),
            json!({"contentEncoding": "base64", "contentMediaType": "application/json"}),
        ];
        for rule in rules {
            let schema = json!({"$schema": draft, "dependencies": {}, "properties": {"x": rule}});
            check(schema, [json!({"x": "%"})], []);
        }
    }
}

// F07, F12
#[test]
fn values_are_validated_without_coercion() {
    let schema = foreign(json!({"type": "integer"}));
    let tools = || Registry::builder().add(taking(schema.clone()));
    assert_eq!(violations_of(&schema, r#"{"it":null}"#), ["/it: expected an integer, got null"]);
    // An integer by the schema, passed on in its original spelling.
    let registry = tools().build().unwrap();
    assert_eq!(registry.check("take", r#"{"it" : 3.0}"#).unwrap().as_str(), r#"{"it" : 3.0}"#);
    assert_eq!(text(tools(), "take", r#"{"it":9007199254740993}"#), r#"{"it":9007199254740993}"#);
}

#[test]
fn a_duplicate_property_is_refused_at_any_depth() {
    let schema = foreign(json!({}));
    assert_eq!(
        violations_of(&schema, r#"{"it":[{"a":{"b":1,"b":1}}]}"#),
        ["/it/0/a/b: expected the property once, got it twice"]
    );
    assert_eq!(
        violations_of(&schema, r#"{"it":1,"it":1}"#),
        ["/it: expected the property once, got it twice"]
    );
}

fn nested(levels: usize, open: &str, close: &str) -> String {
    format!(r#"{{"it":{}1{}}}"#, open.repeat(levels), close.repeat(levels))
}

#[test]
fn a_value_that_is_nested_too_deeply_is_refused() {
    let schema = foreign(json!({}));
    let expected = "the arguments: expected a value that is nested at most 128 levels deep, got one that is nested more deeply";
    for levels in [128, 10_000] {
        assert_eq!(violations_of(&schema, &nested(levels, "[", "]")), [expected]);
    }
    assert_eq!(violations_of(&schema, &nested(127, "[", "]")), Vec::<String>::new());
}

#[test]
fn nested_branches_do_not_take_exponential_time() {
    let started = Instant::now();
    for key in ["anyOf", "oneOf", "allOf"] {
        for (what_is_left, expected) in [
            (None, "a value that fits the schema; it is nested too deeply to say where it does not"),
            (Some(json!(false)), "a value that is nested at most "),
        ] {
            let branch =
                |last: &str| json!({"properties": {"child": {"$ref": "#"}, "last": {"const": last}}});
            let mut schema =
                json!({"dependencies": {}, key: [branch("x"), {"allOf": [branch("y"), branch("z")]}]});
            let rule = what_is_left.map(|schema| ("unevaluatedProperties".to_owned(), schema));
            schema.as_object_mut().unwrap().extend(rule);
            let value =
                |levels| (0..levels).fold(json!({"last": "none"}), |value, _| json!({ "child": value }));
            let deep = violations_of(&schema, &value(100).to_string());
            assert!(deep.len() == 1 && deep[0].contains(expected), "{deep:?}");
            let shallow = violations_of(&schema, &value(1).to_string());
            assert!(!shallow.is_empty() && shallow.iter().all(|it| !it.contains("nested")), "{shallow:?}");
        }
    }
    assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
}

/// A test thread has a stack of 2 MiB, like the threads of `tokio`.
#[test]
fn the_deepest_walk_fits_the_stack() {
    for length in [1, 3, 10, 30] {
        for key in ["allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas"] {
            let wrap = |schema: Value| match key {
                "not" => json!({"not": {"not": schema}}),
                "if" => json!({"if": schema, "else": false}),
                "dependentSchemas" => json!({"dependentSchemas": {"it": schema}}),
                _ => json!({key: [schema]}),
            };
            let it = json!({"$ref": "#", "not": {"const": 1}});
            let inner = json!({"properties": {"it": it}, "unevaluatedProperties": false});
            let mut schema = (0..length).fold(inner, |schema, _| wrap(schema));
            schema["dependencies"] = json!({});
            let levels = deepest(&schema);
            assert!(levels * length >= 120, "{levels} {schema}");
            for levels in [levels, levels / 4] {
                let said = violations_of(&schema, &nested(levels - 1, r#"{"it":"#, "}"));
                assert!(!said.is_empty(), "{schema}");
            }
        }
    }
}

/// Returns the maximum nesting depth of the values of a schema.
fn deepest(schema: &Value) -> usize {
    let said = violations_of(schema, &nested(127, r#"{"it":"#, "}"));
    let number = said[0].split_once("nested at most ").and_then(|(_, it)| it.split_once(" levels"));
    number.map_or(128, |(number, _)| number.parse().unwrap())
}

#[test]
fn a_schema_with_too_many_applicable_subschemas_is_refused() {
    let chain = (0..100).fold(json!({}), |schema, _| json!({"not": schema}));
    let expected =
        "input schema: at the root: more than 64 schemas apply to the same value one within the other";
    assert_eq!(mistakes(json!({"$schema": FOUR, "not": chain})), [expected]);
    let deep = (0..200).fold(json!({}), |schema, _| json!({"items": schema}));
    let expected = "input schema: at the root: the schema is nested too deeply";
    assert_eq!(mistakes(json!({"$schema": FOUR, "items": deep})), [expected]);
}

// An invalid schema is reported before any call.
#[test]
fn an_invalid_schema_is_refused_at_registration() {
    assert_eq!(
        mistakes(json!({"$schema": FOUR, "properties": {"a": {"type": 7, "items": [{}]}}})),
        [
            "input schema: at /properties/a/type: expected any of: one of \"array\", \"boolean\", \"integer\", \"null\", \"number\", \"object\", \"string\"; an array, got 7"
        ]
    );
    assert_eq!(
        mistakes(json!({"$schema": FOUR, "properties": {"a": {"minimum": "x"}}})),
        ["input schema: at /properties/a/minimum: expected a number, got \"x\""]
    );
    assert_eq!(
        mistakes(json!({"$schema": FOUR, "properties": {"a": {"pattern": "(a"}}})),
        ["input schema: at /properties/a/pattern: the pattern `(a` cannot be used"]
    );
    assert_eq!(
        mistakes(json!({"properties": {"a": {"pattern": "(?=a)"}, "b": {"type": 7}}})),
        ["input schema: at /properties/b: `type` must be a type of JSON or a list of them, not 7"]
    );
}

// F11
#[test]
fn no_reference_of_another_draft_is_ever_fetched() {
    for reference in ["https://example.com/a.json", "file:///etc/passwd"] {
        let schema = json!({"$schema": FOUR, "properties": {"a": {"$ref": format!("{reference}#/b")}}});
        let expected = format!("input schema: `$ref` to {reference:?} leaves the schema; nothing is fetched");
        assert_eq!(mistakes(schema), [expected]);
    }
    for (reference, shown) in [("#/definitions/none", "#/definitions/none"), ("#none", "#none")] {
        let schema = json!({"$schema": FOUR, "properties": {"a": {"$ref": reference}}});
        assert_eq!(mistakes(schema), [format!("input schema: `$ref` to \"{shown}\" leads nowhere")]);
    }
}

#[test]
fn an_invalid_example_is_a_build_error() {
    let tool = ToolBuilder::new("take")
        .input_schema(InputSchema::new(foreign(json!({"type": "integer"}))).unwrap())
        .examples(vec![json!({"it": 1}), json!({"it": "x"})])
        .expect_handler(|args: Value, _cx| async move { Ok::<_, ToolError>(args) });
    let error = Registry::builder().add(tool).build().unwrap_err();
    assert!(matches!(error.diagnostics(), [BuildDiagnostic::Example { .. }]), "{error}");
    assert!(error.to_string().ends_with("example 2: /it: expected an integer, got \"x\""), "{error}");
}

fn pair() -> Value {
    json!({
        "$schema": SEVEN,
        "type": "object",
        "properties": {"pair": {"items": [{"type": "string"}, {"type": "integer"}], "minItems": 2}},
        "required": ["pair"]
    })
}

fn trim(map: &mut serde_json::Map<String, Value>) -> Result<(), ToolError> {
    if let Some(value) = map.shift_remove("couple") {
        map.insert("pair".to_owned(), value);
    }
    Ok(())
}

/// Joins.
#[tool(register = false, input_schema = pair(), prepare = trim)]
fn join(pair: (String, u8)) -> String {
    format!("{} {}", pair.0, pair.1)
}

// F14
#[test]
fn typed_arguments_are_validated_by_the_schema_and_then_by_the_type() {
    let tools = || Registry::builder().tool::<join>();
    assert_eq!(text(tools(), "join", r#"{"pair":["a",1]}"#), "a 1");
    assert_eq!(text(tools(), "join", r#"{"couple":["a",1]}"#), "a 1");
    let refused = feedback(tools(), "join", r#"{"pair":[1,1]}"#);
    assert!(refused.starts_with("Invalid arguments: /pair/0: expected a string, got 1\n"), "{refused}");
    // The schema admits the value, but the type refuses it.
    let refused = call(tools(), "join", r#"{"pair":["a",256]}"#).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::InvalidArguments);
    assert!(refused.feedback().contains("/pair/1: expected something that can be read"), "{refused}");
    let twice = feedback(tools(), "join", r#"{"pair":["a",1],"pair":["b",1]}"#);
    assert!(twice.contains("/pair: expected the property once, got it twice"), "{twice}");
    let registry = tools().build().unwrap();
    assert!(registry.check("join", r#"{"pair":["a",256]}"#).is_ok());
    assert!(registry.check("join", r#"{"pair":["a"]}"#).is_err());
}

/// A hand-written tool that does not validate its arguments.
struct Echo(ToolDefinition);

impl Tool for Echo {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, |arguments, _cx| Box::pin(async move { Ok(arguments.as_str().into()) })))
    }
}

fn echo(metadata: Metadata) -> Echo {
    let schema = InputSchema::new(pair()).unwrap();
    Echo(ToolDefinition::new(ToolName::new("echo").unwrap(), "Says it.", schema).with_metadata(metadata))
}

#[test]
fn a_hand_written_tool_never_sees_invalid_arguments() {
    let tools = || Registry::builder().add(echo(Metadata::default()));
    assert_eq!(text(tools(), "echo", r#"{ "pair" : ["a", 1.0] }"#), r#"{ "pair" : ["a", 1.0] }"#);
    let refused = feedback(tools(), "echo", r#"{"pair":["a"]}"#);
    assert_eq!(
        refused,
        "Invalid arguments: /pair: expected at least 2 items, got [\"a\"]\nReceived: {\"pair\":[\"a\"]}\nNothing was executed."
    );
}

#[test]
fn a_secret_is_in_no_report() {
    let metadata = || Metadata { secrets: vec!["pair".into()], ..Metadata::default() };
    for arguments in
        [r#"{"pair":["hunter2","hunter2"]}"#, r#"{"pair":"hunter2","pair":"hunter2"}"#, r#"{"pair":1e999}"#]
    {
        let error = call(Registry::builder().add(echo(metadata())), "echo", arguments).unwrap_err();
        for text in [error.feedback(), error.to_string()] {
            assert!(!text.contains("hunter2") && !text.contains("1e999"), "{text}");
            assert!(text.contains("/pair"), "{text}");
        }
    }
}

#[test]
fn output_schemas_are_validated_in_the_same_way() {
    let tools = || {
        let promise = OutputSchema::new(json!({"$schema": SEVEN, "items": [{"type": "string"}]})).unwrap();
        let give = ToolBuilder::new("give")
            .input_schema(InputSchema::new(json!({"properties": {"value": {}}})).unwrap())
            .output_schema(promise)
            .expect_handler(|args: Value, _cx| async move { Ok::<_, ToolError>(args["value"].clone()) });
        Registry::builder().add(give)
    };
    assert_eq!(text(tools(), "give", r#"{"value":["a",1]}"#), r#"["a",1]"#);
    let broken = call(tools(), "give", r#"{"value":[1]}"#).unwrap_err();
    assert_eq!(broken.kind(), ErrorKind::InvalidOutput);
    assert!(broken.to_string().contains("output validation: /0: expected a string, got 1"), "{broken}");
    let schema = OutputSchema::new(json!({"$schema": FOUR, "type": 7})).unwrap();
    let tool = ToolBuilder::new("give").output_schema(schema);
    let tool = tool.input_schema(InputSchema::new(json!({})).unwrap());
    let tool = tool.expect_handler(|_: Value, _cx| async { Ok::<_, ToolError>("") });
    let error = Registry::builder().add(tool).build().unwrap_err().to_string();
    assert!(error.contains("output schema: at /type: expected any of: "), "{error}");
}

#[test]
fn a_host_can_decode_a_valid_call() {
    let registry = Registry::builder().tool::<join>().build().unwrap();
    let decoded: Value = registry.decode("join", r#"{"pair":["a",1]}"#).unwrap();
    assert_eq!(decoded, json!({"pair": ["a", 1]}));
    assert!(run(registry.call("join", r#"{"pair":[]}"#)).is_err());
}

// F11
#[test]
fn anchors_are_resolved_by_their_draft_and_base() {
    for base in [
        None,
        Some("http://example.com/root.json"),
        Some("urn:example:root"),
        Some("urn:uuid:6e8bc430-9c3a-11d9-9669-0800200c9a66"),
    ] {
        let mut seven = json!({
            "$schema": SEVEN,
            "properties": {"p": {"$ref": "#foo"}, "q": {"items": {"$ref": "#foo"}}},
            "definitions": {"a": {"$id": "#foo", "type": "string"}}
        });
        let mut nineteen = json!({
            "$schema": NINETEEN,
            "properties": {"p": {"$ref": "#foo"}, "q": {"items": {"$ref": "#foo"}}},
            "$defs": {"a": {"$anchor": "foo", "type": "string"}}
        });
        // Not covered by a plan, because of a keyword of an earlier draft.
        let mut own = json!({
            "properties": {"p": {"$ref": "#foo"}, "q": {"items": {"$ref": "#foo"}}},
            "dependencies": {},
            "$defs": {"a": {"$anchor": "foo", "type": "string"}}
        });
        for schema in [&mut seven, &mut nineteen, &mut own] {
            if let Some(base) = base {
                schema["$id"] = json!(base);
                schema["properties"]["r"] = json!({"$ref": format!("{base}#foo")});
            }
            let bad_r = if base.is_some() { json!({"r": 1}) } else { json!({"p": null, "q": 1}) };
            check(
                schema.clone(),
                [json!({"p": "a", "q": ["b"]}), json!({"r": "a"})],
                [json!({"p": 1}), json!({"q": [1]}), bad_r],
            );
        }
    }
}
