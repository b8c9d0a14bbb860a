//! The Model Context Protocol: <https://modelcontextprotocol.io/specification/2025-11-25/server/tools>.

use serde_json::{Map, Value, json};
use tool_core::{__private::ExactValue, Content, ToolDefinition};

use super::{Definition, WireFormat, add_parts, anthropic, object};
use crate::{
    ToolCall, ToolResult,
    dialect::{
        BoundTools, DialectError, Usage,
        content::Block,
        draft::Draft,
        error::At,
        exports::OutputForm,
        history::CallMembers,
        names::NameRule,
        reading::Reading,
        request::instruct_in,
        schema::{ALL, Rules, move_references},
        slots::{Slot, Slots},
        stop::Stop,
    },
};

/// The Model Context Protocol: requests of clients, and their results.
#[derive(Debug)]
pub(in crate::dialect) struct Mcp;

/// [Names](https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names) of tools.
const NAME_RULE: NameRule = NameRule { longest: 128, also: &['.'], starts_with_letter: false };

impl WireFormat for Mcp {
    fn name(&self) -> &'static str {
        "mcp"
    }

    fn rules(&self) -> (&'static Rules, Option<&'static Rules>) {
        (&ALL, None)
    }

    fn name_rule(&self) -> NameRule {
        NAME_RULE
    }

    fn definition(&self, tool: Definition<'_>) -> Value {
        definition(tool)
    }

    fn output(&self, definition: &ToolDefinition) -> (OutputForm, Option<Value>) {
        output(definition)
    }

    fn read(&self, response: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
        read(response, &mut reading.slots)
    }

    fn push(&self, event: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
        push(event, &mut reading.slots)
    }

    fn call_members<'m>(&self, _part: &'m mut ExactValue<'static>, _is_own: bool) -> Option<CallMembers<'m>> {
        None
    }

    fn call_id_member(&self) -> Option<&'static str> {
        None
    }

    fn message(&self, _draft: Draft) -> Option<ExactValue<'static>> {
        None
    }

    fn messages_member(&self) -> Option<&'static str> {
        None
    }

    fn usage(&self, _counted: &ExactValue<'_>) -> Usage {
        Usage::default()
    }

    fn instruct(&self, body: &mut Value, text: &str) -> Result<(), DialectError> {
        instruct(body, text)
    }

    fn user_part(&self, block: Block) -> Value {
        anthropic::user_part(block)
    }

    fn accepts(&self, _mime_type: &str) -> bool {
        true
    }

    fn assistant_message(
        &self,
        bound: &BoundTools,
        content: &str,
        calls: &[ToolCall],
    ) -> ExactValue<'static> {
        anthropic::assistant_message(bound, content, calls)
    }

    fn results(&self, bound: &BoundTools, results: &[ToolResult]) -> Value {
        self::results(bound, results)
    }

    /// The protocol sends nothing but results.
    fn add_follow_up(&self, messages: &mut Value, at: usize, content: &[Content]) {
        if let Some(result) = messages.get_mut(at) {
            add_parts(result, "content", content.iter().map(|it| json!(it)).collect());
        }
    }
}

fn definition(tool: Definition<'_>) -> Value {
    let Definition { name, of, description, parameters, output, .. } = tool;
    let mut definition =
        object([("name", name.into()), ("description", description.into()), ("inputSchema", parameters)]);
    if *of.name() != of.title() {
        definition["title"] = of.title().into();
    }
    if let Some(output) = output {
        definition["outputSchema"] = output;
    }
    let metadata = of.metadata();
    let hints = [
        ("readOnlyHint", metadata.read_only),
        ("destructiveHint", metadata.destructive),
        ("idempotentHint", metadata.idempotent),
        ("openWorldHint", metadata.open_world),
    ];
    let annotations =
        hints.iter().filter_map(|(name, hint)| Some(((*name).to_owned(), Value::Bool((*hint)?))));
    let annotations: Map<_, _> = annotations.collect();
    if !annotations.is_empty() {
        definition["annotations"] = Value::Object(annotations);
    }
    definition
}

