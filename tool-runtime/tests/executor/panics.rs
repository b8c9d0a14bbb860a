//! Panics of user code, wherever it is called or dropped: only the call itself fails.

use std::{
    error::Error,
    fmt,
    future::{Future, pending},
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::future::join;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::sync::Semaphore;
use tool_runtime::{
    CancellationToken, RunContext, Tool, ToolDefinition, ToolName,
    definition::{Permission, Prepared},
    executor::{ExecutionStrategy, Finish},
    policy::{Approval, ApprovalRequest, PermissionRequest, ResultBudget, RetryInfo, RetryPolicy},
    schema::{Arguments, InputSchema},
};

use super::*;

/// Panics when it is dropped.
#[derive(Debug)]
struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("a bomb");
    }
}

/// An error that panics when it is dropped.
#[derive(Debug)]
struct Explosive {
    _bomb: Bomb,
}

impl fmt::Display for Explosive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("explosive")
    }
}

impl Error for Explosive {}

fn explosive() -> ToolError {
    ToolError::from_source(Explosive { _bomb: Bomb }).retryable(true)
}

/// An error that panics when it is written.
#[derive(Debug)]
struct Unprintable;

impl fmt::Display for Unprintable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("no words")
    }
}

impl Error for Unprintable {}

/// An argument that panics when it is dropped.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
struct Fuse {
    length: u8,
    #[serde(skip)]
    _bomb: Option<Box<Bomb>>,
}

impl Drop for Fuse {
    fn drop(&mut self) {
        panic!("a fuse of {}", self.length);
    }
}

/// Times out while it holds a value that panics on drop.
#[tool(register = false, timeout = "1s")]
async fn late() {
    let _bomb = Bomb;
    pending::<()>().await;
}

/// Waits while it holds a value that panics on drop.
#[tool(register = false)]
async fn wait(begun: &Semaphore) {
    let _bomb = Bomb;
    begun.add_permits(1);
    pending::<()>().await;
}

/// Fails with an error whose `Display` panics.
#[tool(register = false)]
async fn unprintable() -> Result<(), Unprintable> {
    Err(Unprintable)
}

/// Fails with a boxed error whose `Display` panics.
#[tool(register = false)]
async fn boxed() -> Result<(), Box<dyn Error + Send + Sync>> {
    Err(Box::new(Unprintable))
}

/// Fails with an error that panics on drop.
#[tool(register = false, read_only)]
async fn fails() -> Result<(), ToolError> {
    Err(explosive())
}

/// Succeeds with the second attempt.
#[tool(register = false, retry(attempts = 2, initial = "1ms"))]
async fn second(cx: &ToolContext) -> Result<String, ToolError> {
    if cx.attempt() == 1 { Err(explosive()) } else { Ok("second".to_owned()) }
}

/// Takes a fuse.
#[tool(register = false)]
async fn light(fuse: Fuse) -> String {
    let length = fuse.length;
    std::mem::forget(fuse);
    length.to_string()
}

/// A future that is ready at once, and panics when it is dropped.
struct Answered(Bomb);

impl Future for Answered {
    type Output = Result<ToolOutput, ToolError>;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Self::Output> {
        Poll::Ready(Ok("answered".into()))
    }
}

/// A hand-written tool whose `definition` may be called only once.
struct Once {
    definition: ToolDefinition,
    asked: Counter,
}

impl Once {
    fn new(name: &'static str) -> Self {
        let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
        let definition = ToolDefinition::new(ToolName::new(name).unwrap(), "Is made by hand.", schema);
        Self { definition, asked: Counter::default() }
    }
}

impl Tool for Once {
    fn definition(&self) -> &ToolDefinition {
        assert_eq!(self.asked.count(), 1, "asked again");
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, |_, _| Box::pin(Answered(Bomb))))
    }
}

fn tools() -> RegistryBuilder {
    let tools = Registry::builder().tool::<echo>().tool::<late>().tool::<wait>().tool::<unprintable>();
    let tools = tools.tool::<boxed>().tool::<fails>().tool::<second>().tool::<light>().add(Once::new("once"));
    tools.provide(Counter::default()).provide(Semaphore::new(0))
}

fn is_ours(tool: &str) -> bool {
    tool != "echo"
}

/// A place at which user code is called or dropped.
struct Case {
    settings: fn(ExecutorBuilder) -> ExecutorBuilder,
    tool: &'static str,
    arguments: &'static str,
    /// The text for the model; the results of the other calls do not depend on the case.
    told: &'static str,
}

const fn case(
    tool: &'static str,
    settings: fn(ExecutorBuilder) -> ExecutorBuilder,
    told: &'static str,
) -> Case {
    Case { settings, tool, arguments: "{}", told }
}

