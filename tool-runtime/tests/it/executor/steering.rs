//! What keeps the rest of a batch from being run: a message of the user, or a cancellation.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{sync::Notify, time::sleep};
use tool_runtime::{
    Approval, Approver, Before, BeforeCall, CallOutcome, CallView, CancellationToken, ErrorKind,
    ExecutionStrategy, Executor, Finish, Hook, Permission, PermissionPolicy, PermissionRequest, RetryPolicy,
    RunContext, Running, prelude::*,
};

use super::{
    Counter, On, Timeline, building, calls, executor, hang, obey, on_both_runtimes, strategies::nap, texts,
    told,
};

const SKIPPED: &str = "Skipped: a message of the user came first";

// G09, G10
#[tokio::test(start_paused = true)]
async fn a_message_of_the_user_comes_before_the_calls_that_did_not_start() {
    let cases = [
        (ExecutionStrategy::Sequential, ["nap 0", SKIPPED, SKIPPED, SKIPPED, SKIPPED], 1),
        (ExecutionStrategy::Batched { size: 2 }, ["nap 0", "nap 1", SKIPPED, SKIPPED, SKIPPED], 1),
        (ExecutionStrategy::Parallel, ["nap 0", "nap 1", "nap 2", "nap 3", "nap 4"], 0),
    ];
    for (strategy, expected, asked) in cases {
        let timeline = Timeline::default();
        let tools = Registry::builder().tool::<nap>().provide(timeline.clone());
        let executor = building(tools).strategy(strategy).build().unwrap();
        let mut listener = executor.subscribe();
        let counter = Counter::default();
        let counting = counter.clone();
        let batch = executor.batch(calls(&["nap"; 5])).steering(move || {
            counting.count();
            true
        });
        let outcomes = batch.run().await;
        assert_eq!(texts(&outcomes), expected, "{strategy:?}");
        assert_eq!(counter.get(), asked);
        let told = told(&mut listener);
        assert_eq!(told.iter().filter(|event| event.starts_with("started")).count(), 5);
        assert_eq!(told.iter().filter(|event| event.starts_with("finished")).count(), 5);
        let skipped = outcomes
            .iter()
            .filter_map(CallOutcome::result)
            .filter(|result| result.outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::Skipped));
        assert!(
            skipped.inspect(|result| assert_eq!(result.attempts, 0)).count() == 5 - timeline.all().len() / 2
        );
    }
}

// G09
#[tokio::test(start_paused = true)]
async fn a_batch_goes_on_while_no_message_has_come() {
    let tools = Registry::builder().tool::<nap>().provide(Timeline::default());
    let executor = building(tools).strategy(ExecutionStrategy::Sequential).build().unwrap();
    let counter = Counter::default();
    let counting = counter.clone();
    let batch = executor.batch(calls(&["nap"; 4])).steering(move || counting.count() == 2);
    assert_eq!(texts(&batch.run().await), ["nap 0", "nap 1", SKIPPED, SKIPPED]);
    assert_eq!(counter.get(), 2);
}

// G08, H13
#[tokio::test(start_paused = true)]
async fn steering_that_panics_stops_the_batch_and_not_the_program() {
    let tools = Registry::builder().tool::<nap>().provide(Timeline::default());
    let executor = building(tools).strategy(ExecutionStrategy::Sequential).build().unwrap();
    let outcomes = executor.batch(calls(&["nap"; 2])).steering(|| panic!("boom")).run().await;
    assert_eq!(texts(&outcomes), ["nap 0", "Skipped: what decides whether the batch goes on panicked: boom"]);
}

/// Cancels its run.
#[tool(register = false)]
fn cancel(cx: &ToolContext) -> &'static str {
    cx.run().unwrap().cancellation().cancel();
    "cancelled the run"
}

// G11, E07
#[test]
fn calls_after_the_cancellation_are_answered_and_never_run() {
    on_both_runtimes(async || {
        let timeline = Timeline::default();
        let tools = Registry::builder().tool::<cancel>().tool::<nap>().provide(timeline.clone());
        let executor = building(tools).strategy(ExecutionStrategy::Sequential).build().unwrap();
        let mut listener = executor.subscribe();
        let outcomes = executor.batch(calls(&["cancel", "nap"])).within(RunContext::new()).run().await;
        assert_eq!(texts(&outcomes), ["cancelled the run", "Cancelled"]);
        assert!(timeline.all().is_empty());
        assert_eq!(told(&mut listener), ["started 0", "finished 0", "started 1", "finished 1"]);
    });
}

