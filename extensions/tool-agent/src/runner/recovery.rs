//! The continuation of a run that was interrupted, and the end of its calls if another message follows.

use std::ops::ControlFlow;

use tool_runtime::{CallOutcome, Executor, ToolCall, executor::stop_error, open_calls::OpenCallError};

use super::{
    End, EndReason,
    active_agent::restore_call_names,
    active_run::ActiveRun,
    ask::prepare_step,
    batch_end::{
        continue_after_results, continue_open_batch, end_or_continue_after_batch, release_tool_choice,
    },
    calls::run_batch_with_steering,
    conversation::RunConversation,
    entry::OpenBatchBody,
    flow::{Flow, boxed, end_as_failed},
    open_batch::{OpenBatch, definition_hash, interrupted_result, unexecuted_result},
    open_below::{ChildInput, continue_child_runs, settle_child_runs},
    open_calls::{close_open_calls, ignore_early_answers},
    round::{
        admit_calls, build_instruction, calls_of_response, continue_or_end_after_answer, create_step,
        refuse_calls,
    },
    scope::RunScope,
    stored_progress::CallProgress,
    team::Position,
    tools::executor_of_step,
};
use crate::{Message, Role, hook::Step, model::Response};

/// The result of a call with an intent and without an outcome.
const INTERRUPTED: &str = "the run was interrupted; the call may have taken effect";

/// Continues the run of the session that was interrupted.
pub(super) async fn recover_run(run: &mut ActiveRun) -> Flow {
    let ActiveRun { scope, conversation, limits, tool_choice, .. } = run;
    check_has_unfinished_run(scope, conversation)?;
    let usage = conversation.progress.usage;
    match scope.member {
        None => limits.continue_usage(scope, usage, &conversation.session.messages),
        // The run of all agents has charged its budget.
        Some(_) => limits.continue_own_usage(scope, usage, &conversation.session.messages),
    }
    conversation.usage = limits.usage;
    if conversation.session.open.is_some() {
        return continue_interrupted_batch(run).await;
    }
    let Some(last) = conversation.session.messages.last().cloned() else {
        return ControlFlow::Continue(());
    };
    if last.calls().next().is_some() || last.role() == Role::Tool {
        release_tool_choice(tool_choice);
    }
    match last.role() {
        Role::Assistant => continue_after_response(run, last).await,
        Role::Tool => {
            let outcomes = last.tool_results().cloned().map(CallOutcome::Finished).collect();
            let (number, calls) =
                (limits.usage.rounds, message_with_last_calls(&conversation.session.messages));
            continue_after_results(run, number, &Response::new(calls), outcomes, last).await
        }
        _ => ControlFlow::Continue(()),
    }
}

/// Continues a run below a call that may have been interrupted: one that waits for answers waits again, and one that has its answer has it again.
pub(super) async fn recover_child(run: &mut ActiveRun) -> Flow {
    let ActiveRun { scope, conversation, limits, output, .. } = run;
    if conversation.session.open.is_none() && !conversation.progress.has_end() {
        return boxed(|| recover_run(run)).await;
    }
    limits.continue_own_usage(scope, conversation.progress.usage, &conversation.session.messages);
    conversation.usage = limits.usage;
    if conversation.session.open.is_some() {
        return continue_interrupted_batch(run).await;
    }
    let last = conversation.session.messages.last();
    match last.filter(|last| last.role() == Role::Assistant && last.calls().next().is_none()) {
        Some(answer) if output.is_none() => {
            ControlFlow::Break(End { text: answer.text(), ..End::new(EndReason::Answered) })
        }
        _ => end_as_failed("the run was interrupted after its end, and its result is not known".to_owned()),
    }
}

/// Continues the open batch: calls that had begun are closed, and runs below calls are continued.
async fn continue_interrupted_batch(run: &mut ActiveRun) -> Flow {
    let ActiveRun { scope, conversation, tool_choice, .. } = run;
    release_tool_choice(tool_choice);
    let messages = conversation.messages_before_calls();
    if let Some(open) = &mut conversation.session.open {
        close_started_calls(open).await;
        scope.parent.set_shown_messages(messages);
        let inputs = open.below.iter().map(|it| (it.call.clone(), ChildInput::Recovery)).collect();
        if let Err(problem) = boxed(|| continue_child_runs(scope, open, inputs)).await {
            return end_as_failed(problem);
        }
    }
    continue_open_batch(run).await
}

