#![allow(clippy::unwrap_used, reason = "a test may")]

use serde_json::{Value, json};
use tool_core::internals::ExactValue;

use super::value_at_path_or_insert;

/// Builds a value from `null` by assigning a value at each path.
fn value_of_parts(parts: &[(&str, Value)]) -> Option<Value> {
    let mut root = ExactValue::Null;
    for (path, value) in parts {
        *value_at_path_or_insert(&mut root, path)? = ExactValue::of(value)?.into_owned();
    }
    serde_json::from_str(&root.to_string()).ok()
}

#[test]
fn names_and_indices_create_missing_containers() {
    let cases = [
        ("$", json!(1)),
        ("$.a", json!({ "a": 1 })),
        ("$.a.b[0].c", json!({ "a": { "b": [{ "c": 1 }] } })),
        ("$['a b'][\"c\"]", json!({ "a b": { "c": 1 } })),
        (r#"$['it\'s "so"']['\u00e9\\']"#, json!({ "it's \"so\"": { "é\\": 1 } })),
        ("$.größe", json!({ "größe": 1 })),
        ("$['a.b]']", json!({ "a.b]": 1 })),
    ];
    for (path, value) in cases {
        assert_eq!(value_of_parts(&[(path, json!(1))]), Some(value), "{path}");
    }
}

#[test]
fn existing_values_are_kept() {
    let parts = [("$.a[0]", json!(1)), ("$.a[1]", json!(2)), ("$.b", json!(3))];
    assert_eq!(value_of_parts(&parts), Some(json!({ "a": [1, 2], "b": 3 })));
}

#[test]
fn a_path_to_several_or_no_values_is_rejected() {
    let deep = format!("${}", ".a".repeat(129));
    assert!(value_at_path_or_insert(&mut ExactValue::Null, &deep[..1 + 2 * 128]).is_some());
    let cases = [
        "", "a", "$a", "$.", "$..a", "$[*]", "$[-1]", "$[1]", "$[+0]", "$['a", "$['a'", "$[]", "$[0",
        "$['\\x']", &deep,
    ];
    for path in cases {
        assert_eq!(value_of_parts(&[(path, json!(1))]), None, "{path}");
    }
    assert_eq!(value_of_parts(&[("$.a", json!("text")), ("$.a.b", json!(1))]), None);
    assert_eq!(value_of_parts(&[("$.a[0]", json!(1)), ("$.a.b", json!(1))]), None);
}
