//! The outcomes and events of an executor are the same with tools of its own process and with those of a worker.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tool_fleet::MemoryTransport;
use tool_runtime::{
    CancellationToken, Content, Executor, RunContext, ToolCall,
    context::{LogLevel, LogLine, Progress},
    definition::Permission,
    executor::{Batch, ExecutorBuilder, StreamItem},
    hook::Hook,
    output::Actions,
    policy::{Approval, ApprovalRequest, Rule, Rules},
    prelude::*,
};

use super::serve;

/// The number of bodies that ran.
#[derive(Default)]
struct Bodies(AtomicUsize);

impl Bodies {
    fn enter(&self) -> usize {
        self.0.fetch_add(1, Ordering::SeqCst) + 1
    }
}

#[derive(serde::Serialize)]
struct Greeting {
    text: String,
    letters: usize,
}

/// Greets.
#[tool(read_only, register = false, title = "Greet a person")]
fn greet(name: String, #[arg(secret)] key: Option<String>) -> Greeting {
    let _ = key;
    Greeting { letters: name.len(), text: format!("Hello, {name}") }
}

/// Fails.
#[tool(register = false)]
fn fail(details: bool) -> Result<String, ToolError> {
    let error = ToolError::conflict("the seat is taken");
    Err(if details {
        error.with_details(json!({ "seat": 7 })).with_feedback("choose another seat")
    } else {
        error
    })
}

/// Fails twice.
#[tool(read_only, register = false, retry(attempts = 3, initial = "1ms", jitter = false))]
fn recover(bodies: &Bodies) -> Result<usize, ToolError> {
    match bodies.enter() {
        1 | 2 => Err(ToolError::new(ErrorKind::Unavailable, "try again").retryable(true)),
        body => Ok(body),
    }
}

/// Fails each time.
#[tool(read_only, register = false, retry(attempts = 2, initial = "1ms", jitter = false))]
fn break_down(bodies: &Bodies) -> Result<usize, ToolError> {
    Err(ToolError::new(ErrorKind::Unavailable, format!("body {}", bodies.enter())).retryable(true))
}

/// Takes its time.
#[tool(read_only, register = false, timeout = "200ms", grace_period = "50ms")]
async fn wait(cx: &ToolContext) -> &'static str {
    cx.cancellation().cancelled().await;
    std::future::pending().await
}

/// Panics.
#[tool(register = false)]
fn panic() -> String {
    panic!("out of cheese")
}

/// Speaks while it works.
#[tool(register = false)]
async fn speak(times: u32, cx: &ToolContext) -> Result<String, ToolError> {
    for number in 1..=times {
        cx.update(format!("part {number}")).await;
        cx.progress(Progress::new(f64::from(number)))?;
        cx.log(LogLine::new(LogLevel::Info, format!("line {number}")).with_data(json!({ "n": number })))?;
    }
    Ok("spoken".to_owned())
}

/// Books a seat.
#[tool(register = false, confirm)]
fn reserve(seat: u32, bodies: &Bodies) -> String {
    format!("{seat} by body {}", bodies.enter())
}

fn judge(seat: &u32) -> Permission {
    if *seat == 13 { Permission::deny("there is no such row") } else { Permission::Allow }
}

/// Sells a seat.
#[tool(register = false, permission = judge)]
fn sell(seat: u32) -> String {
    format!("sold {seat}")
}

/// Reads its surroundings.
#[tool(read_only, register = false)]
fn look(cx: &ToolContext) -> Value {
    let run = cx.run().unwrap();
    json!({
        "run": run.id(), "agent": run.agent(), "user": run.user(), "session": run.session(), "app": run.app(),
        "state": cx.state().value("city"), "meta": cx.meta(), "runMeta": run.meta(), "call": cx.call_id(),
        "key": cx.idempotency_key().len(), "deadline": cx.deadline().is_some(),
    })
}

/// Shows a picture.
#[tool(read_only, register = false)]
fn picture() -> ToolOutput {
    ToolOutput::from("a map").with_content(Content::image(vec![1, 2, 3], "image/png"))
}

