//! Reasons for which calls are not run to completion: the batch is cancelled, late or steered, or its run was stopped.

use tokio::time::Instant as Timed;
use tool_core::{ErrorKind, ToolError};

use super::{
    prepare::{EarlyAnswer, NextStep},
    settings::Settings,
    state::BatchState,
};
use crate::{CallOutcome, ToolResult, guard::Panic};

/// Returns the error by which a call of a batch [stopped](ToolError::stop) the run; `None` if none did. An agent loop
/// calls this function after each batch, and ends if it returns an error.
///
/// # Examples
///
/// ```
/// use tool_runtime::{Executor, ToolCall, executor::stop_error, prelude::*};
///
/// /// Hands over to a person.
/// #[tool]
/// fn hand_over() -> Result<(), ToolError> {
///     Err(ToolError::stop("a person takes over"))
/// }
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let executor = Executor::new(Registry::builder().tool::<hand_over>().build()?);
/// let outcomes = executor.run(vec![ToolCall::new("hand_over", "{}")]).await;
/// assert_eq!(stop_error(&outcomes).unwrap().reason(), "a person takes over");
/// # Ok::<(), anyhow::Error>(())
/// # })?;
/// # Ok::<(), anyhow::Error>(())
/// ```
pub fn stop_error<'a>(outcomes: impl IntoIterator<Item = &'a CallOutcome>) -> Option<&'a ToolError> {
    outcomes.into_iter().find_map(|outcome| stop_error_of(outcome.result()?))
}

/// Returns the error of a result that stops the run.
pub(super) fn stop_error_of(result: &ToolResult) -> Option<&ToolError> {
    result.outcome.as_ref().err().filter(|error| error.is_stop())
}

/// The reason for which calls are not run to completion.
#[derive(Debug, Clone)]
pub(super) enum StopReason {
    Cancelled,
    /// The run has no time left.
    DeadlinePassed,
    /// The run has a deadline, and there is no timer.
    NoTimer,
    Steered,
    /// The run was stopped by this error.
    RunStopped(ToolError),
    /// The steering panicked.
    SteeringPanicked(Panic),
}

impl StopReason {
    pub(super) fn error(self) -> ToolError {
        match self {
            Self::Cancelled => ToolError::cancelled(),
            Self::DeadlinePassed => ToolError::new(ErrorKind::TimedOut, "the run's time is over"),
            Self::NoTimer => {
                let message = "its run has a deadline, but there is no tokio runtime with a timer; \
                               call it within `#[tokio::main]`, or build the runtime with `enable_all`";
                ToolError::new(ErrorKind::Unavailable, message)
            }
            Self::Steered => ToolError::new(ErrorKind::Skipped, "a message of the user came first"),
            Self::RunStopped(stop) => {
                ToolError::new(ErrorKind::Skipped, with_reason("the run was stopped", &stop.reason()))
            }
            Self::SteeringPanicked(panic) => {
                ToolError::new(ErrorKind::Skipped, format!("the steering of the batch {panic}"))
            }
        }
    }
}

fn with_reason(prefix: &str, reason: &str) -> String {
    if reason.is_empty() { prefix.to_owned() } else { format!("{prefix}: {reason}") }
}

impl BatchState {
    /// Returns the reason for which no further call may be started.
    pub(super) fn stop_reason(&self) -> Option<StopReason> {
        if self.token.is_cancelled() {
            return Some(StopReason::Cancelled);
        }
        match (self.stop_error(), self.deadline) {
            (Some(stop), _) => Some(StopReason::RunStopped(stop.clone())),
            (None, Some((_, false))) => Some(StopReason::NoTimer),
            (None, Some((end, true))) if end <= Timed::now() => Some(StopReason::DeadlinePassed),
            _ => None,
        }
    }

    /// Returns the error by which the run was stopped.
    #[inline]
    pub(super) fn stop_error(&self) -> Option<&ToolError> {
        match &self.run {
            Some(run) => run.stopped(),
            None => self.stop_error.get(),
        }
    }

    /// Stops the run if `error` of the call of `tool` is a stop: no further call is started.
    #[inline]
    pub(super) fn stop_on_error(&self, error: &ToolError, tool: &str) {
        if error.is_stop() {
            let stop = error.clone().of_tool(tool.to_owned());
            match &self.run {
                Some(run) => run.stop(stop),
                None => drop(self.stop_error.set(stop)),
            }
        }
    }

    /// Stops the run if a step of the call of `tool` is a stop, before later calls are prepared.
    pub(super) fn stop_on_step(&self, step: &NextStep<'_>, tool: &str) {
        if let NextStep::NotAdmitted(error) | NextStep::Answered(EarlyAnswer { outcome: Err(error), .. }) =
            step
        {
            self.stop_on_error(error, tool);
        }
    }

    /// Returns the reason for which a call that was due has no answer.
    pub(super) fn reason_of_unanswered(&self) -> StopReason {
        match self.stop_error() {
            Some(stop) if !self.token.is_cancelled() => StopReason::RunStopped(stop.clone()),
            _ => StopReason::Cancelled,
        }
    }
}

impl Settings {
    /// Returns the error of a call whose hook panicked with `error`.
    pub(super) fn hook_panic_error(&self, error: ToolError) -> ToolError {
        match self.stops_on_hook_panic {
            true => ToolError::stop(error.reason().into_owned()),
            false => error,
        }
    }
}
