//! Calls of items by their keys.

use std::sync::Arc;

use tool_runtime::{
    CallOutcome, Content, Executor, Registry, RunContext, ToolCall, ToolError, ToolOutput,
    output::{Resource, ResourceBody},
    serde_json::Value,
};

use super::{
    Catalogue, CatalogueSnapshot, ConnectorFactory, ItemObject, key::shown_key, prompt_call::Delegate,
};
use crate::prompt::PromptDefinition;

/// The type of input and structured results.
pub(super) const JSON_TYPE: &str = "application/json";

/// The parts of a catalogue that call its items.
#[derive(Clone)]
pub(super) struct Callers {
    pub(super) executor: Executor,
    pub(super) delegate: Option<Arc<dyn Delegate>>,
    pub(super) factory: Option<Arc<dyn ConnectorFactory>>,
}

impl Default for Callers {
    fn default() -> Self {
        Self { executor: Executor::new(Registry::default()), delegate: None, factory: None }
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

    /// Returns the executor whose settings hold for calls of tools.
    #[must_use]
    pub fn executor(&self) -> &Executor {
        &self.callers.executor
    }

    /// Calls a tool or a prompt by its [key](Self#keys), and returns its result as a resource, if it has one.
    ///
    /// The first of `resources` is the input of a tool, as JSON; without one, it is `{}`. The tool reads the others by
    /// [`ToolContext::resources`](tool_runtime::ToolContext::resources). A prompt is run by the [delegate](Self::with_delegate).
    ///
    /// Calls pass the rules of the [executor](Self::with_executor). They do not pass those of an agent whose tool calls this: give the agent the
    /// [items as its own tools](Self::tools_of) in place of such a tool.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `NotFound` if there is no such item, of kind `BadParameter` for the key of a resource, an input that is no
    /// JSON, and a prompt without a delegate, of kind `ApprovalRequired` for a call that a person has to decide about, of kind `Conflict` after
    /// the [run](Self::run) of the catalogue has ended, and the error of the tool or the delegate.
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
        self.inner.connectors.state().check_not_ended()?;
        let items = self.snapshot(run).await.map_err(|error| ToolError::failed(error.to_string()))?;
        let item = items.lookup(key)?;
        match item.object() {
            ItemObject::Tool(tool) => {
                let name = tool.definition().name();
                let output = call_tool(&self.callers.executor, &items, name, run, resources).await?;
                Ok(resource_of_output(name, &output))
            }
            ItemObject::Prompt(prompt) => {
                let output = self.call_prompt(item, prompt, &items, run, resources).await?;
                Ok(resource_of_prompt(prompt.definition(), &output))
            }
            ItemObject::Resource(_) => Err(ToolError::bad_parameter(format!(
                "`{}` is a resource; read it, and call tools and prompts",
                shown_key(key)
            ))),
        }
    }
}

/// Returns a JSON value as the input of a call.
#[must_use]
pub fn json_input(value: &Value) -> Resource {
    json_resource("input", value)
}

async fn call_tool(
    executor: &Executor,
    items: &CatalogueSnapshot,
    name: &str,
    run: &Arc<RunContext>,
    resources: Vec<Resource>,
) -> Result<ToolOutput, ToolError> {
    let mut resources = resources.into_iter();
    let input = resources.next().map_or(Ok("{}".to_owned()), require_json_text)?;
    let call = ToolCall::new(name, input).with_resources(resources.collect());
    let executor = executor.with_tools(items.tools().clone()).map_err(|error| {
        ToolError::failed(format!("the executor of the catalogue fits no tools: {error}"))
    })?;
    let outcomes = executor.batch(vec![call]).with_run(Arc::clone(run)).run().await;
    result_of_call(name, outcomes.into_iter().next())
}

/// Returns the result of the call of an item.
pub(super) fn result_of_call(item: &str, outcome: Option<CallOutcome>) -> Result<ToolOutput, ToolError> {
    match outcome {
        Some(CallOutcome::Finished(result)) => result.outcome,
        Some(CallOutcome::Pending(pending)) => match pending.result {
            Some(result) => result.outcome,
            None => Err(ToolError::failed(format!("`{}` goes on after its call", shown_key(item)))),
        },
        _ => {
            let problem = format!("`{}` is called by the program that declared it", shown_key(item));
            Err(ToolError::failed(problem))
        }
    }
}

/// Returns the JSON of the input of a call.
pub(crate) fn require_json_text(resource: Resource) -> Result<String, ToolError> {
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
    if output.structured().is_some_and(|value| !value.is_string()) {
        // With the digits of its numbers.
        return output.to_resource(name).map(|value| Resource { uri: format!("json:{name}"), ..value });
    }
    let text = output.text();
    (!text.is_empty()).then(|| Resource {
        uri: format!("text:{name}"),
        mime_type: "text/plain".to_owned(),
        body: ResourceBody::Text(text.into_owned()),
    })
}

/// Returns the result of a prompt as a resource: a text is a value of its output, if that has a schema.
fn resource_of_prompt(prompt: &PromptDefinition, output: &ToolOutput) -> Option<Resource> {
    match output.structured() {
        Some(value @ Value::String(_)) if prompt.output().is_some() => {
            Some(json_resource(prompt.name(), &value))
        }
        _ => resource_of_output(prompt.name(), output),
    }
}

fn json_resource(name: &str, value: &Value) -> Resource {
    Resource {
        uri: format!("json:{name}"),
        mime_type: JSON_TYPE.to_owned(),
        body: ResourceBody::Text(value.to_string()),
    }
}
