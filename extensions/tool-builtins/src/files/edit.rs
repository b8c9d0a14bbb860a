//! `edit_file`: a replacement of text that occurs once, in a file that is still as it was read.

use std::path::Path;

use tool_runtime::prelude::*;

use super::{
    FileTools,
    change::{MAX_EDIT_BYTES, NeededRead, TextChange, change_file},
    line_ends::{SplitText, without_crlf},
    notebook::is_notebook,
};

/// Occurrences that are counted for a message.
const MAX_COUNTED: usize = 100;

/// Lines, and characters of each, among which a similar one is searched.
const MAX_HINT_LINES: usize = 5000;
const MAX_HINT_CHARS: usize = 200;

/// The change of a call.
pub(super) struct Replacement {
    pub(super) old_text: String,
    pub(super) new_text: String,
    pub(super) replace_all: bool,
}

pub(super) fn edit_file(
    tools: &FileTools,
    path: &str,
    replacement: &Replacement,
    cx: &ToolContext,
) -> Result<ToolOutput, ToolError> {
    let notebook_error =
        || ToolError::failed(format!("`{path}` is a notebook; edit its cells with a tool for notebooks"));
    if is_notebook(Path::new(path)) {
        return Err(notebook_error());
    }
    change_file(tools, path, NeededRead::Part, cx, &|open, text| {
        if is_notebook(&open.real) {
            return Err(notebook_error());
        }
        let (text, count) = match SplitText::split_if_crlf(text) {
            Some(split) => {
                let replacement = Replacement {
                    old_text: without_crlf(&replacement.old_text),
                    new_text: without_crlf(&replacement.new_text),
                    ..*replacement
                };
                let count = check_and_count_replacements(path, &split.text, &replacement)?;
                (split.text_with_replacement(&replacement.old_text, &replacement.new_text), count)
            }
            None => {
                let count = check_and_count_replacements(path, text, replacement)?;
                (text.replacen(&*replacement.old_text, &replacement.new_text, count), count)
            }
        };
        let report =
            format!("edited `{path}`: {count} {}\n", if count == 1 { "replacement" } else { "replacements" });
        Ok(TextChange { text, report })
    })
}

/// The number of replacements, if they are possible.
fn check_and_count_replacements(
    path: &str,
    text: &str,
    replacement: &Replacement,
) -> Result<usize, ToolError> {
    let Replacement { old_text, new_text, replace_all } = replacement;
    if old_text.is_empty() {
        return Err(ToolError::failed("`old_text` is empty; give the present text that is to be replaced"));
    }
    if old_text == new_text {
        return Err(ToolError::failed(
            "`old_text` and `new_text` are the same; give the text that replaces it",
        ));
    }
    match count_overlapping_occurrences(text, old_text) {
        0 => {
            let hint = similar_line_hint(text, old_text);
            Err(ToolError::failed(format!(
                "`old_text` does not occur in `{path}`; give it exactly as in the file, without line numbers{hint}"
            )))
        }
        1 => Ok(1),
        _ if *replace_all => {
            let count = text.matches(&**old_text).count();
            check_replaced_size(path, text.len() - count * old_text.len(), count, new_text.len())?;
            Ok(count)
        }
        count => {
            let at_least = if count == MAX_COUNTED { "at least " } else { "" };
            Err(ToolError::failed(format!(
                "`old_text` occurs {at_least}{count} times in `{path}`; give more lines around it, or set `replace_all`"
            )))
        }
    }
}

/// Refuses replacements that would make a file too large, before its text is made.
fn check_replaced_size(path: &str, kept: usize, count: usize, new_bytes: usize) -> Result<(), ToolError> {
    /// In UTF-8, a text of another encoding may be longer than its file.
    const MAX_TEXT_BYTES: usize = 4 * MAX_EDIT_BYTES as usize;
    let bytes = kept.saturating_add(count.saturating_mul(new_bytes));
    if bytes <= MAX_TEXT_BYTES {
        return Ok(());
    }
    Err(ToolError::failed(format!(
        "{count} replacements would make `{path}` {bytes} bytes long, more than {MAX_TEXT_BYTES}; replace fewer, or with a shorter text"
    )))
}

/// The number of occurrences, also of those that overlap, up to [`MAX_COUNTED`].
fn count_overlapping_occurrences(text: &str, part: &str) -> usize {
    let step = part.chars().next().map_or(1, char::len_utf8);
    let mut rest = text;
    let mut count = 0;
    while let Some(found) = rest.find(part) {
        count += 1;
        if count == MAX_COUNTED {
            break;
        }
        rest = rest.get(found + step..).unwrap_or_default();
    }
    count
}

/// The line that is most similar to the first line of `old_text`, for the message of a failed edit.
fn similar_line_hint(text: &str, old_text: &str) -> String {
    let Some(wanted) = old_text.lines().map(str::trim).find(|line| !line.is_empty()) else {
        return String::new();
    };
    if wanted.chars().count() > MAX_HINT_CHARS {
        return String::new();
    }
    let is_short = |line: &&str| line.len() <= MAX_HINT_CHARS;
    let lines: Vec<&str> = text.lines().take(MAX_HINT_LINES).map(str::trim).filter(is_short).collect();
    let Some(&similar) = similar::get_close_matches(wanted, &lines, 1, 0.6).first() else {
        return String::new();
    };
    let number = text.lines().position(|line| line.trim() == similar).map_or(0, |index| index + 1);
    format!("; line {number} is similar: `{similar}`")
}
