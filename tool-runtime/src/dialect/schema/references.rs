//! References within a schema that is moved or written out.

use std::collections::HashSet;

use serde_json::Value;

/// What `reference` leads to in `root`.
pub(super) fn target<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let fragment = reference.strip_prefix('#')?;
    root.pointer(&tool_core::__private::words::percent_decoded(fragment))
}

/// Whether `schema` leads to something that holds itself.
pub(super) fn leads_round(root: &Value, schema: &Value) -> bool {
    visit(root, schema, &mut Vec::new(), &mut HashSet::new())
}

/// `inside` are the references that led here, `done` those that lead to nothing of the kind.
fn visit<'s>(
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
                let Some(target) = target(root, reference).filter(|_| !done.contains(reference.as_str()))
                else {
                    return false;
                };
                inside.push(reference);
                let found = visit(root, target, inside, done);
                inside.pop();
                done.insert(reference);
                found
            }
            value => visit(root, value, inside, done),
        }),
        Value::Array(values) => values.iter().any(|value| visit(root, value, inside, done)),
        _ => false,
    }
}

/// `reference`, when its document is found at `place` of another, but for its definitions.
pub(super) fn moved(reference: &str, place: &str) -> String {
    match reference.strip_prefix('#') {
        Some(fragment) if !fragment.starts_with("/$defs/") => format!("#{place}{fragment}"),
        _ => reference.to_owned(),
    }
}

/// The same for all references in `schema`.
pub(in crate::dialect) fn move_references(schema: &mut Value, place: &str) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(reference) if key == "$ref" => *reference = moved(reference, place),
                    value => move_references(value, place),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| move_references(value, place)),
        _ => {}
    }
}