// G11, C03
#[test]
fn a_tool_that_notices_the_cancellation_keeps_its_own_answer() {
    for finish in [Finish::InOrder, Finish::AsCompleted] {
        on_both_runtimes(async || {
            let tools = Registry::builder().tool::<cancel>().tool::<hang>().tool::<obey>();
            let executor = building(tools).finish(finish).build().unwrap();
            let mut listener = executor.subscribe();
            let batch = executor.batch(calls(&["hang", "obey", "cancel", "obey"]));
            let outcomes = batch.within(RunContext::new()).run().await;
            // The last one had not begun.
            assert_eq!(texts(&outcomes), ["Cancelled", "stopped", "cancelled the run", "Cancelled"]);
            assert_eq!(outcomes[3].result().unwrap().attempts, 0);
            let told = told(&mut listener);
            for id in 0..4 {
                assert_eq!(told.iter().filter(|it| **it == format!("started {id}")).count(), 1);
                assert_eq!(told.iter().filter(|it| **it == format!("finished {id}")).count(), 1);
            }
            assert_eq!(told.len(), 8);
        });
    }
}

// E07
#[test]
fn a_batch_of_a_cancelled_run_is_answered_and_never_run() {
    let tools = Registry::builder().tool::<nap>().provide(Timeline::default());
    let executor = executor(tools);
    let mut listener = executor.subscribe();
    let stop = CancellationToken::new();
    stop.cancel();
    let run = RunContext::new().with_cancellation(stop);
    let outcomes = crate::run(executor.batch(calls(&["nap", "unknown"])).within(run).run());
    assert_eq!(texts(&outcomes), ["Cancelled", "Cancelled"]);
    let result = outcomes[0].result().unwrap();
    assert!(result.is_error());
    assert_eq!(result.attempts, 0);
    assert_eq!(told(&mut listener), ["started 0", "finished 0", "started 1", "finished 1"]);
}

// E07
#[test]
fn a_tool_that_says_it_was_cancelled_is_answered_as_cancelled() {
    /// Gives up.
    #[tool(register = false)]
    fn give_up() -> Result<(), ToolError> {
        Err(ToolError::cancelled())
    }
    let outcomes = crate::run(executor(Registry::builder().tool::<give_up>()).run(calls(&["give_up"])));
    assert_eq!(texts(&outcomes), ["Cancelled"]);
    assert!(outcomes[0].result().unwrap().is_error());
}

// G11, E07
#[test]
fn no_body_begins_after_a_hook_saw_the_cancellation() {
    on_both_runtimes(async || {
        let timeline = Timeline::default();
        let tools = Registry::builder().tool::<nap>().provide(timeline.clone());
        let asked = Counter::default();
        let asking = asked.clone();
        let stopping = On::before(move |call| {
            asking.count();
            if call.id().to_string() == "1" {
                call.context().run().unwrap().cancellation().cancel();
            }
            Ok(Before::GoOn)
        });
        let executor = building(tools).hook(stopping).build().unwrap();
        let mut listener = executor.subscribe();
        let outcomes = executor.batch(calls(&["nap"; 3])).within(RunContext::new()).run().await;
        assert_eq!(texts(&outcomes), ["Cancelled"; 3]);
        assert!(timeline.all().is_empty());
        assert_eq!(asked.get(), 2);
        assert_eq!(
            told(&mut listener),
            ["started 0", "started 1", "started 2", "finished 0", "finished 1", "finished 2"]
        );
    });
}

/// Waits for ever at one stage of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stuck {
    Gate,
    Before,
    Policy,
    Approver,
    Body,
    Backoff,
}

fn pending<'a, T: Send + 'a>() -> Running<'a, T> {
    Box::pin(std::future::pending())
}

impl Hook for Stuck {
    fn gate<'a>(&'a self, _call: &'a CallView<'a>) -> Running<'a, bool> {
        if *self == Self::Gate { pending() } else { Box::pin(async { true }) }
    }

    fn before<'a>(&'a self, _call: &'a mut BeforeCall<'_>) -> Running<'a, Result<Before, ToolError>> {
        if *self == Self::Before { pending() } else { Box::pin(async { Ok(Before::GoOn) }) }
    }
}

