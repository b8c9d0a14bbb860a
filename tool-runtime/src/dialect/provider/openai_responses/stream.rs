//! The events of a streamed response.

use tool_core::internals::ExactValue;

use super::{
    items,
    reading::{
        CALL, CUSTOM_CALL, begin_call, complete_call, is_call, item_kind, keep_metadata, with_inferred_type,
    },
    stop::{FINISHED, read_stop},
};
use crate::dialect::{
    DialectError,
    draft::set_member,
    error::JsonLocation,
    partial_calls::{Key, PartialCalls},
    reading::ResponseReading,
};

/// Adds an event. A part of one that cannot be read is left out.
pub(super) fn push_event(
    event: &JsonLocation<'_>,
    reading: &mut ResponseReading,
) -> Result<(), DialectError> {
    let item = event.field("item");
    if let (Some(typed), Some(event_value)) = (with_inferred_type(&item), event.value()) {
        let mut typed_event = event_value.clone().into_owned();
        set_member(&mut typed_event, "item", typed);
        return push_event(&event.with_value(&typed_event), reading);
    }
    let kind = event.field("type");
    match kind.as_text() {
        Some("response.failed") => {
            reading.set_stop_reason(Some("failed"), FINISHED);
            return Err(event.field("response").field("error").provider_failure());
        }
        Some("error") => return Err(event.provider_failure()),
        Some(kind) => {
            if let Err(error) = read_event(kind, event, reading) {
                reading.record_unreadable_part(error);
            }
        }
        None => reading.record_unreadable_part(kind.error("a text")),
    }
    Ok(())
}

fn read_event(
    kind: &str,
    event: &JsonLocation<'_>,
    reading: &mut ResponseReading,
) -> Result<(), DialectError> {
    reading.set_identity(&event.field("response").field("id"), &event.field("response").field("model"));
    match kind {
        "response.output_item.added" => begin_item(event, reading)?,
        "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
            let at = call_of_event(event, &reading.partial_calls)?;
            let delta = event.field("delta");
            match (delta.as_text(), reading.partial_calls.get_mut(at)) {
                (Some(part), Some(partial_call)) => partial_call.push_arguments_text(part),
                // The rest of the arguments is not the whole.
                _ => reading.mark_call_contradictory(at, delta.error("a text")),
            }
        }
        "response.function_call_arguments.done" => {
            complete_arguments_text(event, "arguments", &mut reading.partial_calls)?;
        }
        "response.custom_tool_call_input.done" => {
            complete_arguments_text(event, "input", &mut reading.partial_calls)?
        }
        "response.output_item.done" => end_item(event, reading)?,
        "response.completed" | "response.incomplete" => {
            let response = event.field("response");
            if let Err(error) = end_items(&response, reading) {
                reading.record_unreadable_part(error);
            }
            reading.partial_calls.end_response();
            reading.set_usage(&response.field("usage"));
            keep_metadata(&response, reading);
            read_stop(&response, &response.field("status"), reading);
            let name = ExactValue::String(kind.trim_start_matches("response.").into());
            read_stop(&response, &event.field("type").with_value(&name), reading);
        }
        kind => items::push_item_part(kind, event, reading)?,
    }
    Ok(())
}

fn begin_item(event: &JsonLocation<'_>, reading: &mut ResponseReading) -> Result<(), DialectError> {
    let item = event.field("item");
    let partial_calls = &mut reading.partial_calls;
    let mut call = None;
    if is_call(&item)? {
        let begun = begun_call(event, partial_calls)?;
        if begun.is_none() {
            let at = begin_call(&item, output_index(event, partial_calls)?, partial_calls);
            if let Some(partial_call) = partial_calls.get_mut(at) {
                partial_call.open = true;
            }
            call = Some(at);
        }
        call = call.or(begun);
    }
    items::begin_item(event, call, reading);
    Ok(())
}

fn end_item(event: &JsonLocation<'_>, reading: &mut ResponseReading) -> Result<(), DialectError> {
    let item = event.field("item");
    let partial_calls = &mut reading.partial_calls;
    let mut call = None;
    if is_call(&item)? {
        // Some servers send no event for an item before it is done.
        let number = output_index(event, partial_calls)?;
        let at = known_call(&item, number, partial_calls)
            .unwrap_or_else(|| begin_call(&item, number, partial_calls));
        complete_call(&item, at, reading);
        call = Some(at);
    }
    items::end_item(event, call, reading);
    Ok(())
}

/// Returns the index of an item in the output; a new one where the server sends none.
pub(super) fn output_index(
    event: &JsonLocation<'_>,
    partial_calls: &PartialCalls,
) -> Result<u64, DialectError> {
    let index = event.field("output_index");
    if index.value().is_some() { index.expect_number() } else { Ok(partial_calls.next_number()) }
}

