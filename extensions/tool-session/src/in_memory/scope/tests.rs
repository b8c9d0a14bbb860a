//! The length of a scope after each change.

use serde_json::json;

use super::*;
use crate::JsonText;

fn map(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

/// Applies `changes`, and compares the length with the number of bytes of the text.
fn change(scope: &mut StateScope, changes: Value) {
    let changes = map(changes);
    let bytes = scope.checked_bytes_after(&changes).unwrap();
    scope.apply_patch(&changes, bytes);
    let text = serde_json::to_string(scope.values()).unwrap();
    assert_eq!(object_bytes(scope.member_bytes), text.len(), "{text}");
    assert_eq!(StateScope::new(scope.values().clone()).member_bytes, scope.member_bytes, "{text}");
}

#[test]
fn a_scope_knows_the_length_of_its_text_after_each_change() {
    let values = [
        json!({}),
        json!({ "a": 1 }),
        json!({ "a": null }),
        json!({ "a": { "b": { "c": [1, null, { "d": null }] } }, "\"\n\u{1}": "é\u{2028}" }),
        json!({ "a": { "b": { "c": null } } }),
        json!({ "a": { "b": null, "x": { "y": null, "z": 1.5e300 } } }),
        json!({ "a": { "x": { "z": null } } }),
        json!({ "a": { "x": null } }),
        json!({ "a": {}, "b": -0.0, "c": true, "d": 18446744073709551615_u64 }),
        json!({ "a": "text", "b": null, "absent": null }),
        json!({ "a": { "n": null, "m": { "n": null } }, "c": [[], {}] }),
        json!({ "a": [], "c": null, "d": {} }),
    ];
    // Each change after each other one.
    for first in &values {
        for second in &values {
            let mut scope = StateScope::default();
            for changes in values.iter().chain([first, second, first]) {
                change(&mut scope, changes.clone());
            }
        }
    }
}

#[test]
fn a_change_beyond_the_limit_has_no_effect_and_one_up_to_it_is_applied() {
    let mut scope = StateScope::default();
    // `{"a":"..","b":1}`
    let text = "x".repeat(JsonText::MAX_BYTES - r#"{"a":"","b":1}"#.len());
    change(&mut scope, json!({ "a": text }));
    change(&mut scope, json!({ "b": 1 }));
    assert_eq!(object_bytes(scope.member_bytes), JsonText::MAX_BYTES);
    let problem = scope.checked_bytes_after(&map(json!({ "b": 10 }))).unwrap_err().to_string();
    assert_eq!(problem, "the text has 16777217 bytes; at most 16777216 bytes (16 MiB) are stored");
    change(&mut scope, json!({ "a": null }));
    assert_eq!(json!(scope.values()), json!({ "b": 1 }));
}

#[test]
fn a_change_costs_what_it_changes_and_not_what_the_scope_has() {
    let text = "x".repeat(JsonText::MAX_BYTES / 2);
    let mut scope = StateScope::new(map(json!({ "large": { "text": text }, "n": 0 })));
    let place = |scope: &StateScope| scope.values()["large"]["text"].as_str().unwrap().as_ptr();
    let before = place(&scope);
    for number in 0..20_000 {
        let changes = map(json!({ "n": number, "large": { "m": number } }));
        let bytes = scope.checked_bytes_after(&changes).unwrap();
        scope.apply_patch(&changes, bytes);
    }
    // The large value is neither copied nor written: 20,000 times 8 MiB would be 160 GB.
    assert_eq!(place(&scope), before);
}
