//! A provider that does not exist: what a new one has to implement.

use serde_json::{Map, Value, json, value::RawValue};
use tool_core::internals::ExactValue;

use super::{
    Definition, Provider, ToolSelection, WireFormat,
    api::{object_members, sealed::Sealed},
    exact_object,
};
use crate::{
    Registry, ToolCall, ToolDefinition, ToolName, ToolOutput, ToolResult,
    builder::ExternalTool,
    dialect::{
        BoundTools, Dialect, DialectError, Thinking, Usage,
        content::Block,
        draft::{MessageDraft, MessagePart, text_value},
        error::JsonLocation,
        history::{ArgumentsForm, CallMembers},
        partial_calls::PartialCall,
        reading::ResponseReading,
        schema::{Rules, UNRESTRICTED},
        usage::count_at,
    },
    schema::InputSchema,
};

#[derive(Debug)]
struct Fictional;

/// A closed set of keywords, as most providers have.
const RULES: Rules = Rules {
    keywords: Some(&["type", "description", "properties", "required"]),
    root_choice: false,
    ..UNRESTRICTED
};

impl WireFormat for Fictional {
    fn name(&self) -> &'static str {
        "fictional"
    }

    fn provider(&self) -> Option<&'static dyn Provider> {
        Some(&Self)
    }

    fn rules(&self) -> (&'static Rules, Option<&'static Rules>) {
        (&RULES, None)
    }

    fn definition(&self, tool: Definition<'_>) -> Value {
        json!({ "tool": tool.name, "does": tool.description, "takes": tool.parameters })
    }

    fn push(&self, event: &JsonLocation<'_>, reading: &mut ResponseReading) -> Result<(), DialectError> {
        reading.set_usage(&event.field("tokens"));
        for part in event.field("says").optional_items()? {
            reading.add_text(part.field("text").as_text().unwrap_or_default());
            let mut own = MessagePart::new(part.to_owned());
            if part.field("name").value().is_some() {
                let id = part.field("id").as_call_id().map(str::to_owned);
                let mut partial_call =
                    PartialCall { number: reading.partial_calls.next_number(), id, ..PartialCall::default() };
                partial_call.push_name(part.field("name").as_text().unwrap_or_default());
                partial_call.add_arguments(&part.field("with"));
                own.call = Some(reading.partial_calls.open_call(partial_call));
            }
            reading.draft.push(own);
        }
        if reading.read_stop_reason(&event.field("end"), &["done"]) {
            reading.partial_calls.end_response();
        }
        Ok(())
    }

    fn find_call_in_part<'m>(
        &self,
        part: &'m mut ExactValue<'static>,
        is_own: bool,
    ) -> Option<CallMembers<'m>> {
        is_own.then_some(CallMembers { object: part, arguments: "with", form: ArgumentsForm::Object })
    }

    fn message(&self, draft: MessageDraft) -> Option<ExactValue<'static>> {
        draft.into_message("says", "model")
    }

    fn messages_member(&self) -> Option<&'static str> {
        Some("talk")
    }

    fn convert_usage(&self, usage: &ExactValue<'_>) -> Usage {
        Usage { input: count_at(usage, &["read"]), output: count_at(usage, &["written"]), ..Usage::default() }
    }

    fn append_instruction(&self, body: &mut Value, text: &str) -> Result<(), DialectError> {
        crate::dialect::request::append_instruction_to_field(body, "rules", text, false)
    }

    fn user_part(&self, block: Block) -> Value {
        match block {
            Block::Text(text) => json!({ "text": text }),
            Block::File { mime_type, .. } => json!({ "text": mime_type }),
        }
    }

    fn assistant_message(
        &self,
        bound: &BoundTools,
        content: &str,
        calls: &[ToolCall],
    ) -> ExactValue<'static> {
        let call = |call: &ToolCall| {
            exact_object([
                ("name", text_value(&bound.wire_name(&call.name))),
                ("with", bound.sent_arguments(call)),
            ])
        };
        let parts = [exact_object([("text", text_value(content))])].into_iter().chain(calls.iter().map(call));
        exact_object([("role", text_value("model")), ("says", ExactValue::List(parts.collect()))])
    }

    fn results(&self, _bound: &BoundTools, results: &[ToolResult]) -> Value {
        let answer = |result: &ToolResult| json!({ "answers": result.id, "text": result.text() });
        json!([{ "role": "tools", "says": results.iter().map(answer).collect::<Vec<_>>() }])
    }
}

impl Sealed for Fictional {}

