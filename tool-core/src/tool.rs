//! The trait behind every tool, whatever it is made of.
//!
//! A call has two halves. [`Tool::prepare`] decodes and checks the arguments and runs nothing; what
//! it gives, a [`Prepared`], owns them and can be asked about them before it is run. Hooks and
//! permissions stand between the halves: they see a call that fits, and a call that does not fit
//! costs nobody an approval.

use std::{future::Future, pin::Pin, sync::Arc};

use futures_core::Stream;
use serde_json::{Map, Value};

use crate::{
    __private::{Boxed, Call, Invocation, Merged, Outputs, Part, collect},
    Arguments, Method, ModelRequest, Needed, Permission, Site, ToolContext, ToolDefinition, ToolError,
    ToolOutput,
    arguments::Corrections,
    guarded::Guarded,
};

/// A future in a box.
pub type Running<'a, T = Result<ToolOutput, ToolError>> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What may be done to arguments before they are checked: rename, drop or fill properties.
pub type PrepareArguments = fn(&mut Map<String, Value>) -> Result<(), ToolError>;

/// A function that adds to a request that is about to be sent to a model.
pub type OnRequest = fn(ModelRequest) -> Running<'static, Result<(), ToolError>>;

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
    fn needs(&self) -> &[Needed] {
        &[]
    }

    /// What is done to the arguments, as a JSON object, before they are checked; `None` for most
    /// tools.
    fn prepare_arguments(&self) -> Option<PrepareArguments> {
        None
    }

    /// Where the tool is written, where that is known.
    fn site(&self) -> Option<Site> {
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
    ///     Answers, Arguments, InputSchema, Metadata, Permission, Prepared, Tool, ToolDefinition, ToolError, ToolName,
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
    ///     fn answers(&self) -> Answers {
    ///         Answers { permission: true, ..Answers::NONE }
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
    fn answers(&self) -> Answers {
        Answers::NONE
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
    fn on_request(&self, request: ModelRequest) -> Running<'_, Result<(), ToolError>> {
        let _ = request;
        Box::pin(std::future::ready(Ok(())))
    }

    /// Both halves of a call in a row, for a caller that has nothing to do between them. Nothing but
    /// the check happens until the future is polled.
    ///
    /// # Errors
    ///
    /// If the arguments do not fit.
    fn start<'a>(&'a self, arguments: Arguments<'a>, cx: &'a ToolContext) -> Result<Running<'a>, ToolError> {
        Ok(self.prepare(arguments)?.run(cx))
    }

    /// As [`start`](Self::start), where an error is a result like any other.
    fn call<'a>(&'a self, arguments: Arguments<'a>, cx: &'a ToolContext) -> Running<'a> {
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

    fn start<'a>(&'a self, arguments: Arguments<'a>, cx: &'a ToolContext) -> Result<Running<'a>, ToolError> {
        (**self).start(arguments, cx)
    }

    fn holds_arguments(&self) -> bool {
        (**self).holds_arguments()
    }

    fn needs(&self) -> &[Needed] {
        (**self).needs()
    }

    fn prepare_arguments(&self) -> Option<PrepareArguments> {
        (**self).prepare_arguments()
    }

    fn site(&self) -> Option<Site> {
        (**self).site()
    }

    fn is_external(&self) -> bool {
        (**self).is_external()
    }

    fn answers(&self) -> Answers {
        (**self).answers()
    }

    fn retries_blindly(&self) -> bool {
        (**self).retries_blindly()
    }

    fn on_request(&self, request: ModelRequest) -> Running<'_, Result<(), ToolError>> {
        (**self).on_request(request)
    }
}

/// The questions that each call of a tool answers by itself: see [`Tool::answers`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Answers {
    /// [`Prepared::wants_confirmation`].
    pub confirmation: bool,
    /// [`Prepared::permission`].
    pub permission: bool,
}

impl Answers {
    /// No question.
    pub const NONE: Self = Self { confirmation: false, permission: false };

    /// Every question.
    pub const ALL: Self = Self { confirmation: true, permission: true };
}

