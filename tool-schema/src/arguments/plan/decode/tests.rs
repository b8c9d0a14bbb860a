//! F01, F12: the decoder reads what `serde_json` reads, and admits what the plan admits.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;
use serde::{
    Deserialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::{Value, json};

use super::{DecodeError, Source};
use crate::{
    Plan,
    json::{FRACTION_SENTINEL, nearest_float},
};

fn decode<T: DeserializeOwned>(plan: &Plan, text: &str) -> Result<T, DecodeError> {
    let mut source = Source::new(text, plan);
    let value = T::deserialize(source.root_value())?;
    source.expect_end().map(|()| value)
}

/// Decodes `text` by a schema; returns the value or the error.
fn read<T: DeserializeOwned>(schema: &Value, text: &str) -> Result<T, String> {
    let plan = Plan::compile(schema).unwrap();
    decode(&plan, text).map_err(|error| format!("{}: {error}", error.pointer()))
}

fn anything(text: &str) -> Option<Value> {
    decode(Plan::anything(), text).ok()
}

/// Texts that are almost JSON: tokens in any order.
fn nearly_json() -> impl Strategy<Value = String> {
    let known = prop_oneof![
        4 => prop::sample::select(vec!["{", "}", "[", "]", ",", ":", " ", "\n", "null", "true", "false"]),
        2 => prop::sample::select(vec![
            "0", "-0", "1", "-1", "01", "1.", ".5", "1.5", "-", "1e2", "1E+2", "1e", "1e400", "-1e-400", "3.0",
            "18446744073709551615", "18446744073709551616", "-9223372036854775808", "-9223372036854775809",
            "12345678901234567890123", "0.1", "1.7976931348623157e308", "5e-324",
        ]),
        2 => prop::sample::select(vec![
            r#""""#, r#""a""#, r#""b":"#, r#""a":"#, r#""é\n""#, r#""\u00e9""#, r#""\ud83d\ude00""#, r#""\ud83d""#,
            r#""\x""#, r#""\"#, "\"\t\"", r#""a long text that is longer than what is looked at bytewise\" ""#,
        ]),
    ];
    let token = prop_oneof![9 => known.prop_map(str::to_owned), 1 => ".{0,3}"];
    prop::collection::vec(token, 0..12).prop_map(|tokens| tokens.concat())
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::hash_map(".{0,30}", inner, 0..5).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// Parts of a string in JSON: runs of any length, escapes, and characters that strings cannot contain.
fn string_part() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[ -!#-\\[\\]-~]{0,70}",
        2 => "[é😀\u{7f}\u{80}]{0,20}",
        4 => prop::sample::select(vec![r"\n", r"\\", r#"\""#, r"\/", r"\b", r"\f", r"\r", r"\t", r"\u00e9", r"\ud83d\ude00"])
            .prop_map(str::to_owned),
        1 => prop::sample::select(vec!["\"", "\n", "\u{0}", "\u{1f}", r"\x", r"\u12", r"\ud83d", r"\ud83d\n", r"\"])
            .prop_map(str::to_owned),
    ]
}

/// Limits of numbers: small ones, fractions, and such that no float equals.
fn limit() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-20..20_i64).prop_map(Value::from),
        (-200..200_i32).prop_map(|tenths| json!(f64::from(tenths) / 10.0)),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
    ]
}

/// Returns the value as read by `serde_json`, with numbers as represented without `arbitrary_precision`.
fn theirs(text: &str) -> Option<Value> {
    plain(serde_json::from_str(text).ok()?)
}

fn plain(value: Value) -> Option<Value> {
    Some(match value {
        Value::Number(number) if number.to_string() == "-0" => json!(-0.0),
        Value::Number(number) if number.is_i64() || number.is_u64() => Value::Number(number),
        Value::Number(number) => json!(number.as_f64()?),
        Value::Array(items) => items.into_iter().map(plain).collect::<Option<_>>()?,
        Value::Object(map) => {
            Value::Object(map.into_iter().map(|(name, it)| Some((name, plain(it)?))).collect::<Option<_>>()?)
        }
        other => other,
    })
}

fn repeats_a_key(text: &str) -> bool {
    crate::arguments::document::Document::read(text)
        .is_ok_and(|it| !(it.repeated.is_empty() && it.too_large.is_empty()))
}

proptest! {
    #[test]
    fn decoder_reads_the_same_values_as_serde_json(value in json_value(), pretty in any::<bool>()) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        prop_assert_eq!(anything(&text.unwrap()), Some(value));
    }

    #[test]
    fn decoder_rejects_what_serde_json_rejects(text in nearly_json()) {
        if !repeats_a_key(&text) {
            prop_assert_eq!(anything(&text), theirs(&text), "{}", text);
        }
    }

    #[test]
    fn strings_of_any_length_are_read_like_serde_json_reads_them(
        parts in prop::collection::vec(string_part(), 0..6),
        is_closed in prop::bool::weighted(0.9),
    ) {
        let text = format!("\"{}{}", parts.concat(), if is_closed { "\"" } else { "" });
        prop_assert_eq!(anything(&text), theirs(&text), "{}", text);
        // In front of another string, no part is at the end of the text.
        let text = format!("[{text},{text}]");
        prop_assert_eq!(anything(&text), theirs(&text), "{}", text);
    }

    #[test]
    fn floats_within_limits_are_the_nearest_ones(
        number in "-?(0|[1-9][0-9]{0,17})(\\.[0-9]{1,17})?([eE][+-]?[0-9]{1,2})?",
        limits in proptest::array::uniform4(prop::option::of(limit())),
    ) {
        let names = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"];
        let schema = names.iter().zip(&limits).filter_map(|(name, limit)| Some((*name, limit.clone()?)));
        let plan = Plan::compile(&schema.collect()).unwrap();
        let value: Value = theirs(&number).unwrap();
        let float = number.parse::<f64>().unwrap();
        // Of a fraction that no float near it has, only the range is known.
        let range = match nearest_float(&number, float) {
            (near, true) if near.abs() == FRACTION_SENTINEL => vec![json!(near), json!(near.signum() * 2.0_f64.powi(64))],
            (near, true) => vec![json!(near)],
            (_, false) => vec![value],
        };
        let is_valid = range.iter().all(|it| plan.violations(it).is_empty());
        let expected = is_valid.then(|| float.to_bits());
        prop_assert_eq!(decode::<f64>(&plan, &number).ok().map(f64::to_bits), expected);
    }

    #[test]
    fn a_document_is_the_same_value(text in nearly_json()) {
        let document = crate::arguments::document::Document::read(&text);
        match document {
            Ok(document) if document.repeated.is_empty() && document.too_large.is_empty() && document.moved.is_empty() => {
                prop_assert_eq!(theirs(&text), Some(document.value));
            }
            Ok(_) => {}
            Err(_) => prop_assert!(serde_json::from_str::<Value>(&text).is_err()),
        }
    }
}

#[test]
fn an_integer_may_be_written_with_a_fraction_of_zeros() {
    let integer = json!({ "type": "integer" });
    assert_eq!(read::<i64>(&integer, "3.0"), Ok(3));
    assert_eq!(read::<i64>(&integer, "1e2"), Ok(100));
    assert_eq!(read::<Value>(&integer, "3.0"), Ok(json!(3)));
    assert_eq!(read::<i64>(&integer, "9007199254740993.0"), Ok(9_007_199_254_740_993));
    assert_eq!(read::<u64>(&integer, "18446744073709551615"), Ok(u64::MAX));
    assert_eq!(read::<i128>(&integer, "-170141183460469231731687303715884105728"), Ok(i128::MIN));
    assert_eq!(read::<u128>(&integer, "340282366920938463463374607431768211455"), Ok(u128::MAX));
    assert!(read::<i64>(&integer, "3.5").is_err());
    assert!(read::<i64>(&integer, "1e400").is_err());
}

#[test]
fn a_number_keeps_its_sign_and_its_digits() {
    assert!(read::<f64>(&json!(true), "-0").unwrap().is_sign_negative());
    assert_eq!(read::<i64>(&json!(true), "-0"), Ok(0));
    assert_eq!(read::<f64>(&json!(true), "0.30000000000000004"), Ok(0.300_000_000_000_000_04));
    assert_eq!(read::<f32>(&json!(true), "0.1"), Ok(0.1));
}

#[test]
fn a_property_that_may_be_absent_may_be_null() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Page {
        #[serde(default = "ten")]
        limit: u8,
        token: Option<Value>,
    }
    fn ten() -> u8 {
        10
    }
    let schema = json!({ "type": "object", "properties": { "limit": { "type": "integer" }, "token": true } });
    assert_eq!(read(&schema, r#"{"limit":null,"token":1}"#), Ok(Page { limit: 10, token: Some(json!(1)) }));
    let required = json!({ "properties": { "limit": { "type": "integer" } }, "required": ["limit"] });
    assert!(read::<Page>(&required, r#"{"limit":null}"#).is_err());
}

#[test]
fn a_repeated_name_is_refused_wherever_it_stands() {
    for text in [r#"{"a":1,"a":2}"#, r#"[{"x":{"b":null,"b":null}}]"#, r#"{"\u0061":1,"a":2}"#] {
        assert!(read::<Value>(&json!(true), text).is_err(), "{text}");
        assert!(read::<serde::de::IgnoredAny>(&json!(true), text).is_err(), "{text}");
    }
    let schema = json!({ "properties": { "a": true }, "anyOf": [{}] });
    assert!(read::<Value>(&schema, r#"{"a":1,"a":2}"#).is_err());
    let many: serde_json::Map<_, _> = (0..70).map(|at| (format!("p{at}"), json!(true))).collect();
    let schema = json!({ "properties": many });
    assert!(read::<Value>(&schema, r#"{"p69":1,"p69":2}"#).is_err());
}

#[test]
fn a_value_that_its_type_does_not_read_is_named_by_its_place() {
    #[derive(Debug, Deserialize)]
    struct Outer {
        #[expect(dead_code, reason = "only decoded")]
        inner: Vec<std::collections::BTreeMap<String, std::net::Ipv4Addr>>,
    }
    let refused = read::<Outer>(&json!(true), r#"{"inner":[{},{"a/b":"1.2.3"}]}"#).unwrap_err();
    assert_eq!(refused, "/inner/1/a~1b: invalid IPv4 address syntax");
}

#[test]
fn too_deep_nesting_is_rejected() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(read::<Value>(&json!(true), &nested(128)).is_ok());
    for levels in [129, 10_000, 1_000_000] {
        let refused = read::<Value>(&json!(true), &nested(levels)).unwrap_err();
        assert!(refused.ends_with(": nested too deeply"), "{refused}");
    }
}

#[test]
fn serde_attributes_work_with_the_decoder() {
    #[derive(Debug, PartialEq, Deserialize)]
    enum Shape {
        Point,
        Circle(f64),
        Line(i8, i8),
        Box { width: u8 },
    }
    for (text, shape) in [
        (r#""Point""#, Shape::Point),
        (r#"{"Point":null}"#, Shape::Point),
        (r#"{"Circle":1}"#, Shape::Circle(1.0)),
        (r#"{"Line":[1,-2]}"#, Shape::Line(1, -2)),
        (r#"{"Box":{"width":3}}"#, Shape::Box { width: 3 }),
    ] {
        assert_eq!(read(&json!(true), text), Ok(shape), "{text}");
    }
    for text in
        ["{}", r#"{"Circle":1,"Point":null}"#, r#""Circle""#, r#"{"Line":[1]}"#, r#"{"Line":[1,2,3]}"#, "1"]
    {
        assert!(read::<Shape>(&json!(true), text).is_err(), "{text}");
        assert!(serde_json::from_str::<Shape>(text).is_err(), "{text}");
    }
}

#[test]
fn a_raw_value_keeps_its_text() {
    let raw: Box<serde_json::value::RawValue> =
        read(&json!({ "type": "object" }), r#" {"a": [1.50] } "#).unwrap();
    assert_eq!(raw.get(), r#"{"a": [1.50] }"#);
    assert!(read::<Box<serde_json::value::RawValue>>(&json!({ "type": "object" }), "[1]").is_err());
}

#[test]
fn names_may_be_numbers_booleans_and_variants() {
    use std::collections::BTreeMap;
    let anything = json!(true);
    assert_eq!(read::<BTreeMap<u8, u8>>(&anything, r#"{"7":1}"#), Ok(BTreeMap::from([(7, 1)])));
    assert_eq!(read::<BTreeMap<bool, u8>>(&anything, r#"{"true":1}"#), Ok(BTreeMap::from([(true, 1)])));
    assert_eq!(read::<BTreeMap<i128, u8>>(&anything, r#"{"-7":1}"#), Ok(BTreeMap::from([(-7, 1)])));
    for text in [r#"{"07":1}"#, r#"{"+7":1}"#, r#"{" 7":1}"#, r#"{"256":1}"#, r#"{"":1}"#] {
        assert!(read::<BTreeMap<u8, u8>>(&anything, text).is_err(), "{text}");
        assert!(serde_json::from_str::<BTreeMap<u8, u8>>(text).is_err(), "{text}");
    }
}

#[test]
fn a_fraction_that_the_nearest_float_lacks_is_on_its_side_of_a_limit() {
    let cases = [
        ("2.9999999999999999", 3, false),
        ("29999999999999999e-16", 3, false),
        ("0.029999999999999999e2", 3, false),
        ("3.0000000000000001", 3, true),
        ("0.00000000000000030000000000000000001e16", 3, true),
        ("-2.9999999999999999", -3, true),
        ("-3.0000000000000001", -3, false),
        ("-30000000000000001E-16", -3, false),
        ("0.99999999999999999", 1, false),
        ("4503599627370494.9999999", 4_503_599_627_370_495_i64, false),
    ];
    for (number, limit, is_above) in cases {
        for (words, is_valid) in [
            ("minimum", is_above),
            ("exclusiveMinimum", is_above),
            ("maximum", !is_above),
            ("exclusiveMaximum", !is_above),
        ] {
            let schema = json!({ words: limit });
            let expected = is_valid.then_some(limit as f64);
            assert_eq!(read::<f64>(&schema, number).ok(), expected, "{number} {words}");
            let plan = Plan::compile(&json!({ "properties": { "n": schema } })).unwrap();
            let text = format!(r#"{{"n":{number}}}"#);
            assert_eq!(plan.fit(text.as_str().into()).is_ok(), is_valid, "{number} {words}");
        }
    }
}

#[test]
fn a_limit_applies_to_all_numbers_that_a_large_number_with_a_fraction_may_be() {
    let schema = json!({ "minimum": -4_503_599_627_370_496_i64, "maximum": 1e18 });
    for refused in ["-20000000000000000.1", "-4503599627370496.5", "2000000000000000000.5", "-2e17", "1.1e18"]
    {
        assert!(read::<f64>(&schema, refused).is_err(), "{refused}");
        let plan = Plan::compile(&json!({ "properties": { "n": schema } })).unwrap();
        assert!(plan.fit(format!(r#"{{"n":{refused}}}"#).as_str().into()).is_err(), "{refused}");
    }
    assert_eq!(read::<f64>(&json!({ "minimum": 1, "maximum": 1e20 }), "20000000000000000.5"), Ok(2e16));
    assert_eq!(read::<f64>(&json!({}), "-20000000000000000.1"), Ok(-2e16));
    assert!(read::<f64>(&json!({ "type": "integer" }), "20000000000000000.5").is_err());
}

#[test]
fn each_of_many_properties_is_read_once() {
    let all: serde_json::Map<_, _> = (0..70).map(|at| (format!("p{at}"), json!(at))).collect();
    let properties: serde_json::Map<_, _> =
        all.keys().map(|name| (name.clone(), json!({ "type": "integer" }))).collect();
    let schema = json!({ "type": "object", "properties": properties, "required": ["p69", "p0"], "additionalProperties": false });
    let text = Value::from(all.clone()).to_string();
    assert_eq!(read::<Value>(&schema, &text), Ok(all.clone().into()));
    let reversed: serde_json::Map<_, _> = all.into_iter().rev().collect();
    assert_eq!(read::<Value>(&schema, &Value::from(reversed.clone()).to_string()), Ok(reversed.into()));
    for name in ["p0", "p1", "p63", "p64", "p65", "p69"] {
        let twice = text.replace('}', &format!(",\"{name}\":1}}"));
        assert_eq!(
            read::<Value>(&schema, &twice),
            Err(": a value that the schema refuses".to_owned()),
            "{name}"
        );
    }
}

#[test]
fn each_kind_of_scalar_is_read_only_if_it_is_listed() {
    fn refused<T>() -> Result<T, String> {
        Err(": a value that the schema refuses".to_owned())
    }
    let schema = json!({ "enum": [true, null, 1, 2.5, "a"] });
    for (text, is_listed) in [
        ("true", true),
        ("false", false),
        ("null", true),
        ("1", true),
        ("1.0", true),
        ("2", false),
        ("2.5", true),
        ("0.5", false),
        (r#""a""#, true),
        (r#""b""#, false),
    ] {
        assert_eq!(read::<Value>(&schema, text).is_ok(), is_listed, "{text}");
    }
    assert_eq!(read::<Value>(&json!({ "const": 1 }), "null"), refused());
    assert_eq!(read::<bool>(&json!({ "const": true }), "true"), Ok(true));
    assert_eq!(read::<bool>(&json!({ "const": true }), "false"), refused());
    assert_eq!(read::<bool>(&json!({ "type": "null" }), "true"), refused());
    assert_eq!(read::<Option<bool>>(&json!({ "enum": [true, null] }), "null"), Ok(None));
    assert_eq!(read::<Option<bool>>(&json!({ "enum": [true, false] }), "null"), refused());
    assert_eq!(read::<Option<bool>>(&json!({ "type": "boolean" }), "null"), refused());
    assert_eq!(read::<String>(&json!({ "const": "a" }), r#""a""#), Ok("a".to_owned()));
    assert_eq!(read::<String>(&json!({ "const": "a" }), r#""b""#), refused());
    assert_eq!(read::<i64>(&json!({ "const": 7 }), "7"), Ok(7));
    assert_eq!(read::<i64>(&json!({ "const": 7 }), "8"), refused());
    assert_eq!(read::<f64>(&json!({ "const": 0.5 }), "0.5"), Ok(0.5));
    assert_eq!(read::<f64>(&json!({ "const": 0.5 }), "1.5"), refused());
}

#[test]
fn an_object_is_read_property_by_property_after_the_rules_for_the_whole() {
    fn properties(schema: &Value, text: &str) -> Result<Vec<(String, Option<usize>)>, DecodeError> {
        let plan = Plan::compile(schema).unwrap();
        let mut source = Source::new(text, &plan);
        let mut object = source.root_value().into_object()?;
        let mut found = Vec::new();
        while object.advance()? {
            found.push((object.name().to_owned(), object.position()));
            IgnoredAny::deserialize(object.value())?;
        }
        Ok(found)
    }
    let found = |schema: &Value, text: &str| properties(schema, text).map_err(|error| error.to_string());
    let at = |name: &str, position: Option<usize>| (name.to_owned(), position);
    let refused = || Err("a value that the schema refuses".to_owned());
    let plain = json!({ "properties": { "a": true, "b": { "type": "integer" }, "c": true } });
    assert_eq!(found(&plain, r#"{"a":1,"b":2}"#), Ok(vec![at("a", Some(0)), at("b", Some(1))]));
    assert_eq!(
        found(&plain, r#"{ "c": 1, "x": 2, "a": 3 }"#),
        Ok(vec![at("c", Some(2)), at("x", None), at("a", Some(0))])
    );
    assert_eq!(found(&plain, "{}"), Ok(Vec::new()));
    assert_eq!(found(&plain, r#"{"b":"x"}"#), refused());
    let whole = json!({ "anyOf": [{ "required": ["a"] }, { "required": ["b"] }] });
    assert_eq!(found(&whole, r#"{"c":1,"b":2}"#), Ok(vec![at("c", None), at("b", None)]));
    assert_eq!(found(&whole, r#"{"c":1}"#), refused());
    for schema in [&plain, &whole] {
        assert_eq!(found(schema, ""), Err("not JSON".to_owned()));
        assert_eq!(found(schema, r#"{"a":1,}"#), Err("not JSON".to_owned()));
    }
    assert_eq!(found(&plain, "[1]"), refused());
}

#[test]
fn each_limit_of_integers_is_exact() {
    for (schema, good, bad) in [
        (json!({ "minimum": -3 }), ["-3", "0"], ["-4", "-5"]),
        (json!({ "exclusiveMinimum": -3 }), ["-2", "0"], ["-3", "-4"]),
        (json!({ "maximum": 5 }), ["5", "-9"], ["6", "7"]),
        (json!({ "exclusiveMaximum": 5 }), ["4", "-9"], ["5", "6"]),
        (json!({ "minimum": 3, "exclusiveMinimum": 3 }), ["4", "5"], ["3", "2"]),
        (json!({ "maximum": -3, "exclusiveMaximum": -3 }), ["-4", "-5"], ["-3", "-2"]),
    ] {
        for text in good {
            assert_eq!(read::<i64>(&schema, text), Ok(text.parse().unwrap()), "{schema} {text}");
            assert_eq!(read::<f64>(&schema, text), Ok(text.parse().unwrap()), "{schema} {text}");
        }
        for text in bad {
            assert!(read::<i64>(&schema, text).is_err(), "{schema} {text}");
            assert!(read::<f64>(&schema, text).is_err(), "{schema} {text}");
        }
    }
}
