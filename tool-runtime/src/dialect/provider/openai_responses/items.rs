//! The items of a response, which form the message to send back: each unchanged, as completed.

use tool_core::__private::ExactValue;

use crate::dialect::{
    DialectError,
    draft::{Draft, Part, add, item as item_at, put, text},
    error::At,
    partial_calls::{Key, Slots},
    reading::Reading,
};

/// Adds an item of a whole response; `call` is the index of its call.
pub(super) fn read(item: &At<'_>, call: Option<usize>, reading: &mut Reading) {
    if item.value().is_some() {
        tell(item, reading);
        reading.draft.push(Part { call, ..Part::new(item.to_owned()) });
    }
}

/// Begins an item, unless it has begun.
pub(super) fn begin(event: &At<'_>, call: Option<usize>, reading: &mut Reading) {
    let item = event.field("item");
    let draft = &mut reading.draft;
    let number = event.field("output_index");
    if item.value().is_some() && find(&item.field("id"), &number, call, draft).is_none() {
        let at = draft.push(Part { call, open: true, ..Part::new(item.to_owned()) });
        know(at, &item.field("id"), &number, call, draft);
    }
}

/// Adds a completed item.
pub(super) fn end(event: &At<'_>, call: Option<usize>, reading: &mut Reading) {
    let item = event.field("item");
    if item.value().is_some() {
        settle(&item, &event.field("output_index"), call, reading);
    }
}

/// Replaces the partial item with the completed one; returns its index.
fn settle(item: &At<'_>, number: &At<'_>, call: Option<usize>, reading: &mut Reading) -> usize {
    let draft = &mut reading.draft;
    let at = find(&item.field("id"), number, call, draft)
        .or_else(|| find_alike(item, number, call, draft))
        .unwrap_or_else(|| draft.push(Part { open: true, ..Part::new(ExactValue::Null) }));
    know(at, &item.field("id"), number, call, draft);
    let mut is_emitted = true;
    if let Some(part) = draft.get_mut(at).filter(|part| part.open) {
        (part.value, part.call, part.open) = (item.to_owned(), call, false);
        is_emitted = std::mem::replace(&mut part.is_emitted, true);
    }
    if !is_emitted {
        tell(item, reading);
    }
    at
}

