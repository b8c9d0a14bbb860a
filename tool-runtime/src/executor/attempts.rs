//! The attempts of a call after its first one, and the questions of its body.

use std::sync::Arc;

use tokio::time::Instant;
use tool_core::{Arguments, ErrorKind, Retry, ToolContext, ToolError, ToolOutput};
use tracing::Instrument;

use super::{
    ExecutorParts,
    prepare::CallRequest,
    questions::{AskingCall, answer_of, ask_approver, question_of},
    reports::CallReports,
    state::{BatchState, CallState, unless_cancelled},
    stop::StopReason,
    timeouts::{AttemptTimeouts, run_with_timeouts, sleep_for},
};
use crate::{
    panics::run_in_call,
    policy::{
        Approval, ApprovalRequest, Permits, RetryInfo, RetryPolicy, SharedApprover, pause_after, retry_pauses,
    },
    registry::Entry,
    telemetry,
};

/// The environment of one call while it runs.
#[derive(Clone, Copy)]
pub(super) struct RunningCall<'a> {
    pub(super) executor: &'a Arc<ExecutorParts>,
    pub(super) batch: &'a BatchState,
    pub(super) request: CallRequest<'a>,
    /// The context of the whole call.
    pub(super) cx: &'a ToolContext,
    pub(super) state: &'a CallState,
}

impl<'a> RunningCall<'a> {
    /// Waits for the permits of the limits.
    pub(super) async fn acquire_permits(self, entry: &Entry) -> Option<Permits<'a>> {
        let (limits, name) = (&self.executor.limits, entry.definition().name().as_str());
        match limits.limits_tool(name) {
            true => Some(limits.acquire_permits(name).await),
            false => None,
        }
    }

    /// Returns the canonical text of the received arguments, from which the body is run again. Nothing else inspects it.
    pub(super) fn canonical_source(self, entry: &Entry) -> Result<Arguments<'a>, ToolError> {
        entry.canonical_arguments(self.request.call.arguments.as_borrowed())
    }

    /// Returns the end of the call if it must not continue.
    pub(super) fn end_if_stopped(self) -> Option<AttemptEnd> {
        end_if_stopped(self.batch, self.cx)
    }
}

/// Returns the end of a call that must not continue: it was cancelled, or its run was stopped or has no time left.
#[inline]
pub(super) fn end_if_stopped(batch: &BatchState, cx: &ToolContext) -> Option<AttemptEnd> {
    if cx.should_stop() || batch.stop_error().is_some() {
        return Some(AttemptEnd::Cancelled);
    }
    is_past_deadline(cx).then(|| AttemptEnd::CallEnded(Err(StopReason::DeadlinePassed.error())))
}

/// Returns `true` if `outcome` is a question of the body that the approver answers.
#[inline]
pub(super) fn asks_approver(
    executor: &ExecutorParts,
    entry: &Entry,
    outcome: &Result<ToolOutput, ToolError>,
) -> bool {
    executor.settings.approver.is_some() && question_of(outcome, entry.definition()).is_some()
}

/// The state required to run a body again: for another attempt, or for the same one with the answer to its question.
pub(super) struct Attempts<'a> {
    pub(super) running: RunningCall<'a>,
    pub(super) entry: &'a Entry,
    pub(super) timeouts: AttemptTimeouts,
    pub(super) source: Arguments<'a>,
    /// Released while a person is asked.
    pub(super) permits: Option<Permits<'a>>,
}

/// The end of an attempt whose questions were answered.
pub(super) enum AttemptEnd {
    /// The attempt has a result, after which another attempt may follow.
    Result(Result<ToolOutput, ToolError>),
    /// The call is over: it failed outside of its body, or one of its questions is answered later.
    CallEnded(Result<ToolOutput, ToolError>),
    /// The call was cancelled.
    Cancelled,
}

impl AttemptEnd {
    /// Returns the result of a call that ends with this attempt; `None` if it was cancelled.
    pub(super) fn into_call_result(self) -> Option<Result<ToolOutput, ToolError>> {
        match self {
            Self::Result(result) | Self::CallEnded(result) => Some(result),
            Self::Cancelled => None,
        }
    }
}

