//! Other names of properties, which `serde` reads and a model need not know.
//!
//! They travel in the schema from the place where they are written to the check of the arguments,
//! and are in no schema that is shown to anybody.

use serde_json::{Map, Value};

/// The key under which a property's schema lists its other names.
pub(crate) const ALIASES: &str = "x-tool-aliases";

/// Removes the lists of aliases; returns whether there were any.
pub(super) fn strip(schema: &mut Value) -> bool {
    match schema {
        Value::Object(map) => strip_map(map),
        Value::Array(list) => list.iter_mut().fold(false, |found, value| strip(value) | found),
        _ => false,
    }
}

fn strip_map(map: &mut Map<String, Value>) -> bool {
    let found = map.shift_remove(ALIASES).is_some();
    map.values_mut().fold(found, |found, value| strip(value) | found)
}
