//! Execution of the tool calls of a model response, as a batch.
//!
//! A model can request several calls at once. An [`Executor`] runs them, and returns one
//! [`CallOutcome`] for each call, in order. Hooks, permissions, approvals, limits, timeouts,
//! retries and events are configured once, for all calls.
//!
//! - [`ExecutorBuilder`] configures an executor: its [`ExecutionStrategy`], [`Finish`] order, [policies](crate::policy)
//!   and [hooks](crate::hook). [`ExecutorError`] and [`InvalidStrategy`] are its errors.
//! - [`Batch`] is a set of calls to be run, with their [`RunContext`](crate::RunContext) and [`Steering`], which skips
//!   the rest of a batch when a message of the user arrives.
//! - [`CallStream`] runs a batch as a stream of [`StreamItem`]s: events, and finally the outcomes.
//! - [`CallJournal`] records a [`CallIntent`] before a body with an effect runs, and the outcome of each call, for a
//!   program that continues after a crash; [`SharedCallJournal`] is a handle to a journal of any type.
//! - [`RunSettings`] override settings of an executor for one run.
//! - [`CallGuards`] are the components of an executor that decide on its calls, for the calls of another one.
//! - [`stop_error`] returns the error by which a tool, hook or policy stopped the run.
//!
//! Each call passes through three steps:
//!
//! 1. Prepare, in the order of the calls: look-up, admission, validation, `before` hooks, permission, approval.
//!    External calls are left to the caller.
//! 2. Run, concurrently with the other calls of its wave: concurrency limits, attempts with their timeouts, panic
//!    barrier. All bodies run in the task that polls the batch, so that dropping the batch drops them.
//! 3. Finish, in the order of the calls by default: `recover` and `after` hooks, size limit, `Finished` event.
//!
//! A call that is left to the caller, waits for an approval, or continues after its batch is an [open
//! call](crate::open_calls): answer it with [`Executor::submit_result`] or [`Executor::resume`].

mod admission;
mod attempt_stats;
mod attempts;
mod attributes;
mod batch;
mod boxed;
mod build;
mod event_sink;
mod finish;
mod guards;
mod journal;
mod open;
mod peer;
mod perform;
mod plan;
mod prepare;
mod questions;
mod redact;
mod remote;
mod remote_events;
mod reports;
mod run_settings;
mod settings;
mod state;
mod steering;
mod stop;
mod stream;
mod timeouts;
mod update_queue;
mod wave;

use std::{
    fmt,
    sync::{Arc, atomic::AtomicU64},
};

use tokio::sync::broadcast;
use tool_core::ProvidedValues;

#[doc(hidden)]
pub use self::remote_events::{forward_child_event, forward_child_event_now};
pub use self::{
    batch::Batch,
    build::{ExecutionStrategy, ExecutorBuilder, ExecutorError, Finish, InvalidStrategy},
    guards::CallGuards,
    journal::{CallIntent, CallJournal, SharedCallJournal},
    run_settings::RunSettings,
    steering::Steering,
    stop::stop_error,
    stream::{CallStream, StreamItem},
};
use self::{open::OpenCalls, settings::Settings};
use crate::{
    CallOutcome, Registry, ToolCall,
    blocking::Detached,
    event::{EventListener, ToolEvent},
    policy::{ApprovalRequest, EnforcedLimits, SharedApprover},
    toolbox::RunDiagnostic,
};

/// Runs batches of calls, and returns one [`CallOutcome`] for each call, in order. Cheap to clone; clones share limits,
/// listeners and open calls.
///
/// For a run with tools of its own, derive an executor by [`with_tools`](Executor::with_tools); for a run with settings
/// of its own, by [`with_settings`](Executor::with_settings).
///
/// # Examples
///
/// ```
/// use tool_runtime::{Executor, ToolCall, prelude::*};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let executor = Executor::new(Registry::builder().tool::<add>().build()?);
/// let calls = vec![
///     ToolCall::new("add", r#"{ "a": 2, "b": 3 }"#),
///     ToolCall::new("add", r#"{ "a": 2 }"#),
///     ToolCall::new("subtract", "{}"),
/// ];
/// let outcomes = executor.run(calls).await;
/// let texts: Vec<_> = outcomes.iter().filter_map(|it| it.result()).map(|it| it.text()).collect();
/// assert_eq!(texts[0], "5");
/// assert!(texts[1].starts_with("Invalid arguments: /b: expected"));
/// assert_eq!(texts[2], "Tool not found: subtract");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct Executor {
    inner: Arc<ExecutorParts>,
}

