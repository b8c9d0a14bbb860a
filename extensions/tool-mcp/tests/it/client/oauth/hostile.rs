//! Servers that name an authorization server of an attacker, by each route that can name one.

use std::sync::atomic::Ordering;

use rmcp::transport::auth::{CredentialStore, InMemoryCredentialStore, StoredCredentials};
use serde_json::{Value, json};
use tool_mcp::client::OAuth;

use super::web::{METADATA, RESOURCE, Web, agreeing, connect};

const SECRET: &str = "the-secret";

/// Changes a member of the metadata of a server that is an authorization server itself.
fn endpoint_at(server: &Web, member: &str, url: &str) {
    let mut metadata = server.metadata();
    metadata[member] = url.into();
    server.authorize().json(METADATA, metadata);
}

/// Prepares a server so that it names `attacker` by one of the routes; returns the number of questions that it is worth.
fn prepare(route: &str, server: &Web, attacker: &Web) -> usize {
    let (own, foreign) = (&server.url, &attacker.url);
    attacker.authorize();
    server.challenge("Bearer");
    match route {
        "challenge" => {
            let document = json!({ "resource": server.mcp(), "authorization_servers": [foreign] });
            server.challenge(&format!("Bearer resource_metadata=\"{own}/meta\"")).json("/meta", document);
        }
        "relative challenge" => {
            let document = json!({ "resource": server.mcp(), "authorization_server": foreign });
            server.challenge("Bearer resource_metadata=\"/meta\"").json("/meta", document);
        }
        "foreign challenge" => {
            let document = json!({ "resource": server.mcp(), "authorization_servers": [foreign] });
            attacker.json("/meta", document);
            server.challenge(&format!("Bearer resource_metadata=\"{foreign}/meta\""));
        }
        "well-known" => {
            server.challenge("").issuers(&[foreign]);
        }
        "well-known, redirected" => {
            server.redirect(RESOURCE, &format!("{foreign}{RESOURCE}"));
        }
        "challenge, redirected" => {
            server
                .challenge("Bearer resource_metadata=\"/meta\"")
                .redirect("/meta", &format!("{foreign}/meta"));
            attacker.json("/meta", json!({ "resource": server.mcp(), "authorization_servers": [foreign] }));
        }
        "own metadata, redirected" => {
            server.redirect(METADATA, &format!("{foreign}{METADATA}"));
        }
        "own issuer, redirected" => {
            server.issuers(&[own]).redirect(METADATA, &format!("{foreign}{METADATA}"));
        }
        "another issuer in own metadata" => endpoint_at(server, "issuer", foreign),
        "no issuer in own metadata" => {
            let mut metadata = attacker.metadata();
            metadata.as_object_mut().unwrap().remove("issuer");
            server.json(METADATA, metadata);
        }
        "own issuer, which has the metadata of another" => {
            server.issuers(&[own]).json(METADATA, attacker.metadata());
        }
        "token endpoint" => endpoint_at(server, "token_endpoint", &format!("{foreign}/token")),
        "authorization endpoint" => {
            endpoint_at(server, "authorization_endpoint", &format!("{foreign}/authorize"));
        }
        "registration endpoint" => {
            endpoint_at(server, "registration_endpoint", &format!("{foreign}/register"));
        }
        "user in the token endpoint" => {
            let url = format!("{}@{}/token", server.url, attacker.url.trim_start_matches("http://"));
            endpoint_at(server, "token_endpoint", &url);
        }
        "token endpoint, redirected" => {
            server.authorize().redirect("/token", &format!("{foreign}/token"));
            return 1;
        }
        other => unreachable!("{other}"),
    }
    0
}

const ROUTES: [&str; 16] = [
    "challenge",
    "relative challenge",
    "foreign challenge",
    "well-known",
    "well-known, redirected",
    "challenge, redirected",
    "own metadata, redirected",
    "own issuer, redirected",
    "another issuer in own metadata",
    "no issuer in own metadata",
    "own issuer, which has the metadata of another",
    "token endpoint",
    "authorization endpoint",
    "registration endpoint",
    "user in the token endpoint",
    "token endpoint, redirected",
];

