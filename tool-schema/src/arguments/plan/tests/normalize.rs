//! Normalisation of values that a schema treats as equal.

use serde_json::{Value, json};

use super::plan;
use crate::Arguments;

/// Checks that `value` is normalised to `expected`, and that the result reports a change.
#[track_caller]
fn check(schema: Value, mut value: Value, expected: Value) {
    let before = value.clone();
    let plan = plan(&schema);
    let changed = plan.normalize_value(&mut value).changed;
    assert_eq!(value.to_string(), expected.to_string());
    assert_eq!(changed, before != value);
    assert!(!plan.normalize_value(&mut value).changed, "what is settled does not change again");
}

#[test]
fn null_in_an_optional_property_is_absent() {
    // B21
    let schema = json!({"properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "additionalProperties": false});
    check(schema, json!({"a": null, "b": 1}), json!({"b": 1}));
}

#[test]
fn null_in_a_required_property_stays() {
    // F07
    let schema = json!({"properties": {"a": {"type": "string"}}, "required": ["a"]});
    check(schema, json!({"a": null}), json!({"a": null}));
}

#[test]
fn null_that_the_property_admits_stays() {
    for property in [
        json!({"type": ["string", "null"]}),
        json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        json!({}),
        json!({"enum": ["a", null]}),
        json!({"$ref": "#/$defs/n"}),
    ] {
        let schema = json!({"properties": {"a": property}, "$defs": {"n": {"type": "null"}}});
        check(schema, json!({"a": null}), json!({"a": null}));
    }
}

#[test]
fn null_elsewhere_stays() {
    check(json!({"items": {"type": "integer"}}), json!([1, null]), json!([1, null]));
    check(json!({"additionalProperties": {"type": "integer"}}), json!({"a": null}), json!({"a": null}));
    check(json!({"properties": {}, "additionalProperties": false}), json!({"a": null}), json!({"a": null}));
    check(json!({"type": "object"}), json!(null), json!(null));
}

#[test]
fn null_is_absent_at_any_depth() {
    let schema = json!({
        "properties": {
            "list": {"items": {"properties": {"a": {"type": "string"}}}},
            "tuple": {"prefixItems": [{"properties": {"a": {"type": "string"}}}]},
            "map": {"additionalProperties": {"properties": {"a": {"type": "string"}}}},
            "next": {"$ref": "#"}
        }
    });
    check(
        schema,
        json!({"list": [{"a": null}], "tuple": [{"a": null}], "map": {"k": {"a": null}}, "next": {"list": [{"a": null}]}}),
        json!({"list": [{}], "tuple": [{}], "map": {"k": {}}, "next": {"list": [{}]}}),
    );
}

#[test]
fn property_that_a_neighbour_requires_is_required() {
    let string = json!({"properties": {"a": {"type": "string"}}});
    let requires = json!({"required": ["a"]});
    for schema in [
        json!({"required": ["a"], "allOf": [string]}),
        json!({"properties": {"a": {"type": "string"}}, "allOf": [requires]}),
        json!({"allOf": [string, requires]}),
        json!({"required": ["a"], "$ref": "#/$defs/s", "$defs": {"s": string}}),
    ] {
        check(schema, json!({"a": null}), json!({"a": null}));
    }
    check(json!({"allOf": [string]}), json!({"a": null}), json!({}));
}

#[test]
fn float_becomes_an_integer_where_one_is_wanted() {
    check(json!({"type": "integer"}), json!(3.0), json!(3));
    check(json!({"type": ["integer", "null"]}), json!(1e2), json!(100));
    check(json!({"type": "integer"}), json!(-0.0), json!(0));
    check(json!({"type": "integer"}), json!(1e19), json!(10_000_000_000_000_000_000_u64));
    check(json!({"items": {"type": "integer"}}), json!([1, 2.0, "3.0"]), json!([1, 2, "3.0"]));
    check(json!({"patternProperties": {"^\\d+$": {"type": "integer"}}}), json!({"1": 2.0}), json!({"1": 2}));
}

#[test]
fn other_numbers_stay() {
    check(json!({"type": "integer"}), json!(3.5), json!(3.5));
    check(json!({"type": "integer"}), json!(1e300), json!(1e300));
    check(json!({"type": "number"}), json!(3.0), json!(3.0));
    check(json!({"type": ["integer", "number"]}), json!(3.0), json!(3.0));
    check(json!({}), json!(3.0), json!(3.0));
}

#[test]
fn branch_that_admits_the_settled_value_settles_it() {
    let schema = json!({
        "anyOf": [
            {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": false},
            {"type": "object", "properties": {"b": {"type": "integer"}, "c": {"type": "string"}}, "required": ["b"], "additionalProperties": false}
        ]
    });
    check(schema.clone(), json!({"b": 2.0, "c": null}), json!({"b": 2}));
    check(schema.clone(), json!({"a": 2.0}), json!({"a": 2}));
    check(schema, json!({"a": 2.0, "b": null}), json!({"a": 2.0, "b": null}));
}

#[test]
fn branch_that_admits_the_value_as_it_is_comes_first() {
    let schema = json!({
        "oneOf": [
            {"type": "object", "properties": {"x": {"type": "string"}}},
            {"type": "object", "properties": {"x": {"type": "null"}}}
        ]
    });
    // Without its `null`, it would match both branches, which `oneOf` rejects.
    check(schema.clone(), json!({"x": null}), json!({"x": null}));
    assert!(plan(&schema).admits(&json!({"x": null})));
}

#[test]
fn kind_of_an_object_chooses_the_branch() {
    let shape = |kind: &str| json!({"type": "object", "properties": {"kind": {"const": kind}, "size": {"type": "integer"}}, "required": ["kind"]});
    let schema = json!({"oneOf": [shape("circle"), shape("square")]});
    check(schema, json!({"kind": "square", "size": null}), json!({"kind": "square"}));
}

#[test]
fn settling_many_branches_within_branches_ends() {
    let branch = |name: &str| json!({"properties": {"child": {"$ref": "#"}, name: {"type": "integer"}}, "required": [name]});
    let schema = json!({"anyOf": [branch("a"), branch("b"), branch("c"), {"type": "null"}]});
    let mut value = json!(7);
    for _ in 0..100 {
        value = json!({"child": value});
    }
    assert!(!plan(&schema).normalize_value(&mut value).changed);
}

#[test]
fn value_of_a_known_property_is_not_normalised_by_the_rule_for_others() {
    let schema = json!({
        "properties": {"a": {"type": "number"}, "b": {}},
        "patternProperties": {"^p": {"type": "number"}, "q$": {"type": "integer"}},
        "additionalProperties": {"type": "integer"},
    });
    check(
        schema,
        json!({"a": 1.0, "b": 2.0, "p": 3.0, "other": 4.0, "q": 5.0, "pq": 6.0}),
        json!({"a": 1.0, "b": 2.0, "p": 3.0, "other": 4, "q": 5, "pq": 6}),
    );
}

#[test]
fn text_without_another_spelling_is_in_normal_form() {
    let schema = json!({ "type": "object", "properties": {
        "n": { "type": "integer" }, "t": { "type": "string" }, "l": { "type": "array", "items": { "type": "integer" } },
    } });
    let plan = plan(&schema);
    for (text, is_normal, normal) in [
        (r#"{"n":1}"#, true, r#"{"n":1}"#),
        (r#"{"n":-10,"t":"-a.e"}"#, true, r#"{"n":-10,"t":"-a.e"}"#),
        (r#"{"l":[0,-1,-2],"t":"nul"}"#, true, r#"{"l":[0,-1,-2],"t":"nul"}"#),
        (r#"{"n":null}"#, false, "{}"),
        (r#"{"n":1.0}"#, false, r#"{"n":1}"#),
        (r#"{"n":1e2}"#, false, r#"{"n":100}"#),
        (r#"{"n":1E2}"#, false, r#"{"n":100}"#),
        (r#"{"n":-0}"#, false, r#"{"n":0}"#),
        (r#"{"l":[-0,1]}"#, false, r#"{"l":[0,1]}"#),
        (r#"{"l":[-0]}"#, false, r#"{"l":[0]}"#),
        (r#"{"l":[1,-0 ]}"#, false, r#"{"l":[1,0]}"#),
    ] {
        assert_eq!(plan.is_in_normal_form(text), is_normal, "{text}");
        let fitting = plan.fit(Arguments::from(text)).unwrap();
        assert_eq!((fitting.as_str(), fitting.corrections().len()), (normal, 0));
    }
    for text in [r#"{"n":"1"}"#, r#"{"n":1"#, r#"{"n":1}}"#] {
        assert!(!plan.is_in_normal_form(text), "{text}");
    }
}

#[test]
fn default_of_the_decoder_is_filled_into_the_canonical_text_alone() {
    let schema = json!({ "type": "object", "properties": {
        "n": { "type": "integer" }, "b": { "type": "string", "default": "x", "x-tool-fills": true },
    } });
    let plan = plan(&schema);
    for (text, fitting, canonical) in [
        (r#"{"n":1.0}"#, r#"{"n":1}"#, r#"{"n":1,"b":"x"}"#),
        (r#"{"n":null,"b":null}"#, "{}", r#"{"b":"x"}"#),
        (r#"{"b":"y","n":1.0}"#, r#"{"b":"y","n":1}"#, r#"{"b":"y","n":1}"#),
    ] {
        assert_eq!(plan.fit(Arguments::from(text)).unwrap().as_str(), fitting);
        assert_eq!(plan.canonical(Arguments::from(text)).unwrap().as_str(), canonical);
    }
}

#[test]
fn alias_of_a_property_becomes_its_name_once() {
    let schema = json!({
        "type": "object",
        "properties": { "path": { "type": "integer", "x-tool-aliases": ["file", "f"] }, "n": { "type": "number", "x-tool-aliases": ["m"] } },
        "additionalProperties": false,
    });
    let plan = plan(&schema);
    let fit = |text: &str| {
        let fitting = plan.fit(Arguments::from(text)).map(|it| it.as_str().to_owned());
        fitting.map_err(|error| error.violations().to_string())
    };
    for (text, expected) in [
        (r#"{"path":1}"#, r#"{"path":1}"#),
        (r#"{"file":1}"#, r#"{"path":1}"#),
        (r#"{"f":1,"m":2}"#, r#"{"path":1,"n":2}"#),
        (r#"{"m":2,"file":1}"#, r#"{"n":2,"path":1}"#),
        // A `null` that counts as absent is no second value.
        (r#"{"path":null,"file":1}"#, r#"{"path":1}"#),
        (r#"{"file":null,"f":1}"#, r#"{"path":1}"#),
        (r#"{"n":1.10,"m":null}"#, r#"{"n":1.10}"#),
    ] {
        assert_eq!(fit(text), Ok(expected.to_owned()), "{text}");
    }
    for (text, alias) in
        [(r#"{"path":1,"file":2}"#, "file"), (r#"{"f":2,"path":1}"#, "f"), (r#"{"file":1,"f":2}"#, "f")]
    {
        let expected =
            format!("/{alias}: expected the property `path` once; `{alias}` is another name for it, got 2");
        assert_eq!(fit(text), Err(expected), "{text}");
    }
}
