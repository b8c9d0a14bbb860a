//! A whole response.

use tool_core::internals::ExactValue;

use super::{items, stop::read_stop};
use crate::dialect::{
    DialectError,
    draft::{set_member, text_value},
    error::JsonLocation,
    partial_calls::{Key, PartialCall, PartialCalls},
    reading::ResponseReading,
};

pub(super) fn read_response(
    response: &JsonLocation<'_>,
    reading: &mut ResponseReading,
) -> Result<(), DialectError> {
    reading.set_identity(&response.field("id"), &response.field("model"));
    for item in response.field("output").expect_items()? {
        let typed = with_inferred_type(&item);
        let item = typed.as_ref().map_or_else(|| item.clone(), |typed| item.with_value(typed));
        let mut call = None;
        match item_kind(&item) {
            Ok(Some(CALL | CUSTOM_CALL)) => {
                let at = begin_call(&item, reading.partial_calls.next_number(), &mut reading.partial_calls);
                complete_call(&item, at, reading);
                call = Some(at);
            }
            Ok(_) => {}
            Err(error) => {
                reading.record_unreadable_part(error);
                continue;
            }
        }
        items::read_item(&item, call, reading);
    }
    reading.set_usage(&response.field("usage"));
    keep_metadata(response, reading);
    read_stop(response, &response.field("status"), reading);
    Ok(())
}

/// Keeps the metadata of a response, whose other members repeat the request.
pub(super) fn keep_metadata(response: &JsonLocation<'_>, reading: &mut ResponseReading) {
    reading.keep_members_if(response, |name| name == "metadata");
}

/// The types of items that are calls.
pub(super) const CALL: &str = "function_call";
pub(super) const CUSTOM_CALL: &str = "custom_tool_call";

/// Returns the type of an item; `None` for the `null` items of some servers, which the provider's SDK ignores.
pub(super) fn item_kind<'v>(item: &JsonLocation<'v>) -> Result<Option<&'v str>, DialectError> {
    if item.value().is_none() { Ok(None) } else { item.field("type").expect_text().map(Some) }
}

pub(super) fn is_call(item: &JsonLocation<'_>) -> Result<bool, DialectError> {
    Ok(matches!(item_kind(item)?, Some(CALL | CUSTOM_CALL)))
}

