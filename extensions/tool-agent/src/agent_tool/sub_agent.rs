//! A sub-agent: an agent as a tool for one task.

use std::{fmt, sync::Arc};

use tool_runtime::{
    Tool, ToolContext, ToolDefinition, ToolError, ToolName, ToolOutput,
    call::CallId,
    definition::{Metadata, Prepared},
    dialect::Thinking,
    schema::Arguments,
};

use super::{AgentToolSettings, ResponseMode, child_call::ChildCall, one_text_schema, text_argument};
use crate::{
    Agent, AgentBuilder, AgentError, AgentTools, End, EndReason, Limit, Limits, model::SharedModel,
    runner::boxed,
};

/// The argument of a sub-agent.
const TASK: &str = "task";

const TASK_DESCRIPTION: &str = "The task, with all that the agent must know.";

/// The tag of sub-agents, by which a sub-agent refuses another one among its tools.
const SUB_AGENT_TAG: &str = "sub_agent";

/// The default of [`SubAgentBuilder::max_rounds`].
const MAX_ROUNDS: u64 = 10;

/// The key of the id of the run of a sub-agent, among the values of the run.
const SUB_AGENT_RUN_KEY: &str = "tool_agent.sub_agent_run";

/// The result of a run without a text.
pub(super) const NO_TEXT: &str = "The sub-agent ended without a text.";

/// A sub-agent: an agent with a model, an instruction and tools of its own, as a tool with one text `task`.
///
/// Each call is a fresh run, which sees neither earlier calls nor the conversation above. Its result is the text of its
/// last response. What it does is shown by events of the run above,
/// [`AgentEventKind::Child`](crate::AgentEventKind::Child), text as it arrives included, and the model above never reads
/// it. A run that is not done after 10 requests to its model, or as many as
/// [set](SubAgentBuilder::max_rounds), is a failed result with a notice and its last text.
///
/// A sub-agent has no other sub-agent among its tools. For an agent as a tool in general, see
/// [`AgentTool`](crate::AgentTool).
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, Runner, ScriptedModel, SubAgentTool, model::Reply};
/// use tool_runtime::prelude::*;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let model = ScriptedModel::new([Reply::text("Three files.")]);
/// let counter = SubAgentTool::builder("counter", model).description("Counts things.").build()?;
///
/// let model = ScriptedModel::new([
///     Reply::call("counter", json!({ "task": "How many files are in the folder?" })),
///     Reply::text("There are three."),
/// ]);
/// let tools = Registry::builder().add(counter).build()?;
/// let agent = Agent::builder("clerk", model.clone()).tools(tools).build()?;
/// assert_eq!(Runner::new(agent).run("Count the files.").answer().await?, "There are three.");
/// assert_eq!(model.requests()[1].messages[2].tool_results().next().unwrap().text(), "Three files.");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct SubAgentTool {
    definition: ToolDefinition,
    settings: AgentToolSettings,
}

/// Builds a [`SubAgentTool`].
#[must_use = "a builder does nothing until `build`"]
pub struct SubAgentBuilder {
    agent: AgentBuilder,
    max_rounds: u64,
    tools: AgentTools,
}

impl SubAgentTool {
    /// Creates a builder of a sub-agent, whose name is the name of the tool.
    pub fn builder(name: impl Into<Arc<str>>, model: impl Into<SharedModel>) -> SubAgentBuilder {
        let agent = Agent::builder(name, model);
        SubAgentBuilder { agent, max_rounds: MAX_ROUNDS, tools: AgentTools::default() }
    }

    /// Returns the agent.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        self.settings.runner.agent()
    }
}

impl SubAgentBuilder {
    /// Sets the description of the tool. Default: none.
    pub fn description(mut self, description: impl Into<Arc<str>>) -> Self {
        self.agent = self.agent.description(description);
        self
    }

    /// Sets the instruction (system prompt). Default: none.
    pub fn instruction(mut self, instruction: impl Into<Arc<str>>) -> Self {
        self.agent = self.agent.instruction(instruction);
        self
    }

    /// Sets the model, in place of the one of [`builder`](SubAgentTool::builder): for a test of the same sub-agent with a
    /// scripted one.
    pub fn model(mut self, model: impl Into<SharedModel>) -> Self {
        self.agent = self.agent.with_model(model);
        self
    }

