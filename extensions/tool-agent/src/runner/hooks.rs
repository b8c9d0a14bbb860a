//! Calls of hooks: inside the panic barrier, until the run is cancelled or its time is over.

use std::{ops::ControlFlow, sync::Arc};

use tool_runtime::{ErrorKind, ToolError};

use super::{
    End,
    ask::Failure,
    drive::{Drive, failed, over, stopped},
};
use crate::{
    Message,
    guard::guarded,
    hook::{BoxAgentHook, StepEnd},
    model::Response,
};

impl Drive {
    /// All hooks: those of the runner, then those of the agent.
    pub(super) fn hooks(&self) -> Vec<BoxAgentHook> {
        self.runner.0.hooks.iter().chain(&self.agent().0.hooks).cloned().collect()
    }

    pub(super) fn step_end(&self, number: u64, response: &Response, results: Option<Message>) -> StepEnd {
        let (response, run, beside) = (response.clone(), Arc::clone(&self.run), self.beside.clone());
        StepEnd { number, response, results, run, beside }
    }

    /// Calls a method of a hook before the response of a round.
    pub(super) async fn of_hook<T, F: Future<Output = Result<T, ToolError>>>(
        &self,
        hook: &BoxAgentHook,
        asked: impl FnOnce() -> F,
    ) -> Result<T, Failure> {
        let panicked = |message| ToolError::new(ErrorKind::Panicked, format!("it panicked: {message}"));
        let result = self.unless_over(guarded(asked, panicked)).await?;
        result.map_err(|error| match error.is_stop() {
            true => Failure::Hook(error),
            false => Failure::Hook(error_of(hook, &error)),
        })
    }

    /// Calls a method of a hook after the response of a round.
    pub(super) async fn hooked<T, F: Future<Output = Result<T, ToolError>>>(
        &self,
        hook: &BoxAgentHook,
        asked: impl FnOnce() -> F,
    ) -> ControlFlow<End, T> {
        match self.of_hook(hook, asked).await {
            Ok(answer) => ControlFlow::Continue(answer),
            Err(Failure::Hook(error)) if error.is_stop() => stopped(&error),
            Err(Failure::Hook(error)) => failed(error.reason().into_owned()),
            Err(failure) => over(&failure),
        }
    }
}

/// The error of a hook, with its name.
fn error_of(hook: &BoxAgentHook, error: &ToolError) -> ToolError {
    ToolError::new(error.kind(), format!("the hook `{}` failed: {}", hook.name(), error.reason()))
}
