//! The wire formats of the providers, one folder each.
//!
//! Each folder has the same functions: `definition` of one tool, `read` of a whole response, `push` of a streamed
//! event, `complete` of its message, `usage`, `results`.

mod anthropic;
mod gemini;
mod mcp;
mod openai_chat;
mod openai_responses;

use serde_json::{Map, Value, json};
use tool_core::{__private::ExactValue, Content, ToolDefinition};

use super::{
    BoundTools, DialectError, Usage,
    budget::Budget,
    content::{Block, block},
    draft::{Draft, Members},
    error::At,
    exports::OutputForm,
    history::CallMembers,
    names::NameRule,
    reading::Reading,
    request::instruct_in,
    schema::{self, Rules},
    slots::Slots,
};
use crate::ToolResult;

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    OpenAiChat { strict: bool },
    OpenAiResponses { strict: bool },
    Anthropic { strict: bool },
    Gemini { json_schema: bool },
    Mcp,
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

impl Wire {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat { strict: false } => "openai-chat",
            Self::OpenAiChat { strict: true } => "openai-chat-strict",
            Self::OpenAiResponses { strict: false } => "openai-responses",
            Self::OpenAiResponses { strict: true } => "openai-responses-strict",
            Self::Anthropic { strict: false } => "anthropic",
            Self::Anthropic { strict: true } => "anthropic-strict",
            Self::Gemini { json_schema: true } => "gemini",
            Self::Gemini { json_schema: false } => "gemini-schema",
            Self::Mcp => "mcp",
        }
    }

    /// Returns the schema rules, and fallback rules for schemas that they cannot represent.
    pub(super) fn rules(self) -> (&'static Rules, Option<&'static Rules>) {
        match self {
            Self::OpenAiChat { strict: true } | Self::OpenAiResponses { strict: true } => {
                (&schema::OPENAI_STRICT, Some(&schema::OPENAI))
            }
            Self::OpenAiChat { .. } | Self::OpenAiResponses { .. } => (&schema::OPENAI, None),
            Self::Anthropic { strict: true } => (&schema::ANTHROPIC_STRICT, Some(&schema::ANTHROPIC)),
            Self::Anthropic { .. } => (&schema::ANTHROPIC, None),
            Self::Gemini { json_schema: true } => (&schema::GEMINI, None),
            Self::Gemini { json_schema: false } => (&schema::GEMINI_SCHEMA, None),
            Self::Mcp => (&schema::ALL, None),
        }
    }

    /// [OpenAI](https://platform.openai.com/docs/api-reference/chat/create),
    /// [Anthropic](https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools), [Gemini](https://cloud.google.com/vertex-ai/docs/reference/rest/v1beta1/FunctionDeclaration),
    /// [MCP](https://modelcontextprotocol.io/specification/2025-11-25/server/tools#tool-names).
    pub(super) fn name_rule(self) -> NameRule {
        let (longest, also, starts_with_letter): (_, &[char], _) = match self {
            Self::OpenAiChat { .. } | Self::OpenAiResponses { .. } => (64, &[], false),
            Self::Anthropic { .. } => (128, &[], false),
            Self::Gemini { .. } => (64, &['.'], true),
            Self::Mcp => (128, &['.'], false),
        };
        NameRule { longest, also, starts_with_letter }
    }

    /// Returns the maximum number of tools in a request, where it is limited: [chat
    /// completions](https://platform.openai.com/docs/api-reference/chat/create) ("a max of 128 functions are
    /// supported"; [refusal](https://github.com/zed-industries/zed/issues/32946)), responses (no published
    /// source), and [Gemini's
    /// declarations](https://github.com/googleapis/python-genai/blob/main/google/genai/types.py) ("maximum 512
    /// function declarations can be provided").
    pub(super) fn most_tools(self) -> Option<usize> {
        match self {
            Self::OpenAiChat { .. } | Self::OpenAiResponses { .. } => Some(128),
            Self::Gemini { .. } => Some(512),
            Self::Anthropic { .. } | Self::Mcp => None,
        }
    }

    /// Returns the maximum number of characters of a description, where it is limited: OpenAI (no published
    /// source; [refusal](https://github.com/getsentry/sentry-mcp/issues/106)).
    pub(super) fn longest_description(self) -> Option<usize> {
        matches!(self, Self::OpenAiChat { .. } | Self::OpenAiResponses { .. }).then_some(1_024)
    }

    /// Returns the budget for strict tools in a request, where it is limited.
    pub(super) fn budget(self) -> Option<Budget> {
        matches!(self, Self::Anthropic { strict: true }).then_some(Budget::ANTHROPIC)
    }

    /// Returns `true` if a definition can contain example arguments.
    pub(super) fn takes_examples(self) -> bool {
        matches!(self, Self::Anthropic { .. })
    }

    /// Returns the name under which the model calls a native tool, if it has one.
    pub(super) fn native_name(self, tool: &Value) -> Option<&str> {
        let places = ["/name", "/function/name", "/custom/name"];
        places.iter().find_map(|place| tool.pointer(place)?.as_str())
    }

    pub(super) fn definition(self, tool: Definition<'_>) -> Value {
        match self {
            Self::OpenAiChat { .. } => openai_chat::definition(tool),
            Self::OpenAiResponses { .. } => openai_responses::definition(tool),
            Self::Anthropic { .. } => anthropic::definition(tool),
            Self::Gemini { json_schema } => gemini::definition(tool, json_schema),
            Self::Mcp => mcp::definition(tool),
        }
    }

    /// Returns all tools of a request.
    pub(super) fn tools(self, definitions: Vec<Value>, native: &[Value]) -> Value {
        let own = match self {
            Self::Gemini { .. } if definitions.is_empty() => Vec::new(),
            Self::Gemini { .. } => vec![object([("functionDeclarations", definitions.into())])],
            _ => definitions,
        };
        own.into_iter().chain(native.iter().cloned()).collect()
    }

    /// Returns the form of results, and their schema where the provider accepts one.
    pub(super) fn output(self, definition: &ToolDefinition) -> (OutputForm, Option<Value>) {
        match self {
            Self::Mcp => mcp::output(definition),
            _ => (OutputForm::Unspecified, None),
        }
    }

    /// Reads a whole response.
    pub(super) fn read(self, response: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
        refuse_failure(response)?;
        match self {
            Self::OpenAiChat { .. } => openai_chat::read(response, reading),
            Self::OpenAiResponses { .. } => openai_responses::read(response, reading),
            Self::Anthropic { .. } => anthropic::read(response, reading),
            Self::Gemini { .. } => gemini::read(response, reading),
            Self::Mcp => mcp::read(response, &mut reading.slots),
        }
    }

    /// Reads an event of a streamed response.
    pub(super) fn push(self, event: &At<'_>, reading: &mut Reading) -> Result<(), DialectError> {
        refuse_failure(event)?;
        match self {
            Self::OpenAiChat { .. } => openai_chat::push(event, reading),
            Self::OpenAiResponses { .. } => openai_responses::push(event, reading),
            Self::Anthropic { .. } => anthropic::push(event, reading),
            Self::Gemini { .. } => gemini::push(event, reading),
            Self::Mcp => mcp::push(event, &mut reading.slots),
        }
    }

    /// Completes the parts of a message that were not sent as a whole, and removes content that the provider
    /// rejects.
    pub(super) fn complete(self, draft: &mut Draft, slots: &Slots) {
        match self {
            Self::OpenAiChat { .. } => openai_chat::complete(draft, slots),
            Self::OpenAiResponses { .. } => openai_responses::complete(draft, slots),
            Self::Anthropic { .. } => anthropic::complete(draft, slots),
            Self::Gemini { .. } => gemini::complete(draft, slots),
            Self::Mcp => {}
        }
    }

    /// Returns the members of a call in a part of a message: of one of the program's tools, or of a native tool whose
    /// arguments must have a form.
    pub(super) fn call_members<'m>(
        self,
        part: &'m mut ExactValue<'static>,
        is_own: bool,
    ) -> Option<CallMembers<'m>> {
        match self {
            Self::OpenAiChat { .. } => openai_chat::call_members(part, is_own),
            Self::OpenAiResponses { .. } => openai_responses::call_members(part, is_own),
            Self::Anthropic { .. } => anthropic::call_members(part),
            Self::Gemini { .. } => gemini::call_members(part, is_own),
            Self::Mcp => None,
        }
    }

    /// Returns the members of a call that is a member of the message itself.
    pub(super) fn message_call_members(self, message: &mut Members) -> Option<CallMembers<'_>> {
        match self {
            Self::OpenAiChat { .. } => openai_chat::function_call_members(message),
            _ => None,
        }
    }

    /// Returns the name of the member for the id of a call, where the provider requires one.
    pub(super) fn id_of_calls(self) -> Option<&'static str> {
        match self {
            Self::OpenAiChat { .. } | Self::Anthropic { .. } => Some("id"),
            Self::OpenAiResponses { .. } => Some("call_id"),
            Self::Gemini { .. } | Self::Mcp => None,
        }
    }

    /// Returns the assistant message in the form to send back to the provider.
    pub(super) fn message(self, draft: Draft) -> Option<ExactValue<'static>> {
        match self {
            Self::OpenAiChat { .. } => draft.into_message("tool_calls", "assistant"),
            Self::OpenAiResponses { .. } => draft.into_list(),
            Self::Anthropic { .. } => draft.into_message("content", "assistant"),
            Self::Gemini { .. } => draft.into_message("parts", "model"),
            Self::Mcp => None,
        }
    }

    /// Returns the name of the request's member for messages.
    pub(super) fn messages(self) -> Option<&'static str> {
        match self {
            Self::OpenAiChat { .. } | Self::Anthropic { .. } => Some("messages"),
            Self::OpenAiResponses { .. } => Some("input"),
            Self::Gemini { .. } => Some("contents"),
            Self::Mcp => None,
        }
    }

    /// Converts the provider's token counts.
    pub(super) fn usage(self, counted: &ExactValue<'_>) -> Usage {
        match self {
            Self::OpenAiChat { .. } => openai_chat::usage(counted),
            Self::OpenAiResponses { .. } => openai_responses::usage(counted),
            Self::Anthropic { .. } => anthropic::usage(counted),
            Self::Gemini { .. } => gemini::usage(counted),
            Self::Mcp => Usage::default(),
        }
    }

    /// Appends `text` to the instructions for the model.
    pub(super) fn instruct(self, body: &mut Value, text: &str) -> Result<(), DialectError> {
        match self {
            Self::OpenAiChat { .. } => openai_chat::instruct(body, text),
            Self::OpenAiResponses { .. } => instruct_in(body, "instructions", text, false),
            Self::Mcp => mcp::instruct(body, text),
            Self::Anthropic { .. } => instruct_in(body, "system", text, true),
            Self::Gemini { .. } => gemini::instruct(body, text),
        }
    }

    /// Returns a user message.
    pub(super) fn user_text(self, text: &str) -> Value {
        match self {
            Self::Gemini { .. } => json!({ "role": "user", "parts": [{ "text": text }] }),
            _ => json!({ "role": "user", "content": text }),
        }
    }

    pub(super) fn results(self, bound: &BoundTools, results: &[ToolResult]) -> Value {
        let mut messages = self.answers(bound, results);
        for (at, result) in results.iter().enumerate().filter(|(_, result)| !result.follow_ups().is_empty()) {
            for content in result.follow_ups() {
                self.follow_up(&mut messages, at, content);
            }
        }
        messages
    }

    /// Adds the user message of a follow-up to the messages with results; `at` is the index of its result.
    fn follow_up(self, messages: &mut Value, at: usize, content: &[Content]) {
        let parts = |part: fn(Block) -> Value| content.iter().map(|it| part(block(it))).collect::<Vec<_>>();
        let (list, mut added) = match self {
            Self::OpenAiChat { .. } => {
                let message = json!({ "role": "user", "content": parts(openai_chat::user_part) });
                (Some(messages), vec![message])
            }
            Self::OpenAiResponses { .. } => {
                let message = json!({ "role": "user", "content": parts(openai_responses::user_part) });
                (Some(messages), vec![message])
            }
            Self::Anthropic { .. } => (messages.get_mut("content"), parts(anthropic::user_part)),
            Self::Gemini { .. } => (messages.get_mut("parts"), parts(gemini::user_part)),
            // The protocol sends nothing but results.
            Self::Mcp => {
                let content = content.iter().map(|it| json!(it)).collect();
                (messages.get_mut(at).and_then(|result| result.get_mut("content")), content)
            }
        };
        if let Some(Value::Array(list)) = list {
            list.append(&mut added);
        }
    }

    /// Returns a message for each call's result, and nothing else.
    fn answers(self, bound: &BoundTools, results: &[ToolResult]) -> Value {
        match self {
            Self::OpenAiChat { .. } => openai_chat::results(bound, results),
            Self::OpenAiResponses { .. } => openai_responses::results(bound, results),
            Self::Anthropic { .. } => anthropic::results(results),
            Self::Gemini { .. } => gemini::results(bound, results),
            Self::Mcp => mcp::results(bound, results),
        }
    }
}

