//! The conversion of schemas, keyword by keyword and rule by rule.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod drafts;
mod joined;
mod limits;
mod lists;
mod objects;
mod references;
mod sentences;
mod types;

use serde_json::{Value, json};

use super::{Rules, UNRESTRICTED, convert_schema};

/// The rules of most tests: all keywords, and nothing that wraps the arguments.
const ALL: Rules = Rules { root_choice: false, ..UNRESTRICTED };

/// Converts a required property; returns its schema, and the pointers and messages of the notes.
fn converted(rules: &Rules, property: Value) -> Result<(Value, Vec<String>), String> {
    let schema = json!({
        "type": "object", "properties": { "p": property }, "required": ["p"], "additionalProperties": false,
    });
    let converted =
        convert_schema(&schema, rules).map_err(|error| format!("{}: {}", error.pointer, error.message))?;
    let notes = converted.notes.iter().map(|note| format!("{}: {}", note.pointer, note.message));
    Ok((converted.schema["properties"]["p"].clone(), notes.collect()))
}

/// Checks the schema of a property that is converted without a note.
#[track_caller]
fn check(rules: &Rules, property: Value, expected: Value) {
    let shown = property.to_string();
    assert_eq!(converted(rules, property), Ok((expected, Vec::new())), "{shown}");
}

/// Checks that a property cannot be sent, for this reason.
#[track_caller]
fn refused(rules: &Rules, property: Value, reason: &str) {
    let shown = property.to_string();
    assert_eq!(converted(rules, property), Err(reason.to_owned()), "{shown}");
}
