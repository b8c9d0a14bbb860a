//! The second step of a call: its body, and its first attempt.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Instant,
};

use tokio::time::timeout_at;
use tokio_util::sync::CancellationToken;
use tool_core::{
    Arguments, BoxFuture, Prepared, ToolContext, ToolError, ToolOutput,
    internals::{within_call, within_grace},
};
use tracing::{Instrument, Span};

use super::{
    attempts::{Attempts, RunningCall, asks_approver, end_if_stopped},
    attributes::CallSpan,
    boxed::boxed,
    prepare::{PlainBody, ReadyCall},
    redact::redacted_call,
    reports::CallReports,
    state::unless_cancelled,
    timeouts::{AttemptTimeouts, run_with_timeouts},
    wave::WaveCall,
};
use crate::{ToolCall, registry::Entry, telemetry};

/// The answer of a running call; `None` if it was cancelled before.
pub(super) type CallAnswer = Option<Result<ToolOutput, ToolError>>;

/// A running call. It is polled in the scope of its grace period, which inner batches read.
pub(super) struct CallBody<'a> {
    /// Its index in its wave.
    index: usize,
    pub(super) call: WaveCall<'a>,
    stage: BodyStage<'a>,
}

enum BodyStage<'a> {
    /// The body itself.
    Plain(PlainBody<'a>),
    /// The body with what it needs: permits, timeouts, a span, further attempts, answers to questions.
    Wrapped(BoxFuture<'a, CallAnswer>),
}

impl<'a> CallBody<'a> {
    #[inline]
    pub(super) fn of_plain_call(call: WaveCall<'a>, index: usize, body: PlainBody<'a>) -> Self {
        Self { index, call, stage: BodyStage::Plain(body) }
    }

    /// Returns the body of a prepared call, in a span; `None` if it has no context, which every call has.
    pub(super) fn of_wrapped_call(call: WaveCall<'a>, index: usize, ready: ReadyCall<'a>) -> Option<Self> {
        let WaveCall { executor, batch, request, state } = call;
        let running = RunningCall { executor, batch, request: *request, cx: state.cx.as_ref()?, state };
        let span = telemetry::call_span(ready.entry.definition(), running.cx);
        let body: BoxFuture<'a, _> = match span.is_disabled() {
            true => Box::pin(run_call(running, ready)),
            false => Box::pin(run_traced(running, ready, span)),
        };
        Some(Self { index, call, stage: BodyStage::Wrapped(body) })
    }

    #[inline]
    fn poll_stage(&mut self, task: &mut Context<'_>) -> Poll<CallAnswer> {
        match &mut self.stage {
            BodyStage::Plain(_) => self.poll_plain(task),
            BodyStage::Wrapped(body) => body.as_mut().poll(task),
        }
    }

    /// Polls the body of a plain call. Its question is answered in a wrapper.
    #[inline]
    fn poll_plain(&mut self, task: &mut Context<'_>) -> Poll<CallAnswer> {
        let WaveCall { executor, batch, request, state } = self.call;
        let (BodyStage::Plain(body), Some(entry), Some(cx)) = (&mut self.stage, request.entry, &state.cx)
        else {
            return Poll::Ready(None);
        };
        let (stats, mut begun) = (&state.stats, None);
        if stats.attempts() == 0 {
            // The call may have been stopped meanwhile, or by an earlier call.
            if let Some(end) = end_if_stopped(batch, cx) {
                return Poll::Ready(end.into_call_result());
            }
            if let Err(over) = batch.count_call() {
                return Poll::Ready(Some(Err(over)));
            }
            stats.count_attempt();
            begun = Some(Instant::now());
        }
        let polled = within_call(cx.call_id().clone(), || Pin::new(body).poll(task));
        let outcome = polled.map(|result| entry.validate_result(cx, result));
        let question = match &outcome {
            Poll::Ready(outcome) => asks_approver(executor, entry, outcome),
            Poll::Pending => false,
        };
        match (outcome, begun) {
            (Poll::Ready(outcome), begun) if !question => {
                match begun {
                    Some(begun) => stats.set_immediate_end(begun),
                    None => stats.end_attempts(),
                }
                state.close_reports();
                Poll::Ready(Some(outcome))
            }
            (outcome, begun) => {
                if let Some(begun) = begun {
                    stats.set_start(begun);
                }
                let Poll::Ready(outcome) = outcome else { return Poll::Pending };
                let running = RunningCall { executor, batch, request: *request, cx, state };
                self.stage = BodyStage::Wrapped(Box::pin(answer_question(running, entry, outcome)));
                self.poll_stage(task)
            }
        }
    }
}

impl Future for CallBody<'_> {
    type Output = (usize, CallAnswer);

    #[inline]
    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let (index, grace) = (self.index, self.call.state.grace);
        within_grace(grace, || self.poll_stage(task)).map(|answer| (index, answer))
    }
}

/// Passes the question of a plain body to the approver, and runs the body with the answer.
async fn answer_question<'a>(
    running: RunningCall<'a>,
    entry: &'a Entry,
    outcome: Result<ToolOutput, ToolError>,
) -> CallAnswer {
    let timeouts = AttemptTimeouts::new(&running.executor.settings, entry.definition().metadata());
    let answer = match running.canonical_source(entry) {
        Ok(source) => {
            let attempts = Attempts { running, entry, timeouts, source, permits: None };
            attempts.run_to_end(outcome, None).await
        }
        Err(error) => Some(Err(error)),
    };
    running.state.stats.end_attempts();
    running.state.close_reports();
    answer
}

