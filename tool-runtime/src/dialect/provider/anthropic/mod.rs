//! Anthropic's messages: <https://docs.anthropic.com/en/api/messages>.

mod cache;
mod definition;
mod http;
pub(super) mod messages;
mod reading;
pub(super) mod rules;
mod stop;
mod stream;

use serde_json::Value;
use tool_core::{Content, internals::ExactValue};

use self::{
    definition::tool_definition,
    messages::{
        assistant_message, complete_message, file_block, find_call_in_block, result_messages, user_part,
    },
    reading::read_response,
    rules::{ANTHROPIC, ANTHROPIC_STRICT, NAME_RULE},
    stop::token_usage,
    stream::push_event,
};
use super::{Definition, Provider, WireFormat, add_parts, user_parts};
use crate::{
    ToolCall, ToolResult,
    dialect::{
        BoundTools, DialectError, Usage, budget::StrictBudget, content::Block, draft::MessageDraft,
        error::JsonLocation, history::CallMembers, names::NameRule, partial_calls::PartialCalls,
        reading::ResponseReading, request::append_instruction_to_field, schema::Rules,
    },
};

/// Anthropic's messages.
#[derive(Debug)]
pub(in crate::dialect) struct Anthropic {
    pub(in crate::dialect) strict: bool,
}

impl WireFormat for Anthropic {
    fn name(&self) -> &'static str {
        if self.strict { "anthropic-strict" } else { "anthropic" }
    }

    fn provider(&self) -> Option<&'static dyn Provider> {
        Some(&Anthropic { strict: false })
    }

    fn rules(&self) -> (&'static Rules, Option<&'static Rules>) {
        if self.strict { (&ANTHROPIC_STRICT, Some(&ANTHROPIC)) } else { (&ANTHROPIC, None) }
    }

    fn name_rule(&self) -> NameRule {
        NAME_RULE
    }

    fn budget(&self) -> Option<StrictBudget> {
        self.strict.then_some(StrictBudget::ANTHROPIC)
    }

    fn takes_examples(&self) -> bool {
        true
    }

    fn definition(&self, tool: Definition<'_>) -> Value {
        tool_definition(tool)
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
        _is_own: bool,
    ) -> Option<CallMembers<'m>> {
        find_call_in_block(part)
    }

    fn call_id_member(&self) -> Option<&'static str> {
        Some("id")
    }

    fn message(&self, draft: MessageDraft) -> Option<ExactValue<'static>> {
        draft.into_message("content", "assistant")
    }

    fn messages_member(&self) -> Option<&'static str> {
        Some("messages")
    }

    fn convert_usage(&self, counted: &ExactValue<'_>) -> Usage {
        token_usage(counted)
    }

    fn append_instruction(&self, body: &mut Value, text: &str) -> Result<(), DialectError> {
        append_instruction_to_field(body, "system", text, true)
    }

    fn user_part(&self, block: Block) -> Value {
        user_part(block)
    }

    fn accepts_file_type(&self, mime_type: &str) -> bool {
        file_block(mime_type, "").is_some()
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
        result_messages(results)
    }

    fn add_follow_up(&self, messages: &mut Value, _at: usize, content: &[Content]) {
        add_parts(messages, "content", user_parts(self, content));
    }
}
