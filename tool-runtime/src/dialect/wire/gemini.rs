//! Gemini's `generateContent`: <https://ai.google.dev/api/generate-content>.

use serde_json::{Map, Value, json};

use super::{Definition, arguments};
use crate::{
    ToolCall, ToolResult,
    dialect::{
        Bound, DialectError,
        assembler::{Slot, Slots},
        content::{Block, blocks, not_shown},
        error::At,
    },
};

pub(super) fn definition(tool: Definition<'_>, json_schema: bool) -> Value {
    let has_some =
        tool.parameters.get("properties").and_then(Value::as_object).is_some_and(|it| !it.is_empty());
    let mut declaration = json!({ "name": tool.name, "description": tool.of.description() });
    if json_schema {
        declaration["parametersJsonSchema"] = tool.parameters;
    } else if has_some {
        // An object without properties is refused; without parameters, nothing is said of them.
        declaration["parameters"] = tool.parameters;
    }
    declaration
}

pub(super) fn calls(bound: &Bound, response: &At<'_>) -> Result<Vec<ToolCall>, DialectError> {
    let mut calls = Vec::new();
    for call in function_calls(response)? {
        calls.push(bound.call(call.field("id").any_text()?, call.field("name").name()?, whole(&call)?));
    }
    Ok(calls)
}

/// The calls of a response, or of a part of one.
fn function_calls<'v>(response: &At<'v>) -> Result<Vec<At<'v>>, DialectError> {
    let candidates = response.field("candidates");
    let [candidate] = candidates.any_items()?.try_into().or_else(|all: Vec<_>| match all.as_slice() {
        // A prompt that was blocked, or the last words about tokens.
        [] => Ok([candidates.clone()]),
        _ => Err(candidates.error("one candidate")),
    })?;
    let reason = candidate.field("finishReason");
    if let Some(reason) = reason.as_text().filter(|it| matches!(*it, "MALFORMED_FUNCTION_CALL")) {
        return Err(candidate.field("finishReason").error_with("a call", reason));
    }
    let parts = candidate.field("content").field("parts").any_items()?;
    Ok(parts.iter().map(|part| part.field("functionCall")).filter(|it| it.value().is_some()).collect())
}

/// The arguments of a call, which come in one piece.
fn whole(call: &At<'_>) -> Result<tool_core::Arguments<'static>, DialectError> {
    for field in ["partialArgs", "willContinue"] {
        let field = call.field(field);
        if field.value().is_some_and(|value| value != false) {
            return Err(field.error("whole arguments (`streamFunctionCallArguments` is not read)"));
        }
    }
    arguments(&call.field("args"))
}

pub(super) fn push(event: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    for call in function_calls(event)? {
        slots.begin(Slot {
            index: slots.next_index(),
            id: call.field("id").any_text()?.map(str::to_owned),
            name: call.field("name").name()?.to_owned(),
            text: whole(&call)?.into_text().into_owned(),
            done: true,
            ..Slot::default()
        });
    }
    for candidate in event.field("candidates").any_items()? {
        if let Some(reason) = candidate.field("finishReason").any_text()? {
            slots.end(reason == "MAX_TOKENS");
        }
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
    let mut response = match &result.outcome {
        Ok(output) if output.is_failure() => Map::from_iter([("error".to_owned(), told(result))]),
        Ok(output) => match output.structured() {
            Some(_) => output.to_map(),
            None if output.is_empty() => Map::new(),
            None => Map::from_iter([("result".to_owned(), told(result))]),
        },
        Err(error) => Map::from_iter([("error".to_owned(), error.feedback().into())]),
    };
    if !notes.is_empty() {
        response.entry("files").or_insert(Value::Array(notes));
    }
    response
}

/// The texts of a result.
fn told(result: &ToolResult) -> Value {
    let texts = blocks(result).into_iter().filter_map(|block| match block {
        Block::Text(text) => Some(text),
        Block::File { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n").into()
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
