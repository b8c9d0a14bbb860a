//! References within a schema that is moved or written out.

use serde_json::Value;

/// What `reference` leads to in `root`.
pub(super) fn target<'s>(root: &'s Value, reference: &str) -> Option<&'s Value> {
    let fragment = reference.strip_prefix('#')?;
    root.pointer(&tool_core::__private::words::percent_decoded(fragment))
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
