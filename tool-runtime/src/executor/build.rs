//! How an executor is set up.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tool_core::{Permission, Retry, ToolError, ToolOutput};

use super::{Executor, settings::Settings};
use crate::{
    Registry, ToolResult,
    hook::{Before, BoxHook, CallHandle, CallView, Hook, stages},
    policy::{
        Approval, ApprovalHandle, Approver, BoxApprover, BoxPolicy, Limited, Limits, LimitsError,
        PermissionPolicy, ResultBudget, RetryPolicy, RuleProblem, Rules, decider,
    },
};

/// How the calls of a batch run; chosen by the program, never by the model.
///
/// Whatever is chosen, calls start, and end, in the order in which the model asked for them. A tool that
/// says `sequential` of itself makes each batch it is in sequential.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExecutionStrategy {
    /// One after the other.
    Sequential,
    /// All at once.
    #[default]
    Parallel,
    /// So many at once, then the next so many.
    Batched {
        /// How many; at least 1.
        size: usize,
    },
}

/// A strategy by which nothing would run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidStrategy;

impl fmt::Display for InvalidStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("batches of 0 calls would never run any; `size` is at least 1")
    }
}

impl std::error::Error for InvalidStrategy {}

/// Decides when the calls of a group are finished: when `after` hooks see their results, and
/// [`Finished`](crate::event::EventKind::Finished) is sent. Default: [`InOrder`](Self::InOrder).
///
/// By default, the results and the `Finished` events of a parallel batch wait for its last body: a call that takes a
/// second is reported together with one that takes a minute, and in the order in which the model asked for them.
/// A program that shows each result as soon as it is there chooses [`AsCompleted`](Self::AsCompleted). The outcomes
/// of a batch are in the order of its calls either way.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Finish {
    /// After the last body of the group has ended, in the order in which the model asked for them.
    #[default]
    InOrder,
    /// Each as soon as its own body has ended. Calls that are left to the caller come last.
    AsCompleted,
}

/// Why an executor cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecutorError {
    /// The strategy runs nothing.
    Strategy(InvalidStrategy),
    /// The limits are wrong.
    Limits(LimitsError),
    /// Rules that would not guard what they name.
    Rules(Vec<RuleProblem>),
    /// The store of open calls outlives the process, and there is no key for it.
    NoProgramKey,
}

impl fmt::Display for ExecutorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Strategy(error) => error.fmt(f),
            Self::Limits(error) => error.fmt(f),
            Self::NoProgramKey => f.write_str(
                "the store of open calls outlives the process and requires a key; set one by `program_key`",
            ),
            Self::Rules(problems) => {
                let all: Vec<_> = problems.iter().map(RuleProblem::to_string).collect();
                write!(f, "{}; correct the pointer", all.join("; "))
            }
        }
    }
}

impl std::error::Error for ExecutorError {}

/// The largest buffer of events: one that the memory does not hold ends the program.
const MOST_EVENTS: usize = 1 << 16;

/// Sets up an [`Executor`].
#[must_use = "nothing runs until `build`"]
pub struct ExecutorBuilder {
    tools: Registry,
    pub(super) settings: Settings,
    limits: Limits,
}

impl ExecutorBuilder {
    pub(super) fn new(tools: Registry) -> Self {
        Self { tools, settings: Settings::default(), limits: Limits::new() }
    }

    /// Sets how the calls of a batch run; [`Parallel`](ExecutionStrategy::Parallel) if nothing is said.
    pub fn strategy(mut self, strategy: ExecutionStrategy) -> Self {
        self.settings.strategy = strategy;
        self
    }

    /// Says whether calls may run at once at all; they may if nothing is said. Where they may not, every
    /// strategy is [`Sequential`](ExecutionStrategy::Sequential).
    pub fn parallel(mut self, parallel: bool) -> Self {
        self.settings.parallel = parallel;
        self
    }

    /// Sets when calls are finished; [`InOrder`](Finish::InOrder) if nothing is said.
    pub fn finish(mut self, finish: Finish) -> Self {
        self.settings.finish = finish;
        self
    }

    /// Adds a hook. Hooks run in the order in which they are added.
    pub fn hook(mut self, hook: impl Hook + 'static) -> Self {
        self.settings.hooks.push(BoxHook::new(hook));
        self
    }

    stages!();

