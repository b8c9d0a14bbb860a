//! Child runs, which are started by a call.

use std::{
    future::pending,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use futures_util::future::join;
use tokio::sync::{Notify, Semaphore};
use tool_runtime::{
    CancellationToken, Executor, RunContext, ToolCall,
    context::{LogLevel, LogLine, Progress, Trigger},
    event::EventKind,
    executor::{Batch, StreamItem},
    prelude::*,
    serde_json::Map,
};

use super::{
    building, executor, hang, short, texts, told,
    ways::{Observed, Watch, Way, each_way, each_way_paused},
};

// Q32
#[test]
fn a_child_run_cannot_raise_the_depth_limit_of_its_parent() {
    let run = RunContext::new().with_max_depth(1);
    let child = run.child("one").with_max_depth(50);
    assert!(child.stopped().is_none() && child.child("two").stopped().is_some());
    let narrowed = RunContext::new().child("one").with_max_depth(1);
    assert!(narrowed.child("two").stopped().is_none());
    assert!(narrowed.child("two").child("three").stopped().is_some());
}

fn map(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

// C08, C09, Q17, Q20, Q21, V09
#[test]
fn a_child_run_inherits_from_its_parent_and_knows_its_call() {
    /// Inspects a child run of its call.
    #[tool(register = false)]
    fn descend(cx: &ToolContext) -> Result<Value, ToolError> {
        let child = cx.child_run("researcher")?;
        let Some(Trigger::Call { id, tool, address }) = child.trigger() else {
            return Err(ToolError::failed("no call"));
        };
        assert_eq!(*address, cx.address());
        let other = cx.child_run("researcher")?;
        assert_ne!(child.key(), other.key(), "two calls of one agent have histories of their own");
        let key = child.key().unwrap_or_default();
        child.set("attempts", 0_u32);
        Ok(json!({
            "of": [child.app(), child.user(), child.session(), child.branch(), child.user_content()],
            "meta": child.meta(), "state": *child.state(), "depth": child.depth(),
            "trigger": [id.to_string(), tool], "key": key == format!("researcher-{}", child.id()),
            "parent": child.parent_id() == cx.run().map(|run| run.id()),
            "limit": child.provided().get::<Limit>().map(|limit| limit.0),
            "attempts": [child.value::<u32>("attempts").as_deref(), cx.run().and_then(|run| run.value::<u32>("attempts")).as_deref()],
        }))
    }
    struct Limit(u32);
    each_way(async |way| {
        let executor = way.executor(Registry::builder().tool::<descend>());
        let run = RunContext::new()
            .with_app("shop")
            .with_user("u-7")
            .with_session("s-1")
            .with_branch("root")
            .with_user_content("hello")
            .with_state(map(json!({ "k": 1 })))
            .provide(Limit(5));
        run.set("attempts", 3_u32);
        let calls =
            vec![ToolCall::new("descend", "{}").with_id("0"), ToolCall::new("descend", "{}").with_id("1")];
        let outcomes = executor.drive(executor.batch(calls).with_run(run)).await;
        for (id, outcome) in ["0", "1"].into_iter().zip(&outcomes) {
            let expected = json!({
                "of": ["shop", "u-7", "s-1", "root.researcher", null],
                "meta": { "id": "s-1" }, "state": {}, "depth": 1,
                "trigger": [id, "descend"], "key": true, "parent": true, "limit": 5, "attempts": [0, 3],
            });
            assert_eq!(outcome.result().unwrap().structured(), Some(expected));
        }
    });
}

/// The executor and the depth of nested calls.
struct Nesting {
    executor: OnceLock<Executor>,
    deepest: AtomicUsize,
    arrived: Semaphore,
}

impl Nesting {
    fn new() -> Arc<Self> {
        Arc::new(Self { executor: OnceLock::new(), deepest: AtomicUsize::new(0), arrived: Semaphore::new(0) })
    }
}

/// Calls itself in child runs to a given depth, and then waits forever.
#[tool(register = false)]
async fn nest(cx: &ToolContext, to: &Nesting, levels: usize) -> Result<String, ToolError> {
    to.deepest.fetch_max(cx.run().map_or(0, |run| run.depth()), Ordering::Relaxed);
    if levels == 0 {
        to.arrived.add_permits(1);
        pending::<()>().await;
    }
    let run = cx.child_run("inner")?;
    let executor = to.executor.get().expect("it is set before it runs");
    let call = ToolCall::new("nest", json!({ "levels": levels - 1 }));
    let outcomes = executor.batch(vec![call]).with_run(run).run().await;
    Ok(texts(&outcomes).concat())
}

// C09, Q05
#[test]
fn a_hundred_nested_runs_end_when_the_first_call_is_cancelled() {
    // Without optimisation, a level uses about 30 KiB of stack.
    let thread = thread::Builder::new().stack_size(16 << 20).spawn(cancel_a_hundred_nested_runs);
    assert!(thread.is_ok_and(|thread| thread.join().is_ok()));
}

fn cancel_a_hundred_nested_runs() {
    each_way(async |way| {
        let nesting = Nesting::new();
        let executor = way.executor(Registry::builder().tool::<nest>().provide_shared(Arc::clone(&nesting)));
        assert!(nesting.executor.set(executor.clone()).is_ok());
        let stop = CancellationToken::new();
        let run = RunContext::new().with_max_depth(100).with_cancellation(stop.clone());
        let call = ToolCall::new("nest", json!({ "levels": 100 }));
        let stopping = async {
            nesting.arrived.acquire().await.expect("it is never closed").forget();
            stop.cancel();
        };
        let (outcomes, ()) = join(executor.drive(executor.batch(vec![call]).with_run(run)), stopping).await;
        assert_eq!(texts(&outcomes), ["Cancelled"]);
        assert_eq!(nesting.deepest.load(Ordering::Relaxed), 100);
        executor.events();
    });
}

// Q32
#[test]
fn a_run_that_nests_too_deeply_is_an_error_of_the_call() {
    each_way(async |way| {
        let nesting = Nesting::new();
        let executor = way.executor(Registry::builder().tool::<nest>().provide_shared(Arc::clone(&nesting)));
        assert!(nesting.executor.set(executor.clone()).is_ok());
        for (run, most) in [(RunContext::new(), 16), (RunContext::new().with_max_depth(2), 2)] {
            let call = ToolCall::new("nest", json!({ "levels": 100 }));
            let outcomes = executor.drive(executor.batch(vec![call]).with_run(run)).await;
            let expected = format!(
                "Tool unavailable: a run below this call would be on level {}, and {most} are allowed",
                most + 1
            );
            assert_eq!(texts(&outcomes), [expected]);
        }
        executor.events();
    });
}

/// The executor of nested calls.
struct Inner(Executor);

/// Sends an update.
#[tool(register = false)]
async fn wave(cx: &ToolContext) -> &'static str {
    cx.update("half").await;
    "o/"
}

/// Runs calls of another executor in a child run.
#[tool(register = false, title = "Delegate it")]
async fn delegate(cx: &ToolContext, to: &Inner, depth: usize) -> Result<String, ToolError> {
    let run = cx.child_run(format!("agent-{depth}"))?;
    let call = match depth {
        0 => ToolCall::new("wave", "{}"),
        _ => ToolCall::new("delegate", json!({ "depth": depth - 1 })),
    };
    let outcomes = to.0.batch(vec![call.with_id(format!("{depth}-inner"))]).with_run(run).run().await;
    Ok(texts(&outcomes).concat())
}

/// Returns calls of `delegate` in a run of the agent `root`.
fn delegating(executor: &Observed, depth: usize) -> Batch {
    let call = ToolCall::new("delegate", json!({ "depth": depth })).with_id("0");
    executor.batch(vec![call]).with_run(RunContext::new().with_agent("root").with_id("r-1"))
}

// Q23
#[test]
fn events_of_a_child_run_are_wrapped_in_events_of_its_call() {
    each_way(async |way| {
        let inner = executor(Registry::builder().tool::<wave>());
        let mut listener = inner.subscribe();
        let executor = way.executor(Registry::builder().tool::<delegate>().provide(Inner(inner)));
        let outcomes = executor.drive(delegating(&executor, 0)).await;
        assert_eq!(texts(&outcomes), ["o/"]);
        // Listeners of the child's executor receive its events directly.
        assert_eq!(told(&mut listener), ["started 0-inner", "updated 0-inner", "finished 0-inner"]);
        let Some(events) = executor.events() else { return };
        let expected =
            ["started 0", "0 > started 0-inner", "0 > updated 0-inner", "0 > finished 0-inner", "finished 0"];
        assert_eq!(events.iter().map(short).collect::<Vec<_>>(), expected);
        for event in &events {
            assert_eq!((event.author.as_deref(), event.title()), (Some("root"), "Delegate it"));
            assert_eq!((event.run.as_ref(), event.id()), (Some(&"r-1".into()), &"0".into()));
            if let EventKind::Child { event: below } = &event.kind {
                assert_eq!((below.author.as_deref(), below.name()), (Some("agent-0"), "wave"));
                assert!(below.run.is_some() && below.run != event.run && below.time <= event.time);
                assert_eq!(below.address.run, below.run);
            }
        }
    });
}

// K01, Q23
#[test]
fn a_second_attempt_reports_as_the_first_one_does() {
    /// Fails once, and then reports in each way.
    #[tool(register = false, retry(attempts = 2, initial = "1ms"))]
    async fn report(cx: &ToolContext, to: &Inner) -> Result<String, ToolError> {
        if cx.attempt() == 1 {
            return Err(ToolError::failed("busy").retryable(true));
        }
        cx.update("half").await;
        cx.progress(Progress::new(1.0))?;
        cx.log(LogLine::new(LogLevel::Info, "here"))?;
        let run = cx.child_run("agent")?;
        to.0.batch(vec![ToolCall::new("wave", "{}").with_id("1")]).with_run(run).run().await;
        let taken = (0..100).filter(|n| cx.try_update(n.to_string())).count();
        Ok(format!("{taken} were taken"))
    }
    each_way_paused(async |way| {
        let inner = executor(Registry::builder().tool::<wave>());
        let executor = way.executor(Registry::builder().tool::<report>().provide(Inner(inner)));
        let batch = executor.batch(vec![ToolCall::new("report", "{}").with_id("0")]);
        let outcomes = executor.drive(batch.with_run(RunContext::new())).await;
        let Some(events) = executor.events() else { return assert!(outcomes[0].is_finished()) };
        assert_eq!(texts(&outcomes), ["64 were taken"]);
        let told: Vec<_> = events.iter().map(short).collect();
        let reports = ["updated 0", "progress 0", "log 0"];
        let below = ["0 > started 1", "0 > updated 1", "0 > finished 1"];
        assert_eq!(told[told.len() - 71..told.len() - 65], [reports, below].concat());
        assert_eq!(told.last().unwrap(), "finished 0");
    });
}

// Q23, H15
#[test]
fn a_listener_receives_each_event_of_a_child_run_once() {
    each_way(async |way| {
        // With the same executor on each level, its listeners receive the events of all levels through the first call.
        let executor = nested(way);
        let call = ToolCall::new("again", json!({ "depth": 2, "last": "wave" })).with_id("2");
        let batch = executor.batch(vec![call]).with_run(RunContext::new());
        assert_eq!(texts(&executor.drive(batch).await), ["o/"]);
        executor.assert_told([
            "started 2",
            "2 > started 1",
            "2 > 1 > started 0",
            "2 > 1 > updated 0",
            "2 > 1 > finished 0",
            "2 > finished 1",
            "finished 2",
        ]);
    });
}

/// The executor of the call itself.
struct Lazy(Arc<OnceLock<Executor>>);

/// An executor whose tools use it in child runs.
fn nested(way: Way) -> Observed {
    let cell = Arc::new(OnceLock::new());
    let tools = Registry::builder().tool::<again>().tool::<leave>().tool::<wave>().tool::<hang>();
    let executor = way.executor(tools.provide(Lazy(Arc::clone(&cell))).provide(Left::default()));
    assert!(cell.set((*executor).clone()).is_ok());
    executor
}

/// Calls itself in child runs, and finally another tool.
#[tool(register = false)]
async fn again(cx: &ToolContext, to: &Lazy, depth: usize, last: String) -> Result<String, ToolError> {
    let executor = to.0.get().ok_or_else(|| ToolError::failed("no executor"))?;
    let depth = depth - 1;
    let call = match depth {
        0 => ToolCall::new(last, "{}"),
        _ => ToolCall::new("again", json!({ "depth": depth, "last": last })),
    };
    let batch = executor.batch(vec![call.with_id(depth.to_string())]);
    Ok(texts(&batch.with_run(cx.child_run("inner")?).run().await).concat())
}

// H14, Q23
#[test]
fn a_child_run_that_is_dropped_ends_before_its_call() {
    each_way(async |way| {
        let (executor, stop) = (nested(way), CancellationToken::new());
        let run = RunContext::new().with_cancellation(stop.clone());
        let call = ToolCall::new("again", json!({ "depth": 1, "last": "hang" })).with_id("1");
        let batch = executor.batch(vec![call]).with_run(run);
        let mut running = std::pin::pin!(executor.drive(batch));
        assert!(futures_util::poll!(&mut running).is_pending());
        stop.cancel();
        assert_eq!(texts(&running.await), ["Cancelled"]);
        executor.assert_told(["started 1", "1 > started 0", "1 > finished 0", "finished 1"]);
    });
}

/// A batch that outlives its call.
#[derive(Default)]
struct Left(Arc<Mutex<Option<Batch>>>);

/// Starts a batch in a child run that outlives the call.
#[tool(register = false)]
fn leave(cx: &ToolContext, to: &Lazy, left: &Left) -> Result<(), ToolError> {
    let executor = to.0.get().ok_or_else(|| ToolError::failed("no executor"))?;
    let batch = executor.batch(vec![ToolCall::new("wave", "{}").with_id("1")]);
    *left.0.lock().unwrap() = Some(batch.with_run(cx.child_run("inner")?));
    Ok(())
}

// Q23, K02
#[test]
fn events_of_a_child_run_that_outlives_its_call_reach_its_own_listeners() {
    each_way(async |way| {
        let executor = nested(way);
        executor.run(vec![ToolCall::new("leave", "{}").with_id("0")]).await;
        executor.assert_told(["started 0", "finished 0"]);
        let left = executor.tools().provided().get::<Left>().map(|left| Arc::clone(&left.0));
        let batch = left.unwrap().lock().unwrap().take().unwrap();
        assert_eq!(texts(&batch.run().await), ["o/"]);
        let own = ["started 1", "updated 1", "finished 1"];
        executor.assert_told(if way.watch == Watch::Listener { &own[..] } else { &[] });
    });
}

// Q23, K06
#[test]
fn backpressure_of_a_stream_reaches_child_runs() {
    crate::run(async {
        let inner = executor(Registry::builder().tool::<wave>());
        let tools = Registry::builder().tool::<delegate>().provide(Inner(inner));
        let executor = building(tools).event_buffer(1).build().unwrap();
        let call = ToolCall::new("delegate", json!({ "depth": 0 })).with_id("0");
        let mut stream = executor.stream(vec![call]);
        let mut told = Vec::new();
        while let Some(StreamItem::Event(event)) = stream.next().await {
            told.push(short(&event));
        }
        let expected =
            ["started 0", "0 > started 0-inner", "0 > updated 0-inner", "0 > finished 0-inner", "finished 0"];
        assert_eq!(told, expected);
    });
}

// Q23, H14
#[test]
fn a_child_run_that_is_dropped_during_backpressure_has_its_end() {
    /// Drops a batch in a child run once it has started.
    #[tool(register = false)]
    async fn give_up(cx: &ToolContext, to: &Inner, began: &Began) -> Result<&'static str, ToolError> {
        let batch =
            to.0.batch(vec![ToolCall::new("begin", "{}").with_id("1")]).with_run(cx.child_run("inner")?);
        let (running, begun) = (std::pin::pin!(batch.run()), std::pin::pin!(began.0.notified()));
        let _ = futures_util::future::select(running, begun).await;
        Ok("gave up")
    }
    struct Began(Arc<Notify>);
    /// Never returns.
    #[tool(register = false)]
    async fn begin(began: &Began) {
        began.0.notify_one();
        pending::<()>().await;
    }
    crate::run(async {
        let signal = Arc::new(Notify::new());
        let began = || Began(Arc::clone(&signal));
        let inner = executor(Registry::builder().tool::<begin>().provide(began()));
        let tools = Registry::builder().tool::<give_up>().provide(Inner(inner)).provide(began());
        // The buffer holds one event: the start of the nested call when it is dropped.
        let executor = building(tools).event_buffer(1).build().unwrap();
        let mut stream = executor.stream(vec![ToolCall::new("give_up", "{}").with_id("0")]);
        let mut told = Vec::new();
        while let Some(StreamItem::Event(event)) = stream.next().await {
            told.push(short(&event));
        }
        assert_eq!(told, ["started 0", "0 > started 1", "0 > finished 1", "finished 0"]);
    });
}
