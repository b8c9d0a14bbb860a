//! The wires of providers: how tools are told to a model, how it calls them, how it is answered.
//!
//! A [`Dialect`] is bound to a registry; what comes of it is [`BoundTools`]: [definitions](BoundTools::definitions) out,
//! responses in, [whole](BoundTools::read) or [assembled](BoundTools::assembler) from a stream, and
//! [messages](BoundTools::append) out. All of it is JSON, so that any HTTP client or SDK will do.
//!
//! ```
//! use tool_runtime::{Executor, dialect::Dialect, prelude::*};
//!
//! /// Adds two numbers.
//! #[tool]
//! fn add(
//!     /// The one.
//!     a: i64,
//!     /// The other.
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
//! // What the provider answers to a request with these `tools`.
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
//! // The next request: what it had, the assistant message, and the results.
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
//! # What is lost
//!
//! Nothing in silence. What a provider does not take of a schema is said in words in the description of
//! the value it is about, and is a [`Finding`]; the runtime checks calls by the tool's own schema in any case. A
//! tool that cannot be sent at all is left out, with a finding of [`Severity::Error`]. [`lint`] lists the
//! findings of all dialects, and [`assert_portable`] holds a test to them.
//!
//! | dialect | takes | what is done about the rest |
//! | --- | --- | --- |
//! | `openai-chat`, `openai-responses` | all, below a root that is an object | a root that is a choice goes into one argument, and comes out again; tuples say their items |
//! | the same with `-strict` | [these](https://platform.openai.com/docs/guides/structured-outputs#supported-schemas) keywords, 10 levels, 5,000 properties, 1,000 values of enums | what may be absent may be `null`; constraints in words; tuples as lists; a tool with a map or with any value is sent with `strict: false` |
//! | `anthropic` | all, below a root that is an object with plain names | as for OpenAI |
//! | `anthropic-strict` | [these](https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations) keywords, 20 tools | constraints in words; tuples as lists; a tool with a map, with any value or that holds itself is sent without `strict`, and so is what comes after the first 20 |
//! | `gemini` | [these](https://pub.dev/documentation/google_cloud_aiplatform_v1beta1/latest/aiplatform/GenerationConfig/responseJsonSchema.html) keywords | constraints in words, `oneOf` as `anyOf`, `propertyOrdering` |
//! | `gemini-schema` | the fields of [`Schema`](https://ai.google.dev/api/caching#Schema) | as `gemini`; references written out, recursion three levels deep; a tool with a map or with any value is left out |
//! | `mcp` | all | results that are no object, under `result` |
//!
//! # Stop reasons
//!
//! A response can end before the model has finished it. Its last call is then cut off, and so is each call that the
//! provider marks as incomplete or whose arguments are not a complete JSON object; earlier calls are whole. A call that was
//! cut off is [marked](crate::ToolCall::incomplete) with the stop reason, answered by an executor with
//! [`ErrorKind::Incomplete`](crate::ErrorKind::Incomplete), and never run. This holds for a whole response, for a stream,
//! and for a stream that ends without its last event.
//!
//! | dialect | all calls are whole after | is cut off as well |
//! | --- | --- | --- |
//! | `openai-chat` | `stop`, `tool_calls`, `function_call`; of other servers `tool_call`, `tool_use`, `end_turn`, `eos`, `eos_token`, `complete` | |
//! | `openai-responses` | the status `completed` | an item whose status is not `completed`, or that is not done |
//! | `anthropic` | `tool_use`, `end_turn`, `pause_turn` | a block that did not stop |
//! | `gemini` | `STOP` | a call that `willContinue` |
//! | `mcp` | (each request is whole) | |
//!
//! Reasons are compared without case. Any other reason, also one that is not known, means that the response is not
//! finished: what it means is not known either, and an interrupted call must not run. For a server whose reason means the
//! opposite, a program removes the mark: `call.incomplete = None`.
//!
//! Some servers give no reason at all (absent, `null` or empty). A call in a whole response of theirs is whole if its
//! arguments are a complete JSON object; empty ones are cut off, since nothing shows that the model had written them.
//!
//! Examples of arguments are sent where the provider has a place for them, which is [Anthropic's
//! `input_examples`](https://platform.claude.com/docs/en/agents-and-tools/tool-use/define-tools); for the others, they stand
//! in the description.

mod assembler;
mod body;
mod bound;
mod budget;
pub(crate) mod content;
mod draft;
mod error;
mod exports;
mod finding;
mod json;
mod json_path;
mod lint;
mod names;
mod reading;
mod request;
mod schema;
mod slots;
mod stop;
mod usage;
mod wire;

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;

