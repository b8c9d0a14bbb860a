//! The span of a run.

use tool_runtime::RunContext;
use tracing::{Span, field::Empty, info_span};

use super::{End, EndReason, RunUsage};
use crate::{
    Agent, Message, Part,
    telemetry::{
        OpenSpan, error_type, record_conversation, record_model, record_usage, request_messages_json,
        response_message_json,
    },
};

/// The span of a run.
pub(super) struct RunSpan(OpenSpan);

impl RunSpan {
    pub(super) fn new(agent: &Agent, run: &RunContext, message: Option<&Message>) -> Self {
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
        let open = OpenSpan::new(span, agent.0.trace_content);
        if let Some(span) = open.collected_span() {
            #[cfg(feature = "opentelemetry")]
            if run.depth() == 0 || Span::current().is_none() {
                tool_runtime::follow_trace(span, run.meta());
            }
            span.record("otel.name", format_args!("invoke_agent {}", agent.name()));
            span.record("gen_ai.agent.name", agent.name());
            if !agent.description().is_empty() {
                span.record("gen_ai.agent.description", agent.description());
            }
            if let Some(model) = agent.model() {
                record_model(span, model);
            }
            record_conversation(span, run);
            if let Some(message) = message.filter(|_| open.records_content()) {
                span.record(
                    "gen_ai.input.messages",
                    request_messages_json(std::slice::from_ref(message), None),
                );
            }
        }
        Self(open)
    }

    pub(super) fn span(&self) -> &Span {
        self.0.span()
    }

    /// Records the end of the run.
    pub(super) fn record_end(&mut self, end: &End) {
        let records_content = self.0.records_content();
        let Some(span) = self.0.end() else { return };
        let RunUsage { rounds, calls, input, output: written, cached, cache_written, .. } = end.usage;
        span.record("agent.end", end.reason.name());
        span.record("agent.rounds", rounds);
        span.record("agent.calls", calls);
        let counts = (rounds > 0).then_some(());
        let counted = |count: u64| counts.map(|()| count);
        record_usage(span, counted(input), counted(written), counted(cached), counted(cache_written));
        let format = if end.output.is_some() { "json" } else { "text" };
        span.record("gen_ai.output.type", format);
        if records_content && !end.text.is_empty() {
            let answer = Message::assistant([Part::Text(end.text.clone())]);
            span.record("gen_ai.output.messages", response_message_json(&answer, None, None));
        }
        match error_type_of_end(&end.reason) {
            Some(error) => self.0.record_error(error, &end.reason),
            None => drop(span.record("otel.status_code", "OK")),
        }
    }
}

/// Returns the type of the error that ended a run; `None` if it is none.
fn error_type_of_end(reason: &EndReason) -> Option<&'static str> {
    use EndReason as End;
    match reason {
        End::Answered | End::Submitted | End::Terminated | End::SkippedSummarization | End::Escalated => None,
        End::HookStopped | End::OpenCalls | End::Stopped { .. } => None,
        End::ModelFailed { kind, .. } => Some(error_type(*kind)),
        other => Some(other.name()),
    }
}
