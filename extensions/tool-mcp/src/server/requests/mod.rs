//! Requests that the SDK cannot decode, or would decode as something else.
//!
//! The SDK answers them without their id, or as a method that does not exist. They are answered here, before it reads them, with the
//! id and the member that is wrong. An empty list in the place of an object is an empty object: programs in languages with one type for
//! both send it.

mod members;
mod protocol;

use std::{borrow::Cow, collections::BTreeMap};

use rmcp::{
    ErrorData,
    model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, JsonRpcMessage, ProtocolVersion, RequestId},
};
use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Value, json, value::RawValue};

use self::{
    members::{MemberReader, read_text},
    protocol::{notification_param_member, request_param_members},
};

/// The mark that some programs write before their first message.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Removes a byte order mark.
pub(super) fn remove_byte_order_mark(message: &mut Vec<u8>) {
    if message.starts_with(BYTE_ORDER_MARK) {
        message.drain(..BYTE_ORDER_MARK.len());
    }
}

/// Returns the problem of the params of a request, if the SDK decodes it as a request of another kind.
pub(super) fn params_problem(method: &str, params: Option<&Value>, is_modern: bool) -> Option<String> {
    fn decode_problem<T: DeserializeOwned>(params: &Value) -> Option<String> {
        serde_json::from_value::<T>(params.clone()).err().map(|error| error.to_string())
    }
    use rmcp::model::{
        CallToolRequestParams, CancelTaskParams, CompleteRequestParams, GetPromptRequestParams,
        GetTaskParams, PaginatedRequestParams, ReadResourceRequestParams, SetLevelRequestParams,
        SubscribeRequestParams, SubscriptionsListenRequestParams, UnsubscribeRequestParams, UpdateTaskParams,
    };
    request_param_members(method, is_modern)?;
    let params = params.unwrap_or(&Value::Null);
    let problem = match method {
        "tools/call" => decode_problem::<CallToolRequestParams>(params),
        "prompts/get" => decode_problem::<GetPromptRequestParams>(params),
        "resources/read" => decode_problem::<ReadResourceRequestParams>(params),
        "resources/subscribe" => decode_problem::<SubscribeRequestParams>(params),
        "resources/unsubscribe" => decode_problem::<UnsubscribeRequestParams>(params),
        "tasks/get" => decode_problem::<GetTaskParams>(params),
        "tasks/update" => decode_problem::<UpdateTaskParams>(params),
        "tasks/cancel" => decode_problem::<CancelTaskParams>(params),
        "completion/complete" => decode_problem::<CompleteRequestParams>(params),
        "logging/setLevel" => decode_problem::<SetLevelRequestParams>(params),
        "subscriptions/listen" => decode_problem::<SubscriptionsListenRequestParams>(params),
        _ => decode_problem::<PaginatedRequestParams>(params),
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

impl RefusedMessage {
    /// Creates the answer to a request with the id of one that is not answered yet.
    pub(super) fn with_id_in_use(id: RequestId) -> Self {
        let problem =
            format!("a request with the id `{id}` is not answered yet; give each request an id of its own");
        Self { id: Some(id), error: ErrorData::invalid_request(problem, None) }
    }
}

/// A message for the SDK, or for no one.
#[derive(Debug)]
pub(super) enum ReadMessage<'a> {
    /// The message, changed where it has an empty list in the place of an object, and the id of a request.
    Forwarded(Cow<'a, [u8]>, Option<RequestId>),
    Refused(Box<RefusedMessage>),
    /// A notification or an answer that cannot be read, which has no answer.
    Dropped(String),
}

#[derive(Deserialize)]
struct MessageEnvelope<'a> {
    #[serde(borrow, default, deserialize_with = "present_member")]
    jsonrpc: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present_member")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present_member")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present_member")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present_member")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present_member")]
    error: Option<&'a RawValue>,
}

impl MessageEnvelope<'_> {
    /// Returns `true` for a request that names a revision from 2026-07-28 on.
    fn is_modern(&self) -> bool {
        #[derive(Deserialize)]
        struct VersionedParams {
            #[serde(rename = "_meta")]
            meta: VersionMeta,
        }

        #[derive(Deserialize)]
        struct VersionMeta {
            #[serde(rename = "io.modelcontextprotocol/protocolVersion")]
            version: String,
        }

        let params =
            self.params.and_then(|params| serde_json::from_str::<VersionedParams>(params.get()).ok());
        params.is_some_and(|params| params.meta.version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
    }

    fn is_answer(&self) -> bool {
        self.method.is_none() && (self.result.is_some() || self.error.is_some())
    }
}

/// Decodes a member that is present, also `null`.
fn present_member<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

