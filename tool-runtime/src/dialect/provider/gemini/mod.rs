//! Gemini's `generateContent`: <https://ai.google.dev/api/generate-content>.

mod definition;
mod http;
mod messages;
mod reading;
mod rules;
mod stop;
mod stream;

use serde_json::{Value, json};
use tool_core::{Content, internals::ExactValue};

use self::{
    definition::tool_definition,
    messages::{
        accepts_file_type, add_instruction, assistant_message, complete_message, find_call_in_part,
        result_messages, user_part,
    },
    reading::read_response,
    rules::{GEMINI, GEMINI_SCHEMA, MAX_TOOLS, NAME_RULE},
    stop::token_usage,
    stream::push_event,
};
use super::{Definition, Provider, WireFormat, add_parts, object, user_parts};
use crate::{
    ToolCall, ToolResult,
    dialect::{
        BoundTools, DialectError, Usage, content::Block, draft::MessageDraft, error::JsonLocation,
        history::CallMembers, names::NameRule, partial_calls::PartialCalls, reading::ResponseReading,
        schema::Rules,
    },
};

/// Gemini's `generateContent`.
#[derive(Debug)]
pub(in crate::dialect) struct Gemini {
    /// Set where parameters are JSON Schema, instead of Gemini's own format.
    pub(in crate::dialect) json_schema: bool,
}

impl WireFormat for Gemini {
    fn name(&self) -> &'static str {
        if self.json_schema { "gemini" } else { "gemini-schema" }
    }

    fn provider(&self) -> Option<&'static dyn Provider> {
        Some(&Gemini { json_schema: true })
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
        tool_definition(tool, self.json_schema)
    }

    fn grouped_definitions(&self, definitions: &[Value]) -> Option<Vec<Value>> {
        let group = object([("functionDeclarations", definitions.into())]);
        Some(if definitions.is_empty() { Vec::new() } else { vec![group] })
    }

    fn read(&self, response: &JsonLocation<'_>, reading: &mut ResponseReading) -> Result<(), DialectError> {
        read_response(response, reading)
    }

    fn push(&self, event: &JsonLocation<'_>, reading: &mut ResponseReading) -> Result<(), DialectError> {
        push_event(event, reading)
    }

    fn complete(&self, draft: &mut MessageDraft, partial_calls: &PartialCalls) {
        complete_message(draft, partial_calls);
    }

    fn find_call_in_part<'m>(
        &self,
        part: &'m mut ExactValue<'static>,
        is_own: bool,
    ) -> Option<CallMembers<'m>> {
        find_call_in_part(part, is_own)
    }

    fn call_id_member(&self) -> Option<&'static str> {
        None
    }

    fn message(&self, draft: MessageDraft) -> Option<ExactValue<'static>> {
        draft.into_message("parts", "model")
    }

    fn messages_member(&self) -> Option<&'static str> {
        Some("contents")
    }

    fn convert_usage(&self, counted: &ExactValue<'_>) -> Usage {
        token_usage(counted)
    }

    fn append_instruction(&self, body: &mut Value, text: &str) -> Result<(), DialectError> {
        add_instruction(body, text)
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

    fn accepts_file_type(&self, mime_type: &str) -> bool {
        accepts_file_type(mime_type)
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
        result_messages(bound, results)
    }

    fn add_follow_up(&self, messages: &mut Value, _at: usize, content: &[Content]) {
        add_parts(messages, "parts", user_parts(self, content));
    }
}
