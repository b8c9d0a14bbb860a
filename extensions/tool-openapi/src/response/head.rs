//! A response without its body, as details and text have it.

use reqwest::{
    Method, StatusCode, Url,
    header::{CONTENT_LOCATION, HeaderMap, HeaderName, LOCATION, RETRY_AFTER},
};
use serde_json::{Map, Value};

use super::limit::short;
use crate::auth::Issued;

/// Headers that the details have, beside those whose name begins with one of [`PREFIXES`]; sorted.
const HEADERS: [&str; 19] = [
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
const PREFIXES: [&str; 7] =
    ["ratelimit", "x-ratelimit-", "x-rate-limit-", "x-request-id", "x-correlation-id", "x-total", "x-page"];

/// Headers that a model reads, since they say what to do next.
const SHOWN: [HeaderName; 2] = [LOCATION, RETRY_AFTER];

/// A response without its body.
pub(super) struct Head<'a> {
    pub(super) status: StatusCode,
    pub(super) url: &'a Url,
    pub(super) headers: &'a HeaderMap,
    pub(super) issued: &'a Issued,
}

impl Head<'_> {
    /// The values of a header, without credentials.
    pub(super) fn header(&self, name: &HeaderName) -> Option<String> {
        let values = self.headers.get_all(name).iter();
        let mut values = values.map(|it| self.clean(name, &String::from_utf8_lossy(it.as_bytes())));
        let mut all = values.next()?;
        for value in values {
            all.push_str(", ");
            all.push_str(&value);
        }
        Some(all)
    }

    /// A value of a header, without credentials.
    fn clean(&self, name: &HeaderName, value: &str) -> String {
        let is_url = [LOCATION, CONTENT_LOCATION].contains(name);
        if is_url && let Ok(url) = self.url.join(value) {
            // Neither user and password nor the credentials of the request.
            let cleaned = self.issued.without_credentials(&url);
            if cleaned != url {
                return cleaned.into();
            }
        }
        self.issued.hide(value).into_owned()
    }

    pub(super) fn details(&self) -> Value {
        let is_kept = |name: &str| {
            HEADERS.binary_search(&name).is_ok() || PREFIXES.iter().any(|it| name.starts_with(it))
        };
        let names = self.headers.keys().filter(|name| is_kept(name.as_str()));
        let values =
            names.filter_map(|name| Some((name.as_str().to_owned(), Value::from(self.header(name)?))));
        Value::Object(values.collect::<Map<_, _>>())
    }

    /// Method and URL, the status, and what a model must know of the headers.
    pub(super) fn text(&self, method: &Method, note: Option<String>) -> String {
        let url = short(self.url.as_str());
        let mut text = [method.as_str(), " ", &url, "\n", self.status.as_str()].concat();
        if let Some(reason) = self.status.canonical_reason() {
            text.extend([" ", reason]);
        }
        for name in &SHOWN {
            if let Some(value) = self.header(name) {
                text.extend(["\n", name.as_str(), ": ", &short(&value)]);
            }
        }
        if let Some(note) = note {
            text.extend(["\n[", &note, "]"]);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::HEADERS;

    #[test]
    fn the_names_of_kept_headers_are_sorted() {
        assert!(HEADERS.is_sorted());
    }
}
