#![allow(clippy::unwrap_used, reason = "a test may")]

use tool_runtime::{Registry, dialect::Thinking};

use super::*;
use crate::{Limits, OutputType, ScriptedModel};

fn agent() -> Agent {
    let agent = Agent::builder("scout", ScriptedModel::new([])).description("Looks around.");
    agent.output_type(OutputType::any()).build().unwrap()
}

/// Returns the flags of the settings: request, wrapped, skips, streams, shows, sub-agent.
fn flags(settings: &AgentToolSettings) -> [bool; 6] {
    let AgentToolSettings { takes_request, wraps_result, skips_summarization, .. } = settings;
    let AgentToolSettings { streams_text, shows_text, is_sub_agent, .. } = settings;
    [*takes_request, *wraps_result, *skips_summarization, *streams_text, *shows_text, *is_sub_agent]
}

#[test]
fn the_settings_of_a_tool_begin_with_their_defaults_and_are_set_one_by_one() {
    let tool = || AgentTool::new(agent()).unwrap();
    assert_eq!(flags(&tool().settings), [true, false, false, false, true, false]);
    let AgentToolSettings { response, state, history, .. } = tool().settings;
    assert_eq!((response, state, history), (ResponseMode::All, ChildState::None, HistoryScope::Isolated));
    assert!(tool().history_key.is_none() && !tool().adds_to_requests());
    for (tool, expected) in [
        (tool().wrap_result(true), [true, true, false, false, true, false]),
        (tool().skip_summarization(true), [true, false, true, false, true, false]),
        (tool().stream_text(true), [true, false, false, true, true, false]),
        (tool().show_text(false), [true, false, false, false, false, false]),
    ] {
        assert_eq!(flags(&tool.settings), expected);
    }
    let set = tool().response_mode(ResponseMode::Last).state(ChildState::Copy).history(HistoryScope::Fresh);
    let AgentToolSettings { response, state, history, .. } = set.settings;
    assert_eq!((response, state, history), (ResponseMode::Last, ChildState::Copy, HistoryScope::Fresh));
    let by_key = tool().history_by(|_| "key".to_owned());
    assert!(by_key.history_key.is_some());
    assert!(by_key.history(HistoryScope::Isolated).history_key.is_none());
}

#[test]
fn a_tool_with_another_schema_is_the_same_tool_otherwise() {
    let tool = AgentTool::new(agent()).unwrap();
    let before = tool.definition().clone();
    let required = before.input_schema().as_value()["required"].clone();
    assert_eq!((required, before.output_schema().is_some()), (json!([REQUEST]), true));
    let other = tool.with_input_schema(InputSchema::new(json!({ "type": "object" })).unwrap());
    let after = other.definition();
    assert_eq!((before.name(), before.description()), (after.name(), after.description()));
    assert_eq!((before.metadata(), after.output_schema().is_some()), (after.metadata(), true));
    assert!(after.input_schema().as_value().get("required").is_none());
    assert_eq!(flags(&other.settings), [false, false, false, false, true, false]);
}

#[test]
fn a_sub_agent_has_the_settings_of_its_builder() {
    let builder = || SubAgentTool::builder("scout", ScriptedModel::new([]));
    let rounds = |tool: &SubAgentTool| tool.agent().0.limits.rounds;
    let default = builder().build().unwrap();
    let other = Limits { calls: Some(7), ..Limits::default() };
    let set = builder()
        .description("Looks around.")
        .thinking(Thinking::Low)
        .max_rounds(3)
        .tools(Registry::default())
        .configure(|agent| agent.parameter("top_p", 1).limits(other))
        .build()
        .unwrap();
    assert!(default.agent().0.thinking.is_none());
    assert!(matches!(set.agent().0.thinking, Some(Thinking::Low)));
    assert_eq!((rounds(&set), set.agent().0.limits.calls), (Some(3), Some(7)));
    assert!(rounds(&default).is_some_and(|rounds| rounds > 3));
    assert_eq!(set.agent().0.parameters["top_p"], 1);
    assert_eq!(set.definition().description(), "Looks around.");
    assert_eq!(set.definition().metadata().strict, Some(true));
}
