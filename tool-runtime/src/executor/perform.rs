//! The second step of a call: its attempts.

use std::sync::Arc;

use tokio::time::{Instant, timeout_at};
use tool_core::{Arguments, ErrorKind, Retry, ToolContext, ToolError, ToolOutput};
use tracing::{Instrument, Span};

use super::{
    Inner,
    attributes::CallSpan,
    group::{Body, Ended, Group, Held},
    prepare::{Ready, Request},
    questions::{Asking, answer_of, asked, question},
    redact::shown,
    reports::CallReports,
    state::{CallPosition, CallScope, unless},
    stop::Stop,
    timeouts::{Patience, patient, waited},
};
use crate::{
    ToolCall,
    panics::run_in_call,
    policy::{Approval, ApprovalRequest, BoxApprover, Permits, RetryInfo, RetryPolicy, pause_after, pauses},
    registry::Entry,
    telemetry,
};

/// Runs a prepared call in a span; `None` if it has no position, which every call has.
pub(super) fn perform<'a>(
    executor: &'a Arc<Inner>,
    around: &'a CallScope,
    asked: Request<'a>,
    ready: Ready<'a>,
    place: &'a CallPosition,
) -> Option<Body<'a>> {
    let cx = place.cx.as_ref()?;
    let definition = ready.entry.definition();
    let span = telemetry::call(definition, cx);
    let scope = Scope { executor, around, asked, cx, place };
    if !span.is_disabled() {
        return Some(Box::pin(traced(scope, ready, span)));
    }
    Some(Box::pin(performed(scope, ready)))
}

/// The environment of one call while it runs.
#[derive(Clone, Copy)]
struct Scope<'a> {
    executor: &'a Arc<Inner>,
    around: &'a CallScope,
    asked: Request<'a>,
    /// The context of the whole call.
    cx: &'a ToolContext,
    place: &'a CallPosition,
}

async fn traced<'a>(scope: Scope<'a>, ready: Ready<'a>, span: Span) -> Option<Result<ToolOutput, ToolError>> {
    let executor = scope.executor;
    let (definition, traces) = (ready.entry.definition(), executor.settings.traces);
    if traces.arguments {
        let arguments = Arguments::from(ready.prepared.arguments().as_str().to_owned());
        let call = ToolCall::new(definition.name().as_str(), arguments);
        telemetry::arguments(&span, &shown(&call, definition));
    }
    let Scope { around: batch, asked, place, .. } = scope;
    let mut call_span = CallSpan { span: span.clone(), batch, definition, asked, place, has_status: false };
    let outcome = performed(scope, ready).instrument(span.clone()).await;
    // The status of a call without an outcome is the reason for which it was stopped.
    if let Some(outcome) = &outcome {
        telemetry::ended(&span, outcome, traces.results);
        call_span.has_status = true;
    }
    outcome
}

/// Runs a prepared call with all its attempts.
async fn performed<'a>(scope: Scope<'a>, ready: Ready<'a>) -> Option<Result<ToolOutput, ToolError>> {
    let Scope { cx, place, .. } = scope;
    let first = place.first.as_deref().unwrap_or(cx);
    let performed = answered(scope, ready, first);
    let outcome = match cx.asked_cancellation() {
        // A token for this call alone was requested.
        Some(token) => {
            let mut performed = Box::pin(performed);
            match unless(token, &mut performed).await {
                Some(outcome) => outcome,
                None => match place.grace_end() {
                    Some(end) => timeout_at(end, performed).await.ok().flatten(),
                    None => None,
                },
            }
        }
        None => performed.await,
    };
    place.runs.end();
    place.close_reports();
    outcome
}

async fn answered<'a>(
    scope: Scope<'a>,
    ready: Ready<'a>,
    first: &'a ToolContext,
) -> Option<Result<ToolOutput, ToolError>> {
    let (Scope { executor, cx, place, .. }, Ready { entry, prepared, source, retry }) = (scope, ready);
    // A token that a hook requested does not give the body a grace period.
    cx.forget_asked();
    let permits = scope.entered(entry).await;
    // The call may have been stopped meanwhile, or by an earlier call.
    if let Some(outcome) = scope.over() {
        return outcome;
    }
    // An open call is run at most once, in any process.
    if let Some(confirmed) = scope.asked.confirmed
        && let Err(error) = Box::pin(confirmed.close(&executor.open)).await
    {
        return Some(Err(error));
    }
    if let Some(over) = cx.run().and_then(|run| run.count_call().err()) {
        return Some(Err(over));
    }
    let patience = Patience::new(&executor.settings, entry.definition().metadata());
    let reports = place.reports.as_deref();
    place.runs.begin();
    let run = async {
        match patience.is_endless() {
            true => Entry::run(prepared, first)?.await,
            // Boxed, so that the future of a call without timeout does not contain a timer.
            false => Box::pin(patient(patience, prepared, first, reports)).await,
        }
    };
    let outcome = match (reports.filter(|reports| !reports.is_quiet()), retry) {
        (None, None) => run.await,
        (None, Some(_)) => Box::pin(run.instrument(telemetry::attempt(1))).await,
        (Some(reports), None) => Box::pin(reports.showing(patience, first, run)).await,
        (Some(reports), Some(_)) => {
            let shown = reports.showing(patience, first, run);
            Box::pin(shown.instrument(telemetry::attempt(1))).await
        }
    };
    let outcome = entry.hold(first, outcome);
    match source {
        Some(source) if retry.is_some() || question(&outcome, entry.definition()).is_some() => {
            let again = Again { scope, entry, patience, source, permits };
            Box::pin(again.until_it_is_over(outcome, retry)).await
        }
        _ => Some(outcome),
    }
}

