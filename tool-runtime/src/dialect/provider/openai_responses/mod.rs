//! OpenAI's responses: <https://platform.openai.com/docs/api-reference/responses>.

mod items;

use serde_json::{Value, json};
use tool_core::__private::ExactValue;

use self::items::complete;
use super::{
    Definition, WireFormat, exact_object, object,
    openai_chat::{MAX_DESCRIPTION_CHARS, NAME_RULE},
};
use crate::{
    ToolCall, ToolResult,
    dialect::{
        BoundTools, DialectError, Usage,
        content::{Block, blocks, not_shown, signed},
        draft::{Draft, put, text},
        error::At,
        history::{ArgumentsForm, CallMembers},
        names::NameRule,
        reading::Reading,
        request::instruct_in,
        schema::{OPENAI, OPENAI_STRICT, Rules},
        slots::{Key, Slot, Slots},
        usage::counted,
    },
};

/// OpenAI's responses.
#[derive(Debug)]
pub(in crate::dialect) struct OpenAiResponses {
    pub(in crate::dialect) strict: bool,
}

/// No published source; the maximum of chat completions.
const MAX_TOOLS: usize = 128;

impl WireFormat for OpenAiResponses {
    fn name(&self) -> &'static str {
        if self.strict { "openai-responses-strict" } else { "openai-responses" }
    }

    fn rules(&self) -> (&'static Rules, Option<&'static Rules>) {
        if self.strict { (&OPENAI_STRICT, Some(&OPENAI)) } else { (&OPENAI, None) }
    }

    fn name_rule(&self) -> NameRule {
        NAME_RULE
    }

    fn max_tools(&self) -> Option<usize> {
        Some(MAX_TOOLS)
    }

    fn max_description_chars(&self) -> Option<usize> {
        Some(MAX_DESCRIPTION_CHARS)
    }

    fn definition(&self, tool: Definition<'_>) -> Value {
        definition(tool)
    }

    fn read(&self, response: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
        read(response, reading)
    }

    fn push(&self, event: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
        push(event, reading)
    }

    fn complete(&self, draft: &mut Draft, slots: &Slots) {
        complete(draft, slots);
    }

    fn call_members<'m>(&self, part: &'m mut ExactValue<'static>, is_own: bool) -> Option<CallMembers<'m>> {
        call_members(part, is_own)
    }

    fn call_id_member(&self) -> Option<&'static str> {
        Some("call_id")
    }

    fn message(&self, draft: Draft) -> Option<ExactValue<'static>> {
        draft.into_list()
    }

    fn messages_member(&self) -> Option<&'static str> {
        Some("input")
    }

    fn messages_of_text(&self, text: &str) -> Option<Value> {
        Some(json!([{ "role": "user", "content": text }]))
    }

    fn usage(&self, counted: &ExactValue<'_>) -> Usage {
        usage(counted)
    }

    fn instruct(&self, body: &mut Value, text: &str) -> Result<(), DialectError> {
        instruct_in(body, "instructions", text, false)
    }

    fn user_part(&self, block: Block) -> Value {
        user_part(block)
    }

    fn accepts(&self, mime_type: &str) -> bool {
        accepts(mime_type)
    }

    fn assistant_message(
        &self,
        bound: &BoundTools,
        content: &str,
        calls: &[ToolCall],
    ) -> ExactValue<'static> {
        assistant_message(bound, content, calls)
    }

    fn results(&self, bound: &BoundTools, results: &[ToolResult]) -> Value {
        self::results(bound, results)
    }
}

