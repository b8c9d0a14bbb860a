//! Driving a batch: groups, steering, cancellation.

use std::{
    future::{Future, poll_fn},
    iter,
    pin::Pin,
    sync::Arc,
    task::Poll,
};

use futures_util::{FutureExt, StreamExt, future::join, stream::FuturesUnordered};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool_core::{RunContext, Running, ToolError, ToolOutput};
use tracing::Instrument;

use super::{
    CallStream, Executor, Inner,
    around::{Place, Stop, Surroundings},
    build::{ExecutionStrategy, Finish},
    finish::Finishing,
    open::{Confirmed, Resumed},
    outlet::Outlet,
    perform::perform,
    prepare::{Answer, Asked, By, Ready, Step, prepare},
    quiet::are_quiet,
};
use crate::{ApprovalRequest, CallOutcome, ToolCall, ToolEvent, registry::Entry, shield::caught, telemetry};

/// Calls that are to be run together.
///
/// # Examples
///
/// ```standalone_crate
/// use tool_runtime::{CancellationToken, Executor, Registry, RunContext, ToolCall};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let executor = Executor::new(Registry::builder().build()?);
/// let stop = CancellationToken::new();
/// let run = RunContext::new().with_user("u-7").with_cancellation(stop.clone());
///
/// stop.cancel();
/// let outcomes = executor.batch(vec![ToolCall::new("add", "{}")]).within(run).run().await;
/// assert_eq!(outcomes[0].result().unwrap().text(), "Cancelled");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a batch does nothing until it is run"]
pub struct Batch {
    executor: Executor,
    calls: Vec<ToolCall>,
    /// What a person said to each of the calls; empty where nobody was asked.
    resumed: Resumed,
    run: Option<Arc<RunContext>>,
    steering: Option<Box<dyn Fn() -> bool + Send + Sync>>,
}

impl Batch {
    pub(super) fn new(executor: Executor, calls: Vec<ToolCall>) -> Self {
        Self { executor, calls, resumed: Resumed::default(), run: None, steering: None }
    }

    pub(super) fn resumed(executor: Executor, confirmed: Vec<Confirmed>) -> Self {
        let calls = confirmed.iter().map(|it| it.call.clone()).collect();
        Self { resumed: Resumed::new(executor.clone(), confirmed), ..Self::new(executor, calls) }
    }

    /// Says which run the calls belong to: whose cancellation stops them, and whose
    /// [deadline](RunContext::with_deadline) bounds them all.
    pub fn within(mut self, run: impl Into<Arc<RunContext>>) -> Self {
        self.run = Some(run.into());
        self
    }

    /// Sets what is asked between calls, or between groups of calls: whether something has come that is
    /// to be dealt with first, such as a message of the user. The rest of the batch is then skipped.
    pub fn steering(mut self, steering: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.steering = Some(Box::new(steering));
        self
    }

    /// Runs the calls: one outcome for each, in order. Dropping the future cancels them.
    pub async fn run(self) -> Vec<CallOutcome> {
        self.drive(None).await
    }

    /// Runs the calls as a stream of what happens to them, which ends with their outcomes. They go on as
    /// the stream is read; dropping it cancels them.
    pub fn stream(self) -> CallStream {
        let buffer = self.executor.inner.settings.event_buffer;
        let (sender, events) = mpsc::channel(buffer);
        CallStream::new(events, Box::pin(self.drive(Some(sender))))
    }

    async fn drive(self, stream: Option<mpsc::Sender<ToolEvent>>) -> Vec<CallOutcome> {
        let span = telemetry::batch(self.calls.len(), self.run.as_deref());
        match span.is_disabled() {
            true => self.driven(stream).await,
            false => Box::pin(self.driven(stream).instrument(span)).await,
        }
    }

