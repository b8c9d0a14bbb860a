//! Gemini's `generateContent`: <https://ai.google.dev/api/generate-content>.

use serde_json::{Map, Value, json};
use tool_core::{__private::ExactValue, Content, ToolOutput};

use super::{Definition, WireFormat, add_parts, exact_object, object, refuse_failure, user_parts};
use crate::{
    ToolCall, ToolResult,
    dialect::{
        BoundTools, DialectError, Usage,
        content::{Block, blocks, not_shown},
        draft::{Draft, Members, Part, add, join, put, text},
        error::At,
        history::{ArgumentsForm, CallMembers},
        json_path::place,
        names::NameRule,
        reading::Reading,
        request::add_block,
        schema::{GEMINI, GEMINI_SCHEMA, Rules},
        slots::{Key, Slot, Slots},
        usage::{counted, sum},
    },
};

/// Gemini's `generateContent`.
#[derive(Debug)]
pub(in crate::dialect) struct Gemini {
    /// Set where parameters are JSON Schema, instead of Gemini's own format.
    pub(in crate::dialect) json_schema: bool,
}

/// [Names](https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/FunctionDeclaration) of functions.
const NAME_RULE: NameRule = NameRule { longest: 64, also: &['.'], starts_with_letter: true };

/// "Maximum 512 function declarations can be provided" ([Google's
/// SDK](https://github.com/googleapis/python-genai/blob/main/google/genai/types.py)).
const MAX_TOOLS: usize = 512;

impl WireFormat for Gemini {
    fn name(&self) -> &'static str {
        if self.json_schema { "gemini" } else { "gemini-schema" }
    }

    fn rules(&self) -> (&'static Rules, Option<&'static Rules>) {
        (if self.json_schema { &GEMINI } else { &GEMINI_SCHEMA }, None)
    }

    fn name_rule(&self) -> NameRule {
        NAME_RULE
    }

    fn max_tools(&self) -> Option<usize> {
        Some(MAX_TOOLS)
    }

    fn definition(&self, tool: Definition<'_>) -> Value {
        definition(tool, self.json_schema)
    }

    fn grouped_definitions(&self, definitions: &[Value]) -> Option<Vec<Value>> {
        let group = object([("functionDeclarations", definitions.into())]);
        Some(if definitions.is_empty() { Vec::new() } else { vec![group] })
    }

    fn read(&self, response: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
        read(response, reading)
    }

    fn push(&self, event: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
        push(event, reading)
    }

    fn complete(&self, draft: &mut Draft, slots: &Slots) {
        complete(draft, slots);
    }

    fn call_members<'m>(&self, part: &'m mut ExactValue<'static>, is_own: bool) -> Option<CallMembers<'m>> {
        call_members(part, is_own)
    }

    fn call_id_member(&self) -> Option<&'static str> {
        None
    }

    fn message(&self, draft: Draft) -> Option<ExactValue<'static>> {
        draft.into_message("parts", "model")
    }

    fn messages_member(&self) -> Option<&'static str> {
        Some("contents")
    }

    fn usage(&self, counted: &ExactValue<'_>) -> Usage {
        usage(counted)
    }

    fn instruct(&self, body: &mut Value, text: &str) -> Result<(), DialectError> {
        instruct(body, text)
    }

    fn user_text(&self, text: &str) -> Value {
        self.user_message(vec![json!({ "text": text })])
    }

    fn user_message(&self, parts: Vec<Value>) -> Value {
        json!({ "role": "user", "parts": parts })
    }

    fn user_part(&self, block: Block) -> Value {
        user_part(block)
    }

    fn accepts(&self, mime_type: &str) -> bool {
        is_shown(mime_type)
    }

    fn assistant_message(
        &self,
        bound: &BoundTools,
        content: &str,
        calls: &[ToolCall],
    ) -> ExactValue<'static> {
        assistant_message(bound, content, calls)
    }

    fn results(&self, bound: &BoundTools, results: &[ToolResult]) -> Value {
        self::results(bound, results)
    }

    fn add_follow_up(&self, messages: &mut Value, _at: usize, content: &[Content]) {
        add_parts(messages, "parts", user_parts(self, content));
    }
}

