//! The output of a streaming tool, which is written exactly once.
//!
//! Its parts are also the result. On a terminal, complete lines of a text, and the values of a list, go to the standard
//! output as they arrive, and the result adds the rest. In a pipe, the standard output receives the result at the end;
//! meanwhile the parts are shown on the standard error if that is a terminal.

use serde_json::Value;
use tool_runtime::ToolOutput;

use crate::{Failure, sanitize::escaped_and_indented, terminal::Terminal};

/// The parts of a text or a list that arrived, and how much of them was written.
pub(crate) struct StreamedOutput<'t> {
    terminal: &'t Terminal,
    name: String,
    attempt: u32,
    text: String,
    /// The bytes of the text that were written.
    written: usize,
    items: Vec<Value>,
    /// The number of items that were written.
    written_items: usize,
}

impl<'t> StreamedOutput<'t> {
    pub(crate) fn new(terminal: &'t Terminal, name: &str) -> Self {
        let (text, items) = (String::new(), Vec::new());
        Self { terminal, name: name.to_owned(), attempt: 1, text, written: 0, items, written_items: 0 }
    }

    /// Adds a part. Returns `false` if `update` is neither plain text nor a value: the caller shows it.
    pub(crate) fn push_update(&mut self, attempt: u32, update: &ToolOutput) -> bool {
        let Some(part) = update.structured() else { return false };
        let text = update.text();
        let part = match part {
            Value::String(part) if *part == text && self.items.is_empty() => Ok(part),
            item if self.text.is_empty() && is_json_text_of(&text, &item) => Err(item),
            _ => return false,
        };
        if attempt != self.attempt {
            self.write_and_clear_parts();
            self.attempt = attempt;
        }
        let is_read = self.terminal.is_read_by_a_person();
        if !is_read && self.terminal.can_draw_bars() {
            self.terminal.write_labelled_error_text(&self.name, &escaped_and_indented(&text));
        }
        match part {
            Ok(part) => self.text.push_str(&part),
            Err(item) => self.items.push(item),
        }
        // A bar or a question is drawn at the start of a line.
        if is_read && !self.terminal.stderr().is_asking() {
            if let Some(at) = self.text.rfind('\n') {
                self.write_text_up_to(at + 1);
            }
            self.write_new_items();
        }
        true
    }

    fn write_text_up_to(&mut self, end: usize) {
        if let Some(part) = self.text.get(self.written..end).filter(|part| !part.is_empty()) {
            // A failure is reported when the result is written.
            let _ = self.terminal.stderr().without_bars(|| self.terminal.print_text(part));
            self.written = end;
        }
    }

    /// Writes the items that are not written yet, one in a line.
    fn write_new_items(&mut self) {
        let new = self.items.get(self.written_items..).unwrap_or_default();
        let lines: String = new.iter().map(|item| format!("{item}\n")).collect();
        if !lines.is_empty() {
            let _ = self.terminal.stderr().without_bars(|| self.terminal.print_text(&lines));
            self.written_items = self.items.len();
        }
    }

    /// Ends the parts without a result that repeats them.
    fn write_and_clear_parts(&mut self) {
        let items: Vec<_> = self.items.iter().map(Value::to_string).collect();
        let parts = format!("{}{}", self.text, items.join("\n"));
        if self.terminal.is_read_by_a_person() {
            if !self.text.is_empty() && !self.text.ends_with('\n') {
                self.text.push('\n');
            }
            self.write_text_up_to(self.text.len());
            self.write_new_items();
        } else if !self.terminal.can_draw_bars() && !parts.is_empty() {
            self.terminal.write_labelled_error_text(&self.name, &escaped_and_indented(&parts));
        }
        self.text.clear();
        self.written = 0;
        self.items.clear();
        self.written_items = 0;
    }

    /// Writes `text`, the whole result with this value, without the part that was written already.
    pub(crate) fn finish_with_result(mut self, text: &str, value: Option<&Value>) -> Result<(), Failure> {
        let is_list = !self.items.is_empty() && value.and_then(Value::as_array) == Some(&self.items);
        if is_list && self.terminal.is_read_by_a_person() {
            self.write_new_items();
            return Ok(());
        }
        if is_list || self.items.is_empty() && text.starts_with(self.text.as_str()) {
            return self.terminal.print_text(text.get(self.written..).unwrap_or_default());
        }
        // The parts are not the beginning of the result: both are shown.
        self.write_and_clear_parts();
        self.terminal.print_text(text)
    }

    /// Writes the parts of a call that has no text as its result.
    pub(crate) fn finish_without_result(mut self) {
        self.write_and_clear_parts();
    }
}

/// Returns `true` if `text` is the JSON text of `value`.
fn is_json_text_of(text: &str, value: &Value) -> bool {
    serde_json::from_str::<Value>(text).is_ok_and(|read| read == *value)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn part(text: &str, value: Value) -> ToolOutput {
        ToolOutput::empty().with_text(text).with_structured(value)
    }

    #[test]
    fn an_update_is_a_part_if_its_text_says_all_of_its_value() {
        let terminal = Terminal::new();
        let pushed = |parts: &[(&str, Value)]| {
            let mut streamed = StreamedOutput::new(&terminal, "it");
            let mut push =
                |(text, value): &(&str, Value)| streamed.push_update(1, &part(text, value.clone()));
            let taken: Vec<_> = parts.iter().map(&mut push).collect();
            (taken, streamed.text, streamed.items)
        };
        let text = |text: &str| (text.to_owned(), Vec::<Value>::new());
        let items = |items: &[Value]| (String::new(), items.to_vec());
        for (parts, taken, (text, items)) in [
            (&[("one", json!("one")), ("two", json!("two"))][..], &[true, true][..], text("onetwo")),
            (&[("One.", json!("one"))], &[false], text("")),
            (&[("1", json!(1)), ("[2]", json!([2]))], &[true, true], items(&[json!(1), json!([2])])),
            (&[("one", json!(1))], &[false], items(&[])),
            (&[("2", json!(1))], &[false], items(&[])),
            // Parts of one kind only: after texts no value, and after values no text.
            (&[("one", json!("one")), ("1", json!(1))], &[true, false], text("one")),
            (&[("1", json!(1)), ("one", json!("one"))], &[true, false], items(&[json!(1)])),
            (&[("1", json!(1)), ("\"one\"", json!("one"))], &[true, true], items(&[json!(1), json!("one")])),
        ] {
            assert_eq!(pushed(parts), (taken.to_vec(), text, items), "{parts:?}");
        }
        let mut streamed = StreamedOutput::new(&terminal, "it");
        let image = ToolOutput::new([tool_runtime::Content::image([1], "image/png")]);
        assert!(!streamed.push_update(1, &image), "a file without a value");
    }

    #[test]
    fn another_attempt_begins_with_nothing() {
        let terminal = Terminal::new();
        let mut streamed = StreamedOutput::new(&terminal, "it");
        assert!(streamed.push_update(1, &part("one", json!("one"))));
        assert!(
            streamed.push_update(2, &part("two", json!("two")))
                && streamed.push_update(2, &part("!", json!("!")))
        );
        assert_eq!((streamed.text.as_str(), streamed.attempt), ("two!", 2));
        streamed.write_and_clear_parts();
        assert!(
            streamed.push_update(2, &part("1", json!(1))) && streamed.push_update(3, &part("2", json!(2)))
        );
        assert_eq!((streamed.text.as_str(), streamed.items), ("", vec![json!(2)]));
    }
}
