//! Parameters and their fields: each needs a description.

use serde_json::{Map, Value};

use super::ToolFindings;
use crate::{diagnostic::Severity, dialect::schema::pointer_below};

/// The number of characters from which the description of a parameter is too long. Our own limit.
const LONG: usize = 1_000;

pub(super) fn check_parameters(found: &mut ToolFindings<'_>) {
    let root = &*found.of.input_schema().to_value();
    ParameterWalk { root, found }.check_schema(root, "", false);
}

struct ParameterWalk<'w, 'f> {
    root: &'w Value,
    found: &'w mut ToolFindings<'f>,
}

impl<'w> ParameterWalk<'w, '_> {
    /// `is_branch` is `true` for one of several alternatives.
    fn check_schema(&mut self, schema: &'w Value, at: &str, is_branch: bool) {
        let Value::Object(schema) = schema else { return };
        for (key, value) in schema {
            let place = || pointer_below(at, key);
            match (key.as_str(), value) {
                ("properties", Value::Object(properties)) => {
                    // The only property of a branch is the name of a variant, which is described beside it.
                    let is_variant = is_branch && properties.len() == 1 && has_description(schema);
                    self.check_properties(properties, &place(), is_variant);
                }
                // A definition is checked once, however often it is referred to.
                ("$defs" | "definitions" | "patternProperties", Value::Object(named)) => {
                    let place = place();
                    named
                        .iter()
                        .for_each(|(name, it)| self.check_schema(it, &pointer_below(&place, name), false));
                }
                ("oneOf" | "anyOf" | "allOf" | "prefixItems", Value::Array(all)) => {
                    let place = place();
                    for (index, it) in all.iter().enumerate() {
                        let is_branch = key == "oneOf" || key == "anyOf";
                        self.check_schema(it, &pointer_below(&place, &index.to_string()), is_branch);
                    }
                }
                ("items" | "additionalProperties", value) => self.check_schema(value, &place(), false),
                _ => {}
            }
        }
    }

    fn check_properties(&mut self, properties: &'w Map<String, Value>, at: &str, is_variant: bool) {
        for (name, property) in properties {
            let place = pointer_below(at, name);
            let what = if at == "/properties" { "parameter" } else { "field" };
            if !is_variant && !self.is_described(property) && !has_single_permitted_value(property) {
                let message = format!("the {what} has no description");
                self.found.push(
                    Severity::Warning,
                    "missing_parameter_description",
                    &place,
                    message,
                    "write a doc comment above it",
                );
            }
            let description = property.get("description").and_then(Value::as_str).unwrap_or_default();
            let length = description.chars().count();
            if length > LONG {
                let message =
                    format!("the description of the {what} has {length} characters; keep it within {LONG}");
                self.found.push(
                    Severity::Warning,
                    "long_parameter_description",
                    &place,
                    message,
                    "shorten it",
                );
            }
            self.check_schema(property, &place, false);
        }
    }

    /// Returns `true` if `property`, its referenced type, or each of its alternatives has a description.
    fn is_described(&self, property: &Value) -> bool {
        let Value::Object(property) = property else { return false };
        let of_type = |property: &Map<String, Value>| {
            let target = property.get("$ref").and_then(Value::as_str)?.strip_prefix('#')?;
            self.root.pointer(target)?.as_object()
        };
        let is_described = |schema: &Map<String, Value>| {
            has_description(schema) || of_type(schema).is_some_and(has_description)
        };
        let parts = |key: &str| property.get(key).and_then(Value::as_array).into_iter().flatten();
        is_described(property)
            // All of them apply at once: one description is enough.
            || parts("allOf").filter_map(Value::as_object).any(is_described)
            || ["anyOf", "oneOf"].iter().any(|key| {
                let mut branches =
                    parts(key).filter_map(Value::as_object).filter(|it| !is_null(it)).peekable();
                branches.peek().is_some() && branches.all(is_described)
            })
    }
}

fn has_description(schema: &Map<String, Value>) -> bool {
    schema.get("description").and_then(Value::as_str).is_some_and(|text| !text.trim().is_empty())
}

fn is_null(schema: &Map<String, Value>) -> bool {
    schema.get("type").is_some_and(|name| name == "null")
}

/// Returns `true` if there is only one possible value, which needs no description.
fn has_single_permitted_value(property: &Value) -> bool {
    let only = |values: &Value| values.as_array().is_some_and(|values| values.len() == 1);
    property.get("const").is_some() || property.get("enum").is_some_and(only)
}
