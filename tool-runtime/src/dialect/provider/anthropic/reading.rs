//! A whole response.

use tool_core::__private::ExactValue;

use super::stop::FINISHED;
use crate::dialect::{
    DialectError,
    draft::{Part, put, text},
    error::At,
    partial_calls::{Key, Slot},
    reading::Reading,
};

pub(super) fn read(response: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    begin_message(response, reading);
    let content = response.field("content");
    match content.value() {
        // The text of the only block.
        Some(ExactValue::String(_)) => begin_block(&content, None, reading),
        None if response.field("stop_reason").value().is_some() => {
            reading.skip(content.error("a list"));
        }
        _ => content.items()?.iter().for_each(|block| begin_block(block, None, reading)),
    }
    reading.stop_at(&response.field("stop_reason"), FINISHED);
    Ok(())
}

/// Reads the role of a message, and reserves its list of blocks: the provider accepts no other member back.
pub(super) fn begin_message(message: &At<'_>, reading: &mut Reading) {
    if let Some(role) = message.field("role").as_text() {
        reading.draft.base =
            vec![("role".into(), text(role)), ("content".into(), ExactValue::List(Vec::new()))];
    }
    reading.identify(&message.field("id"), &message.field("model"));
    reading.count(&message.field("usage"));
}

/// Begins a block; with a number in a stream. A block without a type is read by its members; a text is the text of a
/// block.
pub(super) fn begin_block(block: &At<'_>, number: Option<u64>, reading: &mut Reading) {
    let value = match block.value() {
        Some(ExactValue::String(own)) => {
            ExactValue::Object(vec![("type".into(), text("text")), ("text".into(), text(own))])
        }
        _ => block.to_owned(),
    };
    let Some(kind) = block_kind(&value) else {
        // In a stream, the parts of the block say what it is.
        return reading.skip(block.field("type").error("the type of a block"));
    };
    let (kind, is_typed) = (kind.to_owned(), value.get("type").is_some_and(|it| it.as_str() == Some(kind)));
    let mut part = Part::new(value);
    if !is_typed {
        put(&mut part.value, "type", text(&kind));
    }
    part.open = number.is_some();
    let own = |name: &str| part.value.get(name).and_then(ExactValue::as_str).unwrap_or_default();
    match kind.as_str() {
        // Native tools use `server_tool_use` instead.
        "tool_use" => {
            let id = block.field("id").call_id().map(str::to_owned);
            let mut slot =
                Slot { number: number.unwrap_or(reading.slots.next_number()), id, ..Slot::default() };
            slot.push_name(own("name"));
            slot.set_arguments(&block.field("input"));
            slot.open = number.is_some();
            part.call = Some(reading.slots.begin(slot));
        }
        "text" => reading.add_text(own("text")),
        "thinking" => reading.reason(own("thinking")),
        _ => {}
    }
    let at = reading.draft.push(part);
    if let Some(number) = number {
        reading.draft.know(at, Key::Number(number));
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
