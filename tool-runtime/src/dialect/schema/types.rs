//! Types: by name, inferred from values, in capitals, and nullable.

use serde_json::{Map, Value, json};

use super::{
    rules::Objects,
    sentences,
    walk::{NodeDraft, SchemaWalk},
};
use crate::diagnostic::Severity;

/// Returns `true` if `schema` declares this type, alone or among others.
pub(super) fn has_type(schema: &Map<String, Value>, name: &str) -> bool {
    match schema.get("type") {
        Some(Value::String(only)) => only.eq_ignore_ascii_case(name),
        Some(Value::Array(names)) => names.iter().any(|it| it == name),
        _ => false,
    }
}

/// Adds the type where the provider requires it.
pub(super) fn finish_type(
    walk: &mut SchemaWalk<'_>,
    schema: &Map<String, Value>,
    draft: &mut NodeDraft,
    at: &str,
) {
    if walk.rules.objects == Objects::Any {
        return;
    }
    let is_choice = ["anyOf", "$ref"].iter().any(|key| draft.out.contains_key(*key));
    if !is_choice && !draft.out.contains_key("type") {
        match inferred_type(schema).as_slice() {
            [] => {
                walk.mark_unsupported(at, "a value of any type is allowed, but the provider requires a type")
            }
            [only] if keywords_accept_any_type(schema) => {
                let message = format!("no type is declared; it is sent as `{only}`");
                walk.add_note(Severity::Note, "assumed_type", at, message, "declare its type");
                draft.out.insert("type".to_owned(), (*only).into());
            }
            [only] => drop(draft.out.insert("type".to_owned(), (*only).into())),
            several => drop(draft.out.insert("type".to_owned(), json!(several))),
        }
    }
    if walk.rules.open_api {
        capitalize_type(walk, draft, at);
    }
}

/// Returns `true` if a schema accepts values of any type, including `null`: its keywords constrain only some of
/// them.
pub(super) fn accepts_any_type(schema: &Value) -> bool {
    schema.as_object().is_some_and(keywords_accept_any_type)
}

fn keywords_accept_any_type(schema: &Map<String, Value>) -> bool {
    let restricting_keywords = ["type", "enum", "const", "anyOf", "oneOf", "allOf", "not", "if", "$ref"];
    !restricting_keywords.iter().any(|key| schema.contains_key(*key))
}

/// Returns the types of the values of an enum, or those that other keywords imply.
fn inferred_type(schema: &Map<String, Value>) -> Vec<&'static str> {
    let values = match (schema.get("enum"), schema.get("const")) {
        (Some(Value::Array(values)), _) => values.as_slice(),
        (_, Some(only)) => std::slice::from_ref(only),
        _ => &[],
    };
    let mut names = Vec::new();
    for value in values {
        let name = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            // The type alone does not describe the contents of such a value.
            Value::Array(_) | Value::Object(_) => return Vec::new(),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    match names.as_slice() {
        [] if schema.contains_key("properties") => vec!["object"],
        [] if schema.contains_key("items") || schema.contains_key("prefixItems") => vec!["array"],
        _ => names,
    }
}

/// Writes types as OpenAPI does, in capitals.
fn capitalize_type(walk: &mut SchemaWalk<'_>, draft: &mut NodeDraft, at: &str) {
    let names: Vec<String> = match draft.out.get("type") {
        Some(Value::String(name)) => vec![name.clone()],
        Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => return,
    };
    let (null, mut names): (Vec<_>, Vec<_>) =
        names.into_iter().map(|it| it.to_uppercase()).partition(|it| it == "NULL");
    if names.is_empty() {
        names.push("NULL".to_owned());
    } else if !null.is_empty() {
        draft.out.insert("nullable".to_owned(), true.into());
    }
    if let [only] = names.as_slice() {
        draft.out.insert("type".to_owned(), only.as_str().into());
        return;
    }
    draft.out.shift_remove("type");
    if draft.out.contains_key("anyOf") || names.iter().any(|name| name == "ARRAY" || name == "OBJECT") {
        walk.mark_unsupported(at, "a value of several types has other keywords, too");
    }
    let branches: Vec<_> = names.iter().map(|name| json!({ "type": name })).collect();
    draft.out.insert("anyOf".to_owned(), branches.into());
}

/// Moves the keywords beside `anyOf` into its branches, since the provider accepts none beside it
/// ([refusal](https://github.com/langchain-ai/langchain-google/issues/1216)).
pub(super) fn move_keywords_into_branches(schema: &mut Map<String, Value>) {
    let Some(Value::Array(mut branches)) = schema.shift_remove("anyOf") else { return };
    let description = schema.get("description").and_then(Value::as_str).map(str::to_owned);
    if schema.shift_remove("nullable").is_some() {
        branches.push(json!({ "type": "NULL" }));
    }
    for branch in branches.iter_mut().filter_map(Value::as_object_mut) {
        let own = branch.shift_remove("description");
        if let Some(description) = &description {
            branch.insert("description".to_owned(), description.as_str().into());
        }
        let own = own.as_ref().and_then(Value::as_str).map(str::to_owned);
        // Beside its own title, a branch has the one of the choice in its description.
        let title = schema.get("title").filter(|title| branch.get("title").is_some_and(|own| own != *title));
        let title = title.and_then(Value::as_str).map(str::to_owned);
        sentences::append_sentences(branch, &own.into_iter().chain(title).collect::<Vec<_>>());
        for (key, value) in schema.iter().filter(|(key, _)| *key != "description" && *key != "type") {
            branch.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    schema.clear();
    schema.insert("anyOf".to_owned(), branches.into());
}

/// Makes `schema` nullable; returns `true` if it was already.
pub(super) fn make_nullable(schema: &mut Value) -> bool {
    let Some(map) = schema.as_object_mut() else { return false };
    if admits_null(map) {
        return true;
    }
    if let Some(Value::Array(branches)) = map.get_mut("anyOf") {
        branches.push(json!({ "type": "null" }));
        return false;
    }
    if let Some(reference) = map.shift_remove("$ref") {
        map.insert("anyOf".to_owned(), json!([{ "$ref": reference }, { "type": "null" }]));
        return false;
    }
    match map.get_mut("type") {
        Some(Value::Array(names)) => names.push("null".into()),
        Some(name) => *name = json!([name.take(), "null"]),
        None => {}
    }
    if let Some(only) = map.shift_remove("const") {
        map.insert("enum".to_owned(), json!([only]));
    }
    if let Some(Value::Array(values)) = map.get_mut("enum") {
        values.push(Value::Null);
    }
    false
}

fn admits_null(schema: &Map<String, Value>) -> bool {
    if let Some(Value::Array(branches)) = schema.get("anyOf") {
        return branches.iter().filter_map(Value::as_object).any(admits_null);
    }
    has_type(schema, "null")
}
