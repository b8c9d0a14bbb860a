//! F12: numbers at the limits of their ranges.

use serde::Deserialize;
use serde_json::{Value, json};

use super::check;
use crate::{Arguments, Plan, arguments::plan::decode::Source};

fn number(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn integers_beyond_two_to_the_53_stay_distinct() {
    let limit = 9_007_199_254_740_992_u64;
    check(json!({"maximum": limit}), [json!(limit)], [json!(limit + 1)]);
    check(json!({"const": limit + 1}), [json!(limit + 1)], [json!(limit), json!(limit as f64)]);
    check(json!({"enum": [i64::MIN]}), [json!(i64::MIN)], [json!(i64::MIN + 1)]);
}

#[test]
fn unsigned_integers_reach_their_limit() {
    check(
        json!({"type": "integer", "maximum": u64::MAX}),
        [json!(u64::MAX), json!(i64::MIN)],
        [json!(18446744073709551616.0)],
    );
    check(
        json!({"minimum": u64::MAX}),
        [json!(u64::MAX), json!(1e30)],
        [json!(u64::MAX - 1), json!(i64::MAX)],
    );
}

#[test]
fn integers_and_floats_are_compared_exactly() {
    check(json!({"minimum": 0.5}), [json!(1), json!(0.5)], [json!(0), json!(-1)]);
    check(json!({"maximum": -0.5}), [json!(-1)], [json!(0), json!(-0.25)]);
    check(
        json!({"exclusiveMaximum": 9007199254740993_u64}),
        [json!(9007199254740992.0)],
        [json!(9007199254740994.0)],
    );
    check(json!({"maximum": 1e300}), [json!(u64::MAX), json!(1e300)], [json!(1.1e300)]);
    check(json!({"minimum": -1e300}), [json!(i64::MIN)], [json!(-1.1e300)]);
}

#[test]
fn a_fraction_is_compared_as_the_float_that_a_type_reads() {
    #[derive(Debug, Deserialize)]
    struct Discount {
        share: f64,
    }

    let plan =
        Plan::compile(&json!({ "type": "object", "properties": { "share": { "maximum": 0.3 } } })).unwrap();
    let share = |text: &str| {
        plan.decode::<Discount>(&mut format!(r#"{{"share":{text}}}"#).into()).map(|discount| discount.share)
    };
    assert_eq!(share("0.30000000000000001"), Ok(0.3));
    let error = share("0.30000000000000004").unwrap_err();
    assert_eq!(error.violations()[0].to_string(), "/share: expected at most 0.3, got 0.30000000000000004");
}

#[test]
fn a_large_float_is_what_is_written() {
    // Not the power of two that its bits represent.
    check(json!({"const": 10_000_000_000_000_000_000_000_u128 as f64}), [number("1e22")], [number("1.1e22")]);
    check(json!({"maximum": 1_827_422_110_723_640_000_u64}), [json!(1.827_422_110_723_64e18)], []);
    check(json!({"minimum": i64::MIN}), [json!(-9.3e17)], [json!(i64::MIN as f64), json!(-1e300)]);
    check(json!({"type": "integer"}), [json!(1e22), json!(1e300)], [json!(0.1), json!(1e-300)]);
}

#[test]
fn negative_zero_is_zero() {
    check(json!({"type": "integer", "minimum": 0, "const": 0}), [json!(-0.0), json!(0)], []);
}

#[test]
fn multiples_are_exact_at_any_size() {
    check(
        json!({"multipleOf": 2}),
        [json!(u64::MAX - 1), json!(i64::MIN), json!(1e300)],
        [json!(u64::MAX), json!(i64::MAX)],
    );
    check(json!({"multipleOf": u64::MAX}), [json!(u64::MAX), json!(0)], [json!(1), json!(u64::MAX - 1)]);
    check(
        json!({"multipleOf": 0.01}),
        [json!(19.99), json!(4.35), json!(u64::MAX)],
        [json!(0.001), json!(0.015)],
    );
    check(json!({"multipleOf": 1e-300}), [json!(1), json!(3e-300), json!(0.5)], [json!(1.5e-300)]);
    check(json!({"multipleOf": 2.5e20}), [json!(5e20), json!(0)], [json!(1), json!(3e20)]);
    check(json!({"multipleOf": 1e3}), [json!(5000), json!(-3000)], [json!(100), json!(1500)]);
    check(
        json!({"multipleOf": u64::MAX}),
        [json!(0.0)],
        [json!(1e-19), json!(1e-20), json!(1e-21), json!(1e30)],
    );
    check(json!({"multipleOf": 7}), [json!(7e30), json!(1.4e31)], [json!(1e30), json!(1.5e31)]);
    check(json!({"multipleOf": 1}), [json!(1e30), json!(1.5e31)], [json!(0.5), json!(1e-30)]);
    check(json!({"multipleOf": 0.25}), [json!(1e30), json!(0.75), json!(-2)], [json!(0.3), json!(1e-20)]);
    check(json!({"multipleOf": 1e308}), [json!(0)], [json!(1e-308), json!(123)]);
}

#[test]
fn exponent_is_a_way_to_write_an_integer() {
    check(
        json!({"type": "integer", "maximum": 100}),
        [number("1e2"), number("1.0E+1")],
        [number("1e3"), number("1e-1")],
    );
}

#[test]
fn lengths_beyond_all_memory_are_no_limit() {
    check(json!({"maxLength": 1e300}), [json!("abc")], []);
    check(json!({"minItems": u64::MAX}), [], [json!([1])]);
}

/// Returns `true` if `text` is read, and checks that validation alone has the same verdict.
#[track_caller]
fn is_read(schema: &Value, text: &str) -> bool {
    let plan = super::plan(schema);
    let arguments = || Arguments::new(text.into());
    let read = plan.read(&mut arguments(), |source, _| Value::deserialize(source).map(drop)).is_ok();
    let decoded = Value::deserialize(Source::new(text, &plan).root_value()).is_ok();
    assert_eq!(read, plan.fit(arguments()).is_ok(), "{schema} {text}");
    assert!(read || !decoded, "{schema} {text}");
    read
}

// F01, F12
#[test]
fn numbers_have_one_verdict_alone_and_under_a_choice() {
    let numerals = [
        "3",
        "3.0",
        "3.0000000000000001",
        "2.9999999999999999",
        "-3.0000000000000001",
        "3e0",
        "0.5",
        "-0",
        "-0.0",
        "1e-400",
        "1e400",
        "1e22",
        "4503599627370496.3",
        "9007199254740993",
        "9007199254740993.0",
        "9007199254740992.5",
        "18446744073709551615",
        "18446744073709551616.5",
        "36893488147419103232.5",
        "1234567890123456789012.5",
        "12345678901234567890123",
    ];
    let bounds = [
        json!(3),
        json!(-3),
        json!(0),
        json!(3.000_000_000_000_000_4),
        json!(2.5),
        json!(u64::MAX),
        json!(1e22),
        json!(9_007_199_254_740_992_u64),
        json!(3.0),
    ];
    let keywords = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "const", "multipleOf"];
    let (mut read, mut refused) = (0, 0);
    for numeral in numerals {
        for (key, bound) in keywords.iter().flat_map(|key| bounds.iter().map(move |bound| (*key, bound))) {
            if key == "multipleOf" && bound.as_f64().is_some_and(|it| it <= 0.0) {
                continue;
            }
            for types in [json!("number"), json!("integer"), json!(["number", "string"])] {
                let alone = json!({"type": types, key: bound});
                let choice = json!({"anyOf": [alone, {"type": "boolean"}]});
                let inside = json!({"items": alone, "uniqueItems": true});
                let list = format!("[{numeral}]");
                let verdict = is_read(&alone, numeral);
                assert_eq!(is_read(&choice, numeral), verdict, "{alone} {numeral}");
                assert_eq!(is_read(&inside, &list), verdict, "{alone} {numeral}");
                if verdict { read += 1 } else { refused += 1 }
            }
        }
    }
    assert!(read > 500 && refused > 500, "{read} {refused}");
}

#[test]
fn a_number_that_is_read_is_judged_by_its_range_alone_if_the_schema_has_no_other_rule() {
    let plans = |schema: Value| Plan::compile(&schema).unwrap();
    let integer = |schema: &Value, negative, magnitude| {
        plans(schema.clone()).root_node().admits_integer(negative, magnitude)
    };
    let float = |schema: &Value, number| plans(schema.clone()).root_node().admits_float(number);
    for schema in [json!({}), json!({"type": "integer"}), json!({"type": ["string", "integer"]})] {
        assert_eq!(
            (integer(&schema, false, 5), integer(&schema, true, 5)),
            (Some(true), Some(true)),
            "{schema}"
        );
    }
    let range = json!({"type": ["integer", "number"], "minimum": -2, "maximum": 3});
    for (negative, magnitude, is_in) in
        [(true, 3, false), (true, 2, true), (false, 0, true), (false, 3, true), (false, 4, false)]
    {
        assert_eq!(integer(&range, negative, magnitude), Some(is_in), "{negative} {magnitude}");
    }
    for (number, is_in) in [(-2.5, false), (-2.0, true), (3.0, true), (3.5, false)] {
        assert_eq!(float(&range, number), Some(is_in), "{number}");
    }
    for other in [json!({"enum": [5]}), json!({"type": "string"}), json!({"multipleOf": 7})] {
        assert_eq!((integer(&other, false, 5), float(&other, 5.5)), (None, None), "{other}");
    }
    assert_eq!(float(&json!({"type": "integer"}), 5.5), None);
    assert_eq!(float(&json!({"type": "number"}), 5.5), Some(true));
}

#[test]
fn a_number_that_is_too_large_has_its_sign_for_other_rules() {
    let plan = super::plan(&json!({ "properties": { "low": { "maximum": 5 }, "high": { "minimum": -5 } } }));
    let (violations, _) = plan.fit(r#"{"low":-1e400,"high":1e400}"#.into()).unwrap_err().into_parts();
    let pointers: Vec<_> = violations.iter().map(|it| it.pointer.as_str()).collect();
    assert_eq!((pointers, violations.total()), (vec!["/low", "/high"], 2));
}

#[test]
fn a_number_beyond_the_range_of_floats_is_compared_with_none() {
    use crate::arguments::plan::number::ExactNumber::{Float, Integer};
    assert_eq!((Integer(1).compare(Float(f64::NAN)), Float(f64::NAN).compare(Integer(-1))), (None, None));
    assert_eq!(Float(f64::NAN).compare(Float(0.5)), None);
}
