//! Requests with tools: definitions and additions.

use std::{borrow::Cow, collections::HashSet, fmt, sync::Arc};

use serde_json::{Value, json};
use tool_core::{
    AddedMessage, BoxFuture, ModelRequest, RequestAdditions, RequestHook as _, RequestMessages, RunContext,
    ToolError,
};

use super::{BoundTools, DialectError, RequestBody};
use crate::{Registry, panics::run_component};

/// An error of [`BoundTools::build_request`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum RequestError {
    /// The request has no place for an addition.
    Dialect(DialectError),
    /// A tool's `on_request` failed or panicked.
    Tool {
        /// The name of the tool.
        tool: String,
        /// The reason.
        error: ToolError,
    },
    /// A [`RequestHook`](crate::request::RequestHook) failed or panicked.
    Hook {
        /// The [name](crate::request::RequestHook::name) of the hook.
        hook: String,
        /// The reason.
        error: ToolError,
    },
    /// The run was cancelled.
    Cancelled,
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dialect(error) => error.fmt(f),
            Self::Tool { tool, error } => {
                write!(f, "the tool `{tool}` cannot add to the request: {}", error.reason())
            }
            Self::Hook { hook, error } => {
                write!(f, "the hook `{hook}` cannot add to the request: {}", error.reason())
            }
            Self::Cancelled => f.write_str("the run was cancelled before the request was complete"),
        }
    }
}

impl std::error::Error for RequestError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Tool { error, .. } | Self::Hook { error, .. } => error.source(),
            Self::Dialect(_) | Self::Cancelled => None,
        }
    }
}

impl From<DialectError> for RequestError {
    fn from(error: DialectError) -> Self {
        Self::Dialect(error)
    }
}

/// A target of [`BoundTools::build_request`]: a [`RequestBody`], or the members of a body as a [`Value`].
pub trait RequestTarget: sealed::Sealed + Send {
    #[doc(hidden)]
    fn members(&mut self) -> &mut Value;
    #[doc(hidden)]
    fn push_messages(&mut self, bound: &BoundTools, messages: Vec<Value>) -> Result<(), DialectError>;
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for serde_json::Value {}
    impl Sealed for super::RequestBody {}
}

impl RequestTarget for Value {
    fn members(&mut self) -> &mut Value {
        self
    }

    fn push_messages(&mut self, bound: &BoundTools, messages: Vec<Value>) -> Result<(), DialectError> {
        if !messages.is_empty() {
            let mut body = RequestBody::new(bound.format(), std::mem::take(self))?;
            body.append_messages(messages);
            *self = std::mem::take(body.fields_mut());
        }
        Ok(())
    }
}

impl RequestTarget for RequestBody {
    fn members(&mut self) -> &mut Value {
        self.fields_mut()
    }

    fn push_messages(&mut self, _: &BoundTools, messages: Vec<Value>) -> Result<(), DialectError> {
        for message in messages {
            let written = self.push(&message);
            written.map_err(|error| DialectError {
                pointer: String::new(),
                expected: "a message".to_owned(),
                got: error.to_string(),
            })?;
        }
        Ok(())
    }
}

/// Adds the tools of `bound` to a request.
pub(super) fn declare_tools<R: RequestTarget>(
    bound: &BoundTools,
    request: &mut R,
) -> Result<(), DialectError> {
    match bound.definitions() {
        Value::Array(definitions) => append_missing_tools(request.members(), definitions),
        _ => Ok(()),
    }
}

/// Asks all hooks and tools for additions to a request, which keeps its members.
pub(super) async fn collect_additions<R: RequestTarget>(
    bound: &BoundTools,
    registry: &Registry,
    request: &mut R,
    run: Arc<RunContext>,
    messages: RequestMessages,
) -> Result<RequestAdditions, RequestError> {
    let body = request.members();
    let stop = run.cancellation().clone();
    let model_request =
        ModelRequest::new(bound.format().name(), std::mem::take(body), run).with_messages(messages);
    let mut lent = LentBody { members: body, request: Some(model_request.clone()) };
    let asking = ask_for_additions(registry, &model_request, |name| bound.wire_name(name));
    let asked = stop.run_until_cancelled(asking).await.ok_or(RequestError::Cancelled);
    drop(model_request);
    let additions = lent.restore_members();
    asked??;
    Ok(additions)
}

