//! Hooks: what a program does about calls, around them.

mod boxed;
mod handle;
mod repetition;
mod sanitizer;
mod stage;
mod view;

use std::{
    future::Future,
    ops::ControlFlow,
    pin::Pin,
    sync::LazyLock,
    task::{Context, Poll},
};

use tool_core::{Arguments, Metadata, ToolError, ToolOutput};

pub(crate) use self::stage::*;
pub use self::{
    boxed::BoxHook,
    handle::CallHandle,
    repetition::RepetitionGuard,
    sanitizer::Sanitizer,
    view::{BeforeCall, CallView},
};
use crate::ToolResult;

/// Sees and changes what happens to calls. Every method does nothing by default, and can be written as an `async fn`.
///
/// Hooks run in the order in which they were added, plugins before the others, and never two at once
/// in a batch. One that panics fails the call that it was asked about, and no other.
///
/// For one stage, a closure suffices, which is given an owned [`CallHandle`]: see
/// [`ExecutorBuilder::before`](crate::executor::ExecutorBuilder::before) and its neighbours. A hook that is chosen at run time is a
/// [`BoxHook`].
///
/// A hook that decides by arguments sees the text that the tool receives: see
/// [`BeforeCall::arguments`]. Paths, URLs and numbers are for [`Rules`](crate::policy::Rules), which compare them by
/// what they mean.
///
/// # Examples
///
/// ```standalone_crate
/// use tool_runtime::{Executor, Registry, ToolError, hook::{Before, BeforeCall, Hook}};
///
/// /// Runs only what reads.
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
pub trait Hook: Send + Sync {
    /// Decides on admission, before anything else is done about a call, also about one of an unknown tool. A call that
    /// is not admitted has no events, and the model is told that it was not permitted.
    fn admit(&self, call: &CallView<'_>) -> impl Future<Output = bool> + Send {
        let _ = call;
        Unchanged(|| true)
    }

    /// Asked when the arguments fit. May [rewrite](BeforeCall::rewrite) them, answer in place of the tool,
    /// or block the call; the first that answers or blocks is the last to be asked.
    ///
    /// A hook sees the arguments as the hooks before it left them. One that comes later may rewrite them, also a hook of
    /// the [run](crate::executor::RunSettings::hook), and those before are not asked again. A guard therefore belongs into
    /// [`Rules`](crate::policy::Rules) or a [`PermissionPolicy`](crate::policy::PermissionPolicy), those of the executor and of the run:
    /// they judge what runs, after all hooks, and so does the check of the arguments.
    ///
    /// # Errors
    ///
    /// The call fails with the error; it is not run.
    fn before(&self, call: &mut BeforeCall<'_>) -> impl Future<Output = Result<Before, ToolError>> + Send {
        let _ = call;
        Unchanged(|| Ok(Before::Continue))
    }

    /// Decides on showing a partial result to those who watch; `text` is its text.
    ///
    /// A [timeout](crate::executor::ExecutorBuilder::timeout) of the call includes the time for this.
    fn before_update(&self, call: &CallView<'_>, text: &str) -> impl Future<Output = bool> + Send {
        let _ = (call, text);
        Unchanged(|| true)
    }

    /// Told of a partial result that was shown.
    fn after_update(&self, call: &CallView<'_>, text: &str) -> impl Future<Output = ()> + Send {
        let _ = (call, text);
        Unchanged(|| ())
    }

    /// Asked when a call failed, also one of an unknown tool. The first that gives an output makes it the
    /// result.
    ///
    /// # Errors
    ///
    /// The error takes the place of the call's, and no other hook is asked.
    fn recover(
        &self,
        call: &CallView<'_>,
        error: &ToolError,
    ) -> impl Future<Output = Result<Option<ToolOutput>, ToolError>> + Send {
        let _ = (call, error);
        Unchanged(|| Ok(None))
    }

    /// Shown the result of a call that was run, whether it failed or not; may change it. One that gives
    /// [`Break`](ControlFlow::Break) is the last to see it.
    ///
    /// # Errors
    ///
    /// The error takes the place of the result, and no other hook sees it.
    fn after(
        &self,
        call: &CallView<'_>,
        result: &mut ToolResult,
    ) -> impl Future<Output = Result<ControlFlow<()>, ToolError>> + Send {
        let _ = (call, result);
        Unchanged(|| Ok(ControlFlow::Continue(())))
    }

    /// Told that a call is over, after its last event.
    fn finished(&self, call: &CallView<'_>, result: &ToolResult) -> impl Future<Output = ()> + Send {
        let _ = (call, result);
        Unchanged(|| ())
    }
}

/// The metadata of a tool that is not known.
static NOTHING_CLAIMED: LazyLock<Metadata> = LazyLock::new(Metadata::default);

/// The future of a stage that a hook leaves as it is. It has no size, so that a box of it is no allocation.
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
    /// It goes on.
    Continue,
    /// It goes on with these arguments, which are checked like those of a model.
    Rewrite(Arguments<'static>),
    /// This is the answer; the tool is not run.
    Answer(ToolOutput),
    /// The tool is not run, and this is why.
    Block(String),
}

impl Before {
    /// Goes on with `arguments` in place of the call's.
    pub fn rewrite(arguments: impl Into<Arguments<'static>>) -> Self {
        Self::Rewrite(arguments.into())
    }

    /// Blocks the call, because of `reason`.
    pub fn block(reason: impl Into<String>) -> Self {
        Self::Block(reason.into())
    }
}

#[cfg(test)]
mod tests {
    use super::{BoxHook, Unchanged};

    // H16: a stage that a hook does not have costs no allocation.
    #[test]
    fn a_stage_that_is_left_as_it_is_has_no_size() {
        struct Nothing;
        impl super::Hook for Nothing {}
        assert_eq!(size_of_val(&Unchanged(|| true)), 0);
        let hook = BoxHook::new(Nothing);
        let result = crate::ToolResult::new("1".into(), "tool", Ok("".into()));
        let (id, tool, arguments) = ("1".into(), "tool".into(), tool_core::Arguments::EMPTY);
        let view = super::CallView {
            id: &id,
            tool: &tool,
            arguments: &arguments,
            definition: None,
            cx: None,
            run: None,
        };
        assert_eq!(size_of_val(&*hook.dynamic().admit(&view)), 0);
        assert_eq!(size_of_val(&*hook.dynamic().finished(&view, &result)), 0);
    }
}
