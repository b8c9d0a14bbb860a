//! The waits between the attempts to connect.

use std::time::Duration;

use backon::{BackoffBuilder as _, ExponentialBackoff, ExponentialBuilder};

const FIRST_DELAY: Duration = Duration::from_secs(2);
const MAX_DELAY: Duration = Duration::from_secs(20 * 60);
const MAX_ATTEMPTS: usize = 100;
/// The duration after which a connection counts as one that held.
pub(super) const STABLE_AFTER: Duration = Duration::from_secs(60);

/// The waits before the attempts to connect: 0, 2, 4, 8 seconds, doubling to 20 minutes, for 100 attempts. They begin anew once a connection has
/// held for a minute: a server that ends each connection after its handshake is tried at most 8 times in 5 minutes.
pub(super) struct ReconnectSchedule {
    has_started: bool,
    delays: ExponentialBackoff,
}

impl ReconnectSchedule {
    pub(super) fn new() -> Self {
        let delays = ExponentialBuilder::new()
            .with_min_delay(FIRST_DELAY)
            .with_factor(2.0)
            .with_max_delay(MAX_DELAY)
            .with_max_times(MAX_ATTEMPTS - 1);
        Self { has_started: false, delays: delays.build() }
    }
}

impl Iterator for ReconnectSchedule {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        match std::mem::replace(&mut self.has_started, true) {
            false => Some(Duration::ZERO),
            true => self.delays.next(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_from_two_seconds_to_twenty_minutes() {
        let waits: Vec<_> = ReconnectSchedule::new().map(|wait| wait.as_secs_f64()).collect();
        let expected = [0., 2., 4., 8., 16., 32., 64., 128., 256., 512., 1_024., 1_200., 1_200.];
        assert_eq!(waits[..expected.len()], expected); // U16
        assert_eq!((waits.len(), waits.last()), (100, Some(&1_200.))); // U16
    }
}
