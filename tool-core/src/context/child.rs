//! Child runs of a run or of one of its calls.

use std::sync::{Arc, OnceLock, RwLock};

use tokio_util::sync::CancellationToken;

use super::{CallAddress, CallId, CallSink, RunContext, ToolContext};
use crate::{ErrorKind, ToolError, ToolName};

/// The default of [`RunContext::with_max_depth`].
const MAX_DEPTH: usize = 16;

/// The call that started a run.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trigger {
    /// A call started the run by [`ToolContext::child_run`].
    Call {
        /// The id of the call.
        id: CallId,
        /// The name of its tool.
        tool: ToolName,
        /// The address of the call, since models repeat ids.
        address: CallAddress,
    },
}

/// The position of a run below its parents.
#[derive(Clone)]
pub(super) struct RunLineage {
    depth: usize,
    max_depth: usize,
    trigger: Option<Trigger>,
    key: Option<String>,
    /// The sink of the call below which the run is.
    above: Option<Arc<dyn CallSink>>,
}

impl Default for RunLineage {
    fn default() -> Self {
        Self { depth: 0, max_depth: MAX_DEPTH, trigger: None, key: None, above: None }
    }
}

impl RunLineage {
    /// Returns the error of a run that exceeds the maximum depth.
    fn depth_error(&self, of: &str) -> Option<ToolError> {
        let (depth, most) = (self.depth, self.max_depth);
        (depth > most).then(|| {
            let message = format!("a run below this {of} would be on level {depth}, and {most} are allowed");
            ToolError::new(ErrorKind::Unavailable, message)
        })
    }
}

impl RunContext {
    /// Sets the maximum number of levels of child runs. Default: 16. The batch of a child run is polled within the
    /// batch of its parent: without optimisation, each level takes about 30 KiB of stack.
    #[must_use]
    pub fn with_max_depth(mut self, levels: usize) -> Self {
        let most = self.lineage.depth.saturating_add(levels);
        // A child run cannot have more levels than its parent permits.
        self.lineage.max_depth =
            if self.lineage.depth == 0 { most } else { most.min(self.lineage.max_depth) };
        self
    }

    /// Returns the number of runs above this one.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.lineage.depth
    }

    /// Returns the trigger by which another run started this one; `None` for a root run.
    #[must_use]
    pub fn trigger(&self) -> Option<&Trigger> {
        self.lineage.trigger.as_ref()
    }

    /// Returns the key of the run's own history: agent and run id for a child run, so that no two child runs share a
    /// history. `None` for a root run.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.lineage.key.as_deref()
    }

    /// Sets the [key](Self::key): the run continues a history, or shares one.
    #[doc(hidden)]
    #[must_use]
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.lineage.key = Some(key.into());
        self
    }

    /// Returns the sink of the call below which the run is, directly or through runs in between.
    #[doc(hidden)]
    #[must_use]
    pub fn above(&self) -> Option<&Arc<dyn CallSink>> {
        self.lineage.above.as_ref()
    }

    /// Removes the [sink above](Self::above): the program shows the events of the run by itself.
    #[doc(hidden)]
    #[must_use]
    pub fn without_above(mut self) -> Self {
        self.lineage.above = None;
        self
    }

    /// Creates a child run of another agent.
    ///
    /// The child has a new id, this run's id as its parent id, its own [branch](Self::branch) and [key](Self::key),
    /// and a copy of the [values](Self::set). It inherits app, user, session, meta and provided values. Its
    /// cancellation token is a child of this run's, and its deadline is at most this run's. It has no user content,
    /// and no state unless it is [given one](Self::state_for_child).
    ///
    /// The child is charged to the [budgets](Self::with_budget) of this run. A child below the [maximum
    /// depth](Self::with_max_depth) is [stopped](Self::stopped) from the start: none of its calls is run.
    ///
    /// [`ToolContext::child_run`] creates a run below a call.
    #[must_use]
    pub fn child(&self, agent: impl Into<String>) -> Self {
        self.child_with(agent.into(), self.cancellation.child_token())
    }

    /// Creates a [child](Self::child) run with `cancellation`.
    fn child_with(&self, agent: String, cancellation: CancellationToken) -> Self {
        let branch = match self.branch() {
            Some(branch) => format!("{branch}.{agent}"),
            None => agent.clone(),
        };
        let id = CallId::generate();
        let lineage = RunLineage {
            depth: self.lineage.depth.saturating_add(1),
            max_depth: self.lineage.max_depth,
            trigger: None,
            key: Some(format!("{agent}-{id}")),
            above: self.lineage.above.clone(),
        };
        let stopped = Arc::new(lineage.depth_error("run").map_or_else(OnceLock::new, OnceLock::from));
        Self {
            identity: self.identity.of_child_run(id, agent, branch),
            lineage,
            meta: self.meta.clone(),
            state: Arc::default(),
            provided: self.provided.clone(),
            values: Arc::new((*self.values).clone()),
            cancellation,
            deadline: self.deadline,
            stopped,
            account: self.account.clone(),
            client: self.client.clone(),
            sink: None,
        }
    }

    /// Returns this run as one of several agents has it that take turns in it: with the same id, state, values,
    /// cancellation and budget, and its own agent, [branch](Self::branch) and deadline.
    #[doc(hidden)]
    #[must_use]
    pub fn member(&self, agent: impl Into<String>) -> Self {
        let agent = agent.into();
        let branch = match self.branch().or(self.agent()) {
            Some(above) => format!("{above}.{agent}"),
            None => agent.clone(),
        };
        Self {
            identity: self.identity.of_member_agent(agent, branch),
            lineage: self.lineage.clone(),
            meta: self.meta.clone(),
            state: Arc::clone(&self.state),
            provided: self.provided.clone(),
            values: Arc::clone(&self.values),
            cancellation: self.cancellation.clone(),
            deadline: self.deadline,
            stopped: Arc::clone(&self.stopped),
            account: self.account.clone(),
            client: self.client.clone(),
            sink: self.sink.clone(),
        }
    }

    /// Returns a run of one of several agents that work at the same time in this run. It is a [member](Self::member) with an id and a history of
    /// its own, whose parent is this run, and with copies of the state and the values.
    #[doc(hidden)]
    #[must_use]
    pub fn parallel_member(&self, agent: impl Into<String>) -> Self {
        let member = self.member(agent);
        let id = CallId::generate();
        let key = format!("{}-{id}", member.agent().unwrap_or_default());
        Self {
            identity: member.identity.of_run_below(id),
            lineage: RunLineage { key: Some(key), ..member.lineage },
            state: Arc::new(RwLock::new(self.state())),
            values: Arc::new((*self.values).clone()),
            cancellation: self.cancellation.child_token(),
            ..member
        }
    }
}

