//! A whole response.

use tool_core::__private::ExactValue;

use super::{stop::stop, stream::push};
use crate::dialect::{
    DialectError,
    draft::{Part, add},
    error::At,
    json_path::place,
    partial_calls::{Key, Slot},
    provider::refuse_failure,
    reading::Reading,
};

pub(super) fn read(response: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    // The events of a stream, which the provider sends as a list unless it is asked for
    // [`alt=sse`](https://ai.google.dev/api/generate-content#method:-models.streamgeneratecontent).
    if let Some(ExactValue::List(_)) = response.value() {
        return response.items()?.iter().try_for_each(|event| {
            refuse_failure(event)?;
            push(event, reading)
        });
    }
    reading.identify(&response.field("responseId"), &response.field("modelVersion"));
    let candidate = candidate(response)?;
    let content = candidate.field("content");
    reading.draft.take_members(&content, "parts");
    for part in parts(&content, reading) {
        let call = part.field("functionCall");
        let mut own = Part::new(part.to_owned());
        if call.value().is_some() {
            let at = push_call(&call, reading);
            own.call = Some(at);
            for field in ["partialArgs", "willContinue"] {
                let field = call.field(field);
                if field.value().is_some_and(|value| *value != ExactValue::Bool(false)) {
                    let error = field.error("whole arguments (parts of them are for an assembler)");
                    reading.contradict(at, error);
                }
            }
        }
        tell(&part, reading);
        reading.draft.push(own);
    }
    reading.count(&response.field("usageMetadata"));
    stop(&candidate, reading).map(drop)
}

/// Returns the parts of a content that can be read.
pub(super) fn parts<'v>(content: &At<'v>, reading: &mut Reading) -> Vec<At<'v>> {
    let items = content.field("parts").any_items().unwrap_or_else(|error| {
        reading.skip(error);
        Vec::new()
    });
    let mut is_readable = |part: &At<'v>| match part.object().and_then(|part| {
        let call = part.field("functionCall");
        call.value().map_or(Ok(()), |_| call.object().map(drop))
    }) {
        Ok(()) => true,
        Err(error) => {
            reading.skip(error);
            false
        }
    };
    items.into_iter().filter(|part| is_readable(part)).collect()
}

/// Emits the text of a part.
pub(super) fn tell(part: &At<'_>, reading: &mut Reading) {
    let text = part.field("text").as_text().unwrap_or_default();
    if is_thought(part.value()) {
        reading.reason(text);
    } else {
        reading.add_text(text);
    }
}

pub(super) fn is_thought(part: Option<&ExactValue<'_>>) -> bool {
    part.and_then(|part| part.get("thought")) == Some(&ExactValue::Bool(true))
}

/// Returns the only candidate; `null` for a blocked prompt and for the final event with token counts.
pub(super) fn candidate<'v>(response: &At<'v>) -> Result<At<'v>, DialectError> {
    let candidates = response.field("candidates");
    match <[At<'v>; 1]>::try_from(candidates.any_items()?) {
        Ok([candidate]) => Ok(candidate),
        Err(all) if all.is_empty() => Ok(candidates),
        Err(_) => Err(candidates.error("one candidate")),
    }
}

/// Adds a call, or a part of one: the first has the name, and all but the last have `willContinue`
/// ([fields](https://googleapis.github.io/js-genai/release_docs/interfaces/types.FunctionCall.html); the last
/// may be [empty](https://github.com/vercel/ai/pull/13929)).
pub(super) fn push_call(call: &At<'_>, reading: &mut Reading) -> usize {
    let slots = &mut reading.slots;
    let (id, name) = (call.field("id").call_id(), call.field("name").call_name());
    let goes_on = |at: &usize| {
        slots.get(*at).is_some_and(|slot| slot.open && name.is_none_or(|name| name == slot.name))
    };
    let begun = match id {
        Some(id) => slots.find(&Key::Id(id.to_owned())),
        None => slots.last(),
    };
    let at = match begun.filter(goes_on) {
        Some(at) => at,
        None => {
            let mut slot = Slot { number: slots.next_number(), id: id.map(str::to_owned), ..Slot::default() };
            slot.push_name(call.field("name").as_text().unwrap_or_default());
            slots.begin(slot)
        }
    };
    let Some(slot) = slots.get_mut(at) else { return at };
    let pushed = push_arguments(call, slot);
    slot.open = call.field("willContinue").value().is_some_and(|it| *it == ExactValue::Bool(true));
    // The provider omits empty arguments.
    if !slot.open && slot.is_blank() {
        slot.value = Some(ExactValue::Object(Vec::new()));
    }
    if let Err(error) = pushed {
        reading.contradict(at, error);
    }
    at
}

/// Adds the arguments of a call, in one piece or in parts.
pub(super) fn push_arguments(call: &At<'_>, slot: &mut Slot) -> Result<(), DialectError> {
    let (args, parts) = (call.field("args"), call.field("partialArgs"));
    if args.value().is_some() && !slot.is_blank() {
        return Err(args.error("arguments once"));
    }
    slot.set_arguments(&args);
    let items = parts.any_items()?;
    if items.is_empty() {
        return Ok(());
    }
    // Parts are added to the arguments that arrived in one piece, if any did.
    if slot.value.is_none() && !slot.is_blank() {
        let text = std::mem::take(&mut slot.text);
        let Some(value @ ExactValue::Object(_)) = ExactValue::read(&text) else {
            return Err(parts.error("parts of arguments that are an object"));
        };
        slot.value = Some(value.into_owned());
    }
    let value = slot.value.get_or_insert(ExactValue::Object(Vec::new()));
    items.iter().try_for_each(|part| push_part(part, value))
}

/// Adds a part of the arguments: a value and its path, or a part of a text.
pub(super) fn push_part(part: &At<'_>, arguments: &mut ExactValue<'static>) -> Result<(), DialectError> {
    let path = part.field("jsonPath");
    let wrong = || path.error_with("a JSON path to a value that is not there yet", "another");
    let given = |name: &str| Some(part.field(name)).filter(|it| it.value().is_some());
    if part.field("stringValue").any_text()?.is_some() {
        match place(arguments, path.text()?).ok_or_else(wrong)? {
            before @ (ExactValue::String(_) | ExactValue::Null) => {
                add(before, &part.field("stringValue").to_owned());
            }
            _ => return Err(wrong()),
        }
    } else if let Some(value) = given("numberValue").or_else(|| given("boolValue")) {
        *place(arguments, path.text()?).filter(|it| it.is_null()).ok_or_else(wrong)? = value.to_owned();
    } else if part.value().is_some_and(|it| it.get("nullValue").is_some()) {
        // The SDKs use `NULL_VALUE`, and the JSON of protocol buffers `null`
        // (<https://protobuf.dev/programming-guides/json>).
        place(arguments, path.text()?).filter(|it| it.is_null()).ok_or_else(wrong)?;
    }
    Ok(())
}
