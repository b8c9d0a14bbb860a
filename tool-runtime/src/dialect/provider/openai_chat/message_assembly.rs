//! The assembly of a chat message from its deltas.

use tool_core::internals::ExactValue;

use super::reading::{is_function_call, is_unnested_call, nest_members};
use crate::dialect::{
    draft::{MessageDraft, MessagePart, merge_delta, merge_members, set_member, text_value},
    error::JsonLocation,
    partial_calls::{Key, PartialCalls},
    reading::ResponseReading,
};

/// Emits the text and the reasoning of a message, or of a part of one.
pub(super) fn emit_text(message: &JsonLocation<'_>, reading: &mut ResponseReading) {
    // OpenAI sends no reasoning; other servers use one of these members, or both.
    let thought = ["reasoning_content", "reasoning"].iter().find_map(|name| message.field(name).as_text());
    reading.add_reasoning(thought.unwrap_or_default());
    let content = message.field("content");
    reading.add_text(content.as_text().unwrap_or_default());
    for part in content.optional_items().unwrap_or_default() {
        reading.add_text(part.field("text").as_text().unwrap_or_default());
    }
    reading.add_text(message.field("refusal").as_text().unwrap_or_default());
}

/// Adds the members of a delta, except calls, to the message.
pub(super) fn push_members(delta: &JsonLocation<'_>, draft: &mut MessageDraft) {
    merge_members(&mut draft.base, delta.members(), |name, before, more| match name {
        "tool_calls" if before.is_null() => *before = ExactValue::List(Vec::new()),
        "tool_calls" => {}
        // Only the first one counts: the other parts of a call are read separately.
        "role" | "function_call" if !before.is_null() => {}
        "content" => add_content(before, &more),
        _ => more.value().map_or((), |more| merge_delta(before, more)),
    });
}

/// Appends to the content: a text or, with some servers, a list of parts; a mixture becomes a list.
fn add_content(before: &mut ExactValue<'static>, more: &JsonLocation<'_>) {
    let as_part = |content: ExactValue<'static>| {
        let members = vec![("type".into(), text_value("text")), ("text".into(), content)];
        ExactValue::List(vec![ExactValue::Object(members)])
    };
    let more = match (&mut *before, more.to_owned()) {
        (ExactValue::String(text), more @ ExactValue::List(_)) => {
            *before = if text.is_empty() { ExactValue::Null } else { as_part(before.clone()) };
            more
        }
        (ExactValue::List(_), ExactValue::String(text)) if text.is_empty() => return,
        (ExactValue::List(_), more @ ExactValue::String(_)) => as_part(more),
        (_, more) => more,
    };
    merge_delta(before, &more);
}

/// Adds a part of a call to the message, except its arguments, which are inserted when all parts have arrived.
pub(super) fn push_call_part_without_arguments(
    part: &JsonLocation<'_>,
    at: usize,
    is_new: bool,
    draft: &mut MessageDraft,
) {
    if part.value().is_some_and(is_unnested_call) {
        let mut nested = part.to_owned();
        nest_members(&mut nested);
        return push_nested_call_part(&part.with_value(&nested), at, is_new, draft);
    }
    push_nested_call_part(part, at, is_new, draft);
}

fn push_nested_call_part(part: &JsonLocation<'_>, at: usize, is_new: bool, draft: &mut MessageDraft) {
    let place = if is_new {
        let place = draft
            .push(MessagePart { open: true, ..MessagePart::from_call(ExactValue::Object(Vec::new()), at) });
        draft.insert_key(place, Key::Number(at as u64));
        place
    } else {
        draft.index_of(&Key::Number(at as u64)).unwrap_or_default()
    };
    let Some(own) = draft.get_mut(place) else { return };
    let ExactValue::Object(members) = &mut own.value else { return };
    let rest = part.members().filter(|(name, _)| *name != "index");
    merge_members(members, rest, |name, before, more| match name {
        "function" | "custom" => push_function(before, &more),
        // Some servers repeat these members, or begin with empty ones.
        "id" | "type" if before.as_str().is_some_and(|it| !it.is_empty()) => {}
        "id" | "type" => *before = more.to_owned(),
        _ => more.value().map_or((), |more| merge_delta(before, more)),
    });
}

fn push_function(function: &mut ExactValue<'static>, part: &JsonLocation<'_>) {
    if function.is_null() {
        *function = ExactValue::Object(Vec::new());
    }
    let ExactValue::Object(members) = function else { return };
    merge_members(members, part.members(), |name, before, more| match name {
        "name" if before.as_str().is_some_and(|it| !it.is_empty()) => {}
        "name" => *before = more.to_owned(),
        "arguments" | "input" => *before = text_value(""),
        _ => more.value().map_or((), |more| merge_delta(before, more)),
    });
}

pub(super) fn complete_message(draft: &mut MessageDraft, partial_calls: &PartialCalls) {
    draft.fill_open_parts(partial_calls, |call, partial_call| {
        let (holder, arguments) =
            if partial_call.custom { ("custom", "input") } else { ("function", "arguments") };
        // A holder that never arrived is written with the form of the call.
        if let Some(function) = call.entry(holder) {
            set_member(function, "name", text_value(&partial_call.name));
            set_member(function, arguments, partial_call.received_arguments());
        }
    });
    // The legacy `function_call` of a message, where it arrived in parts.
    let function = draft.base.iter_mut().find(|(name, value)| name == "function_call" && !value.is_null());
    let partial_call = partial_calls
        .last_index()
        .and_then(|at| partial_calls.get(at))
        .filter(|partial_call| is_function_call(partial_call));
    if let (Some((_, function)), Some(partial_call)) = (function, partial_call) {
        set_member(function, "name", text_value(&partial_call.name));
        set_member(function, "arguments", partial_call.received_arguments());
    }
}
