//! The calls of one response while it is read, whole or event by event.
//!
//! The readers of the providers record what arrives; the decision which calls were cut off is made here for all
//! of them.

use std::collections::{HashMap, HashSet};

use serde::de::IgnoredAny;
use serde_json::{Map, Value};
use tool_core::{Arguments, internals::ExactValue};

use super::{BoundTools, error::JsonLocation, stop::Stop};
use crate::{ToolCall, call::Incomplete};

/// The calls of a response that is being read.
#[derive(Default)]
pub(super) struct PartialCalls {
    all: Vec<PartialCall>,
    /// The most recent call with each key.
    places: HashMap<Key, usize>,
    stop: Stop,
    ended: bool,
}

/// The identifier by which a provider distinguishes calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// The index of the call in the response.
    Number(u64),
    /// The id of the call.
    Id(String),
    /// The id of the item that represents the call.
    Item(String),
}

/// One call that is being read.
#[derive(Default)]
pub(super) struct PartialCall {
    pub(super) number: u64,
    pub(super) id: Option<String>,
    pub(super) name: String,
    /// All parts of the name, as received.
    pub(super) name_parts: String,
    /// Set where parts of the call contradict each other: the call does not run.
    pub(super) is_contradictory: bool,
    /// The text of the arguments, as far as received.
    pub(super) text: String,
    /// The arguments, where they arrived as a value.
    pub(super) value: Option<ExactValue<'static>>,
    /// Set where the provider marks the call as unfinished or incomplete.
    pub(super) open: bool,
    /// Set once the provider has sent the call as a whole.
    pub(super) done: bool,
    /// The provider's status of an open call, if it has one.
    pub(super) status: Option<String>,
    /// Set where the arguments are free text instead of JSON.
    pub(super) custom: bool,
    /// Metadata of the call outside the arguments.
    pub(super) meta: Option<Map<String, Value>>,
    /// Set where only a repetition of the previous call's name began this call.
    pub(super) repeated: bool,
    pub(super) brackets: JsonBrackets,
}

impl PartialCall {
    /// Adds a part of the name. Some servers repeat the name, some send it in pieces, and some send the whole name so far.
    /// Another name after the arguments have begun contradicts the first.
    pub(super) fn push_name(&mut self, part: &str) {
        self.name_parts.push_str(part);
        if !is_name(part) || part == self.name {
            return;
        }
        if part.starts_with(&self.name) {
            part.clone_into(&mut self.name);
        } else if self.has_no_arguments() {
            self.name.push_str(part);
        } else {
            self.is_contradictory = true;
        }
    }

    /// Sets the name of the completed call, which may continue the name so far. Returns `false` if it contradicts that name.
    pub(super) fn complete_name(&mut self, name: &str) -> bool {
        let continues = name.starts_with(&self.name);
        if continues {
            name.clone_into(&mut self.name);
            name.clone_into(&mut self.name_parts);
        }
        continues
    }

    /// Chooses the name once all parts have arrived: a name that is a tool, if only one reading of the parts is.
    fn choose_name(&mut self, is_tool: impl Fn(&str) -> bool) {
        if self.name_parts != self.name && !is_tool(&self.name) && is_tool(&self.name_parts) {
            self.name = std::mem::take(&mut self.name_parts);
            self.is_contradictory = false;
        }
    }

    /// Adds a part of the text of the arguments. Arguments without content that text follows are discarded: some
    /// servers send them before the first part.
    pub(super) fn push_arguments_text(&mut self, part: &str) {
        if !self.custom && !part.trim().is_empty() {
            if self.text.len() <= MAX_EMPTY_BYTES && is_empty_object(&self.text) {
                self.text.clear();
                self.brackets = JsonBrackets::default();
            }
            match self.value.take() {
                Some(ExactValue::Object(members)) if !members.is_empty() => {
                    // Not JSON together with the part: the call is refused, and the response is not.
                    self.append_arguments_text(&ExactValue::Object(members).to_string());
                }
                _ => {}
            }
        }
        self.append_arguments_text(part);
    }

    fn append_arguments_text(&mut self, part: &str) {
        self.brackets.read_part(part);
        self.text.push_str(part);
    }

    /// Replaces the received parts with `text`.
    pub(super) fn replace_arguments_text(&mut self, text: &str) {
        self.text.clear();
        self.brackets = JsonBrackets::default();
        self.push_arguments_text(text);
    }

