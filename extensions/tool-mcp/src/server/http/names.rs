//! Validation of the names that a request has for the server and for its page: `Host`, `Origin` and the request target.
//!
//! A web page must not reach a server on the user's machine (DNS rebinding), so a name that two parsers may read differently is
//! refused: one with user information, with a port that is no number, or one that is stated twice.

use std::net::Ipv6Addr;

use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode, Uri,
    header::{HOST, ORIGIN},
};

/// A host and a port, as in the header `Host`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Authority {
    host: String,
    port: Option<u16>,
}

impl Authority {
    /// Parses `host` or `host:port`. The host is a name, an IPv4 address, or an IPv6 address in brackets.
    fn parse(text: &str) -> Option<Self> {
        let (host, rest) = match text.strip_prefix('[') {
            Some(address) => {
                let (address, rest) = address.split_once(']')?;
                (address.parse::<Ipv6Addr>().ok()?.to_string(), rest)
            }
            None => {
                let (name, rest) = text.split_at(text.find(':').unwrap_or(text.len()));
                let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
                if name.is_empty() || !name.bytes().all(is_name) {
                    return None;
                }
                (name.to_ascii_lowercase(), rest)
            }
        };
        let port = match rest.strip_prefix(':') {
            Some(port) => Some(parse_port(port)?),
            None if rest.is_empty() => None,
            None => return None,
        };
        Some(Self { host, port })
    }

    /// Parses a setting, where an IPv6 address needs no brackets.
    fn parse_host_setting(text: &str) -> Option<Self> {
        let address = |address: Ipv6Addr| Self { host: address.to_string(), port: None };
        text.parse().ok().map(address).or_else(|| Self::parse(text))
    }

    /// Returns `true` if both are the same server by the URL scheme `scheme`.
    fn is_same_server(&self, other: &Self, scheme: Option<&str>) -> bool {
        let port = |it: &Self| it.port.or_else(|| default_port(scheme?));
        self.host == other.host && port(self) == port(other)
    }
}

fn parse_port(text: &str) -> Option<u16> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

fn default_port(scheme: &str) -> Option<u16> {
    match scheme {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    }
}

/// The port of an accepted origin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AcceptedPort {
    Any,
    Exact(u16),
}

/// An accepted origin.
#[derive(Debug, Clone, PartialEq, Eq)]
enum AcceptedOrigin {
    /// The origin `null`, of pages without one.
    Null,
    Page {
        scheme: String,
        host: String,
        port: AcceptedPort,
    },
}

impl AcceptedOrigin {
    fn parse(text: &str) -> Option<Self> {
        if text == "null" {
            return Some(Self::Null);
        }
        let (scheme, rest) = text.split_once("://")?;
        let (authority, is_any) = match rest.strip_suffix(":*") {
            Some(host) => (Authority::parse(host).filter(|it| it.port.is_none())?, true),
            None => (Authority::parse(rest)?, false),
        };
        let port = match authority.port {
            Some(port) if !is_any => AcceptedPort::Exact(port),
            _ => AcceptedPort::Any,
        };
        Some(Self::Page { scheme: parse_scheme(scheme)?, host: authority.host, port })
    }

    fn accepts_origin(&self, origin: &PageOrigin) -> bool {
        match (self, origin) {
            (Self::Null, PageOrigin::Null) => true,
            (Self::Page { scheme, host, port }, PageOrigin::Page { scheme: of, authority }) => {
                let is_port = match port {
                    AcceptedPort::Any => true,
                    AcceptedPort::Exact(port) => authority.port.or_else(|| default_port(of)) == Some(*port),
                };
                scheme == of && *host == authority.host && is_port
            }
            _ => false,
        }
    }
}

/// The value of the header `Origin`.
#[derive(Debug, PartialEq, Eq)]
enum PageOrigin {
    Null,
    Page { scheme: String, authority: Authority },
}

impl PageOrigin {
    fn parse(text: &str) -> Option<Self> {
        if text == "null" {
            return Some(Self::Null);
        }
        let (scheme, authority) = text.split_once("://")?;
        Some(Self::Page { scheme: parse_scheme(scheme)?, authority: Authority::parse(authority)? })
    }
}

fn parse_scheme(text: &str) -> Option<String> {
    let is_scheme = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
    (text.starts_with(|first: char| first.is_ascii_alphabetic()) && text.bytes().all(is_scheme))
        .then(|| text.to_ascii_lowercase())
}

/// The names that are accepted.
#[derive(Debug)]
pub(super) struct AcceptedNames {
    /// Empty for any.
    hosts: Vec<Authority>,
    origins: Vec<AcceptedOrigin>,
}

