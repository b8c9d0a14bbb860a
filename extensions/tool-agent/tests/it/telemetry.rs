//! Spans of runs, of requests to models, and of calls.

use std::{
    collections::BTreeMap,
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex},
};

use tool_agent::{
    Agent, AgentBuilder, EndReason, Limits, Message, Model, OutputType, Part, Runner, ScriptedModel,
    model::{ModelErrorKind, Reply, Request, Response, ResponseStream},
};
use tool_runtime::{ToolCall, dialect::Usage, prelude::*};
use tracing::{
    Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{Layer, layer::Context, prelude::*, registry::LookupSpan};

/// Opens a door.
#[tool(register = false)]
async fn open(door: u8, #[arg(secret)] code: String) -> String {
    tracing::info_span!("inside").in_scope(|| format!("opened {door} with {} digits", code.len()))
}

/// A span that has ended.
#[derive(Debug, Clone, Default)]
struct Span {
    path: String,
    fields: BTreeMap<String, String>,
}

#[derive(Clone, Default)]
struct Spans(Arc<Mutex<Vec<Span>>>);

impl Visit for Span {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name().to_owned(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let mut text = String::new();
        write!(text, "{value:?}").unwrap();
        self.fields.insert(field.name().to_owned(), text);
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let span = context.span(id).unwrap();
        let names: Vec<_> = span.scope().from_root().map(|span| span.name()).collect();
        let mut new = Span { path: names.join("/"), ..Span::default() };
        attributes.record(&mut new);
        span.extensions_mut().insert(new);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, context: Context<'_, S>) {
        values.record(context.span(id).unwrap().extensions_mut().get_mut::<Span>().unwrap());
    }

    fn on_close(&self, id: Id, context: Context<'_, S>) {
        let span = context.span(&id).unwrap().extensions_mut().remove::<Span>().unwrap();
        self.0.lock().unwrap().push(span);
    }
}

/// Returns the spans of `run`, in the order of their ends.
fn spans(run: impl Future<Output = ()>) -> Vec<Span> {
    test_support::collectors::each_thread_for_itself();
    let spans = Spans::default();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(spans.clone()), || {
        runtime.block_on(run);
    });
    spans.0.lock().unwrap().clone()
}

fn call() -> ToolCall {
    ToolCall::new("open", json!({ "door": 3, "code": "s3cr3t" })).with_id("c1")
}

fn usage(input: u64, output: u64) -> Usage {
    let mut usage = Usage::default();
    (usage.input, usage.output, usage.cached) = (Some(input), Some(output), Some(1));
    usage
}

fn answer() -> Response {
    let mut response =
        Response::new(Message::assistant([Part::Text("Open.".to_owned())])).with_usage(usage(30, 4));
    response.stop_reason = Some("end_turn".to_owned());
    response.model = Some("scripted-2026".into());
    response.id = Some("r-2".into());
    response
}

fn agent(replies: impl IntoIterator<Item = Reply>) -> AgentBuilder {
    let tools = Registry::builder().tool::<open>().build().unwrap();
    Agent::builder("porter", ScriptedModel::new(replies))
        .description("Opens doors.")
        .instruction("You open doors.")
        .parameter("temperature", 0.5)
        .tools(tools)
}

fn replies() -> [Reply; 2] {
    [Reply::calls([call()]).with_usage(usage(20, 6)), answer().into()]
}

fn run(agent: AgentBuilder) -> Vec<Span> {
    let runner = Runner::new(agent.build().unwrap());
    let context = RunContext::new().with_session("s-1").with_user("u-7");
    spans(async move { drop(runner.run_with(context, "Open door 3.").end().await) })
}

fn of<'s>(spans: &'s [Span], name: &str) -> Vec<&'s Span> {
    spans.iter().filter(|span| span.path.rsplit('/').next() == Some(name)).collect()
}