impl BoundTools {
    /// Asks for additions as [`collect_additions`](Self::collect_additions) does, and shows hooks and tools the
    /// [`messages`](crate::request::ModelRequest::messages) of the request.
    ///
    /// # Errors
    ///
    /// As [`collect_additions`](Self::collect_additions).
    pub async fn collect_additions_with<R: RequestTarget>(
        &self,
        request: &mut R,
        run: impl Into<Arc<RunContext>>,
        messages: RequestMessages,
    ) -> Result<RequestAdditions, RequestError> {
        collect_additions(self, &self.registry, request, run.into(), messages).await
    }
}

/// The members of a body while hooks see them; a drop puts them back.
struct LentBody<'b> {
    members: &'b mut Value,
    request: Option<ModelRequest>,
}

impl LentBody<'_> {
    /// Puts the members back, and returns the additions.
    fn restore_members(&mut self) -> RequestAdditions {
        let Some(request) = self.request.take() else { return RequestAdditions::default() };
        let (members, additions) = request.finish();
        *self.members = members;
        additions
    }
}

impl Drop for LentBody<'_> {
    fn drop(&mut self) {
        drop(self.restore_members());
    }
}

impl Registry {
    /// Asks each [`RequestHook`](crate::request::RequestHook) and each tool's [`on_request`](tool_core::Tool::on_request)
    /// for additions to `request`, for a model without a dialect. The tools have their own names.
    ///
    /// # Errors
    ///
    /// Returns an error if a hook or a tool fails or panics, or if the run of the request is cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{RunContext, prelude::*, request::{ModelRequest, request_fn}};
    ///
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let clock = request_fn(|request| async move {
    ///     request.instruct("It is noon.");
    ///     Ok(())
    /// });
    /// let tools = Registry::builder().request_hook(clock).build()?;
    /// let request = ModelRequest::new("my-model", json!({}), RunContext::new().into());
    /// assert_eq!(tools.request_additions(request).await?.instructions, ["It is noon."]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn request_additions(&self, request: ModelRequest) -> Result<RequestAdditions, RequestError> {
        let stop = request.run().cancellation().clone();
        let asking = ask_for_additions(self, &request, Cow::Borrowed);
        stop.run_until_cancelled(asking).await.ok_or(RequestError::Cancelled)??;
        Ok(request.finish().1)
    }
}

/// Puts additions in their places in a request.
pub(super) fn apply_additions<R: RequestTarget>(
    bound: &BoundTools,
    mut request: R,
    additions: RequestAdditions,
) -> Result<R, DialectError> {
    let RequestAdditions { instructions, native, messages, members: set, .. } = additions;
    let body = request.members();
    if let Value::Object(body) = body {
        body.extend(set);
    }
    append_missing_tools(body, &native)?;
    // Anthropic rejects an empty text (<https://github.com/anthropics/claude-code/issues/23440>).
    let mut instructions = instructions.iter().filter(|text| !text.trim().is_empty());
    instructions.try_for_each(|text| bound.format().append_instruction(body, text))?;
    let messages = messages.into_iter().filter_map(|message| match message {
        AddedMessage::Text(text) => Some(bound.format().user_text(&text)),
        AddedMessage::Content(content) => Some(bound.user_message(&content)),
        AddedMessage::Native(message) => Some(message),
        _ => None,
    });
    request.push_messages(bound, messages.collect())?;
    Ok(request)
}

/// Collects the additions of all hooks and tools to `request`, one after the other.
async fn ask_for_additions<'n>(
    registry: &'n Registry,
    request: &ModelRequest,
    wire_name: impl Fn(&'n str) -> Cow<'n, str>,
) -> Result<(), RequestError> {
    for hook in registry.request_hooks() {
        let added = run_component("it", || hook.add_to(request.clone())).await.and_then(|result| result);
        added.map_err(|error| RequestError::Hook { hook: hook.name().to_owned(), error })?;
    }
    let declared =
        || registry.entries().iter().filter(|it| !registry.is_deferred(it.definition().name().as_str()));
    for entry in declared().filter(|entry| entry.adds_remotely()) {
        entry.announce_request(&request.of_tool(wire_name(entry.definition().name())));
    }
    for entry in declared() {
        let name = entry.definition().name();
        let of_tool = request.of_tool(wire_name(name));
        let add = || -> BoxFuture<'_, _> { entry.tool().on_request(of_tool) };
        let added = run_component("it", add).await.and_then(|result| result);
        added.map_err(|error| RequestError::Tool { tool: name.to_string(), error })?;
    }
    Ok(())
}

/// Adds tools to the tools of a request, each once; function declarations to the existing list of declarations,
/// if there is one.
fn append_missing_tools(request: &mut Value, tools: &[Value]) -> Result<(), DialectError> {
    let wrong = match request.get("tools") {
        _ if !request.is_object() => Some(("", "an object")),
        Some(tools) if !tools.is_null() && !tools.is_array() => Some(("/tools", "a list")),
        _ => None,
    };
    if let Some((pointer, expected)) = wrong {
        return Err(DialectError::of_body(request, pointer, expected));
    }
    let Value::Object(fields) = request else { return Ok(()) };
    if tools.is_empty() {
        return Ok(());
    }
    let before = fields.entry("tools").or_insert(Value::Null);
    if before.is_null() {
        *before = Value::Array(Vec::new());
    }
    let Value::Array(before) = before else { return Ok(()) };
    let mut others = Vec::new();
    for tool in tools {
        let list = declared_functions(tool).zip(before.iter_mut().find_map(declared_functions_mut));
        match list {
            Some((new, list)) => append_missing_items(list, new),
            None => others.push(tool),
        }
    }
    append_missing_items(before, others);
    Ok(())
}

/// Gemini's member for the list of all functions, in both spellings.
const DECLARATIONS: [&str; 2] = ["functionDeclarations", "function_declarations"];

fn declared_functions(tool: &Value) -> Option<&Vec<Value>> {
    DECLARATIONS.iter().find_map(|key| tool.get(key)?.as_array())
}

fn declared_functions_mut(tool: &mut Value) -> Option<&mut Vec<Value>> {
    let key = DECLARATIONS.iter().find(|key| tool.get(key).is_some_and(Value::is_array))?;
    tool.get_mut(key)?.as_array_mut()
}

/// Adds the items that are not present yet.
fn append_missing_items<'v>(list: &mut Vec<Value>, new: impl IntoIterator<Item = &'v Value>) {
    let mut known: HashSet<_> = list.iter().map(Value::to_string).collect();
    list.extend(new.into_iter().filter(|it| known.insert(it.to_string())).cloned());
}

