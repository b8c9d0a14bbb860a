//! The conversion of an input schema to the keywords of a provider.
//!
//! A keyword that a provider does not support is moved into the description of the value that it constrains,
//! and is reported as a diagnostic. Where a description is not enough, because the provider rejects the whole
//! schema or the model could not make calls that the tool needs, the conversion returns an [`UnsupportedSchema`], and
//! the dialect falls back.

mod all_of;
mod drafts;
mod limits;
mod list;
mod object;
mod references;
mod rules;
mod sentences;
mod types;
mod walk;

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use tool_core::internals::messages::push_step;

use self::walk::SchemaWalk;
pub(super) use self::{
    references::move_references,
    rules::{Enums, Limits, Objects, References, Rules, UNRESTRICTED},
};
use crate::diagnostic::Severity;

/// A schema for the wire.
#[derive(Debug)]
pub(super) struct ConvertedSchema {
    pub(super) schema: Value,
    pub(super) notes: Vec<SchemaNote>,
    /// The single argument that wraps all others, where the provider needs one.
    pub(super) within: Option<String>,
    /// Set where the schema accepts fewer values than the tool does.
    pub(super) narrowed: bool,
}

/// A [`Diagnostic`](crate::diagnostic::Diagnostic) without its tool and dialect.
#[derive(Debug)]
pub(super) struct SchemaNote {
    pub(super) pointer: String,
    pub(super) severity: Severity,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) help: &'static str,
}

/// The reason why a schema cannot be sent.
#[derive(Debug)]
pub(super) struct UnsupportedSchema {
    pub(super) pointer: String,
    pub(super) message: String,
}

/// Converts the schema of arguments according to `rules`.
pub(super) fn convert_schema(schema: &Value, rules: &Rules) -> Result<ConvertedSchema, UnsupportedSchema> {
    // A provider that supports all of JSON Schema supports its earlier drafts as well.
    let schema = &if rules.root_choice { Cow::Borrowed(schema) } else { drafts::convert_draft(schema) };
    let schema =
        &if rules.root_choice { Cow::Borrowed(&**schema) } else { all_of::join_all_of(schema, rules) };
    let is_untyped = schema.is_object() && schema.get("type").is_none();
    let refers_to_root = is_untyped && references::references_within(schema).contains(&"#");
    let schema = &with_root_type(schema, rules);
    let within = wrapping_argument(schema, rules);
    let mut walk = SchemaWalk::new(schema, rules, within.as_deref());
    let mut converted = walk.convert_node(schema, "").unwrap_or_default();
    if let Some(name) = &within {
        converted = wrapped_schema(converted, name, rules);
        let message = format!("the arguments are wrapped in one property, `{name}`, and unwrapped again");
        walk.add_note(
            Severity::Note,
            "wrapped_arguments",
            "",
            message,
            "no action needed: calls are unwrapped",
        );
    }
    if refers_to_root {
        let message = "`$ref` to \"#\" is sent as an object, the type of all arguments";
        walk.add_note(Severity::Warning, "root_reference", "", message, "move its target into `$defs`");
        walk.narrowed = true;
    }
    limits::check_limits(&converted, rules, &mut walk);
    if !rules.recursion
        && let Some(reference) = references::circular_reference(schema)
    {
        walk.mark_unsupported(reference.trim_start_matches('#'), "it is recursive");
    }
    let narrowed = walk.narrowed;
    let (notes, unsupported) = walk.into_findings();
    match unsupported {
        Some(unsupported) => Err(unsupported),
        None => Ok(ConvertedSchema { schema: converted, notes, within, narrowed }),
    }
}

/// Adds `type: object` to a root that omits it: arguments are always an object.
fn with_root_type<'s>(schema: &'s Value, rules: &Rules) -> Cow<'s, Value> {
    let mut schema = Cow::Borrowed(schema);
    if schema.is_object() && schema.get("type").is_none() {
        schema.to_mut()["type"] = "object".into();
    }
    let parts = ["properties", "oneOf", "anyOf", "allOf", "$ref"];
    if rules.items && schema.is_object() && !parts.iter().any(|key| schema.get(key).is_some()) {
        schema.to_mut()["properties"] = json!({});
    }
    schema
}

/// Returns the name of the argument that has to wrap all others, if one is needed.
fn wrapping_argument(schema: &Value, rules: &Rules) -> Option<String> {
    const CHOICES: [&str; 5] = ["oneOf", "anyOf", "allOf", "not", "enum"];
    let is_choice = || CHOICES.iter().chain(&["$ref"]).any(|key| schema.get(key).is_some());
    let odd_name = || property_names(schema).any(|name| !is_valid_argument_name(name));
    if !(!rules.root_choice && is_choice() || rules.plain_names && odd_name()) {
        return None;
    }
    // No property of any alternative has this name, so that wrapped and unwrapped arguments are
    // distinguishable.
    let text = schema.to_string();
    let mut name = "arguments".to_owned();
    while text.contains(&format!("\"{name}\"")) {
        name.push('_');
    }
    Some(name)
}

fn property_names(schema: &Value) -> impl Iterator<Item = &String> {
    schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys)
}

fn is_valid_argument_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(|it| it.is_ascii_alphanumeric() || "_.-".contains(it))
}

/// Returns an object schema with the single property `name`.
fn wrapped_schema(mut schema: Value, name: &str, rules: &Rules) -> Value {
    let definitions = schema.as_object_mut().and_then(|schema| schema.shift_remove("$defs"));
    let object = if rules.open_api { "OBJECT" } else { "object" };
    let mut outer = json!({ "type": object, "properties": { name: schema }, "required": [name] });
    if !rules.open_api {
        outer["additionalProperties"] = false.into();
    }
    if let Some(definitions) = definitions {
        outer["$defs"] = definitions;
    }
    outer
}

/// Appends a step to `pointer`.
pub(super) fn pointer_below(pointer: &str, step: &str) -> String {
    let mut pointer = pointer.to_owned();
    push_step(&mut pointer, step);
    pointer
}

#[cfg(test)]
mod tests;
