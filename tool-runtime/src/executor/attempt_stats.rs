//! The number of attempts of a call, and their duration.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU32, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

/// The number of attempts of a call, and their duration.
#[derive(Debug, Default)]
pub(super) struct AttemptStats {
    attempts: AtomicU32,
    /// The duration of a call that ended in its first poll, in nanoseconds; otherwise 0.
    immediate_nanos: AtomicU64,
    /// The times of any other call.
    times: OnceLock<Box<AttemptTimes>>,
}

#[derive(Debug)]
struct AttemptTimes {
    start: Instant,
    end: OnceLock<Instant>,
}

impl AttemptStats {
    /// Begins an attempt.
    pub(super) fn start_attempt(&self) {
        self.count_attempt();
        self.set_start(Instant::now());
    }

    /// Counts an attempt, whose time is set later.
    pub(super) fn count_attempt(&self) {
        self.attempts.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the time at which the first attempt began.
    pub(super) fn set_start(&self, time: Instant) {
        self.times.get_or_init(|| Box::new(AttemptTimes { start: time, end: OnceLock::new() }));
    }

    /// Sets the duration of a call that began at `time` and ends now, in the same poll. Cheaper than two times that
    /// other threads can read.
    pub(super) fn set_immediate_end(&self, time: Instant) {
        const NANOS_PER_SECOND: u64 = 1_000_000_000;
        let elapsed = time.elapsed();
        let nanos = elapsed.as_secs().saturating_mul(NANOS_PER_SECOND);
        let nanos = nanos.saturating_add(u64::from(elapsed.subsec_nanos()));
        self.immediate_nanos.store(nanos.max(1), Ordering::Relaxed);
    }

    /// Ends the last attempt.
    pub(super) fn end_attempts(&self) {
        if let Some(times) = self.times.get() {
            times.end.get_or_init(Instant::now);
        }
    }

    pub(super) fn attempts(&self) -> u32 {
        self.attempts.load(Ordering::Relaxed)
    }

    pub(super) fn duration(&self) -> Duration {
        let Some(AttemptTimes { start, end }) = self.times.get().map(AsRef::as_ref) else {
            return Duration::from_nanos(self.immediate_nanos.load(Ordering::Relaxed));
        };
        end.get().copied().unwrap_or_else(Instant::now).saturating_duration_since(*start)
    }
}

#[cfg(test)]
mod tests {
    use super::{AttemptStats, Instant};

    #[test]
    fn time_after_the_last_attempt_is_not_part_of_the_duration() {
        let stats = AttemptStats::default();
        stats.start_attempt();
        stats.end_attempts();
        let (duration, now) = (stats.duration(), Instant::now());
        while Instant::now() == now {}
        stats.end_attempts();
        assert_eq!(stats.duration(), duration);
    }
}
