//! Rules about numbers that the types of arguments round.

use tool_runtime::{
    Executor, Registry, ToolCall,
    policy::{Matcher, NumberPattern, Rule, Rules},
    prelude::*,
};

use crate::run;

#[tool_args]
struct Share {
    part: Option<f32>,
    parts: Vec<f32>,
}

/// Weighs.
#[tool(register = false)]
fn weigh(single: f32, share: Share, count: u64) -> String {
    format!("{single} {:?} {:?} {count}", share.part, share.parts)
}

/// Scales.
#[tool(register = false)]
fn scale(single: f32, double: f64, count: Option<i64>) -> String {
    format!("{single} {double} {count:?}")
}

/// Returns `true` if a call of `weigh` or `scale` is denied by `rule`.
fn is_number_denied(rule: Rule, name: &str, arguments: &str) -> bool {
    let tools = Registry::builder().tool::<weigh>().tool::<scale>().build().unwrap();
    let executor = Executor::builder(tools).rules(Rules::new([rule])).build().unwrap();
    let outcomes = run(executor.run(vec![ToolCall::new(name, arguments.to_owned())]));
    let text = outcomes[0].result().unwrap().text().into_owned();
    assert!(!text.starts_with("Invalid"), "{text}");
    text.starts_with("Denied: ")
}

#[test]
fn a_number_that_its_type_rounds_is_compared_as_the_tool_may_read_it() {
    let weighed = |single: &str, part: &str, count: &str| {
        format!(r#"{{"single":{single},"share":{{"part":{part},"parts":[{part}]}},"count":{count}}}"#)
    };
    let scaled = |single: &str, double: &str| format!(r#"{{"single":{single},"double":{double}}}"#);
    let number = |pattern: &str| Matcher::from(NumberPattern::new(pattern).unwrap());
    let close = "99.9999999";
    for pointer in ["/single", "/share/part", "/share/parts", "/share/parts/0"] {
        for matcher in [number(">= 100"), Matcher::from("100"), Matcher::from("1*")] {
            let is_denied = |value: &str| {
                is_number_denied(
                    Rule::deny("weigh").at(pointer, matcher.clone()),
                    "weigh",
                    &weighed(value, value, "7"),
                )
            };
            assert!(is_denied(close) && is_denied("100"), "{pointer} {matcher:?}");
            assert!(!is_denied("99.9"), "{pointer} {matcher:?}");
        }
    }
    let double = |matcher: Matcher, value: &str| {
        is_number_denied(Rule::deny("scale").at("/double", matcher), "scale", &scaled("1", value))
    };
    let single = |matcher: Matcher, value: &str| {
        is_number_denied(Rule::deny("scale").at("/single", matcher), "scale", &scaled(value, "1"))
    };
    assert!(
        single(number(">= 100"), close)
            && single("100".into(), close)
            && single("16777216".into(), "16777217")
    );
    assert!(!double(number(">= 100"), close) && !double("100".into(), close));
    assert!(double("2".into(), "2.00000000000000000001") && double("2".into(), "2.0"));
    assert!(double("9007199254740992".into(), "9007199254740993"));
    assert!(double(number("> 9007199254740992"), "9007199254740993"));
    let count = |matcher: Matcher, value: &str| {
        is_number_denied(Rule::deny("weigh").at("/count", matcher), "weigh", &weighed("1", "1", value))
    };
    // An integer type rounds no integer, and reads a tiny number as 0.
    assert!(!count("9007199254740992".into(), "9007199254740993"));
    assert!(count("0".into(), "1e-400") && count(number("0"), "1e-400"));
    // Any text of the arguments.
    assert!(is_number_denied(Rule::deny("scale:2"), "scale", &scaled("1", "2.00000000000000000001")));
    assert!(is_number_denied(Rule::deny("scale:100"), "scale", &scaled(close, "1")));
    assert!(is_number_denied(Rule::deny("scale:2.0"), "scale", &scaled("1", "2")));
    assert!(is_number_denied(Rule::deny("weigh:0"), "weigh", &weighed("1", "1", "1e-400")));
    assert!(!is_number_denied(Rule::deny("scale:2"), "scale", &scaled("1", "2.1")));
}
