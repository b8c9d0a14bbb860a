//! OpenAI's chat completions: <https://platform.openai.com/docs/api-reference/chat>.

use serde_json::{Map, Value, json};
use tool_core::CallId;

use super::{Definition, arguments, object};
use crate::{
    ToolCall, ToolResult,
    dialect::{
        Bound, DialectError,
        assembler::{Slot, Slots},
        content::{Block, blocks, not_shown, signed},
        error::At,
        request::instruct_in,
    },
};

pub(super) fn definition(tool: Definition<'_>) -> Value {
    let function = object([
        ("name", tool.name.into()),
        ("description", tool.description.into()),
        ("parameters", tool.parameters),
        ("strict", tool.strict.into()),
    ]);
    object([("type", "function".into()), ("function", function)])
}

pub(super) fn calls(bound: &Bound, response: &At<'_>) -> Result<Vec<ToolCall>, DialectError> {
    let mut calls = None;
    for choice in response.field("choices").items()? {
        let message = choice.field("message");
        let listed = message.object()?.field("tool_calls");
        let mut of_choice =
            listed.any_items()?.iter().map(|it| call(bound, it)).collect::<Result<Vec<_>, _>>()?;
        of_choice.extend(function_call(bound, &message.field("function_call"), of_choice.is_empty())?);
        if of_choice.is_empty() {
            continue;
        }
        // They are alternatives: to make the calls of all would be to do everything twice.
        if calls.replace(of_choice).is_some() {
            return Err(listed.error("calls in one choice only"));
        }
    }
    Ok(calls.unwrap_or_default())
}

/// What the ids of calls begin with that came as `function_call`, which has none: by it, the answer is
/// known to be a message of a function. No id of a provider begins so.
const FUNCTION_CALL: &str = "without_id_function_call_";

fn function_call_id() -> String {
    format!("{FUNCTION_CALL}{}", CallId::generate())
}

/// The one call of a message, as it was before there were several.
fn function_call(bound: &Bound, call: &At<'_>, is_only: bool) -> Result<Option<ToolCall>, DialectError> {
    if call.value().is_none() {
        return Ok(None);
    }
    if !is_only {
        // They may be the same call, told twice.
        return Err(call.error("calls in `tool_calls` or here, and not in both"));
    }
    let arguments = arguments(&call.field("arguments"))?;
    Ok(Some(bound.call(Some(&function_call_id()), call.field("name").name()?, arguments)))
}

fn call(bound: &Bound, call: &At<'_>) -> Result<ToolCall, DialectError> {
    let id = call.field("id").any_text()?;
    if call.field("type").is("custom") {
        let custom = call.field("custom");
        let input = custom.field("input").text()?.to_owned();
        return Ok(bound.call(id, custom.field("name").name()?, input.into()));
    }
    let function = call.field("function");
    let arguments = arguments(&function.field("arguments"))?;
    Ok(bound.call(id, function.field("name").name()?, arguments))
}

pub(super) fn push(event: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    for choice in event.field("choices").any_items()? {
        let delta = choice.field("delta");
        let deltas = delta.field("tool_calls");
        let function = delta.field("function_call");
        let index = choice.field("index");
        if (deltas.value().is_some() || function.value().is_some())
            && index.value().and_then(Value::as_u64).unwrap_or(0) != 0
        {
            return Err(index.error("calls in the first choice only"));
        }
        let parts = deltas.any_items()?;
        if !parts.is_empty() && slots.last().is_some_and(|slot| is_function_call(slot)) {
            return Err(deltas.error("calls here or in `function_call`, and not in both"));
        }
        for delta in parts {
            push_delta(&delta, slots)?;
        }
        if function.value().is_some() {
            push_function_call(&function, slots)?;
        }
        if let Some(reason) = choice.field("finish_reason").any_text()? {
            slots.all_done();
            slots.end(matches!(reason, "length" | "content_filter"));
        }
    }
    Ok(())
}

fn push_delta(delta: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    let id = delta.field("id").any_text()?.filter(|id| !id.is_empty());
    let function = delta.field("function");
    let name = function.field("name").any_text()?.filter(|name| !name.is_empty());
    let index = delta.field("index").value().map(|_| delta.field("index").number()).transpose()?;
    let known = match index {
        Some(index) => slots.at(index),
        None => slots.last(),
    };
    // Some providers that speak like OpenAI number all calls of a response 0, or not at all.
    let begins = match &known {
        None => true,
        Some(slot) => id.is_some_and(|id| slot.id.as_deref().is_some_and(|own| own != id)),
    };
    if begins {
        let name = name.ok_or_else(|| function.field("name").error("the name of a call that begins"))?;
        let index = index.unwrap_or_else(|| slots.next_index());
        let id = id.map(str::to_owned);
        slots.begin(Slot { index, id, name: name.to_owned(), ..Slot::default() });
    }
    let slot = if let Some(index) = index { slots.at(index) } else { slots.last() };
    let Some(slot) = slot else { return Ok(()) };
    slot.id = slot.id.take().or_else(|| id.map(str::to_owned));
    push_arguments(&function.field("arguments"), slot)
}

