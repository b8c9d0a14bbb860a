//! A run as the runs below its calls see it: it has their events, their approvals, and counts that its limits include.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
};

use tokio::sync::Notify;
use tool_runtime::{
    RunContext, ToolError,
    call::{CallAddress, CallId},
    policy::{Approval, ApprovalHandle, Approver, SharedApprover},
};

use super::{
    AgentEvent, ChildUsage, RunUsage,
    child_history::{RunHistory, is_single_call_history},
    context_note::{note_of_conversation, note_of_run},
    handle::Inbox,
    open_below::CallsBelow,
};
use crate::Message;

/// The key of the value by which the runs below a call find the run of the call.
const PARENT_KEY: &str = "tool_agent.parent_run";

/// The key of the ids of an agent's run and of the runs above it.
const RUNS_KEY: &str = "tool_agent.runs";

/// The number of events that runs below the calls of a batch may emit before they wait for the reader.
const MAX_WAITING_EVENTS: usize = 16;

/// A run as the runs below its calls see it.
pub(crate) struct ParentRun {
    /// The inbox of the handle that the program has, which belongs to the root run.
    approvals: Arc<Inbox>,
    /// Waits for the decisions in that inbox. One for the whole tree, so that no question is asked twice.
    approver: SharedApprover,
    events: Mutex<EventQueue>,
    /// Notified of an event in the queue.
    arrived: Notify,
    /// Notified of room in the queue, and of the end of its batch.
    freed: Notify,
    usage: Mutex<CallUsage>,
    /// The run that this one is a part of, if its agent works beside others.
    whole: Option<Arc<ParentRun>>,
    /// The id of the run.
    run: CallId,
    /// The history of the run, once it has its turn.
    history: OnceLock<RunHistory>,
    below: Mutex<CallsBelow>,
    shown: Mutex<ShownMessages>,
    answered: AnsweredHistories,
}

/// The histories of runs below calls that end with their calls. The next step of the run, which has the results of the calls, removes them.
#[derive(Clone, Default)]
pub(super) struct AnsweredHistories(Arc<Mutex<Vec<Arc<str>>>>);

impl AnsweredHistories {
    /// Adds the view keys of histories whose calls are answered.
    pub(super) fn add(&self, views: impl IntoIterator<Item = Arc<str>>) {
        lock(&self.0).extend(views);
    }

    pub(super) fn take(&self) -> Vec<Arc<str>> {
        std::mem::take(&mut *lock(&self.0))
    }
}

/// The usage of the runs below the calls.
#[derive(Default)]
struct CallUsage {
    of_run: ChildUsage,
    /// Those below the calls of the agent that has its turn.
    of_turn: ChildUsage,
}

/// The messages that a run shows to the runs above and below that share its history.
#[derive(Default)]
struct ShownMessages {
    /// Those before the calls of the current batch.
    messages: Vec<Message>,
    /// The notes about runs below.
    notes: Vec<Message>,
    /// The number of notes that the run has taken.
    taken: usize,
}

/// The messages that a run shows to the run above, which shares its history, once it has ended.
#[derive(Debug)]
pub(crate) struct ShownRun {
    messages: Vec<Message>,
    notes: Vec<Message>,
}

/// An event of a run below a call.
pub(super) struct ChildEvent {
    /// The address of the call.
    pub(super) call: CallAddress,
    pub(super) event: Box<AgentEvent>,
}

/// The events of runs below the calls of a batch, until the batch emits them.
#[derive(Default)]
struct EventQueue {
    waiting: VecDeque<ChildEvent>,
    /// `true` while a batch runs.
    is_read: bool,
}

/// Receives the events of the runs below the calls of a batch, until it is dropped.
pub(super) struct ChildEvents(Arc<ParentRun>);

impl ParentRun {
    /// Makes `run`, whose handle has `inbox`, known to the runs below its calls, for as long as the result lives.
    pub(super) fn offer_to_child_runs(run: &RunContext, inbox: &Arc<Inbox>) -> Arc<Self> {
        Self::offer_part_to_child_runs(run, inbox, None)
    }

    /// Makes `run` known to the runs below its calls, which count for `whole`, too.
    pub(super) fn offer_part_to_child_runs(
        run: &RunContext,
        inbox: &Arc<Inbox>,
        whole: Option<Arc<Self>>,
    ) -> Arc<Self> {
        let (approvals, approver) = match Self::of(run) {
            Some(above) => (Arc::clone(&above.approvals), above.approver.clone()),
            None => (Arc::clone(inbox), SharedApprover::new(HandleApprover(Arc::clone(inbox)))),
        };
        let (events, usage, arrived, freed, below, shown, answered) = Default::default();
        let (run_id, history) = (run.id().clone(), OnceLock::new());
        let parent = Arc::new(Self {
            approvals,
            approver,
            events,
            arrived,
            freed,
            usage,
            whole,
            run: run_id,
            history,
            below,
            shown,
            answered,
        });
        run.set(PARENT_KEY, Arc::downgrade(&parent));
        let mut runs = run.value::<Vec<CallId>>(RUNS_KEY).as_deref().cloned().unwrap_or_default();
        runs.push(run.id().clone());
        run.set(RUNS_KEY, runs);
        parent
    }

    /// Returns `true` if `run` is the run `id`, or is below a call of it on any level.
    pub(super) fn is_within(run: &RunContext, id: &CallId) -> bool {
        let runs = run.value::<Vec<CallId>>(RUNS_KEY);
        run.id() == id || run.parent_id() == Some(id) || runs.is_some_and(|runs| runs.contains(id))
    }

