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
    Inner,
    event_sink::{EventSink, HOOK, Room, Subject, report_panic},
    prepare::Request,
    state::{CallScope, unless},
    update_queue::Backlog,
};
use crate::{
    event::{EventKind, ToolEvent},
    hook::{BoxHook, CallView},
    panics::run_in_call,
};

/// The reports of one call. Reports after its end are discarded.
pub(super) struct CallReports {
    executor: Arc<Inner>,
    outlet: EventSink,
    /// `true` if there are no receivers, and reports only reset the idle timeout.
    is_quiet: bool,
    subject: Subject,
    definition: ToolDefinition,
    run: Option<Arc<RunContext>>,
    /// The received arguments, for hooks.
    arguments: Arguments<'static>,
    /// The arguments in canonical form, once they are known.
    canonical: OnceLock<Arguments<'static>>,
    state: Mutex<State>,
    /// Cancelled when the call has ended.
    closed: CancellationToken,
    /// The stop caused by a panic of a hook.
    stop: OnceLock<ToolError>,
    backlog: Backlog,
}

pub(super) struct State {
    /// `true` while the call runs: later reports are discarded.
    running: bool,
    last_sign: Instant,
    /// Events for the reader, sent before the end of the call: the ends of calls below it whose batches were dropped.
    /// At most one for each of their starts, which waited for the reader.
    late: Vec<ToolEvent>,
}

