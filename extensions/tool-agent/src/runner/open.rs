//! Open calls: their answers, and the end of their batch.
//!
//! A batch stays in the session until each of its calls has a result. Its results are stored as one message, in the order
//! of the calls: each call in a request has its result, and no result is invented.

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use tool_runtime::{
    CallOutcome, Executor, ToolCall, ToolError, ToolResult,
    call::{CallId, Operation},
    context::ConfirmationAnswer,
    open_calls::{CallRef, OpenCallError},
    output::Actions,
    policy::ApprovalRequest,
};

use super::{
    AgentEventKind, Answers, End, EndReason,
    answers::Answer,
    drive::{Drive, Next, failed, limit, stopped},
};
use crate::{Limit, Message, model::Response};

/// A batch whose results are not stored yet.
pub(super) struct OpenBatch {
    /// The executor that keeps its open calls.
    pub(super) executor: Executor,
    /// The outcomes, in the order of the calls.
    pub(super) outcomes: Vec<CallOutcome>,
    /// The messages that follow the results.
    pub(super) after: Vec<Message>,
}

/// The answers of one kind, by the index of their call in the batch.
type ByIndex<T> = BTreeMap<usize, T>;

impl Drive {
    /// Continues or ends the run after its calls were executed.
    pub(super) async fn after_calls(&mut self, number: u64, response: &Response) -> Next {
        let outcomes = self.turn.open.as_ref().map(|open| open.outcomes.clone()).unwrap_or_default();
        if let Some(stop) = tool_runtime::executor::stop_error(&outcomes) {
            self.abandon("not answered: the run was stopped").await;
            return stopped(stop);
        }
        if let Some(end) = self.submitted(&outcomes).await {
            self.abandon("not answered: the output was submitted").await;
            let open = outcomes.into_iter().filter(|outcome| !outcome.is_finished()).collect();
            return ControlFlow::Break(End { open, ..end });
        }
        self.settled().await?;
        self.completed(number, response).await
    }

    /// Answers the open calls of the session, and continues with the end of their batch.
    pub(super) async fn answered_later(&mut self, answers: Answers) -> Next {
        if self.turn.open.is_none() {
            let problem = match self.run.session() {
                None => {
                    "the run has no session, so it has no open calls; set the session of the run that ended"
                }
                Some(_) => {
                    "the session has no open calls; check the app, the user and the session of the run, or send a \
                     message in place of answers"
                }
            };
            return failed(problem.to_owned());
        }
        if let Err(problem) = self.answer(answers).await {
            return failed(problem);
        }
        self.settled().await?;
        let Some(calls) = self.turn.messages.last().cloned() else { return ControlFlow::Continue(()) };
        self.completed(self.usage.rounds, &Response::new(calls)).await
    }

    /// Returns once all calls of the batch have a result; ends the run if it does not wait for them.
    async fn settled(&mut self) -> Next {
        let mut is_announced = false;
        loop {
            while let Some(answers) = self.inbox.next_answers() {
                if let Err(text) = self.answer(answers).await {
                    self.emit(AgentEventKind::Notice { text }).await;
                }
            }
            let Some(open) = self.turn.open.as_ref().and_then(OpenBatch::unfinished) else {
                return ControlFlow::Continue(());
            };
            if !std::mem::replace(&mut is_announced, true) {
                let (calls, long_running) = (open.calls(), open.ids());
                self.emit(AgentEventKind::Open { calls, long_running }).await;
            }
            if self.run.cancellation().is_cancelled() {
                return ControlFlow::Break(open.end(EndReason::Cancelled));
            }
            if !self.agent().0.waits_for_answers {
                return ControlFlow::Break(open.end(EndReason::OpenCalls));
            }
            tokio::select! {
                () = self.inbox.answered() => {}
                () = self.run.cancellation().cancelled() => {}
                () = self.late() => {
                    let reached = limit(Limit::Time, "the time of the run is over".to_owned());
                    return reached.map_break(|end| End { open: open.open, confirmations: open.confirmations, ..end });
                }
            }
        }
    }

