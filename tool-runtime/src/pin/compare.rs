//! Comparison of two values.

use serde_json::{Map, Value};
use tool_core::internals::messages::push_step;

/// Called for each location where two values differ.
type VisitDifference<'s> = &'s mut dyn FnMut(&str, Option<&Value>, Option<&Value>);

/// Calls `visit` for each location where the two differ, descending as long as both have the same kind.
pub(super) fn visit_differences(before: Option<&Value>, after: Option<&Value>, visit: VisitDifference<'_>) {
    visit_differences_at(&mut String::new(), before, after, visit);
}

fn visit_differences_at(
    pointer: &mut String,
    before: Option<&Value>,
    after: Option<&Value>,
    visit: VisitDifference<'_>,
) {
    match (before, after) {
        (before, after) if before == after => {}
        (Some(Value::Object(before)), Some(Value::Object(after))) => {
            visit_object_differences(pointer, before, after, visit)
        }
        (Some(Value::Array(before)), Some(Value::Array(after)))
            if !has_only_scalars(before) || !has_only_scalars(after) =>
        {
            visit_list_differences(pointer, before, after, visit);
        }
        _ => visit(pointer, before, after),
    }
}

/// In the order of the old keys; new keys follow.
fn visit_object_differences(
    pointer: &mut String,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
    visit: VisitDifference<'_>,
) {
    let new = after.keys().filter(|key| !before.contains_key(*key));
    for key in before.keys().chain(new) {
        with_step(pointer, key, |pointer| {
            visit_differences_at(pointer, before.get(key), after.get(key), visit)
        });
    }
}

/// Skips equal items at both ends, and compares the others in pairs.
fn visit_list_differences(
    pointer: &mut String,
    before: &[Value],
    after: &[Value],
    visit: VisitDifference<'_>,
) {
    let first = before.iter().zip(after).take_while(|(one, other)| one == other).count();
    let (before, after) = (&before[first..], &after[first..]);
    let last = before.iter().rev().zip(after.iter().rev()).take_while(|(one, other)| one == other).count();
    let (before, after) = (&before[..before.len() - last], &after[..after.len() - last]);
    for index in 0..before.len().max(after.len()) {
        let step = (first + index).to_string();
        with_step(pointer, &step, |pointer| {
            visit_differences_at(pointer, before.get(index), after.get(index), visit)
        });
    }
}

fn with_step(pointer: &mut String, step: &str, then: impl FnOnce(&mut String)) {
    let length = pointer.len();
    push_step(pointer, step);
    then(pointer);
    pointer.truncate(length);
}

/// Returns `true` for a list of texts or numbers, such as enum values: it is reported as a whole.
fn has_only_scalars(list: &[Value]) -> bool {
    !list.iter().any(|item| item.is_object() || item.is_array())
}
