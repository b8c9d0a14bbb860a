//! Functions as prompts.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use tool_runtime::{
    __private::{ItemRegistration, Registration},
    BoxFuture, ErrorKind, Registry, RunContext, ToolError, ToolOutput,
    serde_json::{self, Value},
};

use super::{
    call::{FunctionItem, ItemFunction, discover_items, make_item},
    error::DiscoveryError,
};
use crate::prompt::{
    Prompt, PromptDefinition, PromptError, PromptMessage, PromptRole, PromptThinking, RenderedPrompt,
};

/// A function with [`#[prompt]`](macro@crate::prompt) as a [`Prompt`].
///
/// Its input is validated and decoded as the arguments of a tool: almost right values are coerced, unless it is `strict`, and an input that
/// does not fit is an error of kind [`BadParameter`](ErrorKind::BadParameter). Changes of the state by the function are those of its run. Cheap
/// to clone.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tool_kit::{function::FunctionPrompt, prompt, prompt::Prompt};
/// use tool_runtime::prelude::*;
///
/// struct Library;
///
/// /// Explains a topic with a book.
/// #[prompt]
/// fn explain(library: &Library, topic: String, #[arg(default = 3)] sentences: u8) -> String {
///     format!("Explain {topic} in {sentences} sentences.")
/// }
///
/// # #[tokio::main] async fn main() -> anyhow::Result<()> {
/// let registry = Registry::builder().provide(Library).build()?;
/// let explain = FunctionPrompt::of::<explain>(&registry)?;
/// let rendered = explain.render(&Arc::new(RunContext::new()), &json!({ "topic": "tides" })).await?;
/// assert_eq!(rendered.text(), "Explain tides in 3 sentences.");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct FunctionPrompt {
    definition: PromptDefinition,
    function: ItemFunction,
    system_prompt: Option<&'static str>,
}

/// A type that represents a function with `#[prompt]`: [`FunctionPrompt::of`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the type of a prompt",
    label = "has no `#[prompt]`",
    note = "`#[prompt]` makes a type of the name of its function, unless it has `handle = none`"
)]
pub trait PromptHandle {
    #[doc(hidden)]
    const REGISTRATION: &'static ItemRegistration;
}

/// The keys of `#[prompt(..)]` that a tool does not have, as a constant.
#[doc(hidden)]
#[derive(Debug)]
pub struct PromptSpec {
    pub title: Option<&'static str>,
    pub model: Option<&'static str>,
    pub provider: Option<&'static str>,
    pub system_prompt: Option<&'static str>,
    pub output_schema: Option<fn() -> Result<Value, String>>,
    pub tools: Option<&'static [&'static str]>,
    pub thinking: Option<PromptThinking>,
    pub thinking_budget: Option<u32>,
    /// Never written, so that `..EMPTY` has an effect in every expansion.
    pub rest: (),
}

impl PromptSpec {
    pub const EMPTY: Self = Self {
        title: None,
        model: None,
        provider: None,
        system_prompt: None,
        output_schema: None,
        tools: None,
        thinking: None,
        thinking_budget: None,
        rest: (),
    };
}

impl FunctionPrompt {
    /// Creates the prompt of a function, by its handle. `values` provides the values that the function takes by reference.
    ///
    /// # Errors
    ///
    /// Returns an error with all mistakes of the prompt: a schema that is not valid, and values that are not provided.
    pub fn of<P: PromptHandle>(values: &Registry) -> Result<Self, DiscoveryError> {
        make_item(P::REGISTRATION, Some(values))
    }

    /// Creates all prompts that are linked into this program, sorted by name. A crate without any reference to it is not linked; see
    /// [`link!`](tool_runtime::link).
    ///
    /// # Errors
    ///
    /// Returns an error with all mistakes of all prompts, as [`of`](Self::of); also if two of them have one name.
    pub fn discover(values: &Registry) -> Result<Vec<Self>, DiscoveryError> {
        let (prompts, diagnostics) = discover_items(Some(values));
        DiscoveryError::items_or_error(prompts, diagnostics)
    }
}

impl FunctionItem for FunctionPrompt {
    const NOUN: &'static str = "prompt";
    type Spec = PromptSpec;

    fn from_function(function: ItemFunction, spec: &'static PromptSpec) -> Result<Self, String> {
        let definition = function_definition(&function, spec).map_err(|error| error.to_string())?;
        Ok(Self { definition, function, system_prompt: spec.system_prompt })
    }

    fn unique_key(function: &Registration, _: &PromptSpec) -> String {
        function.name().to_owned()
    }

    fn describe_duplicates(name: &str) -> String {
        format!("prompts are named `{name}`")
    }
}

