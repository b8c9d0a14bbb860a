//! References within a schema that is moved or inlined.

use std::collections::HashSet;

use serde_json::Value;

/// Returns the target of `reference` in `root`.
pub(super) fn reference_target<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let fragment = reference.strip_prefix('#')?;
    root.pointer(&tool_core::internals::messages::percent_decoded(fragment))
}

/// Returns `true` if `schema` leads to a recursive type.
pub(super) fn is_recursive(root: &Value, schema: &Value) -> bool {
    leads_to_recursion(root, schema, &mut Vec::new(), &mut HashSet::new())
}

/// `inside` are the references on the current path, `done` those that lead to no recursive type.
fn leads_to_recursion<'s>(
    root: &'s Value,
    schema: &'s Value,
    inside: &mut Vec<&'s str>,
    done: &mut HashSet<&'s str>,
) -> bool {
    match schema {
        Value::Object(map) => map.iter().any(|(key, value)| match value {
            Value::String(reference) if key == "$ref" => {
                if inside.contains(&reference.as_str()) {
                    return true;
                }
                let Some(target) =
                    reference_target(root, reference).filter(|_| !done.contains(reference.as_str()))
                else {
                    return false;
                };
                inside.push(reference);
                let found = leads_to_recursion(root, target, inside, done);
                inside.pop();
                done.insert(reference);
                found
            }
            value => leads_to_recursion(root, value, inside, done),
        }),
        Value::Array(values) => values.iter().any(|value| leads_to_recursion(root, value, inside, done)),
        _ => false,
    }
}

/// Rewrites `reference` for a document that is moved to `place` of another one; its definitions are not moved.
pub(super) fn moved_reference(reference: &str, place: &str) -> String {
    match reference.strip_prefix('#') {
        Some(fragment) if !fragment.starts_with("/$defs/") => format!("#{place}{fragment}"),
        _ => reference.to_owned(),
    }
}

/// Rewrites all references in `schema` in the same way.
pub(in crate::dialect) fn move_references(schema: &mut Value, place: &str) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(reference) if key == "$ref" => {
                        *reference = moved_reference(reference, place)
                    }
                    value => move_references(value, place),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| move_references(value, place)),
        _ => {}
    }
}

/// Returns a reference that leads back to itself, if there is one.
pub(super) fn circular_reference(root: &Value) -> Option<&str> {
    let mut done = HashSet::new();
    let mut to_do: Vec<_> = references_within(root).into_iter().map(|it| (it, false)).rev().collect();
    let mut inside = HashSet::new();
    while let Some((reference, is_over)) = to_do.pop() {
        if is_over {
            inside.remove(reference);
        } else if inside.contains(reference) {
            return Some(reference);
        } else if done.insert(reference) {
            inside.insert(reference);
            to_do.push((reference, true));
            let within = reference_target(root, reference).map(references_within).unwrap_or_default();
            to_do.extend(within.into_iter().map(|it| (it, false)));
        }
    }
    None
}

/// Returns the references within `schema`.
pub(super) fn references_within(schema: &Value) -> Vec<&str> {
    let mut found = Vec::new();
    let mut to_do = vec![schema];
    while let Some(value) = to_do.pop() {
        match value {
            Value::Object(map) => {
                found.extend(map.get("$ref").and_then(Value::as_str));
                to_do.extend(map.values());
            }
            Value::Array(values) => to_do.extend(values),
            _ => {}
        }
    }
    found
}
