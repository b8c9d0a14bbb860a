//! One request and its response, with retries.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::{FutureExt as _, StreamExt as _};
use sse_stream::SseByteStream;
use tokio::time::timeout;
use tool_runtime::{
    diagnostic::{Diagnostic, Severity},
    dialect::{AssembledResponse, BoundTools, Delta, DialectError},
    request::RequestAdditions,
};

use super::{
    HttpModelSettings,
    body::{self, BuiltBody},
    failure,
    response_body::{BodyError, Chunks, PeekedBody, broken_stream, read_text},
};
use crate::{
    Message, Part,
    event_stream::Emitter,
    message::Original,
    model::{ModelError, ModelErrorKind, ModelEvent, Request, Response},
};

/// The pause before the first retry, on average.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// The maximum number of times that a pause is doubled, to nine hours: any setting of the longest pause is below.
const MAX_DOUBLINGS: u32 = 16;

type Events = Emitter<Result<ModelEvent, ModelError>>;

/// Sends `request` until a response is complete or an error is final.
pub(super) async fn run_exchange(settings: Arc<HttpModelSettings>, request: Request, events: Events) {
    let ended = HttpExchange { settings: &settings, events: &events }.send_with_retries(request).await;
    events.emit(ended.map(ModelEvent::Finished)).await;
}

struct HttpExchange<'e> {
    settings: &'e HttpModelSettings,
    events: &'e Events,
}

