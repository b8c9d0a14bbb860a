//! The outcomes and events of an executor are the same with tools of its own process and with those of a worker.

mod steps;
mod tools;

use std::{sync::Arc, time::Duration};

use tool_fleet::MemoryTransport;
use tool_runtime::{
    CallOutcome, CancellationToken, Executor, RunContext, ToolCall,
    call::Operation,
    context::{Budget, ConfirmationAnswer},
    executor::{Batch, ExecutorBuilder, StreamItem},
    hook::Hook,
    output::{Resource, ResourceBody},
    policy::{Approval, ApprovalRequest, Rule, Rules},
    prelude::*,
};

use self::tools::tools;
use super::serve;

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
            // The id of a child run.
            if members.get("run").and_then(Value::as_str).is_some_and(|run| run.starts_with("call_")) {
                members.remove("run");
            }
            members.values_mut().for_each(|it| *it = normalized(it.take()));
        }
        Value::String(text) => *text = text.replace(PREFIX, ""),
        Value::Array(items) => items.iter_mut().for_each(|it| *it = normalized(it.take())),
        _ => {}
    }
    value
}

/// The documents that are sent with each call.
fn documents() -> Vec<Resource> {
    let body = ResourceBody::Text("milk".to_owned());
    vec![Resource { uri: "file:///notes.txt".to_owned(), mime_type: "text/plain".to_owned(), body }]
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
    compare_tools(tools, configure, run, calls).await;
}

/// As [`compare`], with the tools of `tools`.
async fn compare_tools(
    tools: fn() -> Registry,
    configure: Configure,
    run: fn() -> RunContext,
    calls: &[(&str, Value)],
) {
    for watch in [Watch::Unwatched, Watch::Listener, Watch::Stream, Watch::Hook] {
        let calls = |prefix: &str| -> Vec<_> {
            let call = |(number, (name, arguments)): (usize, &(&str, Value))| {
                ToolCall::new(format!("{prefix}{name}"), arguments.clone())
                    .with_id(format!("call {number}"))
                    .with_resources(documents())
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
        assert_eq!(remote_run.spent(), local_run.spent(), "{watch:?}");
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
    compare(unchanged, run, &[("stream", json!({ "fails": false }))]).await;
    compare(unchanged, run, &[("stream", json!({ "fails": true }))]).await;
}

#[tokio::test(start_paused = true)]
async fn updates_progress_and_log_lines() {
    compare(unchanged, run, &[("speak", json!({ "times": 3 }))]).await; // C13
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
    let calls =
        [("reserve", json!({ "seat": 7 })), ("sell", json!({ "seat": 8 })), ("wipe", json!({ "disk": 1 }))];
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
            .with_user_content("a trip to Paris")
            .with_session("s1")
            .with_app("trips");
        let object = |value: Value| value.as_object().cloned().unwrap();
        let run =
            run.with_meta(object(json!({ "lang": "en" }))).with_state(object(json!({ "city": "Paris" })));
        run.with_deadline(std::time::Instant::now() + Duration::from_secs(60))
    };
    compare(unchanged, full, &[("look", json!({}))]).await; // C08
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

/// The permission of a tool is asked at the worker, before there is an attempt.
#[tokio::test(start_paused = true)]
async fn a_call_that_the_permission_of_the_worker_denies_does_not_run() {
    let transport = MemoryTransport::new();
    let worker = serve(&transport, "trip", Executor::new(tools()));
    let (executor, _toolbox) = super::connect(&transport, "trip").await;
    let outcomes = executor.run(vec![ToolCall::new("trip__sell", json!({ "seat": 13 }))]).await;
    let result = outcomes[0].result().unwrap();
    assert_eq!((result.text().as_ref(), result.attempts), ("Denied: there is no such row", 0));
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

#[tokio::test(start_paused = true)]
async fn a_call_runs_with_answers_that_come_later() {
    let transport = MemoryTransport::new();
    let worker = serve(&transport, "trip", Executor::new(tools()));
    let (executor, _toolbox) = super::connect(&transport, "trip").await;
    let executor = Executor::builder(executor.tools().clone()).pending_approvals(true).build().unwrap();
    let calls = [
        ("trip__reserve", json!({ "seat": 7 }), 1, "7 by body 1"),
        ("trip__wipe", json!({ "disk": 1 }), 2, "wiped 1"),
    ];
    for (name, arguments, questions, text) in calls {
        let mut outcomes = executor.run(vec![ToolCall::new(name, arguments)]).await;
        for _ in 0..questions {
            let CallOutcome::Pending(pending) = &outcomes[0] else { panic!("{outcomes:?}") };
            let Operation::Confirmation(request) = &pending.operation else { panic!("{outcomes:?}") };
            let yes = ConfirmationAnswer { confirmed: true, payload: Value::Null };
            let batch = executor.resume([(&**request, yes)]).await.unwrap();
            outcomes = batch.run().await;
        }
        assert_eq!(outcomes[0].result().unwrap().text(), text);
    }
    worker.abort();
}

fn with_budget(calls: Option<u64>, rounds: Option<u64>, tokens: Option<u64>) -> RunContext {
    run().with_budget(Budget { calls, rounds, tokens })
}

#[tokio::test(start_paused = true)]
async fn events_of_child_runs() {
    let delegate = ("delegate", json!({ "calls": 5, "rounds": 0, "tokens": 0 }));
    compare(unchanged, run, std::slice::from_ref(&delegate)).await;
    compare(|builder| builder.parallel(false), run, &[delegate.clone(), delegate]).await;
}

/// Child runs at the worker draw on the budget of the caller.
#[tokio::test(start_paused = true)]
async fn budgets() {
    let budgets: [fn() -> RunContext; 5] = [
        || with_budget(None, None, None),
        || with_budget(Some(4), Some(3), None),
        || with_budget(Some(1), Some(1), Some(25)),
        || with_budget(Some(6), None, Some(15)),
        || with_budget(Some(0), Some(0), Some(0)),
    ];
    let delegate = ("delegate", json!({ "calls": 3, "rounds": 3, "tokens": 10 }));
    for budget in budgets {
        compare(unchanged, budget, std::slice::from_ref(&delegate)).await;
        let calls = [delegate.clone(), delegate.clone()];
        compare(|builder| builder.parallel(false), budget, &calls).await;
    }
}
