//! Rewriting a JSON text for a changed value.
//!
//! Only changed parts are rewritten, so that the rest keeps its bytes: a number of thirty digits is not parsed and
//! printed.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use serde_json::{Map, Value};

use super::document::{Document, is_integer_spelled_as_float};
use crate::json::{Fault, Reader};

/// Returns the text of `value`, derived from the value of `text` by renaming properties (`aliases` are pairs of
/// an alias and its property name), by parsing strings, and by changing parts.
pub(super) fn rewrite_text(text: &str, value: &Value, aliases: &[(&str, &str)]) -> String {
    try_rewrite_text(text, value, aliases).unwrap_or_else(|| value.to_string())
}

/// Rewrites like [`rewrite_text`]; `None` if `source` is not JSON.
fn try_rewrite_text(source: &str, value: &Value, aliases: &[(&str, &str)]) -> Option<String> {
    let (before, whole) = (Document::read(source).ok()?, TextPart::read_part(&mut Reader::new(source)).ok()?);
    let mut writing = TextWriter { source, aliases, text: String::with_capacity(source.len()) };
    writing.write_value(&whole, &before.value, value);
    Some(writing.text)
}

/// The location of a value in the text.
#[derive(Debug)]
struct TextPart<'t> {
    range: Range<usize>,
    inner: PartContent<'t>,
    /// `true` if a number in it changes its spelling.
    is_rewritten: bool,
}

#[derive(Debug)]
enum PartContent<'t> {
    Nothing,
    Items(Vec<TextPart<'t>>),
    Properties(Vec<(Cow<'t, str>, TextPart<'t>)>),
}

impl<'t> TextPart<'t> {
    fn read_part(reader: &mut Reader<'t>) -> Result<Self, Fault> {
        let first = reader.peek().ok_or(Fault::Syntax)?;
        let start = reader.position();
        let (inner, is_rewritten) = match first {
            b'{' => Self::read_properties(reader)?,
            b'[' => Self::read_items(reader)?,
            b'-' | b'0'..=b'9' => {
                let number = reader.read_number()?.to_number();
                let text = reader.text_in(start..reader.position());
                (
                    PartContent::Nothing,
                    number.is_some_and(|number| is_integer_spelled_as_float(&number, text)),
                )
            }
            b'"' => reader.read_string().map(|_| (PartContent::Nothing, false))?,
            b't' => reader.read_word("true").map(|()| (PartContent::Nothing, false))?,
            b'f' => reader.read_word("false").map(|()| (PartContent::Nothing, false))?,
            b'n' => reader.read_word("null").map(|()| (PartContent::Nothing, false))?,
            _ => return Err(Fault::Syntax),
        };
        Ok(Self { range: start..reader.position(), inner, is_rewritten })
    }

    fn read_items(reader: &mut Reader<'t>) -> Result<(PartContent<'t>, bool), Fault> {
        reader.open_container()?;
        let mut items = Vec::new();
        while reader.next_item(items.is_empty(), b']')? {
            items.push(Self::read_part(reader)?);
        }
        let is_rewritten = items.iter().any(|it| it.is_rewritten);
        Ok((PartContent::Items(items), is_rewritten))
    }

    fn read_properties(reader: &mut Reader<'t>) -> Result<(PartContent<'t>, bool), Fault> {
        reader.open_container()?;
        let mut properties = Vec::new();
        while reader.next_property(properties.is_empty())? {
            properties.push((reader.read_name()?, Self::read_part(reader)?));
        }
        let is_rewritten = properties.iter().any(|(_, it)| it.is_rewritten);
        Ok((PartContent::Properties(properties), is_rewritten))
    }
}

/// The state of rewriting a text.
struct TextWriter<'w> {
    source: &'w str,
    aliases: &'w [(&'w str, &'w str)],
    text: String,
}

impl TextWriter<'_> {
    /// Writes `after`. The assumed origin may be wrong without harm: only equal parts are copied from the text.
    fn write_value(&mut self, part: &TextPart<'_>, before: &Value, after: &Value) {
        if before == after && !part.is_rewritten {
            return self.text.push_str(self.source.get(part.range.clone()).unwrap_or_default());
        }
        // A string that was parsed as JSON.
        if let (Value::String(inner), Value::Array(_) | Value::Object(_)) = (before, after)
            && let Some(text) = try_rewrite_text(inner, after, self.aliases)
        {
            return self.text.push_str(&text);
        }
        match (before, after, &part.inner) {
            (Value::Array(before), Value::Array(after), PartContent::Items(parts))
                if before.len() == after.len() =>
            {
                self.text.push('[');
                for (at, ((before, after), part)) in before.iter().zip(after).zip(parts).enumerate() {
                    self.write_separator(at);
                    self.write_value(part, before, after);
                }
                self.text.push(']');
            }
            (Value::Object(before), Value::Object(after), PartContent::Properties(parts)) => {
                self.write_object(parts, before, after);
            }
            _ => match after.as_array().map(Vec::as_slice) {
                // A value that was wrapped in a list.
                Some([only]) => {
                    self.text.push('[');
                    self.write_value(part, before, only);
                    self.text.push(']');
                }
                _ => self.text.push_str(&after.to_string()),
            },
        }
    }

    fn write_object(
        &mut self,
        parts: &[(Cow<'_, str>, TextPart<'_>)],
        before: &Map<String, Value>,
        after: &Map<String, Value>,
    ) {
        let by_name: HashMap<&str, &TextPart<'_>> =
            parts.iter().map(|(name, part)| (&**name, part)).collect();
        self.text.push('{');
        for (at, (name, value)) in after.iter().enumerate() {
            self.write_separator(at);
            self.text.push_str(&Value::from(name.as_str()).to_string());
            self.text.push(':');
            let origin = self.original_name(name, before, after);
            match (by_name.get(origin), before.get(origin)) {
                (Some(part), Some(before)) => self.write_value(part, before, value),
                _ => self.text.push_str(&value.to_string()),
            }
        }
        self.text.push('}');
    }

    /// Returns the name that the property `name` had in the text.
    fn original_name<'n>(
        &self,
        name: &'n str,
        before: &Map<String, Value>,
        after: &Map<String, Value>,
    ) -> &'n str
    where
        Self: 'n,
    {
        // A removed `null` counts as absent under any name.
        let was_received =
            |alias: &str| before.get(alias).is_some_and(|it| !it.is_null() || !before.contains_key(name));
        let is_it = |alias: &str| was_received(alias) && !after.contains_key(alias);
        let renamed = self.aliases.iter().find(|(alias, own)| *own == name && is_it(alias));
        renamed.map_or(name, |(alias, _)| alias)
    }

    fn write_separator(&mut self, at: usize) {
        if at > 0 {
            self.text.push(',');
        }
    }
}
