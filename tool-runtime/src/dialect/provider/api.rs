//! The HTTP API of a provider: URLs, headers and the members of requests besides messages and tools.

use std::fmt;

use serde_json::{Map, Value, value::RawValue};

use super::wire_formats;
use crate::{Dialect, dialect::Thinking};

pub(super) mod sealed {
    /// Implemented by the providers of this crate.
    pub trait Sealed {}
}

/// The HTTP API of a provider. A [dialect](Dialect::provider) has one if its JSON is sent over HTTP.
///
/// The trait is sealed: a provider is added in this crate, together with its dialect.
///
/// # Examples
///
/// ```
/// use tool_runtime::dialect::Dialect;
///
/// let anthropic = Dialect::anthropic().provider().ok_or("no API")?;
/// assert_eq!(anthropic.url(anthropic.base_url(), "claude", true), "https://api.anthropic.com/v1/messages");
/// assert_eq!(anthropic.headers(Some("key"))[0], ("x-api-key", "key".to_owned()));
/// assert!(Dialect::mcp().provider().is_none());
/// # Ok::<(), &str>(())
/// ```
pub trait Provider: sealed::Sealed + fmt::Debug + Send + Sync {
    /// Returns the name of the dialect without strict schemas. All variants of a dialect have the same messages.
    fn name(&self) -> &'static str;

    /// Returns the names of the provider in `PROVIDER:MODEL`, the first of which is shown to users. Default: the name of the
    /// dialect.
    fn short_names(&self) -> Vec<&'static str> {
        vec![self.name()]
    }

    /// Returns the prefix of environment variables, such as `OPENAI` for `OPENAI_API_KEY`.
    fn environment_prefix(&self) -> &'static str;

    /// Returns the value of
    /// [`gen_ai.provider.name`](https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/). Default: the name
    /// of the dialect.
    fn semantic_name(&self) -> &'static str {
        self.name()
    }

    /// Returns the URL of the provider's own server, without a slash at its end.
    fn base_url(&self) -> &'static str;

    /// Returns the URL of requests to `model` on the server at `base_url`.
    fn url(&self, base_url: &str, model: &str, streams: bool) -> String;

    /// Returns the headers with the key and the version of the API.
    fn headers(&self, key: Option<&str>) -> Vec<(&'static str, String)>;

    /// Returns `true` if servers of others offer the same API, some of which ignore a part of it. Default: `false`.
    fn has_compatible_servers(&self) -> bool {
        false
    }

    /// Returns the members of each request to `model` besides messages and tools.
    fn request_members(&self, model: &str, streams: bool) -> Map<String, Value>;

    /// Sets the instruction of a request without messages.
    fn set_instruction(&self, members: &mut Map<String, Value>, text: &str);

    /// Sets which tools the model may or must call.
    fn set_tool_selection(&self, members: &mut Map<String, Value>, selection: ToolSelection<'_>);

    /// Sets the format of the answer: JSON of `schema`, which the provider enforces if `strict` is set.
    fn set_output_format(&self, members: &mut Map<String, Value>, name: &str, schema: &Value, strict: bool);

    /// Sets how much `model` thinks, after all other members. Returns a sentence about what the provider lacks.
    fn set_thinking(
        &self,
        members: &mut Map<String, Value>,
        model: &str,
        thinking: Thinking,
    ) -> Option<String>;

    /// Returns `true` if a request can have both tools and a format of the answer. Default: `true`.
    fn combines_output_with_tools(&self) -> bool {
        true
    }

    /// Returns the dialect whose schemas the provider enforces in the format of an answer. Default: none.
    fn strict_dialect(&self) -> Option<Dialect> {
        None
    }

    /// Returns the schema in a definition of a tool in the [strict dialect](Self::strict_dialect); `None` if the provider
    /// cannot enforce it. Default: none.
    fn enforced_schema<'d>(&self, definition: &'d Value) -> Option<&'d Value> {
        let _ = definition;
        None
    }

    /// Returns the reason why the provider refused the request of this response, if it did. Default: `None`.
    fn refusal(&self, response: &str) -> Option<String> {
        let _ = response;
        None
    }

    /// Returns `true` for the name of the last event of a stream. Default: `false`, for events without names.
    fn is_last_event(&self, name: &str) -> bool {
        let _ = name;
        false
    }

    /// Returns `true` for the name of an event with a part of the response. Default: `message` and `error`.
    fn is_response_event(&self, name: &str) -> bool {
        name.starts_with("message") || name.starts_with("error")
    }

    /// Returns `true` if the provider rejects some ids of calls, and ids that occur twice. Default: `true`.
    fn has_call_id_rules(&self) -> bool {
        true
    }

    /// Returns the name of the form of messages that `model` requires. Default: an empty text, for the usual form.
    fn message_variant(&self, model: &str) -> &'static str {
        let _ = model;
        ""
    }

    /// Completes an assistant message that another model wrote for `model`. Default: unchanged.
    fn complete_foreign_message(&self, model: &str, message: Box<RawValue>) -> Box<RawValue> {
        let _ = model;
        message
    }

    /// Returns the maximum number of cache points in a request; 0 if the provider caches on its own. Default: 0.
    fn max_cache_points(&self) -> usize {
        0
    }

    /// Returns a message with a cache point at its end; `None` if it cannot have one. Every other byte stays.
    fn with_cache_point(&self, message: &RawValue) -> Option<Box<RawValue>> {
        let _ = message;
        None
    }

    /// Adds a cache point after the instruction of a request.
    fn add_cache_point_after_instruction(&self, request: &mut Value) {
        let _ = request;
    }

    /// Adds a cache point after the tools of a request.
    fn add_cache_point_after_tools(&self, request: &mut Value) {
        let _ = request;
    }
}

/// The tools that a model may or must call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolSelection<'t> {
    /// The model chooses.
    Auto,
    /// No tool.
    None,
    /// Any tool, but at least one.
    Required,
    /// The tool of this name on the wire.
    Tool(&'t str),
}

/// Returns the providers of all dialects, each once.
#[must_use]
pub fn providers() -> Vec<&'static dyn Provider> {
    let mut providers: Vec<&'static dyn Provider> = Vec::new();
    for provider in wire_formats().into_iter().filter_map(|format| format.provider()) {
        if providers.iter().all(|known| known.name() != provider.name()) {
            providers.push(provider);
        }
    }
    providers
}

/// Returns the object in `members` under `name`, which is created if it is absent.
pub(super) fn object_or_insert<'m>(members: &'m mut Map<String, Value>, name: &str) -> &'m mut Value {
    let object = members.entry(name).or_insert_with(|| Value::Object(Map::new()));
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    object
}

/// Returns the members of an object.
pub(super) fn object_members(object: Value) -> Map<String, Value> {
    match object {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
