//! Calls of prompts, and the delegate that runs them.
//!
//! A call of a prompt is a call of a tool, whose body is the delegate: of a [`PromptTool`](super::PromptTool) that a model calls, or of the one tool of
//! an executor without settings, if a program calls it. So a prompt has the deadline, the cancellation and the panic barrier of a call, and the run of a delegate is
//! below a call in both cases. Rules about tools are not about prompts that a program calls: they hold for the calls that the delegate makes.

use std::{fmt, sync::Arc};

use tool_runtime::{
    BoxFuture, Executor, Registry, RunContext, Tool, ToolCall, ToolContext, ToolDefinition, ToolError,
    ToolName, ToolOutput,
    definition::Prepared,
    executor::CallGuards,
    guard::catch_async,
    output::Resource,
    schema::{Arguments, InputSchema},
    serde_json::json,
};

use super::{
    Catalogue, CatalogueEvent, CatalogueItem, CatalogueSnapshot, NAMESPACE_SEPARATOR, call::result_of_call,
    key::shown_key,
};
use crate::prompt::Prompt;

/// Runs the prompts of a catalogue: [`Catalogue::with_delegate`]. With the feature `agent`, `agent::AgentDelegate` is a ready one.
///
/// It is called outside of locks, and may list, look up, add, remove and call items, too. Its future is dropped if the run of the caller is cancelled, at once
/// or, if it has asked for the [token](ToolContext::cancellation), after the grace period.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tool_kit::{catalogue::{Catalogue, Delegate, PromptCall}, prompt::PromptFile};
/// use tool_runtime::{BoxFuture, RunContext, output::ResourceBody, prelude::*};
///
/// /// Returns the text of a prompt, and asks no model.
/// struct Rendering;
///
/// impl Delegate for Rendering {
///     fn call<'a>(&'a self, call: PromptCall<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
///         Box::pin(async move { Ok(call.prompt.render(call.run, &json!({})).await?.text().into()) })
///     }
/// }
///
/// # #[tokio::main] async fn main() -> anyhow::Result<()> {
/// let catalogue = Catalogue::new().with_delegate(Rendering);
/// catalogue.add_prompt(PromptFile::parse("---\nname: greet\n---\nGreet everyone.")?)?;
/// let greeting = catalogue.call(&Arc::new(RunContext::new()), "greet", Vec::new()).await?;
/// assert_eq!(greeting.unwrap().body, ResourceBody::Text("Greet everyone.".to_owned()));
/// # Ok(())
/// # }
/// ```
pub trait Delegate: Send + Sync + 'static {
    /// Runs a prompt, and returns its result.
    ///
    /// # Errors
    ///
    /// Returns an error if the prompt cannot be run.
    fn call<'a>(&'a self, call: PromptCall<'a>) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;

    /// Called by a [running](Catalogue::run) catalogue for each change of its items, one after another; not for the states of connectors, which a
    /// [listener](Catalogue::subscribe) receives. Equal changes that wait for their turn count as one. Default: ignores it.
    fn on_event<'a>(&'a self, event: &'a CatalogueEvent) -> BoxFuture<'a, ()> {
        let _ = event;
        Box::pin(std::future::ready(()))
    }
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
    /// The catalogue, whose [executor](Catalogue::executor) has the settings for calls of tools.
    pub catalogue: &'a Catalogue,
    /// The context of the call, below which the delegate [starts its run](ToolContext::child_run).
    pub context: &'a ToolContext,
    /// The guards of the call of a model. A delegate adds them to the executor of its calls, so that a prompt is no way around the rules of the run that
    /// calls it. `None` for a call of the program.
    pub guards: Option<&'a CallGuards>,
}

impl fmt::Debug for PromptCall<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptCall")
            .field("prompt", &self.prompt.definition().name())
            .field("resources", &self.resources.len())
            .finish_non_exhaustive()
    }
}

impl Catalogue {
    /// Calls a prompt for the program.
    pub(crate) async fn call_prompt(
        &self,
        item: &CatalogueItem,
        prompt: &Arc<dyn Prompt>,
        items: &CatalogueSnapshot,
        run: &Arc<RunContext>,
        resources: Vec<Resource>,
    ) -> Result<ToolOutput, ToolError> {
        let schema = InputSchema::new(json!({ "type": "object" }))
            .map_err(|error| ToolError::failed(error.to_string()))?;
        let name = prompt_tool_name(item);
        let call = ToolCall::new(name.as_str(), "{}").with_resources(resources);
        let tool = ProgramCall {
            definition: ToolDefinition::new(name, "Runs a prompt.", schema),
            catalogue: self.clone(),
            prompt: Arc::clone(prompt),
            items: items.clone(),
        };
        let tools = Registry::builder().add(tool).build().map_err(|error| {
            ToolError::failed(format!("the prompt `{}` cannot be called: {error}", shown_key(item.key())))
        })?;
        let outcomes = Executor::new(tools).batch(vec![call]).with_run(Arc::clone(run)).run().await;
        result_of_call(item.key(), outcomes.into_iter().next())
    }

    /// Runs a prompt by the delegate.
    pub(super) async fn delegate_call(&self, call: PromptCall<'_>) -> Result<ToolOutput, ToolError> {
        let Some(delegate) = &self.callers.delegate else {
            return Err(ToolError::bad_parameter(format!(
                "the prompt `{}` is run by a delegate, and the catalogue has none; set one by `with_delegate`",
                shown_key(call.prompt.definition().name())
            )));
        };
        match catch_async(|| delegate.call(call)).await {
            Ok(result) => result,
            Err(panic) => Err(ToolError::failed(format!("the delegate panicked: {}", panic.message()))),
        }
    }
}

/// Returns the name by which a model calls the prompt of an item.
pub(super) fn prompt_tool_name(item: &CatalogueItem) -> ToolName {
    let name = ToolName::from_foreign(item.name());
    match item.namespace() {
        super::BUILTIN => name,
        namespace => name.prefixed(&format!("{namespace}{NAMESPACE_SEPARATOR}")),
    }
}

/// The call of a prompt by the program: the one tool of an executor.
struct ProgramCall {
    definition: ToolDefinition,
    catalogue: Catalogue,
    prompt: Arc<dyn Prompt>,
    items: CatalogueSnapshot,
}

impl Tool for ProgramCall {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, move |_, context: &ToolContext| {
            Box::pin(async move {
                let run = context.run().cloned().unwrap_or_default();
                let call = PromptCall {
                    prompt: &self.prompt,
                    resources: context.resources().to_vec(),
                    run: &run,
                    items: &self.items,
                    catalogue: &self.catalogue,
                    context,
                    guards: None,
                };
                self.catalogue.delegate_call(call).await
            })
        }))
    }
}
