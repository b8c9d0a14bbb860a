//! Durable calls that are withdrawn later: those of bodies that were cancelled and dropped before they had done it, and those of which it is not known
//! whether they were stored.

use std::{ops::ControlFlow, time::Duration};

use futures_util::{StreamExt as _, stream};
use tokio::sync::mpsc::UnboundedReceiver;
use tool_runtime::{CancellationToken, definition::ContentHash};

use super::{connection::Connection, durable::DurableCalls};
use crate::{CallState, FleetError};

/// The number of withdrawals at once.
const WITHDRAWALS_AT_ONCE: usize = 16;

/// The attempts of a withdrawal, in about a minute: a call may be on its way to the queue, and a worker may be about to end it.
const MAX_ATTEMPTS: usize = 12;

/// The pauses after an attempt: each twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
const MAX_PAUSE: Duration = Duration::from_secs(8);

/// A durable call that is to be withdrawn.
#[derive(Debug, Clone)]
pub(super) struct Withdrawal {
    pub(super) id: String,
    /// The hash of its request: an earlier call that was stored under the id is another one.
    pub(super) request: ContentHash,
}

/// Withdraws a call if its body is dropped after its token was cancelled. One that is dropped otherwise goes on.
pub(super) struct WithdrawalGuard<'a> {
    pub(super) connection: &'a Connection,
    pub(super) withdrawal: Withdrawal,
    pub(super) token: CancellationToken,
    /// The call has ended, or is left open.
    pub(super) is_settled: bool,
}

impl Drop for WithdrawalGuard<'_> {
    fn drop(&mut self) {
        if !self.is_settled && self.token.is_cancelled() {
            self.connection.withdraw_later(self.withdrawal.clone());
        }
    }
}

impl Connection {
    /// Withdraws calls until the connection is closed, and then those that are left, for at most a second.
    pub(super) async fn withdraw_calls(&self, withdrawals: UnboundedReceiver<Withdrawal>) {
        let Some(durable) = &self.durable else { return };
        let next = |mut withdrawals: UnboundedReceiver<Withdrawal>| async {
            tokio::select! {
                biased;
                next = withdrawals.recv() => next.map(|next| (next, withdrawals)),
                () = self.closed.cancelled() => None,
            }
        };
        let withdrawing = stream::unfold(withdrawals, next)
            .for_each_concurrent(WITHDRAWALS_AT_ONCE, |it| self.withdraw_call(durable, it));
        tokio::select! {
            () = withdrawing => {}
            () = self.wait_for_close_timeout() => tracing::warn!("durable calls were not withdrawn in time after their set was closed, and may run"),
        }
    }

    async fn withdraw_call(&self, durable: &DurableCalls, withdrawal: Withdrawal) {
        for pause in attempt_pauses() {
            match self.try_to_withdraw(durable, &withdrawal).await {
                Ok(ControlFlow::Break(())) => return,
                Ok(ControlFlow::Continue(())) => {}
                Err(error) => {
                    tracing::warn!(id = withdrawal.id, %error, "a durable call was not withdrawn; trying again");
                }
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Continues while the call may appear, or end.
    async fn try_to_withdraw(
        &self,
        durable: &DurableCalls,
        Withdrawal { id, request }: &Withdrawal,
    ) -> Result<ControlFlow<()>, FleetError> {
        let queue = durable.queue();
        match queue.read_call(id).await? {
            None => return Ok(ControlFlow::Continue(())),
            Some((call, _)) if call.request != *request => return Ok(ControlFlow::Break(())),
            Some(_) => {}
        }
        Ok(match queue.cancel_call(id).await? {
            None | Some(CallState::Taken) => ControlFlow::Continue(()),
            // It runs to its end, and its result is kept: it may have taken effect.
            Some(CallState::Started) => ControlFlow::Break(()),
            // It has ended, perhaps after it was read, and after its start.
            Some(_) => {
                if let Some((ended, _)) = queue.read_call(id).await?
                    && ended.request == *request
                    && !ended.was_started
                {
                    let names = durable.remove_known(&ended).await?;
                    self.delete_queued_values(durable, names.unwrap_or_default());
                }
                ControlFlow::Break(())
            }
        })
    }
}

/// Returns the pause after each attempt of a withdrawal.
fn attempt_pauses() -> impl Iterator<Item = Duration> {
    std::iter::successors(Some(FIRST_PAUSE), |pause| Some((*pause * 2).min(MAX_PAUSE))).take(MAX_ATTEMPTS)
}

#[cfg(test)]
mod tests {
    use super::attempt_pauses;

    #[test]
    fn a_withdrawal_is_attempted_twelve_times_in_about_a_minute() {
        let pauses: Vec<_> = attempt_pauses().map(|pause| pause.as_millis()).collect();
        assert_eq!(pauses, [250, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000, 8_000, 8_000, 8_000, 8_000]);
    }
}
