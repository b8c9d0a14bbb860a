//! Code of the program inside the panic barrier.

use std::{pin::pin, task::Poll};

use tool_runtime::{__private::caught, ErrorKind, ToolError};

/// Awaits the future that `code` returns. A panic is an error.
pub(super) async fn contained<T, F>(code: impl FnOnce() -> F) -> Result<T, ToolError>
where
    F: Future<Output = Result<T, ToolError>>,
{
    let panicked = |message| ToolError::new(ErrorKind::Panicked, message);
    let mut body = pin!(caught(code).map_err(panicked)?);
    let polled = |cx: &mut std::task::Context<'_>| match caught(|| body.as_mut().poll(cx)) {
        Ok(polled) => polled,
        Err(message) => Poll::Ready(Err(panicked(message))),
    };
    std::future::poll_fn(polled).await
}
