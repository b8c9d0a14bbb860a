//! F11: a passing and a failing case per keyword.

use serde_json::json;

use super::check;

#[test]
fn one_type_admits_its_values_only() {
    check(json!({"type": "string"}), [json!("a")], [json!(1), json!(null), json!([])]);
    check(json!({"type": "boolean"}), [json!(true)], [json!("true"), json!(1)]);
    check(json!({"type": "null"}), [json!(null)], [json!(""), json!(0), json!(false)]);
    check(json!({"type": "array"}), [json!([])], [json!({})]);
    check(json!({"type": "object"}), [json!({})], [json!([1])]);
    check(json!({"type": "number"}), [json!(1), json!(1.5)], [json!("1")]);
}

#[test]
fn several_types_admit_the_values_of_each() {
    check(json!({"type": ["boolean", "null"]}), [json!(null), json!(true)], [json!(0), json!("")]);
    check(json!({"type": ["integer", "string"]}), [json!(3), json!("3")], [json!(3.5)]);
}

#[test]
fn null_is_no_zero_value() {
    // F07
    check(json!({"type": "integer"}), [json!(0)], [json!(null)]);
    check(json!({"type": ["integer", "null"]}), [json!(null)], [json!("")]);
}

#[test]
fn float_without_a_fraction_is_an_integer() {
    check(
        json!({"type": "integer"}),
        [json!(3), json!(3.0), json!(1e2), json!(1e300)],
        [json!(3.5), json!("3")],
    );
}

#[test]
fn required_properties_are_present() {
    // B16
    let schema = json!({"required": ["a"], "properties": {"a": {}, "b": {}}});
    check(schema, [json!({"a": null}), json!(1)], [json!({}), json!({"b": 1})]);
    check(json!({"required": ["a", "b"]}), [json!({"a": 1, "b": 2})], [json!({"a": 1})]);
}

#[test]
fn properties_fit_their_schemas() {
    let schema = json!({"properties": {"a": {"type": "integer"}, "b": false}});
    check(schema, [json!({"a": 1}), json!({"c": "x"})], [json!({"a": "1"}), json!({"b": 1})]);
}

#[test]
fn property_that_is_named_like_a_keyword_is_a_property() {
    let schema = json!({"properties": {"items": {"type": "integer"}, "$ref": {"type": "integer"}}});
    check(schema, [json!({"items": 1, "$ref": 2})], [json!({"items": "x"}), json!({"$ref": "x"})]);
}

#[test]
fn many_properties_are_found_as_few_are() {
    let properties: serde_json::Map<_, _> =
        (0..100).map(|at| (format!("p{at}"), json!({"const": at}))).collect();
    let schema = json!({"properties": properties, "required": ["p99", "q"], "additionalProperties": false});
    check(schema, [], [json!({"p99": 99, "q": 1})]);
    let schema = json!({"properties": properties, "required": ["p99"], "additionalProperties": false});
    check(
        schema,
        [json!({"p99": 99, "p7": 7})],
        [json!({"p7": 7}), json!({"p99": 98}), json!({"p99": 99, "p": 1})],
    );
}

#[test]
fn closed_object_refuses_other_properties() {
    // B20
    let schema = json!({"properties": {"a": {}}, "additionalProperties": false});
    check(schema, [json!({}), json!({"a": 1})], [json!({"a": 1, "b": 2})]);
}

#[test]
fn additional_properties_fit_their_schema() {
    let schema = json!({"properties": {"a": {}}, "additionalProperties": {"type": "integer"}});
    check(schema, [json!({"a": "x", "b": 1})], [json!({"b": "x"})]);
    check(json!({"additionalProperties": true}), [json!({"b": "x"})], []);
}

#[test]
fn pattern_properties_fit_their_schemas() {
    let schema = json!({
        "patternProperties": {"^n_": {"type": "integer"}, "_s$": {"minimum": 5}},
        "additionalProperties": false
    });
    check(
        schema,
        [json!({"n_a": 1}), json!({"n_s": 5})],
        [json!({"n_a": "x"}), json!({"n_s": 4}), json!({"m": 1})],
    );
}

#[test]
fn property_names_fit_their_schema() {
    check(json!({"propertyNames": {"maxLength": 3}}), [json!({"abc": 1}), json!({})], [json!({"abcd": 1})]);
    check(json!({"propertyNames": false}), [json!({})], [json!({"a": 1})]);
}

#[test]
fn properties_are_counted() {
    let schema = json!({"minProperties": 1, "maxProperties": 2});
    check(schema, [json!({"a": 1}), json!({"a": 1, "b": 2})], [json!({}), json!({"a": 1, "b": 2, "c": 3})]);
}

#[test]
fn property_can_require_another() {
    let schema = json!({"dependentRequired": {"a": ["b"]}});
    check(schema, [json!({}), json!({"b": 1}), json!({"a": 1, "b": 2})], [json!({"a": 1})]);
}

