//! Steps of a tool before its call is judged, and before a request is sent: in one process and at a worker.

use std::sync::Arc;

use serde_json::Map;
use tool_fleet::{FleetToolSet, MemoryTransport};
use tool_runtime::{
    CallOutcome, Executor, RunContext, Tool, ToolCall, ToolDefinition, ToolName, ToolSet,
    call::Operation,
    context::ConfirmationAnswer,
    definition::{Permission, Prepared, Redirect, Redirection},
    hook::{Before, BeforeCall, Hook},
    policy::{Rule, Rules},
    prelude::*,
    request::{ModelRequest, RequestAdditions},
    schema::{Arguments, InputSchema},
};

use super::{Configure, approve, approve_with_payload, compare_tools, reject, run, unchanged};
use crate::{program_key, serve};

/// Names the city as the schema does, in capital letters.
fn name_city(arguments: &mut Map<String, Value>) -> Result<(), ToolError> {
    if let Some(town) = arguments.remove("town") {
        arguments.insert("city".to_owned(), town);
    }
    if arguments.get("city").and_then(Value::as_str) == Some("nowhere") {
        return Err(ToolError::bad_parameter("there is no such city"));
    }
    if let Some(Value::String(city)) = arguments.get_mut("city") {
        *city = city.to_uppercase();
    }
    Ok(())
}

/// Travels.
#[tool(register = false, prepare = name_city)]
fn travel(city: String, #[serde(default)] days: u32) -> String {
    format!("{days} days in {city}")
}

fn judge_user(cx: &ToolContext, city: &String, days: &u32) -> Permission {
    match (city.as_str(), cx.run().and_then(|run| run.user())) {
        ("ROME", _) => Permission::deny("closed on Mondays"),
        (_, None) => Permission::deny("no user pays"),
        _ if *days > 7 => Permission::ask(format!("{days} days in {city}?")),
        _ => Permission::Allow,
    }
}

/// Stays in a hotel.
#[tool(register = false, prepare = name_city, permission = judge_user)]
fn stay(cx: &ToolContext, city: String, days: u32) -> String {
    let _ = cx;
    format!("stayed {days} days in {city}")
}

fn is_dear(price: &u32, cx: &ToolContext) -> bool {
    let limit = cx.state().value("limit").and_then(|it| it.as_u64()).unwrap_or(100);
    u64::from(*price) > limit
}

/// Pays.
#[tool(register = false, confirm = is_dear)]
fn pay(price: u32, cx: &ToolContext) -> String {
    format!("paid {price}: {:?}", cx.approval())
}

/// Panics in its checks.
#[tool(register = false, permission = fails, confirm = asks_always)]
fn broken(kind: u32) -> u32 {
    kind
}

fn fails(kind: &u32) -> Permission {
    assert!(*kind != 1, "out of order");
    Permission::Allow
}

fn asks_always(kind: &u32) -> bool {
    assert!(*kind != 2, "out of paper");
    true
}

async fn instruct(request: ModelRequest) -> Result<(), ToolError> {
    let name = request.tool_name().unwrap_or_default().to_owned();
    request.instruct(format!("Call {name} once for {:?}.", request.run().user()));
    request.add_text(format!("As {:?} said.", request.user_content()));
    request.notify(format!("{name} is slow on {}", request.dialect()));
    Ok(())
}

/// Advises.
#[tool(read_only, register = false, on_request = instruct)]
fn advise() -> &'static str {
    "stay at home"
}

/// Advises otherwise.
#[tool(read_only, register = false, on_request = instruct)]
fn advise_otherwise() -> &'static str {
    "go out"
}

/// A tool whose calls are calls of the tool that they name.
struct Relay(ToolDefinition);

impl Relay {
    fn new() -> Self {
        let schema = json!({
            "type": "object",
            "properties": { "name": { "type": "string" }, "arguments": { "type": "object" } },
            "required": ["name", "arguments"],
            "additionalProperties": false,
        });
        let schema = InputSchema::new(schema).unwrap();
        Self(ToolDefinition::new(ToolName::new("relay").unwrap(), "Calls another tool.", schema))
    }
}

fn named_call(arguments: &Arguments<'_>) -> Result<Redirection, ToolError> {
    let value = arguments.to_value().unwrap();
    match value["name"].as_str().unwrap() {
        "forbidden" => Err(ToolError::bad_parameter("this tool is not relayed")),
        name => Ok(Redirection::new(name, value["arguments"].to_string())),
    }
}

impl Tool for Relay {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, |_, _| {
            Box::pin(async { Err(ToolError::failed("it was not redirected")) })
        }))
    }

    fn redirect(&self) -> Option<Redirect> {
        Some(named_call)
    }
}

fn step_tools() -> Registry {
    let tools = Registry::builder().tool::<travel>().tool::<stay>().tool::<pay>().tool::<broken>();
    tools.tool::<advise>().tool::<advise_otherwise>().add(Relay::new()).build().unwrap()
}

