//! A request with tools: their declarations, and what else they add.

use serde_json::{Value, json};
use tool_core::ModelRequest;

use super::{Bound, DialectError, error::At};
use crate::{Registry, shield::caught};

/// Puts `bound` into a request, and what its tools add.
pub(super) fn pack(bound: &Bound, registry: &Registry, request: &mut Value) -> Result<(), DialectError> {
    let at = At::root(request);
    let tools = at.object()?.field("tools");
    if tools.value().is_some() {
        tools.items()?;
    }
    if let Value::Array(own) = bound.definitions() {
        add_tools(request, own.iter().cloned());
    }
    let mut asked = ModelRequest::new(bound.wire().name(), request);
    for tool in registry.tools() {
        let name = tool.definition().name();
        asked.ask_as(bound.wire_name(name));
        caught(|| tool.on_request(&mut asked)).map_err(|message| DialectError {
            pointer: "/tools".to_owned(),
            expected: format!("what `{name}` adds to a request"),
            got: format!("a panic: {message}"),
        })?;
    }
    let (instructions, native) = asked.take_added();
    At::root(request).object()?;
    let known = |tool: &Value, request: &Value| {
        request.get("tools").and_then(Value::as_array).is_some_and(|tools| tools.contains(tool))
    };
    for tool in native {
        if !known(&tool, request) {
            add_tools(request, [tool]);
        }
    }
    instructions.iter().try_for_each(|text| bound.wire().instruct(request, text))
}

fn add_tools(request: &mut Value, tools: impl IntoIterator<Item = Value>) {
    let mut tools = tools.into_iter().peekable();
    let Value::Object(fields) = request else { return };
    if tools.peek().is_none() {
        return;
    }
    match fields.get_mut("tools") {
        Some(Value::Array(before)) => before.extend(tools),
        // A field that is `null` is one that is not there.
        _ => drop(fields.insert("tools".to_owned(), tools.collect())),
    }
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
        At::root(body).field(field).error(expected)
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
    } else if !before.contains(text) {
        before.push_str("\n\n");
        before.push_str(text);
    }
}

/// Adds a block to others, unless one of them has its text.
pub(super) fn add_block(blocks: &mut Vec<Value>, block: Value) {
    if !blocks.iter().any(|before| before.get("text") == block.get("text")) {
        blocks.push(block);
    }
}
