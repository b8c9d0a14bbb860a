//! Prompts as tools for a model, and items as the tools of one agent.

use std::{
    fmt, iter,
    sync::{Arc, Weak},
};

use tool_runtime::{
    Registry, RunContext, Tool, ToolContext, ToolDefinition, ToolError, ToolName,
    definition::{Metadata, Prepared},
    executor::CallGuards,
    output::{Resource, ResourceBody},
    registry::Origin,
    schema::{Arguments, InputSchema},
    serde_json::{Value, json},
};

use super::{
    BUILTIN, Catalogue, CatalogueInner, CatalogueItem, CatalogueSnapshot, ItemKind, ItemObject, USER,
    call::{Callers, JSON_TYPE},
    key::shown_key,
    object_schema::{ObjectSchema, unwrapped_text},
    prompt_call::{PromptCall, prompt_tool_name},
};
use crate::prompt::{Prompt, missing_defaults};

/// The argument of a prompt whose input is no object.
const INPUT: &str = "input";

/// A prompt of a catalogue as a tool: the result of [`Catalogue::prompt_tool`].
///
/// Its arguments are the input of the prompt; an input that is no object is the argument `input`. A call looks the prompt up by its key, and runs it by the
/// delegate of the catalogue. The calls of that run pass the [guards](CallGuards) of this call. The tool does not keep the catalogue alive, so that it may be one of its tools.
#[derive(Clone)]
pub struct PromptTool {
    definition: ToolDefinition,
    key: Arc<str>,
    takes_object: bool,
    catalogue: Weak<CatalogueInner>,
    callers: Callers,
}

/// An item that a model calls.
enum CallableItem<'a> {
    Tool(ToolName),
    Prompt(&'a CatalogueItem),
}

impl Catalogue {
    /// Returns a prompt as a tool for a model. Its name is `name`, or `namespace__name` for the prompt of a connector, whose results are
    /// [`untrusted`](Metadata::trust): a [`Sanitizer`](tool_runtime::hook::Sanitizer) marks them.
    ///
    /// # Errors
    ///
    /// Returns an error of kind `BadParameter` if the item is no prompt, or its input has no schema for a tool.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tool_kit::{catalogue::Catalogue, prompt::PromptFile};
    /// use tool_runtime::{RunContext, prelude::*};
    ///
    /// # #[tokio::main] async fn main() -> anyhow::Result<()> {
    /// let catalogue = Catalogue::new();
    /// catalogue.add_prompt(PromptFile::parse("---\nname: explain\ninput: { type: string }\n---\nExplain {{ . }}.")?)?;
    /// let items = catalogue.snapshot(&Arc::new(RunContext::new())).await?;
    /// let tool = catalogue.prompt_tool(items.lookup("explain")?)?;
    /// assert_eq!(tool.definition().input_schema().as_value()["properties"]["input"], json!({ "type": "string" }));
    /// # Ok(())
    /// # }
    /// ```
    pub fn prompt_tool(&self, item: &CatalogueItem) -> Result<PromptTool, ToolError> {
        let key = shown_key(item.key());
        let Some(prompt) = item.prompt() else {
            return Err(ToolError::bad_parameter(format!("`{key}` is no prompt; use the key of one")));
        };
        let prompt = prompt.definition();
        let invalid = |problem: String| {
            ToolError::bad_parameter(format!("the prompt `{key}` cannot be a tool: its input: {problem}"))
        };
        let any_object = json!({ "type": "object" });
        let schema = ObjectSchema::new(prompt.input().unwrap_or(&any_object), INPUT).map_err(invalid)?;
        let takes_object = !schema.is_wrapped();
        let schema = InputSchema::new(schema.into_value()).map_err(|error| invalid(error.to_string()))?;
        let description = prompt.description().or(prompt.title()).unwrap_or_default().to_owned();
        let mut definition = ToolDefinition::new(prompt_tool_name(item), description, schema);
        if let Some(title) = prompt.title() {
            definition = definition.with_title(title.to_owned());
        }
        if ![BUILTIN, USER].contains(&item.namespace()) {
            let metadata = Metadata { trust: Some("untrusted".into()), ..Metadata::default() };
            definition = definition.with_metadata(metadata);
        }
        Ok(PromptTool {
            definition,
            key: item.key().into(),
            takes_object,
            catalogue: Arc::downgrade(&self.inner),
            callers: self.callers.clone(),
        })
    }

