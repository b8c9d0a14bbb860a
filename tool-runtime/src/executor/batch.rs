//! Execution of a batch: groups, steering, cancellation.

use std::sync::{Arc, atomic::Ordering};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool_core::RunContext;
use tracing::Instrument;

use super::{
    CallStream, Executor, Inner,
    build::ExecutionStrategy,
    event_sink::EventSink,
    fast_path::are_quiet,
    finish::Finishing,
    open::Confirmed,
    prepare::{AnsweredBy, Request},
    state::{CallPosition, CallScope},
    steering::{Steer, Steering},
    stop::Stop,
};
use crate::{CallOutcome, ToolCall, event::ToolEvent, guard::Guarded, registry::Entry, telemetry};

/// A batch of calls, configured before it is run. Created by [`Executor::batch`].
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
/// let outcomes = executor.batch(vec![ToolCall::new("add", "{}")]).with_run(run).run().await;
/// assert_eq!(outcomes[0].result().unwrap().text(), "Cancelled");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a batch does nothing until it is run"]
pub struct Batch {
    executor: Executor,
    calls: Vec<ToolCall>,
    /// The answers of a person to the calls; empty if the batch is not resumed.
    resumed: Vec<Confirmed>,
    run: Option<Arc<RunContext>>,
    steering: Option<Arc<dyn Steer>>,
}

impl Batch {
    pub(super) fn new(executor: Executor, calls: Vec<ToolCall>) -> Self {
        Self { executor, calls, resumed: Vec::new(), run: None, steering: None }
    }

    pub(super) fn resumed(executor: Executor, confirmed: Vec<Confirmed>) -> Self {
        let calls = confirmed.iter().map(|it| it.call.clone()).collect();
        Self { resumed: confirmed, ..Self::new(executor, calls) }
    }

    /// Sets the run that the calls belong to. The calls use its user, values, state and budget; its cancellation
    /// cancels them, and its [deadline](RunContext::with_deadline) limits them all. Default: none. Pass
    /// `Arc::clone(&run)` to run several batches in one run.
    pub fn with_run(mut self, run: impl Into<Arc<RunContext>>) -> Self {
        self.run = Some(run.into());
        self
    }

