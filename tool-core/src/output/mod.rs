//! The output of a tool.
//!
//! Most tools return one value, which an output stores as JSON text, serialised once. Content blocks and the
//! structured value are derived from it on demand; only tools with blocks of their own store a list of blocks.

mod actions;
mod combine;
mod content;
mod details;
mod read;
mod set;
mod wire;

use std::{borrow::Cow, time::Duration};

use serde::Serialize;
use serde_json::{Map, Value};
use tool_schema::__private::json_text;

pub(crate) use self::combine::{
    append_blocks, join_texts, join_values_to_list, replace_items_by_last, value_of_only_part,
    values_as_list, with_extras_of,
};
use self::details::OutputDetails;
pub use self::{
    actions::Actions,
    content::{Blob, Bytes, Content, Resource, ResourceBody},
};
use crate::{Correction, ErrorKind, ToolError};

/// The output of a tool: content for the model, and a structured value, details and actions for programs.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_runtime::ToolOutput;
///
/// let output = ToolOutput::json(&json!({ "celsius": 21 }))?.with_details(json!({ "cached": true }));
/// assert_eq!(output.text(), r#"{"celsius":21}"#);
/// assert_eq!(output.structured(), Some(json!({ "celsius": 21 })));
/// # Ok::<(), tool_runtime::ToolError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOutput {
    body: OutputBody,
    extras: Option<Box<OutputExtras>>,
}

#[derive(Debug, Clone, Default, PartialEq)]
enum OutputBody {
    #[default]
    Empty,
    /// A plain text.
    Text(String),
    /// The JSON text of a value that is not a string.
    Json(String),
    /// Any other content; boxed to keep the common output small.
    Blocks(Box<Blocks>),
}

/// Content blocks and their structured value.
#[derive(Debug, Clone, PartialEq)]
struct Blocks {
    content: Vec<Content>,
    structured: Option<Value>,
}

impl OutputBody {
    fn blocks(content: Vec<Content>, structured: Option<Value>) -> Self {
        Self::Blocks(Box::new(Blocks { content, structured }))
    }
}

/// Parts that few outputs have.
#[derive(Debug, Clone, Default, PartialEq)]
struct OutputExtras {
    details: Option<OutputDetails>,
    meta: Option<Map<String, Value>>,
    child_run_id: Option<String>,
    operation_id: Option<String>,
    actions: Actions,
    corrections: Vec<Correction>,
    failure: bool,
    last: bool,
    /// Another attempt may have another result, after this pause.
    retry_after: Option<Duration>,
}

impl ToolOutput {
    /// Creates an output without content.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Creates an output from blocks of content.
    pub fn new(content: impl IntoIterator<Item = Content>) -> Self {
        OutputBody::blocks(content.into_iter().collect(), None).into()
    }

