//! Comparison of two values.

use serde_json::{Map, Value};
use tool_core::internals::messages::push_step;

/// Called for each location where two values differ.
type See<'s> = &'s mut dyn FnMut(&str, Option<&Value>, Option<&Value>);

/// Calls `see` for each location where the two differ, descending as long as both have the same kind.
pub(super) fn compare(before: Option<&Value>, after: Option<&Value>, see: See<'_>) {
    compare_at(&mut String::new(), before, after, see);
}

fn compare_at(at: &mut String, before: Option<&Value>, after: Option<&Value>, see: See<'_>) {
    match (before, after) {
        (before, after) if before == after => {}
        (Some(Value::Object(before)), Some(Value::Object(after))) => objects(at, before, after, see),
        (Some(Value::Array(before)), Some(Value::Array(after))) if !is_plain(before) || !is_plain(after) => {
            lists(at, before, after, see);
        }
        _ => see(at, before, after),
    }
}

/// In the order of the old keys; new keys follow.
fn objects(at: &mut String, before: &Map<String, Value>, after: &Map<String, Value>, see: See<'_>) {
    let new = after.keys().filter(|key| !before.contains_key(*key));
    for key in before.keys().chain(new) {
        below(at, key, |at| compare_at(at, before.get(key), after.get(key), see));
    }
}

/// Skips equal items at both ends, and compares the others in pairs.
fn lists(at: &mut String, before: &[Value], after: &[Value], see: See<'_>) {
    let first = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let (before, after) = (&before[first..], &after[first..]);
    let last = before.iter().rev().zip(after.iter().rev()).take_while(|(one, other)| one == other).count();
    let (before, after) = (&before[..before.len() - last], &after[..after.len() - last]);
    for index in 0..before.len().max(after.len()) {
        let step = (first + index).to_string();
        below(at, &step, |at| compare_at(at, before.get(index), after.get(index), see));
    }
}

fn below(at: &mut String, step: &str, then: impl FnOnce(&mut String)) {
    let length = at.len();
    push_step(at, step);
    then(at);
    at.truncate(length);
}

/// Returns `true` for a list of texts or numbers, such as enum values: it is reported as a whole.
fn is_plain(list: &[Value]) -> bool {
    !list.iter().any(|item| item.is_object() || item.is_array())
}
