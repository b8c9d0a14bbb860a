//! Sub-agents.

use tool_agent::{AgentTools, Part, SubAgentBuilder, SubAgentTool};
use tool_runtime::{Content, Toolbox, dialect::Thinking};

use super::*;

/// A sub-agent with these replies, and its model.
fn counter(replies: impl IntoIterator<Item = Reply>) -> (SubAgentBuilder, ScriptedModel) {
    let model = ScriptedModel::new(replies);
    let tools = Registry::builder().tool::<look_up>().build().unwrap();
    let builder = SubAgentTool::builder("counter", model.clone())
        .description("Counts.")
        .instruction("Count well.")
        .tools(tools)
        .thinking(Thinking::Low);
    (builder, model)
}

fn count(id: &str) -> Reply {
    Reply::calls([ToolCall::new("counter", json!({ "task": "Count." })).with_id(id.to_owned())])
}

/// A text with a call.
fn step(text: &str, town: &str) -> Reply {
    let call = ToolCall::new("look_up", json!({ "name": town })).with_id(text.to_owned());
    Reply::parts([Part::Text(text.to_owned()), Part::Call(call)])
}

/// A clerk that gives its sub-agent a task `calls` times, with its model.
fn clerk(tool: SubAgentTool, calls: usize) -> (Runner, ScriptedModel) {
    let replies = (0..calls).map(|n| count(&format!("c{n}"))).chain([Reply::text("Done.")]);
    let model = ScriptedModel::new(replies.collect::<Vec<_>>());
    let tools = Registry::builder().add(tool).build().unwrap();
    (Runner::new(Agent::builder("clerk", model.clone()).tools(tools).build().unwrap()), model)
}

fn result_of(model: &ScriptedModel, request: usize) -> tool_runtime::ToolResult {
    let messages = &model.requests()[request].messages;
    messages.last().unwrap().tool_results().next().unwrap().clone()
}

// Q01, Q03
#[tokio::test]
async fn each_task_is_a_fresh_run_with_the_instruction_the_tools_and_the_thinking_of_the_sub_agent() {
    let replies = [Reply::text("Let me see."), Reply::text("Two."), Reply::text("unused")];
    let (builder, child) = counter(replies);
    let (runner, model) = clerk(builder.build().unwrap(), 2);
    assert_eq!(runner.run("How many?").end().await.text, "Done.");
    let requests = child.requests();
    assert_eq!(requests.len(), 2);
    for request in &requests {
        assert_eq!((&*request.instruction, request.thinking), ("Count well.", Some(Thinking::Low)));
        assert_eq!((request.messages.len(), request.messages[0].text()), (1, "Count.".to_owned()));
        assert!(request.tools.get("look_up").is_some());
    }
    assert_eq!(result_of(&model, 2).text(), "Two.");
    // Q04: the result names its run, and the number of its rounds.
    let details = result_of(&model, 2).details().cloned().unwrap();
    assert_eq!((&details["agent"], &details["usage"]["rounds"]), (&json!("counter"), &json!(1)));
    assert_eq!(result_of(&model, 2).outcome.unwrap().child_run_id(), details["run"].as_str());
    assert!(details["run"].is_string());
}

// Q02
#[tokio::test]
async fn a_task_is_one_text_and_anything_else_is_an_error_before_any_request() {
    let (builder, child) = counter([]);
    let tools = Registry::builder().add(builder.build().unwrap()).build().unwrap();
    for arguments in
        [json!({}), json!({ "task": 5 }), json!({ "task": "a", "model": "b" }), json!({ "request": "a" })]
    {
        let error = tools.call("counter", arguments).await.unwrap_err();
        assert_eq!(error.kind(), tool_runtime::ErrorKind::InvalidArguments);
    }
    assert!(child.requests().is_empty());
}

// Q03
#[tokio::test]
async fn the_result_is_the_last_text_or_a_notice_that_there_is_none() {
    let both = step("First.", "Oslo");
    let (builder, _) = counter([both, Reply::text("Last.")]);
    let (runner, model) = clerk(builder.build().unwrap(), 1);
    runner.run("How many?").end().await;
    assert_eq!(result_of(&model, 1).text(), "Last.");

    let silent = Reply::parts([Part::Content(Content::image(vec![1], "image/png"))]);
    let builder = SubAgentTool::builder("counter", ScriptedModel::new([silent]));
    let (runner, model) = clerk(builder.build().unwrap(), 1);
    runner.run("How many?").end().await;
    assert_eq!(result_of(&model, 1).text(), "The sub-agent ended without a text.");
}

