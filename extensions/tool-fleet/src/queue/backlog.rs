use std::time::{Duration, SystemTime};

use super::QueuedCall;

/// The calls of a [`CallQueue`](super::CallQueue) that wait for a worker.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueBacklog {
    /// Their number.
    pub calls: u64,
    /// The time since the oldest one was stored; `None` without one.
    pub oldest_age: Option<Duration>,
}

impl QueueBacklog {
    /// Returns the backlog of these queued calls.
    pub(super) fn of_calls(queued: &[QueuedCall]) -> Self {
        let oldest = queued.iter().map(|call| call.created).min();
        let age = |created| SystemTime::now().duration_since(created).unwrap_or_default();
        Self { calls: queued.len() as u64, oldest_age: oldest.map(age) }
    }
}
