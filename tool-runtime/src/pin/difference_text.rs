//! A difference as a text for a person.

use serde_json::Value;

use super::Difference;

/// The maximum number of characters on one line.
const MAX_LINE_CHARS: usize = 90;

/// Returns the lines for `difference`; for a new tool, parts have no note that they are new.
pub(super) fn difference_lines(difference: &Difference, is_new: bool) -> Vec<String> {
    let Difference { pointer, before, after, .. } = difference;
    match (before, after) {
        (Some(Value::Array(before)), Some(Value::Array(after))) => {
            vec![changed_items_line(pointer, before, after)]
        }
        (Some(before), Some(after)) => changed_value_lines(pointer, before, after),
        (None, Some(after)) if is_new => added_or_removed_lines("", '+', after),
        (None, Some(after)) => added_or_removed_lines(&with_pointer_prefix(pointer, "added"), '+', after),
        (Some(before), None) => added_or_removed_lines(&with_pointer_prefix(pointer, "removed"), '-', before),
        (None, None) => Vec::new(),
    }
}

/// Formats an added or removed value.
fn added_or_removed_lines(label: &str, sign: char, value: &Value) -> Vec<String> {
    let line = if label.is_empty() { value.to_string() } else { format!("{label} {value}") };
    if fits_on_one_line(&line) {
        return vec![line];
    }
    let text = value_text(value, true);
    indent_below_label(label, text.split('\n').map(|line| format!("{sign} {line}")))
}

/// Formats a changed value: for a long text, the changed lines only.
fn changed_value_lines(pointer: &str, before: &Value, after: &Value) -> Vec<String> {
    let line = with_pointer_prefix(pointer, &format!("{before} → {after}"));
    if fits_on_one_line(&line) {
        return vec![line];
    }
    // A text with the same characters as another value differs from it.
    let plain = before.is_string() && after.is_string();
    let (before, after) = (value_text(before, plain), value_text(after, plain));
    let before: Vec<_> = before.split('\n').collect();
    let after: Vec<_> = after.split('\n').collect();
    let first = before.iter().zip(&after).take_while(|(one, other)| one == other).count();
    let (before, after) = (&before[first..], &after[first..]);
    let last = before.iter().rev().zip(after.iter().rev()).take_while(|(one, other)| one == other).count();
    let gone = before[..before.len() - last].iter().map(|line| format!("- {line}"));
    let came = after[..after.len() - last].iter().map(|line| format!("+ {line}"));
    indent_below_label(pointer, gone.chain(came))
}

/// Indents `lines` below `label`, unless that is empty.
fn indent_below_label(label: &str, lines: impl Iterator<Item = String>) -> Vec<String> {
    if label.is_empty() {
        return lines.collect();
    }
    std::iter::once(label.to_owned()).chain(lines.map(|line| format!("  {line}"))).collect()
}

fn with_pointer_prefix(pointer: &str, label: &str) -> String {
    if pointer.is_empty() { label.to_owned() } else { format!("{pointer}: {label}") }
}

/// Returns a text without quotes if `plain` is set, and any other value as JSON.
fn value_text(value: &Value, plain: bool) -> String {
    let json = || serde_json::to_string_pretty(value).unwrap_or_default();
    value.as_str().filter(|_| plain).map_or_else(json, str::to_owned)
}

/// Formats a changed list of texts or numbers: added and removed items.
fn changed_items_line(pointer: &str, before: &[Value], after: &[Value]) -> String {
    let listed = |what: &str, list: &[Value], other: &[Value]| {
        let list = list.iter().filter(|item| !other.contains(item)).map(Value::to_string);
        let list = list.collect::<Vec<_>>().join(", ");
        (!list.is_empty()).then(|| format!("{what} {list}"))
    };
    let changes = [listed("added", after, before), listed("removed", before, after)];
    let changes: Vec<_> = changes.into_iter().flatten().collect();
    let order = || format!("{} → {}", Value::from(before), Value::from(after));
    let changes = if changes.is_empty() { order() } else { changes.join(", ") };
    with_pointer_prefix(pointer, &changes)
}

fn fits_on_one_line(line: &str) -> bool {
    line.chars().count() <= MAX_LINE_CHARS
}