    /// Applies answers to the open batch: first results, then decisions, as one batch. The batch is unchanged if one of
    /// the answers is not valid.
    async fn answer(&mut self, answers: Answers) -> Result<(), String> {
        let Some(open) = &self.turn.open else { return Err("no calls wait for an answer".to_owned()) };
        let executor = open.executor.clone();
        let (mut results, mut decisions, mut notices) = (ByIndex::new(), ByIndex::new(), Vec::new());
        for (call, answer) in answers.0 {
            let Some(index) = open.find(&call)? else {
                notices.push(format!("the call `{call}` has its result; the further answer is ignored"));
                continue;
            };
            let is_new = match (answer, request(&open.outcomes[index])) {
                (Answer::Result(result), None) => results.insert(index, result).is_none(),
                (Answer::Decision(decision), Some(_)) => {
                    decisions.insert(index, (call.clone(), decision)).is_none()
                }
                (Answer::Result(_), Some(_)) => {
                    return Err(format!("the call `{call}` waits for an approval, and received a result"));
                }
                (Answer::Decision(_), None) => {
                    return Err(format!("the call `{call}` waits for its result, and received a decision"));
                }
            };
            if !is_new {
                return Err(format!("the call `{call}` received two answers; give one for each call"));
            }
        }
        for text in notices {
            self.emit(AgentEventKind::Notice { text }).await;
        }
        for (index, result) in results {
            self.submit(&executor, index, result).await;
        }
        self.decide(executor, decisions).await
    }

    async fn submit(
        &mut self,
        executor: &Executor,
        index: usize,
        result: Result<tool_runtime::ToolOutput, ToolError>,
    ) {
        let Some(outcome) = self.turn.open.as_ref().map(|open| open.outcomes[index].clone()) else { return };
        let Some(address) = outcome.address() else { return };
        let result = match executor.submit_result(address, result).await {
            Ok(result) => result,
            Err(error) => interrupted(&outcome, &error.to_string()),
        };
        self.replace(index, CallOutcome::Finished(result));
    }

    /// Runs the approved calls, and answers the rejected ones.
    async fn decide(
        &mut self,
        executor: Executor,
        decisions: ByIndex<(CallRef, ConfirmationAnswer)>,
    ) -> Result<(), String> {
        let executor = self.with_approvals(executor).map_err(|error| error.to_string())?;
        let (mut indices, mut answers) = (Vec::new(), Vec::new());
        for (index, (call, answer)) in decisions {
            let Some(outcome) = self.turn.open.as_ref().map(|open| open.outcomes[index].clone()) else {
                continue;
            };
            let Some(request) = request(&outcome) else { continue };
            // An id names the call here. It names the first question about it only: later ones are named by the request.
            let call = match call {
                CallRef::Id(_) => CallRef::from(&request.address),
                other => other,
            };
            // An error concerns this call only: it expired, or an earlier batch with it was dropped.
            match executor.resume([(call.clone(), answer.clone())]).await {
                Ok(_) => {
                    indices.push(index);
                    answers.push((call, answer));
                }
                Err(error @ (OpenCallError::NeedsQuestion(_) | OpenCallError::RequestChanged(_))) => {
                    self.emit(AgentEventKind::Notice { text: error.to_string() }).await;
                }
                Err(error) => {
                    self.replace(index, CallOutcome::Finished(interrupted(&outcome, &error.to_string())))
                }
            }
        }
        if answers.is_empty() {
            return Ok(());
        }
        let batch = executor.resume(answers).await.map_err(|error| error.to_string())?;
        let (outcomes, steering) = self.streamed_batch(batch).await;
        for (index, outcome) in indices.into_iter().zip(outcomes) {
            self.replace(index, outcome);
        }
        if let Some(open) = &mut self.turn.open {
            open.after.extend(steering);
        }
        Ok(())
    }

    /// Ignores answers that arrived before the batch: they cannot be about its calls, which may have the same ids.
    pub(super) async fn ignore_answers(&self) {
        while self.inbox.next_answers().is_some() {
            let text = "an answer to an earlier batch is ignored".to_owned();
            self.emit(AgentEventKind::Notice { text }).await;
        }
    }

    fn replace(&mut self, index: usize, outcome: CallOutcome) {
        if let Some(place) = self.turn.open.as_mut().and_then(|open| open.outcomes.get_mut(index)) {
            *place = outcome;
        }
    }

