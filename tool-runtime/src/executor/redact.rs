//! Calls without secrets, for listeners, people and logs.

use tool_core::ToolDefinition;

use crate::ToolCall;

/// The replacement of a secret value.
pub(super) const REDACTED: &str = "***";

/// Returns `call` with [redacted](ToolDefinition::redacted) arguments.
pub(super) fn redacted_call(call: &ToolCall, definition: &ToolDefinition) -> ToolCall {
    ToolCall { arguments: definition.redacted(&call.arguments), ..call.clone() }
}
