//! A whole response.

use tool_core::__private::ExactValue;

use super::{items, stop::stop};
use crate::dialect::{
    DialectError,
    draft::{put, text},
    error::At,
    partial_calls::{Key, Slot, Slots},
    reading::Reading,
};

pub(super) fn read(response: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    reading.identify(&response.field("id"), &response.field("model"));
    for item in response.field("output").items()? {
        let typed = with_type(&item);
        let item = typed.as_ref().map_or_else(|| item.clone(), |typed| item.with(typed));
        let mut call = None;
        match item_kind(&item) {
            Ok(Some(CALL | CUSTOM_CALL)) => {
                let at = begin(&item, reading.slots.next_number(), &mut reading.slots);
                complete_call(&item, at, reading);
                call = Some(at);
            }
            Ok(_) => {}
            Err(error) => {
                reading.skip(error);
                continue;
            }
        }
        items::read(&item, call, reading);
    }
    reading.count(&response.field("usage"));
    stop(response, &response.field("status"), reading);
    Ok(())
}

/// The types of items that are calls.
pub(super) const CALL: &str = "function_call";
pub(super) const CUSTOM_CALL: &str = "custom_tool_call";

/// Returns the type of an item; `None` for the `null` items of some servers, which the provider's SDK ignores.
pub(super) fn item_kind<'v>(item: &At<'v>) -> Result<Option<&'v str>, DialectError> {
    if item.value().is_none() { Ok(None) } else { item.field("type").text().map(Some) }
}

pub(super) fn is_call(item: &At<'_>) -> Result<bool, DialectError> {
    Ok(matches!(item_kind(item)?, Some(CALL | CUSTOM_CALL)))
}

/// Returns an item without a type with the type that its members tell.
pub(super) fn with_type(item: &At<'_>) -> Option<ExactValue<'static>> {
    let value = item.value()?;
    if !matches!(value, ExactValue::Object(_)) || item.field("type").as_text().is_some() {
        return None;
    }
    let has = |name: &str| item.field(name).value().is_some();
    let kind = match () {
        () if has("output") => return None,
        () if has("name") && has("arguments") => CALL,
        () if has("name") && has("call_id") && has("input") => CUSTOM_CALL,
        () if has("content") && item.field("role").as_text().is_some() => "message",
        () if has("summary") => "reasoning",
        () => return None,
    };
    let mut typed = value.clone().into_owned();
    put(&mut typed, "type", text(kind));
    Some(typed)
}

/// Begins the call of an item.
pub(super) fn begin(item: &At<'_>, number: u64, slots: &mut Slots) -> usize {
    let id = item.field("call_id").call_id().map(str::to_owned);
    let custom = item.field("type").is(CUSTOM_CALL);
    let mut slot = Slot { number, id, custom, ..Slot::default() };
    slot.push_name(item.field("name").as_text().unwrap_or_default());
    let at = slots.begin(slot);
    if let Some(item) = item.field("id").as_text() {
        slots.know(at, Key::Item(item.to_owned()));
    }
    at
}

/// Updates a call from its completed item: its name, its arguments, which some servers send nowhere else, and its status.
pub(super) fn complete_call(item: &At<'_>, at: usize, reading: &mut Reading) {
    let id = item.field("call_id").call_id();
    let Some(slot) = reading.slots.get_mut(at) else { return };
    slot.id = slot.id.take().or_else(|| id.map(str::to_owned));
    let name = item.field("name");
    if let Some(name) = name.call_name()
        && !slot.complete_name(name)
    {
        slot.is_contradictory = true;
    }
    slot.done = true;
    let written = item.field(if slot.custom { "input" } else { "arguments" });
    slot.complete_arguments(&written);
    let status = item.field("status");
    // A status that is no text is none of a completed call.
    slot.open = status.value().is_some_and(|it| !matches!(it.as_str(), Some("" | "completed")));
    slot.status = status.as_text().filter(|_| slot.open).map(str::to_owned);
}
