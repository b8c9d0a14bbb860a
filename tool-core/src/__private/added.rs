//! The function of `on_request = path`, which may be `async` or not, and may fail or not.

use std::future::{Future, ready};

use crate::{BoxFuture, ToolError};

/// What the function gave: decided by its type, as the result of a tool is.
pub struct Added<T>(pub T);

/// What it gives in the end.
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

impl Added<()> {
    #[must_use]
    pub fn running(self) -> BoxFuture<'static, Result<(), ToolError>> {
        Box::pin(ready(Ok(())))
    }
}

impl<E: Into<ToolError>> Added<Result<(), E>> {
    pub fn running(self) -> BoxFuture<'static, Result<(), ToolError>> {
        Box::pin(ready(self.0.added()))
    }
}

/// A function that is `async`.
pub trait AddedLater {
    fn running(self) -> BoxFuture<'static, Result<(), ToolError>>;
}

impl<F> AddedLater for Added<F>
where
    F: Future<Output: Addition> + Send + 'static,
{
    fn running(self) -> BoxFuture<'static, Result<(), ToolError>> {
        Box::pin(async move { self.0.await.added() })
    }
}