impl<'a> Scope<'a> {
    /// Waits for the permits of the limits.
    async fn entered(self, entry: &Entry) -> Option<Permits<'a>> {
        let (limits, name) = (&self.executor.limits, entry.definition().name().as_str());
        match limits.concerns(name) {
            true => Some(limits.enter(name).await),
            false => None,
        }
    }

    /// Returns the end of a call that must not continue: it was cancelled, or its run was stopped or has no time left.
    fn over(self) -> Option<Option<Result<ToolOutput, ToolError>>> {
        if self.cx.should_stop() || self.around.stopped().is_some() {
            return Some(None);
        }
        is_late(self.cx).then(|| Some(Err(Stop::Late.error())))
    }
}

impl<'a> Group<'a> {
    /// Passes a question of a body on the fast path to the approver, and runs the body with the answer; returns the end
    /// of a call that asks nothing as it is.
    pub(super) async fn answer_question(&self, at: usize, ended: Ended) -> Ended {
        let (executor, around, asked, place) = (self.executor, self.around, self.asked[at], &self.places[at]);
        let (Ended::Done(outcome), Some(entry), Some(cx)) = (&ended, asked.entry, &place.cx) else {
            return ended;
        };
        let definition = entry.definition();
        if executor.settings.approver.is_none() || question(outcome, definition).is_none() {
            return ended;
        }
        // The person sees, and the body receives, the canonical text from here on.
        let source = match entry.canonical(asked.call.arguments.as_borrowed()) {
            Ok(source) => source,
            Err(error) => return Ended::Done(Err(error)),
        };
        let Ended::Done(outcome) = ended else { return ended };
        let scope = Scope { executor, around, asked, cx, place };
        let patience = Patience::new(&executor.settings, definition.metadata());
        let again = Again { scope, entry, patience, source, permits: None };
        let running = Box::pin(again.until_it_is_over(outcome, None));
        let mut answered = None;
        let body = Held { at, grace: place.grace, body: running };
        self.run_on(vec![body], |_, ended| answered = Some(ended)).await;
        place.runs.end();
        answered.unwrap_or_else(|| self.unanswered())
    }
}

/// The state required to run a body again: for another attempt, or for the same one with the answer to its question.
struct Again<'a> {
    scope: Scope<'a>,
    entry: &'a Entry,
    patience: Patience,
    source: Arguments<'a>,
    /// Released while a person is asked.
    permits: Option<Permits<'a>>,
}

/// The outcome of a body, after which another attempt may follow; as an error, the end of the call, which is `None` if
/// it was cancelled.
type Answered = Result<Result<ToolOutput, ToolError>, Option<Result<ToolOutput, ToolError>>>;