async fn run_traced<'a>(running: RunningCall<'a>, ready: ReadyCall<'a>, span: Span) -> CallAnswer {
    let executor = running.executor;
    let (definition, traces) = (ready.entry.definition(), executor.settings.traces);
    if traces.arguments {
        let arguments = Arguments::from(ready.prepared.arguments().as_str().to_owned());
        let call = ToolCall::new(definition.name().as_str(), arguments);
        telemetry::record_arguments(&span, &redacted_call(&call, definition));
    }
    let RunningCall { batch, request, state, .. } = running;
    let mut call_span = CallSpan { span: span.clone(), batch, definition, request, state, has_status: false };
    let outcome = boxed(|| run_call(running, ready)).instrument(span.clone()).await;
    // The status of a call without an outcome is the reason for which it was stopped.
    if let Some(outcome) = &outcome {
        telemetry::record_end(&span, outcome, traces.results);
        call_span.has_status = true;
    }
    outcome
}

/// Runs a prepared call with all its attempts.
async fn run_call<'a>(running: RunningCall<'a>, ready: ReadyCall<'a>) -> CallAnswer {
    let RunningCall { cx, state, .. } = running;
    let first = state.first.as_deref().unwrap_or(cx);
    let outcome = match cx.asked_cancellation() {
        // A token for this call alone was requested.
        Some(token) => boxed(|| run_attempts_until(token, running, ready, first)).await,
        None => run_attempts(running, ready, first).await,
    };
    state.stats.end_attempts();
    state.close_reports();
    outcome
}

/// Runs the attempts as [`run_attempts`] does, until `token` is cancelled and the grace period is over.
async fn run_attempts_until<'a>(
    token: &CancellationToken,
    running: RunningCall<'a>,
    ready: ReadyCall<'a>,
    first: &'a ToolContext,
) -> CallAnswer {
    let mut attempts = boxed(|| run_attempts(running, ready, first));
    match unless_cancelled(token, &mut attempts).await {
        Some(outcome) => outcome,
        None => match running.state.grace_deadline() {
            Some(end) => timeout_at(end, attempts).await.ok().flatten(),
            None => None,
        },
    }
}

/// Waits for the permits, closes an open call, and runs the attempts.
async fn run_attempts<'a>(
    running: RunningCall<'a>,
    ready: ReadyCall<'a>,
    first: &'a ToolContext,
) -> CallAnswer {
    let (RunningCall { executor, batch, cx, state, .. }, ReadyCall { entry, prepared, source, retry }) =
        (running, ready);
    // A token that a hook requested does not give the body a grace period.
    cx.forget_asked();
    let permits = running.acquire_permits(entry).await;
    // The call may have been stopped meanwhile, or by an earlier call.
    if let Some(end) = running.end_if_stopped() {
        return end.into_call_result();
    }
    let confirmed = running.request.confirmed;
    let continues = confirmed.is_some_and(|confirmed| confirmed.continues);
    // An open call is run at most once, in any process.
    if let Some(confirmed) = confirmed.filter(|_| !continues)
        && let Err(error) = boxed(|| confirmed.close(&executor.open)).await
    {
        return Some(Err(error));
    }
    if !continues && let Err(over) = batch.obtain_call().await {
        return Some(Err(over));
    }
    if let Some(journal) = running.intent_journal(entry) {
        let intent = running.intent(entry, prepared.arguments());
        if let Some(end) = boxed(|| running.store_intent(journal, intent)).await {
            return end.into_call_result();
        }
    }
    let timeouts = AttemptTimeouts::new(&executor.settings, entry.definition().metadata());
    let reports = state.reports.as_deref();
    state.stats.start_attempt();
    let is_observed = reports.is_some_and(|reports| !reports.is_unobserved());
    let outcome = match is_observed || retry.is_some() {
        false => run_first_attempt(timeouts, prepared, first, reports).await,
        true => observed_first_attempt(timeouts, prepared, first, reports, retry.is_some()).await,
    };
    let outcome = entry.validate_result(first, outcome);
    if retry.is_none() && !asks_approver(executor, entry, &outcome) {
        return Some(outcome);
    }
    let source = match source.map_or_else(|| running.canonical_source(entry), Ok) {
        Ok(source) => source,
        Err(error) => return Some(Err(error)),
    };
    let attempts = Attempts { running, entry, timeouts, source, permits };
    boxed(|| attempts.run_to_end(outcome, retry)).await
}

/// Runs the first attempt of a call.
async fn run_first_attempt<'a>(
    timeouts: AttemptTimeouts,
    prepared: Prepared<'a>,
    cx: &'a ToolContext,
    reports: Option<&CallReports>,
) -> Result<ToolOutput, ToolError> {
    match timeouts.is_unlimited() {
        true => Entry::start_prepared(prepared, cx)?.await,
        // Boxed, so that the future of a call without timeout does not contain a timer.
        false => boxed(|| run_with_timeouts(timeouts, prepared, cx, reports)).await,
    }
}

/// Returns the first attempt of a call whose updates have receivers, or which `may_be_repeated`. Not a part of the future of the call, whose frame
/// would have room for each of these futures.
fn observed_first_attempt<'a>(
    timeouts: AttemptTimeouts,
    prepared: Prepared<'a>,
    cx: &'a ToolContext,
    reports: Option<&'a CallReports>,
    may_be_repeated: bool,
) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
    let run = run_first_attempt(timeouts, prepared, cx, reports);
    match (reports.filter(|reports| !reports.is_unobserved()), may_be_repeated) {
        (None, _) => Box::pin(run.instrument(telemetry::attempt_span(1))),
        (Some(reports), false) => Box::pin(reports.run_sending_updates(timeouts, cx, run)),
        (Some(reports), true) => {
            let run = reports.run_sending_updates(timeouts, cx, run);
            Box::pin(run.instrument(telemetry::attempt_span(1)))
        }
    }
}
