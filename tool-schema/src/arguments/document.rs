//! A JSON text together with its `Value`.
//!
//! Created only for invalid arguments. Details that a `Value` cannot represent are kept beside it for reports and
//! corrections.

use std::{collections::HashMap, mem};

use serde_json::{Map, Number, Value, map::Entry};

use super::{Violation, plan::location::Location, violation::Findings};
use crate::json::{Fault, Numeral, Reader};

/// A parsed JSON text.
#[derive(Debug)]
pub(super) struct Document<'t> {
    pub(super) value: Value,
    /// Duplicate names; the value has the first property of each.
    pub(super) repeated: Findings,
    /// Numbers beyond the range of `f64`; the value has the largest float instead.
    pub(super) too_large: Findings,
    /// The numbers whose spelling differs from that in the value.
    pub(super) literals: Vec<Literal<'t>>,
    /// The numbers with a fraction that the value rounds: their locations and original spelling.
    pub(super) moved: Vec<(Vec<usize>, &'t str)>,
    /// `true` if serialising the value changes the text: it has an integer that is written as a float and that no
    /// `f64` equals.
    pub(super) is_rewritten: bool,
}

impl<'t> Document<'t> {
    pub(super) fn read(text: &'t str) -> Result<Self, Fault> {
        let mut reader = Reader::new(text);
        let document = Self::read_next_value(&mut reader, text, &Location::ROOT)?;
        if reader.is_at_end() { Ok(document) } else { Err(Fault::Syntax) }
    }

    /// Reads the next value of `text`, at `at`.
    pub(super) fn read_next_value(
        reader: &mut Reader<'t>,
        text: &'t str,
        at: &Location<'_>,
    ) -> Result<Self, Fault> {
        let document = Document {
            value: Value::Null,
            repeated: Findings::default(),
            too_large: Findings::default(),
            literals: Vec::new(),
            moved: Vec::new(),
            is_rewritten: false,
        };
        let room = text.len().saturating_mul(32);
        let mut reading = DocumentReader { room, reader, document };
        let value = reading.read_value(at)?;
        Ok(Self { value, ..reading.document })
    }

    /// Returns `true` if the text has details that a `Value` cannot represent.
    pub(super) fn has_repeated_names_or_huge_numbers(&self) -> bool {
        !(self.repeated.is_empty() && self.too_large.is_empty())
    }
}

/// Returns `true` for an integer that is written as a float and that no `f64` equals.
pub(super) fn is_integer_spelled_as_float(number: &Number, text: &str) -> bool {
    !number.is_f64() && text.contains(['.', 'e', 'E'])
}

/// A number whose spelling differs from that in the value.
#[derive(Debug)]
pub(super) struct Literal<'t> {
    pub(super) number: Number,
    pub(super) text: &'t str,
    /// The location; `None` if the size limit for pointers is exceeded.
    pub(super) pointer: Option<String>,
}

struct DocumentReader<'r, 't> {
    /// The remaining size limit in bytes for the pointers of literals: a long name may contain many numbers.
    room: usize,
    reader: &'r mut Reader<'t>,
    /// The result so far.
    document: Document<'t>,
}

