//! A run from its start to its end.

use std::{
    ops::ControlFlow,
    pin::pin,
    sync::{Arc, OnceLock},
};

use futures_util::future::{Either, select};
use tool_runtime::RunContext;

use super::{
    AgentEvent, AgentEventKind, End, Runner,
    active_agent::ControlPeriod,
    active_run::ActiveRun,
    answers::{Answers, Input},
    batch_end::{resume_child_run, resume_open_batch},
    child_history::ChildPlace,
    conversation::RunConversation,
    flow::{Flow, boxed, end_as_failed},
    handle::Inbox,
    input_check::{checking_agent, start_check},
    member::CONTINUE_MESSAGE,
    open_calls::close_open_calls,
    open_session::open_session,
    parent_run::ParentRun,
    recovery::{check_has_unfinished_run, close_interrupted_calls, recover_child, recover_run},
    remember::remember_session,
    round::run_round,
    run_options::RunAdditions,
    scope::RunScope,
    session_writer::SessionWriter,
    span::RunSpan,
    team::run_team,
};
use crate::{Message, Role, event_stream::Emitter, model::SharedModel, skills::restore_skills};

/// A run whose session is open.
struct OpenedRun {
    scope: RunScope,
    conversation: RunConversation,
    input: Input,
    span: RunSpan,
}

/// Runs the agent of `runner` to its end.
pub(super) async fn run_to_end(
    runner: Runner,
    context: (Arc<RunContext>, Box<RunAdditions>),
    inbox: Arc<Inbox>,
    emitter: Emitter<AgentEvent>,
    input: (Input, Option<ChildPlace>),
    span: RunSpan,
) {
    let _inbox_end = inbox.guard_until_run_end();
    let opened = boxed(|| open_run(&runner, context, inbox, emitter, input, span)).await;
    let Some(opened) = opened else { return };
    match opened.scope.agent.model().cloned() {
        Some(model) => boxed(|| run_agent_to_end(&runner, model, opened)).await,
        None => boxed(|| run_team_to_end(&runner, opened)).await,
    }
}

/// Opens the session of a run; `None` if the run has ended.
async fn open_run(
    runner: &Runner,
    (run, mut additions): (Arc<RunContext>, Box<RunAdditions>),
    inbox: Arc<Inbox>,
    emitter: Emitter<AgentEvent>,
    (input, place): (Input, Option<ChildPlace>),
    mut span: RunSpan,
) -> Option<Box<OpenedRun>> {
    let (parent, ends_with_call) =
        (ParentRun::offer_to_child_runs(&run, &inbox), place.as_ref().is_some_and(|place| !place.stays_open));
    let hooks = additions.inherit(&run, &runner.0.hooks);
    let mut scope = RunScope {
        root: runner.0.agent.clone(),
        hooks,
        agent: runner.0.agent.clone(),
        period: ControlPeriod::default(),
        run,
        additions,
        inbox,
        emitter,
        parent,
        ends_with_call,
        place,
        writer: OnceLock::new(),
        member: None,
    };
    let conversation = match boxed(|| open_session(&runner.0, &mut scope)).await {
        ControlFlow::Continue(conversation) => conversation,
        ControlFlow::Break(end) => {
            span.record_end(&end);
            if let Some(writer) = scope.writer.get() {
                boxed(|| writer.give_up_lease()).await;
            }
            boxed(|| scope.emit(AgentEventKind::Ended { end })).await;
            return None;
        }
    };
    if let (Input::Recovery, Some(writer)) = (&input, &conversation.session.writer) {
        writer.set_recovered_runs(conversation.progress.recovered.clone());
    }
    Some(Box::new(OpenedRun { scope, conversation, input, span }))
}

impl OpenedRun {
    /// Returns the state of a run of one agent, which has `model`, with its input and its span.
    fn activate_controlling_agent(
        self: Box<Self>,
        runner: &Runner,
        model: SharedModel,
    ) -> (Box<ActiveRun>, Input, RunSpan) {
        let Self { scope, conversation, input, span } = *self;
        let mut run = ActiveRun::new(scope, model, conversation);
        run.output_type = runner.0.output.clone();
        (run, input, span)
    }