impl ToolContext {
    /// Creates a run of `agent` below this call: a [child](RunContext::child) of the call's run, or a new run if the
    /// call has none. The run ends with the call: its token is a child of the call's, and its deadline is at most the
    /// attempt's. Its [trigger](RunContext::trigger) is this call, and the listeners of this call receive the events
    /// of its calls.
    ///
    /// A body that runs calls in it takes an executor from its context. The program provides the executor to the run,
    /// or to the registry by `provide_per_run`:
    ///
    /// ```text
    /// let executor = cx.require::<Executor>()?;
    /// let outcomes = executor.batch(calls).with_run(cx.child_run("researcher")?).run().await;
    /// ```
    ///
    /// # Errors
    ///
    /// Returns an error if the run would exceed the [maximum depth](RunContext::with_max_depth).
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{ToolContext, context::Trigger};
    ///
    /// let cx = ToolContext::for_test().with_call_id("call_1");
    /// let child = cx.child_run("researcher").unwrap();
    /// assert_eq!((child.agent(), child.depth()), (Some("researcher"), 1));
    /// let Some(Trigger::Call { id, tool, address }) = child.trigger() else { panic!("no call") };
    /// assert_eq!((id.to_string().as_str(), tool.as_str()), ("call_1", "test"));
    /// assert_eq!(*address, cx.address());
    /// ```
    pub fn child_run(&self, agent: impl Into<String>) -> Result<RunContext, ToolError> {
        // Taken without marking the token as requested by the body, which would start a grace period.
        let (agent, cancellation) = (agent.into(), self.token().child_token());
        let mut child = match self.run() {
            Some(run) => run.child_with(agent, cancellation),
            None => RunContext::new().child_with(agent, cancellation),
        };
        if let Some(too_deep) = child.lineage.depth_error("call") {
            return Err(too_deep.of_tool(self.tool.to_string()));
        }
        child.lineage.trigger = Some(Trigger::Call {
            id: self.call_id.clone(),
            tool: self.tool.clone(),
            address: self.address(),
        });
        if let Some(sink) = &self.sink {
            child.lineage.above = Some(Arc::clone(sink));
        }
        child.deadline = self.deadline();
        Ok(child)
    }
}
