//! The owners of stored tokens.

#![allow(clippy::unwrap_used, reason = "tests")]

use rmcp::transport::auth::InMemoryCredentialStore;
use serde_json::{Value, json};

use super::*;

const SERVER: &str = "https://s.example/mcp";

fn credentials(members: Value) -> StoredCredentials {
    serde_json::from_value(members).unwrap()
}

/// Tokens of an issuer and a client, which another toolset stored for `server`.
fn stored(server: Option<&str>, issuer: Option<&str>) -> StoredCredentials {
    let mut token = json!({ "access_token": "t", "token_type": "bearer" });
    if let Some(server) = server {
        token[SERVER_MEMBER] = server.into();
    }
    credentials(json!({
        "client_id": "program", "token_response": token, "granted_scopes": [], "token_received_at": 5, "issuer": issuer,
    }))
}

fn store(issuer: Option<&str>, client: Option<&str>) -> (BoundCredentialStore, InMemoryCredentialStore) {
    let memory = InMemoryCredentialStore::new();
    let url = Url::parse(&format!("{SERVER}?key=1#f")).unwrap();
    let binding = IssuerBinding::new(url, issuer.map(str::to_owned), client.is_some());
    let store = BoundCredentialStore::new(
        Arc::new(memory.clone()),
        binding,
        client.map(str::to_owned),
        Arc::default(),
    );
    (store, memory)
}

#[test]
fn tokens_belong_to_a_server_a_client_and_an_issuer() {
    let (own, elsewhere) = (Some("https://s.example"), Some("https://a.example"));
    let (free, _) = store(None, None);
    for (server, issuer, expected) in [
        (Some(SERVER), own, true),
        // The issuer that this server once led to.
        (Some(SERVER), elsewhere, true),
        (Some("https://other.example/mcp"), own, false),
        // Tokens that no toolset stored.
        (None, own, true),
        (None, None, true),
        (None, elsewhere, false),
    ] {
        assert_eq!(free.owns_credentials(&stored(server, issuer)), expected, "{server:?} {issuer:?}");
    }
    let (named, _) = store(elsewhere, None);
    for (server, issuer, expected) in
        [(None, elsewhere, true), (Some(SERVER), own, false), (Some(SERVER), elsewhere, true)]
    {
        assert_eq!(named.owns_credentials(&stored(server, issuer)), expected, "{server:?} {issuer:?}");
    }
    for (client, expected) in [("program", true), ("other", false)] {
        let (of_client, _) = store(elsewhere, Some(client));
        assert_eq!(of_client.owns_credentials(&stored(Some(SERVER), elsewhere)), expected, "{client}");
    }
}

#[test]
fn the_tokens_of_one_issuer_are_none_of_another() {
    let (free, _) = store(None, None);
    let of = |issuer: Option<&str>| free.bound_to_issuer(issuer.map(str::to_owned), "r".to_owned());
    let (a, b) = (Some("https://a.example"), Some("https://b.example"));
    for (issuer, tokens, expected) in [
        (a, a, true),
        (a, Some("https://a.example/"), true),
        (a, b, false),
        (a, None, false),
        (None, a, false),
        (None, None, true),
    ] {
        let is_owned = of(issuer).owns_credentials(&stored(Some(SERVER), tokens));
        assert_eq!(is_owned, expected, "{issuer:?} {tokens:?}");
    }
}

#[tokio::test]
async fn only_owned_tokens_are_loaded() {
    let (bound, memory) = store(None, None);
    memory.save(stored(Some(SERVER), None)).await.unwrap();
    assert!(bound.load().await.unwrap().is_some());
    assert!(!bound.has_warned.load(Ordering::Relaxed));
    memory.save(stored(Some("https://other.example/mcp"), None)).await.unwrap();
    assert!(bound.load().await.unwrap().is_none());
    assert!(bound.has_warned.load(Ordering::Relaxed));
}

#[tokio::test]
async fn saved_tokens_name_their_server_without_its_query_and_its_identifier() {
    let (bound, memory) = store(None, None);
    bound.bound_to_issuer(None, "https://s.example/r".to_owned()).save(stored(None, None)).await.unwrap();
    let saved = memory.load().await.unwrap().unwrap();
    let members = saved.token_response.as_ref().unwrap().extra_fields().0.clone();
    assert_eq!(members[SERVER_MEMBER], SERVER);
    assert_eq!(resource_of_stored_token(&saved).as_deref(), Some("https://s.example/r"));
    // Without an issuer, the identifier is not known yet.
    bound.save(stored(None, None)).await.unwrap();
    let saved = memory.load().await.unwrap().unwrap();
    assert_eq!(resource_of_stored_token(&saved), None);
    bound.clear().await.unwrap();
    assert!(memory.load().await.unwrap().is_none());
}

#[test]
fn a_token_ends_soon_when_half_a_minute_or_half_of_its_time_is_left() {
    for (lifetime, age, expected) in [
        (3_600, 3_570, false),
        (3_600, 3_571, true),
        (3_600, 9_000, true),
        (60, 30, false),
        (60, 31, true),
        (40, 20, false),
        (40, 21, true),
        (1, 0, false),
        (1, 1, true),
        (0, 0, true),
        (u64::MAX, 9_000, false),
    ] {
        assert_eq!(needs_refresh(lifetime, 1_000, 1_000 + age), expected, "{lifetime} after {age}");
    }
    let token = json!({ "access_token": "t", "token_type": "bearer", "expires_in": 60 });
    let read = |received_at: Value| {
        let stored = json!({ "client_id": "c", "token_response": token, "token_received_at": received_at });
        StoredToken::read(&credentials(stored)).unwrap().expires_soon
    };
    // Long ago, in a far future, and at an unknown time.
    assert_eq!([read(json!(5)), read(json!(u64::MAX)), read(Value::Null)], [true, false, false]);
}

#[test]
fn a_stored_token_is_refreshable_if_it_has_a_token_for_that() {
    let read = |token: Value| {
        let stored = credentials(json!({ "client_id": "c", "token_response": token, "granted_scopes": [] }));
        StoredToken::read(&stored).map(|token| (token.access_token, token.expires_soon, token.is_refreshable))
    };
    let plain = json!({ "access_token": "t", "token_type": "bearer", "expires_in": 1 });
    assert_eq!(read(plain), Some(("t".to_owned(), false, false)));
    let refreshable = json!({ "access_token": "t", "token_type": "bearer", "refresh_token": "r" });
    assert_eq!(read(refreshable), Some(("t".to_owned(), false, true)));
    assert_eq!(read(Value::Null), None);
}
