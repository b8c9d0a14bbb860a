//! Workers and callers over a transport in memory.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::{sync::Notify, task::JoinHandle};
use tool_fleet::{FleetError, FleetToolSet, MemoryTransport, Worker};
use tool_runtime::{
    CancellationToken, Executor, RunContext, ToolCall, ToolResult, Toolbox, open_calls::ProgramKey,
    prelude::*,
};

/// What the bodies of a worker share with a test.
#[derive(Default)]
struct Probe {
    keys: std::sync::Mutex<Vec<String>>,
    bodies: AtomicUsize,
    entered: Notify,
    released: CancellationToken,
}

impl Probe {
    async fn pass(&self, cx: &ToolContext) -> usize {
        self.keys.lock().unwrap().push(cx.idempotency_key());
        let body = self.bodies.fetch_add(1, Ordering::SeqCst) + 1;
        self.entered.notify_one();
        self.released.cancelled().await;
        body
    }
}

#[tool_args]
struct Query {
    #[serde(alias = "town")]
    city: String,
    #[serde(default)]
    days: u32,
}

/// Forecasts the weather.
#[tool(read_only, register = false)]
async fn forecast(query: Query, probe: &Probe, cx: &ToolContext) -> String {
    let body = probe.pass(cx).await;
    format!("{} {} by body {body}", query.city, query.days)
}

/// Books a trip.
#[tool(register = false)]
async fn book(probe: &Probe, cx: &ToolContext) -> usize {
    probe.pass(cx).await
}

fn serve(transport: &MemoryTransport, probe: &Arc<Probe>) -> JoinHandle<Result<(), FleetError>> {
    let tools =
        Registry::builder().tool::<forecast>().tool::<book>().provide_shared(Arc::clone(probe)).build();
    let worker = Worker::new(Executor::new(tools.unwrap()), program_key().pool_key("trip"));
    tokio::spawn(worker.serve(transport.clone(), CancellationToken::new()))
}

fn program_key() -> ProgramKey {
    ProgramKey::new([7; 32])
}

/// An executor of the tools of the pool, by a toolbox that keeps the set.
async fn caller(transport: &MemoryTransport) -> (Executor, Toolbox) {
    let toolbox = Toolbox::new();
    let set = FleetToolSet::connect(transport.clone(), program_key().pool_key("trip")).await.unwrap();
    toolbox.add_toolset(set).unwrap();
    let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
    (Executor::new(tools), toolbox)
}

async fn call(executor: Executor, name: &str, arguments: Value) -> ToolResult {
    let outcomes = executor.run(vec![ToolCall::new(name, arguments)]).await;
    outcomes[0].result().cloned().unwrap()
}

/// Starts two workers and a call, and ends the worker that runs it.
async fn call_whose_worker_dies(name: &'static str, arguments: Value) -> (ToolResult, [Arc<Probe>; 2]) {
    let transport = MemoryTransport::new();
    let probes: [Arc<Probe>; 2] = Default::default();
    let mut workers = [serve(&transport, &probes[0]), serve(&transport, &probes[1])];
    let (executor, _toolbox) = caller(&transport).await;
    let calling = tokio::spawn(call(executor, name, arguments));
    let first = tokio::select! {
        () = probes[0].entered.notified() => 0,
        () = probes[1].entered.notified() => 1,
    };
    workers[first].abort();
    assert!((&mut workers[first]).await.unwrap_err().is_cancelled());
    probes[1 - first].released.cancel();
    let result = calling.await.unwrap();
    workers[1 - first].abort();
    (result, probes)
}

#[tokio::test(start_paused = true)]
async fn a_call_without_effects_whose_worker_dies_is_answered_by_another_one_with_the_same_key() {
    let (result, probes) =
        call_whose_worker_dies("trip__forecast", json!({ "query": { "town": "Paris", "days": 2 } })).await;
    assert_eq!(result.text(), "Paris 2 by body 1");
    let keys = probes.map(|probe| probe.keys.lock().unwrap().clone());
    assert_eq!(keys[0].len(), 1);
    assert_eq!(keys[0], keys[1]);
}

#[tokio::test(start_paused = true)]
async fn a_call_with_effects_whose_worker_dies_is_interrupted_and_runs_nowhere_else() {
    let (result, probes) = call_whose_worker_dies("trip__book", json!({})).await;
    assert!(result.text().contains("may have taken effect"), "{}", result.text());
    let bodies: usize = probes.iter().map(|probe| probe.bodies.load(Ordering::SeqCst)).sum();
    assert_eq!(bodies, 1);
}

#[tokio::test(start_paused = true)]
async fn a_caller_judges_the_arguments_that_the_worker_runs_also_under_aliases() {
    let transport = MemoryTransport::new();
    let worker = serve(&transport, &Arc::default());
    let (executor, _toolbox) = caller(&transport).await;
    let definition = executor.tools().get("trip__forecast").unwrap().definition().clone();
    let received = r#"{ "query": { "town": "Paris", "unknown": 1 } }"#;
    let canonical = definition.canonical(received.into()).unwrap();
    let local = Registry::builder().tool::<forecast>().provide(Probe::default()).build().unwrap();
    let expected = local.definitions()[0].canonical(received.into()).unwrap();
    assert_eq!(canonical.as_str(), expected.as_str());
    assert!(canonical.as_str().contains(r#""city":"Paris""#), "{}", canonical.as_str());
    worker.abort();
}

#[tokio::test(start_paused = true)]
async fn a_process_with_the_key_of_another_program_lists_nothing() {
    let transport = MemoryTransport::new();
    let worker = serve(&transport, &Arc::default());
    let key = ProgramKey::new([8; 32]).pool_key("trip");
    let set = FleetToolSet::connect(transport.clone(), key).await.unwrap();
    let run = RunContext::new();
    let error = tool_runtime::ToolSet::tools(&set, run.read_only()).await.err().unwrap();
    assert!(error.feedback().contains("no worker of the pool `trip` answers"), "{}", error.feedback());
    worker.abort();
}
