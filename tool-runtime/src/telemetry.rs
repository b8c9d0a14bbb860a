//! Spans of batches, calls and attempts, with the names of OpenTelemetry's conventions for generative AI.
//!
//! The names are those of the [registry of attributes]; they are written out here, since the crate that
//! contained them marks them as moved. Without a subscriber, a span costs one comparison.
//!
//! [registry of attributes]: https://opentelemetry.io/docs/specs/semconv/gen-ai/gen-ai-spans/#execute-tool-span

use serde_json::{Map, Value};
use tool_core::{RunContext, ToolContext, ToolDefinition, ToolError, ToolOutput, internals::Attributes};
use tracing::{Span, field::Empty, info_span};

use crate::ToolCall;

/// Returns `true` if a subscriber collects the spans of calls.
pub(crate) fn has_subscriber() -> bool {
    tracing::span_enabled!(tracing::Level::INFO)
}

/// Creates the span around all calls of a batch.
pub(crate) fn batch_span(calls: usize, run: Option<&RunContext>) -> Span {
    let span = info_span!("execute_tools", otel.kind = "internal", calls, gen_ai.agent.name = Empty);
    if let Some(run) = run.filter(|_| !span.is_disabled()) {
        if let Some(agent) = run.agent() {
            span.record("gen_ai.agent.name", agent);
        }
        // The trace in the metadata of a child run is its parent's trace: within the call that started it, the
        // call's span is the parent; elsewhere, the trace is continued. The span of an agent continues it already.
        let outer = Span::current();
        let is_agent = outer.metadata().is_some_and(|metadata| metadata.name() == "invoke_agent");
        if !is_agent && (run.depth() == 0 || outer.is_none()) {
            set_parent_trace(&span, Some(run.meta()));
        }
    }
    span
}

/// Creates the span around the run of one call.
pub(crate) fn call_span(definition: &ToolDefinition, cx: &ToolContext) -> Span {
    let span = info_span!(
        "execute_tool",
        otel.name = Empty,
        otel.kind = "internal",
        otel.status_code = Empty,
        otel.status_description = Empty,
        error.r#type = Empty,
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = definition.name().as_str(),
        gen_ai.tool.call.id = Empty,
        gen_ai.tool.r#type = "function",
        gen_ai.tool.call.arguments = Empty,
        gen_ai.tool.call.result = Empty,
        tool.attributes = Empty,
        tool.attributes.dropped = Empty,
    );
    if !span.is_disabled() {
        span.record("otel.name", format_args!("execute_tool {}", definition.name()));
        span.record("gen_ai.tool.call.id", tracing::field::display(cx.call_id()));
        set_parent_trace(&span, cx.meta());
    }
    span
}

/// Creates the span around one of several attempts.
pub(crate) fn attempt_span(number: u32) -> Span {
    info_span!("attempt", otel.kind = "internal", attempt = number)
}

/// Records the arguments of the call; `shown` contains no secrets.
pub(crate) fn record_arguments(span: &Span, shown: &ToolCall) {
    span.record("gen_ai.tool.call.arguments", shown.arguments.as_str());
}

/// Records the end of the call, with its result if `with_result` is set.
pub(crate) fn record_end(span: &Span, outcome: &Result<ToolOutput, ToolError>, with_result: bool) {
    match outcome {
        Ok(output) if output.is_failure() => {
            span.record("otel.status_code", "ERROR");
            span.record("error.type", "result");
        }
        Ok(_) => {
            span.record("otel.status_code", "OK");
        }
        Err(error) => {
            span.record("otel.status_code", "ERROR");
            span.record("error.type", error.kind().name());
            if with_result {
                span.record("otel.status_description", error.feedback());
            }
        }
    }
    if let (Ok(output), true) = (outcome, with_result) {
        span.record("gen_ai.tool.call.result", &*output.text());
    }
}

