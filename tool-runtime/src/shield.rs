//! A panic in what a program hands us is an error of one call, and of nothing else.

use std::{
    any::Any,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll},
};

use tool_core::{__private::within_call, CallId, ErrorKind, Running, ToolError, WithCallId};

/// Runs `body`, which is not async.
///
/// What `body` left half done is dropped with it, so that nobody sees it.
pub(crate) fn barrier<T>(body: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
    caught(body).unwrap_or_else(|message| Err(panicked(message)))
}

/// What `body` gives, or the message of its panic.
pub(crate) fn caught<T>(body: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(body)).map_err(message)
}

/// A future that fails where the one inside panics.
#[must_use = "a future does nothing until it is polled"]
pub(crate) struct Barrier<'a, T>(pub(crate) Running<'a, Result<T, ToolError>>);

impl<T> Future for Barrier<'_, T> {
    type Output = Result<T, ToolError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        caught(|| self.0.as_mut().poll(cx)).unwrap_or_else(|message| Poll::Ready(Err(panicked(message))))
    }
}

/// What the future of `make` gives, as part of the call `id`; an error where making or polling it panics,
/// which says that it was `who`.
pub(crate) async fn shielded<'a, T>(
    id: &CallId,
    who: &str,
    make: impl FnOnce() -> Running<'a, T>,
) -> Result<T, ToolError> {
    let given = match caught(|| within_call(id.clone(), make)) {
        Ok(running) => WithCallId::new(id.clone(), Shield(running)).await,
        Err(message) => Err(message),
    };
    given.map_err(|message| panic_of(who, &message))
}

/// As [`shielded`], where it is part of no call.
pub(crate) async fn guarded<'a, T>(who: &str, make: impl FnOnce() -> Running<'a, T>) -> Result<T, ToolError> {
    let given = match caught(make) {
        Ok(running) => Shield(running).await,
        Err(message) => Err(message),
    };
    given.map_err(|message| panic_of(who, &message))
}

/// That `who` panicked, who is not the tool.
pub(crate) fn panic_of(who: &str, message: &str) -> ToolError {
    ToolError::failed(if message.is_empty() {
        format!("{who} panicked")
    } else {
        format!("{who} panicked: {message}")
    })
}

/// As [`Barrier`], around a future that cannot fail by itself: gives the message of a panic.
struct Shield<'a, T>(Running<'a, T>);

impl<T> Future for Shield<'_, T> {
    type Output = Result<T, String>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        match caught(|| self.0.as_mut().poll(cx)) {
            Ok(poll) => poll.map(Ok),
            Err(message) => Poll::Ready(Err(message)),
        }
    }
}

/// The error of a call that panicked with `message`.
#[cold]
pub(crate) fn panicked(message: String) -> ToolError {
    ToolError::new(ErrorKind::Panicked, message)
}

#[cold]
fn message(payload: Box<dyn Any + Send>) -> String {
    let message = payload.downcast_ref::<&str>().map(|message| (*message).to_owned());
    let message = message.or_else(|| payload.downcast_ref::<String>().cloned());
    // Anything may be thrown, and what is thrown may panic when it is dropped, and so on.
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
        std::mem::forget(another);
    }
    message.unwrap_or_default()
}
