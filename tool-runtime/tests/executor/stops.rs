//! Errors that stop the run.

use std::{ops::ControlFlow, sync::Arc};

use tool_runtime::{
    ErrorKind, Executor, RunContext, Tool, ToolCall, ToolDefinition, ToolName,
    definition::Prepared,
    executor::{ExecutionStrategy, stop_error},
    hook::Before,
    policy::{
        Approval, ApprovalHandle, Approver, PermissionPolicy, PermissionRequest, RetryInfo, RetryPolicy,
        RetryRule,
    },
    prelude::*,
    schema::{Arguments, InputSchema},
    serde_json::{Map, Value, json},
};

use super::{AT_ONCE, Counter, On, calls, one, texts, ways::each_way};

/// Ends the run.
#[tool(register = false, read_only)]
fn enough(runs: &Counter) -> Result<String, ToolError> {
    runs.count();
    // A stop is not retried, even if it is marked as retryable.
    Err(ToolError::stop("enough").retryable(true))
}

/// Takes a moment.
#[tool(register = false)]
async fn slow() -> &'static str {
    for _ in 0..3 {
        tokio::task::yield_now().await;
    }
    "slow"
}

/// Counts.
#[tool(register = false)]
fn counted(counter: &Arc<Counter>) -> usize {
    counter.count()
}

struct Tools {
    stops: Counter,
    counted: Arc<Counter>,
}

impl Tools {
    fn new() -> Self {
        Self { stops: Counter::default(), counted: Arc::default() }
    }

    fn registry(&self) -> tool_runtime::registry::RegistryBuilder {
        Registry::builder()
            .tool::<enough>()
            .tool::<slow>()
            .tool::<counted>()
            .provide(self.stops.clone())
            .provide(Arc::clone(&self.counted))
    }
}

const SKIPPED: &str = "Skipped: the run was stopped: enough";

// E09
#[test]
fn a_call_that_stops_the_run_keeps_the_results_of_its_siblings() {
    each_way(async |way| {
        let tools = Tools::new();
        let executor = way.executor(tools.registry());
        let run = Arc::new(RunContext::new());
        let asked = calls(&["slow", "enough", "counted", "nope", "enough"]);
        let outcomes = executor.drive(executor.batch(asked).with_run(Arc::clone(&run))).await;
        let told = texts(&outcomes);
        assert_eq!(told[..3], ["slow", "Stopped: enough", SKIPPED]);
        assert_eq!(told[4], SKIPPED);
        // All calls of a wave were prepared before.
        let looked_up = if way.size() > 3 { "Tool not found: nope" } else { SKIPPED };
        assert_eq!(told[3], looked_up);
        let stop = stop_error(&outcomes).unwrap();
        assert_eq!((stop.kind(), stop.tool()), (ErrorKind::Stopped, Some("enough")));
        assert_eq!(run.stopped().map(|stop| (stop.feedback(), stop.tool().map(str::to_owned))), {
            Some(("Stopped: enough".to_owned(), Some("enough".to_owned())))
        });
        // A later batch of the run does not start; a batch of another run does.
        let later = executor.drive(executor.batch(calls(&["counted"])).with_run(Arc::clone(&run))).await;
        assert_eq!(texts(&later), [SKIPPED]);
        assert!(stop_error(&later).is_none());
        assert_eq!((tools.stops.get(), tools.counted.get()), (1, 0));
        let other = executor.drive(executor.batch(calls(&["counted"])).with_run(RunContext::new())).await;
        assert_eq!(texts(&other), ["1"]);
        // Without a run, a stop ends the batch.
        let outcomes = executor.drive(executor.batch(calls(&["enough", "counted"]))).await;
        assert_eq!(texts(&outcomes), ["Stopped: enough", SKIPPED]);
        assert_eq!(texts(&executor.drive(executor.batch(calls(&["counted"]))).await), ["2"]);
    });
}

fn stop_early(_: &mut Map<String, Value>) -> Result<(), ToolError> {
    Err(ToolError::stop("enough"))
}

/// Ends the run before its body.
#[tool(register = false, prepare = stop_early)]
fn early() {}

/// A hand-written tool that ends the run before its body.
struct ByHand(ToolDefinition);

impl Tool for ByHand {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, _: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Err(ToolError::stop("enough"))
    }
}

