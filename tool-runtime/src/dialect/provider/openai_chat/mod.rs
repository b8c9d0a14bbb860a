//! OpenAI's chat completions: <https://platform.openai.com/docs/api-reference/chat>.

mod message;

use serde_json::{Map, Value, json};
use tool_core::{__private::ExactValue, CallId};

use self::message::complete;
use super::{Definition, WireFormat, exact_object, object, refuse_failure};
use crate::{
    ToolCall, ToolResult,
    dialect::{
        BoundTools, DialectError, Usage,
        content::{Block, blocks, not_shown, signed},
        draft::{Draft, Members, Part as Piece, put, text},
        error::At,
        history::{ArgumentsForm, CallMembers},
        names::NameRule,
        reading::Reading,
        request::instruct_in,
        schema::{OPENAI, OPENAI_STRICT, Rules},
        slots::{Key, Slot, Slots},
        usage::counted,
    },
};

/// OpenAI's chat completions.
#[derive(Debug)]
pub(in crate::dialect) struct OpenAiChat {
    pub(in crate::dialect) strict: bool,
}

/// [Names](https://platform.openai.com/docs/api-reference/chat/create) of OpenAI's APIs.
pub(super) const NAME_RULE: NameRule = NameRule { longest: 64, also: &[], starts_with_letter: false };

/// "A max of 128 functions are supported" ([chat
/// completions](https://platform.openai.com/docs/api-reference/chat/create);
/// [refusal](https://github.com/zed-industries/zed/issues/32946)).
const MAX_TOOLS: usize = 128;

/// No published source ([refusal](https://github.com/getsentry/sentry-mcp/issues/106)).
pub(super) const MAX_DESCRIPTION_CHARS: usize = 1_024;

impl WireFormat for OpenAiChat {
    fn name(&self) -> &'static str {
        if self.strict { "openai-chat-strict" } else { "openai-chat" }
    }

    fn rules(&self) -> (&'static Rules, Option<&'static Rules>) {
        if self.strict { (&OPENAI_STRICT, Some(&OPENAI)) } else { (&OPENAI, None) }
    }

    fn name_rule(&self) -> NameRule {
        NAME_RULE
    }

    fn max_tools(&self) -> Option<usize> {
        Some(MAX_TOOLS)
    }

    fn max_description_chars(&self) -> Option<usize> {
        Some(MAX_DESCRIPTION_CHARS)
    }

    fn definition(&self, tool: Definition<'_>) -> Value {
        definition(tool)
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

    fn message_call_members<'m>(&self, message: &'m mut Members) -> Option<CallMembers<'m>> {
        function_call_members(message)
    }

    fn call_id_member(&self) -> Option<&'static str> {
        Some("id")
    }

    fn message(&self, draft: Draft) -> Option<ExactValue<'static>> {
        draft.into_message("tool_calls", "assistant")
    }

    fn messages_member(&self) -> Option<&'static str> {
        Some("messages")
    }

    fn usage(&self, counted: &ExactValue<'_>) -> Usage {
        usage(counted)
    }

    fn instruct(&self, body: &mut Value, text: &str) -> Result<(), DialectError> {
        instruct(body, text)
    }

    fn user_part(&self, block: Block) -> Value {
        user_part(block)
    }

    fn accepts(&self, mime_type: &str) -> bool {
        part(mime_type, "", "").is_some()
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
}

fn definition(tool: Definition<'_>) -> Value {
    let function = object([
        ("name", tool.name.into()),
        ("description", tool.description.into()),
        ("parameters", tool.parameters),
        ("strict", tool.strict.into()),
    ]);
    object([("type", "function".into()), ("function", function)])
}

/// The finish reasons after which every call is complete: [OpenAI's
/// own](https://platform.openai.com/docs/api-reference/chat/object#chat/object-choices), and equivalent ones of
/// servers that pass on the reasons of their models (Anthropic's, `eos` and `eos_token` of inference servers,
/// Cohere's). All others, known (`length`, `content_filter`) or not, mean that the model was stopped.
const FINISHED: &[&str] = &[
    "stop",
    "tool_calls",
    "function_call",
    "tool_call",
    "tool_use",
    "end_turn",
    "eos",
    "eos_token",
    "complete",
];