#[test]
fn property_can_bring_a_schema() {
    let schema = json!({"dependentSchemas": {"a": {"properties": {"b": {"type": "integer"}}}}});
    check(schema, [json!({"b": "x"}), json!({"a": 1, "b": 2})], [json!({"a": 1, "b": "x"})]);
}

#[test]
fn enum_admits_its_values_only() {
    check(
        json!({"enum": ["a", 1, null, {"x": [1]}]}),
        [json!("a"), json!(null), json!({"x": [1.0]})],
        [json!("b"), json!({})],
    );
    check(json!({"enum": []}), [], [json!(null)]);
}

#[test]
fn const_admits_one_value() {
    check(
        json!({"const": {"a": 1, "b": 2}}),
        [json!({"b": 2.0, "a": 1})],
        [json!({"a": 1}), json!({"a": 1, "b": 3})],
    );
    check(json!({"const": null}), [json!(null)], [json!(false), json!(0)]);
    check(json!({"enum": [1, 2], "const": 2}), [json!(2)], [json!(1)]);
}

#[test]
fn one_and_true_differ() {
    check(json!({"const": 1}), [json!(1.0)], [json!(true), json!("1")]);
    check(json!({"enum": [[false]]}), [json!([false])], [json!([0])]);
}

#[test]
fn bounds_are_inclusive_or_exclusive() {
    // B17
    check(
        json!({"minimum": 1, "maximum": 50}),
        [json!(1), json!(50), json!("x")],
        [json!(0), json!(51), json!(0.999)],
    );
    check(
        json!({"exclusiveMinimum": 0, "exclusiveMaximum": 1}),
        [json!(0.5), json!(1e-300)],
        [json!(0), json!(1), json!(0.0), json!(1.0)],
    );
}

#[test]
fn multiples_are_those_of_the_literals() {
    check(
        json!({"multipleOf": 3}),
        [json!(9), json!(0), json!(-3), json!(6.0), json!("x")],
        [json!(10), json!(1.5)],
    );
    check(json!({"multipleOf": 0.1}), [json!(0.3), json!(1), json!(-7.7)], [json!(0.35)]);
}

#[test]
fn lengths_count_characters() {
    check(
        json!({"minLength": 1, "maxLength": 1}),
        [json!("é"), json!("😀"), json!(5)],
        [json!(""), json!("éa")],
    );
    check(json!({"minLength": 4}), [json!("éééé")], [json!("😀"), json!("éé")]);
    check(json!({"maxLength": 2.0}), [json!("ab")], [json!("abc")]);
}

#[test]
fn pattern_matches_anywhere() {
    check(json!({"pattern": "b+"}), [json!("abbc"), json!(5)], [json!("ac"), json!("")]);
    check(json!({"pattern": "^a$"}), [json!("a")], [json!("a\n"), json!("ba"), json!("b\na")]);
}

#[test]
fn items_fit_their_schema() {
    check(json!({"items": {"type": "integer"}}), [json!([]), json!([1, 2]), json!("x")], [json!([1, "2"])]);
    check(json!({"items": false}), [json!([])], [json!([1])]);
}

