//! A panic in a tool is an error of that call, and of nothing else.

use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use tool_core::{ErrorKind, Running, ToolError, ToolOutput};

/// Runs `body`, which is not async.
///
/// What `body` left half done is dropped with it, so that nobody sees it.
pub(super) fn barrier<T>(body: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| Err(panicked(&*payload)))
}

/// A future that fails where the one inside panics.
#[must_use = "a future does nothing until it is polled"]
pub(super) struct Barrier<'a>(pub(super) Running<'a>);

impl Future for Barrier<'_> {
    type Output = Result<ToolOutput, ToolError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(cx)));
        polled.unwrap_or_else(|payload| Poll::Ready(Err(panicked(&*payload))))
    }
}

fn panicked(payload: &(dyn Any + Send)) -> ToolError {
    let message = payload.downcast_ref::<&str>().map(|message| (*message).to_owned());
    let message = message.or_else(|| payload.downcast_ref::<String>().cloned());
    ToolError::new(ErrorKind::Panicked, message.unwrap_or_default())
}