fn read(response: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    reading.identify(&response.field("id"), &response.field("model"));
    reading.count(&response.field("usage"));
    let choices = response.field("choices").items()?;
    let is_only = choices.len() == 1;
    for choice in choices {
        refuse_failure(&choice)?;
        let message = choice.field("message");
        if let Err(error) = message.object() {
            // Nothing of the response could be read.
            if is_only {
                return Err(error);
            }
            reading.skip(error);
            continue;
        }
        let listed = message.field("tool_calls");
        let function = message.field("function_call");
        let calls = call_items(&listed, reading);
        let has_calls = !calls.is_empty() || function.value().is_some();
        // Choices are alternatives: running the calls of all of them would repeat every action.
        if has_calls && reading.slots.last().is_some() {
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
        reading.restart();
        reading.draft.take_members(&message, "tool_calls");
        message::tell(&message, reading);
        for call in calls {
            let at = read_call(&call, &mut reading.slots);
            let mut own =
                call.object().map_or_else(|_| ExactValue::Object(Vec::new()), |call| call.to_owned());
            nest_members(&mut own);
            reading.draft.push(Piece::of_call(own, at));
        }
        if function.value().is_some() {
            let mut slot = function_call();
            slot.push_name(function.field("name").as_text().unwrap_or_default());
            slot.set_arguments(&function.field("arguments"));
            reading.slots.begin(slot);
        }
        reading.stop_at(&choice.field("finish_reason"), FINISHED);
    }
    Ok(())
}

/// Returns the calls of a list that may be absent, or a single call. Items without content are no calls, and neither is
/// any other value.
fn call_items<'v>(calls: &At<'v>, reading: &mut Reading) -> Vec<At<'v>> {
    match calls.value() {
        None => Vec::new(),
        Some(ExactValue::Object(call)) if !call.is_empty() => vec![calls.clone()],
        Some(ExactValue::Object(_)) => Vec::new(),
        Some(_) => match calls.items() {
            Ok(items) => items.into_iter().filter(|call| call.value().is_some()).collect(),
            Err(error) => {
                reading.skip(error);
                Vec::new()
            }
        },
    }
}

fn read_call(call: &At<'_>, slots: &mut Slots) -> usize {
    let part = Part::of(call);
    let mut slot = part.begun(slots.next_number());
    slot.push_name(part.name_part);
    slot.set_arguments(&part.arguments);
    slots.begin(slot)
}

/// Returns `true` for a call of a tool that takes free text: by its type, or else by its members.
fn is_custom_call(call: &ExactValue<'_>) -> bool {
    let has = |name: &str| call.get(name).is_some_and(|it| !it.is_null());
    match call.get("type").and_then(ExactValue::as_str) {
        Some("custom") => true,
        Some("function") => false,
        _ => has("custom") && !has("function"),
    }
}

/// Returns the names of the members of a call with its name, and with its arguments.
fn call_kind(call: &ExactValue<'_>) -> (&'static str, &'static str) {
    if is_custom_call(call) { ("custom", "input") } else { ("function", "arguments") }
}

/// Returns `true` for a call with a name or arguments beside the object that should contain them, as some servers send
/// it, instead of in it.
fn is_flat(call: &ExactValue<'_>) -> bool {
    let (kind, arguments) = call_kind(call);
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
fn nest_members(call: &mut ExactValue<'static>) {
    if !is_flat(call) {
        return;
    }
    let (kind, arguments) = call_kind(call);
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
            put(&mut holder, name, value);
        }
    }
    put(call, kind, holder);
}

/// The prefix of generated ids for calls from `function_call`, which has no id: it selects a message with the
/// role `function` as the answer. No id of a provider begins with it.
const FUNCTION_CALL: &str = "without_id_function_call_";

