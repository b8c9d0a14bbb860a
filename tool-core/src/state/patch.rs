//! Changes of state as JSON Merge Patches ([RFC 7396](https://www.rfc-editor.org/rfc/rfc7396)): objects are merged member by member,
//! `null` removes a member, and any other value replaces the one before.

use serde_json::{Map, Value, map::Entry};

/// Applies `patch` to `target`.
pub fn apply(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    // All at once: each removal by itself would move what stands behind it.
    if patch.values().any(Value::is_null) {
        target.retain(|name, _| !patch.get(name).is_some_and(Value::is_null));
    }
    for (name, change) in patch.iter().filter(|(_, change)| !change.is_null()) {
        match (change, target.get_mut(name)) {
            (Value::Object(change), Some(Value::Object(value))) => apply(value, change),
            (change, Some(value)) => *value = without_nulls(change),
            (change, None) => {
                target.insert(name.clone(), without_nulls(change));
            }
        }
    }
}

/// Adds the changes of `later` to those of `patch`: applied, it does what both do one after the other.
///
/// One case has no such patch: where `patch` removes a member, or makes something else of it than an object, and `later`
/// makes an object of it. Applied to a state in which it was an object before, the members that `later` does not name stay.
pub(crate) fn follow(patch: &mut Map<String, Value>, later: Map<String, Value>) {
    for (name, change) in later {
        match patch.entry(name) {
            Entry::Vacant(vacant) => {
                vacant.insert(change);
            }
            Entry::Occupied(mut occupied) => match (occupied.get_mut(), change) {
                (Value::Object(patch), Value::Object(later)) => follow(patch, later),
                (patch, change) => *patch = change,
            },
        }
    }
}

/// The patch that makes `after` of `before`; `None` if they are equal.
pub(super) fn difference(before: Option<&Value>, after: &Value) -> Option<Value> {
    match (before, after) {
        (Some(before), after) if before == after => None,
        (None, Value::Null) => None,
        (Some(Value::Object(before)), Value::Object(after)) => {
            let gone = before.keys().filter(|name| after.get(*name).is_none_or(Value::is_null));
            let gone = gone.map(|name| (name.clone(), Value::Null));
            let kept = after.iter().filter(|(_, value)| !value.is_null());
            let changed =
                kept.filter_map(|(name, value)| Some((name.clone(), difference(before.get(name), value)?)));
            let patch: Map<_, _> = gone.chain(changed).collect();
            (!patch.is_empty()).then_some(Value::Object(patch))
        }
        (_, after) => Some(after.clone()),
    }
}

/// `value` without the members that are `null`, which stand for members that are absent. Lists stay as they are.
pub(super) fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().filter(|(_, value)| !value.is_null());
            Value::Object(members.map(|(name, value)| (name.clone(), without_nulls(value))).collect())
        }
        other => other.clone(),
    }
}