/// Adds the items of a response that has ended, in order, with their calls. Items that an event has completed
/// stay unchanged.
pub(super) fn end_all(items: &[(At<'_>, Option<usize>)], reading: &mut Reading) {
    // The numbers of items are those of events, which some servers do not count from zero.
    let nothing = ExactValue::Null;
    let number = At::root(&nothing);
    let order: Vec<_> = items.iter().map(|(item, call)| settle(item, &number, *call, reading)).collect();
    reading.draft.order(&order);
}

/// Returns the index of an item that has begun: by its call, its id, or its number before it is completed.
fn find(id: &At<'_>, number: &At<'_>, call: Option<usize>, draft: &mut Draft) -> Option<usize> {
    if let Some(call) = call {
        return draft.find(&Key::Id(call.to_string()));
    }
    let by_id = id.as_text().and_then(|id| draft.find(&Key::Item(id.to_owned())));
    by_id.or_else(|| {
        let at = draft.find(&Key::Number(number.value()?.as_u64()?))?;
        draft.get_mut(at).is_some_and(|part| part.open && part.call.is_none()).then_some(at)
    })
}

/// Returns the index of an item without an id and a number that has arrived in another event: the same item, or an open one
/// of its type.
fn find_alike(item: &At<'_>, number: &At<'_>, call: Option<usize>, draft: &mut Draft) -> Option<usize> {
    if call.is_some() || number.value().is_some() || item.field("id").as_text().is_some() {
        return None;
    }
    let (value, kind) = (item.value()?, item.field("type").as_text()?);
    let is_alike = |part: &Part| {
        part.call.is_none()
            && (part.value == *value || part.open && part.is(kind) && part.value.get("id").is_none())
    };
    draft.parts().iter().position(is_alike)
}

fn know(at: usize, id: &At<'_>, number: &At<'_>, call: Option<usize>, draft: &mut Draft) {
    if let Some(number) = number.value().and_then(ExactValue::as_u64) {
        draft.know(at, Key::Number(number));
    }
    match (call, id.as_text()) {
        (Some(call), _) => draft.know(at, Key::Id(call.to_string())),
        (None, Some(id)) => draft.know(at, Key::Item(id.to_owned())),
        (None, None) => {}
    }
}

/// Adds a part of an item other than a call.
pub(super) fn push(kind: &str, event: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    let (list, index, piece) = match kind {
        "response.output_text.delta" => ("content", "content_index", "output_text"),
        "response.refusal.delta" => ("content", "content_index", "refusal"),
        "response.reasoning_text.delta" => ("content", "content_index", "reasoning_text"),
        "response.reasoning_summary_text.delta" => ("summary", "summary_index", "summary_text"),
        "response.content_part.added" => ("content", "content_index", ""),
        "response.reasoning_summary_part.added" => ("summary", "summary_index", ""),
        _ => return Ok(()),
    };
    let is_reasoning = list == "summary" || piece == "reasoning_text";
    let draft = &mut reading.draft;
    let (id, number) = (event.field("item_id"), event.field("output_index"));
    let at = find(&id, &number, None, draft).unwrap_or_else(|| {
        let at = draft.push(Part { open: true, ..Part::new(made(is_reasoning, &id)) });
        know(at, &id, &number, None, draft);
        at
    });
    let Some(part) = draft.get_mut(at).filter(|part| part.open) else { return Ok(()) };
    let place =
        item_at(&mut part.value, list, event.field(index).value().and_then(ExactValue::as_u64).unwrap_or(0));
    if piece.is_empty() {
        if let Some(place) = place {
            *place = event.field("part").to_owned();
        }
        return Ok(());
    }
    let delta = event.field("delta");
    let member = if piece == "refusal" { "refusal" } else { "text" };
    if let Some(place) = place {
        if place.get("type").is_none() {
            put(place, "type", text(piece));
        }
        if let (Some(before), Some(more)) = (place.entry(member), delta.value()) {
            add(before, more);
        }
    }
    part.is_emitted = true;
    if is_reasoning {
        reading.reason(delta.text()?)
    } else {
        reading.add_text(delta.text()?)
    }
    Ok(())
}

/// Creates an item for which no event of its beginning was received.
fn made(is_reasoning: bool, id: &At<'_>) -> ExactValue<'static> {
    let mut members = vec![("type".into(), text(if is_reasoning { "reasoning" } else { "message" }))];
    if id.value().is_some() {
        members.push(("id".into(), id.to_owned()));
    }
    if is_reasoning {
        members.push(("summary".into(), ExactValue::List(Vec::new())));
    } else {
        members.push(("role".into(), text("assistant")));
    }
    ExactValue::Object(members)
}

/// Emits the text of an item as a whole.
fn tell(item: &At<'_>, reading: &mut Reading) {
    let is_reasoning = item.field("type").is("reasoning");
    for list in ["summary", "content"] {
        for part in item.field(list).any_items().unwrap_or_default() {
            let text = part.field("text").as_text().or(part.field("refusal").as_text()).unwrap_or_default();
            match item.field("type").as_text() {
                Some("message") => reading.add_text(text),
                _ if is_reasoning => reading.reason(text),
                _ => {}
            }
        }
    }
}

/// Adds the received arguments to calls that were cut off, and removes reasoning that was cut off or is the
/// last item: the provider requires [the item after it](https://github.com/openai/codex/issues/1227).
pub(super) fn complete(draft: &mut Draft, slots: &Slots) {
    draft.fill(slots, |item, slot| {
        put(item, if slot.custom { "input" } else { "arguments" }, slot.arguments());
    });
    let parts = draft.parts();
    parts.retain(|part| !part.open || !part.is("reasoning"));
    while parts.pop_if(|part| part.is("reasoning")).is_some() {}
}