    async fn driven(self, stream: Option<mpsc::Sender<ToolEvent>>) -> Vec<CallOutcome> {
        let Self { executor, calls, resumed, run, steering } = self;
        let confirmed = resumed.take();
        let executor = &executor.inner;
        let token = run.as_ref().map_or_else(CancellationToken::new, |run| run.cancellation().child_token());
        // Whoever drops the batch cancels its calls; whoever waits for its end does not cancel what they
        // have started.
        let guard = token.clone().drop_guard();
        let outlet = Outlet::new(stream, executor);
        let around = Surroundings::new(outlet, run, token);
        let asked: Vec<_> =
            calls.iter().map(|call| Asked { call, entry: executor.tools.entry(&call.name) }).collect();
        let size = executor.group_size(&asked);
        let mut outcomes = Vec::with_capacity(calls.len());
        let mut stop = None;
        for (number, asked) in asked.chunks(size).enumerate() {
            if let Some(stopped) = around.stop() {
                stop = Some(stopped);
            } else if let (Some(steering), None, 1..) = (&steering, &stop, number) {
                stop = match caught(steering) {
                    Ok(true) => Some(Stop::Steered),
                    Ok(false) => None,
                    Err(message) => Some(Stop::Unclear(message)),
                };
            }
            match &stop {
                Some(stop) => {
                    for asked in asked {
                        outcomes.push(around.stopped(executor, *asked, stop.clone()).await);
                    }
                }
                None => {
                    let confirmed = confirmed.get(number * size..).unwrap_or_default();
                    if confirmed.is_empty() && are_quiet(executor, &around, asked) {
                        around.quiet_group(executor, asked, &mut outcomes).await;
                    } else {
                        // In a box, like all that few batches need: the future of a batch is moved about.
                        let group = around.group(executor, asked, confirmed);
                        outcomes.extend(Box::pin(group).await);
                    }
                }
            }
        }
        guard.disarm();
        outcomes
    }
}

impl Inner {
    /// How many calls run together.
    fn group_size(&self, asked: &[Asked<'_>]) -> usize {
        let is_sequential =
            |asked: &Asked<'_>| asked.entry.is_some_and(|entry| entry.definition().metadata().sequential);
        let size = match self.settings.strategy {
            ExecutionStrategy::Sequential => 1,
            ExecutionStrategy::Batched { size } => size,
            ExecutionStrategy::Parallel => asked.len(),
        };
        if size > 1 && (!self.settings.parallel || asked.iter().any(is_sequential)) { 1 } else { size.max(1) }
    }
}

/// Calls that run together, each with its place and, in the end, with how it ended.
pub(super) struct Group<'a> {
    pub(super) executor: &'a Arc<Inner>,
    pub(super) around: &'a Surroundings,
    pub(super) asked: &'a [Asked<'a>],
    pub(super) places: &'a [Place],
}

impl Surroundings {
    /// Answers a call that does not even start.
    async fn stopped(&self, executor: &Arc<Inner>, asked: Asked<'_>, stop: Stop) -> CallOutcome {
        let place = Place::default();
        let definition = asked.entry.map(Entry::definition);
        let finishing = Finishing { executor, around: self, call: asked.call, definition, place: &place };
        self.started(asked.call, definition).await;
        finishing.answered(By::Nobody, Err(stop.error())).await
    }

