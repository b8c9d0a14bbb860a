//! The members of a parallel team that continue: their histories, and the answers for each of them.

use std::{collections::BTreeMap, ops::ControlFlow, sync::Arc};

use tool_runtime::{BoxFuture, CancellationToken, open_calls::CallRef};

use super::{
    super::{
        End, EndReason,
        answers::{Answer, Answers, Input},
        compact::max_tokens_before_compaction,
        conversation::RunConversation,
        flow::{Flow, boxed, end_as_failed, end_with},
        open_batch::{OpenBatch, OpenTarget, ambiguous_call_problem},
        open_calls::{check_answer, repeated_answer_problem},
        open_session::restore_open_batch_of_run,
        session::SessionTurn,
        session_writer::{SessionWriter, StoreRetries},
        state_changes::state_changes,
        stored_conversation::{
            ConversationView, StoredConversation, read_conversation, read_member_progress,
        },
    },
    AgentPlace, TeamRun, TurnStart, changed_agents_problem,
    member_state::MemberState,
    parallel::place_of_member,
    position::{MemberEnd, MemberProgress, MemberRecord, Position},
};
use crate::Agent;

/// A member of a parallel team, before it runs.
pub(super) struct TeamMember {
    pub(super) place: AgentPlace,
    pub(super) progress: MemberProgress,
    /// The conversation of a member that has not ended.
    pub(super) conversation: Option<Box<RunConversation>>,
    /// The members of the parallel team at the position of the member.
    nested: Vec<TeamMember>,
}

/// The answers for each member, by its index.
#[derive(Default)]
pub(super) struct RoutedAnswers {
    pub(super) by_member: BTreeMap<usize, Answers>,
    /// The problems of answers that have no call.
    pub(super) problems: Vec<String>,
}

/// The work of a member in this run.
pub(super) enum MemberWork {
    /// None: it has ended.
    Ended(MemberEnd),
    /// None: it waits for answers.
    Waits(Box<End>),
    Runs(TurnStart),
}

impl TeamMember {
    /// Creates a member that begins in `conversation`.
    pub(super) fn new(place: AgentPlace, conversation: Box<RunConversation>) -> Self {
        let (progress, conversation) = (MemberProgress::default(), Some(conversation));
        Self { place, progress, conversation, nested: Vec::new() }
    }

    /// Returns the open batches of the member.
    fn open_batches(&self) -> Vec<&OpenBatch> {
        let own = self.conversation.as_ref().and_then(|it| it.session.open.as_ref());
        own.into_iter().chain(self.nested.iter().flat_map(Self::open_batches)).collect()
    }

    /// Returns `true` if a call of the member waits for an answer.
    pub(super) fn has_open_calls(&self) -> bool {
        self.open_batches().iter().any(|open| open.unfinished_calls().is_some())
    }

    /// Takes the work of the member, which receives `answers`.
    pub(super) fn take_work(&mut self, answers: Option<Answers>, root: &Agent) -> MemberWork {
        if let Some(end) = self.progress.end.take() {
            return MemberWork::Ended(end);
        }
        // They read their histories when they run.
        let is_team = !std::mem::take(&mut self.nested).is_empty();
        let Some(session) = self.conversation.as_ref().map(|it| &it.session) else {
            return MemberWork::Runs(TurnStart::begin());
        };
        let input = match (answers, session.open.as_ref().and_then(OpenBatch::unfinished_calls)) {
            (Some(answers), _) => Input::Answers(answers),
            (None, Some(open)) => return MemberWork::Waits(Box::new(open.into_end(EndReason::OpenCalls))),
            (None, None) if is_team => Input::Answers(Answers::new()),
            (None, None) => Input::Recovery,
        };
        let Some(position) = &session.position else { return MemberWork::Runs(TurnStart::begin()) };
        match position.path.strip_prefix(&self.place.path[..]) {
            Some(below) => MemberWork::Runs(TurnStart { input, path: below.iter().rev().cloned().collect() }),
            None => {
                let message = changed_agents_problem(root);
                MemberWork::Ended(MemberEnd::new(&End::new(EndReason::Failed { message }), false))
            }
        }
    }

    /// Closes the open calls of the member: they can no longer be answered.
    pub(super) fn close(&mut self) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            if let Some(conversation) = &mut self.conversation
                && let Some(open) = conversation.session.open.take()
            {
                open.discard().await;
                if let Some(history) = self.place.parent.history() {
                    for below in &open.below {
                        history.close_history(&below.view).await;
                    }
                }
            }
            for nested in &mut self.nested {
                nested.close().await;
            }
            if let Some(conversation) = &mut self.conversation {
                conversation.session.position = None;
            }
        })
    }
}

