//! Wire formats of model providers: tool definitions, calls and results as JSON.
//!
//! A [`Dialect`] describes one provider. [`Dialect::bind_tools`] binds it to a [`Registry`]; the resulting
//! [`BoundTools`] returns the [definitions](BoundTools::definitions) for a request, reads calls from a
//! response, [whole](BoundTools::read) or [assembled](BoundTools::assembler) from a stream, and writes results
//! as [messages](BoundTools::append). All of it is JSON, so any HTTP client or SDK can send it.
//!
//! | type or function | purpose |
//! | --- | --- |
//! | [`Dialect`], [`BoundTools`] | a provider; a provider with the tools of a registry |
//! | [`AssembledResponse`], [`Assembler`], [`Delta`], [`Usage`] | a response, its assembly from a stream, its parts and its token counts |
//! | [`Provider`], [`providers`] | the HTTP API of a provider: URL, headers, members of requests |
//! | [`RequestBody`] | the body of a request, to which responses and results are appended |
//! | [`lint`], [`assert_portable`] | checks of all definitions, with [diagnostics](crate::diagnostic) |
//! | [`DialectError`], [`RequestError`] | errors of reading a response and of building a request |
//!
//! ```
//! use tool_runtime::{Executor, dialect::Dialect, prelude::*};
//!
//! /// Adds two numbers.
//! #[tool]
//! fn add(
//!     /// First number.
//!     a: i64,
//!     /// Second number.
//!     b: i64,
//! ) -> i64 {
//!     a + b
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let tools = Registry::builder().tool::<add>().build()?;
//! let openai = Dialect::openai_chat().bind_tools(&tools);
//! assert_eq!(openai.definitions()[0]["function"]["name"], "add");
//!
//! // A response of the provider to a request with these `tools`.
//! let response = json!({ "choices": [{ "index": 0, "finish_reason": "tool_calls", "message": {
//!     "role": "assistant",
//!     "tool_calls": [{
//!         "id": "call_1",
//!         "type": "function",
//!         "function": { "name": "add", "arguments": "{\"a\": 2, \"b\": 3}" },
//!     }],
//! }}]});
//! let response = openai.read(&response)?;
//! let outcomes = Executor::new(tools).run(response.calls.clone()).await;
//! // The next request: the previous messages, the assistant message, and the results.
//! let mut body = openai.body(json!({ "messages": [{ "role": "user", "content": "2 + 3?" }] }))?;
//! openai.append(&mut body, &response, &outcomes);
//! assert_eq!(
//!     json!(body)["messages"][2],
//!     json!({ "role": "tool", "tool_call_id": "call_1", "content": "5" }),
//! );
//! # Ok::<(), anyhow::Error>(())
//! # })?;
//! # Ok::<(), anyhow::Error>(())
//! ```
//!
//! # Unsupported keywords
//!
//! No keyword is dropped silently. A keyword of a schema that a provider does not support is moved into the
//! description of the value that it constrains, and is reported as a [`Diagnostic`](crate::diagnostic::Diagnostic);
//! calls are validated by the tool's own schema in any case. A tool that cannot be sent at all is left out, with a
//! diagnostic of [`Severity::Error`](crate::diagnostic::Severity::Error). [`lint`] returns the diagnostics of all
//! dialects, and [`assert_portable`] fails a test if one of them is an error.
//!
//! | dialect | supports | handling of the rest |
//! | --- | --- | --- |
//! | `openai-chat`, `openai-responses` | all keywords, in a root object | a root with alternatives is wrapped in one argument and unwrapped from calls; tuples declare `items` |
//! | the same with `-strict` | [these](https://platform.openai.com/docs/guides/structured-outputs#supported-schemas) keywords, 10 levels, 5,000 properties, 1,000 enum values | optional properties are required and nullable; constraints move into descriptions; tuples become lists; a tool with a map or an untyped value is sent with `strict: false` |
//! | `anthropic` | all keywords, in a root object with plain property names | as for OpenAI |
//! | `anthropic-strict` | [these](https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations) keywords, 20 tools | constraints move into descriptions; tuples become lists; a tool with a map, an untyped value or a recursive type is sent without `strict`, and so are the tools after the first 20 |
//! | `gemini` | [these](https://pub.dev/documentation/google_cloud_aiplatform_v1beta1/latest/aiplatform/GenerationConfig/responseJsonSchema.html) keywords | constraints move into descriptions; `oneOf` becomes `anyOf`; `propertyOrdering` is added |
//! | `gemini-schema` | the fields of [`Schema`](https://ai.google.dev/api/caching#Schema) | as `gemini`; references are inlined, recursive ones three levels deep; a tool with a map or an untyped value is left out |
//! | `mcp` | all | results that are not objects are wrapped in `result` |
//!
//! # Stop reasons
//!
//! A response can end before the model has finished it. Its last call is then cut off, and so is each call that
//! the provider marks as incomplete or whose arguments are not a complete JSON object; earlier calls are
//! complete. A call that was cut off is [marked](crate::ToolCall::incomplete) with the stop reason, answered by
//! an executor with [`ErrorKind::Incomplete`](crate::ErrorKind::Incomplete), and never run. This applies to
//! whole responses, to streams, and to streams that end without their final event.
//!
//! | dialect | all calls are complete after | also cut off |
//! | --- | --- | --- |
//! | `openai-chat` | `stop`, `tool_calls`, `function_call`; from other servers `tool_call`, `tool_use`, `end_turn`, `eos`, `eos_token`, `complete` | |
//! | `openai-responses` | the status `completed` | an item whose status is not `completed`, or without a `done` event |
//! | `anthropic` | `tool_use`, `end_turn`, `pause_turn` | a block without a stop event |
//! | `gemini` | `STOP` | a call with `willContinue` |
//! | `mcp` | (each request is complete) | |
//!
//! Reasons are compared without case. Any other reason, known or unknown, means that the response is not
//! finished: an interrupted call must not run. For a server whose reason means the opposite, a program removes
//! the mark: `call.incomplete = None`.
//!
//! Some servers send no reason at all (absent, `null` or empty). A call in such a whole response is complete if
//! its arguments are a complete JSON object; empty arguments count as cut off, since nothing shows that the
//! model had written them.
//!
//! # Examples of arguments
//!
//! Example arguments are sent in [Anthropic's
//! `input_examples`](https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools); for the other
//! providers, they are appended to the description.

