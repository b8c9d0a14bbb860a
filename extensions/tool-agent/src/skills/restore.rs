//! The active skills of a run that continues.

use std::sync::Arc;

use tool_runtime::{RunContext, ToolResult};

use super::{AgentSkills, AllowedTools, active::ActiveSkills, error::short_line, tools::SKILL_LOAD};
use crate::{Message, Role};

/// Makes the skills active in `run` that `agent` loaded since the last answer in `messages`. Returns sentences about those that cannot be
/// read any more: they allow no tool.
pub(crate) async fn restore_skills(
    skills: &AgentSkills,
    run: &RunContext,
    agent: &str,
    messages: &[Message],
) -> Vec<String> {
    let (active, mut notices) = (ActiveSkills::of_run(run), Vec::new());
    for name in loaded_skill_names(agent, messages).into_iter().filter(|name| !active.contains(name)) {
        match skills.load(&name).await {
            Ok(skill) => {
                if let Some(allowed) = skill.header.allowed_tools {
                    active.add(&skill.header.name, allowed);
                }
            }
            Err(error) => {
                active.add(&Arc::from(name.as_str()), AllowedTools::none());
                let name = short_line(&name);
                notices.push(format!(
                    "the skill `{name}` is active and cannot be read any more, so that it allows no tool: {error}"
                ));
            }
        }
    }
    notices
}

/// Returns the names of the skills that `agent` loaded since the last response without calls.
fn loaded_skill_names(agent: &str, messages: &[Message]) -> Vec<String> {
    let is_own = |it: &&Message| it.agent().is_none_or(|author| author == agent);
    let is_answer = |it: &Message| it.role() == Role::Assistant && it.calls().next().is_none();
    let start = messages.iter().rposition(|it| is_own(&it) && is_answer(it)).map_or(0, |at| at + 1);
    let since = messages.get(start..).unwrap_or_default();
    let loads = |it: &&ToolResult| *it.name == *SKILL_LOAD && !it.is_error();
    since
        .iter()
        .filter(is_own)
        .flat_map(|it| it.tool_results())
        .filter(loads)
        .map(|it| loaded_skill_name(it, since))
        .collect()
}

/// Returns the name of the skill whose load has this result; one that no skill has if it cannot be read.
fn loaded_skill_name(result: &ToolResult, messages: &[Message]) -> String {
    let details = result.outcome.as_ref().ok().and_then(|output| output.details());
    if let Some(name) = details.and_then(|it| it.get("skill")).and_then(|it| it.as_str()) {
        return name.to_owned();
    }
    #[derive(serde::Deserialize)]
    struct Load {
        name: String,
    }
    let mut calls = messages.iter().flat_map(|it| it.calls());
    let call = calls.find(|call| call.id == result.id);
    let load = call.and_then(|call| serde_json::from_str::<Load>(call.arguments.as_str()).ok());
    load.map_or_else(String::new, |load| load.name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tool_runtime::{ToolCall, ToolError, ToolOutput};

    use super::*;
    use crate::{Part, skills::InMemorySkills};

    fn load(id: &str, skill: &str) -> Part {
        Part::Call(ToolCall::new(SKILL_LOAD, json!({ "name": skill })).with_id(id))
    }

    fn result(id: &str, outcome: Result<ToolOutput, ToolError>) -> ToolResult {
        ToolResult::new(id.to_owned().into(), SKILL_LOAD, outcome)
    }

    /// A result that names the skill.
    fn loaded(id: &str, skill: &str) -> ToolResult {
        result(id, Ok(ToolOutput::from("text").with_details(json!({ "skill": skill }))))
    }

    /// A result as a hook leaves it that replaces the text.
    fn replaced(id: &str) -> ToolResult {
        result(id, Ok(ToolOutput::from("text")))
    }

    fn answer() -> Message {
        Message::assistant([Part::Text("Done.".to_owned())])
    }

    #[test]
    fn skills_are_those_that_the_agent_loaded_since_its_last_answer() {
        let loads = |id: &str, skill: &str| {
            [Message::assistant([load(id, skill)]), Message::results([loaded(id, skill)])]
        };
        let of = |agent: &str, messages: [Message; 2]| messages.map(|message| message.with_agent(agent));
        let other = ToolResult::new("c1".to_owned().into(), "other", Ok(ToolOutput::from("text")));
        for (messages, expected) in [
            (vec![], &[][..]),
            (vec![Message::user("Go.")], &[]),
            ([vec![Message::user("Go.")], loads("c1", "a").to_vec()].concat(), &["a"]),
            // Also where the conversation begins with the result.
            (vec![Message::results([loaded("c1", "a")])], &["a"]),
            ([loads("c1", "a"), loads("c2", "b")].concat(), &["a", "b"]),
            ([loads("c1", "a").to_vec(), vec![answer()]].concat(), &[]),
            ([loads("c1", "a").to_vec(), vec![answer()], loads("c2", "b").to_vec()].concat(), &["b"]),
            ([loads("c1", "a").to_vec(), vec![Message::user("And?")]].concat(), &["a"]),
            // Those of other agents, and their answers.
            (of("clerk", loads("c1", "a")).to_vec(), &["a"]),
            (of("scout", loads("c1", "a")).to_vec(), &[]),
            ([loads("c1", "a").to_vec(), vec![answer().with_agent("scout")]].concat(), &["a"]),
            ([loads("c1", "a").to_vec(), vec![answer().with_agent("clerk")]].concat(), &[]),
            (vec![Message::results([result("c1", Err(ToolError::failed("gone")))])], &[]),
            (vec![Message::results([other])], &[]),
        ] {
            assert_eq!(loaded_skill_names("clerk", &messages), expected, "{messages:?}");
        }
    }

    #[test]
    fn a_skill_whose_result_was_replaced_is_known_by_its_call() {
        let calls = || Message::assistant([load("c1", "a"), load("c2", "b")]);
        for (messages, expected) in [
            (vec![calls(), Message::results([replaced("c1"), replaced("c2")])], &["a", "b"][..]),
            (vec![calls(), Message::results([replaced("c2")])], &["b"]),
            (vec![calls(), Message::results([loaded("c1", "other"), replaced("c2")])], &["other", "b"]),
            (vec![Message::results([replaced("c1")])], &[""]),
            (
                vec![
                    Message::assistant([Part::Call(ToolCall::new(SKILL_LOAD, "[").with_id("c1"))]),
                    Message::results([replaced("c1")]),
                ],
                &[""],
            ),
        ] {
            assert_eq!(loaded_skill_names("clerk", &messages), expected, "{messages:?}");
        }
    }

    #[tokio::test]
    async fn a_skill_that_is_active_is_not_loaded_again() {
        let run = RunContext::new();
        let skills = AgentSkills::new(InMemorySkills::default());
        let loads = [Message::results([loaded("c1", "a"), loaded("c2", "b")])];
        let active = ActiveSkills::of_run(&run);
        active.add(&"a".into(), AllowedTools::none());
        let gone = "the skill `b` is active and cannot be read any more, so that it allows no tool: there is no skill `b`; call \
                    `skill_list` for the names";
        assert_eq!(restore_skills(&skills, &run, "clerk", &loads).await, [gone]);
        assert!(active.contains("a") && active.contains("b") && !active.contains("c"));
        assert_eq!(restore_skills(&skills, &run, "clerk", &loads).await, [""; 0]);
    }
}
