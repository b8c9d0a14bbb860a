//! Runs that hang below another run, or below one of its calls.

use std::sync::{Arc, OnceLock, RwLock};

use super::{CallId, CallSink, RunContext, ToolContext};
use crate::{ErrorKind, ToolError, ToolName};

/// The levels of runs below a run, unless [`RunContext::with_max_depth`] says otherwise.
const MAX_DEPTH: usize = 16;

/// The reason for which a run was started by another one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Trigger {
    /// A call started it, by [`ToolContext::child_run`].
    Call {
        /// The id of the call.
        id: CallId,
        /// The name of its tool.
        tool: ToolName,
    },
}

/// The place of a run among the runs above it.
#[derive(Clone)]
pub(super) struct Lineage {
    depth: usize,
    max_depth: usize,
    trigger: Option<Trigger>,
    key: Option<String>,
    /// Who hears of the call below which the run is.
    above: Option<Arc<dyn CallSink>>,
}

impl Default for Lineage {
    fn default() -> Self {
        Self { depth: 0, max_depth: MAX_DEPTH, trigger: None, key: None, above: None }
    }
}

impl Lineage {
    /// The error of a run that has as many runs above it as allowed, and one more.
    fn too_deep(&self, of: &str) -> Option<ToolError> {
        let (depth, most) = (self.depth, self.max_depth);
        (depth > most).then(|| {
            let message = format!("a run below this {of} would be on level {depth}, and {most} are allowed");
            ToolError::new(ErrorKind::Unavailable, message)
        })
    }
}

impl RunContext {
    /// Sets the number of levels that runs may have below this one. Default: 16. A batch of a nested run is polled within
    /// the batch around it: without optimisation, a level takes about 30 KiB of the stack.
    #[must_use]
    pub fn with_max_depth(mut self, levels: usize) -> Self {
        let most = self.lineage.depth.saturating_add(levels);
        // A run below another one has no more levels than that one allows.
        self.lineage.max_depth =
            if self.lineage.depth == 0 { most } else { most.min(self.lineage.max_depth) };
        self
    }

    /// Returns the number of runs above this one.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.lineage.depth
    }

    /// Returns the reason for which another run started this one.
    #[must_use]
    pub fn trigger(&self) -> Option<&Trigger> {
        self.lineage.trigger.as_ref()
    }

    /// Returns the key of the run's own history: the agent and the id of the run for a child, so that no two of them share
    /// one. `None` for a run that no other one started.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.lineage.key.as_deref()
    }

    /// The sink of the call below which the run is, directly or through runs between them.
    #[doc(hidden)]
    #[must_use]
    pub fn above(&self) -> Option<&Arc<dyn CallSink>> {
        self.lineage.above.as_ref()
    }

    /// Returns a run of another agent below this one.
    ///
    /// It has a new id, with this run's as its parent, a [branch](Self::branch) and a [key](Self::key) of its own, and a
    /// copy of the [values](Self::set). App, user, session, meta and what the run provides are those of this run. Cancelling
    /// this run cancels it, and it has no more time. It has no user content, and no state unless it is
    /// [given one](Self::state_for_child).
    ///
    /// The child uses the [budgets](Self::with_budget) of this run. One that is deeper than
    /// [allowed](Self::with_max_depth) is [stopped](Self::stopped) from the start: none of its calls is run.
    ///
    /// A tool starts a run below its call by [`ToolContext::child_run`].
    #[must_use]
    pub fn child(&self, agent: impl Into<String>) -> Self {
        let agent = agent.into();
        let branch = match self.branch() {
            Some(branch) => format!("{branch}.{agent}"),
            None => agent.clone(),
        };
        let id = CallId::generate();
        let lineage = Lineage {
            depth: self.lineage.depth.saturating_add(1),
            max_depth: self.lineage.max_depth,
            trigger: None,
            key: Some(format!("{agent}-{id}")),
            above: self.lineage.above.clone(),
        };
        let stopped = lineage.too_deep("run").map_or_else(OnceLock::new, OnceLock::from);
        Self {
            identity: self.identity.child(id, agent, branch),
            lineage,
            meta: self.meta.clone(),
            state: RwLock::default(),
            provided: self.provided.clone(),
            values: self.values.clone(),
            cancellation: self.cancellation.child_token(),
            deadline: self.deadline,
            stopped,
            account: self.account.clone(),
            client: self.client.clone(),
        }
    }
}

impl ToolContext {
    /// Returns a run of `agent` below this call: the [child](RunContext::child) of the call's run, or a new run where the
    /// call has none. It ends with the call: the call's token is above its own, and it has no more time than the attempt.
    /// Its [trigger](RunContext::trigger) is this call, and whoever hears of this call hears of its calls.
    ///
    /// A body that runs calls in it takes an executor from its context, which the program provides to the run, or to the
    /// registry by `provide_per_run`:
    ///
    /// ```text
    /// let executor = cx.require::<Executor>()?;
    /// let outcomes = executor.batch(calls).within(cx.child_run("researcher")?).run().await;
    /// ```
    ///
    /// # Errors
    ///
    /// If as many runs are above it as [allowed](RunContext::with_max_depth).
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_core::{ToolContext, Trigger};
    ///
    /// let cx = ToolContext::for_test().with_call_id("call_1");
    /// let child = cx.child_run("researcher").unwrap();
    /// assert_eq!((child.agent(), child.depth()), (Some("researcher"), 1));
    /// let Some(Trigger::Call { id, tool }) = child.trigger() else { panic!("no call") };
    /// assert_eq!((id.to_string().as_str(), tool.as_str()), ("call_1", "test"));
    /// ```
    pub fn child_run(&self, agent: impl Into<String>) -> Result<RunContext, ToolError> {
        let mut child = match self.run() {
            Some(run) => run.child(agent),
            None => RunContext::new().child(agent),
        };
        if let Some(too_deep) = child.lineage.too_deep("call") {
            return Err(too_deep.of_tool(self.tool.to_string()));
        }
        child.lineage.trigger = Some(Trigger::Call { id: self.call_id.clone(), tool: self.tool.clone() });
        if let Some(sink) = &self.sink {
            child.lineage.above = Some(Arc::clone(sink));
        }
        // Not asked for by the body, which has a grace period only where it asks.
        child.cancellation = self.token().child_token();
        child.deadline = self.deadline();
        Ok(child)
    }
}
