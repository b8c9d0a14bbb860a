//! The results of the calls of an agent, and the events that they show.

use tool_agent::{AgentEventKind, ResponseMode};

use super::*;

async fn result_of(change: impl FnOnce(AgentTool) -> AgentTool, replies: Vec<Reply>) -> (ToolOutput, usize) {
    let (agent, model) = researcher(replies);
    let tool = change(AgentTool::new(agent.build().unwrap()).unwrap());
    let tools = Registry::builder().add(tool).build().unwrap();
    let output = tools.call("researcher", json!({ "request": "Go." })).await.unwrap();
    (output, model.requests().len())
}

fn two_texts() -> Vec<Reply> {
    let call = tool_agent::Part::Call(ToolCall::new("look_up", json!({ "name": "b" })));
    let text = tool_agent::Part::Text("a".to_owned());
    vec![Reply::parts([text, call]), Reply::text("b")]
}

// Q15, Q16, Q11
#[tokio::test]
async fn the_result_is_all_texts_or_the_last_one_as_text_or_as_an_object() {
    assert_eq!(result_of(|tool| tool, two_texts()).await.0.text(), "ab");
    assert_eq!(result_of(|tool| tool.response_mode(ResponseMode::Last), two_texts()).await.0.text(), "b");
    let (output, requests) = result_of(|tool| tool.wrap_result(true), two_texts()).await;
    assert_eq!((output.text().as_ref(), requests), (r#"{"result":"ab"}"#, 2));
    assert_eq!(output.details().unwrap()["agent"], "researcher");
}

// Q11
#[tokio::test]
async fn an_agent_with_an_output_type_returns_its_output_and_prose_is_an_error() {
    /// A town.
    #[tool_args]
    #[expect(dead_code, reason = "decoded to validate")]
    struct Town {
        population: u32,
    }
    let town = |replies: Vec<Reply>| {
        let (agent, _) = researcher(replies);
        AgentTool::new(agent.output::<Town>().build().unwrap()).unwrap()
    };
    let tool = town(vec![Reply::call("submit_output", json!({ "population": 717_710 }))]);
    assert!(tool.definition().output_schema().is_some());
    let tools = Registry::builder().add(tool).build().unwrap();
    let output = tools.call("researcher", json!({ "request": "Go." })).await.unwrap();
    assert_eq!(output.text(), r#"{"population":717710}"#);
    let tools =
        Registry::builder().add(town((0..5).map(|_| Reply::text("Many.")).collect())).build().unwrap();
    let error = tools.call("researcher", json!({ "request": "Go." })).await.unwrap_err();
    assert!(error.to_string().contains("agent error: the model submitted no valid output"), "{error}");
}

// Q12
#[tokio::test]
async fn a_result_may_end_the_run_without_another_request() {
    let (agent, _) = researcher([Reply::text("717,710.")]);
    let (agent, model) = manager(AgentTool::new(agent.build().unwrap()).unwrap().skip_summarization(true));
    let end = Runner::new(agent.build().unwrap()).run("How large is Oslo?").end().await;
    assert_eq!((end.reason, end.text.as_str()), (EndReason::SkippedSummarization, "717,710."));
    assert_eq!(model.requests().len(), 1);
}

// Q13, Q14
#[tokio::test]
async fn texts_are_shown_as_responses_as_parts_or_not_at_all_and_the_result_is_the_same() {
    for (streams, shows) in [(false, true), (true, true), (false, false), (true, false)] {
        let words = Reply::text("717,710 people live there.").with_words();
        let (agent, _) = researcher([found(), words]);
        let tool = AgentTool::new(agent.build().unwrap()).unwrap().stream_text(streams).show_text(shows);
        let (agent, model) = manager(tool);
        let (mut parts, mut wholes, mut tools) = (String::new(), String::new(), 0);
        for event in events_of(&Runner::new(agent.build().unwrap())).await {
            let AgentEventKind::Child { event, .. } = event.kind else { continue };
            match event.kind {
                AgentEventKind::Text { delta } => parts += &delta,
                AgentEventKind::Message { message } if message.role() == tool_agent::Role::Assistant => {
                    wholes += &message.text();
                }
                AgentEventKind::Tool { .. } => tools += 1,
                _ => {}
            }
        }
        let text = "717,710 people live there.";
        let expected = match (streams, shows) {
            (true, true) => (text, ""),
            (false, true) => ("", text),
            _ => ("", ""),
        };
        assert_eq!(
            (parts.as_str(), wholes.as_str(), tools),
            (expected.0, expected.1, 2),
            "{streams} {shows}"
        );
        assert_eq!(model.requests()[1].messages[2].tool_results().next().unwrap().text(), text);
    }
}

/// Answers the user.
#[tool(register = false)]
fn reply() -> ToolOutput {
    let actions = tool_runtime::output::Actions { skip_summarization: true, ..Default::default() };
    ToolOutput::from("answered").with_actions(actions)
}

#[tokio::test]
async fn a_tool_that_answers_ends_the_run_below_a_call_too() {
    let model = ScriptedModel::new([Reply::call("reply", json!({}))]);
    let tools = Registry::builder().tool::<reply>().build().unwrap();
    let agent = Agent::builder("researcher", model.clone()).tools(tools).build().unwrap();
    let tools = Registry::builder().add(AgentTool::new(agent).unwrap()).build().unwrap();
    let output = tools.call("researcher", json!({ "request": "Go." })).await.unwrap();
    assert_eq!((output.text().as_ref(), model.requests().len()), ("answered", 1));
}
