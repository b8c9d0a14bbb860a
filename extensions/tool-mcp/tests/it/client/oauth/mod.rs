//! Authorization at our server, whose tokens come from an authorization server in this process.

mod answers;
mod deviations;
mod discoveries;
mod hostile;
mod tokens;
mod web;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{Router, body::Bytes, routing::get, routing::post};
use reqwest::Url;
use rmcp::transport::auth::InMemoryCredentialStore;
use serde_json::json;
use tokio::net::TcpListener;
use tool_mcp::{
    client::{ClientErrorKind, Endpoint, McpToolSet, OAuth, ServerConfig},
    server::{HttpConfig, Identity, McpServer, ResourceServer, TokenError},
};
use tool_runtime::{CancellationToken, prelude::*};

/// Tells who calls.
#[tool(register = false)]
fn who(identity: &Identity) -> String {
    identity.subject.clone()
}

/// The tokens that are valid, and the number of times that one was issued.
#[derive(Clone, Default)]
struct Issued(Arc<Mutex<Vec<String>>>, Arc<AtomicUsize>);

impl Issued {
    fn token(&self) -> String {
        let token = format!("token-{}", self.1.fetch_add(1, Ordering::Relaxed));
        self.0.lock().unwrap().push(token.clone());
        token
    }
}

/// Starts an authorization server; returns its URL.
async fn authorization_server(issued: Issued) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let issuer = format!("http://{}", listener.local_addr().unwrap());
    let metadata = json!({
        "issuer": issuer,
        "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
        "registration_endpoint": format!("{issuer}/register"),
        "response_types_supported": ["code"],
        "code_challenge_methods_supported": ["S256"],
    });
    let json = |value: serde_json::Value| ([("content-type", "application/json")], value.to_string());
    let register = move |body: Bytes| async move {
        let mut client: serde_json::Value = serde_json::from_slice(&body).unwrap();
        client["client_id"] = json!("program");
        (reqwest::StatusCode::CREATED, json(client))
    };
    let token = move |body: String| async move {
        let form = Url::parse(&format!("http://localhost/?{body}")).unwrap();
        let form: HashMap<_, _> = form.query_pairs().into_owned().collect();
        assert_eq!((form["grant_type"].as_str(), form["code"].as_str()), ("authorization_code", "code-1"));
        // PKCE
        assert!(form["code_verifier"].len() >= 43);
        json(json!({ "access_token": issued.token(), "token_type": "Bearer", "expires_in": 3600 }))
    };
    let router = Router::new()
        .route("/.well-known/oauth-authorization-server", get(move || async move { json(metadata) }))
        .route("/register", post(register))
        .route("/token", post(token));
    tokio::spawn(async move { axum::serve(listener, router).await });
    issuer
}

/// Starts a protected server; returns its URL.
async fn resource_server(issuer: &str, issued: Issued) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let valid = move |token: &str| match issued.0.lock().unwrap().iter().any(|it| it == token) {
        true => Ok(Identity::new("ada").scopes(["use"])),
        false => Err(TokenError::Invalid("it is unknown".to_owned())),
    };
    let protection = ResourceServer::new(&url, valid).issuer(issuer).require(["use"]);
    let tools = Registry::builder().tool::<who>().provide_per_run::<Identity>().build().unwrap();
    let server = McpServer::new(tools).http_with(HttpConfig::new().protect(protection)).unwrap();
    tokio::spawn(server.serve(listener, CancellationToken::new()));
    url
}

/// A user who agrees; counts how often.
fn agreeing(asked: &Arc<AtomicUsize>) -> OAuth {
    let asked = Arc::clone(asked);
    OAuth::new("http://127.0.0.1:1/callback", move |page| {
        asked.fetch_add(1, Ordering::Relaxed);
        async move {
            let page = Url::parse(&page).unwrap();
            let query: HashMap<_, _> = page.query_pairs().into_owned().collect();
            assert_eq!((query["code_challenge_method"].as_str(), query["scope"].as_str()), ("S256", "use"));
            Ok(format!("{}?code=code-1&state={}", query["redirect_uri"], query["state"]))
        }
    })
}

#[tokio::test]
async fn the_user_authorizes_the_program_once_and_again_when_the_token_is_refused() {
    let issued = Issued::default();
    let issuer = authorization_server(issued.clone()).await;
    let url = resource_server(&issuer, issued.clone()).await;
    let config = ServerConfig::new("secure", Endpoint::new(url));
    let asked = Arc::new(AtomicUsize::new(0));
    let store = InMemoryCredentialStore::new();
    let set =
        McpToolSet::builder(config.clone()).oauth(agreeing(&asked).store(store.clone())).connect().await;
    let set = set.unwrap();
    let call = async |set: &McpToolSet| super::call(set.clone(), "who", json!({})).await.text().into_owned();
    assert_eq!(call(&set).await, "ada");
    assert_eq!(asked.load(Ordering::Relaxed), 1);

    // Another toolset has the token of the store.
    let other =
        McpToolSet::builder(config.clone()).oauth(agreeing(&asked).store(store)).connect().await.unwrap();
    assert_eq!((call(&other).await.as_str(), asked.load(Ordering::Relaxed)), ("ada", 1));

    // A token that is withdrawn is replaced once, also for calls at the same time.
    issued.0.lock().unwrap().clear();
    let (first, second) = tokio::join!(call(&set), call(&set));
    assert_eq!((first.as_str(), second.as_str(), asked.load(Ordering::Relaxed)), ("ada", "ada", 2));

    // E10
    assert!(!format!("{set:?}").contains("token-"), "{set:?}");
    set.close().await;
    other.close().await;
}

#[tokio::test]
async fn without_the_consent_of_the_user_there_is_no_connection() {
    let issued = Issued::default();
    let issuer = authorization_server(issued.clone()).await;
    let config = ServerConfig::new("secure", Endpoint::new(resource_server(&issuer, issued).await));
    let error = McpToolSet::connect(config.clone()).await.unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Unauthorized);

    let refusing =
        OAuth::new("http://127.0.0.1:1/callback", |_| async { Err(ToolError::failed("the user said no")) });
    let error = McpToolSet::builder(config.clone()).oauth(refusing).connect().await.unwrap_err();
    assert!(error.to_string().contains("the user said no"), "{error}");

    // An answer to another question, such as one that an attacker made the browser send.
    let forged = OAuth::new("http://127.0.0.1:1/callback", |_| async {
        Ok("http://127.0.0.1:1/callback?code=code-1&state=forged".to_owned())
    });
    assert!(McpToolSet::builder(config).oauth(forged).connect().await.is_err());
}
