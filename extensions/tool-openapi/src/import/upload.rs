//! Files in schemas of request bodies: base64, or references that the program resolves.

use std::{borrow::Cow, collections::HashSet};

use serde_json::{Map, Value, json};

use super::schema::Components;
use crate::request::FormField;

const PREFIX: &str = "#/$defs/";

/// The maximum number of references and branches between a body and the properties of its form.
const MAX_FORM_DEPTH: usize = 16;

/// The maximum number of components that are copied into one form.
const MAX_COPIES: usize = 200;

/// The schema of the content of a file.
pub(super) fn file_schema(old: &Value, is_reference: bool) -> Value {
    let what = match is_reference {
        true => "A reference to a file, such as its name; the program reads the file.",
        false => "The content of a file in base64.",
    };
    let description = match old.get("description").and_then(Value::as_str) {
        Some(text) => format!("{text} ({what})"),
        None => what.to_owned(),
    };
    let mut new = json!({ "type": "string", "description": description });
    if let (Value::Object(new), false) = (&mut new, is_reference) {
        new.insert("contentEncoding".to_owned(), Value::from("base64"));
    }
    new
}

/// Returns `true` for the schema of bytes, without references.
pub(super) fn is_binary_schema(schema: &Value) -> bool {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    let kind = schema.get("type");
    let may_be_text = match kind {
        None => true,
        Some(Value::Array(types)) => types.iter().any(|it| it == "string"),
        Some(one) => one == "string" || one == "file",
    };
    let of_media = text("contentMediaType").is_some_and(|it| !crate::media_type::is_text(it));
    may_be_text
        && (text("format") == Some("binary")
            || kind.is_some_and(|it| it == "file")
            || (of_media && text("contentEncoding").is_none_or(|it| it == "binary")))
}

/// Follows references of a translated schema.
pub(super) fn resolved_schema<'v>(schema: &'v Value, components: &'v Components<'_>) -> Cow<'v, Value> {
    let mut schema = Cow::Borrowed(schema);
    for _ in 0..MAX_FORM_DEPTH {
        let Some(name) = component_reference(&schema) else { break };
        let Some(found) = components.get(name) else { break };
        schema = found;
    }
    schema
}

fn component_reference(schema: &Value) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix(PREFIX)
}

/// Returns `true` for the schema of a file, also of one that may be `null`.
fn is_file_schema(schema: &Value, components: &Components<'_>) -> bool {
    is_file_schema_within(schema, components, &mut HashSet::new(), 0)
}

fn is_file_schema_within(
    schema: &Value,
    components: &Components<'_>,
    visited: &mut HashSet<String>,
    depth: usize,
) -> bool {
    if depth > MAX_FORM_DEPTH || !mark_component_visited(schema, visited) {
        return false;
    }
    let schema = resolved_schema(schema, components);
    let branches = ["anyOf", "oneOf", "allOf"].iter().filter_map(|key| schema.get(*key)?.as_array());
    is_binary_schema(&schema)
        || branches.flatten().any(|it| is_file_schema_within(it, components, visited, depth + 1))
}

/// Returns `false` for a component that was visited before: the branches of a schema may lead back to it, many times.
fn mark_component_visited(schema: &Value, visited: &mut HashSet<String>) -> bool {
    component_reference(schema).is_none_or(|name| visited.insert(name.to_owned()))
}

/// Replaces the schemas of files among the properties of a form, and marks them in `fields`.
pub(super) fn replace_file_schemas(
    schema: &mut Value,
    components: &Components<'_>,
    fields: &mut Vec<FormField>,
    is_reference: bool,
) {
    let mut replacer = FileSchemaReplacer { components, fields, is_reference, copies: 0 };
    replacer.replace_files_in_schema(schema, 0);
}

/// Adds the properties of a form that `fields` does not have, so that the members of no other property take their names.
pub(super) fn add_property_fields(schema: &Value, components: &Components<'_>, fields: &mut Vec<FormField>) {
    let mut visited = HashSet::new();
    let mut waiting = vec![(resolved_schema(schema, components), 0)];
    while let Some((schema, depth)) = waiting.pop() {
        for name in schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys) {
            if !fields.iter().any(|it| *it.name == **name) {
                fields.push(FormField { name: name.as_str().into(), ..FormField::default() });
            }
        }
        let branches = ["allOf", "anyOf", "oneOf"].iter().filter_map(|key| schema.get(*key)?.as_array());
        for branch in
            branches.flatten().filter(|it| depth < MAX_FORM_DEPTH && mark_component_visited(it, &mut visited))
        {
            waiting.push((Cow::Owned(resolved_schema(branch, components).into_owned()), depth + 1));
        }
    }
}

struct FileSchemaReplacer<'a, 'd> {
    components: &'a Components<'d>,
    fields: &'a mut Vec<FormField>,
    is_reference: bool,
    copies: usize,
}

