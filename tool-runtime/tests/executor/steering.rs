//! Messages of the user and cancellations, which skip the remaining calls of a batch.

use std::{
    future::pending,
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{sync::Notify, time::sleep};
use tool_runtime::{
    CallOutcome, CancellationToken, ErrorKind, RunContext, ToolCall,
    definition::Permission,
    executor::{ExecutionStrategy, Finish, Steering},
    hook::{Before, BeforeCall, CallView, Hook},
    policy::{Approval, Approver, PermissionPolicy, PermissionRequest, RetryPolicy},
    prelude::*,
};

use super::{
    Counter, On, Timeline, building, calls, executor, hang, obey, on_both_runtimes, steered,
    strategies::nap,
    texts, told,
    ways::{Watch, each_way, each_way_paused},
};

const SKIPPED: &str = "Skipped: a message of the user came first";

// G09, G10
#[test]
fn a_message_of_the_user_skips_calls_that_have_not_started() {
    each_way_paused(async |way| {
        let (expected, asked) = match way.strategy {
            ExecutionStrategy::Sequential => (["nap 0", SKIPPED, SKIPPED, SKIPPED, SKIPPED], 1),
            ExecutionStrategy::Batched { .. } => (["nap 0", "nap 1", SKIPPED, SKIPPED, SKIPPED], 1),
            ExecutionStrategy::Parallel => (["nap 0", "nap 1", "nap 2", "nap 3", "nap 4"], 1),
        };
        let timeline = Timeline::default();
        let executor = way.executor(Registry::builder().tool::<nap>().provide(timeline.clone()));
        let counter = Counter::default();
        let counting = counter.clone();
        let steering = steered(move || {
            counting.count();
            true
        });
        let batch = executor.batch(calls(&["nap"; 5])).steering(&steering);
        let outcomes = executor.drive(batch).await;
        // The message belongs to the next turn, after the results.
        assert_eq!((steering.take(), steering.take()), (vec!["stop"], vec![]));
        assert_eq!(texts(&outcomes), expected);
        assert_eq!(counter.get(), asked);
        if let Some(mut told) = executor.texts() {
            told.sort();
            let each = |what: &str| (0..5).map(|id| format!("{what} {id}")).collect::<Vec<_>>();
            assert_eq!(told, [each("finished"), each("started")].concat());
        }
        let skipped = outcomes
            .iter()
            .filter_map(CallOutcome::result)
            .filter(|result| result.outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::Skipped));
        let skipped = skipped.inspect(|result| assert_eq!(result.attempts, 0)).count();
        assert_eq!(skipped, 5 - timeline.all().len() / 2);
    });
}

// G09
#[test]
fn a_batch_continues_without_a_message() {
    each_way_paused(async |way| {
        let tools = Registry::builder().tool::<nap>().provide(Timeline::default());
        let executor = way.executor(tools);
        let counter = Counter::default();
        let counting = counter.clone();
        let batch = executor.batch(calls(&["nap"; 5])).steering(&steered(move || counting.count() == 2));
        let (ran, asked) = match way.strategy {
            ExecutionStrategy::Sequential => (2, 2),
            ExecutionStrategy::Batched { .. } => (4, 2),
            ExecutionStrategy::Parallel => (5, 1),
        };
        let expected: Vec<_> =
            (0..5).map(|at| if at < ran { format!("nap {at}") } else { SKIPPED.to_owned() }).collect();
        assert_eq!(texts(&executor.drive(batch).await), expected);
        assert_eq!(counter.get(), asked);
    });
}

// G09, G10
#[test]
fn a_message_after_the_last_call_is_kept_and_skips_nothing() {
    each_way_paused(async |way| {
        let executor = way.executor(Registry::builder().tool::<nap>().provide(Timeline::default()));
        let asked = Counter::default();
        let (asking, waves) = (asked.clone(), 3_usize.div_ceil(way.size()));
        // Steering is polled once for each wave, and waits each time.
        let steering = Steering::new(move || {
            let is_last = asking.count() == waves;
            async move {
                sleep(Duration::from_secs(1)).await;
                is_last.then_some("and one more thing")
            }
        });
        let outcomes = executor.drive(executor.batch(calls(&["nap"; 3])).steering(&steering)).await;
        assert_eq!(texts(&outcomes), ["nap 0", "nap 1", "nap 2"]);
        assert_eq!((asked.get(), steering.take()), (waves, vec!["and one more thing"]));
    });
}

