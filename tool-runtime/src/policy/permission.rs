use std::fmt;

use serde_json::Value;
use tool_core::{
    Arguments, CallId, Metadata, Permission, RunContext, Running, ToolContext, ToolDefinition, ToolError,
};

/// What is to be permitted: a call that fits, as it would run.
#[non_exhaustive]
pub struct PermissionRequest<'a> {
    /// What the tool is.
    pub definition: &'a ToolDefinition,
    /// The context in which it would run.
    pub cx: &'a ToolContext,
    /// Its arguments: corrected, and as hooks left them.
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

    /// The name of the tool, as the model sees it.
    #[must_use]
    pub fn tool(&self) -> &'a str {
        self.definition.name().as_str()
    }

    /// The id of the call.
    #[must_use]
    pub fn id(&self) -> &'a CallId {
        self.cx.call_id()
    }

    /// What the tool says of itself.
    #[must_use]
    pub fn metadata(&self) -> &'a Metadata {
        self.definition.metadata()
    }

    /// The run that the call belongs to.
    #[must_use]
    pub fn run(&self) -> Option<&'a RunContext> {
        self.cx.run().map(AsRef::as_ref)
    }

    /// The arguments as a value.
    ///
    /// # Errors
    ///
    /// If they have what no value can hold.
    pub fn arguments_value(&self) -> Result<Value, ToolError> {
        self.arguments.to_value()
    }
}

/// Without the arguments: there may be a secret among them.
impl fmt::Debug for PermissionRequest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PermissionRequest")
            .field("id", self.id())
            .field("tool", &self.tool())
            .field("arguments", &format_args!("{} bytes", self.arguments.as_str().len()))
            .finish_non_exhaustive()
    }
}

/// Decides which calls may run, for all tools of an executor. A tool's own permission check is asked
/// before; what it does not allow is not asked about here.
///
/// A function from a request to a [`Permission`] is one.
///
/// # Examples
///
/// ```standalone_crate
/// use tool_runtime::{Executor, Permission, PermissionRequest, Registry};
///
/// let read_only = |request: &PermissionRequest<'_>| match request.metadata().is_read_only() {
///     true => Permission::Allow,
///     false => Permission::deny("this program only reads"),
/// };
/// let executor = Executor::builder(Registry::builder().build()?).permission(read_only).build()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait PermissionPolicy: Send + Sync {
    /// Decides on one call. It may take its time, to ask somebody for instance.
    fn decide<'a>(&'a self, request: &'a PermissionRequest<'a>)
    -> Running<'a, Result<Permission, ToolError>>;
}

impl<F> PermissionPolicy for F
where
    F: Fn(&PermissionRequest<'_>) -> Permission + Send + Sync,
{
    fn decide<'a>(
        &'a self,
        request: &'a PermissionRequest<'a>,
    ) -> Running<'a, Result<Permission, ToolError>> {
        Box::pin(async move { Ok(self(request)) })
    }
}
