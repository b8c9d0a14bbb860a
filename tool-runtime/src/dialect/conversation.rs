//! Messages of a conversation that no response of this provider contains: those of the user, and assistant messages of
//! another model.

use serde_json::{Value, value::RawValue};
use tool_core::{Content, ResourceBody};

use super::{BoundTools, provider::user_parts};
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
        let wire = self.format();
        if let [Content::Text { text }] = content {
            return wire.user_text(text);
        }
        wire.user_message(user_parts(wire, content))
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
        self.format().accepts_file_type(mime_type)
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
    pub fn assistant_message(&self, text: &str, calls: &[ToolCall]) -> Box<RawValue> {
        let message = self.format().assistant_message(self, text, calls);
        RawValue::from_string(message.to_string()).unwrap_or_else(|_| RawValue::NULL.to_owned())
    }
}