pub(crate) struct ExecutorParts {
    tools: Registry,
    /// All tools, including hidden ones, which open calls may use.
    known: Registry,
    settings: Arc<Settings>,
    /// The values of the registry, and the guards of this executor.
    provided: Arc<ProvidedValues>,
    limits: EnforcedLimits,
    listeners: broadcast::Sender<ToolEvent>,
    open: Arc<OpenCalls>,
    /// The number of calls that arrived, shared with executors derived for other tools.
    arrivals: Arc<AtomicU64>,
    detached: Arc<Detached>,
    diagnostics: Vec<RunDiagnostic>,
}

impl Executor {
    /// Creates an executor of `tools` with default settings: parallel, without hooks, policies or limits.
    #[must_use]
    pub fn new(tools: Registry /* `RegistryBuilder::build()?` returns it */) -> Self {
        Self::from_settings(tools, Settings::default(), EnforcedLimits::default())
    }

    /// Returns a builder of an executor of `tools`.
    pub fn builder(tools: Registry /* `RegistryBuilder::build()?` returns it */) -> ExecutorBuilder {
        ExecutorBuilder::new(tools)
    }

    fn from_settings(tools: Registry, settings: Settings, limits: EnforcedLimits) -> Self {
        let (listeners, _) = broadcast::channel(settings.event_buffer);
        let detached = Arc::new(Detached::at_most(settings.max_detached));
        let open = Arc::new(OpenCalls::new(settings.open.clone()));
        let settings = Arc::new(settings);
        let arrivals = open.serials();
        let diagnostics = settings.diagnostics(&tools);
        let (known, provided) = (tools.clone(), guards::provided_values(&tools, &settings));
        let inner = ExecutorParts {
            tools,
            known,
            settings,
            provided,
            limits,
            listeners,
            open,
            arrivals,
            detached,
            diagnostics,
        };
        Self { inner: Arc::new(inner) }
    }

    /// Derives an executor of other tools, such as the snapshot of a [`Toolbox`](crate::Toolbox) for one run.
    ///
    /// Both share hooks, policies, limits, listeners and [detached](Self::detached) bodies. Open calls are separate, so
    /// that one run cannot answer calls of another run with the same ids, unless a [store](ExecutorBuilder::open_calls)
    /// is set. [`diagnostics`](Self::diagnostics) lists rules without effect on these tools.
    ///
    /// # Errors
    ///
    /// Returns an error if the limits contradict the groups in the metadata of the tools.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{Executor, RunContext, Registry, Toolbox};
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let (toolbox, executor) = (Toolbox::new(), Executor::new(Registry::builder().build()?));
    /// let run = RunContext::new().with_user("u-7");
    /// let of_run = executor.with_tools(toolbox.snapshot(&run).await?.into_tools())?;
    /// assert!(of_run.tools().is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_tools(&self, tools: Registry) -> Result<Self, ExecutorError> {
        let ExecutorParts { settings, limits, listeners, arrivals, detached, .. } = &*self.inner;
        let inner = ExecutorParts {
            limits: limits.with_tools(tools.all_definitions().iter()).map_err(ExecutorError::Limits)?,
            diagnostics: settings.diagnostics(&tools),
            known: tools.clone(),
            provided: guards::provided_values(&tools, settings),
            tools,
            settings: Arc::clone(settings),
            listeners: listeners.clone(),
            open: Arc::new(OpenCalls::new(settings.open.clone())),
            arrivals: Arc::clone(arrivals),
            detached: Arc::clone(detached),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Returns the tools.
    #[must_use]
    pub fn tools(&self) -> &Registry {
        &self.inner.tools
    }

    /// Returns the journal of calls, if there is one, for code that adds a journal of its own to it.
    #[must_use]
    pub fn journal(&self) -> Option<&SharedCallJournal> {
        self.inner.settings.journal.as_ref()
    }

    /// Returns the approver, if there is one, for code that adds a decision of its own to it.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{
    ///     Executor, Registry,
    ///     policy::{Approval, ApprovalRequest},
    /// };
    ///
    /// let executor = Executor::builder(Registry::builder().build()?)
    ///     .approver(|_: &ApprovalRequest| Approval::Approved)
    ///     .build()?;
    /// assert!(executor.approver().is_some());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn approver(&self) -> Option<&SharedApprover> {
        self.inner.settings.approver.as_ref()
    }

