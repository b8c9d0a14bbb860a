//! The text of which hashes are computed.

use std::ops::Range;

use super::canonical_number;
use crate::json::{Fault, Reader, write_quoted};

/// Returns the JSON `text` without whitespace, with canonical numbers and strings, and with the properties of each
/// object sorted by name; equal names keep their order.
///
/// The walk is iterative and accepts any depth.
pub fn sorted(text: &str) -> Option<String> {
    let mut reader = Reader::of_any_depth(text);
    let mut writing = SortedWriter { text: String::with_capacity(text.len()), open: Vec::new() };
    writing.write_value(&mut reader).ok()?;
    while let Some(open) = writing.open.last_mut() {
        let is_first = open.is_empty;
        open.is_empty = false;
        if open.members.is_none() {
            if reader.next_item(is_first, b']').ok()? {
                writing.write_separator(is_first);
                writing.write_value(&mut reader).ok()?;
            } else {
                writing.open.pop();
                writing.text.push(']');
            }
        } else if reader.next_property(is_first).ok()? {
            writing.write_separator(is_first);
            writing.name(&reader.name().ok()?);
            writing.write_value(&mut reader).ok()?;
        } else {
            writing.close_object();
        }
    }
    reader.is_at_end().then_some(writing.text)
}

struct SortedWriter {
    text: String,
    open: Vec<OpenContainer>,
}

/// An open list or object.
struct OpenContainer {
    is_empty: bool,
    /// The start of its properties and the ranges of their names; `None` for a list.
    members: Option<Vec<Range<usize>>>,
}

impl SortedWriter {
    fn write_value(&mut self, reader: &mut Reader<'_>) -> Result<(), Fault> {
        match reader.peek().ok_or(Fault::Syntax)? {
            open @ (b'{' | b'[') => {
                reader.open_container()?;
                let members = (open == b'{').then(Vec::new);
                self.text.push(char::from(open));
                self.open.push(OpenContainer { is_empty: true, members });
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

    fn name(&mut self, name: &str) {
        let start = self.text.len();
        write_quoted(&mut self.text, name);
        let range = start..self.text.len();
        self.text.push(':');
        if let Some(members) = self.open.last_mut().and_then(|open| open.members.as_mut()) {
            members.push(range);
        }
    }

    fn write_separator(&mut self, is_first: bool) {
        if !is_first {
            self.text.push(',');
        }
    }

    /// Ends an object and sorts its properties.
    fn close_object(&mut self) {
        let names = self.open.pop().and_then(|open| open.members).unwrap_or_default();
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::sorted;

    #[test]
    fn properties_are_sorted_at_every_depth() {
        let text =
            r#" { "b" : [ 1.0 , { "z" : 1e2, "y": null } ], "a":"\u0041\/\u0007\n", "":{} , "aa": [] } "#;
        let expected = r#"{"":{},"a":"A/\u0007\n","aa":[],"b":[1,{"y":null,"z":100}]}"#;
        assert_eq!(sorted(text).unwrap(), expected);
        assert_eq!(sorted(expected).unwrap(), expected);
    }

    #[test]
    fn invalid_json_has_no_canonical_text() {
        for text in ["", "{", "[1,]", "{}x", "{\"a\"}", "nul", "01", "{\"a\":1,}"] {
            assert_eq!(sorted(text), None, "{text}");
        }
    }

    #[test]
    fn nesting_does_not_use_the_stack() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(sorted(&deep).unwrap(), deep);
    }
}
