//! The receiving half of an event channel with a bounded buffer, used by executors and toolboxes. It never delays
//! senders.

use tokio::sync::broadcast::{
    self,
    error::{RecvError, TryRecvError},
};

use super::Lagged;

/// Receives events of type `T`.
#[derive(Debug)]
pub(crate) struct Receiver<T>(broadcast::Receiver<T>);

impl<T: Clone> Receiver<T> {
    pub(crate) fn new(receiver: broadcast::Receiver<T>) -> Self {
        Self(receiver)
    }

    /// Waits for the next event; `None` once the sender is dropped. Cancel safe: no event is lost if the future is
    /// dropped.
    pub(crate) async fn next(&mut self) -> Option<Result<T, Lagged>> {
        match self.0.recv().await {
            Ok(event) => Some(Ok(event)),
            Err(RecvError::Lagged(missed)) => Some(Err(Lagged { missed })),
            Err(RecvError::Closed) => None,
        }
    }

    /// Returns the next event that has already occurred; `None` if there is none.
    pub(crate) fn try_next(&mut self) -> Option<Result<T, Lagged>> {
        match self.0.try_recv() {
            Ok(event) => Some(Ok(event)),
            Err(TryRecvError::Lagged(missed)) => Some(Err(Lagged { missed })),
            Err(TryRecvError::Empty | TryRecvError::Closed) => None,
        }
    }
}
