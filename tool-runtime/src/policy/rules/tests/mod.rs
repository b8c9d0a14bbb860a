#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod text;
mod url;

use proptest::prelude::*;
use serde_json::json;
use tool_core::{InputSchema, Permission, ToolDefinition, ToolName, internals::ExactValue};

use super::{
    EvaluatedCall, Match, NumberPattern, PathPattern, Rule, RuleDiagnostic, Rules, number_pattern::Rounding,
    text::TextPattern,
};

fn fit(pattern: &str, number: &str) -> Match {
    NumberPattern::new(pattern).unwrap().match_value(&ExactValue::read(number).unwrap(), Rounding::default())
}

#[test]
fn numbers_are_compared_by_their_exact_values() {
    for (pattern, number) in [
        ("100", "100"),
        ("100", "1e2"),
        ("100", "100.00"),
        ("100", "1000e-1"),
        ("= 1e2", "0.1E+3"),
        ("0", "-0.0e5"),
        ("9007199254740993", "9007199254740993"),
        ("> 9007199254740992", "9007199254740993"),
        (">= 0.1", "0.1"),
        ("> 0.1", "0.10000000000000001942890293094023946"),
        ("< -1", "-1.5"),
        ("<= -1", "-1.0"),
        (">= 1, < 10", "9.99999999999999"),
        ("> 1e400", "1e401"),
        ("< 1", "1e-99999"),
        ("> -1", "-0"),
        ("> 0", "0.05"),
        ("< 0.05", "0"),
        ("< 0.05", "0e9"),
        ("> -0.05", "0.00e-9"),
        ("< 0", "-0.05"),
        (">= -0", "0"),
        ("0", "-0"),
        ("< 340282366920938463463374607431768211457", "340282366920938463463374607431768211456"),
    ] {
        assert_eq!(fit(pattern, number), Match::Yes, "{pattern} {number}");
    }
    for (pattern, number) in [
        ("100", "100.0000000000001"),
        ("9007199254740993", "9007199254740992"),
        ("> 9007199254740993", "9007199254740993.0"),
        ("> 0.1", "0.1"),
        (">= 1, < 10", "10"),
        ("> 0", "-1e400"),
    ] {
        assert_eq!(fit(pattern, number), Match::No, "{pattern} {number}");
    }
    for other in [r#""100""#, "true", "null", "{}", "1e99999999999999999999"] {
        assert_eq!(fit("> 100", other), Match::Unclear, "{other}");
    }
    // A tool that takes an `f64` reads a number that rounds to the limit as the limit.
    for (pattern, number) in [
        (">= 100", "99.99999999999999999999"),
        ("< 100", "99.99999999999999999999"),
        ("100", "100.00000000000000000001"),
        ("> 0", "1e-400"),
        ("0.1, > 0", "0.1000000000000000000000001"),
        ("> 9007199254740992.5", "9007199254740992.50000000000000000001"),
    ] {
        assert_eq!(fit(pattern, number), Match::Unclear, "{pattern} {number}");
    }
    for wrong in [
        "",
        "a",
        "1,",
        "> ",
        "=> 1",
        "1..2",
        "01",
        "1.",
        ".5",
        "+1",
        "NaN",
        "0x10",
        "> 2, < 1",
        "1, 2",
        "> 1, <= 1",
    ] {
        assert!(NumberPattern::new(wrong).is_err(), "{wrong}");
    }
}

proptest! {
    #[test]
    fn numbers_are_ordered_like_integers(left: i64, right: i64, zeros in 0..5_usize) {
        // The same number with its decimal point moved to the left, and with zeros.
        let written = format!("{left}{}.{}e-{zeros}", "0".repeat(zeros), "0".repeat(zeros + 1));
        prop_assert_eq!(fit(&format!("= {left}"), &written), Match::Yes);
        for (sign, expected) in [
            ("<", left < right), ("<=", left <= right), (">", left > right), (">=", left >= right), ("=", left == right),
        ] {
            prop_assert_eq!(fit(&format!("{sign} {right}"), &written), Match::of(expected));
        }
    }

    #[test]
    fn numbers_are_ordered_like_fractions(left in 0..1_000_000_u64, right in 0..1_000_000_u64) {
        let number = |n: u64| format!("0.{n:06}");
        prop_assert_eq!(fit(&format!("< {}", number(right)), &number(left)), Match::of(left < right));
        prop_assert_eq!(fit(&format!("> -{}", number(right)), &format!("-{}", number(left))), Match::of(left < right));
    }
}