/// Creates the call of the legacy `function_call` of a message, without its name and arguments.
fn function_call() -> Slot {
    let id = Some(format!("{FUNCTION_CALL}{}", CallId::generate()));
    Slot { number: u64::MAX, id, ..Slot::default() }
}

/// Returns the members of a call of a message; the `type` of the call is set where it is absent.
fn call_members<'m>(call: &'m mut ExactValue<'static>, is_own: bool) -> Option<CallMembers<'m>> {
    if !is_own {
        return None;
    }
    let (kind, arguments) = call_kind(call);
    let form = if kind == "custom" { ArgumentsForm::FreeText } else { ArgumentsForm::ObjectText };
    if call.get("type").and_then(ExactValue::as_str) != Some(kind) {
        put(call, "type", text(kind));
    }
    Some(CallMembers { object: call.entry(kind)?, arguments, form })
}

/// Returns the members of the legacy `function_call` of a message, if there is one.
fn function_call_members(message: &mut Members) -> Option<CallMembers<'_>> {
    let is_call =
        |(name, value): &&mut (_, ExactValue<'static>)| *name == "function_call" && !value.is_null();
    let (_, object) = message.iter_mut().find(is_call)?;
    Some(CallMembers { object, arguments: "arguments", form: ArgumentsForm::ObjectText })
}

fn is_function_call(slot: &Slot) -> bool {
    slot.id.as_deref().is_some_and(|id| id.starts_with(FUNCTION_CALL))
}

fn push(event: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    reading.identify(&event.field("id"), &event.field("model"));
    reading.count(&event.field("usage"));
    for choice in event.field("choices").any_items()? {
        let delta = choice.field("delta");
        let (parts, function) = (delta.field("tool_calls"), delta.field("function_call"));
        let index = choice.field("index");
        if index.value().and_then(ExactValue::as_u64).unwrap_or(0) != 0 {
            if parts.value().is_some() || function.value().is_some() {
                return Err(index.error("calls in the first choice only"));
            }
            continue;
        }
        refuse_failure(&choice)?;
        message::push_members(&delta, &mut reading.draft);
        message::tell(&delta, reading);
        let is_function = reading.slots.last().and_then(|at| reading.slots.get(at)).map(is_function_call);
        for part in call_items(&parts, reading) {
            if is_function == Some(true) {
                return Err(parts.error("calls here or in `function_call`, and not in both"));
            }
            let begun = reading.slots.len();
            let at = push_part(&Part::of(&part), &mut reading.slots);
            message::push_piece(&part, at, reading.slots.len() > begun, &mut reading.draft);
        }
        if function.value().is_some() {
            push_function_call(&function, &mut reading.slots)?;
        }
        if reading.stop_at(&choice.field("finish_reason"), FINISHED) {
            reading.slots.end();
        }
    }
    Ok(())
}

fn usage(usage: &ExactValue<'_>) -> Usage {
    Usage {
        input: counted(usage, &["prompt_tokens"]),
        output: counted(usage, &["completion_tokens"]),
        cached: counted(usage, &["prompt_tokens_details", "cached_tokens"])
            .or_else(|| counted(usage, &["prompt_cache_hit_tokens"])),
        cache_written: None,
        reasoning: counted(usage, &["completion_tokens_details", "reasoning_tokens"]),
    }
}

/// A call of a message, or a part of one.
struct Part<'v> {
    number: Option<u64>,
    id: Option<&'v str>,
    name: Option<&'v str>,
    /// The name as received: `null` as a text may also be a part of a name.
    name_part: &'v str,
    arguments: At<'v>,
    /// Set where the tool takes free text.
    custom: bool,
}