    /// Returns the agent's run that `run` is or is below; `None` if there is none, or if it has ended.
    pub(crate) fn of(run: &RunContext) -> Option<Arc<Self>> {
        run.value::<Weak<Self>>(PARENT_KEY)?.upgrade()
    }

    /// Returns the id of the run.
    pub(super) fn run_id(&self) -> &CallId {
        &self.run
    }

    /// Sets the history of the run, which the runs below its calls continue or leave.
    pub(super) fn set_history(&self, history: RunHistory) {
        drop(self.history.set(history));
    }

    pub(crate) fn history(&self) -> Option<&RunHistory> {
        self.history.get()
    }

    /// Sets the messages that runs which share the history see.
    pub(super) fn set_shown_messages(&self, messages: Vec<Message>) {
        lock(&self.shown).messages = messages;
    }

    /// Returns the note about the conversation of this run for a run below; `None` if it is empty.
    pub(crate) fn note_for_child(&self) -> Option<Message> {
        let messages = lock(&self.shown).messages.clone();
        (!messages.is_empty()).then(|| note_of_conversation(&messages))
    }

    /// Adds the note about a run of `agent` below that has ended, and those about runs below that one.
    pub(crate) fn add_notes_of_ended_child(&self, agent: &str, shown: &ShownRun) {
        let note = note_of_run(agent, &shown.messages);
        lock(&self.shown).notes.extend(std::iter::once(note).chain(shown.notes.iter().cloned()));
    }

    /// Returns the messages that this run, whose conversation has `messages`, shows to the run above.
    pub(super) fn shown_run(&self, messages: Vec<Message>) -> ShownRun {
        ShownRun { messages, notes: lock(&self.shown).notes.clone() }
    }

    /// Takes the notes that arrived since the last call.
    pub(super) fn take_notes(&self) -> Vec<Message> {
        let mut shown = lock(&self.shown);
        let count = shown.notes.len();
        let from = std::mem::replace(&mut shown.taken, count);
        shown.notes[from..].to_vec()
    }

    /// Returns the histories of runs below calls that the next step removes.
    pub(super) fn answered_histories(&self) -> &AnsweredHistories {
        &self.answered
    }

    /// Ends the history `view` of a run below a call that is answered: its store removes it, if it was for this call alone.
    pub(crate) fn end_history(&self, view: &Arc<str>) {
        if self.history().is_some_and(RunHistory::is_stored) && is_single_call_history(view) {
            self.answered.add([Arc::clone(view)]);
        }
    }

    /// Returns the calls whose runs below wait.
    pub(super) fn calls_below(&self) -> MutexGuard<'_, CallsBelow> {
        lock(&self.below)
    }

    /// Returns the approver that waits for the decisions of the handle of the root run.
    pub(super) fn approver(&self) -> &SharedApprover {
        &self.approver
    }

    /// Receives the events of the runs below the calls of a batch.
    pub(super) fn subscribe_to_child_events(self: &Arc<Self>) -> ChildEvents {
        lock(&self.events).is_read = true;
        ChildEvents(Arc::clone(self))
    }

    /// Emits an event of a run below the call at `call`; waits while the reader is behind. Without a batch, no one reads it.
    pub(crate) async fn emit_child_event(&self, call: CallAddress, event: Box<AgentEvent>) {
        let mut unsent = Some(ChildEvent { call, event });
        loop {
            // Before the look at the queue, so that no notification is missed.
            let freed = self.freed.notified();
            {
                let mut events = lock(&self.events);
                if !events.is_read {
                    return;
                }
                if events.waiting.len() < MAX_WAITING_EVENTS {
                    events.waiting.extend(unsent.take());
                }
            }
            if unsent.is_none() {
                return self.arrived.notify_one();
            }
            freed.await;
        }
    }

    /// Counts a run below a call.
    pub(crate) fn count_child_usage(&self, usage: &RunUsage) {
        let mut counted = lock(&self.usage);
        counted.of_run.add(usage);
        counted.of_turn.add(usage);
        drop(counted);
        if let Some(whole) = &self.whole {
            whole.count_child_usage(usage);
        }
    }

    /// Begins the turn of another agent.
    pub(super) fn begin_turn(&self) {
        lock(&self.usage).of_turn = ChildUsage::default();
    }

    /// Goes on with the usage of the runs below the calls of an interrupted run.
    pub(super) fn continue_usage(&self, usage: ChildUsage) {
        *lock(&self.usage) = CallUsage { of_run: usage, of_turn: usage };
    }

    /// Returns the usage of the runs below the calls.
    pub(crate) fn usage(&self) -> ChildUsage {
        lock(&self.usage).of_run
    }

    /// Returns the usage of the runs below the calls of the agent that has its turn.
    pub(super) fn usage_of_turn(&self) -> ChildUsage {
        lock(&self.usage).of_turn
    }
}

/// The approver of the calls that the handle of a run decides on.
struct HandleApprover(Arc<Inbox>);

impl Approver for HandleApprover {
    async fn ask(&self, request: &ApprovalHandle) -> Result<Approval, ToolError> {
        self.0.wait_for_approval(request).await
    }
}

impl ChildEvents {
    /// Returns the next event, if there is one.
    pub(super) fn try_next(&self) -> Option<ChildEvent> {
        let event = lock(&self.0.events).waiting.pop_front()?;
        self.0.freed.notify_waiters();
        Some(event)
    }

    /// Waits for the next event.
    pub(super) async fn next(&self) -> ChildEvent {
        loop {
            match self.try_next() {
                Some(event) => return event,
                None => self.0.arrived.notified().await,
            }
        }
    }
}

impl Drop for ChildEvents {
    fn drop(&mut self) {
        *lock(&self.0.events) = EventQueue::default();
        self.0.freed.notify_waiters();
    }
}

/// No user code runs under the locks.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
