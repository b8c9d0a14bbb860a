//! Calls that run together: prepared sequentially, run concurrently, and finished as configured.

use std::{
    future::{Future, poll_fn},
    iter,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{FutureExt, StreamExt, future::join, stream::FuturesUnordered};
use tokio::{sync::mpsc, time::timeout_at};
use tool_core::{BoxFuture, ToolError, ToolOutput, internals::within_grace};

use super::{
    Inner,
    build::Finish,
    finish::CallFinisher,
    perform::call_body,
    prepare::{AnswerSource, CallRequest, EarlyAnswer, NextStep, ReadyCall, prepare_call},
    state::{BatchState, CallState},
    stop::StopReason,
};
use crate::{CallOutcome, policy::ApprovalRequest, registry::Entry};

/// Calls that run together, each with its state and, in the end, its answer.
pub(super) struct CallGroup<'a> {
    pub(super) executor: &'a Arc<Inner>,
    pub(super) batch: &'a BatchState,
    pub(super) requests: &'a [CallRequest<'a>],
    pub(super) states: &'a [CallState],
}

impl BatchState {
    /// Prepares, runs and finishes calls that run together.
    pub(super) async fn run_group(
        &self,
        executor: &Arc<Inner>,
        requests: &[CallRequest<'_>],
    ) -> Vec<CallOutcome> {
        let mut states: Vec<_> = iter::repeat_with(CallState::default).take(requests.len()).collect();
        let mut steps = Vec::with_capacity(requests.len());
        for (request, state) in requests.iter().zip(&mut states) {
            let step = prepare_call(executor, *request, self, state).await;
            self.stop_on_step(&step, &request.call.name);
            if let (NextStep::Ready(ReadyCall { retry: Some(_), .. }), Some(cx)) = (&step, &state.cx) {
                state.first = Some(Box::new(cx.of_attempt(1)));
            }
            steps.push(step);
        }
        let group = CallGroup { executor, batch: self, requests, states: &states };
        let mut ends = Vec::with_capacity(requests.len());
        let mut bodies = Vec::with_capacity(requests.len());
        for (index, (step, state)) in steps.into_iter().zip(&states).enumerate() {
            let request = requests[index];
            ends.push(match step {
                NextStep::External => Some(CallEnd::External),
                NextStep::NotAdmitted(error) => Some(CallEnd::NotAdmitted(error)),
                NextStep::Answered(answer) => Some(CallEnd::Answered(answer)),
                NextStep::NeedsApproval(request) => Some(CallEnd::NeedsApproval(request)),
                NextStep::Ready(ready) => {
                    let body = call_body(executor, self, request, ready, state);
                    bodies.extend(body.map(|body| IndexedBody { index, grace: state.grace, body }));
                    None
                }
            });
        }
        match executor.settings.finish {
            Finish::InOrder => group.finish_in_order(bodies, ends).await,
            Finish::AsCompleted => group.finish_as_completed(bodies, ends).await,
        }
    }
}

impl<'a> CallGroup<'a> {
    async fn finish_in_order(
        &self,
        bodies: Vec<IndexedBody<CallBody<'a>>>,
        mut ends: Vec<Option<CallEnd>>,
    ) -> Vec<CallOutcome> {
        self.run_all(bodies, |index, end| ends[index] = Some(end)).await;
        let mut outcomes = Vec::with_capacity(ends.len());
        for (index, end) in ends.into_iter().enumerate() {
            outcomes.push(self.finish_call(index, end.unwrap_or_else(|| self.unanswered_end())).await);
        }
        outcomes
    }

