//! Arguments that are nearly JSON: what is read, what is refused, and what was cut off.

mod classes;
mod cut_off;
mod policy;
mod properties;
mod refused;
mod wired;

use serde_json::{Map, Value};
use tool_runtime::schema::{RepairOutcome, recover};

/// What `text` is read as, being repaired.
fn repaired(text: &str) -> String {
    match recover(text) {
        RepairOutcome::Repaired { text: read, .. } => read,
        other => panic!("{text:?} is {other:?}"),
    }
}

/// What `text` is read as, being cut off.
fn partial(text: &str) -> String {
    match recover(text) {
        RepairOutcome::Partial { text: read, .. } => read,
        other => panic!("{text:?} is {other:?}"),
    }
}

/// Why `text` is refused.
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
