//! A panic in what a program hands us is an error of one call, and of nothing else.

use std::{
    future::Future,
    ops::Deref,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

pub(crate) use tool_core::__private::{Guarded, caught, discard};
use tool_core::{__private::within_call, BoxFuture, CallId, ErrorKind, ToolError, WithCallId};

/// A value of the user's that several have: whoever drops it last does so inside the barrier.
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

/// Runs `body`, which is not async.
///
/// What `body` left half done is dropped with it, so that nobody sees it.
pub(crate) fn barrier<T>(body: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
    caught(body).unwrap_or_else(|message| Err(panicked(message)))
}

/// A future of the user's: gives the message of a panic, and is dropped inside the barrier, as soon as it is
/// over.
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
            // A panic of the future when it is dropped does not take the answer back.
            (Some(value), _) => Poll::Ready(Ok(value)),
            (None, Ok(Some(()))) => Poll::Pending,
            (None, Ok(None)) => Poll::Ready(Err("it is over, and was polled again".to_owned())),
            (None, Err(message)) => Poll::Ready(Err(message)),
        }
    }
}

/// A [`Shield`] around a call: it fails where the future panics.
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

/// What the future of `make` gives, as part of the call `id`; an error where making or polling it panics,
/// which says that it was `who`.
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

/// As [`shielded`], where it is part of no call.
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

/// That `who` panicked, who is not the tool.
pub(crate) fn panic_of(who: &str, message: &str) -> ToolError {
    ToolError::failed(if message.is_empty() {
        format!("{who} panicked")
    } else {
        format!("{who} panicked: {message}")
    })
}

/// The error of a call that panicked with `message`.
#[cold]
pub(crate) fn panicked(message: String) -> ToolError {
    ToolError::new(ErrorKind::Panicked, message)
}
