//! Anthropic's messages: <https://docs.anthropic.com/en/api/messages>.

use serde_json::{Value, json};
use tool_core::{__private::ExactValue, Content};

use super::{Definition, WireFormat, add_parts, exact_object, object, user_parts};
use crate::{
    ToolCall, ToolResult,
    dialect::{
        BoundTools, DialectError, Usage,
        budget::Budget,
        content::{Block, blocks, not_shown},
        draft::{Draft, Part, add, join, put, text},
        error::At,
        history::{ArgumentsForm, CallMembers},
        names::NameRule,
        reading::Reading,
        request::instruct_in,
        schema::{ANTHROPIC, ANTHROPIC_STRICT, Rules},
        slots::{Key, Slot, Slots},
        usage::{counted, sum},
    },
};

/// Anthropic's messages.
#[derive(Debug)]
pub(in crate::dialect) struct Anthropic {
    pub(in crate::dialect) strict: bool,
}

/// [Names](https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools) of tools.
const NAME_RULE: NameRule = NameRule { longest: 128, also: &[], starts_with_letter: false };

impl WireFormat for Anthropic {
    fn name(&self) -> &'static str {
        if self.strict { "anthropic-strict" } else { "anthropic" }
    }

    fn rules(&self) -> (&'static Rules, Option<&'static Rules>) {
        if self.strict { (&ANTHROPIC_STRICT, Some(&ANTHROPIC)) } else { (&ANTHROPIC, None) }
    }

    fn name_rule(&self) -> NameRule {
        NAME_RULE
    }

    fn budget(&self) -> Option<Budget> {
        self.strict.then_some(Budget::ANTHROPIC)
    }

    fn takes_examples(&self) -> bool {
        true
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

    fn call_members<'m>(&self, part: &'m mut ExactValue<'static>, _is_own: bool) -> Option<CallMembers<'m>> {
        call_members(part)
    }

    fn call_id_member(&self) -> Option<&'static str> {
        Some("id")
    }

    fn message(&self, draft: Draft) -> Option<ExactValue<'static>> {
        draft.into_message("content", "assistant")
    }

    fn messages_member(&self) -> Option<&'static str> {
        Some("messages")
    }

    fn usage(&self, counted: &ExactValue<'_>) -> Usage {
        usage(counted)
    }

    fn instruct(&self, body: &mut Value, text: &str) -> Result<(), DialectError> {
        instruct_in(body, "system", text, true)
    }

    fn user_part(&self, block: Block) -> Value {
        user_part(block)
    }

    fn accepts(&self, mime_type: &str) -> bool {
        file(mime_type, "").is_some()
    }

    fn assistant_message(
        &self,
        bound: &BoundTools,
        content: &str,
        calls: &[ToolCall],
    ) -> ExactValue<'static> {
        assistant_message(bound, content, calls)
    }

    fn results(&self, _bound: &BoundTools, results: &[ToolResult]) -> Value {
        self::results(results)
    }

    fn add_follow_up(&self, messages: &mut Value, _at: usize, content: &[Content]) {
        add_parts(messages, "content", user_parts(self, content));
    }
}

fn definition(tool: Definition<'_>) -> Value {
    let mut definition = object([
        ("name", tool.name.into()),
        ("description", tool.description.into()),
        ("input_schema", tool.parameters),
    ]);
    if tool.strict {
        definition["strict"] = true.into();
    }
    if !tool.examples.is_empty() {
        definition["input_examples"] = tool.examples.into();
    }
    definition
}

/// The [stop reasons](https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons) after which
/// every call is complete. `pause_turn` is included: native tools paused the turn between two blocks.
/// `stop_sequence` is not: after a complete call the reason is `tool_use`, so the sequence occurred inside the
/// last one.
const FINISHED: &[&str] = &["tool_use", "end_turn", "pause_turn"];

fn read(response: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    begin_message(response, reading);
    let content = response.field("content");
    match content.value() {
        // The text of the only block.
        Some(ExactValue::String(_)) => begin_block(&content, None, reading),
        None if response.field("stop_reason").value().is_some() => {
            reading.skip(content.error("a list"));
        }
        _ => content.items()?.iter().for_each(|block| begin_block(block, None, reading)),
    }
    reading.stop_at(&response.field("stop_reason"), FINISHED);
    Ok(())
}

