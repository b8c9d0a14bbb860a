//! A response of the crate `genai`, whole or streamed.

use std::collections::HashMap;

use genai::chat::{ChatResponse, ContentPart, MessageContent, StopReason, StreamEnd};
use serde_json::{Value, value::to_raw_value};
use tool_runtime::{ToolCall, dialect::Usage};

use crate::{
    Message, Part,
    message::Original,
    model::{ModelError, ModelErrorKind, ModelEvent, Response},
};

/// The parts of a complete response.
pub(super) struct WholeResponse {
    content: MessageContent,
    stop_reason: Option<StopReason>,
    usage: Option<genai::chat::Usage>,
    id: Option<String>,
    model: Option<String>,
}

/// Adds the reasoning, if the content does not have it.
fn with_reasoning(mut content: MessageContent, reasoning: Option<String>) -> MessageContent {
    if let Some(reasoning) = reasoning.filter(|it| !it.is_empty())
        && !content.contains_reasoning_content()
    {
        content.prepend(ContentPart::ReasoningContent(reasoning));
    }
    content
}

impl From<ChatResponse> for WholeResponse {
    fn from(response: ChatResponse) -> Self {
        let ChatResponse { content, reasoning_content, stop_reason, usage, response_id: id, .. } = response;
        let model = Some(response.provider_model_iden.model_name.to_string());
        Self {
            content: with_reasoning(content, reasoning_content),
            stop_reason,
            usage: Some(usage),
            id,
            model,
        }
    }
}

impl From<StreamEnd> for WholeResponse {
    fn from(end: StreamEnd) -> Self {
        let content = end.captured_content.unwrap_or_default();
        Self {
            content: with_reasoning(content, end.captured_reasoning_content),
            stop_reason: end.captured_stop_reason,
            usage: end.captured_usage,
            id: end.captured_response_id,
            model: None,
        }
    }
}

impl WholeResponse {
    /// Returns the text and the reasoning as events.
    pub(super) fn text_events(&self) -> Vec<ModelEvent> {
        let text_event = |part: &ContentPart| match part {
            ContentPart::Text(text) => Some(ModelEvent::Text(text.clone())),
            ContentPart::ReasoningContent(text) => Some(ModelEvent::Reasoning(text.clone())),
            _ => None,
        };
        self.content.iter().filter_map(text_event).collect()
    }

    /// Returns the response. Its message keeps the content in the form of `genai`, under the name `dialect`; `names` are
    /// the names of tools by their names on the wire.
    pub(super) fn into_response(
        self,
        dialect: &str,
        names: &HashMap<String, String>,
    ) -> Result<Response, ModelError> {
        let json = to_raw_value(&self.content).map_err(|error| {
            ModelError::new(ModelErrorKind::Malformed, "the response cannot be written as JSON")
                .with_source(error)
        })?;
        let parts = self.content.into_parts().into_iter().filter_map(|part| match part {
            ContentPart::Text(text) if !text.is_empty() => Some(Part::Text(text)),
            ContentPart::ReasoningContent(text) => Some(Part::Reasoning(text)),
            ContentPart::ToolCall(call) => {
                let name = names.get(&call.fn_name).cloned().unwrap_or(call.fn_name);
                // Text that is not JSON arrives as a string.
                let arguments = match call.fn_arguments {
                    Value::String(text) => text,
                    Value::Null => "{}".to_owned(),
                    value => value.to_string(),
                };
                let made = ToolCall::new(name, arguments);
                Some(Part::Call(if call.call_id.is_empty() { made } else { made.with_id(call.call_id) }))
            }
            _ => None,
        });
        let message = Message::assistant(parts).with_original(Original { dialect: dialect.into(), json });
        let truncated =
            matches!(self.stop_reason, Some(StopReason::MaxTokens(_) | StopReason::ContentFilter(_)));
        Ok(Response {
            stop_reason: self.stop_reason.map(|reason| reason.raw().to_owned()),
            usage: self.usage.and_then(token_usage),
            id: self.id.map(Into::into),
            model: self.model.map(Into::into),
            truncated,
            ..Response::new(message)
        })
    }
}

/// Returns the token counts; `None` if there are none.
fn token_usage(counts: genai::chat::Usage) -> Option<Usage> {
    let count = |tokens: Option<i32>| tokens.and_then(|tokens| u64::try_from(tokens).ok());
    let mut usage = Usage::default();
    (usage.input, usage.output) = (count(counts.prompt_tokens), count(counts.completion_tokens));
    if let Some(details) = counts.prompt_tokens_details {
        (usage.cached, usage.cache_written) =
            (count(details.cached_tokens), count(details.cache_creation_tokens));
    }
    if let Some(details) = counts.completion_tokens_details {
        usage.reasoning = count(details.reasoning_tokens);
    }
    (usage != Usage::default()).then_some(usage)
}

#[cfg(test)]
mod tests;
