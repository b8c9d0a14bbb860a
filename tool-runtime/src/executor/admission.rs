//! Admission: external calls, denials by name, and the `admit` stage of hooks.

use std::sync::Arc;

use tool_core::{ErrorKind, Permission, RunContext, ToolContext, ToolDefinition, ToolError};

use super::{
    ExecutorParts,
    event_sink::HOOK_COMPONENT,
    prepare::{AnswerSource, CallRequest, NextStep, step_of_unstarted_call},
    remote::RedirectError,
    state::BatchState,
};
use crate::{
    ToolCall,
    guard::catch,
    hook::CallView,
    panics::{component_panic, run_in_call},
    registry::{Entry, framework_target_error},
};

/// Returns the next step of a call that no rule or hook decides on.
pub(super) fn step_without_hooks<'a>(
    executor: &ExecutorParts,
    request: &CallRequest<'_>,
    batch: &BatchState,
) -> Option<NextStep<'a>> {
    if let Some(step) = step_of_unstarted_call(request, batch.stop_reason()) {
        return Some(step);
    }
    let entry = request.entry?;
    if entry.redirects() {
        let asked = batch.redirect_error(request.serial);
        let refusal = redirect_refusal(executor, request.call, entry, asked);
        let is_denied = asked.is_some_and(|it| it.is_own) && refusal.kind() == ErrorKind::Denied;
        let source = if is_denied { AnswerSource::Permission } else { AnswerSource::Check };
        return Some(NextStep::answered_early(source, Err(refusal)));
    }
    match catch(|| is_external(executor, request.call, entry, batch.run())) {
        Ok(true) if request.call.redirected_from.is_some() => {
            let refusal = redirect_refusal(executor, request.call, entry, None);
            Some(NextStep::answered_early(AnswerSource::Check, Err(refusal)))
        }
        Ok(true) => Some(NextStep::External),
        Ok(false) => None,
        Err(panic) => {
            let error = component_panic("the selection of external calls", &panic);
            Some(NextStep::answered_early(AnswerSource::Executor, Err(error)))
        }
    }
}

/// Returns `true` if a call is left to the caller, by its tool or by the executor.
fn is_external(
    executor: &ExecutorParts,
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
pub(super) fn denial_by_name(
    executor: &ExecutorParts,
    call: &ToolCall,
    definition: Option<&ToolDefinition>,
) -> Option<ToolError> {
    let raw = definition.map_or(&*call.name, ToolDefinition::raw_name);
    let rules = &executor.settings.rules;
    let denial = || rules.iter().find_map(|rules| rules.denial(&call.name, raw));
    match denial_of_redirecting(executor, call).or_else(denial)? {
        Permission::Deny { reason } => Some(ToolError::new(ErrorKind::Denied, reason)),
        _ => None,
    }
}

/// Returns the denial of all calls of the tool that redirected `call`.
fn denial_of_redirecting(executor: &ExecutorParts, call: &ToolCall) -> Option<Permission> {
    let name = call.redirected_from.as_deref()?;
    let raw = executor.tools.entry(name).map_or(name, |entry| entry.definition().raw_name());
    executor.settings.rules.iter().find_map(|rules| rules.denial(name, raw))
}

/// Returns the answer to a call of a tool that redirects, which no component turned into another call: to the call of a
/// model that stands for none, or to a call that would be redirected twice, or to a tool of the framework or an external one.
/// `asked` is the answer of another process that knows it.
fn redirect_refusal(
    executor: &ExecutorParts,
    call: &ToolCall,
    entry: &Entry,
    asked: Option<&RedirectError>,
) -> ToolError {
    let name = entry.definition().name().as_str();
    if let Some(redirecting) = &call.redirected_from {
        return entry.not_redirected_error(redirecting);
    }
    if let Some(RedirectError { error, is_own: true }) = asked {
        return error.clone();
    }
    let redirection = || entry.redirection(call.arguments.as_borrowed());
    match asked.map_or_else(redirection, |asked| Err(asked.error.clone())) {
        // The report repeats the arguments, which may be those of a tool with secrets.
        Err(error) if executor.known.has_secret() => {
            let message = "the arguments do not match the input schema; they are not repeated here, since some tool \
                           has secret parameters";
            ToolError::new(error.kind(), message).of_tool(name.to_owned())
        }
        Err(error) => error,
        Ok(target) if !executor.tools.is_redirection_target(&target.name) => {
            framework_target_error(&target.name, name)
        }
        Ok(_) => entry.not_redirected_error(name),
    }
}

/// Calls the `admit` stage of all hooks.
pub(super) async fn admit_call(
    executor: &ExecutorParts,
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
