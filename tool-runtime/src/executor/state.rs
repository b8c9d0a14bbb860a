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
    internals::current_grace, merge_patch,
};

use super::{
    ExecutorParts,
    attempt_stats::AttemptStats,
    boxed::boxed,
    event_sink::{EventSink, EventSubject},
    prepare::CallRequest,
    questions::QuestionAnswers,
    remote::{RedirectError, UnansweredSteps},
    reports::{CallReports, RunReports},
    stop::StopReason,
    timeouts::{AttemptTimeouts, has_timer},
};
use crate::{CallOutcome, Registry, ToolResult, event::EventKind, policy::ApprovalRequest, registry::Entry};

/// The shared state of a batch.
pub(super) struct BatchState {
    pub(super) events: EventSink,
    /// `true` if there are no receivers of events and no hooks. Decided once: a listener that subscribes while a batch
    /// runs receives events from the next batch on.
    pub(super) is_unobserved: bool,
    pub(super) run: Option<Arc<RunContext>>,
    /// The session state that the calls of a wave read; not set if it is empty.
    session_state: OnceLock<Mutex<Arc<Map<String, Value>>>>,
    pub(super) token: Arc<CancellationToken>,
    /// The deadline of the run, and `true` if there is a timer.
    pub(super) deadline: Option<(Timed, bool)>,
    /// The error that stopped a batch without a run; a run stores it itself.
    pub(super) stop_error: OnceLock<ToolError>,
    /// The calls whose start, but not whose end, listeners have received, by serial.
    open_subjects: Mutex<BTreeMap<u64, EventSubject>>,
    /// The grace period of hooks.
    grace: Duration,
    /// The maximum grace period of bodies; inside another body, less than that body's own.
    max_grace: Duration,
    /// The time at which hooks must have ended once the batch is cancelled; `None` without a timer.
    hooks_deadline: OnceLock<Option<Timed>>,
    /// The errors of calls that stand for others, as another process knows, by serial.
    pub(super) redirect_errors: OnceLock<BTreeMap<u64, RedirectError>>,
    /// The processes that did not answer about one of the calls.
    pub(super) unanswered: UnansweredSteps,
    /// Held while a body's question is with the approver, which is never called for two calls of a batch at once.
    approver_turn: OnceLock<Turn<()>>,
}

/// The state of one call of a wave.
#[derive(Default)]
pub(super) struct CallState {
    /// The context of the call.
    pub(super) cx: Option<ToolContext>,
    /// The context of its first attempt, if there may be others.
    pub(super) first: Option<Box<ToolContext>>,
    pub(super) reports: Option<Arc<CallReports>>,
    /// The reports to the receiver of the run, if events have no receiver.
    run_reports: Option<Arc<RunReports>>,
    pub(super) stats: AttemptStats,
    /// The answers to questions about the call; few calls have any.
    answers: OnceLock<Box<Mutex<QuestionAnswers>>>,
    /// The canonical arguments, if a component inspects them.
    pub(super) arguments: Option<Box<Arguments<'static>>>,
    /// The grace period of a body that uses its token.
    pub(super) grace: Duration,
}

impl CallState {
    /// Returns the time at which a body that is cancelled now must have ended; `None` if it has no grace period.
    pub(super) fn grace_deadline(&self) -> Option<Timed> {
        let cx = self.cx.as_ref().filter(|cx| !self.grace.is_zero() && cx.wants_grace())?;
        let end = has_timer().then(|| instant_after(self.grace))?;
        let of_run = cx.run().and_then(|run| run.deadline());
        Some(of_run.map_or(end, |of_run| end.min(Timed::from_std(of_run))))
    }
}

/// Returns the instant `period` from now, or one in the far future if it overflows.
fn instant_after(period: Duration) -> Timed {
    const MAX_PERIOD: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
    Timed::now() + period.min(MAX_PERIOD)
}

/// A batch inside a body has a third of its grace period for its own bodies, and another third for its hooks; the rest
/// remains for the body.
const NESTED_GRACE_DIVISOR: u32 = 3;

impl CallState {
    /// Ends the reports of the call: later ones are discarded.
    #[inline]
    pub(super) fn close_reports(&self) {
        if let Some(reports) = &self.reports {
            reports.close();
        }
        if let Some(reports) = &self.run_reports {
            reports.close();
        }
    }

    /// Returns the stop caused by a hook that panicked on an update of the call.
    pub(super) fn hook_panic_stop(&self) -> Option<ToolError> {
        self.reports.as_ref()?.hook_panic_stop()
    }

