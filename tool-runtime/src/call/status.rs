//! The outcome of a call as one word, for programs.

use serde::{Deserialize, Serialize};
use tool_core::ErrorKind;

use super::ToolResult;

/// The outcome of a call as one word: see [`ToolResult::status`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResultStatus {
    /// The tool returned a result.
    Success,
    /// The call failed, was not permitted, or had invalid arguments, or the output reports a failure.
    Failed,
    /// The call was cancelled, or was skipped because of an earlier event.
    Cancelled,
    /// The call exceeded its time limit, or its run had no time left.
    Timeout,
}

impl ToolResult {
    /// Returns the outcome as one word, for programs; [`code`](Self::code) is more specific.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{ErrorKind, ToolError, ToolResult, call::ResultStatus};
    ///
    /// let late = ToolError::new(ErrorKind::TimedOut, "no result after 5s");
    /// let result = ToolResult::new("call_1".into(), "fetch", Err(late));
    /// assert_eq!((result.status(), result.code()), (ResultStatus::Timeout, Some("timed_out")));
    /// ```
    #[must_use]
    pub fn status(&self) -> ResultStatus {
        match self.outcome.as_ref().map_err(tool_core::ToolError::kind) {
            Ok(output) if !output.is_failure() => ResultStatus::Success,
            Err(ErrorKind::Cancelled | ErrorKind::Skipped) => ResultStatus::Cancelled,
            Err(ErrorKind::TimedOut) => ResultStatus::Timeout,
            _ => ResultStatus::Failed,
        }
    }

    /// Returns the code of a failed call: the [name](ErrorKind::name) of its error kind, or `result` if the output of
    /// the tool reports a failure; `None` for a success. A code of the tool's own, such as the exit code of a process,
    /// belongs in the [details](Self::details).
    #[must_use]
    pub fn code(&self) -> Option<&'static str> {
        match &self.outcome {
            Ok(output) => output.is_failure().then_some("result"),
            Err(error) => Some(error.kind().name()),
        }
    }
}
