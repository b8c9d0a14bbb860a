//! Internal keywords of schemas, such as aliases of properties, which `serde` reads and a model need not know.
//!
//! They are part of the schema from its derivation to the validation of arguments, and are removed from every schema
//! that is shown.

use std::convert::Infallible;

use serde_json::Value;

use super::walk::visit_subschemas;

/// The key under which a property's schema lists its aliases.
pub const ALIASES: &str = "x-tool-aliases";

/// The key of an object whose decoder ignores unknown properties, so that they are not part of a call.
pub(crate) const IGNORES: &str = "x-tool-ignores";

/// The key of a property for which the decoder has a default: `true` if it is the `default` of the schema, `false` if
/// it is unknown or varies.
pub const FILLS: &str = "x-tool-fills";

/// The key of a number that the decoder reads as a 32-bit float.
pub(crate) const SINGLE: &str = "x-tool-single";

/// Returns `false` if `schema` has no internal keywords, without following its keywords.
pub(super) fn may_have_internal_keywords(schema: &Value) -> bool {
    match schema {
        Value::Object(map) => map.iter().any(|(key, value)| {
            matches!(&**key, ALIASES | IGNORES | FILLS | SINGLE) || may_have_internal_keywords(value)
        }),
        Value::Array(items) => items.iter().any(may_have_internal_keywords),
        _ => false,
    }
}

/// Removes the internal keywords; returns `true` if there were any.
pub(super) fn strip_internal_keywords(schema: &mut Value) -> bool {
    let Some(schema) = schema.as_object_mut() else { return false };
    let mut found = schema.shift_remove(ALIASES).is_some();
    found |= schema.shift_remove(IGNORES).is_some();
    found |= schema.shift_remove(FILLS).is_some();
    found |= schema.shift_remove(SINGLE).is_some();
    let Ok(()) = visit_subschemas(schema, |_, subschema| {
        found |= strip_internal_keywords(subschema);
        Ok::<_, Infallible>(())
    });
    found
}
