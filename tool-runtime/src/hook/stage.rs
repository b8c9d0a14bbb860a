//! Closures as hooks of a single stage.

use std::{future::Future, ops::ControlFlow};

use tool_core::{ToolError, ToolOutput};

use super::{Before, BeforeCall, CallHandle, CallView, Hook};
use crate::ToolResult;

/// A hook of the stage [`Hook::admit`].
pub(crate) struct Admit<F>(pub(crate) F);

impl<F, R> Hook for Admit<F>
where
    F: Fn(CallHandle) -> R + Send + Sync,
    R: Future<Output = bool> + Send,
{
    fn admit(&self, call: &CallView<'_>) -> impl Future<Output = bool> + Send {
        (self.0)(call.handle())
    }
}

/// A hook of the stage [`Hook::before`].
pub(crate) struct BeforeStage<F>(pub(crate) F);

impl<F, R> Hook for BeforeStage<F>
where
    F: Fn(CallHandle) -> R + Send + Sync,
    R: Future<Output = Result<Before, ToolError>> + Send,
{
    fn before(&self, call: &mut BeforeCall<'_>) -> impl Future<Output = Result<Before, ToolError>> + Send {
        (self.0)(call.handle())
    }
}

/// A hook of the stage [`Hook::before_update`].
pub(crate) struct BeforeUpdate<F>(pub(crate) F);

impl<F, R> Hook for BeforeUpdate<F>
where
    F: Fn(CallHandle, String) -> R + Send + Sync,
    R: Future<Output = bool> + Send,
{
    fn before_update(&self, call: &CallView<'_>, text: &str) -> impl Future<Output = bool> + Send {
        (self.0)(call.handle(), text.to_owned())
    }
}

/// A hook of the stage [`Hook::after_update`].
pub(crate) struct AfterUpdate<F>(pub(crate) F);

impl<F, R> Hook for AfterUpdate<F>
where
    F: Fn(CallHandle, String) -> R + Send + Sync,
    R: Future<Output = ()> + Send,
{
    fn after_update(&self, call: &CallView<'_>, text: &str) -> impl Future<Output = ()> + Send {
        (self.0)(call.handle(), text.to_owned())
    }
}

/// A hook of the stage [`Hook::recover`].
pub(crate) struct Recover<F>(pub(crate) F);

impl<F, R> Hook for Recover<F>
where
    F: Fn(CallHandle, ToolError) -> R + Send + Sync,
    R: Future<Output = Result<Option<ToolOutput>, ToolError>> + Send,
{
    fn recover(
        &self,
        call: &CallView<'_>,
        error: &ToolError,
    ) -> impl Future<Output = Result<Option<ToolOutput>, ToolError>> + Send {
        (self.0)(call.handle(), error.clone())
    }
}

/// A hook of the stage [`Hook::after`].
pub(crate) struct After<F>(pub(crate) F);

impl<F, R> Hook for After<F>
where
    F: Fn(CallHandle, ToolResult) -> R + Send + Sync,
    R: Future<Output = Result<ToolResult, ToolError>> + Send,
{
    async fn after(
        &self,
        call: &CallView<'_>,
        result: &mut ToolResult,
    ) -> Result<ControlFlow<()>, ToolError> {
        *result = (self.0)(call.handle(), result.clone()).await?;
        Ok(ControlFlow::Continue(()))
    }
}

/// A hook of the stage [`Hook::finished`].
pub(crate) struct Finished<F>(pub(crate) F);

impl<F, R> Hook for Finished<F>
where
    F: Fn(CallHandle, ToolResult) -> R + Send + Sync,
    R: Future<Output = ()> + Send,
{
    fn finished(&self, call: &CallView<'_>, result: &ToolResult) -> impl Future<Output = ()> + Send {
        (self.0)(call.handle(), result.clone())
    }
}

/// Defines, for a builder with a method `hook`, a method for each stage that accepts a closure.
macro_rules! stages {
    ($($(#[$doc:meta])+ $name:ident: $stage:ident($($given:ty),+) -> $answer:ty;)+) => { $(
        $(#[$doc])+
        pub fn $name<F, R>(self, $name: F) -> Self
        where
            F: Fn($($given),+) -> R + Send + Sync + 'static,
            R: Future<Output = $answer> + Send + 'static,
        {
            self.hook($crate::hook::$stage($name))
        }
    )+ };
    () => { $crate::hook::stages! {
        /// Adds a closure as a hook that decides which calls are admitted. See
        /// [`Hook::admit`](crate::hook::Hook::admit).
        admit: Admit(CallHandle) -> bool;
        /// Adds a closure as a hook that decides on a call with valid arguments before it runs. See
        /// [`Hook::before`](crate::hook::Hook::before).
        ///
        /// # Examples
        ///
        /// ```standalone_crate
        /// use tool_runtime::{Executor, Registry, hook::Before};
        ///
        /// let executor = Executor::builder(Registry::builder().build()?)
        ///     .before(|call| async move {
        ///         let run = call.run().map(|run| run.id().to_string());
        ///         println!("{} in {run:?}", call.tool());
        ///         Ok(Before::Continue)
        ///     })
        ///     .build()?;
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        before: BeforeStage(CallHandle) -> Result<Before, ToolError>;
        /// Adds a closure as a hook that decides by their text which partial results are shown. See
        /// [`Hook::before_update`](crate::hook::Hook::before_update).
        before_update: BeforeUpdate(CallHandle, String) -> bool;
        /// Adds a closure as a hook that receives the text of each partial result that was shown. See
        /// [`Hook::after_update`](crate::hook::Hook::after_update).
        after_update: AfterUpdate(CallHandle, String) -> ();
        /// Adds a closure as a hook that may replace the error of a failed call by an output. See
        /// [`Hook::recover`](crate::hook::Hook::recover).
        recover: Recover(CallHandle, ToolError) -> Result<Option<ToolOutput>, ToolError>;
        /// Adds a closure as a hook that receives the result of a call and returns the one to use. See
        /// [`Hook::after`](crate::hook::Hook::after).
        after: After(CallHandle, ToolResult) -> Result<ToolResult, ToolError>;
        /// Adds a closure as a hook that receives the final result of each call. See
        /// [`Hook::finished`](crate::hook::Hook::finished).
        finished: Finished(CallHandle, ToolResult) -> ();
    } };
}

pub(crate) use stages;
