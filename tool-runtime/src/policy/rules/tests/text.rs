//! Text patterns about all texts of a call.

use serde_json::{Value, json};
use tool_core::{Permission, internals::ExactValue};

use super::{Match, NumberPattern, Rounding, Rule, Rules, TextPattern, judged};

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
        TextPattern(pattern.to_owned()).match_value(&number, Rounding::default())
    };
    for pattern in ["*", "**"] {
        assert_eq!(fit(pattern), Match::Yes, "{pattern}");
    }
    for pattern in ["", "1e*", "*9", "1*", "2*", "a*"] {
        assert_eq!(fit(pattern), Match::Unclear, "{pattern}");
    }
}

// I25
#[test]
fn a_value_is_compared_by_its_own_text() {
    for (pattern, value, expected) in [
        ("true", "true", Match::Yes),
        ("true", "false", Match::No),
        ("false", "false", Match::Yes),
        ("false", "true", Match::No),
        ("f*", "false", Match::Yes),
        ("f*", "true", Match::No),
        ("*", "true", Match::Yes),
        ("", "false", Match::No),
        ("true", r#""true""#, Match::Yes),
        ("t*e", r#""tree""#, Match::Yes),
        ("t*e", r#""trees""#, Match::No),
        ("1*", "12", Match::Yes),
        ("1*", "21", Match::No),
        ("12", "12.0", Match::Yes),
        ("null", "null", Match::Unclear),
        ("*", "[]", Match::Unclear),
        ("*", "{}", Match::Unclear),
    ] {
        let value = ExactValue::read(value).unwrap();
        assert_eq!(
            TextPattern(pattern.to_owned()).match_value(&value, Rounding::default()),
            expected,
            "{pattern} {value}"
        );
    }
}

// I25
#[test]
fn a_pattern_may_be_the_spelling_of_a_number_or_of_a_boolean() {
    for (pattern, is_number) in [
        ("1", true),
        ("-1", true),
        ("0", true),
        ("0.5", true),
        ("1.0", false),
        ("01", false),
        ("1e2", false),
        ("", false),
        ("-", false),
        ("--1", false),
        ("a", false),
        ("*", true),
        ("-*", true),
        ("1*", true),
        ("*1", true),
        ("0*", true),
        ("0.*", true),
        ("-0.*5", true),
        ("00*", false),
        ("01*", false),
        (".*", false),
        ("e*", false),
        ("--*", false),
        ("*.", false),
        ("*e", false),
        ("*-", false),
        ("*.5", true),
        ("*.50", false),
        ("*50", true),
        ("1*.5*2", true),
        ("1.*.5", false),
        ("*e*e5", false),
        ("*.5e10", true),
        ("*e-7", true),
        ("*E5", false),
        ("* 1", false),
        ("a*", false),
    ] {
        assert_eq!(TextPattern(pattern.to_owned()).may_be_number(), is_number, "{pattern}");
    }
    for (pattern, is_boolean) in [
        ("true", true),
        ("false", true),
        ("*", true),
        ("*e", true),
        ("t*", true),
        ("*lse", true),
        ("True", false),
        ("", false),
        ("n*", false),
    ] {
        assert_eq!(TextPattern(pattern.to_owned()).may_be_boolean(), is_boolean, "{pattern}");
    }
}

// I25
#[test]
fn a_number_pattern_is_refused_if_no_number_satisfies_it() {
    for (pattern, is_empty) in [
        ("> 1, < 2", false),
        (">= 1, <= 1", false),
        ("> 1, <= 1", true),
        (">= 1, < 1", true),
        ("> 1, < 1", true),
        ("< 1, > 2", true),
        ("< 2, > 1", false),
        ("<= 1, >= 1", false),
        ("<= 1, >= 1.1", true),
        ("> 1, > 2, < 3", false),
        ("= 1, >= 1", false),
        (">= 1, = 1", false),
        ("= 1, > 1", true),
        ("> 1, = 1", true),
        ("1, 1.0", false),
        ("1, 2", true),
        ("< 1, <= 0", false),
    ] {
        let pattern_of = NumberPattern::new(pattern);
        assert_eq!(pattern_of.is_err(), is_empty, "{pattern}");
        let text = pattern_of.map_or_else(|error| error.to_string(), |it| it.to_string());
        assert_eq!(
            text,
            if is_empty { format!("no number satisfies `{pattern}`") } else { pattern.to_owned() }
        );
    }
    for wrong in ["", "> ", "1,", "=> 1", "> 1 2", "!= 1", "> one"] {
        assert_eq!(
            NumberPattern::new(wrong).unwrap_err().to_string(),
            format!(
                "`{wrong}` is not a number pattern; write a number, or comparisons such as `>= 1, < 100`"
            )
        );
    }
}
