//! The panic barrier, inside which code of the program runs and its values are dropped.
//!
//! A panic of a tool, a hook, a model or any other code that a program passes in is the error of one call, and never ends
//! the task or thread of its caller. That includes panics of a `Drop`.
//!
//! - [`catch`] runs a closure, and [`catch_async`] a future.
//! - [`Guarded`] owns a value, and contains a panic of its `Drop`. A guarded future or stream is polled inside the barrier,
//!   too. [`GuardedArc`] is the same for a shared value.
//! - [`discard`] drops a value.
//!
//! In a program that is built with `panic = "abort"`, a panic ends the program.
//!
//! Programs use it as `tool_runtime::guard`.
//!
//! # Examples
//!
//! ```
//! use tool_schema::guard;
//!
//! /// Runs a callback of the program.
//! async fn notify<F: Future<Output = u32>>(callback: impl FnOnce() -> F) -> Result<u32, guard::Panic> {
//!     guard::catch_async(callback).await
//! }
//! ```

use std::{
    any::Any,
    error::Error,
    fmt,
    ops::Deref,
    panic::AssertUnwindSafe,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;

/// A caught panic. In a function that returns a `ToolError`, `?` converts it into one of the kind `Panicked`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Panic {
    message: String,
}

impl Panic {
    /// Returns the message of the panic; empty if its payload is not a text.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the message of the panic; empty if its payload is not a text.
    #[must_use]
    pub fn into_message(self) -> String {
        self.message
    }

    #[cold]
    fn new(payload: Box<dyn Any + Send>) -> Self {
        let message = payload.downcast_ref::<&str>().map(|message| (*message).to_owned());
        let message = message.or_else(|| payload.downcast_ref::<String>().cloned());
        // The payload of a panic may itself panic when it is dropped.
        if let Err(another) = unwinding(|| drop(payload)) {
            std::mem::forget(another);
        }
        Self { message: message.unwrap_or_default() }
    }
}

/// `panicked`, and the message of the panic if it has one.
impl fmt::Display for Panic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message.as_str() {
            "" => f.write_str("panicked"),
            message => write!(f, "panicked: {message}"),
        }
    }
}

impl Error for Panic {}

#[inline]
#[expect(clippy::disallowed_methods, reason = "this is the barrier")]
fn unwinding<T>(code: impl FnOnce() -> T) -> std::thread::Result<T> {
    // State that `code` left inconsistent is dropped with it and never observed.
    std::panic::catch_unwind(AssertUnwindSafe(code))
}

/// Runs `code`.
///
/// # Errors
///
/// Returns the panic of `code`. The program's panic hook has reported it.
///
/// # Examples
///
/// ```
/// use tool_schema::guard::catch;
///
/// assert_eq!(catch(|| 1 + 1)?, 2);
/// assert_eq!(catch(|| panic!("no ink")).map(|()| 0).unwrap_err().message(), "no ink");
/// # Ok::<(), tool_schema::guard::Panic>(())
/// ```
#[inline]
pub fn catch<T>(code: impl FnOnce() -> T) -> Result<T, Panic> {
    unwinding(code).map_err(Panic::new)
}

/// Awaits the future that `code` returns. `code` and the future run and are dropped inside the barrier, also if the result is
/// never polled; a panic of a `Drop` is discarded.
///
/// # Errors
///
/// Returns the panic of `code` or of its future.
pub fn catch_async<F: Future>(code: impl FnOnce() -> F) -> impl Future<Output = Result<F::Output, Panic>> {
    let mut code = Guarded::new(code);
    async move {
        // Boxed inside the barrier, so that the future is not held by this one.
        let future = catch(|| code.take().map(|code| Box::pin(code())))?;
        Guarded(future).await
    }
}

/// Drops `value`, and discards a panic of its `Drop`. The program's panic hook has reported it.
pub fn discard<T>(value: T) {
    let _ = catch(|| drop(value));
}