impl AcceptedNames {
    /// Parses the settings.
    ///
    /// # Errors
    ///
    /// The setting, and the value that has not its form.
    pub(super) fn parse(hosts: &[String], origins: &[String]) -> Result<Self, (&'static str, String)> {
        let host = |text: &String| Authority::parse_host_setting(text.trim()).ok_or(("hosts", text.clone()));
        let origin = |text: &String| AcceptedOrigin::parse(text.trim()).ok_or(("origins", text.clone()));
        Ok(Self {
            hosts: hosts.iter().map(host).collect::<Result<_, _>>()?,
            origins: origins.iter().map(origin).collect::<Result<_, _>>()?,
        })
    }

    /// Validates the names of a request.
    ///
    /// # Errors
    ///
    /// The status of the answer, and the reason.
    pub(super) fn validate_host_and_origin(
        &self,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Result<(), (StatusCode, String)> {
        let host = request_host(uri, headers).map_err(|reason| (StatusCode::BAD_REQUEST, reason))?;
        let is_accepted =
            |it: &Authority| it.host == host.host && (it.port.is_none() || it.port == host.port);
        if !self.hosts.is_empty() && !self.hosts.iter().any(is_accepted) {
            let reason = "the value of the header `Host` is not accepted".to_owned();
            return Err((StatusCode::FORBIDDEN, reason));
        }
        self.validate_origin(headers).map_err(|reason| (StatusCode::FORBIDDEN, reason))
    }

    fn validate_origin(&self, headers: &HeaderMap) -> Result<(), String> {
        let Some(value) = single_header_value(headers, &ORIGIN)? else { return Ok(()) };
        let origin = value.to_str().ok().and_then(PageOrigin::parse);
        let origin = origin.ok_or("the header `Origin` is no origin: send scheme, host and port")?;
        let is_accepted = self.origins.iter().any(|accepted| accepted.accepts_origin(&origin));
        is_accepted.then_some(()).ok_or_else(|| "the value of the header `Origin` is not accepted".to_owned())
    }
}

/// Returns the only value of the header `name`, if the request has it.
fn single_header_value<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a HeaderValue>, String> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (_, Some(_)) => Err(format!("the header `{name}` stands there more than once: send it once")),
        (value, None) => Ok(value),
    }
}

