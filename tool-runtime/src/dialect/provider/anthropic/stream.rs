//! The events of a streamed response.

use tool_core::internals::ExactValue;

use super::{
    reading::{begin_block, begin_message, keep_metadata},
    stop::FINISHED,
};
use crate::dialect::{
    DialectError,
    draft::{merge_delta, merge_members, text_value},
    error::JsonLocation,
    partial_calls::Key,
    reading::ResponseReading,
};

/// Adds an event. A part of one that cannot be read is left out.
pub(super) fn push_event(
    event: &JsonLocation<'_>,
    reading: &mut ResponseReading,
) -> Result<(), DialectError> {
    if let Err(error) = read_event(event, reading) {
        reading.record_unreadable_part(error);
    }
    Ok(())
}

pub(super) fn read_event(
    event: &JsonLocation<'_>,
    reading: &mut ResponseReading,
) -> Result<(), DialectError> {
    match event_kind(event)? {
        "message_start" => begin_message(&event.field("message"), reading),
        "content_block_start" => {
            let index = event.field("index");
            // Some servers omit the index.
            let number =
                if index.value().is_some() { index.expect_number()? } else { reading.draft.len() as u64 };
            begin_block(&event.field("content_block"), Some(number), reading);
        }
        "content_block_delta" => push_delta(&event.field("delta"), &event.field("index"), reading)?,
        "content_block_stop" => {
            let at = block_index(&event.field("index"), reading)?;
            let Some(part) = at.and_then(|at| reading.draft.get_mut(at)) else { return Ok(()) };
            part.open = false;
            if let Some(partial_call) = part.call.and_then(|at| reading.partial_calls.get_mut(at)) {
                partial_call.open = false;
            }
        }
        "message_delta" => {
            reading.set_usage(&event.field("usage"));
            keep_metadata(&event.field("delta"), reading);
            reading.read_stop_reason(&event.field("delta").field("stop_reason"), FINISHED);
        }
        "message_stop" => reading.partial_calls.end_response(),
        _ => {}
    }
    Ok(())
}

/// Returns the type of an event, or of one without a type by its members.
pub(super) fn event_kind<'v>(event: &JsonLocation<'v>) -> Result<&'v str, DialectError> {
    let kind = event.field("type");
    let has = |name: &'static str| event.field(name).value().is_some();
    match kind.as_text() {
        Some(kind) => Ok(kind),
        None if has("content_block") => Ok("content_block_start"),
        None if event.field("message").expect_object().is_ok() => Ok("message_start"),
        None if has("delta") && has("index") => Ok("content_block_delta"),
        None if has("delta") => Ok("message_delta"),
        None => kind.expect_text(),
    }
}

/// Returns the position of a block that has begun: the last one, where the event has no index.
pub(super) fn block_index(
    index: &JsonLocation<'_>,
    reading: &ResponseReading,
) -> Result<Option<usize>, DialectError> {
    match index.value() {
        Some(_) => Ok(reading.draft.index_of(&Key::Number(index.expect_number()?))),
        None => Ok(reading.draft.len().checked_sub(1)),
    }
}

/// Adds a [delta](https://platform.claude.com/docs/en/build-with-claude/streaming#content-block-delta-types) to
/// its block. A text or thinking begins a block that has not begun.
pub(super) fn push_delta(
    delta: &JsonLocation<'_>,
    index: &JsonLocation<'_>,
    reading: &mut ResponseReading,
) -> Result<(), DialectError> {
    let has = |name: &'static str| delta.field(name).as_text().is_some();
    let kind = match delta.field("type").as_text() {
        None if has("partial_json") => "input_json_delta",
        None if has("thinking") => "thinking_delta",
        None if has("signature") => "signature_delta",
        None => {
            if has("text") {
                "text_delta"
            } else {
                delta.field("type").expect_text()?
            }
        }
        Some(kind) => kind,
    };
    let mut at = block_index(index, reading)?;
    if at.is_none() && matches!(kind, "text_delta" | "thinking_delta") {
        let name = kind.strip_suffix("_delta").unwrap_or_default();
        let block = ExactValue::Object(vec![
            ("type".into(), text_value(name)),
            (name.to_owned().into(), text_value("")),
        ]);
        begin_block(&index.with_value(&block), Some(index.expect_number()?), reading);
        at = block_index(index, reading)?;
    }
    let Some(part) = at.and_then(|at| reading.draft.get_mut(at)) else {
        return Err(index.error("the index of a block that has begun"));
    };
    match kind {
        // Used for calls and for native tools.
        "input_json_delta" => {
            let piece = delta.field("partial_json");
            let Some(piece) = piece.as_text() else {
                // The rest of the input is not the whole.
                let error = piece.error("a text");
                if let Some(call) = part.call {
                    reading.mark_call_contradictory(call, error);
                    return Ok(());
                }
                return Err(error);
            };
            part.json.push_str(piece);
            if let Some(partial_call) = part.call.and_then(|at| reading.partial_calls.get_mut(at)) {
                // The parts are the whole input, whatever the block began with.
                partial_call.value = partial_call.value.take().filter(|_| piece.trim().is_empty());
                partial_call.push_arguments_text(piece);
            }
            return Ok(());
        }
        "citations_delta" => {
            if let Some(citations) = part.value.entry("citations") {
                merge_delta(citations, &ExactValue::List(vec![delta.field("citation").to_owned()]));
            }
        }
        _ => {
            let ExactValue::Object(members) = &mut part.value else { return Ok(()) };
            let more = delta.members().filter(|(name, more)| *name != "type" && more.value().is_some());
            merge_members(members, more, |_, place, more| merge_delta(place, &more.to_owned()));
            if let Some(partial_call) = part.call.and_then(|at| reading.partial_calls.get_mut(at)) {
                partial_call.push_name(delta.field("name").as_text().unwrap_or_default());
            }
        }
    }
    reading.add_text(delta.field("text").as_text().unwrap_or_default());
    reading.add_reasoning(delta.field("thinking").as_text().unwrap_or_default());
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn an_event_without_a_type_is_known_by_its_members() {
        for (event, kind) in [
            (r#"{"type":"ping","content_block":{}}"#, Some("ping")),
            (r#"{"content_block":{},"index":0}"#, Some("content_block_start")),
            (r#"{"message":{}}"#, Some("message_start")),
            (r#"{"message":"x"}"#, None),
            (r#"{"delta":{},"index":0}"#, Some("content_block_delta")),
            (r#"{"delta":{}}"#, Some("message_delta")),
            (r#"{"index":0}"#, None),
            ("{}", None),
        ] {
            let event = ExactValue::read(event).unwrap();
            assert_eq!(event_kind(&JsonLocation::root(&event)).ok(), kind, "{event}");
        }
    }
}
