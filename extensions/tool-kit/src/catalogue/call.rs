//! Calls of items, and the delegate that runs prompts.

use std::{fmt, sync::Arc};

use tool_runtime::{
    BoxFuture, CallOutcome, Content, Executor, Registry, RunContext, ToolCall, ToolError, ToolOutput,
    guard::catch_async,
    output::{Resource, ResourceBody},
};

use super::{Catalogue, CatalogueItem, CatalogueSnapshot, ItemObject, key::shown_key};
use crate::prompt::Prompt;

/// The type of input and structured results.
const JSON_TYPE: &str = "application/json";

/// Runs the prompts of a catalogue: [`Catalogue::with_delegate`].
///
/// It is called outside of locks, and may list, look up, add, remove and call items, too.
pub trait Delegate: Send + Sync + 'static {
    /// Runs a prompt, and returns its result, if it has one.
    ///
    /// # Errors
    ///
    /// Returns an error if the prompt cannot be run.
    fn call<'a>(&'a self, call: PromptCall<'a>) -> BoxFuture<'a, Result<Option<Resource>, ToolError>>;
}

/// A call of a prompt.
#[non_exhaustive]
pub struct PromptCall<'a> {
    /// The prompt.
    pub prompt: &'a Arc<dyn Prompt>,
    /// The resources of the call, in their order; by convention, the first one is the input.
    pub resources: Vec<Resource>,
    /// The run of the caller.
    pub run: &'a Arc<RunContext>,
    /// The items at the time of the call.
    pub items: &'a CatalogueSnapshot,
}

impl fmt::Debug for PromptCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptCall")
            .field("prompt", &self.prompt.definition().name())
            .field("resources", &self.resources.len())
            .finish_non_exhaustive()
    }
}

/// The parts of a catalogue that call its items.
#[derive(Clone)]
pub(super) struct Callers {
    pub(super) executor: Executor,
    pub(super) delegate: Option<Arc<dyn Delegate>>,
}

impl Default for Callers {
    fn default() -> Self {
        Self { executor: Executor::new(Registry::default()), delegate: None }
    }
}

impl Catalogue {
    /// Sets the delegate that runs prompts. Default: none; a call of a prompt is an error. Clones that were made before stay as they are.
    #[must_use]
    pub fn with_delegate(mut self, delegate: impl Delegate) -> Self {
        self.callers.delegate = Some(Arc::new(delegate));
        self
    }

    /// Sets the executor whose settings hold for [calls](Self::call) of tools: hooks, rules, approval, limits. Its own tools are not used.
    /// Default: one without settings. Clones that were made before stay as they are.
    #[must_use]
    pub fn with_executor(mut self, executor: Executor) -> Self {
        self.callers.executor = executor;
        self
    }

    /// Calls a tool or a prompt by its [key](Self#keys), and returns its result as a resource, if it has one.
    ///
    /// The first of `resources` is the input of a tool, as JSON; without one, it is `{}`. The tool reads the others by
    /// [`ToolContext::resources`](tool_runtime::ToolContext::resources). A prompt is run by the [delegate](Self::with_delegate).
    ///
    /// # Errors
    ///
    /// Returns an error of kind `NotFound` if there is no such item, of kind `BadParameter` for the key of a resource, an input that is no
    /// JSON, and a prompt without a delegate, of kind `ApprovalRequired` for a call that a person has to decide about, and the error of the
    /// tool or the delegate.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::{fmt, sync::Arc};
    /// use tool_kit::catalogue::{Catalogue, json_input};
    /// use tool_runtime::{RunContext, Toolbox, output::ResourceBody, prelude::*};
    ///
    /// /// Greets someone.
    /// #[tool]
    /// fn greet(name: String) -> String {
    ///     format!("Hello, {name}!")
    /// }
    ///
    /// # #[tokio::main] async fn main() -> anyhow::Result<()> {
    /// let catalogue = Catalogue::of_tools(Toolbox::from_registry(&Registry::builder().tool::<greet>().build()?));
    /// let run = Arc::new(RunContext::new());
    /// let greeting = catalogue.call(&run, "greet", vec![json_input(&json!({ "name": "Ada" }))]).await?;
    /// assert_eq!(greeting.unwrap().body, ResourceBody::Text("Hello, Ada!".to_owned()));
    /// # Ok(())
    /// # }
    /// ```
    pub async fn call(
        &self,
        run: &Arc<RunContext>,
        key: &str,
        resources: Vec<Resource>,
    ) -> Result<Option<Resource>, ToolError> {
        let items = self.snapshot(run).await.map_err(|error| ToolError::failed(error.to_string()))?;
        let item = items.lookup(key)?;
        match item.object() {
            ItemObject::Tool(tool) => {
                let name = tool.definition().name();
                call_tool(&self.callers.executor, &items, name, run, resources).await
            }
            ItemObject::Prompt(prompt) => self.call_prompt(item, prompt, &items, run, resources).await,
            ItemObject::Resource(_) => Err(ToolError::bad_parameter(format!(
                "`{}` is a resource; read it, and call tools and prompts",
                shown_key(key)
            ))),
        }
    }

