//! OpenAI's responses: <https://platform.openai.com/docs/api-reference/responses>.

mod definition;
mod http;
mod items;
mod messages;
mod reading;
mod rules;
mod stop;
mod stream;

use serde_json::{Value, json};
use tool_core::internals::ExactValue;

use self::{
    definition::tool_definition,
    items::complete_items,
    messages::{accepts_file_type, assistant_message, find_call_in_item, result_messages, user_part},
    reading::read_response,
    rules::MAX_TOOLS,
    stop::token_usage,
    stream::push_event,
};
use super::{
    Definition, Provider, WireFormat,
    openai_chat::rules::{MAX_DESCRIPTION_CHARS, NAME_RULE, OPENAI, OPENAI_STRICT},
};
use crate::{
    ToolCall, ToolResult,
    dialect::{
        BoundTools, DialectError, Usage, content::Block, draft::MessageDraft, error::JsonLocation,
        history::CallMembers, names::NameRule, partial_calls::PartialCalls, reading::ResponseReading,
        request::append_instruction_to_field, schema::Rules,
    },
};

/// OpenAI's responses.
#[derive(Debug)]
pub(in crate::dialect) struct OpenAiResponses {
    pub(in crate::dialect) strict: bool,
}

impl WireFormat for OpenAiResponses {
    fn name(&self) -> &'static str {
        if self.strict { "openai-responses-strict" } else { "openai-responses" }
    }

    fn provider(&self) -> Option<&'static dyn Provider> {
        Some(&OpenAiResponses { strict: false })
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
        complete_items(draft, partial_calls);
    }

    fn find_call_in_part<'m>(
        &self,
        part: &'m mut ExactValue<'static>,
        is_own: bool,
    ) -> Option<CallMembers<'m>> {
        find_call_in_item(part, is_own)
    }

    fn call_id_member(&self) -> Option<&'static str> {
        Some("call_id")
    }

    fn message(&self, draft: MessageDraft) -> Option<ExactValue<'static>> {
        draft.into_list()
    }

    fn messages_member(&self) -> Option<&'static str> {
        Some("input")
    }

    fn messages_of_text(&self, text: &str) -> Option<Value> {
        Some(json!([{ "role": "user", "content": text }]))
    }

    fn convert_usage(&self, counted: &ExactValue<'_>) -> Usage {
        token_usage(counted)
    }

    fn append_instruction(&self, body: &mut Value, text: &str) -> Result<(), DialectError> {
        append_instruction_to_field(body, "instructions", text, false)
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
}
