//! An agent as a tool of another agent.

mod branch_state;
mod child_call;
mod dynamic;
mod history_key;
mod run_below;
mod sub_agent;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde_json::{Value, json};
use tool_runtime::{
    Tool, ToolContext, ToolDefinition, ToolError, ToolName,
    definition::Prepared,
    schema::{Arguments, InputSchema, SchemaError},
};

use self::{child_call::ChildCall, history_key::HistoryKeyFn};
pub use self::{
    dynamic::{DynamicAgentBuilder, DynamicAgentTool, RequestField},
    sub_agent::{SubAgentBuilder, SubAgentTool},
};
use crate::{Agent, AgentError, Runner, agent::agent_tool_metadata, runner::boxed};

/// The argument of an agent without an input schema.
const REQUEST: &str = "request";

const REQUEST_DESCRIPTION: &str = "What the agent is to do, with all that it must know.";

/// An agent as a tool of another agent, or of any program: a call is a run of the agent below the call.
///
/// The name and the description are those of the agent, and the arguments one text `request`, unless it has an
/// [input schema](Self::with_input_schema). The run has a conversation of its own, unless its [history](Self::history) is another one, and its own
/// [limits](crate::Limits). It has the app, the user, the session, the provided values, the deadline, the cancellation and the budget of
/// the run above, whose limits of tokens and cost include it ([`RunUsage::children`](crate::RunUsage::children)).
///
/// The result is the text of the run, or its [output](crate::AgentBuilder::output). If the run ends without an answer, the result is an error
/// that names the reason. Within a run of an agent, the events of the run are
/// [`AgentEventKind::Child`](crate::AgentEventKind::Child).
///
/// Calls of the run that need an approval ask the approver of the agent's tools, or the handle of the root run, if the agent has
/// [`approvals_by_handle`](crate::AgentBuilder::approvals_by_handle). If neither answers, and for external and long-running calls, the run and the
/// runs above end with open calls: [`End::open`](crate::End::open) of the root lists each question once, [`End::paths`](crate::End::paths) the calls
/// above it. [`Runner::resume`] on the root continues the run that asked, and then those above, in any process if the root has a
/// [store](Runner::with_store), and the executors of all its agents a
/// [store of open calls](tool_runtime::executor::ExecutorBuilder::open_calls). Usage, limits and state of the run go on where they were. If
/// the tool of a question has changed meanwhile, its call is answered with an error, and if this tool has, the call of the agent.
///
/// Outside of any run of an agent, no one answers later: a call that stays open is answered with an error.
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, AgentTool, Runner, ScriptedModel, model::Reply};
/// use tool_runtime::prelude::*;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let model = ScriptedModel::new([Reply::text("Oslo has 717,710 inhabitants.")]);
/// let researcher = Agent::builder("researcher", model).description("Looks up facts.").build()?;
///
/// let model = ScriptedModel::new([
///     Reply::call("researcher", json!({ "request": "How many people live in Oslo?" })),
///     Reply::text("717,710 people."),
/// ]);
/// let tools = Registry::builder().add(AgentTool::new(researcher)?).build()?;
/// let runner = Runner::new(Agent::builder("clerk", model).tools(tools).build()?);
/// let end = runner.run("How large is Oslo?").end().await;
/// assert_eq!((end.text.as_str(), end.usage.children.runs), ("717,710 people.", 1));
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct AgentTool {
    definition: ToolDefinition,
    settings: AgentToolSettings,
    /// The key of the history by the arguments of a call.
    history_key: Option<HistoryKeyFn>,
}

#[derive(Clone)]
struct AgentToolSettings {
    runner: Runner,
    /// `true` if the message of the run is the text of the argument `request`, in place of all arguments.
    takes_request: bool,
    response: ResponseMode,
    wraps_result: bool,
    skips_summarization: bool,
    streams_text: bool,
    shows_text: bool,
    state: ChildState,
    history: HistoryScope,
    is_sub_agent: bool,
}

impl AgentToolSettings {
    fn new(agent: Agent) -> Self {
        Self {
            runner: Runner::ending_with_call(agent),
            takes_request: true,
            response: ResponseMode::default(),
            wraps_result: false,
            skips_summarization: false,
            streams_text: false,
            shows_text: true,
            state: ChildState::default(),
            history: HistoryScope::default(),
            is_sub_agent: false,
        }
    }
}

/// The texts of a run that are the result of its call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResponseMode {
    /// The texts of all responses, in order and without a separator.
    #[default]
    All,
    /// The text of the last response.
    Last,
}

