//! The items of a response, which form the message to send back: each unchanged, as completed.

use tool_core::internals::ExactValue;

use crate::dialect::{
    DialectError,
    draft::{MessageDraft, MessagePart, item_at_or_insert, merge_delta, set_member, text_value},
    error::JsonLocation,
    partial_calls::{Key, PartialCalls},
    reading::ResponseReading,
};

/// Adds an item of a whole response; `call` is the index of its call.
pub(super) fn read_item(item: &JsonLocation<'_>, call: Option<usize>, reading: &mut ResponseReading) {
    if item.value().is_some() {
        emit_text(item, reading);
        reading.draft.push(MessagePart { call, ..MessagePart::new(item.to_owned()) });
    }
}

/// Begins an item, unless it has begun.
pub(super) fn begin_item(event: &JsonLocation<'_>, call: Option<usize>, reading: &mut ResponseReading) {
    let item = event.field("item");
    let draft = &mut reading.draft;
    let number = event.field("output_index");
    if item.value().is_some() && item_index(&item.field("id"), &number, call, draft).is_none() {
        let at = draft.push(MessagePart { call, open: true, ..MessagePart::new(item.to_owned()) });
        insert_item_keys(at, &item.field("id"), &number, call, draft);
    }
}

/// Adds a completed item.
pub(super) fn end_item(event: &JsonLocation<'_>, call: Option<usize>, reading: &mut ResponseReading) {
    let item = event.field("item");
    if item.value().is_some() {
        replace_partial_item(&item, &event.field("output_index"), call, reading);
    }
}

/// Replaces the partial item with the completed one; returns its index.
fn replace_partial_item(
    item: &JsonLocation<'_>,
    number: &JsonLocation<'_>,
    call: Option<usize>,
    reading: &mut ResponseReading,
) -> usize {
    let draft = &mut reading.draft;
    let at = item_index(&item.field("id"), number, call, draft)
        .or_else(|| find_matching_item(item, number, call, draft))
        .unwrap_or_else(|| draft.push(MessagePart { open: true, ..MessagePart::new(ExactValue::Null) }));
    insert_item_keys(at, &item.field("id"), number, call, draft);
    let mut is_emitted = true;
    if let Some(part) = draft.get_mut(at).filter(|part| part.open) {
        (part.value, part.call, part.open) = (item.to_owned(), call, false);
        is_emitted = std::mem::replace(&mut part.is_emitted, true);
    }
    if !is_emitted {
        emit_text(item, reading);
    }
    at
}

