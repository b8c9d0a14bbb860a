//! Whether a tool that is to be repeated ever is.

use tool_core::Tool;

use super::{Found, Severity};

/// Only failures that are known to be temporary are repeated, and of most types of errors nothing is known.
pub(super) fn check(found: &mut Found<'_>, tool: &dyn Tool) {
    if tool.retries_blindly() {
        let message = "its `retry` repeats no call: nothing says which of its errors are temporary";
        let remedy = "add `when = path` to `retry`, of a function that decides, or return a `ToolError`";
        found.push(Severity::Warning, "", message, remedy);
    }
}
