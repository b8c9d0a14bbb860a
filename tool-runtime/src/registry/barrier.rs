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
    caught(body).unwrap_or_else(|message| Err(panicked(message)))
}

/// What `body` gives, or the message of its panic.
pub(super) fn caught<T>(body: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(body)).map_err(message)
}

/// A future that fails where the one inside panics.
#[must_use = "a future does nothing until it is polled"]
pub(super) struct Barrier<'a>(pub(super) Running<'a>);

impl Future for Barrier<'_> {
    type Output = Result<ToolOutput, ToolError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        caught(|| self.0.as_mut().poll(cx)).unwrap_or_else(|message| Poll::Ready(Err(panicked(message))))
    }
}

fn panicked(message: String) -> ToolError {
    ToolError::new(ErrorKind::Panicked, message)
}

fn message(payload: Box<dyn Any + Send>) -> String {
    let message = payload.downcast_ref::<&str>().map(|message| (*message).to_owned());
    let message = message.or_else(|| payload.downcast_ref::<String>().cloned());
    // Anything may be thrown, and what is thrown may panic when it is dropped, and so on.
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(another);
    }
    message.unwrap_or_default()
}