impl Attempts<'_> {
    /// Answers the questions of the body, and repeats the call until it succeeds, its failure is not retried, or all
    /// attempts were made; returns the last result.
    pub(super) async fn run_to_end(
        mut self,
        outcome: Result<ToolOutput, ToolError>,
        retry: Option<Retry>,
    ) -> Option<Result<ToolOutput, ToolError>> {
        let mut number = 1;
        let mut outcome = match self.answer_questions(outcome, number).await {
            AttemptEnd::Result(outcome) => outcome,
            end => return end.into_call_result(),
        };
        for pause in retry.into_iter().flat_map(retry_pauses) {
            let Some(retry) = retry else { break };
            let cx = self.running.cx;
            // No body runs during the pause that could use a grace period.
            cx.forget_asked();
            // The items of a stream were already shown.
            if cx.has_streamed() || cx.should_stop() || self.running.batch.stop_error().is_some() {
                break;
            }
            match self.should_retry(retry, number, &outcome).await {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) if error.is_stop() => return Some(Err(error)),
                Err(error) => return Some(Err(with_rule_error(outcome, &error))),
            }
            let Some(pause) = pause_after(&outcome, pause, retry) else { break };
            if !pause.is_zero() && !sleep_for(pause).await || is_past_deadline(self.running.cx) {
                break;
            }
            number = number.saturating_add(1);
            outcome = self.run_again(number).instrument(telemetry::attempt_span(number)).await;
            outcome = match self.answer_questions(outcome, number).await {
                AttemptEnd::Result(outcome) => outcome,
                end => return end.into_call_result(),
            };
        }
        Some(outcome)
    }

    /// Passes the questions of the body to the approver, and runs the body again with each answer, until it asks no
    /// more.
    async fn answer_questions(
        &mut self,
        mut outcome: Result<ToolOutput, ToolError>,
        number: u32,
    ) -> AttemptEnd {
        let Some(approver) = self.running.executor.settings.approver.clone() else {
            return AttemptEnd::Result(outcome);
        };
        while let Some(error) = question_of(&outcome, self.entry.definition()) {
            let request = match self.approval_request(error) {
                Ok(request) => request,
                Err(error) => return AttemptEnd::CallEnded(Err(error)),
            };
            // Other calls may run while a person is asked.
            self.permits = None;
            // A cancellation withdraws the question at once: no body runs that could use a grace period.
            let token = self.running.cx.cancellation();
            self.running.cx.forget_asked();
            let asking = self.ask_approver(&approver, *request);
            let (request, answer) = match unless_cancelled(token, asking).await {
                None => return AttemptEnd::Cancelled,
                Some((_, Err(error))) => return AttemptEnd::CallEnded(Err(error)),
                Some((request, Ok(approval))) => (request, answer_of(approval)),
            };
            let Some(answer) = answer else {
                self.running.state.answers().set_pending(request);
                return AttemptEnd::CallEnded(outcome);
            };
            self.running.state.answers().add(request, answer);
            self.permits = self.running.acquire_permits(self.entry).await;
            if let Some(end) = self.running.end_if_stopped() {
                return end;
            }
            outcome = self.run_again(number).await;
        }
        AttemptEnd::Result(outcome)
    }

    /// Returns the request for the question that the body asked by `error`.
    fn approval_request(&self, error: &ToolError) -> Result<Box<ApprovalRequest>, ToolError> {
        let RunningCall { executor, batch, request, state, .. } = self.running;
        state.answers().check_question_limit()?;
        let (call, address) = (request.call, batch.address_of(&request));
        let (definition, arguments) = (self.entry.definition(), &self.source);
        Ok(AskingCall { executor, call, address, definition, arguments }.approval_request(error))
    }

    /// Waits for the answer of the approver; returns it with the question.
    async fn ask_approver(
        &self,
        approver: &SharedApprover,
        request: ApprovalRequest,
    ) -> (Box<ApprovalRequest>, Result<Approval, ToolError>) {
        let (RunningCall { batch, request: CallRequest { call, .. }, .. }, definition) =
            (self.running, self.entry.definition());
        let _turn = batch.lock_approver().await;
        batch.report_approval_request(&request, definition).await;
        ask_approver(approver, &call.id, request, definition, batch.run()).await
    }

    async fn should_retry(
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
                    && question_of(outcome, definition).is_none()
            }
        };
        if !failed {
            return Ok(false);
        }
        let cx = self.running.cx;
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
        match RetryPolicy::rule_of(self.running.executor.settings.retry.as_ref()) {
            None => Ok(info.is_transient()),
            Some(rule) => {
                run_in_call(info.id, "it", || rule.dynamic().again(&info)).await.and_then(|decision| decision)
            }
        }
    }

    /// Runs the body in a new context, with all answers to its questions, as part of attempt `number`.
    async fn run_again(&self, number: u32) -> Result<ToolOutput, ToolError> {
        let mut cx = self.running.cx.of_attempt(number);
        self.running.state.answers().pass_new_answers_to(&mut cx);
        if let Some(reports) = &self.running.state.reports {
            cx = cx.with_sink(CallReports::for_attempt(reports, number));
        }
        self.entry.validate_result(&cx, self.run_body(&cx).await)
    }

    async fn run_body(&self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let prepared = self.entry.prepare_from_canonical(self.source.clone())?;
        let state = self.running.state;
        let reports = state.reports.as_deref();
        state.stats.start_attempt();
        let run = async {
            match self.timeouts.is_unlimited() {
                true => Entry::start_prepared(prepared, cx)?.await,
                false => run_with_timeouts(self.timeouts, prepared, cx, reports).await,
            }
        };
        match reports.filter(|reports| !reports.is_unobserved()) {
            Some(reports) => reports.run_sending_updates(self.timeouts, cx, run).await,
            None => run.await,
        }
    }
}

/// Returns `true` if the run of a call has no time left.
#[inline]
fn is_past_deadline(cx: &ToolContext) -> bool {
    let end = cx.run().and_then(|run| run.deadline());
    end.is_some_and(|end| end <= Instant::now().into_std())
}

/// Combines the failure of a call with the failure of its retry rule.
fn with_rule_error(outcome: Result<ToolOutput, ToolError>, rule: &ToolError) -> ToolError {
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
