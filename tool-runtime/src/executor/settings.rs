//! The settings of an executor.

use std::{fmt, sync::Arc, time::Duration};

use tool_core::{Confirmation, Retry, ToolDefinition};

use super::build::{ExecutionStrategy, Finish};
use super::{journal::SharedCallJournal, open::OpenCallSettings};
use crate::{
    Registry, ToolResult,
    hook::{CallView, SharedHook},
    policy::{CONFIRMATION_CALL, ResultBudget, RetryPolicy, Rules, SharedApprover, SharedPermissionPolicy},
    registry::Entry,
    toolbox::RunDiagnostic,
};

/// The default grace period.
const GRACE_PERIOD: Duration = Duration::from_secs(3);

/// Decides which calls are left to the caller.
pub(super) type External = Arc<dyn Fn(&CallView<'_>) -> bool + Send + Sync>;

#[derive(Clone)]
pub(super) struct Settings {
    pub(super) strategy: ExecutionStrategy,
    pub(super) parallel: bool,
    pub(super) finish: Finish,
    pub(super) plugins: Vec<SharedHook>,
    pub(super) hooks: Vec<SharedHook>,
    pub(super) after_answers: bool,
    pub(super) stops_on_hook_panic: bool,
    pub(super) external: Option<External>,
    /// All of them must allow a call.
    pub(super) rules: Vec<Rules>,
    /// All of them must allow a call.
    pub(super) policies: Vec<SharedPermissionPolicy>,
    pub(super) approver: Option<SharedApprover>,
    /// The approvers of which `approver` consists, if they were joined.
    pub(super) joined_approvers: Vec<SharedApprover>,
    pub(super) pending_approvals: bool,
    pub(super) confirmation_call: String,
    pub(super) retry: Option<RetryPolicy>,
    pub(super) budget: Option<ResultBudget>,
    pub(super) timeout: Option<Duration>,
    pub(super) idle_timeout: Option<Duration>,
    pub(super) grace_period: Duration,
    pub(super) open: OpenCallSettings,
    pub(super) journal: Option<SharedCallJournal>,
    /// The arguments of all calls were prepared by their tools before, and are run as they are.
    pub(super) prepared_calls: bool,
    /// A call is one attempt, whatever the retry policies are.
    pub(super) single_attempt: bool,
    /// Streams leave out the starts and ends of calls.
    pub(super) streams_reports: bool,
    pub(super) event_buffer: usize,
    pub(super) max_detached: usize,
    pub(super) traces: Traces,
}

/// The optional contents of spans.
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
            rules: Vec::new(),
            policies: Vec::new(),
            approver: None,
            joined_approvers: Vec::new(),
            pending_approvals: false,
            confirmation_call: CONFIRMATION_CALL.to_owned(),
            retry: None,
            budget: None,
            timeout: None,
            idle_timeout: None,
            grace_period: GRACE_PERIOD,
            open: OpenCallSettings::default(),
            journal: None,
            prepared_calls: false,
            single_attempt: false,
            streams_reports: false,
            event_buffer: 256,
            max_detached: 64,
            traces: Traces::default(),
        }
    }
}

impl Settings {
    pub(super) fn all_hooks(&self) -> impl Iterator<Item = &SharedHook> {
        self.plugins.iter().chain(&self.hooks)
    }

    pub(super) fn has_hooks(&self) -> bool {
        !self.plugins.is_empty() || !self.hooks.is_empty()
    }

    /// Returns the approvers that decide on an approval, one after another.
    pub(super) fn single_approvers(&self) -> &[SharedApprover] {
        match &self.joined_approvers[..] {
            [] => self.approver.as_slice(),
            joined => joined,
        }
    }

    /// Returns `true` if a component inspects all calls, also those of unknown tools.
    pub(super) fn inspects_all_calls(&self) -> bool {
        self.external.is_some() || !self.rules.is_empty() || self.journal.is_some()
    }

    /// Returns the retry of a tool's calls; `None` if they have one attempt.
    pub(super) fn retry_of_tool(&self, entry: &Entry) -> Option<Retry> {
        match self.single_attempt {
            true => None,
            false => RetryPolicy::retry_of_tool(self.retry.as_ref(), entry),
        }
    }

    /// Returns diagnostics about rules without effect on `tools`.
    pub(super) fn diagnostics(&self, tools: &Registry) -> Vec<RunDiagnostic> {
        self.rules.iter().flat_map(|rules| rules.diagnostics(tools)).map(RunDiagnostic::Rule).collect()
    }

    /// Returns `true` if the arguments of a tool's calls are made a canonical text from which the body is then prepared: a component
    /// other than the body inspects them, or the tool changes them. In other calls, the question of a body is asked with the same text,
    /// made at that time.
    pub(super) fn inspects_arguments(&self, entry: &Entry) -> bool {
        let metadata = entry.definition().metadata();
        self.has_hooks()
            || !self.rules.is_empty()
            || !self.policies.is_empty()
            || metadata.permission
            || metadata.confirmation != Confirmation::Never
            || self.retry_of_tool(entry).is_some()
            || self.traces.arguments
            // Its intents contain the hash of the canonical text.
            || self.journal.is_some()
            // Each time perhaps in another way: a person reads, and a span hides, what the body received.
            || entry.has_preparation()
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

/// Applies the settings of the tool and the executor for every result: `skip_summarization`, and the size limit.
#[inline]
pub(super) fn apply_result_settings(
    settings: &Settings,
    definition: Option<&ToolDefinition>,
    result: &mut ToolResult,
) {
    let Some(metadata) = definition.map(ToolDefinition::metadata) else { return };
    if metadata.skip_summarization {
        skip_summarization(result);
    }
    if let Some(budget) = &settings.budget {
        budget.truncate_result(result, metadata.max_result_size);
    }
}

/// Adds `skip_summarization` to the actions of the result.
fn skip_summarization(result: &mut ToolResult) {
    // A model must read failures.
    if let Ok(output) = &mut result.outcome
        && !output.is_failure()
    {
        let mut actions = output.actions().cloned().unwrap_or_default();
        actions.skip_summarization = true;
        *output = std::mem::take(output).with_actions(actions);
    }
}
