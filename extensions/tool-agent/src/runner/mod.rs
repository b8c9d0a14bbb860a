//! The runner: agents in sessions, as streams of events.

mod active_agent;
mod active_run;
mod answers;
mod ask;
mod batch_end;
mod calls;
mod child_history;
mod compact;
mod context_note;
mod control;
mod conversation;
mod entry;
mod event;
mod event_wire;
mod flow;
mod handle;
mod hooks;
mod input_check;
mod journal;
mod limits;
mod member;
mod memory;
mod open_batch;
mod open_below;
mod open_calls;
mod open_session;
mod output;
mod parent_run;
mod recovery;
mod remember;
mod round;
mod run;
mod run_options;
mod scope;
mod session;
mod session_map;
mod session_writer;
mod span;
mod state_changes;
mod store_settings;
mod stored_conversation;
mod stored_progress;
mod stream;
mod team;
mod tools;
mod usage;
mod usage_ledger;

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use serde::de::DeserializeOwned;
use tool_runtime::{RunContext, schemars::JsonSchema};
use tracing::Instrument as _;

pub use self::{
    answers::Answers,
    event::{AgentEvent, AgentEventKind, End, EndReason},
    handle::RunHandle,
    memory::MemoryPolicy,
    open_below::CallAbove,
    run_options::RunOptions,
    stream::{AgentStream, RunError},
    usage::{ChildUsage, RunUsage},
};
use self::{
    answers::Input, memory::MemorySettings, run::run_to_end, session::Sessions, session_map::SessionKey,
    span::RunSpan, store_settings::StoreSettings,
};
pub(crate) use self::{
    child_history::ChildPlace,
    flow::boxed,
    open_below::{CallStart, Continuation, OpenChildRun, OpenQuestion},
    parent_run::{ParentRun, ShownRun},
    run_options::RunAdditions,
    state_changes::state_changes,
};
use crate::{
    Agent, AgentHook, Message, event_stream::EventStream, hook::SharedAgentHook, output::OutputType,
};

/// Runs an agent, and keeps its sessions, conversation and state, in memory, or in a [store](Self::with_store). Cheap to clone; clones
/// share the sessions.
///
/// # Examples
///
/// ```
/// use tool_agent::{Agent, Runner, ScriptedModel, model::Reply};
/// use tool_runtime::RunContext;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let model = ScriptedModel::new([Reply::text("Hello, Ada."), Reply::text("Ada.")]);
/// let runner = Runner::new(Agent::builder("greeter", model).build()?).with_app("hall");
/// let run = || RunContext::new().with_user("u-7").with_session("s-1");
/// runner.run_with(run(), "I am Ada.").answer().await?;
/// assert_eq!(runner.run_with(run(), "Who am I?").answer().await?, "Ada.");
/// assert_eq!(runner.history(&run()).await.len(), 4);
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct Runner(Arc<RunnerSettings>);

#[derive(Clone)]
struct RunnerSettings {
    agent: Agent,
    app: Option<String>,
    hooks: Vec<SharedAgentHook>,
    sessions: Sessions,
    store: StoreSettings,
    memory: MemorySettings,
    /// The time that a run waits for another run of its session.
    max_wait: Duration,
    /// The type of the output, if it is not the agent's.
    output: Option<OutputType>,
    /// `true` if runs end with the call that started them: they have no session, and no one answers their open calls.
    ends_with_call: bool,
}

impl Runner {
    /// Creates a runner of `agent`.
    pub fn new(agent: Agent) -> Self {
        Self(Arc::new(RunnerSettings {
            agent,
            app: None,
            hooks: Vec::new(),
            sessions: Sessions::default(),
            store: StoreSettings::default(),
            memory: MemorySettings::default(),
            max_wait: store_settings::DEFAULT_MAX_WAIT,
            output: None,
            ends_with_call: false,
        }))
    }

    /// Creates a runner of `agent` for runs below calls.
    pub(crate) fn ending_with_call(agent: Agent) -> Self {
        Self::new(agent).with_changed_settings(|inner| inner.ends_with_call = true)
    }

    /// Sets the program that the runs belong to, where a run has none.
    #[must_use]
    pub fn with_app(self, app: impl Into<String>) -> Self {
        self.with_changed_settings(|inner| inner.app = Some(app.into()))
    }

