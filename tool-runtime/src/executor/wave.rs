//! Calls that run together: prepared sequentially, run concurrently, and finished as configured.

use std::{
    future::{Future, poll_fn},
    iter,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::{FutureExt, StreamExt, future::join, stream::FuturesUnordered};
use tokio::{sync::mpsc, time::timeout_at};
use tool_core::{ToolError, ToolOutput};

use super::{
    ExecutorParts,
    boxed::boxed,
    build::Finish,
    finish::CallFinisher,
    perform::{CallAnswer, CallBody},
    prepare::{CallRequest, EarlyAnswer, NextStep, prepare_call, prepare_plain},
    state::{BatchState, CallState},
    stop::StopReason,
};
use crate::{CallOutcome, policy::ApprovalRequest, registry::Entry};

/// A call of a wave, after its preparation.
#[derive(Clone, Copy)]
pub(super) struct WaveCall<'a> {
    pub(super) executor: &'a Arc<ExecutorParts>,
    pub(super) batch: &'a BatchState,
    pub(super) request: &'a CallRequest<'a>,
    pub(super) state: &'a CallState,
}

impl BatchState {
    /// Prepares, runs and finishes calls that run together; adds their outcomes to `outcomes`.
    ///
    /// All calls are prepared before the first one runs, and finished after the last one has run. If calls end alone,
    /// nothing can observe that order: each is polled as soon as it is prepared, and finished as soon as the calls
    /// before it are, so that the next one reuses its memory.
    pub(super) async fn run_wave(
        &self,
        executor: &Arc<ExecutorParts>,
        requests: &[CallRequest<'_>],
        outcomes: &mut Vec<CallOutcome>,
    ) {
        let ends_alone = requests.len() == 1 || self.ends_alone(executor, requests);
        let mut states: Vec<_> = iter::repeat_with(CallState::default).take(requests.len()).collect();
        let mut others = requests.iter().zip(&mut states);
        let mut wave = WaveRun { ends_alone, outcomes, steps: Vec::new(), later: LaterCalls::default() };
        let mut prepared = None;
        loop {
            // As far as no component takes part that may wait.
            let waiting = poll_fn(|task| {
                if let Some((call, step)) = prepared.take() {
                    wave.add(call, step, task);
                }
                for (request, state) in others.by_ref() {
                    if !request.plan.is_plain {
                        return Poll::Ready(Some((request, state)));
                    }
                    // The bodies of calls that end alone check for themselves.
                    let stop = if ends_alone { None } else { self.stop_reason() };
                    let (step, state) = prepare_plain(executor, request, stop, self, state);
                    wave.add(WaveCall { executor, batch: self, request, state }, step, task);
                }
                Poll::Ready(None)
            })
            .await;
            let Some((request, state)) = waiting else { break };
            // Boxed to keep the future of a batch small.
            let (step, state) = boxed(|| prepare_call(executor, *request, self, state)).await;
            prepared = Some((WaveCall { executor, batch: self, request, state }, step));
        }
        if let Some(later) = wave.into_unfinished_calls() {
            outcomes.extend(boxed(|| later.run_and_finish(executor, self)).await);
        }
    }

    /// Returns `true` if nothing can observe that a call of `requests` ends before the next one is prepared.
    fn ends_alone(&self, executor: &ExecutorParts, requests: &[CallRequest<'_>]) -> bool {
        executor.settings.finish == Finish::InOrder
            // Past a deadline, the tokens of ended calls are cancelled, too.
            && !self.has_deadline()
            && requests.iter().all(|request| request.plan.ends_alone)
    }
}

/// The progress of a wave.
struct WaveRun<'a, 'o> {
    ends_alone: bool,
    outcomes: &'o mut Vec<CallOutcome>,
    /// The calls that run after all are prepared.
    steps: Vec<(WaveCall<'a>, NextStep<'a>)>,
    /// The calls that are not finished.
    later: LaterCalls<'a>,
}

impl<'a> WaveRun<'a, '_> {
    /// Adds a call whose next step is `step`. If calls end alone, it is polled, and finished if it has ended.
    #[inline]
    fn add(&mut self, call: WaveCall<'a>, step: NextStep<'a>, task: &mut Context<'_>) {
        call.batch.stop_on_step(&step, &call.request.call.name);
        if !self.ends_alone {
            self.steps.push((call, step));
            return;
        }
        let index = self.later.calls.len();
        let end = match call.begin(step, index) {
            Err(end) => end,
            Ok(mut body) => match Pin::new(&mut body).poll(task) {
                Poll::Ready((_, answer)) => call.end_of(answer),
                Poll::Pending => return self.later.add(call, Some(body), None),
            },
        };
        // The outcomes are in the order of the calls.
        let unfinished = match index {
            0 => call.finisher().finish_at_once(end, self.outcomes),
            _ => Some(end),
        };
        if let Some(end) = unfinished {
            self.later.add(call, None, Some(end));
        }
    }

    /// Returns the calls that are not finished.
    fn into_unfinished_calls(mut self) -> Option<LaterCalls<'a>> {
        for (call, step) in self.steps {
            match call.begin(step, self.later.calls.len()) {
                Err(end) => self.later.add(call, None, Some(end)),
                Ok(body) => self.later.add(call, Some(body), None),
            }
        }
        self.later.is_polled = self.ends_alone;
        (!self.later.calls.is_empty()).then_some(self.later)
    }
}

