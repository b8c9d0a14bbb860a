//! The subschemas of a schema.
//!
//! The walk follows the keywords and not the nesting: a property may well be called `items`, and a
//! default may well have a key `properties`.

use serde_json::{Map, Value};

/// What a subschema speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role<'a> {
    /// The property of this name.
    Property(&'a str),
    /// Another part of the value; or nothing, until something refers to it.
    Part,
    /// The same value: it is one of several that fit it together, or one of those to choose from.
    Same,
    /// The same value, which it does not describe: it only asks something of it.
    Question,
}

/// Visits every subschema of `schema`, and not those below them, until one visit fails.
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
