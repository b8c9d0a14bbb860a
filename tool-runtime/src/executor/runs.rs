//! The number of attempts of a call, and their duration.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

/// The number of attempts of a call, and their duration.
#[derive(Debug, Default)]
pub(super) struct Runs {
    attempts: AtomicU32,
    began: OnceLock<Instant>,
    ended: OnceLock<Instant>,
}

impl Runs {
    /// Begins an attempt.
    pub(super) fn begin(&self) {
        self.attempts.fetch_add(1, Ordering::Relaxed);
        self.began.get_or_init(Instant::now);
    }

    /// Ends the last attempt.
    pub(super) fn end(&self) {
        self.ended.get_or_init(Instant::now);
    }

    pub(super) fn attempts(&self) -> u32 {
        self.attempts.load(Ordering::Relaxed)
    }

    pub(super) fn duration(&self) -> Duration {
        let Some(began) = self.began.get() else { return Duration::ZERO };
        self.ended.get().copied().unwrap_or_else(Instant::now).saturating_duration_since(*began)
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
