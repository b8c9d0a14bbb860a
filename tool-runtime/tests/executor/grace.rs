//! The grace period of cancelled bodies and hooks.

use std::{fmt::Debug, future::pending, time::Duration};

use futures_util::{Stream, future::join, stream};
use tokio::{
    sync::Semaphore,
    time::{Instant, sleep},
};
use tool_runtime::{
    CancellationToken, RunContext,
    executor::{ExecutionStrategy, Finish},
    prelude::*,
};
use tracing::{
    Event, Subscriber,
    field::{Field, Visit},
};
use tracing_subscriber::{Layer, layer::Context, prelude::*};

use super::*;
use test_support::collectors::each_thread_for_itself;

/// Receives a message when a body starts.
type Begun = Arc<Semaphore>;

/// Cleans up for the given number of seconds after its cancellation.
#[tool(register = false)]
async fn tidy(cx: &ToolContext, begun: &Begun, seconds: u64) -> String {
    begun.add_permits(1);
    cx.cancellation().cancelled().await;
    sleep(Duration::from_secs(seconds)).await;
    format!("tidied for {seconds} s")
}

/// Like `tidy`, with a longer grace period.
#[tool(register = false, grace_period = "10s")]
async fn patient(cx: &ToolContext, begun: &Begun, seconds: u64) -> String {
    tidy(cx, begun, seconds).await
}

/// Like `tidy`, without a grace period.
#[tool(register = false, grace_period = "0s")]
async fn hasty(cx: &ToolContext, begun: &Begun, seconds: u64) -> String {
    tidy(cx, begun, seconds).await
}

/// Like `tidy`, but polls `is_cancelled`.
#[tool(register = false)]
async fn looks(cx: &ToolContext, begun: &Begun, seconds: u64) -> String {
    begun.add_permits(1);
    while !cx.is_cancelled() {
        sleep(Duration::from_millis(100)).await;
    }
    sleep(Duration::from_secs(seconds)).await;
    format!("looked for {seconds} s")
}

/// Does not request its token.
#[tool(register = false)]
async fn ignores(begun: &Begun) -> &'static str {
    begun.add_permits(1);
    sleep(Duration::from_secs(2)).await;
    "ignored"
}

/// Requests its token, and exceeds its timeout.
#[tool(register = false, timeout = "1s")]
async fn limited(cx: &ToolContext, begun: &Begun) -> &'static str {
    begun.add_permits(1);
    cx.cancellation().cancelled().await;
    pending::<()>().await;
    "never"
}

/// Waits between two items.
#[tool(register = false)]
async fn items(cx: &ToolContext, begun: &Begun) -> impl Stream<Item = String> + use<> {
    let token = cx.cancellation().clone();
    let begun = Arc::clone(begun);
    stream::once(async move {
        begun.add_permits(1);
        token.cancelled().await;
        sleep(Duration::from_secs(1)).await;
        "an item".to_owned()
    })
}

/// Fails, and is retried after a minute.
#[tool(register = false, retry(attempts = 2, initial = "60s"))]
async fn again(cx: &ToolContext, begun: &Begun) -> Result<(), ToolError> {
    let _ = cx.is_cancelled();
    begun.add_permits(1);
    Err(ToolError::failed("not yet").retryable(true))
}

fn begun() -> Begun {
    Arc::new(Semaphore::new(0))
}

fn tools(begun: &Begun) -> RegistryBuilder {
    let tools = Registry::builder().tool::<tidy>().tool::<patient>().tool::<hasty>().tool::<looks>();
    let tools = tools.tool::<ignores>().tool::<limited>().tool::<items>().tool::<again>().tool::<echo>();
    let closure = ToolBuilder::new("closure").expect_handler(|args: Seconds, cx: ToolContext| async move {
        cx.require::<Begun>()?.add_permits(1);
        cx.cancellation().cancelled().await;
        sleep(Duration::from_secs(args.seconds)).await;
        Ok::<_, ToolError>("closed")
    });
    tools.add(closure).provide(Arc::clone(begun)).provide(Counter::default())
}

#[tool_args]
struct Seconds {
    seconds: u64,
}

