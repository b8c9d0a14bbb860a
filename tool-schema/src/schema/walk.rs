//! Iteration over the subschemas of a schema.
//!
//! The iteration follows keywords instead of nesting, since a property may be called `items` and a default may have a
//! key `properties`.

use serde_json::{Map, Value};

/// The relation of a subschema to the value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SubschemaRole<'a> {
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
pub(super) fn visit_subschemas<E>(
    schema: &mut Map<String, Value>,
    mut visit: impl FnMut(SubschemaRole<'_>, &mut Value) -> Result<(), E>,
) -> Result<(), E> {
    for (key, value) in schema {
        match key.as_str() {
            "properties" => map_entries(value)
                .try_for_each(|(name, value)| visit(SubschemaRole::Property(name), value))?,
            "patternProperties" | "$defs" => {
                map_entries(value).try_for_each(|(_, value)| visit(SubschemaRole::Part, value))?;
            }
            "dependentSchemas" => {
                map_entries(value).try_for_each(|(_, value)| visit(SubschemaRole::Question, value))?
            }
            "prefixItems" => list_items(value).try_for_each(|value| visit(SubschemaRole::Part, value))?,
            "anyOf" | "oneOf" | "allOf" => {
                list_items(value).try_for_each(|value| visit(SubschemaRole::Same, value))?
            }
            "items"
            | "contains"
            | "additionalProperties"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "propertyNames" => visit(SubschemaRole::Part, value)?,
            "not" | "if" | "then" | "else" => visit(SubschemaRole::Question, value)?,
            _ => {}
        }
    }
    Ok(())
}

fn map_entries(value: &mut Value) -> impl Iterator<Item = (&String, &mut Value)> {
    value.as_object_mut().into_iter().flatten()
}

fn list_items(value: &mut Value) -> impl Iterator<Item = &mut Value> {
    value.as_array_mut().into_iter().flatten()
}
