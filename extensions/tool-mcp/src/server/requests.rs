//! Requests that the SDK cannot decode, or would decode as something else.
//!
//! The SDK answers them without their id, or as a method that does not exist. They are answered here, before it reads them, with the
//! id and the member that is wrong. An empty list in the place of an object is an empty object: programs in languages with one type for
//! both send it.

use std::{borrow::Cow, collections::BTreeMap, ops::Range};

use rmcp::{
    ErrorData,
    model::{ClientJsonRpcMessage, ClientRequest, JsonRpcMessage, RequestId},
};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Value, value::RawValue};

/// A member of an object of the protocol.
struct Member {
    name: &'static str,
    kind: Kind,
    is_required: bool,
}

enum Kind {
    Text,
    Object(&'static [Member]),
    /// An object whose members are objects.
    Objects,
}

const fn required(name: &'static str, kind: Kind) -> Member {
    Member { name, kind, is_required: true }
}

const fn optional(name: &'static str, kind: Kind) -> Member {
    Member { name, kind, is_required: false }
}

const ANY: Kind = Kind::Object(&[]);
const META: Member = optional("_meta", ANY);
const CLIENT: &[Member] = &[required("name", Kind::Text), required("version", Kind::Text)];
const INITIALIZE: &[Member] = &[
    required("protocolVersion", Kind::Text),
    required("capabilities", Kind::Objects),
    required("clientInfo", Kind::Object(CLIENT)),
    META,
];
const CALL: &[Member] = &[
    required("name", Kind::Text),
    optional("arguments", ANY),
    optional("inputResponses", ANY),
    optional("requestState", Kind::Text),
    META,
];
const LIST: &[Member] = &[optional("cursor", Kind::Text), META];
const URI: &[Member] = &[required("uri", Kind::Text), META];
const TASK: &[Member] = &[required("taskId", Kind::Text), META];
const COMPLETE: &[Member] = &[required("ref", ANY), required("argument", ANY), META];
const LEVEL: &[Member] = &[required("level", Kind::Text), META];

/// Returns the members of the params of a method, if it is one of the protocol.
fn params_of(method: &str) -> Option<&'static [Member]> {
    Some(match method {
        "initialize" => INITIALIZE,
        "tools/call" | "prompts/get" => CALL,
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => LIST,
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => URI,
        "tasks/get" | "tasks/update" | "tasks/cancel" => TASK,
        "completion/complete" => COMPLETE,
        "logging/setLevel" => LEVEL,
        "ping" | "server/discover" | "subscriptions/listen" => &[META],
        _ => return None,
    })
}

/// Returns the problem of the params of a request, if the SDK decodes it as a request of another kind.
pub(super) fn problem_of_params(method: &str, params: Option<&Value>) -> Option<String> {
    fn problem<T: DeserializeOwned>(params: &Value) -> Option<String> {
        serde_json::from_value::<T>(params.clone()).err().map(|error| error.to_string())
    }
    use rmcp::model::{
        CallToolRequestParams, CancelTaskParams, CompleteRequestParams, GetPromptRequestParams,
        GetTaskParams, PaginatedRequestParams, ReadResourceRequestParams, SetLevelRequestParams,
        SubscribeRequestParams, UnsubscribeRequestParams, UpdateTaskParams,
    };
    params_of(method)?;
    let params = params.unwrap_or(&Value::Null);
    let problem = match method {
        "tools/call" => problem::<CallToolRequestParams>(params),
        "prompts/get" => problem::<GetPromptRequestParams>(params),
        "resources/read" => problem::<ReadResourceRequestParams>(params),
        "resources/subscribe" => problem::<SubscribeRequestParams>(params),
        "resources/unsubscribe" => problem::<UnsubscribeRequestParams>(params),
        "tasks/get" => problem::<GetTaskParams>(params),
        "tasks/update" => problem::<UpdateTaskParams>(params),
        "tasks/cancel" => problem::<CancelTaskParams>(params),
        "completion/complete" => problem::<CompleteRequestParams>(params),
        "logging/setLevel" => problem::<SetLevelRequestParams>(params),
        _ => problem::<PaginatedRequestParams>(params),
    };
    Some(match problem {
        Some(problem) => format!("`params` of `{method}` cannot be read: {problem}"),
        None => format!("`params` of `{method}` cannot be read"),
    })
}

