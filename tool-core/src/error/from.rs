//! The conversion of an `anyhow::Error`, and the decision if an error is temporary.

use std::{error::Error, io, iter};

use super::ToolError;

impl ToolError {
    /// Creates an error from an `anyhow::Error`, or from a similar type, such as `eyre::Report`. A `ToolError` inside it
    /// keeps its kind, details and retryability; the text is the one of the outermost context.
    ///
    /// A function with `#[tool]` may return `anyhow::Result`, in which `?` converts both types. In a function that returns
    /// a `ToolError`, such as one of a hook or an approver, [`or_tool_error`](crate::OrToolError::or_tool_error) calls
    /// this function for a `Result`.
    ///
    /// # Examples
    ///
    /// ```
    /// use anyhow::Context;
    /// use tool_runtime::{ErrorKind, ToolError};
    ///
    /// fn order(id: u32) -> anyhow::Result<String> {
    ///     Err(ToolError::not_found(format!("there is no order {id}")))?
    /// }
    ///
    /// fn invoice(id: u32) -> Result<String, ToolError> {
    ///     let order = order(id).context("no invoice").map_err(ToolError::from_anyhow)?;
    ///     Ok(format!("invoice for {order}"))
    /// }
    ///
    /// let error = invoice(7).unwrap_err();
    /// assert_eq!((error.kind(), error.feedback().as_str()), (ErrorKind::NotFound, "no invoice"));
    /// ```
    pub fn from_anyhow<E>(error: E) -> Self
    where
        E: AsRef<dyn Error + Send + Sync> + Into<Box<dyn Error + Send + Sync>>,
    {
        let view: &(dyn Error + Send + Sync) = error.as_ref();
        if let Some(ours) = view.downcast_ref::<Self>() {
            return ours.clone();
        }
        let beneath = source_chain(view).find_map(|source| source.downcast_ref::<Self>()).cloned();
        match beneath {
            Some(ours) => ours.wrapped_by(error),
            None => {
                // The type of the box is not the type of the error.
                let is_transient = is_transient(view);
                Self::from_source(error).retryable(is_transient)
            }
        }
    }
}

/// Returns `error` and the errors below it.
fn source_chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    iter::successors(Some(error), |&error| error.source())
}

/// Returns `true` if `error` is temporary, or an error below it. A `ToolError` decides for the errors below it.
pub(super) fn is_transient(error: &(dyn Error + 'static)) -> bool {
    let decision = |error: &(dyn Error + 'static)| match error.downcast_ref::<ToolError>() {
        Some(ours) => Some(ours.is_retryable()),
        None => error.downcast_ref().is_some_and(is_temporary).then_some(true),
    };
    source_chain(error).find_map(decision).unwrap_or(false)
}

/// Returns `true` for temporary errors: interrupted, timed out, or the connection was lost or refused.
fn is_temporary(error: &io::Error) -> bool {
    use io::ErrorKind as K;
    matches!(
        error.kind(),
        K::TimedOut
            | K::UnexpectedEof
            | K::Interrupted
            | K::WouldBlock
            | K::ConnectionRefused
            | K::ConnectionReset
            | K::ConnectionAborted
            | K::BrokenPipe
            | K::NotConnected
    )
}
