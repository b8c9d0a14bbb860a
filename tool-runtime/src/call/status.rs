//! The outcome of a call in one word, for programs.

use serde::{Deserialize, Serialize};
use tool_core::ErrorKind;

use super::ToolResult;

/// The outcome of a call in one word: see [`ToolResult::status`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ResultStatus {
    /// The tool gave a result.
    Success,
    /// The call failed, was not permitted or did not fit, or the result tells of a failure.
    Failed,
    /// The call was cancelled, or something else came first, so that it was not run.
    Cancelled,
    /// The call took too long, or its run had no time left.
    Timeout,
}

impl ToolResult {
    /// Returns the outcome in one word, for programs; [`code`](Self::code) says more.
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

    /// Returns the code of a call that failed: the [name](ErrorKind::name) of the kind of its error, or `result` where
    /// the tool gave a result that tells of a failure; `None` for a success. A tool that has a code of its own, such as the
    /// exit code of a process, puts it into the [details](Self::details).
    #[must_use]
    pub fn code(&self) -> Option<&'static str> {
        match &self.outcome {
            Ok(output) => output.is_failure().then_some("result"),
            Err(error) => Some(error.kind().name()),
        }
    }
}