/// Writes much.
#[tool(read_only, register = false, max_result_size = 100)]
fn write(bytes: usize) -> String {
    "x".repeat(bytes)
}

/// Keeps a value in the state.
#[tool(register = false, retry(attempts = 2, initial = "1ms", jitter = false))]
fn keep(
    name: String,
    value: Value,
    fails: Option<usize>,
    bodies: &Bodies,
    cx: &ToolContext,
) -> Result<Value, ToolError> {
    let before = cx.state().value(&name).unwrap_or_default();
    let body = bodies.enter();
    cx.state().set(format!("body {body}"), true)?;
    cx.state().set(name, value)?;
    match fails {
        Some(bodies) if body <= bodies => Err(ToolError::failed("not yet").retryable(true)),
        _ => Ok(before),
    }
}

/// Ends the run.
#[tool(register = false)]
fn finish(fails: bool, cx: &ToolContext) -> Result<u32, ToolError> {
    cx.add_actions(Actions { terminate: true, transfer: Some("billing".to_owned()), ..Actions::default() })?;
    cx.state().set("done", true)?;
    if fails { Err(ToolError::failed("no")) } else { Ok(42) }
}

/// Stops the run.
#[tool(register = false)]
fn stop() -> Result<u32, ToolError> {
    Err(ToolError::stop("the shop is closed"))
}

fn tools() -> Registry {
    let tools = Registry::builder().tool::<greet>().tool::<fail>().tool::<recover>().tool::<break_down>();
    let tools = tools.tool::<wait>().tool::<panic>().tool::<speak>().tool::<reserve>().tool::<sell>();
    let tools =
        tools.tool::<look>().tool::<picture>().tool::<write>().tool::<keep>().tool::<finish>().tool::<stop>();
    tools.provide(Bodies::default()).build().unwrap()
}

/// The prefix of remote tools.
const PREFIX: &str = "trip__";

/// The observers of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watch {
    Unwatched,
    Listener,
    Stream,
    Hook,
}

/// A hook that changes nothing.
struct Follows;

impl Hook for Follows {}

/// Settings of the executor.
type Configure = fn(ExecutorBuilder) -> ExecutorBuilder;

/// Without what differs from run to run.
fn normalized(mut value: Value) -> Value {
    match &mut value {
        Value::Object(members) => {
            for volatile in ["time", "finishedAtMs", "expiresAtMs", "durationMs", "serial", "hash"] {
                members.remove(volatile);
            }
            members.values_mut().for_each(|it| *it = normalized(it.take()));
        }
        Value::String(text) => *text = text.replace(PREFIX, ""),
        Value::Array(items) => items.iter_mut().for_each(|it| *it = normalized(it.take())),
        _ => {}
    }
    value
}

/// Returns the outcomes, and the events if they are watched.
async fn observe(executor: &Executor, batch: Batch, watch: Watch) -> (Vec<Value>, Vec<Value>) {
    let mut listener = (watch == Watch::Listener).then(|| executor.subscribe());
    let mut events = Vec::new();
    let outcomes = if watch == Watch::Stream {
        let mut stream = batch.stream();
        loop {
            match stream.next().await.unwrap() {
                StreamItem::Event(event) => events.push(event),
                StreamItem::Outcomes(outcomes) => break outcomes,
            }
        }
    } else {
        batch.run().await
    };
    while let Some(event) = listener.as_mut().and_then(|it| it.try_next()) {
        events.push(event.unwrap());
    }
    let values = |it: Result<Value, serde_json::Error>| normalized(it.unwrap());
    let events = events.iter().map(|event| values(serde_json::to_value(event))).collect();
    (outcomes.iter().map(|outcome| values(serde_json::to_value(outcome))).collect(), events)
}

fn build(builder: ExecutorBuilder, configure: Configure, watch: Watch) -> Executor {
    let builder = configure(builder);
    if watch == Watch::Hook { builder.hook(Follows) } else { builder }.build().unwrap()
}

