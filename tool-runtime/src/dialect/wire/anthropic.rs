//! Anthropic's messages: <https://docs.anthropic.com/en/api/messages>.

use serde_json::{Value, json};

use super::{Definition, arguments, object};
use crate::{
    ToolCall, ToolResult,
    dialect::{
        Bound, DialectError,
        assembler::{Slot, Slots},
        content::{Block, blocks, not_shown},
        error::At,
    },
};

pub(super) fn definition(tool: Definition<'_>) -> Value {
    let mut definition = object([
        ("name", tool.name.into()),
        ("description", tool.description.into()),
        ("input_schema", tool.parameters),
    ]);
    if tool.strict {
        definition["strict"] = true.into();
    }
    if !tool.examples.is_empty() {
        definition["input_examples"] = tool.examples.into();
    }
    definition
}

pub(super) fn calls(bound: &Bound, response: &At<'_>) -> Result<Vec<ToolCall>, DialectError> {
    let mut calls = Vec::new();
    for block in response.field("content").items()? {
        // What the provider runs by itself is `server_tool_use`, and is not ours.
        if block.field("type").text()? == "tool_use" {
            let arguments = arguments(&block.field("input"))?;
            calls.push(bound.call(block.field("id").any_text()?, block.field("name").name()?, arguments));
        }
    }
    Ok(calls)
}

pub(super) fn push(event: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    match event.field("type").text()? {
        "content_block_start" => {
            let block = event.field("content_block");
            if block.field("type").text()? == "tool_use" {
                slots.begin(Slot {
                    index: event.field("index").number()?,
                    id: block.field("id").any_text()?.map(str::to_owned),
                    name: block.field("name").name()?.to_owned(),
                    value: block.field("input").value().cloned(),
                    ..Slot::default()
                });
            }
        }
        "content_block_delta" => {
            let delta = event.field("delta");
            // Blocks of other kinds have deltas of other kinds; those of the provider's own tools have this one.
            if delta.field("type").is("input_json_delta") {
                let part = delta.field("partial_json").text()?;
                if let Some(slot) = slots.at(event.field("index").number()?) {
                    slot.text.push_str(part);
                }
            }
        }
        "content_block_stop" => {
            if let Some(slot) = slots.at(event.field("index").number()?) {
                slot.done = true;
            }
        }
        "message_delta" => {
            let reason = event.field("delta").field("stop_reason");
            slots.cut |= reason.is("max_tokens") || reason.is("model_context_window_exceeded");
        }
        "message_stop" => slots.end(false),
        _ => {}
    }
    Ok(())
}

/// One message with all results. What a failure may not hold comes after them.
pub(super) fn results(results: &[ToolResult]) -> Value {
    let mut after = Vec::new();
    let mut content: Vec<_> = results.iter().map(|it| result(it, &mut after)).collect();
    content.append(&mut after);
    json!({ "role": "user", "content": content })
}

fn result(result: &ToolResult, after: &mut Vec<Value>) -> Value {
    let mut content = Vec::new();
    for block in blocks(result) {
        match block {
            // An empty text is refused (<https://github.com/anthropics/claude-code/issues/23440>).
            Block::Text(text) if text.trim().is_empty() => {}
            Block::Text(text) => content.push(json!({ "type": "text", "text": text })),
            Block::File { mime_type, data, .. } => match file(&mime_type, &data) {
                // A failure holds nothing but text (<https://github.com/vellum-ai/vellum-assistant/pull/18387>).
                Some(file) if result.is_error() => {
                    content
                        .push(json!({ "type": "text", "text": format!("[{mime_type}: after the results]") }));
                    after.push(
                        json!({ "type": "text", "text": format!("From {} ({}):", result.name, result.id) }),
                    );
                    after.push(file);
                }
                Some(file) => content.push(file),
                None => content.push(json!({ "type": "text", "text": not_shown(&mime_type, &data) })),
            },
        }
    }
    let mut block = json!({ "type": "tool_result", "tool_use_id": result.id });
    if !content.is_empty() {
        block["content"] = content.into();
    }
    if result.is_error() {
        block["is_error"] = true.into();
    }
    block
}

fn file(mime_type: &str, data: &str) -> Option<Value> {
    let kind = match mime_type {
        "image/png" | "image/jpeg" | "image/webp" | "image/gif" => "image",
        "application/pdf" => "document",
        _ => return None,
    };
    Some(json!({
        "type": kind,
        "source": { "type": "base64", "media_type": mime_type, "data": data },
    }))
}
