//! Rules that the decoder applies while it reads.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    num::NonZeroU8,
};

use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::{Value, json};

use super::{DecodeError, Source};
use crate::arguments::plan::{
    Plan,
    compile::{Origin, compile},
};

const REFUSED: &str = "a value that the schema refuses";

fn decode<T: DeserializeOwned>(schema: &Value, text: &str) -> Result<T, DecodeError> {
    let plan: Plan = compile(schema, Origin::Own).unwrap();
    let mut source = Source::new(text, &plan);
    let value = T::deserialize(source.root_value())?;
    source.expect_end().map(|()| value)
}

/// Returns the error of reading `text` as a `T`; `None` if it is read.
fn error_of<T: DeserializeOwned>(schema: &Value, text: &str) -> Option<String> {
    decode::<T>(schema, text).err().map(|error| error.to_string())
}

#[test]
fn properties_are_counted_whether_they_are_named_or_not() {
    let schema = json!({
        "properties": { "a": { "type": "integer" }, "b": {} }, "minProperties": 2, "maxProperties": 3,
    });
    for (text, is_read) in [
        ("{}", false),
        (r#"{"a":1}"#, false),
        (r#"{"x":1}"#, false),
        (r#"{"a":1,"b":2}"#, true),
        (r#"{"b":2,"x":1}"#, true),
        (r#"{"x":1,"y":2}"#, true),
        (r#"{"x":1,"a":2,"y":3}"#, true),
        (r#"{"a":1,"b":2,"x":3,"y":4}"#, false),
        (r#"{"w":1,"x":2,"y":3,"z":4}"#, false),
        // Absent, and not counted; `null` is a value of `b`.
        (r#"{"a":null,"x":1}"#, false),
        (r#"{"a":null,"b":null}"#, false),
        (r#"{"b":null,"x":1}"#, true),
        (r#"{"a":null,"w":1,"x":2,"y":3}"#, true),
    ] {
        let expected = (!is_read).then_some(REFUSED);
        assert_eq!(error_of::<Value>(&schema, text).as_deref(), expected, "{text}");
        assert_eq!(error_of::<HashMap<String, Value>>(&schema, text).as_deref(), expected, "{text}");
        assert_eq!(error_of::<IgnoredAny>(&schema, text).as_deref(), expected, "{text}");
    }
}

#[test]
fn a_null_that_a_property_admits_is_its_value_and_any_other_is_absent() {
    let schema = json!({ "properties": { "e": { "enum": [1] }, "a": { "type": ["integer", "null"] }, "b": { "type": "integer" }, "c": {}, "d": { "enum": [null, 1] } } });
    let text = r#"{"e":null,"d":null,"c":null,"b":null,"a":null,"x":null}"#;
    assert_eq!(
        decode::<Value>(&schema, text).unwrap(),
        json!({ "d": null, "c": null, "a": null, "x": null })
    );
    let required = json!({ "properties": { "b": { "type": "integer" } }, "required": ["b"] });
    assert_eq!(error_of::<Value>(&required, r#"{"b":null}"#).as_deref(), Some(REFUSED));
    // Names are read in any order.
    for text in [r#"{"x":1,"a":2}"#, r#"{"a":2,"x":1,"y":3}"#, r#"{"x":1,"c":2,"y":3,"a":4}"#] {
        assert_eq!(decode::<Value>(&schema, text).unwrap(), serde_json::from_str::<Value>(text).unwrap());
    }
}

#[test]
fn rules_for_the_whole_value_apply_to_values_of_each_type() {
    let far = json!({ "anyOf": [{ "minimum": 5 }, { "maximum": -5 }] });
    assert_eq!(decode::<i64>(&far, "7").unwrap(), 7);
    assert_eq!(decode::<f64>(&far, "-7.5").unwrap().to_string(), "-7.5");
    assert_eq!(error_of::<i64>(&far, "3").as_deref(), Some(REFUSED));
    assert_eq!(error_of::<f64>(&far, "3.5").as_deref(), Some(REFUSED));
    assert_eq!(error_of::<f64>(&far, "3").as_deref(), Some(REFUSED));
    let short = json!({ "not": { "minLength": 3 } });
    assert_eq!(decode::<String>(&short, r#""ab""#).unwrap(), "ab");
    assert_eq!(error_of::<String>(&short, r#""abc""#).as_deref(), Some(REFUSED));
    let present = json!({ "not": { "type": "null" } });
    assert_eq!(decode::<Option<i64>>(&present, "1").unwrap(), Some(1));
    assert_eq!(error_of::<Option<i64>>(&present, "null").as_deref(), Some(REFUSED));
    assert_eq!(error_of::<()>(&present, "null").as_deref(), Some(REFUSED));
    let either = json!({ "anyOf": [{ "type": "null" }, { "minimum": 5 }] });
    assert_eq!(decode::<Option<i64>>(&either, "null").unwrap(), None);
    assert_eq!(error_of::<Option<i64>>(&either, "3").as_deref(), Some(REFUSED));
    let list = json!({ "uniqueItems": true, "maxItems": 2 });
    assert_eq!(decode::<Vec<i64>>(&list, "[1,2]").unwrap(), [1, 2]);
    for text in ["[1,1]", "[1,2,3]"] {
        assert_eq!(error_of::<Vec<i64>>(&list, text).as_deref(), Some(REFUSED), "{text}");
    }
}

#[test]
fn strings_booleans_and_null_are_read_if_they_are_permitted() {
    for (schema, text, is_read) in [
        (json!({ "maxLength": 2 }), r#""ab""#, true),
        (json!({ "maxLength": 2 }), r#""abc""#, false),
        (json!({ "maxLength": 2 }), r#""a\u0062c""#, false),
        (json!({ "minLength": 2 }), r#""a""#, false),
        (json!({ "pattern": "^a" }), r#""ab""#, true),
        (json!({ "pattern": "^a" }), r#""ba""#, false),
        (json!({ "enum": ["a", true, null, 1] }), r#""a""#, true),
        (json!({ "enum": ["a", true, null, 1] }), r#""b""#, false),
        (json!({ "enum": ["a", true, null, 1] }), "true", true),
        (json!({ "enum": ["a", true, null, 1] }), "false", false),
        (json!({ "enum": ["a", true, null, 1] }), "null", true),
        (json!({ "enum": ["a", true, null, 1] }), "1", true),
        (json!({ "enum": ["a", true, null, 1] }), "1.0", true),
        (json!({ "enum": ["a", true, null, 1] }), "2", false),
        (json!({ "enum": ["a", true] }), "null", false),
        (json!({ "enum": ["a", "b"] }), "true", false),
        (json!({ "enum": ["a", "b"] }), "null", false),
        (json!({ "enum": ["a", "b"] }), "1", false),
        (json!({ "enum": ["a", "b"] }), r#""b""#, true),
        (json!({ "const": false }), "false", true),
        (json!({ "const": false }), "true", false),
        (json!({ "type": "integer" }), "true", false),
        (json!({ "type": "boolean" }), "1", false),
        (json!({ "type": "object" }), "[]", false),
        (json!({ "type": "array" }), "{}", false),
    ] {
        let expected = (!is_read).then_some(REFUSED);
        assert_eq!(error_of::<Value>(&schema, text).as_deref(), expected, "{schema} {text}");
        assert_eq!(error_of::<IgnoredAny>(&schema, text).as_deref(), expected, "{schema} {text}");
        if text.starts_with('"') {
            assert_eq!(error_of::<String>(&schema, text).as_deref(), expected, "{schema} {text}");
        }
        if text == "true" || text == "false" {
            assert_eq!(error_of::<bool>(&schema, text).as_deref(), expected, "{schema} {text}");
        }
    }
}

/// Reads the first item or property, and no other.
#[derive(Debug, PartialEq)]
struct First(Option<Value>);

impl<'de> Deserialize<'de> for First {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FirstVisitor;

        impl<'de> Visitor<'de> for FirstVisitor {
            type Value = First;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list or an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<First, A::Error> {
                Ok(First(map.next_entry::<String, Value>()?.map(|(_, value)| value)))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<First, A::Error> {
                Ok(First(list.next_element()?))
            }
        }

        deserializer.deserialize_any(FirstVisitor)
    }
}

#[test]
fn a_type_reads_an_object_or_a_list_to_its_end() {
    let anything = json!({});
    for text in [r#"{"a":1}"#, "[1]", " [ 1 ] ", r#" { "a" : 1 } "#] {
        assert_eq!(decode::<First>(&anything, text).unwrap(), First(Some(json!(1))), "{text}");
    }
    for text in ["[]", "{}"] {
        assert_eq!(decode::<First>(&anything, text).unwrap(), First(None), "{text}");
    }
    assert_eq!(
        error_of::<First>(&anything, r#"{"a":1,"b":2}"#).as_deref(),
        Some("`b` is one property too many")
    );
    assert!(error_of::<First>(&anything, "[1,2]").is_some());
    // A rule for the complete object applies to what is left, too.
    let more = json!({ "minProperties": 2 });
    assert_eq!(error_of::<First>(&more, r#"{"a":1}"#).as_deref(), Some(REFUSED));
}

#[test]
fn a_newtype_is_read_like_its_content_and_a_name_as_it_is_written() {
    #[derive(Debug, Deserialize, PartialEq)]
    struct Wrapper(i64);
    assert_eq!(decode::<Wrapper>(&json!({}), "3.0").unwrap(), Wrapper(3));
    let aliased = json!({ "properties": { "path": { "type": "string", "x-tool-aliases": ["file"] } } });
    for name in ["path", "file", "other"] {
        let text = format!(r#"{{"{name}":"a"}}"#);
        assert_eq!(decode::<Value>(&aliased, &text).unwrap(), json!({ name: "a" }));
    }
    assert_eq!(error_of::<Value>(&aliased, r#"{"path":"a","file":"a"}"#).as_deref(), Some(REFUSED));
}

#[test]
fn only_a_key_of_another_type_than_its_name_is_a_refused_key() {
    let key_of = |error: DecodeError| error.refused_key().is_some();
    let anything = json!({});
    assert!(!key_of(decode::<HashMap<NonZeroU8, i64>>(&anything, r#"{"0":1}"#).unwrap_err()));
    assert!(key_of(decode::<BTreeMap<Vec<u8>, i64>>(&anything, r#"{"a":1}"#).unwrap_err()));
    assert!(!key_of(decode::<HashMap<String, i64>>(&anything, r#"{"a":"x"}"#).unwrap_err()));
}

/// The number of items or properties; reading asks for one more after the end.
#[derive(Debug, PartialEq)]
struct EntryCount(usize);

impl<'de> Deserialize<'de> for EntryCount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntryCountVisitor;

        impl<'de> Visitor<'de> for EntryCountVisitor {
            type Value = EntryCount;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list or an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<EntryCount, A::Error> {
                let mut count = 0;
                while map.next_entry::<String, Value>()?.is_some() {
                    count += 1;
                }
                assert!(map.next_entry::<String, Value>()?.is_none());
                Ok(EntryCount(count))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<EntryCount, A::Error> {
                let mut count = 0;
                while list.next_element::<Value>()?.is_some() {
                    count += 1;
                }
                assert!(list.next_element::<Value>()?.is_none());
                Ok(EntryCount(count))
            }
        }

        deserializer.deserialize_any(EntryCountVisitor)
    }
}

#[test]
fn nothing_follows_the_end_of_an_object_or_a_list() {
    let text = r#"[[1,2],{"a":1},[],{},[3]]"#;
    let counts: Vec<_> = [2, 1, 0, 0, 1].map(EntryCount).into();
    assert_eq!(decode::<Vec<EntryCount>>(&json!({}), text).unwrap(), counts);
}

#[test]
fn a_value_that_is_not_normal_is_left_to_the_general_way() {
    let schema = json!({ "anyOf": [{ "properties": { "a": { "type": "integer" } }, "required": ["a"] }] });
    assert_eq!(decode::<Value>(&schema, r#"{"a":3}"#).unwrap(), json!({ "a": 3 }));
    assert_eq!(decode::<Value>(&schema, r#"{"a":3,"b":1.5}"#).unwrap(), json!({ "a": 3, "b": 1.5 }));
    assert_eq!(error_of::<Value>(&schema, r#"{"a":3.0}"#).as_deref(), Some(REFUSED));
    let absent = json!({ "allOf": [{ "properties": { "a": { "type": "integer" } } }] });
    assert_eq!(error_of::<Value>(&absent, r#"{"a":null}"#).as_deref(), Some(REFUSED));
}

#[test]
fn a_variant_and_a_single_float_are_read_as_they_are_written() {
    #[derive(Debug, Deserialize, PartialEq)]
    enum Kind {
        First,
    }
    for text in [r#""First""#, r#""\u0046irst""#] {
        assert_eq!(decode::<Kind>(&json!({}), text).unwrap(), Kind::First, "{text}");
    }
    assert!(error_of::<Kind>(&json!({}), r#""Second""#).is_some());
    // A number that would be rounded twice by way of a 64-bit float.
    for text in ["1.00000017881393432617187499", "0.1", "-2.5", "16777217", "3.4028234e38"] {
        assert_eq!(
            decode::<f32>(&json!({}), text).unwrap().to_bits(),
            text.parse::<f32>().unwrap().to_bits(),
            "{text}"
        );
    }
    assert!(
        error_of::<f32>(&json!({}), "3.5e38").is_some() && error_of::<f64>(&json!({}), "1e309").is_some()
    );
}