impl Again<'_> {
    /// Answers the questions of the body, and repeats the call until it succeeds, its failure is not retried, or all
    /// attempts were made; returns the last result.
    async fn until_it_is_over(
        mut self,
        outcome: Result<ToolOutput, ToolError>,
        retry: Option<Retry>,
    ) -> Option<Result<ToolOutput, ToolError>> {
        let mut number = 1;
        let mut outcome = match self.asked(outcome, number).await {
            Ok(outcome) => outcome,
            Err(end) => return end,
        };
        for pause in retry.into_iter().flat_map(pauses) {
            let Some(retry) = retry else { break };
            let cx = self.scope.cx;
            // No body runs during the pause that could use a grace period.
            cx.forget_asked();
            // The items of a stream were already shown.
            if cx.has_streamed() || cx.should_stop() || self.scope.around.stopped().is_some() {
                break;
            }
            match self.is_worth_it(retry, number, &outcome).await {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if error.is_stop() => return Some(Err(error)),
                Err(error) => return Some(Err(both(outcome, &error))),
            }
            let Some(pause) = pause_after(&outcome, pause, retry) else { break };
            if !pause.is_zero() && !waited(pause).await || is_late(self.scope.cx) {
                break;
            }
            number = number.saturating_add(1);
            let again = self.run(number).instrument(telemetry::attempt(number)).await;
            outcome = match self.asked(again, number).await {
                Ok(outcome) => outcome,
                Err(end) => return end,
            };
        }
        Some(outcome)
    }

    /// Passes the questions of the body to the approver, and runs the body again with each answer, until it asks no
    /// more.
    async fn asked(&mut self, mut outcome: Result<ToolOutput, ToolError>, number: u32) -> Answered {
        let Some(approver) = self.scope.executor.settings.approver.clone() else { return Ok(outcome) };
        while let Some(error) = question(&outcome, self.entry.definition()) {
            let request = self.request(error).map_err(|error| Some(Err(error)))?;
            // Other calls may run while a person is asked.
            self.permits = None;
            // A cancellation withdraws the question at once: no body runs that could use a grace period.
            let token = self.scope.cx.cancellation();
            self.scope.cx.forget_asked();
            let (request, decision) = unless(token, self.put(&approver, *request)).await.ok_or(None)?;
            let Some(answer) = answer_of(decision.map_err(|error| Some(Err(error)))?) else {
                self.scope.place.given().wait_for(request);
                return Err(Some(outcome));
            };
            self.scope.place.given().add(request, answer);
            self.permits = self.scope.entered(self.entry).await;
            self.scope.over().map_or(Ok(()), Err)?;
            outcome = self.run(number).await;
        }
        Ok(outcome)
    }

    /// Returns the question that the body asked by `error`.
    fn request(&self, error: &ToolError) -> Result<Box<ApprovalRequest>, ToolError> {
        let Scope { executor, around, asked, place, .. } = self.scope;
        place.given().has_room()?;
        let (call, address) = (asked.call, around.address(&asked));
        let (definition, arguments) = (self.entry.definition(), &self.source);
        Ok(Asking { executor, call, address, definition, arguments }.request(error))
    }

    /// Waits for the answer of the approver; returns it with the question.
    async fn put(
        &self,
        approver: &BoxApprover,
        request: ApprovalRequest,
    ) -> (Box<ApprovalRequest>, Result<Approval, ToolError>) {
        let (Scope { around, asked: Request { call, .. }, .. }, definition) =
            (self.scope, self.entry.definition());
        let _turn = around.turn_to_ask().await;
        around.asking(&request, definition).await;
        asked(approver, &call.id, request, definition, around.run()).await
    }

    async fn is_worth_it(
        &self,
        retry: Retry,
        attempt: u32,
        outcome: &Result<ToolOutput, ToolError>,
    ) -> Result<bool, ToolError> {
        let definition = self.entry.definition();
        let failed = match outcome {
            Ok(output) => output.is_failure() || output.retry_after().is_some(),
            // A tool that reports a cancellation or stops the run is not run again, and a question is not a failure.
            Err(error) => {
                !matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Stopped)
                    && question(outcome, definition).is_none()
            }
        };
        if !failed {
            return Ok(false);
        }
        let cx = self.scope.cx;
        let info = RetryInfo {
            tool: definition.name().as_str(),
            id: cx.call_id(),
            arguments: &self.source,
            attempt,
            max_attempts: retry.attempts,
            outcome,
            cx,
            definition,
        };
        match RetryPolicy::rule_of(self.scope.executor.settings.retry.as_ref()) {
            None => Ok(info.is_transient()),
            Some(rule) => {
                run_in_call(info.id, "it", || rule.dynamic().again(&info)).await.and_then(|decision| decision)
            }
        }
    }

    /// Runs the body in a new context, with all answers to its questions, as part of attempt `number`.
    async fn run(&self, number: u32) -> Result<ToolOutput, ToolError> {
        let mut cx = self.scope.cx.of_attempt(number);
        self.scope.place.given().hand_new_to(&mut cx);
        if let Some(reports) = &self.scope.place.reports {
            cx = cx.with_sink(CallReports::of_attempt(reports, number));
        }
        self.entry.hold(&cx, self.attempt(&cx).await)
    }

    async fn attempt(&self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let prepared = self.entry.prepare_again(self.source.clone())?;
        let place = self.scope.place;
        let reports = place.reports.as_deref();
        place.runs.begin();
        let run = async {
            match self.patience.is_endless() {
                true => Entry::run(prepared, cx)?.await,
                false => patient(self.patience, prepared, cx, reports).await,
            }
        };
        match reports.filter(|reports| !reports.is_quiet()) {
            Some(reports) => reports.showing(self.patience, cx, run).await,
            None => run.await,
        }
    }
}

/// Returns `true` if the run of a call has no time left.
fn is_late(cx: &ToolContext) -> bool {
    let end = cx.run().and_then(|run| run.deadline());
    end.is_some_and(|end| end <= Instant::now().into_std())
}

/// Combines the failure of a call with the failure of its retry rule.
fn both(outcome: Result<ToolOutput, ToolError>, rule: &ToolError) -> ToolError {
    let (failure, content, details) = match &outcome {
        Err(error) => (error.feedback(), error.content().to_vec(), error.details()),
        Ok(output) => (output.text().into_owned(), Vec::new(), output.details()),
    };
    let text = format!("{failure} (and the retry rule failed: {})", rule.feedback());
    let error = ToolError::failed(text).with_content(content);
    match details {
        Some(details) => error.with_details(details.clone()),
        None => error,
    }
}
