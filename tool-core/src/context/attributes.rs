//! Span attributes that a body adds to its call.

use std::{borrow::Cow, mem, sync::PoisonError};

use serde_json::{Map, Value};

use super::ToolContext;

/// The maximum number of attributes of a call.
const MAX_ATTRIBUTES: usize = 64;

/// The maximum length of an attribute's name.
const MAX_NAME_BYTES: usize = 128;

/// The maximum length of an attribute's value as JSON.
const MAX_VALUE_BYTES: usize = 4 * 1024;

/// The attributes of a call so far.
#[derive(Debug, Default)]
#[doc(hidden)]
pub struct Attributes {
    /// The attributes in the order in which they were first set.
    pub set: Map<String, Value>,
    /// The number of attributes that exceeded the limit.
    pub dropped: u64,
}

impl ToolContext {
    /// Adds an attribute to the span of this call; replaces an attribute of the same name. Does nothing if no span is
    /// recorded.
    ///
    /// With the feature `opentelemetry` of `tool-runtime`, it becomes a span attribute of that name; other
    /// subscribers of `tracing` find all attributes as a JSON object in the field `tool.attributes`. A call has at
    /// most 64 attributes, each with a name of at most 128 bytes and a value of at most 4 KiB as JSON; the field
    /// `tool.attributes.dropped` counts the others. A value that contains the text of a secret parameter is redacted.
    ///
    /// # Examples
    ///
    /// ```
    /// use tool_runtime::ToolContext;
    ///
    /// fn search(cx: &ToolContext, query: &str) -> usize {
    ///     cx.set_attribute("search.words", query.split_whitespace().count());
    ///     0
    /// }
    ///
    /// search(&ToolContext::for_test(), "two words");
    /// ```
    pub fn set_attribute(&self, name: impl Into<Cow<'static, str>>, value: impl Into<Value>) {
        let (name, value) = (name.into(), value.into());
        let fits = name.len() <= MAX_NAME_BYTES && json_length(&value) <= MAX_VALUE_BYTES;
        let call = self.shared();
        let call = call.call.as_ref().unwrap_or(call);
        let mut attributes = call.attributes.lock().unwrap_or_else(PoisonError::into_inner);
        if fits && (attributes.set.len() < MAX_ATTRIBUTES || attributes.set.contains_key(&*name)) {
            attributes.set.insert(name.into_owned(), value);
        } else {
            attributes.dropped = attributes.dropped.saturating_add(1);
        }
    }

    /// Takes the attributes that the body of the call has set.
    #[doc(hidden)]
    #[must_use]
    pub fn take_attributes(&self) -> Option<Attributes> {
        let shared = self.shared.get()?;
        let call = shared.call.as_ref().unwrap_or(shared);
        let attributes = mem::take(&mut *call.attributes.lock().unwrap_or_else(PoisonError::into_inner));
        (!attributes.set.is_empty() || attributes.dropped > 0).then_some(attributes)
    }
}

fn json_length(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 2,
        other => serde_json::to_vec(other).map_or(usize::MAX, |json| json.len()),
    }
}
