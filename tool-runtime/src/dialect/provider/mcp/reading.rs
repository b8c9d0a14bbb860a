//! A whole response.

use tool_core::internals::ExactValue;

use crate::dialect::{
    DialectError,
    error::JsonLocation,
    partial_calls::{PartialCall, PartialCalls},
    stop::Stop,
};

/// Reads a `tools/call` request, several of them, or the contents of `params`. There is no stop reason: each
/// request is complete.
pub(super) fn read_response(
    message: &JsonLocation<'_>,
    partial_calls: &mut PartialCalls,
) -> Result<(), DialectError> {
    partial_calls.set_stop(Stop::Finished);
    match message.value() {
        Some(ExactValue::List(_)) => {
            message.expect_items()?.iter().try_for_each(|request| read_call_request(request, partial_calls))
        }
        _ => read_call_request(message, partial_calls),
    }
}

pub(super) fn read_call_request(
    request: &JsonLocation<'_>,
    partial_calls: &mut PartialCalls,
) -> Result<(), DialectError> {
    let Some((id, params)) = id_and_parameters(request)? else { return Ok(()) };
    let name = params.field("name").expect_name()?.to_owned();
    let mut partial_call =
        PartialCall { number: partial_calls.next_number(), id, name, ..PartialCall::default() };
    let arguments = params.field("arguments");
    match arguments.value() {
        None | Some(ExactValue::Object(_)) => partial_call.add_arguments(&arguments),
        // The empty object of languages without a type of its own for objects.
        Some(ExactValue::List(items)) if items.is_empty() => {}
        Some(_) => return Err(arguments.error("an object")),
    }
    if let Some(meta @ ExactValue::Object(_)) = params.field("_meta").value() {
        partial_call.meta = serde_json::from_str(&meta.to_string()).ok();
    }
    partial_calls.open_call(partial_call);
    Ok(())
}

/// Returns the id and the parameters of a request, unless it has another method.
pub(super) fn id_and_parameters<'v>(
    request: &JsonLocation<'v>,
) -> Result<Option<(Option<String>, JsonLocation<'v>)>, DialectError> {
    let method = request.expect_object()?.field("method");
    if method.value().is_none() && request.field("params").value().is_none() {
        return Ok(Some((None, request.clone())));
    }
    if method.expect_text()? != "tools/call" {
        return Ok(None);
    }
    let id = request.field("id");
    let id = match id.value() {
        None => None,
        Some(ExactValue::String(text) | ExactValue::Number(text)) => Some(text.to_string()),
        Some(_) => return Err(id.error("a text or a number")),
    };
    let params = request.field("params");
    params.expect_object()?;
    Ok(Some((id, params)))
}
