//! The tools of a registry in a dialect.

use std::{borrow::Cow, fmt, sync::Arc};

use serde::{Deserialize, Deserializer, de::MapAccess};
use serde_json::{Value, value::RawValue};
use tool_core::{Arguments, RequestAdditions, RequestMessages, RunContext};

use super::{
    AssembledResponse, Assembler, DialectError, Json, RequestBody,
    error::JsonLocation,
    exports::{Exports, OutputForm},
    provider::Wire,
    reading::ResponseReading,
    request::{self, RequestError, RequestTarget},
};
use crate::{CallOutcome, Registry, ToolCall, ToolResult, diagnostic::Diagnostic};

/// The tools of a registry, bound to a [`Dialect`](super::Dialect): definitions for requests, calls of
/// responses, and messages with results. Cheap to clone.
#[derive(Clone)]
pub struct BoundTools {
    wire: Wire,
    exports: Arc<Exports>,
    pub(super) registry: Registry,
}

impl BoundTools {
    pub(super) fn new(wire: Wire, exports: Arc<Exports>, registry: Registry) -> Self {
        Self { wire, exports, registry }
    }

    /// Returns the tools in the format of a request, sorted by name; native tools of the provider follow.
    #[must_use]
    pub fn definitions(&self) -> &Value {
        self.exports.definitions()
    }

    /// Returns the [definitions](Self::definitions) as JSON text, written once.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tool_runtime::{dialect::Dialect, prelude::*};
    /// # /// Adds.
    /// # #[tool]
    /// # fn add(a: i64, b: i64) -> i64 { a + b }
    /// let tools = Registry::builder().tool::<add>().build()?;
    /// let bound = Dialect::anthropic().bind_tools(&tools);
    /// assert_eq!(bound.definitions_json(), bound.definitions().to_string());
    /// # Ok::<(), tool_runtime::registry::BuildError>(())
    /// ```
    #[must_use]
    pub fn definitions_json(&self) -> &str {
        self.exports.json()
    }

