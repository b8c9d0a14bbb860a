//! Rewriting a JSON text for a changed value.
//!
//! Only changed parts are rewritten, so that the rest keeps its bytes: a number of thirty digits is not parsed and
//! printed.

use std::{borrow::Cow, collections::HashMap, ops::Range};

use serde_json::{Map, Value};

use super::{
    document::{Document, is_rewritten},
    json::{Fault, Reader},
};

/// Returns the text of `value`, derived from the value of `text` by renaming properties (`aliases` are pairs of
/// an alias and its property name), by parsing strings, and by changing parts.
pub(super) fn rewritten(text: &str, value: &Value, aliases: &[(&str, &str)]) -> String {
    made_from(text, value, aliases).unwrap_or_else(|| value.to_string())
}

/// Rewrites like [`rewritten`]; `None` if `source` is not JSON.
fn made_from(source: &str, value: &Value, aliases: &[(&str, &str)]) -> Option<String> {
    let (before, whole) = (Document::read(source).ok()?, Part::read(&mut Reader::new(source)).ok()?);
    let mut writing = Writing { source, aliases, text: String::with_capacity(source.len()) };
    writing.write(&whole, &before.value, value);
    Some(writing.text)
}

/// The location of a value in the text.
#[derive(Debug)]
struct Part<'t> {
    range: Range<usize>,
    inner: Inner<'t>,
    /// `true` if a number in it changes its spelling.
    is_rewritten: bool,
}

#[derive(Debug)]
enum Inner<'t> {
    Nothing,
    Items(Vec<Part<'t>>),
    Properties(Vec<(Cow<'t, str>, Part<'t>)>),
}

impl<'t> Part<'t> {
    fn read(reader: &mut Reader<'t>) -> Result<Self, Fault> {
        let first = reader.peek().ok_or(Fault::Syntax)?;
        let start = reader.position();
        let (inner, is_rewritten) = match first {
            b'{' => Self::properties(reader)?,
            b'[' => Self::items(reader)?,
            b'-' | b'0'..=b'9' => {
                let number = reader.number()?.to_number();
                let text = reader.part(start..reader.position());
                (Inner::Nothing, number.is_some_and(|number| is_rewritten(&number, text)))
            }
            b'"' => reader.string().map(|_| (Inner::Nothing, false))?,
            b't' => reader.word("true").map(|()| (Inner::Nothing, false))?,
            b'f' => reader.word("false").map(|()| (Inner::Nothing, false))?,
            b'n' => reader.word("null").map(|()| (Inner::Nothing, false))?,
            _ => return Err(Fault::Syntax),
        };
        Ok(Self { range: start..reader.position(), inner, is_rewritten })
    }

    fn items(reader: &mut Reader<'t>) -> Result<(Inner<'t>, bool), Fault> {
        reader.open()?;
        let mut items = Vec::new();
        while reader.next_item(items.is_empty(), b']')? {
            items.push(Self::read(reader)?);
        }
        let is_rewritten = items.iter().any(|it| it.is_rewritten);
        Ok((Inner::Items(items), is_rewritten))
    }

    fn properties(reader: &mut Reader<'t>) -> Result<(Inner<'t>, bool), Fault> {
        reader.open()?;
        let mut properties = Vec::new();
        while reader.next_property(properties.is_empty())? {
            properties.push((reader.name()?, Self::read(reader)?));
        }
        let is_rewritten = properties.iter().any(|(_, it)| it.is_rewritten);
        Ok((Inner::Properties(properties), is_rewritten))
    }
}

/// The state of rewriting a text.
struct Writing<'w> {
    source: &'w str,
    aliases: &'w [(&'w str, &'w str)],
    text: String,
}

impl Writing<'_> {
    /// Writes `after`. The assumed origin may be wrong without harm: only equal parts are copied from the text.
    fn write(&mut self, part: &Part<'_>, before: &Value, after: &Value) {
        if before == after && !part.is_rewritten {
            return self.text.push_str(self.source.get(part.range.clone()).unwrap_or_default());
        }
        // A string that was parsed as JSON.
        if let (Value::String(inner), Value::Array(_) | Value::Object(_)) = (before, after)
            && let Some(text) = made_from(inner, after, self.aliases)
        {
            return self.text.push_str(&text);
        }
        match (before, after, &part.inner) {
            (Value::Array(before), Value::Array(after), Inner::Items(parts))
                if before.len() == after.len() =>
            {
                self.text.push('[');
                for (at, ((before, after), part)) in before.iter().zip(after).zip(parts).enumerate() {
                    self.separate(at);
                    self.write(part, before, after);
                }
                self.text.push(']');
            }
            (Value::Object(before), Value::Object(after), Inner::Properties(parts)) => {
                self.object(parts, before, after);
            }
            _ => match after.as_array().map(Vec::as_slice) {
                // A value that was wrapped in a list.
                Some([only]) => {
                    self.text.push('[');
                    self.write(part, before, only);
                    self.text.push(']');
                }
                _ => self.text.push_str(&after.to_string()),
            },
        }
    }

    fn object(
        &mut self,
        parts: &[(Cow<'_, str>, Part<'_>)],
        before: &Map<String, Value>,
        after: &Map<String, Value>,
    ) {
        let by_name: HashMap<&str, &Part<'_>> = parts.iter().map(|(name, part)| (&**name, part)).collect();
        self.text.push('{');
        for (at, (name, value)) in after.iter().enumerate() {
            self.separate(at);
            self.text.push_str(&Value::from(name.as_str()).to_string());
            self.text.push(':');
            let origin = self.origin(name, before, after);
            match (by_name.get(origin), before.get(origin)) {
                (Some(part), Some(before)) => self.write(part, before, value),
                _ => self.text.push_str(&value.to_string()),
            }
        }
        self.text.push('}');
    }

    /// Returns the name that the property `name` had in the text.
    fn origin<'n>(&self, name: &'n str, before: &Map<String, Value>, after: &Map<String, Value>) -> &'n str
    where
        Self: 'n,
    {
        // A removed `null` counts as absent under any name.
        let came =
            |alias: &str| before.get(alias).is_some_and(|it| !it.is_null() || !before.contains_key(name));
        let is_it = |alias: &str| came(alias) && !after.contains_key(alias);
        let renamed = self.aliases.iter().find(|(alias, own)| *own == name && is_it(alias));
        renamed.map_or(name, |(alias, _)| alias)
    }

    fn separate(&mut self, at: usize) {
        if at > 0 {
            self.text.push(',');
        }
    }
}