impl<'v> Part<'v> {
    fn of(part: &At<'v>) -> Self {
        let is_custom = part.value().is_some_and(is_custom_call);
        let (kind, arguments) = part.value().map_or(("function", "arguments"), call_kind);
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
            id: part.field("id").call_id(),
            name: name.call_name(),
            name_part: name.as_text().unwrap_or_default(),
            arguments,
            custom: is_custom,
        }
    }

    /// Creates the call that begins with this part, without its name and arguments. A later part may have its name.
    fn begun(&self, number: u64) -> Slot {
        Slot { number, id: self.id.map(str::to_owned), custom: self.custom, ..Slot::default() }
    }

    /// Returns the call that the part belongs to; `None` where it begins one.
    ///
    /// Calls are distinguished by number, and by id where servers number all of them 0 or not at all. A part
    /// without a number begins a call if it has a name. Under an existing number, a name with a new id begins a call, and
    /// so does a name after the end of the arguments. The parts of a number are one call until it has a name; some
    /// servers [give each part an id of its own](https://github.com/poolsideai/pool/issues/9). Any other name is a further
    /// piece of the name.
    fn place(&self, slots: &Slots) -> Option<usize> {
        let by_id = self.id.and_then(|id| slots.find(&Key::Id(id.to_owned())));
        let at = match self.number {
            Some(number) => by_id
                .filter(|at| slots.get(*at).is_some_and(|slot| slot.number == number))
                .or_else(|| slots.find(&Key::Number(number))),
            None if by_id.is_some() => by_id,
            None if self.name.is_some() => slots.last().filter(|at| slots.get(*at).is_some_and(is_unnamed)),
            None => slots.last(),
        }?;
        let slot = slots.get(at)?;
        let is_same_id = self.id.is_some() && slot.id.as_deref() == self.id;
        let is_other_id = self.id.is_some() && slot.id.is_some() && !is_same_id;
        let belongs = match self.name {
            _ if is_other_id && (self.name.is_some() || slot.is_closed()) => false,
            None => true,
            Some(_) if is_unnamed(slot) => true,
            Some(_) if slot.is_closed() && !is_same_id => false,
            Some(name) if name == slot.name => true,
            // The first id under a number whose call has none.
            Some(_) => self.id.is_none() || is_same_id,
        };
        belongs.then_some(at)
    }
}

fn is_unnamed(slot: &Slot) -> bool {
    slot.name.is_empty()
}

/// Adds a part of a call, or begins one; returns its index.
fn push_part(part: &Part<'_>, slots: &mut Slots) -> usize {
    let at = match part.place(slots) {
        Some(at) => at,
        None => {
            let number = part.number.unwrap_or_else(|| slots.next_number());
            let mut slot = part.begun(number);
            let before = slots.find(&Key::Number(number)).and_then(|at| slots.get(at));
            let name = part.name.unwrap_or_default();
            slot.repeated = part.id.is_none() && before.is_some_and(|before| before.name == name);
            slots.begin(slot)
        }
    };
    if let (Some(id), Some(None)) = (part.id, slots.get(at).map(|slot| &slot.id)) {
        slots.know(at, Key::Id(id.to_owned()));
        if let Some(slot) = slots.get_mut(at) {
            slot.id = Some(id.to_owned());
        }
    }
    if let Some(slot) = slots.get_mut(at) {
        slot.push_name(part.name_part);
        slot.set_arguments(&part.arguments);
    }
    at
}

/// Adds a part of the legacy `function_call` of a message.
fn push_function_call(part: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    let at = match slots.last() {
        Some(at) => at,
        None => slots.begin(function_call()),
    };
    let Some(slot) = slots.get_mut(at) else { return Ok(()) };
    if !is_function_call(slot) {
        return Err(part.error("calls in `tool_calls` or here, and not in both"));
    }
    slot.push_name(part.field("name").as_text().unwrap_or_default());
    slot.set_arguments(&part.field("arguments"));
    Ok(())
}

