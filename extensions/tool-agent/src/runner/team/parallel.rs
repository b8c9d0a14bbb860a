//! Agents that work at the same time.

use std::{ops::ControlFlow, sync::Arc};

use tool_runtime::CancellationToken;

use super::{
    super::{
        AgentEventKind, End, EndReason, RunUsage,
        answers::{Answers, Input},
        batch_end::no_open_calls_problem,
        conversation::{MemberTurn, RunConversation},
        flow::{Flow, Interruption, boxed, end_as_failed},
        open_calls::ignore_early_answers,
        parent_run::ParentRun,
        scope::RunScope,
    },
    AgentPlace, PathStep, Position, TeamRun, TurnEnd, TurnStart,
    answer::{JoinedOutput, end_with_open_calls, joined_end},
    changed_agents_problem,
    member_run::WorkedMember,
    member_state::{MemberState, lasting_changes},
    members::{TeamMember, acquire_member_turn, routed_answers},
    position::{MemberEnd, MemberRecord},
    with_time_limit,
};
use crate::{Agent, Message, Part};

/// A parallel team.
pub(super) struct ParallelTeam<'t> {
    pub(super) agent: &'t Agent,
    pub(super) members: &'t [Agent],
    pub(super) cancels_on_failure: bool,
}

/// A parallel team that works.
pub(super) struct WorkingTeam<'t> {
    pub(super) team_run: &'t TeamRun<'t>,
    pub(super) team: ParallelTeam<'t>,
    place: &'t AgentPlace,
    scope: &'t RunScope,
    pub(super) token: CancellationToken,
}

/// Runs the members of a team at the same time, and adds their answers to the conversation as one message. While a member waits for answers,
/// the team does: the members that ended are not run again.
pub(super) async fn run_parallel(
    team_run: &TeamRun<'_>,
    team: ParallelTeam<'_>,
    place: AgentPlace,
    mut conversation: Box<RunConversation>,
    start: TurnStart,
) -> TurnEnd {
    let (scope, turn) = team_run.begin_team_turn(team.agent, &place);
    let token = place.run.cancellation().child_token();
    let working = WorkingTeam { team_run, team, place: &place, scope: &scope, token };
    let started = boxed(|| working.begin_or_continue_turn(&mut conversation, *turn, start.input)).await;
    let (members, answers) = match started {
        ControlFlow::Continue(started) => started,
        ControlFlow::Break(end) => {
            conversation.end_turn();
            return TurnEnd::new(conversation, end);
        }
    };
    let ends = boxed(|| working.run_while_answered(&mut conversation, members, answers)).await;
    let turn = boxed(|| working.finish_turn(&mut conversation, ends)).await;
    conversation.end_turn();
    let (end, is_escalated) = turn;
    TurnEnd { conversation, end, is_escalated }
}