    /// Sets the [`Steering`], which is polled for messages between calls and after the last one. A message skips the
    /// rest of the batch, and the caller [takes](Steering::take) it. Default: none.
    pub fn steering<M: Send + 'static>(mut self, steering: &Steering<M>) -> Self {
        self.steering = Some(Arc::new(steering.clone()));
        self
    }

    /// Runs the calls; returns one outcome for each, in order. Dropping the future cancels them.
    pub async fn run(self) -> Vec<CallOutcome> {
        self.drive(None).await
    }

    /// Runs the calls as a stream of their events, followed by their outcomes. The calls progress while the stream is
    /// polled; dropping it cancels them.
    pub fn stream(self) -> CallStream {
        let buffer = self.executor.inner.settings.event_buffer;
        let (sender, events) = mpsc::channel(buffer);
        CallStream::new(events, Box::pin(self.drive(Some(sender))))
    }

    async fn drive(self, stream: Option<mpsc::Sender<Box<ToolEvent>>>) -> Vec<CallOutcome> {
        let span = telemetry::batch(self.calls.len(), self.run.as_deref());
        match span.is_disabled() {
            true => self.driven(stream).await,
            false => Box::pin(self.driven(stream).instrument(span)).await,
        }
    }

    async fn driven(self, stream: Option<mpsc::Sender<Box<ToolEvent>>>) -> Vec<CallOutcome> {
        // Dropped last, within the panic barrier: it may be the last owner of the user's values, hooks and tools.
        let _executor = Guarded::new(self.executor.clone());
        let _run = self.run.clone().map(Guarded::new);
        let _steering = self.steering.clone().map(Guarded::new);
        let Self { executor, mut calls, resumed: confirmed, run, steering } = self;
        let executor = &executor.inner;
        if executor.tools.repairs() {
            calls.iter_mut().for_each(|call| executor.repair(call));
        }
        let token = run.as_ref().map_or_else(CancellationToken::new, |run| run.cancellation().child_token());
        let outlet = EventSink::new(stream, executor, run.as_ref());
        let around = CallScope::new(outlet, run, token, executor.settings.grace_period);
        // Dropping the batch cancels its calls. Work that the calls started is not cancelled when the batch completes.
        let guard = around.token.drop_guard_ref();
        let first = executor.arrivals.fetch_add(calls.len() as u64, Ordering::Relaxed);
        let mut last = None;
        let asked = (first..).zip(&calls).enumerate().map(|(at, (serial, call))| {
            let confirmed = confirmed.get(at);
            let tools = if confirmed.is_some() { &executor.known } else { &executor.tools };
            // Models often call one tool several times in succession.
            let entry = match last {
                Some((name, entry)) if name == call.name && confirmed.is_none() => entry,
                _ => tools.entry(&call.name),
            };
            last = Some((call.name.as_str(), entry));
            Request { call, entry, serial, confirmed }
        });
        let asked: Vec<_> = asked.collect();
        let size = executor.group_size(&asked);
        let mut outcomes = Vec::with_capacity(calls.len());
        let mut stop = None;
        for asked in asked.chunks(size) {
            stop = around.stop().or(stop);
            match &stop {
                Some(stop) => {
                    for asked in asked {
                        outcomes.push(Box::pin(around.not_started(executor, *asked, stop.clone())).await);
                    }
                }
                None => {
                    around.begin_group();
                    let before = outcomes.len();
                    if confirmed.is_empty() && are_quiet(executor, &around, asked) {
                        around.quiet_group(executor, asked, &mut outcomes).await;
                    } else {
                        // Boxed to keep the future of a batch small.
                        let group = around.group(executor, asked);
                        outcomes.extend(Box::pin(group).await);
                    }
                    around.end_group(outcomes.get(before..).unwrap_or_default());
                    if let Some(steering) = &steering
                        && around.stop().is_none()
                    {
                        stop = Box::pin(around.steered(&**steering)).await;
                    }
                }
            }
        }
        guard.disarm();
        outcomes
    }
}

impl Inner {
    /// Repairs the arguments of a call before any other step, so that hooks, events, open calls and external callers
    /// see the arguments that run. A call that was cut off is left unchanged.
    fn repair(&self, call: &mut ToolCall) {
        let entry = self.tools.entry(&call.name).filter(|_| call.incomplete.is_none());
        if let Some(repaired) = entry.and_then(|entry| entry.repaired(&call.arguments)) {
            call.arguments = repaired;
        }
    }

    /// Returns the number of calls that run together.
    fn group_size(&self, asked: &[Request<'_>]) -> usize {
        let is_sequential =
            |asked: &Request<'_>| asked.entry.is_some_and(|entry| entry.definition().metadata().sequential);
        let size = match self.settings.strategy {
            ExecutionStrategy::Sequential => 1,
            ExecutionStrategy::Batched { size } => size,
            ExecutionStrategy::Parallel => asked.len(),
        };
        if size > 1 && (!self.settings.parallel || asked.iter().any(is_sequential)) { 1 } else { size.max(1) }
    }
}

impl CallScope {
    /// Answers a call that is not started.
    async fn not_started(&self, executor: &Arc<Inner>, asked: Request<'_>, stop: Stop) -> CallOutcome {
        let place = CallPosition::default();
        let definition = asked.entry.map(Entry::definition);
        let finishing =
            Finishing { executor, around: self, asked, call: asked.call, definition, place: &place };
        self.started(&asked).await;
        let error = asked.call.completed().err().unwrap_or_else(|| stop.error());
        finishing.answered(AnsweredBy::Executor, Err(error)).await
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("calls", &self.calls).finish_non_exhaustive()
    }
}
