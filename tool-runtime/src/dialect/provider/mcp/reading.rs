//! A whole response.

use tool_core::__private::ExactValue;

use crate::dialect::{
    DialectError,
    error::At,
    partial_calls::{Slot, Slots},
    stop::Stop,
};

/// Reads a `tools/call` request, several of them, or the contents of `params`. There is no stop reason: each
/// request is complete.
pub(super) fn read(message: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    slots.stop(Stop::Finished);
    match message.value() {
        Some(ExactValue::List(_)) => {
            message.items()?.iter().try_for_each(|request| read_request(request, slots))
        }
        _ => read_request(message, slots),
    }
}

pub(super) fn read_request(request: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    let Some((id, params)) = request_of(request)? else { return Ok(()) };
    let name = params.field("name").name()?.to_owned();
    let mut slot = Slot { number: slots.next_number(), id, name, ..Slot::default() };
    let arguments = params.field("arguments");
    match arguments.value() {
        None | Some(ExactValue::Object(_)) => slot.set_arguments(&arguments),
        // The empty object of languages without a type of its own for objects.
        Some(ExactValue::List(items)) if items.is_empty() => {}
        Some(_) => return Err(arguments.error("an object")),
    }
    if let Some(meta @ ExactValue::Object(_)) = params.field("_meta").value() {
        slot.meta = serde_json::from_str(&meta.to_string()).ok();
    }
    slots.begin(slot);
    Ok(())
}

/// Returns the id and the parameters of a request, unless it has another method.
pub(super) fn request_of<'v>(request: &At<'v>) -> Result<Option<(Option<String>, At<'v>)>, DialectError> {
    let method = request.object()?.field("method");
    if method.value().is_none() && request.field("params").value().is_none() {
        return Ok(Some((None, request.clone())));
    }
    if method.text()? != "tools/call" {
        return Ok(None);
    }
    let id = request.field("id");
    let id = match id.value() {
        None => None,
        Some(ExactValue::String(text) | ExactValue::Number(text)) => Some(text.to_string()),
        Some(_) => return Err(id.error("a text or a number")),
    };
    let params = request.field("params");
    params.object()?;
    Ok(Some((id, params)))
}
