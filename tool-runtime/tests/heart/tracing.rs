//! Spans and log events.

use std::{
    collections::BTreeMap,
    fmt::{Debug, Write as _},
    sync::{Arc, Mutex},
};

use test_support::collectors::each_thread_for_itself;
use tool_runtime::{
    Executor, Registry, RunContext, ToolCall,
    definition::Retry,
    executor::RunSettings,
    policy::{Approval, ApprovalRequest, Limits, RetryPolicy},
    prelude::*,
};
use tracing::{
    Dispatch, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
};
use tracing_subscriber::{Layer, filter::filter_fn, layer::Context, prelude::*, registry::LookupSpan};

use crate::run;

/// Adds two numbers.
#[tool(register = false)]
async fn add(a: i64, b: i64, #[arg(secret, default = String::new())] key: String) -> i64 {
    drop(key);
    tracing::info_span!("inside").in_scope(|| a + b)
}

/// Fails.
#[tool(register = false, retry(attempts = 2, initial = "1ms"))]
fn fail() -> Result<(), ToolError> {
    Err(ToolError::failed("busy").retryable(true))
}

/// Panics.
#[tool(register = false)]
fn crash() {
    panic!("boom")
}

/// Runs on another thread.
#[tool(register = false, blocking)]
fn heavy() -> bool {
    tracing::info_span!("deep").in_scope(|| true)
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
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let mut text = String::new();
        write!(text, "{value:?}").unwrap();
        self.fields.insert(field.name().to_owned(), text.trim_matches('"').to_owned());
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

/// Returns the spans of `calls`, in the order of their ends.
fn spans(executor: &Executor, calls: Vec<ToolCall>) -> Vec<Span> {
    each_thread_for_itself();
    let spans = Spans::default();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(spans.clone()), || {
        run(executor.run(calls));
    });
    spans.0.lock().unwrap().clone()
}

/// Adds attributes to its span.
#[tool(register = false, retry(attempts = 2, initial = "1ms"))]
async fn attributed(cx: &ToolContext, #[arg(secret)] key: String) -> Result<(), ToolError> {
    cx.set_attribute("rows", 3);
    cx.set_attribute("found", json!({ "near": [1.5, "Oslo"], "with": format!("key {key}!") }));
    cx.set_attribute("key", key.clone());
    cx.set_attribute(format!("of {key}"), true);
    cx.set_attribute("attempt", cx.attempt());
    if cx.attempt() == 1 {
        return Err(ToolError::failed("busy").retryable(true));
    }
    for number in 0..70 {
        cx.clone().set_attribute(format!("number {number}"), number);
    }
    cx.set_attribute("long", "x".repeat(5000));
    Ok(())
}

fn tools() -> Registry {
    let tools =
        Registry::builder().tool::<attributed>().tool::<add>().tool::<fail>().tool::<crash>().tool::<heavy>();
    tools.build().unwrap()
}

fn call_of_add() -> ToolCall {
    ToolCall::new("add", json!({ "a": 2, "b": 3, "key": "s3cr3t" })).with_id("c1")
}

// W01
#[test]
fn a_call_has_a_span_with_its_name_around_the_body() {
    let spans = spans(&Executor::new(tools()), vec![call_of_add()]);
    let paths: Vec<_> = spans.iter().map(|span| &*span.path).collect();
    assert_eq!(paths, ["execute_tools/execute_tool/inside", "execute_tools/execute_tool", "execute_tools"]);
    let expected = [
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.call.id", "c1"),
        ("gen_ai.tool.name", "add"),
        ("gen_ai.tool.type", "function"),
        ("otel.kind", "internal"),
        ("otel.name", "execute_tool add"),
        ("otel.status_code", "OK"),
    ];
    let fields: Vec<_> = spans[1].fields.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(fields, expected);
}

