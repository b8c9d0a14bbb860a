//! The changes of state that a step made.

use serde_json::{Map, Value};

/// Returns the JSON Merge Patch from `before` to `after`, as small as it can be: members that did not change are not part of it, so
/// that the changes of other runs to the same value remain.
pub(crate) fn state_changes(before: &Map<String, Value>, after: &Map<String, Value>) -> Map<String, Value> {
    let mut changes = Map::new();
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        changes.insert(name.clone(), Value::Null);
    }
    for (name, value) in after {
        match (before.get(name), value) {
            (Some(old), new) if old == new => {}
            (Some(Value::Object(old)), Value::Object(new)) => {
                changes.insert(name.clone(), state_changes(old, new).into());
            }
            _ => drop(changes.insert(name.clone(), value.clone())),
        }
    }
    changes
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tool_runtime::RunContext;

    use super::*;

    #[test]
    fn changes_are_minimal_and_lead_from_one_state_to_the_other() {
        let states = [
            json!({}),
            json!({ "a": 1, "user:b": { "x": 1, "y": { "z": [1] } } }),
            json!({ "a": 2, "user:b": { "x": 1, "y": { "z": [1, 2] } } }),
            json!({ "user:b": { "y": { "z": [1], "w": "v" } }, "c": true }),
            json!({ "user:b": 3 }),
        ];
        let map = |value: &Value| value.as_object().cloned().unwrap_or_default();
        for before in &states {
            for after in &states {
                let run = RunContext::new().with_state(map(before));
                run.change_state(&state_changes(&map(before), &map(after)));
                assert_eq!(json!(*run.state()), *after, "from {before}");
            }
        }
        let changes = state_changes(&map(&states[1]), &map(&states[2]));
        assert_eq!(json!(changes), json!({ "a": 2, "user:b": { "y": { "z": [1, 2] } } }));
    }
}
