//! The parts of a message around its result: ids and errors, in any form.

use std::collections::HashMap;

use rmcp::model::{ErrorCode, ErrorData, RequestId};
use serde_json::{Map, Value};

use super::{awaited::AwaitedAnswer, repair};

/// The message of an error without one.
const NO_MESSAGE: &str = "the server gave no message";

/// The maximum length of a text that is made of a malformed part of an error.
const MAX_ERROR_CHARS: usize = 2_000;

/// Returns the error of `server/discover` after which the SDK goes on with `initialize`, if the server names older revisions
/// only.
pub(super) fn method_not_found_if_only_older_revisions(
    awaited: &AwaitedAnswer,
    error: ErrorData,
) -> ErrorData {
    let supported = error.data.as_ref().and_then(|data| data.get("supported")).and_then(Value::as_array);
    let is_older = matches!(awaited, AwaitedAnswer::Discover)
        && error.code == ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        && supported.is_some_and(|revisions| repair::has_only_older_revisions(revisions));
    if is_older { ErrorData::new(ErrorCode::METHOD_NOT_FOUND, error.message, error.data) } else { error }
}

/// Returns the id of an open request, which a server may send as a text.
pub(super) fn open_request_id(open: &HashMap<RequestId, AwaitedAnswer>, id: &RequestId) -> Option<RequestId> {
    if open.contains_key(id) {
        return Some(id.clone());
    }
    match id {
        RequestId::String(text) => {
            let id = RequestId::Number(text.trim().parse().ok()?);
            open.contains_key(&id).then_some(id)
        }
        RequestId::Number(_) => None,
    }
}

/// Reads an id: a text, or a whole number in any notation.
pub(super) fn parse_request_id(id: &Value) -> Option<RequestId> {
    match id {
        Value::String(text) => Some(RequestId::String(text.as_str().into())),
        Value::Number(number) => {
            let whole = number.as_i64().or_else(|| {
                let number = number.as_f64().filter(|number| number.fract() == 0.0)?;
                format!("{number:.0}").parse().ok()
            });
            whole.map(RequestId::Number)
        }
        _ => None,
    }
}

/// Returns `true` if a message without an id may be the answer to the handshake.
pub(super) fn may_answer_handshake(message: &Map<String, Value>) -> bool {
    let result = message.get("result");
    let describes_server = |result: &Value| {
        ["protocolVersion", "supportedVersions"].iter().any(|member| result.get(member).is_some())
    };
    message.get("error").is_some_and(|error| !error.is_null()) || result.is_some_and(describes_server)
}

/// Returns `true` for an error beside a result that says there is none.
pub(super) fn means_no_error(error: &Value) -> bool {
    match error {
        Value::Bool(error) => !error,
        Value::Number(error) => error.as_f64() == Some(0.0),
        Value::String(error) => error.is_empty(),
        Value::Array(error) => error.is_empty(),
        Value::Object(error) => error.is_empty(),
        Value::Null => true,
    }
}

/// Reads the id in the beginning of an answer, if it comes before the result.
pub(super) fn request_id_in_answer_head(head: &[u8]) -> Option<RequestId> {
    let head = String::from_utf8_lossy(head);
    let members = ["\"result\"", "\"error\""].iter().filter_map(|member| head.find(member)).min()?;
    let message = format!("{}}}", head[..members].trim_end().trim_end_matches(','));
    serde_json::from_str::<Value>(&message).ok()?.get("id").and_then(parse_request_id)
}

/// Reads an error, of which any part may be missing or malformed.
pub(super) fn read_error_data(error: Option<Value>, mut message: Map<String, Value>) -> ErrorData {
    let shortened = |value: &Value| -> String {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        text.chars().take(MAX_ERROR_CHARS).collect()
    };
    let unknown = ErrorCode::INTERNAL_ERROR;
    let mut error = match error {
        Some(Value::Object(error)) => error,
        Some(empty) if means_no_error(&empty) => return ErrorData::new(unknown, NO_MESSAGE, None),
        Some(other) => return ErrorData::new(unknown, shortened(&other), None),
        None => {
            message.retain(|name, _| name != "jsonrpc" && name != "id");
            let mut text = "the answer has neither a result nor an error".to_owned();
            if !message.is_empty() {
                text = format!("{text}: {}", shortened(&Value::Object(message)));
            }
            return ErrorData::new(unknown, text, None);
        }
    };
    let code = error.remove("code").filter(|code| !code.is_null());
    let number = code.as_ref().and_then(|code| match code {
        Value::String(text) => text.trim().parse::<i32>().ok(),
        code => {
            let RequestId::Number(number) = parse_request_id(code)? else { return None };
            i32::try_from(number).ok()
        }
    });
    let message = error.remove("message").filter(|message| !message.is_null());
    let mut text = match (&message, error.is_empty()) {
        (Some(message), _) => shortened(message),
        (None, true) => NO_MESSAGE.to_owned(),
        (None, false) => shortened(&Value::Object(error.clone())),
    };
    if let (Some(code), None) = (&code, number) {
        text = format!("{text} (code {})", shortened(code));
    }
    ErrorData::new(number.map_or(unknown, ErrorCode), text, error.remove("data"))
}

#[cfg(test)]
mod tests;