/// Adds the attributes of the body: each by its name to an OpenTelemetry span, and all as JSON in one field to
/// any other span.
pub(crate) fn record_attributes(span: &Span, attributes: Attributes) {
    let Attributes { set, dropped } = attributes;
    if dropped > 0 {
        span.record("tool.attributes.dropped", dropped);
    }
    if !set.is_empty() && !export_attributes(span, &set) {
        span.record("tool.attributes", Value::Object(set).to_string());
    }
}

/// Adds `set` to the OpenTelemetry span; `false` if there is none.
#[cfg(feature = "opentelemetry")]
fn export_attributes(span: &Span, set: &Map<String, Value>) -> bool {
    use opentelemetry::{Value as Attribute, trace::TraceContextExt as _};
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    if !span.context().span().span_context().is_valid() {
        return false;
    }
    for (name, value) in set {
        let attribute = match value {
            Value::Bool(value) => Attribute::from(*value),
            Value::String(text) => Attribute::from(text.clone()),
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(number), _) => Attribute::from(number),
                (None, Some(number)) if number.is_finite() => Attribute::from(number),
                _ => Attribute::from(number.to_string()),
            },
            other => Attribute::from(other.to_string()),
        };
        span.set_attribute(name.clone(), attribute);
    }
    true
}

#[cfg(not(feature = "opentelemetry"))]
fn export_attributes(_: &Span, _: &Map<String, Value>) -> bool {
    false
}

/// The members that propagate a trace to another program.
#[cfg(feature = "opentelemetry")]
const PROPAGATED: [&str; 2] = ["traceparent", "tracestate"];

/// Makes the trace in `meta`, given as `traceparent` and `tracestate` ([W3C Trace Context]), the parent of
/// `span`.
///
/// [W3C Trace Context]: https://www.w3.org/TR/trace-context/
#[cfg(feature = "opentelemetry")]
fn set_parent_trace(span: &Span, meta: Option<&Map<String, Value>>) {
    use opentelemetry::propagation::TextMapPropagator as _;
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    let Some(meta) = meta.filter(|meta| meta.contains_key("traceparent")) else { return };
    let carrier = PROPAGATED.into_iter().filter_map(|key| {
        let value = meta.get(key)?.as_str()?;
        Some((key.to_owned(), value.to_owned()))
    });
    let carrier: std::collections::HashMap<_, _> = carrier.collect();
    let parent = opentelemetry_sdk::propagation::TraceContextPropagator::new().extract(&carrier);
    // Without an exporter, there is no trace to continue.
    let _ = span.set_parent(parent);
}

#[cfg(not(feature = "opentelemetry"))]
fn set_parent_trace(_: &Span, _: Option<&Map<String, Value>>) {}

/// Makes the trace in `meta`, given as `traceparent` and `tracestate` ([W3C Trace Context]), the parent of `span`, which
/// must not have been entered. Without `traceparent`, `span` stays as it is.
///
/// For a span around calls. The spans of calls follow the metadata of their call or run by themselves. Requires the
/// feature `opentelemetry`.
///
/// [W3C Trace Context]: https://www.w3.org/TR/trace-context/
#[cfg(feature = "opentelemetry")]
pub fn follow_trace(span: &Span, meta: &Map<String, Value>) {
    set_parent_trace(span, Some(meta));
}

/// Returns the current trace as `traceparent` and `tracestate` ([W3C Trace Context]), to send with a request to
/// another program; empty if there is none.
///
/// Inside a tool, it is the trace of the call. Requires the feature `opentelemetry`.
///
/// [W3C Trace Context]: https://www.w3.org/TR/trace-context/
#[cfg(feature = "opentelemetry")]
#[must_use]
pub fn trace_context() -> Map<String, Value> {
    use opentelemetry::propagation::TextMapPropagator as _;
    use tracing_opentelemetry::OpenTelemetrySpanExt as _;

    let mut carrier = std::collections::HashMap::new();
    let context = Span::current().context();
    opentelemetry_sdk::propagation::TraceContextPropagator::new().inject_context(&context, &mut carrier);
    let headers = PROPAGATED.into_iter().filter_map(|key| Some((key.to_owned(), carrier.remove(key)?)));
    headers.filter(|(_, value)| !value.is_empty()).map(|(key, value)| (key, value.into())).collect()
}
