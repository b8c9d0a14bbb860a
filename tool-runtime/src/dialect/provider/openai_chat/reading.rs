//! A whole response.

use tool_core::{CallId, internals::ExactValue};

use super::{message_assembly, stop::FINISHED};
use crate::dialect::{
    DialectError,
    draft::{MessagePart, set_member},
    error::JsonLocation,
    partial_calls::{Key, PartialCall, PartialCalls},
    provider::refuse_failure,
    reading::ResponseReading,
};

pub(super) fn read_response(
    response: &JsonLocation<'_>,
    reading: &mut ResponseReading,
) -> Result<(), DialectError> {
    reading.set_identity(&response.field("id"), &response.field("model"));
    reading.set_usage(&response.field("usage"));
    keep_metadata(response, reading);
    let choices = response.field("choices").expect_items()?;
    let is_only = choices.len() == 1;
    for choice in choices {
        refuse_failure(&choice)?;
        let message = choice.field("message");
        if let Err(error) = message.expect_object() {
            // Nothing of the response could be read.
            if is_only {
                return Err(error);
            }
            reading.record_unreadable_part(error);
            continue;
        }
        let listed = message.field("tool_calls");
        let function = message.field("function_call");
        let calls = call_items(&listed, reading);
        let has_calls = !calls.is_empty() || function.value().is_some();
        // Choices are alternatives: running the calls of all of them would repeat every action.
        if has_calls && reading.partial_calls.last_index().is_some() {
            return Err(listed.error("calls in one choice only"));
        }
        if has_calls && !calls.is_empty() && function.value().is_some() {
            // Both may contain the same call.
            return Err(function.error("calls in `tool_calls` or here, and not in both"));
        }
        // The message is the first choice, or the one with calls.
        if !has_calls && !reading.draft.base.is_empty() {
            continue;
        }
        reading.restart_message();
        reading.draft.add_message_members(&message, "tool_calls");
        message_assembly::emit_text(&message, reading);
        for call in calls {
            let at = read_call(&call, &mut reading.partial_calls);
            let mut own =
                call.expect_object().map_or_else(|_| ExactValue::Object(Vec::new()), |call| call.to_owned());
            nest_members(&mut own);
            reading.draft.push(MessagePart::from_call(own, at));
        }
        if function.value().is_some() {
            let mut partial_call = new_legacy_function_call();
            partial_call.push_name(function.field("name").as_text().unwrap_or_default());
            partial_call.add_arguments(&function.field("arguments"));
            reading.partial_calls.open_call(partial_call);
        }
        reading.read_stop_reason(&choice.field("finish_reason"), FINISHED);
    }
    Ok(())
}

/// Keeps the citations and other metadata of a response, which compatible servers add.
pub(super) fn keep_metadata(response: &JsonLocation<'_>, reading: &mut ResponseReading) {
    let read = [
        "choices",
        "created",
        "error",
        "id",
        "model",
        "object",
        "obfuscation",
        "provider",
        "service_tier",
        "system_fingerprint",
        "timings",
        "usage",
    ];
    reading.keep_members_except(response, &read);
}

/// Returns the calls of a list that may be absent, or a single call. Items without content are no calls, and neither is
/// any other value.
pub(super) fn call_items<'v>(
    calls: &JsonLocation<'v>,
    reading: &mut ResponseReading,
) -> Vec<JsonLocation<'v>> {
    match calls.value() {
        None => Vec::new(),
        Some(ExactValue::Object(call)) if !call.is_empty() => vec![calls.clone()],
        Some(ExactValue::Object(_)) => Vec::new(),
        Some(_) => match calls.expect_items() {
            Ok(items) => items.into_iter().filter(|call| call.value().is_some()).collect(),
            Err(error) => {
                reading.record_unreadable_part(error);
                Vec::new()
            }
        },
    }
}

pub(super) fn read_call(call: &JsonLocation<'_>, partial_calls: &mut PartialCalls) -> usize {
    let part = CallPart::read(call);
    let mut partial_call = part.begin_call(partial_calls.next_number());
    partial_call.push_name(part.name_part);
    partial_call.add_arguments(&part.arguments);
    partial_calls.open_call(partial_call)
}