    /// Returns the answers to questions about the call.
    pub(super) fn answers(&self) -> MutexGuard<'_, QuestionAnswers> {
        let answers = self.answers.get_or_init(Box::default);
        answers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the reports of a call, also if the batch is dropped: a tool that outlives its call in a task reports nothing
/// more.
impl Drop for CallState {
    fn drop(&mut self) {
        self.close_reports();
    }
}

impl BatchState {
    pub(super) fn new(
        events: EventSink,
        run: Option<Arc<RunContext>>,
        token: CancellationToken,
        grace: Duration,
    ) -> Self {
        let outer = current_grace().map(|outer| outer / NESTED_GRACE_DIVISOR);
        let grace = outer.map_or(grace, |outer| outer.min(grace));
        let max_grace = outer.unwrap_or(Duration::MAX);
        let deadline = run.as_ref().and_then(|run| run.deadline());
        let deadline = deadline.map(|end| (Timed::from_std(end), has_timer()));
        Self {
            is_unobserved: events.is_unobserved(),
            events,
            session_state: OnceLock::new(),
            run,
            token: Arc::new(token),
            deadline,
            stop_error: OnceLock::new(),
            open_subjects: Mutex::default(),
            grace,
            max_grace,
            hooks_deadline: OnceLock::new(),
            redirect_errors: OnceLock::new(),
            unanswered: UnansweredSteps::default(),
            approver_turn: OnceLock::new(),
        }
    }

    /// Returns the address of a call.
    pub(super) fn address_of(&self, request: &CallRequest<'_>) -> CallAddress {
        if let Some(address) = &request.call.address {
            return (**address).clone();
        }
        let arrived_now = || CallAddress {
            run: self.run.as_ref().map(|run| run.id().clone()),
            call_id: request.call.id.clone(),
            serial: request.serial,
        };
        request.confirmed.map_or_else(arrived_now, |confirmed| confirmed.address().clone())
    }

    /// Waits for the exclusive right to call the approver while bodies run.
    pub(super) async fn lock_approver(&self) -> impl Drop {
        self.approver_turn.get_or_init(Turn::default).lock().await
    }

    /// Begins a call: `state` receives the context in which its tool runs, and the reports.
    pub(super) fn begin_call(
        &self,
        executor: &Arc<ExecutorParts>,
        entry: &Entry,
        request: &CallRequest<'_>,
        state: &mut CallState,
    ) {
        let call = request.call;
        // Made in its place: it is large.
        let cx = state.cx.insert(Registry::call_context(
            entry,
            &executor.provided,
            (call.id.clone(), request.serial),
            Arc::clone(&self.token),
        ));
        if let Some(address) = &call.address {
            cx.arrived_at((**address).clone());
        } else if let Some(confirmed) = request.confirmed {
            cx.arrived_at(confirmed.address().clone());
        }
        if let Some(run) = &self.run {
            cx.set_run(Arc::clone(run));
        }
        if let Some(session) = self.session_state.get() {
            cx.set_state(Arc::clone(&session.lock().unwrap_or_else(PoisonError::into_inner)));
        }
        if call.meta.is_some() || !call.resources.is_empty() {
            cx.set_request_parts(call.meta.clone(), call.resources.clone());
        }
        let metadata = entry.definition().metadata();
        if metadata.blocking {
            cx.provide(Arc::new(Arc::clone(&executor.detached)));
        }
        state.grace = metadata.grace_period.unwrap_or(executor.settings.grace_period).min(self.max_grace);
        let timeouts = AttemptTimeouts::new(&executor.settings, metadata);
        if !self.is_unobserved || timeouts.has_idle_timeout() {
            let new = Arc::new(CallReports::new(executor, self, request, cx, entry.definition()));
            cx.set_sink(Arc::clone(&new) as Arc<dyn CallSink>);
            state.reports = Some(new);
        } else if let Some(sink) = self.run.as_ref().and_then(|run| run.sink()) {
            let new = Arc::new(RunReports::new(Arc::clone(sink)));
            cx.set_sink(Arc::clone(&new) as Arc<dyn CallSink>);
            state.run_reports = Some(new);
        }
    }

    /// Begins a wave: its calls read the session state as it is now.
    pub(super) fn begin_wave(&self) {
        if let Some(run) = &self.run {
            *self.lock_session_state() = run.state();
        }
    }

    fn lock_session_state(&self) -> MutexGuard<'_, Arc<Map<String, Value>>> {
        self.session_state.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a wave: the changes of its successful calls are applied in order, for later calls.
    pub(super) fn end_wave(&self, outcomes: &[CallOutcome]) {
        let actions = outcomes.iter().filter_map(|outcome| outcome.result()?.actions());
        for actions in actions.filter(|actions| !actions.state.is_empty()) {
            match &self.run {
                Some(run) => {
                    // Usually the only reference is here, so that the state is changed in place and not copied.
                    *self.lock_session_state() = Arc::default();
                    run.change_state(&actions.state);
                }
                None => merge_patch(Arc::make_mut(&mut self.lock_session_state()), &actions.state),
            }
        }
    }

