//! Other names of properties, which `serde` reads and a model need not know.
//!
//! They travel in the schema from the place where they are written to the check of the arguments,
//! and are in no schema that is shown to anybody.

use std::convert::Infallible;

use serde_json::Value;

use super::walk::subschemas;

/// The key under which a property's schema lists its other names.
pub(crate) const ALIASES: &str = "x-tool-aliases";

/// Removes the lists of aliases; returns whether there were any.
pub(super) fn strip(schema: &mut Value) -> bool {
    let Some(schema) = schema.as_object_mut() else { return false };
    let mut found = schema.shift_remove(ALIASES).is_some();
    let Ok(()) = subschemas(schema, |_, subschema| {
        found |= strip(subschema);
        Ok::<_, Infallible>(())
    });
    found
}