/// The history that a run below a call sees and continues.
///
/// Each run below a call has a view key, under which its messages are in the session of the root run. The key is not the
/// [branch](tool_runtime::RunContext::branch), which names the agents above a run, and does not tell what they see.
///
/// Messages of other runs are shown as a note, a message of the user: their texts, the names of the tools that they called, and the texts of results, without
/// arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum HistoryScope {
    /// None: the run sees its arguments alone, and its view key is new, `<agent>-<run id>`.
    #[default]
    Isolated,
    /// The messages of the request that led to the call, as a note. The run above sees the messages of this run in its later requests, as do all
    /// runs above with such a history up to the first one without. The view key is the one of the run above, a `/`, and a new segment.
    ParentBranch,
    /// The history of earlier calls in the session under this key: the run continues their conversation. One run at a time has it; others wait for the
    /// time of [`Runner::when_busy`]. An empty key is `agenttool:<agent>:default`.
    Persistent(String),
    /// None, as with [`Isolated`](Self::Isolated), and nothing remains of it: the messages of the run, and of the runs below it, are stored until the call
    /// is answered, so that its open calls are answered in any process, and [removed](tool_session::SessionWrite::remove_views) with the result. Histories
    /// that runs below it [keep](Self::Persistent) remain. What an interrupted run left is removed with the next message of the session.
    Fresh,
}

/// The state of a run below a call. In addition, an agent has the [state of its branch](crate::AgentPart::branch_state), which lasts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ChildState {
    /// None, and what the run changes ends with it.
    #[default]
    None,
    /// A copy of the state of the run above, without `temp:` values and names that begin with `_`. What the run changes ends with it.
    Copy,
    /// The values of these names. What the run changes of them changes the state of the run above with the result of the call; a change of
    /// any other name is an error of the call.
    Shared(BTreeSet<String>),
}

impl AgentTool {
    /// Creates a tool of `agent`.
    ///
    /// # Errors
    ///
    /// Returns an error if the name of the agent is no name of a tool.
    pub fn new(agent: Agent) -> Result<Self, AgentError> {
        let invalid = |message| AgentError::InvalidTool { message };
        let name = ToolName::new(agent.name().to_owned()).map_err(|error| invalid(error.to_string()))?;
        let schema =
            one_text_schema(REQUEST, REQUEST_DESCRIPTION).map_err(|error| invalid(error.to_string()))?;
        let (agent_name, description) = (agent.name().to_owned(), agent.description().to_owned());
        let output = agent.output_type().and_then(|output| output.result_schema());
        let settings = AgentToolSettings::new(agent);
        let mut definition =
            ToolDefinition::new(name, description, schema).with_metadata(agent_tool_metadata(agent_name));
        if let Some(output) = output {
            definition = definition.with_output_schema(output);
        }
        Ok(Self { definition, settings, history_key: None })
    }

    /// Sets the schema of the arguments, whose canonical JSON is then the message of the run. Default: an object with one text
    /// `request`, which is the message.
    #[must_use]
    pub fn with_input_schema(mut self, schema: InputSchema) -> Self {
        let mut definition = ToolDefinition::new(
            self.definition.name().clone(),
            self.definition.description().to_owned(),
            schema,
        )
        .with_metadata(self.definition.metadata().clone());
        if let Some(output) = self.definition.output_schema() {
            definition = definition.with_output_schema(output.clone());
        }
        self.definition = definition;
        self.settings.takes_request = false;
        self
    }

    /// Sets the texts that are the result. Default: [all](ResponseMode::All). An agent with an [output](crate::AgentBuilder::output)
    /// returns that.
    #[must_use]
    pub fn response_mode(mut self, mode: ResponseMode) -> Self {
        self.settings.response = mode;
        self
    }

    /// Sets whether a text is returned as the object `{"result": text}`. Default: `false`.
    #[must_use]
    pub fn wrap_result(mut self, wraps: bool) -> Self {
        self.settings.wraps_result = wraps;
        self
    }

    /// Sets whether the run above ends with the result, without another request to its model. Default: `false`.
    #[must_use]
    pub fn skip_summarization(mut self, skips: bool) -> Self {
        self.settings.skips_summarization = skips;
        self
    }

    /// Sets whether parts of the text are events while the model writes; then the whole responses are none. Default: `false`.
    #[must_use]
    pub fn stream_text(mut self, streams: bool) -> Self {
        self.settings.streams_text = streams;
        self
    }

