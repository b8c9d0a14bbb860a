//! Control: which agent of the tree has the conversation, and which one has the next message of the user.
//!
//! Control moves when the results of a batch are stored, in one write with them: a transfer that the model reads as made has been made, in any
//! process. The run itself changes with its next round (`active_agent.rs`). A message of the user is assigned before it is stored, in
//! one write with it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tool_runtime::{CallOutcome, call::merged_actions};

use super::RunUsage;
use crate::{
    Agent,
    agent::{AWAIT_TOOL, AgentTree},
};

/// The agents that have the conversation and the next message, as they are stored with the session. `None` is the root, whatever its name is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Control {
    /// The active agent, which made the last batch.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<Arc<str>>,
    /// The agent that has the next message.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Arc<str>>,
    /// The agent that has the next message in place of `next`, once; the root by its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<Arc<str>>,
    /// The number of transfers since the last message of the user.
    pub(super) transfers: u64,
    /// The usage of the run when the active agent took over.
    pub(super) start: UsageMark,
}

/// The usage of a run at a moment, including the runs below its calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct UsageMark {
    pub(super) rounds: u64,
    pub(super) calls: u64,
    pub(super) tokens: u64,
    pub(super) cost: f64,
}

/// Control after a batch, and the outcome of the transfer that its results ask for.
pub(super) struct ControlChange {
    pub(super) control: Control,
    pub(super) transfer: Transfer,
}

/// The outcome of a transfer.
pub(super) enum Transfer {
    /// None was asked for, or it was to the active agent.
    None,
    /// The agent with this name has control.
    Made(Arc<str>),
    /// The tree has no such agent.
    UnknownAgent(String),
    /// The limit of the transfers is reached.
    LimitReached(u64),
}

impl UsageMark {
    pub(super) fn of(usage: &RunUsage) -> Self {
        let cost = usage.cost.unwrap_or(0.0) + usage.children.cost.unwrap_or(0.0);
        Self { rounds: usage.rounds, calls: usage.calls, tokens: usage.tokens(), cost }
    }

    /// Returns what was used after `start`.
    pub(super) fn since(self, start: Self) -> Self {
        Self {
            rounds: self.rounds.saturating_sub(start.rounds),
            calls: self.calls.saturating_sub(start.calls),
            tokens: self.tokens.saturating_sub(start.tokens),
            cost: self.cost - start.cost,
        }
    }
}

/// The name of the active agent, which is not in the tree any more.
pub(super) type GoneActiveAgent = Arc<str>;

impl Control {
    /// Returns the active agent of the tree below `root`.
    pub(super) fn active_agent(&self, root: &Agent) -> Agent {
        let agent = self.agent.as_deref().and_then(|name| AgentTree(root).find(name));
        agent.unwrap_or(root).clone()
    }

    /// Gives control to the root where an agent is not in its tree; returns the name of the active agent if it is gone.
    pub(super) fn forget_gone_agents(&mut self, root: &Agent) -> Option<GoneActiveAgent> {
        let is_gone = |name: &Arc<str>| AgentTree(root).find(name).is_none();
        self.next.take_if(|name| is_gone(name));
        self.reply_to.take_if(|name| is_gone(name));
        self.agent.take_if(|name| is_gone(name))
    }

    /// Assigns a message of the user to its agent, which is then the active one.
    pub(super) fn assign_user_message(&mut self, root: &Agent) {
        let reply_to = self.reply_to.take();
        self.agent = reply_to.or_else(|| self.next.clone()).filter(|name| **name != *root.name());
        (self.transfers, self.start) = (0, UsageMark::default());
    }

    /// Begins to count the usage of a new run, whose first agent is the active one.
    pub(super) fn reset_usage_start(&mut self) {
        self.start = UsageMark::default();
    }

    /// Returns control after a batch of the agent `active` with these outcomes.
    pub(super) fn control_after_batch(
        &self,
        root: &Agent,
        active: &Agent,
        outcomes: &[CallOutcome],
        usage: &RunUsage,
    ) -> ControlChange {
        let mut control = self.clone();
        let is_awaited = |outcome: &CallOutcome| {
            outcome.name() == AWAIT_TOOL
                && outcome.is_finished()
                && outcome.result().is_some_and(|it| !it.is_error())
        };
        if active.0.awaits_user_reply && outcomes.iter().any(is_awaited) {
            control.reply_to = Some(Arc::clone(&active.0.name));
        }
        let transfer = match merged_actions(outcomes).transfer {
            Some(name) if name != active.name() => control.transfer_to(root, name, usage),
            _ => Transfer::None,
        };
        ControlChange { control, transfer }
    }

