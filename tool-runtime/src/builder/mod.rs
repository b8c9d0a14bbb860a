//! Tools without the attribute: from closures, and declarations without an implementation.
//!
//! [`ToolBuilder`] sets the properties that the attribute's keys set, and takes the body of the tool: an async
//! closure ([`handler`](ToolBuilder::handler)), or any other form by the macro
//! [`tool_body!`](crate::tool_body). The result is a [`ClosureTool`]. [`ExternalTool`] has a definition only.
//! [`InvalidTool`] is the error of both.

mod body;
mod closure;
mod external;
mod forms;
mod settings;

use std::{borrow::Cow, future::Future, sync::Arc};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use tool_core::{
    Confirmation, Dependency, InputSchema, InvalidName, Metadata, OutputSchema, Permission, PrepareArguments,
    SchemaError, ToolContext, ToolName,
};

#[doc(hidden)]
#[doc(hidden)]
pub use self::body::{body, one, output_of_one, output_of_two, two};
pub use self::{
    body::ToolBody,
    closure::ClosureTool,
    external::ExternalTool,
    forms::{HandlerError, HandlerOutput},
    settings::InvalidTool,
};
use self::{
    closure::{Guards, Typed},
    settings::Settings,
};

/// Creates a tool from a closure.
///
/// # Examples
///
/// ```
/// use tool_runtime::prelude::*;
///
/// #[tool_args]
/// struct Add {
///     /// First number.
///     a: i64,
///     /// Second number.
///     b: i64,
/// }
///
/// let add = ToolBuilder::new("add")
///     .description("Adds two numbers.")
///     .handler(|args: Add, _cx| async move { Ok::<_, ToolError>(args.a + args.b) })?;
/// let tools = Registry::builder().add(add).build()?;
/// assert_eq!(tools.definitions()[0].input_schema().as_value()["required"], json!(["a", "b"]));
/// # Ok::<(), anyhow::Error>(())
/// ```
///
/// A body of another form, such as one that cannot fail, blocks its thread or returns a stream, is written with
/// [`tool_body!`](crate::tool_body).
#[must_use = "a builder does nothing until `handler` or `body` is called"]
#[derive(Debug, Clone)]
pub struct ToolBuilder<Q = NoGuards> {
    settings: Settings,
    questions: Q,
}

/// The state of a [`ToolBuilder`] without checks of the arguments.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoGuards;

/// The checks of a [`ToolBuilder`], for a body with the same argument type.
pub trait GuardsFor<A>: Sized {
    #[doc(hidden)]
    fn questions(self) -> Guards<A>;
}

impl<A> GuardsFor<A> for NoGuards {
    fn questions(self) -> Guards<A> {
        Guards::default()
    }
}

impl<A> GuardsFor<A> for Guards<A> {
    fn questions(self) -> Self {
        self
    }
}

impl ToolBuilder {
    /// Creates a builder for a tool with that name.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self::of(ToolName::new(name))
    }

    /// Creates a builder with a valid name, such as a [foreign](ToolName::from_foreign) one, whose raw name is
    /// kept.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{ToolName, prelude::*};
    ///
    /// let tool = ToolBuilder::named(ToolName::from_foreign("orders.list")).body(tool_body!(|_: NoArgs| "none"))?;
    /// assert_eq!(tool.definition().raw_name(), "orders.list");
    ///
    /// #[tool_args]
    /// struct NoArgs {}
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn named(name: ToolName) -> Self {
        Self::of(Ok(name))
    }

    fn of(name: Result<ToolName, InvalidName>) -> Self {
        Self { settings: Settings::of(name), questions: NoGuards }
    }
}

impl<Q> ToolBuilder<Q> {
    /// Sets the description for the model. Default: empty.
    pub fn description(mut self, description: impl Into<Cow<'static, str>>) -> Self {
        self.settings.description = description.into();
        self
    }

    /// Sets the display name for people. Default: none.
    pub fn title(mut self, title: impl Into<Cow<'static, str>>) -> Self {
        self.settings.title = Some(title.into());
        self
    }

    /// Sets hints, limits and labels. Properties that follow from the body and from other methods of the
    /// builder are added: confirmation, permission, blocking, streaming and merging.
    pub fn metadata(mut self, metadata: Metadata) -> Self {
        self.settings.metadata = metadata;
        self
    }

    /// Sets the schema of the arguments. Default: the schema of their type.
    pub fn input_schema(mut self, schema: InputSchema) -> Self {
        self.settings.input_schema = Some(schema);
        self
    }

    /// Sets the schema of the result; `None` for no schema. Default: the schema of its type.
    pub fn output_schema(mut self, schema: impl Into<Option<OutputSchema>>) -> Self {
        self.settings.output_schema = Some(schema.into());
        self
    }

    /// Sets example arguments. Default: none.
    pub fn examples(mut self, examples: Vec<serde_json::Value>) -> Self {
        self.settings.examples = examples;
        self
    }