/// Adds the items of a response that has ended, in order, with their calls. Items that an event has completed
/// stay unchanged.
pub(super) fn end_all_items(items: &[(JsonLocation<'_>, Option<usize>)], reading: &mut ResponseReading) {
    // The numbers of items are those of events, which some servers do not count from zero.
    let nothing = ExactValue::Null;
    let number = JsonLocation::root(&nothing);
    let order: Vec<_> =
        items.iter().map(|(item, call)| replace_partial_item(item, &number, *call, reading)).collect();
    reading.draft.move_to_front(&order);
}

/// Returns the index of an item that has begun: by its call, its id, or its number before it is completed.
fn item_index(
    id: &JsonLocation<'_>,
    number: &JsonLocation<'_>,
    call: Option<usize>,
    draft: &mut MessageDraft,
) -> Option<usize> {
    if let Some(call) = call {
        return draft.index_of(&Key::Id(call.to_string()));
    }
    let by_id = id.as_text().and_then(|id| draft.index_of(&Key::Item(id.to_owned())));
    by_id.or_else(|| {
        let at = draft.index_of(&Key::Number(number.value()?.as_u64()?))?;
        draft.get_mut(at).is_some_and(|part| part.open && part.call.is_none()).then_some(at)
    })
}

/// Returns the index of an item without an id and a number that has arrived in another event: the same item, or an open one
/// of its type.
fn find_matching_item(
    item: &JsonLocation<'_>,
    number: &JsonLocation<'_>,
    call: Option<usize>,
    draft: &mut MessageDraft,
) -> Option<usize> {
    if call.is_some() || number.value().is_some() || item.field("id").as_text().is_some() {
        return None;
    }
    let (value, kind) = (item.value()?, item.field("type").as_text()?);
    let is_alike = |part: &MessagePart| {
        part.call.is_none()
            && (part.value == *value || part.open && part.has_type(kind) && part.value.get("id").is_none())
    };
    draft.parts_mut().iter().position(is_alike)
}

fn insert_item_keys(
    at: usize,
    id: &JsonLocation<'_>,
    number: &JsonLocation<'_>,
    call: Option<usize>,
    draft: &mut MessageDraft,
) {
    if let Some(number) = number.value().and_then(ExactValue::as_u64) {
        draft.insert_key(at, Key::Number(number));
    }
    match (call, id.as_text()) {
        (Some(call), _) => draft.insert_key(at, Key::Id(call.to_string())),
        (None, Some(id)) => draft.insert_key(at, Key::Item(id.to_owned())),
        (None, None) => {}
    }
}

/// Adds a part of an item other than a call.
pub(super) fn push_item_part(
    kind: &str,
    event: &JsonLocation<'_>,
    reading: &mut ResponseReading,
) -> Result<(), DialectError> {
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
    let at = item_index(&id, &number, None, draft).unwrap_or_else(|| {
        let at = draft
            .push(MessagePart { open: true, ..MessagePart::new(item_without_beginning(is_reasoning, &id)) });
        insert_item_keys(at, &id, &number, None, draft);
        at
    });
    let Some(part) = draft.get_mut(at).filter(|part| part.open) else { return Ok(()) };
    let place = item_at_or_insert(
        &mut part.value,
        list,
        event.field(index).value().and_then(ExactValue::as_u64).unwrap_or(0),
    );
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
            set_member(place, "type", text_value(piece));
        }
        if let (Some(before), Some(more)) = (place.entry(member), delta.value()) {
            merge_delta(before, more);
        }
    }
    part.is_emitted = true;
    if is_reasoning {
        reading.add_reasoning(delta.expect_text()?)
    } else {
        reading.add_text(delta.expect_text()?)
    }
    Ok(())
}

/// Creates an item for which no event of its beginning was received.
fn item_without_beginning(is_reasoning: bool, id: &JsonLocation<'_>) -> ExactValue<'static> {
    let mut members = vec![("type".into(), text_value(if is_reasoning { "reasoning" } else { "message" }))];
    if id.value().is_some() {
        members.push(("id".into(), id.to_owned()));
    }
    if is_reasoning {
        members.push(("summary".into(), ExactValue::List(Vec::new())));
    } else {
        members.push(("role".into(), text_value("assistant")));
    }
    ExactValue::Object(members)
}

/// Emits the text of an item as a whole.
fn emit_text(item: &JsonLocation<'_>, reading: &mut ResponseReading) {
    let is_reasoning = item.field("type").has_text("reasoning");
    for list in ["summary", "content"] {
        for part in item.field(list).optional_items().unwrap_or_default() {
            let text = part.field("text").as_text().or(part.field("refusal").as_text()).unwrap_or_default();
            match item.field("type").as_text() {
                Some("message") => reading.add_text(text),
                _ if is_reasoning => reading.add_reasoning(text),
                _ => {}
            }
        }
    }
}

/// Adds the received arguments to calls that were cut off, and removes reasoning that was cut off or is the
/// last item: the provider requires [the item after it](https://github.com/openai/codex/issues/1227).
pub(super) fn complete_items(draft: &mut MessageDraft, partial_calls: &PartialCalls) {
    draft.fill_open_parts(partial_calls, |item, partial_call| {
        set_member(
            item,
            if partial_call.custom { "input" } else { "arguments" },
            partial_call.received_arguments(),
        );
    });
    let parts = draft.parts_mut();
    parts.retain(|part| !part.open || !part.has_type("reasoning"));
    while parts.pop_if(|part| part.has_type("reasoning")).is_some() {}
}
