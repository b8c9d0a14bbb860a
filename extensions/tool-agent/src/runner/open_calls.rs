//! Open calls: their answers, and the end of their batch.
//!
//! A batch stays in the session until each of its calls has a result. Its results are stored as one message, in the order
//! of the calls: each call in a request has its result, and no result is invented.

use std::{collections::BTreeMap, ops::ControlFlow};

use tool_runtime::{
    CallOutcome, Executor, ToolError, ToolOutput,
    call::CallId,
    context::ConfirmationAnswer,
    open_calls::{CallRef, OpenCallError},
};

use super::{
    AgentEventKind, Answers, EndReason,
    active_agent::restore_call_names,
    answers::Answer,
    batch_end::report_ignored_transfer,
    calls::run_batch_with_steering,
    control::{ControlChange, Transfer},
    conversation::RunConversation,
    flow::{Flow, Interruption, boxed},
    open_batch::{
        OpenBatch, OpenTarget, approval_request, interim_result, interrupted_result, unanswered_result,
    },
    open_below::{ChildInput, close_child_run, continue_child_runs, settle_child_runs},
    scope::RunScope,
    tools::with_run_settings,
};
use crate::Message;

/// The answers to the calls of a batch, each by the index of its call.
#[derive(Default)]
struct IndexedAnswers {
    results: BTreeMap<usize, Result<ToolOutput, ToolError>>,
    decisions: BTreeMap<usize, (CallRef, ConfirmationAnswer)>,
    /// The answers to questions of runs below, by the indices of their call and of the question.
    below: BTreeMap<usize, BTreeMap<usize, (CallRef, Answer)>>,
    /// The calls that have their results, whose further answers are ignored.
    ignored: Vec<CallRef>,
}

/// A batch whose results are stored.
pub(super) struct StoredBatch {
    pub(super) outcomes: Vec<CallOutcome>,
    /// The message with the results, in the order of the calls.
    pub(super) results: Message,
    /// The limit of transfers that another one would exceed.
    pub(super) max_transfers: Option<u64>,
}

/// Returns once all calls of the open batch have a result; ends the run if it does not wait for them.
pub(super) async fn settle_open_calls(scope: &RunScope, conversation: &mut RunConversation) -> Flow {
    let mut is_announced = false;
    loop {
        while let Some(answers) = next_own_answers(scope) {
            if let Err(problem) = apply_answers(scope, conversation, answers).await {
                scope.emit_notice(problem).await;
            }
        }
        let Some(unfinished) = conversation.session.open.as_ref().and_then(OpenBatch::unfinished_calls)
        else {
            return ControlFlow::Continue(());
        };
        if !std::mem::replace(&mut is_announced, true) {
            let calls = unfinished.calls();
            let long_running: Vec<CallId> = calls.iter().map(|call| call.id.clone()).collect();
            scope.emit(AgentEventKind::Open { calls, long_running }).await;
        }
        if scope.run.cancellation().is_cancelled() {
            return ControlFlow::Break(unfinished.into_end(EndReason::Cancelled));
        }
        if !scope.agent.0.waits_for_answers || scope.place.is_some() || scope.works_beside_others() {
            return ControlFlow::Break(unfinished.into_end(EndReason::OpenCalls));
        }
        // The process may end while the run waits: another one can then answer.
        conversation.store_open_batch().await;
        conversation.end_if_store_failed()?;
        tokio::select! {
            () = scope.inbox.wait_for_answers() => {}
            () = scope.run.cancellation().cancelled() => {}
            () = scope.wait_for_deadline() => {
                return Interruption::DeadlinePassed.end().map_break(|end| unfinished.into_end(end.reason));
            }
        }
    }
}

/// Returns the next answers of the handle; those for an agent that works beside others are passed on by its team.
fn next_own_answers(scope: &RunScope) -> Option<Answers> {
    match scope.works_beside_others() {
        true => None,
        false => scope.inbox.next_answers(),
    }
}

/// Applies answers to the open batch: first results, then decisions, as one batch. The batch is unchanged if one of the
/// answers is not valid.
pub(super) async fn apply_answers(
    scope: &RunScope,
    conversation: &mut RunConversation,
    answers: Answers,
) -> Result<(), String> {
    let Some(open) = &mut conversation.session.open else {
        return Err("no calls wait for an answer".to_owned());
    };
    let IndexedAnswers { results, decisions, below, ignored } = indexed_answers(open, answers)?;
    for call in ignored {
        scope.emit_notice(format!("the call `{call}` has its result; the further answer is ignored")).await;
    }
    let has_results = !results.is_empty();
    for (index, result) in results {
        submit_result(open, index, result).await?;
    }
    if decisions.is_empty() && below.is_empty() {
        return Ok(());
    }
    if has_results {
        // Before the approved calls, which may take long: the records of the results are consumed.
        conversation.store_open_batch().await;
        if conversation.end_if_store_failed().is_break() {
            return Ok(());
        }
    }
    scope.parent.set_shown_messages(conversation.messages_before_calls());
    let Some(open) = &mut conversation.session.open else { return Ok(()) };
    if !decisions.is_empty() {
        boxed(|| apply_decisions(scope, open, decisions)).await?;
    }
    let inputs: Vec<_> = below
        .into_iter()
        .filter_map(|(index, answers)| {
            let call = open.below.get(index)?.call.clone();
            Some((call, ChildInput::Answers(Answers(answers.into_values().collect()))))
        })
        .collect();
    match inputs.is_empty() {
        true => Ok(()),
        false => boxed(|| continue_child_runs(scope, open, inputs)).await,
    }
}