fn fields(span: &Span) -> Vec<(&str, &str)> {
    span.fields.iter().map(|(name, value)| (&**name, &**value)).collect()
}

#[test]
fn requests_and_calls_are_children_of_the_span_of_the_run() {
    let spans = run(agent(replies()));
    let paths: Vec<_> = spans.iter().map(|span| &*span.path).collect();
    let expected = [
        "invoke_agent/chat",
        "invoke_agent/execute_tools/execute_tool/inside",
        "invoke_agent/execute_tools/execute_tool",
        "invoke_agent/execute_tools",
        "invoke_agent/chat",
        "invoke_agent",
    ];
    assert_eq!(paths, expected); // W01, W06
}

#[test]
fn the_span_of_a_run_has_the_attributes_of_the_agent_and_the_sum_of_tokens() {
    let spans = run(agent(replies()));
    let expected = [
        ("agent.calls", "1"),
        ("agent.end", "answered"),
        ("agent.rounds", "2"),
        ("gen_ai.agent.description", "Opens doors."),
        ("gen_ai.agent.name", "porter"),
        ("gen_ai.conversation.id", "s-1"),
        ("gen_ai.operation.name", "invoke_agent"),
        ("gen_ai.output.type", "text"),
        ("gen_ai.provider.name", "scripted"),
        ("gen_ai.request.model", "scripted"),
        ("gen_ai.usage.cache_creation.input_tokens", "0"),
        ("gen_ai.usage.cache_read.input_tokens", "2"),
        ("gen_ai.usage.input_tokens", "50"),
        ("gen_ai.usage.output_tokens", "10"),
        ("otel.kind", "internal"),
        ("otel.name", "invoke_agent porter"),
        ("otel.status_code", "OK"),
    ];
    assert_eq!(fields(of(&spans, "invoke_agent")[0]), expected); // W08
}

