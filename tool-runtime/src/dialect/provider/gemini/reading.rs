//! A whole response.

use tool_core::internals::ExactValue;

use super::{stop::read_stop, stream::push_event};
use crate::dialect::{
    DialectError,
    draft::{MessagePart, merge_delta},
    error::JsonLocation,
    json_path::value_at_path_or_insert,
    partial_calls::{Key, PartialCall},
    provider::refuse_failure,
    reading::ResponseReading,
};

pub(super) fn read_response(
    response: &JsonLocation<'_>,
    reading: &mut ResponseReading,
) -> Result<(), DialectError> {
    // The events of a stream, which the provider sends as a list unless it is asked for
    // [`alt=sse`](https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent).
    if let Some(ExactValue::List(_)) = response.value() {
        return response.expect_items()?.iter().try_for_each(|event| {
            refuse_failure(event)?;
            push_event(event, reading)
        });
    }
    reading.set_identity(&response.field("responseId"), &response.field("modelVersion"));
    let candidate = only_candidate(response)?;
    let content = candidate.field("content");
    reading.draft.add_message_members(&content, "parts");
    for part in readable_parts(&content, reading) {
        let call = part.field("functionCall");
        let mut own = MessagePart::new(part.to_owned());
        if call.value().is_some() {
            let at = push_call(&call, reading);
            own.call = Some(at);
            for field in ["partialArgs", "willContinue"] {
                let field = call.field(field);
                if field.value().is_some_and(|value| *value != ExactValue::Bool(false)) {
                    let error = field.error("whole arguments (parts of them are for an assembler)");
                    reading.mark_call_contradictory(at, error);
                }
            }
        }
        emit_text(&part, reading);
        reading.draft.push(own);
    }
    reading.set_usage(&response.field("usageMetadata"));
    keep_metadata(response, &candidate, reading);
    read_stop(&candidate, reading).map(drop)
}

/// Keeps the grounding, the citations and other metadata of a response.
pub(super) fn keep_metadata(
    response: &JsonLocation<'_>,
    candidate: &JsonLocation<'_>,
    reading: &mut ResponseReading,
) {
    reading.keep_members_except(
        response,
        &["candidates", "createTime", "modelVersion", "responseId", "usageMetadata"],
    );
    let read = [
        "avgLogprobs",
        "content",
        "finishMessage",
        "finishReason",
        "index",
        "logprobsResult",
        "safetyRatings",
        "tokenCount",
    ];
    reading.keep_members_except(candidate, &read);
}

/// Returns the parts of a content that can be read.
pub(super) fn readable_parts<'v>(
    content: &JsonLocation<'v>,
    reading: &mut ResponseReading,
) -> Vec<JsonLocation<'v>> {
    let items = content.field("parts").optional_items().unwrap_or_else(|error| {
        reading.record_unreadable_part(error);
        Vec::new()
    });
    let mut is_readable = |part: &JsonLocation<'v>| match part.expect_object().and_then(|part| {
        let call = part.field("functionCall");
        call.value().map_or(Ok(()), |_| call.expect_object().map(drop))
    }) {
        Ok(()) => true,
        Err(error) => {
            reading.record_unreadable_part(error);
            false
        }
    };
    items.into_iter().filter(|part| is_readable(part)).collect()
}

/// Emits the text of a part.
pub(super) fn emit_text(part: &JsonLocation<'_>, reading: &mut ResponseReading) {
    let text = part.field("text").as_text().unwrap_or_default();
    if is_thought(part.value()) {
        reading.add_reasoning(text);
    } else {
        reading.add_text(text);
    }
}

pub(super) fn is_thought(part: Option<&ExactValue<'_>>) -> bool {
    part.and_then(|part| part.get("thought")) == Some(&ExactValue::Bool(true))
}

/// Returns the only candidate; `null` for a blocked prompt and for the final event with token counts.
pub(super) fn only_candidate<'v>(response: &JsonLocation<'v>) -> Result<JsonLocation<'v>, DialectError> {
    let candidates = response.field("candidates");
    match <[JsonLocation<'v>; 1]>::try_from(candidates.optional_items()?) {
        Ok([candidate]) => Ok(candidate),
        Err(all) if all.is_empty() => Ok(candidates),
        Err(_) => Err(candidates.error("one candidate")),
    }
}

