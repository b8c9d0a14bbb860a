//! The last step of a call: from its answer to its outcome.

use std::{ops::ControlFlow, sync::Arc, time::SystemTime};

use tool_core::{Arguments, CallAddress, ErrorKind, ToolDefinition, ToolError, ToolOutput};

use super::{
    ExecutorParts,
    event_sink::{HOOK_COMPONENT, report_panic},
    open::{Confirmed, Opening},
    prepare::{AnswerSource, CallRequest, EarlyAnswer},
    questions::{AskingCall, question_of},
    settings::apply_result_settings,
    state::{BatchState, CallState},
    stop::stop_error_of,
    wave::CallEnd,
};
use crate::{
    CallOutcome, ToolCall, ToolResult,
    call::{Operation, Pending},
    event::EventKind,
    hook::CallView,
    open_calls::OpenKind,
    panics::run_in_call,
    policy::ApprovalRequest,
};

/// A call to be finished.
pub(super) struct CallFinisher<'a> {
    pub(super) executor: &'a Arc<ExecutorParts>,
    pub(super) batch: &'a BatchState,
    pub(super) request: &'a CallRequest<'a>,
    pub(super) call: &'a ToolCall,
    pub(super) definition: Option<&'a ToolDefinition>,
    pub(super) state: &'a CallState,
}

