//! Requests to models.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tool_runtime::{Registry, RunContext, dialect::Thinking};

use crate::Message;

/// A request to a [`Model`](super::Model): the conversation, the tools, and settings.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Request {
    /// The instruction (system prompt); empty if there is none.
    pub instruction: Arc<str>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: Registry,
    /// The tools that the model must or must not call.
    pub tool_choice: ToolChoice,
    /// The format of the answer, for a model with [strict output](super::Model::has_strict_output).
    pub output: Option<OutputFormat>,
    /// The points up to which the provider caches the request.
    pub cache: Vec<CachePoint>,
    /// Members of the request in the provider's format, such as `temperature`; they override those of the model.
    pub parameters: Map<String, Value>,
    /// The thinking of the model; `None` for the default of the model.
    pub thinking: Option<Thinking>,
    /// The run that the request belongs to.
    pub run: Arc<RunContext>,
    /// Set once the additions of tools and request hooks are part of the request.
    pub(crate) has_additions: bool,
}

impl Request {
    /// Creates a request with `messages`, without tools.
    pub fn new(messages: impl IntoIterator<Item = Message>) -> Self {
        Self {
            instruction: "".into(),
            messages: messages.into_iter().collect(),
            tools: Registry::default(),
            tool_choice: ToolChoice::Auto,
            output: None,
            cache: Vec::new(),
            parameters: Map::new(),
            thinking: None,
            run: Arc::new(RunContext::new()),
            has_additions: false,
        }
    }

    /// Sets the instruction.
    #[must_use]
    pub fn with_instruction(mut self, instruction: impl Into<Arc<str>>) -> Self {
        self.instruction = instruction.into();
        self
    }

    /// Sets the tools.
    #[must_use]
    pub fn with_tools(mut self, tools: Registry) -> Self {
        self.tools = tools;
        self
    }

    /// Sets the choice of tools.
    #[must_use]
    pub fn with_tool_choice(mut self, choice: ToolChoice) -> Self {
        self.tool_choice = choice;
        self
    }
}

/// The tools that a model must or must not call in its next response.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ToolChoice {
    /// The model decides.
    #[default]
    Auto,
    /// The model calls no tool.
    None,
    /// The model calls at least one tool.
    Required,
    /// The model calls this tool.
    Tool(Arc<str>),
}

impl ToolChoice {
    /// Returns `true` if the model must call a tool.
    #[must_use]
    pub fn is_forced(&self) -> bool {
        matches!(self, Self::Required | Self::Tool(_))
    }
}

/// The format of an answer: JSON of a schema.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutputFormat {
    /// The name of the format: at most 64 ASCII letters, digits, `_` and `-`.
    pub name: Arc<str>,
    /// The JSON Schema.
    pub schema: Arc<Value>,
}

/// A point up to which a provider caches a request, for those that need to be asked (Anthropic).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum CachePoint {
    /// After the tools.
    Tools,
    /// After the instruction.
    Instruction,
    /// After the message with this index; an index beyond the last message means the last one.
    Message(usize),
}
