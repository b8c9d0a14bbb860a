//! Traces across processes, and metrics.

use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

use opentelemetry::{Value as Attribute, trace::TracerProvider as _};
use opentelemetry_sdk::{
    metrics::{
        InMemoryMetricExporter, PeriodicReader, SdkMeterProvider,
        data::{AggregatedMetrics, MetricData},
    },
    trace::{InMemorySpanExporter, SdkTracerProvider, SpanData},
};
use test_support::collectors::each_thread_for_itself;
use tool_fleet::{DurableCalls, FleetSettings, FleetToolSet, MemoryCallQueue, MemoryTransport, Worker};
use tool_runtime::{CancellationToken, Executor, RunContext, ToolCall, Toolbox, prelude::*, serde_json::Map};
use tracing_subscriber::prelude::*;

use super::{Pool, Probe, program_key, registry};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

/// Calls `add` of a worker, and returns the spans of both sides.
fn spans_of(call: ToolCall, run: Option<RunContext>) -> Vec<SpanData> {
    each_thread_for_itself();
    let exporter = InMemorySpanExporter::default();
    let provider = SdkTracerProvider::builder().with_simple_exporter(exporter.clone()).build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("test"));
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build();
        runtime.unwrap().block_on(async {
            let pool = Pool::start(&MemoryTransport::new(), "trip", 1).await;
            let batch = pool.executor.batch(vec![call]);
            let batch = run.into_iter().fold(batch, |batch, run| batch.with_run(run));
            assert_eq!(batch.run().await[0].result().unwrap().text(), "3");
        });
    });
    exporter.get_finished_spans().unwrap()
}

fn call_of_add() -> ToolCall {
    ToolCall::new("trip__add", json!({ "a": 1, "b": 2 }))
}

fn span<'a>(spans: &'a [SpanData], name: &str) -> &'a SpanData {
    spans.iter().find(|span| span.name == name).unwrap_or_else(|| panic!("no {name} in {spans:#?}"))
}

// W04, W05
#[test]
fn the_spans_of_a_worker_are_below_the_span_of_the_call_at_its_caller() {
    for run in [None, Some(RunContext::new())] {
        let spans = spans_of(call_of_add(), run);
        let (caller, worker) = (span(&spans, "execute_tool trip__add"), span(&spans, "execute_tool add"));
        assert_eq!(worker.span_context.trace_id(), caller.span_context.trace_id());
        assert_eq!(worker.parent_span_id, caller.span_context.span_id());
        // The batches of both sides: the one of the worker is below the call, too.
        let trace = caller.span_context.trace_id();
        assert!(spans.iter().all(|span| span.span_context.trace_id() == trace), "{spans:#?}");
        let mut names: Vec<_> = spans.iter().map(|span| span.name.as_ref()).collect();
        names.sort_unstable();
        // A worker makes one attempt, which has no span of its own, as in one process.
        assert_eq!(names, ["execute_tool add", "execute_tool trip__add", "execute_tools", "execute_tools"]);
    }
}

// W04
#[test]
fn a_trace_from_outside_goes_through_the_caller_to_its_worker() {
    let parent = format!("00-{TRACE}-b7ad6b7169203331-01");
    let meta =
        Map::from_iter([("traceparent".to_owned(), parent.into()), ("tracestate".to_owned(), "a=b".into())]);
    let spans = spans_of(call_of_add().with_meta(meta), None);
    let (caller, worker) = (span(&spans, "execute_tool trip__add"), span(&spans, "execute_tool add"));
    assert_eq!(caller.parent_span_id.to_string(), "b7ad6b7169203331");
    assert_eq!(worker.parent_span_id, caller.span_context.span_id());
    assert_eq!(worker.span_context.trace_id().to_string(), TRACE);
    assert_eq!(worker.span_context.trace_state().header(), "a=b");
}

/// The metrics of this program.
fn exporter() -> &'static (SdkMeterProvider, InMemoryMetricExporter) {
    static EXPORTER: OnceLock<(SdkMeterProvider, InMemoryMetricExporter)> = OnceLock::new();
    EXPORTER.get_or_init(|| {
        let exporter = InMemoryMetricExporter::default();
        let reader =
            PeriodicReader::builder(exporter.clone()).with_interval(Duration::from_secs(3600)).build();
        let provider = SdkMeterProvider::builder().with_reader(reader).build();
        opentelemetry::global::set_meter_provider(provider.clone());
        (provider, exporter)
    })
}

/// Returns the sum of a metric of a pool, or the last value of a gauge; for calls, of those that ended with this kind of error.
fn sum_of(pool: &str, name: &str, error: Option<&str>) -> i64 {
    find_sum(pool, name, error).unwrap_or_default()
}

/// The same; `None` if it is not shown.
fn find_sum(pool: &str, name: &str, error: Option<&str>) -> Option<i64> {
    let (provider, exporter) = exporter();
    exporter.reset();
    provider.force_flush().unwrap();
    let mut sum = None;
    for exported in exporter.get_finished_metrics().unwrap() {
        let metrics = exported.scope_metrics().flat_map(|scope| scope.metrics());
        for metric in metrics.filter(|metric| metric.name() == name) {
            let points: Vec<(Vec<_>, i64)> = match metric.data() {
                AggregatedMetrics::U64(MetricData::Sum(data)) => data
                    .data_points()
                    .map(|it| (it.attributes().cloned().collect(), i64::try_from(it.value()).unwrap()))
                    .collect(),
                AggregatedMetrics::I64(MetricData::Sum(data)) => {
                    data.data_points().map(|it| (it.attributes().cloned().collect(), it.value())).collect()
                }
                AggregatedMetrics::U64(MetricData::Gauge(data)) => data
                    .data_points()
                    .map(|it| (it.attributes().cloned().collect(), i64::try_from(it.value()).unwrap()))
                    .collect(),
                AggregatedMetrics::F64(MetricData::Gauge(data)) => data
                    .data_points()
                    .map(|it| (it.attributes().cloned().collect(), it.value().floor() as i64))
                    .collect(),
                other => panic!("{other:?}"),
            };
            for (attributes, value) in points {
                let attribute = |key: &str| attributes.iter().find(|it| it.key.as_str() == key);
                let kind = attribute("error.type").map(|it| it.value.to_string());
                if attribute("tool_fleet.pool").unwrap().value == Attribute::from(pool.to_owned())
                    && kind.as_deref() == error
                {
                    sum = Some(sum.unwrap_or_default() + value);
                }
            }
        }
    }
    sum
}