/// Returns the cases of a tool alone.
const OF_TOOLS: [Case; 6] = [
    case("late", |it| it, "Timed out: no result after 1s"),
    case("unprintable", |it| it, "The tool unprintable panicked: no words"),
    case("boxed", |it| it, "The tool boxed panicked: no words"),
    case("fails", |it| it, "explosive"),
    case("once", |it| it, "answered"),
    Case { settings: |it| it, tool: "light", arguments: r#"{"fuse":7}"#, told: "7" },
];

/// Returns the cases of hooks, policies, rules and listeners.
const AROUND_TOOLS: [Case; 18] = [
    case("second", |it| it, "second"),
    // The error of the tool is dropped for the error or the output of a hook.
    case("fails", |it| it.hook(On::recover(|_| Ok(Some("recovered".into())))), "recovered"),
    case("fails", |it| it.hook(On::recover(|_| Err(explosive()))), "explosive"),
    case(
        "fails",
        |it| {
            it.hook(On::after(|result| {
                if is_ours(&result.name) {
                    result.outcome = Ok("replaced".into());
                }
                Ok(ControlFlow::Continue(()))
            }))
        },
        "replaced",
    ),
    case("unprintable", |it| it.budget(ResultBudget::new(4096)), "The tool unprintable panicked: no words"),
    case("fails", |it| it.budget(ResultBudget::new(4096)), "explosive"),
    // Prepared, but not run.
    Case {
        settings: |it| {
            it.permission(|request: &PermissionRequest<'_>| match is_ours(request.tool()) {
                true => Permission::deny("no fire"),
                false => Permission::Allow,
            })
        },
        tool: "light",
        arguments: r#"{"fuse":7}"#,
        told: "Denied: no fire",
    },
    Case {
        settings: |it| {
            it.hook(On::before(|call| {
                if is_ours(call.definition().name()) {
                    return Ok(Before::block("wet"));
                }
                Ok(Before::Continue)
            }))
        },
        tool: "light",
        arguments: r#"{"fuse":7}"#,
        told: "wet",
    },
    case(
        "once",
        |it| it.hook(On::admit(|call| !is_ours(call.tool()) || panic!("gate"))),
        "a hook panicked: gate",
    ),
    case(
        "once",
        |it| {
            it.hook(On::before(|call| match is_ours(call.definition().name()) {
                true => panic!("before"),
                false => Ok(Before::Continue),
            }))
        },
        "a hook panicked: before",
    ),
    case("fails", |it| it.hook(On::recover(|_| panic!("recover"))), "a hook panicked: recover"),
    case(
        "once",
        |it| {
            it.hook(On::after(|result| match is_ours(&result.name) {
                true => panic!("after"),
                false => Ok(ControlFlow::Continue(())),
            }))
        },
        "a hook panicked: after",
    ),
    case("once", |it| it.hook(On::finished(|_, _| panic!("finished"))), "answered"),
    case(
        "once",
        |it| it.external(|call| is_ours(call.tool()) && panic!("external")),
        "the selection of external calls panicked: external",
    ),
    case(
        "once",
        |it| {
            it.permission(|request: &PermissionRequest<'_>| match is_ours(request.tool()) {
                true => panic!("policy"),
                false => Permission::Allow,
            })
        },
        "the permission policy panicked: policy",
    ),
    case(
        "once",
        |it| {
            let asks = |request: &PermissionRequest<'_>| match is_ours(request.tool()) {
                true => Permission::ask("why"),
                false => Permission::Allow,
            };
            it.permission(asks).approver(|_: &ApprovalRequest| -> Approval { panic!("approver") })
        },
        "the approver panicked: approver",
    ),
    case(
        "fails",
        |it| {
            it.retry(
                RetryPolicy::new(tool_runtime::definition::Retry::DEFAULT)
                    .rule(|info: &RetryInfo<'_>| -> bool { panic!("rule of {}", info.tool) }),
            )
        },
        "explosive (and the retry rule failed: it panicked: rule of fails)",
    ),
    // Dropped with the executor, of which the batch holds the last reference.
    case(
        "once",
        |it| {
            let bomb = Bomb;
            it.hook(On::finished(move |_, _| {
                let _ = &bomb;
            }))
        },
        "answered",
    ),
];