/// A message that is answered with an error.
#[derive(Debug, Clone)]
pub(super) struct RefusedMessage {
    /// `None` if it cannot be read.
    pub(super) id: Option<RequestId>,
    pub(super) error: ErrorData,
}

/// A message for the SDK, or for no one.
#[derive(Debug)]
pub(super) enum ReadMessage<'a> {
    /// The message, changed where it has an empty list in the place of an object, and the id of a request.
    Forwarded(Cow<'a, [u8]>, Option<RequestId>),
    Refused(Box<RefusedMessage>),
    /// A notification that cannot be read.
    Dropped(String),
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// Decodes a member that is present, also `null`.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads the message `text`.
pub(super) fn read_message(text: &[u8]) -> ReadMessage<'_> {
    let refused = |id, error| ReadMessage::Refused(Box::new(RefusedMessage { id, error }));
    let invalid = |id, message: String| refused(id, ErrorData::invalid_request(message, None));
    let whole: &RawValue = match serde_json::from_slice(text) {
        Ok(whole) => whole,
        Err(error) => {
            let message = format!("the message is not JSON: {error}");
            return refused(None, ErrorData::parse_error(message, None));
        }
    };
    let kind = kind_of(whole);
    if kind != "an object" {
        let hint = if kind == "a list" { "; send each message by itself" } else { "" };
        return invalid(None, format!("a message must be an object, but is {kind}{hint}"));
    }
    let envelope: Envelope<'_> = match serde_json::from_str(whole.get()) {
        Ok(envelope) => envelope,
        Err(error) => return invalid(last_id(whole), format!("the message cannot be read: {error}")),
    };
    let id = match envelope.id.map(|id| (id, serde_json::from_str(id.get()))) {
        None => None,
        Some((_, Ok(id))) => Some(id),
        Some((id, Err(_))) => {
            return invalid(None, format!("`id` must be a text or an integer, but is {}", kind_of(id)));
        }
    };
    let problem = match text_of(envelope.jsonrpc).as_deref() {
        Some("2.0") => None,
        _ => Some("`jsonrpc` must be the text `2.0`".to_owned()),
    };
    if let Some(problem) = problem {
        return invalid(id, problem);
    }
    let Some(method) = envelope.method else {
        return match envelope.result.is_some() || envelope.error.is_some() {
            true => ReadMessage::Forwarded(Cow::Borrowed(text), None),
            false => invalid(id, "`method` is required".to_owned()),
        };
    };
    let Some(method) = text_of(Some(method)) else {
        return invalid(id, format!("`method` must be a text, but is {}", kind_of(method)));
    };
    let mut reader = MemberReader { text, empty_lists: Vec::new() };
    let read = match (envelope.params, params_of(&method)) {
        (params, Some(members)) if id.is_some() => reader.read_object("params", params, members),
        // Its members are of a method that the server does not have.
        (Some(params), _) if reader.is_empty_list(params) => Ok(()),
        _ => Ok(()),
    };
    let mut text = reader.forwarded();
    let read = read.and_then(|()| match method.as_ref() {
        "initialize" => read_initialize(&mut text),
        _ => Ok(()),
    });
    match (read, id) {
        (Ok(()), id) => ReadMessage::Forwarded(text, id),
        (Err(problem), Some(id)) => refused(Some(id), ErrorData::invalid_params(problem, None)),
        (Err(problem), None) => ReadMessage::Dropped(problem),
    }
}

/// Decodes a request to open a session as the SDK does, which takes one that it cannot read for a request of another revision.
fn read_initialize(text: &mut Cow<'_, [u8]>) -> Result<(), String> {
    if text.len() > MAX_CLIENT_BYTES {
        *text = Cow::Owned(without_icons(text)?);
    }
    match serde_json::from_slice(text) {
        Ok(JsonRpcMessage::Request(request)) => match request.request {
            ClientRequest::CustomRequest(request) => {
                let params = request.params.unwrap_or_default();
                let error = serde_json::from_value::<rmcp::model::InitializeRequestParams>(params).err();
                Err(match error {
                    Some(error) => format!("`params` cannot be read: {error}"),
                    None => "`params` cannot be read".to_owned(),
                })
            }
            _ => Ok(()),
        },
        Ok(_) => Ok(()),
        Err::<ClientJsonRpcMessage, _>(error) => Err(format!("`params` cannot be read: {error}")),
    }
}

