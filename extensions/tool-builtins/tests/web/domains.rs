//! Allowed and blocked domains.

use crate::{Site, builder, fetch};

#[tokio::test]
async fn a_blocked_host_is_an_error_without_a_request_in_every_spelling() {
    let site = Site::html("secret").await;
    let port = site.port();
    let web = builder().block_domain("Evil.example.").block_domain("bücher.example").build().unwrap();
    // R19
    for host in [
        "evil.example",
        "EVIL.example",
        "evil.example.",
        "a.b.evil.example",
        "ｅvil.example",
        "e%76il.example",
        "evil。example",
        "xn--bcher-kva.example",
        "BÜCHER.example",
    ] {
        let error = fetch(&web, &format!("http://{host}:{port}/")).await.unwrap_err();
        assert!(error.contains("is blocked by the program"), "{host}: {error}");
    }
    assert!(site.server.take().is_empty());
    for host in ["notevil.example", "evil.example.org", "evil-example"] {
        assert!(fetch(&web, &format!("http://{host}:{port}/")).await.is_ok(), "{host}");
    }
}

#[tokio::test]
async fn others_than_the_allowed_domains_are_refused() {
    let site = Site::html("page").await;
    let port = site.port();
    let web = builder().allow_domain("good.example").block_domain("bad.good.example").build().unwrap();
    for (host, is_allowed) in [
        ("good.example", true),
        ("a.good.example.", true),
        ("bad.good.example", false),
        ("other.example", false),
        ("good.example.evil.example", false),
        ("good.example@evil.example", false),
        ("evil.example\\@good.example", false),
        ("evil.example#good.example", false),
        ("127.0.0.1", false),
    ] {
        let result = fetch(&web, &format!("http://{host}:{port}/")).await;
        assert_eq!(result.is_ok(), is_allowed, "{host} {result:?}");
    }
    assert_eq!(site.targets().len(), 2);
}

#[test]
fn a_domain_that_is_not_one_ends_the_construction() {
    for domain in [
        ".example.com",
        "a..example.com",
        "https://a.example",
        "a.example/x",
        "a.example:80",
        "u@a.example",
        "",
        " a.example",
        "*.a.example",
    ] {
        let error = builder().block_domain(domain).build().unwrap_err().to_string();
        assert!(error.contains("is not a domain; write it like `example.com`"), "{domain}: {error}");
        assert!(builder().allow_domain(domain).build().is_err());
    }
    for agent in ["", "a\nb", "/1.0", "grün/1.0"] {
        assert!(builder().user_agent(agent).build().is_err(), "{agent}");
    }
}