fn definition(tool: Definition<'_>) -> Value {
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

fn read(response: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    reading.identify(&response.field("id"), &response.field("model"));
    for item in response.field("output").items()? {
        let typed = with_type(&item);
        let item = typed.as_ref().map_or_else(|| item.clone(), |typed| item.with(typed));
        let mut call = None;
        match item_kind(&item) {
            Ok(Some(CALL | CUSTOM_CALL)) => {
                let at = begin(&item, reading.slots.next_number(), &mut reading.slots);
                complete_call(&item, at, reading);
                call = Some(at);
            }
            Ok(_) => {}
            Err(error) => {
                reading.skip(error);
                continue;
            }
        }
        items::read(&item, call, reading);
    }
    reading.count(&response.field("usage"));
    stop(response, &response.field("status"), reading);
    Ok(())
}

/// Records the end of a response by its
/// [status](https://platform.openai.com/docs/api-reference/responses/object#responses/object-status).
fn stop(response: &At<'_>, status: &At<'_>, reading: &mut Reading) {
    if status.is("incomplete") {
        let reason = response.field("incomplete_details").field("reason");
        let reason = reason.as_text().filter(|it| !it.is_empty());
        reading.stop(reason.or(status.as_text()), &[]);
    } else {
        reading.stop_at(status, FINISHED);
    }
}

/// Adds an event. A part of one that cannot be read is left out.
fn push(event: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    let item = event.field("item");
    if let (Some(typed), Some(event_value)) = (with_type(&item), event.value()) {
        let mut typed_event = event_value.clone().into_owned();
        put(&mut typed_event, "item", typed);
        return push(&event.with(&typed_event), reading);
    }
    let kind = event.field("type");
    match kind.as_text() {
        Some("response.failed") => {
            reading.stop(Some("failed"), FINISHED);
            return Err(event.field("response").field("error").failure());
        }
        Some("error") => return Err(event.failure()),
        Some(kind) => {
            if let Err(error) = push_event(kind, event, reading) {
                reading.skip(error);
            }
        }
        None => reading.skip(kind.error("a text")),
    }
    Ok(())
}

fn push_event(kind: &str, event: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    reading.identify(&event.field("response").field("id"), &event.field("response").field("model"));
    let slots = &mut reading.slots;
    match kind {
        "response.output_item.added" => {
            let item = event.field("item");
            let mut call = None;
            if is_call(&item)? {
                let at = match begun(event, slots)? {
                    Some(at) => at,
                    None => {
                        let at = begin(&item, number(event, slots)?, slots);
                        slots.get_mut(at).into_iter().for_each(|slot| slot.open = true);
                        at
                    }
                };
                call = Some(at);
            }
            items::begin(event, call, reading);
        }
        "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
            let delta = event.field("delta");
            let at = slot(event, slots)?;
            match (delta.as_text(), slots.get_mut(at)) {
                (Some(part), Some(slot)) => slot.push_text(part),
                // The rest of the arguments is not the whole; a later event may have it.
                _ => return Err(delta.error("a text")),
            }
        }
        "response.function_call_arguments.done" => whole(event, "arguments", slots)?,
        "response.custom_tool_call_input.done" => whole(event, "input", slots)?,
        "response.output_item.done" => {
            let item = event.field("item");
            let mut call = None;
            if is_call(&item)? {
                // Some servers send no event for an item before it is done.
                let number = number(event, slots)?;
                let at = known(&item, number, slots).unwrap_or_else(|| begin(&item, number, slots));
                complete_call(&item, at, reading);
                call = Some(at);
            }
            items::end(event, call, reading);
        }
        "response.completed" | "response.incomplete" => {
            let response = event.field("response");
            if let Err(error) = end(&response, reading) {
                reading.skip(error);
            }
            reading.slots.end();
            reading.count(&response.field("usage"));
            stop(&response, &response.field("status"), reading);
            let name = ExactValue::String(kind.trim_start_matches("response.").into());
            stop(&response, &event.field("type").with(&name), reading);
        }
        kind => items::push(kind, event, reading)?,
    }
    Ok(())
}

/// The types of items that are calls.
const CALL: &str = "function_call";
const CUSTOM_CALL: &str = "custom_tool_call";

/// Returns the type of an item; `None` for the `null` items of some servers, which the provider's SDK ignores.
fn item_kind<'v>(item: &At<'v>) -> Result<Option<&'v str>, DialectError> {
    if item.value().is_none() { Ok(None) } else { item.field("type").text().map(Some) }
}

fn is_call(item: &At<'_>) -> Result<bool, DialectError> {
    Ok(matches!(item_kind(item)?, Some(CALL | CUSTOM_CALL)))
}

