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
    finish::Finishing,
    perform::perform,
    prepare::{Answer, AnsweredBy, Ready, Request, Step, prepare},
    state::{CallPosition, CallScope},
    stop::Stop,
};
use crate::{CallOutcome, policy::ApprovalRequest, registry::Entry};

/// Calls that run together, each with its position and, in the end, its answer.
pub(super) struct Group<'a> {
    pub(super) executor: &'a Arc<Inner>,
    pub(super) around: &'a CallScope,
    pub(super) asked: &'a [Request<'a>],
    pub(super) places: &'a [CallPosition],
}

impl CallScope {
    /// Prepares, runs and finishes calls that run together.
    pub(super) async fn group(&self, executor: &Arc<Inner>, asked: &[Request<'_>]) -> Vec<CallOutcome> {
        let mut places: Vec<_> = iter::repeat_with(CallPosition::default).take(asked.len()).collect();
        let mut steps = Vec::with_capacity(asked.len());
        for (asked, place) in asked.iter().zip(&mut places) {
            let step = prepare(executor, *asked, self, place).await;
            self.stop_by_step(&step, &asked.call.name);
            if let (Step::Ready(Ready { retry: Some(_), .. }), Some(cx)) = (&step, &place.cx) {
                place.first = Some(Box::new(cx.of_attempt(1)));
            }
            steps.push(step);
        }
        let group = Group { executor, around: self, asked, places: &places };
        let mut ended = Vec::with_capacity(asked.len());
        let mut bodies = Vec::with_capacity(asked.len());
        for (at, (step, place)) in steps.into_iter().zip(&places).enumerate() {
            let asked = asked[at];
            ended.push(match step {
                Step::External => Some(Ended::External),
                Step::Gated(error) => Some(Ended::Gated(error)),
                Step::Answered(answer) => Some(Ended::Answered(answer)),
                Step::Request(request) => Some(Ended::Request(request)),
                Step::Ready(ready) => {
                    let body = perform(executor, self, asked, ready, place);
                    bodies.extend(body.map(|body| Held { at, grace: place.grace, body }));
                    None
                }
            });
        }
        match executor.settings.finish {
            Finish::InOrder => group.finish_in_order(bodies, ended).await,
            Finish::AsCompleted => group.finish_as_completed(bodies, ended).await,
        }
    }
}

impl<'a> Group<'a> {
    async fn finish_in_order(
        &self,
        bodies: Vec<Held<Body<'a>>>,
        mut ended: Vec<Option<Ended>>,
    ) -> Vec<CallOutcome> {
        self.run_all(bodies, |at, by_itself| ended[at] = Some(by_itself)).await;
        let mut outcomes = Vec::with_capacity(ended.len());
        for (at, ended) in ended.into_iter().enumerate() {
            outcomes.push(self.finish(at, ended.unwrap_or_else(|| self.unanswered())).await);
        }
        outcomes
    }

    async fn finish_as_completed(
        &self,
        bodies: Vec<Held<Body<'a>>>,
        ended: Vec<Option<Ended>>,
    ) -> Vec<CallOutcome> {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let mut open: Vec<_> = ended.iter().map(Option::is_none).collect();
        for (at, ended) in ended.into_iter().enumerate() {
            if let Some(ended) = ended {
                // The receiver outlives the sender.
                let _ = sender.send((at, ended));
            }
        }
        let running = async {
            self.run_all(bodies, |at, by_itself| {
                open[at] = false;
                let _ = sender.send((at, by_itself));
            })
            .await;
            for (at, _) in open.iter().enumerate().filter(|(_, open)| **open) {
                let _ = sender.send((at, self.unanswered()));
            }
            drop(sender);
        };
        let finishing = async {
            let mut outcomes: Vec<_> = iter::repeat_with(|| None).take(self.asked.len()).collect();
            let mut external = Vec::new();
            while let Some((at, ended)) = receiver.recv().await {
                match ended {
                    // Left to the caller only when it is certain that the group was not stopped.
                    Ended::External => external.push(at),
                    ended => outcomes[at] = Some(self.finish(at, ended).await),
                }
            }
            for at in external {
                outcomes[at] = Some(self.finish(at, Ended::External).await);
            }
            outcomes.into_iter().flatten().collect()
        };
        join(running, finishing).await.1
    }

    /// Every index belongs to a call.
    fn finishing(&self, at: usize) -> Finishing<'_> {
        let (asked, place) = (self.asked[at], &self.places[at]);
        place.close_reports();
        let definition = asked.entry.map(Entry::definition);
        Finishing { executor: self.executor, around: self.around, asked, call: asked.call, definition, place }
    }

