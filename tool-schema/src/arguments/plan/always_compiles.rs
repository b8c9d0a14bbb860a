//! Schemas that have a plan without doubt, so that compiling them can wait for the first call.
//!
//! The check knows the keywords of schemas that are made from types. A schema with any other keyword is compiled when
//! its tool is added, which finds its mistakes.

use serde_json::Value;

use super::node::TypeSet;
use crate::internal_keywords::{FILLS, IGNORES};

/// The maximum nesting of schemas; deeper ones are compiled.
pub(super) const LEVELS: usize = 16;

/// Returns `true` if compiling `schema`, nested at most `levels` deep, cannot fail.
pub(super) fn is_certain_to_compile(schema: &Value, levels: usize) -> bool {
    let Value::Object(keywords) = schema else { return schema.is_boolean() };
    let below = |schema: &Value| levels > 0 && is_certain_to_compile(schema, levels - 1);
    keywords.iter().all(|(key, value)| match key.as_str() {
        "description" | "title" | "default" | "examples" | "deprecated" | "format" | FILLS | IGNORES => true,
        "type" => is_valid_type_keyword(value),
        "enum" => value.is_array(),
        "const" => true,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
        "minLength" | "maxLength" | "minItems" | "maxItems" => value.is_u64(),
        "required" => value.as_array().is_some_and(|names| are_distinct_strings(names)),
        "items" | "additionalProperties" => below(value),
        "properties" => value.as_object().is_some_and(|all| all.values().all(below)),
        _ => false,
    })
}

fn is_valid_type_keyword(value: &Value) -> bool {
    let is_type = |name: &Value| name.as_str().is_some_and(|name| TypeSet::from_name(name).is_some());
    match value {
        Value::Array(names) => !names.is_empty() && names.iter().all(is_type) && are_distinct_strings(names),
        name => is_type(name),
    }
}

/// Returns `true` for a list of different strings.
fn are_distinct_strings(names: &[Value]) -> bool {
    let is_new = |(at, name): (usize, &Value)| name.is_string() && names.iter().take(at).all(|it| it != name);
    names.len() <= 64 && names.iter().enumerate().all(is_new)
}