/// Returns an item without a type with the type that its members tell.
pub(super) fn with_inferred_type(item: &JsonLocation<'_>) -> Option<ExactValue<'static>> {
    let value = item.value()?;
    if !matches!(value, ExactValue::Object(_)) || item.field("type").as_text().is_some() {
        return None;
    }
    let has = |name: &'static str| item.field(name).value().is_some();
    let kind = match () {
        () if has("output") => return None,
        () if has("name") && has("arguments") => CALL,
        () if has("name") && has("call_id") && has("input") => CUSTOM_CALL,
        () if has("content") && item.field("role").as_text().is_some() => "message",
        () if has("summary") => "reasoning",
        () => return None,
    };
    let mut typed = value.clone().into_owned();
    set_member(&mut typed, "type", text_value(kind));
    Some(typed)
}

/// Begins the call of an item.
pub(super) fn begin_call(item: &JsonLocation<'_>, number: u64, partial_calls: &mut PartialCalls) -> usize {
    let id = item.field("call_id").as_call_id().map(str::to_owned);
    let custom = item.field("type").has_text(CUSTOM_CALL);
    let mut partial_call = PartialCall { number, id, custom, ..PartialCall::default() };
    partial_call.push_name(item.field("name").as_text().unwrap_or_default());
    let at = partial_calls.open_call(partial_call);
    if let Some(item) = item.field("id").as_text() {
        partial_calls.insert_key(at, Key::Item(item.to_owned()));
    }
    at
}

/// Updates a call from its completed item: its name, its arguments, which some servers send nowhere else, and its status.
pub(super) fn complete_call(item: &JsonLocation<'_>, at: usize, reading: &mut ResponseReading) {
    let id = item.field("call_id").as_call_id();
    let Some(partial_call) = reading.partial_calls.get_mut(at) else { return };
    partial_call.id = partial_call.id.take().or_else(|| id.map(str::to_owned));
    let name = item.field("name");
    if let Some(name) = name.as_call_name()
        && !partial_call.complete_name(name)
    {
        partial_call.is_contradictory = true;
    }
    partial_call.done = true;
    let written = item.field(if partial_call.custom { "input" } else { "arguments" });
    partial_call.complete_arguments(&written);
    let status = item.field("status");
    // A status that is no text is none of a completed call.
    partial_call.open = status.value().is_some_and(|it| !matches!(it.as_str(), Some("" | "completed")));
    partial_call.status = status.as_text().filter(|_| partial_call.open).map(str::to_owned);
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn an_item_without_a_type_is_known_by_its_members() {
        for (item, kind) in [
            (r#"{"name":"add","arguments":"{}"}"#, Some(CALL)),
            (r#"{"name":"add","call_id":"1","input":"x"}"#, Some(CUSTOM_CALL)),
            (r#"{"content":[],"role":"assistant"}"#, Some("message")),
            (r#"{"summary":[]}"#, Some("reasoning")),
            (r#"{"type":null,"summary":[]}"#, Some("reasoning")),
            (r#"{"type":"later","summary":[]}"#, None),
            (r#"{"output":"x","name":"add","arguments":"{}"}"#, None),
            (r#"{"name":"add"}"#, None),
            (r#"{"arguments":"{}"}"#, None),
            (r#"{"name":"add","call_id":"1"}"#, None),
            (r#"{"name":"add","input":"x"}"#, None),
            (r#"{"call_id":"1","input":"x"}"#, None),
            (r#"{"content":[]}"#, None),
            (r#"{"role":"assistant"}"#, None),
            (r#"{"content":[],"role":1}"#, None),
            (r#"{"name":"add","arguments":null}"#, None),
            ("{}", None),
            ("[]", None),
            ("null", None),
        ] {
            let value = ExactValue::read(item).unwrap();
            let typed = with_inferred_type(&JsonLocation::root(&value));
            let found = typed.as_ref().and_then(|it| it.get("type")).and_then(ExactValue::as_str);
            assert_eq!(found, kind, "{item}");
        }
    }

    #[test]
    fn a_completed_item_completes_its_call() {
        let complete = |begun: &str, completed: &str| {
            let (begun, completed) = (ExactValue::read(begun).unwrap(), ExactValue::read(completed).unwrap());
            let mut reading = ResponseReading::default();
            let at = begin_call(&JsonLocation::root(&begun), 3, &mut reading.partial_calls);
            complete_call(&JsonLocation::root(&completed), at, &mut reading);
            let call = reading.partial_calls.get(at).unwrap();
            assert!(call.done && call.number == 3);
            (
                format!("{} {}", call.id.as_deref().unwrap_or("-"), call.name),
                call.received_arguments().to_string(),
                call.open,
                call.status.clone(),
                call.is_contradictory,
            )
        };
        let begun = r#"{"type":"function_call","id":"i","call_id":"c","name":"add"}"#;
        for (completed, id_and_name, arguments, status, is_contradictory) in [
            (r#"{"arguments":"{}","status":"completed"}"#, "c add", r#""{}""#, None, false),
            (
                r#"{"call_id":"d","name":"add_one","arguments":"{}","status":""}"#,
                "c add_one",
                r#""{}""#,
                None,
                false,
            ),
            (r#"{"name":"draw","arguments":"{}"}"#, "c add", r#""{}""#, None, true),
            (r#"{"arguments":"{","status":"incomplete"}"#, "c add", r#""{""#, Some("incomplete"), false),
            (r#"{"input":"x"}"#, "c add", r#""""#, None, false),
        ] {
            let (found, text, open, state, contradicts) = complete(begun, completed);
            assert_eq!((&*found, &*text), (id_and_name, arguments), "{completed}");
            assert_eq!(
                (open, state.as_deref(), contradicts),
                (status.is_some(), status, is_contradictory),
                "{completed}"
            );
        }
        let odd = complete(begun, r#"{"arguments":"{}","status":7}"#);
        assert_eq!((odd.2, odd.3), (true, None));
        let custom = complete(
            r#"{"type":"custom_tool_call","name":"run"}"#,
            r#"{"call_id":"c","input":"x","arguments":"y"}"#,
        );
        assert_eq!((&*custom.0, &*custom.1), ("c run", r#""x""#));
    }
}
