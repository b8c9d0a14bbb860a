//! The events of a streamed response.

use tool_core::__private::ExactValue;

use super::{
    assembly,
    reading::{Part, call_items, function_call, is_function_call},
    stop::FINISHED,
};
use crate::dialect::{
    DialectError,
    error::At,
    partial_calls::{Key, Slots},
    provider::refuse_failure,
    reading::Reading,
};

pub(super) fn push(event: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    reading.identify(&event.field("id"), &event.field("model"));
    reading.count(&event.field("usage"));
    for choice in event.field("choices").any_items()? {
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
        assembly::push_members(&delta, &mut reading.draft);
        assembly::tell(&delta, reading);
        let is_function = reading.slots.last().and_then(|at| reading.slots.get(at)).map(is_function_call);
        for part in call_items(&parts, reading) {
            if is_function == Some(true) {
                return Err(parts.error("calls here or in `function_call`, and not in both"));
            }
            let begun = reading.slots.len();
            let at = push_part(&Part::of(&part), &mut reading.slots);
            assembly::push_piece(&part, at, reading.slots.len() > begun, &mut reading.draft);
        }
        if function.value().is_some() {
            push_function_call(&function, &mut reading.slots)?;
        }
        if reading.stop_at(&choice.field("finish_reason"), FINISHED) {
            reading.slots.end();
        }
    }
    Ok(())
}

/// Adds a part of a call, or begins one; returns its index.
pub(super) fn push_part(part: &Part<'_>, slots: &mut Slots) -> usize {
    let at = match part.place(slots) {
        Some(at) => at,
        None => {
            let number = part.number.unwrap_or_else(|| slots.next_number());
            let mut slot = part.begun(number);
            let before = slots.find(&Key::Number(number)).and_then(|at| slots.get(at));
            let name = part.name.unwrap_or_default();
            slot.repeated = part.id.is_none() && before.is_some_and(|before| before.name == name);
            slots.begin(slot)
        }
    };
    if let (Some(id), Some(None)) = (part.id, slots.get(at).map(|slot| &slot.id)) {
        slots.know(at, Key::Id(id.to_owned()));
        if let Some(slot) = slots.get_mut(at) {
            slot.id = Some(id.to_owned());
        }
    }
    if let Some(slot) = slots.get_mut(at) {
        slot.push_name(part.name_part);
        slot.set_arguments(&part.arguments);
    }
    at
}

/// Adds a part of the legacy `function_call` of a message.
pub(super) fn push_function_call(part: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    let at = match slots.last() {
        Some(at) => at,
        None => slots.begin(function_call()),
    };
    let Some(slot) = slots.get_mut(at) else { return Ok(()) };
    if !is_function_call(slot) {
        return Err(part.error("calls in `tool_calls` or here, and not in both"));
    }
    slot.push_name(part.field("name").as_text().unwrap_or_default());
    slot.set_arguments(&part.field("arguments"));
    Ok(())
}