/// Adds a call, or a part of one: the first has the name, and all but the last have `willContinue`
/// ([fields](https://googleapis.github.io/js-genai/release_docs/interfaces/types.FunctionCall.html); the last
/// may be [empty](https://github.com/vercel/ai/pull/13929)).
pub(super) fn push_call(call: &JsonLocation<'_>, reading: &mut ResponseReading) -> usize {
    let partial_calls = &mut reading.partial_calls;
    let (id, name) = (call.field("id").as_call_id(), call.field("name").as_call_name());
    let goes_on = |at: &usize| {
        partial_calls.get(*at).is_some_and(|partial_call| {
            partial_call.open && name.is_none_or(|name| name == partial_call.name)
        })
    };
    let begun = match id {
        Some(id) => partial_calls.index_of(&Key::Id(id.to_owned())),
        None => partial_calls.last_index(),
    };
    let at = match begun.filter(goes_on) {
        Some(at) => at,
        None => {
            let mut partial_call = PartialCall {
                number: partial_calls.next_number(),
                id: id.map(str::to_owned),
                ..PartialCall::default()
            };
            partial_call.push_name(call.field("name").as_text().unwrap_or_default());
            partial_calls.open_call(partial_call)
        }
    };
    let Some(partial_call) = partial_calls.get_mut(at) else { return at };
    let pushed = push_arguments(call, partial_call);
    partial_call.open = call.field("willContinue").value().is_some_and(|it| *it == ExactValue::Bool(true));
    // The provider omits empty arguments.
    if !partial_call.open && partial_call.has_no_arguments() {
        partial_call.value = Some(ExactValue::Object(Vec::new()));
    }
    if let Err(error) = pushed {
        reading.mark_call_contradictory(at, error);
    }
    at
}

/// Adds the arguments of a call, in one piece or in parts.
pub(super) fn push_arguments(
    call: &JsonLocation<'_>,
    partial_call: &mut PartialCall,
) -> Result<(), DialectError> {
    let (args, parts) = (call.field("args"), call.field("partialArgs"));
    if args.value().is_some() && !partial_call.has_no_arguments() {
        return Err(args.error("arguments once"));
    }
    partial_call.add_arguments(&args);
    let items = parts.optional_items()?;
    if items.is_empty() {
        return Ok(());
    }
    // Parts are added to the arguments that arrived in one piece, if any did.
    if partial_call.value.is_none() && !partial_call.has_no_arguments() {
        let text = std::mem::take(&mut partial_call.text);
        let Some(value @ ExactValue::Object(_)) = ExactValue::read(&text) else {
            return Err(parts.error("parts of arguments that are an object"));
        };
        partial_call.value = Some(value.into_owned());
    }
    let value = partial_call.value.get_or_insert(ExactValue::Object(Vec::new()));
    items.iter().try_for_each(|part| push_arguments_part(part, value))
}