mod assembler;
mod body;
mod bound;
mod budget;
mod content;
mod conversation;
mod draft;
mod error;
mod exports;
mod history;
mod json;
mod json_path;
#[cfg(feature = "lint")]
mod lint;
mod location_path;
mod names;
mod partial_calls;
mod provider;
mod reading;
mod request;
mod schema;
mod stop;
mod thinking;
mod usage;

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;

#[cfg(feature = "lint")]
pub use self::lint::{assert_portable, lint};
pub use self::{
    assembler::{AssembledResponse, Assembler, Delta},
    body::RequestBody,
    bound::BoundTools,
    error::DialectError,
    json::Json,
    provider::{Provider, ToolSelection, providers},
    request::{RequestError, RequestTarget},
    thinking::Thinking,
    usage::Usage,
};
use self::{
    exports::Exports,
    provider::{Anthropic, Gemini, Mcp, OpenAiChat, OpenAiResponses, Wire, wire_formats},
};
use crate::{Registry, registry::RegistryIdentity};

/// The wire format of one provider. Cheap to clone.
///
/// A dialect caches its last binding: binding it again to the same registry, or to a registry that shares most
/// tools with it, is cheap. Create it once and keep it for the lifetime of the program.
#[derive(Clone)]
pub struct Dialect {
    wire: Wire,
    prefix: Arc<str>,
    native: Arc<[Value]>,
    last: Arc<Mutex<Option<CachedExports>>>,
}

/// The cache of the last binding: it outlives the registry and its provided values.
struct CachedExports {
    of: RegistryIdentity,
    exports: Arc<Exports>,
}

impl Dialect {
    fn new(wire: Wire) -> Self {
        Self { wire, prefix: "".into(), native: Arc::default(), last: Arc::default() }
    }

    /// Creates the dialect of OpenAI's [chat
    /// completions](https://platform.openai.com/docs/api-reference/chat/create) and of compatible servers.
    pub fn openai_chat() -> Self {
        Self::new(&OpenAiChat { strict: false })
    }

    /// Creates the dialect of OpenAI's chat completions with strict schemas, which the provider enforces.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::{dialect::Dialect, prelude::*};
    ///
    /// /// Forecasts the weather.
    /// #[tool]
    /// fn forecast(
    ///     /// The city.
    ///     city: String,
    ///     /// Days ahead.
    ///     days: Option<u8>,
    /// ) -> String {
    ///     format!("{city}: {days:?}")
    /// }
    ///
    /// let tools = Registry::builder().tool::<forecast>().build()?;
    /// let strict = Dialect::openai_chat_strict().bind_tools(&tools);
    /// let parameters = &strict.definitions()[0]["function"]["parameters"];
    /// assert_eq!(parameters["required"], json!(["city", "days"]));
    /// assert_eq!(parameters["properties"]["days"]["type"], json!(["integer", "null"]));
    /// // `null` from the model means absent.
    /// let fits = tools.check("forecast", r#"{ "city": "Paris", "days": null }"#);
    /// assert!(fits.is_ok());
    /// # Ok::<(), tool_runtime::registry::BuildError>(())
    /// ```
    pub fn openai_chat_strict() -> Self {
        Self::new(&OpenAiChat { strict: true })
    }

