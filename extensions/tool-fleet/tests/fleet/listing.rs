//! Listings while workers come and leave, or do not answer.

use std::{sync::Arc, time::Duration};

use tokio::task::JoinHandle;
use tool_fleet::{FleetError, FleetSettings, FleetToolSet, MemoryTransport, Transport, Worker};
use tool_runtime::{CancellationToken, Executor, RunContext, Tool, ToolCall, ToolSet, prelude::*};

use super::{
    Pool, Probe, add,
    broker::{Forger, Sent, TestBroker},
    connect, echo, program_key, registry,
};

#[tool_args]
struct Nothing {}

/// Adds three numbers.
#[tool(read_only, register = false)]
fn add_three(a: i64, b: i64, c: i64) -> i64 {
    a + b + c
}

async fn list(set: &FleetToolSet) -> Result<Vec<Arc<dyn Tool>>, ToolError> {
    let run = RunContext::new();
    set.tools(run.read_only()).await
}

fn names(tools: &[Arc<dyn Tool>]) -> Vec<String> {
    tools.iter().map(|tool| tool.definition().name().to_string()).collect()
}

/// A worker with some tools, until it is stopped.
struct ToolWorker {
    stop: CancellationToken,
    serving: JoinHandle<Result<(), FleetError>>,
}

impl ToolWorker {
    fn start(transport: &(impl Transport + Clone), tools: Registry) -> Self {
        let stop = CancellationToken::new();
        let worker = Worker::new(Executor::new(tools), program_key().pool_key("trip"));
        Self { serving: tokio::spawn(worker.serve(transport.clone(), stop.clone())), stop }
    }

    async fn stop(self) {
        self.stop.cancel();
        self.serving.await.unwrap().unwrap();
    }
}

/// One registry has no receiver, and the worker of the other one is silent.
#[tokio::test(start_paused = true)]
async fn a_registry_that_cannot_be_read_costs_itself_alone() {
    let transport = MemoryTransport::new();
    let pool = Pool::start(&transport, "trip", 1).await;
    let set = FleetToolSet::connect(transport.clone(), program_key().pool_key("trip")).await.unwrap();
    let (gone, silent) = ("0".repeat(64), "1".repeat(64));
    let subject = format!("tools.trip.definitions.{silent}");
    let _silent = transport.listen(&subject, Some("workers")).await.unwrap();
    for (sender, registry) in [("one", &gone), ("two", &silent)] {
        let forger = Forger::new(&transport, "trip");
        Forger { sender: sender.to_owned(), ..forger }.announce(registry).await;
    }
    let listed = list(&set).await.unwrap();
    assert_eq!(names(&listed).len(), 6);
    let mut found = set.diagnostics();
    found.sort_by(|a, b| a.message.cmp(&b.message));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|it| it.code == "registry_not_listed"));
    assert!(found[0].message.contains(&gone) && found[0].message.contains("have left"), "{found:?}");
    assert!(found[1].message.contains(&silent) && found[1].message.contains("in time"), "{found:?}");
    // Without signs of life, they are no longer there.
    tokio::time::sleep(Duration::from_secs(7)).await;
    assert_eq!(list(&set).await.unwrap().len(), 6);
    assert_eq!(set.diagnostics(), []);
    drop(pool);
}

/// Nothing else is there.
#[tokio::test(start_paused = true)]
async fn a_listing_fails_if_no_registry_can_be_read() {
    let transport = MemoryTransport::new();
    let set = FleetToolSet::connect(transport.clone(), program_key().pool_key("trip")).await.unwrap();
    Forger::new(&transport, "trip").announce(&"0".repeat(64)).await;
    let error = list(&set).await.err().unwrap();
    assert!(error.feedback().contains("the workers have left"), "{}", error.feedback());
}