impl PermissionPolicy for Stuck {
    fn decide<'a>(
        &'a self,
        _request: &'a PermissionRequest<'a>,
    ) -> Running<'a, Result<Permission, ToolError>> {
        match self {
            Self::Policy => pending(),
            Self::Approver => Box::pin(async { Ok(Permission::ask("may it?")) }),
            _ => Box::pin(async { Ok(Permission::Allow) }),
        }
    }
}

impl Approver for Stuck {
    fn ask<'a>(
        &'a self,
        _request: &'a tool_runtime::ApprovalRequest,
    ) -> Running<'a, Result<Approval, ToolError>> {
        pending()
    }
}

// H14, G11, J08
#[tokio::test(start_paused = true)]
async fn a_cancellation_reaches_a_call_wherever_it_waits() {
    /// Fails for now, or never ends.
    #[tool(register = false, retry(attempts = 3, initial = "1h", jitter = false))]
    async fn stuck(stuck: &Stuck) -> Result<(), ToolError> {
        match stuck {
            Stuck::Body => std::future::pending().await,
            _ => Err(ToolError::failed("not yet").retryable(true)),
        }
    }
    for (stage, attempts) in [
        (Stuck::Gate, 0),
        (Stuck::Before, 0),
        (Stuck::Policy, 0),
        (Stuck::Approver, 0),
        (Stuck::Body, 1),
        (Stuck::Backoff, 1),
    ] {
        for strategy in [ExecutionStrategy::Parallel, ExecutionStrategy::Sequential] {
            let tools = Registry::builder().tool::<stuck>().provide(stage);
            let executor =
                building(tools).strategy(strategy).hook(stage).permission(stage).approver(stage).build();
            let executor = executor.unwrap();
            let mut listener = executor.subscribe();
            let stop = CancellationToken::new();
            let run = RunContext::new().with_cancellation(stop.clone());
            let stopping = async {
                sleep(Duration::from_secs(1)).await;
                stop.cancel();
            };
            let batch = executor.batch(calls(&["stuck", "stuck"])).within(run).run();
            let (outcomes, ()) = tokio::join!(batch, stopping);
            assert_eq!(texts(&outcomes), ["Cancelled", "Cancelled"], "{stage:?}");
            assert_eq!(outcomes[0].result().unwrap().attempts, attempts, "{stage:?}");
            let mut told = told(&mut listener);
            told.retain(|event| !event.starts_with("asked"));
            told.sort();
            assert_eq!(told, ["finished 0", "finished 1", "started 0", "started 1"], "{stage:?}");
        }
    }
}

/// Keeps the token of each call.
fn keeping(tokens: &Arc<Mutex<Vec<CancellationToken>>>) -> On {
    let tokens = Arc::clone(tokens);
    On::before(move |call| {
        tokens.lock().unwrap().push(call.context().cancellation().clone());
        Ok(Before::GoOn)
    })
}

// C03
#[tokio::test(start_paused = true)]
async fn cancelling_one_call_does_not_touch_the_others() {
    /// Goes on when the other was stopped.
    #[tool(register = false)]
    async fn wait(stopped: &Arc<Notify>, cx: &ToolContext) -> String {
        stopped.notified().await;
        format!("cancelled: {}", cx.is_cancelled())
    }
    let tokens = Arc::default();
    let stopped = Arc::new(Notify::new());
    let tools =
        Registry::builder().tool::<hang>().tool::<obey>().tool::<wait>().provide(Arc::clone(&stopped));
    let executor = building(tools).hook(keeping(&tokens)).build().unwrap();
    let run = Arc::new(RunContext::new());
    let batch = executor.batch(calls(&["hang", "obey", "wait"])).within(Arc::clone(&run)).run();
    let stopping = async {
        sleep(Duration::from_secs(1)).await;
        let tokens = tokens.lock().unwrap().clone();
        tokens[0].cancel();
        tokens[1].cancel();
        stopped.notify_one();
    };
    let (outcomes, ()) = tokio::join!(batch, stopping);
    assert_eq!(texts(&outcomes), ["Cancelled", "stopped", "cancelled: false"]);
    assert!(!run.cancellation().is_cancelled());
}

