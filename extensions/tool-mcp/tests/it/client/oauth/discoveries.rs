//! The documents by which an authorization server is found, and those that are none.

use std::sync::atomic::Ordering;

use serde_json::{Value, json};
use tool_mcp::client::OAuth;

use super::web::{METADATA, RESOURCE, Web, agreeing, connect};

const OPENID: &str = "/.well-known/openid-configuration";

/// Logs in at a server that is its own authorization server, and whose documents `change` changes.
async fn log_in(change: impl FnOnce(&Web)) -> (Web, String) {
    let server = Web::start().await;
    server.challenge("Bearer").authorize();
    change(&server);
    let error = connect(&server, agreeing().0).await;
    (server, error.to_string())
}

#[tokio::test]
async fn only_an_answer_with_the_status_of_success_is_a_document() {
    for status in [201, 203, 404] {
        let (server, error) = log_in(|server| {
            let text = server.metadata().to_string();
            server.set(METADATA, status, &[], &text).json(OPENID, server.metadata());
        })
        .await;
        assert!(server.received_text("Bearer t"), "{status}: {error}");
        assert!(server.received_text(OPENID), "{status}");
    }
    // A server that is busy has its documents later.
    for status in [408, 425, 429, 500, 503] {
        let (server, error) = log_in(|server| {
            server.set(METADATA, status, &[], "");
        })
        .await;
        assert!(error.contains(&format!("the answer is HTTP {status}")), "{error}");
        assert!(!server.received_text("/token"), "{status}");
    }
    let (server, error) = log_in(|server| {
        server.set(METADATA, 503, &[], "").json(OPENID, server.metadata());
    })
    .await;
    assert!(server.received_text("Bearer t"), "{error}");
}

#[tokio::test]
async fn metadata_names_its_issuer() {
    for (issuer, expected) in
        [(Value::Null, "issuer"), (json!("https://other.example"), "https://other.example")]
    {
        let (server, error) = log_in(|server| {
            let mut metadata = server.metadata();
            metadata["issuer"] = issuer.clone();
            server.json(METADATA, metadata);
        })
        .await;
        assert!(error.contains(expected) && !server.received_text("/token"), "{issuer}: {error}");
    }
}

#[tokio::test]
async fn without_metadata_the_endpoints_are_those_of_revision_2025_03_26() {
    let (server, error) = log_in(|server| {
        server.set(METADATA, 404, &[], "");
    })
    .await;
    assert!(server.received_text("POST /register") && server.received_text("POST /token"), "{error}");
    // A named issuer has metadata.
    let server = Web::start().await;
    server.challenge("Bearer");
    let error = connect(&server, agreeing().0.issuer(&server.url)).await.to_string();
    assert!(error.contains(&format!("the authorization server `{}` has no metadata", server.url)), "{error}");
}

#[tokio::test]
async fn the_first_issuer_with_metadata_is_used() {
    let (server, first, second) = (Web::start().await, Web::start().await, Web::start().await);
    second.authorize();
    server.challenge("Bearer").issuers(&[&first.url, &second.url]);
    let error = connect(&server, agreeing().0).await;
    assert!(second.received_text("POST /token") && first.received_text("GET /.well-known/"), "{error}");
    // No more than eight are tried.
    let server = Web::start().await;
    let mut issuers = vec![first.url.as_str(); 7];
    issuers.push(&second.url);
    for (issuers, is_found) in
        [(issuers.clone(), true), ([vec![first.url.as_str()], issuers].concat(), false)]
    {
        second.received();
        let before = second.received().len();
        server.challenge("Bearer").issuers(&issuers);
        let error = connect(&server, agreeing().0).await;
        assert_eq!(second.received().len() > before, is_found, "{error}");
    }
}

#[tokio::test]
async fn scopes_are_those_of_the_challenge_and_of_the_resource_unless_the_program_names_some() {
    for (scopes, expected) in [(None, "scope=a+b+c"), (Some("own"), "scope=own")] {
        let server = Web::start().await;
        server.authorize().challenge("Bearer scope=\"a b\"");
        let document = json!({ "resource": server.mcp(), "scopes_supported": ["b", "c"] });
        server.json(RESOURCE, document);
        let (page, mut pages) = tokio::sync::mpsc::unbounded_channel();
        let oauth = OAuth::new("http://127.0.0.1:1/callback", move |url| {
            page.send(url).unwrap();
            async { Err(tool_runtime::ToolError::failed("no")) }
        });
        let oauth = match scopes {
            Some(scope) => oauth.scopes([scope]),
            None => oauth,
        };
        let error = connect(&server, oauth).await.to_string();
        let page = pages.recv().await.unwrap_or_else(|| panic!("{error}"));
        assert!(page.contains(expected), "{page}");
    }
}

#[tokio::test]
async fn a_request_names_the_resource_of_the_metadata() {
    let server = Web::start().await;
    server.challenge("Bearer").authorize();
    server.json(RESOURCE, json!({ "resource": server.url }));
    connect(&server, agreeing().0).await;
    let resource = format!("resource={}", server.url.replace(':', "%3A").replace('/', "%2F"));
    let requests = server.received();
    let token = requests.iter().find(|it| it.starts_with("POST /token")).unwrap();
    assert!(token.split(['&', ' ']).any(|it| it == resource), "{token}");
}

#[tokio::test]
async fn a_user_is_asked_a_bounded_number_of_times_for_one_request() {
    // Each token is refused.
    let server = Web::start().await;
    server.challenge("Bearer").authorize();
    server.json("/token", json!({ "access_token": "refused" }));
    let (oauth, questions) = agreeing();
    let error = connect(&server, oauth).await;
    assert_eq!(error.kind(), tool_mcp::client::ClientErrorKind::Unauthorized);
    let requests = server.received().iter().filter(|it| it.starts_with("POST /mcp")).count();
    // The handshake is two requests at most.
    let asked = questions.load(Ordering::Relaxed);
    assert!((3..=6).contains(&asked) && requests >= asked, "{asked} {requests}");
    assert_eq!(asked % 3, 0);
}

#[tokio::test]
async fn a_page_is_a_short_url_of_the_web() {
    for (endpoint, expected) in [
        (format!("/authorize?x={}", "x".repeat(20_000)), "longer than 16384 bytes"),
        ("/authorize?x=1".to_owned(), ""),
    ] {
        let (server, error) = log_in(|server| {
            let mut metadata = server.metadata();
            metadata["authorization_endpoint"] = format!("{}{endpoint}", server.url).into();
            server.json(METADATA, metadata);
        })
        .await;
        assert!(error.contains(expected), "{error}");
        assert_eq!(server.received_text("POST /token"), expected.is_empty(), "{error}");
    }
}