/// Returns the outcome of a call that is cancelled while it runs, and the time from the cancellation.
async fn cancelled(executor: Executor, begun: &Begun, call: &str, arguments: &str) -> (String, Duration) {
    let stop = CancellationToken::new();
    let run = RunContext::new().with_cancellation(stop.clone());
    let batch = executor.batch(one(call, arguments)).with_run(run).run();
    let stopping = async {
        begun.acquire().await.unwrap().forget();
        // Lets a started tool reach its wait.
        sleep(Duration::from_millis(1)).await;
        stop.cancel();
        Instant::now()
    };
    let (outcomes, start) = join(batch, stopping).await;
    (texts(&outcomes).remove(0), start.elapsed())
}

/// Runs `check` with each strategy, watched and not.
async fn check(settings: impl Fn(ExecutorBuilder) -> ExecutorBuilder, cases: &[(&str, &str, &str, u64)]) {
    for strategy in [ExecutionStrategy::Parallel, ExecutionStrategy::Sequential] {
        for finish in [Finish::InOrder, Finish::AsCompleted] {
            for watched in [false, true] {
                for (tool, arguments, told, after) in cases {
                    let begun = begun();
                    let builder = settings(building(tools(&begun)).strategy(strategy).finish(finish));
                    let builder = if watched { builder.hook(On::default()) } else { builder };
                    let (text, elapsed) = cancelled(builder.build().unwrap(), &begun, tool, arguments).await;
                    let what = format!("{tool} {arguments} {strategy:?} {finish:?} {watched}");
                    // A timer may be late by a millisecond, and a body polls ten times a second.
                    assert_eq!((text.as_str(), elapsed.as_secs()), (*told, *after), "{what}");
                }
            }
        }
    }
}

const TWO: &str = r#"{"seconds":2}"#;
const FIVE: &str = r#"{"seconds":5}"#;

// G10, K11, J08, J09
#[tokio::test(start_paused = true)]
async fn a_body_that_requested_its_token_has_a_grace_period_and_its_result_counts() {
    let cases = [
        ("tidy", TWO, "tidied for 2 s", 2),
        ("tidy", FIVE, "Cancelled", 3),
        ("looks", TWO, "looked for 2 s", 2),
        ("closure", TWO, "closed", 2),
        ("patient", FIVE, "tidied for 5 s", 5),
        ("hasty", TWO, "Cancelled", 0),
        ("ignores", "{}", "Cancelled", 0),
        ("limited", "{}", "Timed out: no result after 1s", 0),
        ("items", "{}", "Cancelled", 0),
        ("again", "{}", "Cancelled", 0),
    ];
    check(|it| it, &cases).await;
    // The grace period of a tool overrides the one of the executor.
    let cases = [
        ("tidy", TWO, "Cancelled", 1),
        ("patient", FIVE, "tidied for 5 s", 5),
        ("hasty", TWO, "Cancelled", 0),
    ];
    check(|it| it.grace_period(Duration::from_secs(1)), &cases).await;
    check(|it| it.grace_period(Duration::ZERO), &[("tidy", TWO, "Cancelled", 0)]).await;
    // A token that a hook requested does not count as requested by the body.
    let asking = |it: ExecutorBuilder| {
        it.hook(On::admit(|call| call.context().is_none_or(|cx| !cx.cancellation().is_cancelled())))
    };
    check(asking, &[("ignores", "{}", "Cancelled", 0), ("tidy", TWO, "tidied for 2 s", 2)]).await;
}

// G10
#[tokio::test(start_paused = true)]
async fn a_call_that_is_cancelled_alone_has_the_same_grace_period() {
    let begun = begun();
    let token = Arc::new(Mutex::new(None));
    let kept = Arc::clone(&token);
    let hook = On::before(move |call| {
        *kept.lock().unwrap() = Some(call.context().cancellation().clone());
        Ok(Before::Continue)
    });
    let executor = building(tools(&begun)).hook(hook).build().unwrap();
    for (arguments, told) in [(TWO, "tidied for 2 s"), (FIVE, "Cancelled")] {
        let stopping = async {
            begun.acquire().await.unwrap().forget();
            token.lock().unwrap().take().unwrap().cancel();
        };
        let (outcomes, ()) = join(executor.run(one("tidy", arguments)), stopping).await;
        assert_eq!(texts(&outcomes), [told]);
    }
}