/// Appends `text` to the first message if its role is `system`, or `developer` for some models.
fn instruct(body: &mut Value, text: &str) -> Result<(), DialectError> {
    let is_first =
        body.pointer("/messages/0/role").is_some_and(|role| role == "system" || role == "developer");
    if is_first && let Some(first) = body.pointer_mut("/messages/0") {
        return instruct_in(first, "content", text, true).map_err(|error| error.below("/messages/0"));
    }
    let message = json!({ "role": "system", "content": text });
    match body.as_object_mut().map(|fields| fields.entry("messages").or_insert(Value::Null)) {
        Some(messages @ Value::Null) => *messages = json!([message]),
        Some(Value::Array(messages)) => messages.insert(0, message),
        _ => return Err(DialectError::of_body(body, "/messages", "a list")),
    }
    Ok(())
}

/// Returns a message for each result. Only user messages can contain images and audio: one follows with all of
/// them.
fn results(bound: &BoundTools, results: &[ToolResult]) -> Value {
    let mut messages = Vec::new();
    let mut shown = Vec::new();
    for result in results {
        let texts = blocks(result).into_iter().map(|block| match block {
            Block::Text(text) => text,
            Block::File { mime_type, data, name } => match part(&mime_type, &data, &name) {
                Some(part) => {
                    shown.push(json!({ "type": "text", "text": format!("From {} ({}):", result.name, result.id) }));
                    shown.push(part);
                    format!("[{mime_type}: in the message below]")
                }
                None => not_shown(&mime_type, &data),
            },
        });
        let content = signed(texts.collect(), result);
        messages.push(if result.id.to_string().starts_with(FUNCTION_CALL) {
            json!({ "role": "function", "name": bound.wire_name(&result.name), "content": content })
        } else {
            json!({ "role": "tool", "tool_call_id": result.id, "content": content })
        });
    }
    if !shown.is_empty() {
        messages.push(json!({ "role": "user", "content": shown }));
    }
    messages.into()
}

/// Returns a part of a user message.
pub(super) fn user_part(block: Block) -> Value {
    match block {
        Block::Text(text) => json!({ "type": "text", "text": text }),
        Block::File { mime_type, data, name } => part(&mime_type, &data, &name)
            .unwrap_or_else(|| json!({ "type": "text", "text": not_shown(&mime_type, &data) })),
    }
}

/// Returns a file as a part of a user message.
fn part(mime_type: &str, data: &str, name: &str) -> Option<Value> {
    let url = || format!("data:{mime_type};base64,{data}");
    Some(match mime_type {
        "image/png" | "image/jpeg" | "image/webp" | "image/gif" => {
            json!({ "type": "image_url", "image_url": { "url": url() } })
        }
        "audio/wav" | "audio/x-wav" | "audio/wave" => audio(data, "wav"),
        "audio/mpeg" | "audio/mp3" => audio(data, "mp3"),
        "application/pdf" => {
            let mut file = Map::from_iter([("file_data".to_owned(), url().into())]);
            let name = if name.is_empty() { "document.pdf" } else { name };
            file.insert("filename".to_owned(), name.into());
            json!({ "type": "file", "file": file })
        }
        _ => return None,
    })
}

fn audio(data: &str, format: &str) -> Value {
    json!({ "type": "input_audio", "input_audio": { "data": data, "format": format } })
}

/// Returns an assistant message of another model.
fn assistant_message(bound: &BoundTools, content: &str, calls: &[ToolCall]) -> ExactValue<'static> {
    let call = |call: &ToolCall| {
        let arguments = bound.sent_arguments(call).to_string();
        let function =
            exact_object([("name", text(&bound.wire_name(&call.name))), ("arguments", text(&arguments))]);
        exact_object([("id", text(&call.id.to_string())), ("type", text("function")), ("function", function)])
    };
    let content = if content.is_empty() { ExactValue::Null } else { text(content) };
    let mut members = vec![("role".into(), text("assistant")), ("content".into(), content)];
    if !calls.is_empty() {
        members.push(("tool_calls".into(), ExactValue::List(calls.iter().map(call).collect())));
    }
    ExactValue::Object(members)
}
