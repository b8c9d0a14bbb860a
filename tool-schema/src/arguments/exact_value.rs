//! JSON values that preserve the spelling of numbers.

use std::{borrow::Cow, fmt};

use serde_json::Value;

use crate::json::{Fault, MAX_DEPTH, Reader, write_quoted};

/// A JSON value that preserves the spelling of its numbers, so that comparisons need no `f64`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExactValue<'t> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number in its original spelling.
    Number(Cow<'t, str>),
    /// A string.
    String(Cow<'t, str>),
    /// A list.
    List(Vec<Self>),
    /// The members of an object in order; a duplicate name is listed twice.
    Object(Vec<(Cow<'t, str>, Self)>),
}

impl<'t> ExactValue<'t> {
    /// Parses `text`; `None` if it is not JSON, or nested more deeply than arguments may be.
    #[must_use]
    pub fn read(text: &'t str) -> Option<Self> {
        let mut reader = Reader::new(text);
        let value = read_value(&mut reader).ok()?;
        reader.is_at_end().then_some(value)
    }

    /// Converts `value`; `None` if it is nested more deeply than arguments may be.
    #[must_use]
    pub fn of(value: &'t Value) -> Option<Self> {
        exact_value_within(value, MAX_DEPTH)
    }

    /// Converts to a value without borrowed parts.
    #[must_use]
    pub fn into_owned(self) -> ExactValue<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Null => ExactValue::Null,
            Self::Bool(value) => ExactValue::Bool(value),
            Self::Number(text) => ExactValue::Number(owned(text)),
            Self::String(text) => ExactValue::String(owned(text)),
            Self::List(items) => ExactValue::List(items.into_iter().map(Self::into_owned).collect()),
            Self::Object(members) => ExactValue::Object(
                members.into_iter().map(|(name, value)| (owned(name), value.into_owned())).collect(),
            ),
        }
    }

    /// Returns the member `name` of an object; the last one of duplicates.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().rev().find_map(|(own, value)| (own == name).then_some(value))
    }

    /// Returns a mutable reference to the member `name` of an object; the last one of duplicates.
    #[must_use]
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Self> {
        let Self::Object(members) = self else { return None };
        members.iter_mut().rev().find_map(|(own, value)| (own == name).then_some(value))
    }

    /// Returns the member `name`, inserted as `null` if missing; `None` if this is not an object.
    #[must_use]
    pub fn entry(&mut self, name: &str) -> Option<&mut Self> {
        let Self::Object(members) = self else { return None };
        let at = members.iter().rposition(|(own, _)| own == name).unwrap_or_else(|| {
            members.push((Cow::Owned(name.to_owned()), Self::Null));
            members.len() - 1
        });
        members.get_mut(at).map(|(_, value)| value)
    }

    /// Returns the text of a string.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// Returns the number if it is a non-negative integer.
    #[must_use]
    pub fn as_u64(&self) -> Option<u64> {
        if let Self::Number(text) = self { text.parse().ok() } else { None }
    }

    /// Returns `true` for `null`.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }
}

fn exact_value_within(value: &Value, room: u32) -> Option<ExactValue<'_>> {
    let below = || room.checked_sub(1);
    Some(match value {
        Value::Null => ExactValue::Null,
        Value::Bool(value) => ExactValue::Bool(*value),
        Value::Number(number) => ExactValue::Number(Cow::Owned(number.to_string())),
        Value::String(text) => ExactValue::String(Cow::Borrowed(text)),
        Value::Array(items) => {
            let room = below()?;
            ExactValue::List(items.iter().map(|item| exact_value_within(item, room)).collect::<Option<_>>()?)
        }
        Value::Object(members) => {
            let room = below()?;
            let member =
                |(name, value)| Some((Cow::Borrowed(String::as_str(name)), exact_value_within(value, room)?));
            ExactValue::Object(members.iter().map(member).collect::<Option<_>>()?)
        }
    })
}

/// Formats as JSON without whitespace; members keep their order and numbers their spelling.
impl fmt::Display for ExactValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |string: &str| {
            let mut text = String::with_capacity(string.len() + 2);
            write_quoted(&mut text, string);
            text
        };
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(truth) => truth.fmt(f),
            Self::Number(text) => f.write_str(text),
            Self::String(text) => f.write_str(&quoted(text)),
            Self::List(items) => {
                f.write_str("[")?;
                for (at, item) in items.iter().enumerate() {
                    write!(f, "{}{item}", if at == 0 { "" } else { "," })?;
                }
                f.write_str("]")
            }
            Self::Object(members) => {
                f.write_str("{")?;
                for (at, (name, member)) in members.iter().enumerate() {
                    write!(f, "{}{}:{member}", if at == 0 { "" } else { "," }, quoted(name))?;
                }
                f.write_str("}")
            }
        }
    }
}

