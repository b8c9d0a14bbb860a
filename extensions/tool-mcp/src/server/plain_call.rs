//! The arguments of a call as received.
//!
//! The SDK decodes arguments into a map, which costs more than most calls, and does not keep the spelling of numbers. A request
//! in the plain form is taken apart before: the SDK receives it without the arguments, and the handler their text. Requests in
//! any other form, with an unknown or a repeated member for example, are left to the SDK. Either way there is one view of the
//! arguments: rules, approvals, the sealed state of a round and the body of the tool have the same text.

use std::{borrow::Cow, fmt, ops::Range, sync::Arc};

use rmcp::{
    RoleServer,
    model::{
        CallToolRequest, CallToolRequestMethod, CallToolRequestParams, ClientRequest, ConstString,
        JsonRpcMessage, JsonRpcVersion2_0, RequestMetaObject,
    },
    service::{RequestContext, RxJsonRpcMessage},
};
use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor, value::MapAccessDeserializer},
};
use serde_json::value::RawValue;

/// The text of arguments, as an extension of their request.
#[derive(Debug, Clone)]
struct ReceivedArguments(Arc<str>);

/// A request to call a tool in the plain form: the members of the protocol, each at most once, with arguments that are an
/// object.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PlainCall<'a> {
    #[serde(borrow)]
    jsonrpc: Cow<'a, str>,
    #[serde(borrow)]
    id: &'a RawValue,
    #[serde(borrow)]
    method: Cow<'a, str>,
    #[serde(borrow, deserialize_with = "decode_params")]
    params: PlainParams<'a>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PlainParams<'a> {
    #[serde(rename = "_meta", borrow)]
    meta: Option<&'a RawValue>,
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    arguments: &'a RawValue,
    #[serde(borrow)]
    input_responses: Option<&'a RawValue>,
    #[serde(borrow)]
    request_state: Option<&'a RawValue>,
}

/// Decodes an object: `serde` also accepts the list of its values.
fn decode_params<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PlainParams<'de>, D::Error> {
    struct PlainParamsVisitor;

    impl<'de> Visitor<'de> for PlainParamsVisitor {
        type Value = PlainParams<'de>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("an object")
        }

        fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PlainParams<'de>, A::Error> {
            PlainParams::deserialize(MapAccessDeserializer::new(map))
        }
    }

    deserializer.deserialize_map(PlainParamsVisitor)
}

/// Takes the request `text` apart, if it has the plain form: returns what `with` returns for the request and the text of its
/// arguments, and the request with empty arguments.
///
/// The arguments are skipped and not parsed, since they may be most of the text. The decoder of the tool reports what is no JSON.
pub(super) fn split_plain_call_arguments<T>(
    text: &[u8],
    with: impl FnOnce(PlainCall<'_>, &str) -> Option<T>,
) -> Option<(T, Vec<u8>)> {
    let place = arguments_range(text)?;
    let arguments = std::str::from_utf8(text.get(place.clone())?).ok()?;
    let shortened = [text.get(..place.start)?, b"{}", text.get(place.end..)?].concat();
    let call: PlainCall<'_> = serde_json::from_slice(&shortened).ok()?;
    let is_call = call.jsonrpc == JsonRpcVersion2_0::VALUE && call.method == CallToolRequestMethod::VALUE;
    let begins_at = call.params.arguments.get().as_ptr().addr().checked_sub(shortened.as_ptr().addr());
    if !is_call || begins_at != Some(place.start) {
        return None;
    }
    let taken = with(call, arguments)?;
    Some((taken, shortened))
}

/// Finds the first object under the name `arguments` in an object of the object `text`.
fn arguments_range(text: &[u8]) -> Option<Range<usize>> {
    if !text.trim_ascii_start().starts_with(b"{") {
        return None;
    }
    let (mut at, mut depth, mut start) = (0, 0_usize, None);
    let mut is_named = false;
    while let Some(byte) = text.get(at) {
        match byte {
            b'"' => {
                let end = end_of_json_string(text, at + 1)?;
                is_named = depth == 2 && text.get(at..end) == Some(br#""arguments""#);
                at = end;
                continue;
            }
            b':' | b' ' | b'\t' | b'\n' | b'\r' => {
                at += 1;
                continue;
            }
            b'{' | b'[' => {
                if is_named && *byte == b'{' && start.is_none() {
                    start = Some(at);
                }
                depth += 1;
            }
            b'}' | b']' => {
                depth = depth.checked_sub(1)?;
                if let (2, Some(start)) = (depth, start) {
                    return Some(start..at + 1);
                }
            }
            _ => {}
        }
        is_named = false;
        at += 1;
    }
    None
}

/// Returns the end of the string whose content begins at `start`.
fn end_of_json_string(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        at += memchr::memchr2(b'"', b'\\', text.get(at..)?)?;
        match text.get(at) {
            Some(b'"') => return Some(at + 1),
            _ => at += 2,
        }
    }
}

impl PlainCall<'_> {
    /// Returns the id of the request, if it has the type of one.
    #[cfg(feature = "postgres")]
    pub(super) fn request_id(&self) -> Option<rmcp::model::RequestId> {
        serde_json::from_str(self.id.get()).ok()
    }

    /// Returns the request for the SDK, with the text of its arguments as an extension; `None` if a member has another form.
    pub(super) fn into_message(self, arguments: &str) -> Option<RxJsonRpcMessage<RoleServer>> {
        let PlainParams { meta, name, arguments: _, input_responses, request_state } = self.params;
        let mut params = CallToolRequestParams::new(name.into_owned());
        params.input_responses = decoded_member(input_responses)?;
        params.request_state = decoded_member(request_state)?;
        let mut request = CallToolRequest::new(params);
        if let Some(meta) = decoded_member::<RequestMetaObject>(meta)? {
            request.extensions.insert(meta);
        }
        request.extensions.insert(ReceivedArguments(arguments.into()));
        let id = serde_json::from_str(self.id.get()).ok()?;
        Some(JsonRpcMessage::request(ClientRequest::CallToolRequest(request), id))
    }

    #[cfg(feature = "http")]
    pub(super) fn name(&self) -> &str {
        &self.params.name
    }
}

