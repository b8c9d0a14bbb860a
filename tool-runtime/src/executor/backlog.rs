//! Updates of bodies that cannot wait, kept until the task of their call shows them.

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

use super::{patience::Patience, reports::CallReports};

/// The most updates of one call.
const ROOM: usize = 64;

/// The updates of one call that nobody was shown yet, each with the number of its attempt.
#[derive(Default)]
pub(super) struct Backlog {
    kept: Mutex<Kept>,
    /// There may be room, or the call is over.
    room: Condvar,
    /// There is an update, or the body is over.
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

    /// Keeps `update`, if there is room and its call runs.
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

    /// Keeps `update` when there is room; blocks the thread until then.
    ///
    /// # Errors
    ///
    /// If the call is over.
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

    /// Keeps nothing any more, and lets go of those who wait.
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
    /// Runs `body`, and shows what it reports without waiting: meanwhile, and all of it before this ends, as far as
    /// `patience` with an attempt in `cx` goes.
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
                // It ends after the body.
                let _: Poll<()> = showing.as_mut().poll(task);
            }
            polled
        });
        let result = result.await;
        is_over.store(true, Ordering::Release);
        self.backlog().news.notify_one();
        // The result counts: what is late are those who look at the updates.
        while let Some(end) = patience.end(cx, self) {
            if timeout_at(end, showing.as_mut()).await.is_ok() {
                return result;
            }
            // Unless another update was looked at meanwhile, which is a sign of life.
            if patience.end(cx, self).is_some_and(|end| end <= Instant::now()) {
                let (call, tool) = (cx.call_id(), cx.tool_name().as_str());
                tracing::warn!(%call, tool, "updates were not shown before the timeout of their call");
                return result;
            }
        }
        showing.await;
        result
    }

    /// Shows what is kept, in its order.
    pub(super) async fn show_kept(&self) {
        while let Some((attempt, update)) = self.backlog().take() {
            self.reported(attempt, update).await;
        }
    }
}