// C03, J08
#[tokio::test(start_paused = true)]
async fn the_token_of_a_call_reaches_every_attempt_and_the_pauses_between() {
    /// Fails at first, and then never ends.
    #[tool(register = false)]
    async fn late(cx: &ToolContext) -> Result<(), ToolError> {
        if cx.attempt() < 3 {
            return Err(ToolError::failed("not yet").retryable(true));
        }
        std::future::pending().await
    }
    let retry = tool_runtime::Retry { attempts: 4, initial_ms: 1000, jitter: false, ..Default::default() };
    // During a pause, and during the third attempt.
    for (seconds, attempts) in [(2, 2), (10, 3)] {
        let tokens = Arc::default();
        let tools = Registry::builder().tool::<late>();
        let executor =
            building(tools).retry(RetryPolicy::new(retry).any_tool()).hook(keeping(&tokens)).build();
        let executor = executor.unwrap();
        let stopping = async {
            sleep(Duration::from_secs(seconds)).await;
            tokens.lock().unwrap()[0].cancel();
        };
        let (outcomes, ()) = tokio::join!(executor.run(calls(&["late"])), stopping);
        assert_eq!(texts(&outcomes), ["Cancelled"]);
        assert_eq!(outcomes[0].result().unwrap().attempts, attempts);
    }
}

/// Leaves a task behind that says when the call is cancelled.
#[tool(register = false)]
async fn leave(cancelled: &Arc<Notify>, cx: &ToolContext) {
    let (token, cancelled) = (cx.cancellation().clone(), Arc::clone(cancelled));
    tokio::spawn(async move {
        token.cancelled().await;
        cancelled.notify_one();
    });
    std::future::pending::<()>().await;
}

// C03, G11, H14, K11
#[test]
fn dropping_a_batch_cancels_its_calls_and_tells_those_who_listen() {
    fn executor_of(cancelled: &Arc<Notify>) -> Executor {
        executor(Registry::builder().tool::<leave>().provide(Arc::clone(cancelled)))
    }
    let expected = ["started 0", "started 1", "finished 0", "finished 1"];
    on_both_runtimes(async || {
        let cancelled = Arc::new(Notify::new());
        let executor = executor_of(&cancelled);
        let mut listener = executor.subscribe();
        let mut batch = Box::pin(executor.run(calls(&["leave"; 2])));
        assert!(futures_util::poll!(&mut batch).is_pending());
        drop(batch);
        cancelled.notified().await;
        assert_eq!(told(&mut listener), expected);
    });
    on_both_runtimes(async || {
        let cancelled = Arc::new(Notify::new());
        let executor = executor_of(&cancelled);
        let mut listener = executor.subscribe();
        let mut stream = executor.stream(calls(&["leave"; 2]));
        stream.next().await.unwrap();
        stream.next().await.unwrap();
        assert!(futures_util::poll!(Box::pin(stream.next())).is_pending());
        drop(stream);
        cancelled.notified().await;
        assert_eq!(told(&mut listener), expected);
    });
}

// C03
#[test]
fn a_batch_that_ended_cancels_nothing_that_its_calls_have_started() {
    on_both_runtimes(async || {
        let kept: Arc<Mutex<Vec<CancellationToken>>> = Arc::default();
        let tools = Registry::builder().tool::<super::echo>().provide(Counter::default());
        let executor = building(tools).hook(keeping(&kept)).build().unwrap();
        executor.run(super::one("echo", r#"{"text":"a"}"#)).await;
        assert!(!kept.lock().unwrap()[0].is_cancelled());
    });
}

// J08, G11
#[tokio::test(start_paused = true)]
async fn a_failure_because_of_a_cancellation_is_the_answer_and_no_reason_for_another_attempt() {
    /// Fails when it is told to stop.
    #[tool(register = false, retry(attempts = 3, initial = "1s"))]
    async fn give_up(cx: &ToolContext) -> Result<(), ToolError> {
        cx.cancellation().cancelled().await;
        Err(ToolError::failed("gave up").retryable(true))
    }
    let executor = executor(Registry::builder().tool::<give_up>());
    let run = Arc::new(RunContext::new());
    let batch = executor.batch(calls(&["give_up"])).within(Arc::clone(&run)).run();
    let stopping = async {
        sleep(Duration::from_secs(1)).await;
        run.cancellation().cancel();
    };
    let (outcomes, ()) = tokio::join!(batch, stopping);
    assert_eq!(texts(&outcomes), ["gave up"]);
    assert_eq!(outcomes[0].result().unwrap().attempts, 1);
}
