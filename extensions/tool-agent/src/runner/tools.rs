//! The tools of a run: listed for each round, and executed with the settings of the run.

use std::{collections::HashSet, ops::ControlFlow};

use tool_runtime::{
    Executor,
    executor::{ExecutorError, Finish, RunSettings},
    toolbox::RunDiagnostic,
};

use super::{
    flow::{Flow, end_as_failed},
    journal::SessionJournal,
    scope::RunScope,
};
use crate::hook::Step;

/// The tools of a run.
#[derive(Default)]
pub(super) struct RunTools {
    /// The diagnostics that were reported so far.
    reported: HashSet<String>,
}

impl RunTools {
    /// Returns the executor with the tools of this round, and reports the tools that it lost.
    pub(super) async fn list_for_round(&mut self, scope: &RunScope) -> Flow<Executor> {
        let (executor, diagnostics) = match scope.wait_unless_interrupted(scope.list_tools()).await {
            Ok(Ok(listed)) => listed,
            Ok(Err(error)) => return end_as_failed(error.to_string()),
            Err(interruption) => return interruption.end(),
        };
        for diagnostic in diagnostics {
            self.report_once(scope, &diagnostic).await;
        }
        for name in scope.replaced_tool_names() {
            let text = format!(
                "the tool `{name}` of the agent is hidden by a tool of this name that it receives; rename it"
            );
            if self.reported.insert(text.clone()) {
                scope.emit_notice(text).await;
            }
        }
        ControlFlow::Continue(executor)
    }

    /// Reports a diagnostic about the tools, once in a run: as a notice, and in the log.
    async fn report_once(&mut self, scope: &RunScope, diagnostic: &RunDiagnostic) {
        let text = diagnostic.to_string();
        if self.reported.insert(text.clone()) {
            let agent = scope.agent.name();
            tracing::warn!(agent, code = diagnostic.code(), diagnostic = ?text, "tools of a run");
            scope.emit_notice(text).await;
        }
    }
}

/// Returns the executor of the tools of `step`, which a hook may have changed, with the settings of the run.
pub(super) fn executor_of_step(scope: &RunScope, step: &Step, executor: Executor) -> Flow<Executor> {
    let has_changed = !step.request.tools.is_same(executor.tools());
    let executor = match has_changed {
        true => executor.with_tools(step.request.tools.clone()),
        false => Ok(executor),
    };
    match executor.and_then(|executor| with_run_settings(scope, executor)) {
        Ok(executor) => ControlFlow::Continue(executor),
        Err(error) => end_as_failed(error.to_string()),
    }
}

/// Derives the executor whose approvals are answered by the handle of the run, whose spans have the content of the agent's,
/// whose calls are in the journal of the session, and pass the guards of the runs above.
pub(super) fn with_run_settings(scope: &RunScope, executor: Executor) -> Result<Executor, ExecutorError> {
    if scope.additions.has_guards() {
        let executor = scope.additions.with_inherited_guards(executor);
        let executor = with_agent_settings(scope, executor)?;
        return Ok(scope.additions.with_guards(executor));
    }
    with_agent_settings(scope, executor)
}

fn with_agent_settings(scope: &RunScope, executor: Executor) -> Result<Executor, ExecutorError> {
    let agent = &scope.agent.0;
    let writer = scope.writer.get().filter(|writer| !writer.has_own_store());
    if !agent.trace_content && !agent.approvals_by_handle && writer.is_none() {
        return Ok(executor);
    }
    let mut settings = RunSettings::new();
    if let Some(writer) = writer {
        let origin = scope.member.as_ref().map(|member| &member.origin);
        // Each call is finished as it ends, so that a crash loses the unfinished ones only.
        settings = settings
            .journal(SessionJournal::new(writer, origin, &scope.parent, &executor))
            .finish(Finish::AsCompleted);
    }
    if agent.trace_content {
        settings = settings.trace_arguments(true).trace_results(true);
    }
    if agent.approvals_by_handle {
        settings = settings.approver(scope.parent.approver().clone());
    }
    executor.with_settings(&scope.run, settings)
}
