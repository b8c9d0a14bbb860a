//! Spans of runs and of requests to models, with the names of OpenTelemetry's conventions for generative AI.
//!
//! `invoke_agent` is the span of a run; below it, `chat` is the span of one request to a model, and `execute_tools` that
//! of a batch of calls, with `execute_tool` for each call (see [`Executor`](tool_runtime::Executor)). Names are those of
//! the [conventions]; they are written out here, since the crate that contains them marks them as moved. Without a
//! subscriber, a span costs one comparison.
//!
//! Instructions, messages, arguments and results are recorded by
//! [`AgentBuilder::trace_content`](crate::AgentBuilder::trace_content) only, and secret arguments never.
//!
//! [conventions]: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-agent-spans/

mod content;

use std::sync::Arc;

use serde_json::Value;
use tool_runtime::{RunContext, dialect::Usage, guard::catch};
use tracing::{Span, field::Empty, info_span};

use self::content::{instructions_json, tool_definitions_json};
pub(crate) use self::content::{request_messages_json, response_message_json};
use crate::model::{ModelErrorKind, Request, Response, SharedModel};

/// A span that is marked as cancelled if it is dropped before its end was recorded.
pub(crate) struct OpenSpan {
    span: Span,
    records_content: bool,
    is_ended: bool,
}

/// The agent whose run a span belongs to.
#[derive(Clone)]
pub(crate) struct TracedAgent {
    pub(crate) name: Arc<str>,
    /// Set if spans have messages, arguments and results.
    pub(crate) records_content: bool,
}

/// The span of a request to a model.
pub(crate) struct ChatSpan(OpenSpan);

impl ChatSpan {
    pub(crate) fn new(agent: &TracedAgent, model: &SharedModel, request: &Request) -> Self {
        let span = info_span!(
            "chat",
            otel.name = Empty,
            otel.kind = "client",
            otel.status_code = Empty,
            otel.status_description = Empty,
            error.r#type = Empty,
            gen_ai.operation.name = "chat",
            gen_ai.provider.name = Empty,
            gen_ai.agent.name = Empty,
            gen_ai.conversation.id = Empty,
            gen_ai.output.r#type = Empty,
            gen_ai.request.model = Empty,
            gen_ai.request.temperature = Empty,
            gen_ai.request.top_p = Empty,
            gen_ai.request.max_tokens = Empty,
            gen_ai.response.model = Empty,
            gen_ai.response.id = Empty,
            gen_ai.response.finish_reasons = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            gen_ai.usage.cache_read.input_tokens = Empty,
            gen_ai.usage.cache_creation.input_tokens = Empty,
            gen_ai.usage.reasoning.output_tokens = Empty,
            gen_ai.system_instructions = Empty,
            gen_ai.tool.definitions = Empty,
            gen_ai.input.messages = Empty,
            gen_ai.output.messages = Empty,
        );
        let open = OpenSpan::new(span, agent.records_content);
        if let Some(span) = open.collected_span() {
            let name = catch(|| model.name().to_owned()).unwrap_or_default();
            span.record("otel.name", format_args!("chat {name}"));
            span.record("gen_ai.agent.name", &*agent.name);
            record_model(span, model);
            record_conversation(span, &request.run);
            record_request(span, request, open.records_content);
        }
        Self(open)
    }

    pub(crate) fn span(&self) -> &Span {
        self.0.span()
    }

    /// Records the response to `request`.
    pub(crate) fn record_response(mut self, request: &Request, response: &Response) {
        let records_content = self.0.records_content;
        let Some(span) = self.0.end() else { return };
        if let Some(model) = &response.model {
            span.record("gen_ai.response.model", &**model);
        }
        if let Some(id) = &response.id {
            span.record("gen_ai.response.id", &**id);
        }
        if let Some(reason) = &response.stop_reason {
            span.record("gen_ai.response.finish_reasons", Value::from(vec![reason.as_str()]).to_string());
        }
        if let Some(Usage { input, output, cached, cache_written, reasoning, .. }) = response.usage {
            record_usage(span, input, output, cached, cache_written);
            if let Some(reasoning) = reasoning {
                span.record("gen_ai.usage.reasoning.output_tokens", reasoning);
            }
        }
        span.record("otel.status_code", "OK");
        if records_content {
            let (tools, reason) = (Some(&request.tools), response.stop_reason.as_deref());
            span.record("gen_ai.output.messages", response_message_json(&response.message, tools, reason));
        }
    }

