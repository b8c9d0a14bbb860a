//! The assembly of a chat message from its deltas.

use tool_core::__private::ExactValue;

use super::reading::{is_flat, is_function_call, nest_members};
use crate::dialect::{
    draft::{Draft, Part, add, join, put, text},
    error::At,
    partial_calls::{Key, Slots},
    reading::Reading,
};

/// Emits the text and the reasoning of a message, or of a part of one.
pub(super) fn tell(message: &At<'_>, reading: &mut Reading) {
    // OpenAI sends no reasoning; other servers use one of these members, or both.
    let thought = ["reasoning_content", "reasoning"].iter().find_map(|name| message.field(name).as_text());
    reading.reason(thought.unwrap_or_default());
    let content = message.field("content");
    reading.add_text(content.as_text().unwrap_or_default());
    for part in content.any_items().unwrap_or_default() {
        reading.add_text(part.field("text").as_text().unwrap_or_default());
    }
    reading.add_text(message.field("refusal").as_text().unwrap_or_default());
}

/// Adds the members of a delta, except calls, to the message.
pub(super) fn push_members(delta: &At<'_>, draft: &mut Draft) {
    join(&mut draft.base, delta.members(), |name, before, more| match name {
        "tool_calls" if before.is_null() => *before = ExactValue::List(Vec::new()),
        "tool_calls" => {}
        // Only the first one counts: the other parts of a call are read separately.
        "role" | "function_call" if !before.is_null() => {}
        "content" => add_content(before, &more),
        _ => more.value().map_or((), |more| add(before, more)),
    });
}

/// Appends to the content: a text or, with some servers, a list of parts; a mixture becomes a list.
fn add_content(before: &mut ExactValue<'static>, more: &At<'_>) {
    let as_part = |content: ExactValue<'static>| {
        let members = vec![("type".into(), text("text")), ("text".into(), content)];
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
    add(before, &more);
}

/// Adds a part of a call to the message, except its arguments, which are inserted when all parts have arrived.
pub(super) fn push_piece(part: &At<'_>, at: usize, is_new: bool, draft: &mut Draft) {
    if part.value().is_some_and(is_flat) {
        let mut nested = part.to_owned();
        nest_members(&mut nested);
        return push_nested(&part.with(&nested), at, is_new, draft);
    }
    push_nested(part, at, is_new, draft);
}

fn push_nested(part: &At<'_>, at: usize, is_new: bool, draft: &mut Draft) {
    let place = if is_new {
        let place = draft.push(Part { open: true, ..Part::of_call(ExactValue::Object(Vec::new()), at) });
        draft.know(place, Key::Number(at as u64));
        place
    } else {
        draft.find(&Key::Number(at as u64)).unwrap_or_default()
    };
    let Some(own) = draft.get_mut(place) else { return };
    let ExactValue::Object(members) = &mut own.value else { return };
    let rest = part.members().filter(|(name, _)| *name != "index");
    join(members, rest, |name, before, more| match name {
        "function" | "custom" => push_function(before, &more),
        // Some servers repeat these members, or begin with empty ones.
        "id" | "type" if before.as_str().is_some_and(|it| !it.is_empty()) => {}
        "id" | "type" => *before = more.to_owned(),
        _ => more.value().map_or((), |more| add(before, more)),
    });
}

fn push_function(function: &mut ExactValue<'static>, part: &At<'_>) {
    if function.is_null() {
        *function = ExactValue::Object(Vec::new());
    }
    let ExactValue::Object(members) = function else { return };
    join(members, part.members(), |name, before, more| match name {
        "name" if before.as_str().is_some_and(|it| !it.is_empty()) => {}
        "name" => *before = more.to_owned(),
        "arguments" | "input" => *before = text(""),
        _ => more.value().map_or((), |more| add(before, more)),
    });
}

pub(super) fn complete(draft: &mut Draft, slots: &Slots) {
    draft.fill(slots, |call, slot| {
        let (holder, arguments) = if slot.custom { ("custom", "input") } else { ("function", "arguments") };
        if let Some(function) = call.entry(holder) {
            if function.is_null() {
                *function = ExactValue::Object(Vec::new());
            }
            put(function, "name", text(&slot.name));
            put(function, arguments, slot.arguments());
        }
    });
    // The legacy `function_call` of a message, where it arrived in parts.
    let function = draft.base.iter_mut().find(|(name, value)| name == "function_call" && !value.is_null());
    let slot = slots.last().and_then(|at| slots.get(at)).filter(|slot| is_function_call(slot));
    if let (Some((_, function)), Some(slot)) = (function, slot) {
        put(function, "name", text(&slot.name));
        put(function, "arguments", slot.arguments());
    }
}