/// Adds a part of the arguments: a value and its path, or a part of a text.
pub(super) fn push_arguments_part(
    part: &JsonLocation<'_>,
    arguments: &mut ExactValue<'static>,
) -> Result<(), DialectError> {
    let path = part.field("jsonPath");
    let wrong = || path.error_with("a JSON path to a value that is not there yet", "another");
    let given = |name: &'static str| Some(part.field(name)).filter(|it| it.value().is_some());
    if part.field("stringValue").optional_text()?.is_some() {
        match value_at_path_or_insert(arguments, path.expect_text()?).ok_or_else(wrong)? {
            before @ (ExactValue::String(_) | ExactValue::Null) => {
                merge_delta(before, &part.field("stringValue").to_owned());
            }
            _ => return Err(wrong()),
        }
    } else if let Some(value) = given("numberValue").or_else(|| given("boolValue")) {
        *value_at_path_or_insert(arguments, path.expect_text()?)
            .filter(|it| it.is_null())
            .ok_or_else(wrong)? = value.to_owned();
    } else if part.value().is_some_and(|it| it.get("nullValue").is_some()) {
        // The SDKs use `NULL_VALUE`, and the JSON of protocol buffers `null`
        // (<https://protobuf.dev/programming-guides/json>).
        value_at_path_or_insert(arguments, path.expect_text()?)
            .filter(|it| it.is_null())
            .ok_or_else(wrong)?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn parts_of_arguments_are_values_at_their_paths() {
        let pushed = |before: &'static str, part: &str| {
            let mut arguments = ExactValue::read(before).unwrap();
            let part = ExactValue::read(part).unwrap();
            push_arguments_part(&JsonLocation::root(&part), &mut arguments)
                .map(|()| arguments.to_string())
                .map_err(|error| error.expected)
        };
        let wrong = || Err("a JSON path to a value that is not there yet".to_owned());
        for (before, part, after) in [
            ("{}", r#"{"jsonPath":"$.a","stringValue":"x"}"#, Ok(r#"{"a":"x"}"#)),
            (r#"{"a":"x"}"#, r#"{"jsonPath":"$.a","stringValue":"y"}"#, Ok(r#"{"a":"xy"}"#)),
            (r#"{"a":1}"#, r#"{"jsonPath":"$.a","stringValue":"y"}"#, Err(())),
            ("{}", r#"{"jsonPath":"$.a","numberValue":1.50}"#, Ok(r#"{"a":1.50}"#)),
            ("{}", r#"{"jsonPath":"$.a","boolValue":false}"#, Ok(r#"{"a":false}"#)),
            (r#"{"a":1}"#, r#"{"jsonPath":"$.a","numberValue":2}"#, Err(())),
            ("{}", r#"{"jsonPath":"$.a","nullValue":null}"#, Ok(r#"{"a":null}"#)),
            ("{}", r#"{"jsonPath":"$.a","nullValue":"NULL_VALUE"}"#, Ok(r#"{"a":null}"#)),
            (r#"{"a":1}"#, r#"{"jsonPath":"$.a","nullValue":null}"#, Err(())),
            ("{}", r#"{"jsonPath":"$.a"}"#, Ok("{}")),
            ("{}", r#"{"jsonPath":"$.l[0].b","stringValue":""}"#, Ok(r#"{"l":[{"b":""}]}"#)),
        ] {
            let expected = after.map(str::to_owned).or_else(|()| wrong());
            assert_eq!(pushed(before, part), expected, "{before} {part}");
        }
        assert_eq!(pushed("{}", r#"{"stringValue":"x"}"#), Err("a text".to_owned()));
        assert_eq!(pushed("{}", r#"{"jsonPath":"$.a","stringValue":1}"#), Err("a text".to_owned()));
    }

    #[test]
    fn arguments_arrive_once_or_in_parts() {
        let pushed = |before: Option<&'static str>, call: &str| {
            let value = before.map(|before| ExactValue::read(before).unwrap());
            let mut partial_call = PartialCall { value, ..PartialCall::default() };
            let call = ExactValue::read(call).unwrap();
            let result = push_arguments(&JsonLocation::root(&call), &mut partial_call);
            (result.map_err(|error| error.expected), partial_call.received_arguments().to_string())
        };
        let part = r#"{"jsonPath":"$.a","numberValue":1}"#;
        assert_eq!(pushed(None, r#"{"args":{"a":1}}"#), (Ok(()), r#"{"a":1}"#.to_owned()));
        assert_eq!(
            pushed(Some("{}"), r#"{"args":{"a":1}}"#),
            (Err("arguments once".to_owned()), "{}".to_owned())
        );
        assert_eq!(
            pushed(None, &format!(r#"{{"partialArgs":[{part}]}}"#)),
            (Ok(()), r#"{"a":1}"#.to_owned())
        );
        assert_eq!(
            pushed(None, &format!(r#"{{"args":{{"b":2}},"partialArgs":[{part}]}}"#)),
            (Ok(()), r#"{"b":2,"a":1}"#.to_owned())
        );
        let text = format!(r#"{{"args":"{{\"b\":2}}","partialArgs":[{part}]}}"#);
        assert_eq!(pushed(None, &text), (Ok(()), r#"{"b":2,"a":1}"#.to_owned()));
        let odd = format!(r#"{{"args":"[1]","partialArgs":[{part}]}}"#);
        assert_eq!(pushed(None, &odd).0, Err("parts of arguments that are an object".to_owned()));
        assert_eq!(pushed(None, r#"{"partialArgs":[]}"#), (Ok(()), "\"\"".to_owned()));
    }

    #[test]
    fn a_response_has_one_candidate_or_none() {
        let found = |response: &str| {
            let response = ExactValue::read(response).unwrap();
            only_candidate(&JsonLocation::root(&response))
                .map(|it| it.value().map(ToString::to_string))
                .map_err(|it| it.to_string())
        };
        assert_eq!(found(r#"{"candidates":[{"a":1}]}"#), Ok(Some(r#"{"a":1}"#.to_owned())));
        assert_eq!(found("{}"), Ok(None));
        assert_eq!(found(r#"{"candidates":null}"#), Ok(None));
        let many = "/candidates: expected one candidate, got a list";
        assert_eq!(found(r#"{"candidates":[{},{}]}"#), Err(many.to_owned()));
        assert_eq!(
            found(r#"{"candidates":7}"#),
            Err("/candidates: expected a list, got a number".to_owned())
        );
        for (part, is_it) in [
            (r#"{"thought":true}"#, true),
            (r#"{"thought":false}"#, false),
            (r#"{"thought":1}"#, false),
            ("{}", false),
        ] {
            assert_eq!(is_thought(ExactValue::read(part).as_ref()), is_it, "{part}");
        }
        assert!(!is_thought(None));
    }
}
