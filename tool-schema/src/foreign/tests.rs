//! The JSON Schema Test Suite, validated by a plan or by `jsonschema`, as in a registry.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::validator::Validator;

#[test]
fn every_verdict_equals_the_suite_and_every_verdict_of_jsonschema_is_present() {
    let (mut right, mut cases) = (0, 0);
    let mut failures = Vec::new();
    for (file, group) in suite() {
        let schema = &group["schema"];
        let alone = jsonschema::options().offline().should_validate_formats(false).build(schema);
        let ours = Validator::compile(schema);
        for case in group["tests"].as_array().unwrap() {
            let (data, valid) = (&case["data"], case["valid"].as_bool().unwrap());
            let is_right_alone = alone.as_ref().is_ok_and(|it| it.is_valid(data) == valid);
            let is_right = ours.as_ref().is_ok_and(|it| it.violations(data).is_empty() == valid);
            cases += 1;
            right += usize::from(is_right);
            // A schema may be rejected, such as one that refers to another document; an accepted one must give
            // the right verdict.
            if !is_right && (is_right_alone || ours.is_ok()) {
                let why = ours.as_ref().err();
                failures.push(format!("{file}: {}: {} {why:?}", group["description"], case["description"]));
            }
        }
    }
    assert_eq!(failures, Vec::<String>::new());
    assert!(cases > 1_250 && right > 1_200, "{right} of {cases} cases");
}

#[test]
fn an_embedded_id_is_relative_to_the_embedded_id_around_it_in_each_draft() {
    for (draft, defs) in [
        ("http://json-schema.org/draft-07/schema#", "definitions"),
        ("https://json-schema.org/draft/2019-09/schema", "$defs"),
        ("https://json-schema.org/draft/2020-12/schema", "$defs"),
        // Deprecated, but still a keyword of the meta-schema.
        ("https://json-schema.org/draft/2020-12/schema", "definitions"),
    ] {
        let number = json!({ "$id": "b.json", "type": "integer" });
        let within = |inner: Value| json!({ "$id": "sub/", "type": "string", defs: { "a": inner } });
        let local = json!({ "$ref": format!("#/{defs}/n") });
        let inner =
            json!({ "$id": "b.json", defs: { "n": { "type": "integer" } }, "properties": { "q": local } });
        for (part, reference) in [
            (json!({ "not": within(number.clone()) }), "sub/b.json".to_owned()),
            (json!({ "not": within(number.clone()) }), "http://x/sub/b.json".to_owned()),
            (json!({ "allOf": [{ "not": within(number.clone()) }] }), "sub/b.json".to_owned()),
            (json!({ defs: { "s": { "$id": "sub/", "not": number } } }), "sub/b.json".to_owned()),
            // By a pointer through both; the root has a definition of the same name.
            (
                json!({ "not": within(inner), defs: { "n": { "type": "string" } } }),
                format!("#/not/{defs}/a/properties/q"),
            ),
        ] {
            let Value::Object(mut schema) = part else { panic!("{part}") };
            schema.insert("$schema".to_owned(), draft.into());
            schema.insert("$id".to_owned(), "http://x/root.json".into());
            schema.insert("properties".to_owned(), json!({ "p": { "$ref": reference } }));
            let schema = Value::Object(schema);
            let validator = Validator::compile(&schema).unwrap_or_else(|error| panic!("{schema}: {error:?}"));
            assert!(validator.violations(&json!({ "p": 1 })).is_empty(), "{schema}");
            assert!(!validator.violations(&json!({ "p": "x" })).is_empty(), "{schema}");
        }
    }
}

