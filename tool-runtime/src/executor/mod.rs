//! A batch of calls, whatever happens to it.
//!
//! A model asks for several tools at once. Each call is prepared, run and finished, in this order:
//!
//! - [`admission`], [`prepare`]: look up, leave to the caller, admission, `Started`, check, hooks, permission, confirmation.
//!   In the order of the calls, one after the other.
//! - [`perform`]: limits, attempts and their deadlines, the panic barrier, the tool. Together with the
//!   other calls of its group, in one task: nothing is spawned, so nothing is left behind.
//! - [`finish`]: what the output promises, hooks, `Finished`. In the order of the calls again.
//!
//! [`batch`] drives them: groups, steering, cancellation; [`around`] is what they share. [`outlet`] tells those who listen
//! ([`reports`] what a call reports while it runs, [`shown`] without secrets), [`stop`] says why calls are not run, [`questions`] binds the answers of people
//! to what they were asked, and [`open`] remembers the calls that are answered later.

mod admission;
mod attributes;
mod backlog;
mod batch;
mod build;
mod event_sink;
mod finish;
mod group;
pub(crate) mod open;
mod patience;
mod perform;
mod prepare;
mod questions;
mod quiet;
mod reports;
mod run_settings;
mod runs;
mod scope;
mod settings;
mod shown;
mod steering;
mod stop;
mod stream;

use std::{
    fmt,
    sync::{Arc, atomic::AtomicU64},
};

use tokio::sync::broadcast;

pub use self::{
    batch::Batch,
    build::{ExecutionStrategy, ExecutorBuilder, ExecutorError, Finish, InvalidStrategy},
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
    policy::{ApprovalRequest, Limited},
    toolbox::Notice,
};

/// Runs batches of calls: one [`CallOutcome`] for each call, in order, whatever happened to it. Cheap to
/// clone; clones share limits, listeners and open calls. Each run of its own tools, or of its own calls,
/// takes [an executor of its own](Executor::with_tools), and
/// settings of its own by [`with_settings`](Executor::with_settings).
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
    inner: Arc<Inner>,
}

pub(crate) struct Inner {
    tools: Registry,
    /// The tools, with those that are not shown: an open call may be of one of them.
    known: Registry,
    settings: Arc<Settings>,
    limits: Limited,
    listeners: broadcast::Sender<ToolEvent>,
    open: Arc<OpenCalls>,
    /// How many calls have arrived, here and at the executors of other tools that were made of this one.
    arrivals: Arc<AtomicU64>,
    detached: Arc<Detached>,
    notices: Vec<Notice>,
}

impl Executor {
    /// Runs calls of `tools`: in parallel, with no hook, policy or limit.
    #[must_use]
    pub fn new(tools: Registry) -> Self {
        Self::assemble(tools, Settings::default(), Limited::default())
    }

    /// Starts an executor of `tools`.
    pub fn builder(tools: Registry) -> ExecutorBuilder {
        ExecutorBuilder::new(tools)
    }

    fn assemble(tools: Registry, settings: Settings, limits: Limited) -> Self {
        let (listeners, _) = broadcast::channel(settings.event_buffer);
        let detached = Arc::new(Detached::at_most(settings.max_detached));
        let open = Arc::new(OpenCalls::new(settings.open.clone()));
        let settings = Arc::new(settings);
        let arrivals = open.serials();
        let notices = settings.notices(&tools);
        let known = tools.clone();
        let inner = Inner { tools, known, settings, limits, listeners, open, arrivals, detached, notices };
        Self { inner: Arc::new(inner) }
    }

    /// An executor of other tools, such as the snapshot that a run takes of a
    /// [`Toolbox`](crate::Toolbox). Both share hooks, policies, limits, listeners and what is
    /// [detached](Self::detached); open calls are each one's own, so that one run cannot answer for another
    /// whose calls have the same ids, unless they were given a [store](ExecutorBuilder::open_calls).
    /// [`notices`](Self::notices) lists rules that do nothing with these tools.
    ///
    /// # Errors
    ///
    /// If the limits contradict what the tools say of their groups.
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
        let Inner { settings, limits, listeners, arrivals, detached, .. } = &*self.inner;
        let inner = Inner {
            limits: limits.with_tools(tools.definitions().iter()).map_err(ExecutorError::Limits)?,
            notices: settings.notices(&tools),
            known: tools.clone(),
            tools,
            settings: Arc::clone(settings),
            listeners: listeners.clone(),
            open: Arc::new(OpenCalls::new(settings.open.clone())),
            arrivals: Arc::clone(arrivals),
            detached: Arc::clone(detached),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The tools.
    #[must_use]
    pub fn tools(&self) -> &Registry {
        &self.inner.tools
    }

    /// Returns the notices about the rules: those that fit no tool, and, after
    /// [`with_tools`](Self::with_tools), those that compare an argument which none of the tools has.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{Executor, Registry, policy::{Rule, Rules}};
    ///
    /// let rules = Rules::new([Rule::deny("bash")]);
    /// let executor = Executor::builder(Registry::builder().build()?).rules(rules).build()?;
    /// assert_eq!(executor.notices()[0].to_string(), "the rule `deny bash` fits no tool");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn notices(&self) -> &[Notice] {
        &self.inner.notices
    }

    /// Runs `calls`: one outcome for each, in order. Dropping the future cancels them. They belong to no run, so that hooks,
    /// policies and approvers see none; `executor.batch(calls).with_run(run)` gives them one.
    pub async fn run(&self, calls: Vec<ToolCall>) -> Vec<CallOutcome> {
        self.batch(calls).run().await
    }

    /// Runs `calls` as a stream of what happens to them, which ends with their outcomes. They go on as
    /// the stream is read; dropping it cancels them.
    pub fn stream(&self, calls: Vec<ToolCall>) -> CallStream {
        self.batch(calls).stream()
    }

    /// A batch of `calls` that can be configured before it is run: its run ([`with_run`](Batch::with_run)) and
    /// [`steering`](Batch::steering).
    pub fn batch(&self, calls: Vec<ToolCall>) -> Batch {
        Batch::new(self.clone(), calls)
    }

    /// Hears, from now on, of all that happens to calls of this executor.
    #[must_use]
    pub fn subscribe(&self) -> EventListener {
        EventListener::new(self.inner.listeners.subscribe())
    }

    /// How many bodies of `blocking` tools still run whose calls are over: one that is late or cancelled
    /// cannot be stopped. See [`ExecutorBuilder::max_detached`].
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

    /// `request` as a virtual call, by which a front end that answers calls is asked; its name is
    /// [`CONFIRMATION_CALL`](crate::policy::CONFIRMATION_CALL), or what
    /// [`ExecutorBuilder::confirmation_call`] says.
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
