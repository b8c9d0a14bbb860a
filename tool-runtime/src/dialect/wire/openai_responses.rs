//! OpenAI's responses: <https://platform.openai.com/docs/api-reference/responses>.

mod items;

use serde_json::{Value, json};
use tool_core::__private::ExactValue;

pub(super) use self::items::complete;
use super::{Definition, object};
use crate::{
    ToolResult,
    dialect::{
        BoundTools, DialectError, Usage,
        content::{Block, blocks, not_shown, signed},
        error::At,
        history::{ArgumentsForm, CallMembers},
        reading::Reading,
        slots::{Key, Slot, Slots},
        usage::counted,
    },
};

pub(super) fn definition(tool: Definition<'_>) -> Value {
    object([
        ("type", "function".into()),
        ("name", tool.name.into()),
        ("description", tool.description.into()),
        ("parameters", tool.parameters),
        // The default is `true`.
        ("strict", tool.strict.into()),
    ])
}

/// The status after which all calls are complete.
const FINISHED: &[&str] = &["completed"];

pub(super) fn read(response: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    reading.identify(&response.field("id"), &response.field("model"));
    for item in response.field("output").items()? {
        let mut call = None;
        if is_call(&item)? {
            let at = begin(&item, reading.slots.next_number(), &mut reading.slots)?;
            complete_call(&item, at, &mut reading.slots)?;
            call = Some(at);
        }
        items::read(&item, call, reading);
    }
    reading.count(&response.field("usage"));
    let status = response.field("status").any_text()?;
    stop(response, status, reading)
}

/// Records the end of a response by its
/// [status](https://platform.openai.com/docs/api-reference/responses/object#responses/object-status).
fn stop(response: &At<'_>, status: Option<&str>, reading: &mut Reading) -> Result<(), DialectError> {
    if status == Some("incomplete") {
        let reason = response.field("incomplete_details").field("reason").any_text()?;
        reading.stop(reason.filter(|it| !it.is_empty()).or(status), &[]);
    } else {
        reading.stop(status, FINISHED);
    }
    Ok(())
}

pub(super) fn push(event: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    reading.identify(&event.field("response").field("id"), &event.field("response").field("model"));
    let slots = &mut reading.slots;
    match event.field("type").text()? {
        "response.output_item.added" => {
            let item = event.field("item");
            let mut call = None;
            if is_call(&item)? {
                let at = match begun(event, slots)? {
                    Some(at) => at,
                    None => {
                        let at = begin(&item, number(event, slots)?, slots)?;
                        slots.get_mut(at).into_iter().for_each(|slot| slot.open = true);
                        at
                    }
                };
                call = Some(at);
            }
            items::begin(event, call, reading);
        }
        "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
            let delta = event.field("delta").text()?;
            slot(event, slots)?.push_text(delta);
        }
        "response.function_call_arguments.done" => whole(event, "arguments", slots)?,
        "response.custom_tool_call_input.done" => whole(event, "input", slots)?,
        "response.output_item.done" => {
            let item = event.field("item");
            let mut call = None;
            if is_call(&item)? {
                // Some servers send no event for an item before it is done.
                let number = number(event, slots)?;
                let at = match known(&item, number, slots)? {
                    Some(at) => at,
                    None => begin(&item, number, slots)?,
                };
                complete_call(&item, at, slots)?;
                call = Some(at);
            }
            items::end(event, call, reading);
        }
        "response.completed" | "response.incomplete" => {
            let response = event.field("response");
            end(&response, reading)?;
            reading.count(&response.field("usage"));
            stop(&response, response.field("status").any_text()?, reading)?;
            let is_whole = event.field("type").is("response.completed");
            stop(&response, Some(if is_whole { "completed" } else { "incomplete" }), reading)?;
        }
        "response.failed" => {
            reading.stop(Some("failed"), FINISHED);
            return Err(event.field("response").field("error").failure());
        }
        "error" => return Err(event.failure()),
        kind => items::push(kind, event, reading)?,
    }
    Ok(())
}

fn is_call(item: &At<'_>) -> Result<bool, DialectError> {
    // Some servers send `null` items, which the provider's SDK ignores.
    if item.value().is_none() {
        return Ok(false);
    }
    Ok(matches!(item.field("type").text()?, "function_call" | "custom_tool_call"))
}

/// Returns the members of a call of a message.
pub(super) fn call_members<'m>(item: &'m mut ExactValue<'static>, is_own: bool) -> Option<CallMembers<'m>> {
    let (arguments, form) = match item.get("type").and_then(ExactValue::as_str) {
        Some("function_call") => ("arguments", ArgumentsForm::ObjectText),
        Some("custom_tool_call") => ("input", ArgumentsForm::FreeText),
        _ => return None,
    };
    is_own.then_some(CallMembers { object: item, arguments, form })
}

/// Returns the index of an item in the output; a new one where the server sends none.
fn number(event: &At<'_>, slots: &Slots) -> Result<u64, DialectError> {
    let index = event.field("output_index");
    if index.value().is_some() { index.number() } else { Ok(slots.next_number()) }
}

/// Returns the call of an item, if it has begun under the same number and id.
fn begun(event: &At<'_>, slots: &Slots) -> Result<Option<usize>, DialectError> {
    let id = event.field("item").field("call_id").call_id();
    let begun = slots.find(&Key::Number(number(event, slots)?));
    let is_same = |at: &usize| slots.get(*at).is_some_and(|slot| slot.id.as_deref() == id);
    Ok(begun.filter(|at| id.is_some() && is_same(at)))
}

