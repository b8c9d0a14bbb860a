//! The conversion of schemas of earlier drafts to 2020-12, the draft that providers support.

use std::borrow::Cow;

use serde_json::{Map, Value};

/// Converts `schema` to 2020-12 if its `$schema` names an earlier draft. Definitions are always moved to
/// `$defs`, where providers look for them.
pub(super) fn convert_draft(schema: &Value) -> Cow<'_, Value> {
    let Value::Object(root) = schema else { return Cow::Borrowed(schema) };
    let draft = SchemaVersion::of(root);
    let moves = root.contains_key("definitions") && !root.contains_key("$defs");
    if draft == SchemaVersion::Now && !moves {
        return Cow::Borrowed(schema);
    }
    let mut schema = schema.clone();
    rewrite_schema(&mut schema, draft, moves);
    if let Value::Object(root) = &mut schema {
        if draft != SchemaVersion::Now {
            root.shift_remove("$schema");
        }
        if moves {
            rename_keyword(root, "definitions", "$defs");
        }
    }
    Cow::Owned(schema)
}

/// The drafts, as far as they differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SchemaVersion {
    Four,
    SixOrSeven,
    Nine,
    Now,
}

impl SchemaVersion {
    fn of(root: &Map<String, Value>) -> Self {
        let uri = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
        let drafts = [
            ("draft-04", Self::Four),
            ("draft-06", Self::SixOrSeven),
            ("draft-07", Self::SixOrSeven),
            ("2019-09", Self::Nine),
        ];
        drafts.iter().find(|(name, _)| uri.contains(name)).map_or(Self::Now, |(_, draft)| *draft)
    }
}

fn rewrite_schema(schema: &mut Value, draft: SchemaVersion, moves: bool) {
    let Value::Object(schema) = schema else { return };
    if draft <= SchemaVersion::SixOrSeven && schema.contains_key("$ref") {
        // Beside a reference, all keywords but annotations are ignored.
        schema.retain(|key, _| {
            ["$ref", "title", "description", "default", "$defs", "definitions"].contains(&key.as_str())
        });
    }
    if let Some(Value::String(reference)) = schema.get_mut("$ref")
        && moves
        && let Some(name) = reference.strip_prefix("#/definitions/")
    {
        *reference = format!("#/$defs/{name}");
    }
    if draft < SchemaVersion::Now {
        convert_tuple(schema);
    }
    if draft <= SchemaVersion::SixOrSeven {
        split_dependencies(schema);
    }
    if draft == SchemaVersion::Four {
        schema.shift_remove("id");
        convert_bound(schema, "minimum", "exclusiveMinimum");
        convert_bound(schema, "maximum", "exclusiveMaximum");
    }
    for (key, value) in schema {
        match (key.as_str(), value) {
            (
                "properties" | "patternProperties" | "definitions" | "$defs" | "dependentSchemas",
                Value::Object(all),
            ) => {
                all.values_mut().for_each(|schema| rewrite_schema(schema, draft, moves));
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(all)) => {
                all.iter_mut().for_each(|schema| rewrite_schema(schema, draft, moves));
            }
            (
                "items"
                | "additionalProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames",
                schema,
            ) => rewrite_schema(schema, draft, moves),
            _ => {}
        }
    }
}

/// Converts tuples: a list of `items`, with `additionalItems` for the rest.
fn convert_tuple(schema: &mut Map<String, Value>) {
    let rest = schema.shift_remove("additionalItems");
    if schema.get("items").is_some_and(Value::is_array) {
        rename_keyword(schema, "items", "prefixItems");
        if let Some(rest) = rest {
            schema.insert("items".to_owned(), rest);
        }
    }
}

/// Splits `dependencies` into `dependentRequired` and `dependentSchemas`.
fn split_dependencies(schema: &mut Map<String, Value>) {
    let Some(Value::Object(all)) = schema.shift_remove("dependencies") else { return };
    let (required, schemas): (Map<_, _>, Map<_, _>) =
        all.into_iter().partition(|(_, value)| value.is_array());
    for (name, all) in [("dependentRequired", required), ("dependentSchemas", schemas)] {
        if !all.is_empty() {
            schema.insert(name.to_owned(), Value::Object(all));
        }
    }
}

/// Converts the boolean form of `exclusiveMinimum` and `exclusiveMaximum`.
fn convert_bound(schema: &mut Map<String, Value>, inclusive: &str, exclusive: &str) {
    let Some(Value::Bool(is_exclusive)) = schema.get(exclusive).cloned() else { return };
    schema.shift_remove(exclusive);
    if is_exclusive {
        rename_keyword(schema, inclusive, exclusive);
    }
}

/// Renames a keyword; the order of keys is kept.
fn rename_keyword(schema: &mut Map<String, Value>, from: &str, to: &str) {
    let renamed = std::mem::take(schema).into_iter();
    *schema = renamed.map(|(key, value)| (if key == from { to.to_owned() } else { key }, value)).collect();
}
