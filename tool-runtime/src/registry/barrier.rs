//! A panic in a tool is an error of that call, and of nothing else.

use std::{
    any::Any,
    panic::{AssertUnwindSafe, catch_unwind},
};

use tool_core::{ErrorKind, ToolError};

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

/// The error of a call that panicked with `message`.
#[cold]
pub(super) fn panicked(message: String) -> ToolError {
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
