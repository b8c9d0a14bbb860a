//! The problem of an error that is one of a prompt, a resource or a connector.

use std::borrow::Cow;

use tool_runtime::ToolError;

/// Returns the problem alone. `Display` of the error begins with the word `tool`, which the caller replaces by the kind of the item.
pub(crate) fn problem_text(error: &ToolError) -> Cow<'_, str> {
    match error.reason() {
        reason if reason.is_empty() => error.to_string().into(),
        reason => reason,
    }
}
