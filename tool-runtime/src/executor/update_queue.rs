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

use super::{reports::CallReports, timeouts::Patience};

/// The maximum number of queued updates of one call.
const ROOM: usize = 64;

/// The unsent updates of one call, each with the number of its attempt.
#[derive(Default)]
pub(super) struct Backlog {
    kept: Mutex<Kept>,
    /// Notified if there may be room, or the call is over.
    room: Condvar,
    /// Notified if there is an update, or the body is over.
    news: Notify,
}

#[derive(Default)]
struct Kept {
    updates: VecDeque<(u32, ToolOutput)>,
    is_over: bool,
}

impl Backlog {
    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues `update` if there is room and its call is running.
    pub(super) fn try_add(&self, attempt: u32, update: ToolOutput) -> bool {
        let has_room = {
            let mut kept = self.lock();
            let has_room = !kept.is_over && kept.updates.len() < ROOM;
            if has_room {
                kept.updates.push_back((attempt, update));
            }
            has_room
        };
        if has_room {
            self.news.notify_one();
        }
        has_room
    }

    /// Queues `update`, blocking the thread until there is room.
    ///
    /// # Errors
    ///
    /// Returns an error if the call is over.
    pub(super) fn add(&self, attempt: u32, update: ToolOutput) -> Result<(), ToolError> {
        let is_full = |kept: &mut Kept| !kept.is_over && kept.updates.len() >= ROOM;
        {
            let mut kept = self.room.wait_while(self.lock(), is_full).unwrap_or_else(PoisonError::into_inner);
            if kept.is_over {
                return Err(ToolError::cancelled());
            }
            kept.updates.push_back((attempt, update));
        }
        self.news.notify_one();
        Ok(())
    }

    fn take(&self) -> Option<(u32, ToolOutput)> {
        let taken = self.lock().updates.pop_front();
        if taken.is_some() {
            self.room.notify_one();
        }
        taken
    }

    /// Refuses further updates, and wakes waiting threads.
    pub(super) fn close(&self) {
        let updates = {
            let mut kept = self.lock();
            kept.is_over = true;
            std::mem::take(&mut kept.updates)
        };
        self.room.notify_all();
        drop(updates);
    }
}

impl CallReports {
    /// Runs `body`, and sends its queued updates while it runs. All of them are sent before this returns, within the
    /// time that `patience` allows an attempt in `cx`.
    pub(super) async fn showing<T>(
        &self,
        patience: Patience,
        cx: &ToolContext,
        body: impl Future<Output = T>,
    ) -> T {
        let is_over = AtomicBool::new(false);
        let mut body = pin!(body);
        let mut showing = pin!(async {
            loop {
                self.show_kept().await;
                if is_over.load(Ordering::Acquire) {
                    return;
                }
                self.backlog().news.notified().await;
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
        self.backlog().news.notify_one();
        // The body has returned: its result counts, even if receivers of the updates are slow.
        while let Some(end) = patience.end(cx, self) {
            if timeout_at(end, showing.as_mut()).await.is_ok() {
                return result;
            }
            // Continue if another update was received meanwhile, which resets the idle timeout.
            if patience.end(cx, self).is_some_and(|end| end <= Instant::now()) {
                let (call, tool) = (cx.call_id(), cx.tool_name().as_str());
                tracing::warn!(%call, tool, "updates were not shown before the timeout of their call");
                return result;
            }
        }
        showing.await;
        result
    }

    /// Sends the queued updates in order.
    pub(super) async fn show_kept(&self) {
        while let Some((attempt, update)) = self.backlog().take() {
            self.reported(attempt, update).await;
        }
    }
}