/// Returns the call of an item, if it has begun under the same number and id.
pub(super) fn begun_call(
    event: &JsonLocation<'_>,
    partial_calls: &PartialCalls,
) -> Result<Option<usize>, DialectError> {
    let id = event.field("item").field("call_id").as_call_id();
    let begun = partial_calls.index_of(&Key::Number(output_index(event, partial_calls)?));
    let is_same =
        |at: &usize| partial_calls.get(*at).is_some_and(|partial_call| partial_call.id.as_deref() == id);
    Ok(begun.filter(|at| id.is_some() && is_same(at)))
}

/// Returns the call of a completed item, if it has begun.
pub(super) fn known_call(
    item: &JsonLocation<'_>,
    number: u64,
    partial_calls: &PartialCalls,
) -> Option<usize> {
    let numbered = partial_calls.index_of(&Key::Number(number));
    let of = |at: usize| partial_calls.get(at).and_then(|partial_call| partial_call.id.as_deref());
    match item.field("call_id").as_call_id() {
        None => numbered.filter(|at| partial_calls.get(*at).is_some_and(|partial_call| !partial_call.done)),
        Some(id) => numbered
            .filter(|at| of(*at).is_none_or(|own| own == id))
            .or_else(|| partial_calls.index_of(&Key::Id(id.to_owned()))),
    }
}

/// Reads the items of a response that has ended, including calls without events, or without their last events.
pub(super) fn end_items(
    response: &JsonLocation<'_>,
    reading: &mut ResponseReading,
) -> Result<(), DialectError> {
    let had_events = reading.partial_calls.last_index().is_some();
    let listed = response.field("output").optional_items()?;
    let typed: Vec<_> = listed.iter().map(with_inferred_type).collect();
    let mut items = Vec::new();
    for (number, (item, typed)) in (0..).zip(listed.iter().zip(&typed)) {
        let item = typed.as_ref().map_or_else(|| item.clone(), |typed| item.with_value(typed));
        match item_kind(&item) {
            Ok(None) => continue,
            Ok(Some(CALL | CUSTOM_CALL)) => {}
            Ok(Some(_)) => {
                items.push((item, None));
                continue;
            }
            Err(error) => {
                reading.record_unreadable_part(error);
                continue;
            }
        }
        let has_id = item.field("call_id").as_call_id().is_some();
        // Without an id, the item cannot be matched with a call that has begun.
        if had_events && !has_id {
            continue;
        }
        let at = match known_call(&item, number, &reading.partial_calls) {
            Some(at)
                if reading
                    .partial_calls
                    .get(at)
                    .is_some_and(|partial_call| !partial_call.open && !partial_call.has_no_arguments()) =>
            {
                at
            }
            found => {
                let at = found.unwrap_or_else(|| begin_call(&item, number, &mut reading.partial_calls));
                complete_call(&item, at, reading);
                at
            }
        };
        items.push((item, Some(at)));
    }
    items::end_all_items(&items, reading);
    Ok(())
}

/// Returns the call that a part of arguments belongs to: by the number of its item, and by the item's id where
/// several items have the number. Some servers change the id of an item with each event.
pub(super) fn call_of_event(
    event: &JsonLocation<'_>,
    partial_calls: &PartialCalls,
) -> Result<usize, DialectError> {
    let (index, item) = (event.field("output_index"), event.field("item_id"));
    let by_item = item.as_text().and_then(|item| partial_calls.index_of(&Key::Item(item.to_owned())));
    let at = match index.value() {
        None => by_item,
        Some(_) => {
            let number = index.expect_number()?;
            let is_numbered =
                |at: &usize| partial_calls.get(*at).is_some_and(|partial_call| partial_call.number == number);
            by_item.filter(is_numbered).or_else(|| partial_calls.index_of(&Key::Number(number)))
        }
    };
    at.ok_or_else(|| index.error("the index of a call that has begun"))
}

/// Reads a text that was sent in parts and is repeated as a whole.
pub(super) fn complete_arguments_text(
    event: &JsonLocation<'_>,
    field: &'static str,
    partial_calls: &mut PartialCalls,
) -> Result<(), DialectError> {
    let text = event.field(field).expect_text()?;
    let at = call_of_event(event, partial_calls)?;
    let Some(partial_call) = partial_calls.get_mut(at) else { return Ok(()) };
    if !text.is_empty() {
        partial_call.replace_arguments_text(text);
    }
    partial_call.open = false;
    Ok(())
}
