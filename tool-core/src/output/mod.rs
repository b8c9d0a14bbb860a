//! What a tool gives back.
//!
//! Most tools give one value, so that is what an output holds: the JSON text of it, written once.
//! Blocks of content and the structured value are made from it when somebody asks; only a tool that
//! makes blocks of its own pays for a list of them.

mod actions;
mod content;
mod read;
mod set;
mod together;
mod wire;

use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Map, Value};

pub(crate) use self::together::{appended, as_list, concluded, joined, listed, merged, plain};
pub use self::{
    actions::Actions,
    content::{Blob, Bytes, Content, Resource, ResourceBody},
};
use crate::{Correction, ErrorKind, ToolError};

/// What a tool gives back: content for the model, and more for those who watch.
///
/// # Examples
///
/// ```
/// use serde_json::json;
/// use tool_core::ToolOutput;
///
/// let output = ToolOutput::json(&json!({ "celsius": 21 }))?.with_details(json!({ "cached": true }));
/// assert_eq!(output.text(), r#"{"celsius":21}"#);
/// assert_eq!(output.structured(), Some(json!({ "celsius": 21 })));
/// # Ok::<(), tool_core::ToolError>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ToolOutput {
    body: Body,
    extras: Option<Box<Extras>>,
}

#[derive(Debug, Clone, Default, PartialEq)]
enum Body {
    #[default]
    Empty,
    /// A plain text.
    Text(String),
    /// The JSON text of a value that is no string.
    Json(String),
    /// Anything else; in a box, so that the common output is moved at little cost.
    Blocks(Box<Blocks>),
}

/// Blocks, and the same as a value.
#[derive(Debug, Clone, PartialEq)]
struct Blocks {
    content: Vec<Content>,
    structured: Option<Value>,
}

impl Body {
    fn blocks(content: Vec<Content>, structured: Option<Value>) -> Self {
        Self::Blocks(Box::new(Blocks { content, structured }))
    }
}

/// What few outputs have.
#[derive(Debug, Clone, Default, PartialEq)]
struct Extras {
    details: Option<Value>,
    meta: Option<Map<String, Value>>,
    child_run_id: Option<String>,
    operation_id: Option<String>,
    actions: Actions,
    corrections: Vec<Correction>,
    failure: bool,
    last: bool,
}

impl ToolOutput {
    /// No output.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Blocks of content.
    pub fn new(content: impl IntoIterator<Item = Content>) -> Self {
        Body::blocks(content.into_iter().collect(), None).into()
    }