/// A call whose arguments fit, and which has not run yet.
#[must_use = "a prepared call does nothing until it is run"]
pub struct Prepared<'a> {
    arguments: Arguments<'a>,
    // Holds decoded arguments, of types of the user's, which are dropped where the call does not run.
    invocation: Guarded<PreparedInvocation<'a>>,
    /// Answers beside those of a function's own attribute, each of which may be the one that counts.
    confirmations: Vec<Guarded<Box<Question<'a, bool>>>>,
    permissions: Vec<Guarded<Box<Question<'a, Permission>>>>,
}

/// A question about a call that a tool, or a wrapper of it, answers.
type Question<'a, T> = dyn Fn(&ToolContext) -> Result<T, ToolError> + Send + 'a;

/// A call of a tool that is written by hand.
type Custom<'a> = dyn FnOnce(Arguments<'a>, &'a ToolContext) -> Running<'a> + Send + 'a;

enum PreparedInvocation<'a> {
    /// A function, and the questions that it answers.
    Function(Boxed, Answers),
    Custom(Box<Custom<'a>>),
}

impl<'a> Prepared<'a> {
    /// A call with `arguments`, which fit, that `run` answers.
    pub fn new(
        arguments: Arguments<'a>,
        run: impl FnOnce(Arguments<'a>, &'a ToolContext) -> Running<'a> + Send + 'a,
    ) -> Self {
        Self::of(arguments, PreparedInvocation::Custom(Box::new(run)))
    }

    /// A call with `arguments`, which fit, that a stream answers: each item is an update, and the next one is asked for
    /// when there is room for it. The result has the blocks of all items; an item that is [final](ToolOutput::as_final)
    /// ends the stream and stands in their place, and an error keeps them in its details. A function with `#[tool]` that
    /// returns a stream of outputs does the same.
    ///
    /// An attempt that has opened its stream is never repeated. The tool's [`Metadata`](crate::Metadata) should set
    /// [`streaming`](crate::Metadata::streaming), for those who read definitions.
    pub fn stream<S, T>(
        arguments: Arguments<'a>,
        open: impl FnOnce(Arguments<'a>, &'a ToolContext) -> S + Send + 'a,
    ) -> Self
    where
        S: Stream<Item = Result<T, ToolError>> + Send + 'a,
        T: Into<ToolOutput> + 'a,
    {
        Self::new(arguments, |arguments, cx| {
            let part = |item: S::Item| item.map(|item| Part::<Outputs>::from(item.into()));
            Box::pin(async move { collect(open(arguments, cx), cx, part).await })
        })
    }

    /// As [`stream`](Self::stream), where the values of the items are merged into one: strings, numbers and lists
    /// are added, the later of two members of an object counts, and blocks of content are an error.
    pub fn merged_stream<S, T>(
        arguments: Arguments<'a>,
        open: impl FnOnce(Arguments<'a>, &'a ToolContext) -> S + Send + 'a,
    ) -> Self
    where
        S: Stream<Item = Result<T, ToolError>> + Send + 'a,
        T: Into<ToolOutput> + 'a,
    {
        Self::new(arguments, |arguments, cx| {
            let part = |item: S::Item| item.and_then(|item| Part::<Merged>::try_from(item.into()));
            Box::pin(async move { collect(open(arguments, cx), cx, part).await })
        })
    }

    /// The call of a function whose slots were filled from `arguments`, and which answers `answers`.
    pub(crate) fn function(arguments: Arguments<'a>, invocation: Boxed, answers: Answers) -> Self {
        Self::of(arguments, PreparedInvocation::Function(invocation, answers))
    }

    fn of(arguments: Arguments<'a>, invocation: PreparedInvocation<'a>) -> Self {
        let invocation = Guarded::new(invocation);
        Self { arguments, invocation, confirmations: Vec::new(), permissions: Vec::new() }
    }

    /// The same call, which requires a confirmation, whatever the tool itself answers. The tool's
    /// [`Metadata`](crate::Metadata) has to claim it, by [`Confirmation`](crate::Confirmation).
    pub fn asking(self) -> Self {
        self.with_confirmation(|_| Ok(true))
    }

