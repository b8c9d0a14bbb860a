//! Text patterns about all texts of a call.

use serde_json::{Value, json};
use tool_core::{Permission, internals::ExactValue};

use super::{Match, Rounding, Rule, Rules, TextPattern, judged};

fn schema() -> Value {
    let inner = json!({ "type": "object", "properties": { "inner": { "type": "string" } } });
    json!({ "type": "object", "properties": { "outer": { "anyOf": [inner, { "type": "null" }] } } })
}

// I25
#[test]
fn names_of_properties_at_any_depth_are_no_texts_of_a_call_and_other_keys_are() {
    let allow = Rules::new([Rule::deny("t"), Rule::allow("t:x*")]);
    for (arguments, is_allowed) in [
        (json!({ "outer": { "inner": "x1" } }), true),
        (json!({ "outer": { "xkey": "x1" } }), true),
        (json!({ "outer": { "key": "x1" } }), false),
        (json!({ "outer": { "inner": "y" } }), false),
        (json!({ "outer": { "inner": "x1", "xkey": ["x2", null, ["y"]] } }), false),
        (json!({ "outer": { "inner": "x1", "xkey": ["x2", null, ["x3"]] } }), true),
        // A call without a text is not harmless.
        (json!({}), false),
        (json!({ "outer": null }), false),
    ] {
        assert_eq!(
            judged(&allow, schema(), arguments.clone()) == Permission::Allow,
            is_allowed,
            "{arguments}"
        );
    }
    for (pattern, arguments, is_denied) in [
        ("inner", json!({ "outer": { "inner": "a" } }), false),
        ("outer", json!({ "outer": { "inner": "a" } }), false),
        ("key", json!({ "outer": { "key": "a" } }), true),
        ("key", json!({ "outer": { "inner": "a", "more": [[{ "key": 1 }]] } }), true),
        ("a", json!({ "outer": { "inner": "a" } }), true),
        ("null", json!({ "outer": null }), true),
        ("null", json!({ "outer": { "inner": "a" } }), false),
        ("a", json!({}), false),
    ] {
        let deny = Rules::new([Rule::deny(&format!("t:{pattern}"))]);
        let permission = judged(&deny, schema(), arguments.clone());
        assert_eq!(permission != Permission::Allow, is_denied, "{pattern} {arguments}");
    }
}

// I25
#[test]
fn a_number_without_a_spelling_fits_stars_alone() {
    let fit = |pattern: &str| {
        let number = ExactValue::read("1e99999999999999999999").unwrap();
        TextPattern(pattern.to_owned()).fit(&number, Rounding::default())
    };
    for pattern in ["*", "**"] {
        assert_eq!(fit(pattern), Match::Yes, "{pattern}");
    }
    for pattern in ["", "1e*", "*9", "1*", "2*", "a*"] {
        assert_eq!(fit(pattern), Match::Unclear, "{pattern}");
    }
}