impl<'t> DocumentReader<'_, 't> {
    fn read_value(&mut self, at: &Location<'_>) -> Result<Value, Fault> {
        match self.reader.peek().ok_or(Fault::Syntax)? {
            b'{' => self.read_object(at),
            b'[' => self.read_list(at),
            b'"' => Ok(Value::String(self.reader.read_string()?.into_owned())),
            b't' => self.reader.read_word("true").map(|()| Value::Bool(true)),
            b'f' => self.reader.read_word("false").map(|()| Value::Bool(false)),
            b'n' => self.reader.read_word("null").map(|()| Value::Null),
            b'-' | b'0'..=b'9' => {
                let start = self.reader.position();
                let numeral = self.reader.read_number()?;
                Ok(self.read_number(numeral, start, at))
            }
            _ => Err(Fault::Syntax),
        }
    }

    fn read_number(&mut self, numeral: Numeral<'t>, start: usize, at: &Location<'_>) -> Value {
        let text = self.reader.text_in(start..self.reader.position());
        let Some((number, is_rounded)) = numeral.to_number_with_rounding() else {
            let expected = "a number between -1.8e308 and 1.8e308";
            let violation = || Violation::new(at.pointer(), expected, text);
            self.document.too_large.add(at.sort_key(), violation);
            return Value::from(if text.starts_with('-') { f64::MIN } else { f64::MAX });
        };
        let is_rewritten = is_integer_spelled_as_float(&number, text);
        if number.is_f64() || is_rewritten {
            let pointer = (self.room > 0).then(|| at.pointer());
            self.room = self.room.saturating_sub(pointer.as_ref().map_or(0, String::len) + 1);
            self.document.literals.push(Literal { number: number.clone(), text, pointer });
        }
        if is_rounded {
            self.document.moved.push((at.sort_key(), text));
        }
        self.document.is_rewritten |= is_rewritten;
        Value::Number(number)
    }

    fn read_list(&mut self, at: &Location<'_>) -> Result<Value, Fault> {
        self.reader.open_container()?;
        let mut items = Vec::new();
        while self.reader.next_item(items.is_empty(), b']')? {
            items.push(self.read_value(&at.item(items.len()))?);
        }
        Ok(Value::Array(items))
    }

    fn read_object(&mut self, at: &Location<'_>) -> Result<Value, Fault> {
        self.reader.open_container()?;
        let mut map = Map::new();
        // The position of each name; filled when the first duplicate is found.
        let mut positions: Option<HashMap<String, usize>> = None;
        let mut is_first = true;
        while self.reader.next_property(is_first)? {
            is_first = false;
            let name = self.reader.read_name()?;
            let position = map.len();
            match map.entry(&*name) {
                Entry::Vacant(vacant) => {
                    *vacant.insert(Value::Null) = self.read_value(&at.property(&name, position))?;
                    if let Some(positions) = &mut positions {
                        positions.insert(name.into_owned(), position);
                    }
                }
                Entry::Occupied(_) => {
                    let positions = positions.get_or_insert_with(|| {
                        map.keys().enumerate().map(|(at, name)| (name.clone(), at)).collect()
                    });
                    let first = positions.get(&*name).copied().unwrap_or(position);
                    let here = at.property(&name, first);
                    let twice = || Violation::new(here.pointer(), "the property once", "it twice");
                    self.document.repeated.add(here.sort_key(), twice);
                    self.read_and_discard_value(&here)?;
                }
            }
        }
        Ok(Value::Object(map))
    }

    /// Reads the value of a duplicate name; its numbers are not those of the value at this location.
    fn read_and_discard_value(&mut self, at: &Location<'_>) -> Result<(), Fault> {
        let moved = self.document.moved.len();
        let too_large = mem::take(&mut self.document.too_large);
        self.read_value(at)?;
        self.document.moved.truncate(moved);
        self.document.too_large = too_large;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;
    use crate::arguments::{Arguments, canonical::canonical_text, exact_value::ExactValue, plan::Plan};

    // F01
    #[test]
    fn no_reader_admits_commas_colons_and_brackets_that_json_does_not() {
        let plan = Plan::anything();
        type Reads<'r> = &'r dyn Fn(&str) -> bool;
        let readers: [(&str, Reads<'_>); 6] = [
            ("document", &|text| Document::read(text).is_ok()),
            ("decoder", &|text| plan.decode::<Value>(&mut Arguments::from(text)).is_ok()),
            ("validator", &|text| plan.fit(Arguments::from(text)).is_ok()),
            ("canonical form", &|text| plan.canonical(Arguments::from(text)).is_ok()),
            ("canonical text", &|text| canonical_text(text).is_some()),
            ("exact value", &|text| ExactValue::read(text).is_some()),
        ];
        let texts = [
            "{}",
            r#"{"a":1}"#,
            r#"{ "a" : [ 1 , 2 ] , "b" : { } }"#,
            r#"{,"a":1}"#,
            r#"{"a":1,}"#,
            r#"{"a":1,,"b":2}"#,
            r#"{"a":1 "b":2}"#,
            r#"{"a" 1}"#,
            r#"{"a":}"#,
            r#"{"a"}"#,
            "{:1}",
            r#"{"a"::1}"#,
            r#"{"a":1"#,
            r#"{"a":1]"#,
            r#"{"a":1}}"#,
            r#"{"a":1},"#,
            r#",{"a":1}"#,
            "{1:1}",
            "{a:1}",
            r#"{"a":[,1]}"#,
            r#"{"a":[1,]}"#,
            r#"{"a":[1,,2]}"#,
            r#"{"a":[1 2]}"#,
            r#"{"a":[1}"#,
            r#"{"a":[1]]}"#,
            r#"{"a":[}]}"#,
            r#"{"a":{,"b":1}}"#,
            r#"{"a":[{"b":1,}]}"#,
            "{,}",
            r#"{"a":[,]}"#,
        ];
        for text in texts {
            let is_json = serde_json::from_str::<Value>(text).is_ok();
            for (reader, admits) in readers {
                assert_eq!(admits(text), is_json, "{reader}: {text}");
            }
        }
    }

    #[test]
    fn the_pointers_of_literals_take_at_most_32_bytes_for_each_byte_of_the_text() {
        let text = format!("{{\"{}\":[{}0.5]}}", "a".repeat(1_000), "0.5,".repeat(999));
        let document = Document::read(&text).unwrap();
        assert_eq!(document.literals.len(), 1_000);
        let (with, without) = document
            .literals
            .split_at(document.literals.iter().position(|literal| literal.pointer.is_none()).unwrap());
        assert!(without.iter().all(|literal| literal.pointer.is_none()));
        let sizes: Vec<_> = with.iter().map(|literal| literal.pointer.as_ref().unwrap().len() + 1).collect();
        let (total, last) = (sizes.iter().sum::<usize>(), *sizes.last().unwrap());
        let room = 32 * text.len();
        assert!(total >= room && total - last < room, "{total} {last} {room}");
        // A short text has all of them.
        let document = Document::read(r#"{"a":[0.5,1,1e2,1.0,9007199254740993.0]}"#).unwrap();
        let literals: Vec<_> =
            document.literals.iter().map(|it| (it.text, it.pointer.as_deref().unwrap())).collect();
        let expected = [("0.5", "/a/0"), ("1e2", "/a/2"), ("1.0", "/a/3"), ("9007199254740993.0", "/a/4")];
        assert_eq!(literals, expected);
        assert!(
            document.is_rewritten
                && document.moved.is_empty()
                && !document.has_repeated_names_or_huge_numbers()
        );
    }
}
