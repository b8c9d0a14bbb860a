//! The messages of a request: results, user messages, calls that are sent back.

use serde_json::{Value, json};
use tool_core::internals::ExactValue;

use super::reading::CALL;
use crate::{
    ToolCall, ToolResult,
    dialect::{
        BoundTools,
        content::{Block, blocks, omitted_file_text, with_error_prefix},
        draft::text_value,
        history::{ArgumentsForm, CallMembers},
        provider::exact_object,
    },
};

/// Returns the members of a call of a message.
pub(super) fn find_call_in_item<'m>(
    item: &'m mut ExactValue<'static>,
    is_own: bool,
) -> Option<CallMembers<'m>> {
    let (arguments, form) = match item.get("type").and_then(ExactValue::as_str) {
        Some("function_call") => ("arguments", ArgumentsForm::ObjectText),
        Some("custom_tool_call") => ("input", ArgumentsForm::FreeText),
        _ => return None,
    };
    is_own.then_some(CallMembers { object: item, arguments, form })
}

pub(super) fn result_messages(bound: &BoundTools, results: &[ToolResult]) -> Value {
    let output = |it: &ToolResult| {
        let is_custom = bound.is_custom(&it.name);
        result_item(it, if is_custom { "custom_tool_call_output" } else { "function_call_output" })
    };
    results.iter().map(output).collect()
}

pub(super) fn result_item(result: &ToolResult, kind: &str) -> Value {
    let blocks = blocks(result);
    let is_text = blocks.iter().all(|block| matches!(block, Block::Text(_)));
    let output = if is_text {
        let texts = blocks.into_iter().filter_map(|block| match block {
            Block::Text(text) => Some(text),
            Block::File { .. } => None,
        });
        with_error_prefix(texts.collect(), result).into()
    } else {
        output_parts(blocks, result)
    };
    json!({ "type": kind, "call_id": result.id, "output": output })
}

pub(super) fn output_parts(blocks: Vec<Block>, result: &ToolResult) -> Value {
    let mut is_first = true;
    let parts = blocks.into_iter().map(|block| match block {
        Block::Text(text) => {
            let text =
                if std::mem::take(&mut is_first) { with_error_prefix(vec![text], result) } else { text };
            json!({ "type": "input_text", "text": text })
        }
        Block::File { mime_type, data, name } => file_part(&mime_type, &data, &name),
    });
    parts.collect()
}

/// Returns a part of a user message.
pub(super) fn user_part(block: Block) -> Value {
    match block {
        Block::Text(text) => json!({ "type": "input_text", "text": text }),
        Block::File { mime_type, data, name } => file_part(&mime_type, &data, &name),
    }
}

/// Returns `true` if messages can contain files of that type.
pub(super) fn accepts_file_type(mime_type: &str) -> bool {
    file_part(mime_type, "", "").get("type").is_some_and(|kind| kind != "input_text")
}

pub(super) fn file_part(mime_type: &str, data: &str, name: &str) -> Value {
    let url = format!("data:{mime_type};base64,{data}");
    match mime_type {
        "image/png" | "image/jpeg" | "image/webp" | "image/gif" => {
            json!({ "type": "input_image", "image_url": url })
        }
        "application/pdf" => {
            let name = if name.is_empty() { "document.pdf" } else { name };
            json!({ "type": "input_file", "filename": name, "file_data": url })
        }
        _ => json!({ "type": "input_text", "text": omitted_file_text(mime_type, data) }),
    }
}

/// Returns the items of an assistant message of another model.
pub(super) fn assistant_message(
    bound: &BoundTools,
    content: &str,
    calls: &[ToolCall],
) -> ExactValue<'static> {
    let call = |call: &ToolCall| {
        exact_object([
            ("type", text_value(CALL)),
            ("call_id", text_value(&call.id.to_string())),
            ("name", text_value(&bound.wire_name(&call.name))),
            ("arguments", text_value(&bound.sent_arguments(call).to_string())),
        ])
    };
    let message = Some(content).filter(|content| !content.trim().is_empty());
    let message =
        message.map(|it| exact_object([("role", text_value("assistant")), ("content", text_value(it))]));
    ExactValue::List(message.into_iter().chain(calls.iter().map(call)).collect())
}
