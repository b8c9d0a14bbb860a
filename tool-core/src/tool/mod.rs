//! The trait that every tool implements.
//!
//! A call has two halves. [`Tool::prepare`] decodes and validates the arguments without running the tool, and returns
//! a [`Prepared`] call, which owns the arguments. Hooks and permission checks run between the halves: they receive
//! valid calls only, and no approval is requested for an invalid call.

mod prepared;
mod redirect;
mod remote;

use std::{future::Future, pin::Pin, sync::Arc};

use serde_json::{Map, Value};

pub(crate) use self::prepared::add_corrections;
pub use self::{
    prepared::Prepared,
    redirect::{Redirect, Redirection},
    remote::{RemotePreparation, RemoteSteps, StepError, ToolSteps},
};
use crate::{
    Arguments, Dependency, Method, ModelRequest, SourceLocation, ToolContext, ToolDefinition, ToolError,
    ToolOutput,
};

/// A boxed future that is `Send`.
pub type BoxFuture<'a, T = Result<ToolOutput, ToolError>> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A function that renames, removes or adds properties before the arguments are validated.
pub type PrepareArguments = fn(&mut Map<String, Value>) -> Result<(), ToolError>;

/// A function that adds to a request before it is sent to a model.
pub type OnRequest = fn(ModelRequest) -> BoxFuture<'static, Result<(), ToolError>>;

/// A tool that a model can call.
///
/// `#[tool]` implements this trait for functions. A type that implements it by hand is listed and called in the same
/// way.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_runtime::{
///     Tool, ToolDefinition, ToolError, ToolName, ToolOutput, definition::Prepared,
///     schema::{Arguments, InputSchema},
/// };
///
/// struct Echo(ToolDefinition);
///
/// impl Tool for Echo {
///     fn definition(&self) -> &ToolDefinition {
///         &self.0
///     }
///
///     fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
///         Ok(Prepared::new(arguments, |arguments, _cx| {
///             Box::pin(async move { Ok(ToolOutput::from(arguments.as_str())) })
///         }))
///     }
/// }
///
/// let schema = InputSchema::new(json!({ "type": "object" }))?;
/// let echo = Echo(ToolDefinition::new(ToolName::new("echo")?, "Says it again.", schema));
/// # let _: Box<dyn Tool> = Box::new(echo);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    label = "does not implement `Tool`",
    note = "add a function or struct with `#[tool]` by its type: `.tool::<name>()`",
    note = "add a value whose `impl` block has `#[toolset]` by `.toolset(value)`",
    note = "make a tool of a closure with `ToolBuilder`; its result is a `Result`, so add `?`: `.add(builder.body(..)?)`"
)]
pub trait Tool: Send + Sync {
    /// Returns the definition: name, description, schemas and metadata.
    fn definition(&self) -> &ToolDefinition;

    /// Decodes and validates `arguments` without running the tool.
    ///
    /// # Errors
    ///
    /// Returns an error if the arguments are invalid.
    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError>;

    /// Returns `true` if [`prepare`](Self::prepare) itself rejects all arguments that the input schema rejects, as
    /// [`ToolDefinition::decode`] does. Default: `false`; a registry then validates the arguments first.
    fn holds_arguments(&self) -> bool {
        false
    }

    /// Returns the types whose values the tool takes from the context. Default: none.
    fn needs(&self) -> &[Dependency] {
        &[]
    }

    /// Returns the function that changes the arguments, as a JSON object, before they are validated. Default: `None`.
    fn prepare_arguments(&self) -> Option<PrepareArguments> {
        None
    }

    /// Returns the function by which a call of this tool becomes a call of another tool, before any rule, hook, approval
    /// or event sees it. Default: `None`.
    ///
    /// Read once, when the tool is registered. The function receives the validated arguments. A call is redirected once:
    /// never to a tool that redirects, to an external tool, or to a tool of the framework. Of this tool, the schema and the
    /// name apply; its body, its timeout and its retries do not, and it must not claim a confirmation or a permission. See
    /// [`Redirect`].
    fn redirect(&self) -> Option<Redirect> {
        None
    }

