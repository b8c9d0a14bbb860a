//! Durable calls, over each queue.

mod backlog;
mod brokers;
mod contract;
mod failures;
mod forged;
mod queue;
mod session;
mod storage;
mod suite;
mod values;

use std::{sync::Arc, time::Duration};

use tokio::task::JoinHandle;
use tool_fleet::{
    CallQueue, CallState, DurableCalls, FleetError, FleetSettings, FleetToolSet, MemoryCallQueue,
    MemoryTransport, QueueLimits, Transport, Worker,
};
use tool_runtime::{
    CallOutcome, CancellationToken, Executor, RunContext, ToolCall, Toolbox,
    executor::RunSettings,
    open_calls::{MemoryOpenCalls, SharedOpenCallStore},
    prelude::*,
    serde_json::Map,
};

use super::{Probe, add, book, forecast, program_key, values::TestValues};

/// Makes a test of each function for each queue, with a pool that is named as it.
macro_rules! over_queues {
    ($($name:ident,)+) => {
        mod memory {
            $(#[tokio::test(start_paused = true)]
            async fn $name() {
                super::$name($crate::durable::Broker::Memory(Default::default()), stringify!($name)).await;
            })+
        }

        #[cfg(all(feature = "postgres", unix))]
        mod postgres {
            $(#[tokio::test]
            async fn $name() {
                let Some(transport) = crate::postgres::new_transport().await else { return };
                super::$name($crate::durable::Broker::Postgres(transport), stringify!($name)).await;
            })+
        }

        #[cfg(feature = "nats")]
        mod jetstream {
            $(#[tokio::test]
            async fn $name() {
                let Some(url) = test_support::nats::shared_jetstream_url() else { return };
                let transport = tool_fleet::NatsTransport::connect(url).await.unwrap();
                super::$name($crate::durable::Broker::Nats(transport), stringify!($name)).await;
            })+
        }
    };
}
pub(crate) use over_queues;

/// The broker of a test.
#[derive(Clone)]
pub(crate) enum Broker {
    Memory(MemoryTransport),
    #[cfg(all(feature = "postgres", unix))]
    Postgres(tool_fleet::PostgresTransport),
    #[cfg(feature = "nats")]
    Nats(tool_fleet::NatsTransport),
}

impl Broker {
    pub(crate) fn transport(&self) -> Arc<dyn Transport> {
        match self {
            Self::Memory(transport) => Arc::new(transport.clone()),
            #[cfg(all(feature = "postgres", unix))]
            Self::Postgres(transport) => Arc::new(transport.clone()),
            #[cfg(feature = "nats")]
            Self::Nats(transport) => Arc::new(transport.clone()),
        }
    }

    pub(crate) async fn queue(&self, pool: &str, limits: QueueLimits) -> Arc<dyn CallQueue> {
        match self {
            Self::Memory(_) => Arc::new(MemoryCallQueue::with_limits(pool, limits)),
            #[cfg(all(feature = "postgres", unix))]
            Self::Postgres(transport) => Arc::new(transport.call_queue(pool).with_limits(limits)),
            #[cfg(feature = "nats")]
            Self::Nats(transport) => {
                Arc::new(tool_fleet::JetStreamCallQueue::open_with(transport, pool, limits).await.unwrap())
            }
        }
    }
}

/// Trains a model.
#[tool(long_running, register = false)]
async fn train(probe: &Probe, cx: &ToolContext) -> usize {
    probe.pass(cx).await
}

/// Orders a part, which is delivered later.
#[tool(long_running, register = false)]
fn order() -> ToolOutput {
    ToolOutput::from("ordered").with_operation_id("order-7")
}

fn in_capitals(arguments: &mut Map<String, Value>) -> Result<(), ToolError> {
    if let Some(Value::String(city)) = arguments.get_mut("city") {
        *city = city.to_uppercase();
    }
    Ok(())
}

/// Stays somewhere.
#[tool(register = false, prepare = in_capitals)]
fn stay(city: String, probe: &Probe) -> String {
    probe.keys.lock().unwrap().push(city.clone());
    format!("stayed in {city}")
}

fn registry(probe: &Arc<Probe>) -> Registry {
    let tools = Registry::builder()
        .tool::<forecast>()
        .tool::<book>()
        .tool::<add>()
        .tool::<train>()
        .tool::<order>()
        .tool::<stay>()
        .tool::<super::echo>()
        .tool::<crate::values::keep>()
        .tool::<crate::values::reverse>();
    tools.provide_shared(Arc::clone(probe)).build().unwrap()
}

