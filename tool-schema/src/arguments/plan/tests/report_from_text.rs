//! The survey of a text reports what the walk over its value reports.

use std::cell::Cell;

use proptest::{collection::vec, sample::select, test_runner::TestRunner};
use serde_json::{Value, json};

use super::{
    drawn::{config, root, value},
    plan,
};
use crate::{
    Arguments, Plan, Violations,
    arguments::{document::Document, number_spelling::restore_number_spelling_in_violations},
    internal_keywords::ALIASES,
};

/// Returns the report of the walk over the value; empty if the text is valid.
fn report(plan: &Plan, text: &str, is_lenient: bool) -> Violations {
    let arguments = Arguments::new(text.into()).lenient(is_lenient);
    plan.fit(arguments).err().map(|error| error.violations().clone()).unwrap_or_default()
}

/// Checks the survey of `text`, and returns `true` if it does not give up.
#[track_caller]
fn agree(plan: &Plan, text: &str) -> bool {
    let surveys = [false, true].map(|is_lenient| match plan.report_from_text(text, is_lenient) {
        Some(mut survey) => {
            // As an error does with each report.
            restore_number_spelling_in_violations(&mut survey, text);
            assert_eq!(survey, report(plan, text, is_lenient), "{text}");
            true
        }
        None => false,
    });
    surveys.contains(&true)
}

/// Formats a value as JSON in which numbers have the other `spellings`, and names occur twice, in turn.
fn spelled(value: &Value, spellings: &mut impl Iterator<Item = &'static str>) -> String {
    let spelling = spellings.next().unwrap_or_default();
    match value {
        Value::Number(number) if number.is_f64() => number.to_string(),
        Value::Number(number) => format!("{number}{}", spelling.trim_start_matches("again")),
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(|item| spelled(item, spellings)).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(map) => {
            let mut members: Vec<_> =
                map.iter().map(|(name, value)| format!("{name:?}:{}", spelled(value, spellings))).collect();
            if spelling == "again" {
                members.extend(members.first().cloned());
            }
            format!("{{{}}}", members.join(","))
        }
        other => other.to_string(),
    }
}

