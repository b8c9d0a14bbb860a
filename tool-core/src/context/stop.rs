//! Runs that are ended on purpose.

use super::RunContext;
use crate::ToolError;

impl RunContext {
    /// Ends the run on purpose: calls that have not started are skipped, and no later batch of it is started. Calls that
    /// run, and runs below them, end by themselves. The first `stop` counts.
    ///
    /// An executor does so where a tool, a hook, a policy or an approver gives a [stop](ToolError::stop).
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_core::{RunContext, ToolError};
    ///
    /// let run = RunContext::new();
    /// run.stop(ToolError::stop("the user has closed the window"));
    /// assert_eq!(run.stopped().unwrap().reason(), "the user has closed the window");
    /// ```
    pub fn stop(&self, stop: ToolError) {
        // An error is that it was stopped before.
        let _ = self.stopped.set(stop);
    }

    /// Returns the reason for which the run was [stopped](Self::stop); `None` while it goes on.
    #[must_use]
    #[inline]
    pub fn stopped(&self) -> Option<&ToolError> {
        self.stopped.get()
    }
}