/// Its worker reports it, and no caller waits for the answer.
#[tokio::test(start_paused = true)]
async fn a_definition_that_is_larger_than_the_broker_takes_costs_its_registry() {
    let broker = TestBroker::new().with_max_bytes(20_000);
    let small = Registry::builder().tool::<add>().build().unwrap();
    let large = ToolBuilder::new("large").description("x".repeat(20_000));
    let large = large.handler(|_: Nothing, _cx| async { Ok::<_, ToolError>("") }).unwrap();
    let _small = ToolWorker::start(&broker, small);
    let _large = ToolWorker::start(&broker, Registry::builder().add(large).build().unwrap());
    let set = FleetToolSet::connect(broker, program_key().pool_key("trip")).await.unwrap();
    let begin = tokio::time::Instant::now();
    assert_eq!(names(&list(&set).await.unwrap()), ["trip__add"]);
    assert!(begin.elapsed() < Duration::from_secs(1));
    let found = set.diagnostics();
    assert!(found[0].message.contains("the broker takes at most 20000"), "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn a_registry_that_left_is_forgotten_and_read_again_when_it_returns() {
    let broker = TestBroker::new();
    let one = || Registry::builder().tool::<add>().build().unwrap();
    let other = || Registry::builder().tool::<add_three>().build().unwrap();
    let set = FleetToolSet::connect(broker.clone(), program_key().pool_key("trip")).await.unwrap();
    let first = ToolWorker::start(&broker, one());
    let listed = list(&set).await.unwrap();
    assert_eq!(names(&listed), ["trip__add"]);
    let forgotten = Arc::downgrade(&listed[0]);
    drop(listed);
    let second = ToolWorker::start(&broker, other());
    first.stop().await;
    tokio::task::yield_now().await;
    assert_eq!(names(&list(&set).await.unwrap()), ["trip__add_three"]);
    assert!(forgotten.upgrade().is_none());
    let questions =
        |broker: &TestBroker| broker.seen(|sent: &Sent| sent.subject.contains(".definitions.")).len();
    let before = questions(&broker);
    let first = ToolWorker::start(&broker, one());
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(names(&list(&set).await.unwrap()), ["trip__add", "trip__add_three"]);
    assert_eq!(questions(&broker), before + 2);
    assert_eq!(list(&set).await.unwrap().len(), 2);
    assert_eq!(questions(&broker), before + 2);
    first.stop().await;
    second.stop().await;
}

/// A program has the tool of a listing of before; a worker of another registry has the same definition.
#[tokio::test(start_paused = true)]
async fn a_tool_that_a_program_kept_is_called_again_at_another_registry() {
    let transport = MemoryTransport::new();
    let set = FleetToolSet::connect(transport.clone(), program_key().pool_key("trip")).await.unwrap();
    let first = ToolWorker::start(&transport, Registry::builder().tool::<add>().build().unwrap());
    let kept = Registry::builder().add(list(&set).await.unwrap().remove(0)).build().unwrap();
    let kept = Executor::new(kept);
    let call = || vec![ToolCall::new("trip__add", json!({ "a": 1, "b": 2 }))];
    let others = Registry::builder().tool::<add_three>().build().unwrap();
    let second = ToolWorker::start(&transport, others);
    first.stop().await;
    tokio::task::yield_now().await;
    list(&set).await.unwrap();
    let outcomes = kept.run(call()).await;
    assert!(outcomes[0].result().unwrap().is_error());
    let both = Registry::builder().tool::<add>().tool::<echo>().build();
    let third = ToolWorker::start(&transport, both.unwrap());
    tokio::time::sleep(Duration::from_millis(10)).await;
    list(&set).await.unwrap();
    assert_eq!(kept.run(call()).await[0].result().unwrap().text(), "3");
    second.stop().await;
    third.stop().await;
}

/// A worker that drains takes no requests: the others answer them.
#[tokio::test(start_paused = true)]
async fn tools_are_listed_while_a_worker_ends_its_calls() {
    let transport = MemoryTransport::new();
    let probe = Arc::new(Probe::default());
    let start = || {
        let stop = CancellationToken::new();
        let worker = Worker::new(Executor::new(registry(&probe)), program_key().pool_key("trip"))
            .heartbeat(Duration::from_millis(100));
        (tokio::spawn(worker.serve(transport.clone(), stop.clone())), stop)
    };
    let (first, stop) = start();
    let (executor, _toolbox) = connect(&transport, "trip").await;
    let call = ToolCall::new("trip__book", json!({}));
    let calling = tokio::spawn(async move { executor.run(vec![call]).await });
    probe.entered.notified().await;
    let (second, _) = start();
    stop.cancel();
    tokio::time::sleep(Duration::from_millis(10)).await;
    for _ in 0..8 {
        let key = program_key().pool_key("trip");
        let set = FleetToolSet::connect(transport.clone(), key).await.unwrap();
        assert_eq!(list(&set).await.unwrap().len(), 6);
        assert!(set.diagnostics().is_empty(), "{:?}", set.diagnostics());
    }
    probe.released.cancel();
    assert!(!calling.await.unwrap()[0].result().unwrap().is_error());
    first.await.unwrap().unwrap();
    second.abort();
}

#[tokio::test(start_paused = true)]
async fn a_worker_whose_calls_do_not_end_in_time_says_how_many_it_drops() {
    let transport = MemoryTransport::new();
    let probe = Arc::new(Probe::default());
    let stop = CancellationToken::new();
    let worker = Worker::new(Executor::new(registry(&probe)), program_key().pool_key("trip"))
        .heartbeat(Duration::from_millis(100))
        .drain(Duration::from_secs(3));
    let serving = tokio::spawn(worker.serve(transport.clone(), stop.clone()));
    let (executor, _toolbox) = connect(&transport, "trip").await;
    let calling =
        tokio::spawn(async move { executor.run(vec![ToolCall::new("trip__book", json!({}))]).await });
    probe.entered.notified().await;
    stop.cancel();
    let error = serving.await.unwrap().unwrap_err();
    assert!(matches!(error, FleetError::CallsDropped { calls: 1, .. }), "{error:?}");
    assert!(error.to_string().starts_with("1 call did not end within 3s"), "{error}");
    calling.abort();
}

#[tokio::test(start_paused = true)]
async fn settings_beyond_their_range_are_errors_that_name_them() {
    let usual = FleetSettings::default();
    for (settings, name) in [
        (FleetSettings { lost_after: Duration::ZERO, ..usual }, "lost_after"),
        (FleetSettings { busy: Duration::MAX, ..usual }, "busy"),
        (FleetSettings { listing: Duration::MAX, ..usual }, "listing"),
        (FleetSettings { max_workers: 0, ..usual }, "max_workers"),
    ] {
        let key = program_key().pool_key("trip");
        let refused = FleetToolSet::connect_with(MemoryTransport::new(), key, settings).await;
        let error = refused.map(drop).unwrap_err().to_string();
        assert!(error.contains(&format!("`{name}`")), "{error}");
    }
}
