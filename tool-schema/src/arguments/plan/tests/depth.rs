//! The depth of values, and reports of what a type does not read.

use serde::Deserialize;
use serde_json::{Value, json};

use super::plan;
use crate::Arguments;

#[test]
fn value_is_nested_as_deeply_as_a_text_may_be_with_empty_lists_and_objects_counted() {
    let plan = plan(&json!({}));
    for empty in [json!([]), json!({})] {
        let list = |levels: usize| (1..levels).fold(empty.clone(), |inner, _| json!([1, inner]));
        let object =
            |levels: usize| (1..levels).fold(empty.clone(), |inner, _| json!({ "a": 1, "b": inner }));
        for nested in [&list as &dyn Fn(usize) -> Value, &object] {
            assert!(plan.admits(&nested(1)) && plan.admits(&nested(plan.deepest)), "{empty}");
            assert!(!plan.admits(&nested(plan.deepest + 1)), "{empty}");
            assert!(plan.violations(&nested(plan.deepest)).is_empty(), "{empty}");
            assert_eq!(plan.violations(&nested(plan.deepest + 1)).len(), 1, "{empty}");
        }
    }
}

#[derive(Debug, Deserialize)]
struct Letters {
    #[serde(rename = "list")]
    _list: Vec<Vec<char>>,
}

#[test]
fn value_in_a_text_that_was_parsed_is_reported_as_that_text() {
    let list = json!({ "type": "array", "items": { "type": "string" } });
    let plan =
        plan(&json!({ "properties": { "list": { "type": "array", "items": list } }, "required": ["list"] }));
    let violation = |text: &'static str| {
        let error = plan.decode::<Letters>(&mut Arguments::from(text).lenient(true)).unwrap_err();
        let first = error.violations()[0].clone();
        assert!(first.expected.starts_with("something that can be read ("), "{first:?}");
        (first.pointer, first.received)
    };
    for (text, pointer, received) in [
        (r#"{"list":[["a","bc"]]}"#, "/list/0/1", r#""bc""#),
        (r#"{"list":["[\"a\",\"bc\"]"]}"#, "/list/0", r#""[\"a\",\"bc\"]""#),
        (r#"{"list":"[[\"a\",\"bc\"]]"}"#, "/list", r#""[[\"a\",\"bc\"]]""#),
    ] {
        assert_eq!(violation(text), (pointer.to_owned(), received.to_owned()), "{text}");
    }
}

#[test]
fn levels_of_lists_and_objects_are_counted_alike() {
    use serde_json::json;

    use crate::arguments::plan::is_nested_within;

    for levels in 0..5 {
        let lists = (0..levels).fold(json!(1), |inner, _| json!([0, inner, "x"]));
        let objects = (0..levels).fold(json!(1), |inner, _| json!({ "a": 0, "b": inner, "c": "x" }));
        let both = (0..levels)
            .fold(json!(1), |inner, at| if at % 2 == 0 { json!([inner]) } else { json!({ "a": inner }) });
        for limit in 0..7 {
            for value in [&lists, &objects, &both] {
                assert_eq!(is_nested_within(value, limit), levels <= limit, "{value} {limit}");
            }
        }
    }
    assert!(
        is_nested_within(&json!([]), 1)
            && !is_nested_within(&json!([]), 0)
            && !is_nested_within(&json!({}), 0)
    );
}

#[test]
fn values_are_nested_less_deeply_where_many_schemas_apply_to_the_same_value() {
    for (schemas, deepest) in
        [(1, 512), (2, 512), (4, 512), (5, 409), (8, 256), (16, 128), (63, 32), (64, 32)]
    {
        let chain = (1..schemas).fold(json!({ "type": "array" }), |inner, _| json!({ "allOf": [inner] }));
        assert_eq!(plan(&chain).deepest, deepest, "{schemas}");
    }
}