impl Provider for Fictional {
    fn name(&self) -> &'static str {
        "fictional"
    }

    fn environment_prefix(&self) -> &'static str {
        "FICTIONAL"
    }

    fn base_url(&self) -> &'static str {
        "https://api.example.com"
    }

    fn url(&self, base_url: &str, model: &str, _streams: bool) -> String {
        format!("{base_url}/{model}/talk")
    }

    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)> {
        key.map(|key| ("x-key", key.to_owned())).into_iter().collect()
    }

    fn request_members(&self, _model: &str, streams: bool) -> Map<String, Value> {
        object_members(json!({ "stream": streams }))
    }

    fn set_instruction(&self, members: &mut Map<String, Value>, text: &str) {
        members.insert("rules".to_owned(), text.into());
    }

    fn set_tool_selection(&self, members: &mut Map<String, Value>, selection: ToolSelection<'_>) {
        if selection == ToolSelection::None {
            members.insert("tools_allowed".to_owned(), false.into());
        }
    }

    fn set_thinking(&self, members: &mut Map<String, Value>, _: &str, thinking: Thinking) -> Option<String> {
        members.insert("effort".to_owned(), json!(thinking));
        None
    }

    fn set_output_format(&self, members: &mut Map<String, Value>, _: &str, schema: &Value, _: bool) {
        members.insert("answer".to_owned(), schema.clone());
    }
}

#[test]
fn a_new_provider_is_one_implementation_of_the_traits() {
    let schema = json!({ "type": "object", "properties": { "a": { "type": "integer", "minimum": 1 } }, "required": ["a"] });
    let schema = InputSchema::new(schema).unwrap();
    let tool = ToolDefinition::new(ToolName::new("add").unwrap(), "Adds one.", schema);
    let tools = Registry::builder().add(ExternalTool::new(tool)).build().unwrap();
    let bound = Dialect::new(&Fictional).bind_tools(&tools);
    assert_eq!(bound.definitions()[0]["takes"]["properties"]["a"]["description"], "At least 1.");
    let call = json!({ "name": "add", "id": "c", "with": { "a": 1 } });
    let response = json!({ "says": [{ "text": "I add." }, call], "end": "done", "tokens": { "read": 3 } });
    let read = bound.read(&response).unwrap();
    let mut assembler = bound.assembler();
    drop(assembler.push(&response).unwrap());
    let assembled = assembler.finish();
    for done in [&read, &assembled] {
        assert!(done.ended && done.calls[0].completed().is_ok());
        assert_eq!((&*done.text, done.usage.and_then(|usage| usage.input)), ("I add.", Some(3)));
    }
    let mut body = bound.body(json!({})).unwrap();
    let result = ToolResult::new(read.calls[0].id.clone(), "add", Ok(ToolOutput::from("2")));
    body.push(&read.message).unwrap();
    body.push(&bound.results(&[result])[0]).unwrap();
    assert_eq!(
        json!(body)["talk"],
        json!([
            { "role": "model", "says": [{ "text": "I add." }, call] },
            { "role": "tools", "says": [{ "answers": "c", "text": "2" }] },
        ])
    );
    let provider = Dialect::new(&Fictional).provider().unwrap();
    assert_eq!(provider.url(provider.base_url(), "m1", true), "https://api.example.com/m1/talk");
    assert_eq!(provider.headers(Some("k")), [("x-key", "k".to_owned())]);
}

#[test]
fn a_provider_that_says_nothing_of_refusals_cache_points_and_ids_has_the_defaults() {
    let provider = Dialect::new(&Fictional).provider().unwrap();
    let message = || RawValue::from_string(json!({ "role": "model" }).to_string()).unwrap();
    assert_eq!(provider.refusal("{}"), None);
    assert_eq!(["message_stop", "error", "ping"].map(|name| provider.is_last_event(name)), [false; 3]);
    let names = ["message", "message_delta", "error", "ping", ""];
    assert_eq!(names.map(|name| provider.is_response_event(name)), [true, true, true, false, false]);
    assert!(provider.has_call_id_rules());
    assert_eq!(provider.message_variant("m1"), "");
    assert_eq!(provider.complete_foreign_message("m1", message()).get(), message().get());
    assert_eq!(provider.max_cache_points(), 0);
    assert!(provider.with_cache_point(&message()).is_none());
    let mut request = json!({ "talk": [] });
    provider.add_cache_point_after_instruction(&mut request);
    provider.add_cache_point_after_tools(&mut request);
    assert_eq!(request, json!({ "talk": [] }));
}