fn read_value<'t>(reader: &mut Reader<'t>) -> Result<ExactValue<'t>, Fault> {
    Ok(match reader.peek().ok_or(Fault::Syntax)? {
        b'{' => {
            reader.open_container()?;
            let mut members = Vec::new();
            while reader.next_property(members.is_empty())? {
                let name = reader.read_name()?;
                members.push((name, read_value(reader)?));
            }
            ExactValue::Object(members)
        }
        b'[' => {
            reader.open_container()?;
            let mut items = Vec::new();
            while reader.next_item(items.is_empty(), b']')? {
                items.push(read_value(reader)?);
            }
            ExactValue::List(items)
        }
        b'"' => ExactValue::String(reader.read_string()?),
        b't' => reader.read_word("true").map(|()| ExactValue::Bool(true))?,
        b'f' => reader.read_word("false").map(|()| ExactValue::Bool(false))?,
        b'n' => reader.read_word("null").map(|()| ExactValue::Null)?,
        b'-' | b'0'..=b'9' => {
            let start = reader.position();
            reader.read_number()?;
            ExactValue::Number(Cow::Borrowed(reader.text_in(start..reader.position())))
        }
        _ => return Err(Fault::Syntax),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_and_its_text_are_the_same() {
        let text = r#"{"a":[1.10,1e400,-0,12345678901234567890123],"b":{"c":null,"d":true},"e":"\"é\n"}"#;
        let read = ExactValue::read(text).map(ExactValue::into_owned);
        assert_eq!(read.map(|it| it.to_string()).as_deref(), Some(text));
        let value = json!({ "a": [1, 2.5, "x", [], {}], "b": { "c": null, "d": false } });
        let text = value.to_string();
        assert_eq!(ExactValue::of(&value), ExactValue::read(&text));
        assert_eq!(ExactValue::of(&value).map(|it| it.to_string()), Some(text));
        let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
        assert_eq!(ExactValue::of(&deep), None);
    }

    #[test]
    fn members_are_found_made_and_changed() {
        let Some(mut value) = ExactValue::read(r#"{"a":1,"b":"x","a":2}"#) else { unreachable!() };
        assert_eq!(value.get("a").and_then(ExactValue::as_u64), Some(2));
        assert_eq!(value.get("b").and_then(ExactValue::as_str), Some("x"));
        assert_eq!(value.get("c"), None);
        assert_eq!(value.get_mut("c"), None);
        assert_eq!(value.entry("c"), Some(&mut ExactValue::Null));
        for name in ["a", "c"] {
            if let Some(member) = value.get_mut(name).filter(|it| it.as_str().is_none()) {
                *member = ExactValue::Bool(name == "a");
            }
        }
        assert_eq!(value.to_string(), r#"{"a":1,"b":"x","a":true,"c":false}"#);
        assert_eq!(value.get("b").and_then(|it| it.get("a")), None);
        assert_eq!(value.get_mut("b").and_then(|it| it.entry("a").map(|_| ())), None);
    }

    #[test]
    fn numbers_keep_their_spelling() {
        let text = r#"{"a":[1.10,1e400,9007199254740993],"b":{"c":null,"d":true},"e":"\u00e9"}"#;
        let number = |text: &'static str| ExactValue::Number(text.into());
        let read = ExactValue::read(text);
        let inner = vec![("c".into(), ExactValue::Null), ("d".into(), ExactValue::Bool(true))];
        assert_eq!(
            read,
            Some(ExactValue::Object(vec![
                (
                    "a".into(),
                    ExactValue::List(vec![number("1.10"), number("1e400"), number("9007199254740993")])
                ),
                ("b".into(), ExactValue::Object(inner)),
                ("e".into(), ExactValue::String("é".into())),
            ]))
        );
        assert_eq!(read.unwrap().to_string(), text.replace("\\u00e9", "é"));
        for broken in ["", "{", "[1,]", "{\"a\":1,}", "tru", "1 2", "01"] {
            assert_eq!(ExactValue::read(broken), None, "{broken}");
        }
        assert_eq!(ExactValue::read(&format!("{}{}", "[".repeat(200), "]".repeat(200))), None);
    }

    #[test]
    fn a_value_is_exact_up_to_the_depth_of_a_text() {
        let lists = |levels: u32| (1..levels).fold(json!([]), |inner, _| json!([inner, 1]));
        let objects = |levels: u32| (1..levels).fold(json!({}), |inner, _| json!({ "a": inner, "b": 1 }));
        for nested in [&lists as &dyn Fn(u32) -> Value, &objects] {
            let value = nested(MAX_DEPTH);
            assert_eq!(exact_value_within(&value, MAX_DEPTH).unwrap().to_string(), value.to_string());
            assert_eq!(exact_value_within(&nested(MAX_DEPTH + 1), MAX_DEPTH), None);
            assert!(
                exact_value_within(&nested(3), 3).is_some() && exact_value_within(&nested(3), 2).is_none()
            );
        }
    }
}
