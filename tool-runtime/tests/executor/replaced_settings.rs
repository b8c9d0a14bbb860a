//! Settings of a run that override the settings of its executor, one test each.

use std::{future::ready, ops::ControlFlow, time::Duration};

use futures_util::future::join;
use tokio::time::{Instant, sleep};
use tool_runtime::{
    CallOutcome, CancellationToken, ErrorKind, Executor, RunContext, ToolCall,
    call::Operation,
    definition::Permission,
    executor::{Finish, RunSettings},
    hook::Before,
    prelude::*,
};

use super::{
    Counter, On, Timeline, building, calls, echo, hang, obey, one,
    run_settings::run,
    texts,
    ways::{Observed, each_way, each_way_paused},
};

const ECHO: &str = r#"{"text":"a"}"#;

fn echoing() -> tool_runtime::registry::RegistryBuilder {
    Registry::builder().tool::<echo>().provide(Counter::default())
}

/// Returns the outcomes of `calls` in a run with `settings`, and in a following run without settings.
async fn with_and_without(
    executor: &Observed,
    settings: RunSettings,
    calls: &[ToolCall],
) -> [Vec<CallOutcome>; 2] {
    let with = run(executor, settings, calls.to_vec()).await;
    let without = executor.drive(executor.batch(calls.to_vec()).with_run(RunContext::new())).await;
    [with, without]
}

/// Returns the same outcomes as texts for the model.
async fn texts_of_both(executor: &Observed, settings: RunSettings, calls: &[ToolCall]) -> [Vec<String>; 2] {
    with_and_without(executor, settings, calls).await.map(|outcomes| texts(&outcomes))
}

// G03
#[test]
fn parallel_of_the_run_overrides_the_executor() {
    each_way_paused(async |way| {
        for parallel in [true, false] {
            let tools = Registry::builder().tool::<obey>();
            let executor = way.of(building(tools).parallel(parallel).timeout(Duration::from_secs(1)));
            let of_run =
                executor.with_settings(&RunContext::new(), RunSettings::new().parallel(!parallel)).unwrap();
            let seconds = async |by: &Executor| {
                let start = Instant::now();
                let outcomes = executor.drive(by.batch(calls(&["obey", "obey"]))).await;
                assert_eq!(texts(&outcomes), ["Timed out: no result after 1s"; 2]);
                start.elapsed().as_secs()
            };
            let expected = |parallel: bool| if parallel && way.size() > 1 { 1 } else { 2 };
            assert_eq!(seconds(&of_run).await, expected(!parallel));
            assert_eq!(seconds(&executor).await, expected(parallel));
        }
    });
}

/// Returns after the given number of seconds.
#[tool(register = false)]
async fn nap(seconds: u64) {
    sleep(Duration::from_secs(seconds)).await;
}

// G02: the later call ends first.
#[test]
fn finish_of_the_run_overrides_the_executor() {
    each_way_paused(async |way| {
        let timeline = Timeline::default();
        let noting = timeline.clone();
        let finished = On::finished(move |call, _| noting.note(call.id().to_string()));
        let executor = way.of(building(Registry::builder().tool::<nap>()).hook(finished));
        let both = [
            ToolCall::new("nap", json!({ "seconds": 2 })).with_id("0"),
            ToolCall::new("nap", json!({ "seconds": 1 })).with_id("1"),
        ];
        let other = match way.finish {
            Finish::InOrder => Finish::AsCompleted,
            Finish::AsCompleted => Finish::InOrder,
        };
        with_and_without(&executor, RunSettings::new().finish(other), &both).await;
        let expected = |finish| match finish {
            Finish::AsCompleted if way.size() > 1 => ["1", "0"],
            _ => ["0", "1"],
        };
        assert_eq!(timeline.all(), [expected(other), expected(way.finish)].concat());
    });
}

// H11
#[test]
fn after_answers_of_the_run_overrides_the_executor() {
    each_way(async |way| {
        for after_answers in [false, true] {
            let builder = building(echoing())
                .after_answers(after_answers)
                .hook(On::before(|_| Ok(Before::Answer("cached".into()))))
                .hook(On::after(|result| {
                    result.outcome = Ok(format!("{}, seen", result.text()).into());
                    Ok(ControlFlow::Continue(()))
                }));
            let settings = RunSettings::new().after_answers(!after_answers);
            let told = texts_of_both(&way.of(builder), settings, &one("echo", ECHO)).await;
            let expected = |after_answers| [if after_answers { "cached, seen" } else { "cached" }];
            assert_eq!(told, [expected(!after_answers), expected(after_answers)]);
        }
    });
}