/// Returns the output schema for the wire: always an object.
fn output(definition: &ToolDefinition) -> (OutputForm, Option<Value>) {
    let Some(schema) = definition.output_schema() else { return (OutputForm::Unspecified, None) };
    let mut schema = schema.as_value().clone();
    if schema.get("type").is_some_and(|name| name == "object") {
        return (OutputForm::Object, Some(schema));
    }
    let definitions = schema.as_object_mut().and_then(|schema| schema.shift_remove("$defs"));
    move_references(&mut schema, "/properties/result");
    let mut held = object([
        ("type", "object".into()),
        ("properties", object([("result", schema)])),
        ("required", json!(["result"])),
    ]);
    if let Some(definitions) = definitions {
        held["$defs"] = definitions;
    }
    (OutputForm::Held, Some(held))
}

/// Reads a `tools/call` request, several of them, or the contents of `params`. There is no stop reason: each
/// request is complete.
fn read(message: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    slots.stop(Stop::Finished);
    match message.value() {
        Some(ExactValue::List(_)) => {
            message.items()?.iter().try_for_each(|request| read_request(request, slots))
        }
        _ => read_request(message, slots),
    }
}

fn read_request(request: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    let Some((id, params)) = request_of(request)? else { return Ok(()) };
    let name = params.field("name").name()?.to_owned();
    let mut slot = Slot { number: slots.next_number(), id, name, ..Slot::default() };
    let arguments = params.field("arguments");
    match arguments.value() {
        None | Some(ExactValue::Object(_)) => slot.set_arguments(&arguments),
        // The empty object of languages without a type of its own for objects.
        Some(ExactValue::List(items)) if items.is_empty() => {}
        Some(_) => return Err(arguments.error("an object")),
    }
    if let Some(meta @ ExactValue::Object(_)) = params.field("_meta").value() {
        slot.meta = serde_json::from_str(&meta.to_string()).ok();
    }
    slots.begin(slot);
    Ok(())
}

/// Returns the id and the parameters of a request, unless it has another method.
fn request_of<'v>(request: &At<'v>) -> Result<Option<(Option<String>, At<'v>)>, DialectError> {
    let method = request.object()?.field("method");
    if method.value().is_none() && request.field("params").value().is_none() {
        return Ok(Some((None, request.clone())));
    }
    if method.text()? != "tools/call" {
        return Ok(None);
    }
    let id = request.field("id");
    let id = match id.value() {
        None => None,
        Some(ExactValue::String(text) | ExactValue::Number(text)) => Some(text.to_string()),
        Some(_) => return Err(id.error("a text or a number")),
    };
    let params = request.field("params");
    params.object()?;
    Ok(Some((id, params)))
}

/// Reads a message: each is whole, there are no parts of calls.
fn push(message: &At<'_>, slots: &mut Slots) -> Result<(), DialectError> {
    slots.stop(Stop::Finished);
    read_request(message, slots)?;
    slots.end();
    Ok(())
}

/// Appends `text` to `instructions` in `_meta`: a listing has no other member for the instructions of a server.
fn instruct(body: &mut Value, text: &str) -> Result<(), DialectError> {
    let meta = body.as_object_mut().map(|fields| fields.entry("_meta").or_insert_with(|| json!({})));
    match meta {
        Some(meta @ Value::Object(_)) => {
            instruct_in(meta, "instructions", text, false).map_err(|error| error.below("/_meta"))
        }
        _ => Err(DialectError::of_body(body, "/_meta", "an object")),
    }
}

fn results(bound: &BoundTools, results: &[ToolResult]) -> Value {
    results.iter().map(|it| result(it, bound.output_form(&it.name))).collect()
}

fn result(result: &ToolResult, form: OutputForm) -> Value {
    let mut content = json!(result.content());
    let structured = structured(result, form);
    if let (Value::Array(blocks), Some(value)) = (&mut content, result.structured())
        && blocks.is_empty()
    {
        // For clients that do not read structured content.
        blocks.push(json!({ "type": "text", "text": value.to_string() }));
    }
    let mut wire = json!({ "content": content, "isError": result.is_error() });
    if let Some(structured) = structured {
        wire["structuredContent"] = structured;
    }
    if let Some(meta) = result.meta() {
        wire["_meta"] = Value::Object(meta.clone());
    }
    wire
}

/// Returns the structured value of a result, always an object.
fn structured(result: &ToolResult, form: OutputForm) -> Option<Value> {
    match result.structured() {
        Some(value) if form == OutputForm::Held && !result.is_error() => Some(json!({ "result": value })),
        None if form == OutputForm::Held && !result.is_error() => Some(json!({ "result": null })),
        Some(value @ Value::Object(_)) => Some(value),
        _ => None,
    }
}
