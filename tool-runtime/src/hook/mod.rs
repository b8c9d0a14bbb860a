//! Hooks, which observe and change calls before, while and after they run.
//!
//! - [`Hook`] is the trait. It has one method for each stage of a call: `admit`, `before`, `before_update`,
//!   `after_update`, `recover`, `after` and `finished`.
//! - [`CallView`] and [`BeforeCall`] are the call as hooks see it; [`Before`] is the decision of a hook before the
//!   call.
//! - [`CallHandle`] is an owned handle to a call, for hooks that are closures.
//! - [`SharedHook`] is a hook of any type, for one that is chosen at run time.
//! - [`RepetitionGuard`] blocks calls that a model keeps repeating; [`Sanitizer`] cleans and marks results of untrusted
//!   tools.
//!
//! [`ExecutorBuilder::hook`](crate::executor::ExecutorBuilder::hook) adds a hook to an executor, and
//! [`RunSettings::hook`](crate::executor::RunSettings::hook) to one run. Hooks that only observe can be replaced by an
//! [`EventListener`](crate::event::EventListener), which never delays a call; permissions belong in a
//! [policy](crate::policy).

mod repetition;
mod sanitizer;
mod shared;
mod stage;
mod view;

use std::{
    future::Future,
    ops::ControlFlow,
    pin::Pin,
    task::{Context, Poll},
};

use tool_core::{Arguments, ToolError, ToolOutput};

pub(crate) use self::stage::*;
pub use self::{
    repetition::RepetitionGuard,
    sanitizer::Sanitizer,
    shared::SharedHook,
    view::{BeforeCall, CallView},
};
use crate::ToolResult;
pub use crate::call_handle::CallHandle;

/// Observes and changes calls. Every method has a default that does nothing, and can be written as an `async fn`.
///
/// Hooks run in the order in which they were added, plugins first, and never concurrently within a batch. If a hook
/// panics in [`admit`](Self::admit), [`before`](Self::before), [`recover`](Self::recover) or [`after`](Self::after), the
/// call that it was processing fails, and no other. A panic in [`before_update`](Self::before_update),
/// [`after_update`](Self::after_update) or [`finished`](Self::finished) is logged, and the call keeps its result.
///
/// For a single stage, use a closure, which receives an owned [`CallHandle`]: see
/// [`ExecutorBuilder::before`](crate::executor::ExecutorBuilder::before) and the methods beside it. A hook that is
/// chosen at run time is a [`SharedHook`].
///
/// The arguments that a hook sees are the text that the tool receives: see [`BeforeCall::arguments`]. To decide by
/// paths, URLs or numbers, use [`Rules`](crate::policy::Rules), which compare them by their meaning.
///
/// # Examples
///
/// ```standalone_crate
/// use tool_runtime::{Executor, Registry, ToolError, hook::{Before, BeforeCall, Hook}};
///
/// /// Runs read-only tools only.
/// struct Dry;
///
/// impl Hook for Dry {
///     async fn before(&self, call: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
///         Ok(match call.definition().metadata().is_read_only() {
///             true => Before::Continue,
///             false => Before::block(format!("not run: it would be {}", call.arguments().as_str())),
///         })
///     }
/// }
///
/// let executor = Executor::builder(Registry::builder().build()?)
///     .hook(Dry)
///     .finished(|call, result| async move { println!("{}: {}", call.tool(), result.is_error()) })
///     .build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a hook",
    label = "does not implement `Hook`",
    note = "write `impl Hook for ..` for a type of your own, with the methods of the stages that it observes",
    note = "a closure for one stage is given to the method of the stage, such as `.before(..)` or `.after(..)`"
)]
pub trait Hook: Send + Sync {
    /// Returns `true` to admit a call. Called before the arguments are validated, also for unknown tools. Not
    /// called for calls that were cut off, calls of a stopped batch, external calls, and calls of tools that a rule denies
    /// by name, which are answered before. Default: `true`. A call that is not admitted has no events, and the model
    /// receives an error that it was not permitted.
    fn admit(&self, call: &CallView<'_>) -> impl Future<Output = bool> + Send {
        let _ = call;
        Unchanged(|| true)
    }

