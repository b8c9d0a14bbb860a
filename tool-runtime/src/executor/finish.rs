//! The last step of a call: from its answer to its outcome.

use std::{ops::ControlFlow, sync::Arc};

use tool_core::{Arguments, CallAddress, ErrorKind, ToolDefinition, ToolError, ToolOutput};

use super::{
    Inner,
    event_sink::{HOOK, report_panic},
    open::{Confirmed, Opening},
    prepare::{AnsweredBy, Request},
    questions::{Asking, question},
    settings::Settings,
    state::{CallPosition, CallScope},
    stop::stop_of,
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
pub(super) struct Finishing<'a> {
    pub(super) executor: &'a Arc<Inner>,
    pub(super) around: &'a CallScope,
    pub(super) asked: Request<'a>,
    pub(super) call: &'a ToolCall,
    pub(super) definition: Option<&'a ToolDefinition>,
    pub(super) place: &'a CallPosition,
}

impl Finishing<'_> {
    /// Leaves a call to the caller, unless the batch was stopped before.
    pub(super) async fn external(&self) -> CallOutcome {
        if let Some(stop) = self.around.stop() {
            self.around.started(&self.asked).await;
            return self.answered(AnsweredBy::Executor, Err(stop.error())).await;
        }
        let address = self.around.address(&self.asked);
        // Opened before the event: its receiver may answer at once.
        if let Err(error) = self.open(OpenKind::External, &address, None, None).await {
            self.around.started(&self.asked).await;
            return self.ended(AnsweredBy::Executor, Err(error)).await;
        }
        let call = self.around.outlet.shown(self.call, self.definition);
        if !self.around.is_quiet {
            let shown = || EventKind::External { call: Arc::new(call.clone()) };
            self.around.outlet.tell(|| (self.around.subject(&self.asked), shown())).await;
        }
        CallOutcome::External(Box::new(call), address)
    }

    /// Opens the call for an answer of `kind`.
    ///
    /// # Errors
    ///
    /// Returns an error if the call cannot be stored, or if it was open before and was answered elsewhere.
    async fn open(
        &self,
        kind: OpenKind,
        address: &CallAddress,
        request: Option<Box<ApprovalRequest>>,
        is_reported: Option<bool>,
    ) -> Result<(), ToolError> {
        self.close().await?;
        let given = match &request {
            Some(_) => std::mem::take(&mut *self.place.given()).into_answers(),
            None => Vec::new(),
        };
        let (call, definition) = (self.call, self.definition);
        let opened_at = self.asked.confirmed.map(Confirmed::opened_at);
        let opening = Opening { kind, call, address, definition, opened_at, request, given, is_reported };
        let opening = Box::pin(self.executor.open.open(opening));
        match self.around.in_grace(opening).await {
            Some(opened) => opened,
            None => Err(ToolError::new(ErrorKind::Cancelled, "the store did not open the call in time")),
        }
    }

    /// Closes a call that was open before, and is answered now.
    ///
    /// # Errors
    ///
    /// Returns an error if it was answered elsewhere.
    async fn close(&self) -> Result<(), ToolError> {
        let Some(confirmed) = self.asked.confirmed else { return Ok(()) };
        let closing = Box::pin(confirmed.close(&self.executor.open));
        let no_time = || ToolError::new(ErrorKind::Cancelled, "the store did not close the call in time");
        self.around.in_grace(closing).await.unwrap_or_else(|| Err(no_time()))
    }

    /// Finishes a call that was not admitted, without events.
    pub(super) async fn gated(&self, error: ToolError) -> CallOutcome {
        let error = self.close().await.err().unwrap_or(error).of_tool(self.call.name.to_string());
        CallOutcome::Finished(ToolResult::new(self.call.id.clone(), self.asked.name(), Err(error)))
    }

    /// Finishes a call that requires an approval.
    pub(super) async fn asked(&self, request: Box<ApprovalRequest>) -> CallOutcome {
        // Opened before the event: its receiver may answer at once.
        let address = request.address.clone();
        if let Err(error) = self.open(OpenKind::Confirmation, &address, Some(request.clone()), None).await {
            return self.ended(AnsweredBy::Executor, Err(error)).await;
        }
        let message = format!("requires confirmation: {}", request.hint);
        let error = ToolError::new(ErrorKind::ApprovalRequired, request.hint.clone());
        // The text for the model is this message only.
        let error = error.with_feedback(message).of_tool(self.call.name.to_string());
        let result = self.result(Err(error));
        self.report_finished(&result).await;
        CallOutcome::Pending(Box::new(Pending {
            call: self.around.outlet.shown(self.call, self.definition),
            address,
            operation: Operation::Confirmation(request),
            result: Some(result),
        }))
    }

    /// Finishes a call that was answered by `by`.
    pub(super) async fn answered(
        &self,
        by: AnsweredBy,
        mut outcome: Result<ToolOutput, ToolError>,
    ) -> CallOutcome {
        if let (AnsweredBy::Tool, Some(error)) = (by, self.place.panic_of_hook()) {
            outcome = Err(error);
        }
        if let (AnsweredBy::Tool, Some(definition)) = (by, self.definition)
            && let Some(error) = question(&outcome, definition)
        {
            match self.question_of_body(definition, error).await {
                Ok(request) => return self.asked(request).await,
                Err(error) => outcome = Err(error),
            }
        }
        self.ended(by, outcome).await
    }

    /// Finishes a call without a pending question.
    async fn ended(&self, mut by: AnsweredBy, mut outcome: Result<ToolOutput, ToolError>) -> CallOutcome {
        if let Err(error) = self.close().await {
            // The answer given elsewhere counts.
            (by, outcome) = (AnsweredBy::Executor, Err(error));
        }
        // An output by which a hook replaces a failure is final.
        let has_succeeded = by == AnsweredBy::Tool && outcome.is_ok();
        let mut result = self.result(outcome);
        let stop = stop_of(&result).cloned();
        self.hooks(by, &mut result).await;
        // Hooks cannot change the call that a result answers.
        (result.id, result.name) = (self.call.id.clone(), self.asked.name());
        if let Some(stop) = stop {
            // A stop cannot be replaced by a hook.
            result.outcome = Err(stop);
        }
        if let Err(error) = &result.outcome {
            self.around.stop_by(error, &self.call.name);
        }
        self.complete(&mut result);
        if has_succeeded && result.outcome.as_ref().is_ok_and(|output| self.starts_something(output)) {
            return self.pending(result).await;
        }
        self.report_finished(&result).await;
        CallOutcome::Finished(result)
    }

    /// Returns `true` if the call is not over with `outcome`.
    pub(super) fn goes_on(&self, outcome: &Result<ToolOutput, ToolError>) -> bool {
        match outcome {
            Ok(output) => self.starts_something(output),
            Err(error) => error.kind() == ErrorKind::ApprovalRequired,
        }
    }

    /// Applies the settings of the tool and the executor for every result.
    pub(super) fn complete(&self, result: &mut ToolResult) {
        complete(&self.executor.settings, self.definition, result);
    }

    /// Returns `outcome` as the result of the call.
    pub(super) fn result(&self, outcome: Result<ToolOutput, ToolError>) -> ToolResult {
        let outcome = outcome.map_err(|error| error.of_tool(self.call.name.to_string()));
        ToolResult {
            attempts: self.place.runs.attempts(),
            duration: self.place.runs.duration(),
            ..ToolResult::new(self.call.id.clone(), self.asked.name(), outcome)
        }
    }

    fn view(&self) -> CallView<'_> {
        CallView {
            id: &self.call.id,
            tool: &self.call.name,
            // The canonical arguments if they are valid, otherwise the received ones.
            arguments: self.place.arguments.as_deref().unwrap_or(&self.call.arguments),
            definition: self.definition,
            cx: self.place.cx.as_ref(),
            run: self.around.run(),
        }
    }

    /// Passes the result to the hooks that may change it. If a cancellation interrupts them, the result is not
    /// returned.
    async fn hooks(&self, by: AnsweredBy, result: &mut ToolResult) {
        if self.executor.settings.has_hooks()
            && self.around.in_grace(self.ask_hooks(by, result)).await.is_none()
        {
            let error = ToolError::new(ErrorKind::Cancelled, "a hook did not finish in time");
            result.outcome = Err(error.of_tool(self.call.name.to_string()));
        }
    }

    async fn ask_hooks(&self, by: AnsweredBy, result: &mut ToolResult) {
        let settings = &self.executor.settings;
        let (id, view) = (&self.call.id, self.view());
        let _turn = self.around.outlet.turn().await;
        if matches!(by, AnsweredBy::Tool | AnsweredBy::Check) {
            for hook in settings.all_hooks() {
                let Some(error) = result.outcome.as_ref().err().filter(|error| !error.is_stop()) else {
                    break;
                };
                let decision = run_in_call(id, HOOK, || hook.dynamic().recover(&view, error)).await;
                match decision.map_err(|panic| settings.panic_of_hook(panic)).and_then(|decision| decision) {
                    Ok(None) => {}
                    Ok(Some(output)) => result.outcome = Ok(output),
                    Err(error) => {
                        result.outcome = Err(error.of_tool(self.call.name.to_string()));
                        break;
                    }
                }
            }
        }
        if matches!(by, AnsweredBy::Tool | AnsweredBy::Check)
            || by == AnsweredBy::Hook && settings.after_answers
        {
            for hook in settings.all_hooks() {
                let decision = run_in_call(id, HOOK, || hook.dynamic().after(&view, result)).await;
                match decision.map_err(|panic| settings.panic_of_hook(panic)).and_then(|decision| decision) {
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
        if self.around.is_quiet {
            return;
        }
        self.send_late_events().await;
        let finished = || EventKind::Finished { result: Arc::new(result.clone()) };
        self.around.outlet.tell(|| (self.around.subject(&self.asked), finished())).await;
        self.around.ended(&self.asked);
        if self.executor.settings.has_hooks() && self.around.in_grace(self.tell_hooks(result)).await.is_none()
        {
            let (call, tool) = (&self.call.id, &*self.call.name);
            tracing::warn!(%call, tool, "the batch was cancelled, and hooks did not observe the end of a call in time");
        }
    }

    /// Sends the queued events for which the reader had no capacity.
    async fn send_late_events(&self) {
        let Some(reports) = &self.place.reports else { return };
        for event in reports.take_late() {
            self.around.outlet.tell_reader(event).await;
        }
    }

    async fn tell_hooks(&self, result: &ToolResult) {
        let view = self.view();
        let _turn = self.around.outlet.turn().await;
        for hook in self.executor.settings.all_hooks() {
            // The call is over; a panic no longer affects it.
            if let Err(error) =
                run_in_call(&self.call.id, HOOK, || hook.dynamic().finished(&view, result)).await
            {
                report_panic(&view, hook, "finished", &error);
                self.around.stop_by(&self.executor.settings.panic_of_hook(error), &self.call.name);
            }
        }
    }

    /// Returns `true` if the tool started work that continues after the batch.
    fn starts_something(&self, output: &ToolOutput) -> bool {
        let long_running = self.definition.is_some_and(|it| it.metadata().is_long_running());
        long_running || output.operation_id().is_some()
    }

    async fn pending(&self, result: ToolResult) -> CallOutcome {
        let output = result.outcome.as_ref().ok();
        let operation = output.and_then(ToolOutput::operation_id).map(str::to_owned);
        let has_news = output.is_some_and(|output| !output.is_empty());
        let is_reported = (!self.around.is_quiet).then_some(has_news);
        let address = self.around.address(&self.asked);
        if let Err(error) = self.open(OpenKind::LongRunning, &address, None, is_reported).await {
            let result = self.result(Err(error));
            self.report_finished(&result).await;
            return CallOutcome::Finished(result);
        }
        match has_news {
            true => self.report_finished(&result).await,
            // `Finished` is sent with its answer.
            false => {
                self.send_late_events().await;
                self.around.ended(&self.asked);
            }
        }
        CallOutcome::Pending(Box::new(Pending {
            call: self.around.outlet.shown(self.call, self.definition),
            address,
            operation: Operation::LongRunning(operation),
            result: has_news.then_some(result),
        }))
    }

    /// Returns the question that the tool's body asked by `error`, to be answered later.
    async fn question_of_body(
        &self,
        definition: &ToolDefinition,
        error: &ToolError,
    ) -> Result<Box<ApprovalRequest>, ToolError> {
        // The approver may have been asked already and returned `Pending`.
        let pending = self.place.given().take_pending();
        if let Some(request) = pending {
            return Ok(request);
        }
        self.place.given().has_room()?;
        let (executor, call, address) = (self.executor, self.call, self.around.address(&self.asked));
        let arguments = self.place.arguments.as_deref().cloned().unwrap_or_else(|| {
            // The arguments were valid when the call began; if they no longer are, the answer matches no call.
            let came = Arguments::from(self.call.arguments.as_str().to_owned());
            let canonical = executor.tools.canonical(definition.name().as_str(), came);
            canonical.unwrap_or(Arguments::EMPTY)
        });
        let request = Asking { executor, call, address, definition, arguments: &arguments }.request(error);
        self.around.asking(&request, definition).await;
        Ok(request)
    }
}

/// Applies the settings of the tool and the executor for every result: `skip_summarization`, and the size limit.
pub(super) fn complete(settings: &Settings, definition: Option<&ToolDefinition>, result: &mut ToolResult) {
    let Some(metadata) = definition.map(ToolDefinition::metadata) else { return };
    if metadata.skip_summarization {
        skip_summarization(result);
    }
    if let Some(budget) = &settings.budget {
        budget.hold(result, metadata.max_result_size);
    }
}

/// Adds `skip_summarization` to the actions of the result.
fn skip_summarization(result: &mut ToolResult) {
    // A model must read failures.
    if let Ok(output) = &mut result.outcome
        && !output.is_failure()
    {
        let mut actions = output.actions().cloned().unwrap_or_default();
        actions.skip_summarization = true;
        *output = std::mem::take(output).with_actions(actions);
    }
}
