//! A run of several agents.
//!
//! Agents in sequence take turns in the conversation of the run: each turn is a run of one agent with the context of the whole, its own
//! limits, hooks and tools. Agents in parallel have copies of the conversation and of the state, and runs of their own below the
//! run; what follows them in the conversation is their answer. Nothing is spawned: the stream of the run polls all of them, and their
//! events pass through its one emitter.
//!
//! The position of the run is stored with the first message of each turn. A later run continues the turn there, and then goes on with the
//! remaining agents.
//!
//! Of agents in parallel, each has a history of its own under a view key, which is stored with the position of their team: its messages, its open
//! calls, its position, and in the end its answer. While one of them waits for answers, the run ends with the open calls of all. A later run reads each
//! history, passes each answer to the agent that has the call, and runs no agent that has ended.

mod answer;
mod member_run;
mod member_state;
mod members;
mod parallel;
mod position;
mod sequence;
mod turn;

use std::{ops::ControlFlow, sync::Arc};

use tool_runtime::{BoxFuture, RunContext};

pub(super) use self::{
    member_state::MemberState,
    position::{MEMBER_KIND, MemberProgress, POSITION_KIND, PathStep, Position, PositionReader},
};
use super::{
    End, RunUsage, RunnerSettings,
    answers::Input,
    batch_end::no_open_calls_problem,
    conversation::RunConversation,
    flow::{Flow, RoundFailure, boxed, end_as_failed},
    handle::Inbox,
    input_check::{accept_or_refuse_message, start_check, withdraw_answer},
    limits::charge_earlier_usage,
    open_calls::close_open_calls,
    parent_run::ParentRun,
    recovery::{check_has_unfinished_run, close_interrupted_calls},
    run::store_end,
    scope::RunScope,
    usage_ledger::UsageLedger,
    with_time_limit,
};
use crate::{Agent, Message, OutputType, agent::AgentKind};

/// The parts of a run that all of its agents share.
struct TeamRun<'r> {
    settings: &'r RunnerSettings,
    /// The scope of the run.
    root: &'r RunScope,
    usage: Arc<UsageLedger>,
}

/// The place of an agent in its tree.
#[derive(Clone)]
struct AgentPlace {
    /// The run as the agent has it.
    run: Arc<RunContext>,
    parent: Arc<ParentRun>,
    path: Vec<PathStep>,
    is_in_loop: bool,
    /// The history of an agent that works beside others.
    view: Option<Arc<str>>,
    /// The type of the output, if it is not the agent's.
    output: Option<OutputType>,
}

/// The begin of an agent's turn.
struct TurnStart {
    input: Input,
    /// The way from the agent to the one that is continued, last step first; empty if the agent is that one, or begins.
    path: Vec<PathStep>,
}

/// The end of an agent's turn.
struct TurnEnd {
    conversation: Box<RunConversation>,
    end: End,
    /// `true` if the nearest loop around the agent ends.
    is_escalated: bool,
}

impl TurnStart {
    fn begin() -> Self {
        Self { input: Input::Turn, path: Vec::new() }
    }

    fn is_begin(&self) -> bool {
        matches!(self.input, Input::Turn)
    }
}

impl TurnEnd {
    fn new(conversation: Box<RunConversation>, end: End) -> Self {
        Self { conversation, end, is_escalated: false }
    }
}

/// Runs the agents of `scope` to their end, and stores it. The conversation has its turn in the session until it is dropped.
pub(super) async fn run_team(
    settings: &RunnerSettings,
    scope: &RunScope,
    mut conversation: Box<RunConversation>,
    input: Input,
) -> (Box<RunConversation>, End) {
    let team_run = TeamRun { settings, root: scope, usage: Arc::default() };
    let (mut conversation, mut end) = match boxed(|| start_team(&team_run, &mut conversation, input)).await {
        ControlFlow::Continue(start) => boxed(|| run_turns(&team_run, conversation, start)).await,
        ControlFlow::Break(end) => (conversation, end),
    };
    if conversation.member.is_none() {
        conversation.usage = team_run.usage.total();
    }
    end.usage = conversation.total_usage();
    let has_open_members = |position: &Position| position.has_open_members();
    if conversation.session.open.is_none()
        && !conversation.session.position.as_ref().is_some_and(has_open_members)
    {
        conversation.session.position = None;
    }
    boxed(|| store_end(&mut conversation, &mut end)).await;
    (conversation, end)
}

