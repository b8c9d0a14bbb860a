//! The builder of an agent.

use std::{collections::HashMap, fmt, sync::Arc};

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tool_runtime::{RunContext, ToolError, dialect::Thinking, schemars::JsonSchema};

use super::{
    Agent, AgentError, AgentKind, AgentPart, AgentSettings, AgentTools, Compaction, InputDecision,
    Instruction, Limits, MessageFilter, Price, QueueMode, sub_agents::check_sub_agents,
};
use crate::{
    AgentKnowledge, Message, NativeTool,
    hook::{AgentHook, SharedAgentHook},
    model::{SharedModel, ToolChoice},
    output::OutputType,
    skills::AgentSkills,
};

/// Builds an [`Agent`].
#[must_use = "a builder does nothing until `build`"]
pub struct AgentBuilder {
    settings: AgentSettings,
    model: SharedModel,
    parts: Vec<AgentPart>,
}

impl AgentSettings {
    /// Returns default settings.
    pub(super) fn new(name: Arc<str>, kind: AgentKind) -> Self {
        Self {
            name,
            description: "".into(),
            kind,
            instruction: Instruction::Text("".into()),
            tools: AgentTools::default(),
            hooks: Vec::new(),
            limits: Limits::default(),
            tool_choice: ToolChoice::Auto,
            parameters: Map::new(),
            thinking: None,
            approvals_by_handle: false,
            waits_for_answers: false,
            input_check: None,
            prices: HashMap::new(),
            context_window: None,
            compaction: Compaction::default(),
            steering_mode: QueueMode::One,
            follow_up_mode: QueueMode::One,
            output: None,
            trace_content: false,
            branch_state: Vec::new(),
            sub_agents: Vec::new(),
            keeps_control: true,
            message_filter: MessageFilter::all(),
            awaits_user_reply: false,
        }
    }
}

impl AgentBuilder {
    pub(super) fn new(name: Arc<str>, model: SharedModel) -> Self {
        let settings = AgentSettings::new(name, AgentKind::Model(model.clone()));
        Self { settings, model, parts: Vec::new() }
    }

    /// Returns the model, for instance for an agent below this one.
    #[must_use]
    pub fn model(&self) -> &SharedModel {
        &self.model
    }

    /// Sets the model, in place of the one of [`Agent::builder`].
    pub(crate) fn with_model(mut self, model: impl Into<SharedModel>) -> Self {
        self.model = model.into();
        self.settings.kind = AgentKind::Model(self.model.clone());
        self
    }

    /// Returns the limits as they are now.
    pub(crate) fn current_limits(&self) -> Limits {
        self.settings.limits.clone()
    }

    /// Sets how much the model thinks before it answers. What its provider lacks is a notice of the run, and a
    /// [parameter](Self::parameter) overrides it. Default: as the model does by itself.
    pub fn thinking(mut self, thinking: Thinking) -> Self {
        self.settings.thinking = Some(thinking);
        self
    }

    /// Sets the description, for other agents and for people. Default: none.
    pub fn description(mut self, description: impl Into<Arc<str>>) -> Self {
        self.settings.description = description.into();
        self
    }

    /// Sets the instruction (system prompt). Default: none.
    pub fn instruction(mut self, instruction: impl Into<Arc<str>>) -> Self {
        self.settings.instruction = Instruction::Text(instruction.into());
        self
    }

