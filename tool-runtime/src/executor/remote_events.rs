//! Events of runs below a call that run in another process.

use tool_core::ToolContext;

use super::reports::CallReports;
use crate::event::ToolEvent;

/// Passes on an event of a run below the call of `cx`, when its readers have room.
#[doc(hidden)]
pub async fn forward_child_event(cx: &ToolContext, event: ToolEvent) {
    if let Some(reports) = reports_of(cx) {
        let capacity = reports.reserve_for_child().await;
        reports.send_child_event(capacity, event);
    }
}

/// Passes on an event like [`forward_child_event`], without waiting: readers without room receive it before the end of the call.
#[doc(hidden)]
pub fn forward_child_event_now(cx: &ToolContext, event: ToolEvent) {
    if let Some(reports) = reports_of(cx) {
        let (capacity, _) = reports.try_reserve_for_child();
        reports.send_child_event(capacity.for_event_that_cannot_wait(), event);
    }
}

/// Returns the reports of the call of `cx` if they have a receiver.
fn reports_of(cx: &ToolContext) -> Option<&CallReports> {
    let reports = cx.sink()?.as_any()?.downcast_ref::<CallReports>()?;
    reports.has_receiver().then_some(reports)
}