#[test]
fn a_pattern_is_serialized_as_it_was_parsed() {
    for text in ["100", ">= 1, < 10", " > 0.50 "] {
        let pattern: NumberPattern = text.parse().unwrap();
        assert_eq!((pattern.to_string().as_str(), &pattern), (text, &NumberPattern::new(text).unwrap()));
    }
    assert!("a".parse::<NumberPattern>().is_err());
    for (text, rule) in
        [("allow a:b c", Rule::allow("a:b c")), ("ask a", Rule::ask("a")), (" deny  *_b ", Rule::deny("*_b"))]
    {
        assert_eq!(text.parse(), Ok(rule));
    }
    assert_eq!(Rule::ask("a:b").reason("so").to_string(), "ask a:b");
    for wrong in ["deny", "", "forbid a", "denya"] {
        assert!(wrong.parse::<Rule>().is_err(), "{wrong}");
    }
}

#[test]
fn a_tool_is_denied_if_all_its_calls_are_and_no_later_rule_overrides_that() {
    let denial = |rules: &[Rule]| Rules::new(rules.iter().cloned()).denial("t", "t");
    let all = || Rule::deny("t").reason("all");
    assert_eq!(denial(&[all()]), Some(Permission::deny("all")));
    assert_eq!(denial(&[Rule::deny("*").reason("any"), all()]), Some(Permission::deny("all")));
    for some in [Rule::deny("t:x"), Rule::deny("t").at("/p", "x"), Rule::allow("u"), Rule::ask("u")] {
        assert_eq!(denial(&[all(), some.clone()]), Some(Permission::deny("all")), "{some}");
        assert_eq!(denial(std::slice::from_ref(&some)), None, "{some}");
    }
    for other in [Rule::allow("t:x"), Rule::allow("*"), Rule::ask("t"), Rule::ask("t").at("/p", "x")] {
        assert_eq!(denial(&[all(), other.clone()]), None, "{other}");
    }
    assert_eq!(denial(&[]), None);
}

/// Returns the verdict on a call of a tool with this schema.
fn judged(rules: &Rules, schema: serde_json::Value, arguments: serde_json::Value) -> Permission {
    let schema = InputSchema::own(schema).unwrap();
    let definition = ToolDefinition::new(ToolName::new("t").unwrap(), "Works.", schema);
    rules.permission_for(&EvaluatedCall::new("t", Some(&definition), &arguments.to_string()))
}

#[test]
fn a_default_applies_to_each_item_of_a_list_and_not_to_an_empty_list() {
    let schema = json!({ "type": "object", "properties": { "files": { "type": "array", "items": {
        "type": "object", "properties": { "path": { "default": "/etc" } },
    } } } });
    let rules = Rules::new([Rule::deny("t").at("/files/path", etc())]);
    let is_denied = |files| judged(&rules, schema.clone(), json!({ "files": files })) != Permission::Allow;
    assert!(is_denied(json!([{}])) && is_denied(json!([{ "path": "/tmp" }, {}])));
    assert!(!is_denied(json!([])) && !is_denied(json!([{ "path": "/tmp" }])));
}

#[test]
fn a_call_is_judged_by_the_branch_of_the_schema_that_it_uses() {
    let closed = |name: &str, property| json!({ "type": "object", "additionalProperties": false, "properties": { name: property } });
    let schema = |first| {
        let branches = [closed("path", first), closed("file", json!({}))];
        json!({ "type": "object", "oneOf": branches })
    };
    let plain = || schema(json!({ "x-tool-aliases": ["file"] }));
    let work = || Rules::new([Rule::deny("t"), Rule::allow("t").at("/file", "/work/*")]);
    for name in ["path", "file"] {
        assert_eq!(judged(&work(), plain(), json!({ name: "/work/a" })), Permission::Allow);
        assert_ne!(judged(&work(), plain(), json!({ name: "/etc/a" })), Permission::Allow);
    }
    assert_ne!(judged(&work(), plain(), json!({})), Permission::Allow);
    // A tool may use the default of the other branch.
    let guarded = || Rules::new([Rule::deny("t").at("/file", etc())]);
    let default = schema(json!({ "x-tool-aliases": ["file"], "default": "/etc" }));
    assert_eq!(judged(&guarded(), plain(), json!({ "file": "/tmp" })), Permission::Allow);
    assert_ne!(judged(&guarded(), default, json!({ "file": "/tmp" })), Permission::Allow);
}

#[test]
fn a_text_pattern_of_numbers_has_a_canonical_spelling() {
    let may_be_number = |pattern: &str| TextPattern(pattern.to_owned()).may_be_number();
    for pattern in ["2", "-2.5", "0", "0.5", "*", "1*", "*0", "0.*", "-*", "2.0*", "*5", "1.*e5", "1e400"] {
        assert!(may_be_number(pattern), "{pattern}");
    }
    for pattern in [
        "2.0", "1e2", "+2", "-0", "02", ".5", "2.", "\t2", "2\n", "1E*", "*.0", "*.50", "+*", "00*", "01*",
        ".*", "*.", "1.*.*", "*e", "many*", "",
    ] {
        assert!(!may_be_number(pattern), "{pattern}");
    }
}