    /// Creates an output with `value` as compact JSON; a string becomes plain text.
    ///
    /// # Errors
    ///
    /// Returns an [`InvalidOutput`](ErrorKind::InvalidOutput) error if `value` cannot be serialised as JSON, for example a
    /// map whose keys are not strings, or a float that is not finite; the message names its location.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, ToolError> {
        let json = json_text(value).map_err(not_serializable)?;
        if !json.starts_with('"') {
            return Ok(OutputBody::Json(json).into());
        }
        let text = serde_json::from_str(&json).map_err(not_serializable)?;
        Ok(OutputBody::Text(text).into())
    }

    /// Replaces content and value with `text`; details, actions and other parts stay.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.body = OutputBody::Text(text.into());
        self
    }

    /// Sets the structured value, for programs, beside the content for the model.
    #[must_use]
    pub fn with_structured(mut self, value: Value) -> Self {
        if let OutputBody::Blocks(blocks) = &mut self.body {
            blocks.structured = Some(value);
            return self;
        }
        let content = self.take_content();
        self.body = OutputBody::blocks(content, Some(value));
        self
    }

    /// Adds a block of content.
    #[must_use]
    pub fn with_content(mut self, block: Content) -> Self {
        let structured = match &self.body {
            OutputBody::Empty => None,
            OutputBody::Blocks(blocks) => blocks.structured.clone(),
            OutputBody::Text(_) | OutputBody::Json(_) => self.structured(),
        };
        let mut content = self.take_content();
        content.push(block);
        self.body = OutputBody::blocks(content, structured);
        self
    }

    /// Sets details for user interfaces and logs, which a model never sees.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.extras_mut().details = Some(OutputDetails::Ready(details));
        self
    }

    /// Sets details that are made when they are first read, for results whose details few programs read. A panic of
    /// `make` becomes details with the member `error`.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::ToolOutput;
    ///
    /// let hosts = vec!["a.example".to_owned(), "b.example".to_owned()];
    /// let output = ToolOutput::from("2 hosts").with_details_from(move || json!({ "hosts": hosts }));
    /// assert_eq!(output.details(), Some(&json!({ "hosts": ["a.example", "b.example"] })));
    /// ```
    #[must_use]
    pub fn with_details_from(mut self, make: impl FnOnce() -> Value + Send + 'static) -> Self {
        self.extras_mut().details = Some(OutputDetails::computed_when_read(make));
        self
    }

    /// Sets metadata that is sent with the result, such as the `_meta` of the Model Context Protocol. A model never
    /// sees it; unlike the details, it is part of the result that an MCP client receives.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::ToolOutput;
    ///
    /// let meta = json!({ "example.com/cached": true }).as_object().cloned().unwrap_or_default();
    /// let output = ToolOutput::from("done").with_meta(meta);
    /// assert_eq!(json!(output)["_meta"], json!({ "example.com/cached": true }));
    /// ```
    #[must_use]
    pub fn with_meta(mut self, meta: Map<String, Value>) -> Self {
        self.extras_mut().meta = Some(meta);
        self
    }

    /// Sets the id of the run that the tool started to produce this output.
    #[must_use]
    pub fn with_child_run_id(mut self, id: impl Into<String>) -> Self {
        self.extras_mut().child_run_id = Some(id.into());
        self
    }

    /// Sets the id of the operation that continues after the call.
    #[must_use]
    pub fn with_operation_id(mut self, id: impl Into<String>) -> Self {
        self.extras_mut().operation_id = Some(id.into());
        self
    }

    /// Sets the actions that the tool requests from the run.
    #[must_use]
    pub fn with_actions(mut self, actions: Actions) -> Self {
        self.extras_mut().actions = actions;
        self
    }

    /// Sets the corrections that were applied to the arguments. Set by the code that makes the call, not by tools.
    #[must_use]
    pub fn with_corrections(mut self, corrections: Vec<Correction>) -> Self {
        self.extras_mut().corrections = corrections;
        self
    }

    /// Marks the output as a failure, such as an error response of a service. It remains a result, unlike a
    /// [`ToolError`].
    #[must_use]
    pub fn as_failure(mut self) -> Self {
        self.extras_mut().failure = true;
        self
    }

    /// Marks the output as temporary: another attempt, at least `pause` later, may have another result. It is a result
    /// like any other, unless a retry policy repeats the call. The mark is not part of the stored form.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::time::Duration;
    /// use tool_runtime::ToolOutput;
    ///
    /// let busy = ToolOutput::from("503 Service Unavailable").as_retryable(Duration::from_secs(2));
    /// assert_eq!(busy.retry_after(), Some(Duration::from_secs(2)));
    /// assert!(!busy.is_failure());
    /// ```
    #[must_use]
    pub fn as_retryable(mut self, pause: Duration) -> Self {
        self.extras_mut().retry_after = Some(pause);
        self
    }

    /// Marks the output, as an item of a stream, as the result of the call: it replaces all previous items, and the
    /// stream is not polled again. Actions of previous items still apply.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_runtime::{ToolError, ToolOutput};
    ///
    /// // As a function with `#[tool]` returns it.
    /// fn search() -> Result<Vec<ToolOutput>, ToolError> {
    ///     let found = ToolOutput::json(&json!({ "found": 2 }))?;
    ///     Ok(vec!["reading a".into(), "reading b".into(), found.as_final()])
    /// }
    ///
    /// assert!(search()?[2].is_final());
    /// # Ok::<(), ToolError>(())
    /// ```
    #[must_use]
    pub fn as_final(mut self) -> Self {
        self.extras_mut().last = true;
        self
    }

    /// Returns the details for user interfaces and logs; never for a model.
    #[must_use]
    pub fn details(&self) -> Option<&Value> {
        self.extras.as_ref()?.details.as_ref().map(OutputDetails::value)
    }

    /// Returns the metadata that is sent with the result; never for a model.
    #[must_use]
    pub fn meta(&self) -> Option<&Map<String, Value>> {
        self.extras.as_ref()?.meta.as_ref()
    }

    /// Returns the id of the run that the tool started to produce this output.
    #[must_use]
    pub fn child_run_id(&self) -> Option<&str> {
        self.extras.as_ref()?.child_run_id.as_deref()
    }

    /// Returns the id of the operation that continues after the call.
    #[must_use]
    pub fn operation_id(&self) -> Option<&str> {
        self.extras.as_ref()?.operation_id.as_deref()
    }

    /// Returns the actions that the tool requests from the run, if any.
    #[must_use]
    pub fn actions(&self) -> Option<&Actions> {
        Some(&self.extras.as_ref()?.actions)
    }

    /// Returns the corrections that were applied to the arguments.
    #[must_use]
    pub fn corrections(&self) -> &[Correction] {
        self.extras.as_ref().map_or(&[], |extras| &extras.corrections)
    }

    /// Returns `true` if the output is marked as a failure.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.failure)
    }

    /// Returns `true` if the output, as an item of a stream, is the result of the call.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.last)
    }

    /// Returns the minimum pause before another attempt; `None` if another attempt would have the same result.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.extras.as_ref()?.retry_after
    }

    fn extras_mut(&mut self) -> &mut OutputExtras {
        self.extras.get_or_insert_default()
    }

    fn take_content(&mut self) -> Vec<Content> {
        match std::mem::take(&mut self.body) {
            OutputBody::Empty => Vec::new(),
            OutputBody::Text(text) | OutputBody::Json(text) => vec![Content::text(text)],
            OutputBody::Blocks(blocks) => blocks.content,
        }
    }
}

