//! Arguments and results above the limit of the broker, through a store.

#[cfg(feature = "artifacts")]
mod artifacts;
mod failures;
#[cfg(all(feature = "artifacts", feature = "postgres", unix))]
mod processes;
pub(crate) mod store;

use std::{sync::Arc, time::Duration};

use serde_json::Map;
use tokio::task::JoinHandle;
use tool_fleet::{FleetError, FleetSettings, FleetToolSet, Transport, ValueStore, Worker};
use tool_runtime::{
    CancellationToken, Executor, Registry, RunContext, ToolCall, Toolbox,
    context::{LogLevel, LogLine},
    policy::{Approval, ApprovalRequest},
    prelude::*,
};

pub(crate) use self::store::{Deed, Operation, TestValues};
use super::{Pool, Probe, broker::TestBroker, program_key, suite::over_transports};

/// A size beyond the limit of each broker.
const LARGE: usize = 1_500_000;

/// Reverses a text, when the test says so.
#[tool(read_only, register = false)]
pub(crate) async fn reverse(text: String, probe: &Probe, cx: &ToolContext) -> String {
    probe.pass(cx).await;
    text.chars().rev().collect()
}

/// Keeps a text, when the test says so, and returns it.
#[tool(register = false)]
pub(crate) async fn keep(text: String, probe: &Probe, cx: &ToolContext) -> String {
    probe.pass(cx).await;
    text
}

/// Shows a small text, a large one, and a small one; then asks.
#[tool(register = false)]
async fn show(bytes: usize, cx: &ToolContext) -> Result<String, ToolError> {
    for text in ["first".to_owned(), "x".repeat(bytes), "last".to_owned()] {
        cx.update(text).await;
    }
    cx.log(LogLine::new(LogLevel::Info, "y".repeat(bytes)))?;
    match cx.confirmation_of("Go on?", &json!(null)) {
        None => Err(cx.request_confirmation("Go on?", json!(null))),
        Some(answer) => Ok(format!("confirmed: {}", answer.confirmed)),
    }
}

/// Begins a text with a letter.
fn begin_text(arguments: &mut Map<String, Value>) -> Result<(), ToolError> {
    if let Some(Value::String(text)) = arguments.get_mut("text")
        && !text.starts_with('b')
    {
        text.insert(0, 'b');
    }
    Ok(())
}

/// Returns a text that its `prepare` function changed.
#[tool(read_only, register = false, prepare = begin_text)]
fn prepared(text: String) -> String {
    text
}

fn registry(probe: &Arc<Probe>) -> Registry {
    let tools = Registry::builder().tool::<reverse>().tool::<keep>().tool::<show>().tool::<prepared>();
    let tools = tools.tool::<super::echo>();
    tools.provide_shared(Arc::clone(probe)).build().unwrap()
}

fn serve<T: Transport + Clone>(
    transport: &T,
    pool: &str,
    probe: &Arc<Probe>,
    store: Option<impl ValueStore>,
) -> JoinHandle<Result<(), FleetError>> {
    let worker = Worker::new(Executor::new(registry(probe)), program_key().pool_key(pool));
    let worker = worker.heartbeat(Duration::from_millis(100));
    let worker = store.into_iter().fold(worker, Worker::value_store);
    tokio::spawn(worker.serve(transport.clone(), CancellationToken::new()))
}

/// A pool of workers and a caller, with the stores of both sides.
async fn start<T: Transport + Clone, W: ValueStore + Clone>(
    transport: &T,
    name: &'static str,
    workers: usize,
    (worker_store, caller_store): (Option<W>, Option<W>),
) -> Pool {
    let probes: Vec<Arc<Probe>> = std::iter::repeat_with(Arc::default).take(workers).collect();
    let key = program_key().pool_key(name);
    let serve = |probe| serve(transport, name, probe, worker_store.clone());
    let workers: Vec<_> = probes.iter().map(serve).collect();
    // Large values take long in a program that is not optimized.
    let lost_after = Duration::from_secs(if workers.len() == 1 { 30 } else { 4 });
    let settings = FleetSettings { lost_after, ..super::settings() };
    let set = FleetToolSet::connect_with(transport.clone(), key.clone(), settings).await.unwrap();
    let set = caller_store.into_iter().fold(set, FleetToolSet::with_value_store);
    let toolbox = Toolbox::new();
    toolbox.add_toolset(set).unwrap();
    let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
    Pool { name, probes, workers, executor: Executor::new(tools), toolbox }
}

