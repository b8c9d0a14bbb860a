//! The wire formats of the providers, one folder each.
//!
//! A provider implements [`WireFormat`], the JSON of its requests and responses, and [`Provider`], its HTTP API. A new
//! provider is one folder and its lines in [`wire_formats`].

mod anthropic;
mod api;
mod gemini;
mod mcp;
mod openai_chat;
mod openai_responses;

use std::fmt;

use serde_json::{Map, Value, json};
use tool_core::{Content, ToolDefinition, internals::ExactValue};

pub use self::api::{Provider, ToolSelection, providers};
pub(super) use self::{
    anthropic::Anthropic, gemini::Gemini, mcp::Mcp, openai_chat::OpenAiChat,
    openai_responses::OpenAiResponses,
};
use super::{
    BoundTools, DialectError, Usage,
    budget::StrictBudget,
    content::{Block, block_of_content},
    draft::{Members, MessageDraft},
    error::JsonLocation,
    exports::OutputForm,
    history::CallMembers,
    names::NameRule,
    partial_calls::PartialCalls,
    reading::ResponseReading,
    schema::Rules,
};
use crate::{ToolCall, ToolResult};

/// The wire format of a dialect.
pub(super) type Wire = &'static dyn WireFormat;

/// Returns the formats of all dialects.
pub(super) fn wire_formats() -> [Wire; 9] {
    [
        &OpenAiChat { strict: false },
        &OpenAiChat { strict: true },
        &OpenAiResponses { strict: false },
        &OpenAiResponses { strict: true },
        &Anthropic { strict: false },
        &Anthropic { strict: true },
        &Gemini { json_schema: true },
        &Gemini { json_schema: false },
        &Mcp,
    ]
}

/// A tool definition to be written.
pub(super) struct Definition<'d> {
    pub(super) name: &'d str,
    pub(super) of: &'d ToolDefinition,
    pub(super) description: &'d str,
    pub(super) parameters: Value,
    /// Set where the provider enforces the schema of the parameters.
    pub(super) strict: bool,
    /// The output schema, where the provider accepts one.
    pub(super) output: Option<Value>,
    /// Example arguments, where the provider accepts them.
    pub(super) examples: Vec<Value>,
}

/// The JSON of one provider: definitions, responses and messages. A default is what most providers do.
pub(super) trait WireFormat: fmt::Debug + Send + Sync {
    /// Returns the name of the dialect.
    fn name(&self) -> &'static str;

    /// Returns the HTTP API, if the JSON is sent over HTTP.
    fn provider(&self) -> Option<&'static dyn Provider> {
        None
    }

    /// Returns the schema rules, and fallback rules for schemas that they cannot represent.
    fn rules(&self) -> (&'static Rules, Option<&'static Rules>);

    /// Returns the rule for the names of tools.
    fn name_rule(&self) -> NameRule {
        NameRule { max_chars: 64, extra_chars: &[], starts_with_letter: false }
    }

    /// Returns the maximum number of tools in a request, where it is limited.
    fn max_tools(&self) -> Option<usize> {
        None
    }

    /// Returns the maximum number of characters of a description, where it is limited.
    fn max_description_chars(&self) -> Option<usize> {
        None
    }

    /// Returns the budget for strict tools in a request, where it is limited.
    fn budget(&self) -> Option<StrictBudget> {
        None
    }

    /// Returns `true` if a definition can contain example arguments.
    fn takes_examples(&self) -> bool {
        false
    }

    /// Returns the name under which the model calls a native tool, if it has one.
    fn native_name<'v>(&self, tool: &'v Value) -> Option<&'v str> {
        let places = ["/name", "/function/name", "/custom/name"];
        places.iter().find_map(|place| tool.pointer(place)?.as_str())
    }

    /// Writes the definition of a tool.
    fn definition(&self, tool: Definition<'_>) -> Value;

    /// Returns the items of the list of tools that contain all definitions; `None` if each definition is an item.
    fn grouped_definitions(&self, definitions: &[Value]) -> Option<Vec<Value>> {
        let _ = definitions;
        None
    }

    /// Returns the form of results, and their schema where the provider accepts one.
    fn output_form_and_schema(&self, definition: &ToolDefinition) -> (OutputForm, Option<Value>) {
        let _ = definition;
        (OutputForm::Unspecified, None)
    }

    /// Reads a whole response that reports no error.
    fn read(&self, response: &JsonLocation<'_>, reading: &mut ResponseReading) -> Result<(), DialectError> {
        self.push(response, reading)
    }

    /// Reads an event of a streamed response that reports no error.
    fn push(&self, event: &JsonLocation<'_>, reading: &mut ResponseReading) -> Result<(), DialectError>;

    /// Completes the parts of a message that were not sent as a whole, and removes content that the provider
    /// rejects.
    fn complete(&self, draft: &mut MessageDraft, partial_calls: &PartialCalls) {
        let _ = (draft, partial_calls);
    }

    /// Returns the members of a call in a part of a message: of one of the program's tools, or of a native tool whose
    /// arguments must have a form.
    fn find_call_in_part<'m>(
        &self,
        part: &'m mut ExactValue<'static>,
        is_own: bool,
    ) -> Option<CallMembers<'m>>;

    /// Returns the members of a call that is a member of the message itself.
    fn find_call_in_message<'m>(&self, message: &'m mut Members) -> Option<CallMembers<'m>> {
        let _ = message;
        None
    }

    /// Returns the name of the member for the id of a call, where the provider requires one.
    fn call_id_member(&self) -> Option<&'static str> {
        Some("id")
    }

    /// Returns the assistant message in the form to send back to the provider.
    fn message(&self, draft: MessageDraft) -> Option<ExactValue<'static>>;

    /// Returns the name of the request's member for messages.
    fn messages_member(&self) -> Option<&'static str>;

    /// Returns the messages of a text in place of the list of messages, where the provider accepts one.
    fn messages_of_text(&self, text: &str) -> Option<Value> {
        let _ = text;
        None
    }

    /// Converts the provider's token counts.
    fn convert_usage(&self, counted: &ExactValue<'_>) -> Usage;

    /// Appends `text` to the instructions for the model.
    fn append_instruction(&self, body: &mut Value, text: &str) -> Result<(), DialectError>;

    /// Returns a user message of a text alone.
    fn user_text(&self, text: &str) -> Value {
        json!({ "role": "user", "content": text })
    }

    /// Returns a user message of `parts`.
    fn user_message(&self, parts: Vec<Value>) -> Value {
        json!({ "role": "user", "content": parts })
    }

    /// Returns a part of a user message.
    fn user_part(&self, block: Block) -> Value;

    /// Returns `true` if a message can contain files of that type.
    fn accepts_file_type(&self, mime_type: &str) -> bool {
        let _ = mime_type;
        false
    }

    /// Returns an assistant message that another model wrote.
    fn assistant_message(&self, bound: &BoundTools, content: &str, calls: &[ToolCall])
    -> ExactValue<'static>;

    /// Returns a message for each call's result, and nothing else.
    fn results(&self, bound: &BoundTools, results: &[ToolResult]) -> Value;

    /// Adds the user message of a follow-up to the messages with results; `at` is the index of its result.
    fn add_follow_up(&self, messages: &mut Value, at: usize, content: &[Content]) {
        let _ = at;
        let message = self.user_message(user_parts(self, content));
        if let Value::Array(list) = messages {
            list.push(message);
        }
    }
}