    /// `value` as compact JSON; a string is the text itself.
    ///
    /// # Errors
    ///
    /// If `value` cannot be written as JSON, for instance a map whose keys are no strings.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, ToolError> {
        let json = serde_json::to_string(value).map_err(not_serializable)?;
        if !json.starts_with('"') {
            return Ok(Body::Json(json).into());
        }
        let text = serde_json::from_str(&json).map_err(not_serializable)?;
        Ok(Body::Text(text).into())
    }

    /// Puts `text` in the place of content and value; details, actions and what else there is stay.
    #[must_use]
    pub fn with_text(mut self, text: impl Into<String>) -> Self {
        self.body = Body::Text(text.into());
        self
    }

    /// Gives the same as a value, for programs, beside the content, for the model.
    #[must_use]
    pub fn with_structured(mut self, value: Value) -> Self {
        let content = self.take_content();
        self.body = Body::blocks(content, Some(value));
        self
    }

    /// Adds a block of content.
    #[must_use]
    pub fn with_content(mut self, block: Content) -> Self {
        let structured = match &self.body {
            Body::Empty => None,
            Body::Blocks(blocks) => blocks.structured.clone(),
            Body::Text(_) | Body::Json(_) => self.structured(),
        };
        let mut content = self.take_content();
        content.push(block);
        self.body = Body::blocks(content, structured);
        self
    }

    /// Adds details for user interfaces and logs; a model never sees them.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.extras().details = Some(details);
        self
    }

    /// Sets what is sent along with the result, outside of it, such as the `_meta` of the Model Context Protocol. A model
    /// never sees it; unlike the details, it is part of the result that an MCP client receives.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_core::ToolOutput;
    ///
    /// let meta = json!({ "example.com/cached": true }).as_object().cloned().unwrap_or_default();
    /// let output = ToolOutput::from("done").with_meta(meta);
    /// assert_eq!(json!(output)["_meta"], json!({ "example.com/cached": true }));
    /// ```
    #[must_use]
    pub fn with_meta(mut self, meta: Map<String, Value>) -> Self {
        self.extras().meta = Some(meta);
        self
    }

    /// Says which run a tool started to make this.
    #[must_use]
    pub fn with_child_run_id(mut self, id: impl Into<String>) -> Self {
        self.extras().child_run_id = Some(id.into());
        self
    }

    /// Says which operation goes on after the call.
    #[must_use]
    pub fn with_operation_id(mut self, id: impl Into<String>) -> Self {
        self.extras().operation_id = Some(id.into());
        self
    }

    /// Says what the tool asks of the run.
    #[must_use]
    pub fn with_actions(mut self, actions: Actions) -> Self {
        self.extras().actions = actions;
        self
    }

    /// Says what was corrected in the arguments before they fitted. Whoever makes the call does so;
    /// a tool does not know.
    #[must_use]
    pub fn with_corrections(mut self, corrections: Vec<Correction>) -> Self {
        self.extras().corrections = corrections;
        self
    }

    /// Says that the output tells of a failure, as the answer of a service does that failed in an orderly
    /// way. It is a result like any other, but that of an error.
    #[must_use]
    pub fn as_failure(mut self) -> Self {
        self.extras().failure = true;
        self
    }

    /// Says that the output, as an item of a stream, is the result of the call: it stands in the place of
    /// all items before it, and the stream is asked for no other. What they asked of the run is still
    /// asked.
    ///
    /// # Examples
    ///
    /// ```
    /// use serde_json::json;
    /// use tool_core::{ToolError, ToolOutput};
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
        self.extras().last = true;
        self
    }

    /// Details for user interfaces and logs; never for a model.
    #[must_use]
    pub fn details(&self) -> Option<&Value> {
        self.extras.as_ref()?.details.as_ref()
    }

    /// Returns what is sent along with the result, outside of it; never for a model.
    #[must_use]
    pub fn meta(&self) -> Option<&Map<String, Value>> {
        self.extras.as_ref()?.meta.as_ref()
    }

    /// The run that the tool started to make this.
    #[must_use]
    pub fn child_run_id(&self) -> Option<&str> {
        self.extras.as_ref()?.child_run_id.as_deref()
    }

    /// The operation that goes on after the call.
    #[must_use]
    pub fn operation_id(&self) -> Option<&str> {
        self.extras.as_ref()?.operation_id.as_deref()
    }

    /// What the tool asks of the run, where it asks anything.
    #[must_use]
    pub fn actions(&self) -> Option<&Actions> {
        Some(&self.extras.as_ref()?.actions)
    }

    /// What was corrected in the arguments before they fitted; nothing, for most calls.
    #[must_use]
    pub fn corrections(&self) -> &[Correction] {
        self.extras.as_ref().map_or(&[], |extras| &extras.corrections)
    }

    /// Whether the output tells of a failure.
    #[must_use]
    pub fn is_failure(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.failure)
    }

    /// Whether the output, as an item of a stream, is the result of the call.
    #[must_use]
    pub fn is_final(&self) -> bool {
        self.extras.as_ref().is_some_and(|extras| extras.last)
    }

    fn extras(&mut self) -> &mut Extras {
        self.extras.get_or_insert_default()
    }

    fn take_content(&mut self) -> Vec<Content> {
        match std::mem::take(&mut self.body) {
            Body::Empty => Vec::new(),
            Body::Text(text) | Body::Json(text) => vec![Content::text(text)],
            Body::Blocks(blocks) => blocks.content,
        }
    }
}

fn not_serializable(error: serde_json::Error) -> ToolError {
    let message = format!("the result cannot be written as JSON: {error}");
    ToolError::new(ErrorKind::InvalidOutput, message)
}

impl From<Body> for ToolOutput {
    fn from(body: Body) -> Self {
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
        Body::Text(text).into()
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
        Body::blocks(content, None).into()
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