    /// Sets the instruction to the result of `instruction`, which is called before each request to the model. If it
    /// fails, the run ends with the error.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tool_agent::{Agent, ScriptedModel, model::Reply};
    /// let agent = Agent::builder("greeter", ScriptedModel::new([Reply::text("Hello.")]))
    ///     .instruction_fn(|run| async move { Ok(format!("You talk to {}.", run.user().unwrap_or("a guest"))) })
    ///     .build()?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn instruction_fn<F, Fut>(mut self, instruction: F) -> Self
    where
        F: Fn(Arc<RunContext>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<String, ToolError>> + Send + 'static,
    {
        self.settings.instruction = Instruction::Of(Box::new(move |run| Box::pin(instruction(run))));
        self
    }

    /// Sets the tools. Default: none.
    ///
    /// Pass an [`Executor`](tool_runtime::Executor) for calls with hooks, rules, approval, retries or limits, and a
    /// [`Toolbox`](tool_runtime::Toolbox) for tools that come and go.
    pub fn tools(mut self, tools: impl Into<AgentTools>) -> Self {
        let framework = std::mem::take(&mut self.settings.tools.framework);
        self.settings.tools = tools.into().with_framework(framework);
        self
    }

    /// Sets the skills, which bring their tools, a text in the instruction, and a rule. Default: none.
    pub fn skills(mut self, skills: AgentSkills) -> Self {
        self.settings.tools.framework.skills = Some(skills);
        self
    }

    /// Sets the knowledge, which brings its tools. Default: none.
    pub fn knowledge(mut self, knowledge: AgentKnowledge) -> Self {
        self.settings.tools.framework.knowledge = Some(knowledge);
        self
    }

    /// Adds a native tool of a provider. Default: none.
    pub fn native_tool(mut self, tool: NativeTool) -> Self {
        self.settings.tools.framework.native.push(tool);
        self
    }

    /// Adds a hook, which runs after those of the [runner](crate::Runner::with_hook).
    pub fn hook(mut self, hook: impl AgentHook + 'static) -> Self {
        self.settings.hooks.push(SharedAgentHook::new(hook));
        self
    }

    /// Adds a part, which brings tools, hooks and an instruction. Its hooks run in the order of the calls of `with` and
    /// [`hook`](Self::hook).
    pub fn with(mut self, part: impl Into<AgentPart>) -> Self {
        let mut part = part.into();
        self.settings.hooks.append(&mut part.hooks);
        self.parts.push(part);
        self
    }

    /// Sets the limits of a run. Default: [`Limits::default`]: 50 requests, 128 calls in one response, 5 rounds in a row with the
    /// same calls, 10 transfers, and no other limit.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// Sets the tools that the model must or must not call. A forced choice applies until the model has made a call,
    /// so that a run can end. Default: the model decides.
    pub fn tool_choice(mut self, choice: ToolChoice) -> Self {
        self.settings.tool_choice = choice;
        self
    }

    /// Sets a member of each request in the provider's format, such as `temperature`.
    pub fn parameter(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.settings.parameters.insert(name.into(), value.into());
        self
    }

    /// Sets whether calls that require an approval wait for [`RunHandle::approve`](crate::RunHandle::approve) while
    /// the run continues to emit events. Default: `false`: the approver of the executor decides. Without one, calls of tools with
    /// `confirm` stay open, and calls about which a rule or a policy asks fail, unless they are
    /// [pending](tool_runtime::executor::ExecutorBuilder::pending_approvals).
    pub fn approvals_by_handle(mut self, by_handle: bool) -> Self {
        self.settings.approvals_by_handle = by_handle;
        self
    }

    /// Sets the type of the output: a run ends with a value of type `T`, which
    /// [`AgentStream::output`](crate::AgentStream::output) returns. Default: none; a run ends with a text.
    ///
    /// `T` has the attribute [`#[tool_args]`](macro@tool_runtime::tool_args), or implements `Deserialize` and
    /// `JsonSchema`. For repairs and handwritten schemas, see [`output_type`](Self::output_type).
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::{Agent, Runner, ScriptedModel, model::Reply};
    /// use tool_runtime::prelude::*;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let model = ScriptedModel::new([Reply::call("submit_output", json!({ "output": ["tea", "milk"] }))]);
    /// let agent = Agent::builder("extractor", model).output::<Vec<String>>().build()?;
    /// let articles: Vec<String> = Runner::new(agent).run("Tea and milk, please.").output().await?;
    /// assert_eq!(articles, ["tea", "milk"]);
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn output<T: DeserializeOwned + JsonSchema + 'static>(self) -> Self {
        self.output_type(OutputType::of::<T>())
    }

    /// Sets the type of the output. Default: none.
    pub fn output_type(mut self, output: OutputType) -> Self {
        self.settings.output = Some(output);
        self
    }

    /// Sets whether spans include instructions, messages, and the arguments and results of calls, without secret
    /// arguments. Default: `false`; the executor's own settings for its spans apply.
    pub fn trace_content(mut self, content: bool) -> Self {
        self.settings.trace_content = content;
        self
    }

    /// Sets whether a run with open calls waits for [`RunHandle::answer`](crate::RunHandle::answer). Default: `false`:
    /// the run ends, and [`Runner::resume`](crate::Runner::resume) continues it.
    pub fn wait_for_answers(mut self, waits: bool) -> Self {
        self.settings.waits_for_answers = waits;
        self
    }

    /// Sets the check of the user's message. It runs beside the first request to the model; no tool runs before its
    /// decision. A refusal ends the run with [`EndReason::Refused`](crate::EndReason::Refused), withdraws the text that was
    /// shown, and stores nothing. An error ends the run. Default: none.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tool_agent::{Agent, EndReason, InputDecision, Runner, ScriptedModel, model::Reply};
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let agent = Agent::builder("clerk", ScriptedModel::new([Reply::text("Sure.")]))
    ///     .input_check(|_, message| async move {
    ///         let is_long = message.text().len() > 10_000;
    ///         Ok(if is_long { InputDecision::Refuse("too long".to_owned()) } else { InputDecision::Accept })
    ///     })
    ///     .build()?;
    /// let end = Runner::new(agent).run("x".repeat(20_000)).end().await;
    /// assert!(matches!(end.reason, EndReason::Refused { .. }));
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn input_check<F, Fut>(mut self, check: F) -> Self
    where
        F: Fn(Arc<RunContext>, Message) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<InputDecision, ToolError>> + Send + 'static,
    {
        self.settings.input_check = Some(Box::new(move |run, message| Box::pin(check(run, message))));
        self
    }

