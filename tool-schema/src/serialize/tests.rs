//! The text is the one that `serde_json` writes.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
};

use proptest::prelude::*;
use serde::{Serialize, Serializer, ser::SerializeMap};
use serde_json::{Map, Value, json};

use super::to_string;

/// Compares the texts, or errors, of `value`.
#[track_caller]
fn check<T: Serialize + fmt::Debug>(value: T) {
    let (ours, theirs) = (to_string(&value), serde_json::to_string(&value));
    match (ours, theirs) {
        (Ok(ours), Ok(theirs)) => assert_eq!(ours, theirs),
        (Err(ours), Err(theirs)) => assert_eq!(ours.to_string(), theirs.to_string()),
        (ours, theirs) => panic!("{value:?}: {ours:?} {theirs:?}"),
    }
}

#[derive(Debug, Serialize)]
struct Unit;

#[derive(Debug, Serialize)]
struct Newtype<T>(T);

#[derive(Debug, Serialize)]
struct Tuple(u8, Option<i8>, &'static str);

#[derive(Debug, Serialize)]
struct Empty {}

#[derive(Debug, Serialize)]
enum Variants {
    Unit,
    #[serde(rename = "ren\"amed\n")]
    Renamed,
    Newtype(Vec<u8>),
    Tuple(u8, f32),
    EmptyTuple(),
    Struct {
        a: Option<u8>,
        #[serde(rename = "\\b")]
        b: &'static str,
        #[serde(skip_serializing_if = "Option::is_none")]
        c: Option<u8>,
    },
    EmptyStruct {},
}

#[derive(Debug, Serialize)]
#[serde(tag = "kind")]
enum Tagged {
    A { x: u8 },
    B,
}

#[derive(Debug, Serialize)]
struct Flattened {
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<u8>,
    #[serde(flatten)]
    rest: Map<String, Value>,
    last: Tagged,
}

/// Bytes, and text by `collect_str`.
#[derive(Debug)]
struct Special(bool);

impl Serialize for Special {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            true => serializer.serialize_bytes(b"ab\xff"),
            false => serializer.collect_str(&format_args!("{}\"{}", 1, "\u{1}ü")),
        }
    }
}

/// A map with one key of any type.
#[derive(Debug)]
struct One<K>(K);

impl<K: Serialize> Serialize for One<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("first", &[(); 2])?;
        map.serialize_key(&self.0)?;
        map.serialize_value(&Variants::Unit)?;
        map.end()
    }
}

/// A value that cannot be serialised.
#[derive(Debug)]
struct Failing;

impl Serialize for Failing {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        Err(serde::ser::Error::custom("it fails"))
    }
}

#[test]
fn each_form_of_serde_has_the_same_text() {
    check(Unit);
    check(Newtype(Newtype("a")));
    check(Tuple(1, None, "\u{7f}\u{0}\u{1f}\u{8}\u{c}\n\r\t\"\\/é😀"));
    check(Empty {});
    check([Variants::Unit, Variants::Renamed, Variants::Newtype(vec![]), Variants::Newtype(vec![1, 2])]);
    check([Variants::Tuple(1, 0.1), Variants::EmptyTuple(), Variants::EmptyStruct {}]);
    check(Variants::Struct { a: Some(1), b: "x", c: None });
    check(Variants::Struct { a: None, b: "", c: Some(2) });
    let rest = json!({"b": [1, {"c": {}}, []], "a\n": null}).as_object().cloned().unwrap();
    check(Flattened { first: None, rest: rest.clone(), last: Tagged::B });
    check(Flattened { first: Some(1), rest, last: Tagged::A { x: 1 } });
    check((Special(true), Special(false), 'x', '"', '😀', "", ()));
    check(Some(Some(Option::<u8>::None)));
    check(BTreeMap::<String, u8>::new());
    check((Vec::<u8>::new(), [[0_u8; 0]; 2], (1, (2,))));
    check(vec![Failing]);
    check(HashMap::from([("a", Newtype(Failing))]));
}

#[test]
fn each_key_of_a_map_has_the_same_text_or_error() {
    check(One("a\"b"));
    check(One(String::from("\n")));
    check(One(Newtype("a")));
    check(One('\\'));
    check(One(true));
    check((One(-1_i8), One(200_u8), One(i64::MIN), One(u64::MAX), One(i128::MIN), One(u128::MAX)));
    check((One(1.5_f64), One(0.1_f32), One(1e300)));
    check(One(f64::NAN));
    check(One(f32::INFINITY));
    check((One(Variants::Unit), One(Variants::Renamed)));
    check(One(Variants::Newtype(vec![])));
    check(One(Variants::Tuple(1, 1.0)));
    check(One(Variants::Struct { a: None, b: "", c: None }));
    check(One(Special(false)));
    check(One(Special(true)));
    check(One(Some("a")));
    check(One(Some(1)));
    check(One(Option::<u8>::None));
    check(One(()));
    check(One(Unit));
    check(One(vec![1]));
    check(One((1, 2)));
    check(One(Tuple(1, None, "")));
    check(One(Empty {}));
    check(One(One(1)));
    check(One(Failing));
}

