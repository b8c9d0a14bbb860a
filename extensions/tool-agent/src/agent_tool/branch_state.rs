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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::json;

    use super::*;

    fn state(is_of_run_above: bool) -> BranchState<'static> {
        static NAMES: std::sync::LazyLock<[Arc<str>; 1]> = std::sync::LazyLock::new(|| ["plan".into()]);
        BranchState { names: &*NAMES, branch: "desk.scout".to_owned(), is_of_run_above }
    }

    fn map(value: Value) -> Map<String, Value> {
        value.as_object().cloned().unwrap()
    }

    fn shared(names: &[&str]) -> ChildState {
        ChildState::Shared(names.iter().map(|name| (*name).to_owned()).collect())
    }

    #[test]
    fn a_branch_has_the_state_of_its_agent_and_of_those_below_it() {
        for (name, is_own, is_dropped) in [
            ("plan:desk.scout", true, false),
            ("plan:desk.scout.below", true, true),
            ("plan:desk.scouts", false, false),
            ("plan:desk", false, false),
            ("plan", false, false),
            ("other:desk.scout", false, false),
            ("other:desk.scout.below", false, true),
            ("planning:desk.scout", false, false),
        ] {
            let own = state(false);
            let owns = (own.belongs_to_branch(name), own.belongs_to_branch_and_lasts(name));
            assert_eq!((owns, own.is_dropped_with_run(name)), ((is_own, is_own), is_dropped), "{name}");
            // In the branch of the run above, it is the state of that run.
            let above = state(true);
            let owns = (above.belongs_to_branch(name), above.belongs_to_branch_and_lasts(name));
            assert_eq!(owns, (is_own, false), "{name}");
            assert_eq!(above.is_dropped_with_run(name), is_own || is_dropped, "{name}");
        }
    }

    #[test]
    fn changes_of_a_run_are_those_of_its_branch_and_of_what_is_shared() {
        let before = map(json!({ "kept": 1 }));
        let after = map(json!({
            "kept": 1, "user:a": 2, "temp:x": 3, "plan:desk.scout": 4, "plan:desk.scout.below": 5, "other:desk.scout.below": 6,
        }));
        let own = map(json!({ "plan:desk.scout": 4, "plan:desk.scout.below": 5 }));
        for granted in [ChildState::None, ChildState::Copy] {
            let changes = state(false).shared_changes(&granted, &before, &after);
            assert_eq!(changes.map_err(|error| error.to_string()), Ok(own.clone()), "{granted:?}");
            let changes = state(true).shared_changes(&granted, &before, &after);
            assert_eq!(changes.map_err(|error| error.to_string()), Ok(Map::new()), "{granted:?}");
        }
        let changes = state(false).shared_changes(&shared(&["user:a", "kept"]), &before, &after);
        let mut expected = own;
        expected.insert("user:a".to_owned(), json!(2));
        assert_eq!(changes.map_err(|error| error.to_string()), Ok(expected));
        let problem = state(false).shared_changes(&shared(&["kept"]), &before, &after).unwrap_err();
        let expected = "agent error: the agent changed the state `user:a`, which is not shared with it";
        assert!(problem.to_string().contains(expected), "{problem}");
        // A state that is shared by its name is not dropped.
        let changes =
            state(true).shared_changes(&shared(&["user:a", "other:desk.scout.below"]), &before, &after);
        let expected = map(json!({ "user:a": 2, "other:desk.scout.below": 6 }));
        assert_eq!(changes.map_err(|error| error.to_string()), Ok(expected));
    }

    #[test]
    fn a_branch_of_the_run_above_is_recognized() {
        let agent = Agent::builder("scout", crate::ScriptedModel::new([])).build().unwrap();
        let root = RunContext::new().with_agent("desk");
        let child = root.child("scout");
        let branch = child.branch().map(str::to_owned);
        assert!(branch.as_ref().is_some_and(|branch| branch.ends_with("scout")), "{branch:?}");
        let of = |run: &RunContext, above: Option<&RunContext>| {
            BranchState::of(&agent, run, above).is_of_run_above
        };
        assert_eq!(
            [of(&child, None), of(&child, Some(&root)), of(&child, Some(&child))],
            [false, false, true]
        );
        let unnamed = RunContext::new();
        assert!(!of(&unnamed, Some(&unnamed)));
    }
}