/// Returns a part of a user message.
pub(super) fn user_part(wire: Wire, block: Block) -> Value {
    match wire {
        Wire::OpenAiChat { .. } => openai_chat::user_part(block),
        Wire::OpenAiResponses { .. } => openai_responses::user_part(block),
        Wire::Gemini { .. } => gemini::user_part(block),
        Wire::Anthropic { .. } | Wire::Mcp => anthropic::user_part(block),
    }
}

/// Returns `true` if a message can contain files of that type.
pub(super) fn accepts(wire: Wire, mime_type: &str) -> bool {
    match wire {
        Wire::OpenAiChat { .. } => openai_chat::accepts(mime_type),
        Wire::OpenAiResponses { .. } => openai_responses::accepts(mime_type),
        Wire::Anthropic { .. } => anthropic::accepts(mime_type),
        Wire::Gemini { .. } => gemini::is_shown(mime_type),
        Wire::Mcp => true,
    }
}

/// Creates an object from large values, which `json!` would copy.
fn object<const N: usize>(fields: [(&str, Value); N]) -> Value {
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect::<Map<_, _>>().into()
}

/// Returns an error if `message` is a provider's error.
fn refuse_failure(message: &At<'_>) -> Result<(), DialectError> {
    let error = message.field("error");
    let is_error = match error.value() {
        None | Some(ExactValue::Bool(false)) => false,
        Some(ExactValue::String(text)) => !text.is_empty(),
        Some(ExactValue::Object(members)) => !members.is_empty(),
        Some(_) => true,
    };
    if is_error { Err(error.failure()) } else { Ok(()) }
}
