//! Configuration of an executor.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tool_core::{Permission, Retry, ToolError, ToolOutput};

use super::{Executor, journal::SharedCallJournal, settings::Settings};
use crate::{
    Registry, ToolResult,
    diagnostic::Severity,
    hook::{Before, CallHandle, CallView, Hook, SharedHook, stages},
    policy::{
        Approval, ApprovalHandle, Approver, EnforcedLimits, Limits, LimitsError, PermissionPolicy,
        ResultBudget, RetryPolicy, RuleDiagnostic, Rules, SharedApprover, SharedPermissionPolicy, decider,
    },
};

/// The strategy for the calls of a batch: sequential, parallel, or in waves. Chosen by the program, never by the
/// model. Default: [`Parallel`](Self::Parallel).
///
/// With every strategy, calls start in the order in which the model requested them. A tool marked `sequential` makes
/// its batch sequential.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ExecutionStrategy {
    /// One call at a time.
    Sequential,
    /// All calls at once.
    #[default]
    Parallel,
    /// Waves of `size` calls, one wave at a time.
    Batched {
        /// The number of calls in a wave; at least 1.
        size: usize,
    },
}

/// The error of a strategy whose waves have size 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InvalidStrategy;

impl fmt::Display for InvalidStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("batches of 0 calls would never run a call; set `size` to at least 1")
    }
}

impl std::error::Error for InvalidStrategy {}

/// The time at which the calls of a wave are finished: their results pass the `after` hooks, and
/// [`Finished`](crate::event::EventKind::Finished) is sent. Default: [`InOrder`](Self::InOrder).
///
/// By default, the results and the `Finished` events of a parallel batch wait for its last body: a call that takes a
/// second is reported together with one that takes a minute, in the order in which the model requested them. To report
/// each result as soon as it is available, use [`AsCompleted`](Self::AsCompleted). The outcomes of a batch are always
/// in the order of its calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Finish {
    /// After the last body of the wave has ended, in the order of the calls.
    #[default]
    InOrder,
    /// Each call as soon as its own body has ended. Calls that are left to the caller are last.
    AsCompleted,
}

/// An error of [`ExecutorBuilder::build`] or of deriving an executor from another one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExecutorError {
    /// The strategy would never run a call.
    Strategy(InvalidStrategy),
    /// The limits are invalid.
    Limits(LimitsError),
    /// Rules that name a misspelled tool, or compare arguments that none of their tools has or in a way that matches no
    /// value.
    Rules(Vec<RuleDiagnostic>),
    /// The store of open calls outlives the process, and no program key is set.
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
            Self::Rules(diagnostics) => {
                let text = |it: &RuleDiagnostic| match it.help() {
                    Some(help) => format!("{it}; {help}"),
                    None => it.to_string(),
                };
                f.write_str(&diagnostics.iter().map(text).collect::<Vec<_>>().join("; "))
            }
        }
    }
}

impl std::error::Error for ExecutorError {}

/// The maximum size of the event buffer, whose memory is allocated at once.
const MAX_EVENT_BUFFER: usize = 1 << 16;

/// A builder of an [`Executor`]. Created by [`Executor::builder`].
#[must_use = "a builder does nothing until `build` is called"]
pub struct ExecutorBuilder {
    tools: Registry,
    pub(super) settings: Settings,
    limits: Limits,
}

impl ExecutorBuilder {
    pub(super) fn new(tools: Registry) -> Self {
        Self { tools, settings: Settings::default(), limits: Limits::new() }
    }

    /// Sets the journal of calls: a [`SharedCallJournal`], or any [`CallJournal`](super::CallJournal). Default: none.
    pub fn journal(mut self, journal: impl Into<SharedCallJournal>) -> Self {
        self.settings.journal = Some(journal.into());
        self
    }

    /// Sets the strategy for the calls of a batch. Default: [`Parallel`](ExecutionStrategy::Parallel).
    pub fn strategy(mut self, strategy: ExecutionStrategy) -> Self {
        self.settings.strategy = strategy;
        self
    }

    /// Sets whether calls may run concurrently. If `false`, every strategy is
    /// [`Sequential`](ExecutionStrategy::Sequential). Default: `true`.
    pub fn parallel(mut self, parallel: bool) -> Self {
        self.settings.parallel = parallel;
        self
    }