impl WorkingTeam<'_> {
    /// Begins, or continues, the turn of the team; returns its members and their answers.
    async fn begin_or_continue_turn(
        &self,
        conversation: &mut RunConversation,
        turn: MemberTurn,
        input: Input,
    ) -> Flow<(Vec<TeamMember>, Answers)> {
        if matches!(input, Input::Turn) {
            ignore_early_answers(self.scope).await;
            let mut position = Position::new(self.place.path.clone(), self.team_run.usage.total());
            let members = self.new_members(conversation).await;
            let record = |(agent, member): (&Agent, &TeamMember)| {
                MemberRecord::new(agent.name().to_owned(), member.place.view.clone().unwrap_or_default())
            };
            position.members = self.team.members.iter().zip(&members).map(record).collect();
            self.set_position(conversation, turn, position).await;
            return ControlFlow::Continue((members, Answers::new()));
        }
        let Some(position) = conversation.session.position.clone().filter(|it| !it.members.is_empty()) else {
            return end_as_failed(changed_agents_problem(&self.team_run.root.agent));
        };
        let (team_run, agent) = (self.team_run, self.team.agent);
        let members = team_run.load_members(agent, self.place, conversation, &position, &self.token).await?;
        let is_outermost = self.place.view.is_none();
        let (answers, has_answers) = match input {
            Input::Answers(answers) => (answers, true),
            _ => (Answers::new(), false),
        };
        let is_root = is_outermost && team_run.root.place.is_none();
        if is_root && has_answers && !members.iter().any(TeamMember::has_open_calls) {
            return end_as_failed(no_open_calls_problem(self.scope).to_owned());
        }
        if is_outermost {
            self.continue_usage(conversation);
        }
        self.set_position(conversation, turn, position).await;
        ControlFlow::Continue((members, answers))
    }

    /// Stores the position of the team before the messages of its members.
    async fn set_position(
        &self,
        conversation: &mut RunConversation,
        mut turn: MemberTurn,
        position: Position,
    ) {
        turn.position = Some(position.clone());
        conversation.session.position = Some(position);
        conversation.begin_turn(turn);
        conversation.store_position().await;
    }

    /// Goes on with what the members used before.
    fn continue_usage(&self, conversation: &mut RunConversation) {
        let TeamRun { root, usage, .. } = self.team_run;
        usage.add_ended(&std::mem::take(&mut conversation.progress.usage));
        root.parent.continue_usage(usage.total().children);
    }

    /// Returns the members of a team that begins.
    async fn new_members(&self, conversation: &RunConversation) -> Vec<TeamMember> {
        let mut members = Vec::new();
        for (index, member) in self.team.members.iter().enumerate() {
            let place = place_of_member(self.scope, self.place, member, index, None, &self.token);
            let state = MemberState::new(&place, self.place.run.state(), RunUsage::default());
            let fork = conversation.fork(acquire_member_turn(&place).await, state);
            members.push(TeamMember::new(place, Box::new(fork)));
        }
        members
    }

    /// Runs the members until all have ended, or none of the others has answers.
    async fn run_while_answered(
        &self,
        conversation: &mut RunConversation,
        mut members: Vec<TeamMember>,
        mut answers: Answers,
    ) -> Flow<Vec<WorkedMember>> {
        let mut is_strict = self.team_run.root.place.is_none();
        loop {
            let routed = match routed_answers(&members, answers, is_strict) {
                Ok(routed) => routed,
                Err(problem) => return end_as_failed(problem),
            };
            for problem in routed.problems {
                self.scope.emit_notice(problem).await;
            }
            let mut worked = boxed(|| self.run_members(members, routed.by_member)).await;
            if self.team.cancels_on_failure && worked.iter().any(WorkedMember::has_failed) {
                self.close_open_members(&mut worked).await;
            }
            self.note_progress(conversation, &worked);
            let next = match worked.iter().any(WorkedMember::is_open) {
                true => self.next_answers().await,
                false => None,
            };
            let Some(next) = next else { return ControlFlow::Continue(worked) };
            (answers, is_strict) = (next, false);
            members = Vec::new();
            for worked in worked {
                let mut member = worked.into_member();
                boxed(|| self.team_run.load_nested_members(&mut member)).await?;
                members.push(member);
            }
        }
    }

    /// Closes the open calls of the members after another one has failed.
    async fn close_open_members(&self, worked: &mut [WorkedMember]) {
        for it in worked.iter_mut().filter(|it| it.is_open()) {
            boxed(|| self.team_run.load_nested_members_to_close(&mut it.member)).await;
            it.member.close().await;
            it.end = End::new(EndReason::Cancelled);
            if let Some(conversation) = &mut it.member.conversation {
                let end = Some(MemberEnd::new(&it.end, false));
                boxed(|| conversation.store_member_progress(end)).await;
            }
            it.member.conversation = None;
        }
    }

    /// Notes what became of the members, for a run in memory that continues.
    fn note_progress(&self, conversation: &mut RunConversation, worked: &[WorkedMember]) {
        let Some(position) = &mut conversation.session.position else { return };
        for (record, it) in position.members.iter_mut().zip(worked) {
            let end = (!it.is_open()).then(|| MemberEnd::new(&it.end, it.is_escalated));
            record.progress = it.member.progress.clone().with_end(end);
            record.progress.changes = lasting_changes(std::mem::take(&mut record.progress.changes));
        }
    }

    /// Returns the next answers of the handle: those that arrived, or those that the run waits for. `None` for a team within another one, or if
    /// no agent waits.
    async fn next_answers(&self) -> Option<Answers> {
        if self.scope.works_beside_others() {
            return None;
        }
        let is_root = self.team_run.root.place.is_none() && !self.scope.ends_with_call;
        let waits =
            is_root && self.team.agent.agents_with_model().iter().any(|agent| agent.0.waits_for_answers);
        loop {
            match self.scope.inbox.next_answers() {
                None if !waits => return None,
                None => {}
                answers => return answers,
            }
            tokio::select! {
                biased;
                () = self.scope.run.cancellation().cancelled() => return None,
                () = self.scope.inbox.wait_for_answers() => {}
                () = self.scope.wait_for_deadline() => return None,
            }
        }
    }

    /// Returns the end of the team, and `true` if the nearest loop around it ends.
    async fn finish_turn(
        &self,
        conversation: &mut RunConversation,
        worked: Flow<Vec<WorkedMember>>,
    ) -> (End, bool) {
        let worked = match worked {
            ControlFlow::Continue(worked) => worked,
            ControlFlow::Break(end) => return (end, false),
        };
        let is_open = worked.iter().any(WorkedMember::is_open);
        let is_escalated = worked.iter().any(|it| it.is_escalated);
        if !is_open {
            for it in &worked {
                self.place.run.change_state(&it.member.progress.changes);
            }
        }
        let names = self.team.members.iter().map(Agent::name);
        let ends: Vec<_> = names.zip(worked).map(|(name, it)| (name, it.end)).collect();
        if is_open {
            return (end_with_open_calls(ends, self.interruption()), false);
        }
        report_failures(self.scope, &ends).await;
        let output = match (self.place.output.clone(), self.team.agent.output_type()) {
            (Some(output), _) => JoinedOutput::Of(output),
            (None, Some(_)) => JoinedOutput::Members,
            (None, None) => JoinedOutput::None,
        };
        let mut end = joined_end(ends, output).await;
        let is_stored = conversation.session.position.as_ref().is_some_and(|it| it.is_answered);
        if !end.text.is_empty() && !is_stored {
            conversation.add_message(self.scope, Message::assistant([Part::Text(end.text.clone())])).await;
        }
        if end.reason.is_success() && is_escalated {
            end.reason = EndReason::Escalated;
        }
        (end, is_escalated)
    }

    /// Returns the interruption of the run, if it was interrupted.
    fn interruption(&self) -> Option<EndReason> {
        let interruption = match self.scope.deadline() {
            _ if self.scope.run.cancellation().is_cancelled() => Interruption::Cancelled,
            Some(deadline) if deadline <= std::time::Instant::now() => Interruption::DeadlinePassed,
            _ => return None,
        };
        match interruption.end::<()>() {
            ControlFlow::Break(end) => Some(end.reason),
            ControlFlow::Continue(()) => None,
        }
    }
}

