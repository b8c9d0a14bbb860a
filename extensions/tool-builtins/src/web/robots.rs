//! `robots.txt`, by [RFC 9309](https://www.rfc-editor.org/rfc/rfc9309).
//!
//! Our own, since the one library for it (`texting_robots`) has had no release since 2023, and makes a regular expression of each rule.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use tool_http::Origin;

/// Bytes that are read; the RFC asks for at least 500 KiB.
pub(super) const MAX_ROBOTS_BYTES: usize = 512 * 1024;

/// Origins whose rules are kept.
const MAX_ORIGINS: usize = 64;

/// The time for which rules are kept.
const MAX_AGE: Duration = Duration::from_secs(60 * 60);

/// The rules of a site for one program.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Robots {
    rules: Vec<PathRule>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct PathRule {
    pattern: String,
    is_allowed: bool,
}

impl Robots {
    /// Rules that forbid everything, for a site whose rules cannot be read now.
    pub(super) fn forbid_all() -> Self {
        Self { rules: vec![PathRule { pattern: "/".to_owned(), is_allowed: false }] }
    }

    /// Reads the rules of `text` for the program with the name `product`.
    pub(super) fn parse(text: &str, product: &str) -> Self {
        let (mut own, mut general) = (Vec::new(), Vec::new());
        let (mut has_own, mut is_own, mut is_general, mut is_in_names) = (false, false, false, false);
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        for line in text.split(['\r', '\n']) {
            let line = line.split('#').next().unwrap_or_default();
            let Some((key, value)) = line.split_once(':') else { continue };
            let (key, value) = (key.trim(), value.trim());
            if key.eq_ignore_ascii_case("user-agent") {
                if !is_in_names {
                    (is_own, is_general, is_in_names) = (false, false, true);
                }
                is_general |= value == "*";
                is_own |= product_token(value).eq_ignore_ascii_case(product) && !product.is_empty();
                has_own |= is_own;
                continue;
            }
            let is_allowed = key.eq_ignore_ascii_case("allow");
            if !is_allowed && !key.eq_ignore_ascii_case("disallow") {
                continue;
            }
            is_in_names = false;
            if value.is_empty() {
                continue;
            }
            let rule = || PathRule { pattern: normalized_path(value), is_allowed };
            if is_own {
                own.push(rule());
            }
            if is_general && !has_own {
                general.push(rule());
            }
        }
        Self { rules: if has_own { own } else { general } }
    }

    /// Returns `true` if the path and query `target` may be requested: the longest pattern decides, and of two, the one that allows.
    pub(super) fn allows(&self, target: &str) -> bool {
        let target = normalized_path(target);
        let matching = self.rules.iter().filter(|rule| matches_pattern(&rule.pattern, &target));
        matching.max_by_key(|rule| (rule.pattern.len(), rule.is_allowed)).is_none_or(|rule| rule.is_allowed)
    }
}

/// Returns the name at the start of a user agent.
pub(super) fn product_token(agent: &str) -> &str {
    let end = agent.find(|it: char| !it.is_ascii_alphabetic() && !matches!(it, '-' | '_'));
    agent.get(..end.unwrap_or(agent.len())).unwrap_or_default()
}

/// Writes a path in one spelling: letters, digits and `-._~` as they are, and other escapes in capital letters.
fn normalized_path(path: &str) -> String {
    let mut normalized = String::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        let escaped = escaped_byte(rest.clone()).filter(|_| byte == b'%');
        if escaped.is_some() {
            rest.nth(1);
        }
        let character = char::from(escaped.unwrap_or(byte));
        let is_plain = match escaped {
            Some(_) => character.is_ascii_alphanumeric() || matches!(character, '-' | '.' | '_' | '~'),
            None => byte.is_ascii() && byte != b'%',
        };
        match is_plain {
            true => normalized.push(character),
            false => normalized.push_str(&format!("%{:02X}", escaped.unwrap_or(byte))),
        }
    }
    normalized
}

/// Returns the byte whose two hexadecimal digits come first in `rest`.
fn escaped_byte(rest: std::str::Bytes<'_>) -> Option<u8> {
    let mut digits = rest.map(|it| char::from(it).to_digit(16));
    u8::try_from(digits.next()?? * 16 + digits.next()??).ok()
}

/// Returns `true` if `pattern` matches the start of `target`, or all of it if it ends with `$`. Linear in both.
fn matches_pattern(pattern: &str, target: &str) -> bool {
    let (pattern, is_whole) = match pattern.strip_suffix('$') {
        Some(pattern) => (pattern, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = target.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return !is_whole || rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(start) => rest = rest.get(start + part.len()..).unwrap_or_default(),
            None => return false,
        }
    }
    if is_whole { rest.ends_with(last) } else { rest.contains(last) }
}

