//! The guards of an executor: the components that decide on its calls, for the calls of another executor.

use std::{fmt, ptr, sync::Arc};

use tool_core::{ProvidedValues, ToolError};

use super::{
    Executor, ExecutorParts, RunSettings,
    settings::{External, Settings},
};
use crate::{
    Registry,
    hook::SharedHook,
    policy::{Approval, ApprovalHandle, Approver, SharedApprover, SharedPermissionPolicy},
};

/// The components of an executor that decide on its calls: rules, permission policies, hooks, the selection of external
/// calls, and the approver. For a tool that runs calls of its own, such as an agent: with the guards of its call, these
/// calls are no way around a rule. Cheap to clone.
///
/// The body of a call receives the guards of its executor by [`ToolContext::get`](crate::ToolContext::get).
///
/// # Examples
///
/// ```
/// use tool_runtime::{
///     Executor, ToolCall, executor::CallGuards, policy::{Rule, Rules}, prelude::*, registry::AvailableTools,
/// };
///
/// /// Removes a file.
/// #[tool(destructive)]
/// fn remove(path: String) -> String {
///     path
/// }
///
/// /// Calls another tool.
/// #[tool]
/// async fn forward(cx: &ToolContext, tools: &AvailableTools) -> Result<String, ToolError> {
///     let guards = cx.require::<CallGuards>()?;
///     let executor = Executor::new(tools.user_tools(|_| true)).with_guards(guards);
///     let outcomes = executor.run(vec![ToolCall::new("remove", json!({ "path": "/etc/hosts" }))]).await;
///     Ok(outcomes[0].result().map(|it| it.text().into_owned()).unwrap_or_default())
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let tools = Registry::builder().tool::<remove>().tool::<forward>().build()?;
/// let executor = Executor::builder(tools).rules(Rules::new([Rule::deny("remove")])).build()?;
/// let outcomes = executor.run(vec![ToolCall::new("forward", "{}")]).await;
/// assert_eq!(outcomes[0].result().unwrap().text(), "Denied: a rule denies it: remove");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
#[derive(Clone)]
pub struct CallGuards {
    settings: Arc<Settings>,
    extent: Extent,
}

/// The part of the settings that are guards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Extent {
    /// All guards of an executor, which decides on all approvals; without an approver, no one does now.
    Executor,
    /// The guards that the settings of a run add to those of any executor.
    Run,
    /// The plugins.
    Plugins,
}

/// Returns the values that the calls of an executor of `tools` with `settings` receive.
pub(super) fn provided_values(tools: &Registry, settings: &Arc<Settings>) -> Arc<ProvidedValues> {
    let mut provided = ProvidedValues::clone(tools.provided());
    provided.insert(Arc::new(CallGuards { settings: Arc::clone(settings), extent: Extent::Executor }));
    Arc::new(provided)
}

impl CallGuards {
    /// Returns the [plugins](super::ExecutorBuilder::plugin) alone, which concern all calls below a run; `None` if there are
    /// none.
    #[must_use]
    pub fn plugins(&self) -> Option<Self> {
        let plugins = || Self { settings: Arc::clone(&self.settings), extent: Extent::Plugins };
        (!self.settings.plugins.is_empty()).then(plugins)
    }

    /// Adds the guards to `settings`. A component that is there already is not added again.
    fn add_to(&self, settings: &mut Settings) {
        let guards = &self.settings;
        let plugins = guards.plugins.iter().filter(|it| !has_hook(settings, it)).cloned().collect::<Vec<_>>();
        settings.plugins.extend(plugins);
        settings.stops_on_hook_panic |= guards.stops_on_hook_panic;
        if self.extent == Extent::Plugins {
            return;
        }
        let hooks = guards.hooks.iter().filter(|it| !has_hook(settings, it)).cloned().collect::<Vec<_>>();
        // Last, so that they see the arguments as the hooks of the executor left them.
        settings.hooks.extend(hooks);
        settings.rules.extend(guards.rules.iter().cloned());
        for policy in &guards.policies {
            if !settings.policies.iter().any(|own| is_same_policy(own, policy)) {
                settings.policies.push(policy.clone());
            }
        }
        settings.external = external_in_either(guards.external.clone(), settings.external.take());
        self.add_approver(settings);
    }

