//! Which components take part in the calls of a tool: decided once for calls in succession.
//!
//! Each call takes one path: prepare, run, finish. What a call does not need is not made on its way. A *plain* call is
//! one in which nothing but its tool takes part: no receiver of events, hook, span, rule, policy, question, retry,
//! timeout, limit or external selection. A plain call is decoded into the future of its body, which is polled as it is;
//! any other call is prepared by components that may wait, and its body is wrapped in what it needs. The first poll of
//! both begins with the same checks, and a question of either is answered in the same place.
//!
//! A call that nothing can observe apart from its result is finished before the next one is prepared, if it ends in its
//! first poll: its memory is used again by the next one. See [`CallPlan::ends_alone`].

use std::ptr;

use super::{Inner, state::BatchState, timeouts::AttemptTimeouts};
use crate::{guard::catch, registry::Entry, telemetry};

/// The components that take part in the calls of a tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallPlan {
    /// `true` if nothing but the tool takes part.
    pub(super) is_plain: bool,
    /// `true` if other calls cannot observe that a call ends before they are prepared.
    pub(super) ends_alone: bool,
}

impl CallPlan {
    /// The plan of a call that was open before.
    pub(super) const OF_CONFIRMED: Self = Self { is_plain: false, ends_alone: false };

    fn new(executor: &Inner, batch: &BatchState, entry: Option<&Entry>) -> Self {
        let settings = &executor.settings;
        let is_unobserved =
            batch.is_unobserved && !settings.inspects_all_calls() && !telemetry::has_subscriber();
        let Some(entry) = entry else { return Self { is_plain: is_unobserved, ends_alone: is_unobserved } };
        let definition = entry.definition();
        let is_plain = is_unobserved
            && !settings.inspects_arguments(entry)
            && AttemptTimeouts::new(settings, definition.metadata()).is_unlimited()
            && !executor.limits.concerns(definition.name().as_str())
            // A panic of the tool here is the answer of its call.
            && catch(|| !entry.tool().is_external()).unwrap_or(false);
        Self { is_plain, ends_alone: is_plain && entry.only_decodes() }
    }
}

/// The plan of the last tool, which models often call several times in succession.
pub(super) struct CallPlanner<'a> {
    executor: &'a Inner,
    batch: &'a BatchState,
    last: Option<(Option<&'a Entry>, CallPlan)>,
}

impl<'a> CallPlanner<'a> {
    pub(super) fn new(executor: &'a Inner, batch: &'a BatchState) -> Self {
        Self { executor, batch, last: None }
    }

    /// Returns the plan of a call of `entry`.
    pub(super) fn plan_of(&mut self, entry: Option<&'a Entry>) -> CallPlan {
        match self.last {
            Some((last, plan)) if last.map(ptr::from_ref) == entry.map(ptr::from_ref) => plan,
            _ => {
                let plan = CallPlan::new(self.executor, self.batch, entry);
                self.last = Some((entry, plan));
                plan
            }
        }
    }
}
