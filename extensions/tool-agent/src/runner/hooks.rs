//! The hooks of a run: called inside the panic barrier, until the run is cancelled or its time is over.

use std::{ops::ControlFlow, sync::Arc};

use tool_runtime::{ErrorKind, ToolError, guard::catch_async};

use super::{
    EndReason,
    flow::{Flow, RoundFailure, end_with},
    scope::RunScope,
};
use crate::{
    Agent, Message, RunUsage,
    hook::{HookRequests, SharedAgentHook, StepEnd},
    model::Response,
};

/// The hooks of a run: those of the runner, then those of the agent.
pub(super) struct HookChain {
    hooks: Vec<SharedAgentHook>,
    /// The requests that the hooks make themselves.
    pub(super) requests: HookRequests,
}

impl HookChain {
    pub(super) fn new(of_runner: &[SharedAgentHook], agent: &Agent) -> Self {
        let hooks = of_runner.iter().chain(&agent.0.hooks).cloned().collect();
        Self { hooks, requests: HookRequests::new(agent.traced()) }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &SharedAgentHook> {
        self.hooks.iter()
    }

    pub(super) fn step_end(
        &self,
        scope: &RunScope,
        usage: RunUsage,
        number: u64,
        response: &Response,
        results: Option<Message>,
    ) -> StepEnd {
        let (response, run, hook_requests) =
            (response.clone(), Arc::clone(&scope.run), self.requests.clone());
        StepEnd { number, response, results, run, usage: Arc::new(scope.total_usage(usage)), hook_requests }
    }

    /// Ends the run if a hook does so after a round with calls.
    pub(super) async fn after_step(&self, scope: &RunScope, end: &StepEnd) -> Flow {
        for hook in &self.hooks {
            match call_hook(scope, hook, || hook.dynamic().after_step(end)).await {
                Ok(ControlFlow::Continue(())) => {}
                Ok(ControlFlow::Break(())) => return end_with(EndReason::HookStopped),
                Err(failure) => return failure.end(),
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns the message of the first hook that continues the run after its answer.
    pub(super) async fn before_end(&self, scope: &RunScope, end: &StepEnd) -> Flow<Option<Message>> {
        for hook in &self.hooks {
            match call_hook(scope, hook, || hook.dynamic().before_end(end)).await {
                Ok(None) => {}
                Ok(Some(message)) => return ControlFlow::Continue(Some(message)),
                Err(failure) => return failure.end(),
            }
        }
        ControlFlow::Continue(None)
    }
}

/// Calls a method of `hook`.
pub(super) async fn call_hook<T, F: Future<Output = Result<T, ToolError>>>(
    scope: &RunScope,
    hook: &SharedAgentHook,
    call: impl FnOnce() -> F,
) -> Result<T, RoundFailure> {
    let panicked = |panic| Err(ToolError::new(ErrorKind::Panicked, format!("it {panic}")));
    let result = scope.wait_unless_interrupted(catch_async(call)).await?.unwrap_or_else(panicked);
    result.map_err(|error| match error.is_stop() {
        true => RoundFailure::Hook(error),
        false => RoundFailure::Hook(error_naming_hook(hook, &error)),
    })
}

/// Returns the error of a hook with its name.
fn error_naming_hook(hook: &SharedAgentHook, error: &ToolError) -> ToolError {
    ToolError::new(error.kind(), format!("the hook `{}` failed: {}", hook.name(), error.reason()))
}
