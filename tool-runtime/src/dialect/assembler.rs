//! Calls from the events of a stream.

use std::fmt;

use serde_json::Value;

use super::{Bound, DialectError, error::At, slots::Slots};
use crate::ToolCall;

/// Puts calls together from the events of one streamed response.
///
/// An event is the JSON after `data:`; `[DONE]` is none.
///
/// # Examples
///
/// ```
/// # use tool_runtime::{dialect::Dialect, prelude::*};
/// # /// Adds.
/// # #[tool]
/// # fn add(a: i64, b: i64) -> i64 { a + b }
/// # let tools = Registry::builder().tool::<add>().build()?;
/// let mut assembler = Dialect::openai_chat().bind(&tools).assembler();
/// for delta in [
///     json!({ "index": 0, "id": "call_1", "function": { "name": "add", "arguments": "" } }),
///     json!({ "index": 0, "function": { "arguments": "{\"a\": 2," } }),
///     json!({ "index": 0, "function": { "arguments": "\"b\": 3}" } }),
/// ] {
///     assembler.push(&json!({ "choices": [{ "index": 0, "delta": { "tool_calls": [delta] } }] }))?;
/// }
/// assembler.push(&json!({ "choices": [{ "index": 0, "delta": {}, "finish_reason": "tool_calls" }] }))?;
/// let assembled = assembler.finish();
/// assert!(assembled.ended && assembled.calls[0].completed().is_ok());
/// assert_eq!(assembled.calls[0].arguments.as_str(), r#"{"a": 2,"b": 3}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "an assembler gives its calls when it is finished"]
pub struct Assembler {
    bound: Bound,
    slots: Slots,
}

/// The calls of a streamed response.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Assembled {
    /// All calls, in the order in which the model began them. Those that were cut off are
    /// [marked](ToolCall::incomplete); an executor answers them and does not run them.
    pub calls: Vec<ToolCall>,
    /// `true` if the provider sent the event that ends a response.
    pub ended: bool,
}

impl Assembler {
    pub(super) fn new(bound: Bound) -> Self {
        Self { bound, slots: Slots::default() }
    }

    /// Takes the next event.
    ///
    /// # Errors
    ///
    /// If the event is not of the provider's shape, has a part that belongs to no call, or tells of an error of the
    /// provider. What came before is kept.
    pub fn push(&mut self, event: &Value) -> Result<(), DialectError> {
        self.bound.wire().push(&At::root(event), &mut self.slots)
    }

    /// Returns the calls of all events. Without the event that ends a response, the last call counts as cut off.
    pub fn finish(self) -> Assembled {
        let Self { bound, slots } = self;
        let ended = slots.has_ended();
        Assembled { calls: slots.into_calls(&bound), ended }
    }
}

impl fmt::Debug for Assembler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assembler")
            .field("calls", &self.slots.len())
            .field("ended", &self.slots.has_ended())
            .finish_non_exhaustive()
    }
}
