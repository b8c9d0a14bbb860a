//! Parts of agents: tools, hooks and instructions that belong together.

use std::{fmt, sync::Arc};

use tool_runtime::registry::RegistryBuilder;

use super::{AgentError, AgentSettings, Instruction};
use crate::hook::{AgentHook, SharedAgentHook};

/// Tools, hooks and an instruction that belong together: one value that brings a capability to an agent, by
/// [`AgentBuilder::with`](crate::AgentBuilder::with).
///
/// A type of a capability implements `From<Capability> for AgentPart`.
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, AgentPart, Message, Runner, ScriptedModel, hook, model::Reply};
/// use tool_runtime::prelude::*;
///
/// /// Rolls a die.
/// #[tool(register = false)]
/// fn roll() -> u8 {
///     4
/// }
///
/// let dice = AgentPart::new("dice")
///     .tools(Registry::builder().tool::<roll>())
///     .hook(hook::before_end(|end| async move {
///         let is_rolled = end.usage().calls > 0;
///         Ok((!is_rolled).then(|| Message::user("Roll the die before you answer.")))
///     }))
///     .instruction("Numbers come from `roll`.");
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let model =
///     ScriptedModel::new([Reply::text("Six."), Reply::call("roll", json!({})), Reply::text("Four.")]);
/// let agent = Agent::builder("player", model.clone()).instruction("You play.").with(dice).build()?;
/// assert_eq!(Runner::new(agent).run("A number?").answer().await?, "Four.");
/// assert_eq!(&*model.requests()[0].instruction, "You play.\n\nNumbers come from `roll`.");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[must_use = "a part does nothing until it is added to an agent"]
pub struct AgentPart {
    name: Arc<str>,
    tools: RegistryBuilder,
    pub(super) hooks: Vec<SharedAgentHook>,
    instruction: Option<Arc<str>>,
    branch_state: Vec<Arc<str>>,
}

impl AgentPart {
    /// Creates an empty part. Errors about it have the name.
    pub fn new(name: impl Into<Arc<str>>) -> Self {
        Self {
            name: name.into(),
            tools: RegistryBuilder::default(),
            hooks: Vec::new(),
            instruction: None,
            branch_state: Vec::new(),
        }
    }

    /// Sets the tools, which are added to those of the agent. Default: none. Values that they need are provided by the tools of the
    /// agent, or by the run. A name that the agent has already is an error of
    /// [`AgentBuilder::build`](crate::AgentBuilder::build); a name that its toolbox has is one of the run.
    pub fn tools(mut self, tools: RegistryBuilder) -> Self {
        self.tools = tools;
        self
    }

    /// Adds a hook.
    pub fn hook(mut self, hook: impl AgentHook + 'static) -> Self {
        self.hooks.push(SharedAgentHook::new(hook));
        self
    }

    /// Sets a text that follows the instruction of the agent. Default: none.
    pub fn instruction(mut self, text: impl Into<Arc<str>>) -> Self {
        self.instruction = Some(text.into());
        self
    }

    /// Declares that the tools keep state in `name:BRANCH`, where `BRANCH` is the [branch of the run](tool_runtime::RunContext::branch). An
    /// [`AgentTool`](crate::AgentTool) grants it to each run of the agent, whatever its [state](crate::AgentTool::state): it begins with
    /// the last value, and what it changes lasts; of two runs of one agent at once, the later change of a value wins. Agents further below have theirs, too, if each agent above them declares the same name.
    ///
    /// An agent below a root run of the same name begins without it, and what it changes ends with its run: the name is the root's.
    pub fn branch_state(mut self, name: impl Into<Arc<str>>) -> Self {
        self.branch_state.push(name.into());
        self
    }

    /// Adds the part, without its hooks, to an agent.
    pub(super) fn add_to(self, settings: &mut AgentSettings) -> Result<(), AgentError> {
        let Self { name, tools, hooks: _, instruction, branch_state } = self;
        let invalid = |message: String| AgentError::InvalidPart { part: name.to_string(), message };
        let tools = tools.build_without_values().map_err(|error| invalid(error.to_string()))?;
        let tools = std::mem::take(&mut settings.tools).with_tools_of(tools);
        settings.tools = tools.map_err(|error| invalid(error.to_string()))?;
        if let Some(text) = instruction.filter(|text| !text.trim().is_empty()) {
            let before = std::mem::replace(&mut settings.instruction, Instruction::Text("".into()));
            settings.instruction = before.followed_by(text);
        }
        settings.branch_state.extend(branch_state);
        Ok(())
    }
}

impl Instruction {
    /// Returns the instruction with a text after it.
    fn followed_by(self, text: Arc<str>) -> Self {
        match self {
            Self::Text(before) => Self::Text(join_paragraphs(&before, &text).into()),
            Self::Of(make) => Self::Of(Box::new(move |run| {
                let (before, text) = (make(run), Arc::clone(&text));
                Box::pin(async move { Ok(join_paragraphs(&before.await?, &text)) })
            })),
        }
    }
}

/// Returns two texts with a blank line between them.
fn join_paragraphs(first: &str, second: &str) -> String {
    match first.trim().is_empty() {
        true => second.to_owned(),
        false => format!("{first}\n\n{second}"),
    }
}

impl fmt::Debug for AgentPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentPart")
            .field("name", &self.name)
            .field("tools", &self.tools)
            .field("hooks", &self.hooks)
            .finish_non_exhaustive()
    }
}
