//! The shared state of a batch, and of each of its calls.

use std::{
    collections::BTreeMap,
    future::{Future, poll_fn},
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    task::Poll,
    time::Duration,
};

use serde_json::{Map, Value};
use tokio::{
    sync::Mutex as Turn,
    time::{Instant as Timed, timeout_at},
};
use tokio_util::sync::CancellationToken;
use tool_core::{
    Arguments, CallAddress, CallSink, RunContext, ToolContext, ToolDefinition, ToolError,
    internals::{apply_patch, current_grace},
};

use super::{
    Inner,
    attempt_stats::Runs,
    event_sink::{EventSink, Subject},
    prepare::Request,
    questions::Given,
    reports::{CallReports, RunReports},
    stop::Stop,
    timeouts::{Patience, keeps_time},
};
use crate::{CallOutcome, ToolResult, event::EventKind, policy::ApprovalRequest, registry::Entry};

/// The shared state of a batch.
pub(super) struct CallScope {
    pub(super) outlet: EventSink,
    /// `true` if there are no receivers of events and no hooks. Decided once: a listener that subscribes while a batch
    /// runs receives events from the next batch on.
    pub(super) is_quiet: bool,
    pub(super) run: Option<Arc<RunContext>>,
    /// The session state that the calls of a group read; not set if it is empty.
    state: OnceLock<Mutex<Arc<Map<String, Value>>>>,
    pub(super) token: Arc<CancellationToken>,
    /// The deadline of the run, and `true` if there is a timer.
    pub(super) end: Option<(Timed, bool)>,
    /// The error that stopped a batch without a run; a run stores it itself.
    pub(super) stopped: OnceLock<ToolError>,
    /// The calls whose start, but not whose end, listeners have received, by serial.
    begun: Mutex<BTreeMap<u64, Subject>>,
    /// The grace period of hooks.
    grace: Duration,
    /// The maximum grace period of bodies; inside another body, less than that body's own.
    most_grace: Duration,
    /// The time at which hooks must have ended once the batch is cancelled; `None` without a timer.
    hooks_end: OnceLock<Option<Timed>>,
    /// Held while a body's question is with the approver, which is never called for two calls of a batch at once.
    asking: OnceLock<Turn<()>>,
}

/// The state of one call of a group.
#[derive(Default)]
pub(super) struct CallPosition {
    /// The context of the call.
    pub(super) cx: Option<ToolContext>,
    /// The context of its first attempt, if there may be others.
    pub(super) first: Option<Box<ToolContext>>,
    pub(super) reports: Option<Arc<CallReports>>,
    /// The reports on the fast path, if the run has a receiver.
    run_reports: Option<Arc<RunReports>>,
    pub(super) runs: Runs,
    /// The answers to questions about the call; few calls have any.
    given: OnceLock<Box<Mutex<Given>>>,
    /// The canonical arguments, if a component inspects them.
    pub(super) arguments: Option<Box<Arguments<'static>>>,
    /// The grace period of a body that uses its token.
    pub(super) grace: Duration,
}

impl CallPosition {
    /// Returns the time at which a body that is cancelled now must have ended; `None` if it has no grace period.
    pub(super) fn grace_end(&self) -> Option<Timed> {
        let cx = self.cx.as_ref().filter(|cx| !self.grace.is_zero() && cx.wants_grace())?;
        let end = keeps_time().then(|| after(self.grace))?;
        let of_run = cx.run().and_then(|run| run.deadline());
        Some(of_run.map_or(end, |of_run| end.min(Timed::from_std(of_run))))
    }
}

/// Returns the instant `period` from now, or one in the far future if it overflows.
fn after(period: Duration) -> Timed {
    const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
    Timed::now() + period.min(FAR)
}

/// A batch inside a body has a third of its grace period for its own bodies, and another third for its hooks; the rest
/// remains for the body.
const NESTED: u32 = 3;

impl CallPosition {
    /// Ends the reports of the call: later ones are discarded.
    pub(super) fn close_reports(&self) {
        if let Some(reports) = &self.reports {
            reports.close();
        }
        if let Some(reports) = &self.run_reports {
            reports.close();
        }
    }

    /// Returns the stop caused by a hook that panicked on an update of the call.
    pub(super) fn panic_of_hook(&self) -> Option<ToolError> {
        self.reports.as_ref()?.panic_of_hook()
    }

