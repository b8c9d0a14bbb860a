use std::{
    any::{Any, type_name},
    fmt,
    ops::ControlFlow,
    sync::Arc,
};

use tool_core::{BoxFuture, ToolError, ToolOutput};

use super::{Before, BeforeCall, CallView, Hook};
use crate::{ToolResult, guard::GuardedArc};

/// A hook of any type, for one that is chosen at run time. Cheap to clone.
///
/// # Examples
///
/// ```
/// use tool_runtime::{Executor, Registry, hook::{SharedHook, RepetitionGuard, Sanitizer}};
///
/// let is_wary = true;
/// let hook = if is_wary { SharedHook::new(Sanitizer) } else { SharedHook::new(RepetitionGuard::new()) };
/// let executor = Executor::builder(Registry::builder().build()?).hook(hook).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SharedHook {
    hook: GuardedArc<dyn ErasedHook>,
    /// The name of the hook's type, for logs.
    name: &'static str,
}

impl SharedHook {
    /// Wraps `hook` and erases its type; a wrapped hook is returned unchanged.
    pub fn new<H: Hook + 'static>(hook: H) -> Self {
        match (&hook as &dyn Any).downcast_ref::<Self>() {
            Some(shared) => shared.clone(),
            None => Self { hook: GuardedArc::new(Arc::new(hook)), name: type_name::<H>() },
        }
    }

    pub(crate) fn dynamic(&self) -> &dyn ErasedHook {
        &*self.hook
    }

    /// Returns the name of the hook's type.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }
}

impl fmt::Debug for SharedHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedHook({})", self.name)
    }
}

/// The object-safe form of [`Hook`].
pub(crate) trait ErasedHook: Send + Sync {
    fn admit<'a>(&'a self, call: &'a CallView<'a>) -> BoxFuture<'a, bool>;
    fn before<'a>(&'a self, call: &'a mut BeforeCall<'_>) -> BoxFuture<'a, Result<Before, ToolError>>;
    fn before_update<'a>(&'a self, call: &'a CallView<'a>, text: &'a str) -> BoxFuture<'a, bool>;
    fn after_update<'a>(&'a self, call: &'a CallView<'a>, text: &'a str) -> BoxFuture<'a, ()>;
    fn recover<'a>(
        &'a self,
        call: &'a CallView<'a>,
        error: &'a ToolError,
    ) -> BoxFuture<'a, Result<Option<ToolOutput>, ToolError>>;
    fn after<'a>(
        &'a self,
        call: &'a CallView<'a>,
        result: &'a mut ToolResult,
    ) -> BoxFuture<'a, Result<ControlFlow<()>, ToolError>>;
    fn finished<'a>(&'a self, call: &'a CallView<'a>, result: &'a ToolResult) -> BoxFuture<'a, ()>;
}

impl<H: Hook> ErasedHook for H {
    fn admit<'a>(&'a self, call: &'a CallView<'a>) -> BoxFuture<'a, bool> {
        Box::pin(Hook::admit(self, call))
    }

    fn before<'a>(&'a self, call: &'a mut BeforeCall<'_>) -> BoxFuture<'a, Result<Before, ToolError>> {
        Box::pin(Hook::before(self, call))
    }

    fn before_update<'a>(&'a self, call: &'a CallView<'a>, text: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(Hook::before_update(self, call, text))
    }

    fn after_update<'a>(&'a self, call: &'a CallView<'a>, text: &'a str) -> BoxFuture<'a, ()> {
        Box::pin(Hook::after_update(self, call, text))
    }

    fn recover<'a>(
        &'a self,
        call: &'a CallView<'a>,
        error: &'a ToolError,
    ) -> BoxFuture<'a, Result<Option<ToolOutput>, ToolError>> {
        Box::pin(Hook::recover(self, call, error))
    }

    fn after<'a>(
        &'a self,
        call: &'a CallView<'a>,
        result: &'a mut ToolResult,
    ) -> BoxFuture<'a, Result<ControlFlow<()>, ToolError>> {
        Box::pin(Hook::after(self, call, result))
    }

    fn finished<'a>(&'a self, call: &'a CallView<'a>, result: &'a ToolResult) -> BoxFuture<'a, ()> {
        Box::pin(Hook::finished(self, call, result))
    }
}

impl Hook for SharedHook {
    async fn admit(&self, call: &CallView<'_>) -> bool {
        self.dynamic().admit(call).await
    }

    async fn before(&self, call: &mut BeforeCall<'_>) -> Result<Before, ToolError> {
        self.dynamic().before(call).await
    }

    async fn before_update(&self, call: &CallView<'_>, text: &str) -> bool {
        self.dynamic().before_update(call, text).await
    }

    async fn after_update(&self, call: &CallView<'_>, text: &str) {
        self.dynamic().after_update(call, text).await
    }

    async fn recover(&self, call: &CallView<'_>, error: &ToolError) -> Result<Option<ToolOutput>, ToolError> {
        self.dynamic().recover(call, error).await
    }

    async fn after(
        &self,
        call: &CallView<'_>,
        result: &mut ToolResult,
    ) -> Result<ControlFlow<()>, ToolError> {
        self.dynamic().after(call, result).await
    }

    async fn finished(&self, call: &CallView<'_>, result: &ToolResult) {
        self.dynamic().finished(call, result).await
    }
}