/// Returns the answers for each member. Without `is_strict`, an answer that has no call is a problem of its own.
///
/// # Errors
///
/// Returns the problem of the first answer that has no call, or is of the wrong kind.
pub(super) fn routed_answers(
    members: &[TeamMember],
    answers: Answers,
    is_strict: bool,
) -> Result<RoutedAnswers, String> {
    let (mut routed, mut named) = (RoutedAnswers::default(), Vec::new());
    let mut batches = Vec::new();
    for (index, member) in members.iter().enumerate() {
        batches.extend(member.open_batches().into_iter().map(|open| (index, open)));
    }
    for (call, answer) in answers.0 {
        match find_answered_member(&batches, &call, &answer, &mut named) {
            Ok(Some(member)) => {
                routed.by_member.entry(member).or_insert_with(Answers::new).0.push((call, answer));
            }
            Ok(None) => routed
                .problems
                .push(format!("the call `{call}` has its result; the further answer is ignored")),
            Err(problem) if is_strict => return Err(problem),
            Err(problem) => routed.problems.push(problem),
        }
    }
    Ok(routed)
}

/// Returns the index of the member that has the open call; `None` if that call has its result. `batches` are the open batches of all members, each with
/// the index of its member; `named` has the calls with an answer.
fn find_answered_member(
    batches: &[(usize, &OpenBatch)],
    call: &CallRef,
    answer: &Answer,
    named: &mut Vec<(usize, OpenTarget)>,
) -> Result<Option<usize>, String> {
    let found = batches.iter().enumerate().flat_map(|(batch, (member, open))| {
        open.open_targets(call).into_iter().map(move |target| (batch, *member, *open, target))
    });
    match found.collect::<Vec<_>>()[..] {
        [(batch, member, open, target)] => {
            check_answer(open, target, call, answer)?;
            if named.contains(&(batch, target)) {
                return Err(repeated_answer_problem(call));
            }
            named.push((batch, target));
            Ok(Some(member))
        }
        [] if batches.iter().any(|(_, open)| open.has_result_of(call)) => Ok(None),
        [] => Err(problem_of_unopened_call(batches, call)),
        _ => Err(ambiguous_call_problem(call)),
    }
}

/// Returns the problem of an answer whose call is not open. A batch in which it is above open calls explains it best.
fn problem_of_unopened_call(batches: &[(usize, &OpenBatch)], call: &CallRef) -> String {
    let above = batches.iter().find(|(_, open)| open.waits_for_calls_below(call));
    let problem = above.or(batches.first()).and_then(|(_, open)| open.find_open_call(call).err());
    problem.unwrap_or_else(|| {
        format!("no call `{call}` waits for an answer; use an id or address of `End::open`")
    })
}