    /// Decides on a call with valid arguments before it runs. May [rewrite](BeforeCall::rewrite) them, answer in place
    /// of the tool, or block the call; after an answer or a block, later hooks are not called. Default:
    /// [`Before::Continue`].
    ///
    /// A hook sees the arguments as earlier hooks left them. Later hooks, including those of the
    /// [run](crate::executor::RunSettings::hook), may rewrite them, and earlier hooks are not called again. Implement
    /// guards as [`Rules`](crate::policy::Rules) or a [`PermissionPolicy`](crate::policy::PermissionPolicy) of the
    /// executor or the run: these are evaluated after all hooks, on the arguments that run. Rewritten arguments are
    /// validated again.
    ///
    /// # Errors
    ///
    /// If an error is returned, the call fails with it and is not run.
    fn before(&self, call: &mut BeforeCall<'_>) -> impl Future<Output = Result<Before, ToolError>> + Send {
        let _ = call;
        Unchanged(|| Ok(Before::Continue))
    }

    /// Returns `true` to show a partial result to listeners; `text` is its text. Default: `true`.
    ///
    /// A [timeout](crate::executor::ExecutorBuilder::timeout) of the call includes the time of this method. Updates of one
    /// call are shown one after the other: a hook that awaits an update of the same call here (from a context that it kept)
    /// waits for itself, until the timeout or the cancellation of the call.
    fn before_update(&self, call: &CallView<'_>, text: &str) -> impl Future<Output = bool> + Send {
        let _ = (call, text);
        Unchanged(|| true)
    }

    /// Observes a partial result after it was shown. Default: does nothing.
    fn after_update(&self, call: &CallView<'_>, text: &str) -> impl Future<Output = ()> + Send {
        let _ = (call, text);
        Unchanged(|| ())
    }

    /// Called when a call failed, also for unknown tools. The first output that a hook returns becomes the result.
    /// Default: `None`.
    ///
    /// # Errors
    ///
    /// A returned error replaces the error of the call, and later hooks are not called.
    fn recover(
        &self,
        call: &CallView<'_>,
        error: &ToolError,
    ) -> impl Future<Output = Result<Option<ToolOutput>, ToolError>> + Send {
        let _ = (call, error);
        Unchanged(|| Ok(None))
    }

    /// Observes or changes the result of a call, successful or not. Not called for calls that were not permitted, nor,
    /// by [default](crate::executor::ExecutorBuilder::after_answers), for answers of hooks. After
    /// [`Break`](ControlFlow::Break), later hooks are not called. Default: [`Continue`](ControlFlow::Continue).
    ///
    /// # Errors
    ///
    /// A returned error replaces the result, and later hooks are not called.
    fn after(
        &self,
        call: &CallView<'_>,
        result: &mut ToolResult,
    ) -> impl Future<Output = Result<ControlFlow<()>, ToolError>> + Send {
        let _ = (call, result);
        Unchanged(|| Ok(ControlFlow::Continue(())))
    }

    /// Observes the end of a call, after its last event. Default: does nothing.
    fn finished(&self, call: &CallView<'_>, result: &ToolResult) -> impl Future<Output = ()> + Send {
        let _ = (call, result);
        Unchanged(|| ())
    }
}

/// The future of a default stage. It has size zero, so that boxing it does not allocate.
struct Unchanged<F>(F);

impl<T, F: Fn() -> T + Unpin> Future for Unchanged<F> {
    type Output = T;

    #[inline]
    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        Poll::Ready((self.0)())
    }
}

/// The decision of a [`Hook`] before a call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Before {
    /// Continues with the call.
    Continue,
    /// Continues with these arguments, which are validated like those of a model.
    Rewrite(Arguments<'static>),
    /// Answers the call with this output, without running the tool.
    Answer(ToolOutput),
    /// Blocks the call for this reason, without running the tool.
    Block(String),
}

impl Before {
    /// Continues with `arguments` in place of the call's.
    pub fn rewrite(arguments: impl Into<Arguments<'static>>) -> Self {
        Self::Rewrite(arguments.into())
    }

    /// Blocks the call for `reason`.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block(reason.into())
    }
}

#[cfg(test)]
mod tests {
    use super::{SharedHook, Unchanged};

    // H16: a stage that a hook does not have costs no allocation.
    #[test]
    fn the_future_of_a_default_stage_has_size_zero() {
        struct Nothing;
        impl super::Hook for Nothing {}
        assert_eq!(size_of_val(&Unchanged(|| true)), 0);
        let hook = SharedHook::new(Nothing);
        let result = crate::ToolResult::new("1".into(), "tool", Ok("".into()));
        let (id, tool, arguments) = ("1".into(), "tool", tool_core::Arguments::EMPTY);
        let view =
            super::CallView { id: &id, tool, arguments: &arguments, definition: None, cx: None, run: None };
        assert_eq!(size_of_val(&*hook.dynamic().admit(&view)), 0);
        assert_eq!(size_of_val(&*hook.dynamic().finished(&view, &result)), 0);
    }
}
