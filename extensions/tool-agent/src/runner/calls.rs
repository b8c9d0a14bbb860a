//! The calls of one response.

use std::{collections::HashMap, sync::Arc};

use tool_runtime::{
    CallOutcome,
    call::CallAddress,
    event::{EventKind, ToolEvent},
    executor::{Batch, Steering, StreamItem},
};

use super::{
    AgentEventKind,
    flow::boxed,
    parent_run::{ChildEvent, ChildEvents},
    scope::RunScope,
};
use crate::{Message, QueueMode};

/// Runs a batch, and emits its events. Returns its outcomes, and the messages that interrupted it, which follow its
/// results.
pub(super) async fn run_batch_with_steering(
    scope: &RunScope,
    batch: Batch,
) -> (Vec<CallOutcome>, Vec<Message>) {
    let inbox = Arc::clone(&scope.inbox);
    let steering = Steering::new(move || std::future::ready(inbox.next_steering()));
    let mut stream = batch.with_run(Arc::clone(&scope.run)).steering(&steering).stream();
    let children = scope.parent.subscribe_to_child_events();
    let mut events = BatchEvents { scope, children, started: HashMap::new(), held: Vec::new() };
    let mut outcomes = Vec::new();
    loop {
        tokio::select! {
            biased;
            child = events.children.next() => boxed(|| events.emit_or_hold_child_event(child)).await,
            item = stream.next() => match item {
                Some(StreamItem::Event(event)) => boxed(|| events.emit(event)).await,
                Some(StreamItem::Outcomes(all)) => outcomes = all,
                None => break,
            }
        }
    }
    boxed(|| events.emit_all_held()).await;
    let mut messages = steering.take();
    if !messages.is_empty() && scope.agent.0.steering_mode == QueueMode::All {
        messages.extend(std::iter::from_fn(|| scope.inbox.next_steering()));
    }
    (outcomes, messages)
}

/// The events of a batch, in order: those of a run below a call are between the start and the end of the call.
struct BatchEvents<'r> {
    scope: &'r RunScope,
    children: ChildEvents,
    /// The calls whose start is an event already, by their serials: to hash an address, the texts of its ids are made.
    started: HashMap<u64, CallAddress>,
    /// Events below calls of which it is none yet.
    held: Vec<ChildEvent>,
}

impl BatchEvents<'_> {
    /// Emits an event of a call, between those of the runs below it.
    async fn emit(&mut self, event: ToolEvent) {
        while let Some(child) = self.children.try_next() {
            self.emit_or_hold_child_event(child).await;
        }
        let start = matches!(event.kind, EventKind::Started { .. }).then(|| event.address.clone());
        self.scope.emit(AgentEventKind::Tool { event: Box::new(event) }).await;
        if let Some(call) = start {
            self.emit_held_of_call(&call).await;
            self.started.insert(call.serial, call);
        }
    }

    /// Emits the events below a call that were held.
    async fn emit_held_of_call(&mut self, call: &CallAddress) {
        for child in self.held.extract_if(.., |child| child.call == *call).collect::<Vec<_>>() {
            self.emit_child_event(child).await;
        }
    }

    /// Emits all events that were held.
    async fn emit_all_held(&mut self) {
        for child in std::mem::take(&mut self.held) {
            self.emit_child_event(child).await;
        }
    }

    /// Emits an event of a run below a call, after the start of the call.
    async fn emit_or_hold_child_event(&mut self, child: ChildEvent) {
        // The start of a call of another run is no event here: the body of a call made it. A call that continues has the address of its
        // first run.
        let is_own = child.call.run.as_ref() == Some(self.scope.run.id())
            || self.scope.parent.is_resumed_call(&child.call);
        match is_own && self.started.get(&child.call.serial) != Some(&child.call) {
            true => self.held.push(child),
            false => self.emit_child_event(child).await,
        }
    }

    async fn emit_child_event(&self, child: ChildEvent) {
        let ChildEvent { call, event } = child;
        self.scope.emit(AgentEventKind::Child { call, event }).await;
    }
}