/// Returns the place of a member of a team whose scope is `scope`, in its history `view` if it has begun before.
pub(super) fn place_of_member(
    scope: &RunScope,
    place: &AgentPlace,
    member: &Agent,
    index: usize,
    view: Option<Arc<str>>,
    token: &CancellationToken,
) -> AgentPlace {
    let run = place.run.parallel_member(member.name()).with_cancellation(token.child_token());
    let history = place.parent.history();
    let own_key = || {
        let key = run.key().unwrap_or_default();
        history.map_or_else(|| key.to_owned(), |history| history.own_view_below(key))
    };
    let key = view.map_or_else(own_key, |view| view.to_string());
    let run = Arc::new(with_time_limit(run.with_key(key), member));
    let parent = ParentRun::offer_part_to_child_runs(&run, &scope.inbox, Some(Arc::clone(&place.parent)));
    if let Some(history) = history {
        parent.set_history(history.clone());
    }
    let step = PathStep { agent: member.name().to_owned(), step: index as u64 };
    let path = place.path.iter().cloned().chain([step]).collect();
    let view = run.key().map(Into::into);
    AgentPlace { run, parent, path, is_in_loop: place.is_in_loop, view, output: None }
}

/// Reports the members that ended without an answer.
async fn report_failures(scope: &RunScope, ends: &[(&str, End)]) {
    for (name, end) in ends.iter().filter(|(_, end)| !end.reason.is_success()) {
        scope.emit(AgentEventKind::Notice { text: format!("the agent `{name}` has no answer: {end}") }).await;
    }
}
