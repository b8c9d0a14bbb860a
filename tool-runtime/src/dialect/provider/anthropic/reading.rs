//! A whole response.

use tool_core::internals::ExactValue;

use super::stop::FINISHED;
use crate::dialect::{
    DialectError,
    draft::{MessagePart, set_member, text_value},
    error::JsonLocation,
    partial_calls::{Key, PartialCall},
    reading::ResponseReading,
};

pub(super) fn read_response(
    response: &JsonLocation<'_>,
    reading: &mut ResponseReading,
) -> Result<(), DialectError> {
    begin_message(response, reading);
    let content = response.field("content");
    match content.value() {
        // The text of the only block.
        Some(ExactValue::String(_)) => begin_block(&content, None, reading),
        None if response.field("stop_reason").value().is_some() => {
            reading.record_unreadable_part(content.error("a list"));
        }
        _ => content.expect_items()?.iter().for_each(|block| begin_block(block, None, reading)),
    }
    reading.read_stop_reason(&response.field("stop_reason"), FINISHED);
    Ok(())
}

/// Reads the role of a message, and reserves its list of blocks: the provider accepts no other member back.
pub(super) fn begin_message(message: &JsonLocation<'_>, reading: &mut ResponseReading) {
    if let Some(role) = message.field("role").as_text() {
        reading.draft.base =
            vec![("role".into(), text_value(role)), ("content".into(), ExactValue::List(Vec::new()))];
    }
    reading.set_identity(&message.field("id"), &message.field("model"));
    reading.set_usage(&message.field("usage"));
    keep_metadata(message, reading);
}

/// Keeps the metadata of a message.
pub(super) fn keep_metadata(message: &JsonLocation<'_>, reading: &mut ResponseReading) {
    let read =
        ["content", "id", "model", "role", "stop_details", "stop_reason", "stop_sequence", "type", "usage"];
    reading.keep_members_except(message, &read);
}

/// Begins a block; with a number in a stream. A block without a type is read by its members; a text is the text of a
/// block.
pub(super) fn begin_block(block: &JsonLocation<'_>, number: Option<u64>, reading: &mut ResponseReading) {
    let value = match block.value() {
        Some(ExactValue::String(own)) => {
            ExactValue::Object(vec![("type".into(), text_value("text")), ("text".into(), text_value(own))])
        }
        _ => block.to_owned(),
    };
    let Some(kind) = block_kind(&value) else {
        // In a stream, the parts of the block say what it is.
        return reading.record_unreadable_part(block.field("type").error("the type of a block"));
    };
    let (kind, is_typed) = (kind.to_owned(), value.get("type").is_some_and(|it| it.as_str() == Some(kind)));
    let mut part = MessagePart::new(value);
    if !is_typed {
        set_member(&mut part.value, "type", text_value(&kind));
    }
    part.open = number.is_some();
    let own = |name: &str| part.value.get(name).and_then(ExactValue::as_str).unwrap_or_default();
    match kind.as_str() {
        // Native tools use `server_tool_use` instead.
        "tool_use" => {
            let id = block.field("id").as_call_id().map(str::to_owned);
            let mut partial_call = PartialCall {
                number: number.unwrap_or(reading.partial_calls.next_number()),
                id,
                ..PartialCall::default()
            };
            partial_call.push_name(own("name"));
            partial_call.add_arguments(&block.field("input"));
            partial_call.open = number.is_some();
            part.call = Some(reading.partial_calls.open_call(partial_call));
        }
        "text" => reading.add_text(own("text")),
        "thinking" => reading.add_reasoning(own("thinking")),
        _ => {}
    }
    let at = reading.draft.push(part);
    if let Some(number) = number {
        reading.draft.insert_key(at, Key::Number(number));
    }
}

/// Returns the type of a block, or of one without a type by its members; `None` where they do not tell.
pub(super) fn block_kind<'v>(block: &'v ExactValue<'_>) -> Option<&'v str> {
    let text = |name: &str| block.get(name).and_then(ExactValue::as_str);
    if let Some(kind) = text("type").filter(|kind| !kind.trim().is_empty()) {
        return Some(kind);
    }
    let is_native = text("id").is_some_and(|id| id.starts_with("srvtoolu_"));
    let kinds = [
        ("server_tool_use", is_native && text("name").is_some()),
        ("tool_use", text("name").is_some() && (text("id").is_some() || block.get("input").is_some())),
        ("thinking", text("thinking").is_some()),
        ("text", text("text").is_some()),
    ];
    kinds.into_iter().find_map(|(kind, is_it)| is_it.then_some(kind))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn a_block_without_a_type_is_known_by_its_members() {
        for (block, kind) in [
            (r#"{"type":"text"}"#, Some("text")),
            (r#"{"type":"later","text":"a"}"#, Some("later")),
            (r#"{"type":" ","text":"a"}"#, Some("text")),
            (r#"{"type":null,"text":"a"}"#, Some("text")),
            (r#"{"thinking":"a","text":"b"}"#, Some("thinking")),
            (r#"{"name":"add","id":"1"}"#, Some("tool_use")),
            (r#"{"name":"add","input":{}}"#, Some("tool_use")),
            (r#"{"name":"add","id":"srvtoolu_1"}"#, Some("server_tool_use")),
            (r#"{"id":"srvtoolu_1","input":{}}"#, None),
            (r#"{"name":"add"}"#, None),
            (r#"{"id":"1"}"#, None),
            (r#"{"input":{}}"#, None),
            (r#"{"id":"1","input":{}}"#, None),
            (r#"{"name":1,"id":"1"}"#, None),
            ("{}", None),
            ("[]", None),
        ] {
            assert_eq!(block_kind(&ExactValue::read(block).unwrap()), kind, "{block}");
        }
    }
}