    /// Returns the answers to questions about the call.
    pub(super) fn given(&self) -> MutexGuard<'_, Given> {
        let given = self.given.get_or_init(Box::default);
        given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the reports of a call, also if the batch is dropped: a tool that outlives its call in a task reports nothing
/// more.
impl Drop for CallPosition {
    fn drop(&mut self) {
        self.close_reports();
    }
}

impl CallScope {
    pub(super) fn new(
        outlet: EventSink,
        run: Option<Arc<RunContext>>,
        token: CancellationToken,
        grace: Duration,
    ) -> Self {
        let around = current_grace().map(|around| around / NESTED);
        let grace = around.map_or(grace, |around| around.min(grace));
        let most_grace = around.unwrap_or(Duration::MAX);
        let end = run.as_ref().and_then(|run| run.deadline());
        let end = end.map(|end| (Timed::from_std(end), keeps_time()));
        Self {
            is_quiet: outlet.is_quiet(),
            outlet,
            state: OnceLock::new(),
            run,
            token: Arc::new(token),
            end,
            stopped: OnceLock::new(),
            begun: Mutex::default(),
            grace,
            most_grace,
            hooks_end: OnceLock::new(),
            asking: OnceLock::new(),
        }
    }

    /// Returns the address of a call.
    pub(super) fn address(&self, asked: &Request<'_>) -> CallAddress {
        let arrived_now = || CallAddress {
            run: self.run.as_ref().map(|run| run.id().clone()),
            call_id: asked.call.id.clone(),
            serial: asked.serial,
        };
        asked.confirmed.map_or_else(arrived_now, |confirmed| confirmed.address().clone())
    }

    /// Waits for the exclusive right to call the approver while bodies run.
    pub(super) async fn turn_to_ask(&self) -> impl Drop {
        self.asking.get_or_init(Turn::default).lock().await
    }

    /// Creates the position of a call, with the context in which its tool runs.
    pub(super) fn place(&self, executor: &Arc<Inner>, entry: &Entry, asked: &Request<'_>) -> CallPosition {
        let call = asked.call;
        let mut cx =
            executor.tools.call_context(entry, (call.id.clone(), asked.serial), Arc::clone(&self.token));
        if let Some(confirmed) = asked.confirmed {
            cx.arrived_at(confirmed.address().clone());
        }
        if let Some(run) = &self.run {
            cx = cx.with_run(Arc::clone(run));
        }
        if let Some(state) = self.state.get() {
            cx = cx.with_state(Arc::clone(&state.lock().unwrap_or_else(PoisonError::into_inner)));
        }
        if let Some(meta) = &call.meta {
            cx = cx.with_meta(meta.clone());
        }
        if !call.resources.is_empty() {
            cx = cx.with_resources(call.resources.clone());
        }
        let metadata = entry.definition().metadata();
        if metadata.blocking {
            cx.provide(Arc::new(Arc::clone(&executor.detached)));
        }
        let grace = metadata.grace_period.unwrap_or(executor.settings.grace_period).min(self.most_grace);
        let patience = Patience::new(&executor.settings, metadata);
        let (mut reports, mut run_reports) = (None, None);
        if !self.is_quiet || patience.waits_for_signs() {
            let new = Arc::new(CallReports::new(executor, self, asked, &cx, entry.definition()));
            cx = cx.with_sink(Arc::clone(&new) as Arc<dyn CallSink>);
            reports = Some(new);
        } else if let Some(sink) = self.run.as_ref().and_then(|run| run.sink()) {
            let new = Arc::new(RunReports::new(Arc::clone(sink)));
            cx = cx.with_sink(Arc::clone(&new) as Arc<dyn CallSink>);
            run_reports = Some(new);
        }
        CallPosition {
            cx: Some(cx),
            first: None,
            reports,
            run_reports,
            runs: Runs::default(),
            given: OnceLock::new(),
            arguments: None,
            grace,
        }
    }

    /// Begins a group: its calls read the session state as it is now.
    pub(super) fn begin_group(&self) {
        if let Some(run) = &self.run {
            *self.state() = run.state();
        }
    }