/// Returns an item without a type with the type that its members tell.
fn with_type(item: &At<'_>) -> Option<ExactValue<'static>> {
    let value = item.value()?;
    if !matches!(value, ExactValue::Object(_)) || item.field("type").as_text().is_some() {
        return None;
    }
    let has = |name: &str| item.field(name).value().is_some();
    let kind = match () {
        () if has("output") => return None,
        () if has("name") && has("arguments") => CALL,
        () if has("name") && has("call_id") && has("input") => CUSTOM_CALL,
        () if has("content") && item.field("role").as_text().is_some() => "message",
        () if has("summary") => "reasoning",
        () => return None,
    };
    let mut typed = value.clone().into_owned();
    put(&mut typed, "type", text(kind));
    Some(typed)
}

/// Returns the members of a call of a message.
fn call_members<'m>(item: &'m mut ExactValue<'static>, is_own: bool) -> Option<CallMembers<'m>> {
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
fn begin(item: &At<'_>, number: u64, slots: &mut Slots) -> usize {
    let id = item.field("call_id").call_id().map(str::to_owned);
    let custom = item.field("type").is(CUSTOM_CALL);
    let mut slot = Slot { number, id, custom, ..Slot::default() };
    slot.push_name(item.field("name").as_text().unwrap_or_default());
    let at = slots.begin(slot);
    if let Some(item) = item.field("id").as_text() {
        slots.know(at, Key::Item(item.to_owned()));
    }
    at
}

/// Updates a call from its completed item: its name, its arguments, which some servers send nowhere else, and its status.
fn complete_call(item: &At<'_>, at: usize, reading: &mut Reading) {
    let id = item.field("call_id").call_id();
    let Some(slot) = reading.slots.get_mut(at) else { return };
    slot.id = slot.id.take().or_else(|| id.map(str::to_owned));
    let name = item.field("name");
    if let Some(name) = name.call_name()
        && !slot.complete_name(name)
    {
        slot.is_contradictory = true;
    }
    slot.done = true;
    let written = item.field(if slot.custom { "input" } else { "arguments" });
    slot.complete_arguments(&written);
    let status = item.field("status");
    // A status that is no text is none of a completed call.
    slot.open = status.value().is_some_and(|it| !matches!(it.as_str(), Some("" | "completed")));
    slot.status = status.as_text().filter(|_| slot.open).map(str::to_owned);
}

/// Returns the call of a completed item, if it has begun.
fn known(item: &At<'_>, number: u64, slots: &Slots) -> Option<usize> {
    let numbered = slots.find(&Key::Number(number));
    let of = |at: usize| slots.get(at).and_then(|slot| slot.id.as_deref());
    match item.field("call_id").call_id() {
        None => numbered.filter(|at| slots.get(*at).is_some_and(|slot| !slot.done)),
        Some(id) => numbered
            .filter(|at| of(*at).is_none_or(|own| own == id))
            .or_else(|| slots.find(&Key::Id(id.to_owned()))),
    }
}

/// Reads the items of a response that has ended, including calls without events, or without their last events.
fn end(response: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    let had_events = reading.slots.last().is_some();
    let listed = response.field("output").any_items()?;
    let typed: Vec<_> = listed.iter().map(with_type).collect();
    let mut items = Vec::new();
    for (number, (item, typed)) in (0..).zip(listed.iter().zip(&typed)) {
        let item = typed.as_ref().map_or_else(|| item.clone(), |typed| item.with(typed));
        match item_kind(&item) {
            Ok(None) => continue,
            Ok(Some(CALL | CUSTOM_CALL)) => {}
            Ok(Some(_)) => {
                items.push((item, None));
                continue;
            }
            Err(error) => {
                reading.skip(error);
                continue;
            }
        }
        let has_id = item.field("call_id").call_id().is_some();
        // Without an id, the item cannot be matched with a call that has begun.
        if had_events && !has_id {
            continue;
        }
        let at = match known(&item, number, &reading.slots) {
            Some(at) if reading.slots.get(at).is_some_and(|slot| !slot.open && !slot.is_blank()) => at,
            found => {
                let at = found.unwrap_or_else(|| begin(&item, number, &mut reading.slots));
                complete_call(&item, at, reading);
                at
            }
        };
        items.push((item, Some(at)));
    }
    items::end_all(&items, reading);
    Ok(())
}

fn usage(usage: &ExactValue<'_>) -> Usage {
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
fn slot(event: &At<'_>, slots: &Slots) -> Result<usize, DialectError> {
    let (index, item) = (event.field("output_index"), event.field("item_id"));
    let by_item = item.as_text().and_then(|item| slots.find(&Key::Item(item.to_owned())));
    let at = match index.value() {
        None => by_item,
        Some(_) => {
            let number = index.number()?;
            let is_numbered = |at: &usize| slots.get(*at).is_some_and(|slot| slot.number == number);
            by_item.filter(is_numbered).or_else(|| slots.find(&Key::Number(number)))
        }
    };
    at.ok_or_else(|| index.error("the index of a call that has begun"))
}

/// Reads a text that was sent in parts and is repeated as a whole.
fn whole(event: &At<'_>, field: &str, slots: &mut Slots) -> Result<(), DialectError> {
    let text = event.field(field).text()?;
    let at = slot(event, slots)?;
    let Some(slot) = slots.get_mut(at) else { return Ok(()) };
    if !text.is_empty() {
        slot.set_text(text);
    }
    slot.open = false;
    Ok(())
}

fn results(bound: &BoundTools, results: &[ToolResult]) -> Value {
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
fn accepts(mime_type: &str) -> bool {
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

/// Returns the items of an assistant message of another model.
fn assistant_message(bound: &BoundTools, content: &str, calls: &[ToolCall]) -> ExactValue<'static> {
    let call = |call: &ToolCall| {
        exact_object([
            ("type", text(CALL)),
            ("call_id", text(&call.id.to_string())),
            ("name", text(&bound.wire_name(&call.name))),
            ("arguments", text(&bound.sent_arguments(call).to_string())),
        ])
    };
    let message = Some(content).filter(|content| !content.trim().is_empty());
    let message = message.map(|it| exact_object([("role", text("assistant")), ("content", text(it))]));
    ExactValue::List(message.into_iter().chain(calls.iter().map(call)).collect())
}