/// Reads the role of a message, and reserves its list of blocks: the provider accepts no other member back.
fn begin_message(message: &At<'_>, reading: &mut Reading) {
    if let Some(role) = message.field("role").as_text() {
        reading.draft.base =
            vec![("role".into(), text(role)), ("content".into(), ExactValue::List(Vec::new()))];
    }
    reading.identify(&message.field("id"), &message.field("model"));
    reading.count(&message.field("usage"));
}

/// Begins a block; with a number in a stream. A block without a type is read by its members; a text is the text of a
/// block.
fn begin_block(block: &At<'_>, number: Option<u64>, reading: &mut Reading) {
    let value = match block.value() {
        Some(ExactValue::String(own)) => {
            ExactValue::Object(vec![("type".into(), text("text")), ("text".into(), text(own))])
        }
        _ => block.to_owned(),
    };
    let Some(kind) = block_kind(&value) else {
        // In a stream, the parts of the block say what it is.
        return reading.skip(block.field("type").error("the type of a block"));
    };
    let (kind, is_typed) = (kind.to_owned(), value.get("type").is_some_and(|it| it.as_str() == Some(kind)));
    let mut part = Part::new(value);
    if !is_typed {
        put(&mut part.value, "type", text(&kind));
    }
    part.open = number.is_some();
    let own = |name: &str| part.value.get(name).and_then(ExactValue::as_str).unwrap_or_default();
    match kind.as_str() {
        // Native tools use `server_tool_use` instead.
        "tool_use" => {
            let id = block.field("id").call_id().map(str::to_owned);
            let mut slot =
                Slot { number: number.unwrap_or(reading.slots.next_number()), id, ..Slot::default() };
            slot.push_name(own("name"));
            slot.set_arguments(&block.field("input"));
            slot.open = number.is_some();
            part.call = Some(reading.slots.begin(slot));
        }
        "text" => reading.add_text(own("text")),
        "thinking" => reading.reason(own("thinking")),
        _ => {}
    }
    let at = reading.draft.push(part);
    if let Some(number) = number {
        reading.draft.know(at, Key::Number(number));
    }
}

/// Returns the type of a block, or of one without a type by its members; `None` where they do not tell.
fn block_kind<'v>(block: &'v ExactValue<'_>) -> Option<&'v str> {
    let text = |name: &str| block.get(name).and_then(ExactValue::as_str);
    if let Some(kind) = text("type").filter(|kind| !kind.trim().is_empty()) {
        return Some(kind);
    }
    let is_native = text("id").is_some_and(|id| id.starts_with("srvtoolu_"));
    let kinds = [
        ("server_tool_use", is_native && text("name").is_some()),
        ("tool_use", text("name").is_some() && (text("id").is_some() || block.get("input").is_some())),
        ("thinking", text("thinking").is_some()),
        ("text", text("text").is_some()),
    ];
    kinds.into_iter().find_map(|(kind, is_it)| is_it.then_some(kind))
}

/// Adds an event. A part of one that cannot be read is left out.
fn push(event: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    if let Err(error) = push_event(event, reading) {
        reading.skip(error);
    }
    Ok(())
}

fn push_event(event: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    match event_kind(event)? {
        "message_start" => begin_message(&event.field("message"), reading),
        "content_block_start" => {
            let index = event.field("index");
            // Some servers omit the index.
            let number = if index.value().is_some() { index.number()? } else { reading.draft.len() as u64 };
            begin_block(&event.field("content_block"), Some(number), reading);
        }
        "content_block_delta" => push_delta(&event.field("delta"), &event.field("index"), reading)?,
        "content_block_stop" => {
            let at = block_index(&event.field("index"), reading)?;
            let Some(part) = at.and_then(|at| reading.draft.get_mut(at)) else { return Ok(()) };
            part.open = false;
            if let Some(slot) = part.call.and_then(|at| reading.slots.get_mut(at)) {
                slot.open = false;
            }
        }
        "message_delta" => {
            reading.count(&event.field("usage"));
            reading.stop_at(&event.field("delta").field("stop_reason"), FINISHED);
        }
        "message_stop" => reading.slots.end(),
        _ => {}
    }
    Ok(())
}