/// Validates answers, and returns them by the calls that they name.
fn indexed_answers(open: &OpenBatch, answers: Answers) -> Result<IndexedAnswers, String> {
    let mut indexed = IndexedAnswers::default();
    for (call, answer) in answers.0 {
        let Some(target) = open.find_open_call(&call)? else {
            indexed.ignored.push(call);
            continue;
        };
        check_answer(open, target, &call, &answer)?;
        let is_new = match (target, answer) {
            (OpenTarget::Call(index), Answer::Result(result)) => {
                indexed.results.insert(index, result).is_none()
            }
            (OpenTarget::Call(index), Answer::Decision(decision)) => {
                indexed.decisions.insert(index, (call.clone(), decision)).is_none()
            }
            (OpenTarget::Below { below, question }, answer) => {
                // A call on a lower level may have the same id.
                let named = match (&call, open.outcome(target).and_then(CallOutcome::address)) {
                    (CallRef::Id(_), Some(address)) => CallRef::Address(address.clone()),
                    _ => call.clone(),
                };
                indexed.below.entry(below).or_default().insert(question, (named, answer)).is_none()
            }
        };
        if !is_new {
            return Err(repeated_answer_problem(&call));
        }
    }
    Ok(indexed)
}

/// Returns an error if the call does not wait for an answer of this kind.
pub(super) fn check_answer(
    open: &OpenBatch,
    target: OpenTarget,
    call: &CallRef,
    answer: &Answer,
) -> Result<(), String> {
    let waits_for_approval = open.outcome(target).and_then(approval_request).is_some();
    match (answer, waits_for_approval) {
        (Answer::Result(_), true) => {
            Err(format!("the call `{call}` waits for an approval, and received a result"))
        }
        (Answer::Decision(_), false) => {
            Err(format!("the call `{call}` waits for its result, and received a decision"))
        }
        _ => Ok(()),
    }
}

/// Returns the problem of a call with two answers.
pub(super) fn repeated_answer_problem(call: &CallRef) -> String {
    format!("the call `{call}` received two answers; give one for each call")
}

/// Finishes an external or long-running call. If the store of open calls fails, it stays open.
async fn submit_result(
    open: &mut OpenBatch,
    index: usize,
    result: Result<ToolOutput, ToolError>,
) -> Result<(), String> {
    let outcome = &open.outcomes[index];
    let Some(address) = outcome.address() else { return Ok(()) };
    let result = match open.executor.submit_result(address, result).await {
        Ok(result) => result,
        Err(error @ OpenCallError::Store(_)) => return Err(error.to_string()),
        Err(error) => interrupted_result(outcome, &error.to_string()),
    };
    open.set_result(index, result);
    Ok(())
}

/// Runs the approved calls, and answers the rejected ones.
async fn apply_decisions(
    scope: &RunScope,
    open: &mut OpenBatch,
    decisions: BTreeMap<usize, (CallRef, ConfirmationAnswer)>,
) -> Result<(), String> {
    let executor = with_run_settings(scope, open.executor.clone()).map_err(|error| error.to_string())?;
    let (mut indices, mut answers) = (Vec::new(), Vec::new());
    for (index, (call, answer)) in decisions {
        let Some(request) = approval_request(&open.outcomes[index]) else { continue };
        // An id names the call here. It names the first question about it only: later ones are named by the request.
        let call = match call {
            CallRef::Id(_) => CallRef::from(&request.address),
            other => other,
        };
        if accepts_answer(scope, &executor, open, index, (call.clone(), answer.clone())).await {
            indices.push(index);
            answers.push((call, answer));
        }
    }
    if answers.is_empty() {
        return Ok(());
    }
    let batch = executor.resume(answers).await.map_err(|error| error.to_string())?;
    scope.parent.note_approved(indices.iter().filter_map(|index| open.outcomes[*index].address().cloned()));
    let (outcomes, steering) = run_batch_with_steering(scope, batch).await;
    for (index, outcome) in indices.into_iter().zip(outcomes) {
        open.set_outcome(index, outcome);
    }
    open.after.extend(steering);
    // A call of an agent that needed an approval may wait for answers now.
    settle_child_runs(scope, open).await;
    Ok(())
}

