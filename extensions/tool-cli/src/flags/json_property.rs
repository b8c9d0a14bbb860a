//! The properties inside a value that is written as JSON, such as those of the items of a list.

use serde_json::Value;

use super::{
    schema::{
        MAX_FLAG_DEPTH, is_default_worth_showing, limit_texts, resolve_reference, schema_members, value_kind,
    },
    value_kind::value_text,
};

/// The limit of properties that are listed for one value.
const MAX_JSON_PROPERTIES: usize = 40;

/// A property inside a value that is written as JSON.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JsonProperty {
    /// The number of objects around it, from 0.
    pub(crate) depth: usize,
    pub(crate) name: String,
    /// Its type, default, and `required`.
    pub(crate) takes: String,
    /// The first line of its description, with its limits.
    pub(crate) about: String,
}

/// The properties of `schema`, or of its items, in their order and indented by depth; recursion ends at the first repetition.
pub(super) fn json_properties(root: &Value, schema: &Value) -> Vec<JsonProperty> {
    let mut found = Vec::new();
    add_json_properties(root, schema, 0, &mut Vec::new(), &mut found);
    found
}

fn add_json_properties<'s>(
    root: &'s Value,
    schema: &'s Value,
    depth: usize,
    seen: &mut Vec<&'s str>,
    found: &mut Vec<JsonProperty>,
) {
    let known = seen.len();
    let schema = resolve_reference(root, schema, seen);
    let (outer, new) = seen.split_at(known);
    let is_recursive = new.iter().any(|it| outer.contains(it));
    if depth < MAX_FLAG_DEPTH && !is_recursive {
        for (name, property, required) in schema_members(root, schema, 0) {
            if found.len() == MAX_JSON_PROPERTIES {
                break;
            }
            found.push(json_property(root, name, property, required, depth));
            add_json_properties(root, property, depth + 1, seen, found);
        }
        let below = ["items", "additionalProperties"].iter().filter_map(|keyword| schema.get(*keyword));
        for items in below.filter(|it| it.is_object()) {
            add_json_properties(root, items, depth, seen, found);
        }
    }
    seen.truncate(known);
}

fn json_property(root: &Value, name: &str, schema: &Value, required: bool, depth: usize) -> JsonProperty {
    let target = resolve_reference(root, schema, &mut Vec::new());
    let word = |keyword: &str| schema.get(keyword).or_else(|| target.get(keyword));
    let mut takes = value_kind(root, target, 0).description();
    match word("default").filter(|value| is_default_worth_showing(value)) {
        Some(default) => takes.push_str(&format!(" = {}", value_text(default))),
        None if required => takes.push_str(", required"),
        None => {}
    }
    let about = word("description").and_then(Value::as_str).unwrap_or_default().trim();
    let mut about = about.lines().next().unwrap_or_default().to_owned();
    let limits = limit_texts(target);
    if !limits.is_empty() {
        about = format!("{about} [{}]", limits.join("; ")).trim_start().to_owned();
    }
    JsonProperty { depth, name: name.to_owned(), takes, about }
}
