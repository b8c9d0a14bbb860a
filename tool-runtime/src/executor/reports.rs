//! Reports of a running call, and of the runs below it.

use std::{
    any::Any,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::{sync::broadcast, time::Instant};
use tokio_util::sync::CancellationToken;
use tool_core::{
    Arguments, BoxFuture, CallId, CallSink, ErrorKind, LogLine, Progress, RunContext, ToolContext,
    ToolDefinition, ToolError, ToolOutput,
};

use super::{
    ExecutorParts,
    event_sink::{EventCapacity, EventSink, EventSubject, HOOK_COMPONENT, report_panic},
    prepare::CallRequest,
    state::{BatchState, unless_cancelled},
    update_queue::UpdateQueue,
};
use crate::{
    event::{EventKind, ToolEvent},
    hook::{CallView, SharedHook},
    panics::run_in_call,
};

/// The reports of one call. Reports after its end are discarded.
pub(super) struct CallReports {
    executor: Arc<ExecutorParts>,
    events: EventSink,
    /// `true` if there are no receivers, and reports only reset the idle timeout.
    is_unobserved: bool,
    subject: EventSubject,
    definition: ToolDefinition,
    run: Option<Arc<RunContext>>,
    /// The received arguments, for hooks.
    arguments: Arguments<'static>,
    /// The arguments in canonical form, once they are known.
    canonical: OnceLock<Arguments<'static>>,
    state: Mutex<ReportState>,
    /// Cancelled when the call has ended.
    closed: CancellationToken,
    /// The stop caused by a panic of a hook.
    stop: OnceLock<ToolError>,
    queue: UpdateQueue,
}

pub(super) struct ReportState {
    /// `true` while the call runs: later reports are discarded.
    running: bool,
    last_activity: Instant,
    /// Events for the reader, sent before the end of the call: the ends of calls below it whose batches were dropped.
    /// At most one for each of their starts, which waited for the reader.
    late: Vec<ToolEvent>,
}

impl CallReports {
    /// Creates the reports of the call of `request`, of a tool with `definition`, which runs in `cx`.
    pub(super) fn new(
        executor: &Arc<ExecutorParts>,
        batch: &BatchState,
        request: &CallRequest<'_>,
        cx: &ToolContext,
        definition: &ToolDefinition,
    ) -> Self {
        let (call, has_hooks) = (request.call, executor.settings.has_hooks());
        Self {
            executor: Arc::clone(executor),
            events: batch.events.clone(),
            is_unobserved: batch.is_unobserved,
            subject: EventSubject::new(batch.address_of(request), request.name(), Some(definition)),
            definition: definition.clone(),
            run: cx.run().cloned(),
            arguments: if has_hooks { call.arguments.clone() } else { Arguments::EMPTY },
            canonical: OnceLock::new(),
            state: Mutex::new(ReportState { running: true, last_activity: Instant::now(), late: Vec::new() }),
            closed: CancellationToken::new(),
            stop: OnceLock::new(),
            queue: UpdateQueue::default(),
        }
    }

    fn lock_state(&self) -> MutexGuard<'_, ReportState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the final arguments of the call, after all steps that may change them.
    pub(super) fn set_canonical_arguments(&self, canonical: Arguments<'static>) {
        let _ = self.canonical.set(canonical);
    }

    /// Ends the reports: later ones are discarded, regardless of remaining handles.
    pub(super) fn close(&self) {
        self.lock_state().running = false;
        self.closed.cancel();
        self.queue.close();
    }

    pub(super) fn queue(&self) -> &UpdateQueue {
        &self.queue
    }

    /// Returns `true` if reports only reset the idle timeout.
    pub(super) fn is_unobserved(&self) -> bool {
        self.is_unobserved
    }

    /// Sends `update` after all earlier reports.
    async fn update_in_order(&self, attempt: u32, update: ToolOutput) {
        self.send_queued().await;
        self.send_update(attempt, update).await;
    }

    fn try_queue_update(&self, attempt: u32, update: ToolOutput) -> bool {
        let is_running = self.record_activity().running;
        is_running && (self.is_unobserved || self.queue.try_push(attempt, update))
    }

    fn report_blocking(&self, attempt: u32, update: ToolOutput) -> Result<(), ToolError> {
        let is_running = self.record_activity().running;
        match is_running {
            false => Err(ToolError::cancelled()),
            true if self.is_unobserved => Ok(()),
            true => self.queue.push_blocking(attempt, update),
        }
    }

    /// Returns the time of the last report.
    pub(super) fn last_activity(&self) -> Instant {
        self.lock_state().last_activity
    }

    /// Resets the idle timeout.
    pub(super) fn record_activity(&self) -> MutexGuard<'_, ReportState> {
        let mut state = self.lock_state();
        state.last_activity = Instant::now();
        state
    }

    /// Returns `true` if the call still runs and its events have a receiver.
    pub(super) fn has_receiver(&self) -> bool {
        !self.is_unobserved && self.lock_state().running && self.events.has_receiver()
    }

    /// Stores the stop caused by a panic of a hook, if the executor is configured to stop.
    fn record_hook_panic(&self, panic: ToolError) {
        let error = self.executor.settings.hook_panic_error(panic);
        if error.is_stop() {
            let _ = self.stop.set(error);
        }
    }

    /// Returns the stop caused by a hook that panicked on an update.
    pub(super) fn hook_panic_stop(&self) -> Option<ToolError> {
        self.stop.get().cloned()
    }

    /// Returns the receiver of the run.
    fn run_sink(&self) -> Option<&Arc<dyn CallSink>> {
        self.run.as_ref()?.sink()
    }

    fn id(&self) -> &CallId {
        &self.subject.address.call_id
    }

    /// Sends an event of the call, unless it is over.
    fn send(&self, capacity: EventCapacity<'_>, kind: EventKind) -> bool {
        // Held until the event is sent, so that none follows the end of the call.
        let mut state = self.lock_state();
        if state.running {
            let event = self.events.new_event(self.subject.clone(), kind);
            if capacity.must_queue() && self.events.has_reader() {
                state.late.push(event.clone());
            }
            self.events.send(capacity, event);
        }
        state.running
    }

    /// Takes the events for which the reader had no capacity.
    pub(super) fn take_late_events(&self) -> Vec<ToolEvent> {
        std::mem::take(&mut self.lock_state().late)
    }

    /// Waits until the receivers of this call have capacity for an event of a run below it; empty once the call is
    /// over.
    pub(super) fn reserve_for_child(&self) -> BoxFuture<'_, EventCapacity<'_>> {
        Box::pin(async {
            unless_cancelled(&self.closed, self.events.boxed_reserve_capacity()).await.unwrap_or_default()
        })
    }

    /// Returns the capacity that is available now for an event of a run below this call, and `true` if each reader has
    /// some.
    pub(super) fn try_reserve_for_child(&self) -> (EventCapacity<'_>, bool) {
        self.events.try_reserve_capacity()
    }

    /// Passes on an event of a run below the call. Returns `true` if `listeners` received it by this.
    pub(super) fn forward_child_event(
        &self,
        capacity: EventCapacity<'_>,
        event: &ToolEvent,
        listeners: &broadcast::Sender<ToolEvent>,
    ) -> bool {
        let reaches = self.events.reaches_listeners(listeners);
        self.send_child_event(capacity, event.clone()) && reaches
    }

    /// Sends an event of a run below the call; returns `false` if the call is over.
    pub(super) fn send_child_event(&self, capacity: EventCapacity<'_>, event: ToolEvent) -> bool {
        self.send(capacity, EventKind::Child { event: Arc::new(event) })
    }

    /// Returns `true` if `listeners` receive the events of this call.
    pub(super) fn reaches_listeners(&self, listeners: &broadcast::Sender<ToolEvent>) -> bool {
        self.events.reaches_listeners(listeners)
    }

    /// Sends a report without backpressure.
    fn send_now(&self, kind: EventKind) -> Result<(), ToolError> {
        if !self.has_receiver() {
            return Ok(());
        }
        let (capacity, has_room) = self.events.try_reserve_capacity();
        if self.send(capacity, kind) && !has_room {
            let message = "the reader of the stream is too slow: its buffer is full";
            return Err(ToolError::new(ErrorKind::Unavailable, message));
        }
        Ok(())
    }

    fn hooks(&self) -> impl Iterator<Item = &SharedHook> {
        self.executor.settings.all_hooks()
    }

    /// Waits for the decision of the hooks to show the update of `view`, and for capacity; `None` if a hook suppresses
    /// it.
    async fn reserve_for_update(&self, view: &CallView<'_>, text: &str) -> Option<EventCapacity<'_>> {
        let turn = self.events.hook_turn().await;
        for hook in self.hooks() {
            // If a hook panics, the update is suppressed.
            let is_shown =
                run_in_call(self.id(), HOOK_COMPONENT, || hook.dynamic().before_update(view, text)).await;
            if !is_shown.map_err(|panic| self.record_hook_panic(panic)).unwrap_or(false) {
                return None;
            }
        }
        drop(turn);
        Some(self.events.reserve_capacity().await)
    }

    /// Returns the same reports, of attempt `number`.
    pub(super) fn for_attempt(this: &Arc<Self>, number: u32) -> Arc<dyn CallSink> {
        Arc::new(AttemptReports { call: Arc::clone(this), number })
    }

    pub(super) async fn send_update(&self, attempt: u32, update: ToolOutput) {
        if !self.record_activity().running || self.is_unobserved {
            return;
        }
        let text = update.text().into_owned();
        let view = CallView {
            id: self.id(),
            tool: &self.subject.name,
            arguments: self.canonical.get().unwrap_or(&self.arguments),
            definition: Some(&self.definition),
            cx: None,
            run: self.run.as_ref(),
        };
        // Capacity is acquired first, so that events are sent while the call runs. A task that outlives its call delays
        // nothing here.
        let Some(Some(capacity)) =
            unless_cancelled(&self.closed, self.reserve_for_update(&view, &text)).await
        else {
            return;
        };
        if !self.send(capacity, EventKind::Updated { attempt, update }) {
            return;
        }
        let _turn = self.events.hook_turn().await;
        for hook in self.hooks() {
            // The update was shown; a panic after that does not change it.
            if let Err(error) =
                run_in_call(self.id(), HOOK_COMPONENT, || hook.dynamic().after_update(&view, &text)).await
            {
                report_panic(&view, hook, "after_update", &error);
                self.record_hook_panic(error);
            }
        }
    }
}

impl CallSink for CallReports {
    fn update(&self, update: ToolOutput) -> BoxFuture<'_, ()> {
        Box::pin(self.update_in_order(1, update))
    }

    fn try_update(&self, update: ToolOutput) -> bool {
        self.try_queue_update(1, update)
    }

    fn blocking_update(&self, update: ToolOutput) -> Result<(), ToolError> {
        self.report_blocking(1, update)
    }

    fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        let is_running = self.record_activity().running;
        if let Some(sink) = self.run_sink().filter(|_| is_running) {
            sink.progress(progress.clone())?;
        }
        self.send_now(EventKind::Progress { progress })
    }

    fn log(&self, line: LogLine) -> Result<(), ToolError> {
        let is_running = self.record_activity().running;
        if let Some(sink) = self.run_sink().filter(|_| is_running) {
            sink.log(line.clone())?;
        }
        self.send_now(EventKind::Log { line: Arc::new(line) })
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

/// The reports of one call to the receiver of its run alone. Reports after its end are discarded.
pub(super) struct RunReports {
    sink: Arc<dyn CallSink>,
    is_over: AtomicBool,
}

impl RunReports {
    pub(super) fn new(sink: Arc<dyn CallSink>) -> Self {
        Self { sink, is_over: AtomicBool::new(false) }
    }

    pub(super) fn close(&self) {
        self.is_over.store(true, Ordering::Relaxed);
    }

    fn run_sink(&self) -> Option<&Arc<dyn CallSink>> {
        (!self.is_over.load(Ordering::Relaxed)).then_some(&self.sink)
    }
}

impl CallSink for RunReports {
    fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        self.run_sink().map_or(Ok(()), |sink| sink.progress(progress))
    }

    fn log(&self, line: LogLine) -> Result<(), ToolError> {
        self.run_sink().map_or(Ok(()), |sink| sink.log(line))
    }
}

/// The reports of one attempt after the first.
struct AttemptReports {
    call: Arc<CallReports>,
    number: u32,
}

impl CallSink for AttemptReports {
    fn update(&self, update: ToolOutput) -> BoxFuture<'_, ()> {
        Box::pin(self.call.update_in_order(self.number, update))
    }

    fn try_update(&self, update: ToolOutput) -> bool {
        self.call.try_queue_update(self.number, update)
    }

    fn blocking_update(&self, update: ToolOutput) -> Result<(), ToolError> {
        self.call.report_blocking(self.number, update)
    }

    fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        self.call.progress(progress)
    }
    fn log(&self, line: LogLine) -> Result<(), ToolError> {
        self.call.log(line)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(&*self.call)
    }
}
