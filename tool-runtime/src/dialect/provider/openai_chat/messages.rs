//! The messages of a request: results, user messages, calls that are sent back.

use serde_json::{Map, Value, json};
use tool_core::internals::ExactValue;

use super::reading::{FUNCTION_CALL, call_member_names};
use crate::{
    ToolCall, ToolResult,
    dialect::{
        BoundTools, DialectError,
        content::{Block, blocks, omitted_file_text, with_error_prefix},
        draft::{Members, set_member, text_value},
        history::{ArgumentsForm, CallMembers},
        provider::exact_object,
        request::append_instruction_to_field,
    },
};

/// Returns the members of a call of a message; the `type` of the call is set where it is absent.
pub(super) fn find_call_in_tool_call<'m>(
    call: &'m mut ExactValue<'static>,
    is_own: bool,
) -> Option<CallMembers<'m>> {
    if !is_own {
        return None;
    }
    let (kind, arguments) = call_member_names(call);
    let form = if kind == "custom" { ArgumentsForm::FreeText } else { ArgumentsForm::ObjectText };
    set_member(call, "type", text_value(kind));
    Some(CallMembers { object: call.entry(kind)?, arguments, form })
}

/// Returns the members of the legacy `function_call` of a message, if there is one.
pub(super) fn find_legacy_function_call(message: &mut Members) -> Option<CallMembers<'_>> {
    let is_call =
        |(name, value): &&mut (_, ExactValue<'static>)| *name == "function_call" && !value.is_null();
    let (_, object) = message.iter_mut().find(is_call)?;
    Some(CallMembers { object, arguments: "arguments", form: ArgumentsForm::ObjectText })
}

/// Appends `text` to the first message if its role is `system`, or `developer` for some models.
pub(super) fn add_instruction(body: &mut Value, text: &str) -> Result<(), DialectError> {
    let is_first =
        body.pointer("/messages/0/role").is_some_and(|role| role == "system" || role == "developer");
    if is_first && let Some(first) = body.pointer_mut("/messages/0") {
        return append_instruction_to_field(first, "content", text, true)
            .map_err(|error| error.with_pointer_prefix("/messages/0"));
    }
    let message = json!({ "role": "system", "content": text });
    match body.as_object_mut().map(|fields| fields.entry("messages").or_insert(Value::Null)) {
        Some(messages @ Value::Null) => *messages = json!([message]),
        Some(Value::Array(messages)) => messages.insert(0, message),
        _ => return Err(DialectError::of_body(body, "/messages", "a list")),
    }
    Ok(())
}

/// Returns a message for each result. Only user messages can contain images and audio: one follows with all of
/// them.
pub(super) fn result_messages(bound: &BoundTools, results: &[ToolResult]) -> Value {
    let mut messages = Vec::new();
    let mut shown = Vec::new();
    for result in results {
        let texts = blocks(result).into_iter().map(|block| match block {
            Block::Text(text) => text,
            Block::File { mime_type, data, name } => match file_part(&mime_type, &data, &name) {
                Some(part) => {
                    shown.push(json!({ "type": "text", "text": format!("From {} ({}):", result.name, result.id) }));
                    shown.push(part);
                    format!("[{mime_type}: in the message below]")
                }
                None => omitted_file_text(&mime_type, &data),
            },
        });
        let content = with_error_prefix(texts.collect(), result);
        messages.push(if result.id.to_string().starts_with(FUNCTION_CALL) {
            json!({ "role": "function", "name": bound.wire_name(result.called_name()), "content": content })
        } else {
            json!({ "role": "tool", "tool_call_id": result.id, "content": content })
        });
    }
    if !shown.is_empty() {
        messages.push(json!({ "role": "user", "content": shown }));
    }
    messages.into()
}

/// Returns a part of a user message.
pub(super) fn user_part(block: Block) -> Value {
    match block {
        Block::Text(text) => json!({ "type": "text", "text": text }),
        Block::File { mime_type, data, name } => file_part(&mime_type, &data, &name)
            .unwrap_or_else(|| json!({ "type": "text", "text": omitted_file_text(&mime_type, &data) })),
    }
}

/// Returns a file as a part of a user message.
pub(super) fn file_part(mime_type: &str, data: &str, name: &str) -> Option<Value> {
    let url = || format!("data:{mime_type};base64,{data}");
    Some(match mime_type {
        "image/png" | "image/jpeg" | "image/webp" | "image/gif" => {
            json!({ "type": "image_url", "image_url": { "url": url() } })
        }
        "audio/wav" | "audio/x-wav" | "audio/wave" => audio_part(data, "wav"),
        "audio/mpeg" | "audio/mp3" => audio_part(data, "mp3"),
        "application/pdf" => {
            let mut file = Map::from_iter([("file_data".to_owned(), url().into())]);
            let name = if name.is_empty() { "document.pdf" } else { name };
            file.insert("filename".to_owned(), name.into());
            json!({ "type": "file", "file": file })
        }
        _ => return None,
    })
}

pub(super) fn audio_part(data: &str, format: &str) -> Value {
    json!({ "type": "input_audio", "input_audio": { "data": data, "format": format } })
}

/// Returns an assistant message of another model.
pub(super) fn assistant_message(
    bound: &BoundTools,
    content: &str,
    calls: &[ToolCall],
) -> ExactValue<'static> {
    let call = |call: &ToolCall| {
        let arguments = bound.sent_arguments(call).to_string();
        let function = exact_object([
            ("name", text_value(&bound.wire_name(&call.name))),
            ("arguments", text_value(&arguments)),
        ]);
        exact_object([
            ("id", text_value(&call.id.to_string())),
            ("type", text_value("function")),
            ("function", function),
        ])
    };
    let content = if content.is_empty() { ExactValue::Null } else { text_value(content) };
    let mut members = vec![("role".into(), text_value("assistant")), ("content".into(), content)];
    if !calls.is_empty() {
        members.push(("tool_calls".into(), ExactValue::List(calls.iter().map(call).collect())));
    }
    ExactValue::Object(members)
}
