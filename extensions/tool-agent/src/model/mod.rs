//! Models: the trait, its requests and responses, and its implementations.
//!
//! | type | purpose |
//! | --- | --- |
//! | [`Model`] | answers a [`Request`] with a stream of [`ModelEvent`]s, the last of which is the [`Response`] |
//! | [`ScriptedModel`] | a model with prepared responses, for tests and offline examples |
//! | [`RecordingModel`] | writes the exchanges of a model as a script |
//! | [`Fallback`] | several models, of which the next one is asked where one fails |
//! | [`HttpModel`] | models over HTTP: OpenAI, Anthropic, Gemini, and every compatible server |
//! | `GenaiModel` | the models of the crate `genai` (feature `genai`) |

mod additions;
mod error;
mod fallback;
#[cfg(feature = "genai")]
mod genai_crate;
#[cfg(feature = "http")]
mod http;
mod record;
mod request;
mod response;
mod scripted;

use std::{fmt, ops::Deref, sync::Arc};

#[cfg(feature = "genai")]
pub use ::genai;
use tool_runtime::guard::GuardedArc;

#[cfg(feature = "genai")]
pub use self::genai_crate::GenaiModel;
#[cfg(feature = "http")]
pub use self::http::HttpModel;
pub use self::{
    error::{ModelError, ModelErrorKind},
    fallback::Fallback,
    record::RecordingModel,
    request::{CachePoint, OutputFormat, Request, ToolChoice},
    response::{ModelEvent, Response, ResponseStream},
    scripted::{Reply, ScriptError, ScriptedModel},
};

/// A model: answers the requests of a conversation.
///
/// A model is stateless: each request contains the whole conversation. Implementations are shared by concurrent runs.
///
/// # Examples
///
/// A model that repeats the last message of the user:
///
/// ```
/// use tool_agent::{Message, Part, model::{Model, ModelEvent, Request, Response, ResponseStream}};
///
/// struct Echo;
///
/// impl Model for Echo {
///     fn name(&self) -> &str {
///         "echo"
///     }
///
///     fn respond(&self, request: Request) -> ResponseStream {
///         let text = request.messages.last().map(Message::text).unwrap_or_default();
///         ResponseStream::of_future(async move { Ok(Response::new(Message::assistant([Part::Text(text)]))) })
///     }
/// }
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let mut events = Echo.respond(Request::new([Message::user("Hello.")]));
/// assert!(matches!(events.next().await, Some(Ok(ModelEvent::Text(text))) if text == "Hello."));
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
pub trait Model: Send + Sync {
    /// Returns the name of the model, such as `gpt-5-mini`.
    fn name(&self) -> &str;

    /// Returns the name of the provider, as in the attribute `gen_ai.provider.name` of [OpenTelemetry's
    /// conventions](https://opentelemetry.io/docs/specs/semconv/gen-ai/). Default: `unknown`.
    fn provider(&self) -> &str {
        "unknown"
    }

    /// Returns the maximum number of tokens of a request and its response. Default: `None`, which is unknown.
    fn context_window(&self) -> Option<u64> {
        None
    }

    /// Returns `true` if the model accepts an [output format](Request::output) that its responses are guaranteed to
    /// have. Default: `false`.
    fn has_strict_output(&self) -> bool {
        false
    }

    /// Returns `true` if the response to `request`, whose [output format](Request::output) is set, is guaranteed to have
    /// it. Default: [`has_strict_output`](Self::has_strict_output).
    fn has_strict_output_for(&self, request: &Request) -> bool {
        let _ = request;
        self.has_strict_output()
    }

    /// Returns `true` if [`respond`](Self::respond) asks the [request
    /// hooks](tool_runtime::request::RequestHook) and tools of a request for their additions itself, because they depend
    /// on the format of the provider. Default: `false`; [`SharedModel::respond`] asks them, so that the request of
    /// [`respond`](Self::respond) has their instructions, texts and parameters. A model that passes its requests to
    /// another one returns the value of that one, so that native tools and messages reach it.
    fn asks_request_hooks(&self) -> bool {
        false
    }

    /// Answers a request. Nothing happens until the stream is polled; dropping it cancels the request.
    ///
    /// The stream ends after [`ModelEvent::Finished`] or an error. A response that was cut off is a response, not an
    /// error, if its provider gave a reason: its last call is marked [incomplete](tool_runtime::ToolCall::incomplete).
    fn respond(&self, request: Request) -> ResponseStream;
}

/// A [`Model`] of any type, chosen at run time. Cheap to clone.
#[derive(Clone)]
pub struct SharedModel(GuardedArc<dyn Model>);

impl SharedModel {
    /// Wraps `model` and erases its type.
    pub fn new(model: impl Model + 'static) -> Self {
        Self(GuardedArc::new(Arc::new(model)))
    }
}

impl<M: Model + 'static> From<M> for SharedModel {
    fn from(model: M) -> Self {
        Self::new(model)
    }
}

impl Deref for SharedModel {
    type Target = dyn Model;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for SharedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedModel({}:{})", self.provider(), self.name())
    }
}
