use std::panic::resume_unwind;

use tokio::runtime::Handle;
use tool_core::{__private::within_call, ErrorKind, ToolContext, ToolError, ToolOutput};

/// Runs the body of a `blocking` tool where it holds up nobody.
///
/// It cannot be stopped once it runs: a call that is cancelled or late leaves it behind, and its
/// result is dropped. A panic goes on in the caller, whose barrier turns it into an error.
///
/// # Errors
///
/// What the body fails with, or that the runtime is shutting down.
pub async fn blocking<F>(body: F) -> Result<ToolOutput, ToolError>
where
    F: FnOnce() -> Result<ToolOutput, ToolError> + Send + 'static,
{
    if Handle::try_current().is_err() {
        let message = "it is `blocking`, and there is no tokio runtime to give it a thread";
        return Err(ToolError::new(ErrorKind::Unavailable, message));
    }
    let call = ToolContext::current_call_id();
    let body = move || match call {
        Some(id) => within_call(id, body),
        None => body(),
    };
    match tokio::task::spawn_blocking(body).await {
        Ok(result) => result,
        Err(error) if error.is_panic() => resume_unwind(error.into_panic()),
        Err(_) => Err(ToolError::new(ErrorKind::Cancelled, "the runtime is shutting down")),
    }
}
