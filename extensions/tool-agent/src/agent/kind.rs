//! The kinds of agents: a model, and several agents in sequence, in parallel or in a loop.

use std::{collections::HashSet, fmt, sync::Arc};

use serde_json::{Map, Value, json};
use tool_runtime::schema::InputSchema;

use super::{Agent, AgentError, AgentSettings};
use crate::{model::SharedModel, output::OutputType};

/// The kind of an agent.
#[derive(Debug)]
pub(crate) enum AgentKind {
    /// One model with tools.
    Model(SharedModel),
    /// Agents that run one after another.
    Sequence(Vec<Agent>),
    /// Agents that run at the same time.
    Parallel {
        members: Vec<Agent>,
        /// `true` if the first member that fails cancels the others.
        cancels_on_failure: bool,
    },
    /// Agents that run one after another, again and again.
    Repeat {
        members: Vec<Agent>,
        /// The maximum number of iterations.
        max: u64,
    },
}

/// Builds a team: an [`Agent`] whose members are agents, which run in sequence, in parallel or in a loop.
#[must_use = "a builder does nothing until `build`"]
pub struct TeamBuilder {
    settings: AgentSettings,
}

impl Agent {
    /// Creates a builder of an agent whose members run one after another, in one conversation.
    ///
    /// Each member sees the conversation with what came before: the messages of other members as texts of the user under their names. A
    /// member has its own model, tools, hooks and [limits](crate::Limits); the [usage](crate::End::usage) of the run counts all of them, and a
    /// [budget](tool_runtime::context::Budget) bounds it. The sequence ends early if a member ends without an answer.
    ///
    /// The answer and the structured output are those of the last member that gave one. The input check of each member
    /// decides about the user's message before the first member begins.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::{Agent, Runner, ScriptedModel, model::Reply};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let agent = |name: &str, answer: &str| {
    ///     Agent::builder(name, ScriptedModel::new([Reply::text(answer)])).build()
    /// };
    /// let members = [agent("writer", "Tea is nice.")?, agent("translator", "Tee ist gut.")?];
    /// let pipeline = Agent::sequence("pipeline", members).build()?;
    /// assert_eq!(Runner::new(pipeline).run("A sentence about tea.").answer().await?, "Tee ist gut.");
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn sequence(name: impl Into<Arc<str>>, agents: impl IntoIterator<Item = Self>) -> TeamBuilder {
        TeamBuilder::new(name.into(), AgentKind::Sequence(agents.into_iter().collect()))
    }

    /// Creates a builder of an agent whose members run at the same time, in the task that polls the run.
    ///
    /// Each member sees the conversation as it is at the start. The members share the cancellation, the deadline and the budget of the run.
    /// The answer has the texts of all members in their order, each below its name; the structured output, if a member has one, is an
    /// object with the output or the text of each member by its name. Changes of state are merged in the order of the members.
    ///
    /// A member that ends without an answer does not end the others, unless [they are cancelled](TeamBuilder::cancel_on_failure); once all have
    /// ended, the run ends for the reason of the first member that failed, with the texts of the others. While calls of a member
    /// stay open, the run ends with those of all members, once the others have ended: [`Runner::resume`](crate::Runner::resume) continues the
    /// members whose calls are answered, in any process with a store, and runs no member that has ended. A run of a team waits for the answers of
    /// its handle if [one of its agents does](crate::AgentBuilder::wait_for_answers).
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::{Agent, Runner, ScriptedModel, model::Reply};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let agent = |name: &str, answer: &str| {
    ///     Agent::builder(name, ScriptedModel::new([Reply::text(answer)])).build()
    /// };
    /// let panel = Agent::parallel("panel", [agent("lawyer", "No.")?, agent("engineer", "Yes.")?]).build()?;
    /// let answer = Runner::new(panel).run("May we ship it?").answer().await?;
    /// assert_eq!(answer, "lawyer:\nNo.\n\nengineer:\nYes.");
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn parallel(name: impl Into<Arc<str>>, agents: impl IntoIterator<Item = Self>) -> TeamBuilder {
        let members = agents.into_iter().collect();
        TeamBuilder::new(name.into(), AgentKind::Parallel { members, cancels_on_failure: false })
    }

    /// Creates a builder of an agent whose members run as a [sequence](Self::sequence), at most `max` times.
    ///
    /// The loop ends before if a call of a member asks to [escalate](tool_runtime::output::Actions::escalate), as one of the tool
    /// [`exit_loop`](crate::exit_loop): the member ends with its calls, and no member runs after it. Nested loops end one by one, the
    /// innermost first.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::{Agent, Runner, ScriptedModel, exit_loop, model::Reply};
    /// use tool_runtime::prelude::*;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let drafts = ScriptedModel::new([Reply::text("Tee."), Reply::text("Tea.")]);
    /// let writer = Agent::builder("writer", drafts).build()?;
    /// let reviews = ScriptedModel::new([Reply::text("In English."), Reply::call("exit_loop", json!({}))]);
    /// let tools = Registry::builder().add(exit_loop()).build()?;
    /// let critic = Agent::builder("critic", reviews).tools(tools).build()?;
    /// let review = Agent::repeat("review", [writer, critic], 5).build()?;
    /// let end = Runner::new(review).run("A word for tea.").end().await;
    /// assert_eq!((end.text.as_str(), end.usage.rounds), ("Tea.", 4));
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn repeat(
        name: impl Into<Arc<str>>,
        agents: impl IntoIterator<Item = Self>,
        max: u64,
    ) -> TeamBuilder {
        let members = agents.into_iter().collect();
        TeamBuilder::new(name.into(), AgentKind::Repeat { members, max })
    }

    /// Returns the agents with a model among the members, and the members of members, in order.
    pub(crate) fn agents_with_model(&self) -> Vec<&Self> {
        let below = self.members().iter().flat_map(|member| match member.members().is_empty() {
            true => vec![member],
            false => member.agents_with_model(),
        });
        below.collect()
    }
}

impl TeamBuilder {
    fn new(name: Arc<str>, kind: AgentKind) -> Self {
        Self { settings: AgentSettings::new(name, kind) }
    }