    /// Adds arguments: the next piece of their JSON text, or their value where the provider sends one. The validation of
    /// the call reports a value that is no object, and a second value. A value in place of free text is its text.
    pub(super) fn add_arguments(&mut self, arguments: &JsonLocation<'_>) {
        match arguments.value() {
            None => {}
            Some(ExactValue::String(text)) => self.push_arguments_text(text),
            Some(ExactValue::Object(_)) if self.has_no_arguments() && !self.custom => {
                self.value = Some(arguments.to_owned())
            }
            Some(value) => self.push_arguments_text(&value.to_string()),
        }
    }

    /// Returns `true` if the text of the arguments is a complete object, judged by its brackets alone.
    pub(super) fn has_complete_arguments(&self) -> bool {
        self.value.is_some() || self.brackets.closed
    }

    /// Returns the text of the arguments, unless it is blank.
    fn nonblank_arguments_text(&self) -> Option<&str> {
        Some(self.text.as_str()).filter(|text| !text.trim().is_empty())
    }

    pub(super) fn has_no_arguments(&self) -> bool {
        self.nonblank_arguments_text().is_none() && self.value.is_none()
    }

    /// Replaces the arguments that arrived in parts with the whole ones, unless those are not whole themselves: a
    /// completed call does not revoke what arrived before.
    pub(super) fn complete_arguments(&mut self, arguments: &JsonLocation<'_>) {
        match arguments.value() {
            _ if self.has_no_arguments() => self.add_arguments(arguments),
            Some(ExactValue::String(text)) if self.custom && !text.is_empty() => {
                self.replace_arguments_text(text)
            }
            Some(ExactValue::String(text))
                if !self.custom && !text.trim().is_empty() && !is_empty_object(text) =>
            {
                self.replace_arguments_text(text);
            }
            Some(value @ ExactValue::Object(members))
                if !members.is_empty() && !self.has_complete_object_arguments() =>
            {
                self.replace_arguments_text(&value.to_string());
            }
            _ => {}
        }
    }

    /// Returns `true` if the arguments are a complete JSON object.
    fn has_complete_object_arguments(&self) -> bool {
        match self.nonblank_arguments_text() {
            Some(text) => is_object_text(text),
            None => self.value.is_some(),
        }
    }

    /// Returns the mark of the call if it was cut off in a response that ended with `stop`.
    fn incomplete_mark(&self, stop: &Stop, is_last: bool) -> Option<Incomplete> {
        let cut = self.open
            || self.is_contradictory
            || self.repeated && self.has_no_arguments()
            || match stop {
                Stop::Finished => false,
                Stop::Unfinished(_) if is_last => true,
                Stop::Unspecified | Stop::Unfinished(_) => {
                    !self.custom && !self.has_complete_object_arguments()
                }
            };
        cut.then(|| match (stop, &self.status) {
            (Stop::Unfinished(Some(reason)), _) => Incomplete::new(reason.clone()),
            (_, Some(status)) => Incomplete::new(status.as_str()),
            _ => Incomplete::without_reason(),
        })
    }

