//! Agents: a model, an instruction, tools and limits under a name.

mod builder;
mod compaction;
mod control_tools;
mod error;
mod framework;
mod input_check;
mod kind;
mod limits;
mod message_filter;
mod part;
mod price;
mod sub_agents;
mod tools;

use std::{collections::HashMap, fmt, sync::Arc};

use serde_json::{Map, Value};
use tool_runtime::{BoxFuture, RunContext, Tool, ToolError, dialect::Thinking, registry::OUTPUT_TOOL};

pub use self::{
    builder::AgentBuilder,
    compaction::{Compaction, Conversation},
    error::AgentError,
    input_check::InputDecision,
    kind::TeamBuilder,
    limits::{Limit, Limits},
    message_filter::MessageFilter,
    part::AgentPart,
    price::Price,
    tools::AgentTools,
};
pub(crate) use self::{
    control_tools::{AwaitReplyTool, TransferTool},
    framework::FrameworkTools,
    input_check::{CheckFuture, InputCheck},
    kind::AgentKind,
    sub_agents::{AWAIT_TOOL, AgentTree, TRANSFER_TOOL, agent_tool_metadata},
    tools::ListingError,
};
use crate::{
    hook::SharedAgentHook,
    model::{SharedModel, ToolChoice},
    output::{OutputTool, OutputType},
    telemetry::TracedAgent,
};

/// An agent: a model with an instruction, tools, hooks and limits, or several agents in [sequence](Self::sequence), in
/// [parallel](Self::parallel) or in a [loop](Self::repeat). A [`Runner`](crate::Runner) runs it. Cheap to clone.
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, Runner, ScriptedModel, model::Reply};
/// use tool_runtime::prelude::*;
///
/// /// Adds two numbers.
/// #[tool(read_only)]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let model = ScriptedModel::new([
///     Reply::call("add", json!({ "a": 2, "b": 3 })),
///     Reply::text("It is 5."),
/// ]);
/// let agent = Agent::builder("adder", model)
///     .instruction("Use the tools for sums.")
///     .tools(Registry::builder().tool::<add>().build()?)
///     .build()?;
/// assert_eq!(Runner::new(agent).run("2 + 3?").answer().await?, "It is 5.");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct Agent(pub(crate) Arc<AgentSettings>);

/// The settings of an agent. Those of several agents have a name, a description, an output and a kind; the others are those of their members.
pub(crate) struct AgentSettings {
    pub(crate) name: Arc<str>,
    pub(crate) description: Arc<str>,
    pub(crate) kind: AgentKind,
    pub(crate) instruction: Instruction,
    pub(crate) tools: AgentTools,
    pub(crate) hooks: Vec<SharedAgentHook>,
    pub(crate) limits: Limits,
    pub(crate) tool_choice: ToolChoice,
    pub(crate) parameters: Map<String, Value>,
    pub(crate) thinking: Option<Thinking>,
    pub(crate) approvals_by_handle: bool,
    pub(crate) waits_for_answers: bool,
    pub(crate) input_check: Option<Box<InputCheck>>,
    pub(crate) prices: HashMap<String, Price>,
    pub(crate) context_window: Option<u64>,
    pub(crate) compaction: Compaction,
    pub(crate) steering_mode: QueueMode,
    pub(crate) follow_up_mode: QueueMode,
    pub(crate) output: Option<OutputType>,
    pub(crate) trace_content: bool,
    /// Names of state that the agent has in each of its branches: see [`AgentPart::branch_state`].
    pub(crate) branch_state: Vec<Arc<str>>,
    pub(crate) sub_agents: Vec<Agent>,
    pub(crate) keeps_control: bool,
    pub(crate) awaits_user_reply: bool,
    pub(crate) message_filter: MessageFilter,
}

/// The number of queued messages that a run takes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum QueueMode {
    /// One message; the next one follows the next response.
    #[default]
    One,
    /// All messages.
    All,
}

/// The instruction of an agent.
pub(crate) enum Instruction {
    Text(Arc<str>),
    Of(Box<InstructionFn>),
}

type InstructionFn = dyn Fn(Arc<RunContext>) -> BoxFuture<'static, Result<String, ToolError>> + Send + Sync;

impl Agent {
    /// Creates a builder of an agent.
    pub fn builder(name: impl Into<Arc<str>>, model: impl Into<SharedModel>) -> AgentBuilder {
        AgentBuilder::new(name.into(), model.into())
    }

    /// Returns the name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the description; empty if there is none.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.0.description
    }

    /// Returns the type of the output; `None` if runs end with a text.
    #[must_use]
    pub fn output_type(&self) -> Option<&OutputType> {
        self.0.output.as_ref()
    }

    /// Returns the tool with that name in `run`; of several agents, the first one has precedence. `submit_output` and `builtin.submit_output` are the tool for the
    /// output of the agent, also if its runs end with a text; then, it accepts any object.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no such tool, or the tools cannot be listed.
    pub async fn lookup(&self, run: &RunContext, name: &str) -> Result<Arc<dyn Tool>, ToolError> {
        if name.strip_prefix("builtin.").unwrap_or(name) == OUTPUT_TOOL {
            let output = self.output_type().cloned().unwrap_or_else(OutputType::any);
            return Ok(Arc::new(OutputTool::new(output).map_err(ToolError::failed)?));
        }
        let mut found = self.lookup_own_tool(run, name).await;
        for agent in self.agents_with_model() {
            if found.is_ok() {
                break;
            }
            found = agent.lookup_own_tool(run, name).await;
        }
        found
    }

    async fn lookup_own_tool(&self, run: &RunContext, name: &str) -> Result<Arc<dyn Tool>, ToolError> {
        let executor = self.0.tools.executor(run).await;
        let (executor, _) = executor.map_err(|error| ToolError::failed(error.to_string()))?;
        executor.tools().lookup(name).map(Arc::clone)
    }

    /// Returns the agent as its spans name it.
    pub(crate) fn traced(&self) -> TracedAgent {
        TracedAgent { name: Arc::clone(&self.0.name), records_content: self.0.trace_content }
    }

    /// Returns the model; `None` for several agents.
    #[must_use]
    pub fn model(&self) -> Option<&SharedModel> {
        match &self.0.kind {
            AgentKind::Model(model) => Some(model),
            AgentKind::Sequence(_) | AgentKind::Parallel { .. } | AgentKind::Repeat { .. } => None,
        }
    }

    /// Returns the agents in sequence, in parallel or in a loop, in order; empty for an agent with a model.
    #[must_use]
    pub fn members(&self) -> &[Self] {
        match &self.0.kind {
            AgentKind::Model(_) => &[],
            AgentKind::Sequence(members)
            | AgentKind::Parallel { members, .. }
            | AgentKind::Repeat { members, .. } => members,
        }
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("name", &self.0.name)
            .field("kind", &self.0.kind)
            .finish_non_exhaustive()
    }
}
