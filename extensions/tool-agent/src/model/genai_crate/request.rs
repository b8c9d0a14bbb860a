//! A request of the crate `genai` from a conversation.

use std::collections::HashMap;

use genai::{
    adapter::AdapterKind,
    chat::{
        Binary, CacheControl, ChatMessage, ChatOptions, ChatRequest, ContentPart, MessageContent,
        ReasoningEffort, Tool, ToolCall, ToolChoice as Choice, ToolResponse,
    },
};
use serde_json::{Map, Value};
use tool_runtime::{
    Content, Dialect, ToolResult,
    dialect::{BoundTools, Thinking},
};

use crate::{
    Message, Part, Role,
    model::{CachePoint, Request, ToolChoice},
};

/// A request with its options.
pub(super) struct PreparedRequest {
    pub(super) request: ChatRequest,
    pub(super) options: ChatOptions,
    /// The names of tools by their names on the wire.
    pub(super) names: HashMap<String, String>,
    /// Sentences about parts that are not sent.
    pub(super) unsupported: Vec<String>,
}

/// The name under which assistant messages of a provider are kept.
pub(super) fn dialect_name(kind: AdapterKind) -> String {
    format!("genai-{}", kind.as_lower_str())
}

pub(super) fn prepare_request(request: &Request, kind: AdapterKind, options: ChatOptions) -> PreparedRequest {
    // The names that every provider accepts.
    let bound = Dialect::openai_chat().bind_tools(&request.tools);
    let definitions = request.tools.definitions();
    let names = definitions.iter().map(|it| it.name().as_str());
    let names = names.map(|name| (bound.wire_name(name).into_owned(), name.to_owned())).collect();
    let mut conversation =
        GenaiConversation { dialect: dialect_name(kind), bound: &bound, unsupported: Vec::new() };
    let cached = |point| request.cache.contains(&point);
    let last = request.messages.len().saturating_sub(1);
    let mut messages = Vec::new();
    for (at, message) in request.messages.iter().enumerate() {
        let Some(mut message) = conversation.convert_message(message) else { continue };
        let is_point = |it: &CachePoint| matches!(it, CachePoint::Message(index) if (*index).min(last) == at);
        if request.cache.iter().any(is_point) {
            message.options = Some(CacheControl::Ephemeral.into());
        }
        messages.push(message);
    }
    let mut sent = ChatRequest::new(Vec::new());
    if !request.instruction.trim().is_empty() {
        match cached(CachePoint::Instruction) {
            true => {
                let system = ChatMessage::system(&*request.instruction);
                sent.messages.push(system.with_options(CacheControl::Ephemeral));
            }
            false => sent.system = Some(request.instruction.to_string()),
        }
    }
    sent.messages.append(&mut messages);
    let mut tools: Vec<_> = definitions
        .iter()
        .map(|it| {
            let tool = Tool::new(bound.wire_name(it.name().as_str()).into_owned());
            tool.with_description(it.description()).with_schema(it.input_schema().to_value().into_owned())
        })
        .collect();
    if let Some(last) = tools.last_mut().filter(|_| cached(CachePoint::Tools)) {
        last.cache_control = Some(CacheControl::Ephemeral);
    }
    sent.tools = (!tools.is_empty()).then_some(tools);
    let mut options = with_full_capture(options);
    if sent.tools.is_some() {
        options.tool_choice = match &request.tool_choice {
            ToolChoice::Auto => options.tool_choice,
            ToolChoice::None => Some(Choice::None),
            ToolChoice::Required => Some(Choice::Required),
            ToolChoice::Tool(name) => Some(Choice::tool(bound.wire_name(name))),
        };
    }
    if let Some(thinking) = request.thinking {
        options.reasoning_effort = Some(reasoning_effort(thinking));
    }
    apply_parameters(&mut options, &request.parameters);
    PreparedRequest { request: sent, options, names, unsupported: conversation.unsupported }
}

/// Returns the setting for `thinking`; the crate converts it for its providers.
fn reasoning_effort(thinking: Thinking) -> ReasoningEffort {
    match thinking {
        Thinking::Low => ReasoningEffort::Low,
        Thinking::Medium => ReasoningEffort::Medium,
        Thinking::High => ReasoningEffort::High,
        Thinking::Tokens(tokens) if tokens > 0 => ReasoningEffort::Budget(tokens),
        _ => ReasoningEffort::Zero,
    }
}

/// Options with which the end of a stream contains the whole response.
fn with_full_capture(options: ChatOptions) -> ChatOptions {
    options
        .with_capture_usage(true)
        .with_capture_content(true)
        .with_capture_reasoning_content(true)
        .with_capture_tool_calls(true)
}

fn apply_parameters(options: &mut ChatOptions, parameters: &Map<String, Value>) {
    let mut more = Map::new();
    for (name, value) in parameters {
        match (name.as_str(), value.as_f64(), value.as_u64().and_then(|it| u32::try_from(it).ok())) {
            ("temperature", Some(value), _) => options.temperature = Some(value),
            ("top_p", Some(value), _) => options.top_p = Some(value),
            ("max_tokens", _, Some(value)) => options.max_tokens = Some(value),
            _ => drop(more.insert(name.clone(), value.clone())),
        }
    }
    if more.is_empty() {
        return;
    }
    match &mut options.extra_body {
        Some(Value::Object(own)) => own.extend(more),
        other => *other = Some(Value::Object(more)),
    }
}

