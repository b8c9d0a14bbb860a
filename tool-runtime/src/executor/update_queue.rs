//! A queue of updates from bodies that cannot wait, which the task of their call sends.

use std::{
    collections::VecDeque,
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
};

use tokio::{
    sync::Notify,
    time::{Instant, timeout_at},
};
use tool_core::{ToolContext, ToolError, ToolOutput};

use super::{reports::CallReports, timeouts::AttemptTimeouts};

/// The maximum number of queued updates of one call.
const MAX_QUEUED_UPDATES: usize = 64;

/// The unsent updates of one call, each with the number of its attempt.
#[derive(Default)]
pub(super) struct UpdateQueue {
    queue: Mutex<QueuedUpdates>,
    /// Notified if there may be room, or the call is over.
    room: Condvar,
    /// Notified if there is an update, or the body is over.
    changed: Notify,
}

#[derive(Default)]
struct QueuedUpdates {
    updates: VecDeque<(u32, ToolOutput)>,
    is_over: bool,
    /// The threads that wait for room: without one, nothing is notified, which would be a system call.
    waiting: usize,
}

impl UpdateQueue {
    fn lock(&self) -> MutexGuard<'_, QueuedUpdates> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues `update` if there is room and its call is running.
    pub(super) fn try_push(&self, attempt: u32, update: ToolOutput) -> bool {
        let has_room = {
            let mut queue = self.lock();
            let has_room = !queue.is_over && queue.updates.len() < MAX_QUEUED_UPDATES;
            if has_room {
                queue.updates.push_back((attempt, update));
            }
            has_room
        };
        if has_room {
            self.changed.notify_one();
        }
        has_room
    }

    /// Queues `update`, blocking the thread until there is room.
    ///
    /// # Errors
    ///
    /// Returns an error if the call is over.
    pub(super) fn push_blocking(&self, attempt: u32, update: ToolOutput) -> Result<(), ToolError> {
        let is_full = |queue: &mut QueuedUpdates| !queue.is_over && queue.updates.len() >= MAX_QUEUED_UPDATES;
        {
            let mut queue = self.lock();
            queue.waiting += 1;
            queue = self.room.wait_while(queue, is_full).unwrap_or_else(PoisonError::into_inner);
            queue.waiting -= 1;
            if queue.is_over {
                return Err(ToolError::cancelled());
            }
            queue.updates.push_back((attempt, update));
        }
        self.changed.notify_one();
        Ok(())
    }

    fn pop(&self) -> Option<(u32, ToolOutput)> {
        let mut queue = self.lock();
        let taken = queue.updates.pop_front();
        let has_waiting = queue.waiting > 0;
        drop(queue);
        if taken.is_some() && has_waiting {
            self.room.notify_one();
        }
        taken
    }

    /// Refuses further updates, and wakes waiting threads.
    pub(super) fn close(&self) {
        let (updates, has_waiting) = {
            let mut queue = self.lock();
            queue.is_over = true;
            (std::mem::take(&mut queue.updates), queue.waiting > 0)
        };
        if has_waiting {
            self.room.notify_all();
        }
        drop(updates);
    }
}

impl CallReports {
    /// Runs `body`, and sends its queued updates while it runs. All of them are sent before this returns, within the
    /// time that `timeouts` allow an attempt in `cx`.
    pub(super) async fn run_sending_updates<T>(
        &self,
        timeouts: AttemptTimeouts,
        cx: &ToolContext,
        body: impl Future<Output = T>,
    ) -> T {
        let is_over = AtomicBool::new(false);
        let mut body = pin!(body);
        let mut showing = pin!(async {
            loop {
                self.send_queued().await;
                if is_over.load(Ordering::Acquire) {
                    return;
                }
                self.queue().changed.notified().await;
            }
        });
        let result = poll_fn(|task| {
            let polled = body.as_mut().poll(task);
            if polled.is_pending() {
                // The future ends after the body.
                let _: Poll<()> = showing.as_mut().poll(task);
            }
            polled
        });
        let result = result.await;
        is_over.store(true, Ordering::Release);
        self.queue().changed.notify_one();
        // The body has returned: its result counts, even if receivers of the updates are slow.
        while let Some(end) = timeouts.deadline_in(cx, self) {
            if timeout_at(end, showing.as_mut()).await.is_ok() {
                return result;
            }
            // Continue if another update was received meanwhile, which resets the idle timeout.
            if timeouts.deadline_in(cx, self).is_some_and(|end| end <= Instant::now()) {
                let (call, tool) = (cx.call_id(), cx.tool_name().as_str());
                tracing::warn!(%call, tool, "updates were not shown before the timeout of their call");
                return result;
            }
        }
        showing.await;
        result
    }

    /// Sends the queued updates in order.
    pub(super) async fn send_queued(&self) {
        while let Some((attempt, update)) = self.queue().pop() {
            self.send_update(attempt, update).await;
        }
    }
}
