//! Calls without secrets, for listeners, people and logs.

use tool_core::ToolDefinition;

use crate::ToolCall;

/// The replacement of a secret value.
pub(super) const HIDDEN: &str = "***";

/// Returns `call` with [redacted](ToolDefinition::redacted) arguments.
pub(super) fn shown(call: &ToolCall, definition: &ToolDefinition) -> ToolCall {
    ToolCall { arguments: definition.redacted(&call.arguments), ..call.clone() }
}
