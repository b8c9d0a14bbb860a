//! The calls of one response.

use std::sync::Arc;

use tool_runtime::{
    CallOutcome,
    executor::{Batch, Steering, StreamItem},
};

use super::{AgentEventKind, scope::RunScope};
use crate::{Message, QueueMode};

/// Runs a batch, and emits its events. Returns its outcomes, and the messages that interrupted it, which follow its
/// results.
pub(super) async fn run_batch(scope: &RunScope, batch: Batch) -> (Vec<CallOutcome>, Vec<Message>) {
    let inbox = Arc::clone(&scope.inbox);
    let steering = Steering::new(move || std::future::ready(inbox.next_steering()));
    let mut stream = batch.with_run(Arc::clone(&scope.run)).steering(&steering).stream();
    let mut outcomes = Vec::new();
    while let Some(item) = stream.next().await {
        match item {
            StreamItem::Event(event) => scope.emit(AgentEventKind::Tool { event: Box::new(event) }).await,
            StreamItem::Outcomes(all) => outcomes = all,
        }
    }
    let mut messages = steering.take();
    if !messages.is_empty() && scope.agent.0.steering_mode == QueueMode::All {
        messages.extend(std::iter::from_fn(|| scope.inbox.next_steering()));
    }
    (outcomes, messages)
}
