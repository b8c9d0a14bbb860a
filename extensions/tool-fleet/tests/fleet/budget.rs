//! Child runs at workers draw on the budget of the caller's run.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use tool_fleet::{MemoryTransport, Transport};
use tool_runtime::{CallOutcome, Executor, RunContext, ToolCall, context::Budget, prelude::*};

use super::{
    Probe,
    broker::{Sent, TestBroker},
    connect, serve,
};

/// Spends calls, one after the other, and waits if it is to.
#[tool(read_only, register = false)]
async fn spend(calls: usize, waits: bool, probe: &Probe, cx: &ToolContext) -> Result<usize, ToolError> {
    let run = cx.child_run("child")?;
    let mut spent = 0;
    for _ in 0..calls {
        spent += usize::from(run.obtain_call().await.is_ok());
    }
    if waits {
        probe.pass(cx).await;
    }
    Ok(spent)
}

fn start_worker(transport: &(impl Transport + Clone), probe: &Arc<Probe>) -> tokio::task::JoinHandle<()> {
    let tools = Registry::builder().tool::<spend>().provide_shared(Arc::clone(probe)).build().unwrap();
    let serving = serve(transport, "trip", Executor::new(tools));
    tokio::spawn(async move { serving.await.unwrap().unwrap() })
}

fn calls(calls: usize, each: usize, waits: bool) -> Vec<ToolCall> {
    (0..calls).map(|_| ToolCall::new("trip__spend", json!({ "calls": each, "waits": waits }))).collect()
}

fn run_with(calls: u64) -> Arc<RunContext> {
    Arc::new(RunContext::new().with_budget(Budget { calls: Some(calls), ..Budget::default() }))
}

/// The number of calls that were spent in child runs.
fn spent_in_children(outcomes: &[CallOutcome]) -> usize {
    outcomes.iter().filter_map(|outcome| outcome.result()?.text().parse::<usize>().ok()).sum()
}

#[tokio::test(start_paused = true)]
async fn calls_at_once_never_exceed_the_budget_of_their_run() {
    let transport = MemoryTransport::new();
    let _workers = [0, 1].map(|_| start_worker(&transport, &Arc::default()));
    let (executor, _toolbox) = connect(&transport, "trip").await;
    let run = run_with(10);
    let outcomes = executor.batch(calls(4, 5, false)).with_run(Arc::clone(&run)).run().await;
    assert_eq!(spent_in_children(&outcomes), 6);
    assert_eq!(run.spent().calls, 10);
    let denied = executor.batch(calls(1, 1, false)).with_run(run).run().await;
    assert!(denied[0].result().unwrap().text().contains("Over budget"));
}

/// Every second answer of the caller is lost, and the others arrive twice.
#[tokio::test(start_paused = true)]
async fn answers_that_are_lost_or_repeated_count_once() {
    let (is_lossy, controls) = (Arc::new(AtomicBool::new(false)), AtomicUsize::new(0));
    let lossy = Arc::clone(&is_lossy);
    let broker = TestBroker::tampering(move |inner, sent: Sent| {
        let is_control = sent.subject.contains(".process.") && sent.reply.is_none();
        let copies = match is_control && lossy.load(Ordering::Relaxed) {
            true => 2 * (controls.fetch_add(1, Ordering::Relaxed) % 2),
            false => 1,
        };
        async move {
            for _ in 0..copies {
                sent.deliver(&inner).await;
            }
        }
    });
    let _worker = start_worker(&broker, &Arc::default());
    let (executor, _toolbox) = connect(&broker, "trip").await;
    is_lossy.store(true, Ordering::Relaxed);
    let run = run_with(100);
    let outcomes = executor.batch(calls(1, 7, false)).with_run(Arc::clone(&run)).run().await;
    assert_eq!(spent_in_children(&outcomes), 7);
    assert_eq!(run.spent().calls, 8);
}

#[tokio::test(start_paused = true)]
async fn calls_of_a_lost_worker_stay_counted() {
    let transport = MemoryTransport::new();
    let probe = Arc::new(Probe::default());
    let tools = || Registry::builder().tool::<spend>().provide_shared(Arc::clone(&probe)).build().unwrap();
    let first = serve(&transport, "trip", Executor::new(tools()));
    let (executor, _toolbox) = connect(&transport, "trip").await;
    let run = run_with(100);
    let batch = executor.batch(calls(1, 3, true)).with_run(Arc::clone(&run));
    let calling = tokio::spawn(batch.run());
    probe.entered.notified().await;
    let _second = serve(&transport, "trip", Executor::new(tools()));
    first.abort();
    probe.entered.notified().await;
    probe.released.cancel();
    assert_eq!(spent_in_children(&calling.await.unwrap()), 3);
    // The call, and three in each of its bodies.
    assert_eq!(run.spent().calls, 7);
}