    /// Returns `true` if the run has a deadline.
    pub(super) fn has_deadline(&self) -> bool {
        self.deadline.is_some()
    }

    /// Counts a call in its run.
    ///
    /// # Errors
    ///
    /// Returns an error if the run has no call left.
    #[inline]
    pub(super) fn count_call(&self) -> Result<(), ToolError> {
        self.run.as_ref().map_or(Ok(()), |run| run.count_call())
    }

    /// Counts a call in its run, and asks the process that keeps the budget if that is another one.
    ///
    /// # Errors
    ///
    /// Returns an error if the run has no call left.
    pub(super) async fn obtain_call(&self) -> Result<(), ToolError> {
        match &self.run {
            Some(run) if run.has_budget_source() => boxed(|| run.obtain_call()).await,
            _ => self.count_call(),
        }
    }

    pub(super) fn run(&self) -> Option<&Arc<RunContext>> {
        self.run.as_ref()
    }

    /// Returns the output of `future`, unless the batch is stopped before.
    pub(super) async fn unless_stopped<F: Future>(&self, future: F) -> Result<F::Output, StopReason> {
        let done = unless_cancelled(&self.token, future);
        let done = match self.deadline {
            // Boxed, so that the future of a batch without a deadline does not contain a timer.
            Some((end, true)) => {
                Box::pin(timeout_at(end, done)).await.map_err(|_| StopReason::DeadlinePassed)?
            }
            _ => done.await,
        };
        done.ok_or(StopReason::Cancelled)
    }

    /// Returns the output of `future`, which calls hooks or a store at the end of a call. Once the batch is cancelled
    /// or its run has no time left, all such futures share the grace period; `None` for one that takes longer.
    pub(super) async fn within_grace_period<F: Future>(&self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        if let Ok(output) = self.unless_stopped(&mut future).await {
            return Some(output);
        }
        let end = *self.hooks_deadline.get_or_init(|| has_timer().then(|| instant_after(self.grace)));
        timeout_at(end?, future).await.ok()
    }

    /// Sends `ApprovalRequested`.
    pub(super) async fn report_approval_request(
        &self,
        request: &ApprovalRequest,
        definition: &ToolDefinition,
    ) {
        if self.is_unobserved {
            return;
        }
        let event = || {
            let name = request.call.name.as_str().into();
            let subject = EventSubject::new(request.address.clone(), name, Some(definition));
            (subject, EventKind::ApprovalRequested { request: Arc::new(request.clone()) })
        };
        self.events.emit(event).await;
    }

    /// Sends `Started`.
    pub(super) async fn report_started(&self, request: &CallRequest<'_>) {
        if self.is_unobserved || !self.events.has_receiver_of_ends() {
            return;
        }
        let subject = self.subject_of(request);
        let started = || {
            // The arguments of a call that stands for none may be those of any tool.
            let entry = request.entry.filter(|entry| !entry.redirects());
            let call = self.events.redacted_call(request.call, entry.map(Entry::definition));
            (subject.clone(), EventKind::Started { call: Arc::new(call) })
        };
        self.events.emit(started).await;
        // Recorded after sending: listeners receive the event last, once the reader of the stream has capacity.
        let mut open_subjects = self.open_subjects.lock().unwrap_or_else(PoisonError::into_inner);
        open_subjects.insert(request.serial, subject);
    }

    /// Returns the subject of the events of a call.
    pub(super) fn subject_of(&self, request: &CallRequest<'_>) -> EventSubject {
        EventSubject::new(self.address_of(request), request.name(), request.entry.map(Entry::definition))
    }

    /// Records that listeners received the end of the call, or will receive it elsewhere.
    pub(super) fn mark_ended(&self, request: &CallRequest<'_>) {
        self.open_subjects.lock().unwrap_or_else(PoisonError::into_inner).remove(&request.serial);
    }
}

/// Sends `Finished` for the open calls of a dropped batch to its listeners.
impl Drop for BatchState {
    fn drop(&mut self) {
        let open_subjects = self.open_subjects.get_mut().unwrap_or_else(PoisonError::into_inner);
        while let Some((_, subject)) = open_subjects.pop_first() {
            let error = ToolError::cancelled().of_tool(subject.name.to_string());
            let id = subject.address.call_id.clone();
            let result = Arc::new(ToolResult::new(id, Arc::clone(&subject.name), Err(error)));
            self.events.emit_to_listeners(self.events.new_event(subject, EventKind::Finished { result }));
        }
    }
}

/// Returns the output of `future`, unless `token` is cancelled before. The future is polled first, so that it can react
/// to the cancellation itself.
pub(super) async fn unless_cancelled<F: Future>(token: &CancellationToken, future: F) -> Option<F::Output> {
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
