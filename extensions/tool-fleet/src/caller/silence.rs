//! The time without a sign of life of a worker.

use std::time::Duration;

use tokio::time::Instant;

/// The time for which a started call waits while the connection of its caller is away: its worker keeps the end for as long.
const MAX_AWAY: Duration = Duration::from_secs(60);

/// The time without a sign of life of the worker of one epoch.
pub(super) struct Silence {
    lost_after: Duration,
    last_sign: Instant,
    lost_at: Instant,
    ask_at: Instant,
}

/// The step that follows once the time of a wait ([`until`](Silence::until)) is over.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum SilenceEnd {
    /// The end of the call may be lost: the caller asks for it.
    Ask,
    /// The worker is lost.
    Lost,
}

impl Silence {
    pub(super) fn new(lost_after: Duration) -> Self {
        let now = Instant::now();
        Self { lost_after, last_sign: now, lost_at: now + lost_after, ask_at: now + lost_after / 2 }
    }

    pub(super) fn note_sign(&mut self) {
        *self = Self::new(self.lost_after);
    }

    /// Returns the time until which the caller waits for a sign.
    pub(super) fn until(&self) -> Instant {
        self.ask_at.min(self.lost_at)
    }

    /// Goes on after that time. `is_away` is `true` for a call that has started and whose caller has no connection to the broker.
    pub(super) fn go_on(&mut self, is_away: bool) -> SilenceEnd {
        let now = Instant::now();
        if is_away && self.last_sign.elapsed() < MAX_AWAY {
            // The worker has its full time once the connection is back.
            self.lost_at = now + self.lost_after;
        }
        self.ask_at = now + self.lost_after / 6;
        if now >= self.lost_at { SilenceEnd::Lost } else { SilenceEnd::Ask }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::sleep_until;

    use super::*;

    /// Returns the seconds after which the worker is lost, and the number of questions.
    async fn wait_until_lost(away_for: Duration) -> (u64, u32) {
        let (start, mut silence) = (Instant::now(), Silence::new(Duration::from_secs(6)));
        for questions in 0.. {
            sleep_until(silence.until()).await;
            if silence.go_on(start.elapsed() < away_for) == SilenceEnd::Lost {
                return (start.elapsed().as_secs(), questions);
            }
        }
        unreachable!()
    }

    #[tokio::test(start_paused = true)]
    async fn a_silent_worker_is_asked_and_then_lost() {
        assert_eq!(wait_until_lost(Duration::ZERO).await, (6, 3));
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_has_its_time_after_the_connection_was_away_for_a_minute_at_most() {
        assert_eq!(wait_until_lost(Duration::from_secs(20)).await.0, 25);
        assert_eq!(wait_until_lost(Duration::from_secs(600)).await.0, 65);
    }
}