/// Ends the run if its session has nothing to continue.
pub(super) fn check_has_unfinished_run(scope: &RunScope, conversation: &RunConversation) -> Flow {
    let progress = &conversation.progress;
    let is_unfinished = match &conversation.session.open {
        _ if scope.place.is_none() && !has_shared_store(conversation) => false,
        Some(_) => progress.lost_lease || progress.has_no_end(),
        None => {
            let has_calls = progress.has_own_message && conversation.unanswered_calls().is_some();
            let waits = conversation.session.position.as_ref().is_some_and(Position::has_open_members);
            has_calls || progress.has_no_end() || progress.lost_lease && waits
        }
    };
    match is_unfinished {
        true => ControlFlow::Continue(()),
        false => end_as_failed(nothing_to_continue_problem(scope, conversation).to_owned()),
    }
}

/// Returns `true` if the conversation is in a store that outlives the runner.
fn has_shared_store(conversation: &RunConversation) -> bool {
    conversation.session.writer.as_ref().is_some_and(|writer| !writer.has_own_store())
}

/// Returns the problem of a session without an interrupted run.
fn nothing_to_continue_problem(scope: &RunScope, conversation: &RunConversation) -> &'static str {
    if scope.run.session().is_none() {
        return "the run has no session, so it has nothing to continue; set the session of the run that was interrupted";
    }
    if !has_shared_store(conversation) {
        return "a session in memory has nothing to continue; set a store by `Runner::with_store`";
    }
    match conversation.session.open {
        Some(_) => {
            "the session has nothing to continue: its last run ended with open calls; answer them by `Runner::resume`"
        }
        None => {
            "the session has nothing to continue: no run of it was interrupted; check the app, the user and the session \
             of the run, or send a message"
        }
    }
}

/// Returns the message with the calls whose results are the last message.
fn message_with_last_calls(messages: &[Message]) -> Message {
    let calls = messages.iter().rev().find(|message| message.role() == Role::Assistant);
    calls.cloned().unwrap_or_else(|| Message::assistant([]))
}

/// Answers the open calls whose records are consumed: their bodies may have run.
async fn close_started_calls(open: &mut OpenBatch) {
    for index in 0..open.outcomes.len() {
        let outcome = &open.outcomes[index];
        let Some(address) = outcome.address() else { continue };
        if let Err(error @ OpenCallError::NotOpen(_)) = open.executor.open_arguments(address).await {
            let result = interrupted_result(outcome, &error.to_string());
            open.set_result(index, result);
        }
    }
}

/// Continues after the last response of the model, of which no results are stored.
async fn continue_after_response(run: &mut ActiveRun, message: Message) -> Flow {
    let executor = run.tools.list_for_round(&run.scope).await?;
    let instruction = build_instruction(&run.scope).await?;
    let mut step = create_step(run, instruction, &executor);
    step.request.messages.pop();
    // The tools of the step are those that its hooks leave; a response of a hook would be a second one.
    let ActiveRun { scope, hooks, output, .. } = run;
    if let Err(failure) = prepare_step(scope, hooks, output.as_mut(), &mut step).await {
        return failure.end();
    }
    let executor = executor_of_step(&run.scope, &step, executor)?;
    let mut response = Response::new(message);
    if let Some(cut_off) = run.conversation.progress.cut_off.take() {
        (response.truncated, response.stop_reason) = (true, cut_off.stop_reason);
    }
    run.text = response.message.text();
    match response.message.calls().next() {
        None => continue_or_end_after_answer(run, &step, &response).await,
        Some(_) => run_unstarted_calls(run, executor, &step, &response).await,
    }
}

