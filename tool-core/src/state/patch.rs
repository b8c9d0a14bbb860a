//! JSON Merge Patches ([RFC 7396](https://www.rfc-editor.org/rfc/rfc7396)): objects are merged member by member,
//! `null` removes a member, and any other value replaces the previous one.

use serde_json::{Map, Value, map::Entry};

/// Applies `patch`, a JSON Merge Patch ([RFC 7396](https://www.rfc-editor.org/rfc/rfc7396)), to `target`: objects are
/// merged member by member, `null` removes a member, and any other value replaces the previous one.
///
/// This is the rule by which [`RunContext::change_state`](crate::RunContext::change_state) changes the state of a run. A
/// session store applies the changes of a run to stored state by the same rule.
///
/// Nested objects are merged recursively; values that were read from JSON by `serde_json` nest at most 128 levels.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_runtime::{RunContext, context::merge_patch};
///
/// let mut stored = json!({ "plan": { "tier": "pro", "seats": 3 }, "draft": "..." }).as_object().cloned().unwrap();
/// let run = RunContext::new().with_state(stored.clone());
/// let changes = json!({ "plan": { "seats": 4 }, "draft": null }).as_object().cloned().unwrap();
///
/// run.change_state(&changes);
/// merge_patch(&mut stored, &changes);
/// assert_eq!(json!(stored), json!({ "plan": { "tier": "pro", "seats": 4 } }));
/// assert_eq!(*run.state(), stored);
/// ```
pub fn merge_patch(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    // Removing one member at a time would move all members behind it.
    if patch.values().any(Value::is_null) {
        target.retain(|name, _| !patch.get(name).is_some_and(Value::is_null));
    }
    for (name, change) in patch.iter().filter(|(_, change)| !change.is_null()) {
        match (change, target.get_mut(name)) {
            (Value::Object(change), Some(Value::Object(value))) => merge_patch(value, change),
            (change, Some(value)) => *value = without_nulls(change),
            (change, None) => {
                target.insert(name.clone(), without_nulls(change));
            }
        }
    }
}

/// Adds the changes of `later` to `patch`, so that applying the result has the effect of applying both in order.
///
/// A merge patch cannot express one case: `patch` removes a member or replaces it by something other than an object,
/// and `later` makes it an object. If it was an object before, members that `later` does not mention stay.
pub(crate) fn extend_patch(patch: &mut Map<String, Value>, later: Map<String, Value>) {
    for (name, change) in later {
        match patch.entry(name) {
            Entry::Vacant(vacant) => {
                vacant.insert(change);
            }
            Entry::Occupied(mut occupied) => match (occupied.get_mut(), change) {
                (Value::Object(patch), Value::Object(later)) => extend_patch(patch, later),
                (patch, change) => *patch = change,
            },
        }
    }
}

/// Returns the patch from `before` to `after`; `None` if they are equal.
pub(super) fn patch_between(before: Option<&Value>, after: &Value) -> Option<Value> {
    match (before, after) {
        (Some(before), after) if before == after => None,
        (None, Value::Null) => None,
        (Some(Value::Object(before)), Value::Object(after)) => {
            let gone = before.keys().filter(|name| after.get(*name).is_none_or(Value::is_null));
            let gone = gone.map(|name| (name.clone(), Value::Null));
            let present = after.iter().filter(|(_, value)| !value.is_null());
            let changed = present
                .filter_map(|(name, value)| Some((name.clone(), patch_between(before.get(name), value)?)));
            let patch: Map<_, _> = gone.chain(changed).collect();
            (!patch.is_empty()).then_some(Value::Object(patch))
        }
        (_, after) => Some(after.clone()),
    }
}

/// Returns `value` without members that are `null`, which denote absent members. Lists are unchanged.
pub(super) fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            Value::Object(members.map(|(name, value)| (name.clone(), without_nulls(value))).collect())
        }
        other => other.clone(),
    }
}
