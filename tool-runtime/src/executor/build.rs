//! How an executor is set up.

use std::{any::type_name, fmt, ops::Deref, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use tool_core::{Confirmation, Retry, ToolDefinition};

use super::Executor;
use crate::{
    Hook, Notice, Registry,
    policy::{
        Approver, CONFIRMATION_CALL, Limited, Limits, LimitsError, PermissionPolicy, ResultBudget,
        RetryPolicy, RuleProblem, Rules,
    },
    registry::Entry,
    shield::Guarded,
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
/// [`Finished`](crate::ToolEvent::Finished) is sent. Default: [`InOrder`](Self::InOrder).
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
}

impl fmt::Display for ExecutorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Strategy(error) => error.fmt(f),
            Self::Limits(error) => error.fmt(f),
            Self::Rules(problems) => {
                let all: Vec<_> = problems.iter().map(RuleProblem::to_string).collect();
                write!(f, "{}; correct the pointer", all.join("; "))
            }
        }
    }
}

impl std::error::Error for ExecutorError {}

/// Decides which calls are left to the caller.
pub(super) type External = Arc<dyn Fn(&ToolDefinition) -> bool + Send + Sync>;

/// A hook, and the name of its type, for the log.
pub(super) struct Hooked {
    hook: Arc<dyn Hook>,
    pub(super) name: &'static str,
    /// Dropped last, so that a panic of the hook's `Drop` ends here.
    _hook: Guarded<Arc<dyn Hook>>,
}

impl Hooked {
    fn new<H: Hook + 'static>(hook: H) -> Self {
        let hook: Arc<dyn Hook> = Arc::new(hook);
        Self { _hook: Guarded::new(Arc::clone(&hook)), hook, name: type_name::<H>() }
    }
}

impl Deref for Hooked {
    type Target = dyn Hook;

    fn deref(&self) -> &Self::Target {
        &*self.hook
    }
}

pub(super) struct Settings {
    pub(super) strategy: ExecutionStrategy,
    pub(super) parallel: bool,
    pub(super) finish: Finish,
    pub(super) plugins: Vec<Hooked>,
    pub(super) hooks: Vec<Hooked>,
    pub(super) after_answers: bool,
    pub(super) stops_on_hook_panic: bool,
    pub(super) external: Option<External>,
    pub(super) rules: Option<Rules>,
    pub(super) permission: Option<Arc<dyn PermissionPolicy>>,
    pub(super) approver: Option<Arc<dyn Approver>>,
    pub(super) ask_later: bool,
    pub(super) confirmation_call: String,
    pub(super) retry: Option<RetryPolicy>,
    pub(super) budget: Option<ResultBudget>,
    pub(super) timeout: Option<Duration>,
    pub(super) idle_timeout: Option<Duration>,
    pub(super) grace_period: Duration,
    pub(super) event_buffer: usize,
    pub(super) max_detached: usize,
    pub(super) traces: Traces,
}

/// What spans tell beside names and ends.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Traces {
    pub(super) arguments: bool,
    pub(super) results: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            strategy: ExecutionStrategy::default(),
            parallel: true,
            finish: Finish::default(),
            plugins: Vec::new(),
            hooks: Vec::new(),
            after_answers: false,
            stops_on_hook_panic: false,
            external: None,
            rules: None,
            permission: None,
            approver: None,
            ask_later: false,
            confirmation_call: CONFIRMATION_CALL.to_owned(),
            retry: None,
            budget: None,
            timeout: None,
            idle_timeout: None,
            grace_period: GRACE_PERIOD,
            event_buffer: 256,
            max_detached: 64,
            traces: Traces::default(),
        }
    }
}

impl Settings {
    /// Whether somebody is asked about calls, whatever their tools.
    pub(super) fn asks_of_all(&self) -> bool {
        // An approver, since the body of any tool may ask.
        self.external.is_some()
            || self.rules.is_some()
            || self.permission.is_some()
            || self.approver.is_some()
    }

    /// The rules that do not do with `tools` what they were written for.
    pub(super) fn notices(&self, tools: &Registry) -> Vec<Notice> {
        let problems = self.rules.as_ref().map(|rules| rules.problems(tools));
        problems.into_iter().flatten().map(Notice::Rule).collect()
    }