/// Returns `true` for a call of a tool that takes free text: by its type, or else by its members.
pub(super) fn is_custom_call(call: &ExactValue<'_>) -> bool {
    let has = |name: &str| call.get(name).is_some_and(|it| !it.is_null());
    match call.get("type").and_then(ExactValue::as_str) {
        Some("custom") => true,
        Some("function") => false,
        _ => has("custom") && !has("function"),
    }
}

/// Returns the names of the members of a call with its name, and with its arguments.
pub(super) fn call_member_names(call: &ExactValue<'_>) -> (&'static str, &'static str) {
    if is_custom_call(call) { ("custom", "input") } else { ("function", "arguments") }
}

/// Returns `true` for a call with a name or arguments beside the object that should contain them, as some servers send
/// it, instead of in it.
pub(super) fn is_unnested_call(call: &ExactValue<'_>) -> bool {
    let (kind, arguments) = call_member_names(call);
    let holder = call.get(kind);
    let has = |object: Option<&ExactValue<'_>>, name: &str| {
        object.and_then(|object| object.get(name)).is_some_and(|it| !it.is_null())
    };
    let is_outside = |name: &str| has(Some(call), name) && !has(holder, name);
    is_outside("name")
        || is_outside(arguments)
        || holder.is_some_and(|it| matches!(it, ExactValue::String(_)))
}

/// Moves a name and arguments beside the object that should contain them into it. A text in place of the object is the
/// name.
pub(super) fn nest_members(call: &mut ExactValue<'static>) {
    if !is_unnested_call(call) {
        return;
    }
    let (kind, arguments) = call_member_names(call);
    let ExactValue::Object(members) = call else { return };
    let mut take = |name: &str| {
        let at = members.iter().position(|(own, value)| own == name && !value.is_null())?;
        Some(members.remove(at).1)
    };
    let mut holder = match take(kind) {
        Some(name @ ExactValue::String(_)) => ExactValue::Object(vec![("name".into(), name)]),
        Some(holder @ ExactValue::Object(_)) => holder,
        _ => ExactValue::Object(Vec::new()),
    };
    for name in ["name", arguments] {
        if holder.get(name).is_none_or(ExactValue::is_null)
            && let Some(value) = take(name)
        {
            set_member(&mut holder, name, value);
        }
    }
    set_member(call, kind, holder);
}

/// The prefix of generated ids for calls from `function_call`, which has no id: it selects a message with the
/// role `function` as the answer. No id of a provider begins with it.
pub(super) const FUNCTION_CALL: &str = "without_id_function_call_";

/// Creates the call of the legacy `function_call` of a message, without its name and arguments.
pub(super) fn new_legacy_function_call() -> PartialCall {
    let id = Some(format!("{FUNCTION_CALL}{}", CallId::generate()));
    PartialCall { number: u64::MAX, id, ..PartialCall::default() }
}

pub(super) fn is_function_call(partial_call: &PartialCall) -> bool {
    partial_call.id.as_deref().is_some_and(|id| id.starts_with(FUNCTION_CALL))
}

/// A call of a message, or a part of one.
pub(super) struct CallPart<'v> {
    pub(super) number: Option<u64>,
    pub(super) id: Option<&'v str>,
    pub(super) name: Option<&'v str>,
    /// The name as received: `null` as a text may also be a part of a name.
    pub(super) name_part: &'v str,
    pub(super) arguments: JsonLocation<'v>,
    /// Set where the tool takes free text.
    pub(super) custom: bool,
}

impl<'v> CallPart<'v> {
    pub(super) fn read(part: &JsonLocation<'v>) -> Self {
        let is_custom = part.value().is_some_and(is_custom_call);
        let (kind, arguments) = part.value().map_or(("function", "arguments"), call_member_names);
        let holder = part.field(kind);
        let (mut name, mut arguments) = (holder.field("name"), holder.field(arguments));
        // Some servers send these members beside the object, or the name in place of it.
        if name.value().is_none() {
            name = if holder.as_text().is_some() { holder } else { part.field("name") };
        }
        if arguments.value().is_none() {
            arguments = part.field(if is_custom { "input" } else { "arguments" });
        }
        let number = match part.field("index").value() {
            Some(ExactValue::String(text)) => text.trim().parse().ok(),
            index => index.and_then(ExactValue::as_u64),
        };
        Self {
            number,
            id: part.field("id").as_call_id(),
            name: name.as_call_name(),
            name_part: name.as_text().unwrap_or_default(),
            arguments,
            custom: is_custom,
        }
    }

