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
