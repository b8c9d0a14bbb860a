//! The state that an agent has in its branch, without a grant of the program: see [`AgentPart`](crate::AgentPart::branch_state).

use std::sync::Arc;

use serde_json::{Map, Value};
use tool_runtime::{RunContext, ToolContext, ToolError, context::StateScope};

use super::ChildState;
use crate::{Agent, runner::state_changes};

/// The names of the state of a branch: `NAME:BRANCH` for each name of the agent, and the same of branches below.
pub(super) struct BranchState<'a> {
    names: &'a [Arc<str>],
    branch: String,
    /// Set if the names are those of the run above, which keeps them.
    is_of_run_above: bool,
}

impl<'a> BranchState<'a> {
    /// Returns the state of the branch of `run`, which is a run of `agent` below the run `run_above`.
    pub(super) fn of(agent: &'a Agent, run: &RunContext, run_above: Option<&RunContext>) -> Self {
        // The state of a run without a branch is by the name of its agent, which may be the branch of an agent below.
        let branch_above = run_above.and_then(|run_above| run_above.branch().or(run_above.agent()));
        let is_of_run_above = branch_above.is_some() && branch_above == run.branch();
        let branch = run.branch().unwrap_or_default().to_owned();
        Self { names: &agent.0.branch_state, branch, is_of_run_above }
    }

    /// Returns the state with which the run of a call starts.
    pub(super) fn initial_state(&self, granted: &ChildState, cx: &ToolContext) -> Map<String, Value> {
        if *granted == ChildState::None && self.names.is_empty() {
            return Map::new();
        }
        let above = cx.run().map(|run| run.state_for_child()).unwrap_or_default();
        let is_granted = |name: &String| match granted {
            ChildState::None => self.belongs_to_branch_and_lasts(name),
            ChildState::Copy => true,
            ChildState::Shared(names) => names.contains(name) || self.belongs_to_branch_and_lasts(name),
        };
        above.into_iter().filter(|(name, _)| is_granted(name)).collect()
    }

    /// Returns the changes that the run made to the names that were granted, and to the state of its branch.
    ///
    /// # Errors
    ///
    /// Returns an error if names are granted, and the run changed another one.
    pub(super) fn shared_changes(
        &self,
        granted: &ChildState,
        before: &Map<String, Value>,
        after: &Map<String, Value>,
    ) -> Result<Map<String, Value>, ToolError> {
        let mut changes = state_changes(before, after);
        changes.retain(|name, _| StateScope::of(name) != StateScope::Temp);
        let ChildState::Shared(names) = granted else {
            changes.retain(|name, _| self.belongs_to_branch_and_lasts(name));
            return Ok(changes);
        };
        let is_shared = |name: &String| names.contains(name) || self.belongs_to_branch_and_lasts(name);
        changes.retain(|name, _| is_shared(name) || !self.is_dropped_with_run(name));
        match changes.keys().find(|name| !is_shared(name)) {
            None => Ok(changes),
            Some(name) => {
                let message =
                    format!("agent error: the agent changed the state `{name}`, which is not shared with it");
                Err(ToolError::failed(message))
            }
        }
    }

    /// Returns `true` if the state `name` belongs to the agent in this branch, or in one below, and lasts.
    fn belongs_to_branch_and_lasts(&self, name: &str) -> bool {
        !self.is_of_run_above && self.belongs_to_branch(name)
    }

    fn belongs_to_branch(&self, name: &str) -> bool {
        self.names.iter().any(|own| {
            let branch = name.strip_prefix(&**own).and_then(|rest| rest.strip_prefix(':'));
            branch.and_then(|branch| branch.strip_prefix(&*self.branch)).is_some_and(is_empty_or_branch_below)
        })
    }

    /// Returns `true` if the state `name` ends with this run: it belongs to an agent in a branch below this one, or to this one
    /// beside a run above that keeps its own by that name.
    fn is_dropped_with_run(&self, name: &str) -> bool {
        let branch = name.rsplit_once(':').map(|(_, branch)| branch);
        let rest = branch.and_then(|branch| branch.strip_prefix(&*self.branch));
        rest.is_some_and(|rest| rest.starts_with('.'))
            || (self.is_of_run_above && self.belongs_to_branch(name))
    }
}

/// Returns `true` if what follows a branch is the end of the name, or a branch below.
fn is_empty_or_branch_below(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('.')
}
