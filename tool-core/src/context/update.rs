//! Updates, progress and log lines of a running tool.

use super::{LogLine, Progress, ToolContext};
use crate::{ErrorKind, ToolError, ToolOutput};

impl ToolContext {
    /// Reports a partial result to listeners, never to the model; waits until there is room for it. Does nothing
    /// without a receiver.
    ///
    /// Updates do not prevent a retry of the call: each has the number of its attempt. The items of a tool that returns a
    /// stream do, since a model or user may have read them.
    ///
    /// Code that cannot wait uses [`try_update`](Self::try_update); the body of a `blocking` tool uses
    /// [`blocking_update`](Self::blocking_update).
    pub async fn update(&self, update: impl Into<ToolOutput>) {
        if let Some(sink) = &self.sink {
            sink.update(update.into()).await;
        }
    }

    /// Reports a partial result without waiting, for a body that is not `async`. Returns `false` if there is no room
    /// for the update, which is then discarded. Returns `true` without a receiver.
    ///
    /// An executor buffers up to 64 such updates of a call and shows them in order. Updates of a body that is neither
    /// `async` nor `blocking` are shown when it returns.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::ToolContext;
    ///
    /// fn count(cx: &ToolContext) -> u32 {
    ///     (0..3).filter(|n| cx.try_update(format!("{n} done"))).count() as u32
    /// }
    ///
    /// assert_eq!(count(&ToolContext::for_test()), 3);
    /// ```
    #[must_use = "`false` means that the update is lost"]
    pub fn try_update(&self, update: impl Into<ToolOutput>) -> bool {
        self.sink.as_ref().is_none_or(|sink| sink.try_update(update.into()))
    }

    /// Reports a partial result from the body of a `blocking` tool; blocks its thread until there is room for the
    /// update. Does nothing without a receiver.
    ///
    /// # Errors
    ///
    /// Returns an error if the call is over, for example because its batch was dropped; the body should then return.
    /// Also returns an error if the tool is not `blocking`, since waiting would block the receiver.
    pub fn blocking_update(&self, update: impl Into<ToolOutput>) -> Result<(), ToolError> {
        match &self.sink {
            None => Ok(()),
            Some(sink) if self.may_block => sink.blocking_update(update.into()),
            Some(_) => {
                let message = "`blocking_update` needs a `blocking` tool; use `update` or `try_update`";
                Err(ToolError::new(ErrorKind::Unavailable, message))
            }
        }
    }

    /// Returns `true` if updates have a receiver.
    #[must_use]
    pub fn has_sink(&self) -> bool {
        self.sink.is_some()
    }

    /// Reports the progress of the call. Does nothing without a receiver.
    ///
    /// # Errors
    ///
    /// Returns an error if `done` is not a finite number, or if the report could not be delivered to a receiver.
    pub fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        if !progress.done.is_finite() {
            let message = format!("the progress of a call is a finite number, not {}", progress.done);
            return Err(ToolError::bad_parameter(message));
        }
        self.sink.as_ref().map_or(Ok(()), |sink| sink.progress(progress.without_invalid_total()))
    }

    /// Writes a line to the log of the call, for listeners and never for the model, and to `tracing` (target `tool`,
    /// with the tool and the call as fields; levels above error are recorded as errors).
    ///
    /// # Errors
    ///
    /// Returns an error if the line could not be delivered to a receiver.
    pub fn log(&self, line: LogLine) -> Result<(), ToolError> {
        self.trace_line(&line);
        self.sink.as_ref().map_or(Ok(()), |sink| sink.log(line))
    }

    /// Returns the same context for a body that may block its thread.
    #[must_use]
    pub(crate) fn for_blocking_body(mut self) -> Self {
        self.may_block = true;
        self
    }
}