// Q06
#[tokio::test]
async fn what_a_sub_agent_does_is_shown_and_never_read_by_the_model_above() {
    let (builder, _) = counter([found(), Reply::text("717,710.")]);
    let (runner, model) = clerk(builder.build().unwrap(), 1);
    let shown: Vec<_> = events_of(&runner).await.iter().map(shown).collect();
    assert!(shown.contains(&"c0 counter > text".to_owned()), "{shown:?}");
    assert!(shown.contains(&"c0 counter > tool look_up".to_owned()), "{shown:?}");
    assert!(!serde_json::to_string(&model.requests()[1].messages).unwrap().contains("look_up"));
}

// Q07
#[tokio::test]
async fn a_sub_agent_has_no_other_sub_agent() {
    let inner = || counter([Reply::text("Inner.")]).0.build().unwrap();
    let nested = |tools: AgentTools| {
        let model = ScriptedModel::new([count("k"), Reply::text("Outer.")]);
        let outer = SubAgentTool::builder("outer", model.clone()).tools(tools).build();
        (outer, model)
    };
    let registry = Registry::builder().add(inner()).build().unwrap();
    let error = nested(registry.into()).0.unwrap_err();
    assert_eq!(error, AgentError::NestedSubAgent { name: "counter".to_owned() });
    // The tools of a toolbox are not known yet: the call is refused.
    let toolbox = Toolbox::new();
    toolbox.add(inner()).unwrap();
    let (outer, model) = nested(toolbox.into());
    let tools = Registry::builder().add(outer.unwrap()).build().unwrap();
    let clerk = ScriptedModel::new([Reply::call("outer", json!({ "task": "Go." })), Reply::text("Done.")]);
    let clerk = Agent::builder("clerk", clerk).tools(tools).build().unwrap();
    assert_eq!(Runner::new(clerk).run("Go.").end().await.text, "Done.");
    let result = result_of(&model, 1);
    assert!(result.text().contains("a sub-agent may not call another one"), "{}", result.text());
}

// Q08
#[tokio::test]
async fn a_sub_agent_that_is_not_done_after_ten_rounds_is_stopped_with_a_notice_and_its_last_text() {
    let replies = (0..20).map(|n| step(&format!("Step {n}."), &format!("town {n}")));
    for (limit, rounds) in [(None, 10), (Some(2), 2)] {
        let (mut builder, child) = counter(replies.clone().collect::<Vec<_>>());
        if let Some(limit) = limit {
            builder = builder.max_rounds(limit);
        }
        let (runner, model) = clerk(builder.build().unwrap(), 1);
        runner.run("How many?").end().await;
        assert_eq!(child.requests().len(), rounds);
        let result = result_of(&model, 1);
        assert!(result.is_error());
        let last = rounds - 1;
        let expected = format!(
            "The sub-agent was stopped after {rounds} rounds, its limit, before it was done. Its last text:\n\nStep {last}."
        );
        assert_eq!(result.text(), expected);
    }
}

// Q05
#[tokio::test]
async fn a_sub_agent_whose_model_fails_is_an_error_result() {
    let (builder, _) = counter([Reply::error(ModelErrorKind::InvalidRequest, "no such model")]);
    let (runner, model) = clerk(builder.build().unwrap(), 1);
    assert_eq!(runner.run("How many?").end().await.text, "Done.");
    let result = result_of(&model, 1);
    assert!(result.text().contains("agent error: the model failed: no such model"));
    // Q04
    assert!(result.outcome.unwrap_err().child_run_id().is_some());
}

// Q01
#[tokio::test]
async fn another_model_takes_the_place_of_the_first_and_none_is_printed() {
    let (builder, child) = counter([]);
    let other = ScriptedModel::new([Reply::text("Other.")]);
    let builder = builder.model(other).configure(|agent| agent.parameter("api_key", "secret-7"));
    assert!(!format!("{builder:?}").contains("secret-7"));
    let tool = builder.build().unwrap();
    assert!(!format!("{tool:?}").contains("secret-7"));
    let tools = Registry::builder().add(tool).build().unwrap();
    assert_eq!(tools.call("counter", json!({ "task": "Count." })).await.unwrap().text(), "Other.");
    assert!(child.requests().is_empty());
}