// H13, CF18
#[test]
fn stop_on_hook_panic_of_the_run_overrides_the_executor() {
    each_way(async |way| {
        for stops in [false, true] {
            let panics = On::before(|_| panic!("boom"));
            let executor = way.of(building(echoing()).stop_on_hook_panic(stops).hook(panics));
            let settings = RunSettings::new().stop_on_hook_panic(!stops);
            let told = texts_of_both(&executor, settings, &one("echo", ECHO)).await;
            let expected =
                |stops| [if stops { "Stopped: a hook panicked: boom" } else { "a hook panicked: boom" }];
            assert_eq!(told, [expected(!stops), expected(stops)]);
        }
    });
}

// I09, I17
#[test]
fn ask_later_of_the_run_overrides_the_executor() {
    each_way(async |way| {
        for pending_approvals in [false, true] {
            let asking = building(echoing()).permission_fn(|_| ready(Ok(Permission::ask("may it?"))));
            let executor = way.of(asking.pending_approvals(pending_approvals));
            let settings = RunSettings::new().pending_approvals(!pending_approvals);
            let both = with_and_without(&executor, settings, &one("echo", ECHO)).await;
            let is_pending = both.each_ref().map(|outcomes| matches!(outcomes[0], CallOutcome::Pending(..)));
            assert_eq!(is_pending, [!pending_approvals, pending_approvals]);
            let refused = both.iter().flatten().find(|outcome| outcome.is_finished()).unwrap();
            let error = refused.result().unwrap().outcome.as_ref().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::ApprovalRequired);
        }
    });
}

/// Pays.
#[tool(register = false, confirm)]
fn pay(amount: u32) -> u32 {
    amount
}

// I17
#[test]
fn confirmation_call_of_the_run_overrides_the_executor() {
    each_way(async |way| {
        let executor = way.of(building(Registry::builder().tool::<pay>()).confirmation_call("ask_a_person"));
        let settings = RunSettings::new().confirmation_call("adk_request_confirmation");
        let of_run = executor.with_settings(&RunContext::new(), settings).unwrap();
        let outcomes = executor.drive(of_run.batch(one("pay", r#"{"amount":7}"#))).await;
        let CallOutcome::Pending(pending) = &outcomes[0] else { panic!("{outcomes:?}") };
        let Operation::Confirmation(request) = &pending.operation else { panic!("{pending:?}") };
        assert_eq!(&*of_run.confirmation_call(request).name, "adk_request_confirmation");
        assert_eq!(&*executor.confirmation_call(request).name, "ask_a_person");
    });
}

// J09
#[test]
fn idle_timeout_of_the_run_overrides_the_executor() {
    each_way_paused(async |way| {
        let tools = Registry::builder().tool::<hang>();
        let executor = way.of(building(tools).idle_timeout(Duration::from_secs(2)));
        let settings = RunSettings::new().idle_timeout(Duration::from_secs(5));
        let told = texts_of_both(&executor, settings, &one("hang", "{}")).await;
        assert_eq!(
            told,
            [["Timed out: no update or progress for 5s"], ["Timed out: no update or progress for 2s"]]
        );
    });
}

/// Cleans up for 2 seconds after its cancellation.
#[tool(register = false)]
async fn tidy(cx: &ToolContext) -> &'static str {
    cx.cancellation().cancelled().await;
    sleep(Duration::from_secs(2)).await;
    "tidied"
}

// G10
#[test]
fn grace_period_of_the_run_overrides_the_executor() {
    let (short, long) = (Duration::from_secs(1), Duration::from_secs(5));
    each_way_paused(async |way| {
        for (own, other) in [(short, long), (long, short)] {
            let executor = way.of(building(Registry::builder().tool::<tidy>()).grace_period(own));
            let settings = RunSettings::new().grace_period(other);
            let of_run = executor.with_settings(&RunContext::new(), settings).unwrap();
            let cancelled = async |by: &Executor| {
                let stop = CancellationToken::new();
                let run = RunContext::new().with_cancellation(stop.clone());
                let batch = executor.drive(by.batch(one("tidy", "{}")).with_run(run));
                let stopping = async {
                    sleep(Duration::from_secs(1)).await;
                    stop.cancel();
                };
                texts(&join(batch, stopping).await.0)
            };
            let expected = |period| [if period == long { "tidied" } else { "Cancelled" }];
            assert_eq!(cancelled(&of_run).await, expected(other));
            assert_eq!(cancelled(&executor).await, expected(own));
        }
    });
}
