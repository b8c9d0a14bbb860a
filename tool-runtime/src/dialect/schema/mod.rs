//! The conversion of an input schema to the keywords of a provider.
//!
//! A keyword that a provider does not support is moved into the description of the value that it constrains,
//! and is reported as a diagnostic. Where a description is not enough, because the provider rejects the whole
//! schema or the model could not make calls that the tool needs, the conversion returns an [`Obstacle`], and
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
use tool_core::__private::words::push_step;

use self::walk::Walk;
pub(super) use self::{
    references::move_references,
    rules::{ALL, Enums, Limits, Objects, References, Rules},
};
use crate::diagnostic::Severity;

/// A schema for the wire.
#[derive(Debug)]
pub(super) struct Carried {
    pub(super) schema: Value,
    pub(super) remarks: Vec<Remark>,
    /// The single argument that wraps all others, where the provider needs one.
    pub(super) within: Option<String>,
    /// Set where the schema accepts fewer values than the tool does.
    pub(super) narrowed: bool,
}

/// A [`Diagnostic`](crate::diagnostic::Diagnostic) without its tool and dialect.
#[derive(Debug)]
pub(super) struct Remark {
    pub(super) pointer: String,
    pub(super) severity: Severity,
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) help: &'static str,
}

/// The reason why a schema cannot be sent.
#[derive(Debug)]
pub(super) struct Obstacle {
    pub(super) pointer: String,
    pub(super) message: String,
}

/// Converts the schema of arguments according to `rules`.
pub(super) fn carry(schema: &Value, rules: &Rules) -> Result<Carried, Obstacle> {
    // A provider that supports all of JSON Schema supports its earlier drafts as well.
    let schema = &if rules.root_choice { Cow::Borrowed(schema) } else { drafts::modern(schema) };
    let schema = &if rules.root_choice { Cow::Borrowed(&**schema) } else { all_of::joined(schema, rules) };
    let is_untyped = schema.is_object() && schema.get("type").is_none();
    let refers_to_root = is_untyped && references::references(schema).contains(&"#");
    let schema = &rooted(schema, rules);
    let within = holder(schema, rules);
    let mut walk = Walk::new(schema, rules, within.as_deref());
    let mut carried = walk.node(schema, "").unwrap_or_default();
    if let Some(name) = &within {
        carried = held(carried, name, rules);
        let message = format!("the arguments are wrapped in one property, `{name}`, and unwrapped again");
        walk.remark(
            Severity::Note,
            "wrapped_arguments",
            "",
            message,
            "no action needed: calls are unwrapped",
        );
    }
    if refers_to_root {
        let message = "`$ref` to \"#\" is sent as an object, the type of all arguments";
        walk.remark(Severity::Warning, "root_reference", "", message, "move its target into `$defs`");
        walk.narrowed = true;
    }
    limits::check(&carried, rules, &mut walk);
    if !rules.recursion
        && let Some(reference) = references::circle(schema)
    {
        walk.stop(reference.trim_start_matches('#'), "it is recursive");
    }
    let narrowed = walk.narrowed;
    let (remarks, obstacle) = walk.end();
    match obstacle {
        Some(obstacle) => Err(obstacle),
        None => Ok(Carried { schema: carried, remarks, within, narrowed }),
    }
}

/// Adds `type: object` to a root that omits it: arguments are always an object.
fn rooted<'s>(schema: &'s Value, rules: &Rules) -> Cow<'s, Value> {
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
fn holder(schema: &Value, rules: &Rules) -> Option<String> {
    const CHOICES: [&str; 5] = ["oneOf", "anyOf", "allOf", "not", "enum"];
    let is_choice = || CHOICES.iter().chain(&["$ref"]).any(|key| schema.get(key).is_some());
    let odd_name = || properties(schema).any(|name| !is_plain(name));
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

fn properties(schema: &Value) -> impl Iterator<Item = &String> {
    schema.get("properties").and_then(Value::as_object).into_iter().flat_map(Map::keys)
}

fn is_plain(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.chars().all(|it| it.is_ascii_alphanumeric() || "_.-".contains(it))
}

/// Returns an object schema with the single property `name`.
fn held(mut schema: Value, name: &str, rules: &Rules) -> Value {
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
pub(super) fn below(pointer: &str, step: &str) -> String {
    let mut pointer = pointer.to_owned();
    push_step(&mut pointer, step);
    pointer
}