impl CallFinisher<'_> {
    /// Finishes a call whose end no component receives and no answer follows, and adds its outcome to `outcomes`;
    /// returns the end of any other call.
    #[inline]
    pub(super) fn finish_at_once(&self, end: CallEnd, outcomes: &mut Vec<CallOutcome>) -> Option<CallEnd> {
        let is_open = |outcome: &Result<ToolOutput, ToolError>| match outcome {
            Ok(output) => self.starts_operation(output),
            Err(error) => error.kind() == ErrorKind::ApprovalRequired,
        };
        if !self.batch.is_unobserved || self.request.confirmed.is_some() || self.is_recorded() {
            return Some(end);
        }
        let outcome = match end {
            CallEnd::Done(outcome) if !is_open(&outcome) => outcome,
            CallEnd::Answered(EarlyAnswer { outcome, .. }) if !is_open(&outcome) => outcome,
            end => return Some(end),
        };
        let mut result = self.result_of(outcome);
        self.apply_stop_and_settings(&mut result);
        outcomes.push(CallOutcome::Finished(result));
        None
    }

    /// Finishes the call, whose end is `end`.
    pub(super) async fn finish_end(&self, end: CallEnd) -> CallOutcome {
        match end {
            CallEnd::Done(outcome) => self.finish_answered(AnswerSource::Tool, outcome).await,
            CallEnd::Answered(EarlyAnswer { outcome, answered_by }) => {
                self.finish_answered(answered_by, outcome).await
            }
            CallEnd::Stopped(stop) => self.finish_answered(AnswerSource::Executor, Err(stop.error())).await,
            CallEnd::External => self.finish_external().await,
            CallEnd::NotAdmitted(error) => self.finish_not_admitted(error).await,
            CallEnd::NeedsApproval(request) => self.finish_with_question(request).await,
        }
    }

    /// Leaves a call to the caller, unless the batch was stopped before.
    pub(super) async fn finish_external(&self) -> CallOutcome {
        if let Some(stop) = self.batch.stop_reason() {
            self.batch.report_started(self.request).await;
            return self.finish_answered(AnswerSource::Executor, Err(stop.error())).await;
        }
        let address = self.batch.address_of(self.request);
        // Opened before the event: its receiver may answer at once.
        if let Err(error) = self.open_call(OpenKind::External, &address, None, (None, None)).await {
            self.batch.report_started(self.request).await;
            return self.finish_ended(AnswerSource::Executor, Err(error)).await;
        }
        let call = self.batch.events.redacted_call(self.call, self.definition);
        let seen_call = (!self.batch.is_unobserved).then(|| Arc::new(call.clone()));
        let outcome = CallOutcome::External(Box::new(call), address);
        // Before the event, too: a caller that executes the call finds it open after a crash.
        self.record_outcome(&outcome).await;
        if let Some(call) = seen_call {
            let external = || EventKind::External { call: Arc::clone(&call) };
            self.batch.events.emit(|| (self.batch.subject_of(self.request), external())).await;
        }
        outcome
    }

    /// Opens the call for an answer of `kind`. A long-running one may be reported, and has an operation.
    ///
    /// # Errors
    ///
    /// Returns an error if the call cannot be stored, or if it was open before and was answered elsewhere.
    async fn open_call(
        &self,
        kind: OpenKind,
        address: &CallAddress,
        request: Option<Box<ApprovalRequest>>,
        (is_reported, operation): (Option<bool>, Option<String>),
    ) -> Result<(), ToolError> {
        let answers = match &request {
            Some(_) => std::mem::take(&mut *self.state.answers()).into_answers(),
            None => Vec::new(),
        };
        let (call, definition) = (self.call, self.definition);
        let opened_at = self.request.confirmed.map(Confirmed::opened_at);
        let owner = Confirmed::owner_of(self.request.confirmed, self.batch.run());
        let opening = Opening {
            kind,
            call,
            address,
            owner,
            definition,
            opened_at,
            request,
            answers,
            is_reported,
            operation,
        };
        let open = &self.executor.open;
        let record = open.record_of(opening)?;
        let storing = async {
            match self.request.confirmed {
                Some(confirmed) => confirmed.reopen(open, record).await,
                None => open.put(record).await,
            }
        };
        match self.batch.within_grace_period(Box::pin(storing)).await {
            Some(opened) => opened,
            None => Err(ToolError::new(ErrorKind::Cancelled, "the store did not open the call in time")),
        }
    }

    /// Closes a call that was open before, and is answered now.
    ///
    /// # Errors
    ///
    /// Returns an error if it was answered elsewhere.
    async fn close_call(&self) -> Result<(), ToolError> {
        let Some(confirmed) = self.request.confirmed else { return Ok(()) };
        let closing = Box::pin(confirmed.close(&self.executor.open));
        let no_time = || ToolError::new(ErrorKind::Cancelled, "the store did not close the call in time");
        self.batch.within_grace_period(closing).await.unwrap_or_else(|| Err(no_time()))
    }

    /// Finishes a call that was not admitted, without events.
    pub(super) async fn finish_not_admitted(&self, error: ToolError) -> CallOutcome {
        let error = self.close_call().await.err().unwrap_or(error).of_tool(self.call.name.to_string());
        let result = ToolResult::new(self.call.id.clone(), self.request.name(), Err(error));
        CallOutcome::Finished(result.redirected_as(self.call))
    }

    /// Finishes a call that requires an approval.
    pub(super) async fn finish_with_question(&self, request: Box<ApprovalRequest>) -> CallOutcome {
        // Opened before the event: its receiver may answer at once.
        let address = request.address.clone();
        if let Err(error) =
            self.open_call(OpenKind::Confirmation, &address, Some(request.clone()), (None, None)).await
        {
            return self.finish_ended(AnswerSource::Executor, Err(error)).await;
        }
        let message = format!("requires confirmation: {}", request.hint);
        let error = ToolError::new(ErrorKind::ApprovalRequired, request.hint.clone());
        // The text for the model is this message only.
        let error = error.with_feedback(message).of_tool(self.call.name.to_string());
        let result = self.result_of(Err(error));
        self.report_finished(&result).await;
        CallOutcome::Pending(Box::new(Pending {
            call: self.batch.events.redacted_call(self.call, self.definition),
            address,
            operation: Operation::Confirmation(request),
            result: Some(result),
        }))
    }

    /// Finishes a call that was answered by `answered_by`.
    pub(super) async fn finish_answered(
        &self,
        answered_by: AnswerSource,
        mut outcome: Result<ToolOutput, ToolError>,
    ) -> CallOutcome {
        if answered_by == AnswerSource::Tool
            && let Some(error) = self.state.hook_panic_stop()
        {
            outcome = Err(error);
        }
        if let (AnswerSource::Tool, Some(definition)) = (answered_by, self.definition)
            && let Some(error) = question_of(&outcome, definition)
        {
            match self.question_of_body(definition, error).await {
                Ok(request) => return self.finish_with_question(request).await,
                Err(error) => outcome = Err(error),
            }
        }
        self.finish_ended(answered_by, outcome).await
    }

    /// Finishes a call without a pending question.
    async fn finish_ended(
        &self,
        mut answered_by: AnswerSource,
        mut outcome: Result<ToolOutput, ToolError>,
    ) -> CallOutcome {
        let goes_on = answered_by == AnswerSource::Tool
            && outcome.as_ref().is_ok_and(|output| self.starts_operation(output));
        if !goes_on && let Err(error) = self.close_call().await {
            // The answer given elsewhere counts.
            (answered_by, outcome) = (AnswerSource::Executor, Err(error));
        }
        // An output by which a hook replaces a failure is final.
        let has_succeeded = answered_by == AnswerSource::Tool && outcome.is_ok();
        let mut result = self.result_of(outcome);
        if self.executor.settings.has_hooks() {
            self.pass_to_hooks(answered_by, &mut result).await;
        }
        self.apply_stop_and_settings(&mut result);
        if has_succeeded && result.outcome.as_ref().is_ok_and(|output| self.starts_operation(output)) {
            return self.finish_pending(result).await;
        }
        if goes_on && let Err(error) = self.close_call().await {
            result = self.result_of(Err(error));
        }
        self.report_finished(&result).await;
        CallOutcome::Finished(result)
    }

    /// Stops the run if the result is a stop, and applies the settings for every result.
    #[inline]
    fn apply_stop_and_settings(&self, result: &mut ToolResult) {
        if let Err(error) = &result.outcome {
            self.batch.stop_on_error(error, &self.call.name);
        }
        apply_result_settings(&self.executor.settings, self.definition, result);
    }

    /// Returns `outcome` as the result of the call.
    #[inline]
    fn result_of(&self, outcome: Result<ToolOutput, ToolError>) -> ToolResult {
        let outcome = outcome.map_err(|error| error.of_tool(self.call.name.to_string()));
        ToolResult {
            id: self.call.id.clone(),
            name: self.request.name(),
            outcome,
            attempts: self.state.stats.attempts(),
            finished_at: SystemTime::now(),
            duration: self.state.stats.duration(),
            redirected_from: self.call.redirected_from.clone(),
            follow_ups: None,
        }
    }

    fn call_view(&self) -> CallView<'_> {
        CallView {
            id: &self.call.id,
            tool: &self.call.name,
            // The canonical arguments if they are valid, otherwise the received ones.
            arguments: self.state.arguments.as_deref().unwrap_or(&self.call.arguments),
            definition: self.definition,
            cx: self.state.cx.as_ref(),
            run: self.batch.run(),
        }
    }

    /// Passes the result to the hooks that may change it. If a cancellation interrupts them, the result is not
    /// returned.
    async fn pass_to_hooks(&self, answered_by: AnswerSource, result: &mut ToolResult) {
        let stop = stop_error_of(result).cloned();
        if self.batch.within_grace_period(self.run_result_hooks(answered_by, result)).await.is_none() {
            let error = ToolError::new(ErrorKind::Cancelled, "a hook did not finish in time");
            result.outcome = Err(error.of_tool(self.call.name.to_string()));
        }
        // Hooks cannot change the call that a result answers.
        (result.id, result.name) = (self.call.id.clone(), self.request.name());
        result.redirected_from.clone_from(&self.call.redirected_from);
        if let Some(stop) = stop {
            // A stop cannot be replaced by a hook.
            result.outcome = Err(stop);
        }
    }

    async fn run_result_hooks(&self, answered_by: AnswerSource, result: &mut ToolResult) {
        let settings = &self.executor.settings;
        let (id, view) = (&self.call.id, self.call_view());
        let _turn = self.batch.events.hook_turn().await;
        if matches!(answered_by, AnswerSource::Tool | AnswerSource::Check) {
            for hook in settings.all_hooks() {
                let Some(error) = result.outcome.as_ref().err().filter(|error| !error.is_stop()) else {
                    break;
                };
                let decision = run_in_call(id, HOOK_COMPONENT, || hook.dynamic().recover(&view, error)).await;
                match decision.map_err(|panic| settings.hook_panic_error(panic)).and_then(|decision| decision)
                {
                    Ok(None) => {}
                    Ok(Some(output)) => result.outcome = Ok(output),
                    Err(error) => {
                        result.outcome = Err(error.of_tool(self.call.name.to_string()));
                        break;
                    }
                }
            }
        }
        if matches!(answered_by, AnswerSource::Tool | AnswerSource::Check)
            || answered_by == AnswerSource::Hook && settings.after_answers
        {
            for hook in settings.all_hooks() {
                let decision = run_in_call(id, HOOK_COMPONENT, || hook.dynamic().after(&view, result)).await;
                match decision.map_err(|panic| settings.hook_panic_error(panic)).and_then(|decision| decision)
                {
                    Ok(ControlFlow::Continue(())) => {}
                    Ok(ControlFlow::Break(())) => break,
                    Err(error) => {
                        result.outcome = Err(error.of_tool(self.call.name.to_string()));
                        break;
                    }
                }
            }
        }
    }

    /// Sends `Finished`.
    async fn report_finished(&self, result: &ToolResult) {
        if self.batch.is_unobserved {
            return;
        }
        self.send_late_events().await;
        if self.batch.events.has_receiver_of_ends() {
            let finished = || EventKind::Finished { result: Arc::new(result.clone()) };
            self.batch.events.emit(|| (self.batch.subject_of(self.request), finished())).await;
        }
        // Also without a receiver: the start may have had one.
        self.batch.mark_ended(self.request);
        if self.executor.settings.has_hooks()
            && self.batch.within_grace_period(self.run_finished_hooks(result)).await.is_none()
        {
            let (call, tool) = (&self.call.id, &*self.call.name);
            tracing::warn!(%call, tool, "the batch was cancelled, and hooks did not observe the end of a call in time");
        }
    }

    /// Sends the queued events for which the reader had no capacity.
    async fn send_late_events(&self) {
        let Some(reports) = &self.state.reports else { return };
        for event in reports.take_late_events() {
            self.batch.events.send_to_reader(event).await;
        }
    }

    async fn run_finished_hooks(&self, result: &ToolResult) {
        let view = self.call_view();
        let _turn = self.batch.events.hook_turn().await;
        for hook in self.executor.settings.all_hooks() {
            // The call is over; a panic no longer affects it.
            if let Err(error) =
                run_in_call(&self.call.id, HOOK_COMPONENT, || hook.dynamic().finished(&view, result)).await
            {
                report_panic(&view, hook, "finished", &error);
                self.batch.stop_on_error(&self.executor.settings.hook_panic_error(error), &self.call.name);
            }
        }
    }

    /// Returns `true` if the tool started work that continues after the batch.
    fn starts_operation(&self, output: &ToolOutput) -> bool {
        let long_running = self.definition.is_some_and(|it| it.metadata().is_long_running());
        long_running || output.operation_id().is_some()
    }

    async fn finish_pending(&self, result: ToolResult) -> CallOutcome {
        let output = result.outcome.as_ref().ok();
        let operation = output.and_then(ToolOutput::operation_id).map(str::to_owned);
        let has_interim_result = output.is_some_and(|output| !output.is_empty());
        let is_reported = (!self.batch.is_unobserved).then_some(has_interim_result);
        let address = self.batch.address_of(self.request);
        let work = (is_reported, operation.clone());
        if let Err(error) = self.open_call(OpenKind::LongRunning, &address, None, work).await {
            // Answered by the error, it is not to be answered once more; if this fails, too, its error says no more.
            drop(self.close_call().await);
            let result = self.result_of(Err(error));
            self.report_finished(&result).await;
            return CallOutcome::Finished(result);
        }
        match has_interim_result {
            true => self.report_finished(&result).await,
            // `Finished` is sent with its answer.
            false => {
                self.send_late_events().await;
                self.batch.mark_ended(self.request);
            }
        }
        CallOutcome::Pending(Box::new(Pending {
            call: self.batch.events.redacted_call(self.call, self.definition),
            address,
            operation: Operation::LongRunning(operation),
            result: has_interim_result.then_some(result),
        }))
    }

    /// Returns the question that the tool's body asked by `error`, to be answered later.
    async fn question_of_body(
        &self,
        definition: &ToolDefinition,
        error: &ToolError,
    ) -> Result<Box<ApprovalRequest>, ToolError> {
        // The approver may have been asked already and returned `Pending`.
        let pending = self.state.answers().take_pending();
        if let Some(request) = pending {
            return Ok(request);
        }
        self.state.answers().check_question_limit()?;
        let (executor, call, address) = (self.executor, self.call, self.batch.address_of(self.request));
        let arguments = self.state.arguments.as_deref().cloned().unwrap_or_else(|| {
            // The arguments were valid when the call began; if they no longer are, the answer matches no call.
            let received = Arguments::from(self.call.arguments.as_str().to_owned());
            let canonical = executor.tools.canonical_arguments(definition.name().as_str(), received);
            canonical.unwrap_or(Arguments::EMPTY)
        });
        let request =
            AskingCall { executor, call, address, definition, arguments: &arguments }.approval_request(error);
        self.batch.report_approval_request(&request, definition).await;
        Ok(request)
    }
}
