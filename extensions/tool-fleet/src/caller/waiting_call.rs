//! A call in a queue for whose end its caller waits.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};
use tool_runtime::ToolContext;

use super::{
    connection::{Replies, Reply},
    durable::DurableCalls,
};
use crate::{CallState, FleetError, queue::CallEnd};

/// The interval in which a waiting caller looks for the end of its call, if no message tells it.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// The pause between two looks at a call that messages cause. They are no proof, and any client of the broker can send them.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// The wait of a caller for the end of its call.
pub(super) enum WaitEnd {
    Ended(CallEnd),
    /// The call goes on.
    LeftOpen,
    Cancelled,
    /// Its worker is to cancel it, and has not ended it.
    Cancelling,
}

/// The reason for which a waiting caller looks at its call.
#[derive(PartialEq, Eq)]
enum Wake {
    /// The caller was cancelled.
    Cancelled,
    /// A message: perhaps the call has ended.
    Told,
    /// No message for a while.
    Polled,
    /// The connection was closed.
    Closed,
}

/// A call in the queue for which its caller waits.
pub(super) struct WaitingCall<'a> {
    pub(super) durable: &'a DurableCalls,
    pub(super) id: &'a str,
    pub(super) replies: Replies,
    pub(super) cx: &'a ToolContext,
}

/// The end of the wait for a call that goes on.
fn unfinished_end(is_cancelling: bool) -> WaitEnd {
    if is_cancelling { WaitEnd::Cancelling } else { WaitEnd::LeftOpen }
}

impl WaitingCall<'_> {
    pub(super) async fn wait_for_end(&mut self, wait: Duration) -> WaitEnd {
        if wait.is_zero() {
            return WaitEnd::LeftOpen;
        }
        let token = self.cx.cancellation().clone();
        let (until, mut is_cancelled, mut is_cancelling) = (Instant::now() + wait, false, false);
        let mut earliest_look = Instant::now();
        loop {
            let poll_at = until.min(Instant::now() + POLL_INTERVAL);
            let wake = tokio::select! {
                () = token.cancelled(), if !is_cancelled => Wake::Cancelled,
                wake = self.receive_wake(earliest_look) => wake,
                () = sleep_until(poll_at) => Wake::Polled,
            };
            match wake {
                Wake::Cancelled => {
                    is_cancelled = true;
                    match self.cancel_call().await {
                        Some(WaitEnd::Cancelling) => is_cancelling = true,
                        Some(end) => return end,
                        None => {}
                    }
                }
                Wake::Told => {}
                Wake::Polled => {
                    let turns = self.durable.settle_turns();
                    // It takes seconds while the queue is slow.
                    tokio::select! {
                        () = turns.settle_in_turn(self.durable, self.replies.connection()) => {}
                        () = token.cancelled(), if !is_cancelled => continue,
                    }
                }
                Wake::Closed => return unfinished_end(is_cancelling),
            }
            let looked = self.look_for_end(wake == Wake::Polled).await;
            earliest_look = Instant::now() + LOOK_PAUSE;
            match looked {
                Ok(Some((end, names))) => {
                    self.replies.connection().delete_queued_values(self.durable, names);
                    return WaitEnd::Ended(end);
                }
                Ok(None) => {}
                // It has ended, and has perhaps taken effect: its open call is answered once its end can be read.
                Err(error) if is_cancelled && !is_cancelling => {
                    tracing::warn!(%error, "the end of a cancelled durable call cannot be read, and is left open");
                    return WaitEnd::LeftOpen;
                }
                Err(error) => {
                    tracing::warn!(%error, "the end of a durable call cannot be read; trying again")
                }
            }
            if Instant::now() >= until {
                return unfinished_end(is_cancelling);
            }
        }
    }

    /// Waits for a message that the call has ended, and then until `earliest_look`.
    async fn receive_wake(&mut self, earliest_look: Instant) -> Wake {
        loop {
            match self.replies.next().await {
                Reply::Closed => return Wake::Closed,
                Reply::NoReceiver => {}
                Reply::Received(_) => break,
                // There are no more messages; polls go on.
                Reply::Overflow => {
                    self.replies.connection().closed.cancelled().await;
                    return Wake::Closed;
                }
            }
        }
        sleep_until(earliest_look).await;
        // One look answers all of them.
        self.replies.discard_unread();
        Wake::Told
    }

    /// Takes the end of the call, if it has ended. A message that it has ended may be faster than what the queue knows.
    async fn look_for_end(&self, is_polled: bool) -> Result<Option<(CallEnd, Vec<String>)>, FleetError> {
        match is_polled && self.durable.goes_on(self.id).await? {
            true => Ok(None),
            false => self.durable.take_end(self.id).await,
        }
    }

    /// Cancels the call; `None` if it has ended.
    async fn cancel_call(&self) -> Option<WaitEnd> {
        let queue = self.durable.queue();
        match queue.cancel_call(self.id).await {
            Ok(Some(CallState::Queued)) => {
                match self.durable.remove_by_id(self.id).await {
                    Ok(names) => {
                        let names = names.unwrap_or_default();
                        self.replies.connection().delete_queued_values(self.durable, names);
                    }
                    Err(error) => {
                        tracing::warn!(%error, "a cancelled call was not removed from its queue");
                    }
                }
                Some(WaitEnd::Cancelled)
            }
            Ok(Some(CallState::Taken)) => Some(WaitEnd::Cancelling),
            // It runs to its end, and is answered then.
            Ok(Some(CallState::Started)) => Some(WaitEnd::LeftOpen),
            Ok(Some(_)) => None,
            Ok(None) => Some(WaitEnd::Cancelled),
            Err(error) => {
                tracing::warn!(%error, "a durable call was not cancelled, and goes on");
                Some(WaitEnd::LeftOpen)
            }
        }
    }
}