    /// Whether anything but the tool's body looks at the arguments of its calls.
    pub(super) fn looks_at(&self, entry: &Entry) -> bool {
        let metadata = entry.definition().metadata();
        self.has_hooks()
            || self.rules.is_some()
            || self.permission.is_some()
            || self.approver.is_some()
            || metadata.permission
            || metadata.confirmation != Confirmation::Never
            || RetryPolicy::of(self.retry.as_ref(), entry).is_some()
            || self.traces.arguments
    }
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings")
            .field("strategy", &self.strategy)
            .field("parallel", &self.parallel)
            .field("finish", &self.finish)
            .field("hooks", &(self.plugins.len() + self.hooks.len()))
            .field("retry", &self.retry)
            .field("timeout", &self.timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("grace_period", &self.grace_period)
            .finish_non_exhaustive()
    }
}

/// The grace period where none is set.
const GRACE_PERIOD: Duration = Duration::from_secs(3);

/// The largest buffer of events: one that the memory does not hold ends the program.
const MOST_EVENTS: usize = 1 << 16;

/// Sets up an [`Executor`].
#[must_use = "nothing runs until `build`"]
pub struct ExecutorBuilder {
    tools: Registry,
    settings: Settings,
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
        self.settings.hooks.push(Hooked::new(hook));
        self
    }

    /// Adds a hook that runs before those added by [`hook`](Self::hook), in the whole program: what it
    /// answers, they are not asked.
    pub fn plugin(mut self, plugin: impl Hook + 'static) -> Self {
        self.settings.plugins.push(Hooked::new(plugin));
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

    /// Leaves calls of the tools for which `external` returns `true` to the caller, who [answers](Executor::answer)
    /// them. Such a call is neither run nor checked: no hook, permission or rule is applied to it, and its arguments are
    /// those of the model. [`Registry::check`](crate::Registry::check) validates them.
    pub fn external(mut self, external: impl Fn(&ToolDefinition) -> bool + Send + Sync + 'static) -> Self {
        self.settings.external = Some(Arc::new(external));
        self
    }

    /// Sets the rules, which are applied before hooks and policies, and again to arguments that a hook has rewritten. An
    /// `ask` among them is a permission: see [`ask_later`](Self::ask_later).
    pub fn rules(mut self, rules: Rules) -> Self {
        self.settings.rules = Some(rules);
        self
    }

    /// Sets the policy that decides which calls may run, after the `permission` of the tool. Default: all that their
    /// tools permit.
    pub fn permission(mut self, policy: impl PermissionPolicy + 'static) -> Self {
        self.settings.permission = Some(Arc::new(policy));
        self
    }

    /// Sets the approver, which decides on required approvals while the batch waits. Default: none, as
    /// [`Approver`] describes.
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.settings.approver = Some(Arc::new(approver));
        self
    }

    /// Sets whether a call is [pending](crate::Pending) if a permission or a rule is `Ask` and there is no approver.
    /// Default: `false`; the call is finished with the error
    /// [`ApprovalRequired`](tool_core::ErrorKind::ApprovalRequired), and cannot be resumed. A `confirm` and a question of
    /// the tool's body make a call pending in either case.
    pub fn ask_later(mut self, ask_later: bool) -> Self {
        self.settings.ask_later = ask_later;
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

    /// Sets how much of a result a model is given; all of it if nothing is said.
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
    /// If the strategy or a limit would keep calls from ever running, or the limits contradict each other; or
    /// if a rule compares an argument that none of the tools it fits has. A rule that fits no tool is one of
    /// the [`notices`](Executor::notices): tools may come later.
    pub fn build(self) -> Result<Executor, ExecutorError> {
        let Self { tools, settings, limits } = self;
        if settings.strategy == (ExecutionStrategy::Batched { size: 0 }) {
            return Err(ExecutorError::Strategy(InvalidStrategy));
        }
        if settings.max_detached == 0 {
            let what = "bodies that go on after their calls".to_owned();
            return Err(ExecutorError::Limits(LimitsError::Zero(what)));
        }
        let problems = settings.rules.as_ref().map(|rules| rules.problems(&tools)).unwrap_or_default();
        let errors: Vec<_> = problems.into_iter().filter(RuleProblem::is_error).collect();
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