impl dyn WireFormat {
    /// Returns all tools of a request.
    pub(super) fn all_tools(&self, definitions: Vec<Value>, native: &[Value]) -> Value {
        let own = self.grouped_definitions(&definitions).unwrap_or(definitions);
        own.into_iter().chain(native.iter().cloned()).collect()
    }

    /// Returns `true` if each definition is an item of the list of tools.
    pub(super) fn lists_definitions(&self) -> bool {
        self.grouped_definitions(&[]).is_none()
    }

    /// Reads a whole response.
    pub(super) fn read_response(
        &self,
        response: &JsonLocation<'_>,
        reading: &mut ResponseReading,
    ) -> Result<(), DialectError> {
        refuse_failure(response)?;
        self.read(response, reading)
    }

    /// Reads an event of a streamed response.
    pub(super) fn push_event(
        &self,
        event: &JsonLocation<'_>,
        reading: &mut ResponseReading,
    ) -> Result<(), DialectError> {
        refuse_failure(event)?;
        self.push(event, reading)
    }

    /// Returns the messages with results, and with their follow-ups.
    pub(super) fn result_messages(&self, bound: &BoundTools, results: &[ToolResult]) -> Value {
        let mut messages = self.results(bound, results);
        for (at, result) in results.iter().enumerate() {
            for content in result.follow_ups() {
                self.add_follow_up(&mut messages, at, content);
            }
        }
        messages
    }
}

/// Returns the parts of a user message.
pub(super) fn user_parts(format: &(impl WireFormat + ?Sized), content: &[Content]) -> Vec<Value> {
    content.iter().map(|it| format.user_part(block_of_content(it))).collect()
}

/// Adds `parts` to the list `member` of a message.
fn add_parts(message: &mut Value, member: &str, mut parts: Vec<Value>) {
    if let Some(Value::Array(list)) = message.get_mut(member) {
        list.append(&mut parts);
    }
}

/// Creates an object from large values, which `json!` would copy.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>().into()
}

/// Creates an object of a message.
fn exact_object<const N: usize>(members: [(&'static str, ExactValue<'static>); N]) -> ExactValue<'static> {
    ExactValue::Object(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

/// Returns an error if `message` is a provider's error.
fn refuse_failure(message: &JsonLocation<'_>) -> Result<(), DialectError> {
    let error = message.field("error");
    let is_error = match error.value() {
        None | Some(ExactValue::Bool(false)) => false,
        Some(ExactValue::String(text)) => !text.is_empty(),
        Some(ExactValue::Object(members)) => !members.is_empty(),
        Some(_) => true,
    };
    if is_error { Err(error.provider_failure()) } else { Ok(()) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod fictional_tests;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod thinking_tests;
