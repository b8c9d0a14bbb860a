//! The components that take part in the calls of a tool, decided once for calls in succession.
//!
//! All calls take one path: prepare, run, finish. What a call does not need is not made on its way. A *plain* call is one
//! in which nothing but its tool takes part: no receiver of events, hook, span, rule, policy, permission, confirmation,
//! retry, timeout, limit or external selection.
//!
//! - Prepare: a plain call is decoded into the future of its body. Any other call is prepared by components that may
//!   wait, in a boxed future, from which its body can be created more than once.
//! - Run: the body of a plain call is polled as it is, any other one in a future with its permits, timeouts, span,
//!   attempts and updates. The first poll of both comes after the same checks. A question of a plain body, and the
//!   attempts after it, make such a future when it is asked.
//! - Finish: a result that no component receives and no answer follows is complete at once.
//!
//! Plain calls of a group *end alone* if nothing can observe their order apart from their bodies. Each of them is
//! prepared, polled and finished before the next one, so that the next one reuses its memory: see
//! [`BatchState::run_group`].

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
