//! The panic barrier: a panic in user code is an error of one call.

use std::{
    future::Future,
    ops::Deref,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

pub(crate) use tool_core::internals::{Guarded, caught, discard};
use tool_core::{BoxFuture, CallId, ErrorKind, ToolError, WithCallId, internals::within_call};

/// A shared value of the user's, whose last owner drops it inside the barrier.
pub(crate) struct Kept<T: ?Sized> {
    value: Arc<T>,
    /// Dropped last.
    _value: Guarded<Arc<T>>,
}

impl<T: ?Sized> Kept<T> {
    pub(crate) fn new(value: Arc<T>) -> Self {
        Self { _value: Guarded::new(Arc::clone(&value)), value }
    }
}

impl<T: ?Sized> Clone for Kept<T> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.value))
    }
}

impl<T: ?Sized> Deref for Kept<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

/// Runs the synchronous closure `body` inside the barrier.
///
/// Values that `body` left inconsistent are dropped with it, and are not observable.
pub(crate) fn barrier<T>(body: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
    caught(body).unwrap_or_else(|message| Err(panicked(message)))
}

/// A future of the user's: returns the message of a panic, and is dropped inside the barrier as soon as it
/// completes.
#[must_use = "a future does nothing until it is polled"]
pub(crate) struct Shield<'a, T>(Guarded<BoxFuture<'a, T>>);

impl<'a, T> Shield<'a, T> {
    #[inline]
    pub(crate) fn new(running: BoxFuture<'a, T>) -> Self {
        Self(Guarded::new(running))
    }
}

impl<T> Future for Shield<'_, T> {
    type Output = Result<T, String>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut answer = None;
        let polled = caught(|| {
            let running = self.0.get_mut()?;
            if let Poll::Ready(value) = running.as_mut().poll(cx) {
                answer = Some(value);
                drop(self.0.take());
            }
            Some(())
        });
        match (answer, polled) {
            // A panic of the future's `Drop` does not discard the result.
            (Some(value), _) => Poll::Ready(Ok(value)),
            (None, Ok(Some(()))) => Poll::Pending,
            (None, Ok(None)) => Poll::Ready(Err("polled after completion".to_owned())),
            (None, Err(message)) => Poll::Ready(Err(message)),
        }
    }
}

/// A [`Shield`] around a call: a panic is an error of the call.
#[must_use = "a future does nothing until it is polled"]
pub(crate) struct Barrier<'a, T>(Shield<'a, Result<T, ToolError>>);

impl<'a, T> Barrier<'a, T> {
    #[inline]
    pub(crate) fn new(running: BoxFuture<'a, Result<T, ToolError>>) -> Self {
        Self(Shield::new(running))
    }
}

impl<T> Future for Barrier<'_, T> {
    type Output = Result<T, ToolError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = Pin::new(&mut self.0).poll(cx);
        polled.map(|result| result.unwrap_or_else(|message| Err(panicked(message))))
    }
}

/// Awaits the future of `make` as part of the call `id`; a panic of creating or polling it is an error that
/// names `who`.
pub(crate) async fn shielded<'a, T>(
    id: &CallId,
    who: &str,
    make: impl FnOnce() -> BoxFuture<'a, T>,
) -> Result<T, ToolError> {
    let given = match caught(|| within_call(id.clone(), make)) {
        Ok(running) => WithCallId::new(id.clone(), Shield::new(running)).await,
        Err(message) => Err(message),
    };
    given.map_err(|message| panic_of(who, &message))
}

/// Awaits a future outside of any call; as [`shielded`].
pub(crate) async fn guarded<'a, T>(
    who: &str,
    make: impl FnOnce() -> BoxFuture<'a, T>,
) -> Result<T, ToolError> {
    let given = match caught(make) {
        Ok(running) => Shield::new(running).await,
        Err(message) => Err(message),
    };
    given.map_err(|message| panic_of(who, &message))
}

/// Creates the error for a panic of `who`, a component other than the tool.
pub(crate) fn panic_of(who: &str, message: &str) -> ToolError {
    ToolError::failed(if message.is_empty() {
        format!("{who} panicked")
    } else {
        format!("{who} panicked: {message}")
    })
}

/// Creates the error of a call that panicked with `message`.
#[cold]
pub(crate) fn panicked(message: String) -> ToolError {
    ToolError::new(ErrorKind::Panicked, message)
}