/// The most bytes of the description of a client, which a session keeps.
const MAX_CLIENT_BYTES: usize = 8 * 1024;

/// Returns a large request to open a session without the icons of the client, which the server does not use.
fn without_icons(text: &[u8]) -> Result<Vec<u8>, String> {
    let unreadable = |error| format!("`params` cannot be read: {error}");
    let mut request: Value = serde_json::from_slice(text).map_err(unreadable)?;
    if let Some(Value::Object(client)) = request.pointer_mut("/params/clientInfo") {
        client.shift_remove("icons");
    }
    let bytes = request.get("params").map(Value::to_string).unwrap_or_default().len();
    if bytes > MAX_CLIENT_BYTES {
        return Err(format!(
            "`params` has {bytes} bytes, but a session keeps {MAX_CLIENT_BYTES} bytes of the description of a client; \
             shorten `params.capabilities` or `params.clientInfo`"
        ));
    }
    serde_json::to_vec(&request).map_err(unreadable)
}

/// Reads the members of objects, and finds empty lists in the place of an object.
struct MemberReader<'a> {
    text: &'a [u8],
    empty_lists: Vec<Range<usize>>,
}

impl<'a> MemberReader<'a> {
    fn read_object(
        &mut self,
        path: &str,
        object: Option<&'a RawValue>,
        members: &[Member],
    ) -> Result<(), String> {
        let object = object.filter(|object| !self.is_empty_list(object));
        let values = match object.map(|object| (object, kind_of(object))) {
            None | Some((_, "null")) => BTreeMap::default(),
            Some((object, "an object")) => members_of(object, path)?,
            Some((_, kind)) => return Err(format!("`{path}` must be an object, but is {kind}")),
        };
        for member in members {
            let path = format!("{path}.{}", member.name);
            let value = values.get(member.name).copied().filter(|value| value.get() != "null");
            match value {
                Some(value) => self.read_member(&path, value, &member.kind)?,
                None if member.is_required => return Err(format!("`{path}` is required")),
                None => {}
            }
        }
        Ok(())
    }

    fn read_member(&mut self, path: &str, value: &'a RawValue, kind: &Kind) -> Result<(), String> {
        match kind {
            Kind::Text if text_of(Some(value)).is_some() => Ok(()),
            Kind::Text => Err(format!("`{path}` must be a text, but is {}", kind_of(value))),
            Kind::Object(members) => self.read_object(path, Some(value), members),
            Kind::Objects => {
                self.read_object(path, Some(value), &[])?;
                let values =
                    if kind_of(value) == "an object" { members_of(value, path)? } else { BTreeMap::new() };
                let values = values.into_iter().filter(|(_, value)| value.get() != "null");
                for (name, value) in values {
                    self.read_object(&format!("{path}.{name}"), Some(value), &[])?;
                }
                Ok(())
            }
        }
    }

    /// Returns `true` for an empty list, which becomes an empty object.
    fn is_empty_list(&mut self, value: &RawValue) -> bool {
        let text = value.get();
        let inner = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        let is_empty = inner.is_some_and(|inner| inner.trim_ascii().is_empty());
        if is_empty && let Some(start) = text.as_ptr().addr().checked_sub(self.text.as_ptr().addr()) {
            self.empty_lists.push(start..start + text.len());
        }
        is_empty
    }

    /// Returns the message with its empty objects.
    fn forwarded(mut self) -> Cow<'a, [u8]> {
        if self.empty_lists.is_empty() {
            return Cow::Borrowed(self.text);
        }
        self.empty_lists.sort_by_key(|place| place.start);
        self.empty_lists.dedup();
        let mut message = Vec::with_capacity(self.text.len() + 2);
        let mut end = 0;
        for place in self.empty_lists {
            message.extend_from_slice(self.text.get(end..place.start).unwrap_or_default());
            message.extend_from_slice(b"{}");
            end = place.end;
        }
        message.extend_from_slice(self.text.get(end..).unwrap_or_default());
        Cow::Owned(message)
    }
}

