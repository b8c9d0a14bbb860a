//! OpenAI's responses: <https://platform.openai.com/docs/api-reference/responses>.

use serde_json::{Value, json};

use super::{Definition, arguments, object};
use crate::{
    ToolCall, ToolResult,
    dialect::{
        Bound, DialectError,
        assembler::{Slot, Slots},
        content::{Block, blocks, not_shown, signed},
        error::At,
    },
};

pub(super) fn definition(tool: Definition<'_>) -> Value {
    object([
        ("type", "function".into()),
        ("name", tool.name.into()),
        ("description", tool.description.into()),
        ("parameters", tool.parameters),
        // It is `true` where nothing is said.
        ("strict", tool.strict.into()),
    ])
}

pub(super) fn calls(bound: &Bound, response: &At<'_>) -> Result<Vec<ToolCall>, DialectError> {
    let items = response.field("output").items()?;
    items.iter().filter_map(|item| call(bound, item).transpose()).collect()
}

/// The call that an item is, if it is one that is left to us.
fn call(bound: &Bound, item: &At<'_>) -> Result<Option<ToolCall>, DialectError> {
    let arguments = match item.field("type").text()? {
        "function_call" => arguments(&item.field("arguments"))?,
        "custom_tool_call" => item.field("input").text()?.to_owned().into(),
        _ => return Ok(None),
    };
    let id = item.field("call_id").any_text()?;
    Ok(Some(bound.call(id, item.field("name").name()?, arguments)))
}

pub(super) fn push(event: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    match event.field("type").text()? {
        "response.output_item.added" => begin(event, slots)?,
        "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
            let delta = event.field("delta").text()?;
            slot(event, slots)?.text.push_str(delta);
        }
        "response.function_call_arguments.done" => whole(event, "arguments", slots)?,
        "response.custom_tool_call_input.done" => whole(event, "input", slots)?,
        "response.output_item.done" => {
            let item = event.field("item");
            if is_call(&item)? {
                let slot = slot(event, slots)?;
                slot.done = !item.field("status").is("incomplete");
                // Some servers send no deltas: the arguments are in the item alone.
                let written = item.field("arguments").as_text().or(item.field("input").as_text());
                if let Some(text) = written.filter(|text| !text.is_empty()) {
                    text.clone_into(&mut slot.text);
                }
            }
        }
        "response.completed" => slots.end(false),
        "response.incomplete" => slots.end(true),
        "response.failed" => return Err(event.field("response").field("error").failure()),
        "error" => return Err(event.failure()),
        _ => {}
    }
    Ok(())
}

fn is_call(item: &At<'_>) -> Result<bool, DialectError> {
    // Some servers send items that are `null`, which the provider's SDK passes over.
    if item.value().is_none() {
        return Ok(false);
    }
    Ok(matches!(item.field("type").text()?, "function_call" | "custom_tool_call"))
}

fn begin(event: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    let item = event.field("item");
    if is_call(&item)? {
        let id = item.field("call_id").any_text()?.map(str::to_owned);
        let name = item.field("name").name()?.to_owned();
        slots.begin(Slot { index: event.field("output_index").number()?, id, name, ..Slot::default() });
    }
    Ok(())
}

fn slot<'s>(event: &At<'_>, slots: &'s mut Slots) -> Result<&'s mut Slot, DialectError> {
    let index = event.field("output_index");
    slots.at(index.number()?).ok_or_else(|| index.error("the index of a call that has begun"))
}

/// What was sent in parts comes once more, as a whole.
fn whole(event: &At<'_>, field: &str, slots: &mut Slots) -> Result<(), DialectError> {
    let text = event.field(field).text()?;
    let slot = slot(event, slots)?;
    text.clone_into(&mut slot.text);
    slot.done = true;
    Ok(())
}

pub(super) fn results(bound: &Bound, results: &[ToolResult]) -> Value {
    let output = |it: &ToolResult| {
        let is_custom = bound.is_custom(&it.name);
        result(it, if is_custom { "custom_tool_call_output" } else { "function_call_output" })
    };
    results.iter().map(output).collect()
}

fn result(result: &ToolResult, kind: &str) -> Value {
    let blocks = blocks(result);
    let is_text = blocks.iter().all(|block| matches!(block, Block::Text(_)));
    let output = if is_text {
        let texts = blocks.into_iter().filter_map(|block| match block {
            Block::Text(text) => Some(text),
            Block::File { .. } => None,
        });
        signed(texts.collect(), result).into()
    } else {
        parts(blocks, result)
    };
    json!({ "type": kind, "call_id": result.id, "output": output })
}

fn parts(blocks: Vec<Block>, result: &ToolResult) -> Value {
    let mut is_first = true;
    let parts = blocks.into_iter().map(|block| match block {
        Block::Text(text) => {
            let text = if std::mem::take(&mut is_first) { signed(vec![text], result) } else { text };
            json!({ "type": "input_text", "text": text })
        }
        Block::File { mime_type, data, name } => file(&mime_type, &data, &name),
    });
    parts.collect()
}

fn file(mime_type: &str, data: &str, name: &str) -> Value {
    let url = format!("data:{mime_type};base64,{data}");
    match mime_type {
        "image/png" | "image/jpeg" | "image/webp" | "image/gif" => {
            json!({ "type": "input_image", "image_url": url })
        }
        "application/pdf" => {
            let name = if name.is_empty() { "document.pdf" } else { name };
            json!({ "type": "input_file", "filename": name, "file_data": url })
        }
        _ => json!({ "type": "input_text", "text": not_shown(mime_type, data) }),
    }
}
