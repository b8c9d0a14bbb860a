//! Rules about the hosts of URLs.

use tool_http::reqwest::Url;

/// The domains that requests may reach, and those that they may not.
///
/// A domain covers itself and all below it. Domains are compared as a [`Url`] writes them: in small letters, in ASCII (`xn--…`), without the
/// dot of the root. A rule that blocks comes first.
#[derive(Debug, Clone, Default)]
pub(super) struct DomainRules {
    pub(super) allowed: Vec<String>,
    pub(super) blocked: Vec<String>,
}

impl DomainRules {
    /// Returns the reason why the host of `url` is refused.
    pub(super) fn refusal_reason(&self, url: &Url) -> Option<String> {
        let host = canonical_host(url);
        if self.blocked.iter().any(|domain| is_domain_or_below(&host, domain)) {
            return Some(format!("`{host}` is blocked"));
        }
        if !self.allowed.is_empty() && !self.allowed.iter().any(|domain| is_domain_or_below(&host, domain)) {
            return Some(format!("`{host}` is not one of the allowed domains"));
        }
        None
    }

    /// Reads the lists of a call.
    pub(super) fn parse(allowed: &[String], blocked: &[String]) -> Result<Self, String> {
        let read = |list: &[String]| list.iter().map(|it| parse_domain(it)).collect::<Result<Vec<_>, _>>();
        Ok(Self { allowed: read(allowed)?, blocked: read(blocked)? })
    }
}

/// Returns the host of `url` without the dot of the root.
pub(super) fn canonical_host(url: &Url) -> String {
    url.host_str().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase()
}

fn is_domain_or_below(host: &str, domain: &str) -> bool {
    match host.strip_suffix(domain) {
        Some(above) => above.is_empty() || above.ends_with('.'),
        None => false,
    }
}

/// Reads a domain such as `example.com`.
fn parse_domain(text: &str) -> Result<String, String> {
    let problem = || {
        let text: String = text.chars().take(100).collect();
        format!("`{text}` is not a domain; write it like `example.com`, without scheme, port and path")
    };
    let is_address = text.starts_with('[') && text.ends_with(']');
    let has_more = text.contains(['/', '\\', '@', '?', '#', '*']) || (text.contains(':') && !is_address);
    if has_more || text.trim() != text || text.is_empty() {
        return Err(problem());
    }
    let url = Url::parse(&format!("http://{text}/")).map_err(|_| problem())?;
    let host = canonical_host(&url);
    // A label without a name, as in `.example.com`, is part of no host.
    if host.split('.').any(str::is_empty) { Err(problem()) } else { Ok(host) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may")]
mod tests {
    use super::*;

    #[test]
    fn a_domain_covers_itself_and_all_below_it() {
        let owned = |list: &[&str]| list.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>();
        let reason = |allowed: &[&str], blocked: &[&str], host: &str| {
            let rules = DomainRules::parse(&owned(allowed), &owned(blocked)).unwrap();
            rules.refusal_reason(&format!("https://{host}/x").parse().unwrap())
        };
        let blocked = |host: &str| Some(format!("`{host}` is blocked"));
        let not_allowed = |host: &str| Some(format!("`{host}` is not one of the allowed domains"));
        for (allow, block, host, expected) in [
            (&[][..], &[][..], "a.example", None),
            (&[], &["a.example"], "a.example", blocked("a.example")),
            (&[], &["a.example"], "B.a.example.", blocked("b.a.example")),
            (&[], &["a.example"], "ba.example", None),
            (&[], &["a.example"], "example", None),
            (&["a.example"], &[], "a.example", None),
            (&["a.example", "b.example"], &[], "c.b.example", None),
            (&["a.example"], &[], "ba.example", not_allowed("ba.example")),
            (&["a.example"], &["b.a.example"], "b.a.example", blocked("b.a.example")),
            (&[], &["[::1]"], "[::1]", blocked("[::1]")),
            (&[], &["127.0.0.1"], "0x7f.1", blocked("127.0.0.1")),
        ] {
            assert_eq!(reason(allow, block, host), expected, "{allow:?} {block:?} {host}");
        }
    }

    #[test]
    fn an_error_shows_up_to_100_characters_of_what_is_no_domain() {
        for (text, shown) in [
            ("a/b", "a/b".to_owned()),
            ("[::1", "[::1".to_owned()),
            ("::1]", "::1]".to_owned()),
            ("a b", "a b".to_owned()),
            ("*a", "*a".to_owned()),
            (&*"é*".repeat(60), "é*".repeat(50)),
        ] {
            let problem = "is not a domain; write it like `example.com`, without scheme, port and path";
            assert_eq!(parse_domain(text), Err(format!("`{shown}` {problem}")));
        }
    }
}
