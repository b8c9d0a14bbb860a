//! The receivers of a batch's events: its stream, the listeners of its executor, and those of the call above it.

use std::{sync::Arc, time::SystemTime};

use serde_json::Value;
use tokio::sync::{Mutex as Turn, broadcast, mpsc};
use tool_core::{Arguments, BoxFuture, CallAddress, CallSink, RunContext, ToolDefinition, ToolError};

use super::{
    Inner,
    redact::{HIDDEN, shown},
    reports::CallReports,
};
use crate::{
    ToolCall,
    event::{EventKind, ToolEvent},
    hook::{BoxHook, CallView},
};

/// The component named in the report of a panic.
pub(super) const HOOK: &str = "a hook";

/// Logs a panic of `hook` in a stage whose outcome is not awaited.
pub(super) fn report_panic(view: &CallView<'_>, hook: &BoxHook, stage: &'static str, error: &ToolError) {
    let (call, tool, hook, error) = (view.id, view.tool(), hook.name(), error.feedback());
    tracing::error!(%call, tool, hook, stage, error, "a hook panicked; its call is not affected");
}

/// The call of an event.
#[derive(Clone)]
pub(super) struct Subject {
    pub(super) address: CallAddress,
    pub(super) name: Arc<str>,
    pub(super) title: Arc<str>,
}

impl Subject {
    pub(super) fn new(address: CallAddress, name: Arc<str>, definition: Option<&ToolDefinition>) -> Self {
        let title = match definition.map(ToolDefinition::title) {
            Some(title) if title != &*name => Arc::from(title),
            _ => Arc::clone(&name),
        };
        Self { address, name, title }
    }

    /// Creates an event that occurs now.
    pub(super) fn event(self, kind: EventKind) -> ToolEvent {
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
    /// The listeners, which never delay a call.
    listeners: broadcast::Sender<ToolEvent>,
    /// The call in whose run the batch runs.
    above: Option<Arc<dyn CallSink>>,
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
pub(super) struct Room<'a> {
    stream: Option<mpsc::Permit<'a, Box<ToolEvent>>>,
    above: Option<Box<Room<'a>>>,
    /// `true` if readers above without capacity receive the event later, before the end of their call.
    is_late: bool,
}

impl Room<'_> {
    /// Marks the room of an event that cannot wait for capacity.
    fn late(self) -> Self {
        Self { above: self.above.map(|room| Box::new(room.late())), is_late: true, ..self }
    }

    /// Returns `true` if an event for this room must be queued.
    pub(super) fn is_missing(&self) -> bool {
        self.is_late && self.stream.is_none()
    }
}

impl EventSink {
    pub(super) fn new(
        stream: Option<mpsc::Sender<Box<ToolEvent>>>,
        executor: &Inner,
        run: Option<&Arc<RunContext>>,
    ) -> Self {
        let outlet = Self {
            stream,
            listeners: executor.listeners.clone(),
            above: run.and_then(|run| run.above()).cloned(),
            run: None,
            author: None,
            turn: executor.settings.has_hooks().then(Arc::default),
            hides_unknown: executor.known.has_secret(),
        };
        match run {
            Some(run) if !outlet.is_quiet() => {
                let author = run.agent().map(Arc::from);
                Self { run: Some(Arc::clone(run)), author, ..outlet }
            }
            _ => outlet,
        }
    }

    /// Waits for the exclusive right to call the hooks; returns at once if there are none.
    pub(super) async fn turn(&self) -> Option<impl Drop> {
        match &self.turn {
            Some(turn) => Some(turn.lock().await),
            None => None,
        }
    }

    /// Returns `call` as listeners may see it, without secrets.
    pub(super) fn shown(&self, call: &ToolCall, definition: Option<&ToolDefinition>) -> ToolCall {
        match definition {
            Some(definition) => shown(call, definition),
            None if self.hides_unknown => {
                ToolCall { arguments: Arguments::from(Value::from(HIDDEN)), ..call.clone() }
            }
            None => call.clone(),
        }
    }

