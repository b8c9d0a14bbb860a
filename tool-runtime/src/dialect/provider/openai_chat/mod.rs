//! OpenAI's chat completions: <https://platform.openai.com/docs/api-reference/chat>.

mod definition;
pub(super) mod http;
mod message_assembly;
mod messages;
mod reading;
pub(super) mod rules;
mod stop;
mod stream;

use serde_json::Value;
use tool_core::internals::ExactValue;

use self::{
    definition::tool_definition,
    message_assembly::complete_message,
    messages::{
        add_instruction, assistant_message, file_part, find_call_in_tool_call, find_legacy_function_call,
        result_messages, user_part,
    },
    reading::read_response,
    rules::{MAX_DESCRIPTION_CHARS, MAX_TOOLS, NAME_RULE, OPENAI, OPENAI_STRICT},
    stop::token_usage,
    stream::push_event,
};
use super::{Definition, Provider, WireFormat};
use crate::{
    ToolCall, ToolResult,
    dialect::{
        BoundTools, DialectError, Usage,
        content::Block,
        draft::{Members, MessageDraft},
        error::JsonLocation,
        history::CallMembers,
        names::NameRule,
        partial_calls::PartialCalls,
        reading::ResponseReading,
        schema::Rules,
    },
};

/// OpenAI's chat completions.
#[derive(Debug)]
pub(in crate::dialect) struct OpenAiChat {
    pub(in crate::dialect) strict: bool,
}

impl WireFormat for OpenAiChat {
    fn name(&self) -> &'static str {
        if self.strict { "openai-chat-strict" } else { "openai-chat" }
    }

    fn provider(&self) -> Option<&'static dyn Provider> {
        Some(&OpenAiChat { strict: false })
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
        is_own: bool,
    ) -> Option<CallMembers<'m>> {
        find_call_in_tool_call(part, is_own)
    }

    fn find_call_in_message<'m>(&self, message: &'m mut Members) -> Option<CallMembers<'m>> {
        find_legacy_function_call(message)
    }

    fn call_id_member(&self) -> Option<&'static str> {
        Some("id")
    }

    fn message(&self, draft: MessageDraft) -> Option<ExactValue<'static>> {
        draft.into_message("tool_calls", "assistant")
    }

    fn messages_member(&self) -> Option<&'static str> {
        Some("messages")
    }

    fn convert_usage(&self, counted: &ExactValue<'_>) -> Usage {
        token_usage(counted)
    }

    fn append_instruction(&self, body: &mut Value, text: &str) -> Result<(), DialectError> {
        add_instruction(body, text)
    }

    fn user_part(&self, block: Block) -> Value {
        user_part(block)
    }

    fn accepts_file_type(&self, mime_type: &str) -> bool {
        file_part(mime_type, "", "").is_some()
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
}