#[tokio::test]
async fn a_server_that_names_the_authorization_server_of_an_attacker_gets_no_secret() {
    for route in ROUTES {
        let (server, attacker) = (Web::start().await, Web::start().await);
        let expected_questions = prepare(route, &server, &attacker);
        let (oauth, questions) = agreeing();
        let error = connect(&server, oauth.client("program", Some(SECRET.to_owned()))).await;
        assert_eq!(questions.load(Ordering::Relaxed), expected_questions, "{route}: {error}");
        // Neither the secret, nor a code: an attacker has at most the question for its metadata.
        for request in attacker.received() {
            assert!(
                request.starts_with("GET /.well-known/") && request.ends_with("none "),
                "{route}: {request}"
            );
        }
        assert!(!error.to_string().contains(SECRET), "{error}");
    }
}

#[tokio::test]
async fn credentials_for_a_named_issuer_are_sent_to_no_other_one() {
    for route in ROUTES {
        let (server, attacker, issuer) = (Web::start().await, Web::start().await, Web::start().await);
        prepare(route, &server, &attacker);
        issuer.authorize();
        let (oauth, _) = agreeing();
        let oauth = oauth.issuer(&issuer.url).client("program", Some(SECRET.to_owned()));
        let error = connect(&server, oauth).await;
        for web in [&server, &attacker] {
            let is_sent = web.received().iter().any(|it| it.contains("Basic") || it.contains("the-code"));
            assert!(!is_sent, "{route}: {error}: {:?}", web.received());
        }
    }
}

#[tokio::test]
async fn a_named_issuer_receives_the_secret_and_its_endpoints_may_have_another_origin() {
    for names_issuers in [true, false] {
        let (server, issuer, endpoints) = (Web::start().await, Web::start().await, Web::start().await);
        server.challenge("Bearer");
        if names_issuers {
            server.issuers(&["http://127.0.0.1:1", &issuer.url]);
        }
        let mut metadata = endpoints.authorize().metadata();
        metadata["issuer"] = issuer.url.as_str().into();
        issuer.json(METADATA, metadata);
        let (oauth, questions) = agreeing();
        let oauth = oauth.client("program", Some(SECRET.to_owned()));
        let error = connect(&server, oauth.issuer(&issuer.url)).await;
        assert_eq!(questions.load(Ordering::Relaxed), 1, "{error}");
        assert!(endpoints.received_text("POST /token Basic"), "{:?}", endpoints.received());
        assert!(server.received_text("Bearer t"), "{error}");
    }
}

#[tokio::test]
async fn without_an_issuer_a_secret_is_for_the_origin_of_the_server() {
    let (server, issuer) = (Web::start().await, Web::start().await);
    server.challenge("Bearer").issuers(&[&issuer.authorize().url]);
    let registered = |oauth: OAuth| oauth.client("program", Some(SECRET.to_owned()));
    let error = connect(&server, registered(agreeing().0)).await.to_string();
    assert!(error.contains("name the authorization server") && error.contains("`OAuth::issuer`"), "{error}");

    server.authorize().issuers(&[&server.url]);
    connect(&server, registered(agreeing().0)).await;
    assert!(server.received_text("POST /token Basic") && server.received_text("Bearer t"));
}

#[tokio::test]
async fn codes_are_sent_to_the_issuer_that_the_user_was_sent_to() {
    // The page belongs to an honest authorization server, and the token endpoint to the attacker.
    for member in ["authorization_endpoint", "token_endpoint", "registration_endpoint"] {
        let (server, attacker, honest) = (Web::start().await, Web::start().await, Web::start().await);
        server.challenge("Bearer").issuers(&[&attacker.url]);
        endpoint_at(&attacker, member, honest.authorize().metadata()[member].as_str().unwrap());
        let (oauth, questions) = agreeing();
        let error = connect(&server, oauth).await.to_string();
        assert_eq!(questions.load(Ordering::Relaxed), 0, "{error}");
        assert!(error.contains(member) && error.contains("another origin"), "{error}");
    }
}

