//! Gemini's `generateContent`: <https://ai.google.dev/api/generate-content>.

use serde_json::{Map, Value, json};
use tool_core::ToolOutput;

use super::Definition;
use crate::{
    ToolResult,
    dialect::{
        Bound, DialectError,
        content::{Block, blocks, not_shown},
        error::At,
        json_path::place,
        request::add_block,
        slots::{Key, Slot, Slots},
        stop::Stop,
    },
};

pub(super) fn definition(tool: Definition<'_>, json_schema: bool) -> Value {
    let has_some =
        tool.parameters.get("properties").and_then(Value::as_object).is_some_and(|it| !it.is_empty());
    let mut declaration = json!({ "name": tool.name, "description": tool.description });
    if json_schema {
        declaration["parametersJsonSchema"] = tool.parameters;
    } else if has_some {
        // An object without properties is refused (<https://github.com/agno-agi/agno/issues/2112>); without parameters, nothing is said of them.
        declaration["parameters"] = tool.parameters;
    }
    declaration
}

pub(super) fn read(response: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    let candidate = candidate(response)?;
    for call in function_calls(&candidate)? {
        for field in ["partialArgs", "willContinue"] {
            let field = call.field(field);
            if field.value().is_some_and(|value| value != false) {
                return Err(field.error("whole arguments (parts of them are for an assembler)"));
            }
        }
        push_call(&call, slots)?;
    }
    stop(&candidate, slots).map(drop)
}

pub(super) fn push(event: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    let candidate = candidate(event)?;
    function_calls(&candidate)?.iter().try_for_each(|call| push_call(call, slots))?;
    if stop(&candidate, slots)? {
        slots.end();
    }
    Ok(())
}

/// The only candidate; nothing where a prompt was blocked, or of the last words about tokens.
fn candidate<'v>(response: &At<'v>) -> Result<At<'v>, DialectError> {
    let candidates = response.field("candidates");
    match <[At<'v>; 1]>::try_from(candidates.any_items()?) {
        Ok([candidate]) => Ok(candidate),
        Err(all) if all.is_empty() => Ok(candidates),
        Err(_) => Err(candidates.error("one candidate")),
    }
}

/// Takes the reason why a candidate [ended](https://ai.google.dev/api/generate-content#FinishReason), of which only `STOP`
/// means that all calls are whole; gives whether there is one.
fn stop(candidate: &At<'_>, slots: &mut Slots) -> Result<bool, DialectError> {
    let place = candidate.field("finishReason");
    let Some(reason) = place.any_text()? else { return Ok(false) };
    let stop = Stop::of(Some(reason), &["STOP"]);
    let is_said = stop != Stop::Unsaid;
    slots.stop(stop);
    // A call that is not in the response, and of which nothing else would tell.
    if reason == "MALFORMED_FUNCTION_CALL" && slots.last().is_none() {
        return Err(place.error_with("a call", reason));
    }
    Ok(is_said)
}

/// The calls of a response, or of a part of one.
fn function_calls<'v>(candidate: &At<'v>) -> Result<Vec<At<'v>>, DialectError> {
    let parts = candidate.field("content").field("parts").any_items()?;
    Ok(parts.iter().map(|part| part.field("functionCall")).filter(|it| it.value().is_some()).collect())
}

/// A call, or a part of one: the first has the name, and all but the last say that it goes on
/// ([fields](https://googleapis.github.io/js-genai/release_docs/interfaces/types.FunctionCall.html); the last may be
/// [empty](https://github.com/vercel/ai/pull/13929)).
fn push_call(call: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    let (id, name) = (call.field("id").any_text()?, call.field("name").any_text()?);
    let goes_on = |at: &usize| {
        slots.get(*at).is_some_and(|slot| slot.open && name.is_none_or(|name| name == slot.name))
    };
    let begun = match id {
        Some(id) => slots.find(&Key::Id(id.to_owned())),
        None => slots.last(),
    };
    let at = match begun.filter(goes_on) {
        Some(at) => at,
        None => {
            let (name, id) = (call.field("name").name()?.to_owned(), id.map(str::to_owned));
            slots.begin(Slot { number: slots.next_number(), id, name, ..Slot::default() })
        }
    };
    let Some(slot) = slots.get_mut(at) else { return Ok(()) };
    let (args, parts) = (call.field("args"), call.field("partialArgs"));
    if args.value().is_some() && !slot.is_blank() {
        return Err(args.error("arguments once"));
    }
    slot.give(&args)?;
    let items = parts.any_items()?;
    if !items.is_empty() {
        // What came in one piece, if anything did, is what the parts are added to.
        if slot.value.is_none() && !slot.is_blank() {
            let value = serde_json::from_str::<Map<_, _>>(&std::mem::take(&mut slot.text));
            slot.value =
                Some(value.map_err(|_| parts.error("parts of arguments that are an object"))?.into());
        }
        let value = slot.value.get_or_insert_with(|| json!({}));
        items.iter().try_for_each(|part| push_part(part, value))?;
    }
    slot.open = call.field("willContinue").value().is_some_and(|it| *it == true);
    // The provider leaves empty arguments out.
    if !slot.open && slot.is_blank() {
        slot.value = Some(json!({}));
    }
    Ok(())
}

