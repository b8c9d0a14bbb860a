//! The messages of results, which tell the model what to do next.

use super::{Todo, TodoStatus};

/// The default message of a result of `todo_write`.
pub const DEFAULT_NUDGE: &str = "The task list is written. Keep it up to date: begin the next task by setting it to in_progress, and set \
it to completed as soon as it is done.";

/// A hook that adds to the message of a result.
pub(super) type NudgeHook = dyn Fn(&TodoChange<'_>) -> String + Send + Sync;

/// A change of a task list, as a [hook](super::TodoTools::with_nudge_hook) sees it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct TodoChange<'a> {
    /// The list before; `None` if there was none, or if it could not be read.
    pub old: Option<&'a [Todo]>,
    /// The list that the model sent, also if it is [cleared](super::TodoTools::clear_when_done) since all of its tasks are completed.
    pub submitted: &'a [Todo],
    /// The branch of the list; empty outside of an agent.
    pub branch: &'a str,
}

impl TodoChange<'_> {
    /// Returns `true` if the submitted list has tasks, and all of them are completed.
    #[must_use]
    pub fn is_done(&self) -> bool {
        !self.submitted.is_empty() && self.submitted.iter().all(|todo| todo.status == TodoStatus::Completed)
    }
}
