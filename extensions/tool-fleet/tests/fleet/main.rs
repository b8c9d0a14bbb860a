//! Workers and callers in one process, over each transport.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, reason = "tests")]

mod agreement;
mod attack;
mod broker;
mod budget;
mod children;
#[cfg(all(feature = "cli", feature = "nats", feature = "postgres", unix))]
mod commands;
mod durable;
mod ended;
mod forged_calls;
mod forged_listings;
mod left_open;
mod listing;
mod memory;
#[cfg(feature = "nats")]
mod permissions;
#[cfg(all(feature = "postgres", unix))]
mod postgres;
#[cfg(all(feature = "postgres", unix))]
mod processes;
mod receivers;
mod reports;
mod steps;
mod stopping;
mod suite;
#[cfg(feature = "opentelemetry")]
mod telemetry;
#[path = "../shared/test_broker.rs"]
mod test_broker;
mod tool_sets;
mod values;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::select_all;
use tokio::{sync::Notify, task::JoinHandle};
use tool_fleet::{FleetError, FleetSettings, FleetToolSet, Transport, Worker};
use tool_runtime::{
    CancellationToken, Executor, RunContext, ToolCall, ToolResult, Toolbox, open_calls::ProgramKey,
    prelude::*,
};

/// Signals that the bodies of a worker share with a test.
#[derive(Default)]
struct Probe {
    keys: Mutex<Vec<String>>,
    bodies: AtomicUsize,
    entered: Notify,
    released: CancellationToken,
    cancelled: Notify,
}

impl Probe {
    /// Waits until the test releases the bodies, or the call is cancelled.
    async fn pass(&self, cx: &ToolContext) -> usize {
        self.keys.lock().unwrap().push(cx.idempotency_key());
        let body = self.bodies.fetch_add(1, Ordering::SeqCst) + 1;
        self.entered.notify_one();
        tokio::select! {
            () = self.released.cancelled() => {}
            () = cx.cancellation().cancelled() => self.cancelled.notify_one(),
        }
        body
    }

    fn bodies(&self) -> usize {
        self.bodies.load(Ordering::SeqCst)
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

/// Adds two numbers.
#[tool(read_only, register = false)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Fails at first.
#[tool(read_only, register = false, retry(attempts = 5, initial = "1ms", jitter = false))]
async fn flaky(probe: &Probe) -> Result<usize, ToolError> {
    match probe.bodies.fetch_add(1, Ordering::SeqCst) + 1 {
        body @ 1..3 => Err(ToolError::new(ErrorKind::Unavailable, format!("body {body}")).retryable(true)),
        body => Ok(body),
    }
}

/// Counts aloud.
#[tool(read_only, register = false)]
async fn count(to: usize, probe: &Probe, cx: &ToolContext) -> String {
    for number in 1..=to {
        cx.update(number.to_string()).await;
        probe.bodies.fetch_add(1, Ordering::SeqCst);
    }
    format!("{to} in all")
}

/// Repeats a text.
#[tool(read_only, register = false)]
fn echo(text: String, times: usize) -> String {
    text.repeat(times)
}

fn program_key() -> ProgramKey {
    ProgramKey::new([7; 32])
}

fn registry(probe: &Arc<Probe>) -> Registry {
    let tools = Registry::builder().tool::<forecast>().tool::<book>().tool::<add>().tool::<flaky>();
    tools.tool::<count>().tool::<echo>().provide_shared(Arc::clone(probe)).build().unwrap()
}

/// Settings of short times, for transports whose clock is not paused.
fn settings() -> FleetSettings {
    let (lost_after, busy) = (Duration::from_millis(600), Duration::from_millis(300));
    FleetSettings { lost_after, busy, ..FleetSettings::default() }
}

/// A pool of a test: a worker for each probe, and a caller.
struct Pool {
    name: &'static str,
    probes: Vec<Arc<Probe>>,
    workers: Vec<JoinHandle<Result<(), FleetError>>>,
    executor: Executor,
    toolbox: Toolbox,
}

impl Drop for Pool {
    fn drop(&mut self) {
        self.workers.iter().for_each(JoinHandle::abort);
    }
}

impl Pool {
    async fn start<T: Transport + Clone>(transport: &T, name: &'static str, workers: usize) -> Self {
        Self::start_with(transport, name, workers, settings()).await
    }

    async fn start_with<T: Transport + Clone>(
        transport: &T,
        name: &'static str,
        workers: usize,
        settings: FleetSettings,
    ) -> Self {
        let probes: Vec<Arc<Probe>> = std::iter::repeat_with(Arc::default).take(workers).collect();
        let serve = |probe| serve(transport, name, Executor::new(registry(probe)));
        let workers = probes.iter().map(serve).collect();
        let (executor, toolbox) = connect_with(transport, name, settings).await;
        Self { name, probes, workers, executor, toolbox }
    }

    /// Begins a call.
    fn call(&self, tool: &str, arguments: Value) -> JoinHandle<ToolResult> {
        let (executor, name) = (self.executor.clone(), format!("{}__{tool}", self.name));
        tokio::spawn(async move {
            let outcomes = executor.run(vec![ToolCall::new(name, arguments)]).await;
            outcomes[0].result().cloned().unwrap()
        })
    }

    /// Waits until a body runs, and returns the number of its worker.
    async fn entered(&self) -> usize {
        let entered = self.probes.iter().map(|probe| Box::pin(probe.entered.notified()));
        select_all(entered).await.1
    }

    /// Ends a worker at once, without a word.
    async fn end_worker(&mut self, worker: usize) {
        self.workers[worker].abort();
        assert!((&mut self.workers[worker]).await.unwrap_err().is_cancelled());
    }

    /// The numbers of bodies that ran at each worker.
    fn bodies(&self) -> Vec<usize> {
        self.probes.iter().map(|probe| probe.bodies()).collect()
    }
}

fn serve<T: Transport + Clone>(
    transport: &T,
    pool: &str,
    executor: Executor,
) -> JoinHandle<Result<(), FleetError>> {
    let worker = Worker::new(executor, program_key().pool_key(pool)).heartbeat(Duration::from_millis(100));
    tokio::spawn(worker.serve(transport.clone(), CancellationToken::new()))
}

/// An executor of the tools of the pool, by a toolbox that keeps the set.
async fn connect<T: Transport + Clone>(transport: &T, pool: &str) -> (Executor, Toolbox) {
    connect_with(transport, pool, settings()).await
}

async fn connect_with<T: Transport + Clone>(
    transport: &T,
    pool: &str,
    settings: FleetSettings,
) -> (Executor, Toolbox) {
    let toolbox = Toolbox::new();
    let key = program_key().pool_key(pool);
    let set = FleetToolSet::connect_with(transport.clone(), key, settings).await.unwrap();
    toolbox.add_toolset(set).unwrap();
    let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
    (Executor::new(tools), toolbox)
}