    /// Sets the tools. Default: none.
    pub fn tools(mut self, tools: impl Into<AgentTools>) -> Self {
        self.tools = tools.into();
        self
    }

    /// Sets how much the model thinks. Default: as the model does by itself.
    pub fn thinking(mut self, thinking: Thinking) -> Self {
        self.agent = self.agent.thinking(thinking);
        self
    }

    /// Sets the maximum number of requests to the model in a run. Default: 10.
    pub fn max_rounds(mut self, rounds: u64) -> Self {
        self.max_rounds = rounds;
        self
    }

    /// Changes other settings of the agent, such as hooks or parameters. Tools and the limit of rounds are those of this
    /// builder.
    pub fn configure(mut self, configure: impl FnOnce(AgentBuilder) -> AgentBuilder) -> Self {
        self.agent = configure(self.agent);
        self
    }

    /// Builds the tool.
    ///
    /// # Errors
    ///
    /// Returns an error if the agent is invalid, its name is no name of a tool, or one of its tools is a sub-agent. The
    /// tools of a toolbox are not known yet: a sub-agent among them refuses its calls.
    pub fn build(self) -> Result<SubAgentTool, AgentError> {
        let Self { agent, max_rounds, tools } = self;
        if let Some(nested) = tools.definitions().iter().find(|it| is_sub_agent(it)) {
            return Err(AgentError::NestedSubAgent { name: nested.name().to_string() });
        }
        let limits = Limits { rounds: Some(max_rounds), ..agent.current_limits() };
        let agent = agent.tools(tools).limits(limits).build()?;
        let invalid = |message| AgentError::InvalidTool { message };
        let name = ToolName::new(agent.name().to_owned()).map_err(|error| invalid(error.to_string()))?;
        let schema = one_text_schema(TASK, TASK_DESCRIPTION).map_err(|error| invalid(error.to_string()))?;
        let mut metadata = Metadata::default();
        metadata.tags.push(SUB_AGENT_TAG.into());
        // A number is no task.
        metadata.strict = Some(true);
        let definition =
            ToolDefinition::new(name, agent.description().to_owned(), schema).with_metadata(metadata);
        let mut settings = AgentToolSettings::new(agent);
        settings.response = ResponseMode::Last;
        settings.streams_text = true;
        settings.is_sub_agent = true;
        Ok(SubAgentTool { definition, settings })
    }
}

/// Returns `true` if a tool is a sub-agent.
fn is_sub_agent(definition: &ToolDefinition) -> bool {
    definition.metadata().tags.iter().any(|tag| tag == SUB_AGENT_TAG)
}

/// Returns the result of a run that reached its limit of rounds: a notice, and its last text.
pub(super) fn output_at_rounds_limit(end: &End, texts: &[String]) -> Option<ToolOutput> {
    let EndReason::Limit { limit: Limit::Rounds, .. } = end.reason else { return None };
    let rounds = end.usage.rounds;
    let notice = format!("The sub-agent was stopped after {rounds} rounds, its limit, before it was done.");
    let text = match texts.iter().rev().find(|text| !text.is_empty()) {
        Some(last) => format!("{notice} Its last text:\n\n{last}"),
        None => notice,
    };
    Some(ToolOutput::from(text).as_failure())
}

impl Tool for SubAgentTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, move |arguments, cx: &ToolContext| {
            Box::pin(async move {
                let task = text_argument(&self.definition, arguments, TASK)?;
                let of_sub_agent = |id: &CallId| cx.run().is_some_and(|run| run.id() == id);
                let above = cx.run().and_then(|run| run.value::<CallId>(SUB_AGENT_RUN_KEY));
                if above.as_deref().is_some_and(of_sub_agent) {
                    let message = "a sub-agent may not call another one; do the task without it";
                    return Err(ToolError::new(tool_runtime::ErrorKind::Denied, message));
                }
                let child = ChildCall::begin_run(&self.settings, cx, task)?;
                child.run().set(SUB_AGENT_RUN_KEY, child.run().id().clone());
                boxed(|| child.run_to_result()).await
            })
        }))
    }
}

/// Prints neither the model nor the instruction.
impl fmt::Debug for SubAgentTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubAgentTool").field("definition", &self.definition).finish_non_exhaustive()
    }
}

impl fmt::Debug for SubAgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubAgentBuilder").field("agent", &self.agent).finish_non_exhaustive()
    }
}