/// Returns `true` if the executor accepts the answer to one call. An error concerns this call only: it expired, or an
/// earlier batch with it was dropped.
async fn accepts_answer(
    scope: &RunScope,
    executor: &Executor,
    open: &mut OpenBatch,
    index: usize,
    answer: (CallRef, ConfirmationAnswer),
) -> bool {
    match executor.resume([answer]).await {
        Ok(_) => return true,
        Err(
            error @ (OpenCallError::NeedsQuestion(_)
            | OpenCallError::RequestChanged(_)
            | OpenCallError::Store(_)),
        ) => {
            scope.emit_notice(error.to_string()).await;
        }
        Err(error) => {
            let result = interrupted_result(&open.outcomes[index], &error.to_string());
            open.set_result(index, result);
        }
    }
    false
}

/// Ignores answers that arrived before the batch: they cannot be about its calls, which may have the same ids.
pub(super) async fn ignore_early_answers(scope: &RunScope) {
    while next_own_answers(scope).is_some() {
        scope.emit_notice("an answer to an earlier batch is ignored").await;
    }
}

/// Closes the open batch of the session: calls without a result are answered with an error, for this reason, and can no
/// longer be answered otherwise.
pub(super) async fn close_open_calls(scope: &RunScope, conversation: &mut RunConversation, reason: &str) {
    let notices = refuse_open_calls(scope, conversation, reason).await;
    store_results(scope, conversation).await;
    for notice in notices {
        scope.emit_notice(notice).await;
    }
}

/// Answers the open calls of the batch with an error, for this reason; the batch continues with the results of all calls. Returns what
/// became of each call.
pub(super) async fn refuse_open_calls(
    scope: &RunScope,
    conversation: &mut RunConversation,
    reason: &str,
) -> Vec<String> {
    let Some(open) = &mut conversation.session.open else { return Vec::new() };
    let mut notices = Vec::new();
    for index in 0..open.outcomes.len() {
        let outcome = &open.outcomes[index];
        let Some(address) = outcome.address() else { continue };
        let (result, effect) = match open.executor.discard(address).await {
            Ok(()) if open.below.iter().any(|it| it.call == *address) => {
                let result = format!("{reason}; what the agent did before may have taken effect");
                (unanswered_result(outcome, &result), format!("is closed: {reason}"))
            }
            Ok(()) => (unanswered_result(outcome, reason), format!("is closed: {reason}")),
            // It did not run; its record remains until it expires.
            Err(error @ OpenCallError::Store(_)) => {
                let effect = format!("is closed: {reason}; its record was not removed: {error}");
                (unanswered_result(outcome, reason), effect)
            }
            // The call ran, or was about to: a batch with it was dropped.
            Err(error) => {
                (interrupted_result(outcome, &error.to_string()), "is closed: it was interrupted".to_owned())
            }
        };
        notices.push(format!("the call `{}` {effect}", address.call_id));
        let result = interim_result(outcome).unwrap_or(result);
        if let Some(below) = open.below.iter().find(|it| it.call == *address).cloned() {
            close_child_run(scope, &open.executor, &below).await;
            open.below.retain(|it| it.call != below.call);
        }
        // At once, so that a run that is dropped at the next call keeps the answer.
        open.set_result(index, result);
    }
    notices
}

/// Stores the results of the open batch, and the messages that follow them; `None` if there is no batch.
pub(super) async fn store_results(
    scope: &RunScope,
    conversation: &mut RunConversation,
) -> Option<StoredBatch> {
    let OpenBatch { outcomes, after, .. } = conversation.session.open.as_ref()?;
    let (mut outcomes, after) = (outcomes.clone(), after.clone());
    // A transfer that waited for an approval was judged as what it is; its result answers the call that the model made.
    if let Some(message) = conversation.unanswered_calls() {
        restore_call_names(&message.calls().cloned().collect::<Vec<_>>(), &mut outcomes);
    }
    let change =
        conversation.control.control_after_batch(&scope.root, &scope.agent, &outcomes, &conversation.usage);
    let ControlChange { mut control, transfer } = change;
    if !after.is_empty() {
        control.transfers = 0;
    }
    let results = Message::results(outcomes.iter().filter_map(CallOutcome::result).cloned());
    let messages = std::iter::once(results.clone()).chain(after).collect();
    let max_transfers = match (conversation.add_results(scope, messages, control).await, transfer) {
        (true, Transfer::Made(to)) => {
            scope.emit(AgentEventKind::Transferred { to }).await;
            None
        }
        (true, Transfer::UnknownAgent(name)) => {
            report_ignored_transfer(scope, &name).await;
            None
        }
        (_, Transfer::LimitReached(max)) => Some(max),
        _ => None,
    };
    conversation.add_child_notes(scope);
    Some(StoredBatch { outcomes, results, max_transfers })
}