#[test]
fn a_raw_value_is_its_text() {
    /// Serialised as `serde_json` passes raw text.
    #[derive(Debug, Serialize)]
    #[serde(rename = "$serde_json::private::RawValue")]
    struct Raw {
        #[serde(rename = "$serde_json::private::RawValue")]
        text: &'static str,
    }
    let raw = || Raw { text: "{ \"a\": 1e400 }" };
    let text = to_string(&(1, raw(), BTreeMap::from([("k", raw())]), "x")).unwrap();
    assert_eq!(text, r#"[1,{ "a": 1e400 },{"k":{ "a": 1e400 }},"x"]"#);
}

proptest! {
    #[test]
    fn numbers_have_the_same_text(signed: i64, unsigned: u64, double: f64, bits: u64, single: f32, wide: i128, wide_unsigned: u128) {
        let [double_bits, single_bits] = [f64::from_bits(bits), f64::from(f32::from_bits(bits as u32))];
        let finite = |number: f64| if number.is_finite() { number } else { 0.0 };
        check((signed, unsigned, finite(double), finite(double_bits), finite(single.into()) as f32, finite(single_bits) as f32));
        check((wide, wide_unsigned));
        check((signed as i8, signed as i16, signed as i32, unsigned as u8, unsigned as u16, unsigned as u32));
    }

    #[test]
    fn strings_have_the_same_text(text: String, ascii in "[\\x00-\\x7f]{0,100}", plain in "[a-z]{0,90}[\"\\\\\n]?[a-z]{0,30}") {
        check((&text, &ascii, &plain, One(&ascii), One(&plain)));
    }
}

#[test]
fn limits_of_numbers_have_the_same_text() {
    check([0, 9, 10, 99, 100, u64::MAX, 10_000_000_000_000_000_000]);
    check([0, -1, i64::MIN, i64::MAX]);
    check([0.0, -0.0, f64::MIN_POSITIVE, 1e15, 1e16, 1e17, 123456789012345680.0, 0.00001]);
}

#[test]
fn a_number_that_is_not_finite_is_an_error_with_its_location() {
    #[derive(Serialize)]
    struct Statistics {
        count: u32,
        #[serde(rename = "me/an~")]
        mean: f64,
    }
    let message = |text: Result<String, serde_json::Error>| text.unwrap_err().to_string();
    let at = |pointer: &str| {
        let number = "JSON has no number for `NaN` or an infinity; return a finite number or an `Option`";
        if pointer.is_empty() { number.to_owned() } else { format!("at `{pointer}`, {number}") }
    };
    let wrong = || Statistics { count: 1, mean: f64::NAN };
    let fine = || Statistics { count: 1, mean: 1.5 };
    assert_eq!(message(to_string(&wrong())), at("/me~1an~0"));
    assert_eq!(message(to_string(&f64::INFINITY)), at(""));
    assert_eq!(message(to_string(&Some(f32::NEG_INFINITY))), at(""));
    assert_eq!(message(to_string(&(fine(), vec![fine(), wrong()]))), at("/1/1/me~1an~0"));
    let strings = BTreeMap::from([("a\"[{,:\\", f64::NAN)]);
    assert_eq!(message(to_string(&(["[,", "\"{", "\\"], strings))), at("/1/a\"[{,:\\"));
    assert_eq!(message(to_string(&Variants::Tuple(1, f32::NAN))), at("/Tuple/1"));
}

#[test]
fn each_number_of_digits_has_the_same_text() {
    for exponent in 0..20_u32 {
        let power = 10_u64.pow(exponent);
        for number in
            [power - 1, power, power + 1, power.saturating_mul(9), power.saturating_mul(2).saturating_add(3)]
        {
            check(number);
            check(i64::try_from(number).map_or(0, |number| -number));
            check(u128::from(number) * 10_u128.pow(18));
        }
    }
    for length in 0..20 {
        let text = "abcdefghijklmnopqrstuvwxyz"[..length].to_owned();
        check(text.clone());
        check(HashMap::from([(text.clone(), 1)]));
        for position in 0..length {
            for other in ["\"", "\\", "\n", "\u{1f}", "\u{7f}", "é"] {
                check(format!("{}{other}{}", &text[..position], &text[position..]));
            }
        }
    }
}
