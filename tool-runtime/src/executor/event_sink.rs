//! The receivers of a batch's events: its stream, the listeners of its executor, and those of the call above it.

use std::{sync::Arc, time::SystemTime};

use serde_json::Value;
use tokio::sync::{Mutex as Turn, broadcast, mpsc};
use tool_core::{Arguments, BoxFuture, CallAddress, CallSink, RunContext, ToolDefinition, ToolError};

use super::{
    ExecutorParts,
    redact::{REDACTED, redacted_call},
    reports::CallReports,
};
use crate::{
    ToolCall,
    event::{EventKind, ToolEvent},
    hook::{CallView, SharedHook},
};

/// The component named in the report of a panic.
pub(super) const HOOK_COMPONENT: &str = "a hook";

/// Logs a panic of `hook` in a stage whose outcome is not awaited.
pub(super) fn report_panic(view: &CallView<'_>, hook: &SharedHook, stage: &'static str, error: &ToolError) {
    let (call, tool, hook, error) = (view.id, view.tool(), hook.name(), error.feedback());
    tracing::error!(%call, tool, hook, stage, error, "a hook panicked; its call is not affected");
}

/// The call of an event.
#[derive(Clone)]
pub(super) struct EventSubject {
    pub(super) address: CallAddress,
    pub(super) name: Arc<str>,
    pub(super) title: Arc<str>,
}

impl EventSubject {
    pub(super) fn new(address: CallAddress, name: Arc<str>, definition: Option<&ToolDefinition>) -> Self {
        let title = match definition.map(ToolDefinition::title) {
            Some(title) if title != &*name => Arc::from(title),
            _ => Arc::clone(&name),
        };
        Self { address, name, title }
    }

    /// Creates an event that occurs now.
    pub(super) fn new_event(self, kind: EventKind) -> ToolEvent {
        let Self { address, name, title } = self;
        let run = address.run.clone();
        ToolEvent { time: SystemTime::now(), run, author: None, address, name, title, kind }
    }
}

/// Sends the events of a batch.
#[derive(Clone)]
pub(super) struct EventSink {
    /// The reader of the stream, which receives all events and applies backpressure. Boxed: a channel reserves places.
    stream: Option<mpsc::Sender<Box<ToolEvent>>>,
    /// The stream leaves out the starts and ends of calls.
    streams_reports: bool,
    /// The listeners, which never delay a call.
    listeners: broadcast::Sender<ToolEvent>,
    /// The call in whose run the batch runs.
    parent: Option<Arc<dyn CallSink>>,
    /// The run of the batch, and its agent, for events.
    run: Option<Arc<RunContext>>,
    author: Option<Arc<str>>,
    /// Held while hooks are called during the run of tools, so that they are never called for two calls at once.
    turn: Option<Arc<Turn<()>>>,
    /// `true` if the arguments of unknown tools are hidden: the name may be a misspelt one of a tool with secrets.
    hides_unknown: bool,
}

/// Capacity for one event in each channel that applies backpressure; none for a reader that is gone.
#[derive(Default)]
pub(super) struct EventCapacity<'a> {
    stream: Option<mpsc::Permit<'a, Box<ToolEvent>>>,
    parent: Option<Box<EventCapacity<'a>>>,
    /// `true` if readers above without capacity receive the event later, before the end of their call.
    is_late: bool,
}

impl EventCapacity<'_> {
    /// Marks the room of an event that cannot wait for capacity.
    pub(super) fn for_event_that_cannot_wait(self) -> Self {
        Self {
            parent: self.parent.map(|capacity| Box::new(capacity.for_event_that_cannot_wait())),
            is_late: true,
            ..self
        }
    }

    /// Returns `true` if an event for this room must be queued.
    pub(super) fn must_queue(&self) -> bool {
        self.is_late && self.stream.is_none()
    }
}

impl EventSink {
    pub(super) fn new(
        stream: Option<mpsc::Sender<Box<ToolEvent>>>,
        executor: &ExecutorParts,
        run: Option<&Arc<RunContext>>,
    ) -> Self {
        let events = Self {
            stream,
            streams_reports: executor.settings.streams_reports,
            listeners: executor.listeners.clone(),
            parent: run.and_then(|run| run.above()).cloned(),
            run: None,
            author: None,
            turn: executor.settings.has_hooks().then(Arc::default),
            hides_unknown: executor.known.has_secret(),
        };
        match run {
            Some(run) if !events.is_unobserved() => {
                let author = run.agent().map(Arc::from);
                Self { run: Some(Arc::clone(run)), author, ..events }
            }
            _ => events,
        }
    }

    /// Waits for the exclusive right to call the hooks; returns at once if there are none.
    pub(super) async fn hook_turn(&self) -> Option<impl Drop> {
        match &self.turn {
            Some(turn) => Some(turn.lock().await),
            None => None,
        }
    }