    /// Creates the dialect of OpenAI's
    /// [responses](https://platform.openai.com/docs/api-reference/responses/create).
    pub fn openai_responses() -> Self {
        Self::new(&OpenAiResponses { strict: false })
    }

    /// Creates the dialect of OpenAI's responses with strict schemas, which the provider enforces.
    pub fn openai_responses_strict() -> Self {
        Self::new(&OpenAiResponses { strict: true })
    }

    /// Creates the dialect of Anthropic's [messages](https://docs.anthropic.com/en/api/messages).
    pub fn anthropic() -> Self {
        Self::new(&Anthropic { strict: false })
    }

    /// Creates the dialect of Anthropic's messages with [strict
    /// schemas](https://platform.claude.com/docs/en/agents-and-tools/tool-use/strict-tool-use), which the
    /// provider enforces.
    ///
    /// Limits per request: 20 strict tools, which may have 24 optional properties and 16 values of several
    /// types in all. Tools beyond a limit, by name, are sent without `strict` and reported as diagnostics.
    pub fn anthropic_strict() -> Self {
        Self::new(&Anthropic { strict: true })
    }

    /// Creates the dialect of Gemini's [`generateContent`](https://ai.google.dev/api/generate-content), with
    /// JSON Schema.
    pub fn gemini() -> Self {
        Self::new(&Gemini { json_schema: true })
    }

    /// Creates the dialect of Gemini's `generateContent` with Gemini's own, simpler schema format.
    pub fn gemini_schema() -> Self {
        Self::new(&Gemini { json_schema: false })
    }

    /// Creates the dialect of the Model Context Protocol's [`tools/list` and
    /// `tools/call`](https://modelcontextprotocol.io/specification/2025-11-25/server/tools).
    pub fn mcp() -> Self {
        Self::new(&Mcp)
    }

    /// Returns every dialect.
    pub fn all() -> Vec<Self> {
        wire_formats().into_iter().map(Self::new).collect()
    }

    /// Returns the name of the dialect, as used in diagnostics.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.wire.name()
    }

    /// Returns the HTTP API of the provider; `None` for MCP.
    #[must_use]
    pub fn provider(&self) -> Option<&'static dyn Provider> {
        self.wire.provider()
    }

    /// Sets a prefix for the name of each tool on the wire, which is removed from the names of calls. Default:
    /// none. A name that becomes too long or has characters that the provider rejects is rewritten, with a hash
    /// at its end.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tool_runtime::{dialect::Dialect, prelude::*};
    /// # /// Adds.
    /// # #[tool]
    /// # fn add(a: i64, b: i64) -> i64 { a + b }
    /// let tools = Registry::builder().tool::<add>().build()?;
    /// let bound = Dialect::anthropic().with_prefix("math__").bind_tools(&tools);
    /// assert_eq!(bound.definitions()[0]["name"], "math__add");
    /// assert_eq!(bound.tool_name("math__add"), "add");
    /// # Ok::<(), tool_runtime::registry::BuildError>(())
    /// ```
    #[must_use]
    pub fn with_prefix(self, prefix: impl Into<Arc<str>>) -> Self {
        Self { prefix: prefix.into(), last: Arc::default(), ..self }
    }

    /// Adds a native tool of the provider, such as a web search; its definition is sent unchanged, after the
    /// tools of the registry.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tool_runtime::{dialect::Dialect, prelude::*};
    /// # /// Adds.
    /// # #[tool]
    /// # fn add(a: i64, b: i64) -> i64 { a + b }
    /// let tools = Registry::builder().tool::<add>().build()?;
    /// let gemini = Dialect::gemini().with_native(json!({ "googleSearch": {} })).bind_tools(&tools);
    /// assert_eq!(gemini.definitions()[0]["functionDeclarations"][0]["name"], "add");
    /// assert_eq!(gemini.definitions()[1], json!({ "googleSearch": {} }));
    /// # Ok::<(), tool_runtime::registry::BuildError>(())
    /// ```
    #[must_use]
    pub fn with_native(self, tool: Value) -> Self {
        let native = self.native.iter().cloned().chain([tool]).collect();
        Self { native, last: Arc::default(), ..self }
    }

    /// Binds the tools of `registry` to this dialect.
    #[must_use]
    pub fn bind_tools(&self, registry: &Registry) -> BoundTools {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let exports = match &*last {
            // Comparing the identity needs no access to the contents.
            Some(CachedExports { of, exports })
                if of.is_of(registry) || exports.have_definitions_of(registry) =>
            {
                Arc::clone(exports)
            }
            before => {
                let before = before.as_ref().map(|last| &*last.exports);
                Arc::new(Exports::new(self.wire, registry, &self.prefix, &self.native, before))
            }
        };
        *last = Some(CachedExports { of: registry.identity(), exports: Arc::clone(&exports) });
        drop(last);
        BoundTools::new(self.wire, exports, registry.clone())
    }
}

impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Dialect").field(&self.name()).finish()
    }
}
