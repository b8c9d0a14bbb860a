//! Stored tokens that have ended, and what the authorization server learns about the program.

use std::sync::atomic::Ordering;

use rmcp::transport::auth::{CredentialStore, InMemoryCredentialStore, StoredCredentials};
use serde_json::{Value, json};

use super::web::{Web, agreeing, connect};

/// A store with tokens of the server itself, which ended long ago.
async fn ended(server: &Web, refresh: Option<&str>) -> InMemoryCredentialStore {
    let mut token = json!({ "access_token": "old", "token_type": "bearer", "expires_in": 1 });
    token["mcp_server"] = server.mcp().into();
    if let Some(refresh) = refresh {
        token["refresh_token"] = refresh.into();
    }
    let stored: Value = json!({
        "client_id": "program", "token_response": token, "token_received_at": 1, "issuer": server.url,
    });
    let stored: StoredCredentials = serde_json::from_value(stored).unwrap();
    let store = InMemoryCredentialStore::new();
    store.save(stored).await.unwrap();
    store
}

#[tokio::test]
async fn a_token_that_ended_and_cannot_be_refreshed_is_not_sent() {
    let server = Web::start().await;
    server.challenge("Bearer").authorize();
    let (oauth, questions) = agreeing();
    let error = connect(&server, oauth.store(ended(&server, None).await)).await;
    assert!(server.received_text("Bearer t") && !server.received_text("Bearer old"), "{error}");
    assert_eq!(questions.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn only_a_refresh_that_is_rejected_asks_the_user() {
    for (status, answer, is_asked) in [
        (400, json!({ "error": "invalid_grant" }), true),
        (200, json!({ "error": "bad_refresh_token" }), true),
        (400, json!({ "error": "temporarily_unavailable" }), false),
        (503, json!({}), false),
    ] {
        let server = Web::start().await;
        server.challenge("Bearer").authorize().set("/token", status, &[], &answer.to_string());
        let (oauth, questions) = agreeing();
        let error = connect(&server, oauth.store(ended(&server, Some("refresh")).await)).await;
        assert!(server.received_text("refresh_token=refresh"), "{error}");
        assert_eq!(questions.load(Ordering::Relaxed) > 0, is_asked, "{answer}: {error}");
        assert!(!server.received_text("Bearer old"), "{answer}");
    }
}

#[tokio::test]
async fn a_registration_has_the_name_of_the_program() {
    for name in [None, Some("Notes")] {
        let server = Web::start().await;
        server.challenge("Bearer").authorize();
        let oauth = match name {
            Some(name) => agreeing().0.client_name(name),
            None => agreeing().0,
        };
        let error = connect(&server, oauth).await;
        let received = server.received();
        let registration = received.iter().find(|it| it.starts_with("POST /register"));
        let registration = registration.unwrap_or_else(|| panic!("{error}"));
        assert!(registration.contains(name.unwrap_or("MCP Client")), "{registration}");
    }
    // A program that is registered is registered no more.
    let server = Web::start().await;
    server.challenge("Bearer").authorize();
    let error = connect(&server, agreeing().0.client("program", None)).await;
    assert!(server.received_text("client_id=program") && !server.received_text("POST /register"), "{error}");
}

#[tokio::test]
async fn a_token_is_refreshed_with_the_secret_of_a_program_that_is_registered() {
    // `program:hush` as Basic.
    const BASIC: &str = "Basic cHJvZ3JhbTpodXNo";
    for (secret, is_sent) in [(Some("hush".to_owned()), true), (None, false)] {
        let server = Web::start().await;
        server.challenge("Bearer").authorize();
        let (oauth, questions) = agreeing();
        let oauth = oauth.client("program", secret).store(ended(&server, Some("refresh")).await);
        let error = connect(&server, oauth).await;
        let refresh = server.received().into_iter().find(|it| it.contains("refresh_token=refresh"));
        let refresh = refresh.unwrap_or_else(|| panic!("{error}"));
        assert_eq!(refresh.contains(BASIC) || refresh.contains("client_secret=hush"), is_sent, "{refresh}");
        assert_eq!(questions.load(Ordering::Relaxed), 0, "{error}");
        assert!(server.received_text("Bearer t"), "{error}");
    }
}
