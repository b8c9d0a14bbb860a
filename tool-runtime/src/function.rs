//! Tools without the attribute: a name, a description and a closure.

use std::{borrow::Cow, fmt, future::Future, sync::Arc};

use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use tool_core::{
    Arguments, InputSchema, Metadata, ModelRequest, OutputSchema, Prepared, Running, SharedRequestHook, Tool,
    ToolContext, ToolDefinition, ToolError, ToolName, ToolOutput, request_fn,
};

use crate::Declaration;

/// Makes a tool from a closure.
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
#[must_use = "a builder does nothing until `handler` is called"]
#[derive(Debug, Clone)]
pub struct ToolBuilder {
    name: Cow<'static, str>,
    title: Option<Cow<'static, str>>,
    description: Cow<'static, str>,
    metadata: Metadata,
    input_schema: Option<InputSchema>,
    output_schema: Option<Option<OutputSchema>>,
    examples: Vec<serde_json::Value>,
}

impl ToolBuilder {
    /// Starts a tool of that name.
    pub fn new(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: Cow::Borrowed(""),
            metadata: Metadata::default(),
            input_schema: None,
            output_schema: None,
            examples: Vec::new(),
        }
    }

    /// Sets what the tool does, in words for a model.
    pub fn description(mut self, description: impl Into<Cow<'static, str>>) -> Self {
        self.description = description.into();
        self
    }

    /// Sets the name that people see.
    pub fn title(mut self, title: impl Into<Cow<'static, str>>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets hints, limits and labels.
    pub fn metadata(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self
    }

    /// Sets the schema of the arguments, in place of that of their type.
    pub fn input_schema(mut self, schema: InputSchema) -> Self {
        self.input_schema = Some(schema);
        self
    }

    /// Sets the schema of the result, in place of that of its type; `None` for no schema.
    pub fn output_schema(mut self, schema: impl Into<Option<OutputSchema>>) -> Self {
        self.output_schema = Some(schema.into());
        self
    }

    /// Sets examples of arguments.
    pub fn examples(mut self, examples: Vec<serde_json::Value>) -> Self {
        self.examples = examples;
        self
    }

    /// Gives the tool its body: `handler` gets the decoded arguments and the context.
    ///
    /// # Errors
    ///
    /// If the name is not valid, or the arguments are no JSON object.
    pub fn handler<A, F, T, E, Fut>(self, handler: F) -> Result<ClosureTool, InvalidTool>
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize + JsonSchema,
        E: Into<ToolError>,
    {
        let output_schema = Some(OutputSchema::of::<T>());
        let definition = self.definition(InputSchema::of::<A>, output_schema)?;
        let handler = Arc::new(handler);
        let prepare = move |definition: &ToolDefinition, arguments: &mut Arguments<'_>| {
            let args: A = definition.decode(arguments)?;
            let handler = Arc::clone(&handler);
            Ok(Box::new(move |cx: ToolContext| -> Running<'static> {
                Box::pin(async move {
                    let value = handler(args, cx).await.map_err(Into::into)?;
                    ToolOutput::json(&value)
                })
            }) as Body)
        };
        Ok(ClosureTool { definition, prepare: Arc::new(prepare), on_request: None })
    }

    /// As [`handler`](Self::handler), for what is known when the program is written.
    ///
    /// # Panics
    ///
    /// If the name is not valid, or the arguments are no JSON object.
    pub fn must<A, F, T, E, Fut>(self, handler: F) -> ClosureTool
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize + JsonSchema,
        E: Into<ToolError>,
    {
        #[expect(clippy::panic, reason = "this is what the method is for")]
        self.handler(handler).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Declares a tool that nothing here can run: it is listed, and a call of it is an error.
    ///
    /// # Errors
    ///
    /// If the name is not valid, or there is no input schema.
    pub fn declare(self) -> Result<Declaration, InvalidTool> {
        let no_schema = || Err(tool_core::SchemaError::new("a declared tool needs an `input_schema`"));
        Ok(Declaration::new(self.definition(no_schema, None)?))
    }

    fn definition(
        self,
        input_schema: impl FnOnce() -> Result<InputSchema, tool_core::SchemaError>,
        output_schema: Option<OutputSchema>,
    ) -> Result<ToolDefinition, InvalidTool> {
        let invalid = |message: String| InvalidTool { name: self.name.to_string(), message };
        let name = ToolName::new(self.name.clone()).map_err(|error| invalid(error.to_string()))?;
        let input_schema = self.input_schema.map_or_else(input_schema, Ok);
        let input_schema = input_schema.map_err(|error| invalid(error.to_string()))?;
        let mut definition = ToolDefinition::new(name, self.description, input_schema)
            .with_metadata(self.metadata)
            .with_examples(self.examples);
        if let Some(title) = self.title {
            definition = definition.with_title(title);
        }
        if let Some(schema) = self.output_schema.unwrap_or(output_schema) {
            definition = definition.with_output_schema(schema);
        }
        Ok(definition)
    }
}

/// The first half of a call.
type Prepare = dyn Fn(&ToolDefinition, &mut Arguments<'_>) -> Result<Body, ToolError> + Send + Sync;

/// The second half of a call.
type Body = Box<dyn FnOnce(ToolContext) -> Running<'static> + Send>;

/// A tool made from a closure, by a [`ToolBuilder`].
#[derive(Clone)]
pub struct ClosureTool {
    definition: ToolDefinition,
    prepare: Arc<Prepare>,
    on_request: Option<SharedRequestHook>,
}

impl ClosureTool {
    /// Sets what the tool adds to every request that it is part of: instructions, messages, or tools of the provider's
    /// own.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{ToolError, prelude::*};
    ///
    /// #[tool_args]
    /// struct Nothing {}
    ///
    /// let clock = ToolBuilder::new("now").description("Tells the time.").must(|_: Nothing, _| async {
    ///     Ok::<_, ToolError>("noon")
    /// });
    /// let clock = clock.with_on_request(|request| async move {
    ///     request.instruct("Ask for the time before you plan a day.");
    ///     Ok(())
    /// });
    /// ```
    #[must_use]
    pub fn with_on_request<F, Fut>(mut self, add: F) -> Self
    where
        F: Fn(ModelRequest) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), ToolError>> + Send,
    {
        self.on_request = Some(SharedRequestHook::new(request_fn(add)));
        self
    }
}

impl Tool for ClosureTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        let mut arguments = arguments;
        let body = (self.prepare)(&self.definition, &mut arguments)?;
        Ok(Prepared::new(arguments, move |_, cx| body(cx.clone())))
    }

    fn holds_arguments(&self) -> bool {
        true
    }

    fn on_request(&self, request: ModelRequest) -> Running<'_, Result<(), ToolError>> {
        match &self.on_request {
            Some(hook) => hook.asked(request),
            None => Box::pin(std::future::ready(Ok(()))),
        }
    }
}

impl fmt::Debug for ClosureTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClosureTool").field("definition", &self.definition).finish_non_exhaustive()
    }
}

/// Why a tool cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvalidTool {
    pub(crate) name: String,
    pub(crate) message: String,
}

impl fmt::Display for InvalidTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tool {:?}: {}", self.name, self.message)
    }
}

impl std::error::Error for InvalidTool {}