/// Runs `case` between two other calls, in all ways to run a batch.
async fn check(case: &Case) {
    let strategies =
        [ExecutionStrategy::Parallel, ExecutionStrategy::Sequential, ExecutionStrategy::Batched { size: 2 }];
    for strategy in strategies {
        for finish in [Finish::InOrder, Finish::AsCompleted] {
            for watched in [false, true] {
                let builder = (case.settings)(building(tools()).strategy(strategy).finish(finish));
                let executor = if watched { builder.hook(On::default()) } else { builder }.build().unwrap();
                let listener = watched.then(|| executor.subscribe());
                let calls = vec![
                    ToolCall::new("echo", r#"{"text":"a"}"#).with_id("0"),
                    ToolCall::new(case.tool, case.arguments).with_id("1"),
                    ToolCall::new("echo", r#"{"text":"b"}"#).with_id("2"),
                ];
                let run = RunContext::new().provide(Bomb);
                let bomb = Bomb;
                let steering = super::steered(move || {
                    let _ = &bomb;
                    false
                });
                let batch = executor.batch(calls).with_run(run).steering(&steering);
                drop((executor, steering));
                let outcomes = batch.run().await;
                let context =
                    format!("{} told {:?}, {strategy:?}, {finish:?}, {watched}", case.tool, case.told);
                assert_eq!(texts(&outcomes), ["a", case.told, "b"], "{context}");
                drop((listener, outcomes));
            }
        }
    }
}

// J10
#[tokio::test(start_paused = true)]
async fn a_panic_of_a_tool_fails_only_its_call() {
    for case in &OF_TOOLS {
        check(case).await;
    }
}

// J10, H05
#[tokio::test(start_paused = true)]
async fn a_panic_of_a_hook_policy_or_listener_fails_only_its_call() {
    for case in &AROUND_TOOLS {
        check(case).await;
    }
}

// J10
#[tokio::test(start_paused = true)]
async fn a_call_of_the_registry_has_the_same_results() {
    for case in &OF_TOOLS {
        let tools = registry(tools());
        let told = match tools.call(case.tool, case.arguments).await {
            Ok(output) => output.text().into_owned(),
            Err(error) => error.feedback(),
        };
        assert_eq!(told, case.told);
    }
}

// J10
#[test]
fn a_cancelled_body_that_panics_on_drop_is_cancelled_and_its_siblings_keep_their_results() {
    for watched in [false, true] {
        for (strategy, last) in [
            (ExecutionStrategy::Parallel, "b"),
            (ExecutionStrategy::Sequential, "Cancelled"),
            (ExecutionStrategy::Batched { size: 2 }, "Cancelled"),
        ] {
            on_both_runtimes(async || {
                let tools = tools();
                let executor = building(tools).strategy(strategy).build().unwrap();
                let listener = watched.then(|| executor.subscribe());
                let stop = CancellationToken::new();
                let calls = vec![
                    ToolCall::new("echo", r#"{"text":"a"}"#),
                    ToolCall::new("wait", "{}"),
                    ToolCall::new("echo", r#"{"text":"b"}"#),
                ];
                let run = RunContext::new().with_cancellation(stop.clone());
                let batch = executor.batch(calls).with_run(run).run();
                let begun = executor.tools().provided().get::<Semaphore>().unwrap();
                let stopped = async {
                    begun.acquire().await.unwrap().forget();
                    stop.cancel();
                };
                let (outcomes, ()) = join(batch, stopped).await;
                assert_eq!(texts(&outcomes), ["a", "Cancelled", last]);
                drop(listener);
            });
        }
    }
}

/// A hook that waits in one of its methods while it holds a value that panics on drop.
struct Slow(&'static str, std::sync::Arc<Semaphore>);

impl Slow {
    fn at<'a, T: Send + 'a>(&self, stage: &str, value: T) -> BoxFuture<'a, T> {
        let begun = (self.0 == stage).then(|| Arc::clone(&self.1));
        Box::pin(async move {
            if let Some(begun) = begun {
                let _bomb = Bomb;
                begun.add_permits(1);
                pending::<()>().await;
            }
            value
        })
    }
}

impl Hook for Slow {
    async fn admit(&self, _: &CallView<'_>) -> bool {
        self.at("gate", true).await
    }

    async fn before(&self, _: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        self.at("before", Ok(Before::Continue)).await
    }
}

// J10, H05
#[test]
fn a_cancelled_hook_that_panics_on_drop_changes_no_result() {
    for stage in ["gate", "before"] {
        on_both_runtimes(async || {
            let begun = Arc::new(Semaphore::new(0));
            let executor = building(tools()).hook(Slow(stage, Arc::clone(&begun))).build().unwrap();
            let stop = CancellationToken::new();
            let run = RunContext::new().with_cancellation(stop.clone());
            let batch = executor.batch(one("echo", r#"{"text":"a"}"#)).with_run(run).run();
            let stopped = async {
                begun.acquire().await.unwrap().forget();
                stop.cancel();
            };
            assert_eq!(texts(&join(batch, stopped).await.0), ["Cancelled"]);
        });
    }
}

// E01
#[test]
fn an_error_is_formatted_once_where_it_occurs() {
    #[derive(Debug)]
    struct Counting(Counter);
    impl fmt::Display for Counting {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "text {}", self.0.count())
        }
    }
    impl Error for Counting {}
    let error = ToolError::from_source(Counting(Counter::default()));
    assert_eq!([error.feedback(), error.reason().into_owned(), error.clone().feedback()], ["text 1"; 3]);
}