    /// Creates the call that begins with this part, without its name and arguments. A later part may have its name.
    pub(super) fn begin_call(&self, number: u64) -> PartialCall {
        PartialCall { number, id: self.id.map(str::to_owned), custom: self.custom, ..PartialCall::default() }
    }

    /// Returns the call that the part belongs to; `None` where it begins one.
    ///
    /// Calls are distinguished by number, and by id where servers number all of them 0 or not at all. A part
    /// without a number begins a call if it has a name. Under an existing number, a name with a new id begins a call, and
    /// so does a name after the end of the arguments. The parts of a number are one call until it has a name; some
    /// servers [give each part an id of its own](https://github.com/poolsideai/pool/issues/9). Any other name is a further
    /// piece of the name.
    pub(super) fn find_call(&self, partial_calls: &PartialCalls) -> Option<usize> {
        let by_id = self.id.and_then(|id| partial_calls.index_of(&Key::Id(id.to_owned())));
        let at = match self.number {
            Some(number) => by_id
                .filter(|at| partial_calls.get(*at).is_some_and(|partial_call| partial_call.number == number))
                .or_else(|| partial_calls.index_of(&Key::Number(number))),
            None if by_id.is_some() => by_id,
            None if self.name.is_some() => {
                partial_calls.last_index().filter(|at| partial_calls.get(*at).is_some_and(is_unnamed))
            }
            None => partial_calls.last_index(),
        }?;
        let partial_call = partial_calls.get(at)?;
        let is_same_id = self.id.is_some() && partial_call.id.as_deref() == self.id;
        let is_other_id = self.id.is_some() && partial_call.id.is_some() && !is_same_id;
        let belongs = match self.name {
            _ if is_other_id && (self.name.is_some() || partial_call.has_complete_arguments()) => false,
            None => true,
            Some(_) if is_unnamed(partial_call) => true,
            Some(_) if partial_call.has_complete_arguments() && !is_same_id => false,
            Some(name) if name == partial_call.name => true,
            // The first id under a number whose call has none.
            Some(_) => self.id.is_none() || is_same_id,
        };
        belongs.then_some(at)
    }
}

pub(super) fn is_unnamed(partial_call: &PartialCall) -> bool {
    partial_call.name.is_empty()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn members_beside_the_object_of_a_call_are_moved_into_it() {
        for (call, nested) in [
            (r#"{"function":"add"}"#, r#"{"function":{"name":"add"}}"#),
            (
                r#"{"id":"1","function":"add","arguments":"{}"}"#,
                r#"{"id":"1","function":{"name":"add","arguments":"{}"}}"#,
            ),
            (
                r#"{"name":"add","arguments":"{}","function":null}"#,
                r#"{"function":{"name":"add","arguments":"{}"}}"#,
            ),
            (r#"{"name":"add","function":5}"#, r#"{"function":{"name":"add"}}"#),
            (r#"{"name":"add","function":{"name":null,"x":1}}"#, r#"{"function":{"name":"add","x":1}}"#),
            (
                r#"{"name":"other","arguments":"{}","function":{"name":"add"}}"#,
                r#"{"name":"other","function":{"name":"add","arguments":"{}"}}"#,
            ),
            (
                r#"{"type":"custom","name":"run","input":"1"}"#,
                r#"{"type":"custom","custom":{"name":"run","input":"1"}}"#,
            ),
            (r#"{"custom":{},"input":"1"}"#, r#"{"custom":{"input":"1"}}"#),
            (r#"{"function":{"name":"add"},"name":null}"#, r#"{"function":{"name":"add"},"name":null}"#),
            (r#"{"function":{}}"#, r#"{"function":{}}"#),
            ("{}", "{}"),
        ] {
            let mut value = ExactValue::read(call).unwrap().into_owned();
            nest_members(&mut value);
            let [read, expected] = [value.to_string(), nested.to_owned()]
                .map(|text| serde_json::from_str::<serde_json::Value>(&text).unwrap());
            assert_eq!(read, expected, "{call}");
        }
    }
}
