//! URL patterns: the scheme, host, port and path of a URL, as browsers parse them.

use std::{fmt, str::FromStr};

use tool_core::internals::ExactValue;

use super::{InvalidRule, Match};

/// A pattern of URLs: `scheme://host[:port][/path]`. Requires the feature `url-rules`.
///
/// | part | syntax |
/// | --- | --- |
/// | scheme | `http`, `https`, `ws`, `wss`, `ftp`, or `*` for any of them |
/// | host | a name or an address; `*.example.com` for all names below `example.com`, without itself; `*` for any |
/// | port | a number, or `*` for any; default: the default port of the scheme |
/// | path | names with `*`, and `**` for any number of names; default: any path |
///
/// Values are parsed by the [URL Standard](https://url.spec.whatwg.org): host names are compared in lower case and in
/// ASCII (Punycode) form, `http://0x7f.1` is `http://127.0.0.1`, and a single dot at the end of a host is ignored.
/// IPv4-mapped IPv6 addresses are compared as IPv4 addresses. In a path, `.`, `..` and percent-encoding are resolved,
/// and case is significant. Query and fragment are ignored.
///
/// A value that programs parse differently matches every `deny` and `ask`, and no `allow`:
///
/// - a value that is not a string, or not a valid URL
/// - a URL with a user name or password, a `\`, blanks or control characters
/// - a URL of another scheme, if the pattern accepts any scheme, or if the scheme wraps another URL, as in `git+https:`
/// - a host with `ß` or another character that IDNA 2003 maps to other characters
/// - if the pattern has an IPv4 address: an IPv6 address that is translated to it (`64:ff9b::`, `2002::`, `::ffff:0:0`)
/// - if the pattern has a path: a path with an empty name or an encoded separator
///
/// Host names are not resolved: a pattern with an address does not match a name that resolves to it. Restrict addresses
/// where the program opens the connection.
///
/// # Examples
///
#[cfg_attr(feature = "url-rules", doc = "```")]
#[cfg_attr(not(feature = "url-rules"), doc = "```ignore")]
/// use tool_runtime::{definition::Permission, policy::{Rule, Rules, UrlPattern}, prelude::*};
///
/// let rules = Rules::new([
///     Rule::deny("fetch"),
///     Rule::allow("fetch").at("/url", UrlPattern::new("https://*.example.com/docs/**")?),
/// ]);
/// let judge = |url: &str| rules.judge("fetch", &json!({ "url": url }));
/// assert_eq!(judge("https://www.EXAMPLE.com:443/docs/a"), Permission::Allow);
/// for url in ["http://www.example.com/docs/a", "https://www.example.com@evil.net/docs/a"] {
///     assert!(matches!(judge(url), Permission::Deny { .. }));
/// }
/// # Ok::<(), tool_runtime::policy::InvalidRule>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UrlPattern {
    text: String,
    #[cfg(feature = "url-rules")]
    parts: parsed::UrlParts,
}

impl UrlPattern {
    /// Parses a pattern.
    ///
    /// # Errors
    ///
    /// Returns an error if `pattern` does not have the form above, or the feature `url-rules` is off.
    #[cfg(feature = "url-rules")]
    pub fn new(pattern: &str) -> Result<Self, InvalidRule> {
        let parts = parsed::UrlParts::parse(pattern)
            .map_err(|why| InvalidRule(format!("`{pattern}` is not a URL pattern: {why}")))?;
        Ok(Self { text: pattern.to_owned(), parts })
    }

    /// Parses a pattern.
    ///
    /// # Errors
    ///
    /// Always returns an error, since the feature `url-rules` is off.
    #[cfg(not(feature = "url-rules"))]
    pub fn new(pattern: &str) -> Result<Self, InvalidRule> {
        Err(InvalidRule(format!(
            "the URL pattern `{pattern}` requires the feature `url-rules` of `tool-runtime`"
        )))
    }

    /// Returns the pattern as it was written.
    pub(super) fn as_str(&self) -> &str {
        &self.text
    }

    #[cfg(feature = "url-rules")]
    pub(super) fn match_value(&self, value: &ExactValue<'_>) -> Match {
        match value {
            ExactValue::String(url) => self.parts.match_url(url),
            _ => Match::Unclear,
        }
    }

    #[cfg(not(feature = "url-rules"))]
    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(super) fn match_value(&self, _: &ExactValue<'_>) -> Match {
        Match::Unclear
    }
}

impl FromStr for UrlPattern {
    type Err = InvalidRule;