    /// Returns the source location of the tool. Default: `None`.
    fn site(&self) -> Option<SourceLocation> {
        None
    }

    /// Returns `true` if the tool is external: it is listed, and its calls are left to the caller. Default: `false`.
    fn is_external(&self) -> bool {
        false
    }

    /// Returns the checks that each [`Prepared`] call of this tool answers itself. Default: none.
    ///
    /// Building a registry fails if the tool's [`Metadata`](crate::Metadata) claims `permission` or
    /// [`Confirmation::Sometimes`] and the claimed check is not returned here. A wrapper returns the checks of the
    /// wrapped tool.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::{
    ///     Tool, ToolDefinition, ToolError, ToolName, ToolOutput,
    ///     definition::{Checks, Metadata, Permission, Prepared}, schema::{Arguments, InputSchema},
    /// };
    ///
    /// struct Remove(ToolDefinition);
    ///
    /// impl Tool for Remove {
    ///     fn definition(&self) -> &ToolDefinition {
    ///         &self.0
    ///     }
    ///
    ///     fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
    ///         let call = Prepared::new(arguments, |_, _| Box::pin(async { Ok(ToolOutput::from("removed")) }));
    ///         Ok(call.with_permission(|cx| {
    ///             let user = cx.run().and_then(|run| run.user());
    ///             Ok(if user == Some("admin") { Permission::Allow } else { Permission::deny("only for admins") })
    ///         }))
    ///     }
    ///
    ///     fn checks(&self) -> Checks {
    ///         Checks { permission: true, ..Checks::NONE }
    ///     }
    /// }
    ///
    /// let schema = InputSchema::new(json!({ "type": "object" }))?;
    /// let metadata = Metadata { permission: true, ..Metadata::default() };
    /// let definition = ToolDefinition::new(ToolName::new("remove")?, "Removes it.", schema).with_metadata(metadata);
    /// let tool = Remove(definition);
    /// let cx = tool_runtime::ToolContext::for_test();
    /// let answer = tool.prepare(Arguments::from("{}"))?.permission(&cx)?;
    /// assert_eq!(answer, Some(Permission::deny("only for admins")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`Confirmation::Sometimes`]: crate::Confirmation::Sometimes
    fn checks(&self) -> Checks {
        Checks::NONE
    }

    /// Returns `true` if the tool has `retry(..)` and none of its own error types can be recognised as temporary.
    #[doc(hidden)]
    fn retries_blindly(&self) -> bool {
        false
    }

    /// Returns `true` if [`prepare`](Self::prepare) only decodes the arguments, and the tool does not rewrite them.
    #[doc(hidden)]
    fn only_decodes(&self) -> bool {
        false
    }

    /// Adds instructions, messages or native tools of the provider to a request before it is sent to a model. The
    /// request already declares the tool. Default: adds nothing.
    ///
    /// This method runs for every request and has no access to the context of a call.
    ///
    /// # Errors
    ///
    /// Returns an error if the request must not be sent without the additions.
    fn on_request(&self, request: ModelRequest) -> BoxFuture<'_, Result<(), ToolError>> {
        let _ = request;
        Box::pin(async move { Ok(()) })
    }

    /// Returns `false` if [`on_request`](Self::on_request) adds nothing to any request, so that no other process is asked in vain.
    #[doc(hidden)]
    fn adds_to_requests(&self) -> bool {
        true
    }

    /// Returns the steps that another process takes for this tool, which stands for one of its tools. Default: `None`.
    #[doc(hidden)]
    fn remote_steps(&self) -> Option<&dyn RemoteSteps> {
        None
    }

    /// Prepares and runs a call, for a caller that has no steps in between. The arguments are validated at once; the
    /// tool runs when the future is polled.
    ///
    /// # Errors
    ///
    /// Returns an error if the arguments are invalid.
    fn start<'a>(
        &'a self,
        arguments: Arguments<'a>,
        cx: &'a ToolContext,
    ) -> Result<BoxFuture<'a>, ToolError> {
        Ok(self.prepare(arguments)?.run(cx))
    }

    /// Prepares and runs a call like [`start`](Self::start), and returns invalid arguments as the error of the future.
    fn call<'a>(&'a self, arguments: Arguments<'a>, cx: &'a ToolContext) -> BoxFuture<'a> {
        self.start(arguments, cx).unwrap_or_else(|error| Box::pin(std::future::ready(Err(error))))
    }
}