    /// Returns items as the tools of one agent or of one request to a model: tools, and [prompts](Self::prompt_tool), by their [keys](Self#keys), or by the
    /// names under which a model calls them, such as `library__search`. A [deferred](Registry::with_deferred) tool is shown, since it is named.
    ///
    /// For all tools, pass the [toolbox](Self::tools), or the [registry of a snapshot](CatalogueSnapshot::tools).
    ///
    /// # Errors
    ///
    /// Returns an error of kind `NotFound` that names all keys without such an item, and an error if two items have one name, or a prompt cannot be a tool.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    /// use tool_kit::catalogue::Catalogue;
    /// use tool_runtime::{RunContext, Toolbox, prelude::*};
    ///
    /// /// Adds two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// /// Multiplies two numbers.
    /// #[tool]
    /// fn multiply(a: i64, b: i64) -> i64 {
    ///     a * b
    /// }
    ///
    /// # #[tokio::main] async fn main() -> anyhow::Result<()> {
    /// let tools = Registry::builder().tool::<add>().tool::<multiply>().build()?;
    /// let catalogue = Catalogue::of_tools(Toolbox::from_registry(&tools));
    /// let items = catalogue.snapshot(&Arc::new(RunContext::new())).await?;
    /// let sums = catalogue.tools_of(&items, ["builtin.add"])?;
    /// assert_eq!((sums.len(), sums.call("add", r#"{ "a": 2, "b": 3 }"#).await?.text().as_ref()), (1, "5"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn tools_of<K: AsRef<str>>(
        &self,
        items: &CatalogueSnapshot,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<Registry, ToolError> {
        let (mut names, mut prompts, mut unknown) = (Vec::new(), Registry::builder(), Vec::new());
        for key in keys {
            match items.find_callable(key.as_ref()) {
                Some(CallableItem::Tool(name)) => names.push(name),
                Some(CallableItem::Prompt(item)) => prompts = prompts.add(self.prompt_tool(item)?),
                None => unknown.push(format!("`{}`", shown_key(key.as_ref()))),
            }
        }
        if !unknown.is_empty() {
            let unknown = unknown.join(", ");
            let problem = format!(
                "the catalogue has no tool and no prompt {unknown}; list it for those that there are"
            );
            return Err(ToolError::not_found(problem));
        }
        let (tools, _) = items.tools().resolve(names);
        let prompts = prompts.build().map_err(|error| ToolError::conflict(error.to_string()))?;
        let all = tools.without_deferral().with_tools_of(&prompts);
        all.map_err(|error| ToolError::conflict(error.to_string()))
    }
}

impl CatalogueSnapshot {
    /// Returns the tool or the prompt with a key, or with the name by which a model calls it.
    fn find_callable(&self, key: &str) -> Option<CallableItem<'_>> {
        if let Ok(item) = self.lookup(key) {
            return match item.object() {
                ItemObject::Tool(tool) => Some(CallableItem::Tool(tool.definition().name().clone())),
                ItemObject::Prompt(_) => Some(CallableItem::Prompt(item)),
                ItemObject::Resource(_) => None,
            };
        }
        if self.tools().origin(key).is_some_and(Origin::is_user_tool) {
            return ToolName::new(key.to_owned()).ok().map(CallableItem::Tool);
        }
        let is_named =
            |item: &&CatalogueItem| item.kind() == ItemKind::Prompt && prompt_tool_name(item).as_str() == key;
        self.items().iter().find(is_named).map(CallableItem::Prompt)
    }
}

impl PromptTool {
    /// Finds the prompt in the catalogue as it is now.
    async fn find_prompt(
        &self,
        run: &Arc<RunContext>,
    ) -> Result<(Catalogue, CatalogueSnapshot, Arc<dyn Prompt>), ToolError> {
        let Some(inner) = self.catalogue.upgrade() else {
            let problem = format!("the catalogue of the prompt `{}` is gone", shown_key(&self.key));
            return Err(ToolError::not_found(problem));
        };
        let catalogue = Catalogue { inner, callers: self.callers.clone() };
        let items = catalogue.snapshot(run).await.map_err(|error| ToolError::failed(error.to_string()))?;
        match items.lookup_kind(ItemKind::Prompt, &self.key)?.prompt().cloned() {
            Some(prompt) => Ok((catalogue, items, prompt)),
            None => Err(ToolError::not_found(format!("there is no prompt `{}`", shown_key(&self.key)))),
        }
    }

    /// Returns the arguments with the defaults of the properties that they lack, so that rules and approvers judge what the prompt is rendered with.
    fn with_defaults<'a>(&self, arguments: Arguments<'a>) -> Result<Arguments<'a>, ToolError> {
        if !self.takes_object {
            return Ok(arguments);
        }
        let defaults = missing_defaults(self.definition.input_schema().as_value(), &arguments.to_value()?);
        let Some(members) = arguments.as_str().trim_end().strip_suffix('}').filter(|_| !defaults.is_empty())
        else {
            return Ok(arguments);
        };
        let mut completed = members.to_owned();
        for (name, default) in defaults {
            let separator = if completed.ends_with('{') { "" } else { "," };
            completed.push_str(&format!("{separator}{}:{default}", Value::from(name)));
        }
        Ok(Arguments::from(completed + "}"))
    }

    /// Returns the resources of a call: the input, then those of the context.
    fn input_and_context_resources(
        &self,
        arguments: &str,
        context: &ToolContext,
    ) -> Result<Vec<Resource>, ToolError> {
        let input = match self.takes_object {
            true => Some(arguments),
            false => unwrapped_text(arguments, INPUT),
        };
        let input =
            input.ok_or_else(|| ToolError::bad_parameter(format!("the argument `{INPUT}` is missing")))?;
        let input = Resource {
            uri: "json:input".to_owned(),
            mime_type: JSON_TYPE.to_owned(),
            body: ResourceBody::Text(input.to_owned()),
        };
        Ok(iter::once(input).chain(context.resources().iter().cloned()).collect())
    }
}

impl Tool for PromptTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(self.with_defaults(arguments)?, move |arguments, context: &ToolContext| {
            Box::pin(async move {
                let run = context.run().cloned().unwrap_or_default();
                // A future of its own, since runs nest.
                let (catalogue, items, prompt) = Box::pin(self.find_prompt(&run)).await?;
                let call = PromptCall {
                    prompt: &prompt,
                    resources: self.input_and_context_resources(arguments.as_str(), context)?,
                    run: &run,
                    items: &items,
                    catalogue: &catalogue,
                    context,
                    guards: context.get::<CallGuards>(),
                };
                catalogue.delegate_call(call).await
            })
        }))
    }
}

impl fmt::Debug for PromptTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PromptTool")
            .field("key", &self.key)
            .field("definition", &self.definition)
            .finish_non_exhaustive()
    }
}