/// Runs `calls` with tools of this process and with those of a worker, in each way of watching. The names of the latter have the prefix of
/// their pool, which is left out before both are compared.
async fn compare(configure: Configure, run: fn() -> RunContext, calls: &[(&str, Value)]) {
    for watch in [Watch::Unwatched, Watch::Listener, Watch::Stream, Watch::Hook] {
        let calls = |prefix: &str| -> Vec<_> {
            let call = |(number, (name, arguments)): (usize, &(&str, Value))| {
                ToolCall::new(format!("{prefix}{name}"), arguments.clone()).with_id(format!("call {number}"))
            };
            calls.iter().enumerate().map(call).collect()
        };
        let local = build(Executor::builder(tools()), configure, watch);
        let local_run = Arc::new(run());
        let batch = local.batch(calls("")).with_run(Arc::clone(&local_run));
        let expected = observe(&local, batch, watch).await;

        let transport = MemoryTransport::new();
        let worker = serve(&transport, "trip", Executor::new(tools()));
        let (remote, _toolbox) = super::connect(&transport, "trip").await;
        let remote = build(Executor::builder(remote.tools().clone()), configure, watch);
        let remote_run = Arc::new(run());
        let batch = remote.batch(calls(PREFIX)).with_run(Arc::clone(&remote_run));
        let found = observe(&remote, batch, watch).await;
        assert_eq!(expected.1.is_empty(), matches!(watch, Watch::Unwatched | Watch::Hook));
        assert_eq!(found, expected, "{watch:?}");
        assert_eq!(remote_run.state(), local_run.state(), "{watch:?}");
        worker.abort();
    }
}

fn unchanged(builder: ExecutorBuilder) -> ExecutorBuilder {
    builder
}

fn run() -> RunContext {
    RunContext::new().with_id("run").with_agent("guide")
}

#[tokio::test(start_paused = true)]
async fn results_and_errors() {
    let calls = [
        ("greet", json!({ "name": "Ada", "key": "hidden" })),
        ("greet", json!({ "nam": "Ada" })),
        ("greet", json!("Ada")),
        ("absent", json!({})),
        ("fail", json!({ "details": false })),
        ("fail", json!({ "details": true })),
        ("panic", json!({})),
        ("picture", json!({})),
        ("write", json!({ "bytes": 100 })),
        ("write", json!({ "bytes": 500 })),
    ];
    for call in &calls {
        compare(unchanged, run, std::slice::from_ref(call)).await;
    }
    compare(|builder| builder.parallel(false), run, &calls).await;
}

/// Attempts are counted, and repeated, by the caller alone.
#[tokio::test(start_paused = true)]
async fn retries() {
    compare(unchanged, run, &[("recover", json!({}))]).await;
    compare(unchanged, run, &[("break_down", json!({}))]).await;
}

#[tokio::test(start_paused = true)]
async fn updates_progress_and_log_lines() {
    compare(unchanged, run, &[("speak", json!({ "times": 3 }))]).await;
    // More than a worker sends before its caller has read some.
    compare(unchanged, run, &[("speak", json!({ "times": 80 }))]).await;
}

#[tokio::test(start_paused = true)]
async fn timeouts_and_cancellation() {
    compare(unchanged, run, &[("wait", json!({}))]).await;
    compare(|builder| builder.timeout(Duration::from_millis(100)), run, &[("wait", json!({}))]).await;
    let cancelled = || {
        let token = CancellationToken::new();
        token.cancel();
        run().with_cancellation(token)
    };
    compare(unchanged, cancelled, &[("wait", json!({})), ("greet", json!({ "name": "Ada" }))]).await;
    let cancelled_later = || {
        let token = CancellationToken::new();
        let cancelling = token.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(20)).await;
            cancelling.cancel();
        });
        run().with_cancellation(token)
    };
    compare(unchanged, cancelled_later, &[("wait", json!({})), ("greet", json!({ "name": "Ada" }))]).await;
}

fn approve(_: &ApprovalRequest) -> Approval {
    Approval::Approved
}

fn approve_with_payload(_: &ApprovalRequest) -> Approval {
    Approval::ApprovedWith(json!({ "by": "Ada" }))
}

fn reject(_: &ApprovalRequest) -> Approval {
    Approval::Rejected("too late".to_owned())
}

