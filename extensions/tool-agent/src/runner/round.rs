//! One round of a run: a request to the model, and the calls of its response.

use std::{ops::ControlFlow, sync::Arc};

use tool_runtime::{Executor, ToolCall, call::Incomplete};

use super::{
    EndReason,
    active_agent::restore_call_names,
    active_run::ActiveRun,
    ask::ask_for_response,
    batch_end::{end_or_continue_after_batch, release_tool_choice},
    calls::run_batch_with_steering,
    compact::{compact_conversation, compact_if_full},
    control::UsageMark,
    conversation::RunConversation,
    flow::{Flow, RoundFailure, boxed, end_as_failed, end_with, run_callback},
    handle::Inbox,
    input_check::{respond_after_check, withdraw_answer},
    limits::RunLimits,
    open_batch::{OpenBatch, unexecuted_result},
    open_below::settle_child_runs,
    open_calls::ignore_early_answers,
    scope::RunScope,
    tools::executor_of_step,
};
use crate::{
    End, Message,
    agent::Instruction,
    hook::Step,
    model::{ModelError, ModelErrorKind, Request, Response},
};

/// A response of the model, and what its calls run with.
struct RoundResponse {
    step: Step,
    executor: Executor,
    response: Response,
    calls: Vec<ToolCall>,
}

/// Takes one round; returns the end of the run if it is the last.
pub(super) async fn run_round(run: &mut ActiveRun) -> Flow {
    match boxed(|| receive_response(run)).await? {
        Some(round) => boxed(|| run_calls_or_end(run, round)).await,
        None => ControlFlow::Continue(()),
    }
}

/// Asks the model, and stores its response; `None` if the model is asked again. Boxed, since runs nest in what follows.
async fn receive_response(run: &mut ActiveRun) -> Flow<Option<Box<RoundResponse>>> {
    let ActiveRun { scope, hooks, conversation, limits, .. } = run;
    conversation.end_if_store_failed()?;
    limits.count_hook_requests(scope, &hooks.requests).await;
    if run.switch_to_controlling_agent() {
        run.set_expected_output()?;
    }
    let ActiveRun { scope, conversation, limits, .. } = run;
    boxed(|| limits.start_round(scope)).await?;
    boxed(|| compact_if_full(scope, conversation)).await?;
    let executor = boxed(|| run.tools.list_for_round(&run.scope)).await?;
    let instruction = boxed(|| build_instruction(&run.scope)).await?;
    let mut step = create_step(run, instruction, &executor);
    let Some(response) = boxed(|| respond_to_step(run, &mut step)).await? else {
        return ControlFlow::Continue(None);
    };
    let executor = executor_of_step(&run.scope, &step, executor)?;
    let ActiveRun { scope, conversation, limits, .. } = run;
    if let Some(usage) = response.usage {
        conversation.set_counted_tokens(usage.total());
    }
    limits.count_response(scope, &step.model, &response).await;
    run.text = response.message.text();
    let calls = calls_of_response(&response);
    let is_empty = calls.is_empty() && response.message.content().is_empty();
    if is_empty && !response.truncated {
        return retry_empty_response(scope, limits).await;
    }
    limits.retries.reset();
    conversation.usage = limits.usage;
    if !is_empty {
        conversation.add_response(scope, &response, executor.tools()).await;
        conversation.end_if_store_failed()?;
    }
    ControlFlow::Continue(Some(Box::new(RoundResponse { step, executor, response, calls })))
}

/// Runs the calls of a response, or ends the run.
async fn run_calls_or_end(run: &mut ActiveRun, round: Box<RoundResponse>) -> Flow {
    let RoundResponse { mut step, executor, response, calls } = *round;
    match calls.is_empty() {
        true => boxed(|| continue_or_end_after_answer(run, &step, &response)).await,
        false => {
            // For runs below that share the history.
            run.scope.parent.set_shown_messages(std::mem::take(&mut step.request.messages));
            boxed(|| run_calls(run, executor, calls, step.number, &response)).await
        }
    }
}

