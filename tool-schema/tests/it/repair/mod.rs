//! Repair of arguments that are almost JSON: repaired, refused and truncated texts.

mod classes;
mod cut_off;
mod properties;
mod refused;

use serde_json::{Map, Value};
use tool_schema::{RepairOutcome, recover};

/// Returns the repaired `text`.
fn repaired(text: &str) -> String {
    match recover(text) {
        RepairOutcome::Repaired { text: read, .. } => read,
        other => panic!("{text:?} is {other:?}"),
    }
}

/// Returns the readable part of the truncated `text`.
fn partial(text: &str) -> String {
    match recover(text) {
        RepairOutcome::Partial { text: read, .. } => read,
        other => panic!("{text:?} is {other:?}"),
    }
}

/// Returns the reason for refusing `text`.
fn refused(text: &str) -> String {
    match recover(text) {
        RepairOutcome::Invalid { text: kept, reason, .. } => {
            assert_eq!(kept, text);
            reason
        }
        other => panic!("{text:?} is {other:?}"),
    }
}

fn object(text: &str) -> Map<String, Value> {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}