/// Runs the calls that did not start, and continues with the end of their batch.
async fn run_unstarted_calls(
    run: &mut ActiveRun,
    executor: Executor,
    step: &Step,
    response: &Response,
) -> Flow {
    let ActiveRun { scope, conversation, limits, .. } = run;
    let calls = calls_of_response(response);
    let progress = conversation.progress.take_call_progress(&scope.run, &calls);
    let is_new = progress.iter().all(|it| matches!(it, CallProgress::NotStarted));
    // Calls of which one has started were admitted before.
    if let ControlFlow::Break(end) = admit_calls(scope, conversation, limits, &executor, &calls)
        && is_new
    {
        refuse_calls(scope, conversation, &calls, &end.reason).await;
        return ControlFlow::Break(end);
    }
    conversation.usage = limits.usage;
    ignore_early_answers(scope).await;
    scope.parent.set_shown_messages(conversation.messages_before_calls());
    let is_stopped = progress.iter().any(|it| match it {
        CallProgress::Ended(outcome, _) => stop_error([outcome]).is_some(),
        _ => false,
    });
    let waiting = calls.iter().zip(&progress).filter(|(_, it)| matches!(it, CallProgress::NotStarted));
    let waiting: Vec<_> = waiting.map(|(call, _)| call.clone()).collect();
    let (outcomes, after) = match is_stopped || waiting.is_empty() {
        true => (Vec::new(), Vec::new()),
        false => {
            let (mut outcomes, after) =
                run_batch_with_steering(scope, scope.batch(&executor, &waiting)).await;
            restore_call_names(&waiting, &mut outcomes);
            (outcomes, after)
        }
    };
    let unstarted = if is_stopped { "not executed: the run was stopped" } else { INTERRUPTED };
    let mut body = batch_body(&executor, &calls, progress, outcomes, unstarted, after);
    body.below = conversation.progress.take_open_children();
    let mut open = OpenBatch::restored_failing_changed_tools(body, executor).await;
    close_started_calls(&mut open).await;
    settle_child_runs(scope, &mut open).await;
    conversation.session.open = Some(open);
    end_or_continue_after_batch(run, step.number, response).await
}

/// Returns the batch of `calls`: stored outcomes, and the `outcomes` of those that did not start.
fn batch_body(
    executor: &Executor,
    calls: &[ToolCall],
    progress: Vec<CallProgress>,
    outcomes: Vec<CallOutcome>,
    unstarted: &str,
    after: Vec<Message>,
) -> OpenBatchBody {
    let mut outcomes = outcomes.into_iter();
    let finished = |call: &ToolCall, reason: &str| CallOutcome::Finished(unexecuted_result(call, reason));
    // An outcome names the tool that ran, if its call was redirected.
    let with_definition = |outcome: CallOutcome| {
        let definition = definition_hash(executor, outcome.name());
        (outcome, definition)
    };
    let outcomes_of_calls = calls.iter().zip(progress).map(|(call, progress)| match progress {
        CallProgress::Ended(outcome, definition) => (outcome, definition),
        CallProgress::Started => with_definition(finished(call, INTERRUPTED)),
        CallProgress::NotStarted => {
            with_definition(outcomes.next().unwrap_or_else(|| finished(call, unstarted)))
        }
    });
    let (outcomes, definitions) = outcomes_of_calls.unzip();
    OpenBatchBody::new(outcomes, definitions, after)
}

/// Answers the calls of a run that was interrupted before their results were stored, before another message: each call has
/// a result, which is the stored one if there is one. Calls that wait are closed.
pub(super) async fn close_interrupted_calls(scope: &RunScope, conversation: &mut RunConversation) {
    let Some(message) = conversation.unanswered_calls() else { return };
    let calls: Vec<_> = message.calls().cloned().collect();
    let progress = conversation.progress.take_call_progress(&scope.run, &calls);
    // Its outcomes need the executor only if calls wait.
    // The agent that made them, if it is one of several.
    let agent =
        conversation.session.position.as_ref().and_then(|position| position.agent_below(&scope.agent));
    let listed = match agent {
        Some(agent) => scope.list_tools_of(agent).await,
        None => scope.list_tools().await,
    };
    match listed {
        Ok((executor, _)) => {
            let mut body = batch_body(&executor, &calls, progress, Vec::new(), INTERRUPTED, Vec::new());
            body.below = conversation.progress.take_open_children();
            conversation.session.open = Some(OpenBatch::restored_failing_changed_tools(body, executor).await);
            close_open_calls(scope, conversation, "not answered: the user sent another message").await;
        }
        Err(error) => {
            scope.emit_notice(format!("calls that wait are not closed: {error}")).await;
            let results = calls.iter().map(|call| unexecuted_result(call, INTERRUPTED));
            conversation.add_message(scope, Message::results(results)).await;
        }
    }
}
