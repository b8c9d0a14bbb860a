//! Long lists of values, names of properties with escapes, and the limits of numbers that become strings.

use serde_json::{Value, json};

use super::{correct, plan, said};
use crate::Arguments;

/// Texts, of which there are too many for a message.
fn texts(count: usize) -> Vec<Value> {
    (0..count).map(|at| json!(format!("v{at:02}"))).collect()
}

#[test]
fn a_long_list_of_values_admits_those_that_a_short_one_admits() {
    for count in [20, 21, 60] {
        let mixed: Vec<_> = texts(count).into_iter().chain([json!(7), json!(null), json!([1])]).collect();
        for (list, others_are_in) in [(texts(count), false), (mixed, true)] {
            let schema = json!({ "enum": list });
            let last = format!("v{:02}", count - 1);
            for (value, is_in) in [
                (json!("v00"), true),
                (json!(last), true),
                (json!("v"), false),
                (json!("v000"), false),
                (json!(""), false),
                (json!("w"), false),
                (json!(7), others_are_in),
                (json!(7.0), others_are_in),
                (json!(null), others_are_in),
                (json!([1]), others_are_in),
                (json!(8), false),
                (json!([2]), false),
                (json!({}), false),
            ] {
                assert_eq!(said(&schema, &value).is_empty(), is_in, "{count} {value}");
                let text = json!([value]).to_string();
                let list = plan(&json!({ "items": schema }));
                assert_eq!(list.fit(Arguments::from(text.as_str())).is_ok(), is_in, "{count} {text}");
            }
        }
    }
}

