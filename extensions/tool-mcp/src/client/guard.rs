//! Code of the program in the tasks of a connection: a panic ends neither.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    task::Poll,
};

use tool_runtime::{ErrorKind, ToolError};

/// Calls `code`.
pub(super) fn called(code: impl FnOnce()) {
    if catch_unwind(AssertUnwindSafe(code)).is_err() {
        tracing::error!("a listener for changes of an MCP server panicked");
    }
}

/// Awaits the future that `code` returns.
pub(crate) async fn awaited<T, F>(code: impl FnOnce() -> F) -> Result<T, ToolError>
where
    F: Future<Output = Result<T, ToolError>>,
{
    let panicked = |_| ToolError::new(ErrorKind::Panicked, "a callback of the program panicked");
    let future = catch_unwind(AssertUnwindSafe(code)).map_err(panicked)?;
    let mut future = pin!(future);
    std::future::poll_fn(|task| match catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(task))) {
        Ok(poll) => poll,
        Err(panic) => Poll::Ready(Err(panicked(panic))),
    })
    .await
}