// G10
#[test]
fn no_message_is_lost_if_the_batch_ends_while_steering_waits() {
    each_way(async |way| {
        for dropped in [true, false] {
            let tools = Registry::builder().tool::<super::echo>().provide(Counter::default());
            let executor = way.executor(tools);
            let (sender, inbox) = tokio::sync::mpsc::channel(2);
            let inbox = Arc::new(tokio::sync::Mutex::new(inbox));
            let steering = Steering::new(move || {
                let inbox = Arc::clone(&inbox);
                async move { inbox.lock().await.recv().await }
            });
            let run = Arc::new(RunContext::new());
            let echoes = ["0", "1"].map(|id| ToolCall::new("echo", r#"{"text":"a"}"#).with_id(id));
            let batch = executor.batch(echoes.into()).with_run(Arc::clone(&run)).steering(&steering);
            let mut running = Box::pin(executor.drive(batch));
            assert!(futures_util::poll!(&mut running).is_pending());
            match dropped {
                true => drop(running),
                false => {
                    run.cancellation().cancel();
                    let second = if way.size() == 1 { "Cancelled" } else { "a" };
                    assert_eq!(texts(&running.await), ["a", second]);
                }
            }
            assert!(steering.take().is_empty());
            // A later message is kept for the next batch.
            sender.send("stop").await.unwrap();
            let next = executor.batch(vec![ToolCall::new("echo", r#"{"text":"b"}"#)]).steering(&steering);
            assert_eq!(texts(&executor.drive(next).await), ["b"]);
            // It was not taken, so that it is the first message again.
            let more = vec![ToolCall::new("echo", r#"{"text":"c"}"#), ToolCall::new("unknown", "{}")];
            let outcomes = executor.drive(executor.batch(more).steering(&steering)).await;
            let second = if way.size() == 1 { SKIPPED } else { "Tool not found: unknown" };
            assert_eq!(texts(&outcomes), ["c", second]);
            assert_eq!(steering.take(), ["stop"]);
        }
    });
}

// G08, H13
#[test]
fn steering_that_panics_stops_the_batch_and_not_the_program() {
    each_way_paused(async |way| {
        let tools = Registry::builder().tool::<nap>().provide(Timeline::default());
        let executor = way.of(building(tools).parallel(false));
        let steering = steered(|| panic!("boom"));
        let outcomes = executor.drive(executor.batch(calls(&["nap"; 2])).steering(&steering)).await;
        assert_eq!(texts(&outcomes), ["nap 0", "Skipped: the steering of the batch panicked: boom"]);
    });
}

/// Cancels its run.
#[tool(register = false)]
fn cancel(cx: &ToolContext) -> &'static str {
    cx.run().unwrap().cancellation().cancel();
    "cancelled the run"
}

// G11, E07
#[test]
fn calls_after_a_cancellation_have_an_error_and_never_run() {
    each_way(async |way| {
        let timeline = Timeline::default();
        let tools = Registry::builder().tool::<cancel>().tool::<nap>().provide(timeline.clone());
        let executor = way.executor(tools);
        let batch = executor.batch(calls(&["cancel", "nap", "nap"])).with_run(RunContext::new());
        let outcomes = executor.drive(batch).await;
        assert_eq!(texts(&outcomes), ["cancelled the run", "Cancelled", "Cancelled"]);
        assert_eq!(outcomes[1].result().unwrap().attempts, 0);
        assert!(timeline.all().is_empty());
        executor.assert_calls_told(&["0", "1", "2"]);
    });
}

// G11, C03
#[test]
fn a_tool_that_handles_its_cancellation_keeps_its_result() {
    each_way(async |way| {
        // The last call has not started when its run is cancelled.
        let (names, expected): (&[&str], &[&str]) = match way.strategy {
            ExecutionStrategy::Parallel => (
                &["hang", "obey", "cancel", "obey"],
                &["Cancelled", "stopped", "cancelled the run", "Cancelled"],
            ),
            ExecutionStrategy::Batched { .. } => {
                (&["obey", "cancel", "obey"], &["stopped", "cancelled the run", "Cancelled"])
            }
            ExecutionStrategy::Sequential => (&["cancel", "obey"], &["cancelled the run", "Cancelled"]),
        };
        let executor = way.executor(Registry::builder().tool::<cancel>().tool::<hang>().tool::<obey>());
        let batch = executor.batch(calls(names)).with_run(RunContext::new());
        let outcomes = executor.drive(batch).await;
        assert_eq!(texts(&outcomes), expected);
        assert_eq!(outcomes.last().unwrap().result().unwrap().attempts, 0);
        executor.assert_calls_told(&["0", "1", "2", "3"][..names.len()]);
    });
}

// E07
#[test]
fn the_calls_of_a_cancelled_run_have_errors_and_never_run() {
    each_way(async |way| {
        let tools = Registry::builder().tool::<nap>().provide(Timeline::default());
        let executor = way.executor(tools);
        let stop = CancellationToken::new();
        stop.cancel();
        let run = RunContext::new().with_cancellation(stop);
        let outcomes = executor.drive(executor.batch(calls(&["nap", "unknown"])).with_run(run)).await;
        assert_eq!(texts(&outcomes), ["Cancelled", "Cancelled"]);
        let result = outcomes[0].result().unwrap();
        assert!(result.is_error());
        assert_eq!(result.attempts, 0);
        executor.assert_told(["started 0", "finished 0", "started 1", "finished 1"]);
    });
}

// E07
#[test]
fn a_tool_that_returns_a_cancellation_error_is_cancelled() {
    each_way(async |way| {
        /// Returns a cancellation error.
        #[tool(register = false)]
        fn give_up() -> Result<(), ToolError> {
            Err(ToolError::cancelled())
        }
        let outcomes = way.executor(Registry::builder().tool::<give_up>()).run(calls(&["give_up"])).await;
        assert_eq!(texts(&outcomes), ["Cancelled"]);
        assert!(outcomes[0].result().unwrap().is_error());
    });
}

// G11, E07
#[test]
fn no_body_starts_after_a_hook_saw_the_cancellation() {
    each_way(async |way| {
        let counter = Counter::default();
        let tools = Registry::builder().tool::<super::echo>().provide(counter.clone());
        let asked = Counter::default();
        let asking = asked.clone();
        let stopping = On::before(move |call| {
            asking.count();
            if call.id().to_string() == "1" {
                call.context().run().unwrap().cancellation().cancel();
            }
            Ok(Before::Continue)
        });
        let executor = way.of(building(tools).hook(stopping));
        let echoes = ["0", "1", "2"].map(|id| ToolCall::new("echo", r#"{"text":"a"}"#).with_id(id));
        let outcomes = executor.drive(executor.batch(echoes.into()).with_run(RunContext::new())).await;
        let first = if way.size() == 1 { "a" } else { "Cancelled" };
        assert_eq!(texts(&outcomes), [first, "Cancelled", "Cancelled"]);
        assert_eq!(counter.get(), usize::from(way.size() == 1));
        assert_eq!(asked.get(), 2);
        executor.assert_calls_told(&["0", "1", "2"]);
    });
}

/// A hook that waits forever at one stage of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Stuck {
    Gate,
    Before,
    Policy,
    Approver,
    Body,
    Backoff,
}

impl Hook for Stuck {
    async fn admit(&self, _call: &CallView<'_>) -> bool {
        if *self == Self::Gate { pending().await } else { true }
    }

    async fn before(&self, _call: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        if *self == Self::Before { pending().await } else { Ok(Before::Continue) }
    }
}

impl PermissionPolicy for Stuck {
    async fn decide(&self, _request: &PermissionRequest<'_>) -> Result<Permission, ToolError> {
        match self {
            Self::Policy => pending().await,
            Self::Approver => Ok(Permission::ask("may it?")),
            _ => Ok(Permission::Allow),
        }
    }
}

impl Approver for Stuck {
    async fn ask(&self, _request: &tool_runtime::policy::ApprovalHandle) -> Result<Approval, ToolError> {
        pending().await
    }
}

// H14, G11, J08
#[test]
fn a_cancellation_reaches_a_call_wherever_it_waits() {
    /// Fails temporarily, or never returns.
    #[tool(register = false, retry(attempts = 3, initial = "1h", jitter = false))]
    async fn stuck(stuck: &Stuck) -> Result<(), ToolError> {
        match stuck {
            Stuck::Body => std::future::pending().await,
            _ => Err(ToolError::failed("not yet").retryable(true)),
        }
    }
    let stages = [
        (Stuck::Gate, 0),
        (Stuck::Before, 0),
        (Stuck::Policy, 0),
        (Stuck::Approver, 0),
        (Stuck::Body, 1),
        (Stuck::Backoff, 1),
    ];
    each_way_paused(async |way| {
        for (stage, attempts) in stages {
            let tools = Registry::builder().tool::<stuck>().provide(stage);
            let executor = building(tools).permission(stage).approver(stage);
            let executor = way.of(match stage {
                Stuck::Gate | Stuck::Before => executor.hook(stage),
                _ => executor,
            });
            let stop = CancellationToken::new();
            let run = RunContext::new().with_cancellation(stop.clone());
            let stopping = async {
                sleep(Duration::from_secs(1)).await;
                stop.cancel();
            };
            let batch = executor.batch(calls(&["stuck", "stuck"])).with_run(run);
            let (outcomes, ()) = tokio::join!(executor.drive(batch), stopping);
            assert_eq!(texts(&outcomes), ["Cancelled", "Cancelled"], "{stage:?}");
            assert_eq!(outcomes[0].result().unwrap().attempts, attempts, "{stage:?}");
            if let Some(mut told) = executor.texts() {
                told.retain(|event| !event.starts_with("asked"));
                told.sort();
                assert_eq!(told, ["finished 0", "finished 1", "started 0", "started 1"], "{stage:?}");
            }
        }
    });
}

/// A hook that stores the token of each call.
fn keeping(tokens: &Arc<Mutex<Vec<CancellationToken>>>) -> On {
    let tokens = Arc::clone(tokens);
    On::before(move |call| {
        tokens.lock().unwrap().push(call.context().cancellation().clone());
        Ok(Before::Continue)
    })
}

// C03
#[test]
fn cancelling_one_call_does_not_touch_the_others() {
    each_way_paused(async |way| {
        /// Returns when the other call was cancelled.
        #[tool(register = false)]
        async fn wait(stopped: &Arc<Notify>, cx: &ToolContext) -> String {
            stopped.notified().await;
            format!("cancelled: {}", cx.is_cancelled())
        }
        let tokens = Arc::default();
        let stopped = Arc::new(Notify::new());
        let tools =
            Registry::builder().tool::<hang>().tool::<obey>().tool::<wait>().provide(Arc::clone(&stopped));
        let executor = way.of(building(tools).hook(keeping(&tokens)));
        let run = Arc::new(RunContext::new());
        let batch = executor.batch(calls(&["hang", "obey", "wait"])).with_run(Arc::clone(&run));
        let stopping = async {
            for at in 0..2 {
                sleep(Duration::from_secs(1)).await;
                // Calls of later waves get their tokens later.
                let tokens: Vec<CancellationToken> = tokens.lock().unwrap().clone();
                tokens[at].cancel();
            }
            stopped.notify_one();
        };
        let (outcomes, ()) = tokio::join!(executor.drive(batch), stopping);
        assert_eq!(texts(&outcomes), ["Cancelled", "stopped", "cancelled: false"]);
        assert!(!run.cancellation().is_cancelled());
    });
}

// C03, J08
#[test]
fn the_token_of_a_call_reaches_every_attempt_and_the_pauses_between() {
    each_way_paused(async |way| {
        /// Fails at first, and then never returns.
        #[tool(register = false)]
        async fn late(cx: &ToolContext) -> Result<(), ToolError> {
            if cx.attempt() < 3 {
                return Err(ToolError::failed("not yet").retryable(true));
            }
            std::future::pending().await
        }
        let retry = tool_runtime::definition::Retry {
            attempts: 4,
            initial_ms: 1000,
            jitter: false,
            ..Default::default()
        };
        // During a pause, and during the third attempt.
        for (seconds, attempts) in [(2, 2), (10, 3)] {
            let tokens = Arc::default();
            let tools = Registry::builder().tool::<late>();
            let retry = RetryPolicy::new(retry).any_tool();
            let executor = way.of(building(tools).retry(retry).hook(keeping(&tokens)));
            let stopping = async {
                sleep(Duration::from_secs(seconds)).await;
                tokens.lock().unwrap()[0].cancel();
            };
            let (outcomes, ()) = tokio::join!(executor.run(calls(&["late"])), stopping);
            assert_eq!(texts(&outcomes), ["Cancelled"]);
            assert_eq!(outcomes[0].result().unwrap().attempts, attempts);
        }
    });
}

/// Spawns a task that reports the cancellation of the call.
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
fn dropping_a_batch_cancels_its_calls_and_notifies_listeners() {
    each_way(async |way| {
        let cancelled = Arc::new(Notify::new());
        let executor = way.executor(Registry::builder().tool::<leave>().provide(Arc::clone(&cancelled)));
        let mut batch = Box::pin(executor.run(calls(&["leave"; 2])));
        assert!(futures_util::poll!(&mut batch).is_pending());
        drop(batch);
        cancelled.notified().await;
        // A dropped stream has no reader.
        if way.watch == Watch::Listener {
            executor.assert_calls_told(&["0", "1"][..way.size().min(2)]);
        }
    });
}

// C03, G11, H14, K11
#[test]
fn dropping_a_stream_cancels_its_calls_and_notifies_listeners() {
    on_both_runtimes(async || {
        let cancelled = Arc::new(Notify::new());
        let executor = executor(Registry::builder().tool::<leave>().provide(Arc::clone(&cancelled)));
        let mut listener = executor.subscribe();
        let mut stream = executor.stream(calls(&["leave"; 2]));
        stream.next().await.unwrap();
        stream.next().await.unwrap();
        assert!(futures_util::poll!(Box::pin(stream.next())).is_pending());
        drop(stream);
        cancelled.notified().await;
        assert_eq!(told(&mut listener), ["started 0", "started 1", "finished 0", "finished 1"]);
    });
}

// C03
#[test]
fn a_batch_that_ends_does_not_cancel_tasks_of_its_calls() {
    each_way(async |way| {
        let kept: Arc<Mutex<Vec<CancellationToken>>> = Arc::default();
        let tools = Registry::builder().tool::<super::echo>().provide(Counter::default());
        let executor = way.of(building(tools).hook(keeping(&kept)));
        executor.run(super::one("echo", r#"{"text":"a"}"#)).await;
        assert!(!kept.lock().unwrap()[0].is_cancelled());
    });
}

// J08, G11
#[test]
fn a_failure_after_a_cancellation_is_not_retried() {
    each_way_paused(async |way| {
        /// Fails on its cancellation.
        #[tool(register = false, retry(attempts = 3, initial = "1s"))]
        async fn give_up(cx: &ToolContext) -> Result<(), ToolError> {
            cx.cancellation().cancelled().await;
            Err(ToolError::failed("gave up").retryable(true))
        }
        let executor = way.executor(Registry::builder().tool::<give_up>());
        let run = Arc::new(RunContext::new());
        let batch = executor.batch(calls(&["give_up"])).with_run(Arc::clone(&run));
        let stopping = async {
            sleep(Duration::from_secs(1)).await;
            run.cancellation().cancel();
        };
        let (outcomes, ()) = tokio::join!(executor.drive(batch), stopping);
        assert_eq!(texts(&outcomes), ["gave up"]);
        assert_eq!(outcomes[0].result().unwrap().attempts, 1);
    });
}

/// Stops its run, and continues.
#[tool(register = false)]
async fn stop(cx: &ToolContext) {
    cx.run().unwrap().cancellation().cancel();
    std::future::pending::<()>().await;
}

/// Is external.
#[tool(register = false)]
fn elsewhere() {}

// E07, G10, G11, X05: before and after the call that stops the batch.
#[test]
fn an_external_call_of_a_stopped_batch_has_an_error() {
    let strategies =
        [ExecutionStrategy::Parallel, ExecutionStrategy::Sequential, ExecutionStrategy::Batched { size: 2 }];
    for (strategy, finish) in
        strategies.iter().flat_map(|it| [(*it, Finish::InOrder), (*it, Finish::AsCompleted)])
    {
        for watched in [true, false] {
            let tools = Registry::builder().tool::<stop>().tool::<elsewhere>();
            let external = |call: &CallView<'_>| call.tool() == "elsewhere";
            let executor =
                building(tools).strategy(strategy).finish(finish).external(external).build().unwrap();
            let mut listener = watched.then(|| executor.subscribe());
            let batch = executor.batch(calls(&["elsewhere", "stop", "elsewhere", "elsewhere"]));
            let outcomes = crate::run(batch.with_run(RunContext::new()).run());
            // An external call of an earlier wave stays open.
            let first = if strategy == ExecutionStrategy::Sequential { "-" } else { "Cancelled" };
            assert_eq!(
                texts(&outcomes),
                [first, "Cancelled", "Cancelled", "Cancelled"],
                "{strategy:?}, {finish:?}"
            );
            let open: Vec<_> = crate::now(executor.open_calls())
                .unwrap()
                .iter()
                .map(|it| it.call().id.to_string())
                .collect();
            assert_eq!(open, if first == "-" { vec!["0"] } else { vec![] }, "{strategy:?}, {finish:?}");
            if let Some(listener) = &mut listener {
                let told = told(listener);
                let number = if first == "-" { 3 } else { 4 };
                for what in ["started", "finished"] {
                    assert_eq!(told.iter().filter(|it| it.starts_with(what)).count(), number, "{told:?}");
                }
            }
        }
    }
}

// G10
#[test]
fn an_external_call_is_skipped_by_steering() {
    let tools = Registry::builder().tool::<elsewhere>();
    let executor =
        building(tools).strategy(ExecutionStrategy::Sequential).external(|_| true).build().unwrap();
    let mut listener = executor.subscribe();
    let outcomes = crate::run(executor.batch(calls(&["elsewhere"; 2])).steering(&steered(|| true)).run());
    assert_eq!(texts(&outcomes), ["-", SKIPPED]);
    assert_eq!(crate::now(executor.open_calls()).unwrap().len(), 1);
    assert_eq!(told(&mut listener), ["external 0", "started 1", "finished 1"]);
}

// G11: the batch is stopped while an earlier call of the wave is prepared.
#[test]
fn an_external_call_of_a_batch_stopped_by_a_hook_has_an_error() {
    let token = CancellationToken::new();
    let stopping = token.clone();
    let hook = On::before(move |_| {
        stopping.cancel();
        Ok(Before::Continue)
    });
    let tools = Registry::builder().tool::<stop>().tool::<elsewhere>();
    let external = |call: &CallView<'_>| call.tool() == "elsewhere";
    let executor = building(tools).hook(hook).external(external).build().unwrap();
    let mut listener = executor.subscribe();
    let batch = executor.batch(calls(&["stop", "elsewhere"]));
    let outcomes = crate::run(batch.with_run(RunContext::new().with_cancellation(token)).run());
    assert_eq!(texts(&outcomes), ["Cancelled", "Cancelled"]);
    assert_eq!(told(&mut listener), ["started 0", "started 1", "finished 0", "finished 1"]);
    assert!(crate::now(executor.open_calls()).unwrap().is_empty());
}