/// Returns the definition of a prompt: the texts and arguments of its function, and its own keys.
fn function_definition(function: &ItemFunction, spec: &PromptSpec) -> Result<PromptDefinition, PromptError> {
    let mut definition = PromptDefinition::new(function.name())?;
    if let Some(described) = function.definition() {
        definition = definition.with_description(described.description());
        let input = described.input_schema().as_value();
        let has_properties =
            |schema: &Value| schema["properties"].as_object().is_none_or(|it| !it.is_empty());
        if has_properties(input) {
            definition = definition.with_input(input.clone())?;
        }
    }
    if let Some(title) = spec.title {
        definition = definition.with_title(title)?;
    }
    if let Some(model) = spec.model {
        definition = definition.with_model(model);
    }
    if let Some(provider) = spec.provider {
        definition = definition.with_provider(provider);
    }
    if let Some(schema) = spec.output_schema {
        definition = definition.with_output(schema().map_err(PromptError::new)?)?;
    }
    if let Some(tools) = spec.tools {
        definition = definition.with_tools(tools.iter().copied());
    }
    if let Some(thinking) = spec.thinking {
        definition = definition.with_thinking(thinking);
    }
    Ok(match spec.thinking_budget {
        Some(tokens) => definition.with_thinking_budget(tokens),
        None => definition,
    })
}

impl Prompt for FunctionPrompt {
    fn definition(&self) -> &PromptDefinition {
        &self.definition
    }

    fn render<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        input: &'a Value,
    ) -> BoxFuture<'a, Result<RenderedPrompt, ToolError>> {
        Box::pin(async move {
            let output = self.function.call(run, input).await?;
            let mut rendered = rendered_prompt(&output)?;
            if rendered.instruction.is_none() {
                rendered.instruction = self.system_prompt.map(str::to_owned);
            }
            Ok(rendered)
        })
    }
}

impl fmt::Debug for FunctionPrompt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FunctionPrompt").field("definition", &self.definition).finish_non_exhaustive()
    }
}

/// The parts of a rendered prompt beside the contents of its messages.
#[derive(Serialize, Deserialize)]
struct RenderedParts {
    instruction: Option<String>,
    roles: Vec<PromptRole>,
}

/// A type that a prompt can return.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the result of a prompt",
    label = "is neither a text nor messages",
    note = "return a text, a `PromptMessage`, a `Vec<PromptMessage>`, a `RenderedPrompt`, or a `Result` of one of those",
    note = "another type can implement `From<{Self}> for RenderedPrompt`"
)]
pub trait PromptResult: Into<RenderedPrompt> {}

#[diagnostic::do_not_recommend]
impl<T: Into<RenderedPrompt>> PromptResult for T {}

/// Returns a result of a prompt as the output of its function.
#[doc(hidden)]
pub fn prompt_output<T: PromptResult>(result: T) -> Result<ToolOutput, ToolError> {
    let RenderedPrompt { instruction, messages } = result.into();
    let roles = messages.iter().map(|message| message.role).collect();
    let parts = serde_json::to_value(RenderedParts { instruction, roles }).map_err(unreadable_parts)?;
    Ok(ToolOutput::new(messages.into_iter().map(|message| message.content)).with_details(parts))
}

/// Returns the prompt of an output that [`prompt_output`] made.
fn rendered_prompt(output: &ToolOutput) -> Result<RenderedPrompt, ToolError> {
    let parts = output.details().cloned().unwrap_or_default();
    let RenderedParts { instruction, roles } = serde_json::from_value(parts).map_err(unreadable_parts)?;
    let messages = roles.into_iter().zip(output.content().into_owned());
    let rendered = RenderedPrompt::new(messages.map(|(role, content)| PromptMessage::new(role, content)));
    Ok(RenderedPrompt { instruction, ..rendered })
}

fn unreadable_parts(error: serde_json::Error) -> ToolError {
    ToolError::new(ErrorKind::Internal, format!("the messages of a prompt were lost: {error}"))
}

/// Converts the result of a prompt: any type that a prompt may return, or a `Result` of it.
#[doc(hidden)]
#[macro_export]
macro_rules! prompt_outcome {
    ($value:expr) => {{
        #[allow(unused_imports, reason = "each type needs some of them")]
        use $crate::__private::probe::*;
        match $value {
            value => match $crate::__private::Tag::of(&value).split(value) {
                ::core::result::Result::Ok(value) => $crate::__private::prompt_output(value),
                ::core::result::Result::Err(error) => {
                    ::core::result::Result::Err((&&&&$crate::__private::Tag::of(&error)).error(error))
                }
            },
        }
    }};
}
