//! The canonical form of schemas.

use serde_json::{Map, Value, json};

use super::{
    SchemaError,
    aliases::{may_have_internal_keywords, strip_internal_keywords},
    enums, flatten, integers, map_keys, order,
    references::{prune_definitions, resolve_root},
    walk::{SubschemaRole, visit_subschemas},
};
use crate::internal_keywords::{ALIASES, FILLS, IGNORES, SINGLE};

/// The treatment of properties that a schema does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closing {
    /// Reject them.
    Closed,
    /// Permit them.
    Open,
    /// The schema of a result: leave the keyword unset, and keep `null` in types.
    Output,
}

/// Converts a schema made by schemars to canonical form.
///
/// # Errors
///
/// Returns an error if a flattened part conflicts with the object that contains it, or if bounds admit no value.
pub(super) fn canonicalize_schema(root: &mut Value, closing: Closing) -> Result<(), SchemaError> {
    resolve_root(root);
    canonicalize_node(root, closing, true)?;
    prune_definitions(root);
    if let (Some(root), true) = (root.as_object_mut(), closing != Closing::Output) {
        set_root_type_to_object(root);
    }
    Ok(())
}

/// Converts the schema of a result to canonical form.
pub fn canonical_output(mut root: Value) -> Value {
    // Objects of results need not be closed; parts that cannot be merged stay separate.
    let _: Result<(), SchemaError> = canonicalize_schema(&mut root, Closing::Output);
    if may_have_internal_keywords(&root) {
        strip_internal_keywords(&mut root);
    }
    root
}

/// Converts `schema` to canonical form; it may be closed if no other schema applies to the same value.
fn canonicalize_node(schema: &mut Value, closing: Closing, is_alone: bool) -> Result<(), SchemaError> {
    let Some(schema) = schema.as_object_mut() else { return Ok(()) };
    integers::replace_format_by_bounds(schema);
    if closing != Closing::Output {
        integers::check_bounds(schema)?;
    }
    if is_scalar(schema) {
        order::sort_keywords(schema);
        return Ok(());
    }
    schema.shift_remove("$schema");
    match flatten::distribute_choices(schema, closing) {
        Err(error) if closing != Closing::Output => return Err(error),
        _ => {}
    }
    map_keys::make_key_patterns_exact(schema);
    enums::flatten_constants(schema);
    if closing != Closing::Output {
        make_optional_properties_non_null(schema);
    }
    if closing != Closing::Output && is_alone {
        close_object(schema, closing);
    }
    canonicalize_children(schema, closing, is_alone)?;
    order::sort_keywords(schema);
    Ok(())
}

/// Returns `true` if no rewrite below concerns `schema`: it describes neither an object nor parts of its value.
fn is_scalar(schema: &Map<String, Value>) -> bool {
    schema.iter().all(|(key, value)| match key.as_str() {
        "type" => value != "object",
        "description" | "minimum" | "maximum" | "minLength" | "maxLength" | "title" | "pattern"
        | "format" | "enum" | "const" | "default" | "examples" | "deprecated" | ALIASES | FILLS | SINGLE => {
            true
        }
        _ => false,
    })
}

/// Converts every subschema to canonical form.
fn canonicalize_children(
    schema: &mut Map<String, Value>,
    closing: Closing,
    is_alone: bool,
) -> Result<(), SchemaError> {
    let speaks_alone = is_alone && !combines_object_parts(schema);
    visit_subschemas(schema, |role, subschema| match role {
        SubschemaRole::Property(name) => canonicalize_node(subschema, closing, true)
            .map_err(|error| SchemaError::new(format!("in `{name}`, {error}"))),
        SubschemaRole::Part => canonicalize_node(subschema, closing, true),
        SubschemaRole::Same => canonicalize_node(subschema, closing, speaks_alone),
        // A condition does not describe a value; a change would alter its meaning.
        SubschemaRole::Question => Ok(()),
    })
}

