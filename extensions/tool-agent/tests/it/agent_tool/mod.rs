//! Agents as tools of other agents.

mod below;
mod cycles;
mod dynamic;
mod history_key;
mod hostile;
mod inherited;
mod results;
mod stack;
mod states;
mod sub_agent;
mod tree;

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use tool_agent::{
    Agent, AgentBuilder, AgentError, AgentEvent, AgentEventKind, AgentTool, EndReason, Limit, Limits, Runner,
    ScriptedModel,
    model::{ModelErrorKind, Reply},
};
use tool_runtime::{
    Executor, RunContext, ToolCall,
    dialect::Usage,
    event::{EventKind, ToolEvent},
    policy::Approval,
    prelude::*,
    schema::InputSchema,
};

/// The effects of bodies, in order.
type Log = Mutex<Vec<&'static str>>;

/// The token counts of one response: 50 in all.
fn usage() -> Usage {
    let mut usage = Usage::default();
    (usage.input, usage.output) = (Some(40), Some(10));
    usage
}

/// Looks a fact up.
#[tool(read_only)]
fn look_up(name: String) -> String {
    format!("{name}: 717,710")
}

/// A researcher with these replies, its model, and the tools of `tools`.
fn researcher(replies: impl IntoIterator<Item = Reply>) -> (AgentBuilder, ScriptedModel) {
    let model = ScriptedModel::new(replies);
    let tools = Registry::builder().tool::<look_up>().build().unwrap();
    let agent = Agent::builder("researcher", model.clone()).description("Looks up facts.").tools(tools);
    (agent, model)
}

/// A manager that asks the agent of `tool` once, and answers.
fn manager(tool: AgentTool) -> (AgentBuilder, ScriptedModel) {
    let model = ScriptedModel::new([ask("c1"), Reply::text("Done.")]);
    let tools = Registry::builder().add(tool).build().unwrap();
    (Agent::builder("manager", model.clone()).tools(tools), model)
}

fn ask(id: &str) -> Reply {
    let request = json!({ "request": "How many people live in Oslo?" });
    Reply::calls([ToolCall::new("researcher", request).with_id(id.to_owned())])
}

fn found() -> Reply {
    Reply::call("look_up", json!({ "name": "Oslo" }))
}

async fn events_of(runner: &Runner) -> Vec<AgentEvent> {
    let mut stream = runner.run("How large is Oslo?");
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        events.push(event);
    }
    events
}

/// The kind of an event in JSON, with the agent of a child event before it.
fn shown(event: &AgentEvent) -> String {
    match &event.kind {
        AgentEventKind::Child { call, event } => {
            format!("{} {} > {}", call.call_id, event.agent, shown(event))
        }
        AgentEventKind::Tool { event } => format!("tool {}", event.name()),
        kind => serde_json::to_value(kind).unwrap()["type"].as_str().unwrap().to_owned(),
    }
}

#[tokio::test]
async fn a_manager_asks_a_researcher_whose_events_are_below_the_call() {
    let (agent, child_model) = researcher([found(), Reply::text("717,710 people.")]);
    let (agent, model) = manager(AgentTool::new(agent.build().unwrap()).unwrap());
    let runner = Runner::new(agent.build().unwrap());
    let events = events_of(&runner).await;
    let shown: Vec<_> = events.iter().map(shown).collect();
    let expected = [
        "message",
        "message",
        "tool researcher",
        "c1 researcher > message",
        "c1 researcher > message",
        "c1 researcher > tool look_up",
        "c1 researcher > tool look_up",
        "c1 researcher > message",
        "c1 researcher > message",
        "c1 researcher > ended",
        "tool researcher",
        "message",
        "text",
        "message",
        "ended",
    ];
    assert_eq!(shown, expected);
    // Q06: once, and not in the history of the manager.
    assert!(!events.iter().any(|it| matches!(&it.kind, AgentEventKind::Tool { event } if is_nested(event))));
    let last = &model.requests()[1];
    assert_eq!(last.messages[2].tool_results().next().unwrap().text(), "717,710 people.");
    assert!(!serde_json::to_string(&last.messages).unwrap().contains("look_up"));
    // Q17: the child sees its request alone.
    let first = &child_model.requests()[0];
    assert_eq!(first.messages.len(), 1);
    assert_eq!(first.messages[0].text(), "How many people live in Oslo?");
    // Each event is read from its JSON again.
    for event in events {
        let json = serde_json::to_value(&event).unwrap();
        let read: AgentEvent = serde_json::from_value(json.clone()).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), json);
    }
}

