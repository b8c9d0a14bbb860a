//! The removal of [internal keywords](crate::internal_keywords).

use std::convert::Infallible;

use serde_json::Value;

use super::walk::visit_subschemas;
use crate::internal_keywords::{ALIASES, FILLS, IGNORES, SINGLE};

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