    /// Returns the strategy for the calls of a batch: see [`ExecutorBuilder::strategy`].
    #[must_use]
    pub fn strategy(&self) -> ExecutionStrategy {
        self.inner.settings.strategy
    }

    /// Returns diagnostics of rules: those that match no tool, and, after [`with_tools`](Self::with_tools), those that
    /// compare an argument that none of the tools has.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{Executor, Registry, policy::{Rule, Rules}};
    ///
    /// let rules = Rules::new([Rule::deny("bash")]);
    /// let executor = Executor::builder(Registry::builder().build()?).rules(rules).build()?;
    /// assert_eq!(executor.diagnostics()[0].to_string(), "the rule `deny bash` fits no tool");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn diagnostics(&self) -> &[RunDiagnostic] {
        &self.inner.diagnostics
    }

    /// Runs `calls`; returns one outcome for each, in order. Dropping the future cancels them. The calls belong to no
    /// run; use `executor.batch(calls).with_run(run)` to set one for hooks, policies and approvers.
    pub async fn run(&self, calls: Vec<ToolCall>) -> Vec<CallOutcome> {
        self.batch(calls).run().await
    }

    /// Runs `calls` as a stream of their events, followed by their outcomes. The calls progress while the stream is
    /// polled; dropping it cancels them.
    pub fn stream(&self, calls: Vec<ToolCall>) -> CallStream {
        self.batch(calls).stream()
    }

    /// Creates a batch of `calls`, which can be configured before it is run: its run ([`with_run`](Batch::with_run))
    /// and [`steering`](Batch::steering).
    pub fn batch(&self, calls: Vec<ToolCall>) -> Batch {
        Batch::new(self.clone(), calls)
    }

    /// Creates a listener, which receives all events of this executor from now on.
    #[must_use]
    pub fn subscribe(&self) -> EventListener {
        EventListener::new(self.inner.listeners.subscribe())
    }

    /// Returns the number of detached bodies: `blocking` tools that continue after their calls timed out or were
    /// cancelled, since a blocked thread cannot be stopped. See [`ExecutorBuilder::max_detached`].
    ///
    /// # Examples
    ///
    /// ```
    /// use std::{sync::{Mutex, mpsc::{Receiver, channel}}, time::Duration};
    ///
    /// use tool_runtime::{Executor, ToolCall, prelude::*};
    ///
    /// /// Waits on its thread.
    /// #[tool(blocking)]
    /// fn stuck(until: &Mutex<Receiver<()>>) {
    ///     let _ = until.lock().map(|until| until.recv());
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let (end, until) = channel::<()>();
    /// let tools = Registry::builder().tool::<stuck>().provide(Mutex::new(until)).build()?;
    /// let executor = Executor::builder(tools).timeout(Duration::from_millis(50)).build()?;
    /// let outcomes = executor.run(vec![ToolCall::new("stuck", "{}")]).await;
    /// assert_eq!(outcomes[0].result().unwrap().text(), "Timed out: no result after 50ms");
    /// assert_eq!(executor.detached(), 1);
    /// drop(end);
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    #[must_use]
    pub fn detached(&self) -> usize {
        self.inner.detached.count()
    }

    /// Returns `request` as a virtual call, for a front end that answers calls. Its name is set by
    /// [`ExecutorBuilder::confirmation_call`]; default: [`CONFIRMATION_CALL`](crate::policy::CONFIRMATION_CALL).
    #[must_use]
    pub fn confirmation_call(&self, request: &ApprovalRequest) -> ToolCall {
        request.to_call(&self.inner.settings.confirmation_call)
    }
}

impl fmt::Debug for Executor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Executor")
            .field("tools", &self.inner.tools)
            .field("settings", &self.inner.settings)
            .finish_non_exhaustive()
    }
}