/// Runs the agents, once more for each message that follows their answer.
async fn run_turns(
    team_run: &TeamRun<'_>,
    mut conversation: Box<RunConversation>,
    mut start: TurnStart,
) -> (Box<RunConversation>, End) {
    loop {
        let turn =
            run_agent(team_run, &team_run.root.agent, team_run.root_place(), conversation, start).await;
        let end = turn.end;
        conversation = turn.conversation;
        if !end.reason.is_success() || !boxed(|| add_follow_ups(team_run, &mut conversation)).await {
            return (conversation, end);
        }
        start = TurnStart::begin();
    }
}

/// Stores the messages that follow the answer, with the position at the root: the first agent answers them, also after a crash.
async fn add_follow_ups(team_run: &TeamRun<'_>, conversation: &mut RunConversation) -> bool {
    let scope = team_run.root;
    let (_, mut turn) = team_run.begin_turn(&scope.agent, &team_run.root_place(), RunUsage::default());
    turn.position = Some(Position::new(Vec::new(), team_run.usage.total()));
    conversation.begin_turn(turn);
    let mode = scope.agent.0.follow_up_mode;
    let has_some = conversation.add_queued_messages(scope, mode, Inbox::next_follow_up).await;
    conversation.end_turn();
    conversation.usage = team_run.usage.total();
    has_some
}

/// Runs an agent of the tree.
fn run_agent<'t>(
    team_run: &'t TeamRun<'_>,
    agent: &'t Agent,
    place: AgentPlace,
    conversation: Box<RunConversation>,
    start: TurnStart,
) -> BoxFuture<'t, TurnEnd> {
    match &agent.0.kind {
        AgentKind::Model(model) => {
            Box::pin(turn::run_turn(team_run, agent, model.clone(), place, conversation, start.input))
        }
        AgentKind::Sequence(members) => {
            Box::pin(sequence::run_sequence(team_run, members, 1, place, conversation, start))
        }
        AgentKind::Repeat { members, max } => {
            let place = AgentPlace { is_in_loop: true, ..place };
            Box::pin(sequence::run_loop(team_run, members, *max, place, conversation, start))
        }
        AgentKind::Parallel { members, cancels_on_failure } => {
            let team = parallel::ParallelTeam { agent, members, cancels_on_failure: *cancels_on_failure };
            Box::pin(parallel::run_parallel(team_run, team, place, conversation, start))
        }
    }
}

/// Stores the message of the user, or finds the agent that continues.
async fn start_team(
    team_run: &TeamRun<'_>,
    conversation: &mut RunConversation,
    input: Input,
) -> Flow<TurnStart> {
    let scope = team_run.root;
    match &input {
        Input::Message(message) => {
            close_members_of_position(team_run, conversation).await;
            add_checked_message(scope, conversation, message.clone()).await?;
            return ControlFlow::Continue(TurnStart::begin());
        }
        Input::Answers(_)
            if conversation.session.open.is_none() && !has_open_parallel_members(conversation) =>
        {
            return end_as_failed(no_open_calls_problem(scope).to_owned());
        }
        Input::Answers(_) => {
            // The usage of a run that is not below a call begins anew.
            conversation.progress.usage = scope.place.as_ref().map_or_else(RunUsage::default, |it| it.usage);
            if scope.place.is_some() {
                // The run above has charged the budget when this one ended with its questions.
                continue_usage(team_run, conversation, true);
            }
        }
        Input::Turn => {}
        Input::Recovery => {
            // Below a call, the questions of agents in parallel are asked again.
            if scope.place.is_none() || !has_open_parallel_members(conversation) {
                check_has_unfinished_run(scope, conversation)?;
            }
            let is_charged = scope.place.is_some() && conversation.progress.has_end();
            continue_usage(team_run, conversation, is_charged);
        }
    }
    let Some(position) = &conversation.session.position else {
        let has_begun = conversation.session.open.is_some() || conversation.unanswered_calls().is_some();
        return match has_begun {
            // Nothing was stored of the first agent.
            false => ControlFlow::Continue(TurnStart::begin()),
            true => end_as_failed(changed_agents_problem(&scope.agent)),
        };
    };
    if position.agent_below(&scope.agent).is_none() {
        return end_as_failed(changed_agents_problem(&scope.agent));
    }
    let path = position.path.iter().rev().cloned().collect();
    ControlFlow::Continue(TurnStart { input, path })
}

