//! Notices about what a run lost, or does not do.

use std::sync::Arc;

use tool_agent::{Agent, AgentEventKind, AgentStream, Runner, ScriptedModel, model::Reply};
use tool_runtime::{
    BoxFuture, Executor, Tool, Toolbox,
    builder::ToolBuilder,
    context::ReadonlyContext,
    output::Actions,
    policy::{Rule, Rules},
    prelude::*,
    toolset::ToolSet,
};

/// A set whose server is down.
struct DownSet;

impl ToolSet for DownSet {
    fn name(&self) -> &str {
        "remote"
    }

    fn tools<'a>(&'a self, _: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        Box::pin(async { Err(ToolError::failed("connection refused")) })
    }
}

#[tool_args]
struct NoArguments {}

/// A set with a tool `clock`.
struct ClockSet(&'static str);

impl ToolSet for ClockSet {
    fn name(&self) -> &str {
        self.0
    }

    fn tools<'a>(&'a self, _: ReadonlyContext<'a>) -> BoxFuture<'a, Result<Vec<Arc<dyn Tool>>, ToolError>> {
        let clock = ToolBuilder::new("clock").description("Tells the time.");
        let clock = clock.handler(|_: NoArguments, _| async { Ok::<_, ToolError>("12:00") });
        Box::pin(async {
            Ok(vec![Arc::new(clock.map_err(|error| ToolError::failed(error.to_string()))?) as Arc<dyn Tool>])
        })
    }
}

/// The notices of a run, and its answer.
async fn notices(mut events: AgentStream) -> (Vec<String>, String) {
    let (mut notices, mut answer) = (Vec::new(), String::new());
    while let Some(event) = events.next().await {
        match event.kind {
            AgentEventKind::Notice { text } => notices.push(text),
            AgentEventKind::Ended { end } => answer = end.text,
            _ => {}
        }
    }
    (notices, answer)
}

#[tokio::test]
async fn tools_that_an_agent_lost_are_a_notice_of_each_run() {
    let toolbox = Toolbox::new();
    toolbox.add_toolset(DownSet).unwrap();
    toolbox.add_toolset(ClockSet("first")).unwrap();
    toolbox.add_toolset(ClockSet("second")).unwrap();
    toolbox.strict_names(false);
    let call = || Reply::call("clock", json!({}));
    let model = ScriptedModel::new([call(), call(), Reply::text("Noon."), Reply::text("Still noon.")]);
    let runner = Runner::new(Agent::builder("clock", model).tools(toolbox).build().unwrap());
    let expected = [
        "the set `remote` could not list its tools, and is used with the 0 it listed last: connection refused",
        "a tool of the set `second` was dropped, since its name `clock` is taken by a tool of the set `first`",
    ];
    // Once in a run, although the tools are listed for each of its requests.
    let (first, answer) = notices(runner.run("What time is it?")).await;
    assert_eq!((first, answer.as_str()), (expected.map(str::to_owned).to_vec(), "Noon.")); // L04
    assert_eq!(notices(runner.run("And now?")).await.0, expected);
}

#[tokio::test]
async fn results_are_stored_before_a_notice_about_their_actions() {
    let tools = Registry::builder().tool::<pass_on>().build().unwrap();
    let calls = [(); 7].map(|()| tool_runtime::ToolCall::new("pass_on", json!({})));
    let model = ScriptedModel::new([Reply::calls(calls), Reply::text("Done.")]);
    let runner = Runner::new(Agent::builder("desk", model).tools(tools).build().unwrap());
    let run = || tool_runtime::RunContext::new().with_session("s");
    // More events than fit before the reader takes one.
    let mut events = runner.run_with(run(), "Bill me.");
    events.next().await.unwrap();
    drop(events);
    let history = runner.history(&run()).await;
    let results: Vec<_> = history.iter().flat_map(|message| message.tool_results()).collect();
    assert_eq!(results.len(), 7);
    assert!(results.iter().all(|result| result.text() == "passed on"), "{results:?}");
}

#[tokio::test]
async fn a_rule_without_effect_is_a_notice() {
    let executor = Executor::builder(Registry::builder().build().unwrap());
    let executor = executor.rules(Rules::new([Rule::deny("bash")])).build().unwrap();
    let model = ScriptedModel::new([Reply::text("Hello.")]);
    let runner = Runner::new(Agent::builder("greeter", model).tools(executor).build().unwrap());
    assert_eq!(notices(runner.run("Hi.")).await.0, ["the rule `deny bash` fits no tool"]);
}

/// Passes the conversation on.
#[tool(register = false)]
fn pass_on() -> ToolOutput {
    let artifacts = serde_json::Map::from_iter([("report".to_owned(), json!("x"))]);
    let transfer = Some("billing".to_owned());
    ToolOutput::from("passed on").with_actions(Actions {
        transfer,
        escalate: true,
        artifacts,
        ..Actions::default()
    })
}

#[tokio::test]
async fn actions_without_effect_are_a_notice() {
    let tools = Registry::builder().tool::<pass_on>().build().unwrap();
    let model = ScriptedModel::new([Reply::call("pass_on", json!({})), Reply::text("Done.")]);
    let runner = Runner::new(Agent::builder("desk", model).tools(tools).build().unwrap());
    let (notices, answer) = notices(runner.run("Bill me.")).await;
    let effect = "which has no effect in this run; read `ToolResult::actions` to act on it";
    assert_eq!(
        notices,
        [
            format!("a tool asked for a transfer to the agent `billing`, {effect}"),
            format!("a tool asked to escalate, {effect}"),
        ]
    );
    assert_eq!(answer, "Done.");
}
