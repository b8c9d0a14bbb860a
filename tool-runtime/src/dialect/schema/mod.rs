//! An input schema as a provider takes it.
//!
//! What a provider does not take is said in words, in the description of the value it is about, and a
//! finding says so. Where words would not do, since the provider refuses the whole schema or takes
//! calls from the model that the tool needs, there is an [`Obstacle`], and the dialect does what it can.

mod drafts;
mod limits;
mod list;
mod object;
mod references;
mod rules;
mod types;
mod walk;
mod words;

use std::borrow::Cow;

use serde_json::{Map, Value, json};
use tool_core::__private::words::push_step;

use self::walk::Walk;
pub(super) use self::{
    references::move_references,
    rules::{ALL, ANTHROPIC, ANTHROPIC_STRICT, GEMINI, GEMINI_SCHEMA, OPENAI, OPENAI_STRICT, Rules},
};
use super::Severity;

/// A schema as it is sent.
#[derive(Debug)]
pub(super) struct Carried {
    pub(super) schema: Value,
    pub(super) remarks: Vec<Remark>,
    /// The one argument that holds all others, where the provider needs one.
    pub(super) within: Option<String>,
    /// Whether it takes less than the tool does.
    pub(super) narrowed: bool,
}

/// A [`Finding`](super::Finding) that does not know yet whose it is.
#[derive(Debug)]
pub(super) struct Remark {
    pub(super) pointer: String,
    pub(super) severity: Severity,
    pub(super) message: String,
    pub(super) remedy: &'static str,
}

/// Why a schema cannot be sent.
#[derive(Debug)]
pub(super) struct Obstacle {
    pub(super) pointer: String,
    pub(super) message: String,
}

/// Brings the schema of arguments into the form that `rules` ask for.
pub(super) fn carry(schema: &Value, rules: &Rules) -> Result<Carried, Obstacle> {
    // Whoever takes all of JSON Schema takes its earlier drafts.
    let schema = &if rules.root_choice { Cow::Borrowed(schema) } else { drafts::modern(schema) };
    let is_untyped = schema.is_object() && schema.get("type").is_none();
    let refers_to_root = is_untyped && references::references(schema).contains(&"#");
    let schema = &rooted(schema, rules);
    let within = holder(schema, rules);
    let mut walk = Walk::new(schema, rules, within.as_deref());
    let mut carried = walk.node(schema, "").unwrap_or_default();
    if let Some(name) = &within {
        carried = held(carried, name, rules);
        let message = format!("the arguments are sent as one object in `{name}`, and are taken out again");
        walk.remark(Severity::Note, "", message, "nothing has to be done, calls come back as they were");
    }
    if refers_to_root {
        let message = "`$ref` to \"#\" is sent as an object, since the arguments are one";
        walk.remark(Severity::Warning, "", message, "move what is referred to into `$defs`");
        walk.narrowed = true;
    }
    limits::check(&carried, rules, &mut walk);
    if !rules.recursion
        && let Some(reference) = references::circle(schema)
    {
        walk.stop(reference.trim_start_matches('#'), "it holds itself");
    }
    let narrowed = walk.narrowed;
    let (remarks, obstacle) = walk.end();
    match obstacle {
        Some(obstacle) => Err(obstacle),
        None => Ok(Carried { schema: carried, remarks, within, narrowed }),
    }
}

/// Arguments are an object: the root says so, also where it was left to be understood.
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

/// The name of the argument that has to hold all others, if one has to.
fn holder(schema: &Value, rules: &Rules) -> Option<String> {
    const CHOICES: [&str; 5] = ["oneOf", "anyOf", "allOf", "not", "enum"];
    let is_choice = || CHOICES.iter().chain(&["$ref"]).any(|key| schema.get(key).is_some());
    let odd_name = || properties(schema).any(|name| !is_plain(name));
    if !(!rules.root_choice && is_choice() || rules.plain_names && odd_name()) {
        return None;
    }
    // No property of any form of the arguments has it, so that one form is not taken for the other.
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

/// An object whose only property, `name`, is `schema`.
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

/// `pointer`, one step further.
pub(super) fn below(pointer: &str, step: &str) -> String {
    let mut pointer = pointer.to_owned();
    push_step(&mut pointer, step);
    pointer
}
