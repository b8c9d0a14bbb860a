//! Prompts: described templates of messages for a model, and files of them.

mod definition;
mod error;
mod file;
mod folder;
mod front_matter;
mod schema;
mod template;

use std::{borrow::Cow, sync::Arc};

use serde::{Deserialize, Serialize};
use tool_runtime::{BoxFuture, Content, RunContext, ToolError, serde_json::Value};

pub(crate) use self::definition::missing_defaults;
pub use self::{
    definition::{PromptArgument, PromptDefinition, PromptThinking},
    error::PromptError,
    file::PromptFile,
    folder::{FolderChange, FolderError, PromptFolder},
};

/// A described template of messages. [`PromptFile`] is one from a file, [`FunctionPrompt`](crate::function::FunctionPrompt) one from a
/// function with [`#[prompt]`](macro@crate::prompt); [`text_prompt`] makes one from a closure.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use tool_kit::prompt::{Prompt, PromptDefinition, text_prompt};
/// use tool_runtime::{RunContext, prelude::*};
///
/// # #[tokio::main] async fn main() -> anyhow::Result<()> {
/// let definition = PromptDefinition::new("greet")?.with_input(json!({ "type": "string" }))?;
/// let greet = text_prompt(definition, |name| Ok(format!("Greet {}.", name.as_str().unwrap_or("everyone"))));
/// let rendered = greet.render(&Arc::new(RunContext::new()), &json!("Ada")).await?;
/// assert_eq!(rendered.text(), "Greet Ada.");
/// # Ok(())
/// # }
/// ```
pub trait Prompt: Send + Sync + 'static {
    /// Returns the name, the description and the input of the prompt.
    fn definition(&self) -> &PromptDefinition;

    /// Returns the messages for an input.
    ///
    /// # Errors
    ///
    /// Returns an error of kind [`BadParameter`](tool_runtime::ErrorKind::BadParameter) if the input does not fit, and another one if the
    /// messages cannot be made.
    fn render<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        input: &'a Value,
    ) -> BoxFuture<'a, Result<RenderedPrompt, ToolError>>;
}

impl<P: Prompt + ?Sized> Prompt for Arc<P> {
    fn definition(&self) -> &PromptDefinition {
        (**self).definition()
    }

    fn render<'a>(
        &'a self,
        run: &'a Arc<RunContext>,
        input: &'a Value,
    ) -> BoxFuture<'a, Result<RenderedPrompt, ToolError>> {
        (**self).render(run, input)
    }
}

/// The messages of a prompt for one input.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct RenderedPrompt {
    /// The instruction to the model, if the prompt has one.
    pub instruction: Option<String>,
    /// The messages, in their order.
    pub messages: Vec<PromptMessage>,
}

/// A message of a prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct PromptMessage {
    /// The author.
    pub role: PromptRole,
    /// The text, or another block.
    pub content: Content,
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptRole {
    /// The user.
    User,
    /// The model.
    Assistant,
}

impl PromptMessage {
    /// Creates a message.
    #[must_use]
    pub fn new(role: PromptRole, content: Content) -> Self {
        Self { role, content }
    }

    /// Creates a message of the user.
    #[must_use]
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(PromptRole::User, Content::text(text))
    }

    /// Creates a message of the model.
    #[must_use]
    pub fn assistant(text: impl Into<String>) -> Self {
        Self::new(PromptRole::Assistant, Content::text(text))
    }
}

impl RenderedPrompt {
    /// Creates a prompt of these messages.
    pub fn new(messages: impl IntoIterator<Item = PromptMessage>) -> Self {
        Self { instruction: None, messages: messages.into_iter().collect() }
    }

    /// Sets the instruction to the model.
    #[must_use]
    pub fn with_instruction(mut self, instruction: impl Into<String>) -> Self {
        self.instruction = Some(instruction.into());
        self
    }

    /// Returns the texts of all messages, in lines.
    #[must_use]
    pub fn text(&self) -> String {
        let texts: Vec<_> = self.messages.iter().filter_map(|message| message.content.as_text()).collect();
        texts.join("\n")
    }
}

/// One message of the user.
impl From<String> for RenderedPrompt {
    fn from(text: String) -> Self {
        PromptMessage::user(text).into()
    }
}

/// One message of the user.
impl From<&str> for RenderedPrompt {
    fn from(text: &str) -> Self {
        PromptMessage::user(text).into()
    }
}

/// One message of the user.
impl From<Cow<'_, str>> for RenderedPrompt {
    fn from(text: Cow<'_, str>) -> Self {
        PromptMessage::user(text).into()
    }
}

impl From<PromptMessage> for RenderedPrompt {
    fn from(message: PromptMessage) -> Self {
        Self::new([message])
    }
}

impl From<Vec<PromptMessage>> for RenderedPrompt {
    fn from(messages: Vec<PromptMessage>) -> Self {
        Self::new(messages)
    }
}

/// A prompt from a closure.
struct TextPrompt<F> {
    definition: PromptDefinition,
    make: F,
}

/// Creates a prompt of one message of the user, whose text `make` returns. The input is validated before.
pub fn text_prompt<F>(definition: PromptDefinition, make: F) -> impl Prompt
where
    F: Fn(&Value) -> Result<String, ToolError> + Send + Sync + 'static,
{
    TextPrompt { definition, make }
}

impl<F> Prompt for TextPrompt<F>
where
    F: Fn(&Value) -> Result<String, ToolError> + Send + Sync + 'static,
{
    fn definition(&self) -> &PromptDefinition {
        &self.definition
    }

    fn render<'a>(
        &'a self,
        _: &'a Arc<RunContext>,
        input: &'a Value,
    ) -> BoxFuture<'a, Result<RenderedPrompt, ToolError>> {
        Box::pin(async move {
            let input = self.definition.complete_input(input)?;
            Ok(RenderedPrompt::new([PromptMessage::user((self.make)(&input)?)]))
        })
    }
}
