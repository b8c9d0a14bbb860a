//! The panic barrier around code of the program: instructions, hooks, checks and models.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    task::Poll,
};

use futures_util::{Stream, StreamExt as _};
use tool_runtime::{__private::Guarded, ErrorKind, ToolError};

/// Awaits the future that `code` returns. A panic of the future's `Drop` is discarded.
///
/// # Errors
///
/// Returns the error that `panicked` makes of the message of a panic.
pub(crate) async fn guarded<T, E, F>(code: impl FnOnce() -> F, panicked: impl Fn(String) -> E) -> Result<T, E>
where
    F: Future<Output = Result<T, E>>,
{
    let future = catch_unwind(AssertUnwindSafe(code)).map_err(|panic| panicked(panic_message(&*panic)))?;
    let mut future = Guarded::new(Box::pin(future));
    std::future::poll_fn(|task| {
        let Some(future) = future.get_mut() else { return Poll::Pending };
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(task)));
        polled.unwrap_or_else(|panic| Poll::Ready(Err(panicked(panic_message(&*panic)))))
    })
    .await
}

/// Waits for the next item of a stream of the program.
///
/// # Errors
///
/// Returns the message of a panic.
pub(crate) async fn next_of<S: Stream + Unpin>(stream: &mut Guarded<S>) -> Result<Option<S::Item>, String> {
    let Some(stream) = stream.get_mut() else { return Ok(None) };
    let mut next = stream.next();
    std::future::poll_fn(|task| {
        let polled = catch_unwind(AssertUnwindSafe(|| Future::poll(std::pin::Pin::new(&mut next), task)));
        match polled {
            Ok(polled) => polled.map(Ok),
            Err(panic) => Poll::Ready(Err(panic_message(&*panic))),
        }
    })
    .await
}

/// Calls `code`.
///
/// # Errors
///
/// Returns the message of a panic.
pub(crate) fn called<T>(code: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(code)).map_err(|panic| panic_message(&*panic))
}

/// Returns the error of code of the program that panicked.
pub(crate) fn panic_error(message: String) -> ToolError {
    ToolError::new(ErrorKind::Panicked, message)
}

/// Returns the message of a panic.
fn panic_message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}