async fn compare(configure: Configure, run: fn() -> RunContext, calls: &[(&str, Value)]) {
    compare_tools(step_tools, configure, run, calls).await;
}

fn user() -> RunContext {
    run().with_user("ada").with_user_content("a quiet place")
}

/// Changes the arguments of all calls.
struct Shortens;

impl Hook for Shortens {
    async fn before(&self, call: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        let mut value = call.arguments().to_value()?;
        value["town"] = json!("oslo");
        value.as_object_mut().unwrap().remove("city");
        Ok(Before::Rewrite(value.into()))
    }
}

#[tokio::test(start_paused = true)]
async fn arguments_that_prepare_changes() {
    let calls = [
        ("travel", json!({ "town": "Paris", "days": 3 })),
        ("travel", json!({ "city": "Paris", "days": "3" })),
        ("travel", json!({ "city": "PARIS" })),
        ("travel", json!({ "town": 3 })),
        ("travel", json!({ "days": 3 })),
        ("travel", json!({ "town": "nowhere" })),
        ("travel", json!({ "town": "Paris", "more": 1 })),
        ("travel", json!("Paris")),
        ("travel", json!([])),
    ];
    for call in &calls {
        compare(unchanged, run, std::slice::from_ref(call)).await;
    }
    compare(|builder| builder.parallel(false), run, &calls).await;
    compare(|builder| builder.hook(Shortens), run, &calls[..3]).await;
    // The rules judge what runs.
    let denying: Configure = |builder| builder.rules(Rules::new([Rule::deny("*travel:PARIS")]));
    compare(denying, run, &calls[..3]).await;
    let asking: Configure =
        |builder| builder.pending_approvals(true).rules(Rules::new([Rule::ask("*travel:PARIS")]));
    compare(asking, run, &calls[..3]).await;
}

#[tokio::test(start_paused = true)]
async fn a_rule_of_the_caller_judges_the_arguments_that_the_worker_prepared() {
    let transport = MemoryTransport::new();
    let worker = serve(&transport, "trip", Executor::new(step_tools()));
    let (executor, _toolbox) = crate::connect(&transport, "trip").await;
    let rules = Rules::new([Rule::deny("trip__travel:PARIS")]);
    let executor = Executor::builder(executor.tools().clone()).rules(rules).build().unwrap();
    let call = |town: &str| vec![ToolCall::new("trip__travel", json!({ "town": town }))];
    let outcomes = executor.run(call("paris")).await;
    let text = outcomes[0].result().unwrap().text().into_owned();
    assert!(text.starts_with("Denied: a rule denies it"), "{text}");
    assert_eq!(executor.run(call("oslo")).await[0].result().unwrap().text(), "0 days in OSLO");
    worker.abort();
}

#[tokio::test(start_paused = true)]
async fn permissions_that_deny_and_ask() {
    let calls = [
        ("stay", json!({ "town": "Rome", "days": 1 })),
        ("stay", json!({ "town": "Paris", "days": 1 })),
        ("stay", json!({ "town": "Paris", "days": 8 })),
        ("broken", json!({ "kind": 1 })),
    ];
    let configurations: [Configure; 6] = [
        unchanged,
        |builder| builder.approver(approve),
        |builder| builder.approver(approve_with_payload),
        |builder| builder.approver(reject),
        |builder| builder.pending_approvals(true),
        |builder| builder.approver(approve).hook(Shortens),
    ];
    for configure in configurations {
        compare(configure, user, &calls[..3]).await;
        compare(configure, run, &calls[..3]).await;
    }
    compare(unchanged, user, &calls[3..]).await;
}

