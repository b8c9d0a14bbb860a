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
    group::{CallEnd, CallGroup, IndexedBody},
    prepare::{AnswerSource, CallRequest, EarlyAnswer},
    state::{BatchState, CallState},
    stop::StopReason,
    timeouts::AttemptTimeouts,
};
use crate::{
    CallOutcome, guard::catch, panics::GuardedCall, policy::RetryPolicy, registry::Entry, telemetry,
};

/// Returns `true` if `requests` can take the fast path.
pub(super) fn can_use_fast_path(executor: &Inner, batch: &BatchState, requests: &[CallRequest<'_>]) -> bool {
    let settings = &executor.settings;
    let is_plain = |entry: &Entry| {
        let definition = entry.definition();
        let metadata = definition.metadata();
        !metadata.permission
            && metadata.confirmation == Confirmation::Never
            // A panic of the tool here is reported on the regular path.
            && catch(|| !entry.tool().is_external()).unwrap_or(false)
            && AttemptTimeouts::new(settings, metadata).is_unlimited()
            && RetryPolicy::of(settings.retry.as_ref(), entry).is_none()
            && !executor.limits.concerns(definition.name().as_str())
    };
    batch.is_unobserved
        && !batch.has_deadline()
        && !settings.inspects_all_calls()
        // The question of a body is asked after the bodies beside it, which must not delay it.
        && (settings.approver.is_none() || requests.len() == 1)
        && settings.finish == Finish::InOrder
        && !telemetry::has_subscriber()
        && all_tools(requests, is_plain)
}

/// Returns `true` if `predicate` holds for each tool of `requests`. A tool that is called several times in succession is asked once.
fn all_tools(requests: &[CallRequest<'_>], predicate: impl Fn(&Entry) -> bool) -> bool {
    let mut last: Option<&Entry> = None;
    requests.iter().filter_map(|request| request.entry).all(|entry| {
        let before = last.replace(entry);
        before.is_some_and(|before| ptr::eq(before, entry)) || predicate(entry)
    })
}

impl BatchState {
    /// Prepares, runs and finishes calls on the fast path, for which [`can_use_fast_path`] returned `true`.
    ///
    /// A call that completes in its first poll is finished at once, so that the next one reuses its memory.
    pub(super) async fn run_fast_group(
        &self,
        executor: &Arc<Inner>,
        requests: &[CallRequest<'_>],
        outcomes: &mut Vec<CallOutcome>,
    ) {
        let state = |request: &CallRequest<'_>| match request.entry {
            Some(entry) if request.call.incomplete.is_none() => self.new_call(executor, entry, request),
            _ => CallState::default(),
        };
        let states: Vec<_> = requests.iter().map(state).collect();
        let group = CallGroup { executor, batch: self, requests, states: &states };
        let mut begun = match all_tools(requests, Entry::only_decodes) {
            true => Vec::new(),
            // All calls are prepared before the first one runs.
            false => (0..requests.len()).map(|index| group.start_call(index)).collect(),
        }
        .into_iter();
        let (mut bodies, mut others) = (Vec::new(), Vec::new());
        poll_fn(|task| {
            for index in 0..requests.len() {
                let end = match begun.next().unwrap_or_else(|| group.start_call(index)) {
                    Err(answered) => Some(answered),
                    Ok(mut body) => match Pin::new(&mut body).poll(task) {
                        Poll::Ready((index, answer)) => Some(group.end_of(index, answer)),
                        Poll::Pending => {
                            bodies.push(body);
                            None
                        }
                    },
                };
                match end {
                    // The outcomes are in the order of the calls.
                    Some(end) if others.is_empty() => {
                        let not_over = group.finish_on_fast_path(index, end, outcomes);
                        others.extend(not_over.map(Some));
                    }
                    end => others.push(end),
                }
            }
            Poll::Ready(())
        })
        .await;
        if !others.is_empty() {
            Box::pin(group.finish_remaining(bodies, others, outcomes)).await;
        }
    }
}

impl<'a> CallGroup<'a> {
    /// Prepares the call at `index`, without polling it; returns its answer if it cannot run.
    fn start_call(&self, index: usize) -> Result<IndexedBody<FastCall<'a>>, CallEnd> {
        let (request, state) = (self.requests[index], &self.states[index]);
        let begun = match (request.entry, &state.cx) {
            (Some(entry), Some(cx)) => {
                let running = entry.start_unguarded(request.call.arguments.as_borrowed(), cx);
                running.map(|running| FastCall { entry, state, batch: self.batch, running })
            }
            _ => {
                let incomplete = request.call.completed().err();
                Err(incomplete.unwrap_or_else(|| self.executor.tools.unknown_tool_error(&request.call.name)))
            }
        };
        begun.map(|body| IndexedBody { index, grace: state.grace, body }).map_err(|error| {
            self.batch.stop_on_error(&error, &request.call.name);
            CallEnd::Answered(EarlyAnswer { outcome: Err(error), answered_by: AnswerSource::Check })
        })
    }

    /// Runs `bodies` to their ends and finishes the last calls of the group; `ends` has those of calls that have ended.
    async fn finish_remaining(
        &self,
        bodies: Vec<IndexedBody<FastCall<'a>>>,
        mut ends: Vec<Option<CallEnd>>,
        outcomes: &mut Vec<CallOutcome>,
    ) {
        let first = self.requests.len() - ends.len();
        self.run_remaining(bodies, |index, end| ends[index - first] = Some(end)).await;
        for (index, end) in (first..).zip(ends) {
            let end = end.unwrap_or(CallEnd::Stopped(StopReason::Cancelled));
            if let Some(end) = self.finish_on_fast_path(index, end, outcomes) {
                let end = Box::pin(self.answer_question(index, end)).await;
                outcomes.push(Box::pin(self.finish_call(index, end)).await);
            }
        }
    }
}

/// A running call on the fast path.
struct FastCall<'a> {
    entry: &'a Entry,
    state: &'a CallState,
    batch: &'a BatchState,
    running: WithCallId<GuardedCall<'a, ToolOutput>>,
}

impl Future for FastCall<'_> {
    type Output = Option<Result<ToolOutput, ToolError>>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let (state, mut first) = (self.state, None);
        if state.stats.attempts() == 0 {
            // An earlier call may have stopped the run.
            if state.cx.as_ref().is_some_and(tool_core::ToolContext::should_stop)
                || self.batch.stop_error().is_some()
            {
                return Poll::Ready(None);
            }
            if let Some(over) = self.batch.run().and_then(|run| run.count_call().err()) {
                return Poll::Ready(Some(Err(over)));
            }
            state.stats.count_attempt();
            first = Some(Instant::now());
        }
        let polled = Pin::new(&mut self.running).poll(task);
        match (first, &polled) {
            (Some(time), Poll::Ready(_)) => state.stats.set_immediate_end(time),
            (Some(time), Poll::Pending) => state.stats.set_start(time),
            (None, Poll::Ready(_)) => state.stats.end_attempts(),
            (None, Poll::Pending) => {}
        }
        let Poll::Ready(result) = polled else { return Poll::Pending };
        let validated = match &state.cx {
            Some(cx) => self.entry.validate_result(cx, result),
            None => result,
        };
        Poll::Ready(Some(validated))
    }
}
