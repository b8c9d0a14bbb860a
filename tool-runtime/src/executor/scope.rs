//! What is around the calls of a batch, and around each of them.

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
    __private::{current_grace, patch},
    Arguments, CallAddress, CallSink, RunContext, ToolContext, ToolDefinition, ToolError,
};

use super::{
    Inner,
    event_sink::{EventSink, Subject},
    patience::{Patience, keeps_time},
    prepare::Request,
    questions::Given,
    reports::CallReports,
    runs::Runs,
    stop::Stop,
};
use crate::{CallOutcome, ToolResult, event::EventKind, policy::ApprovalRequest, registry::Entry};

/// What is around all calls of a batch.
pub(super) struct CallScope {
    pub(super) outlet: EventSink,
    /// Whether nobody hears of the calls, and no hook is asked about them. Decided once: who starts to
    /// listen while a batch runs hears of the next one.
    pub(super) is_quiet: bool,
    pub(super) run: Option<Arc<RunContext>>,
    /// The state that the calls of a group read; not set where it is empty.
    state: OnceLock<Mutex<Arc<Map<String, Value>>>>,
    pub(super) token: CancellationToken,
    /// When the run must have ended, and whether anything keeps the time.
    pub(super) end: Option<(Timed, bool)>,
    /// The error by which a batch without a run was stopped; one with a run has it there.
    pub(super) stopped: OnceLock<ToolError>,
    /// The calls of which listeners know that they started, and not yet that they ended, by their serials.
    begun: Mutex<BTreeMap<u64, Subject>>,
    /// The grace period of hooks.
    grace: Duration,
    /// The most that bodies have: less than what the body has in which the batch runs, if it runs in one.
    most_grace: Duration,
    /// When hooks must have ended once the batch is cancelled; `None` where nothing keeps the time.
    hooks_end: OnceLock<Option<Timed>>,
    /// Held while the approver is asked by a body: it is never asked about two calls of a batch at once.
    asking: OnceLock<Turn<()>>,
}

/// What belongs to one call of a group while it is in it.
#[derive(Default)]
pub(super) struct CallPosition {
    /// The context of the call.
    pub(super) cx: Option<ToolContext>,
    /// That of its first attempt, where there may be others.
    pub(super) first: Option<ToolContext>,
    pub(super) reports: Option<Arc<CallReports>>,
    pub(super) runs: Runs,
    /// What people have answered to questions about the call, which few calls ask.
    given: OnceLock<Box<Mutex<Given>>>,
    /// The canonical arguments, where something looks at the call.
    pub(super) arguments: Option<Arguments<'static>>,
    /// The time that a body has after its cancellation, if it asked for its token.
    pub(super) grace: Duration,
}

impl CallPosition {
    /// When the body must have ended that is cancelled now; `None` where it has no time at all.
    pub(super) fn grace_end(&self) -> Option<Timed> {
        let cx = self.cx.as_ref().filter(|cx| !self.grace.is_zero() && cx.wants_grace())?;
        let end = keeps_time().then(|| after(self.grace))?;
        let of_run = cx.run().and_then(|run| run.deadline());
        Some(of_run.map_or(end, |of_run| end.min(Timed::from_std(of_run))))
    }
}

/// The instant `period` from now, or one that is too far away to matter.
fn after(period: Duration) -> Timed {
    const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 3600);
    Timed::now() + period.min(FAR)
}

/// A batch inside of a body gets a third of its grace period for its own bodies, and another one for its
/// hooks: the rest is left to the body.
const NESTED: u32 = 3;

impl CallPosition {
    /// The stop by a hook that panicked about an update of the call.
    pub(super) fn panic_of_hook(&self) -> Option<ToolError> {
        self.reports.as_ref()?.panic_of_hook()
    }

    /// What people have answered to questions about the call.
    pub(super) fn given(&self) -> MutexGuard<'_, Given> {
        let given = self.given.get_or_init(Box::default);
        given.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A tool that outlives its call, in a task of its own, reports nothing more; also where the batch was
/// dropped.
impl Drop for CallPosition {
    fn drop(&mut self) {
        if let Some(reports) = &self.reports {
            reports.close();
        }
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
            token,
            end,
            stopped: OnceLock::new(),
            begun: Mutex::default(),
            grace,
            most_grace,
            hooks_end: OnceLock::new(),
            asking: OnceLock::new(),
        }
    }

    /// The address of a call.
    pub(super) fn address(&self, asked: &Request<'_>) -> CallAddress {
        let arrived_now = || CallAddress {
            run: self.run.as_ref().map(|run| run.id().clone()),
            call_id: asked.call.id.clone(),
            serial: asked.serial,
        };
        asked.confirmed.map_or_else(arrived_now, |confirmed| confirmed.address().clone())
    }

