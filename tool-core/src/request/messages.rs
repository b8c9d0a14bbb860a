//! The messages of a request, as tools and request hooks see them.

use std::{fmt, sync::Arc};

use super::ModelRequest;
use crate::Content;

/// A message of a request to a model, independent of providers.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RequestMessage {
    /// The author.
    pub role: RequestRole,
    /// The texts, images, audio and documents, in order. Reasoning and calls of the model are left out: arguments may be secret.
    pub content: Vec<Content>,
    /// The results of calls, in the order of the calls.
    pub results: Vec<RequestResult>,
}

/// The author of a [`RequestMessage`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RequestRole {
    /// The user, or the program on the user's behalf.
    User,
    /// The model.
    Assistant,
    /// Tools.
    Tool,
}

/// The result of a call in a [`RequestMessage`], as the model receives it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct RequestResult {
    /// The id of the call, which the model chose.
    pub call_id: String,
    /// The name of the tool.
    pub tool: String,
    /// `true` if the call failed.
    pub is_error: bool,
    /// The content.
    pub content: Vec<Content>,
}

/// The messages of a request, which are made when the first hook asks for them. Default: none. Cheap to clone.
#[derive(Clone, Default)]
pub struct RequestMessages(Option<Arc<dyn Fn() -> Vec<RequestMessage> + Send + Sync>>);

impl RequestMessage {
    /// Creates a message without results.
    pub fn new(role: RequestRole, content: impl IntoIterator<Item = Content>) -> Self {
        Self { role, content: content.into_iter().collect(), results: Vec::new() }
    }

    /// Adds the result of a call.
    #[must_use]
    pub fn with_result(mut self, result: RequestResult) -> Self {
        self.results.push(result);
        self
    }
}

impl RequestResult {
    /// Creates the result of the call `call_id` of `tool`.
    pub fn new(
        call_id: impl Into<String>,
        tool: impl Into<String>,
        is_error: bool,
        content: impl IntoIterator<Item = Content>,
    ) -> Self {
        let (call_id, tool, content) = (call_id.into(), tool.into(), content.into_iter().collect());
        Self { call_id, tool, is_error, content }
    }
}

impl RequestMessages {
    /// Creates messages that `make` returns.
    pub fn new(make: impl Fn() -> Vec<RequestMessage> + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(make)))
    }
}

impl fmt::Debug for RequestMessages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("RequestMessages").field(&self.0.is_some()).finish()
    }
}

/// Messages.
impl ModelRequest {
    /// Sets the messages of the request, for a program that makes requests; the first ones count. Default: none.
    #[must_use]
    pub fn with_messages(self, messages: RequestMessages) -> Self {
        drop(self.shared.messages.set(messages));
        self
    }

    /// Returns the messages of the request, in order, without those that hooks add. An agent shows its conversation; a request that a program makes by
    /// itself has the messages that the program [set](Self::with_messages), and none otherwise: they are in its [body](Self::body).
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{ToolError, request::{ModelRequest, RequestRole}};
    ///
    /// /// Asks for brevity in long conversations.
    /// async fn be_brief(request: ModelRequest) -> Result<(), ToolError> {
    ///     let questions = request.messages().iter().filter(|message| message.role == RequestRole::User).count();
    ///     if questions > 10 {
    ///         request.instruct("Answer in one sentence.");
    ///     }
    ///     Ok(())
    /// }
    /// # let _ = be_brief;
    /// ```
    #[must_use]
    pub fn messages(&self) -> &[RequestMessage] {
        self.shared.shown.get_or_init(|| match self.shared.messages.get() {
            Some(RequestMessages(Some(make))) => make(),
            _ => Vec::new(),
        })
    }

    /// Returns the results that the model receives for the calls of its last response, in the order of the calls; none if it made no calls.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{ToolError, request::ModelRequest};
    ///
    /// async fn explain_failures(request: ModelRequest) -> Result<(), ToolError> {
    ///     if request.last_results().any(|result| result.is_error) {
    ///         request.instruct("Tell the user which step failed.");
    ///     }
    ///     Ok(())
    /// }
    /// # let _ = explain_failures;
    /// ```
    pub fn last_results(&self) -> impl Iterator<Item = &RequestResult> {
        let messages = self.messages();
        let response = messages.iter().rposition(|message| message.role == RequestRole::Assistant);
        let after = response.map_or(messages.len(), |response| response + 1);
        messages.get(after..).unwrap_or_default().iter().flat_map(|message| &message.results)
    }
}
