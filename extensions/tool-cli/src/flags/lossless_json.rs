//! JSON as a value without loss.

use std::{collections::HashSet, fmt};

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::{Value, value::RawValue};

/// Parses `text`.
///
/// # Errors
///
/// If `text` is not valid JSON, or a value would lose a part of it: a duplicate property, or an integer of more than
/// 64 bits.
pub(crate) fn parse_lossless_json(text: &str) -> Result<Value, String> {
    let value = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| error.to_string())?;
    check_lossless(raw.get())?;
    Ok(value)
}

/// The properties of an object, unparsed and in their order; `None` if `text` is not an object.
pub(crate) fn object_members(text: &str) -> Option<Vec<(String, &RawValue)>> {
    serde_json::from_str::<ObjectPairs<'_>>(text).ok().map(|ObjectPairs(pairs)| pairs)
}

/// Fails if a value would lose a part of the JSON `text`, whose depth `serde_json` has limited before.
fn check_lossless(text: &str) -> Result<(), String> {
    let error = |error: serde_json::Error| error.to_string();
    match text.as_bytes().first() {
        Some(b'{') => {
            let ObjectPairs(pairs) = serde_json::from_str(text).map_err(error)?;
            let mut names = HashSet::with_capacity(pairs.len());
            for (name, inner) in &pairs {
                if !names.insert(name) {
                    return Err(format!("the property `{name}` is duplicated"));
                }
                check_lossless(inner.get())?;
            }
            Ok(())
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(error)?;
            items.iter().try_for_each(|item| check_lossless(item.get()))
        }
        Some(b'-' | b'0'..=b'9') if !text.contains(['.', 'e', 'E']) => {
            let fits = text.parse::<i64>().is_ok() || text.parse::<u64>().is_ok();
            if fits { Ok(()) } else { Err(format!("{text} has {INTEGER_TOO_LONG}")) }
        }
        _ => Ok(()),
    }
}

/// The problem of an integer that a value cannot hold.
pub(super) const INTEGER_TOO_LONG: &str = "more than 64 bits; give all arguments as JSON, without flags";

/// The properties of an object, duplicates included.
struct ObjectPairs<'t>(Vec<(String, &'t RawValue)>);

impl<'de: 't, 't> Deserialize<'de> for ObjectPairs<'t> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Self::Value, M::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(pairs)
            }
        }
        deserializer.deserialize_map(All).map(Self)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::{object_members, parse_lossless_json};

    #[test]
    fn json_that_a_value_would_change_is_refused() {
        assert!(parse_lossless_json(r#"{"a": [1, -2.5e300, {"b": 18446744073709551615}]}"#).is_ok());
        assert_eq!(
            parse_lossless_json(r#"{"a": [{"b": 1, "\u0062": 2}]}"#).unwrap_err(),
            "the property `b` is duplicated"
        );
        let error = parse_lossless_json(r#"{"a": 18446744073709551616}"#).unwrap_err();
        assert!(error.starts_with("18446744073709551616 has more than 64 bits"), "{error}");
        assert!(parse_lossless_json(&"[".repeat(100_000)).is_err());
        for (text, is_kept) in [
            ("-9223372036854775808", true),
            ("-9223372036854775809", false),
            ("18446744073709551615", true),
            ("18446744073709551616.0", true),
            ("18446744073709551616e1", true),
            ("18446744073709551616E1", true),
            ("[1, 18446744073709551616]", false),
            ("\"18446744073709551616\"", true),
            ("[{\"a\": 1}, {\"a\": 1}]", true),
            (" {\"a\": 1, \"a\": 1} ", false),
            ("null", true),
            ("{", false),
        ] {
            assert_eq!(parse_lossless_json(text).is_ok(), is_kept, "{text}");
        }
        let names: Vec<_> = object_members(r#"{"b": 1, "a": [2], "b": 3}"#).unwrap();
        let names: Vec<_> = names.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(names, ["b=1", "a=[2]", "b=3"]);
        assert!(object_members("[]").is_none() && object_members("{").is_none());
    }
}