    /// Stores the results of a batch whose calls are all finished, and continues or ends the run.
    async fn completed(&mut self, number: u64, response: &Response) -> Next {
        let Some(open) = self.turn.open.take() else { return ControlFlow::Continue(()) };
        let outcomes = open.outcomes;
        let actions = tool_runtime::call::merged_actions(&outcomes);
        let results = Message::results(outcomes.iter().filter_map(CallOutcome::result).cloned());
        self.add_all(std::iter::once(results.clone()).chain(open.after)).await;
        self.report_ignored(&actions).await;
        if let Some(stop) = tool_runtime::executor::stop_error(&outcomes) {
            return stopped(stop);
        }
        if let Some(end) = self.output_in(&outcomes).await {
            return ControlFlow::Break(end);
        }
        if actions.terminate || actions.skip_summarization {
            let texts: Vec<_> = outcomes.iter().filter_map(CallOutcome::result).map(|it| it.text()).collect();
            let reason =
                if actions.terminate { EndReason::Terminated } else { EndReason::SkippedSummarization };
            return ControlFlow::Break(End { text: texts.join("\n"), ..End::new(reason) });
        }
        let end = self.step_end(number, response, Some(results));
        for hook in self.hooks() {
            if self.hooked(&hook, || hook.dynamic().after_step(&end)).await?.is_break() {
                return ControlFlow::Break(End::new(EndReason::HookStopped));
            }
        }
        ControlFlow::Continue(())
    }

    /// Reports actions that have no effect in a run of one agent.
    async fn report_ignored(&self, actions: &Actions) {
        let ignored = [
            actions
                .transfer
                .as_ref()
                .map(|agent| format!("a tool asked for a transfer to the agent `{agent}`")),
            actions.escalate.then(|| "a tool asked to escalate".to_owned()),
            (!actions.artifacts.is_empty()).then(|| {
                let names: Vec<_> = actions.artifacts.keys().map(|name| format!("`{name}`")).collect();
                format!("a tool saved the artifacts {}", names.join(", "))
            }),
        ];
        for action in ignored.into_iter().flatten() {
            let text =
                format!("{action}, which has no effect in this run; read `ToolResult::actions` to act on it");
            self.emit(AgentEventKind::Notice { text }).await;
        }
    }

    /// Closes the open batch of the session: calls without a result are answered with an error, for this reason, and can
    /// no longer be answered otherwise.
    pub(super) async fn abandon(&mut self, reason: &str) {
        let Some(open) = &self.turn.open else { return };
        let executor = open.executor.clone();
        let unfinished: Vec<_> = open.outcomes.iter().cloned().enumerate().collect();
        let mut notices = Vec::new();
        for (index, outcome) in unfinished {
            let Some(address) = outcome.address() else { continue };
            let (result, text) = match executor.discard(address).await {
                Ok(()) => (unanswered(&outcome, reason), format!("is closed: {reason}")),
                // The call ran, or was about to: a batch with it was dropped.
                Err(error) => {
                    (interrupted(&outcome, &error.to_string()), "is closed: it was interrupted".to_owned())
                }
            };
            notices.push(format!("the call `{}` {text}", address.call_id));
            // At once, so that a run that is dropped at the next call keeps the answer.
            self.replace(index, CallOutcome::Finished(interim(&outcome).unwrap_or(result)));
        }
        let Some(open) = self.turn.open.take() else { return };
        let results = Message::results(open.outcomes.iter().filter_map(CallOutcome::result).cloned());
        self.add_all(std::iter::once(results).chain(open.after)).await;
        for text in notices {
            self.emit(AgentEventKind::Notice { text }).await;
        }
    }

    /// Answers calls that a limit prevents.
    pub(super) async fn refuse(&mut self, calls: &[ToolCall], reason: &EndReason) {
        let reason = format!("not executed: {reason}");
        self.add(Message::results(calls.iter().map(|call| unexecuted(call, &reason)))).await;
    }

    /// Stores messages: all of them before the first event, so that a dropped run stores all or none.
    async fn add_all(&mut self, messages: impl IntoIterator<Item = Message>) {
        let messages: Vec<_> = messages.into_iter().collect();
        self.turn.messages.extend(messages.iter().cloned());
        self.view.extend(messages.iter().cloned());
        for message in messages {
            self.emit(AgentEventKind::Message { message }).await;
        }
    }
}