    /// Sets the maximum number of sessions in memory, which all clones share. Default: 10,000. A [store](Self::with_store) has
    /// limits of its own.
    ///
    /// A new session beyond it removes the session without a run that was not used for the longest time, with its
    /// conversation, its state and its open calls; the log has a warning. If all sessions have a run, the number is exceeded, so that
    /// there is always one session.
    #[must_use]
    pub fn with_max_sessions(self, max_sessions: usize) -> Self {
        self.0.sessions.set_max(max_sessions);
        self
    }

    /// Adds a hook, which runs before those of the agent.
    #[must_use]
    pub fn with_hook(self, hook: impl AgentHook + 'static) -> Self {
        self.with_changed_settings(|inner| inner.hooks.push(SharedAgentHook::new(hook)))
    }

    /// Sets the type of the output, in place of the [agent's](crate::AgentBuilder::output_type).
    #[must_use]
    pub fn with_output_type(self, output: OutputType) -> Self {
        self.with_changed_settings(|inner| inner.output = Some(output))
    }

    fn with_changed_settings(self, change: impl FnOnce(&mut RunnerSettings)) -> Self {
        let mut inner = Arc::unwrap_or_clone(self.0);
        change(&mut inner);
        Self(Arc::new(inner))
    }

    /// Returns the agent.
    #[must_use]
    pub fn agent(&self) -> &Agent {
        &self.0.agent
    }

    /// Runs the agent for a message of the user, outside of any session; the conversation ends with the run.
    ///
    /// Nothing happens until the stream is polled. Dropping it cancels the run.
    pub fn run(&self, input: impl Into<Message>) -> AgentStream {
        self.run_with(RunContext::new(), input)
    }

    /// Runs the agent for a message of the user in `run`, which has the user, the session, provided values, the budget,
    /// the deadline and the cancellation; [`RunOptions`] add tools and settings. Runs of one session wait for each other.
    ///
    /// Nothing happens until the stream is polled. Dropping it cancels the run.
    pub fn run_with(&self, run: impl Into<RunOptions>, input: impl Into<Message>) -> AgentStream {
        self.start_run(run.into(), Input::Message(input.into()))
    }

    /// Continues the session of `run` after a run that ended with [open calls](EndReason::OpenCalls): approved calls run,
    /// and the model is asked once each call has its result. Until then, the run ends with the remaining open calls. Calls
    /// with a result are not run again.
    ///
    /// An answer that names no call of the session ends the run with an error, and changes nothing. A run with a message
    /// in place of answers closes the open calls: they are answered with an error, or their interim result remains.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::{Agent, Answers, EndReason, Runner, ScriptedModel, model::Reply};
    /// use tool_runtime::{RunContext, prelude::*};
    ///
    /// /// Removes a file.
    /// #[tool(destructive, confirm)]
    /// fn remove(path: String) -> String {
    ///     format!("{path} is removed")
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let model = ScriptedModel::new([
    ///     Reply::call("remove", json!({ "path": "a.txt" })),
    ///     Reply::text("Done."),
    /// ]);
    /// let tools = Registry::builder().tool::<remove>().build()?;
    /// let runner = Runner::new(Agent::builder("cleaner", model).tools(tools).build()?);
    /// let run = || RunContext::new().with_session("s-1");
    ///
    /// let end = runner.run_with(run(), "Remove a.txt.").end().await;
    /// assert_eq!(end.reason, EndReason::OpenCalls);
    /// let call = end.open[0].address().unwrap();
    /// let answer = runner.resume(run(), Answers::new().approve(call)).answer().await?;
    /// assert_eq!(answer, "Done.");
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn resume(&self, run: impl Into<RunOptions>, answers: Answers) -> AgentStream {
        self.start_run(run.into(), Input::Answers(answers))
    }

    fn start_run(&self, run: RunOptions, input: Input) -> AgentStream {
        self.start_run_in(run, None, input)
    }

    fn start_run_in(&self, run: RunOptions, place: Option<ChildPlace>, input: Input) -> AgentStream {
        let RunOptions { run, additions } = run;
        let message = match &input {
            Input::Message(message) => Some(message.clone()),
            Input::Answers(_) | Input::Recovery | Input::Turn => None,
        };
        // A run below a call has a token of its own already.
        let run = match &place {
            Some(_) => run,
            None => {
                let token = run.cancellation().child_token();
                run.with_cancellation(token)
            }
        };
        let run = Arc::new(self.complete_context(run, message.as_ref()));
        let handle = RunHandle::new(run.cancellation().clone());
        let (runner, inbox) = (self.clone(), handle.inbox());
        let of_run = Arc::clone(&run);
        let events = EventStream::new(move |emitter| async move {
            let span = RunSpan::new(&runner.0.agent, &of_run, message.as_ref());
            let entered = span.span().clone();
            boxed(|| run_to_end(runner, (of_run, additions), inbox, emitter, (input, place), span))
                .instrument(entered)
                .await;
        });
        AgentStream::new(events, handle, run)
    }

    /// Runs the agent for a message of the user, and returns its output as a `T`, which is the type of the output of
    /// this run.
    ///
    /// # Errors
    ///
    /// As [`AgentStream::output`].
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_agent::{Agent, Runner, ScriptedModel, model::Reply};
    /// use tool_runtime::prelude::*;
    ///
    /// #[tool_args]
    /// struct Town {
    ///     name: String,
    ///     population: u32,
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let reply = Reply::call("submit_output", json!({ "name": "Oslo", "population": 717_710 }));
    /// let runner = Runner::new(Agent::builder("clerk", ScriptedModel::new([reply])).build()?);
    /// let town = runner.run_structured::<Town>("How many people live in Oslo?").await?;
    /// assert_eq!((town.name.as_str(), town.population), ("Oslo", 717_710));
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub async fn run_structured<T: DeserializeOwned + JsonSchema + 'static>(
        &self,
        input: impl Into<Message>,
    ) -> Result<T, RunError> {
        self.run_structured_with(RunContext::new(), input).await
    }

    /// Runs the agent as [`run_structured`](Self::run_structured) does, in `run`.
    ///
    /// # Errors
    ///
    /// As [`AgentStream::output`].
    pub async fn run_structured_with<T: DeserializeOwned + JsonSchema + 'static>(
        &self,
        run: impl Into<RunOptions>,
        input: impl Into<Message>,
    ) -> Result<T, RunError> {
        self.clone().with_output_type(OutputType::of::<T>()).run_with(run, input).output().await
    }

