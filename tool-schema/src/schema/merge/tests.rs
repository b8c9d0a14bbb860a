//! The merge of two schemas, keyword by keyword.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::{Value, json};

use super::{listed_names, may_match_objects, merge_objects, union_of_names};

fn merged(left: &Value, right: &Value) -> Result<Option<Value>, String> {
    let (Value::Object(left), Value::Object(right)) = (left, right) else { panic!("two objects") };
    match merge_objects(left, right) {
        Ok(both) => Ok(both.map(Value::Object)),
        Err(error) => Err(error.to_string()),
    }
}

/// Checks the merge in both orders; the order of the keywords does not count.
#[track_caller]
fn check(left: Value, right: Value, expected: Value) {
    for (left, right) in [(&left, &right), (&right, &left)] {
        assert_eq!(merged(left, right), Ok(Some(expected.clone())), "{left} {right}");
    }
}

// B18
#[test]
fn additional_properties_match_both_schemas() {
    let rest = |schema: &Value| json!({ "additionalProperties": schema });
    let (byte, text) = (json!({ "type": "integer", "maximum": 255 }), json!({ "type": "string" }));
    for (ours, theirs, expected) in [
        (json!(false), json!(true), json!(false)),
        (json!(false), json!(false), json!(false)),
        (json!(false), byte.clone(), json!(false)),
        (json!(true), json!(true), json!(true)),
        (json!(true), byte.clone(), byte.clone()),
        (byte.clone(), byte.clone(), byte.clone()),
    ] {
        check(rest(&ours), rest(&theirs), rest(&expected));
    }
    let both = merged(&rest(&byte), &rest(&text));
    assert_eq!(both, Ok(Some(rest(&json!({ "allOf": [byte, text] })))));
    check(rest(&byte), json!({}), rest(&byte));
}

// B18
#[test]
fn annotations_of_the_first_schema_stay_and_descriptions_are_joined() {
    let left = json!({ "type": ["object", "null"], "title": "A", "description": "One.", "x-a": 1, "required": ["a", "b"] });
    let right = json!({ "type": "object", "title": "B", "description": "Two.", "x-a": 2, "deprecated": true, "required": ["b", "c"] });
    let expected = json!({
        "type": "object", "title": "A", "description": "One.\nTwo.", "x-a": 1, "required": ["a", "b", "c"], "deprecated": true,
    });
    assert_eq!(merged(&left, &right), Ok(Some(expected)));
    check(
        json!({ "description": "One." }),
        json!({ "description": "One." }),
        json!({ "description": "One." }),
    );
    let odd = merged(&json!({ "description": "One." }), &json!({ "description": 2 }));
    assert_eq!(odd, Ok(Some(json!({ "description": "One." }))));
}

// B18
#[test]
fn a_default_of_a_part_with_properties_is_not_one_of_the_whole() {
    let object = |name: &str| json!({ "properties": { name: true }, "default": { name: 1 }, "examples": [{ name: 1 }] });
    check(object("a"), object("b"), json!({ "properties": { "a": true, "b": true } }));
    check(object("a"), json!({ "type": "object" }), {
        let mut both = object("a");
        both["type"] = "object".into();
        both
    });
}

// B18
#[test]
fn properties_of_both_are_those_that_match_both() {
    let of = |schema: Value| json!({ "properties": { "a": schema } });
    let string = json!({ "type": "string" });
    check(
        of(string.clone()),
        json!({ "properties": { "b": true } }),
        json!({ "properties": { "a": string, "b": true } }),
    );
    let described = json!({ "type": "string", "description": "The a.", "default": "x" });
    check(of(string.clone()), of(described.clone()), of(described));
    let values = |list: &[&str]| of(json!({ "type": "string", "enum": list }));
    check(values(&["x", "y", "z"]), values(&["y", "z", "w"]), values(&["y", "z"]));
    check(values(&["x", "y"]), values(&["y", "z"]), of(json!({ "type": "string", "const": "y" })));
    check(values(&["x", "y"]), of(json!({ "const": "x" })), of(json!({ "type": "string", "const": "x" })));
    for (one, other) in
        [(values(&["x"]), values(&["y"])), (of(json!({ "const": "x" })), of(json!({ "const": "y" })))]
    {
        assert_eq!(merged(&one, &other), Ok(None));
        assert_eq!(merged(&other, &one), Ok(None));
    }
    let error = "two parts of this object describe the property `a` in different ways; rename one of them";
    for other in
        [json!({ "type": "integer" }), json!({ "const": 1 }), json!(true), json!({ "enum": ["x", 1] })]
    {
        assert_eq!(merged(&of(string.clone()), &of(other)), Err(error.to_owned()));
    }
    // A property that no value has decides before one that is unclear.
    let two = |a: Value, b: &str| json!({ "properties": { "a": a, "b": { "const": b } } });
    assert_eq!(
        merged(&two(json!({ "type": "string" }), "x"), &two(json!({ "type": "integer" }), "y")),
        Ok(None)
    );
}

