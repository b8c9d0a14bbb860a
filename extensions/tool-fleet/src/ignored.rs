//! Messages that are ignored.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// The time between two warnings.
const WARNING_INTERVAL: Duration = Duration::from_secs(10);

/// Counts the messages that are not of the pool, and warns at the first one and then at most every ten seconds: a client of the broker without
/// the key can send any number of them.
pub(crate) struct IgnoredMessages {
    pool: String,
    counts: Mutex<Counts>,
}

#[derive(Default)]
struct Counts {
    unreported: u64,
    warned_at: Option<Instant>,
}

impl IgnoredMessages {
    pub(crate) fn new(pool: &str) -> Self {
        Self { pool: pool.to_owned(), counts: Mutex::default() }
    }

    pub(crate) fn note_message(&self, subject: &str, bytes: usize) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.unreported += 1;
        if counts.warned_at.is_some_and(|at| at.elapsed() < WARNING_INTERVAL) {
            return;
        }
        counts.warned_at = Some(Instant::now());
        let messages = std::mem::take(&mut counts.unreported);
        drop(counts);
        tracing::warn!(
            pool = self.pool,
            messages,
            subject,
            bytes,
            "messages are not of this pool, or are old, and are ignored; subject and bytes are those of the last one"
        );
    }
}

/// Reports those after the last warning.
impl Drop for IgnoredMessages {
    fn drop(&mut self) {
        let counts = self.counts.get_mut().unwrap_or_else(PoisonError::into_inner);
        if counts.unreported > 0 {
            let messages = counts.unreported;
            tracing::warn!(
                pool = self.pool,
                messages,
                "messages are not of this pool, or are old, and were ignored"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn ignored_messages_are_reported_at_once_and_then_each_ten_seconds() {
        let ignored = IgnoredMessages::new("trip");
        let note = || {
            ignored.note_message("tools.trip.calls", 10);
            ignored.counts.lock().unwrap_or_else(PoisonError::into_inner).unreported
        };
        for _ in 0..2 {
            assert_eq!([note(), note(), note()], [0, 1, 2]);
            tokio::time::advance(WARNING_INTERVAL - Duration::from_millis(1)).await;
            assert_eq!(note(), 3);
            tokio::time::advance(Duration::from_millis(1)).await;
        }
    }
}
