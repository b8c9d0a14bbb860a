//! The Model Context Protocol: <https://modelcontextprotocol.io/specification/2025-11-25/server/tools>.

mod definition;
mod messages;
mod reading;
mod rules;
mod stream;

use serde_json::{Value, json};
use tool_core::{Content, ToolDefinition, internals::ExactValue};

use self::{
    definition::{output_schema, tool_definition},
    messages::{add_instruction, result_messages},
    reading::read_response,
    rules::NAME_RULE,
    stream::push_event,
};
use super::{Definition, WireFormat, add_parts, anthropic::messages as anthropic};
use crate::{
    ToolCall, ToolResult,
    dialect::{
        BoundTools, DialectError, Usage,
        content::Block,
        draft::MessageDraft,
        error::JsonLocation,
        exports::OutputForm,
        history::CallMembers,
        names::NameRule,
        reading::ResponseReading,
        schema::{Rules, UNRESTRICTED},
    },
};

/// The Model Context Protocol: requests of clients, and their results.
#[derive(Debug)]
pub(in crate::dialect) struct Mcp;

impl WireFormat for Mcp {
    fn name(&self) -> &'static str {
        "mcp"
    }

    fn rules(&self) -> (&'static Rules, Option<&'static Rules>) {
        (&UNRESTRICTED, None)
    }

    fn name_rule(&self) -> NameRule {
        NAME_RULE
    }

    fn definition(&self, tool: Definition<'_>) -> Value {
        tool_definition(tool)
    }

    fn output_form_and_schema(&self, definition: &ToolDefinition) -> (OutputForm, Option<Value>) {
        output_schema(definition)
    }

    fn read(&self, response: &JsonLocation<'_>, reading: &mut ResponseReading) -> Result<(), DialectError> {
        read_response(response, &mut reading.partial_calls)
    }

    fn push(&self, event: &JsonLocation<'_>, reading: &mut ResponseReading) -> Result<(), DialectError> {
        push_event(event, &mut reading.partial_calls)
    }

    fn find_call_in_part<'m>(
        &self,
        _part: &'m mut ExactValue<'static>,
        _is_own: bool,
    ) -> Option<CallMembers<'m>> {
        None
    }

    fn call_id_member(&self) -> Option<&'static str> {
        None
    }

    fn message(&self, _draft: MessageDraft) -> Option<ExactValue<'static>> {
        None
    }

    fn messages_member(&self) -> Option<&'static str> {
        None
    }

    fn convert_usage(&self, _counted: &ExactValue<'_>) -> Usage {
        Default::default()
    }

    fn append_instruction(&self, body: &mut Value, text: &str) -> Result<(), DialectError> {
        add_instruction(body, text)
    }

    fn user_part(&self, block: Block) -> Value {
        anthropic::user_part(block)
    }

    fn accepts_file_type(&self, _mime_type: &str) -> bool {
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
        result_messages(bound, results)
    }

    /// The protocol sends nothing but results.
    fn add_follow_up(&self, messages: &mut Value, at: usize, content: &[Content]) {
        if let Some(result) = messages.get_mut(at) {
            add_parts(result, "content", content.iter().map(|it| json!(it)).collect());
        }
    }
}
