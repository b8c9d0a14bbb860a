//! Regression tests for failures that these tests found, with one text each.

use serde_json::json;
use tool_runtime::{Registry, schema::InputSchema, tool, tool_args};

use super::{In, definition};

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(untagged)]
enum Form {
    Whole { n: u8 },
    Float { n: f64 },
    Text { n: Option<String>, m: Option<u8> },
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Page {
    limit: u8,
    offset: u64,
}

#[tool_args]
#[derive(Debug, PartialEq)]
#[serde(tag = "kind")]
enum Tagged {
    One { n: f64 },
    Two,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Flattened {
    #[serde(flatten)]
    page: Option<Page>,
    #[serde(flatten)]
    tagged: Tagged,
}

#[tool_args]
#[derive(Debug, PartialEq)]
enum Skipping {
    #[serde(skip)]
    Hidden,
    Shown {
        n: u8,
    },
}

/// Decodes `text`, and checks that its canonical text decodes to the same value.
fn decoded<T>(text: &str) -> T
where
    T: serde::de::DeserializeOwned + tool_runtime::schemars::JsonSchema + PartialEq + std::fmt::Debug,
{
    let definition = definition(InputSchema::of::<T>().unwrap());
    let decoded = definition.decode(&mut text.into()).unwrap_or_else(|error| panic!("{}", error.feedback()));
    let mut fitting = definition.fit(text.into()).unwrap();
    assert_eq!(decoded, definition.decode::<T>(&mut fitting).unwrap());
    decoded
}

#[test]
fn an_integer_in_float_notation_selects_the_first_form() {
    assert_eq!(decoded::<In<Form>>(r#"{"value":{"n":3.0}}"#).value, Form::Whole { n: 3 });
    assert_eq!(decoded::<In<Form>>(r#"{"value":{"n":3.5}}"#).value, Form::Float { n: 3.5 });
    assert_eq!(decoded::<In<Form>>(r#"{"value":{"n":null}}"#).value, Form::Text { n: None, m: None });
}

#[test]
fn an_optional_flattened_field_is_not_lost() {
    let page = Some(Page { limit: 7, offset: 0 });
    for text in [r#"{"kind":"Two","limit":7.0,"offset":0}"#, r#"{"kind":"Two","limit":7,"offset":1e-400}"#] {
        assert_eq!(decoded::<Flattened>(text).page, page, "{text}");
    }
}

#[test]
fn a_tagged_variant_may_contain_a_number_with_many_digits() {
    // With `arbitrary_precision`, `serde_json` passes such a number as a map.
    let text = r#"{"kind":"One","n":0.1234567890123456789,"limit":7,"offset":18446744073709551615.0}"#;
    let page = Page { limit: 7, offset: u64::MAX };
    let expected = Flattened { page: Some(page), tagged: Tagged::One { n: 0.123_456_789_012_345_68 } };
    assert_eq!(decoded::<Flattened>(text), expected);
    /// Takes it.
    #[tool(register = false)]
    fn take(#[args] flattened: Flattened) -> bool {
        flattened.page.is_some()
    }
    let tools = Registry::builder().tool::<take>().build().unwrap();
    assert_eq!(tools.decode::<Flattened>("take", text).unwrap(), expected);
}

#[test]
fn a_float_of_32_bits_is_rounded_once() {
    // Slightly more than half-way to the next float.
    let text = r#"{"value":1.000000059604644775390625000001}"#;
    assert_eq!(decoded::<In<f32>>(text).value, 1.000_000_1);
    assert_eq!(decoded::<In<f32>>(r#"{"value":-0}"#).value.to_bits(), (-0.0_f32).to_bits());
}

#[test]
fn integers_keep_their_values() {
    let definition = definition(InputSchema::of::<In<i64>>().unwrap());
    for below in ["-9223372036854775809", "-9223372036854776832", "-9223372036854775809.0"] {
        let text = format!(r#"{{"value":{below}}}"#);
        let error = definition.decode::<In<i64>>(&mut text.as_str().into()).unwrap_err();
        let said = format!("/value: expected at least -9223372036854775808, got {below}");
        assert_eq!(error.violations()[0].to_string(), said);
    }
    assert_eq!(decoded::<In<i64>>(r#"{"value":-9223372036854775808.0}"#).value, i64::MIN);
    assert_eq!(decoded::<In<i128>>(r#"{"value":-9223372036854775809}"#).value, -9_223_372_036_854_775_809);
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Aliased {
    zero: i64,
    #[serde(alias = "float_too")]
    float: f64,
    #[serde(alias = "inner_too", alias = "deep")]
    inner: Inner,
}

#[tool_args]
#[derive(Debug, PartialEq)]
struct Inner {
    wide: i128,
    form: Form,
}

#[test]
fn a_value_under_an_alias_is_unchanged() {
    for name in ["inner", "inner_too", "deep"] {
        let inner = r#"{"wide":123456789012345678901234567890,"form":{"n":3.0}}"#;
        let text = format!(r#"{{"zero":-0,"float_too":0.0,"{name}":{inner}}}"#);
        let read = decoded::<Aliased>(&text);
        let inner = Inner { wide: 123_456_789_012_345_678_901_234_567_890, form: Form::Whole { n: 3 } };
        assert_eq!(read, Aliased { zero: 0, float: 0.0, inner }, "{name}");
        assert!(read.float.is_sign_positive(), "{name}");
    }
}

#[test]
fn a_skipped_variant_has_no_form() {
    let schema = InputSchema::of::<Skipping>().unwrap();
    let variant = json!({
        "type": "object",
        "properties": {
            "Shown": {
                "type": "object",
                "properties": { "n": { "type": "integer", "minimum": 0, "maximum": 255 } },
                "required": ["n"],
                "additionalProperties": false,
            }
        },
        "required": ["Shown"],
        "additionalProperties": false,
    });
    assert_eq!(*schema.as_value(), json!({ "type": "object", "oneOf": [variant] }));
    assert_eq!(decoded::<Skipping>(r#"{"Shown":{"n":1}}"#), Skipping::Shown { n: 1 });
}
