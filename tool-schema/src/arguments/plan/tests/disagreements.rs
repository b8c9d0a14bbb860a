//! The differences between a plan and the `jsonschema` crate with their reasons, and past bugs found by the
//! comparison.

use serde::Deserialize;
use serde_json::{Value, json};

use super::plan;
use crate::arguments::plan::decode::Source;

#[test]
fn large_integer_is_divided_by_a_fraction_without_rounding() {
    // 2^64 - 1 is three times an odd number; the crate divides the float nearest to it.
    let schema = json!({"multipleOf": 1.5});
    let value = json!(u64::MAX);
    assert!(plan(&schema).admits(&value));
    assert!(!jsonschema::options().offline().build(&schema).unwrap().is_valid(&value));
}

#[test]
fn pattern_is_matched_as_it_is_written() {
    // `fancy-regex` 0.19, the crate's usual engine, is content with one `a`.
    let schema = json!({"pattern": "a+a?a+"});
    assert!(!plan(&schema).admits(&json!("a")));
    assert!(jsonschema::options().offline().build(&schema).unwrap().is_valid(&json!("a")));
}

#[test]
fn container_is_not_decoded_where_only_scalars_are_listed() {
    for schema in [json!({"enum": [], "items": false}), json!({"enum": ["a", 1]}), json!({"const": null})] {
        let plan = plan(&schema);
        for text in ["{}", "[]", r#"{"a": 1}"#] {
            assert!(Value::deserialize(Source::new(text, &plan).root_value()).is_err(), "{schema} {text}");
        }
    }
}