fn is_nested(event: &ToolEvent) -> bool {
    matches!(event.kind, EventKind::Child { .. })
}

// Q03, Q17
#[tokio::test]
async fn each_call_is_a_run_with_a_conversation_of_its_own_also_in_a_session() {
    let (agent, child_model) = researcher([Reply::text("One."), Reply::text("Two.")]);
    let tool = AgentTool::new(agent.build().unwrap()).unwrap();
    let model = ScriptedModel::new([ask("c1"), ask("c1"), Reply::text("Done.")]);
    let tools = Registry::builder().add(tool).build().unwrap();
    let runner = Runner::new(Agent::builder("manager", model.clone()).tools(tools).build().unwrap());
    let run = || RunContext::new().with_session("s");
    let mut stream = runner.run_with(run(), "How large is Oslo?");
    let mut children = HashSet::new();
    while let Some(event) = stream.next().await {
        if let AgentEventKind::Child { event, .. } = event.kind {
            children.insert(event.run.clone());
        }
    }
    assert_eq!(children.len(), 2);
    assert!(child_model.requests().iter().all(|request| request.messages.len() == 1));
    assert_eq!(runner.history(&run()).await.len(), 6);
}

// Q09, Q10, Q02
#[tokio::test]
async fn the_tool_has_the_name_of_the_agent_and_one_text_or_the_schema_of_the_program() {
    let (agent, child_model) = researcher([Reply::text("One."), Reply::text("Two.")]);
    let tool = AgentTool::new(agent.build().unwrap()).unwrap();
    assert_eq!(
        (tool.definition().name().as_str(), tool.definition().description()),
        ("researcher", "Looks up facts.")
    );
    let tools = Registry::builder().add(tool.clone()).build().unwrap();
    for arguments in [json!({}), json!({ "request": ["a"] }), json!({ "request": "a", "task": "b" })] {
        let error = tools.call("researcher", arguments.clone()).await;
        assert!(error.is_err(), "{arguments}: {error:?}");
    }
    assert_eq!(child_model.requests().len(), 0);
    let schema =
        json!({ "type": "object", "properties": { "town": { "type": "string" } }, "required": ["town"] });
    let tool = tool.with_input_schema(InputSchema::new(schema).unwrap());
    let tools = Registry::builder().add(tool).build().unwrap();
    assert!(tools.call("researcher", json!({ "request": "a" })).await.is_err());
    // Outside of any run of an agent, too.
    assert_eq!(tools.call("researcher", json!({ "town": "Oslo" })).await.unwrap().text(), "One.");
    assert_eq!(child_model.requests()[0].messages[0].text(), r#"{"town":"Oslo"}"#);
    let (agent, _) = researcher([]);
    let nameless = Agent::builder("no name", ScriptedModel::new([])).build().unwrap();
    assert!(matches!(AgentTool::new(nameless), Err(AgentError::InvalidTool { .. })));
    drop(agent);
}

// Q05
#[tokio::test]
async fn a_run_that_fails_is_an_error_of_its_call_and_a_cancelled_one_ends_at_once() {
    let (agent, _) = researcher([Reply::error(ModelErrorKind::InvalidRequest, "no such model")]);
    let (agent, model) = manager(AgentTool::new(agent.build().unwrap()).unwrap());
    let end = Runner::new(agent.build().unwrap()).run("How large is Oslo?").end().await;
    assert_eq!(end.text, "Done.");
    let result = model.requests()[1].messages[2].tool_results().next().unwrap().clone();
    assert!(result.is_error());
    assert!(result.text().contains("agent error: the model failed: no such model"), "{}", result.text());

    /// Waits for the end of the run.
    #[tool(register = false, read_only)]
    async fn wait(cx: &ToolContext, seen: &Log) -> Result<(), ToolError> {
        seen.lock().unwrap().push("waits");
        cx.cancellation().cancelled().await;
        seen.lock().unwrap().push("cancelled");
        Err(ToolError::cancelled())
    }
    let seen = Arc::new(Log::default());
    let tools = Registry::builder().tool::<wait>().provide_shared(Arc::clone(&seen)).build().unwrap();
    let waiter =
        Agent::builder("researcher", ScriptedModel::new([Reply::call("wait", json!({}))])).tools(tools);
    let (agent, _) = manager(AgentTool::new(waiter.build().unwrap()).unwrap());
    let mut stream = Runner::new(agent.build().unwrap()).run("How large is Oslo?");
    let handle = stream.handle();
    let mut end = None;
    while let Some(event) = stream.next().await {
        if seen.lock().unwrap().len() == 1 {
            handle.cancel();
        }
        if let AgentEventKind::Ended { end: reached } = event.kind {
            end = Some(reached);
        }
        if seen.lock().unwrap().is_empty() {
            continue;
        }
        handle.cancel();
    }
    assert_eq!(end.unwrap().reason, EndReason::Cancelled);
    assert_eq!(*seen.lock().unwrap(), ["waits", "cancelled"]);
}

/// Removes a file.
#[tool(register = false, destructive, confirm)]
fn remove(log: &Log) -> &'static str {
    log.lock().unwrap().push("removed");
    "removed"
}