impl HttpExchange<'_> {
    async fn send_with_retries(&self, request: Request) -> Result<Response, ModelError> {
        let bound = self.settings.dialect.bind_tools(&request.tools);
        self.emit_diagnostics(bound.diagnostics()).await;
        let BuiltBody { body, additions, unsupported } =
            body::build_body(self.settings, &bound, &request).await?;
        if additions != RequestAdditions::default() {
            self.events.emit(Ok(ModelEvent::Extended(additions))).await;
        }
        for text in unsupported {
            self.events.emit(Ok(ModelEvent::Unsupported(text))).await;
        }
        let body = serde_json::to_vec(&body).map(Bytes::from).map_err(|error| {
            ModelError::new(ModelErrorKind::InvalidRequest, "the request cannot be written as JSON")
                .with_source(error)
        })?;
        let mut attempt = 1;
        loop {
            let error = match self.send_once(&bound, body.clone()).await {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            let Some(pause) = self.pause_before_retry(&error, attempt) else { return Err(error) };
            self.events.emit(Ok(ModelEvent::Retried { attempt, error, pause })).await;
            tokio::time::sleep(pause).await;
            attempt += 1;
        }
    }

    /// Returns the pause before the next attempt; `None` if the error is final.
    fn pause_before_retry(&self, error: &ModelError, attempt: u32) -> Option<Duration> {
        if !error.is_transient() || attempt > self.settings.retries {
            return None;
        }
        let longest = self.settings.longest_pause;
        match error.retry_after() {
            Some(after) if after > longest => None,
            Some(after) => Some(after),
            // Doubled by each attempt, with jitter so that many clients do not return at once.
            None => {
                let base = FIRST_PAUSE.saturating_mul(1 << (attempt - 1).min(MAX_DOUBLINGS));
                Some(base.mul_f64(0.75 + 0.5 * fastrand::f64()).min(longest))
            }
        }
    }

    /// Sends the request once.
    async fn send_once(&self, bound: &BoundTools, body: Bytes) -> Result<Response, ModelError> {
        let HttpModelSettings { provider, key, headers, client, .. } = self.settings;
        if key.is_none() && self.settings.base_url == provider.base_url() {
            let variable = provider.environment_prefix();
            let message = format!("there is no key: set `{variable}_API_KEY`, or call `with_api_key`");
            return Err(ModelError::new(ModelErrorKind::Authentication, message));
        }
        let request = match self.settings.url() {
            Some(url) => client.post(url.clone()),
            // The client says what is wrong with it.
            None => client.post(self.settings.request_url_text()),
        };
        let mut request = request.header("content-type", "application/json");
        for (name, value) in provider.headers(key.as_ref().map(|key| &*key.0)) {
            request = request.header(name, value);
        }
        for (name, value) in headers {
            request = request.header(name, &*value.0);
        }
        let response = self.within_timeout(request.body(body).send()).await?;
        let response =
            response.map_err(|error| failure::connection_error(error, Some(&self.settings.base_url)))?;
        let status = response.status();
        if !status.is_success() {
            let headers = response.headers().clone();
            let text =
                self.within_timeout(read_text(self.bounded_chunks(response))).await?.unwrap_or_default();
            return Err(failure::error_of_status(self.settings, status, &headers, &text));
        }
        let content_type = response.headers().get("content-type").and_then(|it| it.to_str().ok());
        let is_declared =
            content_type.is_some_and(|it| it.trim().to_ascii_lowercase().starts_with("text/event-stream"));
        let body =
            self.within_timeout(PeekedBody::read_until_recognized(self.bounded_chunks(response))).await??;
        let assembled = match body.is_event_stream().unwrap_or(is_declared) {
            true => self.read_streamed_response(bound, body.into_chunks()).await?,
            false => self.read_whole_response(bound, body.into_chunks()).await?,
        };
        self.emit_diagnostics(&assembled.diagnostics).await;
        Ok(self.neutral_response(assembled))
    }

    /// Emits the diagnostics that are more than notes.
    async fn emit_diagnostics(&self, diagnostics: &[Diagnostic]) {
        for diagnostic in diagnostics.iter().filter(|it| it.severity > Severity::Note) {
            self.events.emit(Ok(ModelEvent::Unsupported(diagnostic.to_string()))).await;
        }
    }

    async fn within_timeout<T>(&self, future: impl Future<Output = T>) -> Result<T, ModelError> {
        let late = |_| {
            let HttpModelSettings { base_url, timeout, .. } = self.settings;
            let url = failure::url_without_secrets(base_url);
            let message = format!("`{url}` did not answer within {timeout:?}; see `HttpModel::with_timeout`");
            ModelError::new(ModelErrorKind::TimedOut, message)
        };
        timeout(self.settings.timeout, future).await.map_err(late)
    }

    /// Reads a response that is not streamed.
    async fn read_whole_response(
        &self,
        bound: &BoundTools,
        chunks: impl Chunks,
    ) -> Result<AssembledResponse, ModelError> {
        let text = self.within_timeout(read_text(chunks)).await??;
        let read = bound.read(&text).map_err(|error| self.unreadable_response_error(&text, &error))?;
        if let Some(refused) = failure::refusal_error(self.settings, &text) {
            return Err(refused);
        }
        self.emit_delta(Delta::Reasoning(read.reasoning.clone())).await;
        self.emit_delta(Delta::Text(read.text.clone())).await;
        Ok(read)
    }

    /// Reads a streamed response.
    async fn read_streamed_response(
        &self,
        bound: &BoundTools,
        chunks: impl Chunks,
    ) -> Result<AssembledResponse, ModelError> {
        let mut events = SseByteStream::new(chunks);
        let mut assembler = bound.assembler();
        let mut last_data = String::new();
        let lost = loop {
            // Most events arrive with the one before, and need no timer.
            let event = match events.next().now_or_never() {
                Some(event) => Ok(event),
                None => self.within_timeout(events.next()).await,
            };
            let event = match event {
                Ok(None) => break None,
                Ok(Some(Ok(event))) => event,
                Ok(Some(Err(error))) => break Some(broken_stream(error)),
                Err(late) => break Some(late),
            };
            let name = event.event.unwrap_or_default();
            let Some(data) = event.data.filter(|data| !self.is_keep_alive_event(&name, data)) else {
                continue;
            };
            let deltas =
                assembler.push(&data).map_err(|error| self.unreadable_response_error(&data, &error))?;
            if let Some(refused) = failure::refusal_error(self.settings, &data) {
                return Err(refused);
            }
            for delta in deltas {
                self.emit_delta(delta).await;
            }
            // A server may keep the connection open.
            if data.trim() == "[DONE]" || self.settings.provider.is_last_event(&name) {
                break None;
            }
            last_data = data;
        };
        let assembled = assembler.finish();
        match lost {
            Some(error) if error.kind() == ModelErrorKind::Other => Err(error),
            // What follows the end of the response contains nothing of it.
            _ if assembled.ended => Ok(assembled),
            Some(error) => Err(error),
            None => {
                if let Some(error) = failure::error_reported_in_response(self.settings, &last_data) {
                    return Err(error);
                }
                let message = "the stream of the response ended before the response did";
                Err(ModelError::new(ModelErrorKind::Connection, message))
            }
        }
    }

    /// The chunks of a body; an error after the maximum size.
    fn bounded_chunks(&self, response: reqwest::Response) -> impl Chunks + use<> {
        let (most, mut size) = (self.settings.longest_response, 0_usize);
        let base_url = self.settings.base_url.clone();
        Box::pin(response.bytes_stream().map(move |chunk| {
            let chunk = chunk.map_err(|error| BodyError::Connection {
                error,
                url: failure::url_without_secrets(&base_url),
            })?;
            size = size.saturating_add(chunk.len());
            if size > most { Err(BodyError::TooLong(most)) } else { Ok(chunk) }
        }))
    }

    async fn emit_delta(&self, delta: Delta) {
        let event = match delta {
            Delta::Text(text) if !text.is_empty() => ModelEvent::Text(text),
            Delta::Reasoning(text) if !text.is_empty() => ModelEvent::Reasoning(text),
            _ => return,
        };
        self.events.emit(Ok(event)).await;
    }

    /// The error of a response that reports an error itself, or does not have the format of the provider.
    fn unreadable_response_error(&self, text: &str, error: &DialectError) -> ModelError {
        failure::error_reported_in_response(self.settings, text).unwrap_or_else(|| {
            let error = failure::redacted_text(self.settings, &error.to_string());
            ModelError::new(ModelErrorKind::Malformed, format!("the response cannot be read: {error}"))
        })
    }

    fn neutral_response(&self, assembled: AssembledResponse) -> Response {
        let AssembledResponse {
            calls,
            message,
            text,
            reasoning,
            stop_reason,
            usage,
            truncated,
            metadata,
            ..
        } = assembled;
        let (id, model) = (assembled.id.map(Arc::from), assembled.model.map(Arc::from));
        let reasoning = Some(reasoning).filter(|text| !text.is_empty()).map(Part::Reasoning);
        let text = Some(text).filter(|text| !text.is_empty()).map(Part::Text);
        let parts = reasoning.into_iter().chain(text).chain(calls.into_iter().map(Part::Call));
        let mut neutral = Message::assistant(parts);
        if let Some(json) = message {
            neutral = neutral.with_original(Original { dialect: self.settings.provider.name().into(), json });
        }
        if !metadata.is_empty() {
            neutral = neutral.with_metadata(metadata);
        }
        Response { stop_reason, usage, id, model, truncated, ..Response::new(neutral) }
    }

    /// Returns `true` for an event that only keeps the connection open: one that is named so, whatever its data is, and
    /// one with another name than those of the provider whose data is no JSON.
    fn is_keep_alive_event(&self, name: &str, data: &str) -> bool {
        const KEEP_ALIVES: [&str; 4] = ["ping", "keepalive", "keep-alive", "heartbeat"];
        let is_of_provider = name.is_empty() || self.settings.provider.is_response_event(name);
        KEEP_ALIVES.iter().any(|keep_alive| name.eq_ignore_ascii_case(keep_alive))
            || !is_of_provider && !data.trim_start().starts_with(['{', '['])
    }
}