#[test]
fn a_text_pattern_compares_numbers_as_the_tool_may_read_them() {
    let fit = |pattern: &str, number: &str| {
        TextPattern(pattern.to_owned()).match_value(&ExactValue::read(number).unwrap(), Rounding::default())
    };
    for (pattern, number) in [
        ("2", "2.00"),
        ("2.0", "2"),
        ("1e2", "100"),
        ("1*", "1e2"),
        ("*", "1e400"),
        ("*", "1e99999999999999999999"),
    ] {
        assert_eq!(fit(pattern, number), Match::Yes, "{pattern} {number}");
    }
    for (pattern, number) in [
        ("2", "2.00000000000000000001"),
        ("0", "1e-400"),
        ("2*", "1.99999999999999999999"),
        ("2", "1e99999999999999999999"),
    ] {
        assert_eq!(fit(pattern, number), Match::Unclear, "{pattern} {number}");
    }
    for (pattern, number) in [("2", "2.1"), ("2*", "1.5"), ("0", "1e-300"), ("two", "2")] {
        assert_eq!(fit(pattern, number), Match::No, "{pattern} {number}");
    }
}

fn denies(rules: &Rules, arguments: serde_json::Value) -> bool {
    matches!(rules.judge("t", &arguments), Permission::Deny { .. })
}

fn etc() -> PathPattern {
    PathPattern::new("/etc/**").unwrap()
}

#[test]
fn a_denial_matches_any_item_of_a_list_and_incomparable_values() {
    let rules = Rules::new([Rule::deny("t").at("/p", etc())]);
    for denied in [
        json!({ "p": "/etc/a" }),
        json!({ "p": ["/tmp/a", "/etc/a"] }),
        json!({ "p": [["/tmp/a"], ["/etc/a"]] }),
        json!({ "p": 1 }),
        json!({ "p": null }),
        json!({ "p": { "a": "/tmp" } }),
        json!({ "p": ["/tmp/a", 1] }),
        json!({ "p": "\u{0}" }),
    ] {
        assert!(denies(&rules, denied.clone()), "{denied}");
    }
    for allowed in [json!({ "p": "/tmp/a" }), json!({ "p": ["/tmp/a"] }), json!({ "p": [] }), json!({})] {
        assert!(!denies(&rules, allowed.clone()), "{allowed}");
    }
}

#[test]
fn rules_about_unreadable_arguments_fail_closed() {
    let judge =
        |rule: Rule| Rules::new([Rule::ask("t"), rule]).permission_for(&EvaluatedCall::new("t", None, "{"));
    assert!(matches!(judge(Rule::deny("t")), Permission::Deny { .. }));
    assert!(matches!(judge(Rule::deny("t").at("/p", etc())), Permission::Deny { .. }));
    assert_eq!(judge(Rule::allow("t")), Permission::Allow);
    assert!(matches!(judge(Rule::allow("t").at("/p", etc())), Permission::Ask { .. }));
}

#[test]
fn an_allow_requires_all_items_of_a_list_to_match() {
    let work = PathPattern::new("/work/**").unwrap();
    let rules = Rules::new([Rule::deny("t"), Rule::allow("t").at("/p", work)]);
    for allowed in [json!({ "p": "/work/a" }), json!({ "p": ["/work/a", "/work/b"] })] {
        assert!(!denies(&rules, allowed.clone()), "{allowed}");
    }
    for denied in [
        json!({}),
        json!({ "p": null }),
        json!({ "p": [] }),
        json!({ "p": [[]] }),
        json!({ "p": ["/work/a", "/etc/b"] }),
        json!({ "p": "/work/../etc" }),
        json!({ "p": "work/a" }),
        json!({ "p": 1 }),
        json!({ "p": {} }),
    ] {
        assert!(denies(&rules, denied.clone()), "{denied}");
    }
}