// G05, E09
#[test]
fn tools_prepare_all_calls_of_a_wave_before_the_first_body() {
    each_way(async |way| {
        let schema = InputSchema::new(json!({ "type": "object" })).unwrap();
        let by_hand = ByHand(ToolDefinition::new(ToolName::new("by_hand").unwrap(), "Ends the run.", schema));
        let tools = Tools::new();
        let executor = way.executor(tools.registry().tool::<early>().add(by_hand));
        for stop in ["early", "by_hand"] {
            let before = tools.counted.get();
            let outcomes = executor.drive(executor.batch(calls(&["counted", stop]))).await;
            let told = texts(&outcomes);
            assert_eq!(told[1], "Stopped: enough");
            match way.size() {
                1 => assert_eq!(tools.counted.get(), before + 1),
                _ => assert_eq!((&*told[0], tools.counted.get()), (SKIPPED, before)),
            }
            // Nothing else is checked after it.
            let mut batch = calls(&[stop]);
            batch.push(ToolCall::new("counted", r#"{"x":1}"#));
            batch.push(ToolCall::new("nothing", "{}"));
            let outcomes = executor.drive(executor.batch(batch)).await;
            assert_eq!(texts(&outcomes)[1..], [SKIPPED, SKIPPED]);
        }
    });
}

// E09
#[test]
fn a_stop_cannot_be_replaced_and_is_never_retried() {
    each_way(async |way| {
        let tools = Tools::new();
        let recovered = Counter::default();
        let counter = recovered.clone();
        let builder = super::building(tools.registry())
            .retry(RetryPolicy::new(AT_ONCE).any_tool().rule(|_: &RetryInfo<'_>| true))
            .hook(On::recover(move |_| {
                counter.count();
                Ok(Some("all is well".into()))
            }))
            .hook(On::after(|result| {
                result.outcome = Ok("all is well".into());
                Ok(ControlFlow::Continue(()))
            }));
        let executor = way.of(builder);
        let outcomes = executor.drive(executor.batch(calls(&["enough", "counted"]))).await;
        assert_eq!(texts(&outcomes), ["Stopped: enough", SKIPPED]);
        assert_eq!((tools.stops.get(), tools.counted.get(), recovered.get()), (1, 0, 0));
    });
}

struct Stops;

impl PermissionPolicy for Stops {
    async fn decide(
        &self,
        _: &PermissionRequest<'_>,
    ) -> Result<tool_runtime::definition::Permission, ToolError> {
        Err(ToolError::stop("enough"))
    }
}

impl Approver for Stops {
    async fn ask(&self, _: &ApprovalHandle) -> Result<Approval, ToolError> {
        Err(ToolError::stop("enough"))
    }
}

impl RetryRule for Stops {
    async fn again(&self, _: &RetryInfo<'_>) -> Result<bool, ToolError> {
        Err(ToolError::stop("enough"))
    }
}

// E09
#[test]
fn a_hook_a_policy_an_approver_and_a_retry_rule_may_stop_the_run() {
    /// Requires confirmation, and asks a question.
    #[tool(register = false)]
    fn asks(cx: &ToolContext) -> Result<(), ToolError> {
        Err(cx.request_confirmation("Really?", Value::Null))
    }

    /// Fails.
    #[tool(register = false)]
    fn fails() -> Result<(), ToolError> {
        Err(ToolError::failed("no"))
    }

    /// Requires confirmation.
    #[tool(register = false, confirm)]
    fn confirmed() {}

    type Set = fn(tool_runtime::executor::ExecutorBuilder) -> tool_runtime::executor::ExecutorBuilder;
    let table: [(&str, Set); 7] = [
        ("counted", |it| it.hook(On::before(|_| Err(ToolError::stop("enough"))))),
        ("counted", |it| it.permission(Stops)),
        ("confirmed", |it| it.approver(Stops)),
        ("asks", |it| it.approver(Stops)),
        ("fails", |it| it.retry(RetryPolicy::new(AT_ONCE).any_tool().rule(Stops))),
        ("fails", |it| it.hook(On::recover(|_| Err(ToolError::stop("enough"))))),
        ("fails", |it| it.hook(On::after(|_| Err(ToolError::stop("enough"))))),
    ];
    each_way(async |way| {
        for (at, (name, set)) in table.into_iter().enumerate() {
            let tools = Tools::new();
            let registry = tools.registry().tool::<asks>().tool::<fails>().tool::<confirmed>();
            let executor = way.of(set(super::building(registry)));
            let run = Arc::new(RunContext::new());
            let outcomes = executor.drive(executor.batch(calls(&[name])).with_run(Arc::clone(&run))).await;
            assert_eq!(texts(&outcomes), ["Stopped: enough"], "{at}");
            assert_eq!(run.stopped().map(|stop| stop.reason().into_owned()).as_deref(), Some("enough"));
            let later = executor.drive(executor.batch(calls(&["counted"])).with_run(run)).await;
            assert_eq!(texts(&later), [SKIPPED], "{at}");
            assert_eq!(tools.counted.get(), 0);
        }
    });
}

// CF18, H13
#[test]
fn a_panic_of_a_hook_stops_the_run_if_configured() {
    /// Sends an update, and fails.
    #[tool(register = false)]
    async fn fails(cx: &ToolContext) -> Result<(), ToolError> {
        cx.update("half").await;
        Err(ToolError::failed("no"))
    }
    fn panics() -> bool {
        panic!("boom")
    }
    let hooks: [fn() -> On; 6] = [
        || On::admit(|_| panics()),
        || On::before(|_| Ok(if panics() { Before::Continue } else { Before::block("") })),
        || On::update(|_, _| panics()),
        || On::recover(|_| Ok(panics().then(|| "never".into()))),
        || On::after(|_| Ok(if panics() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) })),
        || On::finished(|_, _| assert!(panics())),
    ];
    for (at, hook) in hooks.into_iter().enumerate() {
        let is_of_end = at == 5;
        for stops in [false, true] {
            let tools = Tools::new();
            let builder = super::building(tools.registry().tool::<fails>());
            let executor: Executor = builder.hook(hook()).stop_on_hook_panic(stops).build().unwrap();
            let mut listener = executor.subscribe();
            let run = Arc::new(RunContext::new());
            let first = executor.batch(one("fails", "{}")).with_run(Arc::clone(&run));
            let outcomes = crate::run(first.run());
            let panicked = outcomes[0].result().unwrap().text().into_owned();
            let said = match (is_of_end || at == 2 && !stops, stops) {
                (true, _) => "no",
                (false, true) => "Stopped: a hook panicked: boom",
                (false, false) => "a hook panicked: boom",
            };
            assert_eq!((at, stops, &*panicked), (at, stops, said));
            assert_eq!(run.stopped().is_some(), stops, "{at}");
            while listener.try_next().is_some() {}
            if stops {
                let later = executor.batch(vec![ToolCall::new("counted", "{}")]).with_run(run);
                let told = crate::run(later.run());
                let skipped = "Skipped: the run was stopped: a hook panicked: boom";
                assert_eq!(texts(&told), [skipped], "{at}");
            }
            assert_eq!(tools.counted.get(), 0);
        }
    }
}

// Without a reason, there is none to repeat.
#[test]
fn calls_after_a_stop_without_a_reason_say_only_that_the_run_was_stopped() {
    /// Ends the run without a reason.
    #[tool(register = false)]
    fn silent() -> Result<(), ToolError> {
        Err(ToolError::stop(""))
    }
    let tools = Registry::builder().tool::<silent>().tool::<slow>().build().unwrap();
    let executor = Executor::builder(tools).strategy(ExecutionStrategy::Sequential).build().unwrap();
    let outcomes = super::run(executor.run(calls(&["silent", "slow"])));
    assert_eq!(texts(&outcomes)[1], "Skipped: the run was stopped");
}

#[test]
fn a_result_of_a_cancelled_run_needs_no_time_if_there_are_no_hooks() {
    /// Cancels its run.
    #[tool(register = false)]
    fn last(cx: &ToolContext) -> &'static str {
        cx.run().unwrap().cancellation().cancel();
        "done"
    }
    let executor = super::building(Registry::builder().tool::<last>()).build().unwrap();
    let mut listener = executor.subscribe();
    // Without a timer, no grace period could be measured.
    let outcomes = super::now(executor.batch(calls(&["last", "last"])).with_run(RunContext::new()).run());
    assert_eq!(texts(&outcomes), ["done", "Cancelled"]);
    assert_eq!(super::told(&mut listener), ["started 0", "started 1", "finished 0", "finished 1"]);
}
