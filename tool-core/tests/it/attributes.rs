//! Span attributes of a call and their limits.

use serde_json::{Value, json};
use tool_core::ToolContext;

/// Returns the attributes of a call and the number of those that were dropped.
fn taken(cx: &ToolContext) -> Option<(Value, u64)> {
    cx.take_attributes().map(|attributes| (attributes.set.into(), attributes.dropped))
}

// C18
#[test]
fn a_call_has_attributes_once_one_was_set_or_dropped() {
    let cx = ToolContext::for_test();
    assert_eq!(taken(&cx), None);
    cx.set_attribute("a", 1);
    cx.set_attribute("b", "x");
    cx.clone().set_attribute("a", json!([2]));
    assert_eq!(taken(&cx), Some((json!({ "a": [2], "b": "x" }), 0)));
    assert_eq!(taken(&cx), None);
    cx.set_attribute("n".repeat(129), 1);
    assert_eq!(taken(&cx), Some((json!({}), 1)));
    cx.set_attribute("n".repeat(129), 1);
    cx.set_attribute("n".repeat(130), 1);
    cx.set_attribute("n", 1);
    assert_eq!(taken(&cx), Some((json!({ "n": 1 }), 2)));
}

// C18
#[test]
fn attributes_beyond_a_limit_are_counted_and_not_set() {
    let is_set = |name: String, value: Value| {
        let cx = ToolContext::for_test();
        cx.set_attribute(name, value);
        taken(&cx).unwrap().1 == 0
    };
    assert!(is_set("n".repeat(128), json!(1)) && !is_set("n".repeat(129), json!(1)));
    // In bytes.
    assert!(is_set("é".repeat(64), json!(1)) && !is_set("é".repeat(65), json!(1)));
    for (length, fits) in [(4_094, true), (4_095, false)] {
        assert_eq!(is_set("n".to_owned(), json!("x".repeat(length))), fits, "{length}");
        assert_eq!(is_set("n".to_owned(), json!(["x".repeat(length - 2)])), fits, "{length}");
    }
    let cx = ToolContext::for_test();
    for number in 0..64 {
        cx.set_attribute(format!("n{number}"), number);
    }
    cx.set_attribute("n64", 64);
    cx.set_attribute("n0", "replaced");
    let (set, dropped) = taken(&cx).unwrap();
    assert_eq!((set.as_object().unwrap().len(), dropped), (64, 1));
    assert_eq!((&set["n0"], set.get("n64")), (&json!("replaced"), None));
}