#[test]
fn a_pointer_selects_every_item_of_a_list() {
    let rules = Rules::new([Rule::deny("t").at("/files/path", etc())]);
    assert!(denies(&rules, json!({ "files": [{ "path": "/tmp" }, { "path": "/etc/a" }] })));
    assert!(!denies(&rules, json!({ "files": [{ "path": "/tmp" }, {}] })));
    assert!(denies(&rules, json!({ "files": ["/tmp"] })));
    assert!(!denies(&rules, json!({ "files": null })) && !denies(&rules, json!({ "files": [null] })));
    let rules = Rules::new([
        Rule::deny("t"),
        Rule::allow("t").at("/files/path", PathPattern::new("/work/**").unwrap()),
    ]);
    assert!(!denies(&rules, json!({ "files": [{ "path": "/work/a" }] })));
    assert!(denies(&rules, json!({ "files": [{ "path": "/work/a" }, {}] })));
    assert!(denies(&rules, json!({ "files": [] })));
    let first = Rules::new([Rule::deny("t").at("/files/0", etc())]);
    assert!(denies(&first, json!({ "files": ["/etc", "/tmp"] })));
    assert!(!denies(&first, json!({ "files": ["/tmp", "/etc"] })));
    let second = Rules::new([Rule::deny("t").at("/files/1/path", etc())]);
    assert!(denies(&second, json!({ "files": [{ "path": "/tmp" }, { "path": "/etc" }] })));
    assert!(!denies(&second, json!({ "files": [{ "path": "/etc" }, { "path": "/tmp" }] })));
    assert!(!denies(&second, json!({ "files": [{ "path": "/etc" }] })));
}

#[test]
fn all_matchers_of_one_pointer_must_match() {
    let text: Rules = serde_json::from_value(json!([
        { "deny": "t", "where": { "/p": [{ "path": "/etc/**" }, "*shadow*"] } },
    ]))
    .unwrap();
    let code = Rules::new([Rule::deny("t").at("/p", etc()).at("/p", "*shadow*")]);
    assert_eq!(text, code);
    assert!(denies(&code, json!({ "p": "/etc/shadow" })));
    assert!(!denies(&code, json!({ "p": "/etc/hosts" })));
}

#[test]
fn matchers_round_trip_as_data() {
    let written = json!([
        { "deny": "t", "where": { "/p": { "path": "secrets/**", "base": "/srv", "ignoreCase": true } } },
        { "ask": "t", "where": { "/n": { "number": "> 100" }, "/t": "rm *" } },
    ]);
    let rules: Rules = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&rules).unwrap(), written);
    let whole: Rules =
        serde_json::from_value(json!([{ "deny": "t", "where": { "/n": { "number": 100 } } }])).unwrap();
    assert!(denies(&whole, json!({ "n": 100.0 })));
    for (matcher, why) in [
        (json!({ "path": "a", "number": 1 }), "an object must have one of"),
        (json!({}), "an object must have one of"),
        (json!({ "number": "1", "base": "/a" }), "an object must have one of"),
        (json!({ "pth": "a" }), "unknown field `pth`"),
        (json!({ "path": "~/a" }), "is not a path pattern"),
        (json!({ "path": "a", "base": "b" }), "is not an absolute path"),
        (json!({ "number": ">> 1" }), "is not a number pattern"),
        (json!({ "number": 0.1 }), "write the number as a text"),
        (json!({ "number": true }), "expected a number"),
        (json!(1), "expected a text, or an object"),
        (json!([]), "expected a text, or an object"),
    ] {
        let read = serde_json::from_value::<Rules>(json!([{ "deny": "t", "where": { "/p": matcher } }]));
        let message = read.unwrap_err().to_string();
        assert!(message.contains("`/p`") && message.contains(why), "{matcher}: {message}");
    }
    for (wrong, why) in [
        (json!([{ "deny": "t", "where": [] }]), "expected an object of JSON pointers and matchers"),
        (json!([1]), "expected a rule: a text such as `deny bash`, or an object"),
    ] {
        let message = serde_json::from_value::<Rules>(wrong).unwrap_err().to_string();
        assert!(message.contains(why), "{message}");
    }
    let twice = r#"[{ "deny": "t", "where": { "/p": "a", "/p": "b" } }]"#;
    assert!(serde_json::from_str::<Rules>(twice).unwrap_err().to_string().contains("given twice"));
}

#[test]
fn problems_name_the_rule() {
    let problem = RuleDiagnostic::NoProperty {
        rule: "deny t".to_owned(),
        pointer: "/p".to_owned(),
        tools: vec!["t".to_owned(), "u".to_owned()],
    };
    assert_eq!(problem.to_string(), "the rule `deny t` compares `/p`, and `t` or `u` has no such argument");
    let of = |count: usize| {
        let tools = ["t", "u", "v", "w"].iter().take(count).map(ToString::to_string).collect();
        RuleDiagnostic::NoProperty { rule: "deny *".to_owned(), pointer: "/p".to_owned(), tools }.to_string()
    };
    assert_eq!(of(3), "the rule `deny *` compares `/p`, and `t` or `u` or `v` has no such argument");
    let many = "and none of the 4 tools that it fits has such an argument";
    assert_eq!(of(4), format!("the rule `deny *` compares `/p`, {many}"));
}