fn definition(tool: Definition<'_>, json_schema: bool) -> Value {
    let has_some =
        tool.parameters.get("properties").and_then(Value::as_object).is_some_and(|it| !it.is_empty());
    let mut declaration = json!({ "name": tool.name, "description": tool.description });
    if json_schema {
        declaration["parametersJsonSchema"] = tool.parameters;
    } else if has_some {
        // An object without properties is rejected (<https://github.com/agno-agi/agno/issues/2112>); a tool
        // without parameters omits the schema.
        declaration["parameters"] = tool.parameters;
    }
    declaration
}

fn read(response: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
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

fn push(event: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    reading.identify(&event.field("responseId"), &event.field("modelVersion"));
    let candidate = candidate(event)?;
    let content = candidate.field("content");
    reading.draft.take_members(&content, "parts");
    for part in parts(&content, reading) {
        let call = part.field("functionCall");
        if call.value().is_some() {
            push_call_part(&part, &call, reading);
        } else {
            tell(&part, reading);
            push_text_part(&part, &mut reading.draft);
        }
    }
    reading.count(&event.field("usageMetadata"));
    if stop(&candidate, reading)? {
        reading.slots.end();
    }
    Ok(())
}

/// Returns the parts of a content that can be read.
fn parts<'v>(content: &At<'v>, reading: &mut Reading) -> Vec<At<'v>> {
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
fn tell(part: &At<'_>, reading: &mut Reading) {
    let text = part.field("text").as_text().unwrap_or_default();
    if is_thought(part.value()) {
        reading.reason(text);
    } else {
        reading.add_text(text);
    }
}

fn is_thought(part: Option<&ExactValue<'_>>) -> bool {
    part.and_then(|part| part.get("thought")) == Some(&ExactValue::Bool(true))
}

/// Adds a part other than a call: text is appended to the preceding text, unless one of them has other members,
/// such as a [signature](https://ai.google.dev/gemini-api/docs/thought-signatures).
fn push_text_part(part: &At<'_>, draft: &mut Draft) {
    let is_text = |part: Option<&ExactValue<'_>>| {
        part.is_some_and(|part| {
            let ExactValue::Object(members) = part else { return false };
            part.get("text").is_some() && members.iter().all(|(name, _)| name == "text" || name == "thought")
        })
    };
    if is_text(part.value()) {
        let is_same = |before: &&mut Part| {
            let before = Some(&before.value);
            is_text(before) && is_thought(before) == is_thought(part.value())
        };
        let more = part.field("text");
        if let Some(place) = draft.last_mut().filter(is_same).and_then(|before| before.value.get_mut("text"))
        {
            return more.value().map_or((), |more| add(place, more));
        }
        if more.as_text().is_some_and(str::is_empty) {
            return;
        }
    }
    draft.push(Part::new(part.to_owned()));
}