/// Returns the round as hooks see it: its request with instruction, conversation and tools.
pub(super) fn create_step(run: &mut ActiveRun, instruction: Arc<str>, executor: &Executor) -> Step {
    let ActiveRun { scope, hooks, conversation, limits, tool_choice, view, .. } = run;
    let agent = &scope.agent.0;
    let request = Request {
        instruction,
        messages: view.request_messages(&scope.agent, &conversation.model_messages),
        tools: executor.tools().clone(),
        tool_choice: tool_choice.clone(),
        output: None,
        cache: Vec::new(),
        parameters: agent.parameters.clone(),
        thinking: agent.thinking,
        run: Arc::clone(&scope.run),
        has_additions: false,
    };
    let (number, model, hook_requests) = (limits.usage.rounds, run.model.clone(), hooks.requests.clone());
    let usage = Arc::new(scope.total_usage(limits.usage));
    Step { number, model, request, usage, hook_requests }
}

/// Returns the instruction of the agent for this round.
pub(super) async fn build_instruction(scope: &RunScope) -> Flow<Arc<str>> {
    let make = match &scope.agent.0.instruction {
        Instruction::Text(text) => return ControlFlow::Continue(with_added_instruction(scope, text)),
        Instruction::Of(make) => make,
    };
    match scope.wait_unless_interrupted(run_callback(|| make(Arc::clone(&scope.run)))).await {
        Ok(Ok(text)) => ControlFlow::Continue(with_added_instruction(scope, &text.into())),
        Ok(Err(error)) => end_as_failed(format!("the instruction of the agent failed: {}", error.reason())),
        Err(interruption) => interruption.end(),
    }
}

/// Returns the instruction of the agent with the one that the run adds.
fn with_added_instruction(scope: &RunScope, instruction: &Arc<str>) -> Arc<str> {
    // Another agent, which has control after a transfer, keeps its own.
    match scope.additions.instruction.as_ref().filter(|_| scope.is_root_active()) {
        None => Arc::clone(instruction),
        Some(added) if instruction.trim().is_empty() => Arc::clone(added),
        Some(added) => format!("{instruction}\n\n{added}").into(),
    }
}

/// Returns the response of the round, from the model or from a hook; `None` if the model is asked again.
async fn respond_to_step(run: &mut ActiveRun, step: &mut Step) -> Flow<Option<Response>> {
    let ActiveRun { scope, hooks, conversation, output, check, .. } = run;
    let asking = boxed(|| ask_for_response(scope, hooks, output.as_mut(), step));
    match boxed(|| respond_after_check(scope, &mut conversation.session, check, asking)).await {
        Ok(response) => ControlFlow::Continue(Some(response)),
        Err(RoundFailure::Model(error)) => match prepare_retry_after(run, &error).await? {
            true => ControlFlow::Continue(None),
            false => RoundFailure::Model(error).end(),
        },
        Err(RoundFailure::InputRefused(reason)) => {
            withdraw_answer(scope, &reason).await;
            RoundFailure::InputRefused(reason).end()
        }
        Err(failure) => failure.end(),
    }
}

/// Returns `true` if the request is made again after this error: once if the response is broken, and once if the
/// conversation was too long and is shorter now.
async fn prepare_retry_after(run: &mut ActiveRun, error: &ModelError) -> Flow<bool> {
    let ActiveRun { scope, conversation, limits, .. } = run;
    let retries = match error.kind() {
        ModelErrorKind::Malformed => limits.retries.may_retry_malformed(),
        ModelErrorKind::ContextTooLong => {
            limits.retries.may_retry_too_long() && compact_conversation(scope, conversation).await?
        }
        _ => false,
    };
    if retries {
        scope.emit_withdrawn(error.to_string()).await;
    }
    ControlFlow::Continue(retries)
}

/// Asks again after the first of several empty responses. An empty response is not stored.
async fn retry_empty_response<T>(scope: &RunScope, limits: &mut RunLimits) -> Flow<Option<T>> {
    if !limits.retries.may_retry_empty() {
        return end_with(EndReason::Empty);
    }
    scope.emit_notice("the response of the model is empty; it is asked again").await;
    ControlFlow::Continue(None)
}