#[tokio::test(start_paused = true)]
async fn slots_busy_answers_outcomes_and_lost_workers_are_metrics() {
    exporter();
    let (transport, name) = (MemoryTransport::new(), "metrics");
    let key = program_key().pool_key(name);
    let probe = Arc::new(Probe::default());
    let worker = Worker::new(Executor::new(registry(&probe)), key.clone()).slots(1);
    let worker = tokio::spawn(worker.serve(transport.clone(), CancellationToken::new()));
    let settings = FleetSettings { busy: Duration::from_millis(10), ..FleetSettings::default() };
    let toolbox = Toolbox::new();
    toolbox.add_toolset(FleetToolSet::connect_with(transport, key, settings).await.unwrap()).unwrap();
    let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
    let executor = Executor::new(tools);
    let pool = Pool { name, probes: vec![probe], workers: vec![worker], executor, toolbox };

    let call = pool.call("forecast", json!({ "query": { "city": "Paris" } }));
    pool.entered().await;
    assert_eq!(sum_of(name, "tool_fleet.worker.busy_slots", None), 1);
    let busy = pool.call("add", json!({ "a": 1, "b": 2 })).await.unwrap();
    assert!(busy.text().contains("are busy"), "{}", busy.text());
    assert!(sum_of(name, "tool_fleet.worker.busy_answers", None) >= 1);
    assert_eq!(sum_of(name, "tool_fleet.caller.calls", Some("unavailable")), 1);
    let dropped = pool.call("add", json!({ "a": 1, "b": 2 }));
    tokio::task::yield_now().await;
    dropped.abort();
    assert!(dropped.await.unwrap_err().is_cancelled());
    assert_eq!(sum_of(name, "tool_fleet.caller.calls", Some("cancelled")), 1);
    pool.probes[0].released.cancel();
    assert_eq!(call.await.unwrap().text(), "Paris 0 by body 1");
    assert_eq!(sum_of(name, "tool_fleet.caller.calls", None), 1);
    tokio::task::yield_now().await;
    assert_eq!(sum_of(name, "tool_fleet.worker.busy_slots", None), 0);
    assert_eq!(sum_of(name, "tool_fleet.worker.calls", None), 1);

    let mut pool = pool;
    pool.end_worker(0).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(sum_of(name, "tool_fleet.caller.lost_workers", None), 1);
}

#[tokio::test(start_paused = true)]
async fn the_backlog_of_a_queue_and_the_durable_calls_of_its_worker_are_metrics_until_it_leaves() {
    exporter();
    let (transport, name, day) = (MemoryTransport::new(), "backlog", Duration::from_secs(24 * 60 * 60));
    let (key, probe, stop) =
        (program_key().pool_key(name), Arc::new(Probe::default()), CancellationToken::new());
    let queue = MemoryCallQueue::new(name);
    let worker = Worker::new(Executor::new(registry(&probe)), key.clone()).slots(1).queue(queue.clone());
    let worker = tokio::spawn(worker.serve(transport.clone(), stop.clone()));
    let toolbox = Toolbox::new();
    let durable = DurableCalls::new(queue, key).unwrap().wait(day);
    let set = FleetToolSet::connect_durable(transport, FleetSettings::default(), durable);
    toolbox.add_toolset(set.await.unwrap()).unwrap();
    let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
    let executor = Executor::new(tools);
    let mut pool = Pool { name, probes: vec![probe], workers: vec![worker], executor, toolbox };

    let mut calls = vec![pool.call("forecast", json!({ "query": { "city": "Paris" } }))];
    pool.entered().await;
    for word in ["a", "b"] {
        calls.push(pool.call("echo", json!({ "text": word, "times": 1 })));
    }
    // The interval of the setting.
    tokio::time::sleep(Duration::from_secs(16)).await;
    assert_eq!(sum_of(name, "tool_fleet.queue.depth", None), 2);
    // The queue has the time of the system, of which none has passed.
    assert_eq!(find_sum(name, "tool_fleet.queue.oldest_age", None), Some(0));
    assert_eq!(find_sum(name, "tool_fleet.worker.calls", None), None);

    pool.probes[0].released.cancel();
    for call in calls {
        assert!(!call.await.unwrap().is_error());
    }
    assert_eq!(sum_of(name, "tool_fleet.worker.calls", None), 3);
    // Read before.
    assert_eq!(sum_of(name, "tool_fleet.queue.depth", None), 2);
    tokio::time::sleep(Duration::from_secs(16)).await;
    assert_eq!(find_sum(name, "tool_fleet.queue.depth", None), Some(0));
    stop.cancel();
    (&mut pool.workers[0]).await.unwrap().unwrap();
    assert_eq!(find_sum(name, "tool_fleet.queue.depth", None), None);
}