    /// Finishes a call without events and hooks, and adds its outcome to `outcomes`; returns `ended` if the call is not
    /// over.
    pub(super) fn finish_quietly(
        &self,
        at: usize,
        ended: Ended,
        outcomes: &mut Vec<CallOutcome>,
    ) -> Option<Ended> {
        let (by, outcome) = match ended {
            Ended::Done(outcome) => (AnsweredBy::Tool, outcome),
            Ended::Answered(Answer { outcome, by }) => (by, outcome),
            other => return Some(other),
        };
        let finishing = self.finishing(at);
        if finishing.goes_on(&outcome) {
            return Some(match by {
                AnsweredBy::Tool => Ended::Done(outcome),
                by => Ended::Answered(Answer { outcome, by }),
            });
        }
        let mut result = finishing.result(outcome);
        finishing.complete(&mut result);
        outcomes.push(CallOutcome::Finished(result));
        None
    }

    pub(super) async fn finish(&self, at: usize, ended: Ended) -> CallOutcome {
        ended.finish(&self.finishing(at)).await
    }

    /// Returns the end of a call that did not answer before the batch was stopped.
    pub(super) fn unanswered(&self) -> Ended {
        Ended::Stopped(self.around.stop().unwrap_or(Stop::Cancelled))
    }

    /// Runs `bodies` until all have ended, or the batch is stopped.
    pub(super) async fn run_all<B>(&self, mut bodies: Vec<Held<B>>, mut ended: impl FnMut(usize, Ended))
    where
        B: Future<Output = Option<Result<ToolOutput, ToolError>>> + Unpin,
    {
        // Most bodies end at their first poll; the machinery for the others is not set up for them.
        poll_fn(|task| {
            bodies.retain_mut(|body| match Pin::new(body).poll(task) {
                Poll::Ready((at, answer)) => {
                    ended(at, self.how(at, answer));
                    false
                }
                Poll::Pending => true,
            });
            Poll::Ready(())
        })
        .await;
        if !bodies.is_empty() {
            Box::pin(self.run_on(bodies, ended)).await;
        }
    }

    /// Runs the remaining `bodies`, each of which was polled before.
    pub(super) async fn run_on<B>(&self, bodies: Vec<Held<B>>, mut ended: impl FnMut(usize, Ended))
    where
        B: Future<Output = Option<Result<ToolOutput, ToolError>>> + Unpin,
    {
        let mut bodies: FuturesUnordered<_> = bodies.into_iter().collect();
        let stop = loop {
            match self.around.unless_stopped(bodies.next()).await {
                Ok(Some((at, answer))) => ended(at, self.how(at, answer)),
                Ok(None) => return,
                Err(stop) => break stop,
            }
        };
        // The tokens of the calls may be cancelled slightly later than the token of the batch.
        for token in self.places.iter().filter_map(|place| place.cx.as_ref()?.asked_cancellation()) {
            token.cancel();
        }
        // Other stops have no grace period.
        let Stop::Cancelled = stop else { return };
        while let Some(Some((at, answer))) = bodies.next().now_or_never() {
            ended(at, self.how(at, answer));
        }
        // Bodies that use their token have time to clean up; others are dropped.
        let in_time = |body: Held<B>| Some(timeout_at(self.places[body.at].grace_end()?, body));
        let mut bodies: FuturesUnordered<_> = bodies.into_iter().filter_map(in_time).collect();
        while let Some(answer) = bodies.next().await {
            if let Ok((at, answer)) = answer {
                ended(at, self.how(at, answer));
            }
        }
    }

    /// Returns the end of a body that returned `answer`, or did not run to completion.
    #[inline]
    pub(super) fn how(&self, at: usize, answer: Option<Result<ToolOutput, ToolError>>) -> Ended {
        let Some(outcome) = answer else { return Ended::Stopped(self.around.unanswered()) };
        if let (Err(error), Some(asked)) = (&outcome, self.asked.get(at)) {
            self.around.stop_by(error, &asked.call.name);
        }
        Ended::Done(outcome)
    }
}

/// A body and its index. It is polled in the scope of its grace period, which inner batches read.
pub(super) struct Held<B> {
    pub(super) at: usize,
    pub(super) grace: Duration,
    pub(super) body: B,
}

impl<B: Future + Unpin> Future for Held<B> {
    type Output = (usize, B::Output);

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let (at, grace) = (self.at, self.grace);
        within_grace(grace, || Pin::new(&mut self.body).poll(task)).map(|answer| (at, answer))
    }
}

/// A running call; `None` if it was cancelled before it answered.
pub(super) type Body<'a> = BoxFuture<'a, Option<Result<ToolOutput, ToolError>>>;

/// The end of a call.
pub(super) enum Ended {
    External,
    Gated(ToolError),
    Answered(Answer),
    Request(Box<ApprovalRequest>),
    Done(Result<ToolOutput, ToolError>),
    Stopped(Stop),
}

impl Ended {
    async fn finish(self, finishing: &Finishing<'_>) -> CallOutcome {
        match self {
            Self::External => finishing.external().await,
            Self::Gated(error) => finishing.gated(error).await,
            Self::Request(request) => finishing.asked(request).await,
            Self::Answered(Answer { outcome, by }) => finishing.answered(by, outcome).await,
            Self::Done(outcome) => finishing.answered(AnsweredBy::Tool, outcome).await,
            Self::Stopped(stop) => finishing.answered(AnsweredBy::Executor, Err(stop.error())).await,
        }
    }
}