/// The rules of the sites that were asked last.
#[derive(Debug, Default)]
pub(super) struct RobotsCache {
    known: Mutex<VecDeque<(Origin, Instant, Arc<Robots>)>>,
}

impl RobotsCache {
    pub(super) fn find(&self, origin: &Origin) -> Option<Arc<Robots>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, _, robots) = known.iter().find(|(it, time, _)| it == origin && time.elapsed() < MAX_AGE)?;
        Some(Arc::clone(robots))
    }

    pub(super) fn store(&self, origin: Origin, robots: Arc<Robots>) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.retain(|(it, ..)| *it != origin);
        if known.len() >= MAX_ORIGINS {
            known.pop_front();
        }
        known.push_back((origin, Instant::now(), robots));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests may")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn naive_match(pattern: &[u8], target: &[u8]) -> bool {
        match pattern {
            [] => true,
            [b'$'] => target.is_empty(),
            [b'*', rest @ ..] => (0..=target.len()).any(|start| naive_match(rest, &target[start..])),
            [first, rest @ ..] => target.first() == Some(first) && naive_match(rest, &target[1..]),
        }
    }

    proptest! {
        #[test]
        fn a_pattern_matches_as_the_rfc_defines_it(pattern in "[/ab*]{0,8}\\$?", target in "[/ab]{0,10}") {
            prop_assert_eq!(matches_pattern(&pattern, &target), naive_match(pattern.as_bytes(), target.as_bytes()));
        }

        #[test]
        fn any_text_is_read(text in "\\PC{0,200}", target in "\\PC{0,40}") {
            let _ = Robots::parse(&text, "bot").allows(&target);
        }

        #[test]
        fn a_path_has_one_spelling(path in "[/a%4135F~é]{0,20}") {
            let once = normalized_path(&path);
            prop_assert_eq!(normalized_path(&once), once);
        }
    }

    #[test]
    fn the_rules_for_a_program_replace_the_general_ones() {
        let text = "User-agent: *\nDisallow: /\n\nUser-Agent: other\nuser-agent: BOT/2.0\n# comment\nDisallow: /private # it\n\
                    Sitemap: https://a.example/\nAllow: /private/open$\nDisallow:\n\nUser-agent: bot\nDisallow: /*.pdf$\n";
        let robots = Robots::parse(text, "bot");
        for (target, is_allowed) in [
            ("/", true),
            ("/private", false),
            ("/private/x", false),
            ("/%70rivate", false),
            ("/private/open", true),
            ("/private/open/x", false),
            ("/a/b.pdf", false),
            ("/a/b.pdf?x", true),
        ] {
            assert_eq!(robots.allows(target), is_allowed, "{target}");
        }
        assert!(!Robots::parse(text, "unnamed").allows("/x"));
        assert!(Robots::parse("", "bot").allows("/x") && !Robots::forbid_all().allows("/x"));
        let equal = Robots::parse("user-agent: *\nallow: /x\ndisallow: /x\n", "bot");
        assert!(equal.allows("/x"));
    }

    fn origin_of(number: usize) -> Origin {
        Origin::parse(&format!("https://{number}.example")).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn rules_are_kept_for_an_hour_and_for_the_64_sites_that_were_asked_last() {
        let cache = RobotsCache::default();
        let rules_of = |number| cache.find(&origin_of(number)).map(|rules| rules.allows("/"));
        cache.store(origin_of(0), Arc::new(Robots::forbid_all()));
        assert_eq!((rules_of(0), rules_of(1)), (Some(false), None));
        // The last rules of a site count, and take the place of those before.
        cache.store(origin_of(0), Arc::default());
        assert_eq!((rules_of(0), cache.known.lock().unwrap().len()), (Some(true), 1));
        for number in 1..MAX_ORIGINS {
            cache.store(origin_of(number), Arc::default());
        }
        assert_eq!((rules_of(0), rules_of(MAX_ORIGINS - 1)), (Some(true), Some(true)));
        cache.store(origin_of(MAX_ORIGINS), Arc::default());
        assert_eq!((rules_of(0), rules_of(1), rules_of(MAX_ORIGINS)), (None, Some(true), Some(true)));
        tokio::time::advance(MAX_AGE - Duration::from_millis(1)).await;
        assert_eq!(rules_of(1), Some(true));
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(rules_of(1), None);
    }
}
