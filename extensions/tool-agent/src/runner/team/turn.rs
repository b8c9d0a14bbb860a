//! The turn of an agent with a model.

use std::sync::{Arc, OnceLock};

use tracing::Instrument as _;

use super::{
    super::{
        End, EndReason, RunUsage,
        active_agent::ControlPeriod,
        active_run::ActiveRun,
        answers::Input,
        conversation::{MemberTurn, RunConversation},
        flow::boxed,
        member::{EntryOrigin, Member},
        run::run_rounds_to_end,
        scope::RunScope,
        span::RunSpan,
    },
    AgentPlace, Position, TeamRun, TurnEnd,
};
use crate::{Agent, model::SharedModel};

/// Runs an agent in the conversation of its run.
pub(super) async fn run_turn(
    team_run: &TeamRun<'_>,
    agent: &Agent,
    model: SharedModel,
    place: AgentPlace,
    conversation: Box<RunConversation>,
    input: Input,
) -> TurnEnd {
    let (mut run, mut span) = begin_run(team_run, agent, model, place, conversation, &input);
    let entered = span.span().clone();
    let rounds = boxed(|| run_rounds_to_end(&mut run, input));
    let end = rounds.instrument(entered).await;
    span.record_end(&end);
    end_run(run, end)
}

/// Returns the run of an agent that begins or continues its turn, and its span. Not a part of a future, since runs nest.
fn begin_run(
    team_run: &TeamRun<'_>,
    agent: &Agent,
    model: SharedModel,
    place: AgentPlace,
    mut conversation: Box<RunConversation>,
    input: &Input,
) -> (Box<ActiveRun>, RunSpan) {
    place.parent.begin_turn();
    let usage_before = team_run.usage.total();
    let continued = match input {
        Input::Turn | Input::Message(_) => None,
        Input::Answers(_) | Input::Recovery => conversation.member_usage(),
    };
    let (scope, mut turn) = team_run.begin_turn(agent, &place, continued.unwrap_or_default());
    let position = Position::new(place.path, usage_before);
    conversation.session.position = Some(position.clone());
    turn.position = Some(position);
    conversation.begin_turn(turn);
    if let Some(continued) = continued {
        conversation.progress.usage = continued;
    }
    let span = RunSpan::new(agent, &scope.run, None);
    let mut run = ActiveRun::new(scope, model, *conversation);
    run.output_type = place.output;
    (run, span)
}

/// Returns the end of the turn of an agent whose run has ended.
fn end_run(run: Box<ActiveRun>, end: End) -> TurnEnd {
    let ActiveRun { scope, mut conversation, output, .. } = *run;
    scope.total_usage(end.usage);
    // The entry of open calls belongs to the turn, which goes on after their answers.
    match conversation.session.open.is_some() {
        true => conversation.keep_output_attempts(output.map(|output| output.attempts())),
        false => conversation.end_turn(),
    }
    TurnEnd { conversation: Box::new(conversation), is_escalated: end.reason == EndReason::Escalated, end }
}

impl TeamRun<'_> {
    /// Returns the scope and the turn of a team, boxed, since runs nest.
    pub(super) fn begin_team_turn(
        &self,
        team: &Agent,
        place: &AgentPlace,
    ) -> (Box<RunScope>, Box<MemberTurn>) {
        let (scope, turn) = self.begin_turn(team, place, RunUsage::default());
        (Box::new(scope), Box::new(turn))
    }

    /// Returns the scope of an agent, and its turn in a conversation. Its usage goes on from `continued`.
    pub(super) fn begin_turn(
        &self,
        agent: &Agent,
        place: &AgentPlace,
        continued: RunUsage,
    ) -> (RunScope, MemberTurn) {
        let usage = Arc::new(self.usage.begin_entry(continued));
        let origin = EntryOrigin { run: Arc::clone(&place.run), view: place.view.clone() };
        let turn = MemberTurn {
            origin: origin.clone(),
            usage: Arc::clone(&usage),
            position: None,
            reminders: Vec::new(),
        };
        let root = self.root;
        let scope = RunScope {
            root: agent.clone(),
            agent: agent.clone(),
            period: ControlPeriod::default(),
            run: Arc::clone(&place.run),
            additions: root.additions.clone(),
            hooks: root.hooks.clone(),
            inbox: Arc::clone(&root.inbox),
            emitter: root.emitter.clone(),
            parent: Arc::clone(&place.parent),
            ends_with_call: root.ends_with_call,
            place: root.place.clone(),
            writer: root.writer.get().cloned().map_or_else(OnceLock::new, OnceLock::from),
            member: Some(Member { is_in_loop: place.is_in_loop, origin, usage }),
        };
        (scope, turn)
    }
}
