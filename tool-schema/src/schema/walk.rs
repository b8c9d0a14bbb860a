//! Iteration over the subschemas of a schema.
//!
//! The iteration follows keywords instead of nesting, since a property may be called `items` and a default may have a
//! key `properties`.

use serde_json::{Map, Value};

/// The relation of a subschema to the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role<'a> {
    /// It applies to the property of this name.
    Property(&'a str),
    /// It applies to another part of the value, or is a definition.
    Part,
    /// It applies to the same value, as one of several or as an alternative.
    Same,
    /// It is a condition on the same value and does not describe it.
    Question,
}

/// Visits the direct subschemas of `schema` until a visit fails.
pub(super) fn subschemas<E>(
    schema: &mut Map<String, Value>,
    mut visit: impl FnMut(Role<'_>, &mut Value) -> Result<(), E>,
) -> Result<(), E> {
    for (key, value) in schema {
        match key.as_str() {
            "properties" => named(value).try_for_each(|(name, value)| visit(Role::Property(name), value))?,
            "patternProperties" | "$defs" => {
                named(value).try_for_each(|(_, value)| visit(Role::Part, value))?;
            }
            "dependentSchemas" => named(value).try_for_each(|(_, value)| visit(Role::Question, value))?,
            "prefixItems" => listed(value).try_for_each(|value| visit(Role::Part, value))?,
            "anyOf" | "oneOf" | "allOf" => listed(value).try_for_each(|value| visit(Role::Same, value))?,
            "items"
            | "contains"
            | "additionalProperties"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "propertyNames" => visit(Role::Part, value)?,
            "not" | "if" | "then" | "else" => visit(Role::Question, value)?,
            _ => {}
        }
    }
    Ok(())
}

fn named(value: &mut Value) -> impl Iterator<Item = (&String, &mut Value)> {
    value.as_object_mut().into_iter().flatten()
}

fn listed(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    value.as_array_mut().into_iter().flatten()
}