    /// Sets the price of a model, by its name or by the name in its responses.
    pub fn price(mut self, model: impl Into<String>, price: Price) -> Self {
        self.settings.prices.insert(model.into(), price);
        self
    }

    /// Sets the maximum number of tokens of a request and its response, in place of the
    /// [model's](crate::Model::context_window).
    pub fn context_window(mut self, tokens: u64) -> Self {
        self.settings.context_window = Some(tokens);
        self
    }

    /// Sets the compaction of conversations that fill the context window. Default: [`Compaction`]'s default.
    ///
    /// The window of an `HttpModel` is unknown unless it is set, here or there; then a conversation is compacted only
    /// after the provider's error that it is too long.
    pub fn compaction(mut self, compaction: Compaction) -> Self {
        self.settings.compaction = compaction;
        self
    }

    /// Sets the number of messages of [`RunHandle::steer`](crate::RunHandle::steer) that the run takes at once. Default:
    /// one.
    pub fn steering_mode(mut self, mode: QueueMode) -> Self {
        self.settings.steering_mode = mode;
        self
    }

    /// Sets the number of messages of [`RunHandle::follow_up`](crate::RunHandle::follow_up) that the run takes at once.
    /// Default: one.
    pub fn follow_up_mode(mut self, mode: QueueMode) -> Self {
        self.settings.follow_up_mode = mode;
        self
    }

    /// Adds an agent that may take over the conversation: the model receives the tool `transfer_to_agent`, whose argument
    /// `agent_name` is the name of a sub-agent, of the agent above, or of another sub-agent of that one. The optional `message` tells the other
    /// agent what it is to do.
    ///
    /// A [team](crate::Agent::sequence) of agents is no sub-agent, and its members have none; it may be an [`AgentTool`](crate::AgentTool).
    ///
    /// The calls beside a transfer run, and all results are stored. From the next round on, instruction, model, tools, hooks, output and
    /// settings are those of the other agent, which reads the same conversation. It stays active, also for the next messages of the user and in other
    /// processes, unless it [returns control](Self::keeps_control). A tool of the program transfers by
    /// [`Actions::transfer`](tool_runtime::output::Actions), to any agent of the tree.
    ///
    /// The [limits](Self::limits) of the root count for the whole run, and those of a sub-agent for what the run used since it took over. The root
    /// has the prices that a sub-agent lacks; without an [input check](Self::input_check) of its own, a sub-agent has the one of the nearest agent above.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::{Agent, Runner, ScriptedModel, model::Reply};
    /// use tool_runtime::prelude::*;
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let model = ScriptedModel::new([Reply::text("Your invoice is paid.")]);
    /// let billing = Agent::builder("billing", model).description("Knows invoices.").build()?;
    ///
    /// let model = ScriptedModel::new([Reply::call("transfer_to_agent", json!({ "agent_name": "billing" }))]);
    /// let desk = Agent::builder("desk", model).sub_agent(billing).build()?;
    /// assert_eq!(Runner::new(desk).run("Is my invoice paid?").answer().await?, "Your invoice is paid.");
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn sub_agent(mut self, agent: Agent) -> Self {
        self.settings.sub_agents.push(agent);
        self
    }

    /// Sets whether the agent, after a transfer to it, also has the next messages of the user. Default: `true`; with `false`, the root
    /// has the next message.
    pub fn keeps_control(mut self, keeps: bool) -> Self {
        self.settings.keeps_control = keeps;
        self
    }

    /// Sets whether the model receives the tool `await_user_reply`, which directs the next message of the user to this agent, once: the
    /// message after it goes to the agent that would have had it. Default: `false`. A run below a call has no next message, and does not offer it.
    pub fn await_user_reply(mut self, awaits: bool) -> Self {
        self.settings.awaits_user_reply = awaits;
        self
    }

    /// Sets the messages of the conversation that the model receives. Default: all.
    pub fn message_filter(mut self, filter: MessageFilter) -> Self {
        self.settings.message_filter = filter;
        self
    }

    /// Builds the agent.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is empty, the type of the output has no valid schema, or a [part](Self::with) cannot be added; also if two agents
    /// of the tree have one name, or a tool has the name of a sub-agent and is not that [agent as a tool](crate::AgentTool), or the name of a tool of
    /// this crate that the agent receives; also if a sub-agent is a team, such as a [sequence](crate::Agent::sequence).
    pub fn build(mut self) -> Result<Agent, AgentError> {
        if self.settings.name.trim().is_empty() {
            return Err(AgentError::MissingName);
        }
        if let Some(output) = &self.settings.output {
            output.validator().map_err(|message| AgentError::InvalidOutputType { message })?;
        }
        for part in self.parts {
            part.add_to(&mut self.settings)?;
        }
        check_sub_agents(&self.settings).map_err(|message| AgentError::InvalidSubAgent { message })?;
        Ok(Agent(Arc::new(self.settings)))
    }
}

impl fmt::Debug for AgentBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentBuilder").field("name", &self.settings.name).finish_non_exhaustive()
    }
}
