//! Ending a run on purpose.

use super::RunContext;
use crate::ToolError;

impl RunContext {
    /// Ends the run on purpose: calls that have not started are skipped, and later batches of the run are not
    /// started. Running calls and child runs end by themselves. The first `stop` counts.
    ///
    /// An executor calls this when a tool, hook, policy or approver returns a [stop](ToolError::stop).
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{RunContext, ToolError};
    ///
    /// let run = RunContext::new();
    /// run.stop(ToolError::stop("the user has closed the window"));
    /// assert_eq!(run.stopped().unwrap().reason(), "the user has closed the window");
    /// ```
    pub fn stop(&self, stop: ToolError) {
        // An error means that the run was stopped before.
        let _ = self.stopped.set(stop);
    }

    /// Returns the stop that [ended](Self::stop) the run; `None` if it was not stopped.
    #[must_use]
    #[inline]
    pub fn stopped(&self) -> Option<&ToolError> {
        self.stopped.get()
    }
}