/// Decodes a member that may be absent; `None` if it has another form.
fn decoded_member<T: for<'de> Deserialize<'de>>(member: Option<&RawValue>) -> Option<Option<T>> {
    member.map(|it| serde_json::from_str(it.get())).transpose().ok()
}

/// Takes the text of the arguments of a request, if it was in the plain form. A request over HTTP has it once.
pub(super) fn take_plain_arguments(context: &RequestContext<RoleServer>) -> Option<String> {
    #[cfg(feature = "http")]
    if let Some(facts) = super::request_run::http_facts(context) {
        return facts.arguments.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
    }
    context.extensions.get::<ReceivedArguments>().map(|received| (*received.0).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The arguments of a request in the plain form.
    fn arguments_of(text: &str) -> Option<String> {
        let both = |call: PlainCall<'_>, arguments: &str| {
            let message = call.into_message(arguments)?;
            Some((message, arguments.to_owned()))
        };
        split_plain_call_arguments(text.as_bytes(), both).map(|((_, arguments), _)| arguments)
    }

    #[test]
    fn only_the_plain_form_is_taken_apart() {
        let number = r#"{ "n": 0.1234567890123456789012345678901 }"#;
        let request = |params: &str| {
            format!(r#"{{ "params": {params}, "method": "tools\/call", "id": "a", "jsonrpc": "2.0" }}"#)
        };
        for params in [
            format!(r#"{{ "name": "t", "arguments": {number} }}"#),
            format!(r#"{{ "arguments":{number},"_meta": {{}}, "name": "\"", "requestState": null }}"#),
            format!(r#"{{ "name": "arguments", "_meta": {{ "arguments": {{}} }}, "arguments" : {number} }}"#),
        ] {
            assert_eq!(arguments_of(&request(&params)).as_deref(), Some(number), "{params}");
        }
        for arguments in [
            "{}",
            r#"{"a":"}","b":"\"}","c":"\\","d":[{"arguments":{"x":[]}}]}"#,
            r#"{"a":"é😀\u0022"}"#,
            // Left to those who decode it.
            r#"{"a":]"#,
            "{1 2}",
        ] {
            let text = request(&format!(r#"{{ "name": "t", "arguments": {arguments} }}"#));
            assert_eq!(arguments_of(&text).as_deref(), Some(arguments));
        }
        for params in [
            r#"["t", {}]"#,
            r#"[null, "t", {}, null, null]"#,
            r#"{ "name": "t" }"#,
            r#"{ "name": "t", "arguments": null }"#,
            r#"{ "name": "t", "arguments": [] }"#,
            r#"{ "name": "t", "arguments": {}, "arguments": { "a": 1 } }"#,
            r#"{ "name": "t", "arg\u0075ments": {} }"#,
            r#"{ "name": "t", "arguments": {} "#,
            r#"{ "name": "t", "arguments" {} }"#,
            r#"{ "name": "t", "arguments": {"a": "}} }"#,
            r#"{ "name": { "arguments": {} }, "arguments": {} }"#,
            r#"{ "name": "t", "arguments": {}, "arg\u0075ments": { "a": 1 } }"#,
            r#"{ "name": "t", "name": "u", "arguments": {} }"#,
            r#"{ "name": "t", "arguments": {}, "task": {} }"#,
            r#"{ "name": "t", "arguments": {}, "_meta": 1 }"#,
            r#"{ "name": 1, "arguments": {} }"#,
        ] {
            assert_eq!(arguments_of(&request(params)), None, "{params}");
        }
        let call = r#"{ "name": "t", "arguments": {} }"#;
        for text in [
            format!(r#"{{ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {call} }}"#),
            format!(r#"{{ "jsonrpc": "1.0", "id": 1, "method": "tools/call", "params": {call} }}"#),
            format!(r#"{{ "jsonrpc": "2.0", "id": null, "method": "tools/call", "params": {call} }}"#),
            format!(r#"{{ "jsonrpc": "2.0", "method": "tools/call", "params": {call} }}"#),
            format!(
                r#"{{ "jsonrpc": "2.0", "id": 1, "result": 1, "method": "tools/call", "params": {call} }}"#
            ),
            format!(r#"{{ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {call} }} 1"#),
            format!(r#"["2.0", 1, "tools/call", {call}]"#),
            format!(r#"[{}]"#, request(call)),
            // The arguments of another member are not those of the call.
            format!(
                r#"{{ "jsonrpc": "2.0", "id": {{ "arguments": {{}} }}, "method": "tools/call", "params": {call} }}"#
            ),
        ] {
            assert_eq!(arguments_of(&text), None, "{text}");
        }
    }
}
