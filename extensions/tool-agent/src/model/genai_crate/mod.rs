//! Models of the crate `genai`.
//!
//! - `request.rs`: a request from a conversation.
//! - `response.rs`: a response, whole or streamed.
//! - `error.rs`: errors of the crate by their kind.

mod error;
mod request;
mod response;

use std::{fmt, sync::Arc};

use genai::{
    Client, ServiceTarget,
    adapter::AdapterKind,
    chat::{ChatOptions, ChatStreamEvent},
};

use self::{error::Redactor, request::PreparedRequest};
use super::{Model, ModelError, ModelErrorKind, ModelEvent, Request, Response, ResponseStream};
use crate::event_stream::{Emitter, EventStream};

/// A model of the crate [`genai`], which has more providers than [`HttpModel`](super::HttpModel) (feature `genai`).
/// Cheap to clone.
///
/// The client has the keys, servers and headers. In contrast to `HttpModel`:
///
/// - An assistant message goes back in the form of `genai`, not as its provider sent it: unknown members are lost, and
///   numbers and the order of members may change. Signatures of reasoning are kept for the same provider.
/// - The schemas of tools are sent as they are, without the adaptations of a [`Dialect`](tool_runtime::Dialect).
/// - A failed request is not retried; see [`Fallback`](super::Fallback).
/// - A typed output is submitted by the tool `submit_output`.
/// - Images, audio and files in results are replaced by a note, which is reported.
///
/// `temperature`, `top_p` and `max_tokens` of [`Request::parameters`] are options of `genai`; other members are its
/// `extra_body`. A point of the cache is a `cache_control` of `genai`.
///
/// # Examples
///
/// ```
/// use tool_agent::model::{GenaiModel, genai::Client};
///
/// // The key of the environment variable `DEEPSEEK_API_KEY`.
/// let model = GenaiModel::new(Client::new()?, "deepseek-chat");
/// # use tool_agent::Model;
/// # assert_eq!(model.provider(), "deepseek");
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct GenaiModel(Arc<GenaiModelSettings>);

#[derive(Clone)]
struct GenaiModelSettings {
    client: Client,
    name: String,
    provider: String,
    options: ChatOptions,
    streams: bool,
    context_window: Option<u64>,
}

type Events = Emitter<Result<ModelEvent, ModelError>>;

impl GenaiModel {
    /// Creates a model by its name, from which `genai` infers the provider: `claude-sonnet-4-5`, `groq::qwen3-32b`.
    pub fn new(client: Client, name: impl Into<String>) -> Self {
        let name = name.into();
        let provider = AdapterKind::from_model(&name).map(|kind| kind.as_lower_str()).unwrap_or("unknown");
        let (options, streams) = (ChatOptions::default(), true);
        let provider = provider.to_owned();
        Self(Arc::new(GenaiModelSettings { client, name, provider, options, streams, context_window: None }))
    }

    fn with_changed_settings(self, change: impl FnOnce(&mut GenaiModelSettings)) -> Self {
        let mut settings = Arc::unwrap_or_clone(self.0);
        change(&mut settings);
        Self(Arc::new(settings))
    }

    /// Sets the options of each request, such as the effort of reasoning. Default: those of the client.
    #[must_use]
    pub fn with_options(self, options: ChatOptions) -> Self {
        self.with_changed_settings(|it| it.options = options)
    }

    /// Sets whether responses are streamed. Default: `true`.
    #[must_use]
    pub fn with_streaming(self, streams: bool) -> Self {
        self.with_changed_settings(|it| it.streams = streams)
    }

    /// Sets the maximum number of tokens of a request and its response. Default: unknown.
    #[must_use]
    pub fn with_context_window(self, tokens: u64) -> Self {
        self.with_changed_settings(|it| it.context_window = Some(tokens))
    }
}

impl Model for GenaiModel {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn provider(&self) -> &str {
        &self.0.provider
    }

    fn context_window(&self) -> Option<u64> {
        self.0.context_window
    }

    fn respond(&self, request: Request) -> ResponseStream {
        let settings = Arc::clone(&self.0);
        ResponseStream::new(EventStream::new(move |emitter| async move {
            let ended = settings.fetch_response(request, &emitter).await;
            emitter.emit(ended.map(ModelEvent::Finished)).await;
        }))
    }
}

impl GenaiModelSettings {
    async fn fetch_response(&self, request: Request, events: &Events) -> Result<Response, ModelError> {
        let resolved = self.client.resolve_service_target(&*self.name).await;
        let target = resolved.map_err(|error| error::model_error_of_genai(error, &Redactor::default()))?;
        let redacted = Redactor::for_target(&target);
        let PreparedRequest { request, options, names, unsupported } =
            request::prepare_request(&request, target.model.adapter_kind, self.options.clone());
        for text in unsupported {
            events.emit(Ok(ModelEvent::Unsupported(text))).await;
        }
        let dialect = request::dialect_name(target.model.adapter_kind);
        let content = match self.streams {
            true => self.stream_response(target, request, options, events).await,
            false => {
                let response = self.client.exec_chat(target, request, Some(&options)).await;
                let response = response.map(response::WholeResponse::from);
                if let Ok(whole) = &response {
                    for event in whole.text_events() {
                        events.emit(Ok(event)).await;
                    }
                }
                response
            }
        };
        let whole = content.map_err(|error| error::model_error_of_genai(error, &redacted))?;
        whole.into_response(&dialect, &names)
    }

    async fn stream_response(
        &self,
        target: ServiceTarget,
        request: genai::chat::ChatRequest,
        options: ChatOptions,
        events: &Events,
    ) -> Result<response::WholeResponse, genai::Error> {
        use futures_util::StreamExt as _;
        let model = target.model.clone();
        let mut stream = self.client.exec_chat_stream(target, request, Some(&options)).await?.stream;
        while let Some(event) = stream.next().await {
            match event? {
                ChatStreamEvent::Chunk(chunk) => {
                    emit_nonempty_text(events, ModelEvent::Text, chunk.content).await
                }
                ChatStreamEvent::ReasoningChunk(chunk) => {
                    emit_nonempty_text(events, ModelEvent::Reasoning, chunk.content).await;
                }
                // Without a stop reason, the stream broke off.
                ChatStreamEvent::End(end) if end.captured_stop_reason.is_some() => return Ok(end.into()),
                _ => {}
            }
        }
        let (cause, error) = (error::CUT.to_owned(), error::CUT.into());
        Err(genai::Error::WebStream { model_iden: model, cause, error })
    }
}

async fn emit_nonempty_text(events: &Events, event: fn(String) -> ModelEvent, text: String) {
    if !text.is_empty() {
        events.emit(Ok(event(text))).await;
    }
}

impl fmt::Debug for GenaiModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let GenaiModelSettings { name, provider, .. } = &*self.0;
        f.debug_struct("GenaiModel").field("name", name).field("provider", provider).finish_non_exhaustive()
    }
}