#[test]
fn first_items_fit_their_own_schemas() {
    let schema = json!({"prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "null"}});
    check(schema, [json!([1]), json!([1, "a"]), json!([1, "a", null])], [json!(["a"]), json!([1, "a", 2])]);
    check(json!({"prefixItems": [true], "items": false}), [json!([1])], [json!([1, 2])]);
}

#[test]
fn items_are_counted() {
    check(json!({"minItems": 1, "maxItems": 2}), [json!([1]), json!([1, 2])], [json!([]), json!([1, 2, 3])]);
}

#[test]
fn unique_items_all_differ() {
    let schema = json!({"uniqueItems": true});
    check(
        schema,
        [json!([1, "1", true, null]), json!([])],
        [json!([1, 2, 1]), json!([1, 1.0]), json!([{"a": 1, "b": 2}, {"b": 2, "a": 1}])],
    );
    check(json!({"uniqueItems": false}), [json!([1, 1])], []);
}

#[test]
fn many_items_are_compared_as_few_are() {
    let mut items: Vec<_> = (0..500).map(|at| json!({"at": at, "in": [at]})).collect();
    let unique = json!(items);
    items.push(json!({"in": [7.0], "at": 7}));
    check(json!({"uniqueItems": true}), [unique], [json!(items)]);
}

#[test]
fn contains_counts_the_items_that_fit() {
    let schema = json!({"contains": {"type": "integer"}});
    check(schema, [json!(["a", 1]), json!("x")], [json!([]), json!(["a"])]);
    let schema = json!({"contains": {"type": "integer"}, "minContains": 2, "maxContains": 3});
    check(schema, [json!([1, 2]), json!([1, 2, 3, "a"])], [json!([1]), json!([1, 2, 3, 4])]);
    check(json!({"contains": false, "minContains": 0}), [json!([]), json!([1])], []);
    check(json!({"minContains": 2}), [json!([])], []);
}

#[test]
fn all_of_needs_every_branch() {
    check(json!({"allOf": [{"minimum": 1}, {"maximum": 5}]}), [json!(3)], [json!(0), json!(6)]);
}

#[test]
fn any_of_needs_one_branch() {
    check(
        json!({"anyOf": [{"type": "integer"}, {"minimum": 2}]}),
        [json!(1), json!(2.5), json!(3)],
        [json!(1.5)],
    );
}

#[test]
fn one_of_needs_exactly_one_branch() {
    check(
        json!({"oneOf": [{"type": "integer"}, {"minimum": 2}]}),
        [json!(1), json!(2.5)],
        [json!(1.5), json!(3)],
    );
}

#[test]
fn not_admits_the_rest() {
    check(json!({"not": {"type": "string"}}), [json!(1)], [json!("a")]);
    check(json!({"not": true}), [], [json!(1)]);
}

#[test]
fn condition_chooses_the_schema() {
    let schema = json!({"if": {"type": "integer"}, "then": {"minimum": 5}, "else": {"type": "string"}});
    check(schema, [json!(5), json!("a")], [json!(4), json!(null)]);
    check(json!({"then": false, "else": false}), [json!(1)], []);
    check(json!({"if": true}), [json!(1)], []);
}

#[test]
fn boolean_schemas_admit_all_or_nothing() {
    check(json!(true), [json!(1), json!(null)], []);
    check(json!({}), [json!(1), json!(null)], []);
    check(json!(false), [], [json!(1), json!(null)]);
}

#[test]
fn unevaluated_properties_are_those_that_no_schema_speaks_of() {
    let schema = json!({
        "properties": {"a": {}},
        "allOf": [{"properties": {"b": {}}}],
        "anyOf": [
            {"properties": {"c": {"type": "integer"}}, "required": ["c"]},
            {"patternProperties": {"^d": {}}, "minProperties": 1}
        ],
        "unevaluatedProperties": {"type": "null"}
    });
    check(
        schema,
        [json!({"a": 1, "b": 1, "c": 1}), json!({"d": 1, "dd": 1, "e": null})],
        [json!({"a": 1, "e": 1}), json!({"c": "x"}), json!({"c": 1, "f": 1})],
    );
    let schema = json!({"allOf": [{"additionalProperties": true}], "unevaluatedProperties": false});
    check(schema, [json!({"a": 1})], []);
    let schema = json!({"not": {"not": {"properties": {"a": {}}}}, "unevaluatedProperties": false});
    check(schema, [json!({})], [json!({"a": 1})]);
}

#[test]
fn unevaluated_items_are_those_that_no_schema_speaks_of() {
    let schema = json!({
        "prefixItems": [{"type": "integer"}],
        "if": {"prefixItems": [true, {"const": "two"}]},
        "then": {"prefixItems": [true, true, {"type": "boolean"}]},
        "unevaluatedItems": false
    });
    check(schema, [json!([1]), json!([1, "two", true])], [json!([1, 2]), json!([1, "two", true, 4])]);
    let schema = json!({"contains": {"type": "string"}, "unevaluatedItems": {"type": "integer"}});
    check(schema, [json!(["a", 1, "b"])], [json!(["a", null])]);
    check(json!({"allOf": [{"items": true}], "unevaluatedItems": false}), [json!([1])], []);
}

#[test]
fn annotations_refuse_nothing() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "https://example.com/a", "$comment": "",
        "title": "t", "description": "d", "default": 1, "examples": [1], "deprecated": true, "readOnly": true,
        "writeOnly": true, "format": "date", "contentEncoding": "base64", "contentMediaType": "a/b",
        "contentSchema": {"type": "integer"}, "x-order": 3, "nullable": false, "definitions": {"a": 5}
    });
    check(schema, [json!("x"), json!(null)], []);
}

#[test]
fn a_value_is_listed_and_equal_to_the_constant_in_either_order() {
    for schema in [json!({ "enum": [1, 2], "const": 3 }), json!({ "const": 3, "enum": [1, 2] })] {
        check(schema, [], [json!(1), json!(2), json!(3)]);
    }
    for schema in [json!({ "enum": [1, 2], "const": 2 }), json!({ "const": 2, "enum": [1, 2] })] {
        check(schema, [json!(2), json!(2.0)], [json!(1), json!(3)]);
    }
    // More values than are searched one by one, in no order.
    let names: Vec<_> = (0..30).map(|at| json!(format!("n{}", at * 7 % 30))).collect();
    let good: [serde_json::Value; 30] = names.clone().try_into().unwrap();
    check(json!({ "enum": names }), good, [json!("n30"), json!("n"), json!(1), json!(null)]);
    assert!(super::problems(&json!({ "dependentRequired": 5 }))[0].contains("an object of lists of names"));
}
