//! The end of a batch: its results are stored, and the run continues or ends.

use std::ops::ControlFlow;

use tool_runtime::{CallOutcome, call::merged_actions, executor::stop_error, output::Actions};

use super::{
    Answers, End, EndReason,
    active_run::ActiveRun,
    control::transfer_limit_message,
    flow::{Flow, boxed, end_as_failed, end_at_limit, end_by_stop},
    open_calls::{
        StoredBatch, apply_answers, close_open_calls, refuse_open_calls, settle_open_calls, store_results,
    },
    recovery::recover_child,
    scope::RunScope,
};
use crate::{
    Limit, Message,
    model::{Response, ToolChoice},
};

/// Continues or ends the run after its calls were executed.
pub(super) async fn end_or_continue_after_batch(
    run: &mut ActiveRun,
    round: u64,
    response: &Response,
) -> Flow {
    let ActiveRun { scope, conversation, output, .. } = run;
    let outcomes = conversation.session.open.as_ref().map(|open| open.outcomes.clone()).unwrap_or_default();
    if let Some(stop) = stop_error(&outcomes) {
        close_open_calls(scope, conversation, "not answered: the run was stopped").await;
        return end_by_stop(stop);
    }
    if let Some(output) = output
        && let Some(end) = output.end_after_calls(&outcomes).await
    {
        close_open_calls(scope, conversation, "not answered: the output was submitted").await;
        let open = outcomes.into_iter().filter(|outcome| !outcome.is_finished()).collect();
        return ControlFlow::Break(End { open, ..end });
    }
    finish_open_batch(run, round, response).await
}

/// Answers the open calls of the session, and continues with the end of their batch.
pub(super) async fn resume_open_batch(run: &mut ActiveRun, answers: Answers) -> Flow {
    let ActiveRun { scope, conversation, limits, tool_choice, .. } = run;
    if conversation.session.open.is_none() {
        return end_as_failed(no_open_calls_problem(scope).to_owned());
    }
    if scope.place.is_some() || scope.works_beside_others() {
        // One of several agents, whose run below a call or whose turn beside others goes on where it was.
        limits.continue_own_usage(scope, conversation.progress.usage, &conversation.session.messages);
        conversation.usage = limits.usage;
    }
    release_tool_choice(tool_choice);
    if let Err(problem) = apply_answers(scope, conversation, answers).await {
        return end_as_failed(problem);
    }
    continue_open_batch(run).await
}

/// Answers the open calls of a run below a call, which goes on where it was. An answer that has no call any more is a notice: the run above has a
/// copy of the questions, which is older than a crash.
pub(super) async fn resume_child_run(run: &mut ActiveRun, answers: Answers) -> Flow {
    let ActiveRun { scope, conversation, limits, tool_choice, .. } = run;
    if conversation.session.open.is_none() {
        scope
            .emit_notice("the run was interrupted after its questions were answered; the answer is ignored")
            .await;
        return boxed(|| recover_child(run)).await;
    }
    let usage = match conversation.session.writer {
        Some(_) => conversation.progress.usage,
        None => conversation.session.usage,
    };
    limits.continue_own_usage(scope, usage, &conversation.session.messages);
    conversation.usage = limits.usage;
    release_tool_choice(tool_choice);
    if let Err(problem) = boxed(|| apply_answers(scope, conversation, answers)).await {
        scope.emit_notice(problem).await;
    }
    continue_open_batch(run).await
}

/// Returns the problem of a session without open calls.
pub(super) fn no_open_calls_problem(scope: &RunScope) -> &'static str {
    match scope.run.session() {
        None => "the run has no session, so it has no open calls; set the session of the run that ended",
        Some(_) => {
            "the session has no open calls; check the app, the user and the session of the run, or send a \
             message in place of answers"
        }
    }
}

/// Lets the model choose after its calls: a call that was required was made.
pub(super) fn release_tool_choice(choice: &mut ToolChoice) {
    if choice.is_forced() {
        *choice = ToolChoice::Auto;
    }
}

/// Continues with the end of the open batch of the session.
pub(super) async fn continue_open_batch(run: &mut ActiveRun) -> Flow {
    let ActiveRun { conversation, limits, .. } = run;
    conversation.end_if_store_failed()?;
    let Some(calls) = conversation.session.messages.last().cloned() else { return ControlFlow::Continue(()) };
    let round = limits.usage.rounds;
    finish_open_batch(run, round, &Response::new(calls)).await
}

/// Waits for the results of open calls, stores all results, and continues or ends the run.
async fn finish_open_batch(run: &mut ActiveRun, round: u64, response: &Response) -> Flow {
    let ActiveRun { scope, conversation, limits, .. } = run;
    // The runs below the calls are stored with the results that they led to.
    limits.count_child_runs(scope);
    conversation.usage = limits.usage;
    if scope.ends_with_call {
        let reason = "not answered: the run ends with the call of its parent";
        for notice in refuse_open_calls(scope, conversation, reason).await {
            scope.emit_notice(notice).await;
        }
    }
    settle_open_calls(scope, conversation).await?;
    let Some(StoredBatch { outcomes, results, max_transfers }) = store_results(scope, conversation).await
    else {
        return ControlFlow::Continue(());
    };
    continue_after_results(run, round, response, outcomes, results).await?;
    match max_transfers {
        Some(max) => end_at_limit(Limit::Transfers, transfer_limit_message(max)),
        None => ControlFlow::Continue(()),
    }
}

/// Continues or ends the run after the results of its calls are stored.
pub(super) async fn continue_after_results(
    run: &mut ActiveRun,
    round: u64,
    response: &Response,
    outcomes: Vec<CallOutcome>,
    results: Message,
) -> Flow {
    let ActiveRun { scope, hooks, limits, output, .. } = run;
    let actions = merged_actions(&outcomes);
    report_ignored_actions(scope, &actions).await;
    let is_escalated = actions.escalate && scope.is_in_loop();
    if let Some(stop) = stop_error(&outcomes) {
        return end_by_stop(stop);
    }
    if let Some(output) = output
        && let Some(end) = output.submitted_end(&outcomes).await
    {
        return ControlFlow::Break(end);
    }
    let is_answered = actions.terminate || actions.skip_summarization;
    if is_answered || is_escalated {
        let texts: Vec<_> = outcomes.iter().filter_map(CallOutcome::result).map(|it| it.text()).collect();
        let reason = match actions.terminate {
            _ if is_escalated => EndReason::Escalated,
            true => EndReason::Terminated,
            false => EndReason::SkippedSummarization,
        };
        let text = if is_answered { texts.join("\n") } else { String::new() };
        return ControlFlow::Break(End { text, ..End::new(reason) });
    }
    let step_end = hooks.step_end(scope, scope.total_usage(limits.usage), round, response, Some(results));
    hooks.after_step(scope, &step_end).await
}

/// Reports a transfer to an agent that the tree does not have.
pub(super) async fn report_ignored_transfer(scope: &RunScope, agent: &str) {
    report_ignored_action(scope, &format!("a tool asked for a transfer to the agent `{agent}`")).await;
}

async fn report_ignored_action(scope: &RunScope, action: &str) {
    let effect = "which has no effect in this run; read `ToolResult::actions` to act on it";
    scope.emit_notice(format!("{action}, {effect}")).await;
}

/// Reports actions that have no effect in a run of one agent. Artifacts need none: their names and versions are information for the program.
async fn report_ignored_actions(scope: &RunScope, actions: &Actions) {
    if actions.escalate && !scope.is_in_loop() {
        report_ignored_action(scope, "a tool asked to escalate").await;
    }
}
