//! The id of the call that is being polled.
//!
//! It is set around each poll, or around a synchronous body, and restored afterwards. This needs no runtime, and
//! tasks on one thread do not see each other's ids.

use std::{
    cell::Cell,
    future::Future,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use super::CallId;

thread_local! {
    static CURRENT: Cell<Option<CallId>> = const { Cell::new(None) };
    static GRACE: Cell<Option<Duration>> = const { Cell::new(None) };
}

/// Returns the grace period of the body that runs on this thread; `None` outside a batch.
#[must_use]
pub fn current_grace() -> Option<Duration> {
    GRACE.get()
}

/// Runs `body` on this thread with the grace period `grace`.
#[inline]
pub fn within_grace<T>(grace: Duration, body: impl FnOnce() -> T) -> T {
    /// Restores the previous value, also after a panic.
    struct Restore(Option<Duration>);

    impl Drop for Restore {
        #[inline]
        fn drop(&mut self) {
            GRACE.set(self.0);
        }
    }

    let _restore = Restore(GRACE.replace(Some(grace)));
    body()
}

pub(super) fn current_call_id() -> Option<CallId> {
    CURRENT.with(|current| {
        let id = current.take();
        current.set(id.clone());
        id
    })
}

/// Runs `body` on this thread as part of the call `id`.
#[inline]
pub fn within_call<T>(id: CallId, body: impl FnOnce() -> T) -> T {
    CURRENT.with(|current| {
        let _restore = Restore { before: Cell::new(current.replace(Some(id))), current };
        body()
    })
}

/// A future inside which [`ToolContext::current_call_id`](crate::ToolContext::current_call_id) returns a given id.
#[must_use = "a future does nothing until it is polled"]
#[derive(Debug)]
pub struct WithCallId<F> {
    id: CallId,
    future: F,
}

impl<F> WithCallId<F> {
    /// Creates a future that runs `future` as part of the call `id`.
    pub fn new(id: CallId, future: F) -> Self {
        Self { id, future }
    }
}

/// Restores the previous value, also after a panic.
struct Restore<'c> {
    before: Cell<Option<CallId>>,
    current: &'c Cell<Option<CallId>>,
}

impl Drop for Restore<'_> {
    #[inline]
    fn drop(&mut self) {
        self.current.swap(&self.before);
    }
}

impl<F: Future + Unpin> Future for WithCallId<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        within_call(self.id.clone(), || Pin::new(&mut self.future).poll(cx))
    }
}
