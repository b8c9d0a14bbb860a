#![allow(clippy::unwrap_used, reason = "a test may")]

use serde_json::json;

use super::{Normalizer, SHARED_BUDGET, needs_no_normalization, step_limit, visit_cost};
use crate::Plan;

#[test]
fn a_value_costs_one_step_for_each_part_and_for_each_64_bytes_of_a_string() {
    let text = |length| json!("x".repeat(length));
    for (value, cost) in [
        (json!(null), 1),
        (json!(1.5), 1),
        (json!([]), 1),
        (json!({}), 1),
        (json!([1, [2], 3]), 5),
        (json!({ "a": [true], "b": { "c": 1 } }), 5),
        (text(0), 1),
        (text(63), 1),
        (text(64), 2),
        (text(128), 3),
        (json!([text(64), { "a": text(640) }]), 15),
        // Names cost nothing.
        (json!({ "x".repeat(64): 1 }), 2),
    ] {
        assert_eq!(visit_cost(&value), cost, "{value}");
        assert_eq!(step_limit(1_000, &value), 1_000 + 64 * cost, "{value}");
        assert_eq!(step_limit(usize::MAX, &value), usize::MAX);
    }
}

#[test]
fn steps_are_taken_until_none_is_left() {
    let mut normalizer = Normalizer::new(Plan::anything(), &json!([1]), None);
    assert_eq!(normalizer.steps_left, SHARED_BUDGET + 2 * 64);
    assert!(normalizer.take_steps_if_left(SHARED_BUDGET) && normalizer.take_steps_if_left(0));
    assert!(normalizer.take_steps_if_left(2 * 64) && !normalizer.is_exhausted);
    assert!(normalizer.take_steps_if_left(0) && !normalizer.is_exhausted);
    assert!(!normalizer.take_steps_if_left(1) && normalizer.is_exhausted);
    // What is too much takes all that is left.
    let mut normalizer = Normalizer::new(Plan::anything(), &json!(1), None);
    assert!(!normalizer.take_steps_if_left(usize::MAX) && !normalizer.take_steps_if_left(1));
    assert_eq!(normalizer.steps_left, 0);
}

#[test]
fn only_null_and_integers_that_are_floats_need_normalization() {
    for (value, is_settled) in [
        (json!(null), false),
        (json!(3.0), false),
        (json!(3), true),
        (json!(3.5), true),
        (json!(true), true),
        (json!("x"), true),
        (json!([1, "x", [true]]), true),
        (json!([1, [null]]), false),
        (json!([3.0, 1]), false),
        (json!({ "a": { "b": 1 } }), true),
        (json!({ "a": 1, "b": { "c": null } }), false),
    ] {
        assert_eq!(needs_no_normalization(&value), is_settled, "{value}");
    }
}

#[test]
fn defaults_and_ignored_properties_of_the_first_property_are_part_of_the_canonical_form() {
    use crate::{
        arguments::plan::compile::{Origin, compile},
        internal_keywords::{FILLS, IGNORES},
    };
    let filled = json!({ "properties": { "n": { "type": "integer", "default": 7, (FILLS): true } } });
    let ignoring = json!({ "properties": { "n": { "type": "integer" } }, (IGNORES): true });
    for (inner, text, expected) in [
        (&filled, r#"{"a":{}}"#, r#"{"a":{"n":7}}"#),
        (&filled, r#"{"a":{"n":1}}"#, r#"{"a":{"n":1}}"#),
        (&ignoring, r#"{"a":{"n":1,"x":2}}"#, r#"{"a":{"n":1}}"#),
        (&ignoring, r#"{"a":{"x":12345}}"#, r#"{"a":{}}"#),
    ] {
        let plan = compile(&json!({ "properties": { "a": inner } }), Origin::Own).unwrap();
        assert_eq!(plan.canonical(text.into()).unwrap().as_str(), expected, "{text}");
    }
}
