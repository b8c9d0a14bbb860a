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

use serde_json::Value;
use tool_runtime::{RunContext, dialect::Usage};
use tracing::{Span, field::Empty, info_span};

use self::content::{definitions, input, instructions, output};
use crate::{
    Agent, End, EndReason, Message, Part, RunUsage,
    guard::called,
    hook::Step,
    model::{ModelErrorKind, Response, SharedModel},
};

/// A span that is marked as cancelled if it is dropped before its end was recorded.
struct Open {
    span: Span,
    content: bool,
    ended: bool,
}

/// The span of a run.
pub(crate) struct AgentSpan(Open);

/// The span of a request to a model.
pub(crate) struct ChatSpan(Open);

impl AgentSpan {
    pub(crate) fn new(agent: &Agent, run: &RunContext, message: Option<&Message>) -> Self {
        let span = info_span!(
            "invoke_agent",
            otel.name = Empty,
            otel.kind = "internal",
            otel.status_code = Empty,
            otel.status_description = Empty,
            error.r#type = Empty,
            gen_ai.operation.name = "invoke_agent",
            gen_ai.provider.name = Empty,
            gen_ai.agent.name = Empty,
            gen_ai.agent.description = Empty,
            gen_ai.conversation.id = Empty,
            gen_ai.output.r#type = Empty,
            gen_ai.request.model = Empty,
            gen_ai.usage.input_tokens = Empty,
            gen_ai.usage.output_tokens = Empty,
            gen_ai.usage.cache_read.input_tokens = Empty,
            gen_ai.usage.cache_creation.input_tokens = Empty,
            gen_ai.input.messages = Empty,
            gen_ai.output.messages = Empty,
            agent.end = Empty,
            agent.rounds = Empty,
            agent.calls = Empty,
        );
        let open = Open { content: agent.0.trace_content, ended: false, span };
        if let Some(span) = open.recorded() {
            #[cfg(feature = "opentelemetry")]
            if run.depth() == 0 || Span::current().is_none() {
                tool_runtime::follow_trace(span, run.meta());
            }
            span.record("otel.name", format_args!("invoke_agent {}", agent.name()));
            span.record("gen_ai.agent.name", agent.name());
            if !agent.description().is_empty() {
                span.record("gen_ai.agent.description", agent.description());
            }
            record_model(span, agent.model());
            record_conversation(span, run);
            if let Some(message) = message.filter(|_| open.content) {
                span.record("gen_ai.input.messages", input(std::slice::from_ref(message), None));
            }
        }
        Self(open)
    }

    pub(crate) fn span(&self) -> &Span {
        &self.0.span
    }

    /// Records the end of the run.
    pub(crate) fn ended(&mut self, end: &End) {
        self.0.ended = true;
        let Some(span) = self.0.recorded() else { return };
        let RunUsage { rounds, calls, input, output: written, cached, cache_written, .. } = end.usage;
        span.record("agent.end", end.reason.name());
        span.record("agent.rounds", rounds);
        span.record("agent.calls", calls);
        let counts = (rounds > 0).then_some(());
        let counted = |count: u64| counts.map(|()| count);
        record_usage(span, counted(input), counted(written), counted(cached), counted(cache_written));
        let format = if end.output.is_some() { "json" } else { "text" };
        span.record("gen_ai.output.type", format);
        match error_of(&end.reason) {
            Some(error) => {
                self.0.failed(error, &end.reason);
            }
            None => {
                span.record("otel.status_code", "OK");
            }
        }
        if self.0.content && !end.text.is_empty() {
            let answer = Message::assistant([Part::Text(end.text.clone())]);
            span.record("gen_ai.output.messages", output(&answer, None, None));
        }
    }
}

impl ChatSpan {
    pub(crate) fn new(agent: &Agent, step: &Step) -> Self {
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
        let open = Open { content: agent.0.trace_content, ended: false, span };
        if let Some(span) = open.recorded() {
            let request = &step.request;
            let name = called(|| step.model.name().to_owned()).unwrap_or_default();
            span.record("otel.name", format_args!("chat {name}"));
            span.record("gen_ai.agent.name", agent.name());
            record_model(span, &step.model);
            record_conversation(span, &request.run);
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
            if open.content {
                if !request.instruction.is_empty() {
                    span.record("gen_ai.system_instructions", instructions(&request.instruction));
                }
                if !request.tools.is_empty() {
                    span.record("gen_ai.tool.definitions", definitions(&request.tools));
                }
                span.record("gen_ai.input.messages", input(&request.messages, Some(&request.tools)));
            }
        }
        Self(open)
    }

    pub(crate) fn span(&self) -> &Span {
        &self.0.span
    }

    /// Records the response.
    pub(crate) fn answered(mut self, step: &Step, response: &Response) {
        self.0.ended = true;
        let Some(span) = self.0.recorded() else { return };
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
        if self.0.content {
            let (tools, reason) = (Some(&step.request.tools), response.stop_reason.as_deref());
            span.record("gen_ai.output.messages", output(&response.message, tools, reason));
        }
    }

    /// Records an error.
    pub(crate) fn failed(mut self, error: &str, message: &dyn std::fmt::Display) {
        self.0.ended = true;
        self.0.failed(error, message);
    }
}

impl Open {
    /// Returns the span if a subscriber collects it.
    fn recorded(&self) -> Option<&Span> {
        (!self.span.is_disabled()).then_some(&self.span)
    }

    fn failed(&self, error: &str, message: &dyn std::fmt::Display) {
        self.span.record("otel.status_code", "ERROR");
        self.span.record("error.type", error);
        if self.content {
            self.span.record("otel.status_description", format_args!("{message}"));
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if !self.ended && self.recorded().is_some() {
            self.failed("cancelled", &"cancelled");
        }
    }
}

fn record_model(span: &Span, model: &SharedModel) {
    // Code of the program.
    let named = called(|| (model.provider().to_owned(), model.name().to_owned()));
    let Ok((provider, name)) = named else { return };
    span.record("gen_ai.provider.name", provider);
    span.record("gen_ai.request.model", name);
}

fn record_conversation(span: &Span, run: &RunContext) {
    if let Some(session) = run.session() {
        span.record("gen_ai.conversation.id", session);
    }
}

fn record_usage(
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

/// Returns the type of the error that ended a run; `None` if it is none.
fn error_of(reason: &EndReason) -> Option<&'static str> {
    use EndReason as End;
    match reason {
        End::Answered | End::Submitted | End::Terminated | End::SkippedSummarization => None,
        End::HookStopped | End::OpenCalls | End::Stopped { .. } => None,
        End::ModelFailed { kind, .. } => Some(name_of(*kind)),
        other => Some(other.name()),
    }
}

/// Returns the name of a kind of errors of models.
pub(crate) fn name_of(kind: ModelErrorKind) -> &'static str {
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