/// A part of the arguments: a value and its place, or a part of a text.
fn push_part(part: &At<'_>, arguments: &mut Value) -> Result<(), DialectError> {
    let path = part.field("jsonPath");
    let wrong = || path.error_with("a JSON path to a value that is not there yet", "another");
    let given = |name: &str| part.field(name).value().cloned();
    if let Some(text) = part.field("stringValue").any_text()? {
        match place(arguments, path.text()?).ok_or_else(wrong)? {
            Value::String(before) => before.push_str(text),
            before @ Value::Null => *before = text.into(),
            _ => return Err(wrong()),
        }
    } else if let Some(value) = given("numberValue").or_else(|| given("boolValue")) {
        *place(arguments, path.text()?).filter(|it| it.is_null()).ok_or_else(wrong)? = value;
    } else if part.value().is_some_and(|it| it.get("nullValue").is_some()) {
        // The SDKs say `NULL_VALUE`, and the JSON of protocol buffers `null` (<https://protobuf.dev/programming-guides/json>).
        place(arguments, path.text()?).filter(|it| it.is_null()).ok_or_else(wrong)?;
    }
    Ok(())
}

/// Adds `text` to the parts of the system's content; its field may be written in either case.
pub(super) fn instruct(body: &mut Value, text: &str) -> Result<(), DialectError> {
    let is_there = body.get("system_instruction").is_some();
    let field = if is_there { "system_instruction" } else { "systemInstruction" };
    let content = body.as_object_mut().map(|fields| fields.entry(field).or_insert(Value::Null));
    if let Some(content @ Value::Null) = content {
        *content = json!({ "parts": [] });
    }
    match body.pointer_mut(&format!("/{field}/parts")) {
        Some(Value::Array(parts)) => add_block(parts, json!({ "text": text })),
        _ => return Err(At::root(body).field(field).field("parts").error("a list")),
    }
    Ok(())
}

/// One content with a part for each result; pictures and other files are parts after them.
pub(super) fn results(bound: &Bound, results: &[ToolResult]) -> Value {
    let mut parts = Vec::new();
    let mut files = Vec::new();
    for result in results {
        let name = bound.wire_name(&result.name);
        let mut response = json!({ "name": name, "response": response(result, &mut files) });
        // The provider knows nothing of an id that we gave.
        if !result.id.is_generated() {
            response["id"] = json!(result.id);
        }
        parts.push(json!({ "functionResponse": response }));
    }
    parts.append(&mut files);
    json!({ "role": "user", "parts": parts })
}

/// D06: always an object.
fn response(result: &ToolResult, files: &mut Vec<Value>) -> Map<String, Value> {
    let mut notes = Vec::new();
    for block in blocks(result) {
        let Block::File { mime_type, data, .. } = block else { continue };
        if is_shown(&mime_type) {
            notes.push(Value::from(format!("[{mime_type}: after the results]")));
            files.push(json!({ "inlineData": { "mimeType": mime_type, "data": data } }));
        } else {
            notes.push(not_shown(&mime_type, &data).into());
        }
    }
    let text = || Value::from(result.text().into_owned());
    let mut response = match &result.outcome {
        Ok(output) if output.is_failure() => Map::from_iter([("error".to_owned(), text())]),
        Ok(output) if output.is_empty() => Map::new(),
        Ok(output) if is_value(output) => output.to_map(),
        Ok(_) => Map::from_iter([("result".to_owned(), text())]),
        Err(_) => Map::from_iter([("error".to_owned(), text())]),
    };
    if !notes.is_empty() {
        response.entry("files").or_insert(Value::Array(notes));
    }
    response
}

/// Whether a model that is given the value of `output` reads the same as by its text: where the tool
/// put it in words of its own, those are what all models read.
fn is_value(output: &ToolOutput) -> bool {
    let Some(value) = output.structured() else { return false };
    let text = output.text();
    output.content().is_empty()
        || value.as_str() == Some(&*text)
        || serde_json::from_str::<Value>(&text).is_ok_and(|written| written == value)
}

fn is_shown(mime_type: &str) -> bool {
    matches!(
        mime_type,
        "image/png"
            | "image/jpeg"
            | "image/webp"
            | "image/heic"
            | "image/heif"
            | "application/pdf"
            | "audio/wav"
            | "audio/mp3"
            | "audio/mpeg"
            | "audio/aac"
            | "audio/ogg"
            | "audio/flac"
            | "audio/aiff"
    )
}
