//! Total and idle timeouts of calls.

use std::{future::pending, time::Duration};

use tokio::time::{Instant, sleep};
use tool_runtime::{
    ErrorKind,
    context::Progress,
    definition::{Metadata, Retry},
    executor::ExecutionStrategy,
    policy::Limits,
    prelude::*,
    registry::RegistryBuilder,
    serde_json::Map,
};

use super::{
    Counter, Timeline, building, calls, echo, hang, one,
    strategies::crash,
    texts,
    ways::{Observed, Way, each_way, each_way_paused},
};

fn within(way: Way, seconds: u64, tools: RegistryBuilder) -> Observed {
    way.of(building(tools).timeout(Duration::from_secs(seconds)))
}

// J09
#[test]
fn calls_have_no_deadline_by_default() {
    each_way_paused(async |way| {
        /// Takes a day.
        #[tool(register = false)]
        async fn long(cx: &ToolContext) -> String {
            sleep(Duration::from_secs(86_400)).await;
            format!("{:?}", cx.deadline())
        }
        assert_eq!(
            texts(&way.executor(Registry::builder().tool::<long>()).run(calls(&["long"])).await),
            ["None"]
        );
    });
}

// J09
#[test]
fn a_call_that_times_out_has_an_error_and_its_token_is_cancelled() {
    each_way_paused(async |way| {
        /// Stores its token outside of the call.
        #[tool(register = false)]
        async fn late(timeline: &Timeline, cx: &ToolContext) {
            let (timeline, token) = (timeline.clone(), cx.cancellation().clone());
            tokio::spawn(async move {
                token.cancelled().await;
                timeline.note("cancelled");
            });
            pending::<()>().await;
        }
        let timeline = Timeline::default();
        let tools = Registry::builder().tool::<late>().tool::<echo>().provide(timeline.clone());
        let tools = building(tools.provide(Counter::default()));
        let executor = way.of(tools.timeout(Duration::from_millis(100)));
        let mut calls = calls(&["late"]);
        calls.push(tool_runtime::ToolCall::new("echo", r#"{"text":"a"}"#).with_id("1"));
        let outcomes = executor.run(calls).await;
        assert_eq!(texts(&outcomes), ["Timed out: no result after 100ms", "a"]);
        let result = outcomes[0].result().unwrap();
        assert_eq!(result.outcome.as_ref().unwrap_err().kind(), ErrorKind::TimedOut);
        tokio::task::yield_now().await;
        assert_eq!(timeline.all(), ["cancelled"]);
        executor.assert_calls_told(&["0", "1"]);
    });
}

// J09
#[test]
fn the_timeout_of_a_tool_overrides_the_timeout_of_the_executor() {
    each_way_paused(async |way| {
        /// Has a shorter timeout.
        #[tool(register = false, timeout = "50ms")]
        async fn quick() {
            pending::<()>().await;
        }
        /// Has a longer timeout.
        #[tool(register = false, timeout = "1h")]
        async fn slow() -> &'static str {
            sleep(Duration::from_secs(60)).await;
            "done"
        }
        let tools = Registry::builder().tool::<quick>().tool::<slow>().tool::<hang>();
        let start = Instant::now();
        let outcomes = within(way, 5, tools).run(calls(&["quick", "slow", "hang"])).await;
        assert_eq!(
            texts(&outcomes),
            ["Timed out: no result after 50ms", "done", "Timed out: no result after 5s"]
        );
        // The duration of the long call, plus those that do not run in parallel with it.
        let beside = match way.strategy {
            ExecutionStrategy::Parallel => Duration::ZERO,
            ExecutionStrategy::Sequential => Duration::from_millis(5050),
            ExecutionStrategy::Batched { .. } => Duration::from_secs(5),
        };
        assert_eq!(start.elapsed(), Duration::from_secs(60) + beside);
    });
}

// J09
#[test]
fn a_tool_sees_its_deadline() {
    each_way_paused(async |way| {
        /// Returns the time until its deadline.
        #[tool(register = false)]
        async fn left(cx: &ToolContext) -> String {
            format!("{:?}", Instant::from_std(cx.deadline().unwrap()) - Instant::now())
        }
        assert_eq!(
            texts(&within(way, 5, Registry::builder().tool::<left>()).run(calls(&["left"])).await),
            ["5s"]
        );
    });
}

// J09: waiting for a permit is not part of the attempt.
#[test]
fn the_timeout_of_a_call_starts_when_its_body_starts() {
    each_way_paused(async |way| {
        /// Takes 3 seconds.
        #[tool(register = false)]
        async fn three() -> &'static str {
            sleep(Duration::from_secs(3)).await;
            "done"
        }
        let one_by_one = || building(Registry::builder().tool::<three>()).limits(Limits::new().overall(1));
        for builder in
            [one_by_one().timeout(Duration::from_secs(5)), one_by_one().idle_timeout(Duration::from_secs(5))]
        {
            assert_eq!(texts(&way.of(builder).run(calls(&["three"; 3])).await), ["done"; 3]);
        }
    });
}