/// A conversation that is converted, message by message.
struct GenaiConversation<'b> {
    dialect: String,
    bound: &'b BoundTools,
    unsupported: Vec<String>,
}

impl GenaiConversation<'_> {
    /// Converts a message; `None` if it is empty.
    fn convert_message(&mut self, message: &Message) -> Option<ChatMessage> {
        let content = match message.role() {
            Role::User => MessageContent::from_parts(self.user_parts(message)),
            Role::Assistant => self.assistant_content(message),
            Role::Tool => {
                let responses = message.tool_results().map(|result| self.tool_response(result));
                MessageContent::from_parts(responses.map(ContentPart::from).collect::<Vec<_>>())
            }
        };
        let convert = match message.role() {
            Role::User => ChatMessage::user,
            Role::Assistant => ChatMessage::assistant,
            Role::Tool => ChatMessage::tool,
        };
        (!content.is_empty()).then(|| convert(content))
    }

    fn user_parts(&mut self, message: &Message) -> Vec<ContentPart> {
        message.content().into_iter().map(|content| self.content_part(content)).collect()
    }

    fn content_part(&mut self, content: Content) -> ContentPart {
        match (content.as_text(), binary_content(&content)) {
            (Some(text), _) => text.into(),
            (None, Some(binary)) => binary.into(),
            (None, None) => self.report_replaced_content(&content).into(),
        }
    }

    /// Returns the note that takes the place of content, and reports it.
    fn report_replaced_content(&mut self, content: &Content) -> String {
        let note = match content {
            Content::Image { mime_type, .. } => format!("[an image of type {mime_type}]"),
            Content::Audio { mime_type, .. } => format!("[audio of type {mime_type}]"),
            Content::Resource { resource } => {
                format!("[a file of type {}: {}]", resource.mime_type, resource.uri)
            }
            Content::ResourceLink { uri, .. } => format!("[a link: {uri}]"),
            _ => "[content]".to_owned(),
        };
        self.unsupported
            .push(format!("`genai` does not accept this content here; it is replaced by `{note}`"));
        note
    }

    /// The assistant message as `genai` returned it, or a conversion of another model's.
    fn assistant_content(&mut self, message: &Message) -> MessageContent {
        if let Some(original) = message.original().filter(|it| *it.dialect == *self.dialect)
            && let Ok(content) = serde_json::from_str(original.json.get())
        {
            return content;
        }
        let mut parts = Vec::new();
        for part in message.parts() {
            match part {
                Part::Text(text) if !text.is_empty() => parts.push(text.into()),
                Part::Call(call) => {
                    let text = call.arguments.as_str();
                    parts.push(ContentPart::from(ToolCall {
                        call_id: call.id.to_string(),
                        fn_name: self.bound.wire_name(&call.name).into_owned(),
                        fn_arguments: serde_json::from_str(text).unwrap_or_else(|_| text.into()),
                        thought_signatures: None,
                    }));
                }
                Part::Reasoning(_) => {
                    let text = "the reasoning of another model is left out".to_owned();
                    if !self.unsupported.contains(&text) {
                        self.unsupported.push(text);
                    }
                }
                Part::Content(content) => parts.push(self.report_replaced_content(content).into()),
                Part::Text(_) | Part::Result(_) => {}
            }
        }
        MessageContent::from_parts(parts)
    }

    /// A result as text: those of `genai` have no failure flag and no files.
    fn tool_response(&mut self, result: &ToolResult) -> ToolResponse {
        let prefix = if result.is_error() { "Error: " } else { "" };
        let mut text = format!("{prefix}{}", result.text());
        let content = result.content();
        let files = content.iter().chain(result.follow_ups().iter().flatten());
        for file in files.filter(|it| matches!(it, Content::Image { .. } | Content::Audio { .. })) {
            text.push('\n');
            text.push_str(&self.report_replaced_content(file));
        }
        ToolResponse::new(result.id.to_string(), text).with_fn_name(self.bound.wire_name(&result.name))
    }
}

/// Returns an image, audio or a file with its bytes.
fn binary_content(content: &Content) -> Option<Binary> {
    let (mime_type, name) = match content {
        Content::Image { mime_type, .. } | Content::Audio { mime_type, .. } => (mime_type.clone(), None),
        Content::Resource { resource } => (resource.mime_type.clone(), Some(resource.uri.clone())),
        _ => return None,
    };
    // Content has its bytes as base64 in JSON.
    let json = serde_json::to_value(content).ok()?;
    let data = ["/data", "/resource/blob"].iter().find_map(|path| json.pointer(path)?.as_str())?;
    Some(Binary::from_base64(mime_type, data, name))
}

#[cfg(test)]
mod tests;
