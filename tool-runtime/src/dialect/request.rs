//! A request with tools: their declarations, and what else they add.

use std::collections::HashSet;

use serde_json::{Value, json};
use tool_core::ModelRequest;

use super::{Bound, DialectError};
use crate::{Registry, shield::caught};

/// Puts `bound` into a request, and what its tools add.
pub(super) fn pack(bound: &Bound, registry: &Registry, request: &mut Value) -> Result<(), DialectError> {
    if let Value::Array(own) = bound.definitions() {
        add_tools(request, own)?;
    }
    let mut asked = ModelRequest::new(bound.wire().name(), request);
    for entry in registry.entries() {
        let name = entry.definition().name();
        asked.ask_as(bound.wire_name(name));
        caught(|| entry.tool().on_request(&mut asked)).map_err(|message| DialectError {
            pointer: "/tools".to_owned(),
            expected: format!("what `{name}` adds to a request"),
            got: format!("a panic: {message}"),
        })?;
    }
    let (instructions, native) = asked.take_added();
    add_tools(request, &native)?;
    // Anthropic refuses an empty text (<https://github.com/anthropics/claude-code/issues/23440>).
    let mut instructions = instructions.iter().filter(|text| !text.trim().is_empty());
    instructions.try_for_each(|text| bound.wire().instruct(request, text))
}

/// Adds tools to those of a request, each once; declarations to the list of them, where there is one.
fn add_tools(request: &mut Value, tools: &[Value]) -> Result<(), DialectError> {
    let wrong = match request.get("tools") {
        _ if !request.is_object() => Some(("", "an object")),
        Some(tools) if !tools.is_null() && !tools.is_array() => Some(("/tools", "a list")),
        _ => None,
    };
    if let Some((pointer, expected)) = wrong {
        return Err(DialectError::of_body(request, pointer, expected));
    }
    let Value::Object(fields) = request else { return Ok(()) };
    if tools.is_empty() {
        return Ok(());
    }
    let before = fields.entry("tools").or_insert(Value::Null);
    if before.is_null() {
        *before = Value::Array(Vec::new());
    }
    let Value::Array(before) = before else { return Ok(()) };
    let mut others = Vec::new();
    for tool in tools {
        let list = declarations(tool).zip(before.iter_mut().find_map(declarations_mut));
        match list {
            Some((new, list)) => add_new(list, new),
            None => others.push(tool),
        }
    }
    add_new(before, others);
    Ok(())
}

/// What Gemini calls the list of all functions, in either case.
const DECLARATIONS: [&str; 2] = ["functionDeclarations", "function_declarations"];

fn declarations(tool: &Value) -> Option<&Vec<Value>> {
    DECLARATIONS.iter().find_map(|key| tool.get(key)?.as_array())
}

fn declarations_mut(tool: &mut Value) -> Option<&mut Vec<Value>> {
    let key = DECLARATIONS.iter().find(|key| tool.get(key).is_some_and(Value::is_array))?;
    tool.get_mut(key)?.as_array_mut()
}

/// Adds those that are not there.
fn add_new<'v>(list: &mut Vec<Value>, new: impl IntoIterator<Item = &'v Value>) {
    let mut known: HashSet<_> = list.iter().map(Value::to_string).collect();
    list.extend(new.into_iter().filter(|it| known.insert(it.to_string())).cloned());
}

/// Adds `text` to the text in `field`, which may be absent, or a list of blocks where the provider takes one.
pub(super) fn instruct_in(
    body: &mut Value,
    field: &str,
    text: &str,
    takes_blocks: bool,
) -> Result<(), DialectError> {
    let wrong = |body: &Value| {
        let expected = if takes_blocks { "a text or a list of blocks" } else { "a text" };
        DialectError::of_body(body, &format!("/{field}"), expected)
    };
    match body.as_object_mut().map(|fields| fields.entry(field).or_insert(Value::Null)) {
        Some(place @ Value::Null) => *place = text.into(),
        Some(Value::String(before)) => add_text(before, text),
        Some(Value::Array(blocks)) if takes_blocks => {
            add_block(blocks, json!({ "type": "text", "text": text }))
        }
        _ => return Err(wrong(body)),
    }
    Ok(())
}

/// Adds a text below another, unless it is there already.
fn add_text(before: &mut String, text: &str) {
    if before.is_empty() {
        text.clone_into(before);
    } else if !has_paragraph(before, text) {
        before.push_str("\n\n");
        before.push_str(text);
    }
}

/// Whether `text` stands in `before` for itself, and not as a part of what says something else.
fn has_paragraph(before: &str, text: &str) -> bool {
    before.match_indices(text).any(|(at, _)| {
        let (above, below) = (&before[..at], &before[at + text.len()..]);
        (above.is_empty() || above.ends_with("\n\n")) && (below.is_empty() || below.starts_with("\n\n"))
    })
}

/// Adds a block to others, unless one of them has its text.
pub(super) fn add_block(blocks: &mut Vec<Value>, block: Value) {
    if !blocks.iter().any(|before| before.get("text") == block.get("text")) {
        blocks.push(block);
    }
}