#[tokio::test(start_paused = true)]
async fn approvals_permissions_and_rules() {
    let calls = [("reserve", json!({ "seat": 7 })), ("sell", json!({ "seat": 8 }))];
    let approvers: [Configure; 5] = [
        unchanged,
        |builder| builder.approver(approve),
        |builder| builder.approver(approve_with_payload),
        |builder| builder.approver(reject),
        |builder| builder.pending_approvals(true),
    ];
    for configure in approvers {
        compare(configure, run, &calls).await;
    }
    let asking: Configure = |builder| builder.approver(approve).rules(Rules::new([Rule::ask("*sell")]));
    compare(asking, run, &calls).await;
    let denying: Configure = |builder| builder.approver(approve).rules(Rules::new([Rule::deny("*reserve")]));
    compare(denying, run, &calls).await;
}

/// They arrive at the body, with the address of the call.
#[tokio::test(start_paused = true)]
async fn parts_of_the_run() {
    let full = || {
        let run = RunContext::new()
            .with_id("run")
            .with_agent("guide")
            .with_user("ada")
            .with_session("s1")
            .with_app("trips");
        let object = |value: Value| value.as_object().cloned().unwrap();
        let run =
            run.with_meta(object(json!({ "lang": "en" }))).with_state(object(json!({ "city": "Paris" })));
        run.with_deadline(std::time::Instant::now() + Duration::from_secs(60))
    };
    compare(unchanged, full, &[("look", json!({}))]).await;
    compare(unchanged, run, &[("look", json!({}))]).await;
}

#[tokio::test(start_paused = true)]
async fn an_error_names_the_tool_as_its_caller_knows_it() {
    let transport = MemoryTransport::new();
    let worker = serve(&transport, "trip", Executor::new(tools()));
    let (executor, _toolbox) = super::connect(&transport, "trip").await;
    for (name, arguments) in
        [("fail", json!({ "details": false })), ("panic", json!({})), ("wait", json!({}))]
    {
        let name = format!("{PREFIX}{name}");
        let outcomes = executor.run(vec![ToolCall::new(name.as_str(), arguments)]).await;
        let error = outcomes[0].result().unwrap().outcome.as_ref().unwrap_err();
        assert_eq!(error.tool(), Some(name.as_str()), "{error}");
    }
    worker.abort();
}

/// The permission of a tool is asked at the worker, by an attempt.
#[tokio::test(start_paused = true)]
async fn a_call_that_the_permission_of_the_worker_denies_does_not_run() {
    let transport = MemoryTransport::new();
    let worker = serve(&transport, "trip", Executor::new(tools()));
    let (executor, _toolbox) = super::connect(&transport, "trip").await;
    let outcomes = executor.run(vec![ToolCall::new("trip__sell", json!({ "seat": 13 }))]).await;
    let result = outcomes[0].result().unwrap();
    assert_eq!((result.text().as_ref(), result.attempts), ("Denied: there is no such row", 1));
    worker.abort();
}

/// Changes of a failed call are not kept.
#[tokio::test(start_paused = true)]
async fn state_and_actions() {
    let with_state: fn() -> RunContext = || {
        let state = json!({ "city": { "name": "Paris", "river": "Seine" }, "days": 2 });
        run().with_state(state.as_object().cloned().unwrap())
    };
    let keep = |name: &str, value: Value, fails: Option<usize>| {
        ("keep", json!({ "name": name, "value": value, "fails": fails }))
    };
    let calls = [
        keep("city", json!({ "name": "Rome" }), None),
        keep("days", json!(null), None),
        keep("new", json!([1, { "deep": null }]), Some(3)),
        keep("temp:x", json!(1), None),
        keep("failed", json!(1), Some(100)),
        ("look", json!({})),
    ];
    compare(|builder| builder.parallel(false), with_state, &calls).await;
    for call in &calls {
        compare(unchanged, with_state, std::slice::from_ref(call)).await;
    }
    for end in
        [("finish", json!({ "fails": false })), ("finish", json!({ "fails": true })), ("stop", json!({}))]
    {
        compare(|builder| builder.parallel(false), with_state, &[end, ("look", json!({}))]).await;
    }
}