#[test]
fn survey_and_walk_report_the_same() {
    let spellings = vec!["", "", "", "", "", "", ".0", "e1", ".00000000000000000001", "e400", "again"];
    let drawn = (root(), vec((value(), vec(select(spellings), 12)), 8));
    let (surveyed, left) = (Cell::new(0), Cell::new(0));
    let survey = |(schema, values): (Value, Vec<(Value, Vec<&'static str>)>)| {
        let Ok(plan) = Plan::compile(&schema) else { return Ok(()) };
        for (value, spellings) in values {
            let text = spelled(&value, &mut spellings.into_iter());
            let count = if agree(&plan, &text) { &surveyed } else { &left };
            count.set(count.get() + 1);
        }
        Ok(())
    };
    TestRunner::new(config(250)).run(&drawn, survey).unwrap_or_else(|it| panic!("{it}"));
    let (surveyed, left) = (surveyed.get(), left.get());
    println!("{surveyed} texts were surveyed, {left} were not");
    assert!(surveyed > left / 20, "{surveyed} texts were surveyed, {left} were not");
}

#[test]
fn a_text_that_holds_is_valid_and_normal_as_a_value() {
    let spellings = vec!["", "", "", "", "", "", "", "", "", ".0", "e1", "again"];
    let drawn = (root(), vec((value(), vec(select(spellings), 12)), 8));
    let (held, valid) = (Cell::new(0), Cell::new(0));
    let check = |(schema, values): (Value, Vec<(Value, Vec<&'static str>)>)| {
        let Ok(plan) = Plan::compile(&schema) else { return Ok(()) };
        for (value, spellings) in values {
            let text = spelled(&value, &mut spellings.into_iter());
            let mut document = Document::read(&text).unwrap();
            let is_valid = !document.has_repeated_names_or_huge_numbers() && plan.admits(&document.value);
            valid.set(valid.get() + usize::from(is_valid));
            if plan.is_in_normal_form(&text) {
                held.set(held.get() + 1);
                assert!(is_valid, "{schema}: {text}");
                assert!(
                    !document.is_rewritten && !plan.normalize_value(&mut document.value).changed,
                    "{schema}: {text}"
                );
            }
        }
        Ok(())
    };
    TestRunner::new(config(250)).run(&drawn, check).unwrap_or_else(|it| panic!("{it}"));
    let (held, valid) = (held.get(), valid.get());
    assert!(held > valid / 3, "{held} of {valid} valid texts hold");
}

/// The schema of a tool.
fn order() -> Value {
    let item = json!({
        "type": "object",
        "properties": {
            "sku": {"type": "string", "minLength": 1},
            "count": {"type": "integer", "minimum": 1, "maximum": 9},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
            "size": {"type": "string", "enum": ["s", "m"]},
            "by": {"anyOf": [{"type": "integer"}, {"type": "string", "minLength": 2}]},
        },
        "required": ["sku", "count"],
        "additionalProperties": false,
    });
    json!({
        "type": "object",
        "properties": {
            "items": {"type": "array", "items": item},
            "price": {"type": "number", "minimum": 0},
            "extra": {"type": "object", "additionalProperties": {"type": "boolean"}},
        },
        "required": ["items"],
    })
}

#[test]
fn common_violations_are_surveyed() {
    let plan = plan(&order());
    for text in [
        "{}",
        r#"{"items":[{"sku":"a","count":"five"}]}"#,
        r#"{"items":[{"sku":"a"},{"sku":"","count":10.0,"tags":[3,[]],"size":"l","by":"x"}],"price":-1.50}"#,
        r#"{"items":[{"sku":"a","cuont":1},{"sku":null,"count":1,"a":2,"b":[1e2]}],"extra":{"a":true,"b":1,"c":"x"}}"#,
        r#"{"items":{"sku":3},"price":null,"extra":null,"other":[{"a":null}]}"#,
    ] {
        assert!(agree(&plan, text), "{text}");
    }
}

#[test]
fn text_that_a_correction_makes_valid_is_left() {
    let plan = plan(&order());
    for text in [
        r#"{"items":[{"sku":"a","count":"5"}]}"#,
        r#"{"items":"[]"}"#,
        r#"{"items":{"sku":"a","count":1}}"#,
        r#"{"items":[{"sku":7.10,"count":1}],"extra":{"a":"true"}}"#,
    ] {
        assert_eq!(plan.report_from_text(text, true), None, "{text}");
        assert!(agree(&plan, text), "{text}");
        assert!(report(&plan, text, true).is_empty(), "{text}");
    }
    // One value that stays invalid decides.
    assert!(
        plan.report_from_text(r#"{"items":[{"sku":7,"count":"5"},{"sku":"a","count":0}]}"#, true).is_some()
    );
}

#[test]
fn text_whose_report_needs_all_of_it_is_left() {
    let plan = plan(&order());
    let many = format!(r#"{{"items":[{}0]}}"#, "0,".repeat(30));
    let long = r#"{"items":[{"sku":"a","count":1,"tags":["a","b","c"]}]}"#;
    for text in [
        r#"{"items":[],"items":3}"#,
        r#"{"items":[{"sku":"a","count":1e400}]}"#,
        r#"{"items":[{"sku":"a","count":3.00000000000000000001}]}"#,
        r#"{"items":[{"a":1,"a":2}]}"#,
        r#"{"items":3,"extra":{"a":true,"a":true}}"#,
        r#"{"items":3"#,
        r#"{"items":3} 4"#,
        long,
        &many,
    ] {
        assert_eq!(plan.report_from_text(text, false), None, "{text}");
        assert!(plan.fit(Arguments::new(text.into())).is_err(), "{text}");
    }
    let aliased = super::plan(&json!({"properties": {"a": {"type": "string", (ALIASES): ["b"]}}}));
    for text in [r#"{"b":1}"#, r#"{"a":"x","b":1}"#] {
        assert_eq!(aliased.report_from_text(text, true), None, "{text}");
        agree(&aliased, text);
    }
}

#[test]
fn the_number_of_parts_that_are_read_as_values_is_bounded() {
    let item =
        json!({"anyOf": [{"type": "object", "properties": {"x": {"type": "integer"}}}, {"type": "string"}]});
    let plan =
        plan(&json!({"properties": {"list": {"type": "array", "items": item}, "n": {"type": "integer"}}}));
    let text = |count: usize| format!(r#"{{"list":[{}"a"],"n":true}}"#, r#"{"x":null},"#.repeat(count));
    // The item that is no object and the number after the list are two more.
    for (count, is_surveyed) in [(3, true), (30, true), (31, true), (32, false), (40, false)] {
        assert_eq!(plan.report_from_text(&text(count), false).is_some(), is_surveyed, "{count}");
        agree(&plan, &text(count));
    }
}

#[test]
fn a_survey_ends_where_a_report_is_full() {
    let integers = plan(&json!({ "type": "array", "items": { "type": "integer" } }));
    for (count, is_surveyed) in [(1, true), (19, true), (20, false), (21, false)] {
        let text = json!(vec!["a"; count]).to_string();
        assert_eq!(integers.report_from_text(&text, false).is_some(), is_surveyed, "{count}");
        agree(&integers, &text);
    }
    let required = |count: usize| {
        let names: Vec<_> = (0..count).map(|at| format!("p{at}")).collect();
        plan(&json!({ "required": names }))
    };
    for (count, is_surveyed) in [(1, true), (19, true), (20, false), (64, false)] {
        assert_eq!(required(count).report_from_text("{}", true).is_some(), is_surveyed, "{count}");
        agree(&required(count), "{}");
    }
}

#[test]
fn the_length_of_a_list_and_each_kind_of_item_are_surveyed() {
    let list = |items: Value| {
        plan(&json!({
            "type": "array", "prefixItems": [{ "type": "string" }], "items": items, "minItems": 2, "maxItems": 3,
        }))
    };
    for (items, text, is_surveyed) in [
        (json!({ "type": "integer" }), r#"[1]"#, false),
        (json!({ "type": "integer" }), r#"[1,2]"#, true),
        (json!({ "type": "integer" }), r#"["a","b","c"]"#, true),
        (json!({ "type": "integer" }), r#"["a","b","c","d"]"#, false),
        (json!(true), r#"[1,2]"#, true),
        (json!(true), r#"["a",2]"#, false),
        (json!(false), r#"[1,2]"#, false),
    ] {
        let plan = list(items.clone());
        assert_eq!(plan.report_from_text(text, false).is_some(), is_surveyed, "{items} {text}");
        assert_eq!(agree(&plan, text), is_surveyed, "{items} {text}");
    }
}

#[test]
fn a_value_that_other_walks_find_too_deep_is_left_to_them() {
    let deep =
        (0..20).fold(json!({ "items": { "$ref": "#/$defs/list" } }), |inner, _| json!({ "allOf": [inner] }));
    let plan = plan(&json!({ "$ref": "#/$defs/list", "$defs": { "list": deep } }));
    assert!(plan.deepest < 128, "{}", plan.deepest);
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    for levels in [1, plan.deepest, plan.deepest + 1, 128] {
        assert_eq!(plan.report_from_text(&nested(levels), false), None);
        assert_eq!(report(&plan, &nested(levels), false).is_empty(), levels <= plan.deepest, "{levels}");
        assert!(!plan.is_in_normal_form(&nested(levels)));
    }
}

#[test]
fn each_property_of_a_text_counts_once() {
    let numbered = |additional: Value| {
        plan(&json!({
            "properties": {"n": {"type": "integer"}},
            "minProperties": 2, "maxProperties": 2, "additionalProperties": additional,
        }))
    };
    for additional in [json!(true), json!({"type": "integer"})] {
        let plan = numbered(additional);
        for (text, is_counted) in [
            (r#"{"n":"x"}"#, false),
            (r#"{"n":"x","a":1}"#, true),
            (r#"{"a":1,"n":"x"}"#, true),
            (r#"{"n":"x","a":1,"b":2}"#, false),
        ] {
            assert_eq!(plan.report_from_text(text, false).is_some(), is_counted, "{text}");
            assert_eq!(agree(&plan, text), is_counted, "{text}");
        }
    }
    // Properties that are not permitted count, too, and up to twenty of them are kept.
    let plan = numbered(json!(false));
    for (text, is_counted) in
        [(r#"{"a":1}"#, false), (r#"{"a":1,"b":2}"#, true), (r#"{"a":1,"b":2,"c":3}"#, false)]
    {
        assert_eq!(plan.report_from_text(text, false).is_some(), is_counted, "{text}");
        agree(&plan, text);
    }
    let closed = super::plan(&json!({"additionalProperties": false}));
    for (count, is_kept) in [(1, true), (19, true), (20, false)] {
        let members: Vec<_> = (0..count).map(|at| format!("\"p{at}\":{at}")).collect();
        let text = format!("{{{}}}", members.join(","));
        assert_eq!(closed.report_from_text(&text, false).is_some(), is_kept, "{count}");
        agree(&closed, &text);
    }
}

#[test]
fn values_of_another_type_and_unusual_names_are_reported_as_of_a_value() {
    let number = json!({ "type": "integer" });
    for (part, text) in [
        (json!({ "type": "string", "properties": { "b": number }, "required": ["c"] }), r#"{"b":"x"}"#),
        (json!({ "type": "string", "properties": { "b": number } }), r#"{"b":1}"#),
        (json!({ "type": "string", "items": number }), r#"["x",1]"#),
        (json!({ "type": "string", "items": number }), "[1]"),
        (
            json!({ "properties": { "b": number }, "propertyNames": { "maxLength": 1 } }),
            r#"{"b":"x","long":1}"#,
        ),
        (
            json!({ "properties": { "b": number }, "propertyNames": { "maxLength": 1 } }),
            r#"{"b":1,"long":1}"#,
        ),
        (
            json!({ "properties": { "b": number }, "patternProperties": { "^b": { "minimum": 5 } } }),
            r#"{"b":1,"bc":2}"#,
        ),
        (json!({ "patternProperties": { "^b": number, "c$": { "minimum": 5 } } }), r#"{"bc":1.5,"b":"x"}"#),
        (
            json!({ "patternProperties": { "^b": number }, "propertyNames": { "maxLength": 2 } }),
            r#"{"bcd":"x","b":"y"}"#,
        ),
        (json!({ "not": { "required": ["a"] } }), r#"{"a":1}"#),
        (json!({ "type": "integer" }), r#""x""#),
        (json!({ "maxLength": 1 }), r#""xy""#),
    ] {
        let plan = plan(&json!({ "properties": { "a": part } }));
        let text = format!(r#"{{"a":{text}}}"#);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let (violations, _) = plan.fit(text.as_str().into()).unwrap_err().into_parts();
        let shown: Vec<_> = violations.iter().map(ToString::to_string).collect();
        let expected: Vec<_> = plan.violations(&value).iter().map(ToString::to_string).collect();
        assert!(!expected.is_empty() && shown == expected, "{part} {text}: {shown:?} {expected:?}");
    }
}
