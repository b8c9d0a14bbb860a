//! Runs below a call.

use std::{
    future::pending,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use futures_util::future::join;
use tokio::sync::Semaphore;
use tool_runtime::{CancellationToken, Executor, RunContext, ToolCall, Trigger, prelude::*, serde_json::Map};

use super::{texts, ways::each_way};

fn map(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

// C08, C09, Q17, Q20, Q21, V09
#[test]
fn a_run_below_a_call_has_what_its_own_run_has_and_knows_its_call() {
    /// Looks at a run below its call.
    #[tool(register = false)]
    fn descend(cx: &ToolContext) -> Result<Value, ToolError> {
        let child = cx.child_run("researcher")?;
        let Some(Trigger::Call { id, tool }) = child.trigger() else {
            return Err(ToolError::failed("no call"));
        };
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
        let outcomes = executor.drive(executor.batch(calls).within(run)).await;
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

/// Where nested calls find their executor, and how deep they are.
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

/// Calls itself in a run below its call, so many times, and then waits for ever.
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
    let outcomes = executor.batch(vec![call]).within(run).run().await;
    Ok(texts(&outcomes).concat())
}

// C09, Q05
#[test]
fn a_hundred_nested_runs_end_when_the_first_call_is_cancelled() {
    // Without optimisation, a level takes about 30 KiB of the stack.
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
        let (outcomes, ()) = join(executor.drive(executor.batch(vec![call]).within(run)), stopping).await;
        assert_eq!(texts(&outcomes), ["Cancelled"]);
        assert_eq!(nesting.deepest.load(Ordering::Relaxed), 100);
        executor.events();
    });
}

// Q32
#[test]
fn runs_that_nest_too_deeply_are_an_error_of_the_call() {
    each_way(async |way| {
        let nesting = Nesting::new();
        let executor = way.executor(Registry::builder().tool::<nest>().provide_shared(Arc::clone(&nesting)));
        assert!(nesting.executor.set(executor.clone()).is_ok());
        for (run, most) in [(RunContext::new(), 16), (RunContext::new().with_max_depth(2), 2)] {
            let call = ToolCall::new("nest", json!({ "levels": 100 }));
            let outcomes = executor.drive(executor.batch(vec![call]).within(run)).await;
            let expected = format!(
                "Tool unavailable: a run below this call would be on level {}, and {most} are allowed",
                most + 1
            );
            assert_eq!(texts(&outcomes), [expected]);
        }
        executor.events();
    });
}