    pub(crate) async fn call_prompt(
        &self,
        item: &CatalogueItem,
        prompt: &Arc<dyn Prompt>,
        items: &CatalogueSnapshot,
        run: &Arc<RunContext>,
        resources: Vec<Resource>,
    ) -> Result<Option<Resource>, ToolError> {
        let Some(delegate) = &self.callers.delegate else {
            return Err(ToolError::bad_parameter(format!(
                "the prompt `{}` is run by a delegate, and the catalogue has none; set one by `with_delegate`",
                shown_key(item.key())
            )));
        };
        let call = PromptCall { prompt, resources, run, items };
        match catch_async(|| delegate.call(call)).await {
            Ok(result) => result,
            Err(panic) => Err(ToolError::failed(format!("the delegate panicked: {}", panic.message()))),
        }
    }
}

/// Returns a JSON value as the input of a call.
#[must_use]
pub fn json_input(value: &tool_runtime::serde_json::Value) -> Resource {
    Resource {
        uri: "json:input".to_owned(),
        mime_type: JSON_TYPE.to_owned(),
        body: ResourceBody::Text(value.to_string()),
    }
}

async fn call_tool(
    executor: &Executor,
    items: &CatalogueSnapshot,
    name: &str,
    run: &Arc<RunContext>,
    resources: Vec<Resource>,
) -> Result<Option<Resource>, ToolError> {
    let mut resources = resources.into_iter();
    let input = resources.next().map_or(Ok("{}".to_owned()), input_text)?;
    let call = ToolCall::new(name, input).with_resources(resources.collect());
    let executor = executor.with_tools(items.tools().clone()).map_err(|error| {
        ToolError::failed(format!("the executor of the catalogue fits no tools: {error}"))
    })?;
    match executor.batch(vec![call]).with_run(Arc::clone(run)).run().await.pop() {
        Some(CallOutcome::Finished(result)) => result.outcome.map(|output| resource_of_output(name, &output)),
        Some(CallOutcome::Pending(pending)) => match pending.result.map(|result| result.outcome) {
            Some(Err(error)) => Err(error),
            Some(Ok(output)) => Ok(resource_of_output(name, &output)),
            None => Err(ToolError::failed(format!("the tool `{name}` goes on after its call"))),
        },
        _ => Err(ToolError::failed(format!("the tool `{name}` is called by the program that declared it"))),
    }
}

/// Returns the text of the input of a tool.
fn input_text(resource: Resource) -> Result<String, ToolError> {
    let essence = resource.mime_type.split(';').next().unwrap_or_default().trim();
    let is_json = essence.eq_ignore_ascii_case(JSON_TYPE) || essence.to_ascii_lowercase().ends_with("+json");
    match resource.body {
        ResourceBody::Text(text) if is_json => Ok(text),
        _ => Err(ToolError::bad_parameter(format!(
            "the first resource of a call is its input, as text of the type `{JSON_TYPE}`; its type is `{}`",
            shown_key(&resource.mime_type)
        ))),
    }
}

/// Returns the result of a tool as a resource: a document as it is, a structured result as JSON, or else the text; `None` if it is empty.
fn resource_of_output(name: &str, output: &ToolOutput) -> Option<Resource> {
    if let [Content::Resource { resource }] = &*output.content() {
        return Some(resource.clone());
    }
    if let Some(value) = output.structured().filter(|value| !value.is_string()) {
        return Some(Resource {
            uri: format!("json:{name}"),
            mime_type: JSON_TYPE.to_owned(),
            body: ResourceBody::Text(value.to_string()),
        });
    }
    let text = output.text();
    (!text.is_empty()).then(|| Resource {
        uri: format!("text:{name}"),
        mime_type: "text/plain".to_owned(),
        body: ResourceBody::Text(text.into_owned()),
    })
}
