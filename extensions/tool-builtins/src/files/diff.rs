//! The difference that a change made, for the details of its result.

use std::fmt::Write as _;

use similar::{DiffTag, TextDiff};
use tool_runtime::prelude::*;

/// Lines around a change.
const CONTEXT_LINES: usize = 3;

/// Bytes and lines between the first and the last change, in each text; a larger difference is left out.
const MAX_CHANGED_BYTES: usize = 128 * 1024;
const MAX_CHANGED_LINES: usize = 2000;

/// The unified difference of two texts; `is_cut` if it would be too large.
pub(super) fn diff_details(path: &str, old: &str, new: &str) -> Value {
    let diff = unified_diff(path, old, new);
    json!({ "path": path, "is_cut": diff.is_none(), "diff": diff.unwrap_or_default() })
}

fn unified_diff(path: &str, old: &str, new: &str) -> Option<String> {
    let start = common_start_before_context(old, new);
    let tail = common_end_after_context(old.get(start..)?, new.get(start..)?);
    let first_line = memchr::memchr_iter(b'\n', old.get(..start)?.as_bytes()).count();
    let changed = |text: &'_ str| -> Option<(usize, usize)> {
        let end = text.len() - tail;
        let is_small = end - start <= MAX_CHANGED_BYTES
            && memchr::memchr_iter(b'\n', text.get(start..end)?.as_bytes()).count() <= MAX_CHANGED_LINES;
        is_small.then_some((start, end))
    };
    let ((old_start, old_end), (new_start, new_end)) = (changed(old)?, changed(new)?);
    let old_lines: Vec<&str> = old.get(old_start..old_end)?.split_inclusive('\n').collect();
    let new_lines: Vec<&str> = new.get(new_start..new_end)?.split_inclusive('\n').collect();
    let diff = TextDiff::from_slices(&old_lines, &new_lines);
    let mut text = format!("--- a/{path}\n+++ b/{path}\n");
    for group in diff.grouped_ops(CONTEXT_LINES) {
        let (first, last) = (group.first()?, group.last()?);
        let old_range = first.old_range().start..last.old_range().end;
        let new_range = first.new_range().start..last.new_range().end;
        let number =
            |range: &std::ops::Range<usize>| first_line + range.start + usize::from(!range.is_empty());
        let _ = writeln!(
            text,
            "@@ -{},{} +{},{} @@",
            number(&old_range),
            old_range.len(),
            number(&new_range),
            new_range.len()
        );
        for operation in group {
            let is_equal = operation.tag() == DiffTag::Equal;
            for line in old_lines.get(operation.old_range())? {
                push_diff_line(&mut text, if is_equal { ' ' } else { '-' }, line);
            }
            for line in new_lines.get(operation.new_range()).filter(|_| !is_equal).into_iter().flatten() {
                push_diff_line(&mut text, '+', line);
            }
        }
    }
    Some(text)
}

fn push_diff_line(text: &mut String, sign: char, line: &str) {
    text.push(sign);
    text.push_str(line);
    if !line.ends_with('\n') {
        text.push_str("\n\\ No newline at end of file\n");
    }
}

/// Bytes of the lines that both texts begin with, without the context of the first change.
fn common_start_before_context(old: &str, new: &str) -> usize {
    let equal = old.bytes().zip(new.bytes()).take_while(|(old, new)| old == new).count();
    let mut newlines = memchr::memrchr_iter(b'\n', old.as_bytes().get(..equal).unwrap_or_default());
    newlines.nth(CONTEXT_LINES).map_or(0, |newline| newline + 1)
}

/// Bytes of the lines that both texts end with, without the context of the last change.
fn common_end_after_context(old: &str, new: &str) -> usize {
    let equal = old.bytes().rev().zip(new.bytes().rev()).take_while(|(old, new)| old == new).count();
    let tail = old.as_bytes().get(old.len() - equal..).unwrap_or_default();
    let mut newlines = memchr::memchr_iter(b'\n', tail);
    newlines.nth(CONTEXT_LINES).map_or(0, |newline| equal - newline - 1)
}
