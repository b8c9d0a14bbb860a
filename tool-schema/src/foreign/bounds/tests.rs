//! The limits of foreign schemas.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::{Value, json};

use super::{DepthBounds, MAX_ACTIVE_SCHEMAS, MAX_ACTIVE_SCHEMAS_EXPLAINED};

fn reach(schema: &Value) -> (usize, usize) {
    let DepthBounds { deepest, explained } = DepthBounds::for_schema(schema, 128).unwrap();
    (deepest, explained)
}

#[test]
fn a_schema_that_names_each_level_once_reaches_everywhere() {
    assert_eq!(reach(&json!(true)), (128, 128));
    assert_eq!(reach(&json!({"properties": {"a": {"items": {"type": "string"}}, "b": {}}})), (128, 128));
    // A tree: each value is in one branch only.
    let tree = json!({"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}});
    assert_eq!(reach(&tree), (128, 128));
    let list = json!({"$dynamicAnchor": "n", "items": {"$dynamicRef": "#n"}});
    assert_eq!(reach(&list), (128, 128));
}

#[test]
fn branches_that_meet_again_below_are_counted() {
    let branch = |kind: &str| json!({"properties": {"kind": {"const": kind}, "in": {"$ref": "#"}}});
    // The number of schemas grows by a factor of three at each level, from 4 to 5,464 at the sixth.
    assert_eq!(reach(&json!({"anyOf": [branch("a"), branch("b"), branch("c")]})), (128, 6));
    // By a factor of two, from 3 to 8,187 at the tenth.
    assert_eq!(reach(&json!({"anyOf": [branch("a"), branch("b")]})), (128, 10));
}

#[test]
fn unevaluated_keywords_reduce_the_depth() {
    let branch = |kind: &str| json!({"properties": {"kind": {"const": kind}, "in": {"$ref": "#"}}});
    let branches = json!({"anyOf": [branch("a"), branch("b")], "unevaluatedProperties": false});
    // 65,531 schemas at the 13th level.
    assert_eq!(reach(&branches), (13, 10));
    let list = json!({"items": {"$ref": "#"}, "unevaluatedItems": false});
    assert_eq!(reach(&list).0, 128);
}

#[test]
fn a_long_chain_leaves_less_depth() {
    let chain = (0..40).fold(json!({"items": {"$ref": "#"}}), |schema, _| json!({"allOf": [schema]}));
    assert_eq!(reach(&chain), (MAX_ACTIVE_SCHEMAS / 42, MAX_ACTIVE_SCHEMAS_EXPLAINED / 42));
}

#[test]
fn too_many_schemas_for_one_value_are_rejected() {
    let chain = (0..70).fold(json!({}), |schema, _| json!({"not": schema}));
    let refused = DepthBounds::for_schema(&chain, 128).unwrap_err();
    let text = "at the root: more than 64 schemas apply to the same value one within the other";
    assert_eq!(refused, text);
    // Each of these twenty applies the next one twice.
    let mut defs = serde_json::Map::new();
    for at in 0..20 {
        let next = json!({"$ref": format!("#/definitions/d%20{}", at + 1)});
        defs.insert(format!("d {at}"), json!({"allOf": [next, next]}));
    }
    defs.insert("d 20".to_owned(), json!({}));
    let schema = json!({"items": {"$ref": "#/definitions/d%200"}, "definitions": defs});
    let refused = DepthBounds::for_schema(&schema, 128).unwrap_err();
    assert_eq!(refused, "at the root: more than 10000 schemas apply to the same value");
}

/// Returns a schema that applies `count` schemas to one value.
fn schema_of(count: usize) -> Value {
    json!({ "allOf": vec![json!({}); count - 1] })
}

#[test]
fn exactly_as_many_schemas_as_the_limits_are_accepted() {
    let chain = |length: usize| (1..length).fold(json!({}), |schema, _| json!({"not": schema}));
    assert_eq!(reach(&chain(64)), (MAX_ACTIVE_SCHEMAS / 64, MAX_ACTIVE_SCHEMAS_EXPLAINED / 64));
    assert!(DepthBounds::for_schema(&chain(65), 128).is_err());
    assert_eq!(reach(&schema_of(10_000)).0, 128);
    assert!(DepthBounds::for_schema(&schema_of(10_001), 128).is_err());
    // One property, with a schema for the value itself.
    let below = |count: usize| json!({"properties": {"a": schema_of(count - 1)}});
    assert_eq!(reach(&below(10_000)), (128, 128));
    let mut more = below(10_000);
    more["anyOf"] = json!([{}]);
    assert_eq!(reach(&more), (128, 0));
}

#[test]
fn each_keyword_with_schemas_counts_for_the_value_or_for_a_part_of_it() {
    let chain = (1..64).fold(json!({}), |schema, _| json!({"not": schema}));
    for key in ["allOf", "anyOf", "oneOf", "not", "if", "then", "else"] {
        for schema in [json!({key: chain}), json!({key: [{}, chain]})] {
            assert!(DepthBounds::for_schema(&schema, 128).is_err(), "{key}");
        }
    }
    for key in ["dependentSchemas", "dependencies"] {
        assert!(DepthBounds::for_schema(&json!({key: {"a": {}, "b": chain}}), 128).is_err(), "{key}");
    }
    let large = schema_of(9_999);
    // One more than the limit, of which an explanation reaches no part.
    let counted = |key: &str, schemas: Value| reach(&json!({key: schemas, "anyOf": [{}]}));
    for key in [
        "items",
        "prefixItems",
        "additionalItems",
        "unevaluatedItems",
        "contains",
        "additionalProperties",
        "unevaluatedProperties",
        "propertyNames",
    ] {
        assert_eq!(counted(key, large.clone()), (128, 0), "{key}");
        assert_eq!(counted(key, json!([{}, large])), (128, 0), "{key}");
    }
    for key in ["properties", "patternProperties"] {
        assert_eq!(counted(key, json!({"a": large})), (128, 0), "{key}");
    }
    // A property has one name, and may match several patterns.
    let halves = json!({"a": schema_of(5_000), "b": schema_of(4_999)});
    assert_eq!(counted("properties", halves.clone()), (128, 128));
    assert_eq!(counted("patternProperties", halves), (128, 0));
    assert_eq!(counted("title", large), (128, 128));
}

#[test]
fn exactly_as_many_schemas_as_unevaluated_keywords_permit_are_accepted() {
    // The root and 99 branches apply the same definition to a property: 200 + 100 times its schemas in the first level,
    // and more in the second, since the definition leads back to the root.
    let property = json!({"properties": {"a": {"$ref": "#/definitions/a"}}});
    let schema = |count: usize| {
        let mut schema = property.clone();
        schema["allOf"] = vec![property.clone(); 99].into();
        schema["definitions"] = json!({"a": schema_of(count)});
        schema["definitions"]["a"]["items"] = json!({"$ref": "#"});
        schema["unevaluatedProperties"] = true.into();
        schema
    };
    assert_eq!(reach(&schema(998)), (1, 0));
    let mut closed = schema(998);
    closed["definitions"]["a"]["items"] = true.into();
    assert_eq!(reach(&closed), (128, 0));
    assert_eq!(reach(&schema(999)), (0, 0));
}

#[test]
fn a_reference_cycle_is_rejected() {
    let text = "`$ref` leads back to itself before it reaches a part of the value";
    for schema in [json!({"$ref": "#"}), json!({"items": {"anyOf": [{"not": {"$ref": "#/items"}}]}})] {
        assert_eq!(DepthBounds::for_schema(&schema, 128).unwrap_err(), text);
    }
    // These may refer to another schema.
    assert_eq!(reach(&json!({"$anchor": "a", "$ref": "#a"})).0, 128);
    let named = json!({"anyOf": [{"$ref": "b"}], "definitions": {"b": {"id": "b", "not": {"$ref": "#"}}}});
    assert_eq!(reach(&named).0, 128);
}