/// A pool of which both sides have the store.
async fn start_with<T: Transport + Clone>(
    transport: &T,
    name: &'static str,
    workers: usize,
    store: &TestValues,
) -> Pool {
    start(transport, name, workers, (Some(store.clone()), Some(store.clone()))).await
}

/// Text that is not the same from either end.
fn large_text() -> String {
    format!("{}b", "a".repeat(LARGE))
}

over_transports! {
    arguments_and_results_of_five_megabytes_arrive_whole,
    a_dropped_large_call_leaves_nothing,
    a_cancelled_large_call_leaves_nothing,
    a_large_call_whose_worker_is_lost_goes_on_elsewhere,
}

async fn arguments_and_results_of_five_megabytes_arrive_whole<T: Transport + Clone>(
    transport: T,
    pool: &'static str,
) {
    let store = TestValues::new();
    let pool = start_with(&transport, pool, 1, &store).await;
    pool.probes[0].released.cancel();
    let text = format!("{}b", "a".repeat(5_000_000));
    let result = pool.call("keep", json!({ "text": text })).await.unwrap();
    assert!(result.text() == text, "{:.200}", result.text());
    // What fits goes by the broker.
    assert_eq!(pool.call("reverse", json!({ "text": "ab" })).await.unwrap().text(), "ba");
    store.wait_until_empty(2).await;
    assert_eq!(store.stored().len(), 2);
    for (name, value) in store.stored() {
        assert!(name.starts_with(&format!("{}.", pool.name)), "{name}");
        assert!(
            value.len() > 5_000_000 && !value[..100_000].windows(4).any(|it| it == b"aaaa"),
            "{name} is sealed"
        );
    }
}

/// Also what its worker stores afterwards.
async fn a_dropped_large_call_leaves_nothing<T: Transport + Clone>(transport: T, pool: &'static str) {
    let store = TestValues::new();
    let pool = start_with(&transport, pool, 1, &store).await;
    let call = pool.call("keep", json!({ "text": large_text() }));
    pool.entered().await;
    call.abort();
    pool.probes[0].cancelled.notified().await;
    assert!(call.await.unwrap_err().is_cancelled());
    store.wait_until_empty(1).await;
}

async fn a_cancelled_large_call_leaves_nothing<T: Transport + Clone>(transport: T, pool: &'static str) {
    let store = TestValues::new();
    let pool = start_with(&transport, pool, 1, &store).await;
    for tool in ["reverse", "keep"] {
        let token = CancellationToken::new();
        let run = RunContext::new().with_cancellation(token.clone());
        let call = ToolCall::new(format!("{}__{tool}", pool.name), json!({ "text": large_text() }));
        let calling = pool.executor.batch(vec![call]).with_run(run).run();
        let cancelling = async {
            pool.probes[0].entered.notified().await;
            token.cancel();
            pool.probes[0].cancelled.notified().await;
        };
        // With its result, if that comes within the grace period.
        let (outcomes, ()) = tokio::join!(calling, cancelling);
        assert_eq!(outcomes.len(), 1);
    }
    store.wait_until_empty(2).await;
}

async fn a_large_call_whose_worker_is_lost_goes_on_elsewhere<T: Transport + Clone>(
    transport: T,
    pool: &'static str,
) {
    let store = TestValues::new();
    let mut pool = start_with(&transport, pool, 2, &store).await;
    let call = pool.call("reverse", json!({ "text": large_text() }));
    let first = pool.entered().await;
    pool.end_worker(first).await;
    pool.probes[1 - first].released.cancel();
    let result = call.await.unwrap();
    assert!(result.text().starts_with("baaa"), "{:.200}", result.text());
    assert_eq!(result.text().len(), LARGE + 1);
    store.wait_until_empty(2).await;
    // The request is stored once, for both workers.
    assert_eq!(store.stored().len(), 2);
}

/// A report that is stored takes longer than the caller waits for one that is missing.
#[tokio::test(start_paused = true)]
async fn large_updates_and_log_lines_arrive_in_order_beside_small_ones() {
    let slow = |kind, _, _| match kind {
        Operation::Put => Deed::Delay(Duration::from_secs(20)),
        _ => Deed::Work,
    };
    let (broker, store) = (TestBroker::new().with_max_bytes(20_000), TestValues::choosing(slow));
    let pool = start_with(&broker, "trip", 1, &store).await;
    let approve = |_: &ApprovalRequest| Approval::Approved;
    let executor = Executor::builder(pool.executor.tools().clone()).approver(approve).build().unwrap();
    let call = ToolCall::new("trip__show", json!({ "bytes": 30_000 }));
    let mut shown = super::reports::Shown::default();
    let result = shown.read_to_end(&mut executor.stream(vec![call])).await;
    assert_eq!(result.text(), "confirmed: true");
    let lengths: Vec<_> = shown.updates.iter().map(String::len).collect();
    assert_eq!(lengths[lengths.len() - 3..], [5, 30_000, 4]);
    assert!(shown.log.iter().all(|line| line.len() == 30_000), "{:.2000?}", shown.log);
    assert!(!shown.log.is_empty());
    store.wait_until_empty(2).await;
}

