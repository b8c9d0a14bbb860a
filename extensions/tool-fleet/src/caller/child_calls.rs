//! The calls of child runs at a worker.

use std::{collections::HashMap, sync::Arc, time::SystemTime};

use tool_runtime::{
    ToolContext, ToolError, ToolResult,
    call::CallAddress,
    event::{EventKind, ToolEvent},
    executor::{forward_child_event, forward_child_event_now},
};

/// The calls of child runs that are open at once, for a worker that does not say the truth.
const MAX_OPEN_CALLS: usize = 4096;

/// Shows the events of child runs at a worker, and ends the calls that it leaves open.
#[derive(Default)]
pub(super) struct ChildCalls {
    /// The starts of calls without an end, by the addresses of the calls above and their own.
    open: HashMap<Vec<CallAddress>, ToolEvent>,
}

impl ChildCalls {
    /// # Errors
    ///
    /// If more calls of child runs are open than [`MAX_OPEN_CALLS`].
    pub(super) async fn show_event(&mut self, event: ToolEvent, cx: &ToolContext) -> Result<(), ToolError> {
        let path = path_of(&event);
        match innermost_kind(&event) {
            EventKind::Started { .. } if self.open.len() >= MAX_OPEN_CALLS => {
                return Err(ToolError::failed(format!(
                    "the worker began more than {MAX_OPEN_CALLS} calls of child runs without an end; it may have taken effect"
                )));
            }
            EventKind::Started { .. } => {
                self.open.insert(path, event.clone());
            }
            EventKind::Finished { .. } => {
                self.open.remove(&path);
            }
            _ => {}
        }
        forward_child_event(cx, event).await;
        Ok(())
    }

    /// Shows the ends of the calls that have none, since their worker is lost, or their call was cancelled.
    pub(super) fn end_open_calls(&mut self, cx: &ToolContext) {
        for (_, event) in self.open.drain() {
            forward_child_event_now(cx, interrupted(event));
        }
    }
}

/// Returns the event of the run below, of an event of a child run.
fn inner_event(event: &ToolEvent) -> Option<&ToolEvent> {
    match &event.kind {
        EventKind::Child { event } => Some(event),
        _ => None,
    }
}

/// Returns the event and those of the runs below, of which the last one is of a call itself.
fn events_within(event: &ToolEvent) -> impl Iterator<Item = &ToolEvent> {
    std::iter::successors(Some(event), |event| inner_event(event))
}

fn path_of(event: &ToolEvent) -> Vec<CallAddress> {
    events_within(event).map(|event| event.address.clone()).collect()
}

fn innermost_kind(event: &ToolEvent) -> &EventKind {
    events_within(event).last().map_or(&event.kind, |event| &event.kind)
}

/// Returns the end of the call whose start is `event`.
fn interrupted(mut event: ToolEvent) -> ToolEvent {
    event.time = SystemTime::now();
    event.kind = match event.kind {
        EventKind::Child { event: inner } => {
            EventKind::Child { event: Arc::new(interrupted(Arc::unwrap_or_clone(inner))) }
        }
        _ => {
            let error =
                ToolError::failed("the call was interrupted: its worker is lost, or the call above it ended")
                    .of_tool(event.name.to_string());
            let result = ToolResult::new(event.address.call_id.clone(), Arc::clone(&event.name), Err(error));
            EventKind::Finished { result: Arc::new(result) }
        }
    };
    event
}
