//! A text with the value it stands for, and where in it each part stands.
//!
//! Only made of arguments that did not fit. A text is rewritten part by part, so that what is not
//! changed keeps its bytes: a number of thirty digits is not read and written again.

use std::ops::Range;

use serde_json::{Map, Number, Value};

use super::{
    Violation,
    json::{Fault, Numeral, Reader},
};

/// A text that was read.
#[derive(Debug)]
pub(super) struct Document<'t> {
    text: &'t str,
    pub(super) value: Value,
    whole: Part,
    /// What no value can hold: a name that is repeated, a number that is too large.
    pub(super) oddities: Vec<Violation>,
    /// The numbers of which the value holds the nearest float, with how they are written.
    pub(super) floats: Vec<(f64, &'t str)>,
}

/// Where a value stands.
#[derive(Debug)]
struct Part {
    range: Range<usize>,
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    Nothing,
    Items(Vec<Part>),
    Properties(Vec<Property>),
}

#[derive(Debug)]
struct Property {
    name: String,
    part: Part,
}

impl<'t> Document<'t> {
    pub(super) fn read(text: &'t str) -> Result<Self, Fault> {
        let mut reading = Reading {
            reader: Reader::new(text),
            pointer: String::new(),
            oddities: Vec::new(),
            floats: Vec::new(),
        };
        let (value, whole) = reading.value()?;
        if reading.reader.is_at_end() {
            Ok(Self { text, value, whole, oddities: reading.oddities, floats: reading.floats })
        } else {
            Err(Fault::Syntax)
        }
    }

    /// The text for `value`, which was made from the document's own by renaming properties (each of
    /// `aliases` is a name, and another one for it), by reading texts, and by changing some parts.
    pub(super) fn rewritten(&self, value: &Value, aliases: &[(&str, &str)]) -> String {
        let mut text = String::with_capacity(self.text.len());
        self.write(&mut text, Some(&self.whole), &self.value, value, aliases);
        text
    }

    /// Writes `after`. What it was made from is a guess that costs nothing where it is wrong: only
    /// what is equal is taken from the text.
    fn write(
        &self,
        text: &mut String,
        part: Option<&Part>,
        before: &Value,
        after: &Value,
        aliases: &[(&str, &str)],
    ) {
        let Some(part) = part else { return text.push_str(&after.to_string()) };
        if before == after {
            return text.push_str(self.raw(part));
        }
        match (before, after, &part.inner) {
            (Value::Array(before), Value::Array(after), Inner::Items(parts))
                if before.len() == after.len() =>
            {
                text.push('[');
                for (at, ((before, after), part)) in before.iter().zip(after).zip(parts).enumerate() {
                    separate(text, at);
                    self.write(text, Some(part), before, after, aliases);
                }
                text.push(']');
            }
            (Value::Object(before), Value::Object(after), Inner::Properties(parts)) => {
                text.push('{');
                for (at, (name, after)) in after.iter().enumerate() {
                    separate(text, at);
                    text.push_str(&Value::from(name.as_str()).to_string());
                    text.push(':');
                    let (part, before) = origin(name, before, parts, aliases);
                    self.write(text, part, before, after, aliases);
                }
                text.push('}');
            }
            // A text that was read.
            (Value::String(inner), Value::Array(_) | Value::Object(_), _)
                if let Ok(document) = Document::read(inner) =>
            {
                text.push_str(&document.rewritten(after, aliases));
            }
            // A value that became the list of it.
            (_, Value::Array(after), _) if let [only] = after.as_slice() => {
                text.push('[');
                self.write(text, Some(part), before, only, aliases);
                text.push(']');
            }
            _ => text.push_str(&after.to_string()),
        }
    }

    fn raw(&self, part: &Part) -> &'t str {
        self.text.get(part.range.clone()).unwrap_or_default()
    }
}

fn separate(text: &mut String, at: usize) {
    if at > 0 {
        text.push(',');
    }
}