    fn add_approver(&self, settings: &mut Settings) {
        if self.settings.approver.is_none() {
            // The own approver must not answer a question that the calls of the guards leave to a person.
            if self.extent == Extent::Executor {
                (settings.approver, settings.joined_approvers) = (None, Vec::new());
            }
            return;
        }
        let mut all = self.settings.single_approvers().to_vec();
        for own in settings.single_approvers() {
            if !all.iter().any(|guard| is_same_approver(guard, own)) {
                all.push(own.clone());
            }
        }
        settings.approver = Some(match &all[..] {
            [one] => one.clone(),
            _ => SharedApprover::new(AllApprovers(all.clone())),
        });
        settings.joined_approvers = all;
    }
}

/// The guards that the settings of a run add to those of any executor: hooks, rules, policies and the approver.
impl From<&RunSettings> for CallGuards {
    fn from(settings: &RunSettings) -> Self {
        let mut settings = settings.clone().applied_over(&Settings::default());
        settings.external = None;
        Self { settings: Arc::new(settings), extent: Extent::Run }
    }
}

impl fmt::Debug for CallGuards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallGuards").field("extent", &self.extent).finish_non_exhaustive()
    }
}

impl Executor {
    /// Returns the guards of this executor.
    #[must_use]
    pub fn guards(&self) -> CallGuards {
        CallGuards { settings: Arc::clone(&self.inner.settings), extent: Extent::Executor }
    }

    /// Derives an executor whose calls also pass `guards`: see [`CallGuards`].
    ///
    /// A denial of either applies, then an `ask` of either. Hooks of the guards run after those of this executor. A call
    /// that the guards leave to the caller is left to the caller here. If both have an approver, both must approve; if the
    /// guards are those of an executor without one, the calls that need an approval stay open, or fail, as there.
    ///
    /// Both executors share limits, listeners, open calls and [detached](Self::detached) bodies.
    #[must_use]
    pub fn with_guards(&self, guards: &CallGuards) -> Self {
        let inner = &*self.inner;
        let mut settings = Settings::clone(&inner.settings);
        guards.add_to(&mut settings);
        let settings = Arc::new(settings);
        let inner = ExecutorParts {
            tools: inner.tools.clone(),
            known: inner.known.clone(),
            provided: provided_values(&inner.tools, &settings),
            settings,
            limits: inner.limits.clone(),
            listeners: inner.listeners.clone(),
            open: Arc::clone(&inner.open),
            arrivals: Arc::clone(&inner.arrivals),
            detached: Arc::clone(&inner.detached),
            // A rule of the guards may be about tools that are not here.
            diagnostics: inner.diagnostics.clone(),
        };
        Self { inner: Arc::new(inner) }
    }
}

fn has_hook(settings: &Settings, hook: &SharedHook) -> bool {
    settings.all_hooks().any(|own| ptr::addr_eq(own.dynamic(), hook.dynamic()))
}

fn is_same_policy(one: &SharedPermissionPolicy, other: &SharedPermissionPolicy) -> bool {
    ptr::addr_eq(one.dynamic(), other.dynamic())
}

fn is_same_approver(one: &SharedApprover, other: &SharedApprover) -> bool {
    ptr::addr_eq(one.dynamic(), other.dynamic())
}

/// Returns a selection of the calls that either leaves to the caller.
fn external_in_either(guard: Option<External>, own: Option<External>) -> Option<External> {
    match (guard, own) {
        (Some(guard), Some(own)) if !Arc::ptr_eq(&guard, &own) => {
            Some(Arc::new(move |call| guard(call) || own(call)))
        }
        (guard, own) => guard.or(own),
    }
}

/// Approvers that must all approve a call, asked one after another.
struct AllApprovers(Vec<SharedApprover>);

impl Approver for AllApprovers {
    async fn ask(&self, request: &ApprovalHandle) -> Result<Approval, ToolError> {
        let mut decision = Approval::Approved;
        for approver in &self.0 {
            match approver.dynamic().ask(request).await? {
                Approval::Approved => {}
                // The payload of a later one answers the question.
                approved @ Approval::ApprovedWith(_) => decision = approved,
                other => return Ok(other),
            }
        }
        Ok(decision)
    }
}
