//! Origins of URLs: scheme, host and port.

use std::{
    fmt,
    net::{IpAddr, Ipv6Addr},
};

use reqwest::Url;

/// The scheme, the host and the port of a URL.
///
/// # Examples
///
/// ```
/// use tool_http::{Origin, reqwest::Url};
///
/// let origin = Origin::parse("https://API.example.com:443/").unwrap();
/// assert_eq!(origin.to_string(), "https://api.example.com");
/// assert!(!origin.covers(&Url::parse("https://api.example.com.evil.example/").unwrap()));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Origin {
    scheme: Box<str>,
    host: Box<str>,
    port: u16,
}

impl Origin {
    /// Returns the origin of an `http` or `https` URL.
    #[must_use]
    pub fn of(url: &Url) -> Option<Self> {
        if !matches!(url.scheme(), "http" | "https") {
            return None;
        }
        let host = url.host_str()?;
        Some(Self { scheme: url.scheme().into(), host: host.into(), port: url.port_or_known_default()? })
    }

    /// Reads a text such as `https://api.example.com`.
    ///
    /// # Errors
    ///
    /// If the text has a user, a path, a query or a fragment, or is no `http` or `https` URL. The error never shows the text, which may
    /// have a password.
    pub fn parse(text: &str) -> Result<Self, String> {
        let expected =
            "expected an origin such as `https://api.example.com`, without user, path, query and fragment";
        let url = Url::parse(text).map_err(|error| format!("it is not a URL ({error}); {expected}"))?;
        let is_bare = matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
        match Self::of(&url) {
            Some(origin) if is_bare && !has_user(&url) => Ok(origin),
            _ => Err(expected.to_owned()),
        }
    }

    /// Returns `true` if `url` has this origin.
    #[must_use]
    pub fn covers(&self, url: &Url) -> bool {
        url.scheme() == &*self.scheme
            && url.host_str() == Some(&self.host)
            && url.port_or_known_default() == Some(self.port)
    }

    /// Returns `true` if requests are sent without encryption to another machine.
    #[must_use]
    pub fn is_exposed(&self) -> bool {
        &*self.scheme == "http" && !is_loopback(&self.host)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}", self.scheme, self.host)?;
        match (&*self.scheme, self.port) {
            ("http", 80) | ("https", 443) => Ok(()),
            (_, port) => write!(f, ":{port}"),
        }
    }
}

/// Returns `true` if a user or a password stands before the host of `url`.
#[must_use]
pub fn has_user(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

/// Returns the address that `host`, as a [`Url`] writes it, is the spelling of.
pub(crate) fn literal_address(host: &str) -> Option<IpAddr> {
    match host.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
        Some(inner) => inner.parse::<Ipv6Addr>().ok().map(IpAddr::V6),
        None => host.parse().ok(),
    }
}

/// Returns `true` if `host` is the name of this machine ([RFC 6761, section 6.3](https://www.rfc-editor.org/rfc/rfc6761#section-6.3)).
pub(crate) fn is_localhost(host: &str) -> bool {
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    host == "localhost" || host.ends_with(".localhost")
}

fn is_loopback(host: &str) -> bool {
    literal_address(host).map_or_else(|| is_localhost(host), |it| it.to_canonical().is_loopback())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may")]
mod tests {
    use super::*;

    #[test]
    fn an_origin_covers_its_scheme_host_and_port_only() {
        let origin = Origin::parse("https://API.example.com:443/").unwrap();
        assert_eq!(origin.to_string(), "https://api.example.com");
        let covers = |text: &str| origin.covers(&Url::parse(text).unwrap());
        for text in
            ["https://api.example.com", "https://API.EXAMPLE.com/x?y#z", "https://api.example.com:443/"]
        {
            assert!(covers(text), "{text}");
        }
        let others = [
            "http://api.example.com",
            "https://api.example.com:8443",
            "https://example.com",
            "https://a.api.example.com",
            "https://api.example.com.evil.example",
            "https://api.example.com.",
            "https://evil.example/https://api.example.com",
            "https://api.example.com@evil.example",
            "https://api.example.com%2eevil.example",
            "ftp://api.example.com",
        ];
        for text in others {
            assert!(!covers(text), "{text}");
        }
    }

    #[test]
    fn an_origin_is_written_with_its_port_unless_it_is_the_default_of_its_scheme() {
        for (text, expected) in [
            ("http://a.example:80", "http://a.example"),
            ("http://a.example:443", "http://a.example:443"),
            ("https://a.example:443/", "https://a.example"),
            ("https://a.example:80", "https://a.example:80"),
            ("https://[::1]:8443", "https://[::1]:8443"),
        ] {
            assert_eq!(Origin::parse(text).unwrap().to_string(), expected);
        }
    }

    #[test]
    fn a_text_with_more_than_an_origin_is_an_error_that_does_not_show_it() {
        let expected =
            "expected an origin such as `https://api.example.com`, without user, path, query and fragment";
        for text in [
            "https://a.example/hunter2",
            "https://a.example/?hunter2",
            "https://a.example?hunter2",
            "https://a.example#hunter2",
            "https://hunter2@a.example",
            "https://:hunter2@a.example",
            "https://user:hunter2@a.example",
            "ftp://a.example",
            "mailto:hunter2@a.example",
        ] {
            assert_eq!(Origin::parse(text), Err(expected.to_owned()), "{text}");
        }
        let error = Origin::parse("a.example/hunter2").unwrap_err();
        assert_eq!(error, format!("it is not a URL (relative URL without a base); {expected}"));
    }

    #[test]
    fn requests_without_encryption_to_another_machine_are_exposed() {
        for (text, is_exposed) in [
            ("http://a.example", true),
            ("http://10.0.0.1", true),
            ("http://localhost.example", true),
            ("http://notlocalhost", true),
            ("http://[::2]", true),
            ("https://a.example", false),
            ("http://localhost:8080", false),
            ("http://a.localhost", false),
            ("http://127.0.0.9", false),
            ("http://[::1]", false),
            ("http://[::ffff:127.0.0.1]", false),
        ] {
            assert_eq!(Origin::parse(text).unwrap().is_exposed(), is_exposed, "{text}");
        }
    }
}
