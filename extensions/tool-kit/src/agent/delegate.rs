//! The delegate that runs prompts by agents.

use std::{fmt, sync::Arc};

use tool_agent::{Agent, AgentBuilder, AgentTool, Message, ResponseMode, Thinking, hook, model::SharedModel};
use tool_runtime::{
    BoxFuture, Executor, Registry, ToolError, ToolOutput, executor::RunSettings, output::Resource,
    registry::AvailableTools,
};

use super::{input::read_input, messages::ConversationStart, models::Models, output::PromptOutput};
use crate::{
    catalogue::{Delegate, PromptCall},
    prompt::{PromptDefinition, PromptThinking},
};

/// Runs each prompt by an agent, in four steps:
///
/// 1. The prompt is rendered. The first resource of the call is its input: JSON, or any text if the input is a `string`. Without resources, the input is `{}`,
///    or `null` if the prompt takes no object.
/// 2. The model is chosen from [`Models`], by `model` and `provider` of the prompt.
/// 3. An agent of its name, with its `system_prompt`, `thinking` and `thinking_budget`, answers the messages, below the call: with the deadline, the cancellation,
///    the budget and the [depth](tool_runtime::RunContext::with_max_depth) of the caller's run. The other resources are attached to the last message: images and
///    audio as such, texts with their URIs, and any other file as a document.
/// 4. The result is the text of the last response, or the value that the schema `output` describes.
///
/// # Tools
///
/// A run has the `tools` that the prompt names: tools of the catalogue, and prompts, which the model calls as [tools](crate::catalogue::PromptTool). They are named by
/// key (`library.search`) or by the name for models (`library__search`). A name that the catalogue does not have is an error. With `tools: []`, a
/// run has none, and without `tools`, all tools of the catalogue and no prompts.
///
/// Calls have the settings of the [executor of the catalogue](crate::catalogue::Catalogue::with_executor), then [those of the delegate](Self::with_settings).
/// They also pass the rules and hooks of the call by which a model runs the prompt, and of the settings of the runs above, so that a prompt is no way around a rule.
///
/// If the executor limits [concurrent calls](tool_runtime::policy::Limits), a prompt that a model calls has its place until its run has ended: a limit
/// of all calls leaves room for the calls of that run, or is one of single tools.
///
/// # Thinking
///
/// `thinking_budget` is a number of tokens; `thinking: on` without it is [medium](Thinking::Medium). `thinking: off` overrides a budget.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tool_agent::{ScriptedModel, model::Reply};
/// use tool_kit::{agent::{AgentDelegate, Models}, catalogue::{Catalogue, json_input}, prompt::PromptFile};
/// use tool_runtime::{RunContext, output::ResourceBody, prelude::*};
///
/// # #[tokio::main] async fn main() -> anyhow::Result<()> {
/// // In a program: `HttpModel::openai("gpt-5-mini")?`.
/// let model = ScriptedModel::new([Reply::text("The moon pulls the sea.")]);
/// let catalogue = Catalogue::new().with_delegate(AgentDelegate::new(Models::new(model)?));
/// catalogue.add_prompt(PromptFile::parse("---\nname: explain\n---\nExplain {{ .topic }}.")?)?;
///
/// let run = Arc::new(RunContext::new());
/// let answer = catalogue.call(&run, "explain", vec![json_input(&json!({ "topic": "tides" }))]).await?;
/// assert_eq!(answer.unwrap().body, ResourceBody::Text("The moon pulls the sea.".to_owned()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct AgentDelegate {
    models: Models,
    settings: Option<RunSettings>,
    configure: Option<Arc<ConfigureFn>>,
}

/// A run of a prompt before it begins.
struct PreparedRun {
    agent: AgentTool,
    input: Message,
    output: Option<PromptOutput>,
}

type ConfigureFn = dyn Fn(AgentBuilder) -> AgentBuilder + Send + Sync;

impl AgentDelegate {
    /// Creates a delegate whose prompts choose from `models`.
    #[must_use]
    pub fn new(models: Models) -> Self {
        Self { models, settings: None, configure: None }
    }

    /// Sets settings over those of the executor of the catalogue, for the calls of prompts: rules, hooks, an approver. Default: none.
    #[must_use]
    pub fn with_settings(mut self, settings: RunSettings) -> Self {
        self.settings = Some(settings);
        self
    }

    /// Sets a function that changes other settings of each agent, such as limits, hooks or parameters. Model and tools, and what the prompt states, are those of
    /// the prompt. Default: none.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::{Limits, ScriptedModel, model::Reply};
    /// use tool_kit::agent::{AgentDelegate, Models};
    ///
    /// let models = Models::new(ScriptedModel::new([Reply::text("Hello.")]))?;
    /// let delegate = AgentDelegate::new(models)
    ///     .configure(|agent| agent.limits(Limits { rounds: Some(5), ..Limits::default() }).parameter("temperature", 0));
    /// # drop(delegate);
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    #[must_use]
    pub fn configure(
        mut self,
        configure: impl Fn(AgentBuilder) -> AgentBuilder + Send + Sync + 'static,
    ) -> Self {
        self.configure = Some(Arc::new(configure));
        self
    }

