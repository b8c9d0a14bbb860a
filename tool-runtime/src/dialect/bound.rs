//! The tools of a registry in a dialect.

use std::{borrow::Cow, fmt, sync::Arc};

use serde::{Deserialize, Deserializer, de::MapAccess};
use serde_json::{Value, value::RawValue};
use tool_core::{Arguments, RunContext};

use super::{
    AssembledResponse, Assembler, DialectError, Finding, Json, RequestBody,
    error::At,
    exports::{Exports, OutputForm},
    reading::Reading,
    request::{self, RequestError, RequestTarget},
    wire::Wire,
};
use crate::{CallOutcome, Registry, ToolCall, ToolResult};

/// The tools of a registry in a [`Dialect`](super::Dialect). Cheap to clone.
#[derive(Clone)]
pub struct BoundTools {
    wire: Wire,
    exports: Arc<Exports>,
    registry: Registry,
}

impl BoundTools {
    pub(super) fn new(wire: Wire, exports: Arc<Exports>, registry: Registry) -> Self {
        Self { wire, exports, registry }
    }

    /// The tools as the provider wants them in a request, sorted by name; those of the provider's own come after.
    #[must_use]
    pub fn definitions(&self) -> &Value {
        &self.exports.definitions
    }

    /// Returns a request with the tools, after those that it has, and with what is added to it: what each
    /// [`RequestHook`](crate::request::RequestHook) adds, in the order in which the hooks were added (those of the program, of the
    /// toolbox, of each set), and then what each tool [adds](tool_core::Tool::on_request), in the order of their names.
    ///
    /// Tools of the provider's own come after the others, instructions below those that there are, messages after all
    /// messages. Tools and instructions that are there already are not put in again. In a loop, pack a copy of the
    /// [body](Self::body) for each request, so that what is added counts for this request alone.
    ///
    /// - OpenAI, chat completions: instructions are in the first of `messages`, if it is of the system or the developer, or
    ///   else before it.
    /// - OpenAI, responses: in `instructions`. MCP: likewise, in the `_meta` of the listing; a server tells of them when it
    ///   is initialized.
    /// - Anthropic: in `system`. Gemini: in `systemInstruction`.
    ///
    /// # Errors
    ///
    /// If the request is no object, its `tools` are no list, or what is added has no place in it; if a tool or a hook fails
    /// or panics, which the error names; or if the run is cancelled.
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
        request::build_request(self, &self.registry, request, run.into()).await
    }

    /// What the dialect changed in the tools, and what it cannot carry.
    #[must_use]
    pub fn findings(&self) -> &[Finding] {
        &self.exports.findings
    }

    /// About how many tokens of every request the [definitions](Self::definitions) are: [four characters
    /// each](https://openai.com/api/pricing/#faq-token), or one where they are not ASCII. Providers write
    /// definitions anew for their models, so that this is an estimate.
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

    /// The calls of a whole response, in the order of the response.
    ///
    /// A call whose arguments are no JSON, or whose tool is unknown, is a call like any other: what is
    /// wrong with it is found when it is made, and told to the model. A call that the end of the response
    /// [cut off](super#stop-reasons) is [marked](ToolCall::incomplete): an executor answers it and does not run it.
    ///
    /// # Errors
    ///
    /// If the response is not of the provider's shape.
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

    /// Reads a whole response: its calls, the assistant message, text, tokens and stop reason.
    ///
    /// # Errors
    ///
    /// If the response is not of the provider's shape.
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
        let mut reading = Reading::default();
        self.wire.read(&At::root(&response.exact()?), &mut reading)?;
        reading.slots.end();
        Ok(reading.finish(self))
    }

    /// Puts a response together from the events of a stream.
    pub fn assembler(&self) -> Assembler {
        Assembler::new(self.clone())
    }

    /// The answers, as the messages to be added to the next request, in the order of `results`:
    ///
    /// - OpenAI, chat completions: a list of messages; pictures and sounds are in one of the user's after them.
    /// - OpenAI, responses: a list of input items.
    /// - Anthropic: one message. Gemini: one content.
    /// - MCP: a list of results, one for each call.
    #[must_use]
    pub fn results(&self, results: &[ToolResult]) -> Value {
        self.wire.results(self, results)
    }

    /// The body of a request, to which [`append`](Self::append) adds messages.
    ///
    /// # Errors
    ///
    /// If `fields` is no object, its messages are no list, or the dialect is MCP, which has no messages.
    pub fn body(&self, fields: Value) -> Result<RequestBody, DialectError> {
        RequestBody::new(self.wire, fields)
    }

    /// Adds the assistant message of a response to a request, unchanged, and after it the [results](Self::results) of its
    /// calls, in the order of `outcomes`. An outcome [without a result](CallOutcome::result) adds nothing, and a pending
    /// one adds its [interim result](crate::call::Pending::result). Providers require exactly one result for each call: put
    /// [`CallOutcome::Finished`] with the result of [`Executor::submit_result`](crate::Executor::submit_result), or the outcome of
    /// [`Executor::resume`](crate::Executor::resume), in the place of such an outcome before it is added.
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
        body.add(response.message.as_deref());
        if !results.is_empty() {
            body.add(serde_json::value::to_raw_value(&self.results(&results)).ok().as_deref());
        }
    }

    /// The name by which the provider knows a tool.
    #[must_use]
    pub fn wire_name<'n>(&'n self, tool: &'n str) -> &'n str {
        self.exports.names.wire(tool)
    }

    /// The tool that the provider knows by a name; a name that is of none stays as it is.
    #[must_use]
    pub fn tool_name<'n>(&'n self, wire_name: &'n str) -> &'n str {
        self.exports.names.own(wire_name)
    }

    pub(super) fn wire(&self) -> Wire {
        self.wire
    }

    /// Whether calls of that name are of a tool of the provider's own that takes a text.
    pub(super) fn is_custom(&self, name: &str) -> bool {
        self.exports.custom.iter().any(|it| it == name)
    }

    pub(super) fn output_form(&self, tool: &str) -> OutputForm {
        self.exports.export(tool).map_or(OutputForm::Unsaid, |it| it.output)
    }

    /// One call, under the tool's own name and with its own arguments.
    pub(super) fn call(&self, id: Option<&str>, wire_name: &str, arguments: Arguments<'static>) -> ToolCall {
        let name = self.tool_name(wire_name);
        let within = self.exports.export(name).and_then(|it| it.within.as_deref());
        let arguments = match within.and_then(|within| held(arguments.as_str(), within)) {
            Some(held) => held.into(),
            None => arguments,
        };
        ToolCall::new(name, arguments).with_id(id.unwrap_or_default())
    }
}

impl fmt::Debug for BoundTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bound")
            .field("dialect", &self.wire.name())
            .field("tools", &self.exports.tools.len())
            .finish()
    }
}

/// What the only argument holds, if it is `within`, as it was written.
fn held(arguments: &str, within: &str) -> Option<String> {
    let Only(name, held) = serde_json::from_str(arguments).ok()?;
    (name == within).then(|| held.get().to_owned())
}

/// An object with one property.
struct Only<'a>(Cow<'a, str>, &'a RawValue);

impl<'de> Deserialize<'de> for Only<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Only<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with one property")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Only<'de>, A::Error> {
                let first = map.next_entry::<String, &'de RawValue>()?;
                let second = map.next_key::<String>()?;
                let only = first.filter(|_| second.is_none());
                let (name, held) = only.ok_or_else(|| serde::de::Error::custom("not one property"))?;
                Ok(Only(Cow::Owned(name), held))
            }
        }
        deserializer.deserialize_map(Visitor)
    }
}