/// Returns `true` if the run stands at a parallel team of which a member may continue.
fn has_open_parallel_members(conversation: &RunConversation) -> bool {
    conversation.session.position.as_ref().is_some_and(Position::has_open_members)
}

/// Closes the open calls of agents in parallel before a message that is in place of their answers. Those of agents that are gone, or that cannot be
/// read, are reported, and remain until they expire.
async fn close_members_of_position(team_run: &TeamRun<'_>, conversation: &RunConversation) {
    let Some(position) = conversation.session.position.as_ref().filter(|it| it.has_open_members()) else {
        return;
    };
    let place = AgentPlace { path: position.path.clone(), ..team_run.root_place() };
    let token = place.run.cancellation().clone();
    for mut member in boxed(|| team_run.load_members_to_close(&place, conversation, position, &token)).await {
        member.close().await;
    }
}

/// Goes on with the usage of the run that waited or was interrupted, a part of which is the usage of the agent that continues. With `is_charged`, the
/// budget has it already.
fn continue_usage(team_run: &TeamRun<'_>, conversation: &mut RunConversation, is_charged: bool) {
    let usage = conversation.progress.usage;
    let ended = conversation.session.position.as_ref().map_or(usage, |position| position.usage);
    if !is_charged {
        charge_earlier_usage(&team_run.root.run, &usage);
    }
    team_run.usage.continue_usage(ended);
    team_run.root.parent.continue_usage(ended.children);
    conversation.progress.usage = usage.since(&ended);
}

/// Returns the problem of a session whose agents have changed.
fn changed_agents_problem(agent: &Agent) -> String {
    format!(
        "the session cannot be continued, since the agents of `{}` are not those that it began with; use the same agents, \
         or send a message",
        agent.name()
    )
}

/// Stores the message of the user after the checks of all agents have accepted it.
async fn add_checked_message(scope: &RunScope, conversation: &mut RunConversation, message: Message) -> Flow {
    close_open_calls(scope, conversation, "not answered: the user sent another message").await;
    close_interrupted_calls(scope, conversation).await;
    conversation.session.position = None;
    if scope.place.is_none() {
        conversation.answered.add(conversation.progress.take_fresh_histories());
    }
    let checks: Vec<_> = scope
        .agent
        .agents_with_model()
        .into_iter()
        .filter_map(|agent| start_check(agent, &scope.run, &message))
        .collect();
    conversation.session.is_unchecked = !checks.is_empty();
    conversation.add_message(scope, message.marked_as_input(true)).await;
    for check in checks {
        let accepted = match scope.wait_unless_interrupted(check).await {
            Ok(decision) => accept_or_refuse_message(&mut conversation.session, decision),
            Err(interruption) => Err(interruption.into()),
        };
        if let Err(failure) = accepted {
            conversation.session.is_unchecked = true;
            if let RoundFailure::InputRefused(reason) = &failure {
                withdraw_answer(scope, reason).await;
            }
            return failure.end();
        }
    }
    ControlFlow::Continue(())
}

impl TeamRun<'_> {
    /// Returns the place of the agent of the run.
    fn root_place(&self) -> AgentPlace {
        AgentPlace {
            run: Arc::clone(&self.root.run),
            parent: Arc::clone(&self.root.parent),
            path: Vec::new(),
            is_in_loop: false,
            view: None,
            output: self.settings.output.clone(),
        }
    }
}

impl AgentPlace {
    /// Returns the place of a member that has its turn in the same conversation.
    fn of_member(&self, member: &Agent, step: u64, output: Option<OutputType>) -> Self {
        let step = PathStep { agent: member.name().to_owned(), step };
        Self {
            run: Arc::new(with_time_limit(self.run.member(member.name()), member)),
            parent: Arc::clone(&self.parent),
            path: self.path.iter().cloned().chain([step]).collect(),
            is_in_loop: self.is_in_loop,
            view: self.view.clone(),
            output,
        }
    }
}
