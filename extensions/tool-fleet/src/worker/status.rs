//! The state of a worker, as others see it.

use tokio::sync::watch;

/// The state of a [`Worker`](crate::Worker): [`Worker::watch_state`](crate::Worker::watch_state).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum WorkerState {
    /// It does not listen to calls yet.
    Starting,
    /// It takes calls.
    Serving,
    /// It takes no call, and ends those that it has.
    Draining,
    /// It has ended, or was dropped.
    Ended,
}

/// The side of a worker on its state, which ends with it.
pub(super) struct StateSender(pub(super) watch::Sender<WorkerState>);

impl Default for StateSender {
    fn default() -> Self {
        Self(watch::Sender::new(WorkerState::Starting))
    }
}

impl StateSender {
    pub(super) fn set_state(&self, state: WorkerState) {
        self.0.send_replace(state);
    }
}

impl Drop for StateSender {
    fn drop(&mut self) {
        self.set_state(WorkerState::Ended);
    }
}
