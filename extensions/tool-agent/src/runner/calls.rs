//! The calls of one response.

use std::{collections::HashMap, sync::Arc};

use tool_runtime::{
    CallOutcome,
    call::CallAddress,
    event::{EventKind, ToolEvent},
    executor::{Batch, Steering, StreamItem},
};

use super::{
    AgentEvent, AgentEventKind,
    parent_run::{ChildEvent, ChildEvents},
    scope::RunScope,
};
use crate::{Message, QueueMode};

/// Runs a batch, and emits its events. Returns its outcomes, and the messages that interrupted it, which follow its
/// results.
pub(super) async fn run_batch(scope: &RunScope, batch: Batch) -> (Vec<CallOutcome>, Vec<Message>) {
    let inbox = Arc::clone(&scope.inbox);
    let steering = Steering::new(move || std::future::ready(inbox.next_steering()));
    let mut stream = batch.with_run(Arc::clone(&scope.run)).steering(&steering).stream();
    let mut events = BatchEvents { scope, children: scope.parent.receive_events(), calls: HashMap::new() };
    let mut outcomes = Vec::new();
    loop {
        tokio::select! {
            biased;
            child = events.children.next() => events.emit_child(child).await,
            item = stream.next() => match item {
                Some(StreamItem::Event(event)) => events.emit(event).await,
                Some(StreamItem::Outcomes(all)) => outcomes = all,
                None => break,
            }
        }
    }
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
    /// The calls with runs below them.
    calls: HashMap<CallAddress, CallEvents>,
}

/// The events below a call.
enum CallEvents {
    /// The start of the call is an event already.
    Started,
    /// They follow the start of the call.
    Held(Vec<AgentEvent>),
}

impl BatchEvents<'_> {
    /// Emits an event of a call, between those of the runs below it.
    async fn emit(&mut self, event: ToolEvent) {
        while let Some(child) = self.children.try_next() {
            self.emit_child(child).await;
        }
        let (call, is_start) = (event.address.clone(), matches!(event.kind, EventKind::Started { .. }));
        // A call that was resumed has started in another batch.
        if !is_start && matches!(self.calls.get(&call), Some(CallEvents::Held(_))) {
            self.release_held(&call).await;
        }
        self.scope.emit(AgentEventKind::Tool { event: Box::new(event) }).await;
        if is_start {
            self.release_held(&call).await;
        }
    }

    /// Emits the events that followed the start of a call.
    async fn release_held(&mut self, call: &CallAddress) {
        if let Some(CallEvents::Held(held)) = self.calls.insert(call.clone(), CallEvents::Started) {
            for event in held {
                self.emit_below(call, event).await;
            }
        }
    }

    /// Emits an event of a run below a call, after the start of the call.
    async fn emit_child(&mut self, child: ChildEvent) {
        let ChildEvent { call, event } = child;
        // The start of a call of another batch is no event here: it was resumed, or the body of a call made it.
        if call.run.as_ref() != Some(self.scope.run.id()) {
            return self.emit_below(&call, event).await;
        }
        match self.calls.entry(call.clone()).or_insert_with(|| CallEvents::Held(Vec::new())) {
            CallEvents::Started => self.emit_below(&call, event).await,
            CallEvents::Held(held) => held.push(event),
        }
    }

    async fn emit_below(&self, call: &CallAddress, event: AgentEvent) {
        self.scope.emit(AgentEventKind::Child { call: call.clone(), event: Box::new(event) }).await;
    }
}