    /// Sets the description, for other agents and for people. Default: none.
    pub fn description(mut self, description: impl Into<Arc<str>>) -> Self {
        self.settings.description = description.into();
        self
    }

    /// Sets whether the first member of a parallel team that ends without an answer cancels the others; other kinds end in any case.
    /// Default: `false`.
    pub fn cancel_on_failure(mut self, cancels: bool) -> Self {
        if let AgentKind::Parallel { cancels_on_failure, .. } = &mut self.settings.kind {
            *cancels_on_failure = cancels;
        }
        self
    }

    /// Sets whether the span of the run includes messages. Default: `false`; each member has [its own
    /// setting](crate::AgentBuilder::trace_content) for its spans.
    pub fn trace_content(mut self, content: bool) -> Self {
        self.settings.trace_content = content;
        self
    }

    /// Builds the agent.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is empty, if there are no members, if a loop has no iterations, or if two agents of the tree have the
    /// same name, as two clones of one agent; also if a member has [sub-agents](crate::AgentBuilder::sub_agent).
    pub fn build(mut self) -> Result<Agent, AgentError> {
        let AgentSettings { name, kind, .. } = &self.settings;
        if name.trim().is_empty() {
            return Err(AgentError::MissingName);
        }
        let team = Arc::clone(name);
        if matches!(kind, AgentKind::Repeat { max: 0, .. }) {
            return Err(AgentError::NoIterations { team });
        }
        let branch_state = match kind {
            AgentKind::Model(_) => Vec::new(),
            AgentKind::Sequence(members)
            | AgentKind::Parallel { members, .. }
            | AgentKind::Repeat { members, .. } => {
                members.iter().flat_map(|member| member.0.branch_state.iter().cloned()).collect()
            }
        };
        self.settings.output = match kind {
            AgentKind::Model(_) => None,
            AgentKind::Sequence(members) | AgentKind::Repeat { members, .. } => {
                members.last().and_then(|last| last.output_type().cloned())
            }
            AgentKind::Parallel { members, .. } => output_type_of_members(members)?,
        };
        self.settings.branch_state = branch_state;
        let agent = Agent(Arc::new(self.settings));
        if agent.members().is_empty() {
            return Err(AgentError::NoMembers { team });
        }
        check_distinct_agent_names(&agent, &mut HashSet::new())?;
        if let Some(member) = agent.members().iter().find(|member| !member.sub_agents().is_empty()) {
            return Err(AgentError::InvalidSubAgent { message: sub_agents_in_team_problem(&agent, member) });
        }
        Ok(agent)
    }
}

/// Returns the problem of a member that has sub-agents: control moves between agents of a conversation, and not between the turns of a team.
fn sub_agents_in_team_problem(team: &Agent, member: &Agent) -> String {
    format!(
        "the member `{}` of `{}` has sub-agents, which a member cannot transfer to; give the team an agent whose tool is \
         `AgentTool` of it",
        member.name(),
        team.name()
    )
}

/// Returns the type of the output of agents in parallel: an object with the output or the text of each; `None` if none has an output.
fn output_type_of_members(members: &[Agent]) -> Result<Option<OutputType>, AgentError> {
    if members.iter().all(|member| member.output_type().is_none()) {
        return Ok(None);
    }
    let schema_of = |member: &Agent| match member.output_type().and_then(OutputType::result_schema) {
        Some(schema) => schema.as_value().clone(),
        None if member.output_type().is_some() => json!({}),
        None => json!({ "type": "string" }),
    };
    let properties: Map<String, Value> =
        members.iter().map(|member| (member.name().to_owned(), schema_of(member))).collect();
    let required: Vec<_> = properties.keys().cloned().collect();
    let schema = json!({
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": false,
    });
    let schema = InputSchema::new(schema);
    let invalid = |message: String| AgentError::InvalidOutputType { message };
    schema.map(|schema| Some(OutputType::schema(schema))).map_err(|error| invalid(error.to_string()))
}

/// Checks that no two agents of a tree have one name.
fn check_distinct_agent_names<'a>(agent: &'a Agent, names: &mut HashSet<&'a str>) -> Result<(), AgentError> {
    if !names.insert(agent.name()) {
        return Err(AgentError::DuplicateAgent { name: Arc::clone(&agent.0.name) });
    }
    agent.members().iter().try_for_each(|member| check_distinct_agent_names(member, names))
}

impl fmt::Debug for TeamBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TeamBuilder").field("name", &self.settings.name).finish_non_exhaustive()
    }
}
