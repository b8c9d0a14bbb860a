//! One request to the model, with its hooks.

use futures_util::StreamExt as _;
use tool_runtime::guard::{Guarded, Panic, catch};
use tracing::Instrument as _;

use super::{
    AgentEventKind,
    flow::{Interruption, RoundFailure},
    hooks::{HookChain, call_hook},
    output::ExpectedOutput,
    scope::RunScope,
};
use crate::{
    hook::Step,
    model::{ModelError, ModelErrorKind, ModelEvent, Response},
    telemetry::{self, ChatSpan},
};

/// Asks the hooks and the model for the response of `step`.
pub(super) async fn ask_for_response(
    scope: &RunScope,
    hooks: &HookChain,
    output: Option<&mut ExpectedOutput>,
    step: &mut Step,
) -> Result<Response, RoundFailure> {
    if let Some(response) = prepare_step(scope, hooks, output, step).await? {
        emit_response_text(scope, &response).await;
        return Ok(response);
    }
    let response = match ask_model(scope, step).await {
        Ok(response) => response,
        Err(RoundFailure::Model(error)) => return recover_by_hook(scope, hooks, step, error).await,
        Err(failure) => return Err(failure),
    };
    for hook in hooks.iter() {
        let replacement = call_hook(scope, hook, || hook.dynamic().after_model(step, &response)).await?;
        if let Some(replacement) = replacement {
            scope.emit_withdrawn(format!("the hook `{}` replaced the response", hook.name())).await;
            emit_response_text(scope, &replacement).await;
            return Ok(replacement);
        }
    }
    Ok(response)
}

/// Changes the request of `step` as hooks and the output do; returns the response of a hook in place of the model's.
pub(super) async fn prepare_step(
    scope: &RunScope,
    hooks: &HookChain,
    output: Option<&mut ExpectedOutput>,
    step: &mut Step,
) -> Result<Option<Response>, RoundFailure> {
    let mut replacement = None;
    for hook in hooks.iter() {
        replacement = call_hook(scope, hook, || hook.dynamic().before_model(step)).await?;
        if replacement.is_some() {
            break;
        }
    }
    if let Some(output) = output {
        output.add_to_request(step).map_err(RoundFailure::Hook)?;
    }
    Ok(replacement)
}

/// Returns the response of the first hook that has one in place of an error of the model.
async fn recover_by_hook(
    scope: &RunScope,
    hooks: &HookChain,
    step: &Step,
    error: ModelError,
) -> Result<Response, RoundFailure> {
    for hook in hooks.iter() {
        let replacement = call_hook(scope, hook, || hook.dynamic().on_model_error(step, &error)).await?;
        if let Some(response) = replacement {
            scope.emit_withdrawn(error.to_string()).await;
            emit_response_text(scope, &response).await;
            return Ok(response);
        }
    }
    Err(RoundFailure::Model(error))
}

/// Emits the text of a response that did not arrive from the model.
async fn emit_response_text(scope: &RunScope, response: &Response) {
    let delta = response.message.text();
    if !delta.is_empty() {
        scope.emit(AgentEventKind::Text { delta }).await;
    }
}

/// Asks the model, and emits its events as they arrive, within a span.
async fn ask_model(scope: &RunScope, step: &Step) -> Result<Response, RoundFailure> {
    let chat = ChatSpan::new(&scope.agent.traced(), &step.model, &step.request);
    let entered = chat.span().clone();
    let result = receive_response(scope, step).instrument(entered).await;
    match &result {
        Ok(response) => chat.record_response(&step.request, response),
        Err(RoundFailure::Model(error)) => chat.record_error(telemetry::error_type(error.kind()), error),
        Err(RoundFailure::Hook(error)) => chat.record_error(error.kind().name(), &error.reason()),
        Err(RoundFailure::Interrupted(Interruption::DeadlinePassed)) => {
            chat.record_error("timed_out", &"the time of the run is over");
        }
        Err(RoundFailure::Interrupted(Interruption::Cancelled) | RoundFailure::InputRefused(_)) => drop(chat),
    }
    result
}

/// Emits the events of the model's response up to its end.
async fn receive_response(scope: &RunScope, step: &Step) -> Result<Response, RoundFailure> {
    let panicked = |panic: Panic| {
        RoundFailure::Model(ModelError::new(ModelErrorKind::Other, format!("the model {panic}")))
    };
    let request = step.request.clone();
    let events = catch(|| step.model.respond(request)).map_err(panicked)?;
    // A panic of the stream's `Drop` is discarded.
    let mut events = Guarded::new(events);
    let deadline = scope.wait_for_deadline();
    tokio::pin!(deadline);
    loop {
        let event = tokio::select! {
            biased;
            () = scope.run.cancellation().cancelled() => return Err(Interruption::Cancelled.into()),
            // Before the events, which may be ready without an end.
            () = &mut deadline => return Err(Interruption::DeadlinePassed.into()),
            event = events.next() => event.transpose().map_err(panicked)?,
        };
        match event {
            None => return Err(RoundFailure::Model(ModelError::of_ended_stream())),
            Some(Err(error)) => return Err(RoundFailure::Model(error)),
            Some(Ok(ModelEvent::Finished(response))) => return Ok(response),
            Some(Ok(event)) => emit_model_event(scope, event).await,
        }
    }
}

async fn emit_model_event(scope: &RunScope, event: ModelEvent) {
    match event {
        ModelEvent::Text(delta) => scope.emit(AgentEventKind::Text { delta }).await,
        ModelEvent::Reasoning(delta) => scope.emit(AgentEventKind::Reasoning { delta }).await,
        ModelEvent::Retried { attempt, error, pause } => {
            let reason = format!("attempt {attempt} failed ({error}); the next one is in {pause:?}");
            scope.emit_withdrawn(reason).await;
        }
        ModelEvent::FellBack { failed, error, next } => {
            scope.emit_withdrawn(format!("`{failed}` failed ({error}); `{next}` is asked")).await;
        }
        ModelEvent::Unsupported(text) | ModelEvent::Notice(text) => scope.emit_notice(text).await,
        ModelEvent::Extended(_) | ModelEvent::Finished(_) => {}
    }
}