pub use self::{
    assembler::{AssembledResponse, Assembler, Delta},
    body::RequestBody,
    bound::BoundTools,
    error::DialectError,
    finding::{Finding, Severity},
    json::Json,
    lint::{assert_portable, lint},
    request::{RequestError, RequestTarget},
    usage::Usage,
};
use self::{exports::Exports, wire::Wire};
use crate::{Registry, registry::Identity};

/// One provider's wire. Cheap to clone.
///
/// It remembers what it was bound to last, so that to bind it again, to the same registry or to one that has
/// most tools in common with it, costs little; keep one for the life of a program.
#[derive(Clone)]
pub struct Dialect {
    wire: Wire,
    prefix: Arc<str>,
    native: Arc<[Value]>,
    last: Arc<Mutex<Option<Last>>>,
}

/// What a dialect was bound to last: it outlives that set, and the values in it.
struct Last {
    of: Identity,
    exports: Arc<Exports>,
}

impl Dialect {
    fn new(wire: Wire) -> Self {
        Self { wire, prefix: "".into(), native: Arc::default(), last: Arc::default() }
    }

    /// OpenAI's [chat completions](https://platform.openai.com/docs/api-reference/chat/create), and whoever
    /// speaks as they do.
    pub fn openai_chat() -> Self {
        Self::new(Wire::OpenAiChat { strict: false })
    }

    /// The same, where the provider holds the model to the schemas.
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
    /// // What comes back as `null` is absent.
    /// let fits = tools.check("forecast", r#"{ "city": "Paris", "days": null }"#);
    /// assert!(fits.is_ok());
    /// # Ok::<(), tool_runtime::registry::BuildError>(())
    /// ```
    pub fn openai_chat_strict() -> Self {
        Self::new(Wire::OpenAiChat { strict: true })
    }

    /// OpenAI's [responses](https://platform.openai.com/docs/api-reference/responses/create).
    pub fn openai_responses() -> Self {
        Self::new(Wire::OpenAiResponses { strict: false })
    }

    /// The same, where the provider holds the model to the schemas.
    pub fn openai_responses_strict() -> Self {
        Self::new(Wire::OpenAiResponses { strict: true })
    }

    /// Anthropic's [messages](https://docs.anthropic.com/en/api/messages).
    pub fn anthropic() -> Self {
        Self::new(Wire::Anthropic { strict: false })
    }

    /// The same, where the provider [holds the model to the
    /// schemas](https://platform.claude.com/docs/en/agents-and-tools/tool-use/strict-tool-use).
    ///
    /// It does so for 20 tools of a request, which may have 24 properties that may be absent and 16 values of
    /// several types among them; those that come after, by name, are sent without `strict`, and found.
    pub fn anthropic_strict() -> Self {
        Self::new(Wire::Anthropic { strict: true })
    }

    /// Gemini's [`generateContent`](https://ai.google.dev/api/generate-content), with JSON Schema.
    pub fn gemini() -> Self {
        Self::new(Wire::Gemini { json_schema: true })
    }

    /// The same with Gemini's own, simpler form of schemas.
    pub fn gemini_schema() -> Self {
        Self::new(Wire::Gemini { json_schema: false })
    }

    /// The Model Context Protocol's [`tools/list` and
    /// `tools/call`](https://modelcontextprotocol.io/specification/2025-11-25/server/tools).
    pub fn mcp() -> Self {
        Self::new(Wire::Mcp)
    }

    /// Every dialect there is.
    pub fn all() -> Vec<Self> {
        vec![
            Self::openai_chat(),
            Self::openai_chat_strict(),
            Self::openai_responses(),
            Self::openai_responses_strict(),
            Self::anthropic(),
            Self::anthropic_strict(),
            Self::gemini(),
            Self::gemini_schema(),
            Self::mcp(),
        ]
    }

    /// What the dialect is called in findings.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.wire.name()
    }

    /// Writes `prefix` before the name of each tool, and takes it away from the names of calls. What that makes too
    /// long, or what the provider does not take, is rewritten, with a hash at its end.
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

    /// Adds a tool of the provider's own, such as a search: it is sent as it is, after those of the registry.
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

    /// Brings the tools of `registry` into this dialect.
    #[must_use]
    pub fn bind_tools(&self, registry: &Registry) -> BoundTools {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let exports = match &*last {
            // To be the same set takes no look at what is in it.
            Some(Last { of, exports }) if of.is_of(registry) || exports.are_of(registry) => {
                Arc::clone(exports)
            }
            before => {
                let before = before.as_ref().map(|last| &*last.exports);
                Arc::new(Exports::new(self.wire, registry, &self.prefix, &self.native, before))
            }
        };
        *last = Some(Last { of: registry.identity(), exports: Arc::clone(&exports) });
        drop(last);
        BoundTools::new(self.wire, exports, registry.clone())
    }
}

impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Dialect").field(&self.name()).finish()
    }
}
