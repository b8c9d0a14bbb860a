//! The turns of the waiting callers of a process to settle their queue.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::{DurableCalls, connection::Connection};

/// The interval in which one of the callers that wait settles the queue.
const SETTLE_INTERVAL: Duration = Duration::from_millis(500);

/// Gives a turn to one of the callers that wait, once in an interval: each of them looks at its own call alone.
#[derive(Debug, Default)]
pub(super) struct SettleTurns {
    last: Mutex<Option<Instant>>,
}

impl SettleTurns {
    /// Settles the queue, unless another caller that waits has done so.
    pub(super) async fn settle_in_turn(&self, durable: &DurableCalls, connection: &Connection) {
        if !self.take_turn() {
            return;
        }
        match durable.settle_calls().await {
            Ok(names) => connection.delete_queued_values(durable, names),
            Err(error) => {
                tracing::warn!(%error, "the queue of durable calls cannot be read; trying again");
            }
        }
    }

    /// Returns `true` if the caller is to settle the queue.
    fn take_turn(&self) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| last.elapsed() >= SETTLE_INTERVAL);
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_caller_has_a_turn_in_each_interval() {
        let turns = SettleTurns::default();
        for _ in 0..3 {
            assert!(turns.take_turn() && !turns.take_turn());
            advance(SETTLE_INTERVAL - Duration::from_millis(1)).await;
            assert!(!turns.take_turn());
            advance(Duration::from_millis(1)).await;
        }
    }
}
