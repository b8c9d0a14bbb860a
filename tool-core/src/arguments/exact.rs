//! A value whose numbers are kept as they are written.

use std::{borrow::Cow, fmt};

use super::{
    canonical::quote,
    json::{Fault, Reader},
};

/// A JSON value whose numbers are kept as they are written: no `f64` stands between a text and whoever
/// compares its numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExactValue<'t> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, in its own spelling.
    Number(&'t str),
    /// A string.
    String(Cow<'t, str>),
    /// A list.
    List(Vec<Self>),
    /// The members of an object, in their order; a name that is there twice is listed twice.
    Object(Vec<(Cow<'t, str>, Self)>),
}

impl<'t> ExactValue<'t> {
    /// Reads `text`; `None` where it is not JSON, or nested more deeply than arguments may be.
    #[must_use]
    pub fn read(text: &'t str) -> Option<Self> {
        let mut reader = Reader::new(text);
        let value = value(&mut reader).ok()?;
        reader.is_at_end().then_some(value)
    }
}

/// As JSON, without blanks.
impl fmt::Display for ExactValue<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |string: &str| {
            let mut text = String::with_capacity(string.len() + 2);
            quote(&mut text, string);
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

fn value<'t>(reader: &mut Reader<'t>) -> Result<ExactValue<'t>, Fault> {
    Ok(match reader.peek().ok_or(Fault::Syntax)? {
        b'{' => {
            reader.open()?;
            let mut members = Vec::new();
            while reader.next_property(members.is_empty())? {
                let name = reader.name()?;
                members.push((name, value(reader)?));
            }
            ExactValue::Object(members)
        }
        b'[' => {
            reader.open()?;
            let mut items = Vec::new();
            while reader.next_item(items.is_empty(), b']')? {
                items.push(value(reader)?);
            }
            ExactValue::List(items)
        }
        b'"' => ExactValue::String(reader.string()?),
        b't' => reader.word("true").map(|()| ExactValue::Bool(true))?,
        b'f' => reader.word("false").map(|()| ExactValue::Bool(false))?,
        b'n' => reader.word("null").map(|()| ExactValue::Null)?,
        b'-' | b'0'..=b'9' => {
            let start = reader.position();
            reader.number()?;
            ExactValue::Number(reader.part(start..reader.position()))
        }
        _ => return Err(Fault::Syntax),
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_spelling() {
        let text = r#"{"a":[1.10,1e400,9007199254740993],"b":{"c":null,"d":true},"e":"\u00e9"}"#;
        let number = ExactValue::Number;
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
}
