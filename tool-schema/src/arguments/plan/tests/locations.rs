//! Violations that a value cannot represent stay at their place when optional `null`s before them are removed.

use serde_json::{Value, json};

use super::plan;
use crate::Arguments;

/// Returns the formatted violations of `text`.
fn said(schema: &Value, text: &str) -> String {
    let fit = plan(schema).fit(Arguments::new(text.into()));
    fit.err().map(|error| error.violations().to_string()).unwrap_or_default()
}

fn schema() -> Value {
    let small = json!({"type": "integer", "maximum": 3});
    let inner = json!({"type": "object", "properties": {"a": {"type": "integer"}, "n": small, "m": small}});
    json!({
        "type": "object",
        "properties": {
            "a": {"type": "integer"},
            "n": small,
            "m": small,
            "c": {"type": "boolean"},
            "inner": inner,
            "any": {"anyOf": [inner, {"type": "string"}]},
        },
        "required": ["c"],
    })
}

#[test]
fn duplicate_names_after_a_removed_null_hide_no_other_violation() {
    assert_eq!(
        said(&schema(), r#"{"a":null,"n":1,"n":2,"c":"nope"}"#),
        r#"/n: expected the property once, got it twice; /c: expected a boolean, got "nope""#
    );
    assert_eq!(
        said(&schema(), r#"{"inner":{"a":null,"n":1,"n":2,"m":4},"a":null,"c":"nope"}"#),
        r#"/inner/n: expected the property once, got it twice; /inner/m: expected at most 3, got 4; /c: expected a boolean, got "nope""#
    );
    assert_eq!(
        said(&schema(), r#"{"a":null,"a":null,"n":1,"c":0}"#),
        "/a: expected the property once, got it twice; /c: expected a boolean, got 0"
    );
}

#[test]
fn numbers_after_a_removed_null_keep_their_own_text() {
    assert_eq!(
        said(&schema(), r#"{"a":null,"n":1e400,"m":4,"c":true}"#),
        "/n: expected at most 3, got 1e400; /m: expected at most 3, got 4"
    );
    let moved = "3.0000000000000001";
    assert_eq!(
        said(&schema(), &format!(r#"{{"a":null,"n":{moved},"m":4,"c":true}}"#)),
        format!("/n: expected an integer, got {moved}; /m: expected at most 3, got 4")
    );
    assert_eq!(
        said(
            &schema(),
            &format!(r#"{{"a":null,"inner":{{"a":null,"n":5,"m":{moved}}},"n":1e400,"c":true}}"#)
        ),
        format!(
            "/inner/n: expected at most 3, got 5; /inner/m: expected an integer, got {moved}; /n: expected at most 3, got 1e400"
        )
    );
}

#[test]
fn nulls_removed_by_several_schemas_of_one_object_count_together() {
    let part = |name: &str| json!({"properties": {name: {"type": "integer"}}});
    let schema = json!({
        "type": "object",
        "properties": {"n": {"type": "integer", "maximum": 3}, "m": {"type": "integer", "maximum": 3}},
        "allOf": [part("b"), part("a")],
    });
    assert_eq!(
        said(&schema, r#"{"a":null,"b":null,"n":1e400,"c":null,"m":4}"#),
        "/n: expected at most 3, got 1e400; /m: expected at most 3, got 4"
    );
}

#[test]
fn numbers_of_a_discarded_value_are_not_reported_for_the_kept_one() {
    assert_eq!(
        said(&schema(), r#"{"inner":{"n":5},"inner":{"n":1e400},"c":true}"#),
        "/inner: expected the property once, got it twice; /inner/n: expected at most 3, got 5"
    );
    assert_eq!(
        said(&schema(), r#"{"inner":{"n":5},"inner":{"n":3.0000000000000001},"c":true}"#),
        "/inner: expected the property once, got it twice; /inner/n: expected at most 3, got 5"
    );
}
