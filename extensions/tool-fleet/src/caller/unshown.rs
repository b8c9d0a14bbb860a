//! Log lines and progress of a worker for which the readers of the call had no room.

use tool_runtime::{
    ToolContext, ToolError,
    context::{LogLevel, LogLine},
};

/// The number of times that the readers are given a turn, so that there is room for the last line.
const MAX_TURNS: usize = 64;

/// Counts reports that were not shown, and says so in the log of the call once there is room.
#[derive(Default)]
pub(super) struct UnshownReports(u64);

impl UnshownReports {
    pub(super) fn note_report(&mut self, shown: Result<(), ToolError>) {
        if let Err(error) = shown {
            self.0 += 1;
            tracing::debug!(%error, "a report of a remote call was not shown");
        }
    }

    /// Writes the number to the log if there is room.
    fn log_if_possible(&mut self, cx: &ToolContext) -> Result<(), ToolError> {
        let reports = match self.0 {
            0 => return Ok(()),
            1 => "1 report".to_owned(),
            reports => format!("{reports} reports"),
        };
        let message = format!(
            "{reports} of the worker (progress, log lines) were not shown, since the buffer of events was full"
        );
        cx.log(LogLine::new(LogLevel::Warning, message))?;
        self.0 = 0;
        Ok(())
    }

    /// Writes the number to the log, before an update or the outcome of the call. Its readers may be polled by the task of the call.
    pub(super) async fn log(&mut self, cx: &ToolContext) {
        for _ in 0..MAX_TURNS {
            if self.log_if_possible(cx).is_ok() {
                return;
            }
            tokio::task::yield_now().await;
        }
        tracing::warn!(reports = self.0, "reports of a remote call were not shown, nor their number");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn reports_that_were_not_shown_are_counted_until_their_number_is() {
        let (mut unshown, cx) = (UnshownReports::default(), ToolContext::for_test());
        unshown.note_report(Ok(()));
        assert_eq!(unshown.0, 0);
        for reports in 1..=2 {
            unshown.note_report(Err(ToolError::failed("full")));
            assert_eq!(unshown.0, reports);
        }
        unshown.log(&cx).await;
        assert_eq!(unshown.0, 0);
    }
}
