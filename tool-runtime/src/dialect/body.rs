//! The body of a request: its members as a value, and added messages as texts, so that their numbers stay
//! exact.

use std::sync::Arc;

use serde::{
    Serialize, Serializer,
    ser::{Error as _, SerializeMap, SerializeSeq},
};
use serde_json::{
    Map, Value,
    value::{RawValue, to_raw_value},
};

use super::{DialectError, provider::Wire};

/// The body of a request in one dialect, created by [`BoundTools::body`](super::BoundTools::body). Serialize it
/// to get the JSON to send.
///
/// # Examples
///
/// ```
/// # use tool_runtime::{RunContext, dialect::Dialect, prelude::*};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// # let tools = Registry::builder().build()?;
/// let gemini = Dialect::gemini().bind_tools(&tools);
/// let mut body = gemini.body(json!({ "contents": [] }))?;
/// body.push(&json!({ "role": "user", "parts": [{ "text": "Hello." }] }))?;
/// let request = gemini.build_request(body.clone(), RunContext::new()).await?;
/// assert_eq!(json!(request)["contents"][0]["parts"][0]["text"], "Hello.");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct RequestBody {
    fields: Value,
    /// The name of the member that contains the messages.
    list: &'static str,
    /// Messages to append to that member.
    added: Vec<Arc<RawValue>>,
}

impl RequestBody {
    pub(super) fn new(wire: Wire, mut fields: Value) -> Result<Self, DialectError> {
        let wrong =
            |fields: &Value, pointer: &str, expected| DialectError::of_body(fields, pointer, expected);
        let Some(list) = wire.messages_member() else {
            return Err(wrong(&fields, "", "a dialect whose requests have messages"));
        };
        let Value::Object(members) = &mut fields else { return Err(wrong(&fields, "", "an object")) };
        let messages = members.entry(list).or_insert(Value::Null);
        match messages {
            Value::Null => *messages = Value::Array(Vec::new()),
            Value::Array(_) => {}
            // A text is one user message.
            Value::String(text) => match wire.messages_of_text(text) {
                Some(list) => *messages = list,
                None => return Err(wrong(&fields, &format!("/{list}"), "a list")),
            },
            _ => return Err(wrong(&fields, &format!("/{list}"), "a list")),
        }
        Ok(Self { fields, list, added: Vec::new() })
    }

    /// Returns all members, without the appended messages.
    pub fn fields_mut(&mut self) -> &mut Value {
        &mut self.fields
    }

    /// Appends a message, such as the next user message.
    ///
    /// # Errors
    ///
    /// Returns an error if the message cannot be serialized.
    pub fn push<T: Serialize + ?Sized>(&mut self, message: &T) -> Result<(), serde_json::Error> {
        self.added.push(to_raw_value(message)?.into());
        Ok(())
    }

    /// Appends a message that is JSON text already, without a copy.
    pub fn push_json(&mut self, message: Arc<RawValue>) {
        self.added.push(message);
    }

    /// Appends messages to the member.
    pub(super) fn append_messages(&mut self, messages: Vec<Value>) {
        if let Some(Value::Array(list)) = self.fields.get_mut(self.list) {
            list.extend(messages);
        }
    }

    /// Appends a message, or each message of a list.
    pub(super) fn append_raw(&mut self, messages: Option<&RawValue>) {
        let Some(messages) = messages else { return };
        match serde_json::from_str::<Vec<Box<RawValue>>>(messages.get()) {
            Ok(all) => self.added.extend(all.into_iter().map(Arc::from)),
            Err(_) => self.added.push(messages.to_owned().into()),
        }
    }
}

impl Serialize for RequestBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Some(Value::Array(before)) = self.fields.get(self.list) else {
            return Err(S::Error::custom(format!("`{}` is not a list", self.list)));
        };
        let messages = Messages { before, added: &self.added };
        let members = self.fields.as_object().map(Map::iter).into_iter().flatten();
        let mut map = serializer.serialize_map(None)?;
        for (name, value) in members {
            if name == self.list {
                map.serialize_entry(name, &messages)?;
            } else {
                map.serialize_entry(name, value)?;
            }
        }
        map.end()
    }
}

struct Messages<'b> {
    before: &'b [Value],
    added: &'b [Arc<RawValue>],
}

impl Serialize for Messages<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.before.len() + self.added.len()))?;
        self.before.iter().try_for_each(|message| list.serialize_element(message))?;
        self.added.iter().try_for_each(|message| list.serialize_element(&**message))?;
        list.end()
    }
}