    /// Sets when calls are finished. Default: [`InOrder`](Finish::InOrder).
    pub fn finish(mut self, finish: Finish) -> Self {
        self.settings.finish = finish;
        self
    }

    /// Adds a hook. Hooks run in the order in which they are added.
    pub fn hook(mut self, hook: impl Hook + 'static) -> Self {
        self.settings.hooks.push(SharedHook::new(hook));
        self
    }

    stages!();

    /// Adds a hook that runs before all hooks added by [`hook`](Self::hook) and by closures. If it answers a call, they
    /// are not called.
    pub fn plugin(mut self, plugin: impl Hook + 'static) -> Self {
        self.settings.plugins.push(SharedHook::new(plugin));
        self
    }

    /// Sets whether [`Hook::after`] is also called for answers that [`Hook::before`] gave. It is never called for a
    /// call that was not permitted. Default: `false`.
    pub fn after_answers(mut self, after_answers: bool) -> Self {
        self.settings.after_answers = after_answers;
        self
    }

    /// Sets whether a panic of a hook [stops](tool_core::ToolError::stop) the run. Default: `false`; the panic fails
    /// the call that the hook was processing, and no other, or is logged if the hook [only observes](Hook).
    pub fn stop_on_hook_panic(mut self, stop: bool) -> Self {
        self.settings.stops_on_hook_panic = stop;
        self
    }

    /// Leaves the calls for which `external` returns `true` to the caller, who [answers](Executor::submit_result) them.
    /// Such a call is neither run nor validated: hooks, permissions and rules do not apply, and its arguments are those
    /// of the model. [`Registry::check`](crate::Registry::check) validates them. Default: only [external
    /// tools](crate::toolbox::Origin::External).
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

    /// Sets the rules. They are evaluated before hooks, policies and the `permission` of the tool, none of which is
    /// called for a call that a rule denies, and again after a hook rewrote the arguments. An
    /// `ask` rule requires an approval: see [`pending_approvals`](Self::pending_approvals). Default: none.
    pub fn rules(mut self, rules: Rules) -> Self {
        self.settings.rules = vec![rules];
        self
    }

    /// Sets the policy that decides which calls may run, after the `permission` of the tool. Default: none; all calls
    /// that their tools permit may run.
    pub fn permission(mut self, policy: impl PermissionPolicy + 'static) -> Self {
        self.settings.policies = vec![SharedPermissionPolicy::new(policy)];
        self
    }

    decider! {
        /// Sets the [permission policy](Self::permission) to an asynchronous closure.
        permission_fn: permission(PermitsBy, CallHandle) -> Permission
    }

    /// Sets the approver, which decides on required approvals while the batch waits. Default: none; see [`Approver`].
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.settings.approver = Some(SharedApprover::new(approver));
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

    /// Sets whether a call for which a permission or a rule is `Ask` is [pending](crate::call::Pending) if there is no
    /// approver. Default: `false`; the call fails with [`ApprovalRequired`](tool_core::ErrorKind::ApprovalRequired),
    /// and cannot be resumed. A tool's `confirm`, or a question of its body, makes a call pending in either case.
    pub fn pending_approvals(mut self, pending_approvals: bool) -> Self {
        self.settings.pending_approvals = pending_approvals;
        self
    }

    /// Sets the name of the virtual call by which a front end is asked for a confirmation. Default:
    /// [`CONFIRMATION_CALL`](crate::policy::CONFIRMATION_CALL).
    pub fn confirmation_call(mut self, name: impl Into<String>) -> Self {
        self.settings.confirmation_call = name.into();
        self
    }

    /// Sets the retry policy. Default: none; only tools with `retry(..)` of their own are retried.
    pub fn retry(mut self, policy: impl Into<RetryPolicy>) -> Self {
        self.settings.retry = Some(policy.into());
        self
    }

