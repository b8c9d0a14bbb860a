//! Agents that work at the same time.

use std::sync::Arc;

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use tool_runtime::CancellationToken;

use super::{
    super::{
        AgentEventKind, End, EndReason, conversation::RunConversation, parent_run::ParentRun,
        scope::RunScope, state_changes::state_changes,
    },
    GroupRun, Place, Position, TurnEnd, TurnStart,
    answer::{JoinedOutput, joined_end},
    run_agent, with_time_limit,
};
use crate::{Agent, Message, Part};

/// A parallel group.
pub(super) struct ParallelGroup<'t> {
    pub(super) agent: &'t Agent,
    pub(super) members: &'t [Agent],
    pub(super) cancels_on_failure: bool,
}

/// Runs the members of a group at the same time, and adds their answers to the conversation as one message.
pub(super) async fn run_parallel(
    group_run: &GroupRun<'_>,
    group: ParallelGroup<'_>,
    place: Place,
    mut conversation: RunConversation,
) -> TurnEnd {
    let usage_before = group_run.usage.total();
    let (scope, mut turn) = group_run.begin_turn(group.agent, &place);
    if place.view.is_none() {
        let position = Position::new(place.path.clone(), usage_before);
        conversation.session.position = Some(position.clone());
        turn.position = Some(position);
    }
    conversation.begin_turn(turn);
    // The messages of the members are stored before the next message of the conversation.
    conversation.store_position().await;
    let ends = run_members(group_run, &group, &place, &scope, &conversation).await;
    let is_escalated = ends.iter().any(|turn| turn.is_escalated);
    let names = group.members.iter().map(Agent::name);
    let ends: Vec<_> = names.zip(ends).map(|(name, turn)| (name, turn.end)).collect();
    report_failures(&scope, &ends).await;
    let output = match (place.output, group.agent.output_type()) {
        (Some(output), _) => JoinedOutput::Of(output),
        (None, Some(_)) => JoinedOutput::Members,
        (None, None) => JoinedOutput::None,
    };
    let mut end = joined_end(ends, output).await;
    if !end.text.is_empty() {
        conversation.add(&scope, Message::assistant([Part::Text(end.text.clone())])).await;
    }
    if end.reason.is_success() && is_escalated {
        end.reason = EndReason::Escalated;
    }
    conversation.end_turn();
    TurnEnd { conversation, end, is_escalated }
}

/// Runs the members, and returns their ends in the order of the list.
async fn run_members(
    group_run: &GroupRun<'_>,
    group: &ParallelGroup<'_>,
    place: &Place,
    scope: &RunScope,
    conversation: &RunConversation,
) -> Vec<MemberEnd> {
    let state_before = place.run.state();
    let token = place.run.cancellation().child_token();
    let (mut running, mut runs) = (FuturesUnordered::new(), Vec::new());
    for (index, member) in group.members.iter().enumerate() {
        let place = place_of_member(scope, place, member, &token);
        runs.push(Arc::clone(&place.run));
        let fork = conversation.fork().await;
        running.push(async move {
            let TurnEnd { end, is_escalated, .. } =
                run_agent(group_run, member, place, fork, TurnStart::begin()).await;
            (index, MemberEnd { end, is_escalated })
        });
    }
    let mut ends: Vec<_> = group.members.iter().map(|_| None).collect();
    while let Some((index, turn)) = running.next().await {
        if group.cancels_on_failure && !turn.end.reason.is_success() {
            token.cancel();
        }
        if let Some(end) = ends.get_mut(index) {
            *end = Some(turn);
        }
    }
    for run in runs {
        place.run.change_state(&state_changes(&state_before, &run.state()));
    }
    ends.into_iter().flatten().collect()
}

/// The end of a member.
struct MemberEnd {
    end: End,
    is_escalated: bool,
}

/// Returns the place of a member of a group whose scope is `scope`.
fn place_of_member(scope: &RunScope, place: &Place, member: &Agent, token: &CancellationToken) -> Place {
    let run = place.run.parallel_member(member.name()).with_cancellation(token.child_token());
    let run = Arc::new(with_time_limit(run, member));
    let parent = ParentRun::offer_part(&run, &scope.inbox, Some(Arc::clone(&place.parent)));
    if let Some(history) = place.parent.history() {
        parent.set_history(history.clone().without_waiting());
    }
    let view = run.key().map(Into::into);
    let (path, is_in_loop) = (place.path.clone(), place.is_in_loop);
    Place { run, parent, path, is_in_loop, view, output: None }
}

/// Reports the members that ended without an answer.
async fn report_failures(scope: &RunScope, ends: &[(&str, End)]) {
    for (name, end) in ends.iter().filter(|(_, end)| !end.reason.is_success()) {
        scope.emit(AgentEventKind::Notice { text: format!("the agent `{name}` has no answer: {end}") }).await;
    }
}
