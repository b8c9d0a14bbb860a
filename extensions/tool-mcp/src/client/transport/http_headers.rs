//! The headers of HTTP requests.

use std::{collections::HashMap, sync::Arc};

use ::http::{HeaderName, HeaderValue};
use rmcp::model::{ClientJsonRpcMessage, GetExtensions, JsonRpcMessage};

/// The headers of a connection or a request.
pub(in crate::client) type Headers = HashMap<HeaderName, HeaderValue>;

/// The headers of one request. As an extension of the request, it never leaves the process by itself.
#[derive(Clone)]
pub(in crate::client) struct RequestHeaders(pub(in crate::client) Arc<Headers>);

/// Validates the configured headers.
pub(in crate::client) fn validated_headers<'a>(
    headers: impl IntoIterator<Item = (&'a String, &'a String)>,
) -> Result<Headers, String> {
    headers.into_iter().map(|(name, value)| validated_header(name, value)).collect()
}

/// Validates one header. The error does not show the value.
pub(in crate::client) fn validated_header(
    name: &str,
    value: &str,
) -> Result<(HeaderName, HeaderValue), String> {
    let header = HeaderName::try_from(name).map_err(|_| format!("the header name `{name}` is invalid"))?;
    if ["accept", "content-type", "last-event-id", "mcp-session-id"].contains(&header.as_str()) {
        return Err(format!("the header `{name}` is set by the protocol"));
    }
    let mut value =
        HeaderValue::try_from(value).map_err(|_| format!("the value of the header `{name}` is invalid"))?;
    value.set_sensitive(true);
    Ok((header, value))
}

/// Adds the headers of a request, which replace those of the connection.
pub(super) fn with_request_headers(mut headers: Headers, message: &ClientJsonRpcMessage) -> Headers {
    if let JsonRpcMessage::Request(request) = message
        && let Some(RequestHeaders(own)) = request.request.extensions().get::<RequestHeaders>()
    {
        headers.extend(own.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    headers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_valid_sensitive_and_none_of_the_protocol() {
        for (name, value, expected) in [
            ("X-Key", "v", Ok("x-key")),
            ("authorization", "Bearer t", Ok("authorization")),
            ("a b", "v", Err("the header name `a b` is invalid")),
            ("", "v", Err("the header name `` is invalid")),
            ("X-Key", "hid\nden", Err("the value of the header `X-Key` is invalid")),
            ("Accept", "v", Err("the header `Accept` is set by the protocol")),
            ("content-type", "v", Err("the header `content-type` is set by the protocol")),
            ("Last-Event-Id", "v", Err("the header `Last-Event-Id` is set by the protocol")),
            ("mcp-session-id", "v", Err("the header `mcp-session-id` is set by the protocol")),
        ] {
            let checked = validated_header(name, value);
            assert_eq!(checked.as_ref().map(|it| it.0.as_str()).map_err(String::as_str), expected);
            assert!(checked.is_err() || checked.is_ok_and(|it| it.1.is_sensitive()));
        }
        let own = |name: &str| (name.to_owned(), "v".to_owned());
        let headers = |names: [&str; 2]| {
            let pairs = names.map(own);
            validated_headers(pairs.iter().map(|(name, value)| (name, value))).map(|headers| headers.len())
        };
        assert_eq!(headers(["a", "b"]), Ok(2));
        assert_eq!(headers(["a", "accept"]), Err("the header `accept` is set by the protocol".to_owned()));
    }
}