/// The unfinished calls of a batch, as its run reports them.
struct Unfinished {
    open: Vec<CallOutcome>,
    confirmations: Vec<ToolCall>,
}

impl OpenBatch {
    fn unfinished(&self) -> Option<Unfinished> {
        let open: Vec<_> = self.outcomes.iter().filter(|outcome| !outcome.is_finished()).cloned().collect();
        let confirmations = open.iter().filter_map(request);
        let confirmations = confirmations.map(|request| self.executor.confirmation_call(request)).collect();
        (!open.is_empty()).then_some(Unfinished { open, confirmations })
    }

    /// Returns the index of the open call that `call` names; `None` if that call has its result.
    fn find(&self, call: &CallRef) -> Result<Option<usize>, String> {
        let is_named = |outcome: &CallOutcome| match call {
            CallRef::Id(id) => outcome.id() == id,
            CallRef::Address(address) => outcome.address() == Some(address),
            CallRef::Question(address, hash) | CallRef::Request { address, hash, .. } => {
                request(outcome).is_some_and(|it| it.address == *address && it.hash == *hash)
            }
        };
        let all = self.outcomes.iter().enumerate();
        let open: Vec<_> =
            all.filter(|(_, it)| !it.is_finished() && is_named(it)).map(|(index, _)| index).collect();
        match open[..] {
            [index] => Ok(Some(index)),
            [] if self.outcomes.iter().any(|it| it.is_finished() && had_name(it, call)) => Ok(None),
            [] => Err(format!("no call `{call}` waits for an answer; use an id or address of `End::open`")),
            _ => Err(format!("several open calls have the id `{call}`; use the address of one")),
        }
    }
}

impl Unfinished {
    /// Returns the calls in order: open calls, and virtual calls for those that wait for an approval.
    fn calls(&self) -> Vec<ToolCall> {
        let mut confirmations = self.confirmations.iter();
        let calls = self.open.iter().filter_map(|outcome| match outcome {
            CallOutcome::External(call, _) => Some((**call).clone()),
            CallOutcome::Pending(pending) if matches!(pending.operation, Operation::Confirmation(_)) => {
                confirmations.next().cloned()
            }
            CallOutcome::Pending(pending) => Some(pending.call.clone()),
            CallOutcome::Finished(_) => None,
        });
        calls.collect()
    }

    fn ids(&self) -> Vec<CallId> {
        self.calls().into_iter().map(|call| call.id).collect()
    }

    fn end(self, reason: EndReason) -> End {
        End { open: self.open, confirmations: self.confirmations, ..End::new(reason) }
    }
}

fn request(outcome: &CallOutcome) -> Option<&ApprovalRequest> {
    match outcome {
        CallOutcome::Pending(pending) => match &pending.operation {
            Operation::Confirmation(request) => Some(request),
            Operation::LongRunning(_) => None,
        },
        _ => None,
    }
}

/// Returns `true` if `call` names a finished call, of which only the id is known.
fn had_name(outcome: &CallOutcome, call: &CallRef) -> bool {
    match call {
        CallRef::Id(id) => outcome.id() == id,
        CallRef::Address(address) | CallRef::Question(address, _) | CallRef::Request { address, .. } => {
            *outcome.id() == address.call_id
        }
    }
}

/// The result of a call that can no longer be answered.
fn interrupted(outcome: &CallOutcome, problem: &str) -> ToolResult {
    let text = format!("the call was interrupted, and may have taken effect ({problem})");
    error_result(outcome.id(), outcome.name(), &text)
}

/// The interim result of work that continues.
fn interim(outcome: &CallOutcome) -> Option<ToolResult> {
    outcome.result().filter(|_| request(outcome).is_none()).cloned()
}

/// The result of a call that has no answer.
fn unanswered(outcome: &CallOutcome, reason: &str) -> ToolResult {
    error_result(outcome.id(), outcome.name(), reason)
}

/// The result of a call that was not executed to its end.
pub(super) fn unexecuted(call: &ToolCall, reason: &str) -> ToolResult {
    error_result(&call.id, &call.name, reason)
}

/// A failure: the model reads its reason, which it does not of a cancellation.
fn error_result(id: &CallId, name: &str, reason: &str) -> ToolResult {
    ToolResult::new(id.clone(), Arc::<str>::from(name), Err(ToolError::failed(reason.to_owned())))
}
