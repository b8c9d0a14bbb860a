//! A text with the value it stands for, and where in it each part stands.
//!
//! Only made of arguments that did not fit. A text is rewritten part by part, so that what is not
//! changed keeps its bytes: a number of thirty digits is not read and written again.

use std::ops::Range;

use serde_json::{Map, Value};

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
    /// Names that are repeated; the value has the first property of each.
    pub(super) repeated: Vec<Violation>,
    /// Numbers that no float holds; the value has the largest float for them.
    pub(super) too_large: Vec<Violation>,
    /// The numbers of which the value holds the nearest float, with how they are written.
    pub(super) floats: Vec<(f64, &'t str)>,
}

/// Where a value stands.
#[derive(Debug)]
struct Part {
    range: Range<usize>,
    inner: Inner,
    /// Whether there is an integer in it that is written as a float and that no float is equal to.
    is_rewritten: bool,
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
            repeated: Vec::new(),
            too_large: Vec::new(),
            floats: Vec::new(),
        };
        let (value, whole) = reading.value()?;
        if reading.reader.is_at_end() {
            let Reading { repeated, too_large, floats, .. } = reading;
            Ok(Self { text, value, whole, repeated, too_large, floats })
        } else {
            Err(Fault::Syntax)
        }
    }

    /// Whether there is anything that no value can hold.
    pub(super) fn is_odd(&self) -> bool {
        !(self.repeated.is_empty() && self.too_large.is_empty())
    }

    /// Whether the text for the document's own value differs from the one that was read.
    pub(super) fn is_rewritten(&self) -> bool {
        self.whole.is_rewritten
    }

    /// The text for `value`, which was made from the document's own by renaming properties (each of
    /// `aliases` is a name, and the one that it stands for), by reading texts, and by changing some
    /// parts.
    pub(super) fn rewritten(&self, value: &Value, aliases: &[(&str, &str)]) -> String {
        let mut text = String::with_capacity(self.text.len());
        self.write(value, aliases, &mut text);
        text
    }

    fn write(&self, value: &Value, aliases: &[(&str, &str)], text: &mut String) {
        Writing { source: self.text, aliases, text }.write(&self.whole, &self.value, value);
    }
}

/// Writes a document anew.
struct Writing<'w> {
    source: &'w str,
    aliases: &'w [(&'w str, &'w str)],
    text: &'w mut String,
}

impl Writing<'_> {
    /// Writes `after`. What it was made from is a guess that costs nothing where it is wrong: only
    /// what is equal is taken from the text.
    fn write(&mut self, part: &Part, before: &Value, after: &Value) {
        if before == after && !part.is_rewritten {
            return self.text.push_str(self.source.get(part.range.clone()).unwrap_or_default());
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
            // A text that was read.
            (Value::String(inner), Value::Array(_) | Value::Object(_), _)
                if let Ok(document) = Document::read(inner) =>
            {
                document.write(after, self.aliases, self.text);
            }
            // A value that became the list of it.
            (_, Value::Array(after), _) if let [only] = after.as_slice() => {
                self.text.push('[');
                self.write(part, before, only);
                self.text.push(']');
            }
            _ => self.text.push_str(&after.to_string()),
        }
    }

    fn object(&mut self, parts: &[Property], before: &Map<String, Value>, after: &Map<String, Value>) {
        self.text.push('{');
        for (at, (name, value)) in after.iter().enumerate() {
            self.separate(at);
            self.text.push_str(&Value::from(name.as_str()).to_string());
            self.text.push(':');
            let origin = self.origin(name, before, after);
            match (parts.iter().find(|it| it.name == origin), before.get(origin)) {
                (Some(property), Some(before)) => self.write(&property.part, before, value),
                _ => self.text.push_str(&value.to_string()),
            }
        }
        self.text.push('}');
    }

    /// The name under which the property `name` came.
    fn origin<'n>(&self, name: &'n str, before: &Map<String, Value>, after: &Map<String, Value>) -> &'n str
    where
        Self: 'n,
    {
        // A `null` that is gone was absent, under whatever name.
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

fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64()
}

struct Reading<'t> {
    reader: Reader<'t>,
    /// Where the reading is.
    pointer: String,
    repeated: Vec<Violation>,
    too_large: Vec<Violation>,
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
        let range = start..self.reader.position();
        let is_rewritten = match &inner {
            Inner::Nothing => is_integer(&value) && self.reader.part(range.clone()).contains(['.', 'e', 'E']),
            Inner::Items(parts) => parts.iter().any(|part| part.is_rewritten),
            Inner::Properties(list) => list.iter().any(|property| property.part.is_rewritten),
        };
        Ok((value, Part { range, inner, is_rewritten }))
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
        let Some(number) = numeral.to_number() else {
            let expected = "a number between -1.8e308 and 1.8e308";
            self.too_large.push(Violation::new(self.pointer.clone(), expected, text));
            return Value::from(if text.starts_with('-') { f64::MIN } else { f64::MAX });
        };
        self.floats.extend(number.as_f64().filter(|_| number.is_f64()).map(|float| (float, text)));
        Value::Number(number)
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
                    let pointer = reading.pointer.clone();
                    reading.repeated.push(Violation::new(pointer, "the property once", "it twice"));
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