#[tokio::test(start_paused = true)]
async fn confirmations_of_some_calls() {
    let calls = [
        ("pay", json!({ "price": 5 })),
        ("pay", json!({ "price": 50 })),
        ("pay", json!({ "price": 500 })),
        ("broken", json!({ "kind": 2 })),
        ("broken", json!({ "kind": 3 })),
    ];
    let configurations: [Configure; 4] = [
        unchanged,
        |builder| builder.approver(approve_with_payload),
        |builder| builder.approver(reject),
        |builder| builder.pending_approvals(true),
    ];
    let careful: fn() -> RunContext =
        || run().with_state(json!({ "limit": 10 }).as_object().cloned().unwrap());
    for configure in configurations {
        compare(configure, run, &calls).await;
        compare(configure, careful, &calls[..3]).await;
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_stand_for_others() {
    let relay = |name: &str, arguments: Value| ("relay", json!({ "name": name, "arguments": arguments }));
    let calls = [
        relay("travel", json!({ "town": "Paris" })),
        relay("stay", json!({ "town": "Rome", "days": 1 })),
        relay("pay", json!({ "price": 500 })),
        relay("relay", json!({ "name": "pay", "arguments": {} })),
        relay("absent", json!({})),
        relay("forbidden", json!({})),
        ("relay", json!({ "name": "travel" })),
    ];
    for call in &calls {
        compare(unchanged, user, std::slice::from_ref(call)).await;
    }
    compare(unchanged, user, &calls).await;
    let denying: Configure = |builder| builder.rules(Rules::new([Rule::deny("*travel"), Rule::ask("*pay")]));
    compare(denying, user, &calls[..3]).await;
}

/// The answers of people come later.
#[tokio::test(start_paused = true)]
async fn a_call_that_its_worker_asks_about_runs_with_an_answer_that_comes_later() {
    let transport = MemoryTransport::new();
    let worker = serve(&transport, "trip", Executor::new(step_tools()));
    let (executor, _toolbox) = crate::connect(&transport, "trip").await;
    let executor = Executor::builder(executor.tools().clone()).pending_approvals(true).build().unwrap();
    for (name, arguments, hint, text) in [
        ("trip__stay", json!({ "town": "Paris", "days": 8 }), "8 days in PARIS?", "stayed 8 days in PARIS"),
        ("trip__pay", json!({ "price": 500 }), "May the tool trip__pay be called?", "paid 500"),
    ] {
        for confirmed in [true, false] {
            let call = ToolCall::new(name, arguments.clone());
            let outcomes = executor.batch(vec![call]).with_run(user()).run().await;
            let CallOutcome::Pending(pending) = &outcomes[0] else { panic!("{outcomes:?}") };
            let Operation::Confirmation(request) = &pending.operation else { panic!("{outcomes:?}") };
            assert_eq!(request.hint, hint);
            let answer = ConfirmationAnswer { confirmed, payload: Value::Null };
            let batch = executor.resume([(&**request, answer)]).await.unwrap();
            let outcomes = batch.with_run(user()).run().await;
            let result = outcomes[0].result().unwrap();
            assert_eq!(
                (result.text().starts_with(text), result.is_error()),
                (confirmed, !confirmed),
                "{result:?}"
            );
        }
    }
    worker.abort();
}

/// The tools of a pool, by its set.
async fn remote_tools(transport: &MemoryTransport) -> (FleetToolSet, Vec<Arc<dyn Tool>>) {
    let set = FleetToolSet::connect(transport.clone(), program_key().pool_key("trip")).await.unwrap();
    let run = RunContext::new();
    let tools = set.tools(run.read_only()).await.unwrap();
    (set, tools)
}

/// A tool of the caller that names a tool of a worker.
#[tokio::test(start_paused = true)]
async fn a_tool_of_the_caller_redirects_to_one_of_a_worker() {
    let transport = MemoryTransport::new();
    let worker = serve(&transport, "trip", Executor::new(step_tools()));
    let (_set, tools) = remote_tools(&transport).await;
    let registry = tools.into_iter().fold(Registry::builder().add(Relay::new()), |all, tool| all.add(tool));
    let rules = Rules::new([Rule::deny("trip__travel:PARIS")]);
    let executor = Executor::builder(registry.build().unwrap()).rules(rules).build().unwrap();
    let call = |relay: &str, name: &str, town: &str| {
        vec![ToolCall::new(relay, json!({ "name": name, "arguments": { "town": town } }))]
    };
    for (relay, name) in [("relay", "trip__travel"), ("trip__relay", "travel")] {
        let outcomes = executor.run(call(relay, name, "oslo")).await;
        assert_eq!(outcomes[0].result().unwrap().text(), "0 days in OSLO");
        let outcomes = executor.run(call(relay, name, "paris")).await;
        let text = outcomes[0].result().unwrap().text().into_owned();
        assert!(text.starts_with("Denied: a rule denies it"), "{text}");
    }
    worker.abort();
}

async fn additions(tools: &Registry) -> RequestAdditions {
    let request = ModelRequest::new("neutral", json!({}), Arc::new(user()));
    tools.request_additions(request).await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn additions_to_a_request() {
    let transport = crate::broker::TestBroker::new();
    let worker = serve(&transport, "trip", Executor::new(step_tools()));
    let (executor, _toolbox) = crate::connect(&transport, "trip").await;
    let expected = additions(&step_tools()).await;
    assert_eq!(expected.instructions.len(), 2);
    let before = transport.seen(|sent| sent.subject.contains(".definitions.")).len();
    let found = additions(executor.tools()).await;
    let asked = transport.seen(|sent| sent.subject.contains(".definitions.")).len() - before;
    assert_eq!(asked, 1, "one question for all tools of the pool");
    let named = |texts: &[String]| texts.iter().map(|text| text.replace("trip__", "")).collect::<Vec<_>>();
    assert_eq!(named(&found.instructions), expected.instructions);
    assert_eq!(named(&found.notices), expected.notices);
    assert_eq!(found.messages, expected.messages);
    assert!(found.instructions[0].contains("trip__advise"), "{:?}", found.instructions);
    worker.abort();
}
