//! Timeouts of attempts, and pauses between them.

use std::{pin::pin, time::Duration};

use tokio::{
    runtime::Handle,
    time::{Instant, sleep, timeout_at},
};
use tool_core::{ErrorKind, Metadata, Prepared, ToolContext, ToolError, ToolOutput};

use super::{reports::CallReports, settings::Settings};
use crate::{guard::catch, registry::Entry};

/// The total timeout and the idle timeout of an attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttemptTimeouts {
    total: Option<Duration>,
    idle: Option<Duration>,
}

impl AttemptTimeouts {
    /// The settings of a tool take precedence over those of its executor.
    pub(super) fn new(settings: &Settings, metadata: &Metadata) -> Self {
        Self {
            total: metadata.timeout.or(settings.timeout),
            idle: metadata.idle_timeout.or(settings.idle_timeout),
        }
    }

    pub(super) fn has_idle_timeout(self) -> bool {
        self.idle.is_some()
    }

    pub(super) fn is_unlimited(self) -> bool {
        self.total.is_none() && self.idle.is_none()
    }

    /// Returns the time at which an attempt in `cx` times out; `None` if it has no timeout.
    pub(super) fn deadline_in(self, cx: &ToolContext, reports: &CallReports) -> Option<Instant> {
        if !has_timer() {
            return None;
        }
        let total = self.total.and_then(|_| cx.deadline()).map(Instant::from_std);
        let idle = self.idle.and_then(|idle| reports.last_activity().checked_add(idle));
        total.into_iter().chain(idle).min()
    }
}

/// Runs `prepared` with the total timeout and the idle timeout.
pub(super) async fn run_with_timeouts<'a>(
    timeouts: AttemptTimeouts,
    prepared: Prepared<'a>,
    cx: &'a ToolContext,
    reports: Option<&CallReports>,
) -> Result<ToolOutput, ToolError> {
    if !has_timer() {
        let message = "it has a `timeout`, but there is no tokio runtime with a timer; \
                       call it within `#[tokio::main]`, or build the runtime with `enable_all`";
        return Err(ToolError::new(ErrorKind::Unavailable, message));
    }
    let total = timeouts.total.and_then(|total| Some((Instant::now().checked_add(total)?, total)));
    if let Some((end, _)) = total {
        cx.begin(end.into_std());
    }
    if let Some(reports) = reports {
        drop(reports.record_activity());
    }
    // Started after its context has the deadline: a tool may copy it.
    let mut running = pin!(Entry::start_prepared(prepared, cx)?);
    loop {
        let silence = timeouts
            .idle
            .zip(reports)
            .and_then(|(idle, reports)| Some((reports.last_activity().checked_add(idle)?, idle)));
        let next = [total, silence].into_iter().flatten().min_by_key(|(end, _)| *end);
        let Some((next, _)) = next else { return running.await };
        if let Ok(result) = timeout_at(next, &mut running).await {
            return result;
        }
        let now = Instant::now();
        let message = if let Some((_, limit)) = total.filter(|(end, _)| *end <= now) {
            format!("no result after {limit:?}")
        } else if let (Some((_, limit)), Some(reports)) = (silence, reports)
            && reports.last_activity().checked_add(limit).is_some_and(|end| end <= now)
        {
            format!("no update or progress for {limit:?}")
        } else {
            continue;
        };
        cx.cancel();
        return Err(ToolError::new(ErrorKind::TimedOut, message));
    }
}

/// Waits for `pause`; returns `false` at once without a timer.
pub(super) async fn sleep_for(pause: Duration) -> bool {
    let has_timer = has_timer();
    if has_timer {
        sleep(pause).await;
    }
    has_timer
}

/// Returns `true` if the runtime has a timer. There is no query for this, and a timer panics without one.
pub(super) fn has_timer() -> bool {
    Handle::try_current().is_ok() && catch(|| drop(Box::pin(sleep(Duration::ZERO)))).is_ok()
}
