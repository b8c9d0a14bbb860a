//! Calls that a worker's executor leaves open: they have no answer there.

use std::time::Duration;

use tokio::task::JoinHandle;
use tool_fleet::{
    DurableCalls, FleetError, FleetSettings, FleetToolSet, MemoryCallQueue, MemoryTransport, Worker,
};
use tool_runtime::{
    CallOutcome, CancellationToken, Executor, RunContext, ToolCall, Toolbox,
    call::Operation,
    open_calls::{MemoryOpenCalls, SharedOpenCallStore},
    prelude::*,
};

use super::program_key;

/// Orders a part, which is delivered later.
#[tool(long_running, register = false)]
fn order() -> ToolOutput {
    ToolOutput::from("ordered").with_operation_id("order-7")
}

/// Trains a model.
#[tool(long_running, register = false)]
fn train() -> String {
    "trained".to_owned()
}

/// Asks a person.
#[tool(register = false)]
fn ask(cx: &ToolContext) -> Result<String, ToolError> {
    Err(cx.request_confirmation("Go on?", json!(null)))
}

/// Opens a page.
#[tool(register = false)]
fn open_page() {}

const POOL: &str = "shop";

/// A worker with a store of open calls, and a queue.
struct Shop {
    transport: MemoryTransport,
    queue: DurableCalls,
    worker: JoinHandle<Result<(), FleetError>>,
}

impl Drop for Shop {
    fn drop(&mut self) {
        self.worker.abort();
    }
}

impl Shop {
    fn new(store: SharedOpenCallStore) -> Self {
        let (transport, queue) = (MemoryTransport::new(), MemoryCallQueue::new(POOL));
        let durable = DurableCalls::new(queue.clone(), program_key().pool_key(POOL)).unwrap();
        let tools = Registry::builder().tool::<order>().tool::<train>().tool::<ask>().tool::<open_page>();
        let executor = Executor::builder(tools.build().unwrap())
            .open_calls(store)
            .external(|call| call.tool() == "open_page")
            .build()
            .unwrap();
        let worker = Worker::new(executor, program_key().pool_key(POOL)).queue(queue);
        let worker = tokio::spawn(worker.serve(transport.clone(), CancellationToken::new()));
        Self { transport, queue: durable.wait(Duration::from_secs(60)), worker }
    }

    /// Calls a tool by an executor with `store`, and returns the outcome, and the text of a durable call's end.
    async fn call(&self, tool: &str, is_durable: bool, store: SharedOpenCallStore) -> (CallOutcome, String) {
        let toolbox = Toolbox::new();
        let (transport, key) = (self.transport.clone(), program_key().pool_key(POOL));
        let set = match is_durable {
            false => FleetToolSet::connect(transport, key).await,
            true => {
                FleetToolSet::connect_durable(transport, FleetSettings::default(), self.queue.clone()).await
            }
        };
        toolbox.add_toolset(set.unwrap()).unwrap();
        let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
        let executor = Executor::builder(tools).open_calls(store).build().unwrap();
        let call = ToolCall::new(format!("{POOL}__{tool}"), json!({})).with_id(tool);
        let outcome = executor.run(vec![call]).await.remove(0);
        let is_awaited = is_durable && !outcome.is_finished();
        let answer = match is_awaited {
            true => Some(self.queue.wait_for_answers(&executor).await.unwrap().remove(0).result),
            false => outcome.result().cloned(),
        };
        let text = answer.map(|it| it.text().to_string()).unwrap_or_default();
        (outcome, text)
    }
}

fn open_calls() -> SharedOpenCallStore {
    SharedOpenCallStore::new(MemoryOpenCalls::new())
}

/// Otherwise each one would stay there for a day, and calls that were executed would fail once it is full.
#[tokio::test(start_paused = true)]
async fn calls_that_a_worker_leaves_open_take_no_room_in_its_store() {
    let shop = Shop::new(SharedOpenCallStore::new(MemoryOpenCalls::new().at_most(0)));
    for (tool, is_durable, expected) in [
        ("order", true, "ordered"),
        ("train", true, "trained"),
        ("ask", true, "the body of a durable call asked a person"),
        ("open_page", true, "the worker left the call to its own caller"),
        ("order", false, "ordered"),
        ("train", false, "trained"),
        ("open_page", false, "the worker left the call open, and its answer has no way back"),
    ] {
        let (_, text) = shop.call(tool, is_durable, open_calls()).await;
        assert!(text.contains(expected), "{tool}, durable: {is_durable}: {text}");
    }
}

/// As in processes that are workers and callers. The open call is the caller's.
#[tokio::test(start_paused = true)]
async fn a_worker_leaves_the_open_calls_of_its_caller_in_a_store_of_both() {
    let store = open_calls();
    let shop = Shop::new(store.clone());
    for is_durable in [true, false] {
        let (outcome, text) = shop.call("order", is_durable, store.clone()).await;
        assert_eq!(text, "ordered", "durable: {is_durable}");
        let CallOutcome::Pending(pending) = &outcome else { panic!("{outcome:?} is not open") };
        assert!(matches!(pending.operation, Operation::LongRunning(_)), "{pending:?}");
        let executor = Executor::builder(Registry::builder().build().unwrap());
        let executor = executor.open_calls(store.clone()).build().unwrap();
        assert_eq!(executor.open_operation(&pending.address).await.unwrap().as_deref(), Some("order-7"));
        let delivered = executor.submit_result(&pending.address, Ok("delivered".into())).await.unwrap();
        assert_eq!(delivered.text(), "delivered");
        assert_eq!(executor.open_calls().await.unwrap().len(), 0);
    }
}
