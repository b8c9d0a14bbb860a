//! Events that could not be stored, which wait for the database.
//!
//! The answer of a call that ran is not lost with its database: it is sent to its client at once, and stored when the database returns, for a client
//! that resumes the stream. While events wait, later ones wait behind them, so that the events of a stream keep their order.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::watch;

use super::{
    ClusterError,
    event_log::{EventLog, NewEvent},
};

/// The largest sum of the events that wait.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// The pause after a failure.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// Events that wait for the database, the oldest first.
pub(super) struct KeptEvents {
    queue: Mutex<EventQueue>,
    len: watch::Sender<usize>,
    max_bytes: usize,
}

#[derive(Default)]
struct EventQueue {
    events: VecDeque<Arc<NewEvent>>,
    bytes: usize,
}

impl Default for KeptEvents {
    fn default() -> Self {
        Self { queue: Mutex::default(), len: watch::Sender::new(0), max_bytes: MAX_BYTES }
    }
}

impl KeptEvents {
    fn lock_queue(&self) -> MutexGuard<'_, EventQueue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_empty(&self) -> bool {
        *self.len.borrow() == 0
    }

    /// Keeps an event.
    ///
    /// # Errors
    ///
    /// If too many bytes wait.
    pub(super) fn push(&self, event: NewEvent) -> Result<(), ClusterError> {
        let mut queue = self.lock_queue();
        let bytes = queue.bytes.saturating_add(event.body.len());
        if bytes > self.max_bytes {
            let problem =
                format!("events of {} bytes wait for the database, and no more are kept", queue.bytes);
            return Err(ClusterError::Unavailable(problem));
        }
        queue.bytes = bytes;
        queue.events.push_back(Arc::new(event));
        self.len.send_replace(queue.events.len());
        Ok(())
    }

    fn first(&self) -> Option<Arc<NewEvent>> {
        self.lock_queue().events.front().map(Arc::clone)
    }

    fn remove_first(&self) {
        let mut queue = self.lock_queue();
        if let Some(event) = queue.events.pop_front() {
            queue.bytes = queue.bytes.saturating_sub(event.body.len());
        }
        self.len.send_replace(queue.events.len());
    }

    /// Waits until no event waits.
    pub(super) async fn wait_until_stored(&self) {
        self.len.subscribe().wait_for(|len| *len == 0).await.ok();
    }
}

/// Stores the events that wait, as long as the process is in its cluster.
pub(super) async fn store_kept_events(log: Arc<EventLog>) {
    let mut len = log.kept.len.subscribe();
    loop {
        len.wait_for(|len| *len > 0).await.ok();
        if log.database.pool.is_closed() {
            return;
        }
        let Some(event) = log.kept.first() else { continue };
        match log.store(&event).await {
            Ok(_) => log.kept.remove_first(),
            Err(error @ ClusterError::Unavailable(_)) => {
                tracing::warn!(%error, "events wait for the database");
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            Err(error) => {
                tracing::error!(%error, "the database refuses an event, which is lost");
                log.kept.remove_first();
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    #[test]
    fn events_wait_in_their_order_up_to_a_number_of_bytes() {
        let kept = KeptEvents { max_bytes: 10, ..KeptEvents::default() };
        let event = |body: &str| NewEvent::with_body(body);
        assert!(kept.wait_until_stored().now_or_never().is_some());
        kept.push(event("12345")).unwrap();
        kept.push(event("1234")).unwrap();
        let refused = kept.push(event("12")).unwrap_err();
        assert_eq!(refused.to_string(), "events of 9 bytes wait for the database, and no more are kept");
        assert!(kept.wait_until_stored().now_or_never().is_none());
        assert_eq!(kept.first().unwrap().body, "12345");
        kept.remove_first();
        kept.push(event("12")).unwrap();
        assert_eq!(kept.first().unwrap().body, "1234");
        kept.remove_first();
        kept.remove_first();
        assert!(kept.is_empty() && kept.wait_until_stored().now_or_never().is_some());
    }
}