    /// Prepares, runs and finishes calls that run together.
    async fn group(
        &self,
        executor: &Arc<Inner>,
        asked: &[Asked<'_>],
        confirmed: &[Confirmed],
    ) -> Vec<CallOutcome> {
        let mut places: Vec<_> = iter::repeat_with(Place::default).take(asked.len()).collect();
        let mut steps = Vec::with_capacity(asked.len());
        for (at, (asked, place)) in asked.iter().zip(&mut places).enumerate() {
            let step = prepare(executor, *asked, confirmed.get(at), self, place).await;
            if let (Step::Ready(Ready { source: Some(_), .. }), Some(cx)) = (&step, &place.cx) {
                place.first = Some(cx.of_attempt(1));
            }
            steps.push(step);
        }
        let group = Group { executor, around: self, asked, places: &places };
        let mut ended = Vec::with_capacity(asked.len());
        let mut bodies = Vec::with_capacity(asked.len());
        for (at, (step, place)) in steps.into_iter().zip(&places).enumerate() {
            ended.push(match step {
                Step::External => Some(Ended::External),
                Step::Gated(error) => Some(Ended::Gated(error)),
                Step::Answered(answer) => Some(Ended::Answered(answer)),
                Step::Asked(request) => Some(Ended::Asked(request)),
                Step::Ready(ready) => {
                    bodies.extend(perform(executor, ready, place).map(|body| (at, body)));
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
        bodies: Vec<(usize, Body<'a>)>,
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
        bodies: Vec<(usize, Body<'a>)>,
        ended: Vec<Option<Ended>>,
    ) -> Vec<CallOutcome> {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let mut open: Vec<_> = ended.iter().map(Option::is_none).collect();
        for (at, ended) in ended.into_iter().enumerate() {
            if let Some(ended) = ended {
                // The receiver is below.
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
            while let Some((at, ended)) = receiver.recv().await {
                outcomes[at] = Some(self.finish(at, ended).await);
            }
            outcomes.into_iter().flatten().collect()
        };
        join(running, finishing).await.1
    }

    /// Every index is that of a call.
    fn finishing(&self, at: usize) -> Finishing<'_> {
        let (Asked { call, entry }, place) = (self.asked[at], &self.places[at]);
        if let Some(reports) = &place.reports {
            reports.close();
        }
        let definition = entry.map(Entry::definition);
        Finishing { executor: self.executor, around: self.around, call, definition, place }
    }

    /// Finishes a call of which nobody hears; gives back how it ended where that is not the end of it.
    pub(super) fn finish_quietly(&self, at: usize, ended: Ended) -> Result<CallOutcome, Ended> {
        let (by, outcome) = match ended {
            Ended::Done(outcome) => (By::Tool, outcome),
            Ended::Answered(Answer { outcome, by }) => (by, outcome),
            other => return Err(other),
        };
        let finishing = self.finishing(at);
        finishing.answered_quietly(by, outcome).map_err(|outcome| match by {
            By::Tool => Ended::Done(outcome),
            by => Ended::Answered(Answer { outcome, by }),
        })
    }

    pub(super) async fn finish(&self, at: usize, ended: Ended) -> CallOutcome {
        ended.finish(&self.finishing(at)).await
    }

    /// How a call ended that did not answer before the batch was stopped.
    fn unanswered(&self) -> Ended {
        Ended::Stopped(self.around.stop().unwrap_or(Stop::Cancelled))
    }

    /// Runs `bodies` until all have ended, or the batch is stopped.
    pub(super) async fn run_all<B>(&self, mut bodies: Vec<(usize, B)>, mut ended: impl FnMut(usize, Ended))
    where
        B: Future<Output = Option<Result<ToolOutput, ToolError>>> + Unpin,
    {
        let how = |answer: Option<_>| answer.map_or(Ended::Stopped(Stop::Cancelled), Ended::Done);
        // Most calls are over with their first poll, and pay for no more than that.
        poll_fn(|task| {
            bodies.retain_mut(|(at, body)| match Pin::new(body).poll(task) {
                Poll::Ready(answer) => {
                    ended(*at, how(answer));
                    false
                }
                Poll::Pending => true,
            });
            Poll::Ready(())
        })
        .await;
        if bodies.is_empty() {
            return;
        }
        let mut bodies: FuturesUnordered<_> =
            bodies.into_iter().map(|(at, body)| body.map(move |answer| (at, answer))).collect();
        let stop = loop {
            match self.around.unless_stopped(bodies.next()).await {
                Ok(Some((at, answer))) => ended(at, how(answer)),
                Ok(None) => return,
                Err(stop) => break stop,
            }
        };
        // The batch's token may reach those of its calls a moment after it is seen here.
        for token in self.places.iter().filter_map(|place| place.cx.as_ref()?.asked_cancellation()) {
            token.cancel();
        }
        // Those that have noticed answer by themselves; the others are dropped. For the late there is no time.
        while let Stop::Cancelled = stop
            && let Some(Some((at, answer))) = bodies.next().now_or_never()
        {
            ended(at, how(answer));
        }
    }
}

/// A call that runs; `None` where it was cancelled before it answered.
pub(super) type Body<'a> = Running<'a, Option<Result<ToolOutput, ToolError>>>;

/// How a call came to its end.
pub(super) enum Ended {
    External,
    Gated(ToolError),
    Answered(Answer),
    Asked(Box<ApprovalRequest>),
    Done(Result<ToolOutput, ToolError>),
    Stopped(Stop),
}

impl Ended {
    async fn finish(self, finishing: &Finishing<'_>) -> CallOutcome {
        match self {
            Self::External => finishing.external(),
            Self::Gated(error) => finishing.gated(error),
            Self::Asked(request) => finishing.asked(request).await,
            Self::Answered(Answer { outcome, by }) => finishing.answered(by, outcome).await,
            Self::Done(outcome) => finishing.answered(By::Tool, outcome).await,
            Self::Stopped(stop) => finishing.answered(By::Nobody, Err(stop.error())).await,
        }
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("calls", &self.calls).finish_non_exhaustive()
    }
}
