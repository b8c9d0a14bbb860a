//! The fast path for calls without questions, receivers of events and limits, which most batches consist of.
//!
//! The calls take the same steps as on the regular path, without those that wait for a component outside of the tool,
//! and cost little more than calls of the registry.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    ptr,
    sync::Arc,
    task::{Context, Poll},
    time::Instant,
};

use tool_core::{Confirmation, ToolError, ToolOutput, WithCallId};

use super::{
    Inner,
    build::Finish,
    group::{Ended, Group, Held},
    prepare::{Answer, AnsweredBy, Request},
    state::{CallPosition, CallScope},
    stop::Stop,
    timeouts::Patience,
};
use crate::{
    CallOutcome, guard::catch, panics::GuardedCall, policy::RetryPolicy, registry::Entry, telemetry,
};

/// Returns `true` if `asked` can take the fast path.
pub(super) fn are_quiet(executor: &Inner, around: &CallScope, asked: &[Request<'_>]) -> bool {
    let settings = &executor.settings;
    let is_plain = |entry: &Entry| {
        let definition = entry.definition();
        let metadata = definition.metadata();
        !metadata.permission
            && metadata.confirmation == Confirmation::Never
            // A panic of the tool here is reported on the regular path.
            && catch(|| !entry.tool().is_external()).unwrap_or(false)
            && Patience::new(settings, metadata).is_endless()
            && RetryPolicy::of(settings.retry.as_ref(), entry).is_none()
            && !executor.limits.concerns(definition.name().as_str())
    };
    around.is_quiet
        && !around.is_timed()
        && !settings.asks_of_all()
        // The question of a body is asked after the bodies beside it, which must not delay it.
        && (settings.approver.is_none() || asked.len() == 1)
        && settings.finish == Finish::InOrder
        && !telemetry::is_heard()
        && all_tools(asked, is_plain)
}

/// Returns `true` if `is_so` for each tool of `asked`. A tool that is called several times in succession is asked once.
fn all_tools(asked: &[Request<'_>], is_so: impl Fn(&Entry) -> bool) -> bool {
    let mut last: Option<&Entry> = None;
    asked.iter().filter_map(|asked| asked.entry).all(|entry| {
        let before = last.replace(entry);
        before.is_some_and(|before| ptr::eq(before, entry)) || is_so(entry)
    })
}

impl CallScope {
    /// Prepares, runs and finishes calls on the fast path, for which [`are_quiet`] returned `true`.
    ///
    /// A call that completes in its first poll is finished at once, so that the next one reuses its memory.
    pub(super) async fn quiet_group(
        &self,
        executor: &Arc<Inner>,
        asked: &[Request<'_>],
        outcomes: &mut Vec<CallOutcome>,
    ) {
        let place = |asked: &Request<'_>| match asked.entry {
            Some(entry) if asked.call.incomplete.is_none() => self.place(executor, entry, asked),
            _ => CallPosition::default(),
        };
        let places: Vec<_> = asked.iter().map(place).collect();
        let group = Group { executor, around: self, asked, places: &places };
        let mut begun = match all_tools(asked, Entry::only_decodes) {
            true => Vec::new(),
            // All calls are prepared before the first one runs.
            false => (0..asked.len()).map(|at| group.begin(at)).collect(),
        }
        .into_iter();
        let (mut bodies, mut others) = (Vec::new(), Vec::new());
        poll_fn(|task| {
            for at in 0..asked.len() {
                let ended = match begun.next().unwrap_or_else(|| group.begin(at)) {
                    Err(answered) => Some(answered),
                    Ok(mut body) => match Pin::new(&mut body).poll(task) {
                        Poll::Ready((at, answer)) => Some(group.how(at, answer)),
                        Poll::Pending => {
                            bodies.push(body);
                            None
                        }
                    },
                };
                match ended {
                    // The outcomes are in the order of the calls.
                    Some(ended) if others.is_empty() => {
                        let not_over = group.finish_quietly(at, ended, outcomes);
                        others.extend(not_over.map(Some));
                    }
                    ended => others.push(ended),
                }
            }
            Poll::Ready(())
        })
        .await;
        if !others.is_empty() {
            Box::pin(group.finish_others(bodies, others, outcomes)).await;
        }
    }
}

impl<'a> Group<'a> {
    /// Prepares the call at `at`, without polling it; returns its answer if it cannot run.
    fn begin(&self, at: usize) -> Result<Held<Quiet<'a>>, Ended> {
        let (asked, place) = (self.asked[at], &self.places[at]);
        let begun = match (asked.entry, &place.cx) {
            (Some(entry), Some(cx)) => {
                let running = entry.begin(asked.call.arguments.as_borrowed(), cx);
                running.map(|running| Quiet { entry, place, around: self.around, running })
            }
            _ => {
                let incomplete = asked.call.completed().err();
                Err(incomplete.unwrap_or_else(|| self.executor.tools.unknown(&asked.call.name)))
            }
        };
        begun.map(|body| Held { at, grace: place.grace, body }).map_err(|error| {
            self.around.stop_by(&error, &asked.call.name);
            Ended::Answered(Answer { outcome: Err(error), by: AnsweredBy::Check })
        })
    }

    /// Runs `bodies` to their ends and finishes the last calls of the group; `ended` has those that have ended.
    async fn finish_others(
        &self,
        bodies: Vec<Held<Quiet<'a>>>,
        mut ended: Vec<Option<Ended>>,
        outcomes: &mut Vec<CallOutcome>,
    ) {
        let first = self.asked.len() - ended.len();
        self.run_on(bodies, |at, by_itself| ended[at - first] = Some(by_itself)).await;
        for (at, ended) in (first..).zip(ended) {
            let ended = ended.unwrap_or(Ended::Stopped(Stop::Cancelled));
            if let Some(ended) = self.finish_quietly(at, ended, outcomes) {
                let ended = Box::pin(self.answer_question(at, ended)).await;
                outcomes.push(Box::pin(self.finish(at, ended)).await);
            }
        }
    }
}

/// A running call on the fast path.
struct Quiet<'a> {
    entry: &'a Entry,
    place: &'a CallPosition,
    around: &'a CallScope,
    running: WithCallId<GuardedCall<'a, ToolOutput>>,
}

impl Future for Quiet<'_> {
    type Output = Option<Result<ToolOutput, ToolError>>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let (place, mut first) = (self.place, None);
        if place.runs.attempts() == 0 {
            // An earlier call may have stopped the run.
            if place.cx.as_ref().is_some_and(tool_core::ToolContext::should_stop)
                || self.around.stopped().is_some()
            {
                return Poll::Ready(None);
            }
            if let Some(over) = self.around.run().and_then(|run| run.count_call().err()) {
                return Poll::Ready(Some(Err(over)));
            }
            place.runs.count();
            first = Some(Instant::now());
        }
        let polled = Pin::new(&mut self.running).poll(task);
        match (first, &polled) {
            (Some(time), Poll::Ready(_)) => place.runs.ended_at_once(time),
            (Some(time), Poll::Pending) => place.runs.began_at(time),
            (None, Poll::Ready(_)) => place.runs.end(),
            (None, Poll::Pending) => {}
        }
        let Poll::Ready(result) = polled else { return Poll::Pending };
        let held = match &place.cx {
            Some(cx) => self.entry.hold(cx, result),
            None => result,
        };
        Poll::Ready(Some(held))
    }
}
