//! How long is waited: for an attempt, and between two of them.

use std::{pin::pin, time::Duration};

use tokio::{
    runtime::Handle,
    time::{Instant, sleep, timeout_at},
};
use tool_core::{ErrorKind, Metadata, Prepared, ToolContext, ToolError, ToolOutput};

use super::{reports::CallReports, settings::Settings};
use crate::{panic_barrier::caught, registry::Entry};

/// How long an attempt may take in all, and without a sign of life.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    total: Option<Duration>,
    idle: Option<Duration>,
}

impl Patience {
    /// What a tool says of itself counts more than what its executor says.
    pub(super) fn new(settings: &Settings, metadata: &Metadata) -> Self {
        Self {
            total: metadata.timeout.or(settings.timeout),
            idle: metadata.idle_timeout.or(settings.idle_timeout),
        }
    }

    pub(super) fn waits_for_signs(self) -> bool {
        self.idle.is_some()
    }

    pub(super) fn is_endless(self) -> bool {
        self.total.is_none() && self.idle.is_none()
    }

    /// When an attempt in `cx` has taken too long; `None` for one that may take any time.
    pub(super) fn end(self, cx: &ToolContext, reports: &CallReports) -> Option<Instant> {
        if self.is_endless() || !keeps_time() {
            return None;
        }
        let total = self.total.and_then(|_| cx.deadline()).map(Instant::from_std);
        let idle = self.idle.and_then(|idle| reports.last_sign().checked_add(idle));
        total.into_iter().chain(idle).min()
    }
}

/// Runs `prepared`, unless it takes too long, or gives no sign of life for too long.
pub(super) async fn patient<'a>(
    patience: Patience,
    prepared: Prepared<'a>,
    cx: &'a ToolContext,
    reports: Option<&CallReports>,
) -> Result<ToolOutput, ToolError> {
    if !keeps_time() {
        let message = "it has a `timeout`, and no tokio runtime keeps the time; \
                       build the runtime with `enable_time` or `enable_all`";
        return Err(ToolError::new(ErrorKind::Unavailable, message));
    }
    let total = patience.total.and_then(|total| Some((Instant::now().checked_add(total)?, total)));
    if let Some((end, _)) = total {
        cx.begin(end.into_std());
    }
    if let Some(reports) = reports {
        drop(reports.sign());
    }
    // Not before its context has the deadline: a tool may take a copy.
    let mut running = pin!(Entry::run(prepared, cx)?);
    loop {
        let silence = patience
            .idle
            .zip(reports)
            .and_then(|(idle, reports)| Some((reports.last_sign().checked_add(idle)?, idle)));
        let next = [total, silence].into_iter().flatten().min_by_key(|(end, _)| *end);
        let Some((next, _)) = next else { return running.await };
        if let Ok(result) = timeout_at(next, &mut running).await {
            return result;
        }
        let now = Instant::now();
        let message = if let Some((_, limit)) = total.filter(|(end, _)| *end <= now) {
            format!("no result after {limit:?}")
        } else if let (Some((_, limit)), Some(reports)) = (silence, reports)
            && reports.last_sign().checked_add(limit).is_some_and(|end| end <= now)
        {
            format!("no sign of life for {limit:?}")
        } else {
            continue;
        };
        cx.cancel();
        return Err(ToolError::new(ErrorKind::TimedOut, message));
    }
}

/// Whether `pause` is over; it never is where nothing keeps the time.
pub(super) async fn waited(pause: Duration) -> bool {
    let keeps_time = keeps_time();
    if keeps_time {
        sleep(pause).await;
    }
    keeps_time
}

/// Whether a runtime keeps the time, which is nowhere to be asked: a timer panics where none does.
pub(super) fn keeps_time() -> bool {
    Handle::try_current().is_ok() && caught(|| drop(Box::pin(sleep(Duration::ZERO)))).is_ok()
}
