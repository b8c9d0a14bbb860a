//! The text of a streaming tool, which is written exactly once.
//!
//! Its parts are also the result. On a terminal, complete lines go to the standard output as they arrive, and the result
//! adds the rest. In a pipe, the standard output receives the result at the end; meanwhile the parts are shown on the
//! standard error if that is a terminal.

use tool_runtime::ToolOutput;

use crate::{Failure, harmless::inset, terminal::Terminal, watch::tell};

/// The parts of a text that arrived, and how many bytes of them were written.
pub(crate) struct Streamed<'t> {
    terminal: &'t Terminal,
    name: String,
    attempt: u32,
    text: String,
    written: usize,
}

impl<'t> Streamed<'t> {
    pub(crate) fn new(terminal: &'t Terminal, name: &str) -> Self {
        Self { terminal, name: name.to_owned(), attempt: 1, text: String::new(), written: 0 }
    }

    /// Adds a part. Returns `false` if `update` is not plain text: the caller shows it.
    pub(crate) fn push(&mut self, attempt: u32, update: &ToolOutput) -> bool {
        let Some(serde_json::Value::String(part)) = update.structured() else { return false };
        if part != update.text() {
            return false;
        }
        if attempt != self.attempt {
            self.flush();
            self.attempt = attempt;
        }
        self.text.push_str(&part);
        match (self.terminal.is_read_by_a_person(), self.terminal.is_watched()) {
            // A bar or a question is drawn at the start of a line.
            (true, _) if !self.terminal.stage().is_asking() => {
                let lines = self.text.rfind('\n').map_or(0, |at| at + 1);
                self.write(lines);
            }
            (false, true) => tell(self.terminal, &self.name, &inset(&part)),
            _ => {}
        }
        true
    }

    fn write(&mut self, end: usize) {
        if let Some(part) = self.text.get(self.written..end).filter(|part| !part.is_empty()) {
            // A failure is reported when the result is written.
            let _ = self.terminal.stage().aside(|| self.terminal.print_text(part));
            self.written = end;
        }
    }

    /// Ends the parts without a result that repeats them.
    fn flush(&mut self) {
        if self.terminal.is_read_by_a_person() {
            if !self.text.is_empty() && !self.text.ends_with('\n') {
                self.text.push('\n');
            }
            self.write(self.text.len());
        } else if !self.terminal.is_watched() && !self.text.is_empty() {
            tell(self.terminal, &self.name, &inset(&self.text));
        }
        self.text.clear();
        self.written = 0;
    }

    /// Writes `text`, the whole result, without the part that was written already.
    pub(crate) fn finish(mut self, text: &str) -> Result<(), Failure> {
        if text.starts_with(self.text.as_str()) {
            return self.terminal.print_text(text.get(self.written..).unwrap_or_default());
        }
        // The parts are not the beginning of the result: both are shown.
        self.flush();
        self.terminal.print_text(text)
    }

    /// Writes the parts of a call that has no text as its result.
    pub(crate) fn abandon(mut self) {
        self.flush();
    }
}
