//! Settings of one run, which override those of its executor.

use std::{fmt, future::Future, sync::Arc, time::Duration};

use tool_core::{Permission, RunContext, ToolError, ToolOutput};

use super::{
    Executor, ExecutorParts,
    build::{ExecutionStrategy, ExecutorError, Finish, InvalidStrategy},
    guards::provided_values,
    journal::SharedCallJournal,
    settings::{External, Settings},
};
use crate::{
    ToolResult,
    diagnostic::Severity,
    hook::{Before, CallHandle, CallView, Hook, SharedHook, stages},
    policy::{
        Approval, ApprovalHandle, Approver, PermissionPolicy, ResultBudget, RetryPolicy, Rules,
        SharedApprover, SharedPermissionPolicy, decider,
    },
    schema::Repair,
    toolbox::Visibility,
};

/// Settings of one run, which override those of its executor: see [`Executor::with_settings`].
///
/// Rules and permission policies apply in addition to the executor's: both must allow a call. Hooks run after the
/// executor's. All other settings replace the executor's. [`Limits`](crate::policy::Limits), `max_detached` and
/// `event_buffer` protect the process, and cannot be set for a run.
///
/// # Examples
///
/// ```standalone_crate
/// use tool_runtime::{
///     Executor, Registry, RunContext, executor::RunSettings,
///     policy::{Rule, Rules},
///     schema::Repair, toolbox::Visibility,
/// };
///
/// let executor = Executor::builder(Registry::builder().build()?).build()?;
/// let run = RunContext::new().with_user("u-7");
/// let settings = RunSettings::new()
///     .rules(Rules::new([Rule::ask("pay")]))
///     .repair(Repair::ReadOnlyTools)
///     .show(Visibility::all().except(["shell"]))
///     .finished(|call, result| async move { println!("{}: {}", call.tool(), result.is_error()) });
/// let of_run = executor.with_settings(&run, settings)?;
/// let batch = of_run.batch(Vec::new()).with_run(run);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Default)]
#[must_use = "settings do nothing until an executor is derived with them"]
pub struct RunSettings {
    hooks: Vec<SharedHook>,
    rules: Vec<Rules>,
    policies: Vec<SharedPermissionPolicy>,
    external: Option<External>,
    approver: Option<SharedApprover>,
    journal: Option<SharedCallJournal>,
    retry: Option<RetryPolicy>,
    confirmation_call: Option<String>,
    visibility: Option<Visibility>,
    repair: Option<Repair>,
    strict: Option<bool>,
    unshared_open_calls: bool,
    replaced: Replaced,
}

