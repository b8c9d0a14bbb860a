//! Deadlines of runs: "the run's own deadline bounds all" (section 7 of the design).

use std::{
    future::pending,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::time::{Instant, sleep};
use tool_runtime::{
    CancellationToken, ErrorKind, RunContext, ToolCall,
    definition::Retry,
    policy::{Approval, ApprovalHandle, Approver, Limits},
    prelude::*,
};

use super::{Counter, building, calls, echo, executor, hang, obey, texts, ways::each_way_paused};

const OVER: &str = "Timed out: the run's time is over";

fn run_of(seconds: u64) -> RunContext {
    RunContext::new().with_deadline((Instant::now() + Duration::from_secs(seconds)).into_std())
}

/// Takes 2 seconds.
#[tool(register = false)]
async fn two() -> &'static str {
    sleep(Duration::from_secs(2)).await;
    "done"
}

#[test]
fn the_deadline_of_a_run_limits_all_its_calls() {
    each_way_paused(async |way| {
        let tools = || Registry::builder().tool::<hang>().tool::<obey>().tool::<two>();
        let executor = way.of(building(tools()).timeout(Duration::from_secs(60)));
        let start = Instant::now();
        let batch = executor.batch(calls(&["hang", "two", "obey"])).with_run(run_of(5));
        let outcomes = executor.drive(batch).await;
        // A call that returns on its cancellation has timed out, too.
        assert_eq!(texts(&outcomes), [OVER, if way.size() > 1 { "done" } else { OVER }, OVER]);
        assert_eq!(start.elapsed(), Duration::from_secs(5));
        let error = outcomes[0].result().unwrap().outcome.as_ref().unwrap_err();
        assert_eq!((error.kind(), error.is_retryable()), (ErrorKind::TimedOut, false));
        if let Some(told) = executor.texts() {
            assert_eq!(told.iter().filter(|it| it.starts_with("finished")).count(), 3);
        }
        // The timeout of the tool applies if it is earlier.
        let executor = way.of(building(tools()).timeout(Duration::from_secs(3)));
        let outcomes = executor.drive(executor.batch(calls(&["hang"])).with_run(run_of(5))).await;
        assert_eq!(texts(&outcomes), ["Timed out: no result after 3s"]);
    });
}