    /// Adds a hook that runs before those added by [`hook`](Self::hook) and by closures. If it answers a call, the others are
    /// not asked.
    pub fn plugin(mut self, plugin: impl Hook + 'static) -> Self {
        self.settings.plugins.push(BoxHook::new(plugin));
        self
    }

    /// Says whether [`Hook::after`] also sees answers that [`Hook::before`] gave; it does not if nothing
    /// is said. A call that was not permitted it never sees.
    pub fn after_answers(mut self, after_answers: bool) -> Self {
        self.settings.after_answers = after_answers;
        self
    }

    /// Sets whether a panic of a hook [stops](tool_core::ToolError::stop) the run. Default: no; it fails the call that the hook was
    /// asked about, and no other.
    pub fn stop_on_hook_panic(mut self, stop: bool) -> Self {
        self.settings.stops_on_hook_panic = stop;
        self
    }

    /// Leaves the calls for which `external` returns `true` to the caller, who [answers](Executor::submit_result)
    /// them. Such a call is neither run nor checked: no hook, permission or rule is applied to it, and its arguments are
    /// those of the model. [`Registry::check`](crate::Registry::check) validates them.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{Executor, Registry};
    ///
    /// let executor = Executor::builder(Registry::builder().build()?)
    ///     .external(|call| {
    ///         let has_front_end = call.run().is_some_and(|run| run.app() == Some("web"));
    ///         has_front_end && call.metadata().tags.iter().any(|tag| tag == "front_end")
    ///     })
    ///     .build()?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn external(mut self, external: impl Fn(&CallView<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.settings.external = Some(Arc::new(external));
        self
    }

    /// Sets the rules, which are applied before hooks and policies, and again to arguments that a hook has rewritten. An
    /// `ask` among them is a permission: see [`pending_approvals`](Self::pending_approvals).
    pub fn rules(mut self, rules: Rules) -> Self {
        self.settings.rules = vec![rules];
        self
    }

    /// Sets the policy that decides which calls may run, after the `permission` of the tool. Default: all that their
    /// tools permit.
    pub fn permission(mut self, policy: impl PermissionPolicy + 'static) -> Self {
        self.settings.policies = vec![BoxPolicy::new(policy)];
        self
    }

    decider! {
        /// Sets the [permission policy](Self::permission) to an asynchronous closure.
        permission_fn: permission(PermitsBy, CallHandle) -> Permission
    }

    /// Sets the approver, which decides on required approvals while the batch waits. Default: none, as
    /// [`Approver`] describes.
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.settings.approver = Some(BoxApprover::new(approver));
        self
    }

    decider! {
        /// Sets the [approver](Self::approver) to an asynchronous closure.
        ///
        /// # Examples
        ///
        /// ```standalone_crate
        /// use tool_runtime::{Executor, Registry, policy::Approval};
        ///
        /// let executor = Executor::builder(Registry::builder().build()?)
        ///     .approver_fn(|request| async move {
        ///         println!("{} for {:?}", request.hint, request.run().and_then(|run| run.user()));
        ///         Ok(Approval::Approved)
        ///     })
        ///     .build()?;
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        approver_fn: approver(Approves, ApprovalHandle) -> Approval
    }

    /// Sets whether a call is [pending](crate::call::Pending) if a permission or a rule is `Ask` and there is no approver.
    /// Default: `false`; the call is finished with the error
    /// [`ApprovalRequired`](tool_core::ErrorKind::ApprovalRequired), and cannot be resumed. A `confirm` and a question of
    /// the tool's body make a call pending in either case.
    pub fn pending_approvals(mut self, pending_approvals: bool) -> Self {
        self.settings.pending_approvals = pending_approvals;
        self
    }

    /// Sets the name of the virtual call by which a front end is asked for a confirmation.
    pub fn confirmation_call(mut self, name: impl Into<String>) -> Self {
        self.settings.confirmation_call = name.into();
        self
    }

    /// Sets when calls are repeated; they are not if nothing is said, but by the `retry(..)` of their tool.
    pub fn retry(mut self, policy: impl Into<RetryPolicy>) -> Self {
        self.settings.retry = Some(policy.into());
        self
    }

    /// Sets how long an attempt may take, for tools that do not say it of themselves.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = Some(timeout);
        self
    }

    /// Sets how long an attempt may go without an update or progress, for tools that do not say it of
    /// themselves.
    pub fn idle_timeout(mut self, idle_timeout: Duration) -> Self {
        self.settings.idle_timeout = Some(idle_timeout);
        self
    }

    /// Sets the grace period of a cancelled batch, for tools that do not say it of themselves by
    /// `grace_period`. Default: 3 s; zero for none.
    ///
    /// A body that asked for its [token](tool_core::ToolContext::cancellation) has this time to clean up and
    /// return, and its result counts; any other body is dropped at once. The hooks that see results then have
    /// as much, all of a batch together. A batch that runs inside of a body has a third of that body's grace
    /// period, so that it ends before; its own is shorter where this is.
    pub fn grace_period(mut self, period: Duration) -> Self {
        self.settings.grace_period = period;
        self
    }

    /// Sets the part of a result that a model is given. Default: all of it. The [`Budget`](crate::context::Budget) of calls, rounds and
    /// tokens is that of a run.
    pub fn budget(mut self, budget: ResultBudget) -> Self {
        self.settings.budget = Some(budget);
        self
    }

    /// Sets how many calls run at once, over all batches.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets how many bodies of `blocking` tools hold a thread at once: those whose calls wait for them, and those
    /// that go on after their calls were late or cancelled. Default: 64. Other calls wait; where all
    /// threads are held by bodies that go on after their calls, they are answered
    /// [`Unavailable`](tool_core::ErrorKind::Unavailable) until one has ended.
    /// A tool that may hang should know its own limits: a timeout of its client, or a look at
    /// [`ToolContext::is_cancelled`](tool_core::ToolContext::is_cancelled).
    ///
    /// A `blocking` body that waits for another `blocking` call of the same executor holds its thread meanwhile. Where
    /// such bodies hold all threads, the calls that they wait for never begin: such a tool needs
    /// [`Limits`] below this number, or a timeout.
    pub fn max_detached(mut self, bodies: usize) -> Self {
        self.settings.max_detached = bodies;
        self
    }

    /// Sets how many events a listener may be behind before it misses some, from 1 to 65 536; 256 if
    /// nothing is said. Room for as many is made at once.
    pub fn event_buffer(mut self, events: usize) -> Self {
        self.settings.event_buffer = events.clamp(1, MOST_EVENTS);
        self
    }

    /// Says whether spans tell the arguments of calls, without those that are secret; they do not if
    /// nothing is said.
    pub fn trace_arguments(mut self, arguments: bool) -> Self {
        self.settings.traces.arguments = arguments;
        self
    }

    /// Says whether spans tell the results of calls, and the texts of errors; they do not if nothing is
    /// said.
    pub fn trace_results(mut self, results: bool) -> Self {
        self.settings.traces.results = results;
        self
    }

    /// Makes the executor.
    ///
    /// # Errors
    ///
    /// If the strategy or a limit would keep calls from ever running; if limits contradict each other; if a rule compares an
    /// argument that none of the tools it fits has; or if the store of open calls outlives the process, and there is no
    /// [`program_key`](Self::program_key). A rule that fits no tool is one of the [`notices`](Executor::notices), since tools
    /// may come later.
    pub fn build(self) -> Result<Executor, ExecutorError> {
        let Self { tools, settings, limits } = self;
        if settings.strategy == (ExecutionStrategy::Batched { size: 0 }) {
            return Err(ExecutorError::Strategy(InvalidStrategy));
        }
        if settings.max_detached == 0 {
            let what = "bodies that go on after their calls".to_owned();
            return Err(ExecutorError::Limits(LimitsError::Zero(what)));
        }
        settings.open.check()?;
        let problems = settings.rules.iter().flat_map(|rules| rules.problems(&tools));
        let errors: Vec<_> = problems.filter(RuleProblem::is_error).collect();
        if !errors.is_empty() {
            return Err(ExecutorError::Rules(errors));
        }
        let limits = Limited::new(&limits, tools.definitions().iter()).map_err(ExecutorError::Limits)?;
        Ok(Executor::assemble(tools, settings, limits))
    }
}

impl From<Retry> for RetryPolicy {
    fn from(retry: Retry) -> Self {
        Self::new(retry)
    }
}

impl fmt::Debug for ExecutorBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExecutorBuilder").field("settings", &self.settings).finish_non_exhaustive()
    }
}
