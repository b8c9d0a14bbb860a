//! The canonical form: one way of saying each thing.

use schemars::Schema;
use serde_json::{Map, Value, json};

use super::{
    FILLS, IGNORES, SchemaError,
    aliases::strip,
    enums, flatten, integers, maps, order,
    references::{prune, resolve_root},
    walk::{Role, subschemas},
};

/// What becomes of properties that a schema does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closing {
    /// They are refused.
    Closed,
    /// They are allowed.
    Open,
    /// The schema is that of a result: nothing is said, and what may be `null` says so.
    Output,
}

/// Brings a schema that schemars made into canonical form.
///
/// # Errors
///
/// If what is flattened into an object does not go together with it.
pub(crate) fn canonical(root: &mut Value, closing: Closing) -> Result<(), SchemaError> {
    resolve_root(root);
    node(root, closing, true)?;
    prune(root);
    if let (Some(root), true) = (root.as_object_mut(), closing != Closing::Output) {
        root_object(root);
    }
    Ok(())
}

/// The canonical form of a result's schema.
pub(crate) fn canonical_output(mut root: Value) -> Value {
    // No object of a result has to be closed; one that cannot be put together stays in its parts.
    let _: Result<(), SchemaError> = canonical(&mut root, Closing::Output);
    strip(&mut root);
    root
}

/// Brings `schema` into canonical form; it may be closed where nothing else speaks of the same value.
fn node(schema: &mut Value, closing: Closing, is_alone: bool) -> Result<(), SchemaError> {
    let Some(schema) = schema.as_object_mut() else { return Ok(()) };
    schema.shift_remove("$schema");
    integers::bound(schema);
    match flatten::distribute(schema, closing) {
        Err(error) if closing != Closing::Output => return Err(error),
        _ => {}
    }
    maps::exact_keys(schema);
    enums::flatten(schema);
    if closing != Closing::Output {
        optional_properties(schema);
    }
    if closing != Closing::Output && is_alone {
        close(schema, closing);
    }
    children(schema, closing, is_alone)?;
    order::sort(schema);
    Ok(())
}

/// Brings every subschema into canonical form.
fn children(schema: &mut Map<String, Value>, closing: Closing, is_alone: bool) -> Result<(), SchemaError> {
    let speaks_alone = is_alone && !says_more_than_a_choice(schema);
    subschemas(schema, |role, subschema| match role {
        Role::Property(name) => {
            node(subschema, closing, true).map_err(|error| SchemaError::new(format!("in `{name}`, {error}")))
        }
        Role::Part => node(subschema, closing, true),
        Role::Same => node(subschema, closing, speaks_alone),
        // It is no description of a value: to change it is to ask something else.
        Role::Question => Ok(()),
    })
}

/// Whether several schemas in `schema` speak of the properties of one value.
fn says_more_than_a_choice(schema: &Map<String, Value>) -> bool {
    let parts = schema.get("allOf").and_then(Value::as_array).map_or(0, Vec::len)
        + ["oneOf", "anyOf", "$ref"].iter().filter(|key| schema.contains_key(**key)).count();
    let own = ["properties", "patternProperties", "additionalProperties"];
    parts + usize::from(own.iter().any(|key| schema.contains_key(*key))) > 1
}

/// A property that may be absent says so by not being required; `null` is not advertised.
fn optional_properties(schema: &mut Map<String, Value>) {
    let required = match schema.get("required") {
        Some(Value::Array(names)) => names.clone(),
        _ => Vec::new(),
    };
    let Some(Value::Object(properties)) = schema.get_mut("properties") else { return };
    for (name, property) in properties {
        if !required.iter().any(|it| it.as_str() == Some(name))
            && let Ok(property) = <&mut Schema>::try_from(property)
        {
            // What may be `null` is that, mostly, where it is absent.
            if without_null(&mut *property) || property.get("default").is_some() {
                forget_unknown_default(property);
            }
        }
    }
}

/// Takes back that the property of `schema` has a default of which nothing is known.
fn forget_unknown_default(schema: &mut Schema) {
    if schema.get(FILLS) == Some(&Value::Bool(false)) {
        schema.remove(FILLS);
    }
}

/// Takes `null` out of what `schema` allows, if anything else is left; returns `true` if it was there.
pub(crate) fn without_null(schema: &mut Schema) -> bool {
    let Some(schema) = schema.as_object_mut() else { return false };
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
            // What was said of the property wins over what is said of its type.
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

/// Refuses properties that are not named, where the schema is an object's and says nothing of them; or
/// says that they are ignored.
fn close(schema: &mut Map<String, Value>, closing: Closing) {
    let is_object =
        schema.get("type").is_some_and(|name| name == "object") || schema.contains_key("properties");
    let is_made_of_parts = ["oneOf", "anyOf", "allOf", "$ref"].iter().any(|key| schema.contains_key(*key));
    if is_object && !is_made_of_parts && !schema.contains_key("additionalProperties") {
        match closing {
            Closing::Closed => schema.insert("additionalProperties".to_owned(), false.into()),
            // Of a type that names none, it is not known what it reads.
            _ if !schema.contains_key("properties") || schema.contains_key("patternProperties") => None,
            _ => schema.insert(IGNORES.to_owned(), true.into()),
        };
    }
}

/// The root of arguments is an object, also where it is an enum's, and says so.
fn root_object(root: &mut Map<String, Value>) {
    if !root.contains_key("type") {
        let branches = ["oneOf", "anyOf"].iter().find_map(|key| root.get(*key)?.as_array());
        let of_objects = |branch: &Value| branch.get("type").is_some_and(|name| name == "object");
        match branches {
            Some(branches) if branches.iter().all(of_objects) => {
                root.insert("type".to_owned(), "object".into())
            }
            // Anything else is refused by `check_root`, which wants to name the type.
            Some(_) => root.insert("type".to_owned(), "one of several".into()),
            None => None,
        };
    }
    if root.get("type").is_some_and(|name| name == "object")
        && !["oneOf", "anyOf", "allOf", "$ref"].iter().any(|key| root.contains_key(*key))
    {
        root.entry("properties").or_insert_with(|| json!({}));
    }
    order::sort(root);
}