    /// The same call, with an answer to [`wants_confirmation`](Self::wants_confirmation). Of several answers, a
    /// `true` counts.
    pub fn with_confirmation(
        mut self,
        wants: impl Fn(&ToolContext) -> Result<bool, ToolError> + Send + 'a,
    ) -> Self {
        self.confirmations.push(Guarded::new(Box::new(wants)));
        self
    }

    /// The same call, with an answer to [`permission`](Self::permission). Of several answers, the first that is not
    /// [`Permission::Allow`] counts.
    pub fn with_permission(
        mut self,
        permission: impl Fn(&ToolContext) -> Result<Permission, ToolError> + Send + 'a,
    ) -> Self {
        self.permissions.push(Guarded::new(Box::new(permission)));
        self
    }

    /// The arguments, as they fit.
    #[must_use]
    pub fn arguments(&self) -> &Arguments<'a> {
        &self.arguments
    }

    /// Runs the call. Nothing happens until the future is polled, and dropping it cancels. The output
    /// says what was corrected in the arguments.
    pub fn run(self, cx: &'a ToolContext) -> Running<'a> {
        let Self { arguments, mut invocation, .. } = self;
        match invocation.take() {
            Some(PreparedInvocation::Function(invocation, _)) => {
                let (text, corrections) = arguments.into_parts();
                corrected(invocation.run(Call::new(text, cx)), corrections)
            }
            Some(PreparedInvocation::Custom(run)) => {
                let corrections = arguments.kept_corrections();
                corrected(run(arguments, cx), corrections)
            }
            // It is taken here alone.
            None => Box::pin(std::future::ready(Err(ToolError::cancelled()))),
        }
    }

    /// Returns `true` if this call requires a confirmation, by the tool's answer from its typed arguments or by
    /// that of a [wrapper](Self::with_confirmation); `None` if neither answers. A call of a tool that claims
    /// [`Confirmation::Sometimes`](crate::Confirmation::Sometimes) must not run without an answer.
    ///
    /// # Errors
    ///
    /// If the question cannot be answered, for instance because a provided value is missing; the call must not run.
    pub fn wants_confirmation(&self, cx: &ToolContext) -> Result<Option<bool>, ToolError> {
        let own = self.own(|answers| answers.confirmation, |call, asked| call.confirm(asked), cx)?;
        self.confirmations.iter().filter_map(Guarded::get).try_fold(own, |answer, wants| match answer {
            Some(true) => Ok(answer),
            _ => wants(cx).map(Some),
        })
    }

    /// Returns the answer of the tool's own permission check to this call; `None` if it has none. A call of a tool
    /// that claims [`permission`](crate::Metadata::permission) must not run without an answer.
    ///
    /// # Errors
    ///
    /// If the question cannot be answered; the call must not run.
    pub fn permission(&self, cx: &ToolContext) -> Result<Option<Permission>, ToolError> {
        let own = self.own(|answers| answers.permission, |call, asked| call.permission(asked), cx)?;
        self.permissions.iter().filter_map(Guarded::get).try_fold(own, |answer, permission| match answer {
            None | Some(Permission::Allow) => permission(cx).map(Some),
            _ => Ok(answer),
        })
    }

    /// The answer of a function's own attribute, if it has one.
    fn own<T>(
        &self,
        answers: impl FnOnce(Answers) -> bool,
        question: impl FnOnce(&dyn Invocation, &Call<'_>) -> Result<T, ToolError>,
        cx: &ToolContext,
    ) -> Result<Option<T>, ToolError> {
        match self.invocation.get() {
            Some(PreparedInvocation::Function(invocation, given)) if answers(*given) => {
                question(&**invocation, &Call::new(self.arguments.as_str().into(), cx)).map(Some)
            }
            _ => Ok(None),
        }
    }
}

/// As `running`, with what was corrected in the arguments beside its output.
#[inline]
pub(crate) fn corrected<'a>(running: Running<'a>, corrections: Corrections) -> Running<'a> {
    match corrections {
        None => running,
        Some(corrections) => {
            Box::pin(async move { running.await.map(|output| output.with_corrections(*corrections)) })
        }
    }
}

impl std::fmt::Debug for Prepared<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").finish_non_exhaustive()
    }
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