    /// Returns the conversation of the session of `run`; empty if there is none. Waits for a run of the session.
    ///
    /// All messages are read, and if that fails, there are none and the log has a warning; a program that shows long sessions of a
    /// [store](Self::with_store) reads pages of the [entries](tool_session::SharedSessionStore::entries).
    ///
    /// A tool that asks for the session of its own run does not wait for the end of that run: it receives the messages that are stored so far.
    pub async fn history(&self, run: &RunContext) -> Vec<Message> {
        match self.session_key(run) {
            None => Vec::new(),
            Some(key) => self.stored_history(run, &key).await,
        }
    }

    /// Returns the number of sessions in memory; with a [store](Self::with_store), of those with a run since the program began.
    #[must_use]
    pub fn session_count(&self) -> usize {
        self.0.sessions.len()
    }

    /// Returns the key of the session of `run`, which has the program of the runner where it has none.
    fn session_key(&self, run: &RunContext) -> Option<SessionKey> {
        if self.0.ends_with_call {
            return None;
        }
        let app = run.app().map(str::to_owned).or_else(|| self.0.app.clone());
        SessionKey::of(app, run)
    }

    /// Completes the run with the parts that the runner and the agent define.
    fn complete_context(&self, mut run: RunContext, input: Option<&Message>) -> RunContext {
        let RunnerSettings { agent, app, memory, store, .. } = &*self.0;
        if run.agent().is_none() {
            run = run.with_agent(agent.name());
        }
        if let (None, Some(app)) = (run.app(), app) {
            run = run.with_app(app);
        }
        run = memory.provide_to(run, !store.is_own);
        if let (None, Some(input)) = (run.user_content(), input) {
            run = run.with_user_content(input.text());
        }
        with_time_limit(run, agent)
    }
}

/// Returns a run that ends with the time of its agent.
fn with_time_limit(run: RunContext, agent: &Agent) -> RunContext {
    let end = agent.0.limits.time.and_then(|time| Instant::now().checked_add(time));
    match (run.deadline(), end) {
        (Some(own), Some(end)) => run.with_deadline(own.min(end)),
        (None, Some(end)) => run.with_deadline(end),
        _ => run,
    }
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner")
            .field("agent", &self.0.agent)
            .field("app", &self.0.app)
            .finish_non_exhaustive()
    }
}
