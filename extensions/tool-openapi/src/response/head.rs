//! A response without its body, as details and text have it.

use std::borrow::Cow;

use reqwest::{
    Method, StatusCode, Url,
    header::{CONTENT_LOCATION, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER},
};
use serde_json::{Map, Value};

use super::limit::shorten_part;
use crate::auth::IssuedCredentials;

/// Headers that the details have, beside those whose name begins with one of [`KEPT_PREFIXES`]; sorted.
const KEPT_HEADERS: [&str; 19] = [
    "allow",
    "content-disposition",
    "content-language",
    "content-length",
    "content-location",
    "content-range",
    "content-type",
    "date",
    "deprecation",
    "etag",
    "expires",
    "last-modified",
    "link",
    "location",
    "request-id",
    "retry-after",
    "sunset",
    "warning",
    "www-authenticate",
];
const KEPT_PREFIXES: [&str; 7] =
    ["ratelimit", "x-ratelimit-", "x-rate-limit-", "x-request-id", "x-correlation-id", "x-total", "x-page"];

/// Headers that a model reads, since they say what to do next.
const SHOWN_HEADERS: [HeaderName; 2] = [LOCATION, RETRY_AFTER];

/// The room for the status of most responses in their text, in bytes.
const STATUS_CAPACITY_BYTES: usize = 64;

/// A response without its body.
pub(super) struct ResponseHead {
    pub(super) status: StatusCode,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) issued: IssuedCredentials,
}

impl ResponseHead {
    /// The values of a header, without credentials.
    pub(super) fn header_text(&self, name: &HeaderName) -> Option<Cow<'_, str>> {
        let mut values = self.headers.get_all(name).iter();
        let mut all = self.header_value_without_credentials(name, values.next()?);
        for value in values {
            let all = all.to_mut();
            all.push_str(", ");
            all.push_str(&self.header_value_without_credentials(name, value));
        }
        Some(all)
    }

    /// A value of a header, without credentials.
    fn header_value_without_credentials<'h>(
        &self,
        name: &HeaderName,
        value: &'h HeaderValue,
    ) -> Cow<'h, str> {
        let value = String::from_utf8_lossy(value.as_bytes());
        let is_url = [LOCATION, CONTENT_LOCATION].contains(name);
        if is_url && let Ok(url) = self.url.join(&value) {
            // Neither user and password nor the credentials of the request.
            let cleaned = self.issued.url_without_credentials(&url);
            if cleaned != url {
                return Cow::Owned(cleaned.into());
            }
        }
        match self.issued.redacted_text(&value) {
            Cow::Owned(hidden) => Cow::Owned(hidden),
            Cow::Borrowed(_) => value,
        }
    }

    pub(super) fn header_details(&self) -> Value {
        let is_kept = |name: &str| {
            KEPT_HEADERS.binary_search(&name).is_ok() || KEPT_PREFIXES.iter().any(|it| name.starts_with(it))
        };
        let names = self.headers.keys().filter(|name| is_kept(name.as_str()));
        let values = names.filter_map(|name| {
            // A server chooses a part of the name.
            let shown = self.issued.redacted_text(name.as_str()).into_owned();
            Some((shown, Value::from(self.header_text(name)?.into_owned())))
        });
        Value::Object(values.collect::<Map<_, _>>())
    }

    /// Method and URL, the status, and what a model must know of the headers; with room for `more` bytes.
    pub(super) fn opening_text(&self, method: &Method, note: Option<String>, more: usize) -> String {
        let url = shorten_part(self.url.as_str());
        let mut text =
            String::with_capacity(method.as_str().len() + url.len() + STATUS_CAPACITY_BYTES + more);
        text.extend([method.as_str(), " ", &url, "\n", self.status.as_str()]);
        if let Some(reason) = self.status.canonical_reason() {
            text.extend([" ", reason]);
        }
        for name in &SHOWN_HEADERS {
            if let Some(value) = self.header_text(name) {
                text.extend(["\n", name.as_str(), ": ", &shorten_part(&value)]);
            }
        }
        if let Some(note) = note {
            text.extend(["\n[", &note, "]"]);
        }
        text
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use reqwest::{
        StatusCode, Url,
        header::{HeaderMap, HeaderValue, LINK, RETRY_AFTER},
    };

    use super::{IssuedCredentials, KEPT_HEADERS, ResponseHead};

    #[test]
    fn all_values_of_a_header_are_one_text() {
        let mut headers = HeaderMap::new();
        headers.append(LINK, HeaderValue::from_static("<a>; rel=next"));
        headers.append(LINK, HeaderValue::from_static("<b>; rel=last"));
        let (status, issued) = (StatusCode::OK, IssuedCredentials::default());
        let url = Url::parse("https://a.example/").unwrap();
        let head = ResponseHead { status, url, headers, issued };
        assert_eq!(head.header_text(&LINK).as_deref(), Some("<a>; rel=next, <b>; rel=last"));
        assert_eq!(head.header_text(&RETRY_AFTER), None);
    }

    #[test]
    fn the_names_of_kept_headers_are_sorted() {
        assert!(KEPT_HEADERS.is_sorted());
    }
}