    /// Sets whether texts are events at all; the result contains them in any case. Default: `true`.
    #[must_use]
    pub fn show_text(mut self, shows: bool) -> Self {
        self.settings.shows_text = shows;
        self
    }

    /// Sets the state of the run. Default: [none](ChildState::None).
    #[must_use]
    pub fn state(mut self, state: ChildState) -> Self {
        self.settings.state = state;
        self
    }

    /// Sets the history of the run. Default: [none](HistoryScope::Isolated).
    #[must_use]
    pub fn history(mut self, scope: HistoryScope) -> Self {
        self.settings.history = scope;
        self.history_key = None;
        self
    }

    /// Sets the history of the run to the one of earlier calls of this agent with the same key, in place of [`history`](Self::history): `key`
    /// returns it for the arguments of a call. Calls with another key, and other agents, do not see it. An empty key is the one of
    /// [`HistoryScope::Persistent`]; a key of more than 256 bytes is an error of the call.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::{Agent, AgentTool, ScriptedModel, model::Reply};
    /// use tool_runtime::prelude::*;
    ///
    /// /// A question about a customer.
    /// #[tool_args]
    /// struct Question {
    ///     customer: String,
    ///     question: String,
    /// }
    ///
    /// # fn main() -> anyhow::Result<()> {
    /// let agent = Agent::builder("account_manager", ScriptedModel::new([Reply::text("Paid.")])).build()?;
    /// // One conversation for each customer.
    /// let tool = AgentTool::new(agent)?
    ///     .with_input_schema(tool_runtime::schema::InputSchema::of::<Question>()?)
    ///     .history_by(|arguments| arguments["customer"].as_str().unwrap_or_default().to_owned());
    /// # drop(tool);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn history_by(mut self, key: impl Fn(&Value) -> String + Send + Sync + 'static) -> Self {
        self.history_key = Some(HistoryKeyFn::new(key));
        self
    }

    /// Returns the message of the run, and the settings of its call.
    fn read_message_and_settings(
        &self,
        arguments: Arguments<'_>,
    ) -> Result<(String, Cow<'_, AgentToolSettings>), ToolError> {
        if self.settings.takes_request && self.history_key.is_none() {
            let request = text_argument(&self.definition, arguments, REQUEST)?;
            return Ok((request, Cow::Borrowed(&self.settings)));
        }
        let canonical = self.definition.canonical(arguments)?.into_text();
        let settings = match &self.history_key {
            None => Cow::Borrowed(&self.settings),
            Some(key) => {
                let arguments = serde_json::from_str(&canonical)
                    .map_err(|error| ToolError::bad_parameter(error.to_string()))?;
                let history = key.history_scope(self.settings.runner.agent().name(), &arguments)?;
                Cow::Owned(AgentToolSettings { history, ..self.settings.clone() })
            }
        };
        let message = match self.settings.takes_request {
            true => canonical_text_argument(&canonical, REQUEST)?,
            false => canonical.into_owned(),
        };
        Ok((message, settings))
    }
}

/// Returns the schema of an object with one text `name`.
fn one_text_schema(name: &str, description: &str) -> Result<InputSchema, SchemaError> {
    let schema = json!({
        "type": "object",
        "properties": { name: { "type": "string", "description": description } },
        "required": [name],
        "additionalProperties": false,
    });
    InputSchema::new(schema)
}

/// Returns the text `name` of the arguments, all of which are texts.
fn text_argument(
    definition: &ToolDefinition,
    mut arguments: Arguments<'_>,
    name: &str,
) -> Result<String, ToolError> {
    let mut texts: BTreeMap<String, String> = definition.decode(&mut arguments)?;
    Ok(texts.remove(name).unwrap_or_default())
}

/// Returns the text `name` of canonical arguments, all of which are texts.
fn canonical_text_argument(canonical: &str, name: &str) -> Result<String, ToolError> {
    let mut texts: BTreeMap<String, String> =
        serde_json::from_str(canonical).map_err(|error| ToolError::bad_parameter(error.to_string()))?;
    Ok(texts.remove(name).unwrap_or_default())
}

impl Tool for AgentTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, move |arguments, cx: &ToolContext| {
            Box::pin(async move {
                let (message, settings) = self.read_message_and_settings(arguments)?;
                let call = ChildCall::begin_run(&settings, cx, message)?;
                boxed(|| call.run_to_result()).await
            })
        }))
    }

    fn adds_to_requests(&self) -> bool {
        false
    }
}

impl fmt::Debug for AgentTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AgentTool").field("definition", &self.definition).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