    /// Returns the parts of a run of several agents, boxed, since runs nest.
    fn into_team_run(self: Box<Self>) -> (Box<RunScope>, Box<RunConversation>, Input, RunSpan) {
        let Self { scope, mut conversation, input, span } = *self;
        let is_waiting =
            conversation.session.open.is_some() && check_has_unfinished_run(&scope, &conversation).is_break();
        let input = match input {
            // Below a call, its questions are asked again.
            Input::Recovery if scope.place.is_some() && is_waiting => Input::Answers(Answers::new()),
            input => input,
        };
        conversation.answered = scope.parent.answered_histories().clone();
        (Box::new(scope), Box::new(conversation), input, span)
    }
}

/// Runs one agent to its end.
async fn run_agent_to_end(runner: &Runner, model: SharedModel, opened: Box<OpenedRun>) {
    let (mut run, input, mut span) = opened.activate_controlling_agent(runner, model);
    let writer = run.conversation.session.writer.clone();
    let rounds = boxed(|| run_rounds_and_store_end(&mut run, input));
    let end = match writer {
        None => rounds.await,
        Some(writer) => boxed(|| run_with_lease(rounds, writer)).await,
    };
    boxed(|| remember_session(&runner.0, &run.scope, &end.reason)).await;
    span.record_end(&end);
    boxed(|| run.scope.emit(AgentEventKind::Ended { end })).await;
}

/// Runs several agents to their end.
async fn run_team_to_end(runner: &Runner, opened: Box<OpenedRun>) {
    let (scope, conversation, input, mut span) = opened.into_team_run();
    let writer = conversation.session.writer.clone();
    let agents = boxed(|| run_team(&runner.0, &scope, conversation, input));
    let (_conversation, end) = match writer {
        None => agents.await,
        Some(writer) => boxed(|| run_with_lease(agents, writer)).await,
    };
    boxed(|| remember_session(&runner.0, &scope, &end.reason)).await;
    span.record_end(&end);
    boxed(|| scope.emit(AgentEventKind::Ended { end })).await;
}

/// Runs until the end, and renews the lease of the session meanwhile.
async fn run_with_lease<T>(rounds: impl Future<Output = T>, writer: Arc<SessionWriter>) -> T {
    let rounds = pin!(rounds);
    let lease = pin!(writer.renew_lease_until_end());
    let end = match select(rounds, lease).await {
        Either::Left((end, _)) => end,
        // The lease is lost, and the run is cancelled.
        Either::Right(((), rounds)) => rounds.await,
    };
    boxed(|| writer.give_up_lease()).await;
    end
}

/// Takes all rounds, and stores the end.
async fn run_rounds_and_store_end(run: &mut ActiveRun, input: Input) -> End {
    let mut end = boxed(|| run_rounds_to_end(run, input)).await;
    boxed(|| store_end(&mut run.conversation, &mut end)).await;
    end
}

/// Stores the end, whose reason is another one if that fails.
pub(super) async fn store_end(conversation: &mut RunConversation, end: &mut End) {
    if let Some(failure) = conversation.store_end(&end.reason).await {
        end.reason = failure;
    }
}

/// Takes all rounds of an agent.
pub(super) async fn run_rounds_to_end(run: &mut ActiveRun, input: Input) -> End {
    let mut flow = boxed(|| start_with_input(run, input)).await;
    let mut end = loop {
        match flow {
            ControlFlow::Break(end) => break end,
            ControlFlow::Continue(()) => flow = boxed(|| run_round(run)).await,
        }
    };
    let ActiveRun { scope, hooks, limits, text, conversation, .. } = run;
    boxed(|| limits.count_hook_requests(scope, &hooks.requests)).await;
    limits.count_child_runs(scope);
    (end.usage, conversation.usage) = (limits.usage, limits.usage);
    if end.text.is_empty() {
        end.text = std::mem::take(text);
    }
    if let Some(place) = scope.place_of_single_agent().filter(|place| place.shares) {
        drop(place.shown.set(scope.parent.shown_run(conversation.session.messages.clone())));
    }
    end
}