#[test]
fn a_name_that_needs_escapes_is_compared_by_its_characters() {
    let fits = |name: &str, text: &str| {
        let schema = json!({ "properties": { name: { "type": "integer" } }, "required": [name], "additionalProperties": false });
        plan(&schema).fit(Arguments::from(text)).is_ok()
    };
    for (name, text, is_it) in [
        (r#"a":1,"b"#, r#"{"a":1,"b":2}"#, false),
        (r#"a":1,"b"#, r#"{"a\":1,\"b":2}"#, true),
        (r"a\n", r#"{"a\n":1}"#, false),
        (r"a\n", r#"{"a\\n":1}"#, true),
        ("a\n", r#"{"a\n":1}"#, true),
        ("a\n", "{\"a\n\":1}", false),
        ("a\u{1f}", "{\"a\u{1f}\":1}", false),
        ("a\u{1f}", r#"{"a\u001f":1}"#, true),
        // Neither of these needs an escape.
        ("a ", r#"{"a ":1}"#, true),
        ("a\u{7f}/é", "{\"a\u{7f}/é\":1}", true),
        ("a\u{7f}/é", r#"{"a\u007f\/\u00e9":1}"#, true),
    ] {
        assert_eq!(fits(name, text), is_it, "{name:?} {text:?}");
    }
}

#[test]
fn names_are_found_in_any_order_and_in_lists_of_any_length() {
    for count in [1, 2, 11, 12, 13, 14, 63, 64, 65, 130] {
        let names: Vec<_> = (0..count).map(|at| format!("p{}", at * 7 % 131)).collect();
        let properties: serde_json::Map<_, _> =
            names.iter().map(|name| (name.clone(), json!({ "const": name }))).collect();
        let schema = json!({ "properties": properties, "required": names, "additionalProperties": false });
        let plan = plan(&schema);
        let text = |names: &mut dyn Iterator<Item = &String>| {
            let members: Vec<_> = names.map(|name| format!("{name:?}:{name:?}")).collect();
            format!("{{{}}}", members.join(","))
        };
        let fits = |text: &str| plan.fit(Arguments::from(text)).is_ok();
        assert!(fits(&text(&mut names.iter())) && fits(&text(&mut names.iter().rev())), "{count}");
        assert!(!fits(&text(&mut names.iter().skip(1))), "{count}");
        assert!(!fits(&text(&mut names.iter().take(count - 1))), "{count}");
        let other = "p999".to_owned();
        assert!(!fits(&text(&mut names.iter().chain([&other]))), "{count}");
        assert!(!fits(&text(&mut names.iter().skip(1).chain([&other]))), "{count}");
        assert!(!fits(&text(&mut names.iter().chain([&names[0]]))), "{count}");
    }
}

// B17
#[test]
fn a_number_becomes_a_string_of_at_most_a_thousand_digits() {
    let plan = plan(&json!({ "type": "string" }));
    let text_of = |number: &str| correct(&plan, number).map(|(text, _)| text.trim_matches('"').to_owned());
    let zeros = |count: usize| "0".repeat(count);
    assert_eq!(text_of("1e-1000"), Some(format!("0.{}1", zeros(999))));
    assert_eq!(text_of("1e-1001"), Some(format!("0.{}1", zeros(1_000))));
    assert_eq!(text_of("1e-1002"), None);
    assert_eq!(text_of(&format!("1.{}", "5".repeat(999))), Some(format!("1.{}", "5".repeat(999))));
    assert_eq!(text_of(&format!("1.{}", "5".repeat(1_000))), None);
    for (number, text) in [
        ("1e0", "1"),
        ("1.50e1", "15.0"),
        ("1.5e-1", "0.15"),
        ("15e-1", "1.5"),
        ("15e-2", "0.15"),
        ("-15e-3", "-0.015"),
        ("0.00e5", "0"),
        ("-0e5", "-0"),
        ("0.050e1", "0.50"),
        ("1E+2", "100"),
    ] {
        assert_eq!(text_of(number).as_deref(), Some(text), "{number}");
    }
}

// B17
#[test]
fn limits_of_numbers_are_exact_for_integers_and_floats() {
    let fits = |schema: &Value, text: &str| {
        let schema = json!({ "items": schema });
        plan(&schema).fit(Arguments::from(format!("[{text}]"))).is_ok()
    };
    for (keyword, limit, admitted, refused) in [
        ("minimum", json!(-3), ["-3", "-2", "-3.0"], ["-4", "-3.5", "-3.0000000000000001"]),
        ("maximum", json!(3), ["3", "2", "3.0"], ["4", "3.5", "3.0000000000000001"]),
        ("exclusiveMinimum", json!(-3), ["-2", "-2.5", "0"], ["-3", "-3.0", "-4"]),
        ("exclusiveMaximum", json!(3), ["2", "2.5", "-9"], ["3", "3.0", "4"]),
        ("minimum", json!(0.5), ["1", "0.5", "5e-1"], ["0", "0.25", "-1"]),
        ("exclusiveMaximum", json!(0.5), ["0", "0.25", "-1"], ["1", "0.5", "0.75"]),
        (
            "maximum",
            json!(u64::MAX),
            ["18446744073709551615", "0", "0.5"],
            ["18446744073709551616", "1e20", "2e19"],
        ),
        (
            "minimum",
            json!(i64::MIN),
            ["-9223372036854775808", "0", "-0.5"],
            ["-9223372036854775809", "-1e20", "-2e19"],
        ),
        (
            "exclusiveMinimum",
            json!(u64::MAX),
            ["18446744073709551616", "1e20", "2e19"],
            ["18446744073709551615", "0", "0.5"],
        ),
        ("multipleOf", json!(3), ["0", "-6", "9.0"], ["1", "-4", "4.5"]),
    ] {
        let schema = json!({ keyword: limit });
        for text in admitted {
            assert!(fits(&schema, text), "{schema} {text}");
        }
        for text in refused {
            assert!(!fits(&schema, text), "{schema} {text}");
        }
    }
    let both = json!({ "minimum": 2, "exclusiveMinimum": 2, "maximum": 5, "exclusiveMaximum": 4 });
    let admitted: Vec<_> = (0..8).filter(|number| fits(&both, &number.to_string())).collect();
    assert_eq!(admitted, [3]);
}

// F10, F20
#[test]
fn a_property_that_one_of_several_admitting_branches_reads_stays_in_the_canonical_text() {
    let object = |name: &str| json!({ "type": "object", "properties": { name: { "type": "integer" } }, "x-tool-ignores": true });
    let required = |name: &str| {
        let mut object = object(name);
        object["required"] = json!([name]);
        object
    };
    let canonical = |branches: Value, text: &str| {
        let plan = plan(&json!({ "properties": { "p": { "anyOf": branches } } }));
        let text = format!(r#"{{"p":{text}}}"#);
        let fitting = plan.fit(Arguments::from(text.as_str())).unwrap();
        plan.canonical(fitting).unwrap().as_str().to_owned()
    };
    for (branches, text, expected) in [
        // One branch admits the value: what it does not read is ignored.
        (json!([required("a"), required("b")]), r#"{"a":1,"c":2}"#, r#"{"a":1}"#),
        (json!([required("a"), required("b")]), r#"{"c":2,"b":1}"#, r#"{"b":1}"#),
        // Both admit it.
        (json!([required("a"), required("b")]), r#"{"a":1,"b":2,"c":3}"#, r#"{"a":1,"b":2,"c":3}"#),
        (json!([object("a"), object("b")]), r#"{"a":1,"b":2}"#, r#"{"a":1,"b":2}"#),
        (json!([object("a"), { "type": "null" }]), r#"{"a":1,"b":2}"#, r#"{"a":1}"#),
    ] {
        assert_eq!(canonical(branches, text), format!(r#"{{"p":{expected}}}"#), "{text}");
    }
}

// B17
#[test]
fn a_power_of_ten_is_a_multiple_of_the_same_powers_of_two_and_five() {
    for exponent in 1..=20_u32 {
        let literal: Value = serde_json::from_str(&format!("1e{exponent}")).unwrap();
        let (two, five) = (1_u64 << exponent, 5_u64.pow(exponent));
        for divisor in [two, five] {
            let schema = json!({ "multipleOf": divisor });
            assert_eq!(said(&schema, &literal), [""; 0], "{literal} {divisor}");
        }
        for divisor in [2 * two, 3, 3 * five] {
            let schema = json!({ "multipleOf": divisor });
            assert_eq!(said(&schema, &literal).len(), 1, "{literal} {divisor}");
        }
    }
}

#[test]
fn a_count_that_violates_contradictory_limits_has_the_message_of_its_own() {
    let schema = json!({ "minItems": 3, "maxItems": 1 });
    let of = |count: usize| said(&schema, &json!(vec![0; count]));
    assert_eq!(of(2), [": at least 3 items, got [0,0]"]);
    assert_eq!(of(3), [": at most 1 item, got [0,0,0]"]);
    let schema = json!({ "minLength": 2, "maxLength": 3 });
    let of = |text: &str| said(&schema, &json!(text));
    assert_eq!(of("a"), [": at least 2 characters, got \"a\""]);
    assert_eq!((of("ab").len(), of("abc").len()), (0, 0));
    assert_eq!(of("abcd"), [": at most 3 characters, got \"abcd\""]);
}

#[test]
fn a_branch_without_required_properties_is_not_the_intended_one() {
    let object = |name: &str, required: bool| {
        let required = if required { json!([name]) } else { json!([]) };
        json!({ "type": "object", "properties": { name: { "type": "integer" } }, "required": required })
    };
    // The second branch is explained, since its required property is present.
    let schema = json!({ "anyOf": [object("a", false), object("b", true)] });
    assert_eq!(said(&schema, &json!({ "a": "x", "b": "y" })), ["/b: an integer, got \"y\""]);
    // Neither is intended: both are listed.
    let schema = json!({ "anyOf": [object("a", false), object("b", true), object("c", true)] });
    let found = said(&schema, &json!({ "a": "x", "b": "y", "c": "z" }));
    assert!(found.len() == 1 && found[0].starts_with(": any of: "), "{found:?}");
}

// B17
#[test]
fn nothing_and_a_list_are_not_wrapped_in_a_list() {
    for (items, text) in [
        (json!({ "type": ["integer", "null"] }), r#"{"a":null}"#),
        (json!({ "type": "array", "items": { "type": "integer" } }), r#"{"a":[1]}"#),
    ] {
        let schema = json!({ "properties": { "a": { "type": "array", "items": items } }, "required": ["a"] });
        assert_eq!(correct(&plan(&schema), text), None, "{text}");
    }
    let schema = json!({ "properties": { "a": { "type": "array", "items": { "type": "integer" } } }, "required": ["a"] });
    let (text, corrections) = correct(&plan(&schema), r#"{"a":1}"#).unwrap();
    assert_eq!((&*text, corrections.len()), (r#"{"a":[1]}"#, 1));
}
