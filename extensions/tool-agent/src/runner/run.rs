//! A run from its start to its end.

use std::{ops::ControlFlow, sync::Arc};

use tool_runtime::RunContext;

use super::{
    AgentEvent, AgentEventKind, End, EndReason, Runner, active_run::ActiveRun, answers::Input,
    batch_end::resume_batch, conversation::RunConversation, flow::Flow, handle::Inbox, hooks::HookChain,
    input_check::start_check, limits::RunLimits, open_calls::close_open_calls, output::ExpectedOutput,
    round::run_round, scope::RunScope, span::RunSpan, tools::RunTools,
};
use crate::{Message, OutputType, event_stream::Emitter};

/// Runs the agent of `runner` to its end.
pub(super) async fn run_to_end(
    runner: Runner,
    run: Arc<RunContext>,
    inbox: Arc<Inbox>,
    emitter: Emitter<AgentEvent>,
    input: Input,
    mut span: RunSpan,
) {
    let scope = RunScope { agent: runner.0.agent.clone(), run, inbox, emitter };
    let session = scope.run.cancellation().run_until_cancelled(runner.0.sessions.turn(&scope.run)).await;
    let Some(session) = session else {
        let end = End::new(EndReason::Cancelled);
        span.record_end(&end);
        return scope.emit(AgentEventKind::Ended { end }).await;
    };
    let mut run = ActiveRun {
        hooks: HookChain::new(&runner.0.hooks, &scope.agent),
        conversation: RunConversation::new(session),
        limits: RunLimits::default(),
        tools: RunTools::default(),
        output: None,
        check: None,
        tool_choice: scope.agent.0.tool_choice.clone(),
        text: String::new(),
        scope,
    };
    let mut flow = start(&mut run, runner.0.output.as_ref(), input).await;
    let mut end = loop {
        match flow {
            ControlFlow::Break(end) => break end,
            ControlFlow::Continue(()) => flow = run_round(&mut run).await,
        }
    };
    let ActiveRun { scope, hooks, limits, text, .. } = &mut run;
    limits.count_hook_requests(scope, &hooks.requests).await;
    end.usage = limits.usage;
    if end.text.is_empty() {
        end.text = std::mem::take(text);
    }
    span.record_end(&end);
    scope.emit(AgentEventKind::Ended { end }).await;
}

/// Starts the run with a message, or with answers to the open calls of its session.
async fn start(run: &mut ActiveRun, output: Option<&OutputType>, input: Input) -> Flow {
    let output = output.or(run.scope.agent.output_type()).cloned();
    match input {
        Input::Message(message) => {
            add_input(run, message).await;
            run.output = ExpectedOutput::of(output)?;
            ControlFlow::Continue(())
        }
        Input::Answers(answers) => {
            run.output = ExpectedOutput::of(output)?;
            resume_batch(run, answers).await
        }
    }
}

/// Stores the message of the user, after the results of all calls before it, and starts its check.
async fn add_input(run: &mut ActiveRun, message: Message) {
    let ActiveRun { scope, conversation, check, .. } = run;
    close_open_calls(scope, conversation, "not answered: the user sent another message").await;
    conversation.answer_interrupted_calls(scope).await;
    *check = start_check(scope, &message);
    // In one step with the message: the run may be dropped at each wait.
    conversation.session.is_unchecked = check.is_some();
    conversation.add(scope, message).await;
}