    /// Makes a transfer to the agent with that name.
    fn transfer_to(&mut self, root: &Agent, name: String, usage: &RunUsage) -> Transfer {
        let Some(agent) = AgentTree(root).find(&name) else { return Transfer::UnknownAgent(name) };
        if let Some(max) = root.0.limits.transfers.filter(|max| self.transfers >= *max) {
            return Transfer::LimitReached(max);
        }
        let name = Arc::clone(&agent.0.name);
        self.agent = Some(Arc::clone(&name)).filter(|name| **name != *root.name());
        self.next = self.agent.clone().filter(|_| agent.0.keeps_control);
        self.transfers += 1;
        self.start = UsageMark::of(usage);
        Transfer::Made(name)
    }
}

/// Returns the end of a run that made as many transfers as it may.
pub(super) fn transfer_limit_message(max: u64) -> String {
    format!(
        "the agents transferred the conversation {max} times without a message of the user, which is the limit \
         `Limits::transfers`"
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use tool_runtime::{ToolError, ToolOutput, ToolResult, output::Actions};

    use super::*;
    use crate::{Limits, ScriptedModel, agent::TRANSFER_TOOL};

    /// `desk` above `billing`, which keeps control and awaits replies, and `tech`, which does neither.
    fn tree() -> Agent {
        let agent = |name: &str| Agent::builder(name, ScriptedModel::new([]));
        let billing = agent("billing").await_user_reply(true).build().unwrap();
        let tech = agent("tech").keeps_control(false).build().unwrap();
        let limits = Limits { transfers: Some(2), ..Limits::default() };
        agent("desk").limits(limits).sub_agent(billing).sub_agent(tech).build().unwrap()
    }

    fn result(tool: &str, outcome: Result<ToolOutput, ToolError>) -> CallOutcome {
        CallOutcome::Finished(ToolResult::new("c".to_owned().into(), tool, outcome))
    }

    fn transfer(agent: &str) -> CallOutcome {
        let actions = Actions { transfer: Some(agent.to_owned()), ..Actions::default() };
        result(TRANSFER_TOOL, Ok(ToolOutput::from("done").with_actions(actions)))
    }

    fn usage(rounds: u64) -> RunUsage {
        let mut usage = RunUsage { rounds, calls: 2, input: 30, output: 4, ..RunUsage::default() };
        (usage.cost, usage.children.tokens, usage.children.cost) = (Some(0.5), 100, Some(0.25));
        usage
    }

    /// Control after a batch of the active agent, and what became of the transfer.
    fn after(control: &Control, outcome: CallOutcome) -> (Control, String) {
        let (root, active) = (tree(), control.active_agent(&tree()));
        let ControlChange { control, transfer } =
            control.control_after_batch(&root, &active, &[outcome], &usage(3));
        let transfer = match transfer {
            Transfer::None => "none".to_owned(),
            Transfer::Made(agent) => format!("to {agent}"),
            Transfer::UnknownAgent(agent) => format!("unknown {agent}"),
            Transfer::LimitReached(max) => format!("limit {max}"),
        };
        (control, transfer)
    }

    /// The agent that has the conversation, and the one that has the next message of the user.
    fn agents(control: &Control) -> (String, String) {
        let mut next = control.clone();
        next.assign_user_message(&tree());
        [control.active_agent(&tree()), next.active_agent(&tree())]
            .map(|agent| agent.name().to_owned())
            .into()
    }

    fn names(active: &str, next: &str) -> (String, String) {
        (active.to_owned(), next.to_owned())
    }

    #[test]
    fn a_transfer_moves_the_conversation_and_the_next_message_to_an_agent_that_keeps_control() {
        let begin = Control::default();
        assert_eq!(agents(&begin), names("desk", "desk"));
        let (billing, made) = after(&begin, transfer("billing"));
        assert_eq!((made.as_str(), agents(&billing)), ("to billing", names("billing", "billing")));
        let start = UsageMark { rounds: 3, calls: 2, tokens: 134, cost: 0.75 };
        assert_eq!((billing.transfers, billing.start), (1, start));
        let (tech, made) = after(&billing, transfer("tech"));
        assert_eq!((made.as_str(), agents(&tech)), ("to tech", names("tech", "desk")));
        let (desk, made) = after(&billing, transfer("desk"));
        assert_eq!((made.as_str(), agents(&desk)), ("to desk", names("desk", "desk")));
        assert_eq!((desk.transfers, desk.agent.is_none(), desk.next.is_none()), (2, true, true));
    }

    #[test]
    fn a_transfer_that_is_not_made_changes_nothing() {
        let (billing, _) = after(&Control::default(), transfer("billing"));
        let (two, _) = after(&billing, transfer("desk"));
        for (control, outcome, expected) in [
            (&billing, transfer("billing"), "none"),
            (&billing, transfer("sales"), "unknown sales"),
            (&billing, result("other", Ok(ToolOutput::from("done"))), "none"),
            (&two, transfer("tech"), "limit 2"),
        ] {
            let (same, made) = after(control, outcome);
            assert_eq!((&same, made.as_str()), (control, expected));
        }
        // The next message of the user begins the count anew.
        let mut next = two;
        next.assign_user_message(&tree());
        assert_eq!((next.transfers, next.start), (0, UsageMark::default()));
        assert_eq!(after(&next, transfer("tech")).1, "to tech");
    }

    #[test]
    fn usage_is_measured_since_a_mark() {
        let now = UsageMark::of(&usage(3));
        assert_eq!(now, UsageMark { rounds: 3, calls: 2, tokens: 134, cost: 0.75 });
        let start = UsageMark { rounds: 1, calls: 2, tokens: 100, cost: 0.25 };
        assert_eq!(now.since(start), UsageMark { rounds: 2, calls: 0, tokens: 34, cost: 0.5 });
        assert_eq!(now.since(UsageMark::default()), now);
    }

    #[test]
    fn a_reply_is_awaited_once_by_an_agent_that_may() {
        let (billing, _) = after(&Control::default(), transfer("billing"));
        let awaits = || result(AWAIT_TOOL, Ok(ToolOutput::from("ask")));
        let (tech, _) = after(&billing, transfer("tech"));
        assert_eq!(after(&tech, awaits()).0, tech, "it awaits no replies");
        let failed = result(AWAIT_TOOL, Err(ToolError::failed("no")));
        assert_eq!(after(&billing, failed).0, billing);
        assert_eq!(after(&billing, result("other", Ok(ToolOutput::from("done")))).0, billing);
        let (awaiting, _) = after(&billing, awaits());
        assert_eq!(awaiting.reply_to.as_deref(), Some("billing"));
        // Also if another agent has the conversation meanwhile.
        let (mut moved, _) = after(&awaiting, transfer("desk"));
        assert_eq!(agents(&moved), names("desk", "billing"));
        moved.assign_user_message(&tree());
        assert_eq!(agents(&moved), names("billing", "desk"));
        // The root by its name.
        let mut of_root = Control { reply_to: Some("desk".into()), ..billing };
        of_root.assign_user_message(&tree());
        assert_eq!((agents(&of_root), of_root.agent.is_none()), (names("desk", "billing"), true));
    }

    #[test]
    fn agents_that_are_gone_have_nothing() {
        let of = |agent: &str, next: &str, reply_to: &str| {
            let name = |name: &str| Some(name).filter(|name| !name.is_empty()).map(Into::into);
            Control {
                agent: name(agent),
                next: name(next),
                reply_to: name(reply_to),
                transfers: 1,
                start: UsageMark::default(),
            }
        };
        for (before, after, gone) in [
            (of("billing", "tech", "desk"), of("billing", "tech", "desk"), None),
            (of("sales", "tech", "billing"), of("", "tech", "billing"), Some("sales")),
            (of("billing", "sales", "tech"), of("billing", "", "tech"), None),
            (of("billing", "tech", "sales"), of("billing", "tech", ""), None),
            (of("", "", ""), of("", "", ""), None),
        ] {
            let mut control = before.clone();
            assert_eq!(control.forget_gone_agents(&tree()).as_deref(), gone, "{before:?}");
            assert_eq!(control, after, "{before:?}");
        }
    }

    #[test]
    fn what_was_used_since_a_mark_is_the_difference_of_each_count() {
        let mark =
            |rounds: u64, calls: u64, tokens: u64, cost: f64| UsageMark { rounds, calls, tokens, cost };
        assert_eq!(UsageMark::of(&usage(3)), mark(3, 2, 134, 0.75));
        assert_eq!(UsageMark::of(&RunUsage::default()), UsageMark::default());
        assert_eq!(mark(9, 8, 70, 6.5).since(mark(1, 2, 30, 0.5)), mark(8, 6, 40, 6.0));
        assert_eq!(mark(1, 1, 1, 1.0).since(mark(2, 3, 4, 1.0)), mark(0, 0, 0, 0.0));
        let mut control = Control { start: mark(1, 2, 3, 4.0), ..Control::default() };
        control.reset_usage_start();
        assert_eq!(control, Control::default());
    }
}
