//! Tools with `retry` whose errors are never retryable.

use tool_core::Tool;

use super::Found;
use crate::diagnostic::Severity;

/// Only errors that are known to be temporary are retried; most error types carry no such information.
pub(super) fn check(found: &mut Found<'_>, tool: &dyn Tool) {
    if tool.retries_blindly() {
        let message = "its `retry` has no effect: no error is known to be temporary";
        let help = "add `when = path` to `retry` with a function that decides, or return a `ToolError`";
        found.push(Severity::Warning, "retry_without_when", "", message, help);
    }
}
