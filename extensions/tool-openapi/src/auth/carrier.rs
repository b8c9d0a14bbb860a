//! The parts of a request that carry credentials.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use reqwest::{
    Request, Url,
    header::{AUTHORIZATION, COOKIE, HeaderName, HeaderValue},
};

use super::Secret;

/// All characters that are not [unreserved](https://www.rfc-editor.org/rfc/rfc3986#section-2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The place of a credential in a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Carrier {
    Header(HeaderName),
    Query(Box<str>),
    Cookie(Box<str>),
    Basic,
    /// The header `Authorization` with the name of an HTTP scheme, such as `Bearer`.
    Http(Box<str>),
}

/// A credential in its place.
#[derive(Debug, Clone)]
pub(super) enum CredentialItem {
    Header(HeaderName, HeaderValue),
    /// Name, and name with value as they are written in a query.
    Query(Box<str>, Box<str>),
    Cookie(Box<str>, Box<str>),
}

impl Carrier {
    /// Returns `true` if no request has both.
    pub(super) fn conflicts_with(&self, other: &Self) -> bool {
        let is_authorization = |it: &Self| match it {
            Self::Basic | Self::Http(_) => true,
            Self::Header(name) => *name == AUTHORIZATION,
            Self::Query(_) | Self::Cookie(_) => false,
        };
        self == other || is_authorization(self) && is_authorization(other)
    }

    /// Puts `secret` in its place. The error is a clause after the name of the scheme, and never has the secret.
    pub(super) fn item_with_secret(&self, secret: &Secret) -> Result<CredentialItem, &'static str> {
        let text = secret.text();
        let header = |name: &HeaderName, text: &str| {
            let unfit = "has characters that no header may have, such as a line break";
            let mut value = HeaderValue::try_from(text).map_err(|_| unfit)?;
            value.set_sensitive(true);
            Ok(CredentialItem::Header(name.clone(), value))
        };
        if text.is_empty() {
            return Err("is empty");
        }
        match self {
            Self::Header(name) => header(name, text),
            Self::Basic if !text.contains(':') => Err("is not a user and a password; use `basic`"),
            Self::Basic => header(&AUTHORIZATION, &format!("Basic {}", BASE64_STANDARD.encode(text))),
            Self::Http(scheme) => header(&AUTHORIZATION, &format!("{scheme} {text}")),
            Self::Query(name) => Ok(CredentialItem::Query(
                name.clone(),
                format!("{}={}", form_escaped(name), form_escaped(text)).into(),
            )),
            Self::Cookie(name) if text.bytes().all(is_cookie_octet) => {
                Ok(CredentialItem::Cookie(name.clone(), text.into()))
            }
            Self::Cookie(_) => Err("has characters that no cookie may have, such as `;` or a line break"),
        }
    }
}

impl CredentialItem {
    /// Adds the credential in place of any value that the request has there.
    pub(super) fn set_in_request(&self, request: &mut Request) {
        match self {
            Self::Header(name, value) => drop(request.headers_mut().insert(name.clone(), value.clone())),
            Self::Query(name, pair) => {
                remove_query_parameter(request.url_mut(), name);
                let query = match request.url().query() {
                    Some(others) => format!("{others}&{pair}"),
                    None => pair.to_string(),
                };
                request.url_mut().set_query(Some(&query));
            }
            Self::Cookie(name, text) => {
                let mut all = format!("{name}={text}");
                for others in request.headers().get_all(COOKIE) {
                    let others = others.to_str().unwrap_or_default().split(';').map(str::trim);
                    let is_other =
                        |it: &&str| !it.is_empty() && it.split('=').next().map(str::trim) != Some(name);
                    others.filter(is_other).for_each(|it| all.extend(["; ", it]));
                }
                // Both parts were checked.
                if let Ok(mut value) = HeaderValue::try_from(all) {
                    value.set_sensitive(true);
                    request.headers_mut().insert(COOKIE, value);
                }
            }
        }
    }

    /// Removes the credential from a URL.
    pub(super) fn remove_from_query(&self, url: &mut Url) {
        if let Self::Query(name, _) = self {
            remove_query_parameter(url, name);
        }
    }

    /// Returns the forms of the secret that a request has: a header without its scheme, or a part of a query.
    pub(super) fn secret_as_sent(&self) -> Option<&str> {
        match self {
            Self::Header(_, value) => value.to_str().ok().map(|it| it.rsplit(' ').next().unwrap_or(it)),
            Self::Query(_, pair) => pair.split_once('=').map(|(_, value)| value),
            Self::Cookie(_, value) => Some(value),
        }
    }
}

/// Removes the parameters of this name from the query of `url`.
fn remove_query_parameter(url: &mut Url, name: &str) {
    let Some(query) = url.query() else { return };
    let is_named = |pair: &&str| {
        let key = pair.split('=').next().unwrap_or_default().replace('+', " ");
        percent_decode_str(&key).decode_utf8_lossy() == name
    };
    if !query.split('&').any(|pair| is_named(&pair)) {
        return;
    }
    let kept: Vec<_> = query.split('&').filter(|pair| !is_named(pair)).collect();
    let kept = Some(kept.join("&")).filter(|it| !it.is_empty());
    url.set_query(kept.as_deref());
}