// G10
#[test]
fn a_body_returns_its_result_after_cancellation_on_both_runtimes() {
    /// Returns on its cancellation.
    #[tool(register = false)]
    async fn ends(cx: &ToolContext, begun: &Begun, end: &Counter) -> &'static str {
        begun.add_permits(1);
        cx.cancellation().cancelled().await;
        while end.get() == 0 {
            tokio::task::yield_now().await;
        }
        "ended"
    }
    super::on_both_runtimes(async || {
        let (begun, end, stop) = (begun(), Counter::default(), CancellationToken::new());
        let tools = Registry::builder().tool::<ends>().provide(Arc::clone(&begun)).provide(end.clone());
        let executor = executor(tools);
        let run = RunContext::new().with_cancellation(stop.clone());
        let batch = executor.batch(calls(&["ends"])).with_run(run).run();
        let stopping = async {
            begun.acquire().await.unwrap().forget();
            stop.cancel();
            tokio::task::yield_now().await;
            end.count();
        };
        assert_eq!(texts(&join(batch, stopping).await.0), ["ended"]);
    });
}

// G10
#[test]
fn without_a_timer_a_cancelled_body_is_dropped_at_once() {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        /// Requests its token, and never returns.
        #[tool(register = false)]
        async fn stays(cx: &ToolContext, begun: &Begun) {
            begun.add_permits(1);
            cx.cancellation().cancelled().await;
            pending::<()>().await;
        }
        let (begun, stop) = (begun(), CancellationToken::new());
        let executor = executor(Registry::builder().tool::<stays>().provide(Arc::clone(&begun)));
        let run = RunContext::new().with_cancellation(stop.clone());
        let stopping = async {
            begun.acquire().await.unwrap().forget();
            stop.cancel();
        };
        let batch = executor.batch(calls(&["stays"])).with_run(run).run();
        assert_eq!(texts(&join(batch, stopping).await.0), ["Cancelled"]);
    });
}

// G10
#[tokio::test(start_paused = true)]
async fn the_deadline_of_a_run_ends_the_grace_period() {
    let begun = begun();
    let (executor, stop) = (executor(tools(&begun)), CancellationToken::new());
    let end = Instant::now() + Duration::from_secs(1);
    let run = RunContext::new().with_cancellation(stop.clone()).with_deadline(end.into_std());
    let batch = executor.batch(one("tidy", TWO)).with_run(run).run();
    let stopping = async {
        begun.acquire().await.unwrap().forget();
        stop.cancel();
    };
    assert_eq!(texts(&join(batch, stopping).await.0), ["Cancelled"]);
    assert_eq!(end.elapsed().as_secs(), 0);
    assert!(Instant::now() < end + Duration::from_millis(10));
}

