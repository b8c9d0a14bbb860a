//! Execution of a batch: waves, steering, cancellation.

use std::sync::{Arc, atomic::Ordering};

use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tool_core::{Redirection, RunContext};
use tracing::Instrument;

use super::{
    CallStream, Executor, ExecutorParts,
    boxed::boxed,
    build::ExecutionStrategy,
    event_sink::EventSink,
    finish::CallFinisher,
    open::Confirmed,
    plan::{CallPlan, plan_wave},
    prepare::{AnswerSource, CallRequest, EarlyAnswer},
    state::{BatchState, CallState},
    steering::{Steer, Steering},
    stop::StopReason,
    wave::CallEnd,
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

    pub(super) fn of_confirmed_calls(executor: Executor, confirmed: Vec<Confirmed>) -> Self {
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
        self.run_in_span(None).await
    }

    /// Runs the calls as a stream of their events, followed by their outcomes. The calls progress while the stream is
    /// polled; dropping it cancels them.
    pub fn stream(self) -> CallStream {
        let buffer = self.executor.inner.settings.event_buffer;
        let (sender, events) = mpsc::channel(buffer);
        CallStream::new(events, Box::pin(self.run_in_span(Some(sender))))
    }

    async fn run_in_span(self, stream: Option<mpsc::Sender<Box<ToolEvent>>>) -> Vec<CallOutcome> {
        let span = telemetry::batch_span(self.calls.len(), self.run.as_deref());
        match span.is_disabled() {
            true => self.run_calls(stream).await,
            false => boxed(|| self.run_calls(stream).instrument(span)).await,
        }
    }

    async fn run_calls(self, stream: Option<mpsc::Sender<Box<ToolEvent>>>) -> Vec<CallOutcome> {
        // Dropped last, within the panic barrier: it may be the last owner of the user's values, hooks and tools.
        let _executor = Guarded::new(self.executor.clone());
        let _run = self.run.clone().map(Guarded::new);
        let _steering = self.steering.clone().map(Guarded::new);
        let Self { executor, mut calls, resumed: confirmed, run, steering } = self;
        let executor = &executor.inner;
        if executor.tools.repairs_arguments() {
            calls.iter_mut().for_each(|call| executor.repair_call(call));
        }
        // Calls that were open before are those of the tools that run.
        if executor.tools.redirects() && confirmed.is_empty() {
            calls.iter_mut().for_each(|call| executor.redirect_call(call));
        }
        let token = run.as_ref().map_or_else(CancellationToken::new, |run| run.cancellation().child_token());
        let events = EventSink::new(stream, executor, run.as_ref());
        let batch = BatchState::new(events, run, token, executor.settings.grace_period);
        // Dropping the batch cancels its calls. Work that the calls started is not cancelled when the batch completes.
        let guard = batch.token.drop_guard_ref();
        let first = executor.arrivals.fetch_add(calls.len() as u64, Ordering::Relaxed);
        if executor.tools.redirects_remotely() && confirmed.is_empty() {
            boxed(|| batch.redirect_remotely(executor, &mut calls, first)).await;
        }
        let mut last = None;
        let requests = (first..).zip(&calls).enumerate().map(|(at, (serial, call))| {
            let confirmed = confirmed.get(at);
            let tools = if confirmed.is_some() { &executor.known } else { &executor.tools };
            // Models often call one tool several times in succession.
            let entry = match last {
                Some((name, entry)) if name == call.name && confirmed.is_none() => entry,
                _ => tools.entry(&call.name),
            };
            last = Some((call.name.as_str(), entry));
            CallRequest { call, entry, serial, confirmed, plan: CallPlan::default() }
        });
        let mut requests: Vec<_> = requests.collect();
        let size = executor.wave_size(&requests);
        let mut outcomes = Vec::with_capacity(calls.len());
        let mut stop = None;
        for requests in requests.chunks_mut(size) {
            stop = batch.stop_reason().or(stop);
            match &stop {
                Some(stop) => {
                    for request in requests {
                        outcomes
                            .push(boxed(|| batch.answer_unstarted(executor, request, stop.clone())).await);
                    }
                }
                None => {
                    batch.begin_wave();
                    plan_wave(executor, &batch, requests);
                    let before = outcomes.len();
                    batch.run_wave(executor, requests, &mut outcomes).await;
                    batch.end_wave(outcomes.get(before..).unwrap_or_default());
                    if let Some(steering) = &steering
                        && batch.stop_reason().is_none()
                    {
                        stop = boxed(|| batch.poll_steering(&**steering)).await;
                    }
                }
            }
        }
        guard.disarm();
        outcomes
    }
}

impl ExecutorParts {
    /// Repairs the arguments of a call before any other step, so that hooks, events, open calls and external callers
    /// see the arguments that run. A call that was cut off is left unchanged.
    fn repair_call(&self, call: &mut ToolCall) {
        let entry = self.tools.entry(&call.name).filter(|_| call.incomplete.is_none());
        if let Some(repaired) = entry.and_then(|entry| entry.repaired_arguments(&call.arguments)) {
            call.arguments = repaired;
        }
    }

    /// Replaces a call of a tool that redirects by the call for which it stands, before anything else sees it. A call that
    /// stands for none, or for one of a tool of the framework, is left unchanged, and answered with the reason when it is
    /// prepared; so is one that is redirected to a tool that redirects: there is no second time.
    fn redirect_call(&self, call: &mut ToolCall) {
        if call.incomplete.is_some() || call.redirected_from.is_some() {
            return;
        }
        let Some(entry) = self.tools.entry(&call.name).filter(|entry| entry.redirects()) else { return };
        let Ok(redirection) = entry.redirection(call.arguments.as_borrowed()) else { return };
        if self.tools.is_redirection_target(&redirection.name) {
            self.replace_call(call, redirection);
        }
    }

    /// Replaces a call by the one for which it stands.
    pub(super) fn replace_call(&self, call: &mut ToolCall, redirection: Redirection) {
        call.redirected_from = Some(std::mem::replace(&mut call.name, redirection.name).into());
        call.arguments = redirection.arguments;
        if self.tools.repairs_arguments() {
            self.repair_call(call);
        }
    }

    /// Returns the number of calls that run together.
    fn wave_size(&self, requests: &[CallRequest<'_>]) -> usize {
        let is_sequential = |request: &CallRequest<'_>| {
            request.entry.is_some_and(|entry| entry.definition().metadata().sequential)
        };
        let size = match self.settings.strategy {
            ExecutionStrategy::Sequential => 1,
            ExecutionStrategy::Batched { size } => size,
            ExecutionStrategy::Parallel => requests.len(),
        };
        if size > 1 && (!self.settings.parallel || requests.iter().any(is_sequential)) {
            1
        } else {
            size.max(1)
        }
    }
}

impl BatchState {
    /// Answers a call that is not started.
    async fn answer_unstarted(
        &self,
        executor: &Arc<ExecutorParts>,
        request: &CallRequest<'_>,
        stop: StopReason,
    ) -> CallOutcome {
        let state = CallState::default();
        let definition = request.entry.map(Entry::definition);
        let finisher =
            CallFinisher { executor, batch: self, request, call: request.call, definition, state: &state };
        self.report_started(request).await;
        let error = request.call.completed().err().unwrap_or_else(|| stop.error());
        let answer = EarlyAnswer { outcome: Err(error), answered_by: AnswerSource::Executor };
        finisher.finish_and_record(CallEnd::Answered(answer)).await
    }
}

impl std::fmt::Debug for Batch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batch").field("calls", &self.calls).finish_non_exhaustive()
    }
}