    /// Returns `request` with the tools of the registry, after its own tools, and with the additions of each
    /// [`RequestHook`](crate::request::RequestHook), in registration order (of the program, the toolbox, then
    /// each toolset), and of each tool's [`on_request`](tool_core::Tool::on_request), in the order of the
    /// tools' names.
    ///
    /// Native tools are added after the others, instructions below existing instructions, messages after all
    /// messages. Tools and instructions that are already present are not added again. In a loop, pass a copy of
    /// the [body](Self::body) for each request, so that additions apply to that request only.
    ///
    /// - OpenAI, chat completions: instructions are in the first of `messages` if its role is system or
    ///   developer; otherwise in a new message before it.
    /// - OpenAI, responses: in `instructions`. MCP: in `instructions` in the `_meta` of the listing; a server
    ///   sends them when it is initialized.
    /// - Anthropic: in `system`. Gemini: in `systemInstruction`.
    ///
    /// # Errors
    ///
    /// Returns an error if the request is not an object, its `tools` are not a list, or an addition has no
    /// place in it; if a tool or a hook fails or panics (the error contains its name); or if the run is
    /// cancelled.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tool_runtime::{RunContext, dialect::Dialect, prelude::*};
    /// # /// Adds.
    /// # #[tool]
    /// # fn add(a: i64, b: i64) -> i64 { a + b }
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let tools = Registry::builder().tool::<add>().build()?;
    /// let request = json!({ "model": "claude", "messages": [] });
    /// let request = Dialect::anthropic().bind_tools(&tools).build_request(request, RunContext::new()).await?;
    /// assert_eq!(request["tools"][0]["name"], "add");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// # })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub async fn build_request<R: RequestTarget>(
        &self,
        request: R,
        run: impl Into<Arc<RunContext>>,
    ) -> Result<R, RequestError> {
        let mut request = request;
        self.declare_tools(&mut request)?;
        let additions = self.collect_additions(&mut request, run).await?;
        Ok(self.apply_additions(request, additions)?)
    }

    /// Adds the tools of the registry to `request`, after its own tools: the first step of
    /// [`build_request`](Self::build_request).
    ///
    /// # Errors
    ///
    /// Returns an error if the request is not an object, or its `tools` are not a list.
    pub fn declare_tools<R: RequestTarget>(&self, request: &mut R) -> Result<(), DialectError> {
        request::declare_tools(self, request)
    }

    /// Asks each hook and each tool for additions to `request`, which they see and which stays as it is: the second step
    /// of [`build_request`](Self::build_request), for a program that looks at the additions.
    ///
    /// # Errors
    ///
    /// Returns an error if a hook or a tool fails or panics, or if the run is cancelled.
    pub async fn collect_additions<R: RequestTarget>(
        &self,
        request: &mut R,
        run: impl Into<Arc<RunContext>>,
    ) -> Result<RequestAdditions, RequestError> {
        self.collect_additions_with(request, run, RequestMessages::default()).await
    }

    /// Puts additions in their places in `request`: the last step of [`build_request`](Self::build_request).
    ///
    /// # Errors
    ///
    /// Returns an error if the request has no place for an addition.
    pub fn apply_additions<R: RequestTarget>(
        &self,
        request: R,
        additions: RequestAdditions,
    ) -> Result<R, DialectError> {
        request::apply_additions(self, request, additions)
    }

    /// Returns the changes that the dialect made to the tools, and the definitions that it cannot represent.
    #[must_use]
    pub fn diagnostics(&self) -> &[Diagnostic] {
        &self.exports.diagnostics
    }

    /// Estimates the number of tokens that the [definitions](Self::definitions) add to every request: [four
    /// characters per token](https://openai.com/api/pricing/#faq-token), one for non-ASCII characters.
    /// Providers reformat definitions for their models, so the actual number differs.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tool_runtime::{dialect::Dialect, prelude::*};
    /// # /// Adds.
    /// # #[tool]
    /// # fn add(a: i64, b: i64) -> i64 { a + b }
    /// let tools = Registry::builder().tool::<add>().build()?;
    /// let bound = Dialect::anthropic().bind_tools(&tools);
    /// assert!((20..100).contains(&bound.estimated_tokens()));
    /// # Ok::<(), tool_runtime::registry::BuildError>(())
    /// ```
    #[must_use]
    pub fn estimated_tokens(&self) -> usize {
        self.exports.tokens
    }

    /// Reads the calls of a whole response, in the order of the response.
    ///
    /// Calls with invalid JSON arguments or an unknown tool are included: the call itself fails with an error
    /// for the model. A call that the end of the response [cut off](super#stop-reasons) is
    /// [marked](ToolCall::incomplete): an executor answers it without running it.
    ///
    /// # Errors
    ///
    /// Returns an error if the response does not have the provider's format.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tool_runtime::{Executor, dialect::Dialect, prelude::*};
    /// # /// Deletes one file, or all.
    /// # #[tool]
    /// # fn delete(file: Option<String>) -> String { file.unwrap_or_default() }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let tools = Registry::builder().tool::<delete>().build()?;
    /// let response = json!({
    ///     "content": [{ "type": "tool_use", "id": "toolu_1", "name": "delete", "input": {} }],
    ///     "stop_reason": "max_tokens",
    /// });
    /// let calls = Dialect::anthropic().bind_tools(&tools).calls(&response)?;
    /// let outcomes = Executor::new(tools).run(calls).await;
    /// assert_eq!(
    ///     outcomes[0].result().unwrap().text(),
    ///     "Incomplete: the response ended (`max_tokens`) before this call did. Nothing was executed.",
    /// );
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn calls<J: Json + ?Sized>(&self, response: &J) -> Result<Vec<ToolCall>, DialectError> {
        Ok(self.read(response)?.calls)
    }

    /// Reads a whole response: its calls, assistant message, text, token counts and stop reason. A part that cannot be
    /// read is left out, with a [diagnostic](AssembledResponse::diagnostics).
    ///
    /// # Errors
    ///
    /// Returns an error if the response does not have the provider's format.
    ///
    /// # Examples
    ///
    /// ```
    /// # use tool_runtime::{dialect::Dialect, prelude::*};
    /// # let tools = Registry::builder().build()?;
    /// let response = r#"{
    ///     "role": "assistant",
    ///     "content": [{ "type": "text", "text": "Hello." }],
    ///     "stop_reason": "end_turn",
    ///     "usage": { "input_tokens": 12, "output_tokens": 3 }
    /// }"#;
    /// let read = Dialect::anthropic().bind_tools(&tools).read(response)?;
    /// assert_eq!((read.text.as_str(), read.stop_reason.as_deref()), ("Hello.", Some("end_turn")));
    /// assert_eq!(read.usage.and_then(|usage| usage.output), Some(3));
    /// let message = r#"{"role":"assistant","content":[{"type":"text","text":"Hello."}]}"#;
    /// assert_eq!(read.message.unwrap().get(), message);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read<J: Json + ?Sized>(&self, response: &J) -> Result<AssembledResponse, DialectError> {
        let mut reading = ResponseReading::default();
        self.wire.read_response(&JsonLocation::root(&response.to_exact()?), &mut reading)?;
        reading.partial_calls.end_response();
        Ok(reading.into_response(self))
    }

    /// Creates an assembler for the events of a streamed response.
    pub fn assembler(&self) -> Assembler {
        Assembler::new(self.clone())
    }

    /// Returns the results as messages to add to the next request, in the order of `results`:
    ///
    /// - OpenAI, chat completions: a list of messages; images and audio are in one user message after them.
    /// - OpenAI, responses: a list of input items.
    /// - Anthropic: one message. Gemini: one content.
    /// - MCP: a list of results, one for each call.
    #[must_use]
    pub fn results(&self, results: &[ToolResult]) -> Value {
        self.wire.result_messages(self, results)
    }

    /// Creates the body of a request, to which [`append`](Self::append) adds messages.
    ///
    /// # Errors
    ///
    /// Returns an error if `fields` is not an object, its messages are not a list, or the dialect is MCP, which
    /// has no messages.
    pub fn body(&self, fields: Value) -> Result<RequestBody, DialectError> {
        RequestBody::new(self.wire, fields)
    }

    /// Appends the assistant message of a response, unchanged, and the [results](Self::results) of its calls,
    /// in the order of `outcomes`, to a request. An outcome [without a result](CallOutcome::result) adds
    /// nothing, and a pending outcome adds its [interim result](crate::call::Pending::result). Providers
    /// require exactly one result for each call: before appending, replace such an outcome with
    /// [`CallOutcome::Finished`] and the result of [`Executor::submit_result`](crate::Executor::submit_result),
    /// or with the outcome of [`Executor::resume`](crate::Executor::resume).
    ///
    /// # Examples
    ///
    /// ```
    /// # use tool_runtime::{Executor, dialect::Dialect, prelude::*};
    /// # /// Adds.
    /// # #[tool]
    /// # fn add(a: i64, b: i64) -> i64 { a + b }
    /// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
    /// let tools = Registry::builder().tool::<add>().build()?;
    /// let anthropic = Dialect::anthropic().bind_tools(&tools);
    /// let mut body = anthropic.body(json!({ "messages": [{ "role": "user", "content": "2 + 3?" }] }))?;
    /// let response = anthropic.read(&json!({
    ///     "role": "assistant",
    ///     "content": [{ "type": "tool_use", "id": "toolu_1", "name": "add", "input": { "a": 2, "b": 3 } }],
    ///     "stop_reason": "tool_use",
    /// }))?;
    /// let outcomes = Executor::new(tools).run(response.calls.clone()).await;
    /// anthropic.append(&mut body, &response, &outcomes);
    /// assert_eq!(json!(body)["messages"][2]["content"][0]["tool_use_id"], "toolu_1");
    /// # Ok::<(), anyhow::Error>(())
    /// # })?;
    /// # Ok::<(), anyhow::Error>(())
    /// ```
    pub fn append(&self, body: &mut RequestBody, response: &AssembledResponse, outcomes: &[CallOutcome]) {
        let results: Vec<_> = outcomes.iter().filter_map(|outcome| outcome.result().cloned()).collect();
        body.append_raw(response.message.as_deref());
        if !results.is_empty() {
            body.append_raw(serde_json::value::to_raw_value(&self.results(&results)).ok().as_deref());
        }
    }

    /// Returns the name of a tool on the provider's wire. An unknown name that the provider does not accept is
    /// rewritten, so that a call of the model with such a name can be sent back.
    #[must_use]
    pub fn wire_name<'n>(&'n self, tool: &'n str) -> Cow<'n, str> {
        let name = self.exports.names.wire_name(tool);
        let rule = self.wire.name_rule();
        if rule.is_valid(name) { name.into() } else { rule.rewritten(name, 0).into() }
    }

    /// Returns the name of the tool with a wire name; an unknown name is returned unchanged.
    #[must_use]
    pub fn tool_name<'n>(&'n self, wire_name: &'n str) -> &'n str {
        self.exports.names.own_name(wire_name)
    }

    pub(super) fn format(&self) -> Wire {
        self.wire
    }

    /// Returns `true` if calls of that name belong to a native tool with a free-text argument.
    pub(super) fn is_custom(&self, name: &str) -> bool {
        self.exports.custom.iter().any(|it| it == name)
    }

    /// Returns `true` if a tool of the registry has this name on the wire.
    pub(super) fn is_tool(&self, wire_name: &str) -> bool {
        self.exports.export(self.tool_name(wire_name)).is_some()
    }

    pub(super) fn output_form(&self, tool: &str) -> OutputForm {
        self.exports.export(tool).map_or(OutputForm::Unspecified, |it| it.output)
    }

    /// Returns the name of the argument that contains the arguments of a tool on the wire, if they are wrapped.
    pub(super) fn wrapping_argument(&self, tool: &str) -> Option<&str> {
        self.exports.export(tool)?.within.as_deref()
    }

    /// Returns the arguments on which an executor runs a call whose arguments are not JSON; `None` if it does not.
    pub(super) fn repaired_arguments(&self, call: &ToolCall) -> Option<Arguments<'static>> {
        let entry = self.registry.entry(&call.name).filter(|_| call.incomplete.is_none())?;
        entry.repaired_arguments(&call.arguments)
    }

    /// Creates a call with the tool's own name and arguments.
    pub(super) fn tool_call(
        &self,
        id: Option<&str>,
        wire_name: &str,
        arguments: Arguments<'static>,
    ) -> ToolCall {
        let name = self.tool_name(wire_name);
        let within = self.exports.export(name).and_then(|it| it.within.as_deref());
        let arguments = match within.and_then(|within| unwrapped_arguments(arguments.as_str(), within)) {
            Some(held) => held.into(),
            None => arguments,
        };
        ToolCall::new(name, arguments).with_id(id.unwrap_or_default())
    }
}

impl fmt::Debug for BoundTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BoundTools")
            .field("dialect", &self.wire.name())
            .field("tools", &self.exports.tools.len())
            .finish()
    }
}

/// Returns the text of the only argument if it is `within`, with its original spelling.
fn unwrapped_arguments(arguments: &str, within: &str) -> Option<String> {
    let SingleProperty(name, held) = serde_json::from_str(arguments).ok()?;
    (name == within).then(|| held.get().to_owned())
}

/// An object with one property.
struct SingleProperty<'a>(Cow<'a, str>, &'a RawValue);

impl<'de> Deserialize<'de> for SingleProperty<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = SingleProperty<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with one property")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SingleProperty<'de>, A::Error> {
                let first = map.next_entry::<String, &'de RawValue>()?;
                let second = map.next_key::<String>()?;
                let only = first.filter(|_| second.is_none());
                let (name, held) = only.ok_or_else(|| serde::de::Error::custom("not one property"))?;
                Ok(SingleProperty(Cow::Owned(name), held))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}
