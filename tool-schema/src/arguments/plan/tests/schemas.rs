//! Compilation reports every mistake in a schema.

use serde_json::{Value, json};

use super::{Plan, plan, problems};

#[track_caller]
fn check(schema: Value, expected: &[&str]) {
    assert_eq!(problems(&schema), expected);
    assert!(Plan::compile(&schema).unwrap_err().iter().all(|it| !it.uncovered));
    assert!(!Plan::certainly_compiles(&schema), "{schema}");
}

/// Checks that the only problem of `schema` is the unsupported `what`.
#[track_caller]
pub(super) fn check_uncovered(schema: Value, what: &str) {
    let expected = format!("{what} is not covered by the built-in check");
    assert_eq!(problems(&schema), [expected]);
    assert!(Plan::compile(&schema).unwrap_err().iter().all(|it| it.uncovered));
    assert!(!Plan::certainly_compiles(&schema), "{schema}");
}

// B24
#[test]
fn a_schema_that_certainly_compiles_has_no_mistake() {
    let certain = json!({
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "A city.", "minLength": 1, "format": "city"},
            "days": {"type": ["integer", "null"], "minimum": 1, "exclusiveMaximum": 14.5, "default": null},
            "units": {"type": "array", "items": {"enum": ["km", "mi"]}, "maxItems": 2},
            "at": {"properties": {"x": {"const": 1}}, "required": ["x", "y"], "additionalProperties": true},
        },
        "required": ["city"],
        "additionalProperties": false,
    });
    assert!(Plan::certainly_compiles(&certain));
    assert!(Plan::compile(&certain).is_ok());
    // Compiled at once: too deep to tell cheaply, or with keywords whose values may be mistakes.
    let deep = (0..32).fold(json!({}), |below, _| json!({"items": below}));
    assert!(Plan::compile(&deep).is_ok());
    for schema in [deep, json!({"pattern": "a"}), json!({"$ref": "#"}), json!({"anyOf": [{}]})] {
        assert!(!Plan::certainly_compiles(&schema), "{schema}");
    }
}

