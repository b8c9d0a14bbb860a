//! Agents that transfer the conversation to each other, within one process.

mod build;
mod control;
mod hostile;
mod limits;

use std::sync::{Arc, Mutex};

use tool_agent::{
    AgentBuilder, AgentEvent, AgentEventKind, AgentTool, End, Message, OutputType, Runner, ScriptedModel,
    hook,
    model::{Reply, ToolChoice},
};
use tool_runtime::{RunContext, Tool, Toolbox, prelude::*, toolbox::Visibility};

use crate::sessions::transfer::{agent, desk, transfer};

fn run() -> RunContext {
    RunContext::new().with_session("s")
}

/// Returns the events of a run in the session, and its end.
async fn events_of(runner: &Runner, message: &str) -> (Vec<AgentEvent>, End) {
    let mut stream = runner.run_with(run(), message);
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    let AgentEventKind::Ended { end } = &events.last().unwrap().kind else { panic!("{events:?}") };
    let end = end.clone();
    (events, end)
}

/// Returns the agents to which the conversation was transferred, in order.
fn transfers(events: &[AgentEvent]) -> Vec<&str> {
    let names = events.iter().filter_map(|event| match &event.kind {
        AgentEventKind::Transferred { to } => Some(&**to),
        _ => None,
    });
    names.collect()
}