/// An owned value of the program, dropped by [`discard`].
///
/// A guarded future or stream is a future or stream whose output or items are `Result`s: a panic of its poll is an error.
/// A future is dropped as soon as it completes, and a panic of its `Drop` then does not discard its output.
///
/// # Examples
///
/// ```
/// use tool_schema::guard::Guarded;
///
/// struct Fragile(u32);
///
/// impl Drop for Fragile {
///     fn drop(&mut self) {
///         panic!("broken");
///     }
/// }
///
/// let value = Guarded::new(Fragile(7));
/// assert_eq!(value.get().map(|it| it.0), Some(7));
/// drop(value); // does not panic
/// ```
#[derive(Debug, Clone)]
pub struct Guarded<T>(Option<T>);

impl<T> Guarded<T> {
    /// Guards `value`.
    #[inline]
    pub fn new(value: T) -> Self {
        Self(Some(value))
    }

    /// Returns the value unless it was taken.
    #[inline]
    pub fn get(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// Returns a mutable reference to the value unless it was taken.
    #[inline]
    pub fn get_mut(&mut self) -> Option<&mut T> {
        self.0.as_mut()
    }

    /// Guards `value` in place of the current one, which is discarded.
    #[inline]
    pub fn set(&mut self, value: T) {
        if let Some(former) = self.0.replace(value) {
            discard(former);
        }
    }

    /// Takes the value; the caller must guard its drop.
    #[inline]
    pub fn take(&mut self) -> Option<T> {
        self.0.take()
    }
}

/// Creates an empty guard.
impl<T> Default for Guarded<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Drop for Guarded<T> {
    #[inline]
    fn drop(&mut self) {
        if let Some(value) = self.0.take() {
            discard(value);
        }
    }
}

impl<F: Future + Unpin> Future for Guarded<F> {
    type Output = Result<F::Output, Panic>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        let mut output = None;
        let polled = catch(|| {
            let future = self.0.as_mut()?;
            if let Poll::Ready(value) = Pin::new(future).poll(task) {
                output = Some(value);
                drop(self.0.take());
            }
            Some(())
        });
        match (output, polled) {
            // A panic of the future's `Drop` does not discard the output.
            (Some(value), _) => Poll::Ready(Ok(value)),
            (None, Ok(Some(()))) => Poll::Pending,
            (None, Ok(None)) => Poll::Ready(Err(Panic { message: "polled after completion".to_owned() })),
            (None, Err(panic)) => Poll::Ready(Err(panic)),
        }
    }
}

impl<S: Stream + Unpin> Stream for Guarded<S> {
    type Item = Result<S::Item, Panic>;

    fn poll_next(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let Some(stream) = self.0.as_mut() else { return Poll::Ready(None) };
        match catch(|| Pin::new(stream).poll_next(task)) {
            Ok(polled) => polled.map(|item| item.map(Ok)),
            Err(panic) => {
                // A stream that panicked is over.
                drop(self.0.take().map(Guarded::new));
                Poll::Ready(Some(Err(panic)))
            }
        }
    }
}

/// A shared value of the program, whose last owner drops it by [`discard`].
pub struct GuardedArc<T: ?Sized> {
    value: Arc<T>,
    /// Dropped last.
    _value: Guarded<Arc<T>>,
}

impl<T: ?Sized> GuardedArc<T> {
    /// Guards `value`, of which the caller keeps no other reference.
    pub fn new(value: Arc<T>) -> Self {
        Self { _value: Guarded::new(Arc::clone(&value)), value }
    }
}

impl<T: ?Sized> Clone for GuardedArc<T> {
    fn clone(&self) -> Self {
        Self::new(Arc::clone(&self.value))
    }
}

impl<T: ?Sized> Deref for GuardedArc<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for GuardedArc<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.value.fmt(f)
    }
}

#[cfg(test)]
#[allow(clippy::panic, clippy::unwrap_used, reason = "panics are what is tested")]
mod tests {
    use std::task::Waker;

    use super::*;