#[test]
fn malformed_keywords_are_problems() {
    check(json!({"type": 5}), &["at the root: `type` must be a type of JSON or a list of them, not 5"]);
    check(json!({"type": []}), &["at the root: `type` lists nothing"]);
    check(json!({"type": ["null", "null"]}), &[r#"at the root: `type` lists "null" twice"#]);
    check(
        json!({"properties": {"x": {"type": "text"}}}),
        &[r#"at /properties/x: `type` must be a type of JSON or a list of them, not "text""#],
    );
    check(json!({"required": "a"}), &[r#"at the root: `required` must be a list of names, not "a""#]);
    check(json!({"required": ["a", "b", "a"]}), &[r#"at the root: `required` lists "a" twice"#]);
    check(json!({"properties": []}), &["at the root: `properties` must be an object of schemas, not []"]);
    check(json!({"items": 5}), &["at /items: a schema is an object or a boolean, not 5"]);
    check(
        json!({"items": [{}]}),
        &["at the root: `items` is a list; since draft 2020-12 that is `prefixItems`"],
    );
    check(json!({"enum": "a"}), &[r#"at the root: `enum` must be a list of values, not "a""#]);
    check(json!({"minimum": "1"}), &[r#"at the root: `minimum` must be a number, not "1""#]);
    check(json!({"exclusiveMinimum": true}), &["at the root: `exclusiveMinimum` must be a number, not true"]);
    check(json!({"multipleOf": 0}), &["at the root: `multipleOf` must be a number greater than 0, not 0"]);
    check(
        json!({"minLength": -1}),
        &["at the root: `minLength` must be an integer that is not negative, not -1"],
    );
    check(
        json!({"maxItems": 1.5}),
        &["at the root: `maxItems` must be an integer that is not negative, not 1.5"],
    );
    for (count, shown) in [(json!(0.5), "0.5"), (json!(-1e300), "-1e+300"), (json!(null), "null")] {
        let expected =
            format!("at the root: `maxLength` must be an integer that is not negative, not {shown}");
        check(json!({ "maxLength": count }), &[&expected]);
    }
    check(json!({"uniqueItems": 1}), &["at the root: `uniqueItems` must be a boolean, not 1"]);
    check(
        json!({"allOf": []}),
        &["at the root: `allOf` must be a list of schemas that is not empty, not []"],
    );
    check(
        json!({"anyOf": {}}),
        &["at the root: `anyOf` must be a list of schemas that is not empty, not {}"],
    );
    check(json!({"not": null}), &["at /not: a schema is an object or a boolean, not null"]);
    check(
        json!({"dependentRequired": {"a": "b"}}),
        &[r#"at the root: `dependentRequired` must be a list of names, not "b""#],
    );
    check(json!({"pattern": 5}), &["at the root: `pattern` must be a regular expression, not 5"]);
    check(json!({"$ref": 5}), &["at the root: `$ref` must be a reference, not 5"]);
    check(
        json!({"contains": true, "minContains": "x"}),
        &[r#"at the root: `minContains` must be an integer that is not negative, not "x""#],
    );
    check(json!("x"), &[r#"at the root: a schema is an object or a boolean, not "x""#]);
}

#[test]
fn all_problems_are_found_at_once() {
    let schema = json!({
        "properties": {"a/b": {"minimum": "x", "maxLength": -1}, "c": {"$ref": "#/nowhere"}},
        "$defs": {"unused": {"anyOf": [{"type": "int"}]}}
    });
    check(
        schema,
        &[
            r#"at /properties/a~1b: `minimum` must be a number, not "x""#,
            "at /properties/a~1b: `maxLength` must be an integer that is not negative, not -1",
            r#"at /$defs/unused/anyOf/0: `type` must be a type of JSON or a list of them, not "int""#,
            r##"at /properties/c: `$ref` to "#/nowhere" leads nowhere"##,
        ],
    );
}

#[test]
fn reference_out_of_the_schema_is_a_problem() {
    for reference in ["https://example.com/a", "other.json#/a", "file:///etc/passwd"] {
        let expected = format!(r#"at /items: `$ref` to "{reference}" leaves the schema; nothing is fetched"#);
        check(json!({"items": {"$ref": reference}}), &[&expected]);
    }
    // An `else` without an `if` is not compiled, but its `$id` is known.
    let unread = json!({"$ref": "http://example.com/a", "else": {"$id": "http://example.com/a"}});
    check_uncovered(unread, r#"at the root: `$ref` to "http://example.com/a""#);
    let known = "https://json-schema.org/draft/2020-12/schema";
    check_uncovered(json!({"items": {"$ref": known}}), &format!(r#"at /items: `$ref` to "{known}""#));
}

#[test]
fn mistakes_are_found_beside_what_is_not_covered() {
    let schema = json!({"dependencies": {}, "allOf": [{"$ref": "#"}], "items": {"minimum": "x"}});
    let found = problems(&schema);
    assert_eq!(
        found,
        [
            "at the root: `dependencies` is not covered by the built-in check",
            r#"at /items: `minimum` must be a number, not "x""#
        ]
    );
    let found = problems(&json!({"dependencies": {}, "allOf": [{"$ref": "#"}]}));
    assert_eq!(
        found,
        [
            "at the root: `dependencies` is not covered by the built-in check",
            "at /allOf/0: `$ref` leads back to itself before it reaches a part of the value"
        ]
    );
}

#[test]
fn mistakes_of_identifiers_are_problems() {
    check(json!({"$id": 5}), &["at the root: `$id` must be a URI, not 5"]);
    check(json!({"$anchor": 5}), &["at the root: `$anchor` must be a name, not 5"]);
    check(json!({"$dynamicRef": 5}), &["at the root: `$dynamicRef` must be a reference, not 5"]);
    check(json!({"$ref": "#a"}), &[r##"at the root: `$ref` to "#a" leads nowhere"##]);
    check(
        json!({"$defs": {"a": {"$anchor": "x"}, "b": {"$dynamicAnchor": "x"}}}),
        &[r#"at /$defs/b: `$dynamicAnchor` "x" is the name of two schemas"#],
    );
    check(
        json!({"$id": "http://a/b", "$defs": {"a": {"$id": "x"}, "b": {"$id": "/x"}}}),
        &[r#"at /$defs/b: `$id` "/x" is the URI of two schemas"#],
    );
    check_uncovered(json!({"items": {"$id": "#x"}}), r##"at /items: `$id` "#x" with a fragment"##);
}

#[test]
fn reference_to_an_identifier_that_is_not_read_is_not_covered() {
    // Parts of an unknown keyword are not compiled, so that their identifiers are not read.
    for named in [
        json!({"$id": "#x y"}),
        json!({"$id": "http://a/b#x%20y"}),
        json!({"items": {"$id": "#x y"}}),
        json!([1, {"a": {"$id": "#x y"}}]),
    ] {
        check_uncovered(
            json!({"$ref": "#x%20y", "definitions": {"a": named}}),
            r##"at the root: `$ref` to "#x%20y""##,
        );
    }
    for other in [json!({"$id": "#x"}), json!({"id": "#x y"}), json!(["#x y"]), json!({"$id": 5})] {
        check(
            json!({"$ref": "#x%20y", "definitions": {"a": other}}),
            &[r##"at the root: `$ref` to "#x%20y" leads nowhere"##],
        );
    }
    for named in [
        json!({"$id": "http://a/b/c"}),
        json!({"$id": "c"}),
        json!({"$id": "/b/c#"}),
        json!({"$id": "http://a/d/", "items": {"$id": "../b/c"}}),
        json!([{"$id": "#part", "items": {"$id": "c"}}]),
    ] {
        check_uncovered(
            json!({"$id": "http://a/b/root", "$ref": "c", "definitions": {"a": named}}),
            r#"at the root: `$ref` to "c""#,
        );
    }
    for other in [json!({"$id": "http://a/c"}), json!({"$id": "http://a/d/", "items": {"$id": "c"}})] {
        check(
            json!({"$id": "http://a/b/root", "$ref": "c", "definitions": {"a": other}}),
            &[r#"at the root: `$ref` to "c" leaves the schema; nothing is fetched"#],
        );
    }
}

#[test]
fn dynamic_reference_that_may_mean_several_is_not_covered() {
    let schema = json!({
        "$ref": "list",
        "$defs": {
            "any": {"$dynamicAnchor": "items", "type": "string"},
            "list": {
                "$id": "list",
                "items": {"$dynamicRef": "#items"},
                "$defs": {"items": {"$dynamicAnchor": "items"}}
            }
        }
    });
    let what = r##"at /$defs/list/items: `$dynamicRef` to "#items", of which there are several,"##;
    check_uncovered(schema, what);
}

#[test]
fn reference_to_something_else_is_a_problem() {
    check(
        json!({"$ref": "#/default", "default": 5}),
        &["at /default: a schema is an object or a boolean, not 5"],
    );
    check(
        json!({"$ref": "#/a/b", "a": {"b": {"type": 1}}}),
        &["at /a/b: `type` must be a type of JSON or a list of them, not 1"],
    );
}

#[test]
fn reference_loop_is_a_problem() {
    let message = "`$ref` leads back to itself before it reaches a part of the value";
    check(json!({"$ref": "#"}), &[&format!("at the root: {message}")]);
    let schema = json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}});
    check(schema, &[&format!("at /$defs/b: {message}")]);
    for key in ["allOf", "anyOf", "oneOf"] {
        let schema = json!({"properties": {"x": {key: [{"type": "null"}, {"$ref": "#/properties/x"}]}}});
        check(schema, &[&format!("at /properties/x/{key}/1: {message}")]);
    }
    for key in ["not", "if"] {
        check(json!({key: {"$ref": "#"}}), &[&format!("at /{key}: {message}")]);
    }
    check(
        json!({"dependentSchemas": {"a": {"$ref": "#"}}}),
        &[&format!("at /dependentSchemas/a: {message}")],
    );
}

#[test]
fn reference_that_goes_into_the_value_is_no_loop() {
    for schema in [
        json!({"items": {"$ref": "#"}}),
        json!({"properties": {"a": {"$ref": "#"}}}),
        json!({"additionalProperties": {"$ref": "#"}}),
        json!({"contains": {"$ref": "#"}}),
        json!({"propertyNames": {"$ref": "#"}}),
    ] {
        plan(&schema);
    }
}

#[test]
fn very_deep_schema_is_a_problem() {
    let mut schema = json!({});
    for _ in 0..300 {
        schema = json!({"items": schema});
    }
    assert_eq!(problems(&schema).len(), 1);
}

#[test]
fn very_long_chain_of_references_is_a_problem() {
    let mut defs = serde_json::Map::new();
    for at in 0..1_000 {
        defs.insert(format!("d{at}"), json!({"allOf": [{"$ref": format!("#/$defs/d{}", at + 1)}]}));
    }
    defs.insert("d1000".to_owned(), json!({}));
    let found = Plan::compile(&json!({"$ref": "#/$defs/d0", "$defs": defs})).unwrap_err();
    assert!(found.first().unwrap().message.starts_with("more than 64 schemas"), "{found:?}");
}

#[test]
fn a_schema_is_at_most_256_steps_deep() {
    let nested = |levels: usize| (0..levels).fold(json!(true), |inner, _| json!({ "items": inner }));
    let of_objects =
        |levels: usize| (0..levels).fold(json!({}), |inner, _| json!({ "additionalProperties": inner }));
    for nested in [&nested as &dyn Fn(usize) -> Value, &of_objects] {
        assert_eq!(problems(&nested(256)), Vec::<String>::new());
    }
    let error = problems(&of_objects(257));
    assert!(matches!(&error[..], [only] if only.ends_with("the schema is nested too deeply")), "{error:?}");
}

#[test]
fn a_default_is_filled_in_if_the_decoder_has_it_and_the_schema_is_one_of_a_type() {
    use crate::{
        arguments::plan::compile::{Origin, compile},
        internal_keywords::{FILLS, IGNORES},
    };
    let canonical = |origin: Origin, property: &Value, required: &[&str], text: &'static str| {
        let schema = json!({ "properties": { "a": property }, "required": required, (IGNORES): true });
        let plan = compile(&schema, origin).unwrap();
        plan.canonical(text.into()).unwrap().as_str().to_owned()
    };
    let filled = json!({ "type": "integer", "default": 7, (FILLS): true });
    for (origin, property, required, text, expected) in [
        (Origin::Own, &filled, &[][..], "{}", r#"{"a":7}"#),
        (Origin::Own, &filled, &[], r#"{"a":1}"#, r#"{"a":1}"#),
        (Origin::Own, &filled, &[], r#"{"a":null}"#, r#"{"a":7}"#),
        (Origin::Own, &filled, &["a"], "{}", "{}"),
        (Origin::Own, &json!({ "type": "integer", "default": 7 }), &[], "{}", "{}"),
        (Origin::Own, &json!({ "type": "integer", "default": 7, (FILLS): false }), &[], "{}", "{}"),
        (Origin::Own, &json!({ "type": "integer", "default": "x", (FILLS): true }), &[], "{}", "{}"),
        (Origin::Own, &json!({ "type": "integer", (FILLS): true }), &[], "{}", "{}"),
        (Origin::Foreign, &filled, &[], "{}", "{}"),
        // Ignored properties.
        (Origin::Own, &filled, &[], r#"{"b":2,"a":1}"#, r#"{"a":1}"#),
        (Origin::Foreign, &filled, &[], r#"{"b":2,"a":1}"#, r#"{"b":2,"a":1}"#),
    ] {
        assert_eq!(canonical(origin, property, required, text), expected, "{origin:?} {property} {text}");
    }
}

#[test]
fn a_schema_of_common_keywords_certainly_compiles() {
    let names = |count: usize| (0..count).map(|at| format!("p{at}")).collect::<Vec<_>>();
    for (schema, certainly_compiles) in [
        (json!({ "required": names(64) }), true),
        (json!({ "required": names(65) }), false),
        (json!({ "required": ["a", "a"] }), false),
        (json!({ "required": [1] }), false),
        (json!({ "required": "a" }), false),
        (json!({ "type": ["string", "null"] }), true),
        (json!({ "type": ["string", "string"] }), false),
        (json!({ "type": [] }), false),
        (json!({ "type": "text" }), false),
        (json!({ "type": 1 }), false),
        (json!({ "items": { "type": "string" }, "additionalProperties": false }), true),
        (json!({ "items": { "type": "text" } }), false),
        (json!({ "additionalProperties": { "type": "text" } }), false),
        (json!({ "properties": { "a": { "type": "string" }, "b": true } }), true),
        (json!({ "properties": { "a": { "type": "text" } } }), false),
        (json!({ "properties": [] }), false),
        (json!({ "oneOf": [] }), false),
        (json!({ "enum": [1] }), true),
        (json!({ "enum": 1 }), false),
        (
            json!({ "const": null, "description": "d", "title": "t", "default": 1, "examples": [], "format": "f" }),
            true,
        ),
        (json!({ "minimum": 1, "maximum": 2.5, "exclusiveMinimum": 0, "exclusiveMaximum": 3 }), true),
        (json!({ "minimum": "1" }), false),
        (json!({ "exclusiveMaximum": null }), false),
        (json!({ "minLength": 1, "maxLength": 2, "minItems": 0, "maxItems": 3 }), true),
        (json!({ "minLength": -1 }), false),
        (json!({ "maxItems": 1.5 }), false),
        (json!(true), true),
        (json!(false), true),
        (json!(1), false),
        ((0..16).fold(json!({}), |inner, _| json!({ "items": inner })), true),
        ((0..17).fold(json!({}), |inner, _| json!({ "items": inner })), false),
    ] {
        assert_eq!(Plan::certainly_compiles(&schema), certainly_compiles, "{schema}");
        assert!(!certainly_compiles || Plan::compile(&schema).is_ok(), "{schema}");
    }
}

#[test]
fn a_mistake_in_a_property_is_reported_once_also_if_it_is_required() {
    for schema in [
        json!({ "properties": { "a": { "type": 5 } }, "required": ["a"] }),
        json!({ "required": ["a"], "properties": { "a": { "type": 5 } } }),
    ] {
        assert_eq!(problems(&schema).len(), 1, "{:?}", problems(&schema));
    }
}