/// Where the property `name` comes from: the one of that name, or one that was renamed.
fn origin<'d>(
    name: &str,
    before: &'d Map<String, Value>,
    parts: &'d [Property],
    aliases: &[(&str, &str)],
) -> (Option<&'d Part>, &'d Value) {
    let find = |name: &str| {
        let part = parts.iter().find(|it| it.name == name).map(|it| &it.part);
        Some((part, before.get(name)?))
    };
    let renamed = || aliases.iter().filter(|it| it.0 == name).find_map(|it| find(it.1));
    find(name).or_else(renamed).unwrap_or((None, &Value::Null))
}

struct Reading<'t> {
    reader: Reader<'t>,
    /// Where the reading is.
    pointer: String,
    oddities: Vec<Violation>,
    floats: Vec<(f64, &'t str)>,
}

impl<'t> Reading<'t> {
    fn value(&mut self) -> Result<(Value, Part), Fault> {
        let first = self.reader.peek().ok_or(Fault::Syntax)?;
        let start = self.reader.position();
        let (value, inner) = match first {
            b'{' => self.object()?,
            b'[' => self.list()?,
            other => (self.scalar(other)?, Inner::Nothing),
        };
        Ok((value, Part { range: start..self.reader.position(), inner }))
    }

    fn scalar(&mut self, first: u8) -> Result<Value, Fault> {
        Ok(match first {
            b'"' => Value::String(self.reader.string()?.into_owned()),
            b't' => self.reader.word("true").map(|()| Value::Bool(true))?,
            b'f' => self.reader.word("false").map(|()| Value::Bool(false))?,
            b'n' => self.reader.word("null").map(|()| Value::Null)?,
            b'-' | b'0'..=b'9' => {
                let start = self.reader.position();
                let numeral = self.reader.number()?;
                self.number(numeral, start)
            }
            _ => return Err(Fault::Syntax),
        })
    }

    fn number(&mut self, numeral: Numeral<'t>, start: usize) -> Value {
        let text = self.reader.part(start..self.reader.position());
        let is_finite = match numeral {
            Numeral::Small { .. } => true,
            Numeral::Other(text) => text.parse::<f64>().is_ok_and(f64::is_finite),
        };
        match serde_json::from_str::<Number>(text) {
            Ok(number) if is_finite => {
                self.floats.extend(number.as_f64().filter(|_| number.is_f64()).map(|float| (float, text)));
                Value::Number(number)
            }
            _ => {
                self.odd("a number of at most 1.8e308", text.to_owned());
                Value::Null
            }
        }
    }

    fn odd(&mut self, expected: &str, received: String) {
        self.oddities.push(Violation::new(self.pointer.clone(), expected, received));
    }

    fn list(&mut self) -> Result<(Value, Inner), Fault> {
        self.reader.open()?;
        let (mut items, mut parts) = (Vec::new(), Vec::new());
        while self.reader.next_item(items.is_empty(), b']')? {
            let (item, part) = self.below(&items.len().to_string(), Self::value)?;
            items.push(item);
            parts.push(part);
        }
        Ok((Value::Array(items), Inner::Items(parts)))
    }

    fn object(&mut self) -> Result<(Value, Inner), Fault> {
        self.reader.open()?;
        let (mut map, mut parts) = (Map::new(), Vec::new());
        let mut is_first = true;
        while self.reader.next_item(is_first, b'}')? {
            is_first = false;
            if self.reader.peek() != Some(b'"') {
                return Err(Fault::Syntax);
            }
            let name = self.reader.string()?.into_owned();
            if !self.reader.take(b':') {
                return Err(Fault::Syntax);
            }
            let is_repeated = map.contains_key(&name);
            let (value, part) = self.below(&name, |reading| {
                if is_repeated {
                    reading.odd("the property once", "it twice".to_owned());
                }
                reading.value()
            })?;
            if !is_repeated {
                map.insert(name.clone(), value);
                parts.push(Property { name, part });
            }
        }
        Ok((Value::Object(map), Inner::Properties(parts)))
    }

    /// Reads what is at `step` from here.
    fn below<T>(&mut self, step: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.pointer.len();
        self.pointer.push('/');
        self.pointer.push_str(&step.replace('~', "~0").replace('/', "~1"));
        let read = read(self);
        self.pointer.truncate(length);
        read
    }
}
