//! The bodies of requests that are being received, and their limit.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    task::{Context, Waker},
    time::Duration,
};

use tokio::time::Instant;

/// The age from which a body may have to give way to a new one.
const MIN_AGE: Duration = Duration::from_secs(1);

/// The bodies that a server receives. A body that arrives with the head of its request is none of them.
#[derive(Debug)]
pub(super) struct ReceivedBodies {
    limit: usize,
    open: Mutex<Vec<Arc<OpenBody>>>,
}

#[derive(Debug)]
struct OpenBody {
    start: Instant,
    received_bytes: AtomicU64,
    has_given_way: AtomicBool,
    reader: Mutex<Option<Waker>>,
}

impl OpenBody {
    /// Returns the bytes per second.
    fn bytes_per_second(&self, now: Instant) -> f64 {
        let seconds = now.saturating_duration_since(self.start).as_secs_f64();
        self.received_bytes.load(Ordering::Relaxed) as f64 / seconds.max(f64::MIN_POSITIVE)
    }
}

impl ReceivedBodies {
    pub(super) fn new(limit: usize) -> Self {
        Self { limit, open: Mutex::default() }
    }

    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    fn lock_open_bodies(&self) -> MutexGuard<'_, Vec<Arc<OpenBody>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more body. At the limit, the body with the lowest rate gives way, so that clients that send nothing do not keep
    /// others from the server; `None` if all bodies are new.
    pub(super) fn admit_body_displacing_slowest(self: &Arc<Self>) -> Option<BodyPermit> {
        let now = Instant::now();
        let mut open = self.lock_open_bodies();
        if open.len() >= self.limit {
            let is_old = |body: &Arc<OpenBody>| now.saturating_duration_since(body.start) >= MIN_AGE;
            let candidates = open.iter().enumerate().filter(|(_, body)| is_old(body));
            let slowest = candidates.min_by(|(_, one), (_, other)| {
                one.bytes_per_second(now).total_cmp(&other.bytes_per_second(now))
            });
            let slowest = slowest.map(|(at, _)| at)?;
            let body = open.swap_remove(slowest);
            body.has_given_way.store(true, Ordering::Release);
            if let Some(reader) = body.reader.lock().unwrap_or_else(PoisonError::into_inner).take() {
                reader.wake();
            }
        }
        let body = Arc::new(OpenBody {
            start: now,
            received_bytes: AtomicU64::new(0),
            has_given_way: AtomicBool::new(false),
            reader: Mutex::default(),
        });
        open.push(Arc::clone(&body));
        Some(BodyPermit { bodies: Arc::clone(self), body })
    }
}

/// One of the bodies, until it is dropped.
#[derive(Debug)]
pub(super) struct BodyPermit {
    bodies: Arc<ReceivedBodies>,
    body: Arc<OpenBody>,
}

impl BodyPermit {
    /// Counts received bytes.
    pub(super) fn count_received(&self, bytes: usize) {
        self.body.received_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Returns `true` if the body has given way to another one. Wakes the task when it has to.
    pub(super) fn poll_given_way(&self, cx: &Context<'_>) -> bool {
        *self.body.reader.lock().unwrap_or_else(PoisonError::into_inner) = Some(cx.waker().clone());
        self.body.has_given_way.load(Ordering::Acquire)
    }
}

impl Drop for BodyPermit {
    fn drop(&mut self) {
        self.bodies.lock_open_bodies().retain(|body| !Arc::ptr_eq(body, &self.body));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::{sync::atomic::AtomicUsize, task::Wake};

    use super::*;

    /// Counts how often a reader is woken.
    #[derive(Default)]
    struct WakeCount(AtomicUsize);

    impl Wake for WakeCount {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn has_given_way(body: &BodyPermit) -> bool {
        body.poll_given_way(&Context::from_waker(Waker::noop()))
    }

    #[tokio::test(start_paused = true)]
    async fn the_slowest_body_gives_way_to_a_new_one() {
        let bodies = Arc::new(ReceivedBodies::new(3));
        let [slow, mute, fast] = [(); 3].map(|()| bodies.admit_body_displacing_slowest().unwrap());
        assert!(bodies.admit_body_displacing_slowest().is_none(), "all are new");
        tokio::time::advance(MIN_AGE).await;
        slow.count_received(10);
        fast.count_received(1_000);
        let new = bodies.admit_body_displacing_slowest().unwrap();
        assert_eq!([&slow, &mute, &fast, &new].map(has_given_way), [false, true, false, false]);
        // One that has given way holds no place any more.
        drop(mute);
        let newer = bodies.admit_body_displacing_slowest().unwrap();
        assert_eq!([&slow, &fast, &new, &newer].map(has_given_way), [true, false, false, false]);
        drop((fast, new, newer));
        assert_eq!(bodies.lock_open_bodies().len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn the_reader_of_a_body_that_gives_way_is_woken() {
        let bodies = Arc::new(ReceivedBodies::new(1));
        let slow = bodies.admit_body_displacing_slowest().unwrap();
        let wakes = Arc::new(WakeCount::default());
        assert!(!slow.poll_given_way(&Context::from_waker(&Waker::from(Arc::clone(&wakes)))));
        tokio::time::advance(MIN_AGE - Duration::from_millis(1)).await;
        assert!(bodies.admit_body_displacing_slowest().is_none());
        assert_eq!(wakes.0.load(Ordering::Relaxed), 0);
        tokio::time::advance(Duration::from_millis(1)).await;
        let new = bodies.admit_body_displacing_slowest().unwrap();
        assert_eq!(wakes.0.load(Ordering::Relaxed), 1);
        assert_eq!([&slow, &new].map(has_given_way), [true, false]);
    }
}
