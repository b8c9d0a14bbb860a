//! Answers of authorization servers that are not as RFC 6749 and RFC 7591 have them.

use serde_json::{Value, json};
use tool_mcp::client::{ClientErrorKind, Endpoint, McpToolSet, OAuth, ServerConfig};

use super::web::{METADATA, Web, agreeing, connect};

/// Ends a chain of changes.
fn ignore(_: &Web) {}

/// Logs in at a server that is its own authorization server, and whose answers `change` changes.
async fn log_in(change: impl Fn(&Web)) -> (Web, String) {
    let server = Web::start().await;
    server.challenge("Bearer").authorize();
    change(&server);
    let error = connect(&server, agreeing().0).await;
    (server, error.to_string())
}

#[tokio::test]
async fn harmless_deviations_of_tokens_are_read() {
    for (member, value) in [
        ("expires_in", json!("3600")),
        ("expires_in", json!(3599.9)),
        ("expires_in", Value::Null),
        ("token_type", Value::Null),
        ("scope", json!(["a", "b"])),
        ("scope", Value::Null),
        ("refresh_token", Value::Null),
    ] {
        let mut token = json!({ "access_token": "t", "token_type": "Bearer" });
        token[member] = value;
        let (server, error) = log_in(|server| ignore(server.json("/token", token.clone()))).await;
        assert!(server.received_text("Bearer t"), "{token}: {error}");
    }
    let (server, error) =
        log_in(|server| ignore(server.json("/token", json!({ "access_token": "t" })))).await;
    assert!(server.received_text("Bearer t"), "{error}");
    let form = [("content-type", "application/x-www-form-urlencoded")];
    let (server, error) =
        log_in(|server| ignore(server.set("/token", 200, &form, "access_token=t&scope=&token_type=bearer")))
            .await;
    assert!(server.received_text("Bearer t"), "{error}");
}

#[tokio::test]
async fn an_error_of_a_token_endpoint_names_its_reason() {
    for (status, body, expected) in [
        (200, r#"{"error":"invalid_grant","error_description":"the code is used"}"#, "the code is used"),
        (400, r#"{"error":"invalid_grant","error_description":"the code is used"}"#, "the code is used"),
        (403, r#"{"error":{"message":"no seat is left"}}"#, "no seat is left"),
        (502, "<html>Bad Gateway</html>", "Bad Gateway"),
        (200, "error=incorrect_client_credentials", "incorrect_client_credentials"),
        (200, "{}", "no `access_token`"),
    ] {
        let (_, error) = log_in(|server| ignore(server.set("/token", status, &[], body))).await;
        assert!(error.contains(expected), "{error}");
    }
}

#[tokio::test]
async fn a_registration_may_answer_an_id_alone() {
    for answer in [
        json!({ "client_id": "registered" }),
        json!({ "client_id": "registered", "redirect_uris": null, "client_secret": null }),
        json!({ "client_id": "registered", "client_name": null, "redirect_uris": "http://127.0.0.1:1/callback" }),
    ] {
        let (server, error) = log_in(|server| ignore(server.json("/register", answer.clone()))).await;
        assert!(server.received_text("client_id=registered"), "{answer}: {error}");
        assert!(server.received_text("Bearer t"), "{answer}: {error}");
    }
    let refusal = json!({ "error": "invalid_redirect_uri", "error_description": "no loopback" });
    let (_, error) = log_in(|server| ignore(server.json("/register", refusal.clone()))).await;
    assert!(error.contains("no loopback"), "{error}");
}

#[tokio::test]
async fn metadata_is_read_member_by_member() {
    for (member, value) in [
        ("scopes_supported", Value::Null),
        ("scopes_supported", json!("a b")),
        ("response_types_supported", Value::Null),
        ("jwks_uri", json!({})),
        ("code_challenge_methods_supported", Value::Null),
    ] {
        let (server, error) = log_in(|server| {
            let mut metadata = server.metadata();
            metadata[member] = value.clone();
            server.json(METADATA, metadata);
        })
        .await;
        assert!(server.received_text("Bearer t"), "{member} {value}: {error}");
    }
}

#[tokio::test]
async fn a_refusal_without_a_challenge_leads_to_the_well_known_urls() {
    for challenge in ["", "Basic realm=\"x\"", "Bearer", "Bearer resource_metadata=\"\""] {
        let (server, issuer) = (Web::start().await, Web::start().await);
        server.challenge(challenge).issuers(&[&issuer.authorize().url]);
        let error = connect(&server, agreeing().0).await;
        assert!(server.received_text("Bearer t"), "{challenge}: {error}");
    }
    // Without an authorization it is a refusal all the same.
    let server = Web::start().await;
    server.challenge("");
    let error =
        McpToolSet::connect(ServerConfig::new("secure", Endpoint::new(server.mcp()))).await.unwrap_err();
    assert_eq!((error.kind(), error.challenge()), (ClientErrorKind::Unauthorized, None));
    // M23
    server.challenge("Bearer scope=\"use\"");
    let error =
        McpToolSet::connect(ServerConfig::new("secure", Endpoint::new(server.mcp()))).await.unwrap_err();
    assert_eq!(
        (error.kind(), error.challenge()),
        (ClientErrorKind::Unauthorized, Some("Bearer scope=\"use\""))
    );
}

#[tokio::test]
async fn a_refusal_of_the_user_names_its_reason() {
    for (redirect, expected) in [
        ("?error=access_denied&state=s", "access_denied"),
        ("?error=access_denied&error_description=Ada+said+no", "access_denied: Ada said no"),
        ("#error=login_required", "login_required"),
        ("?state=s", "missing code"),
        ("?code=c&state=forged", "`state` differs"),
    ] {
        let server = Web::start().await;
        server.challenge("Bearer").authorize();
        let oauth = OAuth::new("http://127.0.0.1:1/callback", move |_| async move {
            Ok(format!("http://127.0.0.1:1/callback{redirect}"))
        });
        let error = connect(&server, oauth).await.to_string();
        assert!(error.contains(expected), "{error}");
        assert!(!server.received_text("POST /token"));
    }
}
