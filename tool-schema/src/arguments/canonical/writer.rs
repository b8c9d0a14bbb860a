//! The walk that writes canonical JSON.

use std::ops::Range;

use super::canonical_number;
use crate::json::{Fault, Reader, write_quoted};

/// The order in which the properties of an object are written; equal names keep their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PropertyOrder {
    AsWritten,
    ByName,
}

/// Returns the JSON `text` without whitespace, and with canonical numbers and strings; `None` if it is not JSON.
///
/// The walk is iterative and accepts any depth.
pub(super) fn write_canonical(text: &str, order: PropertyOrder) -> Option<String> {
    let mut reader = Reader::of_any_depth(text);
    let mut writer = CanonicalWriter { text: String::with_capacity(text.len()), open: Vec::new(), order };
    writer.write_value(&mut reader).ok()?;
    while let Some(open) = writer.open.last_mut() {
        let is_first = open.is_empty;
        open.is_empty = false;
        if !open.is_object {
            if reader.next_item(is_first, b']').ok()? {
                writer.write_separator(is_first);
                writer.write_value(&mut reader).ok()?;
            } else {
                writer.open.pop();
                writer.text.push(']');
            }
        } else if reader.next_property(is_first).ok()? {
            writer.write_separator(is_first);
            writer.write_name_and_colon(&reader.read_name().ok()?);
            writer.write_value(&mut reader).ok()?;
        } else {
            writer.close_object();
        }
    }
    reader.is_at_end().then_some(writer.text)
}

struct CanonicalWriter {
    text: String,
    open: Vec<OpenContainer>,
    order: PropertyOrder,
}

/// An open list or object.
struct OpenContainer {
    is_empty: bool,
    is_object: bool,
    /// The start of each property and the range of its name, if they are sorted.
    members: Vec<Range<usize>>,
}

impl CanonicalWriter {
    fn write_value(&mut self, reader: &mut Reader<'_>) -> Result<(), Fault> {
        match reader.peek().ok_or(Fault::Syntax)? {
            kind @ (b'{' | b'[') => {
                reader.open_container()?;
                self.text.push(char::from(kind));
                let is_object = kind == b'{';
                self.open.push(OpenContainer { is_empty: true, is_object, members: Vec::new() });
            }
            b'"' => write_quoted(&mut self.text, &reader.read_string()?),
            b't' => self.write_word(reader, "true")?,
            b'f' => self.write_word(reader, "false")?,
            b'n' => self.write_word(reader, "null")?,
            b'-' | b'0'..=b'9' => {
                let start = reader.position();
                reader.read_number()?;
                self.text.push_str(&canonical_number(reader.text_in(start..reader.position())));
            }
            _ => return Err(Fault::Syntax),
        }
        Ok(())
    }

    fn write_word(&mut self, reader: &mut Reader<'_>, word: &'static str) -> Result<(), Fault> {
        self.text.push_str(word);
        reader.read_word(word)
    }

    fn write_name_and_colon(&mut self, name: &str) {
        let start = self.text.len();
        write_quoted(&mut self.text, name);
        let range = start..self.text.len();
        self.text.push(':');
        if let (PropertyOrder::ByName, Some(open)) = (self.order, self.open.last_mut()) {
            open.members.push(range);
        }
    }

    fn write_separator(&mut self, is_first: bool) {
        if !is_first {
            self.text.push(',');
        }
    }

    /// Ends an object and sorts its properties.
    fn close_object(&mut self) {
        let names = self.open.pop().map(|open| open.members).unwrap_or_default();
        let name = |range: &Range<usize>| self.text.get(range.clone()).unwrap_or_default();
        if let (Some(first), false) = (names.first(), names.is_sorted_by_key(name)) {
            let (start, end) = (first.start, self.text.len());
            let ends = names.iter().skip(1).map(|next| next.start - 1).chain([end]);
            let mut members: Vec<_> = names.iter().zip(ends).collect();
            members.sort_by_key(|(range, _)| name(range));
            let parts = members.iter().map(|(range, end)| self.text.get(range.start..*end));
            let parts: Vec<_> = parts.map(Option::unwrap_or_default).collect();
            let all = parts.join(",");
            self.text.truncate(start);
            self.text.push_str(&all);
        }
        self.text.push('}');
    }
}
