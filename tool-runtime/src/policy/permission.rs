use std::{fmt, future::Future};

use serde_json::Value;
use tool_core::{
    Arguments, BoxFuture, CallId, Metadata, Permission, RunContext, ToolContext, ToolDefinition, ToolError,
};

use super::shared_handle;
use crate::{call_handle::CallHandle, guard::GuardedArc};

/// A call to be permitted. Its arguments are valid, and the same that would run.
#[non_exhaustive]
pub struct PermissionRequest<'a> {
    /// The definition of the tool.
    pub definition: &'a ToolDefinition,
    /// The context in which the call would run.
    pub cx: &'a ToolContext,
    /// The arguments: coerced, and including changes by hooks.
    pub arguments: &'a Arguments<'a>,
}

impl<'a> PermissionRequest<'a> {
    pub(crate) fn new(
        definition: &'a ToolDefinition,
        cx: &'a ToolContext,
        arguments: &'a Arguments<'a>,
    ) -> Self {
        Self { definition, cx, arguments }
    }

    /// Returns the name of the tool, as the model sees it.
    #[must_use]
    pub fn tool(&self) -> &'a str {
        self.definition.name().as_str()
    }

    /// Returns the id of the call.
    #[must_use]
    pub fn id(&self) -> &'a CallId {
        self.cx.call_id()
    }

    /// Returns the metadata of the tool.
    #[must_use]
    pub fn metadata(&self) -> &'a Metadata {
        self.definition.metadata()
    }

    /// Returns the run that the call belongs to.
    #[must_use]
    pub fn run(&self) -> Option<&'a RunContext> {
        self.cx.run().map(AsRef::as_ref)
    }

    /// Returns the arguments as a value.
    ///
    /// # Errors
    ///
    /// Returns an error if they contain a number that no value can represent, or cannot be read.
    pub fn arguments_value(&self) -> Result<Value, ToolError> {
        Ok(self.arguments.to_value()?)
    }

    /// Returns an owned handle to the call, with a copy of its arguments.
    #[must_use]
    pub fn handle(&self) -> CallHandle {
        CallHandle::new(self.id(), Some(self.definition), self.arguments, self.cx.run()).with_context(self.cx)
    }
}

/// Omits the arguments, which may contain secrets.
impl fmt::Debug for PermissionRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermissionRequest")
            .field("id", self.id())
            .field("tool", &self.tool())
            .field("arguments", &format_args!("{} bytes", self.arguments.as_str().len()))
            .finish_non_exhaustive()
    }
}

/// Decides which calls of an executor may run, for all tools.
///
/// The tool's own permission is evaluated first. If it denies the call, the policy is not consulted; if it requires an
/// approval, the policy is consulted after the approval, and can still deny the call.
///
/// The method can be written as an `async fn`. A function from a request to a [`Permission`] is a policy;
/// [`ExecutorBuilder::permission_fn`](crate::executor::ExecutorBuilder::permission_fn) accepts an asynchronous closure.
/// A policy that is chosen at run time is a [`SharedPermissionPolicy`].
///
/// # Examples
///
/// ```standalone_crate
/// use tool_runtime::{
///     Executor, Registry, ToolError, definition::Permission,
///     policy::{PermissionPolicy, PermissionRequest},
/// };
///
/// /// Allows users to call all tools, and guests those that are read-only.
/// struct Guests;
///
/// impl PermissionPolicy for Guests {
///     async fn decide(&self, request: &PermissionRequest<'_>) -> Result<Permission, ToolError> {
///         let is_user = request.run().is_some_and(|run| run.user().is_some());
///         Ok(match is_user || request.metadata().is_read_only() {
///             true => Permission::Allow,
///             false => Permission::deny("guests only read"),
///         })
///     }
/// }
///
/// let executor = Executor::builder(Registry::builder().build()?).permission(Guests).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a permission policy",
    label = "does not implement `PermissionPolicy`",
    note = "give an asynchronous closure to `.permission_fn(|call| async move {{ Ok(Permission::Allow) }})`",
    note = "a synchronous closure is `|request: &PermissionRequest<'_>| Permission::Allow`"
)]
pub trait PermissionPolicy: Send + Sync {
    /// Decides on one call. May take time, for example to ask a person.
    ///
    /// # Errors
    ///
    /// If an error is returned, the call fails with it and is not run.
    fn decide(
        &self,
        request: &PermissionRequest<'_>,
    ) -> impl Future<Output = Result<Permission, ToolError>> + Send;
}

#[diagnostic::do_not_recommend]
impl<F> PermissionPolicy for F
where
    F: Fn(&PermissionRequest<'_>) -> Permission + Send + Sync,
{
    async fn decide(&self, request: &PermissionRequest<'_>) -> Result<Permission, ToolError> {
        Ok(self(request))
    }
}

/// A policy made of a closure that receives an owned handle.
pub(crate) struct PermitsBy<F>(pub(crate) F);

impl<F, R> PermissionPolicy for PermitsBy<F>
where
    F: Fn(CallHandle) -> R + Send + Sync,
    R: Future<Output = Result<Permission, ToolError>> + Send,
{
    fn decide(
        &self,
        request: &PermissionRequest<'_>,
    ) -> impl Future<Output = Result<Permission, ToolError>> + Send {
        (self.0)(request.handle())
    }
}

/// A permission policy of any type, for one that is chosen at run time. Cheap to clone.
///
/// # Examples
///
/// ```
/// use tool_runtime::{
///     Executor, Registry, definition::Permission,
///     policy::{SharedPermissionPolicy, PermissionRequest},
/// };
///
/// let is_open = false;
/// let policy = match is_open {
///     true => SharedPermissionPolicy::new(|_: &PermissionRequest<'_>| Permission::Allow),
///     false => SharedPermissionPolicy::new(|_: &PermissionRequest<'_>| Permission::deny("closed")),
/// };
/// let executor = Executor::builder(Registry::builder().build()?).permission(policy).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct SharedPermissionPolicy(GuardedArc<dyn ErasedPermissionPolicy>);

/// The object-safe form of [`PermissionPolicy`].
pub(crate) trait ErasedPermissionPolicy: Send + Sync {
    fn decide<'a>(
        &'a self,
        request: &'a PermissionRequest<'_>,
    ) -> BoxFuture<'a, Result<Permission, ToolError>>;
}

impl<P: PermissionPolicy> ErasedPermissionPolicy for P {
    fn decide<'a>(
        &'a self,
        request: &'a PermissionRequest<'_>,
    ) -> BoxFuture<'a, Result<Permission, ToolError>> {
        Box::pin(PermissionPolicy::decide(self, request))
    }
}

shared_handle!(SharedPermissionPolicy(policy: PermissionPolicy) as ErasedPermissionPolicy);

impl PermissionPolicy for SharedPermissionPolicy {
    async fn decide(&self, request: &PermissionRequest<'_>) -> Result<Permission, ToolError> {
        self.dynamic().decide(request).await
    }
}