fn push_arguments(part: &At<'_>, slot: &mut Slot) -> Result<(), DialectError> {
    match part.value() {
        None => {}
        Some(Value::String(text)) => slot.text.push_str(text),
        Some(value @ Value::Object(_)) => slot.value = Some(value.clone()),
        Some(_) => return Err(part.error("a part of the arguments, as a text")),
    }
    Ok(())
}

fn is_function_call(slot: &Slot) -> bool {
    slot.id.as_deref().is_some_and(|id| id.starts_with(FUNCTION_CALL))
}

/// A part of the one call of a message, as it was before there were several.
fn push_function_call(part: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    if slots.last().is_some_and(|slot| !is_function_call(slot)) {
        return Err(part.error("calls in `tool_calls` or here, and not in both"));
    }
    if slots.last().is_none() {
        let name = part.field("name").name()?.to_owned();
        slots.begin(Slot { index: u64::MAX, id: Some(function_call_id()), name, ..Slot::default() });
    }
    slots.last().map_or(Ok(()), |slot| push_arguments(&part.field("arguments"), slot))
}

/// Adds `text` to the first message, if it is of the system; `developer` is what some models call it.
pub(super) fn instruct(body: &mut Value, text: &str) -> Result<(), DialectError> {
    let is_first =
        body.pointer("/messages/0/role").is_some_and(|role| role == "system" || role == "developer");
    if is_first && let Some(first) = body.pointer_mut("/messages/0") {
        return instruct_in(first, "content", text, true).map_err(|error| error.below("/messages/0"));
    }
    let message = json!({ "role": "system", "content": text });
    match body.as_object_mut().map(|fields| fields.entry("messages").or_insert(Value::Null)) {
        Some(messages @ Value::Null) => *messages = json!([message]),
        Some(Value::Array(messages)) => messages.insert(0, message),
        _ => return Err(At::root(body).field("messages").error("a list")),
    }
    Ok(())
}

/// A message for each result. Only the user shows pictures and plays sounds: they are in one message after.
pub(super) fn results(bound: &Bound, results: &[ToolResult]) -> Value {
    let mut messages = Vec::new();
    let mut shown = Vec::new();
    for result in results {
        let texts = blocks(result).into_iter().map(|block| match block {
            Block::Text(text) => text,
            Block::File { mime_type, data, name } => match part(&mime_type, &data, &name) {
                Some(part) => {
                    shown.push(json!({ "type": "text", "text": format!("From {} ({}):", result.name, result.id) }));
                    shown.push(part);
                    format!("[{mime_type}: in the message below]")
                }
                None => not_shown(&mime_type, &data),
            },
        });
        let content = signed(texts.collect(), result);
        messages.push(if result.id.to_string().starts_with(FUNCTION_CALL) {
            json!({ "role": "function", "name": bound.wire_name(&result.name), "content": content })
        } else {
            json!({ "role": "tool", "tool_call_id": result.id, "content": content })
        });
    }
    if !shown.is_empty() {
        messages.push(json!({ "role": "user", "content": shown }));
    }
    messages.into()
}

/// A file as a part of a message of the user.
fn part(mime_type: &str, data: &str, name: &str) -> Option<Value> {
    let url = || format!("data:{mime_type};base64,{data}");
    Some(match mime_type {
        "image/png" | "image/jpeg" | "image/webp" | "image/gif" => {
            json!({ "type": "image_url", "image_url": { "url": url() } })
        }
        "audio/wav" | "audio/x-wav" | "audio/wave" => audio(data, "wav"),
        "audio/mpeg" | "audio/mp3" => audio(data, "mp3"),
        "application/pdf" => {
            let mut file = Map::from_iter([("file_data".to_owned(), url().into())]);
            let name = if name.is_empty() { "document.pdf" } else { name };
            file.insert("filename".to_owned(), name.into());
            json!({ "type": "file", "file": file })
        }
        _ => return None,
    })
}

fn audio(data: &str, format: &str) -> Value {
    json!({ "type": "input_audio", "input_audio": { "data": data, "format": format } })
}
