//! The events of a streamed response.

use tool_core::__private::ExactValue;

use super::{
    items,
    reading::{CALL, CUSTOM_CALL, begin, complete_call, is_call, item_kind, with_type},
    stop::{FINISHED, stop},
};
use crate::dialect::{
    DialectError,
    draft::put,
    error::At,
    partial_calls::{Key, Slots},
    reading::Reading,
};

/// Adds an event. A part of one that cannot be read is left out.
pub(super) fn push(event: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    let item = event.field("item");
    if let (Some(typed), Some(event_value)) = (with_type(&item), event.value()) {
        let mut typed_event = event_value.clone().into_owned();
        put(&mut typed_event, "item", typed);
        return push(&event.with(&typed_event), reading);
    }
    let kind = event.field("type");
    match kind.as_text() {
        Some("response.failed") => {
            reading.stop(Some("failed"), FINISHED);
            return Err(event.field("response").field("error").failure());
        }
        Some("error") => return Err(event.failure()),
        Some(kind) => {
            if let Err(error) = push_event(kind, event, reading) {
                reading.skip(error);
            }
        }
        None => reading.skip(kind.error("a text")),
    }
    Ok(())
}

pub(super) fn push_event(kind: &str, event: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    reading.identify(&event.field("response").field("id"), &event.field("response").field("model"));
    let slots = &mut reading.slots;
    match kind {
        "response.output_item.added" => {
            let item = event.field("item");
            let mut call = None;
            if is_call(&item)? {
                let at = match begun(event, slots)? {
                    Some(at) => at,
                    None => {
                        let at = begin(&item, number(event, slots)?, slots);
                        slots.get_mut(at).into_iter().for_each(|slot| slot.open = true);
                        at
                    }
                };
                call = Some(at);
            }
            items::begin(event, call, reading);
        }
        "response.function_call_arguments.delta" | "response.custom_tool_call_input.delta" => {
            let delta = event.field("delta");
            let at = slot(event, slots)?;
            match (delta.as_text(), slots.get_mut(at)) {
                (Some(part), Some(slot)) => slot.push_text(part),
                // The rest of the arguments is not the whole; a later event may have it.
                _ => return Err(delta.error("a text")),
            }
        }
        "response.function_call_arguments.done" => whole(event, "arguments", slots)?,
        "response.custom_tool_call_input.done" => whole(event, "input", slots)?,
        "response.output_item.done" => {
            let item = event.field("item");
            let mut call = None;
            if is_call(&item)? {
                // Some servers send no event for an item before it is done.
                let number = number(event, slots)?;
                let at = known(&item, number, slots).unwrap_or_else(|| begin(&item, number, slots));
                complete_call(&item, at, reading);
                call = Some(at);
            }
            items::end(event, call, reading);
        }
        "response.completed" | "response.incomplete" => {
            let response = event.field("response");
            if let Err(error) = end(&response, reading) {
                reading.skip(error);
            }
            reading.slots.end();
            reading.count(&response.field("usage"));
            stop(&response, &response.field("status"), reading);
            let name = ExactValue::String(kind.trim_start_matches("response.").into());
            stop(&response, &event.field("type").with(&name), reading);
        }
        kind => items::push(kind, event, reading)?,
    }
    Ok(())
}

/// Returns the index of an item in the output; a new one where the server sends none.
pub(super) fn number(event: &At<'_>, slots: &Slots) -> Result<u64, DialectError> {
    let index = event.field("output_index");
    if index.value().is_some() { index.number() } else { Ok(slots.next_number()) }
}

/// Returns the call of an item, if it has begun under the same number and id.
pub(super) fn begun(event: &At<'_>, slots: &Slots) -> Result<Option<usize>, DialectError> {
    let id = event.field("item").field("call_id").call_id();
    let begun = slots.find(&Key::Number(number(event, slots)?));
    let is_same = |at: &usize| slots.get(*at).is_some_and(|slot| slot.id.as_deref() == id);
    Ok(begun.filter(|at| id.is_some() && is_same(at)))
}

/// Returns the call of a completed item, if it has begun.
pub(super) fn known(item: &At<'_>, number: u64, slots: &Slots) -> Option<usize> {
    let numbered = slots.find(&Key::Number(number));
    let of = |at: usize| slots.get(at).and_then(|slot| slot.id.as_deref());
    match item.field("call_id").call_id() {
        None => numbered.filter(|at| slots.get(*at).is_some_and(|slot| !slot.done)),
        Some(id) => numbered
            .filter(|at| of(*at).is_none_or(|own| own == id))
            .or_else(|| slots.find(&Key::Id(id.to_owned()))),
    }
}

/// Reads the items of a response that has ended, including calls without events, or without their last events.
pub(super) fn end(response: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    let had_events = reading.slots.last().is_some();
    let listed = response.field("output").any_items()?;
    let typed: Vec<_> = listed.iter().map(with_type).collect();
    let mut items = Vec::new();
    for (number, (item, typed)) in (0..).zip(listed.iter().zip(&typed)) {
        let item = typed.as_ref().map_or_else(|| item.clone(), |typed| item.with(typed));
        match item_kind(&item) {
            Ok(None) => continue,
            Ok(Some(CALL | CUSTOM_CALL)) => {}
            Ok(Some(_)) => {
                items.push((item, None));
                continue;
            }
            Err(error) => {
                reading.skip(error);
                continue;
            }
        }
        let has_id = item.field("call_id").call_id().is_some();
        // Without an id, the item cannot be matched with a call that has begun.
        if had_events && !has_id {
            continue;
        }
        let at = match known(&item, number, &reading.slots) {
            Some(at) if reading.slots.get(at).is_some_and(|slot| !slot.open && !slot.is_blank()) => at,
            found => {
                let at = found.unwrap_or_else(|| begin(&item, number, &mut reading.slots));
                complete_call(&item, at, reading);
                at
            }
        };
        items.push((item, Some(at)));
    }
    items::end_all(&items, reading);
    Ok(())
}

/// Returns the call that a part of arguments belongs to: by the number of its item, and by the item's id where
/// several items have the number. Some servers change the id of an item with each event.
pub(super) fn slot(event: &At<'_>, slots: &Slots) -> Result<usize, DialectError> {
    let (index, item) = (event.field("output_index"), event.field("item_id"));
    let by_item = item.as_text().and_then(|item| slots.find(&Key::Item(item.to_owned())));
    let at = match index.value() {
        None => by_item,
        Some(_) => {
            let number = index.number()?;
            let is_numbered = |at: &usize| slots.get(*at).is_some_and(|slot| slot.number == number);
            by_item.filter(is_numbered).or_else(|| slots.find(&Key::Number(number)))
        }
    };
    at.ok_or_else(|| index.error("the index of a call that has begun"))
}

/// Reads a text that was sent in parts and is repeated as a whole.
pub(super) fn whole(event: &At<'_>, field: &str, slots: &mut Slots) -> Result<(), DialectError> {
    let text = event.field(field).text()?;
    let at = slot(event, slots)?;
    let Some(slot) = slots.get_mut(at) else { return Ok(()) };
    if !text.is_empty() {
        slot.set_text(text);
    }
    slot.open = false;
    Ok(())
}