    /// Returns `call` as listeners may see it, without secrets.
    pub(super) fn redacted_call(&self, call: &ToolCall, definition: Option<&ToolDefinition>) -> ToolCall {
        match definition {
            Some(definition) => redacted_call(call, definition),
            None if self.hides_unknown => {
                ToolCall { arguments: Arguments::from(Value::from(REDACTED)), ..call.clone() }
            }
            None => call.clone(),
        }
    }

    /// Creates an event of the batch that occurs now.
    pub(super) fn new_event(&self, subject: EventSubject, kind: EventKind) -> ToolEvent {
        let run = self.run.as_ref().map(|run| run.id().clone());
        ToolEvent { run, author: self.author.clone(), ..subject.new_event(kind) }
    }

    /// Returns `true` if there are no receivers and no hooks.
    pub(super) fn is_unobserved(&self) -> bool {
        self.turn.is_none() && !self.has_receiver()
    }

    /// Returns `true` if there is a receiver.
    pub(super) fn has_receiver(&self) -> bool {
        self.stream.is_some() || self.listeners.receiver_count() > 0 || self.parent().is_some()
    }

    /// Returns `true` if there is a receiver of the starts and ends of calls.
    pub(super) fn has_receiver_of_ends(&self) -> bool {
        let is_streamed = self.stream.is_some() && !self.streams_reports;
        is_streamed || self.listeners.receiver_count() > 0 || self.parent().is_some()
    }

    /// Returns the call above the batch if its events have a receiver.
    fn parent(&self) -> Option<&CallReports> {
        let parent = self.parent.as_ref()?.as_any()?.downcast_ref::<CallReports>()?;
        parent.has_receiver().then_some(parent)
    }

    /// Sends an event, which is created only if there is a receiver.
    pub(super) async fn emit(&self, event: impl FnOnce() -> (EventSubject, EventKind)) {
        if self.has_receiver() {
            let capacity = self.reserve_capacity().await;
            let (subject, kind) = event();
            self.send(capacity, self.new_event(subject, kind));
        }
    }

    /// Waits until each reader has capacity for an event.
    pub(super) async fn reserve_capacity(&self) -> EventCapacity<'_> {
        let stream = match &self.stream {
            // An error means that the reader of the stream is gone, which is allowed.
            Some(stream) => stream.reserve().await.ok(),
            None => None,
        };
        let parent = match self.parent() {
            Some(parent) => Some(Box::new(parent.reserve_for_child().await)),
            None => None,
        };
        EventCapacity { stream, parent, is_late: false }
    }

    /// Boxes the future of [`reserve_capacity`](Self::reserve_capacity).
    pub(super) fn boxed_reserve_capacity(&self) -> BoxFuture<'_, EventCapacity<'_>> {
        Box::pin(self.reserve_capacity())
    }

    /// Returns the capacity that is available now, and `true` if each reader has some.
    pub(super) fn try_reserve_capacity(&self) -> (EventCapacity<'_>, bool) {
        let (stream, has_room) = match self.stream.as_ref().map(mpsc::Sender::try_reserve) {
            Some(Ok(permit)) => (Some(permit), true),
            Some(Err(mpsc::error::TrySendError::Full(()))) => (None, false),
            Some(Err(mpsc::error::TrySendError::Closed(()))) | None => (None, true),
        };
        let (parent, parent_has_room) = match self.parent().map(CallReports::try_reserve_for_child) {
            Some((capacity, has_room)) => (Some(Box::new(capacity)), has_room),
            None => (None, true),
        };
        (EventCapacity { stream, parent, is_late: false }, has_room && parent_has_room)
    }

    /// Sends `event` to the listeners, and to the readers above: now, or before the end of their call.
    pub(super) fn emit_to_listeners(&self, event: ToolEvent) {
        let (capacity, _) = self.try_reserve_capacity();
        self.send(EventCapacity { stream: None, ..capacity.for_event_that_cannot_wait() }, event);
    }

    /// Returns `true` if the stream has a reader.
    pub(super) fn has_reader(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| !stream.is_closed())
    }

    /// Sends an event that listeners have already received to the reader.
    pub(super) async fn send_to_reader(&self, event: ToolEvent) {
        if let Some(stream) = &self.stream {
            let _ = stream.send(Box::new(event)).await;
        }
    }

    /// Sends `event`. Listeners of this executor that receive the events of the call above receive it there, and not
    /// twice.
    pub(super) fn send(&self, capacity: EventCapacity<'_>, event: ToolEvent) {
        if let Some(stream) = capacity.stream {
            stream.send(Box::new(event.clone()));
        }
        let parent_capacity = capacity.parent.map(|capacity| *capacity).unwrap_or_default();
        let is_forwarded = self
            .parent()
            .is_some_and(|parent| parent.forward_child_event(parent_capacity, &event, &self.listeners));
        if !is_forwarded {
            // An error means that there are no listeners.
            let _ = self.listeners.send(event);
        }
    }

    /// Returns `true` if `listeners` receive the events sent here.
    pub(super) fn reaches_listeners(&self, listeners: &broadcast::Sender<ToolEvent>) -> bool {
        self.listeners.same_channel(listeners)
            || self.parent().is_some_and(|parent| parent.reaches_listeners(listeners))
    }
}