fn members_of<'a>(object: &'a RawValue, path: &str) -> Result<BTreeMap<Cow<'a, str>, &'a RawValue>, String> {
    serde_json::from_str(object.get()).map_err(|error| format!("`{path}` cannot be read: {error}"))
}

fn text_of(value: Option<&RawValue>) -> Option<Cow<'_, str>> {
    serde_json::from_str::<String>(value?.get()).ok().map(Cow::Owned)
}

/// Returns the id of a message whose members are stated twice, for example.
fn last_id(message: &RawValue) -> Option<RequestId> {
    let members: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(message.get()).ok()?;
    serde_json::from_str(members.get("id")?.get()).ok()
}

fn kind_of(value: &RawValue) -> &'static str {
    match value.get().bytes().next() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a text",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::panic, reason = "a test fails by panicking")]

    use super::*;

    fn refused(text: &str) -> (i32, Option<String>, String) {
        let ReadMessage::Refused(refused) = read_message(text.as_bytes()) else { panic!("{text}") };
        (refused.error.code.0, refused.id.map(|id| id.to_string()), refused.error.message.into_owned())
    }

    fn forwarded(text: &str) -> String {
        let ReadMessage::Forwarded(text, _) = read_message(text.as_bytes()) else { panic!("{text}") };
        String::from_utf8_lossy(&text).into_owned()
    }

    #[test]
    fn an_empty_list_in_the_place_of_an_object_is_an_empty_object() {
        let request = |method: &str, params: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#)
        };
        for (method, params, expected) in [
            ("tools/list", "[]", "{}"),
            ("ping", "[ ]", "{}"),
            ("unknown", "[]", "{}"),
            ("tools/call", r#"{"name":"t","arguments":[]}"#, r#"{"name":"t","arguments":{}}"#),
            (
                "prompts/get",
                r#"{"name":"t","arguments":[ ],"_meta":[]}"#,
                r#"{"name":"t","arguments":{},"_meta":{}}"#,
            ),
            (
                "initialize",
                r#"{"protocolVersion":"2025-11-25","capabilities":{"roots":[]},"clientInfo":{"name":"a","version":"1"}}"#,
                r#"{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"a","version":"1"}}"#,
            ),
            // Unchanged.
            ("tools/call", r#"{"name":"t","arguments":{"a":[]}}"#, r#"{"name":"t","arguments":{"a":[]}}"#),
            ("unknown", "[1]", "[1]"),
        ] {
            assert_eq!(forwarded(&request(method, params)), request(method, expected));
        }
        let notification = r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":[]}"#;
        assert_eq!(forwarded(notification), notification.replace("[]", "{}"));
    }

    #[test]
    fn a_message_that_is_no_request_has_the_code_of_its_mistake() {
        for (text, code, id, problem) in [
            ("not json", -32700, None, "not JSON"),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping""#, -32700, None, "not JSON"),
            ("[]", -32600, None, "but is a list"),
            ("7", -32600, None, "but is a number"),
            (r#"{"id":7,"method":"ping"}"#, -32600, Some("7"), "`jsonrpc`"),
            (r#"{"jsonrpc":"1.0","id":"a","method":"ping"}"#, -32600, Some("a"), "`jsonrpc`"),
            (r#"{"jsonrpc":"2.0","id":7}"#, -32600, Some("7"), "`method` is required"),
            (r#"{"jsonrpc":"2.0","id":7,"method":5}"#, -32600, Some("7"), "`method` must be a text"),
            (r#"{"jsonrpc":"2.0","id":7,"id":8,"method":"ping"}"#, -32600, Some("8"), "duplicate"),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, None, "`id` must be"),
            (r#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32600, None, "`id` must be"),
        ] {
            let (received, received_id, message) = refused(text);
            assert_eq!((received, received_id.as_deref()), (code, id), "{text}: {message}");
            assert!(message.contains(problem), "{text}: {message}");
        }
    }
}
