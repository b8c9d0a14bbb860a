//! Admission: external calls, denials by name, and the `admit` stage of hooks.

use std::sync::Arc;

use tool_core::{ErrorKind, Permission, RunContext, ToolContext, ToolDefinition, ToolError};

use super::{Inner, event_sink::HOOK_COMPONENT};
use crate::{ToolCall, hook::CallView, panics::run_in_call, registry::Entry};

/// Returns `true` if a call is left to the caller, by its tool or by the executor.
pub(super) fn is_external(
    executor: &Inner,
    call: &ToolCall,
    entry: &Entry,
    run: Option<&Arc<RunContext>>,
) -> bool {
    let (external, definition) = (executor.settings.external.as_ref(), Some(entry.definition()));
    let view =
        CallView { id: &call.id, tool: &call.name, arguments: &call.arguments, definition, cx: None, run };
    entry.tool().is_external() || external.is_some_and(|external| external(&view))
}

/// Returns the denial of a call by a rule that depends on its name only.
pub(super) fn denied_by_name(
    executor: &Inner,
    call: &ToolCall,
    definition: Option<&ToolDefinition>,
) -> Option<ToolError> {
    let raw = definition.map_or(&*call.name, ToolDefinition::raw_name);
    match executor.settings.rules.iter().find_map(|rules| rules.denial(&call.name, raw))? {
        Permission::Deny { reason } => Some(ToolError::new(ErrorKind::Denied, reason)),
        _ => None,
    }
}

/// Calls the `admit` stage of all hooks.
pub(super) async fn admit_call(
    executor: &Inner,
    call: &ToolCall,
    definition: Option<&ToolDefinition>,
    cx: Option<&ToolContext>,
    run: Option<&Arc<RunContext>>,
) -> Result<(), ToolError> {
    let view = CallView { id: &call.id, tool: &call.name, arguments: &call.arguments, definition, cx, run };
    for hook in executor.settings.all_hooks() {
        let is_let_in = run_in_call(&call.id, HOOK_COMPONENT, || hook.dynamic().admit(&view)).await;
        if !is_let_in.map_err(|panic| executor.settings.hook_panic_error(panic))? {
            return Err(ToolError::new(ErrorKind::Denied, "the call was not admitted"));
        }
    }
    Ok(())
}
