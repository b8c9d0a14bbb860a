//! Messages of a conversation, independent of providers.

#[cfg(feature = "http")]
use std::{borrow::Cow, sync::OnceLock};
use std::{fmt, sync::Arc, time::SystemTime};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, value::RawValue};
use tool_runtime::{Content, ToolCall, ToolResult};

mod origin;
mod wire;

pub(crate) use self::origin::MessageOrigin;

/// A message of a conversation: of the user, of a model, or with the results of calls. Cheap to clone.
///
/// A message of a model keeps the [original](Self::original) JSON of its provider, so that it can be sent back
/// unchanged.
///
/// In JSON: `{"role":"user","parts":[{"text":"Hello."}]}`.
///
/// # Examples
///
/// ```
/// use tool_agent::{Message, Part, Role};
///
/// let message = Message::user("25 times 4?");
/// assert_eq!((message.role(), message.text().as_str()), (Role::User, "25 times 4?"));
/// assert_eq!(serde_json::to_string(&message)?, r#"{"role":"user","parts":[{"text":"25 times 4?"}]}"#);
/// # use tool_runtime::serde_json;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct Message(Arc<MessageData>);

struct MessageData {
    role: Role,
    parts: Vec<Part>,
    original: Option<Original>,
    agent: Option<Arc<str>>,
    metadata: Map<String, Value>,
    /// `true` for the message of the user with which a run began. A session stores it beside the message.
    is_input: bool,
    origin: MessageOrigin,
    /// The message in the form of the provider to which it was sent first.
    #[cfg(feature = "http")]
    rendered: OnceLock<RenderedMessage>,
}

/// The JSON of a message for one provider.
#[cfg(feature = "http")]
struct RenderedMessage {
    form: MessageForm,
    messages: Vec<Arc<RawValue>>,
}

/// The form of a message for one provider: its dialect, and the names of its tools that differ there, as by a prefix.
#[cfg(feature = "http")]
#[derive(PartialEq, Eq)]
pub(crate) struct MessageForm {
    pub(crate) dialect: Arc<str>,
    /// The variant of the dialect for a model.
    pub(crate) variant: &'static str,
    pub(crate) names: Vec<String>,
}

/// The author of a [`Message`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The user, or the program on the user's behalf.
    User,
    /// The model.
    Assistant,
    /// Tools: the results of the calls of the assistant message before.
    Tool,
}

/// A part of a [`Message`]. In JSON, an object with one member: `{"text":".."}`, `{"call":{..}}`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Part {
    /// A text.
    Text(String),
    /// An image, audio, or a document.
    Content(Content),
    /// Readable reasoning of the model. Signatures and encrypted reasoning are in the [original](Message::original).
    Reasoning(String),
    /// A call.
    Call(ToolCall),
    /// The result of a call.
    Result(ToolResult),
}

/// A message in the JSON of a provider.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Original {
    /// The name of the [dialect](tool_runtime::Dialect::name).
    pub dialect: Arc<str>,
    /// The message; a list of items for OpenAI's responses.
    pub json: Box<RawValue>,
}

impl Message {
    fn new(role: Role, parts: Vec<Part>, original: Option<Original>) -> Self {
        Self(Arc::new(MessageData {
            role,
            parts,
            original,
            agent: None,
            metadata: Map::new(),
            is_input: false,
            origin: MessageOrigin::now(),
            #[cfg(feature = "http")]
            rendered: OnceLock::new(),
        }))
    }