/// Appends `text` to the text in `field`, which may be absent, or a list of blocks where the provider accepts
/// one.
pub(super) fn append_instruction_to_field(
    body: &mut Value,
    field: &str,
    text: &str,
    takes_blocks: bool,
) -> Result<(), DialectError> {
    let wrong = |body: &Value| {
        let expected = if takes_blocks { "a text or a list of blocks" } else { "a text" };
        DialectError::of_body(body, &format!("/{field}"), expected)
    };
    match body.as_object_mut().map(|fields| fields.entry(field).or_insert(Value::Null)) {
        Some(place @ Value::Null) => *place = text.into(),
        Some(Value::String(before)) => append_paragraph(before, text),
        Some(Value::Array(blocks)) if takes_blocks => {
            append_block_if_new(blocks, json!({ "type": "text", "text": text }))
        }
        _ => return Err(wrong(body)),
    }
    Ok(())
}

/// Appends a text below another, unless it is present already.
fn append_paragraph(before: &mut String, text: &str) {
    if before.is_empty() {
        text.clone_into(before);
    } else if !has_paragraph(before, text) {
        before.push_str("\n\n");
        before.push_str(text);
    }
}

/// Returns `true` if `text` is a paragraph of its own in `before`, and not a part of another one.
fn has_paragraph(before: &str, text: &str) -> bool {
    before.match_indices(text).any(|(at, _)| {
        let (above, below) = (&before[..at], &before[at + text.len()..]);
        (above.is_empty() || above.ends_with("\n\n")) && (below.is_empty() || below.starts_with("\n\n"))
    })
}

/// Appends a block, unless another block has the same text.
pub(super) fn append_block_if_new(blocks: &mut Vec<Value>, block: Value) {
    if !blocks.iter().any(|before| before.get("text") == block.get("text")) {
        blocks.push(block);
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
