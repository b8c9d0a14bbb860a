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
