//! Events that a task stores in the order of their arrival, many in one statement.
//!
//! The answer of a call is sent to its client at once, and stored behind it, for a client that resumes the stream. It is not lost with the database:
//! while that does not answer, events wait here, and later ones behind them.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::{Notify, oneshot, watch};

use super::{
    ClusterError,
    event_log::{EventLog, NewEvent},
};

/// The largest sum of the events that wait.
const MAX_BYTES: usize = 64 * 1024 * 1024;
/// The most events of one statement, and the sum of their bytes from which on no other one joins them.
const MAX_BATCH_EVENTS: usize = 64;
const FULL_BATCH_BYTES: usize = 1024 * 1024;
/// The time for which events are collected, unless one comes whose id is waited for.
const COLLECT_TIME: Duration = Duration::from_millis(2);
/// The pause after a failure.
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// Receives the id of an event when it is stored; `None` if that is delayed.
type IdSender = oneshot::Sender<Option<i64>>;

struct QueuedEvent {
    event: NewEvent,
    id_sender: Option<IdSender>,
}

/// Events that are to be stored, the oldest first.
pub(super) struct EventQueue {
    waiting: Mutex<WaitingEvents>,
    /// The number of the events that are not stored.
    len: watch::Sender<usize>,
    /// Notified when an event is added whose id is waited for.
    has_urgent: Notify,
    max_bytes: usize,
}

#[derive(Default)]
struct WaitingEvents {
    events: VecDeque<QueuedEvent>,
    /// The bytes of all events that are not stored.
    bytes: usize,
    /// The database did not answer the last time.
    is_delayed: bool,
}

impl Default for EventQueue {
    fn default() -> Self {
        let (waiting, len, has_urgent) = (Mutex::default(), watch::Sender::new(0), Notify::new());
        Self { waiting, len, has_urgent, max_bytes: MAX_BYTES }
    }
}

impl EventQueue {
    fn lock_waiting(&self) -> MutexGuard<'_, WaitingEvents> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an event.
    ///
    /// # Errors
    ///
    /// If too many bytes wait.
    pub(super) fn push(&self, event: NewEvent, id_sender: Option<IdSender>) -> Result<(), ClusterError> {
        let mut waiting = self.lock_waiting();
        let bytes = waiting.bytes.saturating_add(event.body.len());
        if bytes > self.max_bytes {
            let problem =
                format!("events of {} bytes wait for the database, and no more are kept", waiting.bytes);
            return Err(ClusterError::Unavailable(problem));
        }
        waiting.bytes = bytes;
        if id_sender.is_some() {
            self.has_urgent.notify_one();
        }
        let mut queued = QueuedEvent { event, id_sender };
        if waiting.is_delayed {
            queued.announce_delay();
        }
        waiting.events.push_back(queued);
        self.len.send_modify(|len| *len += 1);
        Ok(())
    }

    /// Takes the oldest events, which still count as waiting.
    fn take_batch(&self) -> Vec<QueuedEvent> {
        let mut waiting = self.lock_waiting();
        let (mut batch, mut bytes) = (Vec::new(), 0);
        while batch.len() < MAX_BATCH_EVENTS
            && bytes < FULL_BATCH_BYTES
            && let Some(queued) = waiting.events.pop_front()
        {
            bytes += queued.event.body.len();
            batch.push(queued);
        }
        batch
    }

    /// Counts `events`, which were taken, no longer.
    fn uncount_taken(&self, events: &[QueuedEvent]) {
        let bytes: usize = events.iter().map(|queued| queued.event.body.len()).sum();
        let mut waiting = self.lock_waiting();
        waiting.bytes = waiting.bytes.saturating_sub(bytes);
        self.len.send_modify(|len| *len = len.saturating_sub(events.len()));
    }

    /// Notes whether the database answers. Who waits for an id hears that it does not.
    fn set_delayed(&self, is_delayed: bool) {
        let mut waiting = self.lock_waiting();
        waiting.is_delayed = is_delayed;
        if is_delayed {
            waiting.events.iter_mut().for_each(QueuedEvent::announce_delay);
        }
    }

    /// Waits until no event waits.
    pub(super) async fn wait_until_stored(&self) {
        self.len.subscribe().wait_for(|len| *len == 0).await.ok();
    }
}

impl QueuedEvent {
    fn announce_delay(&mut self) {
        self.announce_id(None);
    }

    fn announce_id(&mut self, id: Option<i64>) {
        if let Some(sender) = self.id_sender.take() {
            sender.send(id).ok();
        }
    }
}

/// Stores the events of the queue, as long as the process is in its cluster.
pub(super) async fn store_queued_events(log: Arc<EventLog>) {
    let mut len = log.queue.len.subscribe();
    loop {
        len.wait_for(|len| *len > 0).await.ok();
        tokio::time::timeout(COLLECT_TIME, log.queue.has_urgent.notified()).await.ok();
        if log.database.pool.is_closed() {
            return;
        }
        let mut batch = log.queue.take_batch();
        if let Err(error) = store_batch(&log, &mut batch).await {
            tracing::error!(%error, events = batch.len(), "the database refuses events, which are lost");
        }
        log.queue.uncount_taken(&batch);
    }
}

