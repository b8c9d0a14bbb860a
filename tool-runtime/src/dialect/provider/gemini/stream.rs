//! The events of a streamed response.

use tool_core::internals::ExactValue;

use super::{
    reading::{emit_text, is_thought, keep_metadata, only_candidate, push_call, readable_parts},
    stop::read_stop,
};
use crate::dialect::{
    DialectError,
    draft::{Members, MessageDraft, MessagePart, merge_delta, merge_members},
    error::JsonLocation,
    partial_calls::Key,
    reading::ResponseReading,
};

pub(super) fn push_event(
    event: &JsonLocation<'_>,
    reading: &mut ResponseReading,
) -> Result<(), DialectError> {
    reading.set_identity(&event.field("responseId"), &event.field("modelVersion"));
    let candidate = only_candidate(event)?;
    let content = candidate.field("content");
    reading.draft.add_message_members(&content, "parts");
    for part in readable_parts(&content, reading) {
        let call = part.field("functionCall");
        if call.value().is_some() {
            push_call_part(&part, &call, reading);
        } else {
            emit_text(&part, reading);
            push_text_part(&part, &mut reading.draft);
        }
    }
    reading.set_usage(&event.field("usageMetadata"));
    keep_metadata(event, &candidate, reading);
    if read_stop(&candidate, reading)? {
        reading.partial_calls.end_response();
    }
    Ok(())
}

/// Adds a part other than a call: text is appended to the preceding text, unless one of them has other members,
/// such as a [signature](https://ai.google.dev/gemini-api/docs/thought-signatures).
pub(super) fn push_text_part(part: &JsonLocation<'_>, draft: &mut MessageDraft) {
    let is_text = |part: Option<&ExactValue<'_>>| {
        part.is_some_and(|part| {
            let ExactValue::Object(members) = part else { return false };
            part.get("text").is_some() && members.iter().all(|(name, _)| name == "text" || name == "thought")
        })
    };
    if is_text(part.value()) {
        let is_same = |before: &&mut MessagePart| {
            let before = Some(&before.value);
            is_text(before) && is_thought(before) == is_thought(part.value())
        };
        let more = part.field("text");
        if let Some(place) = draft.last_mut().filter(is_same).and_then(|before| before.value.get_mut("text"))
        {
            return more.value().map_or((), |more| merge_delta(place, more));
        }
        if more.as_text().is_some_and(str::is_empty) {
            return;
        }
    }
    draft.push(MessagePart::new(part.to_owned()));
}

/// Adds a call, or the members of a further part beside its part of the arguments.
pub(super) fn push_call_part(
    part: &JsonLocation<'_>,
    call: &JsonLocation<'_>,
    reading: &mut ResponseReading,
) {
    let begun = reading.partial_calls.len();
    let at = push_call(call, reading);
    let is_new = reading.partial_calls.len() > begun;
    let place = if is_new {
        reading.draft.push(MessagePart::from_call(ExactValue::Object(Vec::new()), at))
    } else {
        reading.draft.index_of(&Key::Number(at as u64)).unwrap_or_default()
    };
    reading.draft.insert_key(place, Key::Number(at as u64));
    let Some(own) = reading.draft.get_mut(place) else { return };
    own.open |= call.field("partialArgs").value().is_some();
    let ExactValue::Object(members) = &mut own.value else { return };
    merge_members(members, part.members(), |name, own, value| match own {
        ExactValue::Object(function) if name == "functionCall" => push_function(function, call),
        ExactValue::Null if name == "functionCall" => {
            let mut function = Members::new();
            push_function(&mut function, call);
            *own = ExactValue::Object(function);
        }
        _ => *own = value.to_owned(),
    });
}

/// Adds the members of a part of a call, except its part of the arguments.
pub(super) fn push_function(function: &mut Members, call: &JsonLocation<'_>) {
    let rest = call.members().filter(|(name, _)| !matches!(*name, "partialArgs" | "willContinue"));
    merge_members(function, rest, |_, own, value| *own = value.to_owned());
}