impl CallReports {
    /// Creates the reports of the call `asked`, of a tool with `definition`, which runs in `cx`.
    pub(super) fn new(
        executor: &Arc<Inner>,
        around: &CallScope,
        asked: &Request<'_>,
        cx: &ToolContext,
        definition: &ToolDefinition,
    ) -> Self {
        let (call, has_hooks) = (asked.call, executor.settings.has_hooks());
        Self {
            executor: Arc::clone(executor),
            outlet: around.outlet.clone(),
            is_quiet: around.is_quiet,
            subject: Subject::new(around.address(asked), asked.name(), Some(definition)),
            definition: definition.clone(),
            run: cx.run().cloned(),
            arguments: if has_hooks { call.arguments.clone() } else { Arguments::EMPTY },
            canonical: OnceLock::new(),
            state: Mutex::new(State { running: true, last_sign: Instant::now(), late: Vec::new() }),
            closed: CancellationToken::new(),
            stop: OnceLock::new(),
            backlog: Backlog::default(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the final arguments of the call, after all steps that may change them.
    pub(super) fn are_of(&self, canonical: Arguments<'static>) {
        let _ = self.canonical.set(canonical);
    }

    /// Ends the reports: later ones are discarded, regardless of remaining handles.
    pub(super) fn close(&self) {
        self.lock().running = false;
        self.closed.cancel();
        self.backlog.close();
    }

    pub(super) fn backlog(&self) -> &Backlog {
        &self.backlog
    }

    /// Returns `true` if reports only reset the idle timeout.
    pub(super) fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    /// Sends `update` after all earlier reports.
    async fn update_in_order(&self, attempt: u32, update: ToolOutput) {
        self.show_kept().await;
        self.reported(attempt, update).await;
    }

    fn try_report(&self, attempt: u32, update: ToolOutput) -> bool {
        let is_running = self.sign().running;
        is_running && (self.is_quiet || self.backlog.try_add(attempt, update))
    }

    fn report_blocking(&self, attempt: u32, update: ToolOutput) -> Result<(), ToolError> {
        let is_running = self.sign().running;
        match is_running {
            false => Err(ToolError::cancelled()),
            true if self.is_quiet => Ok(()),
            true => self.backlog.add(attempt, update),
        }
    }

    /// Returns the time of the last report.
    pub(super) fn last_sign(&self) -> Instant {
        self.lock().last_sign
    }

    /// Resets the idle timeout.
    pub(super) fn sign(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        state.last_sign = Instant::now();
        state
    }

    /// Returns `true` if the call still runs and its events have a receiver.
    pub(super) fn is_heard(&self) -> bool {
        !self.is_quiet && self.lock().running && self.outlet.is_heard()
    }

    /// Stores the stop caused by a panic of a hook, if the executor is configured to stop.
    fn hook_panicked(&self, panic: ToolError) {
        let error = self.executor.settings.panic_of_hook(panic);
        if error.is_stop() {
            let _ = self.stop.set(error);
        }
    }

    /// Returns the stop caused by a hook that panicked on an update.
    pub(super) fn panic_of_hook(&self) -> Option<ToolError> {
        self.stop.get().cloned()
    }

    /// Returns the receiver of the run.
    fn sink(&self) -> Option<&Arc<dyn CallSink>> {
        self.run.as_ref()?.sink()
    }

    fn id(&self) -> &CallId {
        &self.subject.address.call_id
    }

    /// Sends an event of the call, unless it is over.
    fn send(&self, room: Room<'_>, kind: EventKind) -> bool {
        // Held until the event is sent, so that none follows the end of the call.
        let mut state = self.lock();
        if state.running {
            let event = self.outlet.event(self.subject.clone(), kind);
            if room.is_missing() && self.outlet.has_reader() {
                state.late.push(event.clone());
            }
            self.outlet.send(room, event);
        }
        state.running
    }

    /// Takes the events for which the reader had no capacity.
    pub(super) fn take_late(&self) -> Vec<ToolEvent> {
        std::mem::take(&mut self.lock().late)
    }

    /// Waits until the receivers of this call have capacity for an event of a run below it; empty once the call is
    /// over.
    pub(super) fn room_below(&self) -> BoxFuture<'_, Room<'_>> {
        Box::pin(async { unless(&self.closed, self.outlet.boxed_room()).await.unwrap_or_default() })
    }

    /// Returns the capacity that is available now for an event of a run below this call, and `true` if each reader has
    /// some.
    pub(super) fn room_below_now(&self) -> (Room<'_>, bool) {
        self.outlet.room_now()
    }

    /// Passes on an event of a run below the call. Returns `true` if `listeners` received it by this.
    pub(super) fn pass_on(
        &self,
        room: Room<'_>,
        event: &ToolEvent,
        listeners: &broadcast::Sender<ToolEvent>,
    ) -> bool {
        let reaches = self.outlet.reaches(listeners);
        self.send(room, EventKind::Child { event: Arc::new(event.clone()) }) && reaches
    }

    /// Returns `true` if `listeners` receive the events of this call.
    pub(super) fn reaches(&self, listeners: &broadcast::Sender<ToolEvent>) -> bool {
        self.outlet.reaches(listeners)
    }

    /// Sends a report without backpressure.
    fn note(&self, kind: EventKind) -> Result<(), ToolError> {
        if !self.is_heard() {
            return Ok(());
        }
        let (room, has_room) = self.outlet.room_now();
        if self.send(room, kind) && !has_room {
            let message = "the reader of the stream is too slow: its buffer is full";
            return Err(ToolError::new(ErrorKind::Unavailable, message));
        }
        Ok(())
    }

    fn hooks(&self) -> impl Iterator<Item = &BoxHook> {
        self.executor.settings.all_hooks()
    }

    /// Waits for the decision of the hooks to show the update of `view`, and for capacity; `None` if a hook suppresses
    /// it.
    async fn room(&self, view: &CallView<'_>, text: &str) -> Option<Room<'_>> {
        let turn = self.outlet.turn().await;
        for hook in self.hooks() {
            // If a hook panics, the update is suppressed.
            let is_shown = run_in_call(self.id(), HOOK, || hook.dynamic().before_update(view, text)).await;
            if !is_shown.map_err(|panic| self.hook_panicked(panic)).unwrap_or(false) {
                return None;
            }
        }
        drop(turn);
        Some(self.outlet.room().await)
    }

    /// Returns the same reports, of attempt `number`.
    pub(super) fn of_attempt(this: &Arc<Self>, number: u32) -> Arc<dyn CallSink> {
        Arc::new(AttemptReports { call: Arc::clone(this), number })
    }

    pub(super) async fn reported(&self, attempt: u32, update: ToolOutput) {
        if !self.sign().running || self.is_quiet {
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
        let Some(Some(room)) = unless(&self.closed, self.room(&view, &text)).await else { return };
        if !self.send(room, EventKind::Updated { attempt, update }) {
            return;
        }
        let _turn = self.outlet.turn().await;
        for hook in self.hooks() {
            // The update was shown; a panic after that does not change it.
            if let Err(error) =
                run_in_call(self.id(), HOOK, || hook.dynamic().after_update(&view, &text)).await
            {
                report_panic(&view, hook, "after_update", &error);
                self.hook_panicked(error);
            }
        }
    }
}

impl CallSink for CallReports {
    fn update(&self, update: ToolOutput) -> BoxFuture<'_, ()> {
        Box::pin(self.update_in_order(1, update))
    }

    fn try_update(&self, update: ToolOutput) -> bool {
        self.try_report(1, update)
    }

    fn blocking_update(&self, update: ToolOutput) -> Result<(), ToolError> {
        self.report_blocking(1, update)
    }

    fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        let is_running = self.sign().running;
        if let Some(sink) = self.sink().filter(|_| is_running) {
            sink.progress(progress.clone())?;
        }
        self.note(EventKind::Progress { progress })
    }

    fn log(&self, line: LogLine) -> Result<(), ToolError> {
        let is_running = self.sign().running;
        if let Some(sink) = self.sink().filter(|_| is_running) {
            sink.log(line.clone())?;
        }
        self.note(EventKind::Log { line: Arc::new(line) })
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

/// The reports of one call to the receiver of its run, on the fast path. Reports after its end are discarded.
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

    fn sink(&self) -> Option<&Arc<dyn CallSink>> {
        (!self.is_over.load(Ordering::Relaxed)).then_some(&self.sink)
    }
}

impl CallSink for RunReports {
    fn progress(&self, progress: Progress) -> Result<(), ToolError> {
        self.sink().map_or(Ok(()), |sink| sink.progress(progress))
    }

    fn log(&self, line: LogLine) -> Result<(), ToolError> {
        self.sink().map_or(Ok(()), |sink| sink.log(line))
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
        self.call.try_report(self.number, update)
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