#[tokio::test]
async fn metadata_of_another_origin_is_read_if_it_is_allowed() {
    let (server, other, issuer) = (Web::start().await, Web::start().await, Web::start().await);
    server.challenge(&format!("Bearer resource_metadata=\"{}/meta\"", other.url));
    let document = json!({ "resource": server.mcp(), "authorization_servers": [issuer.authorize().url] });
    other.json("/meta", document);
    let error = connect(&server, agreeing().0).await.to_string();
    assert!(error.contains("`OAuth::allow_metadata_origin`"), "{error}");
    assert_eq!(other.received(), [""; 0]);
    for nothing in ["", "/meta", "data:,"] {
        connect(&server, agreeing().0.allow_metadata_origin(nothing)).await;
    }
    assert_eq!(other.received(), [""; 0]);

    connect(&server, agreeing().0.allow_metadata_origin(format!("{}/any/path", other.url))).await;
    assert!(server.received_text("Bearer t"), "{:?}", server.received());
}

/// Stored tokens that have expired, of an issuer.
async fn expired(issuer: Option<&str>, server: Option<&str>) -> InMemoryCredentialStore {
    let mut token =
        json!({ "access_token": "old", "token_type": "bearer", "expires_in": 1, "refresh_token": "refresh" });
    if let Some(server) = server {
        token["mcp_server"] = server.into();
    }
    let stored: Value = json!({
        "client_id": "program", "token_response": token, "token_received_at": 1, "issuer": issuer,
    });
    let stored: StoredCredentials = serde_json::from_value(stored).unwrap();
    let store = InMemoryCredentialStore::new();
    store.save(stored).await.unwrap();
    store
}

#[tokio::test]
async fn refresh_tokens_are_sent_to_the_issuer_they_are_from() {
    // Honest, and hostile afterwards: the issuer of the tokens still refreshes them.
    let (server, attacker, issuer) = (Web::start().await, Web::start().await, Web::start().await);
    server.challenge("Bearer").issuers(&[&attacker.authorize().url]);
    issuer.authorize();
    let store = expired(Some(&issuer.url), Some(&server.mcp())).await;
    connect(&server, agreeing().0.store(store)).await;
    assert!(issuer.received_text("refresh_token=refresh"), "{:?}", issuer.received());
    assert!(server.received_text("Bearer t"));
    assert_eq!(attacker.received(), [""; 0]);

    // Tokens of an issuer that the program does not name, of another client, or of another server.
    let named = || agreeing().0.issuer("http://127.0.0.1:1");
    let client = || agreeing().0.issuer(&issuer.url).client("another", None);
    let cases: [(OAuth, Option<&str>, String); 5] = [
        (agreeing().0, Some(&issuer.url), String::new()),
        (named(), Some(&issuer.url), server.mcp()),
        (client(), Some(&issuer.url), server.mcp()),
        (agreeing().0, Some(&issuer.url), "http://127.0.0.1:1/mcp".to_owned()),
        (agreeing().0.client("program", None), Some(&attacker.url), server.mcp()),
    ];
    for (oauth, issuer_of_tokens, server_of_tokens) in cases {
        let server_of_tokens = Some(server_of_tokens.as_str()).filter(|server| !server.is_empty());
        let store = expired(issuer_of_tokens, server_of_tokens).await;
        connect(&server, oauth.store(store)).await;
        for web in [&server, &attacker] {
            assert!(!web.received_text("refresh_token=refresh") && !web.received_text("Bearer old"));
        }
        let refreshes = issuer.received().iter().filter(|it| it.contains("refresh_token=refresh")).count();
        assert_eq!(refreshes, 1);
    }
}

#[tokio::test]
async fn tokens_that_no_toolset_stored_need_an_issuer_that_the_program_or_the_origin_names() {
    let (server, issuer) = (Web::start().await, Web::start().await);
    server.challenge("Bearer").issuers(&[&issuer.authorize().url]);
    let store = expired(Some(&issuer.url), None).await;
    connect(&server, agreeing().0.issuer(&issuer.url).store(store)).await;
    assert!(issuer.received_text("refresh_token=refresh"), "{:?}", issuer.received());

    server.authorize();
    for issuer in [Some(server.url.as_str()), None] {
        let before = server.received().len();
        connect(&server, agreeing().0.store(expired(issuer, None).await)).await;
        let received = server.received().split_off(before);
        assert!(received.iter().any(|it| it.contains("refresh_token=refresh")), "{received:?}");
    }
}