/// Runs a nested batch in the same run, and waits for it.
#[tool(register = false)]
async fn outer(cx: &ToolContext, inner: &Executor) -> String {
    let _ = cx.is_cancelled();
    let run = cx.run().unwrap().child("inner");
    let outcomes = inner.batch(one("tidy", r#"{"seconds":60}"#)).with_run(run).run().await;
    // Time remains to clean up after the nested batch.
    sleep(Duration::from_millis(500)).await;
    format!("inner: {}", texts(&outcomes).concat())
}

// G10
#[tokio::test(start_paused = true)]
async fn the_grace_period_of_a_nested_batch_ends_before_the_one_of_its_body() {
    for hangs in [false, true] {
        for watched in [false, true] {
            let begun = begun();
            let inner = building(tools(&begun));
            // This body also uses its full grace period.
            let inner = if hangs { inner.hook(Hanging("finished")) } else { inner };
            let tools = Registry::builder().tool::<outer>().provide(inner.build().unwrap());
            let builder = building(tools);
            let builder = if watched { builder.hook(On::default()) } else { builder };
            let (text, elapsed) = cancelled(builder.build().unwrap(), &begun, "outer", "{}").await;
            let after = if hangs { 2_500 } else { 1_500 };
            assert_eq!((text.as_str(), elapsed.as_millis() / 100 * 100), ("inner: Cancelled", after));
        }
    }
}

/// A hook that hangs in one of its methods.
struct Hanging(&'static str);

impl Hanging {
    fn at<'a, T: Send + 'a>(&self, stage: &str, value: T) -> BoxFuture<'a, T> {
        let hangs = self.0 == stage;
        Box::pin(async move {
            if hangs {
                pending::<()>().await;
            }
            value
        })
    }
}

impl Hook for Hanging {
    async fn after(&self, _: &CallView<'_>, _: &mut ToolResult) -> Result<ControlFlow<()>, ToolError> {
        self.at("after", Ok(ControlFlow::Continue(()))).await
    }

    async fn finished(&self, _: &CallView<'_>, _: &ToolResult) {
        self.at("finished", ()).await
    }
}

// H05, G10
#[tokio::test(start_paused = true)]
async fn a_hook_that_hangs_ends_with_the_grace_period_of_a_cancelled_batch() {
    // A result that the hooks did not complete is discarded.
    for (stage, told) in [("after", ["Cancelled"; 3]), ("finished", ["a", "b", "c"])] {
        for finish in [Finish::InOrder, Finish::AsCompleted] {
            let executor = building(tools(&begun())).hook(Hanging(stage)).finish(finish).build().unwrap();
            let stop = CancellationToken::new();
            let run = RunContext::new().with_cancellation(stop.clone());
            let calls =
                ["a", "b", "c"].map(|text| ToolCall::new("echo", json!({ "text": text }).to_string()));
            let batch = executor.batch(calls.to_vec()).with_run(run).run();
            let stopping = async {
                sleep(Duration::from_secs(60)).await;
                stop.cancel();
                Instant::now()
            };
            let (outcomes, start) = join(batch, stopping).await;
            assert_eq!(texts(&outcomes), told);
            // One grace period for all hooks together.
            assert_eq!(start.elapsed().as_secs(), 3);
        }
    }
}

#[derive(Clone, Default)]
struct Errors(Arc<Mutex<Vec<String>>>);

impl Visit for Errors {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.lock().unwrap().push(format!("{field}={value:?}"));
    }
}

impl<S: Subscriber> Layer<S> for Errors {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if *event.metadata().level() == tracing::Level::ERROR {
            event.record(&mut self.clone());
        }
    }
}

/// A hook that panics where its result is not used.
struct Panicking;

impl Hook for Panicking {
    async fn after_update(&self, _: &CallView<'_>, text: &str) {
        panic!("no {text}")
    }

    async fn finished(&self, _: &CallView<'_>, _: &ToolResult) {
        panic!("no end")
    }
}

// H05
#[test]
fn a_panic_of_a_notification_hook_is_logged() {
    /// Reports.
    #[tool(register = false)]
    async fn reports(cx: &ToolContext) {
        cx.update("news").await;
    }
    each_thread_for_itself();
    let errors = Errors::default();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(errors.clone()), || {
        let executor = building(Registry::builder().tool::<reports>()).hook(Panicking).build().unwrap();
        crate::run(executor.run(calls(&["reports"])));
    });
    let told = errors.0.lock().unwrap().join(" ");
    for part in
        ["call=0", "tool=\"reports\"", "Panicking\"", "a hook panicked: no news", "a hook panicked: no end"]
    {
        assert!(told.contains(part), "{told}");
    }
}

// G10, I21: a token that a question uses does not count as requested by the body.
#[tokio::test(start_paused = true)]
async fn a_body_that_continues_after_an_answer_without_its_token_is_dropped_at_once() {
    /// Requests a confirmation, and then never returns.
    #[tool(register = false)]
    async fn hangs(cx: &ToolContext, begun: &Begun) -> Result<(), ToolError> {
        if cx.confirmation().is_none() {
            return Err(cx.request_confirmation("Really?", Value::Null));
        }
        begun.add_permits(1);
        pending().await
    }
    for watched in [false, true] {
        let (begun, stop) = (begun(), CancellationToken::new());
        let tools = Registry::builder().tool::<hangs>().provide(Arc::clone(&begun));
        let builder = building(tools)
            .approver(|_: &tool_runtime::policy::ApprovalRequest| tool_runtime::policy::Approval::Approved);
        let builder = if watched { builder.hook(On::default()) } else { builder };
        let executor = builder.build().unwrap();
        let start = Instant::now();
        let run = RunContext::new().with_cancellation(stop.clone());
        let batch = executor.batch(calls(&["hangs"])).with_run(run).run();
        let stopping = async {
            begun.acquire().await.unwrap().forget();
            stop.cancel();
        };
        assert_eq!(texts(&join(batch, stopping).await.0), ["Cancelled"]);
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}
