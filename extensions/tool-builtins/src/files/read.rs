//! `read_file`: lines of a file of any size, in bounded memory.

use std::{fmt::Write as _, io::Read as _};

use hmac_sha256::Hash;
use tool_runtime::prelude::*;

use super::{
    FileTools,
    memory::FileStamp,
    root::{OpenFile, file_error},
    text::{DETECTION_BYTES, TextForm},
};

/// Bytes of a file that is read without a range.
const MAX_WHOLE_BYTES: u64 = 1024 * 1024;

/// Lines of a page, if the call gives no number.
const DEFAULT_LINES: u64 = 2000;

/// Characters of a line that are shown.
const MAX_LINE_CHARS: usize = 2000;

/// Bytes of a page, after which the next call continues.
const MAX_PAGE_BYTES: usize = 256 * 1024;

pub(super) fn read_lines(
    tools: &FileTools,
    path: &str,
    offset: Option<u64>,
    limit: Option<u64>,
    cx: &ToolContext,
) -> Result<String, ToolError> {
    let mut open = tools.roots.open_file(path)?;
    let mut stamp = FileStamp::of_file(&open.file).map_err(|error| file_error(path, &error))?;
    if offset.is_none() && limit.is_none() && stamp.length > MAX_WHOLE_BYTES {
        let length = stamp.length;
        return Err(ToolError::failed(format!(
            "`{path}` has {length} bytes, and {MAX_WHOLE_BYTES} can be read at once; read a range, with `offset` 1 and \
             `limit` {DEFAULT_LINES}, or search it with `grep`"
        )));
    }
    let mut page = Page::new(offset.unwrap_or(1), limit.unwrap_or(DEFAULT_LINES));
    let hash = fill_page(&mut open, path, &mut page, cx)?;
    let text = page.report(path)?;
    if page.first == 1 && page.cut_lines == 0 {
        stamp.hash = hash;
    }
    // A read of a part does not forget that all of the same file was read.
    let known = tools.memory.remembered_stamp(cx, &open.key());
    let known = known.filter(|known| known.length == stamp.length && known.modified == stamp.modified);
    stamp.hash = stamp.hash.or(known.and_then(|known| known.hash));
    tools.memory.remember_file(cx, open.key(), stamp);
    Ok(text)
}

/// Reads until the page is full; the hash of the file if its end was reached.
fn fill_page(
    open: &mut OpenFile,
    path: &str,
    page: &mut Page,
    cx: &ToolContext,
) -> Result<Option<[u8; 32]>, ToolError> {
    let mut bytes = Vec::with_capacity(DETECTION_BYTES);
    let mut decoder = None;
    let mut hash = Hash::new();
    let mut text = String::new();
    loop {
        if cx.is_cancelled() {
            return Err(ToolError::cancelled());
        }
        bytes.clear();
        let chunk = open.file.by_ref().take(DETECTION_BYTES as u64).read_to_end(&mut bytes);
        chunk.map_err(|error| file_error(path, &error))?;
        let is_end = bytes.len() < DETECTION_BYTES;
        hash.update(&bytes);
        let (decoder, start) = match &mut decoder {
            Some(decoder) => (decoder, 0),
            None => {
                let form = TextForm::detect(&bytes, is_end).ok_or_else(|| binary_error(path))?;
                let new_decoder = form.encoding.new_decoder_without_bom_handling();
                (decoder.insert(new_decoder), form.mark_bytes)
            }
        };
        let bytes = bytes.get(start..).unwrap_or_default();
        text.clear();
        text.reserve(decoder.max_utf8_buffer_length(bytes.len()).unwrap_or(4 * DETECTION_BYTES));
        let (_, _, has_replacements) = decoder.decode_to_string(bytes, &mut text, is_end);
        page.has_replacements |= has_replacements;
        page.push_text(&text);
        if page.has_more {
            return Ok(None);
        }
        if is_end {
            page.end_text();
            return Ok(Some(hash.finalize()));
        }
    }
}

pub(super) fn binary_error(path: &str) -> ToolError {
    ToolError::failed(format!("`{path}` is a binary file, and not text; use another tool for it"))
}

/// The lines that a call returns.
struct Page {
    first: u64,
    count: u64,
    /// Lines that ended.
    ended: u64,
    shown: u64,
    /// The line that has not ended.
    line: String,
    line_chars: usize,
    is_line_started: bool,
    cut_lines: u64,
    text: String,
    has_more: bool,
    has_replacements: bool,
}

impl Page {
    fn new(first: u64, count: u64) -> Self {
        Self {
            first: first.max(1),
            count,
            ended: 0,
            shown: 0,
            line: String::new(),
            line_chars: 0,
            is_line_started: false,
            cut_lines: 0,
            text: String::new(),
            has_more: false,
            has_replacements: false,
        }
    }

    fn push_text(&mut self, text: &str) {
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
            self.cut_lines += 1;
            let rest = self.line_chars - MAX_LINE_CHARS;
            let _ = write!(self.text, " [{rest} more characters; search this line with `grep`]");
        }
        self.text.push('\n');
        self.line.clear();
        self.line_chars = 0;
    }

    fn end_text(&mut self) {
        if self.is_line_started {
            self.end_line();
        }
    }

    fn report(&self, path: &str) -> Result<String, ToolError> {
        let Self { first, ended, text, .. } = self;
        if *ended == 0 && *first == 1 {
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
