//! Who hears of what happens: the stream of a batch, the listeners of its executor, and those of the call below which the
//! batch runs.

use std::{sync::Arc, time::SystemTime};

use serde_json::Value;
use tokio::sync::{Mutex as Turn, broadcast, mpsc};
use tool_core::{Arguments, BoxFuture, CallAddress, CallSink, RunContext, ToolDefinition, ToolError};

use super::{
    Inner,
    reports::CallReports,
    shown::{HIDDEN, shown},
};
use crate::{
    ToolCall,
    event::{EventKind, ToolEvent},
    hook::{BoxHook, CallView},
};

/// Who panicked, where it was a hook.
pub(super) const HOOK: &str = "a hook";

/// Reports to the log that `hook` panicked when nobody waits for its answer.
pub(super) fn report_panic(view: &CallView<'_>, hook: &BoxHook, stage: &'static str, error: &ToolError) {
    let (call, tool, hook, error) = (view.id, view.tool(), hook.name(), error.feedback());
    tracing::error!(%call, tool, hook, stage, error, "a hook panicked, which changes nothing about its call");
}

/// The call that events are about.
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

    /// An event that happens now.
    pub(super) fn event(self, kind: EventKind) -> ToolEvent {
        let Self { address, name, title } = self;
        let run = address.run.clone();
        ToolEvent { time: SystemTime::now(), run, author: None, address, name, title, kind }
    }
}

/// The way to those who listen.
#[derive(Clone)]
pub(super) struct EventSink {
    /// Reads all, and is waited for.
    stream: Option<mpsc::Sender<ToolEvent>>,
    /// Are not waited for.
    listeners: broadcast::Sender<ToolEvent>,
    /// The call below which the batch runs.
    above: Option<Arc<dyn CallSink>>,
    /// The run of the batch, and its agent, for events.
    run: Option<Arc<RunContext>>,
    author: Option<Arc<str>>,
    /// Held by whoever asks the hooks while tools run: they are never asked about two calls at once.
    turn: Option<Arc<Turn<()>>>,
    /// Whether the arguments of tools that are not known are hidden: one of them may be a misspelt tool
    /// that has a secret.
    hides_unknown: bool,
}

/// Room for one event with each reader that is waited for; none with a reader that has gone.
#[derive(Default)]
pub(super) struct Room<'a> {
    stream: Option<mpsc::Permit<'a, ToolEvent>>,
    above: Option<Box<Room<'a>>>,
    /// Whether the readers above that have no room are told before the end of their call.
    is_late: bool,
}

impl Room<'_> {
    /// The same, for an event that nobody can wait with.
    fn late(self) -> Self {
        Self { above: self.above.map(|room| Box::new(room.late())), is_late: true, ..self }
    }

    /// Whether an event for this room is to be kept.
    pub(super) fn is_missing(&self) -> bool {
        self.is_late && self.stream.is_none()
    }
}

impl EventSink {
    pub(super) fn new(
        stream: Option<mpsc::Sender<ToolEvent>>,
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

    /// Waits for the turn to ask the hooks; there is nothing to wait for where there are none.
    pub(super) async fn turn(&self) -> Option<impl Drop> {
        match &self.turn {
            Some(turn) => Some(turn.lock().await),
            None => None,
        }
    }

    /// `call`, as those may see it who listen.
    pub(super) fn shown(&self, call: &ToolCall, definition: Option<&ToolDefinition>) -> ToolCall {
        match definition {
            Some(definition) => shown(call, definition),
            None if self.hides_unknown => {
                ToolCall { arguments: Arguments::from(Value::from(HIDDEN)), ..call.clone() }
            }
            None => call.clone(),
        }
    }

    /// An event of the batch that happens now.
    pub(super) fn event(&self, subject: Subject, kind: EventKind) -> ToolEvent {
        let run = self.run.as_ref().map(|run| run.id().clone());
        ToolEvent { run, author: self.author.clone(), ..subject.event(kind) }
    }

    /// Whether nobody listens, and there are no hooks.
    pub(super) fn is_quiet(&self) -> bool {
        self.turn.is_none() && !self.is_heard()
    }

    /// Whether anybody listens.
    pub(super) fn is_heard(&self) -> bool {
        self.stream.is_some() || self.listeners.receiver_count() > 0 || self.above().is_some()
    }

    /// The call below which the batch runs, where anybody hears of it.
    fn above(&self) -> Option<&CallReports> {
        let above = self.above.as_ref()?.as_any()?.downcast_ref::<CallReports>()?;
        above.is_heard().then_some(above)
    }

    /// Tells an event, which is only made where somebody listens.
    pub(super) async fn tell(&self, event: impl FnOnce() -> (Subject, EventKind)) {
        if self.is_heard() {
            let room = self.room().await;
            let (subject, kind) = event();
            self.send(room, self.event(subject, kind));
        }
    }

    /// Waits until each reader has room for an event.
    pub(super) async fn room(&self) -> Room<'_> {
        let stream = match &self.stream {
            // An error is that the reader of the stream has gone: no mistake.
            Some(stream) => stream.reserve().await.ok(),
            None => None,
        };
        let above = match self.above() {
            Some(above) => Some(Box::new(above.room_below().await)),
            None => None,
        };
        Room { stream, above, is_late: false }
    }

    /// As [`room`](Self::room), in a box.
    pub(super) fn boxed_room(&self) -> BoxFuture<'_, Room<'_>> {
        Box::pin(self.room())
    }

    /// The room that there is now, and whether each reader has some.
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

    /// Tells `event` to those who are not waited for, and to the readers above: now, or before the end of their call.
    pub(super) fn tell_listeners(&self, event: ToolEvent) {
        let (room, _) = self.room_now();
        self.send(Room { stream: None, ..room.late() }, event);
    }

    /// Whether a reader is waited for.
    pub(super) fn has_reader(&self) -> bool {
        self.stream.as_ref().is_some_and(|stream| !stream.is_closed())
    }

    /// Tells the reader alone an event that the listeners have heard already.
    pub(super) async fn tell_reader(&self, event: ToolEvent) {
        if let Some(stream) = &self.stream {
            let _ = stream.send(event).await;
        }
    }

    /// Sends `event`. Listeners of this executor that hear of the call above are told there, and not a second time.
    pub(super) fn send(&self, room: Room<'_>, event: ToolEvent) {
        if let Some(stream) = room.stream {
            stream.send(event.clone());
        }
        let room_above = room.above.map(|room| *room).unwrap_or_default();
        let is_told = self.above().is_some_and(|above| above.pass_on(room_above, &event, &self.listeners));
        if !is_told {
            // An error is that there are none.
            let _ = self.listeners.send(event);
        }
    }

    /// Whether what is told here is told to `listeners`.
    pub(super) fn reaches(&self, listeners: &broadcast::Sender<ToolEvent>) -> bool {
        self.listeners.same_channel(listeners) || self.above().is_some_and(|above| above.reaches(listeners))
    }
}
