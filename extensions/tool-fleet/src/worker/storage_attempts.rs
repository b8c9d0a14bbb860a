//! Repeated attempts of a worker while the queue of a durable call, or the store of its large values, fails.

use std::time::Duration;

use tokio::time::Instant;

use crate::FleetError;

/// The time for which an operation is repeated.
const STORAGE_TIMEOUT: Duration = Duration::from_secs(60);

/// The pause between two attempts.
const STORAGE_PAUSE: Duration = Duration::from_millis(250);

/// The attempts at one operation for a durable call.
pub(super) struct StorageAttempts<'a> {
    id: &'a str,
    deadline: Instant,
}

impl<'a> StorageAttempts<'a> {
    pub(super) fn new(id: &'a str) -> Self {
        Self { id, deadline: Instant::now() + STORAGE_TIMEOUT }
    }

    /// Waits before the next attempt, after one that failed; `problem` says what was not done.
    ///
    /// # Errors
    ///
    /// `error`, once a minute is over.
    pub(super) async fn wait_after(&self, error: FleetError, problem: &str) -> Result<(), FleetError> {
        if Instant::now() >= self.deadline {
            return Err(error);
        }
        tracing::warn!(id = self.id, %error, "{problem}; trying again");
        tokio::time::sleep(STORAGE_PAUSE).await;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_operation_is_repeated_four_times_in_a_second_for_a_minute() {
        let (attempts, start) = (StorageAttempts::new("a-1"), Instant::now());
        let mut repetitions = 0;
        let error = loop {
            let away = FleetError::Transport(format!("away {repetitions}"));
            match attempts.wait_after(away, "nothing was done").await {
                Ok(()) => repetitions += 1,
                Err(error) => break error.to_string(),
            }
        };
        assert_eq!((repetitions, start.elapsed()), (240, STORAGE_TIMEOUT));
        assert!(error.ends_with("away 240"), "{error}");
    }
}
