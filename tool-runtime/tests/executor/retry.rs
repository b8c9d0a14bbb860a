//! Retries.

use std::{
    io,
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::{Stream, StreamExt, stream};
use tokio::time::Instant;
use tool_runtime::{
    CancellationToken, ErrorKind, ToolCall,
    definition::{Permission, Retry},
    policy::{PermissionRequest, RetryInfo, RetryPolicy, RetryRule},
    prelude::*,
    registry::RegistryBuilder,
};

use super::{
    Counter, Noting, Timeline, building, one, texts,
    ways::{Observed, Way, each_way_paused},
};

/// Fails a given number of times before it succeeds, and records the times of its attempts.
#[derive(Clone)]
struct Flaky {
    failures: u32,
    error: Arc<dyn Fn() -> ToolError + Send + Sync>,
    attempts: Arc<Mutex<Vec<(u32, Instant, CancellationToken)>>>,
}

impl Flaky {
    fn new(failures: u32) -> Self {
        Self::with(failures, || ToolError::from(io::Error::from(io::ErrorKind::ConnectionReset)))
    }

    fn with(failures: u32, error: impl Fn() -> ToolError + Send + Sync + 'static) -> Self {
        Self { failures, error: Arc::new(error), attempts: Arc::default() }
    }

    fn run(&self, cx: &ToolContext) -> Result<String, ToolError> {
        let mut attempts = self.attempts.lock().unwrap();
        attempts.push((cx.attempt(), Instant::now(), cx.cancellation().clone()));
        if attempts.len() <= self.failures as usize { Err((self.error)()) } else { Ok("done".to_owned()) }
    }

    fn numbers(&self) -> Vec<u32> {
        self.attempts.lock().unwrap().iter().map(|(number, ..)| *number).collect()
    }

    fn pauses(&self) -> Vec<u128> {
        let attempts = self.attempts.lock().unwrap();
        // A timer may be late by a millisecond.
        attempts.windows(2).map(|pair| (pair[1].1 - pair[0].1).as_millis() / 10 * 10).collect()
    }
}

/// Writes.
#[tool(register = false)]
async fn write(flaky: &Flaky, cx: &ToolContext) -> Result<String, ToolError> {
    flaky.run(cx)
}

/// Reads.
#[tool(register = false, read_only)]
async fn read(flaky: &Flaky, cx: &ToolContext) -> Result<String, ToolError> {
    flaky.run(cx)
}

/// Sets.
#[tool(register = false, idempotent)]
async fn set(flaky: &Flaky, cx: &ToolContext) -> Result<String, ToolError> {
    flaky.run(cx)
}

/// Declares a retry policy.
#[tool(register = false, retry(attempts = 3, initial = "200ms", jitter = false))]
async fn insist(flaky: &Flaky, cx: &ToolContext) -> Result<String, ToolError> {
    flaky.run(cx)
}

const STEADY: Retry = Retry { attempts: 3, jitter: false, ..Retry::DEFAULT };
const RESET: &str = "connection reset";

fn tools(flaky: &Flaky) -> RegistryBuilder {
    let tools = Registry::builder().tool::<write>().tool::<read>().tool::<set>().tool::<insist>();
    tools.provide(flaky.clone())
}

fn retrying(way: Way, flaky: &Flaky, policy: impl Into<RetryPolicy>) -> Observed {
    way.of(building(tools(flaky)).retry(policy))
}

async fn text(executor: &Observed, tool: &str) -> String {
    texts(&executor.run(one(tool, "{}")).await).concat()
}

// J01
#[test]
fn calls_are_not_retried_by_default() {
    each_way_paused(async |way| {
        for tool in ["write", "read", "set"] {
            let flaky = Flaky::new(1);
            assert_eq!(text(&way.executor(tools(&flaky)), tool).await, RESET);
            assert_eq!(flaky.numbers(), [1]);
        }
        let flaky = Flaky::new(1);
        let once = retrying(way, &flaky, Retry { attempts: 1, ..STEADY });
        assert_eq!(text(&once, "read").await, RESET);
        assert_eq!(flaky.numbers(), [1]);
    });
}

// J01
#[test]
fn a_retry_policy_applies_to_tools_that_are_safe_to_repeat() {
    each_way_paused(async |way| {
        for (tool, attempts) in [("write", 1), ("read", 3), ("set", 3), ("insist", 3)] {
            let flaky = Flaky::new(9);
            let executor = retrying(way, &flaky, Retry { attempts: 3, ..STEADY });
            assert_eq!(text(&executor, tool).await, RESET, "{tool}");
            assert_eq!(flaky.numbers(), (1..=attempts).collect::<Vec<_>>(), "{tool}");
        }
        let flaky = Flaky::new(2);
        let executor = retrying(way, &flaky, RetryPolicy::new(STEADY).any_tool());
        let outcomes = executor.run(one("write", "{}")).await;
        assert_eq!(texts(&outcomes), ["done"]);
        let result = outcomes[0].result().unwrap();
        assert_eq!(result.attempts, 3);
    });
}

// J02, J08
#[test]
fn pauses_grow_and_the_last_error_is_the_result() {
    each_way_paused(async |way| {
        let numbers = Counter::default();
        let counting = numbers.clone();
        let flaky = Flaky::with(9, move || {
            ToolError::failed(format!("failure {}", counting.count())).retryable(true)
        });
        assert_eq!(text(&way.executor(tools(&flaky)), "insist").await, "failure 3");
        assert_eq!(flaky.pauses(), [200, 400]);
    });
}

// J04
#[test]
fn only_transient_errors_are_retried() {
    each_way_paused(async |way| {
        let io = |kind: io::ErrorKind| move || ToolError::from(io::Error::from(kind));
        let of = |kind: ErrorKind| move || ToolError::new(kind, "it").retryable(true);
        let cases: [(Box<dyn Fn() -> ToolError + Send + Sync>, usize); 10] = [
            (Box::new(io(io::ErrorKind::UnexpectedEof)), 3),
            (Box::new(io(io::ErrorKind::TimedOut)), 3),
            (Box::new(io(io::ErrorKind::ConnectionRefused)), 3),
            (Box::new(io(io::ErrorKind::NotFound)), 1),
            (Box::new(io(io::ErrorKind::PermissionDenied)), 1),
            (Box::new(|| ToolError::failed("no")), 1),
            (Box::new(|| ToolError::failed("later").retryable(true)), 3),
            (Box::new(of(ErrorKind::Cancelled)), 1),
            (Box::new(of(ErrorKind::TimedOut)), 1),
            (Box::new(|| panic!("boom")), 1),
        ];
        for (number, (error, attempts)) in cases.into_iter().enumerate() {
            let flaky = Flaky::with(9, error);
            text(&retrying(way, &flaky, STEADY), "read").await;
            assert_eq!(
                flaky.attempts.lock().map_or_else(|it| it.into_inner().len(), |it| it.len()),
                attempts,
                "{number}"
            );
        }
    });
}

// J05, J06
#[test]
fn a_retry_rule_decides_on_failed_attempts_only() {
    each_way_paused(async |way| {
        /// Returns an error status as a result.
        #[tool(register = false, read_only)]
        fn serve(counter: &Counter, text: String) -> ToolOutput {
            match counter.count() {
                1 => ToolOutput::from("status 503").as_failure(),
                _ => ToolOutput::from(text),
            }
        }
        let timeline = Timeline::default();
        let noting = timeline.clone();
        let rule = move |info: &RetryInfo<'_>| {
            assert!(!info.is_transient());
            noting.note(format!(
                "{} {} {} {}/{} {} {}",
                info.tool,
                info.id,
                info.arguments.as_str(),
                info.attempt,
                info.max_attempts,
                info.is_result_failure(),
                info.outcome.as_ref().unwrap().text(),
            ));
            true
        };
        let tools = || Registry::builder().tool::<serve>().provide(Counter::default());
        let executor = way.of(building(tools()).retry(RetryPolicy::new(STEADY).rule(rule)));
        let outcomes = executor.run(one("serve", r#"{"text":"a"}"#)).await;
        assert_eq!(texts(&outcomes), ["a"]);
        assert_eq!(timeline.all(), [r#"serve 0 {"text":"a"} 1/3 true status 503"#]);
        // Without a rule, a result with an error status is a success.
        let executor = way.of(building(tools()).retry(STEADY));
        let outcomes = executor.run(one("serve", r#"{"text":"a"}"#)).await;
        let result = outcomes[0].result().unwrap();
        assert_eq!((result.text().as_ref(), result.is_error(), result.attempts), ("status 503", true, 1));
    });
}

/// Answers that it is busy, with a pause, before it answers.
#[derive(Clone)]
struct Busy {
    answers: usize,
    pause: Duration,
    as_error: bool,
    times: Arc<Mutex<Vec<Instant>>>,
}

impl Busy {
    fn pauses(&self) -> Vec<u128> {
        let times = self.times.lock().unwrap();
        times.windows(2).map(|pair| (pair[1] - pair[0]).as_millis() / 10 * 10).collect()
    }
}

/// Fetches.
#[tool(register = false, read_only)]
async fn fetch(busy: &Busy) -> Result<ToolOutput, ToolError> {
    let mut times = busy.times.lock().unwrap();
    times.push(Instant::now());
    match times.len() {
        attempt if attempt > busy.answers => Ok(ToolOutput::from("done")),
        attempt if busy.as_error => {
            Err(ToolError::failed(format!("busy {attempt}")).retryable(true).with_retry_after(busy.pause))
        }
        attempt => Ok(ToolOutput::from(format!("busy {attempt}")).as_retryable(busy.pause)),
    }
}

// J02, J04
#[test]
fn an_attempt_asks_for_a_pause_and_the_last_temporary_result_is_the_result() {
    each_way_paused(async |way| {
        let millis = Duration::from_millis;
        let rows: [(usize, Duration, &str, &[u128]); 5] = [
            (2, millis(1000), "done", &[1000, 1000]),
            // The pause of the policy is longer.
            (2, millis(300), "done", &[300, 400]),
            (2, Duration::ZERO, "done", &[200, 400]),
            (9, millis(1000), "busy 3", &[1000, 1000]),
            // Longer than the policy permits.
            (9, millis(30_001), "busy 1", &[]),
        ];
        for (answers, pause, text, pauses) in rows {
            for as_error in [false, true] {
                let busy = Busy { answers, pause, as_error, times: Arc::default() };
                let tools = || Registry::builder().tool::<fetch>().provide(busy.clone());
                let executor = way.of(building(tools()).retry(STEADY));
                let outcomes = executor.run(one("fetch", "{}")).await;
                let result = outcomes[0].result().unwrap();
                assert_eq!((texts(&outcomes), busy.pauses()), (vec![text.to_owned()], pauses.to_vec()));
                assert_eq!(result.is_error(), as_error && text != "done");
                // Without a policy, no call is repeated.
                busy.times.lock().unwrap().clear();
                assert_eq!(texts(&way.executor(tools()).run(one("fetch", "{}")).await), ["busy 1"]);
            }
        }
    });
}

// J05
#[test]
fn a_failing_retry_rule_is_reported_beside_the_failure() {
    each_way_paused(async |way| {
        struct Broken(bool);
        impl RetryRule for Broken {
            async fn again(&self, _info: &RetryInfo<'_>) -> Result<bool, ToolError> {
                assert!(!self.0, "boom");
                Err(ToolError::failed("no quota known"))
            }
        }
        for (panics, rule) in [(false, "no quota known"), (true, "it panicked: boom")] {
            let flaky = Flaky::with(9, || ToolError::failed("disk full").with_details(json!({ "line": 3 })));
            let executor = retrying(way, &flaky, RetryPolicy::new(STEADY).rule(Broken(panics)));
            let outcomes = executor.run(one("read", "{}")).await;
            let text = format!("disk full (and the retry rule failed: {rule})");
            assert_eq!(texts(&outcomes), [text]);
            let result = outcomes[0].result().unwrap();
            assert_eq!((result.details(), result.attempts), (Some(&json!({ "line": 3 })), 1));
            assert!(result.is_error());
        }
    });
}

// J07
#[test]
fn only_the_body_is_retried() {
    each_way_paused(async |way| {
        let (flaky, timeline, asked) = (Flaky::new(2), Timeline::default(), Counter::default());
        let asking = asked.clone();
        let executor = way.of(building(tools(&flaky)).hook(Noting(timeline.clone(), "")).permission(
            move |_: &PermissionRequest<'_>| {
                asking.count();
                Permission::Allow
            },
        ));
        assert_eq!(text(&executor, "insist").await, "done");
        assert_eq!(flaky.numbers(), [1, 2, 3]);
        assert_eq!(asked.get(), 1);
        assert_eq!(timeline.all(), ["gate 0", "before 0", "after 0", "done 0"]);
        executor.assert_told(["started 0", "finished 0"]);
    });
}

// J07
#[test]
fn a_stream_is_never_retried() {
    each_way_paused(async |way| {
        /// Fails, hangs or panics after an item.
        #[tool(register = false, read_only)]
        fn tear(counter: &Counter, how: String) -> impl Stream<Item = Result<u32, ToolError>> {
            counter.count();
            stream::iter([Ok(1)]).chain(stream::once(async move {
                match how.as_str() {
                    "hang" => std::future::pending().await,
                    "panic" => panic!("boom"),
                    _ => Err(ToolError::failed("torn").retryable(true)),
                }
            }))
        }
        for (how, text) in [
            ("break", "torn"),
            ("hang", "Timed out: no result after 1s"),
            ("panic", "The tool tear panicked: boom"),
        ] {
            let counter = Counter::default();
            let tools = Registry::builder().tool::<tear>().provide(counter.clone());
            let always = RetryPolicy::new(STEADY).any_tool().rule(|_: &RetryInfo<'_>| true);
            let executor = way.of(building(tools).retry(always).timeout(Duration::from_secs(1)));
            let outcomes = executor.run(vec![ToolCall::new("tear", json!({ "how": how }))]).await;
            assert_eq!(texts(&outcomes), [text]);
            assert_eq!(counter.get(), 1, "{how}");
        }
    });
}

// J09, C03
#[test]
fn each_attempt_has_its_own_deadline_and_its_own_token() {
    each_way_paused(async |way| {
        /// Times out, then fails temporarily, then succeeds.
        #[tool(register = false, read_only, timeout = "1s")]
        async fn slow(flaky: &Flaky, cx: &ToolContext) -> Result<String, ToolError> {
            let deadline = Instant::from_std(cx.deadline().unwrap());
            assert_eq!(deadline - Instant::now(), Duration::from_secs(1));
            assert!(!cx.is_cancelled());
            let outcome = flaky.run(cx);
            if cx.attempt() == 1 {
                std::future::pending::<()>().await;
            }
            outcome
        }
        let flaky = Flaky::new(2);
        let tools = Registry::builder().tool::<slow>().provide(flaky.clone());
        let rule = |info: &RetryInfo<'_>| {
            assert!(!info.is_result_failure());
            let late = info.outcome.as_ref().is_err_and(|error| error.kind() == ErrorKind::TimedOut);
            late || info.is_transient()
        };
        let executor = way.of(building(tools).retry(RetryPolicy::new(STEADY).rule(rule)));
        assert_eq!(text(&executor, "slow").await, "done");
        assert_eq!(flaky.numbers(), [1, 2, 3]);
        assert_eq!(flaky.pauses(), [1200, 400]);
        let cancelled: Vec<_> =
            flaky.attempts.lock().unwrap().iter().map(|(.., token)| token.is_cancelled()).collect();
        assert_eq!(cancelled, [true, false, false]);
    });
}

// J07, H07
#[test]
fn a_retry_uses_the_arguments_that_a_hook_rewrote() {
    each_way_paused(async |way| {
        /// Succeeds at the second attempt.
        #[tool(register = false, read_only)]
        fn say(text: String, cx: &ToolContext) -> Result<String, ToolError> {
            if cx.attempt() < 2 { Err(ToolError::failed("not yet").retryable(true)) } else { Ok(text) }
        }
        let executor = way.of(building(Registry::builder().tool::<say>()).retry(STEADY).hook(
            super::On::before(|call| {
                call.rewrite(json!({ "text": "b" }));
                Ok(tool_runtime::hook::Before::Continue)
            }),
        ));
        assert_eq!(texts(&executor.run(one("say", r#"{"text":"a"}"#)).await), ["b"]);
    });
}

// J02
#[test]
fn a_pause_without_a_timer_does_not_panic() {
    let flaky = Flaky::with(9, || ToolError::failed("not yet").retryable(true));
    let executor = super::executor(tools(&flaky));
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    assert_eq!(texts(&runtime.block_on(executor.run(one("insist", "{}")))), ["not yet"]);
    assert_eq!(flaky.attempts.lock().unwrap().len(), 1);
}

// J04, J08
#[test]
fn a_cancelled_call_is_never_retried() {
    each_way_paused(async |way| {
        let flaky = Flaky::with(9, ToolError::cancelled);
        let executor = retrying(way, &flaky, RetryPolicy::new(STEADY).rule(|_: &RetryInfo<'_>| true));
        assert_eq!(text(&executor, "read").await, "Cancelled");
        assert_eq!(flaky.numbers(), [1]);
    });
}