/// Calls that are finished together, each with its body or its end.
#[derive(Default)]
struct LaterCalls<'a> {
    calls: Vec<WaveCall<'a>>,
    bodies: Vec<CallBody<'a>>,
    ends: Vec<Option<CallEnd>>,
    /// `true` if each body was polled.
    is_polled: bool,
}

impl<'a> LaterCalls<'a> {
    fn add(&mut self, call: WaveCall<'a>, body: Option<CallBody<'a>>, end: Option<CallEnd>) {
        self.calls.push(call);
        self.bodies.extend(body);
        self.ends.push(end);
    }

    /// Runs the bodies to their ends, and finishes the calls.
    async fn run_and_finish(self, executor: &ExecutorParts, batch: &BatchState) -> Vec<CallOutcome> {
        let Self { calls, bodies, ends, is_polled } = self;
        let wave = CallWave { batch, calls: &calls, is_polled };
        match executor.settings.finish {
            Finish::InOrder => boxed(|| wave.finish_in_order(bodies, ends)).await,
            Finish::AsCompleted => boxed(|| wave.finish_as_completed(bodies, ends)).await,
        }
    }
}

impl<'a> WaveCall<'a> {
    /// Returns the body of the call, which is at `index`; or its end if it does not run.
    #[inline]
    fn begin(self, step: NextStep<'a>, index: usize) -> Result<CallBody<'a>, CallEnd> {
        Err(match step {
            NextStep::External => CallEnd::External,
            NextStep::NotAdmitted(error) => CallEnd::NotAdmitted(error),
            NextStep::Answered(answer) => CallEnd::Answered(answer),
            NextStep::NeedsApproval(request) => CallEnd::NeedsApproval(request),
            NextStep::Plain(body) => return Ok(CallBody::of_plain_call(self, index, body)),
            NextStep::Ready(ready) => match CallBody::of_wrapped_call(self, index, *ready) {
                Some(body) => return Ok(body),
                None => CallEnd::Stopped(StopReason::Cancelled),
            },
        })
    }

    /// Returns the end of a body that returned `answer`, or did not run to completion.
    #[inline]
    fn end_of(self, answer: CallAnswer) -> CallEnd {
        let Some(outcome) = answer else { return CallEnd::Stopped(self.batch.reason_of_unanswered()) };
        if let Err(error) = &outcome {
            self.batch.stop_on_error(error, &self.request.call.name);
        }
        CallEnd::Done(outcome)
    }

    #[inline]
    fn finisher(self) -> CallFinisher<'a> {
        let Self { executor, batch, request, state } = self;
        state.close_reports();
        let definition = request.entry.map(Entry::definition);
        CallFinisher { executor, batch, request, call: request.call, definition, state }
    }
}

/// Bodies that have not ended. A single one, as of most waves, is polled with the waker of the task: a set of one wakes the task each
/// time that it is polled, for a poll without news, by another thread of the runtime.
enum RemainingBodies<'a> {
    Single(Option<CallBody<'a>>),
    Several(FuturesUnordered<CallBody<'a>>),
}

impl<'a> RemainingBodies<'a> {
    fn new(mut bodies: Vec<CallBody<'a>>) -> Self {
        match bodies.len() {
            0 | 1 => Self::Single(bodies.pop()),
            _ => Self::Several(bodies.into_iter().collect()),
        }
    }

    /// Returns the answer of the next one that ends; `None` if all have ended.
    async fn next(&mut self) -> Option<(usize, CallAnswer)> {
        match self {
            Self::Single(body) => {
                let answer = body.as_mut()?.await;
                *body = None;
                Some(answer)
            }
            Self::Several(bodies) => bodies.next().await,
        }
    }

    fn into_bodies(self) -> impl Iterator<Item = CallBody<'a>> {
        let (single, several) = match self {
            Self::Single(body) => (body, None),
            Self::Several(bodies) => (None, Some(bodies)),
        };
        single.into_iter().chain(several.into_iter().flatten())
    }
}

/// Calls that are finished together.
struct CallWave<'a> {
    batch: &'a BatchState,
    calls: &'a [WaveCall<'a>],
    is_polled: bool,
}

impl<'a> CallWave<'a> {
    async fn finish_in_order(
        &self,
        bodies: Vec<CallBody<'a>>,
        mut ends: Vec<Option<CallEnd>>,
    ) -> Vec<CallOutcome> {
        boxed(|| self.run_bodies(bodies, |index, end| ends[index] = Some(end))).await;
        boxed(|| self.finish_calls(ends)).await
    }

