//! The events of a streamed response.

use tool_core::internals::ExactValue;

use super::{
    message_assembly,
    reading::{CallPart, call_items, is_function_call, keep_metadata, new_legacy_function_call},
    stop::FINISHED,
};
use crate::dialect::{
    DialectError,
    error::JsonLocation,
    partial_calls::{Key, PartialCalls},
    provider::refuse_failure,
    reading::ResponseReading,
};

pub(super) fn push_event(
    event: &JsonLocation<'_>,
    reading: &mut ResponseReading,
) -> Result<(), DialectError> {
    reading.set_identity(&event.field("id"), &event.field("model"));
    reading.set_usage(&event.field("usage"));
    keep_metadata(event, reading);
    for choice in event.field("choices").optional_items()? {
        let delta = choice.field("delta");
        let (parts, function) = (delta.field("tool_calls"), delta.field("function_call"));
        let index = choice.field("index");
        if index.value().and_then(ExactValue::as_u64).unwrap_or(0) != 0 {
            if parts.value().is_some() || function.value().is_some() {
                return Err(index.error("calls in the first choice only"));
            }
            continue;
        }
        refuse_failure(&choice)?;
        message_assembly::push_members(&delta, &mut reading.draft);
        message_assembly::emit_text(&delta, reading);
        let is_function = reading
            .partial_calls
            .last_index()
            .and_then(|at| reading.partial_calls.get(at))
            .map(is_function_call);
        for part in call_items(&parts, reading) {
            if is_function == Some(true) {
                return Err(parts.error("calls here or in `function_call`, and not in both"));
            }
            let begun = reading.partial_calls.len();
            let at = push_part(&CallPart::read(&part), &mut reading.partial_calls);
            message_assembly::push_call_part_without_arguments(
                &part,
                at,
                reading.partial_calls.len() > begun,
                &mut reading.draft,
            );
        }
        if function.value().is_some() {
            push_function_call(&function, &mut reading.partial_calls)?;
        }
        if reading.read_stop_reason(&choice.field("finish_reason"), FINISHED) {
            reading.partial_calls.end_response();
        }
    }
    Ok(())
}

/// Adds a part of a call, or begins one; returns its index.
pub(super) fn push_part(part: &CallPart<'_>, partial_calls: &mut PartialCalls) -> usize {
    let at = match part.find_call(partial_calls) {
        Some(at) => at,
        None => {
            let number = part.number.unwrap_or_else(|| partial_calls.next_number());
            let mut partial_call = part.begin_call(number);
            let before = partial_calls.index_of(&Key::Number(number)).and_then(|at| partial_calls.get(at));
            let name = part.name.unwrap_or_default();
            partial_call.repeated = part.id.is_none() && before.is_some_and(|before| before.name == name);
            partial_calls.open_call(partial_call)
        }
    };
    if let (Some(id), Some(None)) = (part.id, partial_calls.get(at).map(|partial_call| &partial_call.id)) {
        partial_calls.insert_key(at, Key::Id(id.to_owned()));
        if let Some(partial_call) = partial_calls.get_mut(at) {
            partial_call.id = Some(id.to_owned());
        }
    }
    if let Some(partial_call) = partial_calls.get_mut(at) {
        partial_call.push_name(part.name_part);
        partial_call.add_arguments(&part.arguments);
    }
    at
}

/// Adds a part of the legacy `function_call` of a message.
pub(super) fn push_function_call(
    part: &JsonLocation<'_>,
    partial_calls: &mut PartialCalls,
) -> Result<(), DialectError> {
    let at = match partial_calls.last_index() {
        Some(at) => at,
        None => partial_calls.open_call(new_legacy_function_call()),
    };
    let Some(partial_call) = partial_calls.get_mut(at) else { return Ok(()) };
    if !is_function_call(partial_call) {
        return Err(part.error("calls in `tool_calls` or here, and not in both"));
    }
    partial_call.push_name(part.field("name").as_text().unwrap_or_default());
    partial_call.add_arguments(&part.field("arguments"));
    Ok(())
}