    /// Declares that the body takes a value of type `T` from its context, so that `build()` of a registry
    /// without one fails.
    pub fn needs<T: ?Sized + Send + Sync + 'static>(mut self) -> Self {
        self.settings.needs.push(Dependency::of::<T>());
        self
    }

    /// Sets the function that may rename, remove or fill properties of the arguments before validation.
    /// Default: none.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::prelude::*;
    ///
    /// #[tool_args]
    /// struct Search {
    ///     query: String,
    ///     limit: u8,
    /// }
    ///
    /// let search = ToolBuilder::new("search")
    ///     .description("Searches.")
    ///     .prepare(|arguments| {
    ///         arguments.entry("limit").or_insert(json!(10));
    ///         Ok(())
    ///     })
    ///     .handler(|args: Search, _cx| async move { Ok::<_, ToolError>(args.limit) })?;
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let tools = Registry::builder().add(search).build()?;
    /// assert_eq!(tools.call("search", r#"{"query":"tea"}"#).await?.text(), "10");
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn prepare(mut self, prepare: PrepareArguments) -> Self {
        self.settings.prepare = Some(prepare);
        self
    }

    /// Requires confirmation of every call, as `#[tool(confirm)]` does.
    pub fn confirm(mut self) -> Self {
        self.settings.always_confirm = true;
        self
    }

    /// Requires confirmation of the calls for which `wants` returns `true`, as `#[tool(confirm = path)]` does.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{definition::Confirmation, prelude::*};
    ///
    /// #[tool_args]
    /// struct Transfer {
    ///     amount: u32,
    /// }
    ///
    /// let transfer = ToolBuilder::new("transfer")
    ///     .description("Sends money.")
    ///     .confirm_when(|args: &Transfer, _cx| args.amount > 100)
    ///     .handler(|args: Transfer, _cx| async move { Ok::<_, ToolError>(args.amount) })?;
    /// # use tool_runtime::Tool;
    /// assert_eq!(transfer.definition().metadata().confirmation, Confirmation::Sometimes);
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn confirm_when<A>(
        self,
        wants: impl Fn(&A, &ToolContext) -> bool + Send + Sync + 'static,
    ) -> ToolBuilder<Guards<A>>
    where
        Q: GuardsFor<A>,
    {
        self.with_guards(|questions| questions.confirm = Some(Arc::new(wants)))
    }

    /// Sets the permission check, as `#[tool(permission = path)]` does. Default: none.
    pub fn permission<A>(
        self,
        check: impl Fn(&A, &ToolContext) -> Permission + Send + Sync + 'static,
    ) -> ToolBuilder<Guards<A>>
    where
        Q: GuardsFor<A>,
    {
        self.with_guards(|questions| questions.permission = Some(Arc::new(check)))
    }

    fn with_guards<A>(self, add: impl FnOnce(&mut Guards<A>)) -> ToolBuilder<Guards<A>>
    where
        Q: GuardsFor<A>,
    {
        let mut questions = self.questions.questions();
        add(&mut questions);
        ToolBuilder { settings: self.settings, questions }
    }

    /// Creates the tool with an async body: `handler` receives the decoded arguments and the context, and
    /// returns a `Result`.
    ///
    /// The success type implements `Serialize` and `JsonSchema`, which determines the output schema, or is a
    /// [`ToolOutput`], [`Content`] or similar. The error type converts into [`ToolError`], or is
    /// `anyhow::Error`. For other return types of a `#[tool]` function, such as a stream, use
    /// [`body`](Self::body).
    ///
    /// # Errors
    ///
    /// Returns an error if the name is invalid, or the arguments are not a JSON object.
    ///
    /// [`ToolOutput`]: crate::ToolOutput
    /// [`Content`]: crate::Content
    /// [`ToolError`]: crate::ToolError
    pub fn handler<A, F, T, E, Fut, Output, Error>(self, handler: F) -> Result<ClosureTool, InvalidTool>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        T: HandlerOutput<Output>,
        E: HandlerError<Error>,
        Q: GuardsFor<A>,
    {
        self.body(ToolBody::of_handler(handler))
    }

    /// Creates the tool as [`handler`](Self::handler) does, for names and types that are fixed in the program.
    ///
    /// # Panics
    ///
    /// Panics if the name is invalid, or the arguments are not a JSON object.
    pub fn expect_handler<A, F, T, E, Fut, Output, Error>(self, handler: F) -> ClosureTool
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        T: HandlerOutput<Output>,
        E: HandlerError<Error>,
        Q: GuardsFor<A>,
    {
        #[expect(clippy::panic, reason = "this is what the method is for")]
        self.handler(handler).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Creates the tool with a body of any form; see [`tool_body!`](crate::tool_body).
    ///
    /// # Errors
    ///
    /// Returns an error if the name is invalid, or the arguments are not a JSON object.
    pub fn body<A>(self, body: ToolBody<A>) -> Result<ClosureTool, InvalidTool>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        Q: GuardsFor<A>,
    {
        let Self { mut settings, questions } = self;
        let questions = questions.questions();
        let metadata = &mut settings.metadata;
        metadata.confirmation = match (settings.always_confirm, &questions.confirm) {
            (true, _) => Confirmation::Always,
            (false, Some(_)) => Confirmation::Sometimes,
            (false, None) => metadata.confirmation,
        };
        metadata.permission |= questions.permission.is_some();
        metadata.blocking |= body.blocking;
        metadata.merge |= body.merges;
        metadata.streaming |= body.returned.is_stream;
        let (needs, prepare) = (std::mem::take(&mut settings.needs), settings.prepare);
        let definition = settings.definition(InputSchema::of_decoded::<A>, body.returned.schema.clone())?;
        Ok(ClosureTool {
            definition,
            needs,
            prepare,
            typed: Arc::new(Typed { body, questions }),
            on_request: None,
        })
    }
}

impl ToolBuilder {
    /// Creates a declaration without an implementation: the tool is listed, and a call of it is an error.
    ///
    /// # Errors
    ///
    /// Returns an error if the name is invalid, or there is no input schema.
    pub fn external(self) -> Result<ExternalTool, InvalidTool> {
        let no_schema = || Err(SchemaError::new("a declared tool needs an `input_schema`"));
        let mut settings = self.settings;
        if settings.always_confirm {
            settings.metadata.confirmation = Confirmation::Always;
        }
        Ok(ExternalTool::new(settings.definition(no_schema, None)?))
    }
}