struct Cleaner {
    builder: AgentBuilder,
    model: ScriptedModel,
    executor: Executor,
    log: Arc<Log>,
}

/// An agent that removes a file, which needs an approval.
fn cleaner() -> Cleaner {
    let log = Arc::new(Log::default());
    let tools = Registry::builder().tool::<remove>().provide_shared(Arc::clone(&log)).build().unwrap();
    let executor = Executor::new(tools);
    let model = ScriptedModel::new([Reply::call("remove", json!({})), Reply::text("Finished.")]);
    let builder = Agent::builder("researcher", model.clone()).tools(executor.clone());
    Cleaner { builder, model, executor, log }
}

#[tokio::test]
async fn an_approval_below_a_call_is_asked_of_the_handle_of_the_root_run() {
    for is_approved in [true, false] {
        let Cleaner { builder, model, log, .. } = cleaner();
        let tool = AgentTool::new(builder.approvals_by_handle(true).build().unwrap()).unwrap();
        // Two levels: the root has the handle.
        let middle = ScriptedModel::new([ask("c2"), Reply::text("Asked.")]);
        let tools = Registry::builder().add(tool).build().unwrap();
        let middle = Agent::builder("middle", middle).tools(tools).build().unwrap();
        let tools = Registry::builder().add(AgentTool::new(middle).unwrap()).build().unwrap();
        let root = ScriptedModel::new([
            Reply::call("middle", json!({ "request": "Clean up." })),
            Reply::text("Done."),
        ]);
        let mut stream =
            Runner::new(Agent::builder("root", root).tools(tools).build().unwrap()).run("Clean up.");
        let handle = stream.handle();
        let mut asked = 0;
        while let Some(event) = stream.next().await {
            let mut event = &event;
            let mut depth = 0;
            while let AgentEventKind::Child { event: inner, .. } = &event.kind {
                (event, depth) = (inner, depth + 1);
            }
            let AgentEventKind::Tool { event } = &event.kind else { continue };
            let EventKind::ApprovalRequested { request } = &event.kind else { continue };
            assert_eq!(depth, 2);
            asked += 1;
            let approval = if is_approved { Approval::Approved } else { Approval::Rejected("no".to_owned()) };
            assert!(handle.approve(&request.address, approval));
        }
        assert_eq!((asked, log.lock().unwrap().len()), (1, usize::from(is_approved)));
        let result = model.requests()[1].messages[2].tool_results().next().unwrap().clone();
        assert_eq!(result.is_error(), !is_approved);
    }
}