    /// Records an error.
    pub(crate) fn record_error(mut self, error: &str, message: &dyn std::fmt::Display) {
        self.0.end();
        self.0.record_error(error, message);
    }
}

impl OpenSpan {
    pub(crate) fn new(span: Span, records_content: bool) -> Self {
        Self { span, records_content, is_ended: false }
    }

    pub(crate) fn span(&self) -> &Span {
        &self.span
    }

    pub(crate) fn records_content(&self) -> bool {
        self.records_content
    }

    /// Ends the span: what follows is recorded, and it is not cancelled. Returns it if a subscriber collects it.
    pub(crate) fn end(&mut self) -> Option<&Span> {
        self.is_ended = true;
        self.collected_span()
    }

    /// Returns the span if a subscriber collects it.
    pub(crate) fn collected_span(&self) -> Option<&Span> {
        (!self.span.is_disabled()).then_some(&self.span)
    }

    pub(crate) fn record_error(&self, error: &str, message: &dyn std::fmt::Display) {
        self.span.record("otel.status_code", "ERROR");
        self.span.record("error.type", error);
        if self.records_content {
            self.span.record("otel.status_description", format_args!("{message}"));
        }
    }
}

impl Drop for OpenSpan {
    fn drop(&mut self) {
        if !self.is_ended && self.collected_span().is_some() {
            self.record_error("cancelled", &"cancelled");
        }
    }
}

/// Records the format, the parameters and, with `records_content`, the messages of a request.
fn record_request(span: &Span, request: &Request, records_content: bool) {
    span.record("gen_ai.output.type", if request.output.is_some() { "json" } else { "text" });
    for (member, field) in [
        ("temperature", "gen_ai.request.temperature"),
        ("top_p", "gen_ai.request.top_p"),
        ("max_tokens", "gen_ai.request.max_tokens"),
    ] {
        match request.parameters.get(member) {
            Some(Value::Number(number)) if number.is_u64() => span.record(field, number.as_u64()),
            Some(Value::Number(number)) => span.record(field, number.as_f64()),
            _ => span,
        };
    }
    if !records_content {
        return;
    }
    if !request.instruction.is_empty() {
        span.record("gen_ai.system_instructions", instructions_json(&request.instruction));
    }
    if !request.tools.is_empty() {
        span.record("gen_ai.tool.definitions", tool_definitions_json(&request.tools));
    }
    span.record("gen_ai.input.messages", request_messages_json(&request.messages, Some(&request.tools)));
}

pub(crate) fn record_model(span: &Span, model: &SharedModel) {
    // Code of the program.
    let named = catch(|| (model.provider().to_owned(), model.name().to_owned()));
    let Ok((provider, name)) = named else { return };
    span.record("gen_ai.provider.name", provider);
    span.record("gen_ai.request.model", name);
}

pub(crate) fn record_conversation(span: &Span, run: &RunContext) {
    if let Some(session) = run.session() {
        span.record("gen_ai.conversation.id", session);
    }
}

pub(crate) fn record_usage(
    span: &Span,
    input: Option<u64>,
    output: Option<u64>,
    cached: Option<u64>,
    cache_written: Option<u64>,
) {
    for (field, count) in [
        ("gen_ai.usage.input_tokens", input),
        ("gen_ai.usage.output_tokens", output),
        ("gen_ai.usage.cache_read.input_tokens", cached),
        ("gen_ai.usage.cache_creation.input_tokens", cache_written),
    ] {
        if let Some(count) = count {
            span.record(field, count);
        }
    }
}

/// Returns the type of an error of a model.
pub(crate) fn error_type(kind: ModelErrorKind) -> &'static str {
    use ModelErrorKind as Kind;
    match kind {
        Kind::Authentication => "authentication",
        Kind::InvalidRequest => "invalid_request",
        Kind::ContextTooLong => "context_too_long",
        Kind::RateLimited => "rate_limited",
        Kind::Unavailable => "unavailable",
        Kind::Connection => "connection",
        Kind::TimedOut => "timed_out",
        Kind::Malformed => "malformed",
        Kind::Refused => "refused",
        Kind::Script => "script",
        Kind::Cancelled => "cancelled",
        Kind::Other => "_OTHER",
    }
}
