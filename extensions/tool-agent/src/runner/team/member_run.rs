//! The members of a parallel team while they work.

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tool_runtime::BoxFuture;

use super::{
    super::{End, answers::Answers, conversation::RunConversation, flow::boxed},
    AgentPlace, TurnEnd, TurnStart,
    members::{MemberWork, TeamMember, acquire_member_turn},
    parallel::WorkingTeam,
    position::MemberEnd,
    run_agent,
};
use crate::Agent;

/// The work of a member, with its index.
type MemberRun<'t> = BoxFuture<'t, (usize, Box<WorkedMember>)>;

/// A member after its work.
pub(super) struct WorkedMember {
    pub(super) member: TeamMember,
    pub(super) end: End,
    pub(super) is_escalated: bool,
}

impl WorkedMember {
    /// Returns `true` if the member waits for answers.
    pub(super) fn is_open(&self) -> bool {
        !self.end.reason.is_success() && !self.end.open.is_empty()
    }

    pub(super) fn has_failed(&self) -> bool {
        !self.end.reason.is_success() && !self.is_open()
    }

    /// Returns the member, with its end if it has ended.
    pub(super) fn into_member(self) -> TeamMember {
        let Self { mut member, end, is_escalated } = self;
        if member.conversation.is_none() {
            member.progress.end = Some(MemberEnd::new(&end, is_escalated));
        }
        member
    }
}

impl WorkingTeam<'_> {
    /// Runs the members that have work, and returns all in the order of the list.
    pub(super) async fn run_members(
        &self,
        members: Vec<TeamMember>,
        answers: BTreeMap<usize, Answers>,
    ) -> Vec<WorkedMember> {
        let (mut running, mut ends) = self.begin_members(members, answers);
        while let Some((index, worked)) = running.next().await {
            if self.team.cancels_on_failure && worked.has_failed() {
                self.token.cancel();
            }
            if let Some(end) = ends.get_mut(index) {
                *end = Some(worked);
            }
        }
        ends.into_iter().flatten().map(|worked| *worked).collect()
    }

    /// Returns the members that run, and those that have no work in their places. Not a part of a future, since runs nest.
    fn begin_members<'t>(
        &'t self,
        members: Vec<TeamMember>,
        mut answers: BTreeMap<usize, Answers>,
    ) -> (FuturesUnordered<MemberRun<'t>>, Vec<Option<Box<WorkedMember>>>) {
        let (running, mut ends) = (FuturesUnordered::new(), Vec::new());
        for (index, (mut member, agent)) in members.into_iter().zip(self.team.members).enumerate() {
            let work = member.take_work(answers.remove(&index), &self.team_run.root.agent);
            let (end, is_escalated) = match work {
                MemberWork::Runs(start) => {
                    let member = Box::new(member);
                    running.push(Box::pin(self.run_member(index, agent, member, start)) as MemberRun<'t>);
                    ends.push(None);
                    continue;
                }
                MemberWork::Waits(end) => (*end, false),
                MemberWork::Ended(end) => {
                    let is_escalated = end.is_escalated;
                    (end.into_end(), is_escalated)
                }
            };
            ends.push(Some(Box::new(WorkedMember { member, end, is_escalated })));
        }
        (running, ends)
    }

    /// Runs the member at `index`, and stores its end, or the calls with which it waits.
    async fn run_member(
        &self,
        index: usize,
        agent: &Agent,
        member: Box<TeamMember>,
        start: TurnStart,
    ) -> (usize, Box<WorkedMember>) {
        let TeamMember { place, conversation, .. } = *member;
        let conversation = match conversation {
            Some(conversation) => conversation,
            None => Box::new(RunConversation::new(acquire_member_turn(&place).await)),
        };
        let turn = run_agent(self.team_run, agent, place.clone(), conversation, start).await;
        (index, boxed(|| self.store_worked(place, turn)).await)
    }

    /// Stores the end of a member, or the calls with which it waits.
    async fn store_worked(&self, place: AgentPlace, turn: TurnEnd) -> Box<WorkedMember> {
        let TurnEnd { mut conversation, end, is_escalated } = turn;
        let is_open = !end.reason.is_success() && !end.open.is_empty();
        let stored = (!is_open).then(|| MemberEnd::new(&end, is_escalated));
        if stored.is_some() {
            conversation.session.position = None;
        }
        let progress = boxed(|| conversation.store_member_progress(stored)).await;
        let mut member = TeamMember::new(place, conversation);
        member.progress = progress.with_end(None);
        if !is_open {
            member.conversation = None;
        }
        Box::new(WorkedMember { member, end, is_escalated })
    }
}