// W01
#[test]
fn arguments_and_results_are_recorded_on_request_and_secrets_never() {
    let executor = Executor::builder(tools()).trace_arguments(true).trace_results(true).build().unwrap();
    let spans = spans(&executor, vec![call_of_add()]);
    let fields = &spans[1].fields;
    // The `Debug` form of a text, without its quotes.
    assert_eq!(fields["gen_ai.tool.call.arguments"], r#"{\"a\":2,\"b\":3,\"key\":\"***\"}"#);
    assert_eq!(fields["gen_ai.tool.call.result"], "5");
    assert!(!format!("{spans:?}").contains("s3cr3t"));
}

// W01
#[test]
fn the_trace_flags_of_a_run_override_the_executor() {
    let (arguments, results) = ("gen_ai.tool.call.arguments", "gen_ai.tool.call.result");
    let told = |executor: &Executor| {
        let spans = spans(executor, vec![call_of_add()]);
        [arguments, results].map(|field| spans[1].fields.contains_key(field))
    };
    for flags in [[false, false], [false, true], [true, false], [true, true]] {
        let builder = Executor::builder(tools()).trace_arguments(flags[0]).trace_results(flags[1]);
        let executor = builder.build().unwrap();
        let of_run = |settings| executor.with_settings(&RunContext::new(), settings).unwrap();
        let other = RunSettings::new().trace_arguments(!flags[0]);
        assert_eq!(told(&of_run(other)), [!flags[0], flags[1]]);
        let other = RunSettings::new().trace_results(!flags[1]);
        assert_eq!(told(&of_run(other)), [flags[0], !flags[1]]);
        assert_eq!(told(&executor), flags);
    }
}

/// Adds its secret, a number that no `f64` represents.
#[tool(register = false)]
fn numbered(cx: &ToolContext, #[arg(secret)] pin: u128) {
    cx.set_attribute("pin", format!("pin {pin}"));
    if let Ok(short) = u64::try_from(pin) {
        cx.set_attribute("short", short);
        cx.set_attribute("list", json!([short, { "it": short }, short / 2]));
    }
}

// W01
#[test]
fn a_secret_number_is_redacted_by_all_its_digits() {
    let builder = || Executor::builder(Registry::builder().tool::<numbered>().build().unwrap());
    for executor in [builder(), builder().approver(|_: &ApprovalRequest| Approval::Approved)] {
        let executor = executor.build().unwrap();
        let attributes = |pin: &str| -> Value {
            let spans = spans(&executor, vec![ToolCall::new("numbered", format!(r#"{{"pin":{pin}}}"#))]);
            let span = spans.iter().find(|span| span.path.ends_with("/execute_tool")).unwrap();
            let text = span.fields["tool.attributes"].replace("\\\"", "\"");
            tool_runtime::serde_json::from_str(&text).unwrap()
        };
        assert_eq!(attributes(&u128::MAX.to_string()), json!({ "pin": "***" }));
        // Also in the spelling that the body receives.
        for (pin, half) in [("802469134", 401_234_567), ("8e3", 4_000), ("8.0e3", 4_000)] {
            let hidden = json!({ "pin": "***", "short": "***", "list": ["***", { "it": "***" }, half] });
            assert_eq!(attributes(pin), hidden, "{pin}");
        }
    }
}

// W01
#[test]
fn each_name_and_value_within_a_secret_is_hidden_in_attributes() {
    /// Stores keys.
    #[tool(register = false)]
    fn keep(cx: &ToolContext, #[arg(secret)] keys: Value, user: Value) {
        for (name, text) in [
            ("a", "by inner-name"),
            ("b", "text-1"),
            ("c", "text-2"),
            ("d", "73"),
            ("e", "ada"),
            ("f", "keys"),
            ("g", "nested"),
        ] {
            cx.set_attribute(name, text);
        }
        cx.set_attribute("h", json!([{ "x": { "of inner-name": 1 }, "y": 2 }]));
        drop((keys, user));
    }
    let executor = Executor::new(Registry::builder().tool::<keep>().build().unwrap());
    let arguments = json!({
        "keys": { "inner-name": ["text-1", { "deep": "text-2" }], "n": 73.0 },
        "user": { "name": "ada", "keys": { "nested": true } },
    });
    let spans = spans(&executor, vec![ToolCall::new("keep", arguments)]);
    let span = spans.iter().find(|span| span.path.ends_with("/execute_tool")).unwrap();
    let text = span.fields["tool.attributes"].replace("\\\"", "\"");
    let set: Value = tool_runtime::serde_json::from_str(&text).unwrap();
    assert_eq!(
        set,
        json!({ "a": "***", "b": "***", "c": "***", "d": "***", "e": "ada", "f": "keys", "g": "***", "h": [{ "x": "***", "y": 2 }] })
    ); // W01
}

// W01
#[test]
fn a_body_adds_attributes_to_its_span_without_secrets() {
    let call = ToolCall::new("attributed", json!({ "key": "s3cr3t" }));
    let spans = spans(&Executor::new(tools()), vec![call]);
    let span = spans.iter().find(|span| span.path.ends_with("/execute_tool")).unwrap();
    let text = span.fields["tool.attributes"].replace("\\\"", "\"");
    let set: Value = tool_runtime::serde_json::from_str(&text).unwrap();
    assert_eq!((&set["rows"], &set["attempt"]), (&json!(3), &json!(2)));
    assert_eq!(set["found"], json!({ "near": [1.5, "Oslo"], "with": "***" }));
    assert_eq!(set["key"], "***");
    // 64 attributes are kept, of which one is named after the secret; values that are too long are not.
    assert_eq!(set.as_object().unwrap().len(), 63);
    assert_eq!(span.fields["tool.attributes.dropped"], "13");
    assert!(!format!("{spans:?}").contains("s3cr3t"));
    // Other spans have no attributes.
    assert_eq!(spans.iter().filter(|span| span.fields.contains_key("tool.attributes")).count(), 1);
}

// W01
#[test]
fn a_span_has_the_fields_of_attributes_only_if_some_were_set_or_dropped() {
    /// Sets an attribute, or one that is too long.
    #[tool(register = false)]
    fn noted(cx: &ToolContext, sets: bool, drops: bool) {
        if sets {
            cx.set_attribute("a", 1);
        }
        if drops {
            cx.set_attribute("n".repeat(129), 1);
        }
    }
    let executor = Executor::new(Registry::builder().tool::<noted>().build().unwrap());
    for (sets, drops) in [(false, false), (true, false), (false, true), (true, true)] {
        let spans = spans(&executor, vec![ToolCall::new("noted", json!({ "sets": sets, "drops": drops }))]);
        let span = spans.iter().find(|span| span.path.ends_with("/execute_tool")).unwrap();
        let set = span.fields.get("tool.attributes").map(|it| it.replace('\\', ""));
        assert_eq!(set.as_deref(), sets.then_some(r#"{"a":1}"#));
        let dropped = span.fields.get("tool.attributes.dropped").map(String::as_str);
        assert_eq!(dropped, drops.then_some("1"));
    }
}

// W01
#[test]
fn a_secret_without_a_text_hides_nothing() {
    let spans = spans(&Executor::new(tools()), vec![ToolCall::new("attributed", json!({ "key": "" }))]);
    let span = spans.iter().find(|span| span.path.ends_with("/execute_tool")).unwrap();
    let set = &span.fields["tool.attributes"];
    assert!(set.contains("Oslo") && set.contains("key !") && !set.contains("***"), "{set}");
}

// W01
#[test]
fn the_attributes_of_a_call_that_is_dropped_are_recorded() {
    /// Never ends.
    #[tool(register = false)]
    async fn hangs(cx: &ToolContext) {
        cx.set_attribute("step", "waiting");
        std::future::pending::<()>().await;
    }
    each_thread_for_itself();
    let collected = Spans::default();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(collected.clone()), || {
        let executor = Executor::new(Registry::builder().tool::<hangs>().build().unwrap());
        let mut running = Box::pin(executor.run(vec![ToolCall::new("hangs", "{}")]));
        let mut task = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(running.as_mut().poll(&mut task).is_pending());
    });
    let spans = collected.0.lock().unwrap().clone();
    let span = spans.iter().find(|span| span.path.ends_with("/execute_tool")).unwrap();
    assert!(span.fields["tool.attributes"].contains("waiting"));
}

// C12
#[test]
fn log_lines_reach_tracing_without_listeners() {
    use tool_runtime::context::{LogLevel, LogLine};
    use tracing::{Event, Level};

    /// Logs.
    #[tool(register = false)]
    fn logs(cx: &ToolContext) -> Result<(), ToolError> {
        for level in [LogLevel::Debug, LogLevel::Notice, LogLevel::Warning, LogLevel::Alert] {
            cx.log(LogLine::new(level, "stale").with_data(json!({ "days": 3 })))?;
        }
        Ok(())
    }
    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<(Level, Span)>>>);
    impl<S: Subscriber> Layer<S> for Lines {
        fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
            if event.metadata().target() == "tool" {
                let mut line = Span::default();
                event.record(&mut line);
                self.0.lock().unwrap().push((*event.metadata().level(), line));
            }
        }
    }
    each_thread_for_itself();
    let lines = Lines::default();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(lines.clone()), || {
        let executor = Executor::new(Registry::builder().tool::<logs>().build().unwrap());
        run(executor.run(vec![ToolCall::new("logs", "{}").with_id("c1")]));
    });
    let lines = lines.0.lock().unwrap();
    let levels: Vec<_> = lines.iter().map(|(level, _)| *level).collect();
    assert_eq!(levels, [Level::DEBUG, Level::INFO, Level::WARN, Level::ERROR]);
    let fields: Vec<_> = lines[0].1.fields.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(fields, [("call", "c1"), ("data", r#"{"days":3}"#), ("message", "stale"), ("tool", "logs")]);
}

// W02
#[test]
fn log_lines_need_no_collector() {
    let outcomes = run(Executor::new(tools()).run(vec![call_of_add()]));
    assert_eq!(outcomes[0].result().unwrap().text(), "5");
}

// W03
#[test]
fn failures_and_panics_mark_and_end_the_span() {
    let calls = vec![ToolCall::new("fail", "{}"), ToolCall::new("crash", "{}")];
    let executor = Executor::builder(tools()).strategy(tool_runtime::executor::ExecutionStrategy::Sequential);
    let spans = spans(&executor.build().unwrap(), calls);
    let ends: Vec<_> = spans
        .iter()
        .filter(|span| span.path.ends_with("execute_tool"))
        .map(|span| (&*span.fields["otel.status_code"], &*span.fields["error.type"]))
        .collect();
    assert_eq!(ends, [("ERROR", "failed"), ("ERROR", "panicked")]);
}

// W03
#[test]
fn the_span_of_a_call_that_is_stopped_has_the_status_of_its_stop() {
    /// Never ends.
    #[tool(register = false)]
    async fn hangs() {
        std::future::pending::<()>().await;
    }
    /// Stops the run.
    #[tool(register = false)]
    async fn stops() -> Result<(), ToolError> {
        tokio::task::yield_now().await;
        Err(ToolError::stop("enough"))
    }
    each_thread_for_itself();
    /// The end of a batch.
    #[derive(Debug, Clone, Copy)]
    enum End {
        Cancelled,
        Late,
        Stopped,
        Dropped,
    }
    let status = |end: End| {
        let spans = Spans::default();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        tracing::subscriber::with_default(tracing_subscriber::registry().with(spans.clone()), || {
            runtime.unwrap().block_on(async {
                let tools = Registry::builder().tool::<hangs>().tool::<stops>().build().unwrap();
                // The call waits for its permit until the other one has stopped the run.
                let executor = Executor::builder(tools).limits(Limits::new().overall(1)).build().unwrap();
                let calls = if let End::Stopped = end { &["stops", "hangs"][..] } else { &["hangs"] };
                let calls = calls.iter().map(|name| ToolCall::new(*name, "{}")).collect();
                let stop = tool_runtime::CancellationToken::new();
                let mut context = RunContext::new().with_cancellation(stop.clone());
                if let End::Late = end {
                    let deadline = tokio::time::Instant::now() + std::time::Duration::from_secs(1);
                    context = context.with_deadline(deadline.into_std());
                }
                let mut running = Box::pin(executor.batch(calls).with_run(context).run());
                match end {
                    End::Late | End::Stopped => drop(running.await),
                    End::Cancelled | End::Dropped => {
                        assert!(futures_util::poll!(&mut running).is_pending());
                        if let End::Cancelled = end {
                            stop.cancel();
                            running.await;
                        }
                    }
                }
            });
        });
        let spans = spans.0.lock().unwrap().clone();
        let of_call =
            |span: &&Span| span.path.ends_with("/execute_tool") && span.fields["gen_ai.tool.name"] == "hangs";
        let span = spans.iter().find(of_call).unwrap();
        let field = |name: &str| span.fields.get(name).cloned().unwrap_or_default();
        (field("otel.status_code"), field("error.type"))
    };
    for (end, error) in [
        (End::Cancelled, "cancelled"),
        (End::Late, "timed_out"),
        (End::Stopped, "skipped"),
        (End::Dropped, "cancelled"),
    ] {
        assert_eq!(status(end), ("ERROR".to_owned(), error.to_owned()), "{end:?}"); // W03
    }
}

#[test]
fn each_attempt_has_a_span() {
    let executor = Executor::builder(tools()).retry(RetryPolicy::new(Retry::DEFAULT)).build().unwrap();
    let attempts = || {
        let spans = spans(&executor, vec![ToolCall::new("fail", "{}")]);
        assert_eq!(spans[0].path, "execute_tools/execute_tool/attempt");
        spans.iter().filter_map(|span| span.fields.get("attempt").cloned()).collect::<Vec<_>>()
    };
    assert_eq!(attempts(), ["1", "2"]);
    // The same with a listener.
    let _listener = executor.subscribe();
    assert_eq!(attempts(), ["1", "2"]);
}

// W06
#[test]
fn the_calls_of_a_batch_share_a_parent_span() {
    let spans = spans(&Executor::new(tools()), vec![call_of_add(), call_of_add(), call_of_add()]);
    let count = |path: &str| spans.iter().filter(|span| span.path == path).count();
    assert_eq!((count("execute_tools/execute_tool"), count("execute_tools")), (3, 1));
    assert_eq!(spans.last().unwrap().fields["calls"], "3");
}

#[test]
fn a_blocking_body_is_in_the_span_of_its_call() {
    each_thread_for_itself();
    let spans = Spans::default();
    let dispatch = Dispatch::new(tracing_subscriber::registry().with(spans.clone()));
    // The body runs on another thread, which needs the collector of this test.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .on_thread_start(move || std::mem::forget(tracing::dispatcher::set_default(&dispatch)))
        .build()
        .unwrap();
    let executor = Executor::new(tools());
    let batch = async move { executor.run(vec![ToolCall::new("heavy", "{}")]).await };
    runtime.block_on(runtime.spawn(batch)).unwrap();
    let paths: Vec<_> = spans.0.lock().unwrap().iter().map(|span| span.path.clone()).collect();
    assert_eq!(paths[0], "execute_tools/execute_tool/deep");
}

/// With an OpenTelemetry exporter.
#[cfg(feature = "opentelemetry")]
mod exported {
    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_sdk::trace::{InMemorySpanExporter, SdkTracerProvider, SpanData};
    use tool_runtime::{RunContext, serde_json::Map, trace_context};

    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    /// Returns its trace context.
    #[tool(register = false)]
    fn whereabouts() -> Value {
        Value::Object(trace_context())
    }

    fn exported(calls: Vec<ToolCall>, run_context: RunContext) -> (Vec<SpanData>, String) {
        each_thread_for_itself();
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        let tools = Registry::builder().tool::<whereabouts>().tool::<delegate>();
        let executor = Executor::new(tools.build().unwrap());
        let outcomes = tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            run(executor.batch(calls).with_run(run_context).run())
        });
        let text = outcomes[0].result().unwrap().text().into_owned();
        (exporter.get_finished_spans().unwrap(), text)
    }

    fn meta() -> Map<String, Value> {
        let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
        Map::from_iter([("traceparent".to_owned(), parent.into()), ("tracestate".to_owned(), "a=b".into())])
    }

    // W04, W05
    #[test]
    fn the_trace_of_a_caller_is_propagated_through_the_tool() {
        let call = ToolCall::new("whereabouts", "{}").with_id("c1").with_meta(meta());
        let (spans, text) = exported(vec![call], RunContext::new());
        let span = spans.iter().find(|span| span.name == "execute_tool whereabouts").unwrap();
        assert_eq!(span.span_context.trace_id().to_string(), TRACE);
        assert_eq!(span.parent_span_id.to_string(), "b7ad6b7169203331");
        let own = format!("00-{TRACE}-{}-01", span.span_context.span_id());
        assert_eq!(text, json!({ "traceparent": own, "tracestate": "a=b" }).to_string());
        let attribute = |name: &str| {
            span.attributes.iter().find(|it| it.key.as_str() == name).map(|it| it.value.to_string())
        };
        assert_eq!(attribute("gen_ai.tool.name").as_deref(), Some("whereabouts"));
        assert_eq!(attribute("gen_ai.tool.call.id").as_deref(), Some("c1"));
        assert_eq!(attribute("gen_ai.operation.name").as_deref(), Some("execute_tool"));
    }

    // W01
    #[test]
    fn attributes_of_a_body_have_a_prefix() {
        /// Sets attributes.
        #[tool(register = false)]
        fn sets(cx: &ToolContext) {
            cx.set_attribute("rows", 3);
            cx.set_attribute("ratio", 0.5);
            cx.set_attribute("cached", true);
            cx.set_attribute("town", "Oslo");
            cx.set_attribute("near", json!(["Oslo"]));
        }
        each_thread_for_itself();
        let exporter = InMemorySpanExporter::default();
        let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
        let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
        let executor = Executor::new(Registry::builder().tool::<sets>().build().unwrap());
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            run(executor.run(vec![ToolCall::new("sets", "{}")]))
        });
        let spans = exporter.get_finished_spans().unwrap();
        let span = spans.iter().find(|span| span.name == "execute_tool sets").unwrap();
        let attribute = |name: &str| {
            span.attributes.iter().find(|it| it.key.as_str() == name).map(|it| it.value.to_string())
        };
        let set = ["rows", "ratio", "cached", "town", "near", "tool.attributes"].map(attribute);
        let set: Vec<_> = set.iter().map(Option::as_deref).collect();
        assert_eq!(set, [Some("3"), Some("0.5"), Some("true"), Some("Oslo"), Some(r#"["Oslo"]"#), None]);
    }

    // W04
    #[test]
    fn batches_continue_the_trace_of_their_run() {
        let (spans, _) =
            exported(vec![ToolCall::new("whereabouts", "{}")], RunContext::new().with_meta(meta()));
        assert_eq!(spans.len(), 2);
        assert!(spans.iter().all(|span| span.span_context.trace_id().to_string() == TRACE));
    }

    /// Runs `whereabouts` in a child run.
    #[tool(register = false)]
    async fn delegate(cx: &ToolContext) -> Result<String, ToolError> {
        let executor = Executor::new(Registry::builder().tool::<whereabouts>().build().unwrap());
        let batch = executor.batch(vec![ToolCall::new("whereabouts", "{}")]);
        Ok(batch.with_run(cx.child_run("researcher")?).run().await[0].result().unwrap().text().into_owned())
    }

    // W04
    #[test]
    fn the_trace_of_a_child_run_continues_the_call_that_started_it() {
        let (spans, _) = exported(vec![ToolCall::new("delegate", "{}")], RunContext::new().with_meta(meta()));
        let named = |name: &str| spans.iter().filter(|span| span.name == name).collect::<Vec<_>>();
        let [outer] = named("execute_tool delegate")[..] else { panic!("one call was made") };
        let batches = named("execute_tools");
        let nested = batches.iter().find(|span| span.parent_span_id == outer.span_context.span_id());
        assert!(nested.is_some(), "{batches:?}");
        assert!(spans.iter().all(|span| span.span_context.trace_id().to_string() == TRACE));
    }

    // W05
    #[test]
    fn there_is_no_trace_without_a_collector() {
        let executor = Executor::new(Registry::builder().tool::<whereabouts>().build().unwrap());
        let outcomes = run(executor.run(vec![ToolCall::new("whereabouts", "{}")]));
        assert_eq!(outcomes[0].result().unwrap().text(), "{}");
    }
}

// W01
#[test]
fn a_collector_without_opentelemetry_receives_the_spans_of_calls() {
    let spans = Spans::default();
    let only_spans = filter_fn(|metadata| metadata.is_span());
    tracing::subscriber::with_default(
        tracing_subscriber::registry().with(spans.clone().with_filter(only_spans)),
        || run(Executor::new(tools()).run(vec![call_of_add()])),
    );
    let paths: Vec<_> = spans.0.lock().unwrap().iter().map(|span| span.path.clone()).collect();
    assert_eq!(paths, ["execute_tools/execute_tool/inside", "execute_tools/execute_tool", "execute_tools"]);
}

// W01
#[test]
fn a_span_has_the_status_of_a_failed_result_and_the_text_of_an_error() {
    /// Asks a server.
    #[tool(register = false)]
    fn ask_server() -> ToolOutput {
        ToolOutput::from("HTTP 503").as_failure()
    }
    let tools = Registry::builder().tool::<ask_server>().tool::<crash>().build().unwrap();
    let status = |with_results: bool, name: &str| {
        let executor = Executor::builder(tools.clone()).trace_results(with_results).build().unwrap();
        let spans = spans(&executor, vec![ToolCall::new(name, "{}")]);
        let fields = &spans.iter().find(|span| span.path.ends_with("/execute_tool")).unwrap().fields;
        ["otel.status_code", "error.type", "otel.status_description", "gen_ai.tool.call.result"]
            .map(|name| fields.get(name).cloned().unwrap_or_default())
    };
    assert_eq!(status(false, "ask_server"), ["ERROR", "result", "", ""]);
    assert_eq!(status(true, "ask_server"), ["ERROR", "result", "", "HTTP 503"]);
    assert_eq!(status(false, "crash"), ["ERROR", "panicked", "", ""]);
    assert_eq!(status(true, "crash"), ["ERROR", "panicked", "The tool crash panicked: boom", ""]);
}

// W01
#[test]
fn an_attribute_that_is_no_text_and_no_number_is_shown_beside_a_secret() {
    /// Stores a key.
    #[tool(register = false)]
    fn store(cx: &ToolContext, #[arg(secret)] key: String) {
        cx.set_attribute("stored", true);
        cx.set_attribute("list", json!([null, false, key]));
    }
    let executor = Executor::new(Registry::builder().tool::<store>().build().unwrap());
    let spans = spans(&executor, vec![ToolCall::new("store", json!({ "key": "s3cr3t" }))]);
    let span = spans.iter().find(|span| span.path.ends_with("/execute_tool")).unwrap();
    let text = span.fields["tool.attributes"].replace("\\\"", "\"");
    let shown: Value = tool_runtime::serde_json::from_str(&text).unwrap();
    assert_eq!(shown, json!({ "stored": true, "list": [null, false, "***"] }));
}
