//! Support for `on_request = path`; the function may be `async` and may fail.

use std::future::{Future, ready};

use crate::{BoxFuture, ToolError};

/// The result of the function, handled according to its type like the result of a tool.
pub struct RequestAddition<T>(pub T);

/// The conversion to the final result.
pub trait Addition {
    fn added(self) -> Result<(), ToolError>;
}

impl Addition for () {
    fn added(self) -> Result<(), ToolError> {
        Ok(())
    }
}

impl<E: Into<ToolError>> Addition for Result<(), E> {
    fn added(self) -> Result<(), ToolError> {
        self.map_err(Into::into)
    }
}

impl RequestAddition<()> {
    #[must_use]
    pub fn running(self) -> BoxFuture<'static, Result<(), ToolError>> {
        Box::pin(ready(Ok(())))
    }
}

impl<E: Into<ToolError>> RequestAddition<Result<(), E>> {
    pub fn running(self) -> BoxFuture<'static, Result<(), ToolError>> {
        Box::pin(ready(self.0.added()))
    }
}

/// The result of an `async` function.
pub trait AsyncRequestAddition {
    fn running(self) -> BoxFuture<'static, Result<(), ToolError>>;
}

impl<F> AsyncRequestAddition for RequestAddition<F>
where
    F: Future<Output: Addition> + Send + 'static,
{
    fn running(self) -> BoxFuture<'static, Result<(), ToolError>> {
        Box::pin(async move { self.0.await.added() })
    }
}