    /// Creates an event of the batch that occurs now.
    pub(super) fn event(&self, subject: Subject, kind: EventKind) -> ToolEvent {
        let run = self.run.as_ref().map(|run| run.id().clone());
        ToolEvent { run, author: self.author.clone(), ..subject.event(kind) }
    }

    /// Returns `true` if there are no receivers and no hooks.
    pub(super) fn is_quiet(&self) -> bool {
        self.turn.is_none() && !self.is_heard()
    }

    /// Returns `true` if there is a receiver.
    pub(super) fn is_heard(&self) -> bool {
        self.stream.is_some() || self.listeners.receiver_count() > 0 || self.above().is_some()
    }

    /// Returns the call above the batch if its events have a receiver.
    fn above(&self) -> Option<&CallReports> {
        let above = self.above.as_ref()?.as_any()?.downcast_ref::<CallReports>()?;
        above.is_heard().then_some(above)
    }

    /// Sends an event, which is created only if there is a receiver.
    pub(super) async fn tell(&self, event: impl FnOnce() -> (Subject, EventKind)) {
        if self.is_heard() {
            let room = self.room().await;
            let (subject, kind) = event();
            self.send(room, self.event(subject, kind));
        }
    }

    /// Waits until each reader has capacity for an event.
    pub(super) async fn room(&self) -> Room<'_> {
        let stream = match &self.stream {
            // An error means that the reader of the stream is gone, which is allowed.
            Some(stream) => stream.reserve().await.ok(),
            None => None,
        };
        let above = match self.above() {
            Some(above) => Some(Box::new(above.room_below().await)),
            None => None,
        };
        Room { stream, above, is_late: false }
    }

    /// Boxes the future of [`room`](Self::room).
    pub(super) fn boxed_room(&self) -> BoxFuture<'_, Room<'_>> {
        Box::pin(self.room())
    }

    /// Returns the capacity that is available now, and `true` if each reader has some.
    pub(super) fn room_now(&self) -> (Room<'_>, bool) {
        let (stream, has_room) = match self.stream.as_ref().map(mpsc::Sender::try_reserve) {
            Some(Ok(permit)) => (Some(permit), true),
            Some(Err(mpsc::error::TrySendError::Full(()))) => (None, false),
            Some(Err(mpsc::error::TrySendError::Closed(()))) | None => (None, true),
        };
        let (above, has_room_above) = match self.above().map(CallReports::room_below_now) {
            Some((room, has_room)) => (Some(Box::new(room)), has_room),
            None => (None, true),
        };
        (Room { stream, above, is_late: false }, has_room && has_room_above)
    }

    /// Sends `event` to the listeners, and to the readers above: now, or before the end of their call.
    pub(super) fn tell_listeners(&self, event: ToolEvent) {
        let (room, _) = self.room_now();
        self.send(Room { stream: None, ..room.late() }, event);
    }

    /// Returns `true` if the stream has a reader.
    pub(super) fn has_reader(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| !stream.is_closed())
    }

    /// Sends an event that listeners have already received to the reader.
    pub(super) async fn tell_reader(&self, event: ToolEvent) {
        if let Some(stream) = &self.stream {
            let _ = stream.send(Box::new(event)).await;
        }
    }

    /// Sends `event`. Listeners of this executor that receive the events of the call above receive it there, and not
    /// twice.
    pub(super) fn send(&self, room: Room<'_>, event: ToolEvent) {
        if let Some(stream) = room.stream {
            stream.send(Box::new(event.clone()));
        }
        let room_above = room.above.map(|room| *room).unwrap_or_default();
        let is_passed_on =
            self.above().is_some_and(|above| above.pass_on(room_above, &event, &self.listeners));
        if !is_passed_on {
            // An error means that there are no listeners.
            let _ = self.listeners.send(event);
        }
    }

    /// Returns `true` if `listeners` receive the events sent here.
    pub(super) fn reaches(&self, listeners: &broadcast::Sender<ToolEvent>) -> bool {
        self.listeners.same_channel(listeners) || self.above().is_some_and(|above| above.reaches(listeners))
    }
}