#[tokio::test]
async fn an_open_call_of_an_agent_outside_of_any_run_is_answered_with_an_error_and_does_not_run() {
    for waits in [false, true] {
        let Cleaner { builder, model, executor, log } = cleaner();
        let tool = AgentTool::new(builder.wait_for_answers(waits).build().unwrap()).unwrap();
        let tools = Executor::new(Registry::builder().add(tool).build().unwrap());
        let call = ToolCall::new("researcher", json!({ "request": "Clean up." }));
        let outcomes = tools.batch(vec![call]).with_run(RunContext::new().with_session("s")).run().await;
        assert_eq!(outcomes[0].result().unwrap().text(), "Finished.");
        let result = model.requests()[1].messages[2].tool_results().next().unwrap().clone();
        assert!(result.is_error());
        assert!(result.text().contains("not answered: the run ends with the call"), "{}", result.text());
        assert!(log.lock().unwrap().is_empty());
        assert!(executor.open_calls().await.unwrap().is_empty());
    }
}

// Q08
#[tokio::test]
async fn a_child_has_limits_of_its_own_and_its_tokens_count_in_those_of_its_parent() {
    let usage = usage();
    let (agent, _) = researcher([found().with_usage(usage), Reply::text("717,710.").with_usage(usage)]);
    let tool = AgentTool::new(agent.build().unwrap()).unwrap();
    let (agent, model) = manager(tool);
    let limits = Limits { tokens: Some(100), ..Limits::default() };
    let end = Runner::new(agent.limits(limits).build().unwrap()).run("How large is Oslo?").end().await;
    assert!(matches!(end.reason, EndReason::Limit { limit: Limit::Tokens, .. }), "{end}");
    let children = end.usage.children;
    assert_eq!((children.runs, children.rounds, children.calls, children.tokens), (1, 2, 1, 100));
    assert_eq!((end.usage.rounds, end.usage.tokens(), model.requests().len()), (1, 100, 1));

    let (agent, _) = researcher((0..9).map(|_| found()));
    let limits = Limits { rounds: Some(2), ..Limits::default() };
    let (agent, model) = manager(AgentTool::new(agent.limits(limits).build().unwrap()).unwrap());
    let end = Runner::new(agent.build().unwrap()).run("How large is Oslo?").end().await;
    assert_eq!((end.usage.children.rounds, end.usage.children.cost), (2, None));
    let result = model.requests()[1].messages[2].tool_results().next().unwrap().clone();
    assert!(result.text().contains("agent error: the run made 2 requests"), "{}", result.text());
}

#[test]
fn a_child_that_is_dropped_counts_what_it_used() {
    /// Never ends.
    #[tool(register = false, read_only)]
    async fn hang() {
        std::future::pending().await
    }
    let usage = usage();
    let child = ScriptedModel::new([Reply::call("hang", json!({})).with_usage(usage)]);
    let tools = Registry::builder().tool::<hang>().build().unwrap();
    let child = Agent::builder("researcher", child).tools(tools).build().unwrap();
    let executor =
        Executor::builder(Registry::builder().add(AgentTool::new(child).unwrap()).build().unwrap());
    let executor = executor.timeout(std::time::Duration::from_secs(5)).build().unwrap();
    let model = ScriptedModel::new([ask("c1"), Reply::text("Done.")]);
    let agent = Agent::builder("manager", model).tools(executor).build().unwrap();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    let end = runtime.block_on(Runner::new(agent).run("How large is Oslo?").end());
    assert_eq!((end.text.as_str(), end.usage.children.runs, end.usage.children.tokens), ("Done.", 1, 50));
}
