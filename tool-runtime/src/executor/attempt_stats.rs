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
pub(super) struct Runs {
    attempts: AtomicU32,
    /// The duration of a call that ended in its first poll, in nanoseconds; otherwise 0.
    at_once: AtomicU64,
    /// The times of any other call.
    times: OnceLock<Box<Times>>,
}

#[derive(Debug)]
struct Times {
    began: Instant,
    ended: OnceLock<Instant>,
}

impl Runs {
    /// Begins an attempt.
    pub(super) fn begin(&self) {
        self.count();
        self.began_at(Instant::now());
    }

    /// Counts an attempt, whose time is set later.
    pub(super) fn count(&self) {
        self.attempts.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets the time at which the first attempt began.
    pub(super) fn began_at(&self, time: Instant) {
        self.times.get_or_init(|| Box::new(Times { began: time, ended: OnceLock::new() }));
    }

    /// Sets the duration of a call that began at `time` and ends now, in the same poll. Cheaper than two times that
    /// other threads can read.
    pub(super) fn ended_at_once(&self, time: Instant) {
        let nanos = u64::try_from(time.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.at_once.store(nanos.max(1), Ordering::Relaxed);
    }

    /// Ends the last attempt.
    pub(super) fn end(&self) {
        if let Some(times) = self.times.get() {
            times.ended.get_or_init(Instant::now);
        }
    }

    pub(super) fn attempts(&self) -> u32 {
        self.attempts.load(Ordering::Relaxed)
    }

    pub(super) fn duration(&self) -> Duration {
        let Some(Times { began, ended }) = self.times.get().map(AsRef::as_ref) else {
            return Duration::from_nanos(self.at_once.load(Ordering::Relaxed));
        };
        ended.get().copied().unwrap_or_else(Instant::now).saturating_duration_since(*began)
    }
}

#[cfg(test)]
mod tests {
    use super::{Instant, Runs};

    #[test]
    fn time_after_the_last_attempt_is_not_part_of_the_duration() {
        let runs = Runs::default();
        runs.begin();
        runs.end();
        let (duration, now) = (runs.duration(), Instant::now());
        while Instant::now() == now {}
        runs.end();
        assert_eq!(runs.duration(), duration);
    }
}