/// A pool with a queue, whose workers come and go.
struct DurablePool {
    name: &'static str,
    broker: Broker,
    queue: Arc<dyn CallQueue>,
    /// The store of large values of both sides.
    values: Option<TestValues>,
    workers: Vec<JoinHandle<Result<(), FleetError>>>,
}

impl Drop for DurablePool {
    fn drop(&mut self) {
        self.workers.iter().for_each(JoinHandle::abort);
    }
}

impl DurablePool {
    async fn new(broker: Broker, name: &'static str) -> Self {
        Self::with_limits(broker, name, QueueLimits::default()).await
    }

    async fn with_limits(broker: Broker, name: &'static str, limits: QueueLimits) -> Self {
        let queue = broker.queue(name, limits).await;
        Self { name, broker, queue, values: None, workers: Vec::new() }
    }

    /// Starts a worker, and returns the signals of its bodies.
    fn start_worker(&mut self) -> Arc<Probe> {
        self.start_stoppable_worker(Duration::from_secs(30)).0
    }

    fn start_stoppable_worker(&mut self, drain: Duration) -> (Arc<Probe>, CancellationToken) {
        let stop = CancellationToken::new();
        let probe = Arc::new(Probe::default());
        let worker = Worker::new(Executor::new(registry(&probe)), program_key().pool_key(self.name))
            .heartbeat(Duration::from_millis(500))
            .drain(drain)
            .queue(Arc::clone(&self.queue));
        let worker = self.values.iter().cloned().fold(worker, Worker::value_store);
        self.workers.push(tokio::spawn(worker.serve(self.broker.transport(), stop.clone())));
        (probe, stop)
    }

    /// Ends a worker at once, without a word.
    async fn end_worker(&mut self, worker: usize) {
        self.workers[worker].abort();
        assert!((&mut self.workers[worker]).await.unwrap_err().is_cancelled());
    }

    fn durable(&self) -> DurableCalls {
        let durable = DurableCalls::new(Arc::clone(&self.queue), program_key().pool_key(self.name)).unwrap();
        let durable = self.values.iter().cloned().fold(durable, DurableCalls::value_store);
        durable.wait(Duration::from_millis(300))
    }

    /// A caller, whose tools were listed while a worker was there.
    async fn caller(&mut self, durable: DurableCalls, store: &SharedOpenCallStore) -> Caller {
        let is_alone = self.workers.is_empty();
        if is_alone {
            self.start_worker();
        }
        let toolbox = Toolbox::new();
        let set = FleetToolSet::connect_durable(self.broker.transport(), FleetSettings::default(), durable);
        toolbox.add_toolset(set.await.unwrap()).unwrap();
        let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
        if is_alone {
            self.end_worker(0).await;
            self.workers.clear();
        }
        let executor = Executor::builder(tools).open_calls(store.clone()).build().unwrap();
        Caller { pool: self.name, executor, _toolbox: toolbox }
    }

    async fn states(&self) -> Vec<CallState> {
        self.queue.settle_calls().await.unwrap();
        self.queue.list_calls(&CallState::ALL).await.unwrap().into_iter().map(|call| call.state).collect()
    }

    /// Waits until a call is in this state.
    async fn reach(&self, state: CallState) {
        while !self.states().await.contains(&state) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

/// A process that calls.
struct Caller {
    pool: &'static str,
    executor: Executor,
    _toolbox: Toolbox,
}

impl Caller {
    fn batch(&self, tool: &str, arguments: Value) -> Vec<ToolCall> {
        vec![ToolCall::new(format!("{}__{tool}", self.pool), arguments)]
    }

    async fn call(&self, tool: &str, arguments: Value) -> CallOutcome {
        self.executor.run(self.batch(tool, arguments)).await.remove(0)
    }

    async fn call_in(&self, run: RunContext, tool: &str) -> CallOutcome {
        let batch = self.executor.batch(self.batch(tool, arguments_of(tool))).with_run(run);
        batch.run().await.remove(0)
    }
}

fn arguments_of(tool: &str) -> Value {
    match tool {
        "forecast" => json!({ "query": { "city": "Paris", "days": 2 } }),
        _ => json!({}),
    }
}

fn open_calls() -> SharedOpenCallStore {
    SharedOpenCallStore::new(MemoryOpenCalls::new())
}

/// An executor of another process, which has the store alone.
fn other_process(store: &SharedOpenCallStore) -> Executor {
    let none = Registry::builder().build().unwrap();
    let executor = Executor::builder(none).open_calls(store.clone()).build().unwrap();
    executor.with_settings(&RunContext::new(), RunSettings::new()).unwrap()
}