/// Starts the run with a message, or with answers to the open calls of its session.
async fn start_with_input(run: &mut ActiveRun, input: Input) -> Flow {
    add_note_above(run);
    match input {
        Input::Message(message) => {
            check_history_is_free(&run.scope)?;
            boxed(|| add_input(run, message)).await;
            run.set_expected_output()
        }
        Input::Answers(answers) => {
            if run.scope.place_of_single_agent().is_none() {
                run.conversation.control.reset_usage_start();
            }
            run.switch_to_controlling_agent();
            run.set_expected_output()?;
            boxed(|| restore_loaded_skills(run)).await?;
            match run.scope.place_of_single_agent().is_some() {
                true => boxed(|| resume_child_run(run, answers)).await?,
                false => boxed(|| resume_open_batch(run, answers)).await?,
            }
            boxed(|| restore_loaded_skills(run)).await
        }
        Input::Turn => {
            let ActiveRun { scope, conversation, .. } = run;
            let is_own = |message: &Message| message.agent().is_none_or(|agent| agent == scope.agent.name());
            let last = conversation.model_messages.last();
            if last.is_some_and(|last| last.role() == Role::Assistant && is_own(last)) {
                conversation.add_message_for_model_alone(Message::user(CONTINUE_MESSAGE));
            }
            run.set_expected_output()
        }
        Input::Recovery => {
            run.set_expected_output()?;
            boxed(|| restore_loaded_skills(run)).await?;
            match run.scope.place_of_single_agent().is_some() {
                true => boxed(|| recover_child(run)).await?,
                false => boxed(|| recover_run(run)).await?,
            }
            boxed(|| restore_loaded_skills(run)).await
        }
    }
}

/// Continues with the skills that were loaded before the run was interrupted, or ended with open calls: those of stored messages, and
/// after the interrupted batch those of its results.
async fn restore_loaded_skills(run: &mut ActiveRun) -> Flow {
    let ActiveRun { scope, conversation, .. } = run;
    let Some(skills) = scope.skills() else { return ControlFlow::Continue(()) };
    let messages = &conversation.session.messages;
    match scope
        .wait_unless_interrupted(restore_skills(skills, &scope.run, scope.agent.name(), messages))
        .await
    {
        Ok(notices) => {
            for notice in notices {
                scope.emit_notice(notice).await;
            }
            ControlFlow::Continue(())
        }
        Err(interruption) => interruption.end(),
    }
}

/// Ends the run if its history belongs to another call of the same batch, which waits for an answer.
fn check_history_is_free(scope: &RunScope) -> Flow {
    let Some(ChildPlace { parent: Some(parent), view, .. }) = scope.place_of_single_agent() else {
        return ControlFlow::Continue(());
    };
    match parent.has_run_waiting_in(view) {
        true => end_as_failed(format!(
            "another call waits for an answer in the history `{view}`; call the agent again after that answer"
        )),
        false => ControlFlow::Continue(()),
    }
}

/// Adds the note about the conversation above to a run that shares it.
fn add_note_above(run: &mut ActiveRun) {
    let place = run.scope.place_of_single_agent().filter(|place| place.shares);
    if let Some(note) = place.and_then(|place| place.note_above.clone()) {
        run.conversation.add_note_above(note);
    }
}

/// Stores the message of the user, after the results of all calls before it, and starts its check.
async fn add_input(run: &mut ActiveRun, message: Message) {
    let ActiveRun { scope, conversation, .. } = run;
    let reason = "not answered: the user sent another message";
    boxed(|| close_open_calls(scope, conversation, reason)).await;
    boxed(|| close_interrupted_calls(scope, conversation)).await;
    if scope.place.is_none() {
        // Runs below calls of a run that was dropped: no call above them is open.
        boxed(|| conversation.session.children.close_all()).await;
        conversation.answered.add(conversation.progress.take_fresh_histories());
    }
    conversation.control.assign_user_message(&scope.root);
    run.switch_to_controlling_agent();
    let ActiveRun { scope, conversation, check, .. } = run;
    let checking = checking_agent(&scope.root, &scope.agent);
    *check = checking.and_then(|agent| start_check(&agent, &scope.run, &message));
    // In one step with the message: the run may be dropped at each wait.
    conversation.session.is_unchecked = check.is_some();
    boxed(|| conversation.add_message(scope, message.marked_as_input(true))).await;
}
