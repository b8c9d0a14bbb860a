//! Merging two schemas that apply to the properties of one object.

use serde_json::{Map, Value, json};

use super::SchemaError;

type Object = Map<String, Value>;

/// Returns the schema that matches what both match; `None` if no value matches both.
///
/// # Errors
///
/// Returns an error if the keywords cannot be merged.
pub(super) fn merge_objects(left: &Object, right: &Object) -> Result<Option<Object>, SchemaError> {
    let Some(properties) = merge_properties(left, right)? else { return Ok(None) };
    let mut both = left.clone();
    if !properties.is_empty() {
        both.insert("properties".to_owned(), properties.into());
    }
    for (key, theirs) in right {
        let value = match (left.get(key), key.as_str()) {
            (_, "properties") => continue,
            (None, _) => theirs.clone(),
            (Some(_), "type") => "object".into(),
            (Some(Value::Array(ours)), "required") => union_of_names(ours, theirs).into(),
            (Some(ours), "additionalProperties") => merge_additional(ours, theirs),
            (Some(Value::Object(ours)), "patternProperties") => merge_patterns(ours, theirs)?.into(),
            (Some(Value::String(ours)), "description") => merge_texts(ours, theirs).into(),
            (Some(ours), _) if ours == theirs || is_annotation(key) => continue,
            _ => return Err(contradiction_error(key)),
        };
        both.insert(key.clone(), value);
    }
    if left.contains_key("properties") && right.contains_key("properties") {
        // A default or example of one part is not one of the whole.
        both.retain(|key, _| !matches!(key.as_str(), "default" | "examples"));
    }
    let has_more = |object: &Object| object.keys().any(|key| !(key == "type" || is_annotation(key)));
    if both.contains_key("$ref") && has_more(left) && has_more(right) {
        let message = "a type that contains itself is flattened beside other properties; make it a property";
        return Err(SchemaError::new(message));
    }
    Ok(Some(both))
}

/// Returns `true` if an object can match `schema`.
pub(super) fn may_match_objects(schema: &Object) -> bool {
    let is_type = match schema.get("type") {
        None => true,
        Some(Value::Array(types)) => types.iter().any(|name| name == "object"),
        Some(name) => name == "object",
    };
    let is_listed = schema.get("enum").and_then(Value::as_array);
    let is_const = schema.get("const").is_none_or(Value::is_object);
    is_type && is_const && is_listed.is_none_or(|values| values.iter().any(Value::is_object))
}

/// Returns the strings that `schema` permits, if it lists them.
pub(super) fn listed_names(schema: &Object) -> Option<Vec<&str>> {
    match (schema.get("const"), schema.get("enum")) {
        (Some(only), _) => Some(vec![only.as_str()?]),
        (None, Some(Value::Array(values))) => values.iter().map(Value::as_str).collect(),
        _ => None,
    }
}

/// Returns the union of both lists of names.
pub(super) fn union_of_names(ours: &[Value], theirs: &Value) -> Vec<Value> {
    let mut all: Vec<Value> = Vec::with_capacity(ours.len());
    for name in ours.iter().chain(theirs.as_array().into_iter().flatten()) {
        if !all.contains(name) {
            all.push(name.clone());
        }
    }
    all
}

pub(super) fn contradiction_error(key: &str) -> SchemaError {
    SchemaError::new(format!(
        "`{key}` of this object and `{key}` of what is flattened into it do not go together"
    ))
}

/// Returns the properties of both; `None` if no value has them all.
fn merge_properties(left: &Object, right: &Object) -> Result<Option<Object>, SchemaError> {
    let of =
        |object: &Object| object.get("properties").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut both = of(left);
    let mut contradictory = None;
    for (name, theirs) in of(right) {
        let Some(ours) = both.get(&name) else {
            both.insert(name, theirs);
            continue;
        };
        match find_agreement(ours, &theirs) {
            Agreement::On(value) => drop(both.insert(name, value)),
            Agreement::Never => return Ok(None),
            Agreement::Unknown => contradictory = Some(name),
        }
    }
    let Some(name) = contradictory else { return Ok(Some(both)) };
    let message = format!(
        "two parts of this object describe the property `{name}` in different ways; rename one of them"
    );
    Err(SchemaError::new(message))
}

/// The merge of two schemas of one property.
enum Agreement {
    On(Value),
    /// No value matches both.
    Never,
    Unknown,
}

fn find_agreement(ours: &Value, theirs: &Value) -> Agreement {
    let plain = |schema: &Value| {
        let mut schema = schema.clone();
        if let Some(schema) = schema.as_object_mut() {
            schema.retain(|key, _| !is_annotation(key));
        }
        schema
    };
    if plain(ours) == plain(theirs) {
        let described = if ours.get("description").is_some() { ours } else { theirs };
        return Agreement::On(described.clone());
    }
    let [ours, theirs] = [ours, theirs].map(|it| it.as_object().and_then(listed_names));
    let (Some(mut common), Some(theirs)) = (ours, theirs) else { return Agreement::Unknown };
    common.retain(|name| theirs.contains(name));
    match common.as_slice() {
        [] => Agreement::Never,
        [only] => Agreement::On(json!({ "type": "string", "const": only })),
        several => Agreement::On(json!({ "type": "string", "enum": several })),
    }
}

/// Returns `true` if a keyword is an annotation, which does not affect validation.
fn is_annotation(key: &str) -> bool {
    matches!(key, "description" | "title" | "default" | "examples" | "deprecated") || key.starts_with("x-")
}

/// Merges both schemas of additional properties: two maps read the same ones.
fn merge_additional(ours: &Value, theirs: &Value) -> Value {
    match (ours, theirs) {
        (Value::Bool(false), _) | (_, Value::Bool(false)) => false.into(),
        (Value::Bool(true), other) | (other, Value::Bool(true)) => other.clone(),
        (ours, theirs) if ours == theirs => ours.clone(),
        (ours, theirs) => json!({ "allOf": [ours, theirs] }),
    }
}

fn merge_patterns(ours: &Object, theirs: &Value) -> Result<Object, SchemaError> {
    let mut both = ours.clone();
    for (pattern, schema) in theirs.as_object().into_iter().flatten() {
        match both.get(pattern) {
            Some(known) if known != schema => return Err(contradiction_error("patternProperties")),
            _ => drop(both.insert(pattern.clone(), schema.clone())),
        }
    }
    Ok(both)
}

fn merge_texts(ours: &str, theirs: &Value) -> String {
    match theirs.as_str() {
        Some(theirs) if theirs != ours => format!("{ours}\n{theirs}"),
        _ => ours.to_owned(),
    }
}

#[cfg(test)]
mod tests;
