//! The assembly of a response from the events of a stream.

use std::fmt;

use serde_json::{Map, Value, value::RawValue};

use super::{BoundTools, DialectError, Json, Usage, error::JsonLocation, reading::ResponseReading};
use crate::{ToolCall, diagnostic::Diagnostic};

/// Assembles a response from the events of a stream.
///
/// An event is the JSON after `data:`; `[DONE]`, a blank text and a comment (`: keep-alive`) are ignored.
///
/// # Examples
///
/// ```
/// use tool_runtime::{dialect::{Delta, Dialect}, prelude::*};
///
/// # /// Adds.
/// # #[tool]
/// # fn add(a: i64, b: i64) -> i64 { a + b }
/// # let tools = Registry::builder().tool::<add>().build()?;
/// let mut assembler = Dialect::openai_chat().bind_tools(&tools).assembler();
/// let event = json!({ "choices": [{ "index": 0, "delta": { "role": "assistant", "content": "I add." } }] });
/// assert_eq!(assembler.push(&event)?, [Delta::Text("I add.".to_owned())]);
/// for delta in [
///     json!({ "index": 0, "id": "call_1", "function": { "name": "add", "arguments": "" } }),
///     json!({ "index": 0, "function": { "arguments": "{\"a\": 2," } }),
///     json!({ "index": 0, "function": { "arguments": "\"b\": 3}" } }),
/// ] {
///     assembler.push(&json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [delta] } }] }))?;
/// }
/// // Events can also be texts, where numbers keep their digits.
/// assembler.push(r#"{ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }"#)?;
/// let assembled = assembler.finish();
/// assert!(assembled.ended && assembled.calls[0].completed().is_ok());
/// assert_eq!(assembled.calls[0].arguments.as_str(), r#"{"a": 2,"b": 3}"#);
/// assert_eq!(assembled.stop_reason.as_deref(), Some("tool_calls"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "an assembler returns its response from `finish`"]
pub struct Assembler {
    bound: BoundTools,
    reading: ResponseReading,
}

/// One response of a model, [whole](BoundTools::read) or [assembled](Assembler) from a stream.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct AssembledResponse {
    /// All calls, in the order in which the model began them. Calls that were cut off are
    /// [marked](ToolCall::incomplete); an executor answers them without running them.
    pub calls: Vec<ToolCall>,
    /// `true` for a whole response, and for a stream whose final event was received.
    pub ended: bool,
    /// `true` if the model had not finished the response when it ended. See [stop reasons](super#stop-reasons).
    pub truncated: bool,
    /// The assistant message in the form to send back to the provider: text, reasoning with its signatures,
    /// calls of the program's tools and of native tools, with their original members, order and numbers. A list
    /// of items for OpenAI's responses; one message for the other providers. `None` where nothing can be sent
    /// back: for a response without content, and always for MCP.
    ///
    /// Calls have the names that the provider knows. Calls without an id have the id of the [`ToolCall`] where
    /// the provider requires one. Content that providers reject is left out: blank texts for Anthropic, an
    /// empty list of calls for OpenAI, and reasoning that the end of the response cut off.
    ///
    /// A call whose arguments or name the provider would reject in a request is sent back in the form of one: the
    /// arguments on which an executor [runs the call](crate::schema::Repair), `{}` for arguments that are absent,
    /// `null` or blank, and any others as a text under the key
    /// [`INVALID_JSON`](https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming).
    /// A call that the provider accepts is sent back as it was written, for the sake of prompt caches.
    pub message: Option<Box<RawValue>>,
    /// The text of the response: all [text deltas](Delta::Text) concatenated.
    pub text: String,
    /// The readable reasoning of the response: all [reasoning deltas](Delta::Reasoning) concatenated.
    pub reasoning: String,
    /// The stop reason, as the provider sent it. For OpenAI's responses: the status `completed`, or the reason
    /// why the response is incomplete. See [stop reasons](super#stop-reasons).
    pub stop_reason: Option<String>,
    /// The token counts; `None` where the provider sent none.
    pub usage: Option<Usage>,
    /// The id of the response; `None` where the provider sent none.
    pub id: Option<String>,
    /// The name of the model that answered; `None` where the provider sent none.
    pub model: Option<String>,
    /// The members beside the message and those above: citations, grounding and metadata of the provider, such as Gemini's
    /// `groundingMetadata` and the `citations` of compatible servers. Citations within the message are in [`message`](Self::message).
    /// Without those that only describe the service, such as the time of the response, and those that repeat the request.
    pub metadata: Map<String, Value>,
    /// The parts that could not be read and are left out, calls that do not run because their parts contradict each
    /// other, and ids that were replaced. At most 100. The pointer of a [location](Diagnostic::location) is one into the
    /// response or the event.
    pub diagnostics: Vec<Diagnostic>,
}

/// A part of a response to show to a user while it arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Delta {
    /// A part of the text, or of a refusal.
    Text(String),
    /// A part of the reasoning, or of its summary.
    Reasoning(String),
}

impl Assembler {
    pub(super) fn new(bound: BoundTools) -> Self {
        Self { bound, reading: ResponseReading::default() }
    }

    /// Processes the next event; returns the text and the reasoning that it adds.
    ///
    /// # Errors
    ///
    /// Returns an error if the event is not JSON, does not have the provider's format, has calls in several alternatives,
    /// or reports an error of the provider. Earlier events are kept. A part that cannot be read, or belongs to no call or
    /// block, is left out, with a [diagnostic](AssembledResponse::diagnostics).
    pub fn push<J: Json + ?Sized>(&mut self, event: &J) -> Result<Vec<Delta>, DialectError> {
        if event.is_no_event() {
            return Ok(Vec::new());
        }
        self.reading.deltas.clear();
        self.bound.format().push_event(&JsonLocation::root(&event.to_exact()?), &mut self.reading)?;
        Ok(std::mem::take(&mut self.reading.deltas))
    }

    /// Returns the response. Without the final event of the stream, the last call counts as cut off.
    #[must_use]
    pub fn finish(self) -> AssembledResponse {
        let Self { bound, reading } = self;
        reading.into_response(&bound)
    }
}

impl fmt::Debug for Assembler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assembler")
            .field("calls", &self.reading.partial_calls.len())
            .field("ended", &self.reading.partial_calls.has_ended())
            .finish_non_exhaustive()
    }
}
