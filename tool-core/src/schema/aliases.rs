//! Other names of properties, which `serde` reads and a model need not know.
//!
//! They travel in the schema from the place where they are written to the check of the arguments,
//! and are in no schema that is shown to anybody.

use std::convert::Infallible;

use serde_json::Value;

use super::walk::subschemas;

/// The key under which a property's schema lists its other names.
pub(crate) const ALIASES: &str = "x-tool-aliases";

/// The key by which the schema of an object says that its decoder ignores properties that it does not
/// name: they are no part of a call.
pub(crate) const IGNORES: &str = "x-tool-ignores";

/// The key by which the schema of a property says that the decoder takes a default where the property is absent:
/// `true`, if it is the `default` of the schema; `false`, if it is not known, or not the same each time.
pub(crate) const FILLS: &str = "x-tool-fills";

/// Removes what only the check of arguments is to know; returns whether there was any.
pub(super) fn strip(schema: &mut Value) -> bool {
    let Some(schema) = schema.as_object_mut() else { return false };
    let mut found = schema.shift_remove(ALIASES).is_some();
    found |= schema.shift_remove(IGNORES).is_some();
    found |= schema.shift_remove(FILLS).is_some();
    let Ok(()) = subschemas(schema, |_, subschema| {
        found |= strip(subschema);
        Ok::<_, Infallible>(())
    });
    found
}