impl FileSchemaReplacer<'_, '_> {
    /// Returns `true` if the schema has properties of files.
    fn replace_files_in_schema(&mut self, schema: &mut Value, depth: usize) -> bool {
        if depth > MAX_FORM_DEPTH || self.copies > MAX_COPIES {
            return false;
        }
        if let Some(component) = component_reference(schema).and_then(|name| self.components.get(name)) {
            // A copy, since a component may also be used by bodies that are not forms.
            self.copies += 1;
            let mut component = component.into_owned();
            let is_changed = self.replace_files_in_schema(&mut component, depth + 1);
            if is_changed && let (Value::Object(schema), Value::Object(component)) = (&mut *schema, component)
            {
                schema.shift_remove("$ref");
                for (key, value) in component {
                    schema.entry(key).or_insert(value);
                }
            }
            return is_changed;
        }
        let Value::Object(members) = schema else { return false };
        let mut is_changed = false;
        for key in ["allOf", "anyOf", "oneOf"] {
            let branches = members.get_mut(key).and_then(Value::as_array_mut);
            for branch in branches.into_iter().flatten() {
                is_changed |= self.replace_files_in_schema(branch, depth + 1);
            }
        }
        if let Some(Value::Object(properties)) = members.get_mut("properties") {
            is_changed |= self.replace_files_in_properties(properties);
        }
        is_changed
    }

    fn replace_files_in_properties(&mut self, properties: &mut Map<String, Value>) -> bool {
        let mut is_changed = false;
        for (name, property) in properties {
            let said = self.fields.iter().any(|it| *it.name == **name && it.is_file);
            let old = resolved_schema(property, self.components).into_owned();
            let list = old.get("items").cloned();
            let is_list = |items: &Value| said || is_file_schema(items, self.components);
            let new = match list.filter(is_list) {
                Some(items) => {
                    let items = file_schema(&resolved_schema(&items, self.components), self.is_reference);
                    json!({ "type": "array", "items": items })
                }
                None if said || is_file_schema(&old, self.components) => file_schema(&old, self.is_reference),
                None => continue,
            };
            *property = with_list_annotations(new, &old);
            is_changed = true;
            self.mark_field_as_file(name);
        }
        is_changed
    }

    fn mark_field_as_file(&mut self, name: &str) {
        match self.fields.iter_mut().find(|it| *it.name == *name) {
            Some(field) => field.is_file = true,
            None => self.fields.push(FormField { name: name.into(), is_file: true, ..FormField::default() }),
        }
    }
}

/// Keeps what the old schema of a list says about it.
fn with_list_annotations(mut new: Value, old: &Value) -> Value {
    if let (Value::Object(new), Value::Object(old)) = (&mut new, old)
        && new.contains_key("items")
    {
        for key in ["description", "minItems", "maxItems"] {
            if let Some(value) = old.get(key) {
                new.insert(key.to_owned(), value.clone());
            }
        }
    }
    new
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_of_bytes_has_their_format_or_their_media_type() {
        for (schema, is_binary) in [
            (json!({ "type": "string", "format": "binary" }), true),
            (json!({ "format": "binary" }), true),
            (json!({ "type": ["string", "null"], "format": "binary" }), true),
            (json!({ "type": "file" }), true),
            (json!({ "type": "file", "format": "byte" }), true),
            (json!({ "contentMediaType": "image/png" }), true),
            (json!({ "type": "string", "contentMediaType": "image/png" }), true),
            (json!({ "contentMediaType": "image/png", "contentEncoding": "binary" }), true),
            (json!({ "contentMediaType": "image/png", "contentEncoding": "base64" }), false),
            (json!({ "contentMediaType": "text/plain" }), false),
            (json!({ "contentMediaType": "application/json" }), false),
            (json!({ "type": "integer", "format": "binary" }), false),
            (json!({ "type": ["integer", "null"], "format": "binary" }), false),
            (json!({ "type": "integer", "contentMediaType": "image/png" }), false),
            (json!({ "type": "string" }), false),
            (json!({ "type": "string", "format": "byte" }), false),
            (json!({ "contentEncoding": "binary" }), false),
            (json!({}), false),
            (json!(true), false),
        ] {
            assert_eq!(is_binary_schema(&schema), is_binary, "{schema}");
        }
    }

    #[test]
    fn the_schema_of_a_file_says_how_a_model_gives_it() {
        let content = "The content of a file in base64.";
        let reference = "A reference to a file, such as its name; the program reads the file.";
        let old = json!({ "type": "string", "format": "binary", "description": "The photo." });
        for (old, is_reference, expected) in [
            (
                &json!({}),
                false,
                json!({ "type": "string", "description": content, "contentEncoding": "base64" }),
            ),
            (&json!({}), true, json!({ "type": "string", "description": reference })),
            (
                &old,
                false,
                json!({ "type": "string", "description": format!("The photo. ({content})"), "contentEncoding": "base64" }),
            ),
            (&old, true, json!({ "type": "string", "description": format!("The photo. ({reference})") })),
        ] {
            assert_eq!(file_schema(old, is_reference), expected, "{old}");
        }
    }

    #[test]
    fn only_a_list_of_files_keeps_what_its_schema_says() {
        let old = json!({ "description": "All.", "minItems": 1, "maxItems": 2, "uniqueItems": true });
        let new = with_list_annotations(json!({ "items": {} }), &old);
        assert_eq!(new, json!({ "items": {}, "description": "All.", "minItems": 1, "maxItems": 2 }));
        assert_eq!(with_list_annotations(json!({ "a": 1 }), &old), json!({ "a": 1 }));
        assert_eq!(with_list_annotations(json!({ "items": {} }), &json!({})), json!({ "items": {} }));
    }
}