/// Returns the host of a request, which the request target and the header `Host` must agree on.
fn request_host(uri: &Uri, headers: &HeaderMap) -> Result<Authority, String> {
    let invalid = || "the header `Host` is no host: send a name, or a name with a port".to_owned();
    let header = match single_header_value(headers, &HOST)? {
        Some(value) => {
            Some(value.to_str().ok().and_then(|text| Authority::parse(text.trim())).ok_or_else(invalid)?)
        }
        None => None,
    };
    // HTTP/2 has it here alone; HTTP/1.1 has it here too for a proxy.
    let target =
        match uri.authority() {
            Some(authority) => Some(Authority::parse(authority.as_str()).ok_or(
                "the authority of the request target is no host: send a name, or a name with a port",
            )?),
            None => None,
        };
    match (header, target) {
        (Some(header), Some(target)) if !header.is_same_server(&target, uri.scheme_str()) => {
            Err("the request target and the header `Host` name two servers: send a path, or the same host"
                .to_owned())
        }
        (Some(host), _) | (None, Some(host)) => Ok(host),
        (None, None) => Err("the header `Host` is missing".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    fn status(uri: &str, headers: &[(HeaderName, &str)], accepted: &AcceptedNames) -> u16 {
        let pairs = headers.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).unwrap()));
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(name, value);
        }
        accepted
            .validate_host_and_origin(&uri.parse().unwrap(), &map)
            .map_or_else(|(status, _)| status.as_u16(), |()| 200)
    }

    fn accepted(hosts: &[&str], origins: &[&str]) -> AcceptedNames {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        AcceptedNames::parse(&owned(hosts), &owned(origins)).unwrap()
    }

    #[test]
    fn a_host_that_two_parsers_read_differently_is_refused() {
        let accepted = accepted(&["localhost", "127.0.0.1", "[::1]", "example.com:8443"], &[]);
        for (host, expected) in [
            ("localhost", 200),
            ("LOCALHOST:80", 200),
            ("127.0.0.1:3001", 200),
            ("[::1]:80", 200),
            ("[0:0:0:0:0:0:0:1]", 200),
            ("example.com:8443", 200),
            ("example.com", 403),
            ("evil.example", 403),
            ("localhost.", 403),
            ("localhost:80.evil.com", 400),
            ("localhost:", 400),
            ("localhost:+80", 400),
            ("localhost:65536", 400),
            ("localhost:80:80", 400),
            ("localhost@evil.com", 400),
            ("evil.com@localhost", 400),
            ("[::1", 400),
            ("[::1].evil.com", 400),
            ("[localhost]", 400),
            ("localhost/evil.com", 400),
            ("localhost, evil.com", 400),
            ("localhost\tevil.com", 400),
            ("localhost\\evil.com", 400),
            ("localhost#evil.com", 400),
            ("localhost%2eevil.com", 400),
            ("loc\u{e4}lhost", 400),
            ("localhost..", 403),
            (".localhost", 403),
            ("evil.localhost", 403),
            // Other spellings of the address are other names.
            ("127.1", 403),
            ("0x7f.0.0.1", 403),
            ("2130706433", 403),
            ("127.0.0.1.", 403),
            ("0.0.0.0", 403),
            ("[::ffff:127.0.0.1]", 403),
            ("[::1%25lo]", 400),
            ("::1", 400),
            ("[::1]80", 400),
            ("[::1]:080", 200),
            ("", 400),
        ] {
            assert_eq!(status("/mcp", &[(HOST, host)], &accepted), expected, "{host}");
        }
        assert_eq!(status("/mcp", &[], &accepted), 400);
        assert_eq!(status("/mcp", &[(HOST, "localhost"), (HOST, "localhost")], &accepted), 400);
        assert_eq!(status("/mcp", &[(HOST, "localhost"), (HOST, "evil.com")], &accepted), 400);
    }

    #[test]
    fn a_request_target_with_another_authority_is_refused() {
        let accepted = accepted(&["localhost"], &[]);
        for (uri, host, expected) in [
            ("http://localhost/mcp", "localhost", 200),
            ("http://localhost/mcp", "localhost:80", 200),
            ("http://LOCALHOST:80/mcp", "localhost", 200),
            ("http://evil.com/mcp", "localhost", 400),
            ("http://localhost/mcp", "evil.com", 400),
            ("http://localhost:81/mcp", "localhost", 400),
            ("http://evil.com@localhost/mcp", "localhost", 400),
            ("http://evil.com/mcp", "evil.com", 403),
            ("https://localhost/mcp", "localhost", 200),
            ("https://localhost:443/mcp", "localhost:80", 400),
            ("http://localhost./mcp", "localhost", 400),
            ("http://[::1]/mcp", "localhost", 400),
            ("//evil.com/mcp", "localhost", 200),
            ("localhost:80", "evil.com", 400),
        ] {
            assert_eq!(status(uri, &[(HOST, host)], &accepted), expected, "{uri} {host}");
        }
        // As HTTP/2 has it.
        assert_eq!(status("http://localhost/mcp", &[], &accepted), 200);
        assert_eq!(status("http://evil.com/mcp", &[], &accepted), 403);
    }

    #[test]
    fn an_origin_is_scheme_host_and_port_and_nothing_else() {
        let accepted =
            accepted(&["localhost"], &["http://localhost:*", "https://a.example:443", "https://b.example"]);
        for (origin, expected) in [
            ("http://localhost", 200),
            ("http://localhost:5173", 200),
            ("https://a.example", 200),
            ("https://a.example:443", 200),
            ("https://b.example:8443", 200),
            ("https://a.example:444", 403),
            ("https://localhost", 403),
            ("http://localhost:80.evil.com", 403),
            ("http://localhost.evil.com", 403),
            ("http://localhost@evil.com", 403),
            ("http://evil.com@localhost", 403),
            ("http://localhost/", 403),
            ("http://localhost#@evil.com", 403),
            ("http://localhost http://evil.com", 403),
            ("http://localhost,http://evil.com", 403),
            ("HTTP://LOCALHOST:1", 200),
            ("http://localhost.:1", 403),
            ("http://[::1]:1", 403),
            ("http://127.0.0.1:80", 403),
            ("http://localhost:", 403),
            ("http://localhost:*", 403),
            ("http://localhost:+1", 403),
            ("http:localhost", 403),
            ("http:///localhost", 403),
            (" http://localhost", 403),
            ("file://", 403),
            ("NULL", 403),
            ("localhost", 403),
            ("null", 403),
            ("", 403),
        ] {
            assert_eq!(
                status("/", &[(HOST, "localhost"), (ORIGIN, origin)], &accepted),
                expected,
                "{origin}"
            );
        }
        let twice = [(HOST, "localhost"), (ORIGIN, "http://localhost"), (ORIGIN, "http://localhost")];
        assert_eq!(status("/", &twice, &accepted), 403);
    }

    #[test]
    fn a_setting_that_accepts_nothing_is_an_error() {
        let parse = |host: &str, origin: &str| AcceptedNames::parse(&[host.to_owned()], &[origin.to_owned()]);
        assert!(parse("::1", "null").is_ok());
        assert_eq!(parse("http://a", "null").unwrap_err(), ("hosts", "http://a".to_owned()));
        for origin in ["a.example", "https://a:443:*", "https://a/", "*"] {
            assert_eq!(parse("a", origin).unwrap_err(), ("origins", origin.to_owned()));
        }
    }
}