#[test]
fn the_span_of_a_request_has_the_attributes_of_model_and_response() {
    let spans = run(agent(replies()));
    let expected = [
        ("gen_ai.agent.name", "porter"),
        ("gen_ai.conversation.id", "s-1"),
        ("gen_ai.operation.name", "chat"),
        ("gen_ai.output.type", "text"),
        ("gen_ai.provider.name", "scripted"),
        ("gen_ai.request.model", "scripted"),
        ("gen_ai.request.temperature", "0.5"),
        ("gen_ai.response.finish_reasons", r#"["end_turn"]"#),
        ("gen_ai.response.id", "r-2"),
        ("gen_ai.response.model", "scripted-2026"),
        ("gen_ai.usage.cache_read.input_tokens", "1"),
        ("gen_ai.usage.input_tokens", "30"),
        ("gen_ai.usage.output_tokens", "4"),
        ("otel.kind", "client"),
        ("otel.name", "chat scripted"),
        ("otel.status_code", "OK"),
    ];
    assert_eq!(fields(of(&spans, "chat")[1]), expected); // W08
}

#[test]
fn content_is_recorded_on_request_only_and_secrets_never() {
    let content = [
        "gen_ai.input.messages",
        "gen_ai.output.messages",
        "gen_ai.system_instructions",
        "gen_ai.tool.definitions",
        "gen_ai.tool.call.arguments",
        "gen_ai.tool.call.result",
    ];
    let without = run(agent(replies()));
    assert!(without.iter().all(|span| content.iter().all(|field| !span.fields.contains_key(*field))));
    assert!(!format!("{without:?}").contains("Open door 3."));

    let spans = run(agent(replies()).trace_content(true));
    assert!(!format!("{spans:?}").contains("s3cr3t")); // W01
    let json = |span: &Span, field: &str| -> Value { serde_json::from_str(&span.fields[field]).unwrap() };
    let text =
        |role: &str, text: &str| json!({ "role": role, "parts": [{ "type": "text", "content": text }] });
    let run = of(&spans, "invoke_agent")[0];
    assert_eq!(json(run, "gen_ai.input.messages"), json!([text("user", "Open door 3.")]));
    assert_eq!(json(run, "gen_ai.output.messages"), json!([text("assistant", "Open.")]));
    let chat = of(&spans, "chat")[1];
    let arguments = json!({ "door": 3, "code": "***" });
    let call = json!({ "type": "tool_call", "id": "c1", "name": "open", "arguments": arguments });
    let result = json!({ "type": "tool_call_response", "id": "c1", "response": "opened 3 with 6 digits" });
    let expected = json!([
        text("user", "Open door 3."),
        { "role": "assistant", "parts": [call] },
        { "role": "tool", "parts": [result] },
    ]);
    assert_eq!(json(chat, "gen_ai.input.messages"), expected);
    assert_eq!(json(chat, "gen_ai.output.messages")[0]["finish_reason"], "end_turn");
    assert_eq!(json(chat, "gen_ai.system_instructions")[0]["content"], "You open doors.");
    assert_eq!(json(chat, "gen_ai.tool.definitions")[0]["name"], "open");
    let tool = of(&spans, "execute_tool")[0];
    assert_eq!(json(tool, "gen_ai.tool.call.arguments"), arguments);
    assert_eq!(tool.fields["gen_ai.tool.call.result"], "opened 3 with 6 digits");
}

#[test]
fn arguments_of_unknown_tools_are_not_recorded() {
    let unknown = ToolCall::new("opne", json!({ "code": "s3cr3t" }));
    let spans = run(agent([Reply::calls([unknown]), answer().into()]).trace_content(true));
    assert!(!format!("{spans:?}").contains("s3cr3t"));
}

#[test]
fn an_error_of_the_model_marks_the_request_and_the_run() {
    let spans = run(agent([Reply::error(ModelErrorKind::Refused, "Opening doors is not safe.")]));
    for name in ["chat", "invoke_agent"] {
        let span = of(&spans, name)[0];
        let status = (&*span.fields["otel.status_code"], &*span.fields["error.type"]);
        assert_eq!(status, ("ERROR", "refused")); // W03
        assert!(!span.fields.contains_key("otel.status_description"));
    }
}

#[test]
fn an_error_is_described_where_content_is_recorded() {
    let reason = "Opening doors is not safe.";
    let spans = run(agent([Reply::error(ModelErrorKind::Refused, reason)]).trace_content(true));
    assert_eq!(of(&spans, "chat")[0].fields["otel.status_description"], reason);
}

#[test]
fn a_request_has_its_numbers_and_its_form_and_no_empty_content() {
    let mut response = answer();
    let mut counts = usage(30, 4);
    (counts.cache_written, counts.reasoning) = (Some(5), Some(3));
    response.usage = Some(counts);
    let agent = Agent::builder("porter", ScriptedModel::new([response.into()]).with_strict_output(true));
    let agent = agent.parameter("max_tokens", 7).parameter("top_p", 0.5).parameter("temperature", "hot");
    let spans = run(agent.output_type(OutputType::any()).trace_content(true));
    let fields = &of(&spans, "chat")[0].fields;
    for (name, expected) in [
        ("gen_ai.output.type", Some("json")),
        ("gen_ai.request.max_tokens", Some("7")),
        ("gen_ai.request.top_p", Some("0.5")),
        ("gen_ai.request.temperature", None),
        ("gen_ai.usage.cache_creation.input_tokens", Some("5")),
        ("gen_ai.usage.reasoning.output_tokens", Some("3")),
        ("gen_ai.system_instructions", None),
        ("gen_ai.tool.definitions", None),
    ] {
        assert_eq!(fields.get(name).map(String::as_str), expected, "{name}");
    }
}

#[test]
fn a_limit_is_an_error_of_the_run() {
    let limits = Limits { rounds: Some(1), ..Limits::default() };
    let spans = run(agent(replies()).limits(limits));
    let span = of(&spans, "invoke_agent")[0];
    assert_eq!((&*span.fields["error.type"], &*span.fields["agent.end"]), ("limit", "limit")); // W03
    assert_eq!(of(&spans, "chat").len(), 1);
}

#[test]
fn a_run_that_is_dropped_marks_its_spans_as_cancelled() {
    /// A model that never answers.
    struct Silent;
    impl Model for Silent {
        fn name(&self) -> &str {
            "silent"
        }

        fn respond(&self, _: Request) -> ResponseStream {
            ResponseStream::of_future(std::future::pending())
        }
    }
    let runner = Runner::new(Agent::builder("porter", Silent).build().unwrap());
    let spans = spans(async move { drop(runner.run("Open door 3.").next().await) });
    let ends: Vec<_> = spans.iter().map(|span| (&*span.path, &*span.fields["error.type"])).collect();
    assert_eq!(ends, [("invoke_agent/chat", "cancelled"), ("invoke_agent", "cancelled")]); // W03
}

#[test]
fn a_run_in_a_span_of_the_program_is_below_it() {
    let runner = Runner::new(agent(replies()).build().unwrap());
    let spans = spans(async move {
        use tracing::Instrument as _;
        let request = tracing::info_span!("request");
        runner.run("Open door 3.").end().instrument(request).await;
    });
    assert!(spans.iter().all(|span| span.path.starts_with("request")), "{spans:?}");
}

#[test]
fn a_run_without_a_subscriber_has_no_spans_and_the_same_end() {
    let runner = Runner::new(agent(replies()).trace_content(true).build().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let end = runtime.block_on(runner.run("Open door 3.").end());
    assert_eq!(end.reason, EndReason::Answered); // W02
}

// W04
#[cfg(feature = "opentelemetry")]
#[test]
fn the_trace_of_a_caller_contains_the_run_with_its_requests_and_calls() {
    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider};

    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    let trace = "0af7651916cd43dd8448eb211c80319c";
    let parent = format!("00-{trace}-b7ad6b7169203331-01");
    let meta = [("traceparent".to_owned(), parent.into())].into_iter().collect();
    let runner = Runner::new(agent(replies()).build().unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
        runtime.block_on(runner.run_with(RunContext::new().with_meta(meta), "Open door 3.").end());
    });
    let spans = exporter.get_finished_spans().unwrap();
    assert!(spans.iter().all(|span| span.span_context.trace_id().to_string() == trace), "{spans:?}");
    let run = spans.iter().find(|span| span.name == "invoke_agent porter").unwrap();
    assert_eq!(run.parent_span_id.to_string(), "b7ad6b7169203331");
    let children = spans.iter().filter(|span| span.parent_span_id == run.span_context.span_id());
    let children: Vec<_> = children.map(|span| &*span.name).collect();
    assert_eq!(children, ["chat scripted", "execute_tools", "chat scripted"]);
}

#[test]
fn an_agent_without_a_description_has_none_in_its_span() {
    for (description, expected) in [("Opens doors.", Some("Opens doors.")), ("", None)] {
        let spans = run(agent(replies()).description(description));
        let span = of(&spans, "invoke_agent")[0];
        let recorded = span.fields.get("gen_ai.agent.description").map(String::as_str);
        assert_eq!(recorded, expected);
    }
}

#[test]
fn the_span_of_a_run_has_token_counts_if_it_asked_a_model() {
    for (rounds, expected) in [(1, Some("30")), (0, None)] {
        let limits = Limits { rounds: Some(rounds), ..Limits::default() };
        let spans = run(agent([answer().into()]).limits(limits));
        let span = of(&spans, "invoke_agent")[0];
        assert_eq!(span.fields.get("gen_ai.usage.input_tokens").map(String::as_str), expected);
        assert_eq!(span.fields["agent.rounds"], rounds.to_string());
    }
}