/// Writes `text` as a part of a query or a form.
pub(super) fn form_escaped(text: &str) -> impl std::fmt::Display {
    utf8_percent_encode(text, RESERVED)
}

/// See [RFC 6265, section 4.1.1](https://www.rfc-editor.org/rfc/rfc6265#section-4.1.1).
fn is_cookie_octet(byte: u8) -> bool {
    byte.is_ascii_graphic() && !matches!(byte, b'"' | b',' | b';' | b'\\')
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use reqwest::{Method, header::HeaderMap};

    use super::*;

    /// The headers and the URL of a request to `url` with `secret` in its place.
    fn request_with(
        carrier: &Carrier,
        secret: &str,
        url: &str,
        cookies: &[&'static str],
    ) -> (HeaderMap, String) {
        let mut request = Request::new(Method::GET, Url::parse(url).unwrap());
        for cookie in cookies.iter().copied() {
            request.headers_mut().append(COOKIE, HeaderValue::from_static(cookie));
        }
        carrier.item_with_secret(&Secret::new(secret)).unwrap().set_in_request(&mut request);
        (request.headers().clone(), request.url().to_string())
    }

    #[test]
    fn headers_with_a_secret_are_marked() {
        for carrier in [
            Carrier::Header(HeaderName::from_static("x-key")),
            Carrier::Basic,
            Carrier::Http("Bearer".into()),
            Carrier::Cookie("key".into()),
        ] {
            let (headers, _) = request_with(&carrier, "a:b", "https://a.example/", &[]);
            assert_eq!(headers.len(), 1, "{carrier:?}");
            assert!(headers.values().all(HeaderValue::is_sensitive), "{carrier:?}"); // E10
        }
    }

    #[test]
    fn a_credential_replaces_what_has_its_name() {
        let query = Carrier::Query("the key".into());
        for (before, after) in [
            ("", "?the%20key=s"),
            ("?", "?&the%20key=s"),
            ("?a=b", "?a=b&the%20key=s"),
            ("?the+key=1&a&the%20key=2&thekey=3", "?a&thekey=3&the%20key=s"),
            ("?the+key", "?the%20key=s"),
        ] {
            let (_, url) = request_with(&query, "s", &format!("https://a.example/{before}"), &[]);
            assert_eq!(url, format!("https://a.example/{after}"), "{before}");
        }
        let cookie = Carrier::Cookie("key".into());
        for (cookies, expected) in [
            (&[][..], "key=s"),
            (&["key=1; a=b"], "key=s; a=b"),
            (&["a=b;  key = 1 ;;c", "keys=2; key"], "key=s; a=b; c; keys=2"),
        ] {
            let (headers, _) = request_with(&cookie, "s", "https://a.example/", cookies);
            assert_eq!(headers.get_all(COOKIE).iter().collect::<Vec<_>>(), [expected], "{cookies:?}");
        }
    }

    #[test]
    fn only_credentials_of_one_place_conflict() {
        let authorization = [
            Carrier::Basic,
            Carrier::Http("Bearer".into()),
            Carrier::Http("Digest".into()),
            Carrier::Header(AUTHORIZATION),
        ];
        let others = [
            Carrier::Header(HeaderName::from_static("x-key")),
            Carrier::Query("key".into()),
            Carrier::Query("other".into()),
            Carrier::Cookie("key".into()),
        ];
        for one in &authorization {
            assert!(authorization.iter().all(|it| it.conflicts_with(one)), "{one:?}");
            assert!(!others.iter().any(|it| it.conflicts_with(one) || one.conflicts_with(it)), "{one:?}");
        }
        for one in &others {
            let conflicts: Vec<_> = others.iter().filter(|it| it.conflicts_with(one)).collect();
            assert_eq!(conflicts, [one]);
        }
    }

    #[test]
    fn a_secret_that_has_no_place_is_refused() {
        let header = "has characters that no header may have, such as a line break";
        let cookie = "has characters that no cookie may have, such as `;` or a line break";
        for (carrier, secret, problem) in [
            (Carrier::Query("key".into()), "", "is empty"),
            (Carrier::Basic, "hunter2", "is not a user and a password; use `basic`"),
            (Carrier::Http("Bearer".into()), "a\nb", header),
            (Carrier::Header(AUTHORIZATION), "a\u{7f}", header),
            (Carrier::Cookie("key".into()), "a b", cookie),
            (Carrier::Cookie("key".into()), "a\"", cookie),
            (Carrier::Cookie("key".into()), "a,", cookie),
            (Carrier::Cookie("key".into()), "a;", cookie),
            (Carrier::Cookie("key".into()), "a\\", cookie),
            (Carrier::Cookie("key".into()), "é", cookie),
        ] {
            assert_eq!(carrier.item_with_secret(&Secret::new(secret)).err(), Some(problem), "{secret}");
        }
    }
}