macro_rules! forwarded {
    ($($pointer:ident)*) => { $(
        impl<T: Tool + ?Sized> Tool for $pointer<T> {
            fn definition(&self) -> &ToolDefinition {
                (**self).definition()
            }

            fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
                (**self).prepare(arguments)
            }

            fn start<'a>(
                &'a self,
                arguments: Arguments<'a>,
                cx: &'a ToolContext,
            ) -> Result<BoxFuture<'a>, ToolError> {
                (**self).start(arguments, cx)
            }

            fn holds_arguments(&self) -> bool {
                (**self).holds_arguments()
            }

            fn needs(&self) -> &[Dependency] {
                (**self).needs()
            }

            fn prepare_arguments(&self) -> Option<PrepareArguments> {
                (**self).prepare_arguments()
            }

            fn redirect(&self) -> Option<Redirect> {
                (**self).redirect()
            }

            fn site(&self) -> Option<SourceLocation> {
                (**self).site()
            }

            fn is_external(&self) -> bool {
                (**self).is_external()
            }

            fn checks(&self) -> Checks {
                (**self).checks()
            }

            fn retries_blindly(&self) -> bool {
                (**self).retries_blindly()
            }

            fn only_decodes(&self) -> bool {
                (**self).only_decodes()
            }

            fn on_request(&self, request: ModelRequest) -> BoxFuture<'_, Result<(), ToolError>> {
                (**self).on_request(request)
            }

            fn adds_to_requests(&self) -> bool {
                (**self).adds_to_requests()
            }

            fn remote_steps(&self) -> Option<&dyn RemoteSteps> {
                (**self).remote_steps()
            }
        }
    )* };
}

forwarded!(Arc Box);

/// The checks that each call of a tool answers itself. Returned by [`Tool::checks`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checks {
    /// Calls answer [`Prepared::wants_confirmation`].
    pub confirmation: bool,
    /// Calls answer [`Prepared::permission`].
    pub permission: bool,
}

impl Checks {
    /// No checks.
    pub const NONE: Self = Self { confirmation: false, permission: false };

    /// All checks.
    pub const ALL: Self = Self { confirmation: true, permission: true };
}

/// A struct that is a tool: its fields are the arguments.
///
/// # Examples
///
/// ```text
/// /// Adds two numbers.
/// #[tool]
/// struct Add {
///     a: i64,
///     b: i64,
/// }
///
/// impl Run for Add {
///     type Output = i64;
///
///     async fn run(self, _cx: &ToolContext) -> i64 {
///         self.a + self.b
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is a tool without an implementation of `Run`",
    label = "does not implement `Run`",
    note = "write `impl Run for {Self} {{ type Output = ..; async fn run(self, cx: &ToolContext) -> Self::Output }}`"
)]
pub trait Run: Sized {
    /// The result of a call: any type that a function with `#[tool]` may return.
    type Output;

    /// Runs the tool for one call.
    fn run(self, cx: &ToolContext) -> impl Future<Output = Self::Output> + Send;
}

/// A value whose methods are tools, implemented by `#[toolset]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a toolset",
    label = "has no `impl` block with `#[toolset]`",
    note = "put `#[toolset]` on the `impl` block of `{Self}` that contains the methods with `#[tool]`"
)]
pub trait StaticToolSet: Send + Sync + 'static {
    /// Returns the tools, which share the value.
    fn tools(self: Arc<Self>) -> Vec<Method>;
}

/// A set of which the program keeps a handle.
impl<T: StaticToolSet> StaticToolSet for Arc<T> {
    fn tools(self: Arc<Self>) -> Vec<Method> {
        T::tools(Arc::clone(&*self))
    }
}