/// Reports progress every 2 seconds, 4 times.
#[tool(register = false, idle_timeout = "3s")]
async fn lively(cx: &ToolContext, by_progress: bool, silence: u64) -> &'static str {
    for _ in 0..4 {
        sleep(Duration::from_secs(2)).await;
        if by_progress {
            cx.progress(Progress::new(1.0)).unwrap();
        } else {
            cx.update("alive").await;
        }
    }
    sleep(Duration::from_secs(silence)).await;
    "done"
}

// J09, K01, K03
#[test]
fn reports_reset_the_idle_timeout_with_and_without_listeners() {
    each_way_paused(async |way| {
        for by_progress in [false, true] {
            let executor = way.executor(Registry::builder().tool::<lively>());
            let run = async |silence: u64| {
                let arguments = json!({ "by_progress": by_progress, "silence": silence });
                let start = Instant::now();
                let outcomes = executor.run(vec![tool_runtime::ToolCall::new("lively", arguments)]).await;
                (texts(&outcomes).concat(), start.elapsed().as_secs())
            };
            assert_eq!(run(2).await, ("done".to_owned(), 10));
            assert_eq!(run(4).await, ("Timed out: no update or progress for 3s".to_owned(), 11));
        }
    });
}

// J09
#[test]
fn reports_do_not_extend_the_deadline() {
    each_way_paused(async |way| {
        let tools = Registry::builder().tool::<lively>();
        let outcomes = within(way, 7, tools).run(one("lively", r#"{"by_progress":true,"silence":0}"#)).await;
        assert_eq!(texts(&outcomes), ["Timed out: no result after 7s"]);
    });
}

// J09
#[test]
fn an_executor_may_set_an_idle_timeout_for_all_tools() {
    each_way_paused(async |way| {
        let executor = way.of(building(Registry::builder().tool::<hang>().tool::<lively>())
            .idle_timeout(Duration::from_secs(1)));
        let mut calls = calls(&["hang"]);
        calls.extend(one("lively", r#"{"by_progress":true,"silence":0}"#));
        assert_eq!(texts(&executor.run(calls).await), ["Timed out: no update or progress for 1s", "done"]);
    });
}

// J10
#[test]
fn a_panic_is_an_error_in_every_strategy() {
    each_way(async |way| {
        /// Panics later.
        #[tool(register = false)]
        async fn crash_later() {
            tokio::task::yield_now().await;
            std::panic::panic_any(7);
        }
        let tools = Registry::builder().tool::<crash>().tool::<crash_later>().tool::<echo>();
        let executor = way.executor(tools.provide(Counter::default()));
        let mut calls = calls(&["crash", "crash_later"]);
        calls.extend(one("echo", r#"{"text":"a"}"#));
        assert_eq!(
            texts(&executor.run(calls).await),
            ["The tool crash panicked: boom", "The tool crash_later panicked", "a"]
        );
    });
}

// J09, A12
#[test]
fn a_tool_from_a_closure_sees_its_deadline() {
    each_way_paused(async |way| {
        let look = |_: Map<String, Value>, cx: ToolContext| async move {
            let left = cx.deadline().map(|deadline| Instant::from_std(deadline) - Instant::now());
            match cx.attempt() {
                1 => Err(ToolError::failed(format!("{left:?}")).retryable(true)),
                _ => Ok(format!("{left:?}")),
            }
        };
        let retry = Retry { attempts: 2, ..Retry::DEFAULT };
        let metadata = Metadata { retry: Some(retry), ..Metadata::default() };
        let again = ToolBuilder::new("again").metadata(metadata).expect_handler(look);
        let executor =
            within(way, 3, Registry::builder().add(ToolBuilder::new("look").expect_handler(look)).add(again));
        assert_eq!(texts(&executor.run(calls(&["look", "again"])).await), ["Some(3s)", "Some(3s)"]);
    });
}

// J09
#[test]
fn a_timeout_requires_a_runtime_with_a_timer() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let tools = || Registry::builder().tool::<echo>().provide(Counter::default());
    for builder in [
        building(tools()).timeout(Duration::from_secs(5)),
        building(tools()).idle_timeout(Duration::from_secs(5)),
    ] {
        let executor = builder.build().unwrap();
        let text = texts(&runtime.block_on(executor.run(one("echo", r#"{"text":"a"}"#)))).concat();
        assert!(
            text.starts_with("Tool unavailable: it has a `timeout`, but there is no tokio runtime"),
            "{text}"
        );
    }
}