// B18
#[test]
fn other_keywords_go_together_only_if_they_are_equal() {
    let error = |key: &str| {
        format!("`{key}` of this object and `{key}` of what is flattened into it do not go together")
    };
    check(json!({ "minProperties": 1 }), json!({ "minProperties": 1 }), json!({ "minProperties": 1 }));
    let found = merged(&json!({ "minProperties": 1 }), &json!({ "minProperties": 2 }));
    assert_eq!(found.unwrap_err(), error("minProperties"));
    let patterns = |pattern: &str, schema: Value| json!({ "patternProperties": { pattern: schema } });
    check(
        patterns("^a", json!({ "type": "string" })),
        patterns("^b", json!(true)),
        json!({ "patternProperties": { "^a": { "type": "string" }, "^b": true } }),
    );
    check(patterns("^a", json!(true)), patterns("^a", json!(true)), patterns("^a", json!(true)));
    let found = merged(&patterns("^a", json!(true)), &patterns("^a", json!(false)));
    assert_eq!(found.unwrap_err(), error("patternProperties"));
}

// B18
#[test]
fn a_type_that_contains_itself_cannot_be_flattened_beside_other_properties() {
    let (own, recursive) = (json!({ "properties": { "a": true } }), json!({ "$ref": "#/$defs/node" }));
    let message = "a type that contains itself is flattened beside other properties; make it a property";
    assert_eq!(merged(&own, &recursive), Err(message.to_owned()));
    assert_eq!(merged(&recursive, &own), Err(message.to_owned()));
    check(json!({ "type": "object", "title": "A", "x-a": 1 }), recursive.clone(), {
        json!({ "$ref": "#/$defs/node", "type": "object", "title": "A", "x-a": 1 })
    });
}

#[test]
fn an_object_can_match_a_schema_by_its_type_its_values_and_its_constant() {
    for (schema, is_for_objects_expected) in [
        (json!({}), true),
        (json!({ "type": "object" }), true),
        (json!({ "type": ["null", "object"] }), true),
        (json!({ "type": ["null", "string"] }), false),
        (json!({ "type": "string" }), false),
        (json!({ "const": {} }), true),
        (json!({ "const": "a" }), false),
        (json!({ "enum": ["a", {}] }), true),
        (json!({ "enum": ["a"] }), false),
        (json!({ "type": "object", "const": 1 }), false),
        (json!({ "type": "object", "enum": [1] }), false),
    ] {
        assert_eq!(may_match_objects(schema.as_object().unwrap()), is_for_objects_expected, "{schema}");
    }
}

#[test]
fn the_permitted_strings_are_known_if_all_values_are_strings() {
    let names = |schema: Value| {
        listed_names(schema.as_object().unwrap())
            .map(|names| names.into_iter().map(str::to_owned).collect::<Vec<_>>())
    };
    assert_eq!(names(json!({ "const": "a" })), Some(vec!["a".to_owned()]));
    assert_eq!(names(json!({ "const": "a", "enum": ["b"] })), Some(vec!["a".to_owned()]));
    assert_eq!(names(json!({ "enum": ["a", "b"] })), Some(vec!["a".to_owned(), "b".to_owned()]));
    for other in [json!({}), json!({ "const": 1 }), json!({ "enum": ["a", 1] }), json!({ "enum": "a" })] {
        assert_eq!(names(other), None);
    }
    let union = union_of_names(&[json!("b"), json!("a"), json!("b")], &json!(["c", "a", "d", "c"]));
    assert_eq!(json!(union), json!(["b", "a", "c", "d"]));
}
