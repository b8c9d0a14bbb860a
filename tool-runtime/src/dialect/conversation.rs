//! Messages of a conversation that no response of this provider contains: those of the user, and assistant messages of
//! another model.

use serde_json::{Value, json, value::RawValue};
use tool_core::{__private::ExactValue, Content, ResourceBody};

use super::{
    BoundTools,
    content::block,
    draft::text,
    provider::{Wire, accepts, user_part},
};
use crate::ToolCall;

impl BoundTools {
    /// Returns a message of the user. A file of a type that the provider does not accept becomes a text that names it.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tool_runtime::{Content, dialect::Dialect, prelude::*};
    /// # let tools = Registry::builder().build()?;
    /// let bound = Dialect::gemini().bind_tools(&tools);
    /// let message = bound.user_message(&[Content::text("Hello.")]);
    /// assert_eq!(message, json!({ "role": "user", "parts": [{ "text": "Hello." }] }));
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    #[must_use]
    pub fn user_message(&self, content: &[Content]) -> Value {
        let wire = self.wire();
        if let [Content::Text { text }] = content {
            return wire.user_text(text);
        }
        let parts: Vec<_> = content.iter().map(|it| user_part(wire, block(it))).collect();
        match wire {
            Wire::Gemini { .. } => json!({ "role": "user", "parts": parts }),
            _ => json!({ "role": "user", "content": parts }),
        }
    }

    /// Returns `true` if the provider accepts `content` in messages. Any other file becomes a text that names it, in
    /// [user messages](Self::user_message) and in [results](Self::results).
    ///
    /// # Examples
    ///
    /// ```
    /// # use tool_runtime::{Content, dialect::Dialect, prelude::*};
    /// # let tools = Registry::builder().build()?;
    /// let sound = Content::audio(vec![0; 4], "audio/wav");
    /// assert!(Dialect::gemini().bind_tools(&tools).accepts(&sound));
    /// assert!(!Dialect::anthropic().bind_tools(&tools).accepts(&sound));
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    #[must_use]
    pub fn accepts(&self, content: &Content) -> bool {
        let mime_type = match content {
            Content::Image { mime_type, .. } | Content::Audio { mime_type, .. } => mime_type,
            Content::Resource { resource } if matches!(resource.body, ResourceBody::Blob(_)) => {
                &resource.mime_type
            }
            _ => return true,
        };
        accepts(self.wire(), mime_type)
    }

    /// Returns an assistant message that another model wrote, or none: its text, then its calls. A list of items for
    /// OpenAI's responses; one message for the other providers. The message of a response of this provider is
    /// [`AssembledResponse::message`](super::AssembledResponse::message).
    ///
    /// # Examples
    ///
    /// ```
    /// # use tool_runtime::{ToolCall, dialect::Dialect, prelude::*};
    /// # let tools = Registry::builder().build()?;
    /// let bound = Dialect::anthropic().bind_tools(&tools);
    /// let call = ToolCall::new("add", r#"{"a":1.50}"#).with_id("call_1");
    /// assert_eq!(
    ///     bound.assistant_message("I add.", &[call]).get(),
    ///     r#"{"role":"assistant","content":[{"type":"text","text":"I add."},{"type":"tool_use","id":"call_1","name":"add","input":{"a":1.50}}]}"#,
    /// );
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    #[must_use]
    pub fn assistant_message(&self, said: &str, calls: &[ToolCall]) -> Box<RawValue> {
        let mut parts = Vec::new();
        if !said.trim().is_empty() {
            parts.push(self.said(said));
        }
        parts.extend(calls.iter().map(|call| self.called(call)));
        let message = match self.wire() {
            Wire::OpenAiResponses { .. } => ExactValue::List(parts),
            Wire::OpenAiChat { .. } => {
                let content = if said.is_empty() { ExactValue::Null } else { text(said) };
                let mut members = vec![("role".into(), text("assistant")), ("content".into(), content)];
                if !calls.is_empty() {
                    let calls = calls.iter().map(|call| self.called(call)).collect();
                    members.push(("tool_calls".into(), ExactValue::List(calls)));
                }
                ExactValue::Object(members)
            }
            Wire::Gemini { .. } => object([("role", text("model")), ("parts", ExactValue::List(parts))]),
            _ => object([("role", text("assistant")), ("content", ExactValue::List(parts))]),
        };
        RawValue::from_string(message.to_string()).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }

    /// The text of an assistant message as a part.
    fn said(&self, said: &str) -> ExactValue<'static> {
        match self.wire() {
            Wire::OpenAiResponses { .. } => object([("role", text("assistant")), ("content", text(said))]),
            Wire::Gemini { .. } => object([("text", text(said))]),
            _ => object([("type", text("text")), ("text", text(said))]),
        }
    }

    /// A call of an assistant message as a part.
    fn called(&self, call: &ToolCall) -> ExactValue<'static> {
        let (id, name) = (text(&call.id.to_string()), text(&self.wire_name(&call.name)));
        let arguments = || self.sent_arguments(call);
        match self.wire() {
            Wire::OpenAiChat { .. } => {
                let function = object([("name", name), ("arguments", text(&arguments().to_string()))]);
                object([("id", id), ("type", text("function")), ("function", function)])
            }
            Wire::OpenAiResponses { .. } => object([
                ("type", text("function_call")),
                ("call_id", id),
                ("name", name),
                ("arguments", text(&arguments().to_string())),
            ]),
            Wire::Gemini { .. } if call.id.is_generated() => {
                object([("functionCall", object([("name", name), ("args", arguments())]))])
            }
            Wire::Gemini { .. } => {
                object([("functionCall", object([("id", id), ("name", name), ("args", arguments())]))])
            }
            _ => object([("type", text("tool_use")), ("id", id), ("name", name), ("input", arguments())]),
        }
    }
}

fn object<const N: usize>(members: [(&'static str, ExactValue<'static>); N]) -> ExactValue<'static> {
    ExactValue::Object(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
}