fn notices(events: &[AgentEvent]) -> Vec<&str> {
    let texts = events.iter().filter_map(|event| match &event.kind {
        AgentEventKind::Notice { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Returns the results of the last batch that a model received.
fn last_results(messages: &[Message]) -> Vec<String> {
    let last = messages.iter().rev().find(|message| message.tool_results().next().is_some()).unwrap();
    last.tool_results().map(|result| result.text().into_owned()).collect()
}

/// Looks an invoice up.
#[tool(register = false, read_only)]
fn invoice(number: u32) -> String {
    format!("invoice {number} is paid")
}

/// Takes no notice of its arguments.
#[tool_args]
struct NoArguments {}

/// Returns a tool of the program with this name.
fn tool_named(name: &'static str) -> impl Tool {
    let tool = ToolBuilder::new(name).description("Does it.");
    tool.expect_handler(|_: NoArguments, _| async { Ok::<_, ToolError>("done") })
}

/// The stages that hooks saw, by agent.
type Seen = Arc<Mutex<Vec<String>>>;

fn seeing(agent: AgentBuilder, name: &'static str, seen: &Seen) -> AgentBuilder {
    let (before, after) = (Arc::clone(seen), Arc::clone(seen));
    let before = hook::before_model(move |step| {
        before.lock().unwrap().push(format!("{name} asks {}", step.number));
        async { Ok(step.into()) }
    });
    let after = hook::after_step(move |_| {
        after.lock().unwrap().push(format!("{name} called"));
        async { Ok(std::ops::ControlFlow::Continue(())) }
    });
    agent.hook(before).hook(after)
}

#[tokio::test]
async fn instruction_model_tools_hooks_and_output_change_with_the_next_round() {
    let seen = Seen::default();
    let (billing, billing_model) = agent(
        "billing",
        [
            Reply::call("invoice", json!({ "number": 7 })),
            Reply::call("submit_output", json!({ "output": 7 })),
        ],
    );
    let tools = Registry::builder().tool::<invoice>().build().unwrap();
    let billing = seeing(billing.tools(tools).output::<u32>().parameter("temperature", 0), "billing", &seen);
    let (desk, desk_model) = agent("desk", [transfer("billing")]);
    let desk = seeing(desk.sub_agent(billing.build().unwrap()), "desk", &seen).build().unwrap();
    let runner_seen = Arc::clone(&seen);
    let of_runner = hook::before_model(move |step| {
        runner_seen.lock().unwrap().push(format!("runner asks {}", step.number));
        async { Ok(step.into()) }
    });
    let (events, end) = events_of(&Runner::new(desk).with_hook(of_runner), "Is invoice 7 paid?").await;
    assert_eq!((end.output, transfers(&events)), (Some(json!(7)), vec!["billing"])); // R26 V08
    let expected = [
        "runner asks 1",
        "desk asks 1",
        "desk called",
        "runner asks 2",
        "billing asks 2",
        "billing called",
        "runner asks 3",
        "billing asks 3",
    ];
    assert_eq!(*seen.lock().unwrap(), expected);
    let names = |model: &ScriptedModel| -> Vec<String> {
        let requests = model.requests();
        requests[0].tools.definitions().iter().map(|it| it.name().to_string()).collect()
    };
    assert_eq!(names(&desk_model), ["transfer_to_agent"]);
    assert_eq!(names(&billing_model), ["invoice", "submit_output", "transfer_to_agent"]);
    let request = &billing_model.requests()[0];
    assert!(request.instruction.starts_with("You are billing."));
    assert_eq!(request.parameters["temperature"], 0);
    assert!(desk_model.requests()[0].parameters.is_empty());
}

#[tokio::test]
async fn an_agent_may_transfer_to_those_below_it_the_one_above_it_and_its_siblings() {
    let (refunds, refunds_model) = agent("refunds", [Reply::text("Refunded.")]);
    let (billing, billing_model) = agent("billing", [transfer("refunds")]);
    let (tech, tech_model) = agent("tech", [transfer("billing")]);
    let (desk, desk_model) = agent("desk", [transfer("tech")]);
    let billing =
        billing.sub_agent(refunds.description("Pays money back.").build().unwrap()).build().unwrap();
    let desk = desk.sub_agent(billing).sub_agent(tech.build().unwrap()).build().unwrap();
    let (events, end) = events_of(&Runner::new(desk), "Money back!").await;
    assert_eq!((transfers(&events), end.text.as_str()), (vec!["tech", "billing", "refunds"], "Refunded."));
    let allowed = |model: &ScriptedModel| {
        let requests = model.requests();
        let tool = requests[0].tools.get("transfer_to_agent").unwrap();
        tool.definition().input_schema().as_value()["properties"]["agent_name"]["enum"].clone()
    };
    assert_eq!(allowed(&desk_model), json!(["billing", "tech"])); // R26
    assert_eq!(allowed(&tech_model), json!(["desk", "billing"]));
    assert_eq!(allowed(&billing_model), json!(["refunds", "desk", "tech"]));
    assert_eq!(allowed(&refunds_model), json!(["billing"]));
    let requests = billing_model.requests();
    let tool = requests[0].tools.get("transfer_to_agent").unwrap();
    assert!(tool.definition().description().contains("- `refunds`: Pays money back.\n- `desk`\n- `tech`"));
}

#[tokio::test]
async fn the_message_of_a_transfer_is_in_its_result() {
    let message =
        Reply::call("transfer_to_agent", json!({ "agent_name": "billing", "message": "Check invoice 7." }));
    let (desk, _, billing) = desk([message], [Reply::text("Paid.")]);
    Runner::new(desk.build().unwrap()).run("Hi.").answer().await.unwrap();
    let results = last_results(&billing.requests()[0].messages);
    assert_eq!(results, ["The agent `billing` has the conversation, with the message: Check invoice 7."]); // R26
}

#[tokio::test]
async fn a_forced_choice_of_each_agent_holds_until_it_made_a_call() {
    let tools = Registry::builder().tool::<invoice>().build().unwrap();
    let replies = [Reply::call("invoice", json!({ "number": 7 })), Reply::text("Paid.")];
    let (billing, billing_model) = agent("billing", replies);
    let billing = billing.tools(tools).tool_choice(ToolChoice::Required).build().unwrap();
    let (desk, desk_model) = agent("desk", [transfer("billing")]);
    let desk =
        desk.tool_choice(ToolChoice::Tool("transfer_to_agent".into())).sub_agent(billing).build().unwrap();
    assert_eq!(Runner::new(desk).run("Hi.").answer().await.unwrap(), "Paid.");
    assert_eq!(desk_model.requests()[0].tool_choice, ToolChoice::Tool("transfer_to_agent".into()));
    let choices: Vec<_> = billing_model.requests().iter().map(|it| it.tool_choice.clone()).collect();
    assert_eq!(choices, [ToolChoice::Required, ToolChoice::Auto]);
}

#[tokio::test]
async fn an_agent_is_offered_as_a_tool_and_for_transfers() {
    let (billing, _) = agent("billing", [Reply::text("It is paid."), Reply::text("On Monday.")]);
    let billing = billing.build().unwrap();
    let tools = Registry::builder().add(AgentTool::new(billing.clone()).unwrap()).build().unwrap();
    let ask = Reply::call("billing", json!({ "request": "Is it paid?" }));
    let (desk, model) = agent("desk", [ask, Reply::text("Yes."), transfer("billing")]);
    let runner = Runner::new(desk.tools(tools).sub_agent(billing).build().unwrap());
    // The agent tool comes back with a result, and its caller answers.
    let (events, end) = events_of(&runner, "Is it paid?").await;
    assert_eq!((transfers(&events).len(), end.text.as_str(), end.usage.children.runs), (0, "Yes.", 1)); // Q33
    assert_eq!(last_results(&model.requests()[1].messages), ["It is paid."]);
    // The transfer hands control over.
    let (events, end) = events_of(&runner, "When?").await;
    assert_eq!((transfers(&events), end.text.as_str()), (vec!["billing"], "On Monday.")); // Q33
    assert_eq!(&*events.last().unwrap().agent, "billing");
    assert_eq!(model.requests().len(), 3);
}

#[tokio::test]
async fn a_call_of_an_agent_that_is_no_tool_is_a_transfer() {
    let call = Reply::call("billing", json!({ "request": "Check invoice 7." }));
    let (desk, _, billing) = desk([call], [Reply::text("Paid.")]);
    let runner = Runner::new(desk.build().unwrap());
    let (events, end) = events_of(&runner, "Hi.").await;
    assert_eq!((transfers(&events), end.text.as_str()), (vec!["billing"], "Paid.")); // R26
    // The result has the name of its call, by which some providers find it.
    let messages = &billing.requests()[0].messages;
    let result = messages[2].tool_results().next().unwrap();
    assert_eq!(
        (&*result.name, result.text().ends_with("with the message: Check invoice 7.")),
        ("billing", true)
    );
}

#[tokio::test]
async fn no_visibility_hides_the_transfer_and_a_tool_of_its_name_is_reported() {
    let toolbox = Toolbox::new();
    toolbox.show(Visibility::all().only(["invoice"]));
    let tools = Registry::builder().tool::<invoice>().build().unwrap();
    toolbox.add_all(tools.definitions().iter().map(|it| tools.get(it.name().as_str()).cloned())).unwrap();
    let (billing, _) = agent("billing", [Reply::text("Paid."), Reply::text("Paid again.")]);
    let (desk, model) = agent("desk", [transfer("billing"), transfer("billing")]);
    let billing = billing.keeps_control(false).build().unwrap();
    let runner = Runner::new(desk.tools(toolbox.clone()).sub_agent(billing).build().unwrap());
    let (events, end) = events_of(&runner, "Hi.").await;
    assert_eq!((end.text.as_str(), notices(&events).len()), ("Paid.", 0));
    let names = |request: &tool_agent::model::Request| -> Vec<String> {
        request.tools.definitions().iter().map(|it| it.name().to_string()).collect()
    };
    assert_eq!(names(&model.requests()[0]), ["invoice", "transfer_to_agent"]);

    // A tool that comes later cannot take its place.
    toolbox.show(Visibility::all());
    toolbox.add(tool_named("transfer_to_agent")).unwrap();
    let (events, end) = events_of(&runner, "Hi.").await;
    assert_eq!((end.text.as_str(), transfers(&events)), ("Paid again.", vec!["billing"]));
    let notices = notices(&events);
    assert!(notices[0].starts_with("the tool `transfer_to_agent` of the agent is hidden"), "{notices:?}");
}

#[tokio::test]
async fn each_agent_of_a_run_has_the_output_of_the_runner() {
    let submitted = Reply::call("submit_output", json!({ "output": 7 }));
    let (desk, _, _) = desk([transfer("billing")], [submitted]);
    let runner = Runner::new(desk.build().unwrap()).with_output_type(OutputType::of::<u32>());
    assert_eq!(runner.run("How much?").output::<u32>().await.unwrap(), 7);
}

#[tokio::test]
async fn agents_below_a_call_transfer_among_themselves() {
    let (desk, _, billing) = desk([transfer("billing")], [Reply::text("Paid.")]);
    let tools = Registry::builder().add(AgentTool::new(desk.build().unwrap()).unwrap()).build().unwrap();
    let (manager, model) =
        agent("manager", [Reply::call("desk", json!({ "request": "Paid?" })), Reply::text("Yes.")]);
    let (events, end) = events_of(&Runner::new(manager.tools(tools).build().unwrap()), "Paid?").await;
    assert_eq!((end.text.as_str(), billing.requests().len()), ("Yes.", 1));
    assert_eq!(last_results(&model.requests()[1].messages), ["Paid."]);
    let below: Vec<_> = events
        .iter()
        .filter_map(|event| match &event.kind {
            AgentEventKind::Child { event, .. } => Some(&**event),
            _ => None,
        })
        .collect();
    let to = below.iter().find_map(|event| match &event.kind {
        AgentEventKind::Transferred { to } => Some((&*event.agent, &**to)),
        _ => None,
    });
    assert_eq!(to, Some(("desk", "billing")));
    assert_eq!(&*below.last().unwrap().agent, "billing");
}

#[test]
fn a_transfer_is_read_from_its_json() {
    let line = r#"{"time":0,"run":"run-1","agent":"desk","type":"transferred","to":"billing"}"#;
    let event: AgentEvent = tool_runtime::serde_json::from_str(line).unwrap();
    assert!(matches!(&event.kind, AgentEventKind::Transferred { to } if &**to == "billing"));
    assert_eq!(tool_runtime::serde_json::to_string(&event).unwrap(), line);
    let without = r#"{"time":0,"run":"run-1","agent":"desk","type":"transferred"}"#;
    assert!(tool_runtime::serde_json::from_str::<AgentEvent>(without).is_err());
}
