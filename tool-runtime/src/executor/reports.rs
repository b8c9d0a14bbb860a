//! What one call reports while it runs, and what runs below it report.

use std::{
    any::Any,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
};

use tokio::{sync::broadcast, time::Instant};
use tokio_util::sync::CancellationToken;
use tool_core::{
    Arguments, BoxFuture, CallId, CallSink, ErrorKind, LogLine, Progress, RunContext, ToolContext,
    ToolDefinition, ToolError, ToolOutput,
};

use super::{
    Inner,
    backlog::Backlog,
    event_sink::{EventSink, HOOK, Room, Subject, report_panic},
    prepare::Request,
    scope::{CallScope, unless},
};
use crate::{
    event::{EventKind, ToolEvent},
    hook::{BoxHook, CallView},
    panic_barrier::shielded,
};

/// What one call reports while it runs, and only then.
pub(super) struct CallReports {
    executor: Arc<Inner>,
    outlet: EventSink,
    /// Whether nobody is told, and only signs of life are waited for.
    is_quiet: bool,
    subject: Subject,
    definition: ToolDefinition,
    run: Option<Arc<RunContext>>,
    /// As they came; for hooks.
    arguments: Arguments<'static>,
    /// The same in canonical form, once it is known.
    canonical: OnceLock<Arguments<'static>>,
    state: Mutex<State>,
    /// Cancelled when the call has ended.
    closed: CancellationToken,
    /// The stop by a hook that panicked.
    stop: OnceLock<ToolError>,
    backlog: Backlog,
}

pub(super) struct State {
    /// Whether the call still runs: what is reported later is lost.
    running: bool,
    last_sign: Instant,
    /// For the reader, before the end of the call: the ends of calls below it whose batches were dropped. At most one for
    /// each of their starts, with which they wait for the reader.
    late: Vec<ToolEvent>,
}

impl CallReports {
    /// The reports of the call `asked`, of a tool with `definition`, which runs in `cx`.
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
            subject: Subject::new(around.address(asked), Arc::clone(&call.name), Some(definition)),
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

    /// Says with which arguments the call is made, after all that may have changed them.
    pub(super) fn are_of(&self, canonical: Arguments<'static>) {
        let _ = self.canonical.set(canonical);
    }

    /// Ends the reports: nothing follows, whoever still holds them.
    pub(super) fn close(&self) {
        self.lock().running = false;
        self.closed.cancel();
        self.backlog.close();
    }

    pub(super) fn backlog(&self) -> &Backlog {
        &self.backlog
    }

    /// Returns `true` if reports are only signs of life.
    pub(super) fn is_quiet(&self) -> bool {
        self.is_quiet
    }

    /// Shows `update` after what was reported before it.
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

    /// When the tool last gave a sign of life.
    pub(super) fn last_sign(&self) -> Instant {
        self.lock().last_sign
    }

    /// Starts to wait for a sign of life.
    pub(super) fn sign(&self) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        state.last_sign = Instant::now();
        state
    }

    /// Whether anybody hears of the call, which still runs.
    pub(super) fn is_heard(&self) -> bool {
        !self.is_quiet && self.lock().running && self.outlet.is_heard()
    }

    /// Keeps the stop that a panic of a hook is, where the executor is set so.
    fn hook_panicked(&self, panic: ToolError) {
        let error = self.executor.settings.panic_of_hook(panic);
        if error.is_stop() {
            let _ = self.stop.set(error);
        }
    }

    /// The stop by a hook that panicked about an update.
    pub(super) fn panic_of_hook(&self) -> Option<ToolError> {
        self.stop.get().cloned()
    }

    fn id(&self) -> &CallId {
        &self.subject.address.call_id
    }

    /// Sends an event of the call, unless it is over.
    fn send(&self, room: Room<'_>, kind: EventKind) -> bool {
        // Held until it is sent, so that nothing follows the end of the call.
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

    /// The events for which the reader had no room when they happened.
    pub(super) fn take_late(&self) -> Vec<ToolEvent> {
        std::mem::take(&mut self.lock().late)
    }

    /// Waits until those who hear of this call have room for an event of a run below it; there is none once the call is
    /// over.
    pub(super) fn room_below(&self) -> BoxFuture<'_, Room<'_>> {
        Box::pin(async { unless(&self.closed, self.outlet.boxed_room()).await.unwrap_or_default() })
    }

    /// The room that there is now for an event of a run below this call, and whether each reader has some.
    pub(super) fn room_below_now(&self) -> (Room<'_>, bool) {
        self.outlet.room_now()
    }

    /// Passes on an event of a run below the call. Returns `true` if `listeners` have heard of it by this.
    pub(super) fn pass_on(
        &self,
        room: Room<'_>,
        event: &ToolEvent,
        listeners: &broadcast::Sender<ToolEvent>,
    ) -> bool {
        let reaches = self.outlet.reaches(listeners);
        self.send(room, EventKind::Child { event: Arc::new(event.clone()) }) && reaches
    }

    /// Whether what happens to this call is told to `listeners`.
    pub(super) fn reaches(&self, listeners: &broadcast::Sender<ToolEvent>) -> bool {
        self.outlet.reaches(listeners)
    }

    /// Reports what is not waited for.
    fn note(&self, kind: EventKind) -> Result<(), ToolError> {
        if !self.is_heard() {
            return Ok(());
        }
        let (room, has_room) = self.outlet.room_now();
        if self.send(room, kind) && !has_room {
            let message = "the reader of the stream is behind, and has no room for the note";
            return Err(ToolError::new(ErrorKind::Unavailable, message));
        }
        Ok(())
    }

    fn hooks(&self) -> impl Iterator<Item = &BoxHook> {
        self.executor.settings.all_hooks()
    }

    /// Asks the hooks whether the update of `view` is shown, and waits until there is room for it; `None`
    /// where it is kept back.
    async fn room(&self, view: &CallView<'_>, text: &str) -> Option<Room<'_>> {
        let turn = self.outlet.turn().await;
        for hook in self.hooks() {
            // A hook that panics is no reason to show what it might have kept back.
            let is_shown = shielded(self.id(), HOOK, || hook.dynamic().before_update(view, text)).await;
            if !is_shown.map_err(|panic| self.hook_panicked(panic)).unwrap_or(false) {
                return None;
            }
        }
        drop(turn);
        Some(self.outlet.room().await)
    }

    /// The same reports, of attempt `number`.
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
        // Room first, so that what is told is told while the call runs. A task that outlives its call holds
        // up nobody here.
        let Some(Some(room)) = unless(&self.closed, self.room(&view, &text)).await else { return };
        if !self.send(room, EventKind::Updated { attempt, update }) {
            return;
        }
        let _turn = self.outlet.turn().await;
        for hook in self.hooks() {
            // It was shown; whether somebody could be told of that changes nothing.
            if let Err(error) = shielded(self.id(), HOOK, || hook.dynamic().after_update(&view, &text)).await
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
        drop(self.sign());
        self.note(EventKind::Progress { progress })
    }

    fn log(&self, line: LogLine) -> Result<(), ToolError> {
        drop(self.sign());
        self.note(EventKind::Log { line: Arc::new(line) })
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

/// What one attempt after the first reports.
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