impl TeamRun<'_> {
    /// Reads the members of the team `team` at `position`, in whose place a run continues.
    pub(super) fn load_members<'t>(
        &'t self,
        team: &'t Agent,
        place: &'t AgentPlace,
        conversation: &'t RunConversation,
        position: &'t Position,
        token: &'t CancellationToken,
    ) -> BoxFuture<'t, Flow<Vec<TeamMember>>> {
        Box::pin(async move {
            let names = team.members().iter().map(Agent::name);
            if !names.eq(position.members.iter().map(|member| member.agent.as_str())) {
                return end_as_failed(changed_agents_problem(&self.root.agent));
            }
            let mut members = Vec::new();
            for (index, (member, record)) in team.members().iter().zip(&position.members).enumerate() {
                let view = Some(Arc::clone(&record.view));
                let place = place_of_member(self.root, place, member, index, view, token);
                let mut member = boxed(|| self.load_member(place, conversation, record)).await?;
                self.load_nested_members(&mut member).await?;
                members.push(member);
            }
            ControlFlow::Continue(members)
        })
    }

    /// Reads the members of the team at `position`, whose open calls are closed. Each that cannot be read is reported, and costs no other one.
    pub(super) fn load_members_to_close<'t>(
        &'t self,
        place: &'t AgentPlace,
        conversation: &'t RunConversation,
        position: &'t Position,
        token: &'t CancellationToken,
    ) -> BoxFuture<'t, Vec<TeamMember>> {
        Box::pin(async move {
            let team = position.agent_below(&self.root.agent);
            let mut members = Vec::new();
            for record in position.members.iter().filter(|record| record.progress.end.is_none()) {
                let agents = team.into_iter().flat_map(Agent::members).enumerate();
                let Some((index, agent)) = agents.into_iter().find(|(_, it)| it.name() == record.agent)
                else {
                    self.report_unclosed_calls(&record.agent, "the agent is gone").await;
                    continue;
                };
                let view = Some(Arc::clone(&record.view));
                let place = place_of_member(self.root, place, agent, index, view, token);
                match boxed(|| self.load_member(place, conversation, record)).await {
                    ControlFlow::Continue(mut member) => {
                        self.load_nested_members_to_close(&mut member).await;
                        members.push(member);
                    }
                    ControlFlow::Break(end) => {
                        self.report_unclosed_calls(&record.agent, &end.reason.to_string()).await;
                    }
                }
            }
            members
        })
    }

    /// Reads the members of the parallel team at the position of a member, whose open calls are closed.
    pub(super) async fn load_nested_members_to_close(&self, member: &mut TeamMember) {
        let Some(conversation) = &member.conversation else { return };
        let Some(position) = conversation.session.position.as_ref().filter(|it| !it.members.is_empty())
        else {
            return;
        };
        let place = AgentPlace { path: position.path.clone(), ..member.place.clone() };
        let token = place.run.cancellation().clone();
        member.nested = self.load_members_to_close(&place, conversation, position, &token).await;
    }

    /// Reports a member whose open calls are not closed.
    async fn report_unclosed_calls(&self, agent: &str, reason: &str) {
        let text = format!(
            "the open calls of the agent `{agent}` are not closed, and remain until they expire: {reason}"
        );
        self.root.emit_notice(text).await;
    }

    /// Reads a member, without those of a team at its position.
    async fn load_member(
        &self,
        place: AgentPlace,
        team_conversation: &RunConversation,
        record: &MemberRecord,
    ) -> Flow<TeamMember> {
        let initial = place.run.state();
        let writer = team_conversation.session.writer.clone();
        let entries = match &writer {
            None => vec![record.progress.clone()],
            Some(writer) => {
                self.read_with_retries(writer, |writer| {
                    let view = Arc::clone(&record.view);
                    Box::pin(async move {
                        read_member_progress(&writer.access().store, writer.codec(), &view).await
                    })
                })
                .await?
            }
        };
        for entry in &entries {
            place.run.change_state(&entry.changes);
        }
        let mut progress = entries.into_iter().next_back().unwrap_or_default();
        progress.changes = state_changes(&initial, &place.run.state());
        if progress.end.is_some() {
            return ControlFlow::Continue(TeamMember {
                place,
                progress,
                conversation: None,
                nested: Vec::new(),
            });
        }
        let mut turn = acquire_member_turn(&place).await;
        let state = MemberState::new(&place, initial, progress.usage);
        let conversation = match &writer {
            None if turn.messages.is_empty() => team_conversation.fork(turn, state),
            None => {
                let mut conversation = RunConversation::new(turn);
                (conversation.has_secrets, conversation.member_state) =
                    (team_conversation.has_secrets, Some(state));
                conversation
            }
            Some(writer) => {
                let mut stored = self.read_history(writer, &record.view).await?;
                if turn.open.is_none() {
                    let depth = place.path.len();
                    let restoring = restore_open_batch_of_run(self.root, &place.run, depth, &mut stored);
                    turn.open = match self.root.wait_unless_interrupted(restoring).await {
                        Ok(Ok(open)) => open,
                        Ok(Err(error)) => return end_as_failed(error.to_string()),
                        Err(interruption) => return interruption.end(),
                    };
                }
                turn.position = stored.position.take();
                if let Some(open) = &mut turn.open {
                    stored.progress.apply_outcomes(&place.run, open);
                }
                team_conversation.stored_fork(turn, stored, state)
            }
        };
        let mut member = TeamMember::new(place, Box::new(conversation));
        member.progress = progress;
        ControlFlow::Continue(member)
    }

    /// Reads the members of the parallel team at the position of a member.
    pub(super) async fn load_nested_members(&self, member: &mut TeamMember) -> Flow {
        let Some(conversation) = &member.conversation else { return ControlFlow::Continue(()) };
        let Some(position) = conversation.session.position.as_ref().filter(|it| !it.members.is_empty())
        else {
            return ControlFlow::Continue(());
        };
        let Some(team) = position.agent_below(&self.root.agent) else {
            return end_as_failed(changed_agents_problem(&self.root.agent));
        };
        let place = AgentPlace { path: position.path.clone(), ..member.place.clone() };
        let token = place.run.cancellation().clone();
        member.nested = self.load_members(team, &place, conversation, position, &token).await?;
        ControlFlow::Continue(())
    }

    /// Reads the history of a member.
    async fn read_history(&self, writer: &Arc<SessionWriter>, view: &Arc<str>) -> Flow<StoredConversation> {
        let max_tokens = max_tokens_before_compaction(self.root);
        self.read_with_retries(writer, |writer| {
            let view = Arc::clone(view);
            Box::pin(async move {
                let view = ConversationView::of_child(&view, false);
                read_conversation(&writer.access().store, writer.codec(), max_tokens, &view).await
            })
        })
        .await
    }

    /// Reads from the store until that succeeds, or its time is over.
    async fn read_with_retries<T>(
        &self,
        writer: &Arc<SessionWriter>,
        read: impl Fn(Arc<SessionWriter>) -> BoxFuture<'static, Result<T, tool_session::SessionError>>,
    ) -> Flow<T> {
        let mut retries = StoreRetries::new(writer.access(), &self.root.run);
        loop {
            let attempt = retries.attempt(read(Arc::clone(writer)));
            match self.root.wait_unless_interrupted(attempt).await {
                Ok(Ok(value)) => return ControlFlow::Continue(value),
                Ok(Err(error)) => {
                    if let Err(reason) = retries.pause_after(error).await {
                        return end_with(reason);
                    }
                }
                Err(interruption) => return interruption.end(),
            }
        }
    }
}

/// Waits for the turn of a member in its history.
pub(super) async fn acquire_member_turn(place: &AgentPlace) -> SessionTurn {
    match (place.parent.history(), &place.view) {
        (Some(history), Some(view)) => history.acquire_member_turn(view).await,
        _ => SessionTurn::without_session().await,
    }
}