    /// Creates a message of the user from a text.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, vec![Part::Text(text.into())], None)
    }

    /// Creates a message of the user from texts, images, audio and documents.
    pub fn user_content(content: impl IntoIterator<Item = Content>) -> Self {
        let part = |content| match content {
            Content::Text { text } => Part::Text(text),
            other => Part::Content(other),
        };
        Self::new(Role::User, content.into_iter().map(part).collect(), None)
    }

    /// Creates a message of a model.
    pub fn assistant(parts: impl IntoIterator<Item = Part>) -> Self {
        Self::new(Role::Assistant, parts.into_iter().collect(), None)
    }

    /// Creates a message with the results of calls.
    pub fn results(results: impl IntoIterator<Item = ToolResult>) -> Self {
        Self::new(Role::Tool, results.into_iter().map(Part::Result).collect(), None)
    }

    pub(crate) fn of_parts(role: Role, parts: Vec<Part>) -> Self {
        Self::new(role, parts, None)
    }

    /// Sets the message in the JSON of its provider.
    #[must_use]
    pub fn with_original(self, original: Original) -> Self {
        self.with_changed_data(|message| message.original = Some(original))
    }

    /// Sets the agent whose model wrote the message, or made the calls with these results. Default: none.
    #[must_use]
    pub fn with_agent(self, agent: impl Into<Arc<str>>) -> Self {
        self.with_changed_data(|message| message.agent = Some(agent.into()))
    }

    /// Sets the [metadata](Self::metadata), such as those of a program, which a hook adds. Default: none.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::{Message, Part};
    /// use tool_runtime::prelude::*;
    ///
    /// let mut metadata = tool_runtime::serde_json::Map::new();
    /// metadata.insert("reviewed".to_owned(), json!(true));
    /// let message = Message::assistant([Part::Text("Hello.".to_owned())]).with_metadata(metadata);
    /// assert_eq!(message.metadata()["reviewed"], true);
    /// ```
    #[must_use]
    pub fn with_metadata(self, metadata: Map<String, Value>) -> Self {
        self.with_changed_data(|message| message.metadata = metadata)
    }

    /// Returns the message with a change; clones keep what they have.
    fn with_changed_data(self, change: impl FnOnce(&mut MessageData)) -> Self {
        let mut data = Arc::try_unwrap(self.0).unwrap_or_else(|shared| MessageData {
            role: shared.role,
            parts: shared.parts.clone(),
            original: shared.original.clone(),
            agent: shared.agent.clone(),
            metadata: shared.metadata.clone(),
            is_input: shared.is_input,
            origin: shared.origin.clone(),
            #[cfg(feature = "http")]
            rendered: OnceLock::new(),
        });
        #[cfg(feature = "http")]
        {
            data.rendered = OnceLock::new();
        }
        change(&mut data);
        Self(Arc::new(data))
    }

    /// Returns the author.
    #[must_use]
    pub fn role(&self) -> Role {
        self.0.role
    }

    /// Returns the parts, in order.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.0.parts
    }

    /// Returns the message in the JSON of the provider that wrote it.
    #[must_use]
    pub fn original(&self) -> Option<&Original> {
        self.0.original.as_ref()
    }

    /// Returns the agent whose model wrote the message, or made the calls with these results, if it is one of
    /// [several agents](crate::Agent::sequence) of a run; otherwise `None`.
    #[must_use]
    pub fn agent(&self) -> Option<&str> {
        self.0.agent.as_deref()
    }

    /// Returns the metadata of the response, which are stored with the message and never sent to a model: what the provider sent beside the
    /// message, such as the grounding of its text, and what the program [added](Self::with_metadata).
    #[must_use]
    pub fn metadata(&self) -> &Map<String, Value> {
        &self.0.metadata
    }

    /// Returns the time at which the message was made, as the session has it; `None` for a message that was read from JSON alone.
    #[must_use]
    pub fn time(&self) -> Option<SystemTime> {
        self.0.origin.time
    }

    /// Returns the [branch](tool_runtime::RunContext::branch) of the [agent](Self::agent); `None` for a message without one.
    #[must_use]
    pub fn branch(&self) -> Option<&str> {
        self.0.origin.branch.as_deref()
    }

    pub(crate) fn origin(&self) -> &MessageOrigin {
        &self.0.origin
    }

    /// Sets the time and the branch as a session has them.
    pub(crate) fn with_origin(self, origin: MessageOrigin) -> Self {
        self.with_changed_data(|message| message.origin = origin)
    }

    /// Sets the agent of a branch as [`with_agent`](Self::with_agent) does.
    pub(crate) fn with_agent_of_branch(self, agent: Arc<str>, branch: Option<&str>) -> Self {
        self.with_changed_data(|message| {
            (message.agent, message.origin.branch) = (Some(agent), branch.map(Into::into));
        })
    }

    /// Marks the message with which a run begins, or any other one.
    pub(crate) fn marked_as_input(self, is_input: bool) -> Self {
        match self.is_input() == is_input {
            true => self,
            false => self.with_changed_data(|message| message.is_input = is_input),
        }
    }

    /// Returns `true` for the message of the user with which a run began.
    pub(crate) fn is_input(&self) -> bool {
        self.0.is_input
    }

    /// Returns `true` if both are clones of one message.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Returns the texts, concatenated.
    #[must_use]
    pub fn text(&self) -> String {
        let texts = self.parts().iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns the calls.
    pub fn calls(&self) -> impl Iterator<Item = &ToolCall> {
        self.parts().iter().filter_map(|part| match part {
            Part::Call(call) => Some(call),
            _ => None,
        })
    }

    /// Returns the results of calls.
    pub fn tool_results(&self) -> impl Iterator<Item = &ToolResult> {
        self.parts().iter().filter_map(|part| match part {
            Part::Result(result) => Some(result),
            _ => None,
        })
    }

    /// Returns the texts, images, audio and documents as content.
    #[must_use]
    pub fn content(&self) -> Vec<Content> {
        let content = self.parts().iter().filter_map(|part| match part {
            Part::Text(text) => Some(Content::text(text)),
            Part::Content(content) => Some(content.clone()),
            _ => None,
        });
        content.collect()
    }

    /// Returns the JSON of the message in a form, one or several messages: the original if that provider wrote it, else
    /// the result of `render`. The result is kept for the form that is requested first.
    #[cfg(feature = "http")]
    pub(crate) fn provider_json_or_render(
        &self,
        form: MessageForm,
        render: impl FnOnce() -> Vec<Arc<RawValue>>,
    ) -> Cow<'_, [Arc<RawValue>]> {
        if let Some(known) = self.0.rendered.get().filter(|known| known.form == form) {
            return Cow::Borrowed(&known.messages);
        }
        let own = self.original().filter(|original| *original.dialect == *form.dialect);
        let messages = match own {
            Some(original) => split_messages(&original.json),
            None => render(),
        };
        match self.0.rendered.set(RenderedMessage { form, messages }) {
            Ok(()) => Cow::Borrowed(self.0.rendered.get().map_or(&[], |kept| &kept.messages[..])),
            // Kept in another form.
            Err(rendered) => Cow::Owned(rendered.messages),
        }
    }
}

/// Splits a list of messages; a single message is a list of one.
#[cfg(feature = "http")]
pub(crate) fn split_messages(json: &RawValue) -> Vec<Arc<RawValue>> {
    let messages = match json.get().starts_with('[') {
        true => serde_json::from_str::<Vec<Box<RawValue>>>(json.get()).ok(),
        false => None,
    };
    match messages {
        Some(messages) => messages.into_iter().map(Arc::from).collect(),
        None => vec![json.to_owned().into()],
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MessageData { role, parts, original, agent, .. } = &*self.0;
        let mut written = f.debug_struct("Message");
        written.field("role", role).field("parts", parts);
        if let Some(original) = original {
            written.field("original", &original.dialect);
        }
        if let Some(agent) = agent {
            written.field("agent", agent);
        }
        written.finish()
    }
}

impl<T: Into<String>> From<T> for Message {
    fn from(text: T) -> Self {
        Self::user(text)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests;