/// Adds a call, or the members of a further part beside its part of the arguments.
fn push_call_part(part: &At<'_>, call: &At<'_>, reading: &mut Reading) {
    let begun = reading.slots.len();
    let at = push_call(call, reading);
    let is_new = reading.slots.len() > begun;
    let place = if is_new {
        reading.draft.push(Part::of_call(ExactValue::Object(Vec::new()), at))
    } else {
        reading.draft.find(&Key::Number(at as u64)).unwrap_or_default()
    };
    reading.draft.know(place, Key::Number(at as u64));
    let Some(own) = reading.draft.get_mut(place) else { return };
    own.open |= call.field("partialArgs").value().is_some();
    let ExactValue::Object(members) = &mut own.value else { return };
    join(members, part.members(), |name, own, value| match own {
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
fn push_function(function: &mut Members, call: &At<'_>) {
    let rest = call.members().filter(|(name, _)| !matches!(*name, "partialArgs" | "willContinue"));
    join(function, rest, |_, own, value| *own = value.to_owned());
}

fn complete(draft: &mut Draft, slots: &Slots) {
    draft.fill(slots, |part, slot| {
        if let Some(function) = part.get_mut("functionCall") {
            put(function, "args", slot.arguments());
        }
    });
    for part in draft.parts() {
        let slot = part.call.and_then(|at| slots.get(at));
        if let (Some(slot), Some(ExactValue::Object(function))) = (slot, part.value.get_mut("functionCall")) {
            conform_id(function, slot.id.as_deref());
        }
    }
}

/// Writes the id of a call as a text, and removes one that is none.
fn conform_id(function: &mut Members, id: Option<&str>) {
    match id {
        None => function.retain(|(name, _)| name != "id"),
        Some(id) => {
            let own = function.iter_mut().find(|(name, _)| name == "id");
            if let Some((_, own)) = own.filter(|(_, own)| own.as_str() != Some(id)) {
                *own = text(id);
            }
        }
    }
}

/// Returns the members of a call of a message.
fn call_members<'m>(part: &'m mut ExactValue<'static>, is_own: bool) -> Option<CallMembers<'m>> {
    let object = part.get_mut("functionCall").filter(|_| is_own)?;
    Some(CallMembers { object, arguments: "args", form: ArgumentsForm::OptionalObject })
}

/// [Thoughts](https://ai.google.dev/api/generate-content#UsageMetadata) are not included in the candidates'
/// tokens.
fn usage(usage: &ExactValue<'_>) -> Usage {
    let count = |name: &str| counted(usage, &[name]);
    let reasoning = count("thoughtsTokenCount");
    Usage {
        input: sum(count("promptTokenCount"), [count("toolUsePromptTokenCount")]),
        output: sum(count("candidatesTokenCount").or(reasoning.map(|_| 0)), [reasoning]),
        cached: count("cachedContentTokenCount"),
        cache_written: None,
        reasoning,
    }
}

/// Returns the only candidate; `null` for a blocked prompt and for the final event with token counts.
fn candidate<'v>(response: &At<'v>) -> Result<At<'v>, DialectError> {
    let candidates = response.field("candidates");
    match <[At<'v>; 1]>::try_from(candidates.any_items()?) {
        Ok([candidate]) => Ok(candidate),
        Err(all) if all.is_empty() => Ok(candidates),
        Err(_) => Err(candidates.error("one candidate")),
    }
}

/// Records the [finish reason](https://ai.google.dev/api/generate-content#FinishReason) of a candidate; only
/// `STOP` means that all calls are complete. Returns `true` if there is one.
fn stop(candidate: &At<'_>, reading: &mut Reading) -> Result<bool, DialectError> {
    let place = candidate.field("finishReason");
    let has_reason = reading.stop_at(&place, &["STOP"]);
    // The response contains no other sign of this call.
    if let Some(reason @ "MALFORMED_FUNCTION_CALL") = place.as_text()
        && reading.slots.last().is_none()
    {
        return Err(place.error_with("a call", reason));
    }
    Ok(has_reason)
}

/// Adds a call, or a part of one: the first has the name, and all but the last have `willContinue`
/// ([fields](https://googleapis.github.io/js-genai/release_docs/interfaces/types.FunctionCall.html); the last
/// may be [empty](https://github.com/vercel/ai/pull/13929)).
fn push_call(call: &At<'_>, reading: &mut Reading) -> usize {
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
fn push_arguments(call: &At<'_>, slot: &mut Slot) -> Result<(), DialectError> {
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
fn push_part(part: &At<'_>, arguments: &mut ExactValue<'static>) -> Result<(), DialectError> {
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

/// Appends `text` to the parts of the system instruction; its member may have either spelling.
fn instruct(body: &mut Value, text: &str) -> Result<(), DialectError> {
    let is_there = body.get("system_instruction").is_some();
    let field = if is_there { "system_instruction" } else { "systemInstruction" };
    let content = body.as_object_mut().map(|fields| fields.entry(field).or_insert(Value::Null));
    if let Some(content @ Value::Null) = content {
        *content = json!({ "parts": [] });
    }
    match body.pointer_mut(&format!("/{field}/parts")) {
        Some(Value::Array(parts)) => add_block(parts, json!({ "text": text })),
        _ => return Err(DialectError::of_body(body, &format!("/{field}/parts"), "a list")),
    }
    Ok(())
}

/// Returns one content with a part for each result, followed by parts with images and other files.
fn results(bound: &BoundTools, results: &[ToolResult]) -> Value {
    let mut parts = Vec::new();
    let mut files = Vec::new();
    for result in results {
        let name = bound.wire_name(&result.name);
        let mut response = json!({ "name": name, "response": response(result, &mut files) });
        // The provider does not know a generated id.
        if !result.id.is_generated() {
            response["id"] = json!(result.id);
        }
        parts.push(json!({ "functionResponse": response }));
    }
    parts.append(&mut files);
    json!({ "role": "user", "parts": parts })
}

/// Returns a part of a user message.
pub(super) fn user_part(block: Block) -> Value {
    match block {
        Block::Text(text) => json!({ "text": text }),
        Block::File { mime_type, data, .. } if is_shown(&mime_type) => {
            json!({ "inlineData": { "mimeType": mime_type, "data": data } })
        }
        Block::File { mime_type, data, .. } => json!({ "text": not_shown(&mime_type, &data) }),
    }
}

/// D06: always an object.
fn response(result: &ToolResult, files: &mut Vec<Value>) -> Map<String, Value> {
    let mut notes = Vec::new();
    for block in blocks(result) {
        let Block::File { mime_type, data, .. } = block else { continue };
        if is_shown(&mime_type) {
            notes.push(Value::from(format!("[{mime_type}: after the results]")));
            files.push(json!({ "inlineData": { "mimeType": mime_type, "data": data } }));
        } else {
            notes.push(not_shown(&mime_type, &data).into());
        }
    }
    let text = || Value::from(result.text().into_owned());
    let mut response = match &result.outcome {
        Ok(output) if output.is_failure() => Map::from_iter([("error".to_owned(), text())]),
        Ok(output) if output.is_empty() => Map::new(),
        Ok(output) if is_value(output) => output.to_map(),
        Ok(_) => Map::from_iter([("result".to_owned(), text())]),
        Err(_) => Map::from_iter([("error".to_owned(), text())]),
    };
    if !notes.is_empty() {
        response.entry("files").or_insert(Value::Array(notes));
    }
    response
}

/// Returns `true` if the structured value of `output` carries the same content as its text: where the tool
/// wrote its own text, all models read that text.
fn is_value(output: &ToolOutput) -> bool {
    let Some(value) = output.structured() else { return false };
    let text = output.text();
    output.content().is_empty()
        || value.as_str() == Some(&*text)
        || serde_json::from_str::<Value>(&text).is_ok_and(|written| written == value)
}

/// Returns `true` if messages can contain files of that type.
fn is_shown(mime_type: &str) -> bool {
    matches!(
        mime_type,
        "image/png"
            | "image/jpeg"
            | "image/webp"
            | "image/heic"
            | "image/heif"
            | "application/pdf"
            | "audio/wav"
            | "audio/mp3"
            | "audio/mpeg"
            | "audio/aac"
            | "audio/ogg"
            | "audio/flac"
            | "audio/aiff"
    )
}

/// Returns a content of another model.
fn assistant_message(bound: &BoundTools, content: &str, calls: &[ToolCall]) -> ExactValue<'static> {
    let call = |call: &ToolCall| {
        let mut members = Members::new();
        // The provider does not know a generated id.
        if !call.id.is_generated() {
            members.push(("id".into(), text(&call.id.to_string())));
        }
        members.push(("name".into(), text(&bound.wire_name(&call.name))));
        members.push(("args".into(), bound.sent_arguments(call)));
        exact_object([("functionCall", ExactValue::Object(members))])
    };
    let part = Some(content).filter(|content| !content.trim().is_empty());
    let part = part.map(|it| exact_object([("text", text(it))]));
    let parts = part.into_iter().chain(calls.iter().map(call)).collect();
    exact_object([("role", text("model")), ("parts", ExactValue::List(parts))])
}
