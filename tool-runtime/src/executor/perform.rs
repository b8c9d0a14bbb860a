//! The second step of a call: its body, in its span, and its first attempt.

use std::sync::Arc;

use tokio::time::timeout_at;
use tool_core::{Arguments, ToolContext, ToolError, ToolOutput};
use tracing::{Instrument, Span};

use super::{
    Inner,
    attempts::{Attempts, RunningCall},
    attributes::CallSpan,
    group::{CallBody, CallEnd, CallGroup, IndexedBody},
    prepare::{CallRequest, ReadyCall},
    questions::question_of,
    redact::redacted_call,
    state::{BatchState, CallState, unless_cancelled},
    timeouts::{AttemptTimeouts, run_with_timeouts},
};
use crate::{ToolCall, registry::Entry, telemetry};

/// Returns the body of a prepared call, in a span; `None` if it has no context, which every call has.
pub(super) fn call_body<'a>(
    executor: &'a Arc<Inner>,
    batch: &'a BatchState,
    request: CallRequest<'a>,
    ready: ReadyCall<'a>,
    state: &'a CallState,
) -> Option<CallBody<'a>> {
    let cx = state.cx.as_ref()?;
    let definition = ready.entry.definition();
    let span = telemetry::call_span(definition, cx);
    let running = RunningCall { executor, batch, request, cx, state };
    if !span.is_disabled() {
        return Some(Box::pin(run_traced(running, ready, span)));
    }
    Some(Box::pin(run_call(running, ready)))
}

async fn run_traced<'a>(
    running: RunningCall<'a>,
    ready: ReadyCall<'a>,
    span: Span,
) -> Option<Result<ToolOutput, ToolError>> {
    let executor = running.executor;
    let (definition, traces) = (ready.entry.definition(), executor.settings.traces);
    if traces.arguments {
        let arguments = Arguments::from(ready.prepared.arguments().as_str().to_owned());
        let call = ToolCall::new(definition.name().as_str(), arguments);
        telemetry::record_arguments(&span, &redacted_call(&call, definition));
    }
    let RunningCall { batch, request, state, .. } = running;
    let mut call_span = CallSpan { span: span.clone(), batch, definition, request, state, has_status: false };
    let outcome = run_call(running, ready).instrument(span.clone()).await;
    // The status of a call without an outcome is the reason for which it was stopped.
    if let Some(outcome) = &outcome {
        telemetry::record_end(&span, outcome, traces.results);
        call_span.has_status = true;
    }
    outcome
}

/// Runs a prepared call with all its attempts.
async fn run_call<'a>(
    running: RunningCall<'a>,
    ready: ReadyCall<'a>,
) -> Option<Result<ToolOutput, ToolError>> {
    let RunningCall { cx, state, .. } = running;
    let first = state.first.as_deref().unwrap_or(cx);
    let attempts = run_attempts(running, ready, first);
    let outcome = match cx.asked_cancellation() {
        // A token for this call alone was requested.
        Some(token) => {
            let mut attempts = Box::pin(attempts);
            match unless_cancelled(token, &mut attempts).await {
                Some(outcome) => outcome,
                None => match state.grace_deadline() {
                    Some(end) => timeout_at(end, attempts).await.ok().flatten(),
                    None => None,
                },
            }
        }
        None => attempts.await,
    };
    state.stats.end_attempts();
    state.close_reports();
    outcome
}

/// Waits for the permits, closes an open call, and runs the attempts.
async fn run_attempts<'a>(
    running: RunningCall<'a>,
    ready: ReadyCall<'a>,
    first: &'a ToolContext,
) -> Option<Result<ToolOutput, ToolError>> {
    let (RunningCall { executor, cx, state, .. }, ReadyCall { entry, prepared, source, retry }) =
        (running, ready);
    // A token that a hook requested does not give the body a grace period.
    cx.forget_asked();
    let permits = running.acquire_permits(entry).await;
    // The call may have been stopped meanwhile, or by an earlier call.
    if let Some(end) = running.early_end() {
        return end.into_call_result();
    }
    // An open call is run at most once, in any process.
    if let Some(confirmed) = running.request.confirmed
        && let Err(error) = Box::pin(confirmed.close(&executor.open)).await
    {
        return Some(Err(error));
    }
    if let Some(over) = cx.run().and_then(|run| run.count_call().err()) {
        return Some(Err(over));
    }
    let timeouts = AttemptTimeouts::new(&executor.settings, entry.definition().metadata());
    let reports = state.reports.as_deref();
    state.stats.start_attempt();
    let run = async {
        match timeouts.is_unlimited() {
            true => Entry::run(prepared, first)?.await,
            // Boxed, so that the future of a call without timeout does not contain a timer.
            false => Box::pin(run_with_timeouts(timeouts, prepared, first, reports)).await,
        }
    };
    let outcome = match (reports.filter(|reports| !reports.is_unobserved()), retry) {
        (None, None) => run.await,
        (None, Some(_)) => Box::pin(run.instrument(telemetry::attempt_span(1))).await,
        (Some(reports), None) => Box::pin(reports.run_sending_updates(timeouts, first, run)).await,
        (Some(reports), Some(_)) => {
            let run = reports.run_sending_updates(timeouts, first, run);
            Box::pin(run.instrument(telemetry::attempt_span(1))).await
        }
    };
    let outcome = entry.validate_result(first, outcome);
    match source {
        Some(source) if retry.is_some() || question_of(&outcome, entry.definition()).is_some() => {
            let attempts = Attempts { running, entry, timeouts, source, permits };
            Box::pin(attempts.run_to_end(outcome, retry)).await
        }
        _ => Some(outcome),
    }
}

impl<'a> CallGroup<'a> {
    /// Passes a question of a body on the fast path to the approver, and runs the body with the answer; returns the end
    /// of a call that asks nothing as it is.
    pub(super) async fn answer_question(&self, index: usize, end: CallEnd) -> CallEnd {
        let (executor, batch, request, state) =
            (self.executor, self.batch, self.requests[index], &self.states[index]);
        let (CallEnd::Done(outcome), Some(entry), Some(cx)) = (&end, request.entry, &state.cx) else {
            return end;
        };
        let definition = entry.definition();
        if executor.settings.approver.is_none() || question_of(outcome, definition).is_none() {
            return end;
        }
        // The person sees, and the body receives, the canonical text from here on.
        let source = match entry.canonical_arguments(request.call.arguments.as_borrowed()) {
            Ok(source) => source,
            Err(error) => return CallEnd::Done(Err(error)),
        };
        let CallEnd::Done(outcome) = end else { return end };
        let running = RunningCall { executor, batch, request, cx, state };
        let timeouts = AttemptTimeouts::new(&executor.settings, definition.metadata());
        let attempts = Attempts { running, entry, timeouts, source, permits: None };
        let running = Box::pin(attempts.run_to_end(outcome, None));
        let mut answered = None;
        let body = IndexedBody { index, grace: state.grace, body: running };
        self.run_remaining(vec![body], |_, end| answered = Some(end)).await;
        state.stats.end_attempts();
        answered.unwrap_or_else(|| self.unanswered_end())
    }
}
