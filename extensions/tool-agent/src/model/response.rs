//! Responses of models.

use std::{
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{Stream, StreamExt as _, stream};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tool_runtime::{dialect::Usage, request::RequestAdditions};

use super::ModelError;
use crate::{Message, Part};

/// The response of a model.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Response {
    /// The message, with its calls.
    pub message: Message,
    /// The reason why the model stopped, as the provider sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    /// The token counts; `None` where the provider sent none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// The id of the response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<Arc<str>>,
    /// The name of the model that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<Arc<str>>,
    /// `true` if the response was cut off: by a limit, a filter, or the end of its stream.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

impl Response {
    /// Creates a complete response.
    pub fn new(message: Message) -> Self {
        Self { message, stop_reason: None, usage: None, id: None, model: None, truncated: false }
    }

    /// Returns what the provider sent beside the message, and what the program added: the [metadata](Message::metadata) of the message, with
    /// which they are stored. See [`Message::citations`].
    #[must_use]
    pub fn metadata(&self) -> &Map<String, Value> {
        self.message.metadata()
    }

    /// Sets the token counts.
    #[must_use]
    pub fn with_usage(mut self, usage: Usage) -> Self {
        self.usage = Some(usage);
        self
    }
}

/// An event of a response that arrives.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ModelEvent {
    /// A part of the text.
    Text(String),
    /// A part of the reasoning.
    Reasoning(String),
    /// The request is sent again. Everything that was shown of the response before is withdrawn.
    Retried {
        /// The number of the attempt that failed, from 1.
        attempt: u32,
        /// The reason.
        error: ModelError,
        /// The pause before the next attempt.
        pause: Duration,
    },
    /// A model failed, and another one is asked. Everything that was shown of the response before is withdrawn.
    FellBack {
        /// The provider and the name of the model that failed, such as `openai:gpt-5-mini`.
        failed: String,
        /// The reason.
        error: ModelError,
        /// The provider and the name of the model that is asked next.
        next: String,
    },
    /// Additions of tools and request hooks to the request.
    Extended(RequestAdditions),
    /// A part of the request that the provider does not support, or of the response that cannot be read, in words.
    Unsupported(String),
    /// A notice for the user of the run that does not concern the response, such as of a recording that broke off.
    Notice(String),
    /// The response; the last event.
    Finished(Response),
}

/// The events of a response. Dropping the stream cancels the request.
pub struct ResponseStream(Pin<Box<dyn Stream<Item = Result<ModelEvent, ModelError>> + Send>>);

impl ResponseStream {
    /// Creates a stream.
    pub fn new(events: impl Stream<Item = Result<ModelEvent, ModelError>> + Send + 'static) -> Self {
        Self(Box::pin(events))
    }

    /// Creates the stream of a response that arrives at once: its text, its reasoning, and the response.
    pub fn of_future(response: impl Future<Output = Result<Response, ModelError>> + Send + 'static) -> Self {
        let events = stream::once(response).flat_map(|response| match response {
            Ok(response) => {
                let shown = |part: &Part| match part {
                    Part::Text(text) => Some(Ok(ModelEvent::Text(text.clone()))),
                    Part::Reasoning(text) => Some(Ok(ModelEvent::Reasoning(text.clone()))),
                    _ => None,
                };
                let mut events: Vec<_> = response.message.parts().iter().filter_map(shown).collect();
                events.push(Ok(ModelEvent::Finished(response)));
                stream::iter(events)
            }
            Err(error) => stream::iter(vec![Err(error)]),
        });
        Self::new(events)
    }

    /// Waits for the next event; `None` after the last.
    pub async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        self.0.next().await
    }

    /// Waits for the response, and discards the events before it.
    ///
    /// # Errors
    ///
    /// Returns the error of the model.
    pub async fn response(mut self) -> Result<Response, ModelError> {
        while let Some(event) = self.next().await {
            if let ModelEvent::Finished(response) = event? {
                return Ok(response);
            }
        }
        Err(ModelError::of_ended_stream())
    }
}

impl ModelError {
    /// The error of a model whose stream ends without a response.
    pub(crate) fn of_ended_stream() -> Self {
        Self::new(super::ModelErrorKind::Malformed, "the model ended its stream without a response")
    }
}

impl Stream for ResponseStream {
    type Item = Result<ModelEvent, ModelError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.as_mut().poll_next(cx)
    }
}

impl fmt::Debug for ResponseStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ResponseStream")
    }
}