/// Returns `true` if several parts of `schema` apply to the properties of one value.
fn combines_object_parts(schema: &Map<String, Value>) -> bool {
    let parts = schema.get("allOf").and_then(Value::as_array).map_or(0, Vec::len)
        + ["oneOf", "anyOf", "$ref"].iter().filter(|key| schema.contains_key(**key)).count();
    let own = ["properties", "patternProperties", "additionalProperties"];
    parts + usize::from(own.iter().any(|key| schema.contains_key(*key))) > 1
}

/// Makes optional properties non-required instead of nullable.
fn make_optional_properties_non_null(schema: &mut Map<String, Value>) {
    let required = schema.get_mut("required").map(Value::take);
    let names = required.as_ref().and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        if !names.iter().any(|it| it.as_str() == Some(name))
            && let Some(property) = property.as_object_mut()
        {
            // A nullable property usually treats absence as `null`.
            if remove_null(property) || property.get("default").is_some() {
                remove_unknown_default_mark(property);
            }
        }
    }
    if let Some((slot, required)) = schema.get_mut("required").zip(required) {
        *slot = required;
    }
}

/// Removes the mark that the property of `schema` has an unknown default.
fn remove_unknown_default_mark(schema: &mut Map<String, Value>) {
    if schema.get(FILLS) == Some(&Value::Bool(false)) {
        schema.shift_remove(FILLS);
    }
}

/// Removes `null` from the types of `schema` if another type remains; returns `true` if it was present.
pub(super) fn remove_null(schema: &mut Map<String, Value>) -> bool {
    let mut was_there = schema.get("default").is_some_and(Value::is_null);
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        if types.len() > 1 {
            let count = types.len();
            types.retain(|name| name != "null");
            was_there |= types.len() < count;
        }
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && values.len() > 1
    {
        values.retain(|value| !value.is_null());
    }
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = schema.get_mut(key) else { continue };
        let is_null = |branch: &Value| *branch == json!({ "type": "null" });
        if !branches.iter().any(is_null) {
            continue;
        }
        was_there = true;
        branches.retain(|branch| !is_null(branch));
        if let [Value::Object(only)] = branches.as_slice() {
            let only = only.clone();
            schema.shift_remove(key);
            // Keywords of the property override those of its type.
            for (key, value) in only {
                schema.entry(key).or_insert(value);
            }
        }
    }
    if schema.get("default").is_some_and(Value::is_null) {
        schema.shift_remove("default");
    }
    was_there
}

/// Closes the schema of an object that does not mention additional properties, or marks that they are ignored.
fn close_object(schema: &mut Map<String, Value>, closing: Closing) {
    let is_object =
        schema.get("type").is_some_and(|name| name == "object") || schema.contains_key("properties");
    let is_made_of_parts = ["oneOf", "anyOf", "allOf", "$ref"].iter().any(|key| schema.contains_key(*key));
    if is_object && !is_made_of_parts && !schema.contains_key("additionalProperties") {
        match closing {
            Closing::Closed => schema.insert("additionalProperties".to_owned(), false.into()),
            // For a type without named properties, the set of properties that it reads is unknown.
            _ if !schema.contains_key("properties") || schema.contains_key("patternProperties") => None,
            _ => schema.insert(IGNORES.to_owned(), true.into()),
        };
    }
}

/// Sets the type of the root of arguments to `object`, also if the root is an enum.
fn set_root_type_to_object(root: &mut Map<String, Value>) {
    if !root.contains_key("type") {
        let branches = ["oneOf", "anyOf"].iter().find_map(|key| root.get(*key)?.as_array());
        let of_objects = |branch: &Value| branch.get("type").is_some_and(|name| name == "object");
        match branches {
            Some(branches) if branches.iter().all(of_objects) => {
                root.insert("type".to_owned(), "object".into())
            }
            // `check_root` rejects any other type and names it in the message.
            Some(_) => root.insert("type".to_owned(), "one of several".into()),
            None => None,
        };
    }
    if root.get("type").is_some_and(|name| name == "object")
        && !["oneOf", "anyOf", "allOf", "$ref"].iter().any(|key| root.contains_key(*key))
    {
        root.entry("properties").or_insert_with(|| json!({}));
    }
    order::sort_keywords(root);
}

#[cfg(test)]
mod tests;
