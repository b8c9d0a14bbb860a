//! Agents that run one after another.

use super::{
    super::{conversation::RunConversation, flow::boxed},
    AgentPlace, TeamRun, TurnEnd, TurnStart,
    answer::{LastAnswer, failed_end},
    changed_agents_problem, run_agent,
};
use crate::Agent;

/// Runs `members` one after another, `iterations` times.
pub(super) async fn run_sequence(
    team_run: &TeamRun<'_>,
    members: &[Agent],
    iterations: u64,
    place: AgentPlace,
    mut conversation: Box<RunConversation>,
    start: TurnStart,
) -> TurnEnd {
    let count = members.len() as u64;
    let steps = count.saturating_mul(iterations);
    let mut answer = match start.is_begin() {
        true => LastAnswer::default(),
        false => LastAnswer::of_conversation(&conversation.session.messages),
    };
    let TurnStart { input, mut path } = start;
    let mut step = path.pop().map_or(0, |step| step.step);
    let mut start = TurnStart { input, path };
    loop {
        let index = usize::try_from(step.checked_rem(count).unwrap_or_default()).unwrap_or_default();
        // The run that is continued may have had more iterations.
        let Some(member) = members.get(index).filter(|_| step < steps) else {
            return TurnEnd::new(conversation, failed_end(changed_agents_problem(&team_run.root.agent)));
        };
        let output = place.output.clone().filter(|_| index + 1 == members.len());
        let below = place.of_member(member, step, output);
        let mut turn = run_agent(team_run, member, below, conversation, start).await;
        answer.note_answer(&mut turn.end);
        step += 1;
        if !turn.end.reason.is_success() || turn.is_escalated || step == steps {
            return turn;
        }
        conversation = turn.conversation;
        start = TurnStart::begin();
    }
}

/// Runs `members` one after another, at most `max` times, until a call asks to escalate.
pub(super) async fn run_loop(
    team_run: &TeamRun<'_>,
    members: &[Agent],
    max: u64,
    place: AgentPlace,
    conversation: Box<RunConversation>,
    start: TurnStart,
) -> TurnEnd {
    let turn = boxed(|| run_sequence(team_run, members, max, place, conversation, start)).await;
    TurnEnd::new(turn.conversation, turn.end)
}
