//! Anthropic's messages: <https://docs.anthropic.com/en/api/messages>.

use serde_json::{Value, json};

use super::{Definition, object};
use crate::{
    ToolResult,
    dialect::{
        DialectError,
        content::{Block, blocks, not_shown},
        error::At,
        slots::{Key, Slot, Slots},
        stop::Stop,
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

/// The [stop reasons](https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons) after which every call
/// is whole. `pause_turn` is one: the provider's own tools paused the turn, between two blocks. `stop_sequence` is none:
/// after a whole call the reason is `tool_use`, so that the sequence was met inside the last one.
const FINISHED: &[&str] = &["tool_use", "end_turn", "pause_turn"];

pub(super) fn read(response: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    for block in response.field("content").items()? {
        // What the provider runs by itself is `server_tool_use`, and is not ours.
        if block.field("type").text()? == "tool_use" {
            let mut slot = begun(&block, slots.next_number())?;
            slot.give(&block.field("input"))?;
            slots.begin(slot);
        }
    }
    slots.stop(Stop::of(response.field("stop_reason").any_text()?, FINISHED));
    Ok(())
}

/// The call that a block is, without its arguments.
fn begun(block: &At<'_>, number: u64) -> Result<Slot, DialectError> {
    let id = block.field("id").any_text()?.map(str::to_owned);
    Ok(Slot { number, id, name: block.field("name").name()?.to_owned(), ..Slot::default() })
}

pub(super) fn push(event: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    match event.field("type").text()? {
        "content_block_start" => {
            let block = event.field("content_block");
            if block.field("type").text()? == "tool_use" {
                let mut slot = begun(&block, event.field("index").number()?)?;
                slot.give(&block.field("input"))?;
                slot.open = true;
                slots.begin(slot);
            } else if let Some(number) = event.field("index").value().and_then(Value::as_u64) {
                slots.pass_over(number);
            }
        }
        "content_block_delta" => {
            let delta = event.field("delta");
            // Blocks of other kinds have deltas of other kinds; those of the provider's own tools have this one.
            if delta.field("type").is("input_json_delta") {
                let part = delta.field("partial_json").text()?;
                let index = event.field("index");
                let number = index.number()?;
                let at = slots.find(&Key::Number(number));
                if at.is_none() && !slots.is_passed_over(number) {
                    return Err(index.error("the index of a block that has begun"));
                }
                if let Some(slot) = at.and_then(|at| slots.get_mut(at)) {
                    slot.push_text(part);
                }
            }
        }
        "content_block_stop" => {
            let number = event.field("index").number()?;
            if let Some(slot) = slots.find(&Key::Number(number)).and_then(|at| slots.get_mut(at)) {
                slot.open = false;
            }
        }
        "message_delta" => {
            slots.stop(Stop::of(event.field("delta").field("stop_reason").any_text()?, FINISHED));
        }
        "message_stop" => slots.end(),
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