    struct Explosive;

    impl Drop for Explosive {
        fn drop(&mut self) {
            panic!("boom");
        }
    }

    /// A future or stream whose `Drop` panics.
    struct Fragile(Poll<u32>, Explosive);

    impl Future for Fragile {
        type Output = u32;

        fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<u32> {
            self.0
        }
    }

    impl Stream for Fragile {
        type Item = u32;

        fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<u32>> {
            panic!("torn")
        }
    }

    fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
        std::pin::pin!(future).poll(&mut Context::from_waker(Waker::noop()))
    }

    fn panic_of(message: &str) -> Panic {
        Panic { message: message.to_owned() }
    }

    #[test]
    fn a_panic_of_a_drop_ends_at_the_guard() {
        drop(Guarded::new(Explosive));
        discard(vec![Explosive]);
        let shared = GuardedArc::new(Arc::new(Explosive));
        drop(shared.clone());
        drop(shared);
        let mut replaced = Guarded::new(Explosive);
        replaced.set(Explosive);
    }

    #[test]
    fn a_panic_whose_payload_panics_when_it_is_dropped_ends_at_the_barrier() {
        let nameless = catch(|| std::panic::panic_any(Explosive)).unwrap_err();
        assert_eq!((nameless.message(), nameless.to_string()), ("", "panicked".to_owned()));
        let named = catch(|| -> () { panic!("{}", 1) }).unwrap_err();
        assert_eq!((named.message(), named.to_string()), ("1", "panicked: 1".to_owned()));
        assert_eq!((nameless.into_message(), named.into_message()), (String::new(), "1".to_owned()));
    }

    #[test]
    fn a_panic_of_a_future_or_of_its_drop_ends_at_the_barrier() {
        // Of the drop after completion, which does not discard the output, and before completion.
        assert_eq!(poll_once(catch_async(|| Fragile(Poll::Ready(7), Explosive))), Poll::Ready(Ok(7)));
        assert_eq!(poll_once(catch_async(|| Fragile(Poll::Pending, Explosive))), Poll::Pending);
        // Of a closure that is never called.
        let unused = Explosive;
        drop(catch_async(move || {
            let _unused = unused;
            std::future::ready(())
        }));
        // Of the poll, and of the closure that creates the future.
        assert_eq!(poll_once(catch_async(async || panic!("a"))), Poll::Ready(Err::<(), _>(panic_of("a"))));
        let never = catch_async(|| -> std::future::Ready<()> { panic!("b") });
        assert_eq!(poll_once(never), Poll::Ready(Err(panic_of("b"))));
        // A completed future is an error, too.
        let mut done = Guarded::new(std::future::ready(1));
        assert_eq!(poll_once(&mut done), Poll::Ready(Ok(1)));
        assert_eq!(poll_once(&mut done), Poll::Ready(Err(panic_of("polled after completion"))));
    }

    #[test]
    fn a_panic_of_a_stream_is_its_last_item() {
        let mut stream = Guarded::new(Fragile(Poll::Pending, Explosive));
        let mut next = || Pin::new(&mut stream).poll_next(&mut Context::from_waker(Waker::noop()));
        assert_eq!(next(), Poll::Ready(Some(Err(panic_of("torn")))));
        assert_eq!(next(), Poll::Ready(None));
    }

    #[test]
    fn a_guard_holds_its_value_until_it_is_taken() {
        let mut value = Guarded::new(1);
        *value.get_mut().unwrap() += 1;
        assert_eq!(value.get(), Some(&2));
        assert_eq!(value.take(), Some(2));
        assert_eq!(value.get(), None);
        assert_eq!(value.take(), None);
        value.set(3);
        assert_eq!(value.get(), Some(&3));
        assert_eq!(Guarded::<u32>::default().get(), None);
        let shared = GuardedArc::new(Arc::new("a"));
        assert_eq!((*shared.clone(), format!("{shared:?}")), ("a", "\"a\"".to_owned()));
    }
}
