//! The durable calls of a worker: it takes them from the queue while it has free slots.

use std::{future::pending, sync::Arc, time::Duration};

use futures_util::{StreamExt as _, future::join_all};
use tokio::{
    task::{AbortHandle, JoinSet},
    time::{Instant, MissedTickBehavior, sleep_until},
};
use tool_runtime::{CancellationToken, definition::ContentHash};

use super::{Server, queued_call::epoch_of};
use crate::{
    CallQueue, Deliveries, Delivery, FleetError, Payload, QueueEpoch, QueuedCall, message::Message,
    queue::delete_values_of,
};

/// The interval in which a worker looks for calls of which no message told it.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The looks that messages cause in vain, one after another, before there is a pause after each further one. Such messages are no proof, and any client of the
/// broker can repeat them; a few are in vain because another look has found their calls.
const MAX_VAIN_LOOKS: u32 = 8;

/// The pause after such a look.
const LOOK_PAUSE: Duration = Duration::from_millis(20);

/// The part of the time to drain in which calls are given back to the queue, at most.
const RETURN_TIME: Duration = Duration::from_secs(2);

/// The durable calls that run.
#[derive(Default)]
struct QueuedTasks {
    tasks: JoinSet<()>,
    calls: Vec<(AbortHandle, QueueEpoch)>,
}

/// A message that a call was queued, for which the worker has not looked yet.
#[derive(Default)]
struct QueueNotice {
    is_noted: bool,
    vain_looks: u32,
    /// The end of the pause.
    earliest_look: Option<Instant>,
}

impl QueueNotice {
    /// Notes a look, which is for all messages before it.
    fn note_look(&mut self, is_for_notice: bool, has_found: bool) {
        self.is_noted = false;
        if has_found {
            self.vain_looks = 0;
        } else if is_for_notice {
            self.vain_looks = self.vain_looks.saturating_add(1);
            if self.vain_looks > MAX_VAIN_LOOKS {
                self.earliest_look = Some(Instant::now() + LOOK_PAUSE);
            }
        }
    }

    /// Waits until the worker may look for the call of the message.
    async fn wait_for_look(&self) {
        match self.earliest_look {
            _ if !self.is_noted => pending().await,
            Some(earliest_look) => sleep_until(earliest_look).await,
            None => {}
        }
    }
}

impl QueuedTasks {
    async fn join_all(&mut self) {
        while self.tasks.join_next().await.is_some() {}
    }
}

impl Server {
    /// Takes calls until `stop` is cancelled, and returns once they have ended.
    pub(super) async fn serve_queue(self: Arc<Self>, queue: Arc<dyn CallQueue>, stop: CancellationToken) {
        let mut running = QueuedTasks::default();
        // A queue that hangs takes from the time to drain.
        let stopped = async {
            stop.cancelled().await;
            Instant::now()
        };
        let (stopped, ()) = tokio::join!(stopped, self.take_until_stopped(&queue, &stop, &mut running));
        let drain = self.worker.drain;
        let time_left = (drain - RETURN_TIME.min(drain / 4)).saturating_sub(stopped.elapsed());
        if tokio::time::timeout(time_left, running.join_all()).await.is_err() {
            self.return_unstarted(&*queue, &running).await;
            running.join_all().await;
        }
    }

