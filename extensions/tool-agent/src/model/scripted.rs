//! A model with prepared responses.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use tool_runtime::{ToolCall, dialect::Usage, schema::Arguments};

use super::{Model, ModelError, ModelErrorKind, Request, Response, ResponseStream};
use crate::{Message, Part};

/// A model with prepared responses, for tests and offline examples. Each request takes the next one; a request beyond
/// the last is an error. Cheap to clone; clones share the responses.
#[derive(Clone)]
pub struct ScriptedModel(Arc<Inner>);

struct Inner {
    name: String,
    replies: Mutex<VecDeque<Reply>>,
    requests: Mutex<Vec<Request>>,
}

/// A prepared response of a [`ScriptedModel`].
#[derive(Debug, Clone)]
pub struct Reply(Result<Response, ModelError>);

impl Reply {
    /// A response with a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::parts([Part::Text(text.into())])
    }

    /// A response with one call.
    pub fn call(tool: impl Into<Arc<str>>, arguments: impl Into<Arguments<'static>>) -> Self {
        Self::calls([ToolCall::new(tool, arguments)])
    }

    /// A response with calls.
    pub fn calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        Self::parts(calls.into_iter().map(Part::Call))
    }

    /// A response with these parts.
    pub fn parts(parts: impl IntoIterator<Item = Part>) -> Self {
        Self(Ok(Response::new(Message::assistant(parts))))
    }

    /// An error.
    pub fn error(kind: ModelErrorKind, message: impl Into<Arc<str>>) -> Self {
        Self(Err(ModelError::new(kind, message)))
    }

    /// Sets the token counts of the response.
    #[must_use]
    pub fn with_usage(self, usage: Usage) -> Self {
        Self(self.0.map(|response| response.with_usage(usage)))
    }
}

impl From<Response> for Reply {
    fn from(response: Response) -> Self {
        Self(Ok(response))
    }
}

impl ScriptedModel {
    /// Creates a model with these responses.
    pub fn new(replies: impl IntoIterator<Item = Reply>) -> Self {
        let replies = Mutex::new(replies.into_iter().collect());
        Self(Arc::new(Inner { name: "scripted".to_owned(), replies, requests: Mutex::default() }))
    }

    /// Returns the requests so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.0.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Model for ScriptedModel {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn provider(&self) -> &str {
        "scripted"
    }

    fn respond(&self, request: Request) -> ResponseStream {
        let inner = Arc::clone(&self.0);
        ResponseStream::of_future(async move {
            inner.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request);
            let next = inner.replies.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
            let ended = || ModelError::new(ModelErrorKind::Script, "the script has no further response");
            next.ok_or_else(ended)?.0
        })
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptedModel").field("name", &self.0.name).finish_non_exhaustive()
    }
}
