//! The lines that a read returns.

use std::fmt::Write as _;

use tool_runtime::prelude::*;

/// Characters of a line that are shown.
const MAX_LINE_CHARS: usize = 2000;

/// Bytes of a page, after which the next call continues.
pub(super) const MAX_PAGE_BYTES: usize = 256 * 1024;

/// The lines that a call returns.
pub(super) struct LinePage {
    pub(super) first: u64,
    count: u64,
    /// Lines that ended.
    pub(super) ended: u64,
    shown: u64,
    /// The line that has not ended.
    line: String,
    line_chars: usize,
    is_line_started: bool,
    pub(super) has_cut_lines: bool,
    text: String,
    pub(super) has_more: bool,
    pub(super) has_replacements: bool,
}

impl LinePage {
    pub(super) fn new(first: u64, count: u64) -> Self {
        Self {
            first: first.max(1),
            count,
            ended: 0,
            shown: 0,
            line: String::new(),
            line_chars: 0,
            is_line_started: false,
            has_cut_lines: false,
            text: String::new(),
            has_more: false,
            has_replacements: false,
        }
    }

    pub(super) fn push_text(&mut self, text: &str) {
        for part in text.split_inclusive('\n') {
            if self.shown == self.count || self.text.len() >= MAX_PAGE_BYTES {
                self.has_more = true;
                return;
            }
            self.is_line_started = true;
            if self.ended + 1 >= self.first {
                self.push_line_part(part.strip_suffix('\n').unwrap_or(part));
            }
            if part.ends_with('\n') {
                self.end_line();
            }
        }
    }

    fn push_line_part(&mut self, part: &str) {
        let room = MAX_LINE_CHARS.saturating_sub(self.line_chars);
        self.line.extend(part.chars().take(room));
        self.line_chars = self.line_chars.saturating_add(part.chars().count());
    }

    fn end_line(&mut self) {
        self.ended += 1;
        self.is_line_started = false;
        if self.ended < self.first {
            return;
        }
        self.shown += 1;
        let line = self.line.strip_suffix('\r').unwrap_or(&self.line);
        let _ = write!(self.text, "{:>6}\t{line}", self.ended);
        if self.line_chars > MAX_LINE_CHARS {
            self.has_cut_lines = true;
            let rest = self.line_chars - MAX_LINE_CHARS;
            let _ = write!(self.text, " [{rest} more characters; search this line with `grep`]");
        }
        self.text.push('\n');
        self.line.clear();
        self.line_chars = 0;
    }

    pub(super) fn end_last_line(&mut self) {
        if self.is_line_started {
            self.end_line();
        }
    }

    pub(super) fn report_text(&self, path: &str) -> Result<String, ToolError> {
        let Self { first, ended, text, .. } = self;
        if *ended == 0 {
            return Ok(format!("`{path}` is empty\n"));
        }
        if self.shown == 0 {
            return Err(ToolError::failed(format!(
                "`offset` {first} is past the end of `{path}`, which has {ended} lines; give an `offset` from 1 to {ended}"
            )));
        }
        let mut report = match self.has_more {
            true => format!(
                "`{path}`, lines {first}-{ended}; more lines follow, continue with `offset` {}\n",
                ended + 1
            ),
            false => format!("`{path}`, lines {first}-{ended} of {ended}\n"),
        };
        if self.has_replacements {
            report.push_str(
                "some bytes are not valid in the encoding of the file, and are shown as \u{fffd}\n",
            );
        }
        report.push_str(text);
        Ok(report)
    }
}
