//! What a running tool tells those who watch.

use super::{LogLine, Progress, ToolContext};
use crate::{ErrorKind, ToolError, ToolOutput};

impl ToolContext {
    /// Reports a partial result, for those who watch and never for the model; waits until there is
    /// room for it. Does nothing where nobody listens.
    ///
    /// Code that cannot wait uses [`try_update`](Self::try_update), and the body of a `blocking` tool
    /// [`blocking_update`](Self::blocking_update).
    pub async fn update(&self, update: impl Into<ToolOutput>) {
        if let Some(sink) = &self.sink {
            sink.update(update.into()).await;
        }
    }

    /// Reports a partial result without waiting, for a body that is not `async`. Returns `false` if there is no room for
    /// it: it is not reported then, now or later. Returns `true` where nobody listens.
    ///
    /// An executor keeps up to 64 such updates of a call until it can show them, in their order. Those of a body that
    /// does not block its thread are shown when it returns.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_core::ToolContext;
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

    /// Reports a partial result from the body of a `blocking` tool, and blocks its thread until there is room for it.
    /// Does nothing where nobody listens.
    ///
    /// # Errors
    ///
    /// If the call is over, for instance since its batch was dropped: the body should return. If the body is not one of
    /// a `blocking` tool, where to wait would hold up those who make room.
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

    /// Whether somebody listens to updates.
    #[must_use]
    pub fn has_sink(&self) -> bool {
        self.sink.is_some()
    }

    /// Reports how far the call is. Does nothing where nobody listens.
    ///
    /// # Errors
    ///
    /// If `done` is not a finite number, or if somebody listens and could not be told.
    pub fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        if !progress.done.is_finite() {
            let message = format!("the progress of a call is a finite number, not {}", progress.done);
            return Err(ToolError::bad_parameter(message));
        }
        self.sink.as_ref().map_or(Ok(()), |sink| sink.progress(progress.settled()))
    }

    /// Writes a line to the log of the call, for those who watch and never for the model, and to `tracing` (target `tool`,
    /// with the tool and the call as fields; what is worse than an error is one).
    ///
    /// # Errors
    ///
    /// If somebody listens and the line could not be delivered.
    pub fn log(&self, line: LogLine) -> Result<(), ToolError> {
        self.trace(&line);
        self.sink.as_ref().map_or(Ok(()), |sink| sink.log(line))
    }

    /// The same context, for a body that may block its thread.
    #[must_use]
    pub(crate) fn on_a_thread(mut self) -> Self {
        self.may_block = true;
        self
    }
}