    fn from_str(pattern: &str) -> Result<Self, InvalidRule> {
        Self::new(pattern)
    }
}

impl fmt::Display for UrlPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(feature = "url-rules")]
mod parsed {
    use std::net::Ipv4Addr;

    use url::{Host, Url};

    use crate::policy::rules::{
        Match,
        path::{Name, decode_url_name, match_names},
    };

    const SCHEMES: [&str; 5] = ["http", "https", "ws", "wss", "ftp"];

    /// The parts of a pattern.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(super) struct UrlParts {
        /// `None` for any.
        scheme: Option<String>,
        host: HostPattern,
        port: Port,
        /// `None` for any.
        path: Option<Vec<Name>>,
    }

    #[derive(Debug, Clone, PartialEq, Eq)]
    enum HostPattern {
        Any,
        One(Host),
        /// All names below this one.
        Below(String),
    }

    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    enum Port {
        Any,
        Default,
        One(u16),
    }

    impl UrlParts {
        pub(super) fn parse(text: &str) -> Result<Self, String> {
            if text.contains(is_ambiguous_in_url) || text.contains(['?', '#', '@']) {
                return Err("remove the user, query, fragment, `\\` or blank".to_owned());
            }
            let (scheme, rest) = text.split_once("://").ok_or("it must begin with `scheme://`")?;
            let scheme = (scheme != "*").then(|| scheme.to_ascii_lowercase());
            if let Some(scheme) = scheme.as_deref().filter(|scheme| !SCHEMES.contains(scheme)) {
                return Err(format!(
                    "the scheme must be one of {}, or `*`, not `{scheme}`",
                    SCHEMES.join(", ")
                ));
            }
            let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let (host, port) = match authority.rsplit_once(':') {
                // The colons of an IPv6 address are within brackets.
                Some((host, port)) if !port.contains(']') => (host, Some(port)),
                _ => (authority, None),
            };
            let port = match port {
                None => Port::Default,
                Some("*") => Port::Any,
                Some(port) => {
                    Port::One(port.parse().map_err(|_| "the port must be a number up to 65535, or `*`")?)
                }
            };
            Ok(Self { scheme, host: HostPattern::parse(host)?, port, path: parse_path(path)? })
        }

        pub(super) fn match_url(&self, text: &str) -> Match {
            if text.contains(is_ambiguous_in_url) {
                return Match::Unclear;
            }
            let Ok(url) = Url::parse(text) else { return Match::Unclear };
            let authority = authority(text);
            // An empty user name before `@` is unclear, too.
            if !url.username().is_empty() || url.password().is_some() || authority.contains('@') {
                return Match::Unclear;
            }
            match &self.scheme {
                Some(scheme) if scheme != url.scheme() && may_wrap_scheme(text, url.scheme(), scheme) => {
                    return Match::Unclear;
                }
                Some(scheme) if scheme != url.scheme() => return Match::No,
                None if !SCHEMES.contains(&url.scheme()) => return Match::Unclear,
                _ => {}
            }
            let Some(host) = url.host().map(|host| canonical_host(host.to_owned())) else {
                return Match::Unclear;
            };
            if matches!(&host, Host::Domain(name) if name.split('.').any(str::is_empty))
                || decode_url_name(authority).is_none_or(|host| host.contains(DEVIATIONS))
            {
                return Match::Unclear;
            }
            if let (HostPattern::One(Host::Ipv4(one)), Some(of)) = (&self.host, translated_ipv4(&host)) {
                return if of == *one && self.port.fits(&url) { Match::Unclear } else { Match::No };
            }
            let fits = self.host.fits(&host) && self.port.fits(&url);
            match &self.path {
                None => Match::of(fits),
                Some(path) if fits => match_path(path, &url),
                Some(_) => Match::No,
            }
        }
    }

    impl HostPattern {
        fn parse(text: &str) -> Result<Self, String> {
            if text == "*" {
                return Ok(Self::Any);
            }
            let parse = |host: &str| match host.contains('*') {
                true => Err("`*` must be the whole host, or precede the first dot".to_owned()),
                // Parsed with the rules of a scheme whose hosts are names and addresses.
                false => Url::parse(&format!("https://{host}/")).map_err(|error| error.to_string()).and_then(
                    |url| url.host().map(|host| host.to_owned()).ok_or("it has no host".to_owned()),
                ),
            };
            match text.strip_prefix("*.") {
                None => parse(text).map(|host| Self::One(canonical_host(host))),
                Some(parent) => match canonical_host(parse(parent)?) {
                    Host::Domain(parent) => Ok(Self::Below(format!(".{parent}"))),
                    _ => Err("`*.` requires a host name, not an address".to_owned()),
                },
            }
        }

        fn fits(&self, host: &Host) -> bool {
            match (self, host) {
                (Self::Any, _) => true,
                (Self::One(one), host) => one == host,
                (Self::Below(parent), Host::Domain(name)) => {
                    name.len() > parent.len() && name.ends_with(parent.as_str())
                }
                (Self::Below(_), _) => false,
            }
        }
    }

    impl Port {
        fn fits(self, url: &Url) -> bool {
            match self {
                Self::Any => true,
                // The parser omits the default port.
                Self::Default => url.port().is_none(),
                Self::One(port) => url.port_or_known_default() == Some(port),
            }
        }
    }

    /// Returns `true` for a character that some programs skip and others keep.
    fn is_ambiguous_in_url(letter: char) -> bool {
        letter == '\\' || letter.is_whitespace() || letter.is_control()
    }

    /// The characters that IDNA 2008 keeps in a name, and IDNA 2003 maps to others or removes.
    const DEVIATIONS: [char; 5] = ['\u{df}', '\u{1e9e}', '\u{3c2}', '\u{200c}', '\u{200d}'];

    /// Returns the text between the scheme and the path.
    fn authority(text: &str) -> &str {
        let rest = text.split_once(':').map_or(text, |(_, rest)| rest).trim_start_matches('/');
        rest.split(['/', '?', '#']).next().unwrap_or_default()
    }

    /// Returns `true` if `text`, whose scheme is `outer_scheme`, may wrap a URL of `inner_scheme` for a program that
    /// supports the outer one.
    fn may_wrap_scheme(text: &str, outer_scheme: &str, inner_scheme: &str) -> bool {
        !SCHEMES.contains(&outer_scheme) && text.to_ascii_lowercase().contains(&format!("{inner_scheme}:"))
    }

    /// Returns the IPv4 address into which a network may translate an IPv6 address.
    fn translated_ipv4(host: &Host) -> Option<Ipv4Addr> {
        let Host::Ipv6(address) = host else { return None };
        let (high, low) = match address.segments() {
            [0x64, 0xff9b, _, _, _, _, high, low] | [0, 0, 0, 0, 0xffff, 0, high, low] => (high, low),
            [0x2002, high, low, ..] => (high, low),
            _ => return None,
        };
        Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
    }

    /// Returns the canonical form of a host.
    fn canonical_host(host: Host) -> Host {
        match host {
            Host::Domain(name) => match name.strip_suffix('.') {
                Some(name) => Host::Domain(name.to_owned()),
                None => Host::Domain(name),
            },
            Host::Ipv6(address) => match (address.segments(), address.to_ipv4()) {
                // `::` and `::1` are not IPv4 addresses.
                ([0, 0, 0, 0, 0, 0, 0, _], _) | (_, None) => Host::Ipv6(address),
                (_, Some(address)) => Host::Ipv4(address),
            },
            address => address,
        }
    }

    fn parse_path(path: &str) -> Result<Option<Vec<Name>>, String> {
        if matches!(path, "" | "/**") {
            return Ok(None);
        }
        let names = path.split('/').skip(1).filter(|name| !name.is_empty());
        let names = names.map(|name| match name {
            "." | ".." => Err("a pattern must not contain `.` or `..`".to_owned()),
            "**" => Ok(Name::Any),
            name if name.contains("**") => Err("`**` must stand alone between separators".to_owned()),
            name => {
                decode_url_name(name).map(Name::One).ok_or_else(|| format!("`{name}` is encoded wrongly"))
            }
        });
        names.collect::<Result<_, _>>().map(Some)
    }

    /// Compares a path whose dots the parser has resolved.
    fn match_path(pattern: &[Name], url: &Url) -> Match {
        let Some(segments) = url.path_segments() else { return Match::Unclear };
        let mut segments: Vec<_> = segments.collect();
        if segments.last().is_some_and(|last| last.is_empty()) {
            segments.pop();
        }
        let decoded = |segment: &&str| {
            let name = decode_url_name(segment)?;
            let is_clear = !name.is_empty()
                && !name.contains(|letter: char| letter.is_control() || letter == ';')
                && !matches!(&*name, "." | "..");
            is_clear.then_some(name)
        };
        match segments.iter().map(decoded).collect::<Option<Vec<_>>>() {
            Some(names) => match_names(pattern, &names, false),
            None => Match::Unclear,
        }
    }
}