/// Returns the type of an event, or of one without a type by its members.
fn event_kind<'v>(event: &At<'v>) -> Result<&'v str, DialectError> {
    let kind = event.field("type");
    let has = |name: &str| event.field(name).value().is_some();
    match kind.as_text() {
        Some(kind) => Ok(kind),
        None if has("content_block") => Ok("content_block_start"),
        None if event.field("message").object().is_ok() => Ok("message_start"),
        None if has("delta") && has("index") => Ok("content_block_delta"),
        None if has("delta") => Ok("message_delta"),
        None => kind.text(),
    }
}

/// Returns the position of a block that has begun: the last one, where the event has no index.
fn block_index(index: &At<'_>, reading: &Reading) -> Result<Option<usize>, DialectError> {
    match index.value() {
        Some(_) => Ok(reading.draft.find(&Key::Number(index.number()?))),
        None => Ok(reading.draft.len().checked_sub(1)),
    }
}

/// Adds a [delta](https://platform.claude.com/docs/en/build-with-claude/streaming#content-block-delta-types) to
/// its block. A text or thinking begins a block that has not begun.
fn push_delta(delta: &At<'_>, index: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
    let has = |name: &str| delta.field(name).as_text().is_some();
    let kind = match delta.field("type").as_text() {
        None if has("partial_json") => "input_json_delta",
        None if has("thinking") => "thinking_delta",
        None if has("signature") => "signature_delta",
        None => {
            if has("text") {
                "text_delta"
            } else {
                delta.field("type").text()?
            }
        }
        Some(kind) => kind,
    };
    let mut at = block_index(index, reading)?;
    if at.is_none() && matches!(kind, "text_delta" | "thinking_delta") {
        let name = kind.strip_suffix("_delta").unwrap_or_default();
        let block = ExactValue::Object(vec![("type".into(), text(name)), (name.to_owned().into(), text(""))]);
        begin_block(&index.with(&block), Some(index.number()?), reading);
        at = block_index(index, reading)?;
    }
    let Some(part) = at.and_then(|at| reading.draft.get_mut(at)) else {
        return Err(index.error("the index of a block that has begun"));
    };
    match kind {
        // Used for calls and for native tools.
        "input_json_delta" => {
            let piece = delta.field("partial_json");
            let Some(piece) = piece.as_text() else {
                // The rest of the input is not the whole.
                let error = piece.error("a text");
                if let Some(call) = part.call {
                    reading.contradict(call, error);
                    return Ok(());
                }
                return Err(error);
            };
            part.json.push_str(piece);
            if let Some(slot) = part.call.and_then(|at| reading.slots.get_mut(at)) {
                // The parts are the whole input, whatever the block began with.
                slot.value = slot.value.take().filter(|_| piece.trim().is_empty());
                slot.push_text(piece);
            }
            return Ok(());
        }
        "citations_delta" => {
            if let Some(citations) = part.value.entry("citations") {
                add(citations, &ExactValue::List(vec![delta.field("citation").to_owned()]));
            }
        }
        _ => {
            let ExactValue::Object(members) = &mut part.value else { return Ok(()) };
            let more = delta.members().filter(|(name, more)| *name != "type" && more.value().is_some());
            join(members, more, |_, place, more| add(place, &more.to_owned()));
            if let Some(slot) = part.call.and_then(|at| reading.slots.get_mut(at)) {
                slot.push_name(delta.field("name").as_text().unwrap_or_default());
            }
        }
    }
    reading.add_text(delta.field("text").as_text().unwrap_or_default());
    reading.reason(delta.field("thinking").as_text().unwrap_or_default());
    Ok(())
}

fn complete(draft: &mut Draft, slots: &Slots) {
    for part in draft.parts() {
        let json = std::mem::take(&mut part.json);
        if !json.trim().is_empty() {
            let input = part.call.and_then(|at| slots.get(at)).map_or_else(|| text(&json), Slot::arguments);
            put(&mut part.value, "input", input);
        }
    }
    draft.parts().retain(|part| !is_refused(part));
}

/// Returns the members of a call: a block whose input must be an object.
fn call_members<'m>(block: &'m mut ExactValue<'static>) -> Option<CallMembers<'m>> {
    let kind = block.get("type").and_then(ExactValue::as_str)?;
    let is_call = matches!(kind, "tool_use" | "server_tool_use" | "mcp_tool_use");
    is_call.then_some(CallMembers { object: block, arguments: "input", form: ArgumentsForm::Object })
}