    /// Finishes all calls, whose bodies have ended.
    async fn finish_calls(&self, ends: Vec<Option<CallEnd>>) -> Vec<CallOutcome> {
        let mut outcomes = Vec::with_capacity(ends.len());
        for (index, end) in ends.into_iter().enumerate() {
            outcomes.push(self.finish_call(index, end.unwrap_or_else(|| self.unanswered_end())).await);
        }
        outcomes
    }

    async fn finish_as_completed(
        &self,
        bodies: Vec<CallBody<'a>>,
        ends: Vec<Option<CallEnd>>,
    ) -> Vec<CallOutcome> {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let mut open: Vec<_> = ends.iter().map(Option::is_none).collect();
        for (index, end) in ends.into_iter().enumerate() {
            if let Some(end) = end {
                // The receiver outlives the sender.
                let _ = sender.send((index, end));
            }
        }
        let running = async {
            self.run_bodies(bodies, |index, end| {
                open[index] = false;
                let _ = sender.send((index, end));
            })
            .await;
            for (index, _) in open.iter().enumerate().filter(|(_, open)| **open) {
                let _ = sender.send((index, self.unanswered_end()));
            }
            drop(sender);
        };
        let finisher = async {
            let mut outcomes: Vec<_> = iter::repeat_with(|| None).take(self.calls.len()).collect();
            let mut external = Vec::new();
            while let Some((index, end)) = receiver.recv().await {
                match end {
                    // Left to the caller only when it is certain that the wave was not stopped.
                    CallEnd::External => external.push(index),
                    end => outcomes[index] = Some(self.finish_call(index, end).await),
                }
            }
            for index in external {
                outcomes[index] = Some(self.finish_call(index, CallEnd::External).await);
            }
            outcomes.into_iter().flatten().collect()
        };
        join(running, finisher).await.1
    }

    /// Finishes the call at `index`; every index belongs to a call.
    async fn finish_call(&self, index: usize, end: CallEnd) -> CallOutcome {
        self.calls[index].finisher().finish_and_record(end).await
    }

    fn end_of(&self, index: usize, answer: CallAnswer) -> CallEnd {
        self.calls[index].end_of(answer)
    }

    /// Returns the end of a call that did not answer before the batch was stopped.
    fn unanswered_end(&self) -> CallEnd {
        CallEnd::Stopped(self.batch.stop_reason().unwrap_or(StopReason::Cancelled))
    }

    /// Runs `bodies` until all have ended, or the batch is stopped.
    async fn run_bodies(&self, mut bodies: Vec<CallBody<'a>>, mut on_end: impl FnMut(usize, CallEnd)) {
        // Most bodies end at their first poll; the machinery for the others is not set up for them.
        if !self.is_polled {
            poll_fn(|task| {
                bodies.retain_mut(|body| match Pin::new(body).poll(task) {
                    Poll::Ready((index, answer)) => {
                        on_end(index, self.end_of(index, answer));
                        false
                    }
                    Poll::Pending => true,
                });
                Poll::Ready(())
            })
            .await;
        }
        if !bodies.is_empty() {
            boxed(|| self.run_remaining(bodies, on_end)).await;
        }
    }

    /// Runs the remaining `bodies`, each of which was polled before.
    async fn run_remaining(&self, bodies: Vec<CallBody<'a>>, mut on_end: impl FnMut(usize, CallEnd)) {
        let mut bodies = RemainingBodies::new(bodies);
        let stop = loop {
            match self.batch.unless_stopped(bodies.next()).await {
                Ok(Some((index, answer))) => on_end(index, self.end_of(index, answer)),
                Ok(None) => return,
                Err(stop) => break stop,
            }
        };
        // The tokens of the calls may be cancelled slightly later than the token of the batch.
        for token in self.calls.iter().filter_map(|call| call.state.cx.as_ref()?.asked_cancellation()) {
            token.cancel();
        }
        // Other stops have no grace period.
        let StopReason::Cancelled = stop else { return };
        while let Some(Some((index, answer))) = bodies.next().now_or_never() {
            on_end(index, self.end_of(index, answer));
        }
        // Bodies that use their token have time to clean up; others are dropped.
        let in_time = |body: CallBody<'a>| Some(timeout_at(body.call.state.grace_deadline()?, body));
        let mut bodies: FuturesUnordered<_> = bodies.into_bodies().filter_map(in_time).collect();
        while let Some(answer) = bodies.next().await {
            if let Ok((index, answer)) = answer {
                on_end(index, self.end_of(index, answer));
            }
        }
    }
}

/// The end of a call.
pub(super) enum CallEnd {
    External,
    NotAdmitted(ToolError),
    Answered(EarlyAnswer),
    NeedsApproval(Box<ApprovalRequest>),
    Done(Result<ToolOutput, ToolError>),
    Stopped(StopReason),
}