/// The arguments are prepared at the worker, before the call.
#[tokio::test(start_paused = true)]
async fn large_arguments_are_prepared_at_the_worker_and_leave_nothing() {
    let (broker, store) = (TestBroker::new().with_max_bytes(20_000), TestValues::new());
    let pool = start_with(&broker, "trip", 1, &store).await;
    let result = pool.call("prepared", json!({ "text": "a".repeat(30_000) })).await.unwrap();
    assert_eq!(result.text(), format!("b{}", "a".repeat(30_000)));
    store.wait_until_empty(4).await;
    assert_eq!(store.stored().len(), 4);
}

/// The worker reads and stores for longer than a worker without a sign of life is waited for.
#[tokio::test(start_paused = true)]
async fn a_slow_store_delays_a_call_and_loses_no_worker() {
    let slow = |_, _, _| Deed::Delay(Duration::from_secs(30));
    let (broker, store) = (TestBroker::new().with_max_bytes(20_000), TestValues::choosing(slow));
    let pool = start_with(&broker, "trip", 1, &store).await;
    pool.probes[0].released.cancel();
    let result = pool.call("keep", json!({ "text": "a".repeat(30_000) })).await.unwrap();
    assert_eq!(result.text().len(), 30_000);
    assert_eq!(pool.bodies(), [1]);
    let empty = async {
        while !store.is_empty() {
            tokio::time::sleep(Duration::from_secs(1)).await
        }
    };
    tokio::time::timeout(Duration::from_secs(100), empty).await.unwrap();
}

/// A heartbeat is a setting of the worker, and the time after which it is lost one of the caller.
#[tokio::test(start_paused = true)]
async fn a_result_is_stored_for_several_heartbeats_whatever_their_length() {
    let slow = |kind, _, _| match kind {
        Operation::Put => Deed::Delay(Duration::from_secs(35)),
        _ => Deed::Work,
    };
    let (broker, store) = (TestBroker::new().with_max_bytes(20_000), TestValues::choosing(slow));
    let (key, probe) = (program_key().pool_key("trip"), Arc::new(Probe::default()));
    let worker = Worker::new(Executor::new(registry(&probe)), key.clone()).value_store(store.clone());
    let worker = worker.heartbeat(Duration::from_secs(10));
    let worker = tokio::spawn(worker.serve(broker.clone(), CancellationToken::new()));
    let settings = FleetSettings { lost_after: Duration::from_secs(30), ..FleetSettings::default() };
    let set =
        FleetToolSet::connect_with(broker, key, settings).await.unwrap().with_value_store(store.clone());
    let toolbox = Toolbox::new();
    toolbox.add_toolset(set).unwrap();
    let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
    let call = ToolCall::new("trip__echo", json!({ "text": "x", "times": 30_000 }));
    let outcomes = Executor::new(tools).run(vec![call]).await;
    let result = outcomes[0].result().unwrap();
    assert_eq!(result.text().len(), 30_000, "{:.300}", result.text());
    store.wait_until_empty(1).await;
    worker.abort();
}

#[tokio::test(start_paused = true)]
async fn a_set_that_is_dropped_deletes_the_requests_of_its_open_calls() {
    let (broker, store) = (TestBroker::new().with_max_bytes(20_000), TestValues::new());
    let pool = start_with(&broker, "trip", 1, &store).await;
    let call = ToolCall::new("trip__reverse", json!({ "text": "a".repeat(30_000) }));
    let mut stream = pool.executor.stream(vec![call]);
    {
        let mut entered = std::pin::pin!(pool.entered());
        let mut reading = std::pin::pin!(async { while stream.next().await.is_some() {} });
        tokio::select! { _ = &mut entered => {}, () = &mut reading => panic!("the call has ended") }
    }
    assert!(!store.is_empty());
    assert!(pool.toolbox.remove_toolset("trip"));
    // The stream is not polled any more.
    store.wait_until_empty(1).await;
}