#[test]
fn after_the_deadline_of_a_run_no_call_starts_and_each_has_an_error() {
    each_way_paused(async |way| {
        let counter = Counter::default();
        let tools = Registry::builder().tool::<echo>().tool::<two>().provide(counter.clone());
        let executor = way.of(building(tools).parallel(false));
        let mut batch = calls(&["two", "two"]);
        batch.push(ToolCall::new("echo", r#"{"text":"a"}"#).with_id("2"));
        assert_eq!(
            texts(&executor.drive(executor.batch(batch).with_run(run_of(3))).await),
            ["done", OVER, OVER]
        );
        assert_eq!(counter.get(), 0);
        let all = ["started 0", "finished 0", "started 1", "finished 1", "started 2", "finished 2"];
        executor.assert_told(all);
        let echo = || vec![ToolCall::new("echo", r#"{"text":"a"}"#)];
        assert_eq!(texts(&executor.drive(executor.batch(echo()).with_run(run_of(0))).await), [OVER]);
        assert_eq!(counter.get(), 0);
        assert_eq!(texts(&executor.drive(executor.batch(echo()).with_run(run_of(1))).await), ["a"]);
    });
}

// Work that outlives its call in a task ends with the run.
#[test]
fn past_the_deadline_of_a_run_the_tokens_of_ended_calls_are_cancelled_too() {
    type Tokens = Arc<Mutex<Vec<CancellationToken>>>;
    /// Keeps its token.
    #[tool(register = false)]
    fn keep(tokens: &Tokens, cx: &ToolContext) -> &'static str {
        tokens.lock().unwrap().push(cx.cancellation().clone());
        "kept"
    }
    each_way_paused(async |way| {
        let tokens = Tokens::default();
        let tools = Registry::builder().tool::<keep>().tool::<hang>().provide(Arc::clone(&tokens));
        let executor = way.executor(tools);
        let batch = executor.batch(calls(&["keep", "hang"])).with_run(run_of(5));
        assert_eq!(texts(&executor.drive(batch).await), ["kept", OVER]);
        let [token] = &tokens.lock().unwrap()[..] else { panic!("{way:?}") };
        // Those of earlier waves are not.
        assert_eq!(token.is_cancelled(), way.size() > 1, "{way:?}");
    });
}

#[test]
fn a_child_run_cannot_extend_the_deadline_and_a_tool_sees_the_earlier_one() {
    each_way_paused(async |way| {
        /// Returns the time until its deadline.
        #[tool(register = false)]
        fn left(cx: &ToolContext) -> String {
            format!("{:?}", cx.deadline().map(|end| end - Instant::now().into_std()))
        }
        let tools = || Registry::builder().tool::<left>();
        let executor = way.executor(tools());
        let child = run_of(5).child("researcher");
        assert_eq!(
            texts(&executor.drive(executor.batch(calls(&["left"])).with_run(child)).await),
            ["Some(5s)"]
        );
        for (limit, seen) in [(3, "Some(3s)"), (7, "Some(5s)")] {
            let executor = way.of(building(tools()).timeout(Duration::from_secs(limit)));
            assert_eq!(
                texts(&executor.drive(executor.batch(calls(&["left"])).with_run(run_of(5))).await),
                [seen]
            );
        }
    });
}

struct Slow;

impl Approver for Slow {
    async fn ask(&self, _request: &ApprovalHandle) -> Result<Approval, ToolError> {
        std::future::pending().await
    }
}

#[test]
fn the_deadline_of_a_run_ends_the_wait_for_approval_for_a_permit_and_for_a_retry() {
    each_way_paused(async |way| {
        /// Requires confirmation.
        #[tool(register = false, confirm)]
        fn asking() -> &'static str {
            "done"
        }
        let executor = way.of(building(Registry::builder().tool::<asking>()).approver(Slow));
        assert_eq!(
            texts(&executor.drive(executor.batch(calls(&["asking"])).with_run(run_of(5))).await),
            [OVER]
        );

        let limits = Limits::new().overall(1);
        let executor = way.of(building(Registry::builder().tool::<two>()).limits(limits));
        let outcomes = executor.drive(executor.batch(calls(&["two"; 3])).with_run(run_of(3))).await;
        assert_eq!(texts(&outcomes), ["done", OVER, OVER]);

        /// Fails.
        #[tool(register = false, read_only)]
        fn failing(counter: &Counter) -> Result<(), ToolError> {
            counter.count();
            Err(ToolError::failed("busy").retryable(true))
        }
        let counter = Counter::default();
        let retry =
            Retry { attempts: 9, initial_ms: 2_000, multiplier: 1.0, jitter: false, ..Retry::DEFAULT };
        let tools = Registry::builder().tool::<failing>().provide(counter.clone());
        let executor = way.of(building(tools).retry(retry));
        assert_eq!(
            texts(&executor.drive(executor.batch(calls(&["failing"])).with_run(run_of(5))).await),
            [OVER]
        );
        assert_eq!(counter.get(), 3);
    });
}

#[test]
fn a_run_with_a_deadline_requires_a_runtime_with_a_timer() {
    let counter = Counter::default();
    let executor = executor(Registry::builder().tool::<echo>().provide(counter.clone()));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let run = Arc::new(run_of(5));
    let batch = executor.batch(vec![ToolCall::new("echo", r#"{"text":"a"}"#)]).with_run(run);
    let told = texts(&runtime.block_on(batch.run())).concat();
    assert!(
        told.starts_with("Tool unavailable: its run has a deadline, but there is no tokio runtime"),
        "{told}"
    );
    assert_eq!(counter.get(), 0);
}

#[test]
fn no_call_or_attempt_starts_at_the_deadline_of_the_run() {
    /// Returns at the deadline of its run.
    #[tool(register = false)]
    async fn last(cx: &ToolContext) -> &'static str {
        let end = cx.run().and_then(|run| run.deadline()).unwrap();
        tokio::time::sleep_until(Instant::from_std(end)).await;
        "done"
    }
    each_way_paused(async |way| {
        // Another call that would start then.
        let counter = Counter::default();
        let tools = Registry::builder().tool::<last>().tool::<echo>().provide(counter.clone());
        let executor = way.of(building(tools).limits(Limits::new().overall(1)));
        let mut calls = calls(&["last"]);
        calls.push(ToolCall::new("echo", r#"{"text":"a"}"#).with_id("1"));
        let outcomes = executor.drive(executor.batch(calls).with_run(run_of(2))).await;
        assert_eq!(texts(&outcomes), ["done", OVER]);
        assert_eq!(counter.get(), 0);

        // Another attempt.
        /// Fails.
        #[tool(register = false, retry(attempts = 3, initial = "2s", jitter = false))]
        fn failing(counter: &Counter) -> Result<(), ToolError> {
            counter.count();
            Err(ToolError::failed("busy").retryable(true))
        }
        let executor = way.executor(Registry::builder().tool::<failing>().provide(counter.clone()));
        let batch = executor.batch(super::calls(&["failing"])).with_run(run_of(2));
        assert_eq!(texts(&executor.drive(batch).await), ["busy"]);
        assert_eq!(counter.get(), 1);
    });
}

#[test]
fn a_call_that_ends_with_its_run_has_its_token_cancelled() {
    use tool_runtime::CancellationToken;
    type Kept = Arc<std::sync::Mutex<Option<CancellationToken>>>;
    /// Shares its token, and never returns.
    #[tool(register = false)]
    async fn lend(kept: &Kept, cx: &ToolContext) {
        *kept.lock().unwrap() = Some(cx.cancellation().clone());
        std::future::pending::<()>().await;
    }
    each_way_paused(async |way| {
        let kept = Kept::default();
        let executor = way.executor(Registry::builder().tool::<lend>().provide(Arc::clone(&kept)));
        let run = Arc::new(run_of(5));
        let batch = executor.batch(calls(&["lend"])).with_run(Arc::clone(&run));
        assert_eq!(texts(&executor.drive(batch).await), [OVER]);
        assert!(kept.lock().unwrap().take().unwrap().is_cancelled());
        // Other calls of the run are not cancelled.
        assert!(!run.cancellation().is_cancelled());
    });
}

#[test]
fn hanging_hooks_end_with_the_deadline_and_the_grace_period() {
    each_way_paused(async |way| {
        let tools = Registry::builder().tool::<two>();
        let executor = way.of(building(tools).grace_period(Duration::from_secs(1)).after(|_, _| pending()));
        let start = Instant::now();
        executor.drive(executor.batch(calls(&["two"])).with_run(run_of(5))).await;
        assert_eq!(start.elapsed(), Duration::from_secs(6));
    });
}
