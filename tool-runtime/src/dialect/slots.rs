//! The calls of one response while it is read, whole or event by event.
//!
//! The readers of the providers put down what came; which calls were cut off is decided here, for all of them.

use std::collections::HashMap;

use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use tool_core::{__private::ExactValue, Arguments};

use super::{BoundTools, DialectError, error::At, stop::Stop};
use crate::{ToolCall, call::Incomplete};

/// The calls of a response that is being read.
#[derive(Default)]
pub(super) struct Slots {
    all: Vec<Slot>,
    /// The call that was begun last under a key.
    places: HashMap<Key, usize>,
    stop: Stop,
    ended: bool,
}

/// What a provider tells a call from others by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// Its place in the response.
    Number(u64),
    /// The id of the call.
    Id(String),
    /// The id of the item that the call is.
    Item(String),
}

/// One call that is being read.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) number: u64,
    pub(super) id: Option<String>,
    pub(super) name: String,
    /// The arguments as text, or as much of them as has come.
    pub(super) text: String,
    /// The arguments, where they came as a value.
    pub(super) value: Option<ExactValue<'static>>,
    /// Whether the provider says that more is to come, or that the call is incomplete.
    pub(super) open: bool,
    /// Whether the provider has told of the call as a whole.
    pub(super) done: bool,
    /// What the provider says of an open call, where it has a word for it.
    pub(super) status: Option<String>,
    /// Whether the arguments are any text, in place of JSON.
    pub(super) custom: bool,
    /// What was sent along, outside the arguments.
    pub(super) meta: Option<Map<String, Value>>,
    /// Whether nothing but the name of the call before it, once more, began the call.
    pub(super) repeated: bool,
    pub(super) brackets: Brackets,
}

impl Slot {
    /// Adds a part of the text of the arguments.
    pub(super) fn push_text(&mut self, part: &str) {
        self.brackets.read(part);
        self.text.push_str(part);
    }

    /// Puts `text` in the place of the parts that have come.
    pub(super) fn set_text(&mut self, text: &str) {
        self.text.clear();
        self.brackets = Brackets::default();
        self.push_text(text);
    }

    /// Takes the arguments in one piece: as a text of JSON, or, of those who write them so, as the value.
    pub(super) fn give(&mut self, arguments: &At<'_>) -> Result<(), DialectError> {
        match arguments.value() {
            None => {}
            Some(ExactValue::String(text)) => self.push_text(text),
            Some(ExactValue::Object(_)) => self.value = Some(arguments.to_owned()),
            Some(_) => return Err(arguments.error("arguments, as a text or an object")),
        }
        Ok(())
    }

    /// Whether the text of the arguments is a whole object, up to what a parser would find inside it.
    pub(super) fn is_closed(&self) -> bool {
        self.value.is_some() || self.brackets.closed
    }

    /// The text of the arguments, if there is something in it.
    fn written(&self) -> Option<&str> {
        Some(self.text.as_str()).filter(|text| !text.trim().is_empty())
    }

    pub(super) fn is_blank(&self) -> bool {
        self.written().is_none() && self.value.is_none()
    }

    /// Whether the arguments are a complete JSON object.
    fn is_object(&self) -> bool {
        match self.written() {
            Some(text) => is_object(text),
            None => self.value.is_some(),
        }
    }

    /// The mark of the call, if it was cut off in a response that ended by `stop`.
    fn mark(&self, stop: &Stop, is_last: bool) -> Option<Incomplete> {
        let cut = self.open
            || self.repeated && self.is_blank()
            || match stop {
                Stop::Finished => false,
                Stop::Unfinished(_) if is_last => true,
                Stop::Unsaid | Stop::Unfinished(_) => !self.custom && !self.is_object(),
            };
        cut.then(|| match (stop, &self.status) {
            (Stop::Unfinished(Some(reason)), _) => Incomplete::new(reason.clone()),
            (_, Some(status)) => Incomplete::new(status.as_str()),
            _ => Incomplete::without_reason(),
        })
    }

    /// The arguments as they came: a value, or else a text.
    pub(super) fn arguments(&self) -> ExactValue<'static> {
        match &self.value {
            Some(value) if self.text.trim().is_empty() => value.clone(),
            _ => ExactValue::String(self.text.clone().into()),
        }
    }

    fn into_arguments(self) -> Arguments<'static> {
        match self.value {
            Some(value) if self.text.trim().is_empty() => value.to_string().into(),
            _ => self.text.into(),
        }
    }
}

fn is_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

impl Slots {
    /// Begins a call; gives its place.
    pub(super) fn begin(&mut self, slot: Slot) -> usize {
        let at = self.all.len();
        self.places.insert(Key::Number(slot.number), at);
        if let Some(id) = &slot.id {
            self.places.insert(Key::Id(id.clone()), at);
        }
        self.all.push(slot);
        at
    }

    /// The call that was begun last under `key`.
    pub(super) fn find(&self, key: &Key) -> Option<usize> {
        self.places.get(key).copied()
    }

    /// Has the call at `at` be found by `key` as well.
    pub(super) fn know(&mut self, at: usize, key: Key) {
        self.places.insert(key, at);
    }

    pub(super) fn get(&self, at: usize) -> Option<&Slot> {
        self.all.get(at)
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut Slot> {
        self.all.get_mut(at)
    }

    /// The place of the call that was begun last.
    pub(super) fn last(&self) -> Option<usize> {
        self.all.len().checked_sub(1)
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The number of a call that has none.
    pub(super) fn next_number(&self) -> u64 {
        self.all.len() as u64
    }

    /// Takes a stop reason; returns `true` if it counts.
    pub(super) fn stop(&mut self, stop: Stop) -> bool {
        self.stop.and(stop)
    }

    /// Forgets the stop reason: that of another message counts.
    pub(super) fn forget_stop(&mut self) {
        self.stop = Stop::default();
    }

    /// The response is over.
    pub(super) fn end(&mut self) {
        self.ended = true;
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// All calls, in the order in which the model began them; those that were cut off are marked.
    pub(super) fn into_calls(self, bound: &BoundTools) -> Vec<ToolCall> {
        let Self { all, stop, ended, .. } = self;
        let stop = if ended { stop } else { stop.broken_off() };
        let count = all.len();
        let call = |(at, mut slot): (usize, Slot)| {
            let mark = slot.mark(&stop, at + 1 == count);
            let (id, name, meta) = (slot.id.take(), std::mem::take(&mut slot.name), slot.meta.take());
            let mut call = bound.call(id.as_deref(), &name, slot.into_arguments());
            (call.incomplete, call.meta) = (mark, meta);
            call
        };
        all.into_iter().enumerate().map(call).collect()
    }
}

/// The brackets of a text of JSON, as far as it has come: by them it is known, without reading all of it again,
/// whether an object is closed.
#[derive(Default)]
pub(super) struct Brackets {
    depth: usize,
    in_string: bool,
    escaped: bool,
    closed: bool,
}

impl Brackets {
    fn read(&mut self, part: &str) {
        for byte in part.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => {
                    self.depth = self.depth.saturating_sub(1);
                    self.closed |= self.depth == 0;
                }
                _ => {}
            }
        }
    }
}
