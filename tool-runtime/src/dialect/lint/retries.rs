//! Tools with `retry` whose errors are never retryable.

use tool_core::Tool;

use super::Found;
use crate::diagnostic::Severity;

/// Only errors that are known to be temporary are retried; an error that is only displayed carries no such information.
pub(super) fn check(found: &mut Found<'_>, tool: &dyn Tool) {
    if tool.retries_blindly() {
        let message = "its `retry` has no effect: its errors are texts, and no text is known to be temporary";
        let help = "add `when = path` to `retry` with a function that decides, or return a `ToolError` or another \
                    `std::error::Error`";
        found.push(Severity::Warning, "retry_without_when", "", message, help);
    }
}