#[test]
fn arguments_are_valid_only_as_an_object() {
    let foreign = super::Foreign::instead_of(&[], &json!({ "required": ["a"] })).unwrap();
    let fit = |text: &'static str| foreign.fit(text.into()).map(|fitting| fitting.as_str().to_owned());
    assert_eq!(fit(r#"{ "a": 1.0 }"#).unwrap(), r#"{ "a": 1.0 }"#);
    assert_eq!(fit("{}").unwrap_err().violations().len(), 1);
    assert_eq!(fit("[1]").unwrap_err().violations()[0].expected, "an object");
}

#[test]
fn the_first_twenty_of_many_violations_are_listed_and_all_are_counted() {
    let foreign = super::Foreign::instead_of(&[], &json!({ "items": { "type": "integer" } })).unwrap();
    for count in [19, 20, 21, 50] {
        let violations = foreign.violations(&json!(vec!["a"; count]));
        assert_eq!((violations.len(), violations.total()), (count.min(20), count));
    }
    // Two parts of a schema report the same violations. Those beyond the list are counted without a comparison.
    let integers = json!({ "items": { "type": "integer" } });
    let twice = super::Foreign::instead_of(&[], &json!({ "allOf": [integers, integers] })).unwrap();
    for (count, total) in [(19, 19), (20, 40), (21, 42)] {
        let violations = twice.violations(&json!(vec!["a"; count]));
        assert_eq!((violations.len(), violations.total()), (count.min(20), total));
    }
}

#[test]
fn the_parts_of_a_schema_with_an_identifier_are_named_but_not_those_of_a_schema_within() {
    let missing = "the property `n`, which is required";
    let count = json!({ "properties": { "n": { "type": "integer" } }, "required": ["n"] });
    let with = |schema: &Value, members: Value| {
        let mut schema = schema.clone();
        schema.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        schema
    };
    let four = json!({ "$schema": "http://json-schema.org/draft-04/schema#", "id": "http://x/a.json#" });
    for members in
        [json!({}), json!({ "$id": "http://x/a.json" }), json!({ "$id": "http://x/a.json#" }), four]
    {
        let foreign = super::Foreign::instead_of(&[], &with(&count, members.clone())).unwrap();
        assert_eq!(foreign.violations(&json!({}))[0].expected, format!("{missing} (integer)"), "{members}");
    }
    let within =
        json!({ "$id": "http://x/a.json", "properties": { "a": with(&count, json!({ "$id": "b.json" })) } });
    let foreign = super::Foreign::instead_of(&[], &within).unwrap();
    assert_eq!(foreign.violations(&json!({ "a": {} }))[0].expected, missing);
}

#[test]
fn each_kind_of_type_and_branch_is_summarised_up_to_three_levels_deep() {
    let nested = |levels: usize| {
        (0..levels)
            .fold(json!({ "type": "string" }), |inner, _| json!({ "oneOf": [inner, { "type": "null" }] }))
    };
    for (kind, said) in [
        (json!({ "enum": ["a", 1] }), " (one of \"a\", 1)"),
        (json!({ "const": null }), " (null)"),
        (json!({ "type": ["integer", "string"] }), " (string or an integer)"),
        (
            json!({ "type": "object", "required": ["a", "b"], "properties": { "a": { "const": 1 } } }),
            " (object with `a` 1, `b`)",
        ),
        (
            json!({ "type": "object", "required": ["a", "b", "c", "d", "e"] }),
            " (object with `a`, `b`, `c`, `d`)",
        ),
        (json!({ "type": "object" }), " (object)"),
        (json!({ "$ref": "#/$defs/a~1b%20c" }), " (boolean)"),
        (json!({ "minimum": 1 }), ""),
        (nested(1), " (any of: a string; null)"),
        (nested(2), " (any of: any of: a string; null; null)"),
        (nested(3), " (any of: any of: any of: anything; null; null)"),
        (
            json!({ "anyOf": [{ "type": "number" }, { "type": "number" }, { "type": "array" }] }),
            " (any of: a number; an array)",
        ),
    ] {
        let schema = json!({ "properties": { "n": kind }, "required": ["n"], "$defs": { "a/b c": { "type": "boolean" } } });
        let foreign = super::Foreign::instead_of(&[], &schema).unwrap();
        let violations = foreign.violations(&json!({}));
        assert_eq!(violations[0].expected, format!("the property `n`, which is required{said}"), "{schema}");
    }
}

#[test]
fn violations_come_in_the_order_of_the_document() {
    let integer = json!({ "type": "integer" });
    let schema = json!({
        "properties": { "a/b": integer, "list": { "items": { "properties": { "c": integer } } }, "d": integer },
        "required": ["z"],
        "maxProperties": 1,
    });
    let foreign = super::Foreign::instead_of(&[], &schema).unwrap();
    let value = json!({ "d": "x", "list": [{ "c": 1 }, { "c": "y" }, { "c": "z" }], "a/b": "w" });
    let pointers: Vec<_> = foreign.violations(&value).iter().map(|it| it.pointer.clone()).collect();
    assert_eq!(pointers, ["", "/d", "/list/1/c", "/list/2/c", "/a~1b", "/z"]);
}

#[test]
fn only_branch_of_the_type_explains_all_its_violations() {
    let object = json!({
        "type": "object", "required": ["k", "n"],
        "properties": { "k": { "const": "x" }, "n": { "type": "integer" } },
    });
    for key in ["anyOf", "oneOf"] {
        let schema = json!({ key: [object, { "type": "string" }] });
        let foreign = super::Foreign::instead_of(&[], &schema).unwrap();
        let pointers =
            |value: Value| foreign.violations(&value).iter().map(|it| it.pointer.clone()).collect::<Vec<_>>();
        assert_eq!(pointers(json!({})), ["/k", "/n"]);
        assert_eq!(pointers(json!({ "k": "y", "n": "z" })), ["/k", "/n"]);
        assert_eq!(pointers(json!({ "n": "z" })), ["/n", "/k"]);
        assert_eq!(pointers(json!(1)), [""]);
    }
}

/// A schema that no plan covers, with `levels` lists and objects.
fn nested_schema(levels: usize) -> Value {
    let inner = json!({ "pattern": "^(?!x)" });
    (1..levels).fold(inner, |schema, _| json!({ "not": schema }))
}

#[test]
fn a_schema_may_be_nested_as_deeply_as_a_text() {
    let error = |schema: &Value| super::Foreign::instead_of(&[], schema).unwrap_err();
    assert_eq!(error(&nested_schema(129)), ["at the root: the schema is nested too deeply"]);
    let items = (0..70).fold(json!(1), |value, _| json!([{ "a": value }]));
    assert_eq!(error(&json!({ "const": items })), ["at the root: the schema is nested too deeply"]);
    // At 128 levels, another limit is exceeded.
    let chain = "at the root: more than 64 schemas apply to the same value one within the other";
    assert_eq!(error(&nested_schema(128)), [chain]);
    assert!(super::Foreign::instead_of(&[], &nested_schema(60)).is_ok());
    // The schema itself is one level.
    let lists = |levels: usize| (0..levels).fold(json!([]), |value, _| json!([value]));
    assert!(super::Foreign::instead_of(&[], &json!({ "const": lists(126) })).is_ok());
    assert_eq!(error(&json!({ "const": lists(127) })), ["at the root: the schema is nested too deeply"]);
}

/// Returns all groups of the suite with their file names.
fn suite() -> Vec<(String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/draft2020-12");
    let mut groups = Vec::new();
    for file in fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let list: Vec<Value> = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
        groups.extend(list.into_iter().map(|group| (name.clone(), group)));
    }
    groups
}