    async fn take_until_stopped(
        self: &Arc<Self>,
        queue: &Arc<dyn CallQueue>,
        stop: &CancellationToken,
        running: &mut QueuedTasks,
    ) {
        let keys = self.index.hashes();
        let (mut notices, mut notice) = (self.listen_to_notices(stop).await, QueueNotice::default());
        let mut poll = tokio::time::interval(POLL_INTERVAL);
        poll.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let mut is_for_notice = false;
            tokio::select! {
                () = stop.cancelled() => return,
                _ = poll.tick() => {
                    let settled = tokio::select! {
                        settled = queue.settle_calls() => settled,
                        () = stop.cancelled() => return,
                    };
                    match settled {
                        Ok(removed) => self.begin_deletion(removed, &mut running.tasks),
                        Err(error) => {
                            self.warn_of_queue(&error);
                            continue;
                        }
                    }
                }
                Some(delivery) = notices.next() => {
                    notice.is_noted = notice.is_noted || self.is_notice(&delivery);
                    continue;
                }
                () = notice.wait_for_look() => is_for_notice = true,
                Some(_) = running.tasks.join_next() => {}
            }
            let taken = self.take_queued_calls(queue, &keys, stop, running).await;
            notice.note_look(is_for_notice, matches!(taken, Ok(1..)));
            if let Err(error) = taken {
                self.warn_of_queue(&error);
            }
        }
    }

    /// Returns `true` for the message that a call was queued.
    fn is_notice(&self, delivery: &Delivery) -> bool {
        let Payload::Body(body) = &delivery.payload else { return false };
        let received = self.channel.open_message(&delivery.subject, None, body);
        received.is_some_and(|it| matches!(it.message, Message::CallQueued))
    }

    /// Deletes the values of calls that were removed, beside the other calls.
    fn begin_deletion(self: &Arc<Self>, removed: Vec<QueuedCall>, tasks: &mut JoinSet<()>) {
        if self.values.is_some() && !removed.is_empty() {
            let server = Arc::clone(self);
            tasks.spawn(async move { delete_values_of(server.values.as_deref(), &removed).await });
        }
    }

    /// Gives the calls back to the queue of which no body with effects was started, and ends them here.
    async fn return_unstarted(&self, queue: &dyn CallQueue, running: &QueuedTasks) {
        let returning = running.calls.iter().filter(|(task, _)| !task.is_finished());
        let returning = returning.map(|(task, call)| async move {
            match queue.return_call(call).await {
                Ok(true) => task.abort(),
                Ok(false) => {}
                Err(error) => self.warn_of_queue(&error),
            }
        });
        // None waits for another one: there are a few seconds.
        join_all(returning).await;
    }

    /// Listens to notices that calls were queued; without them, calls are found later.
    async fn listen_to_notices(&self, stop: &CancellationToken) -> Deliveries {
        let subject = self.channel.subject("queue");
        let listening = async {
            loop {
                match self.channel.listen(&subject, Some("workers")).await {
                    Ok(notices) => return notices,
                    Err(error) => self.warn_of_queue(&error),
                }
                tokio::time::sleep(POLL_INTERVAL).await;
            }
        };
        tokio::select! {
            () = stop.cancelled() => futures_util::stream::empty().boxed(),
            notices = listening => notices,
        }
    }

    fn warn_of_queue(&self, error: &FleetError) {
        tracing::warn!(pool = self.channel.pool(), %error, "the queue of durable calls cannot be used; trying again");
    }

    /// Takes calls until there is none, or no free slot, and returns their number.
    async fn take_queued_calls(
        self: &Arc<Self>,
        queue: &Arc<dyn CallQueue>,
        keys: &[ContentHash],
        stop: &CancellationToken,
        running: &mut QueuedTasks,
    ) -> Result<usize, FleetError> {
        let mut count = 0;
        while !stop.is_cancelled() && self.calls.running_calls() < self.worker.slots {
            let Some(taken) = queue.take_call(keys, self.channel.name(), self.lease()).await? else { break };
            let call = taken.call.clone();
            // It counts at once; `None` for a call in an epoch that this process has seen, which a queue does not give again.
            let epoch = epoch_of(&call);
            let Some(control) = self.calls.add_call(&epoch, String::new(), false) else { continue };
            let running_call = Arc::clone(self).run_queued_call(Arc::clone(queue), taken, control);
            let task = running.tasks.spawn(running_call);
            running.calls.retain(|(task, _)| !task.is_finished());
            running.calls.push((task, call));
            count += 1;
        }
        Ok(count)
    }

    /// The time without a sign of life after which the queue gives a call to another worker.
    pub(super) fn lease(&self) -> Duration {
        self.worker.heartbeat * 3
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    /// A message after which the worker has looked in vain as often as it may.
    fn vain_notice() -> QueueNotice {
        let mut notice = QueueNotice::default();
        for _ in 0..MAX_VAIN_LOOKS {
            notice.note_look(true, false);
        }
        notice
    }

    fn may_look(notice: &QueueNotice) -> bool {
        notice.wait_for_look().now_or_never().is_some()
    }

    #[tokio::test(start_paused = true)]
    async fn a_worker_looks_once_for_all_messages_before() {
        let mut notice = QueueNotice::default();
        assert!(!may_look(&notice));
        notice.is_noted = true;
        assert!(may_look(&notice));
        notice.note_look(true, true);
        assert!(!may_look(&notice));
    }

    #[tokio::test(start_paused = true)]
    async fn further_looks_in_vain_pause() {
        let mut notice = vain_notice();
        notice.is_noted = true;
        assert!(may_look(&notice));
        notice.note_look(true, false);
        notice.is_noted = true;
        assert!(!may_look(&notice));
        assert_eq!(notice.earliest_look, Some(Instant::now() + LOOK_PAUSE));
        tokio::time::advance(LOOK_PAUSE).await;
        assert!(may_look(&notice));
    }

    #[tokio::test(start_paused = true)]
    async fn looks_that_find_a_call_or_are_for_no_message_are_not_in_vain() {
        let mut notice = vain_notice();
        notice.note_look(false, false);
        assert_eq!((notice.vain_looks, notice.earliest_look), (MAX_VAIN_LOOKS, None));
        notice.note_look(false, true);
        assert_eq!(notice.vain_looks, 0);
        let mut notice = vain_notice();
        notice.note_look(true, true);
        notice.note_look(true, false);
        assert_eq!((notice.vain_looks, notice.earliest_look), (1, None));
    }
}
