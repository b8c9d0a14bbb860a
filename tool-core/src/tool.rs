//! The trait behind every tool, whatever it is made of.
//!
//! A call has two halves. [`Tool::prepare`] decodes and checks the arguments and runs nothing; what
//! it gives, a [`Prepared`], owns them and can be asked about them before it is run. Hooks and
//! permissions stand between the halves: they see a call that fits, and a call that does not fit
//! costs nobody an approval.

mod prepared;

use std::{future::Future, pin::Pin, sync::Arc};

use serde_json::{Map, Value};

pub use self::prepared::Prepared;
pub(crate) use self::prepared::corrected;
use crate::{
    Arguments, Dependency, Method, ModelRequest, SourceLocation, ToolContext, ToolDefinition, ToolError,
    ToolOutput,
};

/// A future in a box.
pub type BoxFuture<'a, T = Result<ToolOutput, ToolError>> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What may be done to arguments before they are checked: rename, drop or fill properties.
pub type PrepareArguments = fn(&mut Map<String, Value>) -> Result<(), ToolError>;

/// A function that adds to a request that is about to be sent to a model.
pub type OnRequest = fn(ModelRequest) -> BoxFuture<'static, Result<(), ToolError>>;

/// Something that a model can call.
///
/// `#[tool]` implements it; so can anybody else, and nothing more is needed to be listed and
/// called.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_core::{Arguments, InputSchema, Prepared, Tool, ToolDefinition, ToolError, ToolName, ToolOutput};
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
pub trait Tool: Send + Sync {
    /// What a model and a user interface see of the tool.
    fn definition(&self) -> &ToolDefinition;

    /// Decodes and checks `arguments`; runs nothing.
    ///
    /// # Errors
    ///
    /// If the arguments do not fit.
    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError>;

    /// Whether [`prepare`](Self::prepare) itself refuses all arguments that the input schema refuses,
    /// as [`ToolDefinition::decode`] does. Where it does not, a registry checks them before.
    fn holds_arguments(&self) -> bool {
        false
    }

    /// The types whose values the tool takes from the context.
    fn needs(&self) -> &[Dependency] {
        &[]
    }

    /// What is done to the arguments, as a JSON object, before they are checked; `None` for most
    /// tools.
    fn prepare_arguments(&self) -> Option<PrepareArguments> {
        None
    }

    /// Where the tool is written, where that is known.
    fn site(&self) -> Option<SourceLocation> {
        None
    }

    /// Whether its calls are left to the caller: it is listed, and nothing here runs it.
    fn is_external(&self) -> bool {
        false
    }

    /// The questions that each call of this tool answers by itself, as [`Prepared`] gives the answers. Default: none.
    ///
    /// A tool whose [`Metadata`](crate::Metadata) claims `permission` or [`Confirmation::Sometimes`], and that is
    /// not listed here as answering the claim, is refused when a registry is built. A tool that stands around
    /// another one returns the other's answers.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_core::{
    ///     Checks, Arguments, InputSchema, Metadata, Permission, Prepared, Tool, ToolDefinition, ToolError, ToolName,
    ///     ToolOutput,
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
    /// let cx = tool_core::ToolContext::for_test();
    /// let answer = tool.prepare(Arguments::from("{}"))?.permission(&cx)?;
    /// assert_eq!(answer, Some(Permission::deny("only for admins")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// [`Confirmation::Sometimes`]: crate::Confirmation::Sometimes
    fn checks(&self) -> Checks {
        Checks::NONE
    }

    /// Returns `true` if the tool has `retry(..)`, and none of its own errors can be known to be temporary.
    #[doc(hidden)]
    fn retries_blindly(&self) -> bool {
        false
    }

    /// Adds to a request that is about to be sent to a model with the tool among others: instructions, messages, or
    /// tools of the provider's own. The tool is declared in it already.
    ///
    /// It is called for every request, and has no access to what a call has.
    ///
    /// # Errors
    ///
    /// If the request must not be sent without what could not be added.
    fn on_request(&self, request: ModelRequest) -> BoxFuture<'_, Result<(), ToolError>> {
        let _ = request;
        Box::pin(std::future::ready(Ok(())))
    }

    /// Both halves of a call in a row, for a caller that has nothing to do between them. Nothing but
    /// the check happens until the future is polled.
    ///
    /// # Errors
    ///
    /// If the arguments do not fit.
    fn start<'a>(
        &'a self,
        arguments: Arguments<'a>,
        cx: &'a ToolContext,
    ) -> Result<BoxFuture<'a>, ToolError> {
        Ok(self.prepare(arguments)?.run(cx))
    }

    /// As [`start`](Self::start), where an error is a result like any other.
    fn call<'a>(&'a self, arguments: Arguments<'a>, cx: &'a ToolContext) -> BoxFuture<'a> {
        self.start(arguments, cx).unwrap_or_else(|error| Box::pin(std::future::ready(Err(error))))
    }
}

impl<T: Tool + ?Sized> Tool for Arc<T> {
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

    fn on_request(&self, request: ModelRequest) -> BoxFuture<'_, Result<(), ToolError>> {
        (**self).on_request(request)
    }
}

/// The questions that each call of a tool answers by itself: see [`Tool::checks`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Checks {
    /// [`Prepared::wants_confirmation`].
    pub confirmation: bool,
    /// [`Prepared::permission`].
    pub permission: bool,
}

impl Checks {
    /// No question.
    pub const NONE: Self = Self { confirmation: false, permission: false };

    /// Every question.
    pub const ALL: Self = Self { confirmation: true, permission: true };
}

/// A struct that is a tool: its fields are what the model chooses.
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
    message = "`{Self}` is a tool that cannot run",
    note = "write `impl Run for {Self} {{ type Output = ..; async fn run(self, cx: &ToolContext) -> Self::Output }}`"
)]
pub trait Run: Sized {
    /// What a call gives: anything that a function with `#[tool]` may return.
    type Output;

    /// Answers one call.
    fn run(self, cx: &ToolContext) -> impl Future<Output = Self::Output> + Send;
}

/// A group of tools around one value, made by `#[toolset]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no set of tools",
    label = "needs `#[toolset]`",
    note = "put `#[toolset]` on the `impl` block of `{Self}` that holds the methods with `#[tool]`"
)]
pub trait StaticToolSet: Send + Sync + 'static {
    /// The tools of the group, which share the value.
    fn tools(self: Arc<Self>) -> Vec<Method>;
}