fn not_serializable(error: serde_json::Error) -> ToolError {
    let message = format!("the result cannot be written as JSON: {error}");
    ToolError::new(ErrorKind::InvalidOutput, message)
}

impl From<OutputBody> for ToolOutput {
    fn from(body: OutputBody) -> Self {
        Self { body, extras: None }
    }
}

impl From<()> for ToolOutput {
    fn from((): ()) -> Self {
        Self::empty()
    }
}

impl From<String> for ToolOutput {
    fn from(text: String) -> Self {
        OutputBody::Text(text).into()
    }
}

impl From<&str> for ToolOutput {
    fn from(text: &str) -> Self {
        Self::from(text.to_owned())
    }
}

impl From<Cow<'_, str>> for ToolOutput {
    fn from(text: Cow<'_, str>) -> Self {
        Self::from(text.into_owned())
    }
}

impl From<Content> for ToolOutput {
    fn from(block: Content) -> Self {
        Self::new([block])
    }
}

impl From<Vec<Content>> for ToolOutput {
    fn from(content: Vec<Content>) -> Self {
        OutputBody::blocks(content, None).into()
    }
}

impl From<Resource> for ToolOutput {
    fn from(resource: Resource) -> Self {
        Content::Resource { resource }.into()
    }
}

impl From<Bytes> for ToolOutput {
    fn from(bytes: Bytes) -> Self {
        Content::from(bytes).into()
    }
}
