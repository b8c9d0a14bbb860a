//! Decisions of the enforcer, for observers.

use std::sync::Arc;

use super::{Todo, catch};

/// A decision of a [`TodoEnforcer`](super::TodoEnforcer), or a declaration of its model.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum TodoEvent<'a> {
    /// An answer was not accepted, and the model is reminded.
    Blocked {
        /// The agent.
        agent: &'a str,
        /// The branch of its list.
        branch: &'a str,
        /// The open tasks.
        open: &'a [Todo],
        /// The number of the reminder in the run, from 1.
        number: u32,
        /// The maximum number of reminders.
        max: u32,
    },
    /// An answer is accepted with open tasks, since the model was reminded often enough.
    Exhausted {
        /// The agent.
        agent: &'a str,
        /// The branch of its list.
        branch: &'a str,
        /// The open tasks.
        open: &'a [Todo],
        /// The maximum number of reminders.
        max: u32,
    },
    /// The model declared that it cannot go on.
    BlockerDeclared {
        /// The agent.
        agent: &'a str,
        /// The branch of its list.
        branch: &'a str,
        /// The reason.
        reason: &'a str,
    },
}

type Observer = dyn Fn(&TodoEvent<'_>) + Send + Sync;

/// The observers, in the order in which they were added.
#[derive(Clone, Default)]
pub(super) struct TodoObservers(Vec<Arc<Observer>>);

impl TodoObservers {
    pub(super) fn add(&mut self, observer: Arc<Observer>) {
        self.0.push(observer);
    }

    /// Calls each observer; a panic has no effect on the others, nor on the run.
    pub(super) fn emit(&self, event: &TodoEvent<'_>) {
        for observer in &self.0 {
            drop(catch(|| observer(event)));
        }
    }
}
