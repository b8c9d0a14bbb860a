//! Skills of agents, on scripted models.

mod boundary;
#[cfg(feature = "skills")]
mod folder_limits;
#[cfg(feature = "skills")]
mod folders;
#[cfg(feature = "skills")]
mod hostile_folders;
mod rule;
mod stores;

use tool_agent::{
    Agent, Runner, ScriptedModel,
    model::Reply,
    skills::{AgentSkills, AllowedTools, InMemorySkills, Skill},
};
use tool_runtime::prelude::*;

/// Returns a skill that allows `tools`.
fn skill(name: &str, tools: Option<&str>) -> Skill {
    let skill = Skill::new(name, format!("How to do {name}."), format!("Do {name}.")).unwrap();
    match tools {
        Some(tools) => skill.with_allowed_tools(AllowedTools::parse(tools).unwrap()),
        None => skill,
    }
}

fn skills_of(skills: impl IntoIterator<Item = Skill>) -> AgentSkills {
    AgentSkills::new(InMemorySkills::new(skills).unwrap())
}

/// Returns the results of the calls of a run, in order, and its model.
async fn results_of(
    skills: AgentSkills,
    calls: impl IntoIterator<Item = (&'static str, Value)>,
) -> (Vec<String>, ScriptedModel) {
    let replies = calls.into_iter().map(|(tool, arguments)| Reply::call(tool, arguments));
    let model = ScriptedModel::new(replies.chain([Reply::text("Done.")]));
    let agent = Agent::builder("clerk", model.clone()).skills(skills).build().unwrap();
    assert_eq!(Runner::new(agent).run("Go.").answer().await.unwrap(), "Done.");
    let results = results(&model);
    (results, model)
}

/// Returns the results in the last request of a model.
fn results(model: &ScriptedModel) -> Vec<String> {
    let requests = model.requests();
    let messages = &requests.last().unwrap().messages;
    messages.iter().flat_map(|it| it.tool_results()).map(|it| it.text().into_owned()).collect()
}