/// Defines a method and a field for each setting that replaces the executor's without conversion.
macro_rules! replaced {
    ($($(#[$doc:meta])+ $name:ident: $type:ty => |$settings:ident| $place:expr;)+) => {
        #[derive(Clone, Default)]
        struct Replaced {
            $($name: Option<$type>,)+
        }

        impl Replaced {
            fn apply(&self, settings: &mut Settings) {
                $(if let Some(value) = &self.$name {
                    let $settings = &mut *settings;
                    $place = value.clone().into();
                })+
            }
        }

        impl RunSettings {
            $($(#[$doc])+
            pub fn $name(mut self, $name: $type) -> Self {
                self.replaced.$name = Some($name);
                self
            })+
        }
    };
}

replaced! {
    /// Sets the strategy: see [`ExecutorBuilder::strategy`](crate::executor::ExecutorBuilder::strategy).
    strategy: ExecutionStrategy => |it| it.strategy;
    /// Sets whether calls may run concurrently: see
    /// [`ExecutorBuilder::parallel`](crate::executor::ExecutorBuilder::parallel).
    parallel: bool => |it| it.parallel;
    /// Sets when calls are finished: see [`ExecutorBuilder::finish`](crate::executor::ExecutorBuilder::finish).
    finish: Finish => |it| it.finish;
    /// Sets whether [`Hook::after`] is called for answers of hooks: see
    /// [`ExecutorBuilder::after_answers`](crate::executor::ExecutorBuilder::after_answers).
    after_answers: bool => |it| it.after_answers;
    /// Sets whether a panic of a hook stops the run: see
    /// [`ExecutorBuilder::stop_on_hook_panic`](crate::executor::ExecutorBuilder::stop_on_hook_panic).
    stop_on_hook_panic: bool => |it| it.stops_on_hook_panic;
    /// Sets whether required approvals make calls pending: see
    /// [`ExecutorBuilder::pending_approvals`](crate::executor::ExecutorBuilder::pending_approvals).
    pending_approvals: bool => |it| it.pending_approvals;
    /// Sets whether the arguments of all calls are run as they are, since their tools prepared them before.
    #[doc(hidden)]
    prepared_calls: bool => |it| it.prepared_calls;
    /// Sets whether a call is one attempt, whatever the retry policies of executor and tools are: another process retries.
    #[doc(hidden)]
    single_attempt: bool => |it| it.single_attempt;
    /// Sets whether streams leave out the starts and ends of calls that nothing else receives, for a reader of what bodies report.
    #[doc(hidden)]
    streams_reports: bool => |it| it.streams_reports;
    /// Sets the timeout of an attempt: see [`ExecutorBuilder::timeout`](crate::executor::ExecutorBuilder::timeout).
    timeout: Duration => |it| it.timeout;
    /// Sets the idle timeout of an attempt: see
    /// [`ExecutorBuilder::idle_timeout`](crate::executor::ExecutorBuilder::idle_timeout).
    idle_timeout: Duration => |it| it.idle_timeout;
    /// Sets the grace period of a cancelled batch: see
    /// [`ExecutorBuilder::grace_period`](crate::executor::ExecutorBuilder::grace_period).
    grace_period: Duration => |it| it.grace_period;
    /// Sets the size limit of results: see [`ExecutorBuilder::budget`](crate::executor::ExecutorBuilder::budget).
    budget: ResultBudget => |it| it.budget;
    /// Sets whether spans include arguments: see
    /// [`ExecutorBuilder::trace_arguments`](crate::executor::ExecutorBuilder::trace_arguments).
    trace_arguments: bool => |it| it.traces.arguments;
    /// Sets whether spans include results: see
    /// [`ExecutorBuilder::trace_results`](crate::executor::ExecutorBuilder::trace_results).
    trace_results: bool => |it| it.traces.results;
}

impl RunSettings {
    /// Creates settings that change nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a hook, which runs after those of the executor. See
    /// [`ExecutorBuilder::hook`](crate::executor::ExecutorBuilder::hook).
    ///
    /// The hook may rewrite arguments after the hooks of the executor have seen them. Implement guards of the executor
    /// as [rules](crate::executor::ExecutorBuilder::rules) or [policies](crate::executor::ExecutorBuilder::permission),
    /// which are evaluated on the arguments that run: see [`Hook::before`].
    pub fn hook(mut self, hook: impl Hook + 'static) -> Self {
        self.hooks.push(SharedHook::new(hook));
        self
    }

    stages!();

    /// Adds rules, which apply in addition to the executor's. A denial of either applies, then an `ask` of either.
    pub fn rules(mut self, rules: Rules) -> Self {
        self.rules.push(rules);
        self
    }

    /// Adds a permission policy, which applies in addition to the executor's. A denial of either applies, then an `ask`
    /// of either.
    pub fn permission(mut self, policy: impl PermissionPolicy + 'static) -> Self {
        self.policies.push(SharedPermissionPolicy::new(policy));
        self
    }

    decider! {
        /// Adds a [permission policy](Self::permission) that is an asynchronous closure.
        permission_fn: permission(PermitsBy, CallHandle) -> Permission
    }

    /// Sets the approver: see [`ExecutorBuilder::approver`](crate::executor::ExecutorBuilder::approver).
    pub fn approver(mut self, approver: impl Approver + 'static) -> Self {
        self.approver = Some(SharedApprover::new(approver));
        self
    }

    decider! {
        /// Sets the [approver](Self::approver) to an asynchronous closure.
        approver_fn: approver(Approves, ApprovalHandle) -> Approval
    }

    /// Sets the journal of calls: see [`ExecutorBuilder::journal`](crate::executor::ExecutorBuilder::journal).
    pub fn journal(mut self, journal: impl Into<SharedCallJournal>) -> Self {
        self.journal = Some(journal.into());
        self
    }

    /// Sets which calls are left to the caller: see
    /// [`ExecutorBuilder::external`](crate::executor::ExecutorBuilder::external).
    pub fn external(mut self, external: impl Fn(&CallView<'_>) -> bool + Send + Sync + 'static) -> Self {
        self.external = Some(Arc::new(external));
        self
    }

    /// Sets the name of the virtual confirmation call: see
    /// [`ExecutorBuilder::confirmation_call`](crate::executor::ExecutorBuilder::confirmation_call).
    pub fn confirmation_call(mut self, name: impl Into<String>) -> Self {
        self.confirmation_call = Some(name.into());
        self
    }

    /// Sets the retry policy: see [`ExecutorBuilder::retry`](crate::executor::ExecutorBuilder::retry).
    pub fn retry(mut self, policy: impl Into<RetryPolicy>) -> Self {
        self.retry = Some(policy.into());
        self
    }

    /// Sets which tools may run on repaired arguments. Default: the setting
    /// [`RegistryBuilder::repair`](crate::registry::RegistryBuilder::repair).
    pub fn repair(mut self, repair: Repair) -> Self {
        self.repair = Some(repair);
        self
    }

    /// Sets whether arguments that require coercion are refused. The setting of a tool takes precedence. Default: the
    /// setting [`RegistryBuilder::strict`](crate::registry::RegistryBuilder::strict).
    pub fn strict(mut self, strict: bool) -> Self {
        self.strict = Some(strict);
        self
    }

    /// Sets whether the derived executor has open calls of its own, which are gone with it: another process owns them, and answers them there.
    #[doc(hidden)]
    pub fn unshared_open_calls(mut self, unshared: bool) -> Self {
        self.unshared_open_calls = unshared;
        self
    }

    /// Sets which tools of the executor the run has. Calls of all others are answered as unknown, except resumed ones.
    /// Tools of the [framework](crate::toolbox::Origin::Framework) and [external](crate::toolbox::Origin::External)
    /// tools are never hidden. Default: all tools.
    pub fn show(mut self, visibility: Visibility) -> Self {
        self.visibility = Some(visibility);
        self
    }

    /// Returns the settings of a run whose executor has `settings`.
    pub(super) fn applied_over(self, settings: &Settings) -> Settings {
        let mut settings = settings.clone();
        self.replaced.apply(&mut settings);
        settings.hooks.extend(self.hooks);
        settings.rules.extend(self.rules);
        settings.policies.extend(self.policies);
        settings.external = self.external.or(settings.external);
        if self.approver.is_some() {
            (settings.approver, settings.joined_approvers) = (self.approver, Vec::new());
        }
        settings.journal = self.journal.or(settings.journal);
        settings.retry = self.retry.or(settings.retry);
        settings.confirmation_call = self.confirmation_call.unwrap_or(settings.confirmation_call);
        settings
    }
}

impl fmt::Debug for RunSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunSettings")
            .field("hooks", &self.hooks)
            .field("rules", &self.rules)
            .field("policies", &self.policies)
            .field("visibility", &self.visibility)
            .field("repair", &self.repair)
            .field("strict", &self.strict)
            .finish_non_exhaustive()
    }
}

impl Executor {
    /// Derives an executor with `settings` over those of this one, for `run` or for a single request of it.
    ///
    /// The visibility in the settings is evaluated for `run`; calls are assigned to it by
    /// [`Batch::with_run`](crate::executor::Batch::with_run), as for any executor. Both executors share limits,
    /// listeners, open calls and [detached](Self::detached) bodies: either can answer or resume a call that the other
    /// left open. [`diagnostics`](Self::diagnostics) lists rules without effect on the visible tools.
    ///
    /// # Errors
    ///
    /// Returns an error if the strategy would never let a call run, or a rule of the settings compares an argument that
    /// none of its tools has.
    ///
    /// # Examples
    ///
    /// A request for which the model has a part of the tools of its run:
    ///
    /// ```
    /// use tool_runtime::{
    ///     Executor, RunContext, ToolCall, executor::RunSettings, prelude::*, toolbox::Visibility,
    /// };
    ///
    /// /// Opens a page.
    /// #[tool(tags("front_end"))]
    /// fn open_page(url: String) {}
    ///
    /// /// Adds two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let tools = Registry::builder().tool::<open_page>().tool::<add>().build()?;
    /// let executor = Executor::builder(tools).external(|call| call.tool() == "open_page").build()?;
    /// let run = RunContext::new();
    /// executor.run(vec![ToolCall::new("open_page", json!({ "url": "a.example" })).with_id("call_1")]).await;
    ///
    /// let sums = executor.with_settings(&run, RunSettings::new().show(Visibility::all().only(["add"])))?;
    /// assert_eq!(sums.tools().len(), 1);
    /// assert_eq!(sums.submit_result("call_1", Ok("opened".into())).await?.text(), "opened");
    /// assert!(executor.open_calls().await?.is_empty());
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn with_settings(&self, run: &RunContext, settings: RunSettings) -> Result<Self, ExecutorError> {
        if settings.replaced.strategy == Some(ExecutionStrategy::Batched { size: 0 }) {
            return Err(ExecutorError::Strategy(InvalidStrategy));
        }
        let inner = &*self.inner;
        let diagnostics = settings.rules.iter().flat_map(|rules| rules.diagnostics(&inner.tools));
        let errors: Vec<_> = diagnostics.filter(|it| it.severity() == Severity::Error).collect();
        if !errors.is_empty() {
            return Err(ExecutorError::Rules(errors));
        }
        let (coercion, repair) = (settings.strict.map(|strict| !strict), settings.repair);
        let is_lenient = |tools: &crate::Registry| match coercion.is_some() || repair.is_some() {
            true => tools.with_lenience(coercion, repair),
            false => tools.clone(),
        };
        let (known, all) = (is_lenient(&inner.known), is_lenient(&inner.tools));
        let (tools, hidden) = match &settings.visibility {
            Some(visibility) => visibility.apply_to_registry(run.read_only(), &all),
            None => (all, Vec::new()),
        };
        let open = match settings.unshared_open_calls {
            true => Arc::new(inner.open.unshared()),
            false => Arc::clone(&inner.open),
        };
        let settings = Arc::new(settings.applied_over(&inner.settings));
        let mut diagnostics = settings.diagnostics(&tools);
        diagnostics.extend(hidden);
        let inner = ExecutorParts {
            known,
            provided: provided_values(&tools, &settings),
            settings,
            tools,
            limits: inner.limits.clone(),
            listeners: inner.listeners.clone(),
            open,
            arrivals: Arc::clone(&inner.arrivals),
            detached: Arc::clone(&inner.detached),
            diagnostics,
        };
        Ok(Self { inner: Arc::new(inner) })
    }
}
