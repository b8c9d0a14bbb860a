//! Calls, and components of the program beside them, inside the panic barrier: a panic is an error of one call.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll},
};

use tool_core::{
    BoxFuture, CallId, ToolError, WithCallId,
    guard::{Guarded, Panic, catch},
    internals::within_call,
};

/// Runs `code`; a panic is an error.
pub(crate) fn catch_result<T>(code: impl FnOnce() -> Result<T, ToolError>) -> Result<T, ToolError> {
    catch(code)?
}

/// The guarded future of a call: a panic is an error of the call.
#[must_use = "a future does nothing until it is polled"]
pub(crate) struct GuardedCall<'a, T>(Guarded<BoxFuture<'a, Result<T, ToolError>>>);

impl<'a, T> GuardedCall<'a, T> {
    #[inline]
    pub(crate) fn new(running: BoxFuture<'a, Result<T, ToolError>>) -> Self {
        Self(Guarded::new(running))
    }
}

impl<T> Future for GuardedCall<'_, T> {
    type Output = Result<T, ToolError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(task).map(|result| result?)
    }
}

/// Awaits the future of `make` as part of the call `id`; a panic of creating or polling it is an error that names
/// `component`.
pub(crate) async fn run_in_call<'a, T>(
    id: &CallId,
    component: &str,
    make: impl FnOnce() -> BoxFuture<'a, T>,
) -> Result<T, ToolError> {
    let output = match catch(|| within_call(id.clone(), make)) {
        Ok(running) => WithCallId::new(id.clone(), Guarded::new(running)).await,
        Err(panic) => Err(panic),
    };
    output.map_err(|panic| component_panic(component, &panic))
}

/// Awaits the future of `make` outside of any call; as [`run_in_call`].
pub(crate) async fn run_component<'a, T>(
    component: &str,
    make: impl FnOnce() -> BoxFuture<'a, T>,
) -> Result<T, ToolError> {
    let output = match catch(make) {
        Ok(running) => Guarded::new(running).await,
        Err(panic) => Err(panic),
    };
    output.map_err(|panic| component_panic(component, &panic))
}

/// Creates the error for a panic of `component`, which is not the tool.
pub(crate) fn component_panic(component: &str, panic: &Panic) -> ToolError {
    ToolError::failed(format!("{component} {panic}"))
}