#[tokio::test]
async fn a_code_of_another_issuer_is_not_sent() {
    let (server, attacker) = (Web::start().await, Web::start().await);
    server.challenge("Bearer").issuers(&[&attacker.authorize().url]);
    // The page of the attacker redirects to an honest authorization server, which says who it is (RFC 9207).
    let oauth = OAuth::new("http://127.0.0.1:1/callback", |page| async move {
        let page = reqwest::Url::parse(&page).unwrap();
        let (_, state) = page.query_pairs().find(|(name, _)| name == "state").unwrap();
        Ok(format!(
            "http://127.0.0.1:1/callback?code=the-code&state={state}&iss=https%3A%2F%2Fhonest.example"
        ))
    });
    let error = connect(&server, oauth).await.to_string();
    assert!(error.contains("issuer mismatch") && error.contains("honest.example"), "{error}");
    assert!(!attacker.received_text("POST /token"));
}

#[tokio::test]
async fn a_page_of_excessive_length_is_not_opened() {
    let server = Web::start().await;
    server.authorize().challenge("Bearer");
    let mut metadata = server.metadata();
    metadata["authorization_endpoint"] = format!("{}/{}", server.url, "a".repeat(16 * 1024)).into();
    server.json(METADATA, metadata);
    let (oauth, questions) = agreeing();
    let error = connect(&server, oauth).await.to_string();
    assert!(error.contains("longer than 16384 bytes"), "{error}");
    assert_eq!(questions.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn errors_do_not_show_the_secrets_that_an_authorization_server_repeats() {
    let secret = "a secret/with+signs";
    let encoded = "a+secret%2Fwith%2Bsigns";
    for methods in [json!(["client_secret_basic"]), json!(["client_secret_post"])] {
        let server = Web::start().await;
        let mut metadata = server.metadata();
        metadata["token_endpoint_auth_methods_supported"] = methods;
        server.challenge("Bearer").authorize().json(METADATA, metadata);
        let text = format!("`{secret}`, `{encoded}`, `the-code`");
        server.set("/token", 400, &[], &json!({ "error": "e", "error_description": text }).to_string());
        let error =
            connect(&server, agreeing().0.client("program", Some(secret.to_owned()))).await.to_string();
        assert!(error.contains("`***`, `***`, `***`"), "{error}");
    }
}

#[tokio::test]
async fn the_resource_is_sent_as_the_server_names_it() {
    let (server, issuer) = (Web::start().await, Web::start().await);
    server.challenge("Bearer");
    // Without a path: the parser of URLs adds a slash.
    let document = json!({ "resource": server.url, "authorization_servers": [issuer.authorize().url] });
    server.json(RESOURCE, document);
    let token = json!({ "access_token": "t", "expires_in": 0, "refresh_token": "refresh" });
    issuer.json("/token", token);
    let store = InMemoryCredentialStore::new();
    for _ in 0..2 {
        connect(&server, agreeing().0.store(store.clone())).await;
    }
    let port = server.url.rsplit(':').next().unwrap();
    let expected = format!("&resource=http%3A%2F%2F127.0.0.1%3A{port}");
    let requests: Vec<_> = issuer.received().into_iter().filter(|it| it.starts_with("POST /token")).collect();
    assert!(requests.iter().any(|it| it.contains("refresh_token=refresh")), "{requests:?}");
    for request in requests {
        let (_, rest) = request.split_once(&expected).unwrap();
        assert!(rest.is_empty() || rest.starts_with('&'), "{request}");
    }
}

#[tokio::test]
async fn tokens_of_one_server_are_not_sent_to_another() {
    let (server, other) = (Web::start().await, Web::start().await);
    let issuer = Web::start().await;
    issuer.authorize();
    let store = InMemoryCredentialStore::new();
    for web in [&server, &other] {
        web.challenge("Bearer").issuers(&[&issuer.url]);
    }
    connect(&server, agreeing().0.store(store.clone())).await;
    assert!(server.received_text("Bearer t"));

    let refusing = OAuth::new("http://127.0.0.1:1/callback", |_| async {
        Err(tool_runtime::ToolError::failed("the user said no"))
    });
    connect(&other, refusing.store(store)).await;
    assert!(!other.received_text("Bearer"), "{:?}", other.received());
}
