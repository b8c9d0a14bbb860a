//! The tree of an agent and its sub-agents.
//!
//! Agents are built from the leaves to the root, and never change: a tree has no cycle. An agent does not know the agent above it, so that one
//! value may be in several trees; therefore each question is asked from the root.

use std::collections::HashSet;

use serde_json::Value;
use tool_runtime::definition::Metadata;

use super::{Agent, AgentSettings};

/// The name of the tool by which a model transfers the conversation.
pub(crate) const TRANSFER_TOOL: &str = "transfer_to_agent";
/// The name of the tool by which a model has the next message of the user.
pub(crate) const AWAIT_TOOL: &str = "await_user_reply";
/// The custom metadata of an agent as a tool: the name of the agent.
const AGENT_KEY: &str = "agent";

/// The agents of a run, as seen from the root.
pub(crate) struct AgentTree<'a>(pub(crate) &'a Agent);

impl Agent {
    /// Returns the agents that may take over the conversation.
    #[must_use]
    pub fn sub_agents(&self) -> &[Agent] {
        &self.0.sub_agents
    }
}

impl<'a> AgentTree<'a> {
    /// Returns all agents, each after the one above it, with which it is paired.
    fn agents_with_parents(&self) -> impl Iterator<Item = (&'a Agent, Option<&'a Agent>)> {
        let mut waiting = vec![(self.0, None)];
        std::iter::from_fn(move || {
            let (agent, above) = waiting.pop()?;
            waiting.extend(agent.sub_agents().iter().rev().map(|below| (below, Some(agent))));
            Some((agent, above))
        })
    }

    /// Returns the agent with that name.
    pub(crate) fn find(&self, name: &str) -> Option<&'a Agent> {
        self.agents_with_parents().find(|(agent, _)| agent.name() == name).map(|(agent, _)| agent)
    }

    /// Returns the agent above the one with that name.
    pub(crate) fn parent_of_agent(&self, name: &str) -> Option<&'a Agent> {
        self.agents_with_parents().find(|(agent, _)| agent.name() == name)?.1
    }

    /// Returns the agents to which a model of the agent with that name may transfer: those below it, the one above it, and the others below
    /// that one.
    pub(crate) fn transfer_targets(&self, name: &str) -> Vec<Agent> {
        let below = self.find(name).into_iter().flat_map(Agent::sub_agents);
        let above = self.parent_of_agent(name);
        let siblings = above.into_iter().flat_map(Agent::sub_agents).filter(|agent| agent.name() != name);
        below.chain(above).chain(siblings).cloned().collect()
    }
}

/// Returns the metadata of the tool of the agent with that name.
pub(crate) fn agent_tool_metadata(name: String) -> Metadata {
    let custom = [(AGENT_KEY.to_owned(), Value::String(name))];
    Metadata { custom: custom.into_iter().collect(), ..Metadata::default() }
}

/// Finds a mistake in the agents below an agent.
pub(super) fn check_sub_agents(settings: &AgentSettings) -> Result<(), String> {
    if settings.awaits_user_reply {
        refuse_tool_with_name(settings, AWAIT_TOOL)?;
    }
    let mut names = HashSet::from([&*settings.name]);
    for child in &settings.sub_agents {
        for (agent, _) in AgentTree(child).agents_with_parents() {
            let name = agent.name();
            if name == &*settings.name {
                return Err(format!(
                    "`{name}` is the name of an agent below it, too; give each agent of a tree a name of its own"
                ));
            }
            if !names.insert(name) {
                return Err(format!(
                    "two agents below `{}` have the name `{name}`; give each agent of a tree a name of its own",
                    settings.name
                ));
            }
        }
        if child.model().is_none() {
            return Err(format!(
                "`{}` is a team of agents, which cannot take over a conversation; offer it as an `AgentTool`",
                child.name()
            ));
        }
        refuse_tool_with_name(settings, TRANSFER_TOOL)?;
        refuse_tool_with_name(&child.0, TRANSFER_TOOL)?;
        refuse_tool_named_as_sub_agent(settings, child.name())?;
    }
    Ok(())
}

/// Refuses a tool of the program that has the name of one that the agent receives.
fn refuse_tool_with_name(settings: &AgentSettings, name: &str) -> Result<(), String> {
    match settings.tools.known_tools().get(name) {
        None => Ok(()),
        Some(_) => Err(format!(
            "the agent `{}` has a tool `{name}`, which is the name of a tool that it receives; rename its tool",
            settings.name
        )),
    }
}

/// Refuses a tool with the name of a sub-agent, unless it is that agent as a tool.
fn refuse_tool_named_as_sub_agent(settings: &AgentSettings, name: &str) -> Result<(), String> {
    let Some(tool) = settings.tools.known_tools().get(name) else { return Ok(()) };
    if tool.definition().metadata().custom.get(AGENT_KEY).and_then(Value::as_str) == Some(name) {
        return Ok(());
    }
    Err(format!(
        "the agent `{}` has a tool and a sub-agent with the name `{name}`, which a model confuses; rename one of them",
        settings.name
    ))
}