    fn state(&self) -> MutexGuard<'_, Arc<Map<String, Value>>> {
        self.state.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a group: the changes of its successful calls are applied in order, for later calls.
    pub(super) fn end_group(&self, outcomes: &[CallOutcome]) {
        let actions = outcomes.iter().filter_map(|outcome| outcome.result()?.actions());
        for actions in actions.filter(|actions| !actions.state.is_empty()) {
            match &self.run {
                Some(run) => {
                    // Usually the only reference is here, so that the state is changed in place and not copied.
                    *self.state() = Arc::default();
                    run.change_state(&actions.state);
                }
                None => apply_patch(Arc::make_mut(&mut self.state()), &actions.state),
            }
        }
    }

    /// Returns `true` if the run has a deadline.
    pub(super) fn is_timed(&self) -> bool {
        self.end.is_some()
    }

    pub(super) fn run(&self) -> Option<&Arc<RunContext>> {
        self.run.as_ref()
    }

    /// Returns the output of `future`, unless the batch is stopped before.
    pub(super) async fn unless_stopped<F: Future>(&self, future: F) -> Result<F::Output, Stop> {
        let done = unless(&self.token, future);
        let done = match self.end {
            // Boxed, so that the future of a batch without a deadline does not contain a timer.
            Some((end, true)) => Box::pin(timeout_at(end, done)).await.map_err(|_| Stop::Late)?,
            _ => done.await,
        };
        done.ok_or(Stop::Cancelled)
    }

    /// Returns the output of `future`, which calls hooks or a store at the end of a call. Once the batch is cancelled
    /// or its run has no time left, all such futures share the grace period; `None` for one that takes longer.
    pub(super) async fn in_grace<F: Future>(&self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        if let Ok(output) = self.unless_stopped(&mut future).await {
            return Some(output);
        }
        let end = *self.hooks_end.get_or_init(|| keeps_time().then(|| after(self.grace)));
        timeout_at(end?, future).await.ok()
    }

    /// Sends `ApprovalRequested`.
    pub(super) async fn asking(&self, request: &ApprovalRequest, definition: &ToolDefinition) {
        if self.is_quiet {
            return;
        }
        let event = || {
            let name = request.call.name.as_str().into();
            let subject = Subject::new(request.address.clone(), name, Some(definition));
            (subject, EventKind::ApprovalRequested { request: Arc::new(request.clone()) })
        };
        self.outlet.tell(event).await;
    }

    /// Sends `Started`.
    pub(super) async fn started(&self, asked: &Request<'_>) {
        if self.is_quiet {
            return;
        }
        let subject = self.subject(asked);
        let started = || {
            let call = self.outlet.shown(asked.call, asked.entry.map(Entry::definition));
            (subject.clone(), EventKind::Started { call: Arc::new(call) })
        };
        self.outlet.tell(started).await;
        // Recorded after sending: listeners receive the event last, once the reader of the stream has capacity.
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.insert(asked.serial, subject);
    }

    /// Returns the subject of the events of a call.
    pub(super) fn subject(&self, asked: &Request<'_>) -> Subject {
        Subject::new(self.address(asked), asked.name(), asked.entry.map(Entry::definition))
    }

    /// Records that listeners received the end of the call, or will receive it elsewhere.
    pub(super) fn ended(&self, asked: &Request<'_>) {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).remove(&asked.serial);
    }
}

/// Sends `Finished` for the open calls of a dropped batch to its listeners.
impl Drop for CallScope {
    fn drop(&mut self) {
        let begun = self.begun.get_mut().unwrap_or_else(PoisonError::into_inner);
        while let Some((_, subject)) = begun.pop_first() {
            let error = ToolError::cancelled().of_tool(subject.name.to_string());
            let id = subject.address.call_id.clone();
            let result = Arc::new(ToolResult::new(id, Arc::clone(&subject.name), Err(error)));
            self.outlet.tell_listeners(self.outlet.event(subject, EventKind::Finished { result }));
        }
    }
}

/// Returns the output of `future`, unless `token` is cancelled before. The future is polled first, so that it can react
/// to the cancellation itself.
pub(super) async fn unless<F: Future>(token: &CancellationToken, future: F) -> Option<F::Output> {
    let (mut future, mut cancelled) = (pin!(future), pin!(token.cancelled()));
    poll_fn(|task| {
        if let Poll::Ready(value) = future.as_mut().poll(task) {
            return Poll::Ready(Some(value));
        }
        // Polled again, since the token may have been cancelled after the first poll.
        cancelled.as_mut().poll(task).map(|()| match future.as_mut().poll(task) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        })
    })
    .await
}