    /// Returns the arguments as received: a value, or else a text.
    pub(super) fn received_arguments(&self) -> ExactValue<'static> {
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

/// Returns `true` for a text that is a name: an empty text means nothing, and so does `null` as a text, which some servers
/// send in every part but the first.
pub(super) fn is_name(text: &str) -> bool {
    !matches!(text.trim(), "" | "null")
}

/// The maximum size of arguments without content, with blanks, that are discarded.
const MAX_EMPTY_BYTES: usize = 64;

/// Returns `true` for the text of an object without members, or of `null`.
pub(super) fn is_empty_object(text: &str) -> bool {
    let text = text.trim();
    text == "null"
        || text.strip_prefix('{').and_then(|it| it.strip_suffix('}')).is_some_and(|it| it.trim().is_empty())
}

/// Returns `true` for the text of a JSON object.
pub(super) fn is_object_text(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

impl PartialCalls {
    /// Begins a call; returns its index.
    pub(super) fn open_call(&mut self, partial_call: PartialCall) -> usize {
        let at = self.all.len();
        self.places.insert(Key::Number(partial_call.number), at);
        if let Some(id) = &partial_call.id {
            self.places.insert(Key::Id(id.clone()), at);
        }
        self.all.push(partial_call);
        at
    }

    /// Returns the most recent call with `key`.
    pub(super) fn index_of(&self, key: &Key) -> Option<usize> {
        self.places.get(key).copied()
    }

    /// Registers another `key` for the call at `at`.
    pub(super) fn insert_key(&mut self, at: usize, key: Key) {
        self.places.insert(key, at);
    }

    pub(super) fn get(&self, at: usize) -> Option<&PartialCall> {
        self.all.get(at)
    }

    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut PartialCall> {
        self.all.get_mut(at)
    }

    /// Returns the index of the most recent call.
    pub(super) fn last_index(&self) -> Option<usize> {
        self.all.len().checked_sub(1)
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Returns the number for a call that has none.
    pub(super) fn next_number(&self) -> u64 {
        self.all.len() as u64
    }

    /// Records a stop reason; returns `true` if it takes effect.
    pub(super) fn set_stop(&mut self, stop: Stop) -> bool {
        self.stop.combine(stop)
    }

    /// Discards the stop reason: the reason of another message replaces it.
    pub(super) fn forget_stop(&mut self) {
        self.stop = Stop::default();
    }

    /// Marks the response as ended.
    pub(super) fn end_response(&mut self) {
        self.ended = true;
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Returns `true` if the response ended before the model had finished it.
    pub(super) fn is_truncated(&self) -> bool {
        !self.ended || matches!(self.stop, Stop::Unfinished(_))
    }

    /// Chooses the name of each call, once all parts have arrived. Returns the calls whose parts contradict each other.
    pub(super) fn choose_names(&mut self, bound: &BoundTools) -> impl Iterator<Item = &PartialCall> {
        self.all.iter_mut().for_each(|partial_call| partial_call.choose_name(|name| bound.is_tool(name)));
        self.all.iter().filter(|partial_call| partial_call.is_contradictory)
    }

    /// Gives a new id to each call whose id an earlier call has: providers reject two results for one id. Returns the
    /// replaced ids, and the new ones.
    pub(super) fn replace_repeated_ids(&mut self) -> Vec<(String, String)> {
        let mut numbers: HashMap<String, u32> = HashMap::new();
        let ids = self.all.iter().filter_map(|partial_call| partial_call.id.clone());
        let count = ids.map(|id| numbers.insert(id, 1)).filter(Option::is_some).count();
        let mut replaced = Vec::with_capacity(count);
        if count == 0 {
            return replaced;
        }
        let mut seen = HashSet::new();
        for partial_call in &mut self.all {
            let Some(id) = partial_call.id.clone() else { continue };
            if seen.insert(id.clone()) {
                continue;
            }
            let new = loop {
                let number = numbers.entry(id.clone()).or_insert(1);
                *number += 1;
                let new = format!("{id}_{number}");
                if !numbers.contains_key(&new) {
                    break new;
                }
            };
            numbers.insert(new.clone(), 1);
            partial_call.id = Some(new.clone());
            replaced.push((id, new));
        }
        replaced
    }

    /// Returns all calls in the order in which the model began them; calls that were cut off are marked.
    pub(super) fn into_calls(self, bound: &BoundTools) -> Vec<ToolCall> {
        let Self { all, stop, ended, .. } = self;
        let stop = if ended { stop } else { stop.without_final_event() };
        let count = all.len();
        let call = |(at, mut partial_call): (usize, PartialCall)| {
            let mark = partial_call.incomplete_mark(&stop, at + 1 == count);
            let (id, name, meta) =
                (partial_call.id.take(), std::mem::take(&mut partial_call.name), partial_call.meta.take());
            let mut call = bound.tool_call(id.as_deref(), &name, partial_call.into_arguments());
            (call.incomplete, call.meta) = (mark, meta);
            call
        };
        all.into_iter().enumerate().map(call).collect()
    }
}

/// The bracket state of a JSON text as far as received: detects the end of the object without parsing the text
/// again.
#[derive(Default)]
pub(super) struct JsonBrackets {
    depth: usize,
    in_string: bool,
    escaped: bool,
    closed: bool,
}

impl JsonBrackets {
    fn read_part(&mut self, part: &str) {
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

#[cfg(test)]
#[path = "partial_calls_tests.rs"]
mod tests;