    /// Sets the timeout of an attempt, for tools without a `timeout` of their own. Default: none.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = Some(timeout);
        self
    }

    /// Sets the idle timeout of an attempt, the maximum time without an update or progress, for tools without an
    /// `idle_timeout` of their own. Default: none.
    pub fn idle_timeout(mut self, idle_timeout: Duration) -> Self {
        self.settings.idle_timeout = Some(idle_timeout);
        self
    }

    /// Sets the grace period of a cancelled batch, for tools without a `grace_period` of their own. Default: 3 s; zero
    /// for none.
    ///
    /// A body that uses its [token](tool_core::ToolContext::cancellation) has this time to clean up and return, and its
    /// result counts; any other body is dropped at once. The hooks that process results then have the same time, in
    /// total for a batch. A batch that runs inside a body has a third of that body's grace period, unless its own is
    /// shorter, so that it ends first.
    pub fn grace_period(mut self, period: Duration) -> Self {
        self.settings.grace_period = period;
        self
    }

    /// Sets the size limit of results for the model. Default: none. A limit of calls, rounds and tokens is the
    /// [`Budget`](crate::context::Budget) of a run.
    pub fn budget(mut self, budget: ResultBudget) -> Self {
        self.settings.budget = Some(budget);
        self
    }

    /// Sets the limits of concurrent calls, over all batches. Default: none.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sets the maximum number of `blocking` bodies that occupy a thread: those whose calls wait for them, and detached
    /// ones that continue after their calls timed out or were cancelled. Default: 64.
    ///
    /// Further calls wait; if detached bodies occupy all threads, they are answered with
    /// [`Unavailable`](tool_core::ErrorKind::Unavailable) until one has ended. A tool that may hang should limit
    /// itself: by a timeout of its client, or by checking
    /// [`ToolContext::is_cancelled`](tool_core::ToolContext::is_cancelled).
    ///
    /// A `blocking` body that waits for another `blocking` call of the same executor occupies its thread meanwhile. If
    /// such bodies occupy all threads, the calls that they wait for never start: such a tool needs [`Limits`] below
    /// this number, or a timeout.
    pub fn max_detached(mut self, bodies: usize) -> Self {
        self.settings.max_detached = bodies;
        self
    }

    /// Sets the size of the event buffer: the number of events that a listener may fall behind before it misses some,
    /// clamped to 1..=65,536. The memory is allocated at once. Default: 256.
    pub fn event_buffer(mut self, events: usize) -> Self {
        self.settings.event_buffer = events.clamp(1, MAX_EVENT_BUFFER);
        self
    }

    /// Sets whether spans include the arguments of calls, without secret ones. Default: `false`, since arguments often
    /// contain data of users, and spans leave the program.
    pub fn trace_arguments(mut self, arguments: bool) -> Self {
        self.settings.traces.arguments = arguments;
        self
    }

    /// Sets whether spans include the results of calls, and the texts of errors. Default: `false`.
    pub fn trace_results(mut self, results: bool) -> Self {
        self.settings.traces.results = results;
        self
    }

    /// Builds the executor.
    ///
    /// # Errors
    ///
    /// Returns an error if
    ///
    /// - the strategy or a limit would never let a call run, or limits contradict each other
    /// - a rule compares an argument that none of its tools has, or with a pattern that none of its values can match, such
    ///   as a text for a number
    /// - a `deny` or `ask` names no tool, and differs from the name of one by a typing error
    /// - the store of open calls outlives the process, and there is no [`program_key`](Self::program_key)
    ///
    /// Any other rule that matches no tool is one of the [`diagnostics`](Executor::diagnostics) instead, since tools may be added
    /// later.
    pub fn build(self) -> Result<Executor, ExecutorError> {
        let Self { tools, settings, limits } = self;
        if settings.strategy == (ExecutionStrategy::Batched { size: 0 }) {
            return Err(ExecutorError::Strategy(InvalidStrategy));
        }
        if settings.max_detached == 0 {
            let what = "`blocking` bodies".to_owned();
            return Err(ExecutorError::Limits(LimitsError::Zero(what)));
        }
        settings.open.check_program_key()?;
        let diagnostics = settings.rules.iter().flat_map(|rules| rules.diagnostics(&tools));
        let errors: Vec<_> = diagnostics.filter(|it| it.severity() == Severity::Error).collect();
        if !errors.is_empty() {
            return Err(ExecutorError::Rules(errors));
        }
        let limits =
            EnforcedLimits::new(&limits, tools.all_definitions().iter()).map_err(ExecutorError::Limits)?;
        Ok(Executor::from_settings(tools, settings, limits))
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
