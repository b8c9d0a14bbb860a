//! The components that take part in the calls of a tool, decided when a wave begins, once for calls in succession.
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
//! - Finish: where calls end alone, a result that no component receives and no answer follows is complete at once.
//!
//! Calls of a wave *end alone* if nothing can observe their order apart from their bodies: plain calls whose tools only
//! decode their arguments, and the only call of a wave. Each of them is prepared, polled and finished before the next one,
//! so that the next one reuses its memory: see [`BatchState::run_wave`].

use std::ptr;

use super::{ExecutorParts, prepare::CallRequest, state::BatchState, timeouts::AttemptTimeouts};
use crate::{guard::catch, registry::Entry, telemetry};

/// The components that take part in the calls of a tool.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct CallPlan {
    /// `true` if nothing but the tool takes part.
    pub(super) is_plain: bool,
    /// `true` if other calls cannot observe that a call ends before they are prepared.
    pub(super) ends_alone: bool,
}

impl CallPlan {
    fn new(executor: &ExecutorParts, batch: &BatchState, entry: Option<&Entry>) -> Self {
        let settings = &executor.settings;
        let is_unobserved =
            batch.is_unobserved && !settings.inspects_all_calls() && !telemetry::has_subscriber();
        let Some(entry) = entry else { return Self { is_plain: is_unobserved, ends_alone: is_unobserved } };
        let definition = entry.definition();
        let is_plain = is_unobserved
            // A call that another process must grant waits.
            && !batch.run().is_some_and(|run| run.has_budget_source())
            && !entry.redirects()
            && !settings.inspects_arguments(entry)
            && AttemptTimeouts::new(settings, definition.metadata()).is_unlimited()
            && !executor.limits.limits_tool(definition.name().as_str())
            // A panic of the tool here is the answer of its call.
            && catch(|| !entry.tool().is_external()).unwrap_or(false);
        Self { is_plain, ends_alone: is_plain && entry.only_decodes() }
    }
}

/// Sets the plans of the calls of a wave, when it begins: the calls of earlier waves may have changed what takes part.
/// Models often call one tool several times in succession, for which one plan is made.
pub(super) fn plan_wave<'a>(executor: &ExecutorParts, batch: &BatchState, requests: &mut [CallRequest<'a>]) {
    let mut last: Option<(Option<&'a Entry>, CallPlan)> = None;
    // A call that was open before is never plain.
    for request in requests.iter_mut().filter(|request| request.confirmed.is_none()) {
        let entry = request.entry;
        let plan = match last {
            Some((last, plan)) if last.map(ptr::from_ref) == entry.map(ptr::from_ref) => plan,
            _ => CallPlan::new(executor, batch, entry),
        };
        (request.plan, last) = (plan, Some((entry, plan)));
    }
}
