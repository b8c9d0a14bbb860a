//! The state that an agent has in its branch, without a grant of the program: see [`AgentPart`](crate::AgentPart::branch_state).

use std::sync::Arc;

use tool_runtime::RunContext;

use crate::Agent;

/// The names of the state of a branch: `NAME:BRANCH` for each name of the agent, and the same of branches below.
pub(super) struct BranchState<'a> {
    names: &'a [Arc<str>],
    branch: &'a str,
}

impl<'a> BranchState<'a> {
    /// Returns the state of the branch of `run`, which is a run of `agent`.
    pub(super) fn of(agent: &'a Agent, run: &'a RunContext) -> Self {
        Self { names: &agent.0.branch_state, branch: run.branch().unwrap_or_default() }
    }

    /// Returns `true` if the state `name` belongs to the agent in this branch, or in one below.
    pub(super) fn contains(&self, name: &str) -> bool {
        self.names.iter().any(|own| {
            let branch = name.strip_prefix(&**own).and_then(|rest| rest.strip_prefix(':'));
            branch.and_then(|branch| branch.strip_prefix(self.branch)).is_some_and(is_end_or_below)
        })
    }

    /// Returns `true` if the state `name` belongs to an agent in a branch below this one.
    pub(super) fn is_below(&self, name: &str) -> bool {
        let branch = name.rsplit_once(':').map(|(_, branch)| branch);
        branch.and_then(|branch| branch.strip_prefix(self.branch)).is_some_and(|rest| rest.starts_with('.'))
    }
}

/// Returns `true` if what follows a branch is the end of the name, or a branch below.
fn is_end_or_below(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('.')
}
