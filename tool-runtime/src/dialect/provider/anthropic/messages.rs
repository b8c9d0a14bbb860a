//! The messages of a request: results, user messages, calls that are sent back.

use serde_json::{Value, json};
use tool_core::internals::ExactValue;

use crate::{
    ToolCall, ToolResult,
    dialect::{
        BoundTools,
        content::{Block, blocks, omitted_file_text},
        draft::{MessageDraft, MessagePart, set_member, text_value},
        history::{ArgumentsForm, CallMembers},
        partial_calls::{PartialCall, PartialCalls},
        provider::exact_object,
    },
};

pub(super) fn complete_message(draft: &mut MessageDraft, partial_calls: &PartialCalls) {
    for part in draft.parts_mut() {
        let json = std::mem::take(&mut part.json);
        if !json.trim().is_empty() {
            let input = part
                .call
                .and_then(|at| partial_calls.get(at))
                .map_or_else(|| text_value(&json), PartialCall::received_arguments);
            set_member(&mut part.value, "input", input);
        }
    }
    draft.parts_mut().retain(|part| !is_rejected_by_provider(part));
}

/// Returns the members of a call: a block whose input must be an object.
pub(super) fn find_call_in_block<'m>(block: &'m mut ExactValue<'static>) -> Option<CallMembers<'m>> {
    let kind = block.get("type").and_then(ExactValue::as_str)?;
    let is_call = matches!(kind, "tool_use" | "server_tool_use" | "mcp_tool_use");
    is_call.then_some(CallMembers { object: block, arguments: "input", form: ArgumentsForm::Object })
}

/// Returns `true` for a [blank](https://github.com/anthropics/anthropic-sdk-python/issues/461) text, and for
/// thinking that was cut off before its signature.
pub(super) fn is_rejected_by_provider(part: &MessagePart) -> bool {
    let is_blank =
        |name: &str| part.value.get(name).and_then(ExactValue::as_str).is_none_or(|it| it.trim().is_empty());
    part.has_type("text") && is_blank("text")
        || part.open && part.has_type("thinking") && is_blank("signature")
}

/// Returns one message with all results. Content that an error result may not contain follows them.
pub(super) fn result_messages(results: &[ToolResult]) -> Value {
    let mut after = Vec::new();
    let mut content: Vec<_> = results.iter().map(|it| result_block(it, &mut after)).collect();
    content.append(&mut after);
    json!({ "role": "user", "content": content })
}

pub(super) fn result_block(result: &ToolResult, after: &mut Vec<Value>) -> Value {
    let mut content = Vec::new();
    for block in blocks(result) {
        match block {
            // An empty text is rejected (<https://github.com/anthropics/claude-code/issues/23440>).
            Block::Text(text) if text.trim().is_empty() => {}
            Block::Text(text) => content.push(json!({ "type": "text", "text": text })),
            Block::File { mime_type, data, .. } => match file_block(&mime_type, &data) {
                // An error result may contain only text
                // (<https://github.com/vellum-ai/vellum-assistant/pull/18387>).
                Some(file) if result.is_error() => {
                    content
                        .push(json!({ "type": "text", "text": format!("[{mime_type}: after the results]") }));
                    after.push(
                        json!({ "type": "text", "text": format!("From {} ({}):", result.name, result.id) }),
                    );
                    after.push(file);
                }
                Some(file) => content.push(file),
                None => content.push(json!({ "type": "text", "text": omitted_file_text(&mime_type, &data) })),
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

/// Returns a part of a user message.
pub(in crate::dialect::provider) fn user_part(block: Block) -> Value {
    match block {
        Block::Text(text) => json!({ "type": "text", "text": text }),
        Block::File { mime_type, data, .. } => file_block(&mime_type, &data)
            .unwrap_or_else(|| json!({ "type": "text", "text": omitted_file_text(&mime_type, &data) })),
    }
}

pub(super) fn file_block(mime_type: &str, data: &str) -> Option<Value> {
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

/// Returns an assistant message of another model.
pub(in crate::dialect::provider) fn assistant_message(
    bound: &BoundTools,
    content: &str,
    calls: &[ToolCall],
) -> ExactValue<'static> {
    let call = |call: &ToolCall| {
        exact_object([
            ("type", text_value("tool_use")),
            ("id", text_value(&call.id.to_string())),
            ("name", text_value(&bound.wire_name(&call.name))),
            ("input", bound.sent_arguments(call)),
        ])
    };
    let block = Some(content).filter(|content| !content.trim().is_empty());
    let block = block.map(|it| exact_object([("type", text_value("text")), ("text", text_value(it))]));
    let blocks = block.into_iter().chain(calls.iter().map(call)).collect();
    exact_object([("role", text_value("assistant")), ("content", ExactValue::List(blocks))])
}