    /// Prepares the run of a prompt: all steps but the run itself. A future of its own, since runs nest.
    async fn prepare_run(
        &self,
        call: &PromptCall<'_>,
        resources: Vec<Resource>,
    ) -> Result<PreparedRun, ToolError> {
        let prompt = call.prompt.definition();
        let tools = self.executor_with_prompt_tools(call, prompt)?;
        let model = self.models.choose(prompt.provider(), prompt.model())?;
        let output = PromptOutput::of(prompt)?;
        let (input, attachments) = read_input(prompt, resources)?;
        let rendered = call.prompt.render(call.run, &input).await?;
        let opening = ConversationStart::new(&rendered.messages, attachments)?;

        let mut agent = self.agent_without_tools(prompt, model).tools(tools);
        if let Some(instruction) = rendered.instruction {
            agent = agent.instruction(instruction);
        }
        if let Some(output) = &output {
            agent = agent.output_type(output.output_type());
        }
        if !opening.earlier.is_empty() {
            let earlier = Arc::new(opening.earlier);
            agent = agent.hook(hook::before_model(move |mut step| {
                step.request.messages.splice(0..0, earlier.iter().cloned());
                std::future::ready(Ok(step.into()))
            }));
        }
        let invalid =
            |error| ToolError::failed(format!("the prompt `{}` cannot be run: {error}", prompt.name()));
        let agent = AgentTool::new(agent.build().map_err(invalid)?).map_err(invalid)?;
        Ok(PreparedRun { agent: agent.response_mode(ResponseMode::Last), input: opening.input, output })
    }

    async fn run_prompt(&self, mut call: PromptCall<'_>) -> Result<ToolOutput, ToolError> {
        let resources = std::mem::take(&mut call.resources);
        let PreparedRun { agent, input, output } = Box::pin(self.prepare_run(&call, resources)).await?;
        let result = agent.run_below(call.context, input, call.guards).await?;
        match output {
            // A run that waits has no result yet.
            Some(output) if result.operation_id().is_none() => output.require_unwrapped_value(result),
            _ => Ok(result),
        }
    }

    /// Returns the executor of the tools that a prompt may use.
    fn executor_with_prompt_tools(
        &self,
        call: &PromptCall<'_>,
        prompt: &PromptDefinition,
    ) -> Result<Executor, ToolError> {
        let all = call.items.tools();
        let tools = match prompt.tools() {
            Some(keys) => call.catalogue.tools_of(call.items, keys).map_err(|error| {
                ToolError::new(
                    error.kind(),
                    format!("the tools of the prompt `{}`: {}", prompt.name(), error.reason()),
                )
            })?,
            None => user_tools(all),
        };
        let unfit =
            |error| ToolError::failed(format!("the tools of the prompt `{}`: {error}", prompt.name()));
        let mut executor = call.catalogue.executor().clone();
        if let Some(settings) = &self.settings {
            // A rule may be about a tool that this prompt does not have.
            executor = executor.with_tools(all.clone()).map_err(unfit)?;
            executor = executor.with_settings(call.run, settings.clone()).map_err(unfit)?;
        }
        executor.with_tools(tools).map_err(unfit)
    }

    /// Returns the agent of a prompt without tools.
    fn agent_without_tools(&self, prompt: &PromptDefinition, model: &SharedModel) -> AgentBuilder {
        let mut agent = Agent::builder(prompt.name(), model.clone());
        if let Some(configure) = &self.configure {
            agent = configure(agent);
        }
        if let Some(description) = prompt.description() {
            agent = agent.description(description);
        }
        match thinking_of(prompt) {
            Some(thinking) => agent.thinking(thinking),
            None => agent,
        }
    }
}

/// Returns the tools of a registry without those of the framework and external ones.
fn user_tools(tools: &Registry) -> Registry {
    let available = tools.provided().get::<AvailableTools>();
    available.map(|available| available.user_tools(|_| true)).unwrap_or_default()
}

/// Returns how much the model thinks; `None` for as much as it does by itself.
fn thinking_of(prompt: &PromptDefinition) -> Option<Thinking> {
    match (prompt.thinking(), prompt.thinking_budget()) {
        (Some(PromptThinking::Off), _) => Some(Thinking::Off),
        (_, Some(tokens)) => Some(Thinking::Tokens(tokens)),
        (Some(PromptThinking::Low), None) => Some(Thinking::Low),
        (Some(PromptThinking::On | PromptThinking::Medium), None) => Some(Thinking::Medium),
        (Some(PromptThinking::High), None) => Some(Thinking::High),
        (None, None) => None,
    }
}

impl Delegate for AgentDelegate {
    fn call<'a>(&'a self, call: PromptCall<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(self.run_prompt(call))
    }
}

impl fmt::Debug for AgentDelegate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentDelegate").field("models", &self.models).finish_non_exhaustive()
    }
}