/// Returns `true` for a [blank](https://github.com/anthropics/anthropic-sdk-python/issues/461) text, and for
/// thinking that was cut off before its signature.
fn is_refused(part: &Part) -> bool {
    let is_blank =
        |name: &str| part.value.get(name).and_then(ExactValue::as_str).is_none_or(|it| it.trim().is_empty());
    part.is("text") && is_blank("text") || part.open && part.is("thinking") && is_blank("signature")
}

/// Input tokens are counted [without cached
/// ones](https://platform.claude.com/docs/en/build-with-claude/prompt-caching#tracking-cache-performance).
fn usage(usage: &ExactValue<'_>) -> Usage {
    let count = |name: &str| counted(usage, &[name]);
    let (cached, cache_written) = (count("cache_read_input_tokens"), count("cache_creation_input_tokens"));
    Usage {
        input: sum(count("input_tokens"), [cached, cache_written]),
        output: count("output_tokens"),
        cached,
        cache_written,
        reasoning: counted(usage, &["output_tokens_details", "thinking_tokens"]),
    }
}

/// Returns one message with all results. Content that an error result may not contain follows them.
fn results(results: &[ToolResult]) -> Value {
    let mut after = Vec::new();
    let mut content: Vec<_> = results.iter().map(|it| result(it, &mut after)).collect();
    content.append(&mut after);
    json!({ "role": "user", "content": content })
}

fn result(result: &ToolResult, after: &mut Vec<Value>) -> Value {
    let mut content = Vec::new();
    for block in blocks(result) {
        match block {
            // An empty text is rejected (<https://github.com/anthropics/claude-code/issues/23440>).
            Block::Text(text) if text.trim().is_empty() => {}
            Block::Text(text) => content.push(json!({ "type": "text", "text": text })),
            Block::File { mime_type, data, .. } => match file(&mime_type, &data) {
                // An error result may contain only text
                // (<https://github.com/vellum-ai/vellum-assistant/pull/18387>).
                Some(file) if result.is_error() => {
                    content
                        .push(json!({ "type": "text", "text": format!("[{mime_type}: after the results]") }));
                    after.push(
                        json!({ "type": "text", "text": format!("From {} ({}):", result.name, result.id) }),
                    );
                    after.push(file);
                }
                Some(file) => content.push(file),
                None => content.push(json!({ "type": "text", "text": not_shown(&mime_type, &data) })),
            },
        }
    }
    let mut block = json!({ "type": "tool_result", "tool_use_id": result.id });
    if !content.is_empty() {
        block["content"] = content.into();
    }
    if result.is_error() {
        block["is_error"] = true.into();
    }
    block
}

/// Returns a part of a user message.
pub(super) fn user_part(block: Block) -> Value {
    match block {
        Block::Text(text) => json!({ "type": "text", "text": text }),
        Block::File { mime_type, data, .. } => file(&mime_type, &data)
            .unwrap_or_else(|| json!({ "type": "text", "text": not_shown(&mime_type, &data) })),
    }
}

fn file(mime_type: &str, data: &str) -> Option<Value> {
    let kind = match mime_type {
        "image/png" | "image/jpeg" | "image/webp" | "image/gif" => "image",
        "application/pdf" => "document",
        _ => return None,
    };
    Some(json!({
        "type": kind,
        "source": { "type": "base64", "media_type": mime_type, "data": data },
    }))
}

/// Returns an assistant message of another model.
pub(super) fn assistant_message(
    bound: &BoundTools,
    content: &str,
    calls: &[ToolCall],
) -> ExactValue<'static> {
    let call = |call: &ToolCall| {
        exact_object([
            ("type", text("tool_use")),
            ("id", text(&call.id.to_string())),
            ("name", text(&bound.wire_name(&call.name))),
            ("input", bound.sent_arguments(call)),
        ])
    };
    let block = Some(content).filter(|content| !content.trim().is_empty());
    let block = block.map(|it| exact_object([("type", text("text")), ("text", text(it))]));
    let blocks = block.into_iter().chain(calls.iter().map(call)).collect();
    exact_object([("role", text("assistant")), ("content", ExactValue::List(blocks))])
}