/// Reads the message `text`.
pub(super) fn read_message(text: &[u8]) -> ReadMessage<'_> {
    let (envelope, id) = match read_envelope(text) {
        Ok(read) => read,
        Err(refused) => return ReadMessage::Refused(refused),
    };
    let invalid = |id, problem: String| {
        let error = ErrorData::invalid_request(problem, None);
        ReadMessage::Refused(Box::new(RefusedMessage { id, error }))
    };
    if decode_text(envelope.jsonrpc).as_deref() != Some("2.0") {
        return invalid(id, "`jsonrpc` must be the text `2.0`".to_owned());
    }
    let Some(method) = envelope.method else {
        return match (envelope.is_answer(), id) {
            (true, Some(_)) => ReadMessage::Forwarded(replace_unreadable_error(text, &envelope), None),
            (true, None) => ReadMessage::Dropped("an answer has no id that can be read".to_owned()),
            (false, id) => invalid(id, "`method` is required".to_owned()),
        };
    };
    let method = match read_text("method", method) {
        Ok(method) => method,
        Err(problem) => return invalid(id, problem),
    };
    let mut reader = MemberReader::new(text);
    let read = match (&id, request_param_members(&method, envelope.is_modern())) {
        (Some(_), Some(members)) => reader.check_object("params", envelope.params, members),
        (Some(_), None) => {
            // Other params are left to the SDK.
            envelope.params.map(|params| reader.replace_empty_list(params));
            Ok(())
        }
        (None, _) => {
            let member = notification_param_member(&method);
            envelope.params.map_or(Ok(()), |params| reader.check_member("params", params, member))
        }
    };
    let mut text = reader.forwarded_message();
    let read = read.and_then(|()| match method.as_ref() {
        "initialize" if !envelope.is_modern() => check_initialize(&mut text),
        _ => Ok(()),
    });
    match (read, id) {
        (Ok(()), id) => ReadMessage::Forwarded(text, id),
        (Err(problem), Some(id)) => {
            let error = ErrorData::invalid_params(problem, None);
            ReadMessage::Refused(Box::new(RefusedMessage { id: Some(id), error }))
        }
        (Err(problem), None) => ReadMessage::Dropped(problem),
    }
}

/// Reads the members of a message, and its id.
fn read_envelope(text: &[u8]) -> Result<(MessageEnvelope<'_>, Option<RequestId>), Box<RefusedMessage>> {
    let invalid = |id, problem: String| {
        Box::new(RefusedMessage { id, error: ErrorData::invalid_request(problem, None) })
    };
    let whole: &RawValue = serde_json::from_slice(text).map_err(|error| {
        let problem = format!("the message is not JSON: {error}");
        Box::new(RefusedMessage { id: None, error: ErrorData::parse_error(problem, None) })
    })?;
    let kind = json_kind(whole);
    if kind != "an object" {
        let hint = if kind == "a list" { "; send each message by itself" } else { "" };
        return Err(invalid(None, format!("a message must be an object, but is {kind}{hint}")));
    }
    let envelope: MessageEnvelope<'_> = serde_json::from_str(whole.get())
        .map_err(|error| invalid(last_stated_id(whole), format!("the message cannot be read: {error}")))?;
    let id = match envelope.id.map(|id| (id, serde_json::from_str(id.get()))) {
        // An answer is not answered, whatever its id.
        Some((_, Err(_))) if envelope.is_answer() => None,
        Some((id, Err(_))) => {
            let problem = match json_kind(id) {
                "a number" => {
                    format!("`id` must be a text or an integer of 64 bits, but is {}", shortened_value(id))
                }
                "a text" => "`id` has an escape that is no character".to_owned(),
                kind => format!("`id` must be a text or an integer, but is {kind}"),
            };
            return Err(invalid(None, problem));
        }
        Some((_, Ok(id))) => Some(id),
        None => None,
    };
    Ok((envelope, id))
}

/// Reads the answer of a client to a question. One with an error that the SDK cannot decode would leave the question open.
fn replace_unreadable_error<'a>(text: &'a [u8], envelope: &MessageEnvelope<'_>) -> Cow<'a, [u8]> {
    let (Some(id), Some(error)) = (envelope.id, envelope.error) else { return Cow::Borrowed(text) };
    let member = match (json_kind(error), envelope.result) {
        ("null", Some(result)) => format!("\"result\":{}", result.get()),
        _ if serde_json::from_str::<ErrorData>(error.get()).is_ok() => return Cow::Borrowed(text),
        _ => format!("\"error\":{}", readable_error(error)),
    };
    Cow::Owned(format!("{{\"jsonrpc\":\"2.0\",\"id\":{},{member}}}", id.get()).into_bytes())
}

/// Returns the code and the message of an error, as far as they can be read.
fn readable_error(error: &RawValue) -> Value {
    let value: Value = serde_json::from_str(error.get()).unwrap_or_default();
    let code = match &value["code"] {
        Value::String(code) => code.parse::<i32>().ok(),
        code => code.as_i64().and_then(|code| i32::try_from(code).ok()),
    };
    let message = match (&value, &value["message"]) {
        (Value::String(message), _) | (_, Value::String(message)) => message.clone(),
        _ => shortened_value(error),
    };
    json!({ "code": code.unwrap_or(ErrorCode::INTERNAL_ERROR.0), "message": message })
}

/// The most characters of a value in a message.
const MAX_VALUE_CHARS: usize = 200;

fn shortened_value(value: &RawValue) -> String {
    value.get().chars().take(MAX_VALUE_CHARS).collect()
}

/// Decodes a request to open a session as the SDK does, which takes one that it cannot read for a request of another revision.
fn check_initialize(text: &mut Cow<'_, [u8]>) -> Result<(), String> {
    if text.len() > MAX_CLIENT_BYTES {
        *text = Cow::Owned(without_client_icons(text)?);
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
fn without_client_icons(text: &[u8]) -> Result<Vec<u8>, String> {
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

fn decode_text(value: Option<&RawValue>) -> Option<Cow<'_, str>> {
    serde_json::from_str::<String>(value?.get()).ok().map(Cow::Owned)
}

/// Returns the id of a message whose members are stated twice, for example.
fn last_stated_id(message: &RawValue) -> Option<RequestId> {
    let members: BTreeMap<Cow<'_, str>, &RawValue> = serde_json::from_str(message.get()).ok()?;
    serde_json::from_str(members.get("id")?.get()).ok()
}

fn json_kind(value: &RawValue) -> &'static str {
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
mod tests;
