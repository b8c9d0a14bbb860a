//! The URLs of servers, and the form in which they are compared.

use std::sync::Arc;

use fluent_uri::Uri;
use tool_runtime::{ToolError, policy::Escape};

/// The maximum length of a URL, in bytes.
const MAX_URL_BYTES: usize = 4 << 10;
/// The characters of a URL that an error shows.
const MAX_SHOWN_CHARS: usize = 100;

/// The URL of a server: as it was given, to connect, and in canonical form, to compare and to show.
///
/// The canonical form has scheme and host in lower case, no default port, no user information, query and fragment, and no dot segments. The
/// case and a trailing slash of the path stay.
#[derive(Debug)]
pub(super) struct ServerUrl {
    pub(super) text: String,
    pub(super) canonical: Arc<str>,
}

impl ServerUrl {
    pub(super) fn parse(text: &str) -> Result<Self, ToolError> {
        let refused = |problem: &str| {
            ToolError::bad_parameter(format!(
                "the URL `{}` {problem}; use one such as `https://example.com/mcp`",
                shown_url(text)
            ))
        };
        if text.len() > MAX_URL_BYTES {
            return Err(refused("exceeds 4096 bytes"));
        }
        let uri = Uri::parse(text).map_err(|_| refused("is no absolute URL"))?;
        let scheme = uri.scheme().as_str();
        if !["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) {
            return Err(refused("has neither the scheme `http` nor `https`"));
        }
        let authority = uri.authority().filter(|authority| !authority.host().is_empty());
        let authority = authority.ok_or_else(|| refused("has no host"))?;
        let port = authority.port_to_u16().map_err(|_| refused("has a port above 65535"))?;
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let path = Some(uri.path().as_str()).filter(|path| !path.is_empty()).unwrap_or("/");
        let public = format!("{scheme}://{}{port}{path}", authority.host());
        let public = Uri::parse(public).map_err(|_| refused("is no absolute URL"))?;
        Ok(Self { text: text.to_owned(), canonical: public.normalize().as_str().into() })
    }
}

/// Returns a URL without the parts that may be secret, escaped.
fn shown_url(text: &str) -> String {
    let public = text.split(['?', '#']).next().unwrap_or_default();
    let shown = match (public.split_once("://"), public.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, rest))) => format!("{scheme}://{rest}"),
        (None, Some((_, rest))) => rest.to_owned(),
        (_, None) => public.to_owned(),
    };
    Escape::LINE.at_most(MAX_SHOWN_CHARS).text(&shown)
}

#[cfg(test)]
mod tests {
    use tool_runtime::ErrorKind;

    use super::*;

    #[test]
    fn urls_are_compared_in_canonical_form() {
        for (text, expected) in [
            ("HTTP://H:80/A?x#y", "http://h/A"),
            ("http://h/A", "http://h/A"),
            ("https://user:secret@Example.COM:443/mcp/", "https://example.com/mcp/"),
            ("https://example.com:8443/mcp", "https://example.com:8443/mcp"),
            ("http://h/a/./b/../c", "http://h/a/c"),
            ("http://h", "http://h/"),
            ("http://[::1]:3000/Mcp", "http://[::1]:3000/Mcp"),
        ] {
            let url = ServerUrl::parse(text).map(|url| (url.text, url.canonical));
            assert_eq!(url.ok(), Some((text.to_owned(), expected.into())), "{text}"); // U12
        }
    }

    #[test]
    fn other_texts_are_refused_without_their_secrets() {
        for (text, expected) in [
            ("ftp://h/a", "has neither the scheme `http` nor `https`"),
            ("example.com/mcp", "is no absolute URL"),
            ("http:///mcp", "has no host"),
            ("http://h:70000/", "has a port above 65535"),
            ("http://user:secret@h:x/?key=secret", "is no absolute URL"),
            ("ftp://user:secret@h/", "`ftp://h/`"),
            ("", "is no absolute URL"),
            ("http://h/\u{1b}[31m", "is no absolute URL"),
            (&format!("http://h/{}", "x".repeat(5_000)), "exceeds 4096 bytes"),
        ] {
            let error = ServerUrl::parse(text).err().map(|error| (error.kind(), error.to_string()));
            let (kind, message) = error.unzip();
            assert_eq!(kind, Some(ErrorKind::BadParameter), "{text}"); // U12
            let message = message.unwrap_or_default();
            assert!(message.contains(expected) && !message.contains("secret"), "{message}");
            assert!(!message.contains('\u{1b}') && message.len() < 300, "{message}");
        }
    }
}