/// Stores events, as soon as the database answers.
///
/// # Errors
///
/// If the database refuses them.
async fn store_batch(log: &EventLog, batch: &mut [QueuedEvent]) -> Result<(), ClusterError> {
    loop {
        match log.store_events(batch.iter().map(|queued| &queued.event)).await {
            Ok(ids) => {
                log.queue.set_delayed(false);
                batch.iter_mut().zip(ids).for_each(|(queued, id)| queued.announce_id(Some(id)));
                return Ok(());
            }
            Err(error @ ClusterError::Unavailable(_)) if !log.database.pool.is_closed() => {
                tracing::warn!(%error, "events wait for the database");
                batch.iter_mut().for_each(QueuedEvent::announce_delay);
                log.queue.set_delayed(true);
                tokio::time::sleep(RETRY_PAUSE).await;
            }
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use futures_util::FutureExt as _;

    use super::{super::event_log::StreamKey, *};

    fn bodies(batch: &[QueuedEvent]) -> Vec<&str> {
        batch.iter().map(|queued| &*queued.event.body).collect()
    }

    #[test]
    fn events_wait_in_their_order_up_to_a_number_of_bytes() {
        let queue = EventQueue { max_bytes: 10, ..EventQueue::default() };
        let push = |body: &str| queue.push(NewEvent::with_body(body), None);
        assert!(queue.wait_until_stored().now_or_never().is_some());
        push("12345").unwrap();
        push("1234").unwrap();
        let refused = push("12").unwrap_err();
        assert_eq!(refused.to_string(), "events of 9 bytes wait for the database, and no more are kept");
        let batch = queue.take_batch();
        assert_eq!(bodies(&batch), ["12345", "1234"]);
        // What is being stored counts.
        push("12").unwrap_err();
        push("1").unwrap();
        assert!(queue.wait_until_stored().now_or_never().is_none());
        queue.uncount_taken(&batch);
        push("123456789").unwrap();
        let batch = queue.take_batch();
        assert_eq!(bodies(&batch), ["1", "123456789"]);
        queue.uncount_taken(&batch);
        assert!(queue.wait_until_stored().now_or_never().is_some());
    }

    #[test]
    fn a_statement_stores_a_bounded_number_of_events_and_bytes() {
        let queue = EventQueue::default();
        let push = |body: &str| queue.push(NewEvent::with_body(body), None).unwrap();
        (0..MAX_BATCH_EVENTS + 1).for_each(|_| push("1"));
        let large = "x".repeat(FULL_BATCH_BYTES - 1);
        [&*large, "2", "3"].into_iter().for_each(push);
        let sizes = [(); 4].map(|()| queue.take_batch().len());
        assert_eq!(sizes, [MAX_BATCH_EVENTS, 2, 2, 0]);
        [&*large, "2", "3"].into_iter().for_each(push);
        assert_eq!([(); 3].map(|()| queue.take_batch().len()), [2, 1, 0]);
    }

    #[test]
    fn who_waits_for_an_id_hears_of_a_delay_as_long_as_the_database_does_not_answer() {
        let queue = EventQueue::default();
        let push = || {
            let (sender, mut id) = oneshot::channel();
            queue.push(NewEvent::with_body("1"), Some(sender)).unwrap();
            move || id.try_recv().ok()
        };
        let mut waiting = push();
        assert_eq!(waiting(), None);
        queue.set_delayed(true);
        assert_eq!((waiting(), push()()), (Some(None), Some(None)));
        queue.set_delayed(false);
        assert_eq!(push()(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn events_wait_for_the_database_until_the_process_leaves_its_cluster() {
        let log = EventLog::without_database();
        let mut storing = Box::pin(store_queued_events(Arc::clone(&log)));
        let mut store_for_a_minute =
            async || tokio::time::timeout(Duration::from_secs(60), &mut storing).await.is_ok();
        assert!(!store_for_a_minute().await);
        assert!(!log.queue.lock_waiting().is_delayed, "there was nothing to store");
        let (sender, mut id) = oneshot::channel();
        log.queue.push(NewEvent::with_body("1"), Some(sender)).unwrap();
        assert!(!store_for_a_minute().await);
        assert_eq!(id.try_recv(), Ok(None), "it is stored later");
        assert!(log.queue.lock_waiting().is_delayed);
        let is_stored = || log.queue.wait_until_stored().now_or_never().is_some();
        assert!(!is_stored());
        let (is_over, ()) = tokio::join!(store_for_a_minute(), log.database.close());
        assert!(!is_over);
        assert!(is_stored() && log.queue.lock_waiting().bytes == 0, "it is lost");
        log.queue.push(NewEvent::with_body("2"), None).unwrap();
        assert!(store_for_a_minute().await);
    }

    #[tokio::test]
    async fn events_that_waited_have_ids_as_soon_as_the_database_answers() {
        let Some(cluster) = super::super::Cluster::open_alone().await else { return };
        let log = &cluster.0.log;
        log.queue.set_delayed(true);
        assert_eq!(log.append_or_store_later(&StreamKey::of_all(), "1").await.unwrap(), None);
        log.queue.wait_until_stored().await;
        assert!(!log.queue.lock_waiting().is_delayed);
        let id = log.append_or_store_later(&StreamKey::of_all(), "2").await.unwrap();
        assert!(id.is_some_and(|id| id > 1), "{id:?}");
    }
}
