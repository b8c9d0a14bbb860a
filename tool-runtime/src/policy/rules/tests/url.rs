//! Tests of URL patterns.

use serde_json::json;

use super::super::{Rules, UrlPattern};
#[cfg(feature = "url-rules")]
use super::{ExactValue, Match};

#[cfg(not(feature = "url-rules"))]
#[test]
fn a_url_rule_without_the_feature_is_an_error() {
    assert!(UrlPattern::new("https://example.com").is_err());
    let read = serde_json::from_value::<Rules>(
        json!([{ "deny": "t", "where": { "/u": { "url": "https://a.b" } } }]),
    );
    assert!(read.unwrap_err().to_string().contains("requires the feature `url-rules`"));
}

#[cfg(feature = "url-rules")]
#[test]
fn a_url_is_compared_as_it_is_parsed() {
    let check = |pattern: &str, expected: Match, urls: &[&str]| {
        let pattern = UrlPattern::new(pattern).unwrap();
        for url in urls {
            let value = ExactValue::String((*url).into());
            assert_eq!(pattern.match_value(&value), expected, "{pattern} {url:?}");
        }
    };
    check(
        "https://example.com/docs/**",
        Match::Yes,
        &[
            "https://example.com/docs/a",
            "HTTPS://EXAMPLE.com.:443/docs",
            "https:example.com/docs/",
            "https://example.com/x/../docs/a?q#f",
            "https://example.com/x/%2e%2e/%64ocs/a",
            "https://ex%61mple.com/docs/a",
            "https://ｅxample.com/docs/a",
        ],
    );
    check(
        "https://example.com/docs/**",
        Match::No,
        &[
            "http://example.com/docs/a",
            "https://example.com:8443/docs/a",
            "https://www.example.com/docs/a",
            "https://example.com.evil.net/docs/a",
            "https://evil.net/docs/a?https://example.com/docs/a",
            "https://evil.net#@example.com/docs/a",
            "https://example.com/docs/../x",
            "https://example.com/Docs/a",
            "javascript:alert(1)",
            "file:///etc/passwd",
        ],
    );
    check(
        "https://example.com/docs/**",
        Match::Unclear,
        &[
            "",
            "/docs/a",
            "//example.com/docs/a",
            "https://example.com@evil.net/docs/a",
            "https://evil.net@example.com/docs/a",
            "https://@example.com/docs/a",
            "https://evil.net\\@example.com/docs/a",
            "https://evil.net\t/docs/a",
            " https://example.com/docs/a",
            "https://exa\nmple.com/docs/a",
            "https://example.com/docs%2fa",
            "https://example.com//docs/a",
            "https://example.com/docs;x/a",
            "https://example.com../docs/a",
            "https://[::1/docs",
            "https://",
        ],
    );
    for local in [
        "http://127.0.0.1",
        "http://0x7f.1",
        "http://2130706433/",
        "http://0177.0.0.1",
        "http://127.1:80",
        "http://[::ffff:127.0.0.1]",
        "http://[::ffff:7f00:1]/a",
        "http://[::127.0.0.1]",
        "http://127.0.0.1.",
    ] {
        check("http://127.0.0.1", Match::Yes, &[local]);
    }
    check("http://[::1]", Match::Yes, &["http://[0:0:0:0:0:0:0:1]/"]);
    check(
        "http://127.0.0.1",
        Match::Unclear,
        &["http://[64:ff9b::127.0.0.1]", "http://[2002:7f00:1::]", "http://[::ffff:0:127.0.0.1]/a"],
    );
    check("http://127.0.0.1", Match::No, &["http://[64:ff9b::127.0.0.2]", "http://[2002:7f00:2::]"]);
    check(
        "https://fass.de",
        Match::Unclear,
        &["https://fa\u{df}.de", "https://fa%C3%9F.de", "https://fas\u{200d}s.de"],
    );
    check("https://fass.de/a", Match::No, &["https://fass.de/\u{df}"]);
    check(
        "https://example.com",
        Match::Unclear,
        &["git+https://example.com/a", "view-source:HTTPS://example.com", "blob:https://example.com/1"],
    );
    check("*://*.example.com:*", Match::Yes, &["http://a.example.com", "wss://a.b.example.com:8080/x"]);
    check(
        "*://*.example.com:*",
        Match::No,
        &["http://example.com", "http://aexample.com", "http://127.0.0.1"],
    );
    check(
        "*://*.example.com:*",
        Match::Unclear,
        &["file:///a", "gopher://a.example.com/", "data:text/plain,a"],
    );
    check(
        "https://b\u{fc}cher.example",
        Match::Yes,
        &["https://xn--bcher-kva.example/", "https://B\u{dc}CHER.example"],
    );
    check("*://*:*", Match::Yes, &["http://a", "https://b:1/c"]);
    check("*://*", Match::No, &["https://b:1/c"]);
    for wrong in [
        "",
        "example.com",
        "https://",
        "https://a@b",
        "https://a?b",
        "ssh://a",
        "https://a*b.c",
        "https://a:b",
        "https://*.1.2.3.4",
        "https://a/../b",
        "https://a/b**",
        "https://a/%zz",
        "https://a/ b",
    ] {
        assert!(UrlPattern::new(wrong).is_err(), "{wrong}");
    }
    let value = ExactValue::Number("1".into());
    assert_eq!(UrlPattern::new("*://*").unwrap().match_value(&value), Match::Unclear);
    let written = json!([{ "deny": "t", "where": { "/u": { "url": "https://*.example.com/**" } } }]);
    let rules: Rules = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&rules).unwrap(), written);
    let pattern: UrlPattern = "https://*.example.com/**".parse().unwrap();
    assert_eq!(pattern.to_string(), "https://*.example.com/**");
}
