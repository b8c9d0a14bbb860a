//! Forwards log lines of calls to `tracing`.

use tracing::Level;

use super::{LogLevel, LogLine, ToolContext};

impl ToolContext {
    /// Writes `line` to `tracing`.
    pub(super) fn trace_line(&self, line: &LogLine) {
        macro_rules! event {
            ($level:expr) => {
                tracing::event!(
                    target: "tool",
                    $level,
                    tool = self.tool.as_str(),
                    call = %self.call_id,
                    data = (!line.data.is_null()).then(|| tracing::field::display(&line.data)),
                    "{}",
                    line.message
                )
            };
        }
        match line.level {
            LogLevel::Debug => event!(Level::DEBUG),
            LogLevel::Info | LogLevel::Notice => event!(Level::INFO),
            LogLevel::Warning => event!(Level::WARN),
            LogLevel::Error | LogLevel::Critical | LogLevel::Alert | LogLevel::Emergency => {
                event!(Level::ERROR);
            }
        }
    }
}