/// Continues or ends the run after a response without calls.
pub(super) async fn continue_or_end_after_answer(
    run: &mut ActiveRun,
    step: &Step,
    response: &Response,
) -> Flow {
    let ActiveRun { scope, hooks, conversation, limits, output, .. } = run;
    if conversation.add_queued_messages(scope, scope.agent.0.steering_mode, Inbox::next_steering).await {
        return ControlFlow::Continue(());
    }
    if response.truncated {
        return end_with(EndReason::Truncated { stop_reason: response.stop_reason.clone() });
    }
    let end = match output {
        Some(output) => output.end_after_answer(scope, conversation, step, response).await?,
        None => Some(End::new(EndReason::Answered)),
    };
    let Some(end) = end else { return ControlFlow::Continue(()) };
    let step_end = hooks.step_end(scope, scope.total_usage(limits.usage), step.number, response, None);
    if let Some(message) = hooks.before_end(scope, &step_end).await? {
        conversation.add_message_for_model_alone(message);
        return ControlFlow::Continue(());
    }
    if scope.member.is_some() {
        // A message that follows the answer follows the answers of all agents.
        return ControlFlow::Break(end);
    }
    let before = conversation.control.clone();
    conversation.control.assign_user_message(&scope.root);
    // A message that goes to another agent begins its time within the run.
    conversation.control.start = UsageMark::of(&limits.usage);
    match conversation.add_queued_messages(scope, scope.agent.0.follow_up_mode, Inbox::next_follow_up).await {
        true => ControlFlow::Continue(()),
        false => {
            conversation.control = before;
            ControlFlow::Break(end)
        }
    }
}

/// Executes the calls of a response as one batch, and continues or ends the run.
async fn run_calls(
    run: &mut ActiveRun,
    executor: Executor,
    calls: Vec<ToolCall>,
    number: u64,
    response: &Response,
) -> Flow {
    let ActiveRun { scope, conversation, limits, tool_choice, .. } = run;
    if let ControlFlow::Break(end) = admit_calls(scope, conversation, limits, &executor, &calls) {
        boxed(|| refuse_calls(scope, conversation, &calls, &end.reason)).await;
        return ControlFlow::Break(end);
    }
    conversation.usage = limits.usage;
    ignore_early_answers(scope).await;
    let batch = scope.batch(&executor, &calls);
    let (mut outcomes, after) = boxed(|| run_batch_with_steering(scope, batch)).await;
    restore_call_names(&calls, &mut outcomes);
    let open = conversation.session.open.insert(OpenBatch::new(executor, outcomes, after));
    boxed(|| settle_child_runs(scope, open)).await;
    release_tool_choice(tool_choice);
    boxed(|| end_or_continue_after_batch(run, number, response)).await
}

/// Counts calls, or ends the run before calls that a limit prevents.
pub(super) fn admit_calls(
    scope: &RunScope,
    conversation: &RunConversation,
    limits: &mut RunLimits,
    executor: &Executor,
    calls: &[ToolCall],
) -> Flow {
    limits.admit_calls(scope, calls)?;
    scope.check_transfer_limit(&conversation.control, executor.tools(), calls)
}

/// Answers calls that a limit prevents.
pub(super) async fn refuse_calls(
    scope: &RunScope,
    conversation: &mut RunConversation,
    calls: &[ToolCall],
    reason: &EndReason,
) {
    let reason = format!("not executed: {reason}");
    let results = calls.iter().map(|call| unexecuted_result(call, &reason));
    conversation.add_message(scope, Message::results(results)).await;
}

/// Returns the calls of a response. The last call of one that was cut off is incomplete.
pub(super) fn calls_of_response(response: &Response) -> Vec<ToolCall> {
    let mut calls: Vec<_> = response.message.calls().cloned().collect();
    if let Some(last) = calls.last_mut().filter(|last| response.truncated && last.incomplete.is_none()) {
        let reason = response.stop_reason.clone().unwrap_or_else(|| "truncated".to_owned());
        last.incomplete = Some(Incomplete::new(reason));
    }
    calls
}
