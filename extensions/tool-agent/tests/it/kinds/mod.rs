//! Agents of several agents: in sequence, in parallel, and in loops.

mod loops;
mod message_filter;
mod parallel;
mod random;
mod results;
mod sequence;

use tool_agent::{
    Agent, AgentBuilder, AgentError, AgentEvent, AgentEventKind, AgentStream, End, Runner, ScriptedModel,
    exit_loop, model::Reply,
};
use tool_runtime::{dialect::Usage, prelude::*};

/// Multiplies two numbers.
#[tool(register = false, read_only)]
fn multiply(a: f64, b: f64) -> f64 {
    a * b
}

/// Sets a value of the state.
#[tool(register = false)]
fn note(state: &State, key: String, value: String) -> Result<String, ToolError> {
    state.set(&key, value)?;
    Ok("noted".to_owned())
}

fn builder(name: &str, replies: impl IntoIterator<Item = Reply>) -> (AgentBuilder, ScriptedModel) {
    let model = ScriptedModel::new(replies);
    let tools = Registry::builder().tool::<multiply>().tool::<note>().add(exit_loop()).build().unwrap();
    (Agent::builder(name, model.clone()).tools(tools), model)
}

fn agent(name: &str, replies: impl IntoIterator<Item = Reply>) -> Agent {
    builder(name, replies).0.build().unwrap()
}

/// An agent that answers with this text, once.
fn speaker(name: &str, text: &str) -> Agent {
    agent(name, [Reply::text(text)])
}

fn product() -> Reply {
    Reply::call("multiply", json!({ "a": 25, "b": 4 }))
}

fn exit() -> Reply {
    Reply::call("exit_loop", json!({}))
}

/// The token counts of one response: 50 in all.
fn usage() -> Usage {
    let mut usage = Usage::default();
    (usage.input, usage.output) = (Some(40), Some(10));
    usage
}

async fn events_of(mut stream: AgentStream) -> (Vec<AgentEvent>, End) {
    let (mut events, mut end) = (Vec::new(), None);
    while let Some(event) = stream.next().await {
        if let AgentEventKind::Ended { end: reached } = &event.kind {
            end = Some(reached.clone());
        }
        events.push(event);
    }
    (events, end.unwrap())
}

fn notices(events: &[AgentEvent]) -> Vec<&str> {
    let texts = events.iter().filter_map(|event| match &event.kind {
        AgentEventKind::Notice { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

async fn end_of(agent: Agent) -> End {
    Runner::new(agent).run("Go.").end().await
}

#[test]
fn mistakes_of_a_tree_are_errors_of_its_builder() {
    let clerk = || speaker("clerk", "Hi.");
    let none: [Agent; 0] = [];
    for (built, problem) in [
        (Agent::sequence("", [clerk()]).build(), "the agent has no name"),
        (
            Agent::sequence("team", none.clone()).build(),
            "the agent `team` has no agents; give it at least one",
        ),
        (Agent::parallel("team", none.clone()).build(), "has no agents"),
        (Agent::repeat("team", none, 2).build(), "has no agents"),
        (Agent::repeat("team", [clerk()], 0).build(), "the loop `team` has 0 iterations; give it at least 1"),
        (Agent::parallel("team", [clerk(), clerk()]).build(), "the name `clerk` has two places in one tree"),
        (Agent::sequence("clerk", [clerk()]).build(), "the name `clerk` has two places"),
    ] {
        let error: AgentError = built.unwrap_err();
        assert!(error.to_string().contains(problem), "{error}");
    }
    // A tree is a value: a cycle would be a clone within itself.
    let team = Agent::sequence("team", [clerk()]).build().unwrap();
    let error = Agent::sequence("all", [team.clone(), Agent::parallel("p", [team]).build().unwrap()]).build();
    assert_eq!(error.unwrap_err(), AgentError::DuplicateAgent { name: "team".into() });
}

#[test]
fn an_agent_of_agents_has_members_and_no_model() {
    let team = Agent::sequence("team", [speaker("a", "A."), speaker("b", "B.")]);
    let team = team.description("Two.").build().unwrap();
    assert_eq!((team.name(), team.description(), team.model().is_none()), ("team", "Two.", true));
    assert_eq!(team.members().iter().map(Agent::name).collect::<Vec<_>>(), ["a", "b"]);
    let solo = speaker("solo", "S.");
    assert!(solo.model().is_some() && solo.members().is_empty());
    assert!(format!("{team:?}").contains("Sequence"));
}

#[tokio::test]
async fn the_tools_of_members_are_found_in_the_agent() {
    let none = Agent::builder("none", ScriptedModel::new([])).build().unwrap();
    let team = Agent::parallel("team", [none, speaker("a", "A.")]).build().unwrap();
    let run = tool_runtime::RunContext::new();
    assert_eq!(team.lookup(&run, "multiply").await.unwrap().definition().name().as_str(), "multiply");
    assert!(team.lookup(&run, "divide").await.is_err());
}

#[tokio::test]
async fn a_tool_that_several_members_have_is_the_one_of_the_first() {
    let member = |name: &str, tools: &[&'static str]| {
        let tool = |tool: &&'static str| {
            let builder = ToolBuilder::new(*tool).description(format!("The one of {name}."));
            builder.expect_handler(|_: Nothing, _| async { Ok::<_, ToolError>("done") })
        };
        let tools = tools.iter().map(tool).fold(Registry::builder(), |tools, tool| tools.add(tool));
        Agent::builder(name, ScriptedModel::new([])).tools(tools.build().unwrap()).build().unwrap()
    };
    let members =
        [member("a", &["other"]), member("b", &["look_up"]), member("c", &["look_up"]), member("d", &[])];
    let team = Agent::sequence("team", members).build().unwrap();
    let tool = team.lookup(&tool_runtime::RunContext::new(), "look_up").await.unwrap();
    assert_eq!(tool.definition().description(), "The one of b.");
}

#[tool_args]
struct Nothing {}

#[tokio::test]
async fn exit_loop_has_no_arguments_and_an_empty_result() {
    let tools = Registry::builder().add(exit_loop()).build().unwrap();
    let definition = &tools.definitions()[0];
    let properties = definition.input_schema().to_value().get("properties").cloned();
    assert!(properties.is_none_or(|it| it == json!({}))); // R23
    let result = tools.call("exit_loop", "{}").await.unwrap();
    assert!(result.content().is_empty()); // R23
    let actions = result.actions().unwrap();
    assert!(actions.escalate && actions.skip_summarization && !actions.terminate); // R23
    assert!(tools.call("exit_loop", json!({ "reason": "tired" })).await.is_err());
}