/// Begins the call of an item.
fn begin(item: &At<'_>, number: u64, slots: &mut Slots) -> Result<usize, DialectError> {
    let id = item.field("call_id").call_id().map(str::to_owned);
    let name = item.field("name").call_name().unwrap_or_default().to_owned();
    let custom = item.field("type").is("custom_tool_call");
    let at = slots.begin(Slot { number, id, name, custom, ..Slot::default() });
    if let Some(item) = item.field("id").any_text()? {
        slots.know(at, Key::Item(item.to_owned()));
    }
    Ok(at)
}

/// Updates a call from its completed item: its arguments, which some servers send nowhere else, and its status.
fn complete_call(item: &At<'_>, at: usize, slots: &mut Slots) -> Result<(), DialectError> {
    let id = item.field("call_id").call_id();
    let Some(slot) = slots.get_mut(at) else { return Ok(()) };
    slot.id = slot.id.take().or_else(|| id.map(str::to_owned));
    if slot.name.is_empty() {
        item.field("name").call_name().unwrap_or_default().clone_into(&mut slot.name);
    }
    slot.done = true;
    let written = item.field(if slot.custom { "input" } else { "arguments" });
    slot.complete_arguments(&written);
    let status = item.field("status").any_text()?.filter(|status| !status.is_empty());
    slot.open = status.is_some_and(|status| status != "completed");
    slot.status = status.filter(|_| slot.open).map(str::to_owned);
    Ok(())
}

/// Returns the call of a completed item, if it has begun.
fn known(item: &At<'_>, number: u64, slots: &Slots) -> Result<Option<usize>, DialectError> {
    let id = item.field("call_id").call_id();
    let numbered = slots.find(&Key::Number(number));
    let of = |at: usize| slots.get(at).and_then(|slot| slot.id.as_deref());
    let at = match id {
        None => numbered.filter(|at| slots.get(*at).is_some_and(|slot| !slot.done)),
        Some(id) => numbered
            .filter(|at| of(*at).is_none_or(|own| own == id))
            .or_else(|| slots.find(&Key::Id(id.to_owned()))),
    };
    let name = item.field("name");
    match at.and_then(|at| slots.get(at)) {
        Some(slot) if name.call_name().is_some_and(|name| name != slot.name && !slot.name.is_empty()) => {
            Err(name.another_name(&slot.name))
        }
        _ => Ok(at),
    }
}

/// Reads the items of a response that has ended, including calls without events, or without their last events.
fn end(response: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    let slots = &mut reading.slots;
    let had_events = slots.last().is_some();
    let mut items = Vec::new();
    for (number, item) in (0..).zip(response.field("output").any_items()?) {
        if !is_call(&item)? {
            if item.value().is_some() {
                items.push((item, None));
            }
            continue;
        }
        let has_id = item.field("call_id").call_id().is_some();
        // Without an id, the item cannot be matched with a call that has begun.
        if had_events && !has_id {
            continue;
        }
        let at = match known(&item, number, slots)? {
            Some(at) if slots.get(at).is_some_and(|slot| !slot.open && !slot.is_blank()) => at,
            Some(at) => {
                complete_call(&item, at, slots)?;
                at
            }
            None => {
                let at = begin(&item, number, slots)?;
                complete_call(&item, at, slots)?;
                at
            }
        };
        items.push((item, Some(at)));
    }
    slots.end();
    items::end_all(&items, reading);
    Ok(())
}

pub(super) fn usage(usage: &ExactValue<'_>) -> Usage {
    Usage {
        input: counted(usage, &["input_tokens"]),
        output: counted(usage, &["output_tokens"]),
        cached: counted(usage, &["input_tokens_details", "cached_tokens"]),
        cache_written: counted(usage, &["input_tokens_details", "cache_write_tokens"]),
        reasoning: counted(usage, &["output_tokens_details", "reasoning_tokens"]),
    }
}

/// Returns the call that a part of arguments belongs to: by the number of its item, and by the item's id where
/// several items have the number. Some servers change the id of an item with each event.
fn slot<'s>(event: &At<'_>, slots: &'s mut Slots) -> Result<&'s mut Slot, DialectError> {
    let (index, item) = (event.field("output_index"), event.field("item_id"));
    let by_item = item.any_text()?.and_then(|item| slots.find(&Key::Item(item.to_owned())));
    let at = match index.value() {
        None => by_item,
        Some(_) => {
            let number = index.number()?;
            let is_numbered = |at: &usize| slots.get(*at).is_some_and(|slot| slot.number == number);
            by_item.filter(is_numbered).or_else(|| slots.find(&Key::Number(number)))
        }
    };
    at.and_then(|at| slots.get_mut(at)).ok_or_else(|| index.error("the index of a call that has begun"))
}

/// Reads a text that was sent in parts and is repeated as a whole.
fn whole(event: &At<'_>, field: &str, slots: &mut Slots) -> Result<(), DialectError> {
    let text = event.field(field).text()?;
    let slot = slot(event, slots)?;
    if !text.is_empty() {
        slot.set_text(text);
    }
    slot.open = false;
    Ok(())
}

pub(super) fn results(bound: &BoundTools, results: &[ToolResult]) -> Value {
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

/// Returns a part of a user message.
pub(super) fn user_part(block: Block) -> Value {
    match block {
        Block::Text(text) => json!({ "type": "input_text", "text": text }),
        Block::File { mime_type, data, name } => file(&mime_type, &data, &name),
    }
}

/// Returns `true` if messages can contain files of that type.
pub(super) fn accepts(mime_type: &str) -> bool {
    file(mime_type, "", "").get("type").is_some_and(|kind| kind != "input_text")
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
