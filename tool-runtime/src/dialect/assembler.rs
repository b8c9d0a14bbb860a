//! Calls from the events of a stream.

use std::fmt;

use serde::de::IgnoredAny;
use serde_json::Value;
use tool_core::Arguments;

use super::{Bound, DialectError, error::At};
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
/// assert!(assembled.ended && assembled.cut_off.is_empty());
/// assert_eq!(assembled.calls[0].arguments.as_str(), r#"{"a": 2,"b": 3}"#);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "an assembler gives its calls when it is finished"]
pub struct Assembler {
    bound: Bound,
    slots: Slots,
}

/// What came of a streamed response.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Assembled {
    /// The calls that are whole, in the order in which the model began them.
    pub calls: Vec<ToolCall>,
    /// The calls that are not: the stream broke off, or the model ran out of tokens. They are not to be made.
    pub cut_off: Vec<ToolCall>,
    /// Whether the provider said that the response is over.
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
    /// If the event is not of the provider's shape, or tells of an error of the provider. What came before
    /// is kept.
    pub fn push(&mut self, event: &Value) -> Result<(), DialectError> {
        self.bound.wire().push(&At::root(event), &mut self.slots)
    }

    /// The calls of all events.
    pub fn finish(self) -> Assembled {
        let Self { bound, slots } = self;
        let Slots { all, ended, cut } = slots;
        let (mut calls, mut cut_off) = (Vec::new(), Vec::new());
        for slot in all {
            let is_whole = slot.done && !(cut && slot.is_broken());
            let Slot { id, name, text, value, .. } = slot;
            let arguments = match value {
                Some(value) if text.is_empty() => Arguments::from(value),
                _ => Arguments::from(text),
            };
            let call = bound.call(id.as_deref(), &name, arguments);
            if is_whole { calls.push(call) } else { cut_off.push(call) }
        }
        Assembled { calls, cut_off, ended }
    }
}

impl fmt::Debug for Assembler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Assembler")
            .field("calls", &self.slots.all.len())
            .field("ended", &self.slots.ended)
            .finish_non_exhaustive()
    }
}

/// The calls of a response that is being streamed.
#[derive(Default)]
pub(super) struct Slots {
    all: Vec<Slot>,
    /// Whether the response is over.
    pub(super) ended: bool,
    /// Whether it was ended before the model was.
    pub(super) cut: bool,
}

/// One call that is being streamed.
#[derive(Default)]
pub(super) struct Slot {
    /// By what its provider tells it from others.
    pub(super) index: u64,
    pub(super) id: Option<String>,
    pub(super) name: String,
    /// The arguments so far, as text.
    pub(super) text: String,
    /// The arguments, where they came in one piece, or in pieces that are no text.
    pub(super) value: Option<Value>,
    /// Whether nothing more will come.
    pub(super) done: bool,
}

impl Slot {
    /// Whether the arguments are no JSON.
    fn is_broken(&self) -> bool {
        !self.text.is_empty() && serde_json::from_str::<IgnoredAny>(&self.text).is_err()
    }
}

impl Slots {
    pub(super) fn begin(&mut self, slot: Slot) {
        self.all.push(slot);
    }

    /// The call that was begun last at `index`.
    pub(super) fn at(&mut self, index: u64) -> Option<&mut Slot> {
        self.all.iter_mut().rev().find(|slot| slot.index == index)
    }

    /// The call that was begun last of those that `is_it`.
    pub(super) fn find(&self, is_it: impl Fn(&Slot) -> bool) -> Option<&Slot> {
        self.all.iter().rev().find(|slot| is_it(slot))
    }

    /// The call that was begun last.
    pub(super) fn last(&mut self) -> Option<&mut Slot> {
        self.all.last_mut()
    }

    pub(super) fn next_index(&self) -> u64 {
        self.all.len() as u64
    }

    /// The response is over, and with it every call that is part of it.
    pub(super) fn end(&mut self, cut: bool) {
        self.ended = true;
        self.cut |= cut;
    }

    pub(super) fn all_done(&mut self) {
        self.all.iter_mut().for_each(|slot| slot.done = true);
    }
}