    async fn finish_as_completed(
        &self,
        bodies: Vec<IndexedBody<CallBody<'a>>>,
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
            self.run_all(bodies, |index, end| {
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
            let mut outcomes: Vec<_> = iter::repeat_with(|| None).take(self.requests.len()).collect();
            let mut external = Vec::new();
            while let Some((index, end)) = receiver.recv().await {
                match end {
                    // Left to the caller only when it is certain that the group was not stopped.
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

    /// Every index belongs to a call.
    fn finisher(&self, index: usize) -> CallFinisher<'_> {
        let (request, state) = (self.requests[index], &self.states[index]);
        state.close_reports();
        let definition = request.entry.map(Entry::definition);
        CallFinisher {
            executor: self.executor,
            batch: self.batch,
            request,
            call: request.call,
            definition,
            state,
        }
    }

    /// Finishes a call without events and hooks, and adds its outcome to `outcomes`; returns `end` if the call is not
    /// over.
    pub(super) fn finish_on_fast_path(
        &self,
        index: usize,
        end: CallEnd,
        outcomes: &mut Vec<CallOutcome>,
    ) -> Option<CallEnd> {
        let (answered_by, outcome) = match end {
            CallEnd::Done(outcome) => (AnswerSource::Tool, outcome),
            CallEnd::Answered(EarlyAnswer { outcome, answered_by }) => (answered_by, outcome),
            other => return Some(other),
        };
        let finisher = self.finisher(index);
        if finisher.awaits_answer(&outcome) {
            return Some(match answered_by {
                AnswerSource::Tool => CallEnd::Done(outcome),
                answered_by => CallEnd::Answered(EarlyAnswer { outcome, answered_by }),
            });
        }
        let mut result = finisher.result_of(outcome);
        finisher.apply_result_settings(&mut result);
        outcomes.push(CallOutcome::Finished(result));
        None
    }

    pub(super) async fn finish_call(&self, index: usize, end: CallEnd) -> CallOutcome {
        end.finish_by(&self.finisher(index)).await
    }

    /// Returns the end of a call that did not answer before the batch was stopped.
    pub(super) fn unanswered_end(&self) -> CallEnd {
        CallEnd::Stopped(self.batch.stop_reason().unwrap_or(StopReason::Cancelled))
    }

    /// Runs `bodies` until all have ended, or the batch is stopped.
    pub(super) async fn run_all<B>(
        &self,
        mut bodies: Vec<IndexedBody<B>>,
        mut on_end: impl FnMut(usize, CallEnd),
    ) where
        B: Future<Output = Option<Result<ToolOutput, ToolError>>> + Unpin,
    {
        // Most bodies end at their first poll; the machinery for the others is not set up for them.
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
        if !bodies.is_empty() {
            Box::pin(self.run_remaining(bodies, on_end)).await;
        }
    }

    /// Runs the remaining `bodies`, each of which was polled before.
    pub(super) async fn run_remaining<B>(
        &self,
        bodies: Vec<IndexedBody<B>>,
        mut on_end: impl FnMut(usize, CallEnd),
    ) where
        B: Future<Output = Option<Result<ToolOutput, ToolError>>> + Unpin,
    {
        let mut bodies: FuturesUnordered<_> = bodies.into_iter().collect();
        let stop = loop {
            match self.batch.unless_stopped(bodies.next()).await {
                Ok(Some((index, answer))) => on_end(index, self.end_of(index, answer)),
                Ok(None) => return,
                Err(stop) => break stop,
            }
        };
        // The tokens of the calls may be cancelled slightly later than the token of the batch.
        for token in self.states.iter().filter_map(|state| state.cx.as_ref()?.asked_cancellation()) {
            token.cancel();
        }
        // Other stops have no grace period.
        let StopReason::Cancelled = stop else { return };
        while let Some(Some((index, answer))) = bodies.next().now_or_never() {
            on_end(index, self.end_of(index, answer));
        }
        // Bodies that use their token have time to clean up; others are dropped.
        let in_time =
            |body: IndexedBody<B>| Some(timeout_at(self.states[body.index].grace_deadline()?, body));
        let mut bodies: FuturesUnordered<_> = bodies.into_iter().filter_map(in_time).collect();
        while let Some(answer) = bodies.next().await {
            if let Ok((index, answer)) = answer {
                on_end(index, self.end_of(index, answer));
            }
        }
    }

    /// Returns the end of a body that returned `answer`, or did not run to completion.
    #[inline]
    pub(super) fn end_of(&self, index: usize, answer: Option<Result<ToolOutput, ToolError>>) -> CallEnd {
        let Some(outcome) = answer else { return CallEnd::Stopped(self.batch.reason_of_unanswered()) };
        if let (Err(error), Some(request)) = (&outcome, self.requests.get(index)) {
            self.batch.stop_on_error(error, &request.call.name);
        }
        CallEnd::Done(outcome)
    }
}

/// A body and its index. It is polled in the scope of its grace period, which inner batches read.
pub(super) struct IndexedBody<B> {
    pub(super) index: usize,
    pub(super) grace: Duration,
    pub(super) body: B,
}

impl<B: Future + Unpin> Future for IndexedBody<B> {
    type Output = (usize, B::Output);

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let (index, grace) = (self.index, self.grace);
        within_grace(grace, || Pin::new(&mut self.body).poll(task)).map(|answer| (index, answer))
    }
}

/// A running call; `None` if it was cancelled before it answered.
pub(super) type CallBody<'a> = BoxFuture<'a, Option<Result<ToolOutput, ToolError>>>;

/// The end of a call.
pub(super) enum CallEnd {
    External,
    NotAdmitted(ToolError),
    Answered(EarlyAnswer),
    NeedsApproval(Box<ApprovalRequest>),
    Done(Result<ToolOutput, ToolError>),
    Stopped(StopReason),
}

impl CallEnd {
    async fn finish_by(self, finisher: &CallFinisher<'_>) -> CallOutcome {
        match self {
            Self::External => finisher.finish_external().await,
            Self::NotAdmitted(error) => finisher.finish_not_admitted(error).await,
            Self::NeedsApproval(request) => finisher.finish_with_question(request).await,
            Self::Answered(EarlyAnswer { outcome, answered_by }) => {
                finisher.finish_answered(answered_by, outcome).await
            }
            Self::Done(outcome) => finisher.finish_answered(AnswerSource::Tool, outcome).await,
            Self::Stopped(stop) => finisher.finish_answered(AnswerSource::Executor, Err(stop.error())).await,
        }
    }
}