    /// Waits for the turn to ask the approver while bodies run.
    pub(super) async fn turn_to_ask(&self) -> impl Drop {
        self.asking.get_or_init(Turn::default).lock().await
    }

    /// The place of a call, with the context in which its tool runs.
    pub(super) fn place(&self, executor: &Arc<Inner>, entry: &Entry, asked: &Request<'_>) -> CallPosition {
        let call = asked.call;
        let mut cx = executor.tools.call_context(entry, (call.id.clone(), asked.serial), self.token.clone());
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
        let mut reports = None;
        if !self.is_quiet || patience.waits_for_signs() {
            let new = Arc::new(CallReports::new(executor, self, asked, &cx, entry.definition()));
            cx = cx.with_sink(Arc::clone(&new) as Arc<dyn CallSink>);
            reports = Some(new);
        }
        CallPosition {
            cx: Some(cx),
            first: None,
            reports,
            runs: Runs::default(),
            given: OnceLock::new(),
            arguments: None,
            grace,
        }
    }

    /// A group begins: its calls see the state as it is now.
    pub(super) fn begin_group(&self) {
        if let Some(run) = &self.run {
            *self.state() = run.state();
        }
    }

    fn state(&self) -> MutexGuard<'_, Arc<Map<String, Value>>> {
        self.state.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A group has ended: later calls see what those that succeeded have changed, in their order.
    pub(super) fn end_group(&self, outcomes: &[CallOutcome]) {
        let actions = outcomes.iter().filter_map(|outcome| outcome.result()?.actions());
        for actions in actions.filter(|actions| !actions.state.is_empty()) {
            match &self.run {
                Some(run) => {
                    // Nothing else has it by now as a rule, so that it is changed and not copied.
                    *self.state() = Arc::default();
                    run.change_state(&actions.state);
                }
                None => patch(Arc::make_mut(&mut self.state()), &actions.state),
            }
        }
    }

    /// Whether the run has a deadline.
    pub(super) fn is_timed(&self) -> bool {
        self.end.is_some()
    }

    pub(super) fn run(&self) -> Option<&Arc<RunContext>> {
        self.run.as_ref()
    }

    /// What `future` gives, unless the batch is stopped before.
    pub(super) async fn unless_stopped<F: Future>(&self, future: F) -> Result<F::Output, Stop> {
        let done = unless(&self.token, future);
        let done = match self.end {
            // In a box, so that a batch without a deadline does not carry the timer around.
            Some((end, true)) => Box::pin(timeout_at(end, done)).await.map_err(|_| Stop::Late)?,
            _ => done.await,
        };
        done.ok_or(Stop::Cancelled)
    }

    /// The output of `future`, which asks hooks or a store when a call is over. Once the batch is cancelled or its run has no time
    /// left, all such futures together have the grace period; `None` for one that takes longer.
    pub(super) async fn in_grace<F: Future>(&self, future: F) -> Option<F::Output> {
        let mut future = pin!(future);
        if let Ok(output) = self.unless_stopped(&mut future).await {
            return Some(output);
        }
        let end = *self.hooks_end.get_or_init(|| keeps_time().then(|| after(self.grace)));
        timeout_at(end?, future).await.ok()
    }

    /// Tells that a person is asked.
    pub(super) async fn asking(&self, request: &ApprovalRequest, definition: &ToolDefinition) {
        if self.is_quiet {
            return;
        }
        let event = || {
            let name = Arc::clone(&request.call.name);
            let subject = Subject::new(request.address.clone(), name, Some(definition));
            (subject, EventKind::ApprovalRequested { request: Arc::new(request.clone()) })
        };
        self.outlet.tell(event).await;
    }

    /// Tells that a call is looked at.
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
        // Not before: listeners hear of it last, once the reader of the stream has room.
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.insert(asked.serial, subject);
    }

    /// What the events of a call are about.
    pub(super) fn subject(&self, asked: &Request<'_>) -> Subject {
        let name = Arc::clone(&asked.call.name);
        Subject::new(self.address(asked), name, asked.entry.map(Entry::definition))
    }

    /// Listeners know that the call has ended, or will hear of it elsewhere.
    pub(super) fn ended(&self, asked: &Request<'_>) {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).remove(&asked.serial);
    }
}

/// For those who listen to the calls of a batch that was dropped.
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

/// What `future` gives, unless `token` is cancelled before. A future that notices by itself that it should
/// stop has the first word.
pub(super) async fn unless<F: Future>(token: &CancellationToken, future: F) -> Option<F::Output> {
    let (mut future, mut cancelled) = (pin!(future), pin!(token.cancelled()));
    poll_fn(|task| {
        if let Poll::Ready(value) = future.as_mut().poll(task) {
            return Poll::Ready(Some(value));
        }
        // Once more, since it may have been told between the two.
        cancelled.as_mut().poll(task).map(|()| match future.as_mut().poll(task) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        })
    })
    .await
}
