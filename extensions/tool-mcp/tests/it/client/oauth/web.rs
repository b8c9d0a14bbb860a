//! Servers over HTTP that answer with given documents, and remember what they received.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Router,
    body::Bytes,
    http::{HeaderMap, Method, StatusCode, Uri},
    response::{IntoResponse, Response},
};
use reqwest::Url;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tool_mcp::client::{ClientError, Endpoint, McpToolSet, OAuth, ServerConfig};

/// The path of the metadata of a protected resource.
pub(super) const RESOURCE: &str = "/.well-known/oauth-protected-resource/mcp";

/// The path of the metadata of an authorization server.
pub(super) const METADATA: &str = "/.well-known/oauth-authorization-server";

type Answers = HashMap<String, (u16, Vec<(&'static str, String)>, String)>;

/// A server that answers with the documents of its paths, and 404 elsewhere.
#[derive(Clone)]
pub(super) struct Web {
    pub(super) url: String,
    answers: Arc<Mutex<Answers>>,
    received: Arc<Mutex<Vec<String>>>,
}

impl Web {
    pub(super) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let web = Self { url, answers: Arc::default(), received: Arc::default() };
        let state = web.clone();
        let handle = move |method: Method, uri: Uri, headers: HeaderMap, body: Bytes| {
            let web = state.clone();
            async move { web.answer(&method, &uri, &headers, &body) }
        };
        let router = Router::new().fallback(handle);
        tokio::spawn(async move { axum::serve(listener, router).await });
        web
    }

    fn answer(&self, method: &Method, uri: &Uri, headers: &HeaderMap, body: &[u8]) -> Response {
        let authorization = headers.get("authorization").and_then(|it| it.to_str().ok()).unwrap_or("none");
        let text = String::from_utf8_lossy(body);
        self.received.lock().unwrap().push(format!("{method} {uri} {authorization} {text}"));
        // A token was accepted; the rest of the protocol is no matter of these tests.
        if authorization == "Bearer t" {
            return StatusCode::IM_A_TEAPOT.into_response();
        }
        match self.answers.lock().unwrap().get(uri.path()) {
            None => StatusCode::NOT_FOUND.into_response(),
            Some((status, headers, body)) => {
                let mut response = body.clone().into_response();
                *response.status_mut() = StatusCode::from_u16(*status).unwrap();
                response.headers_mut().remove("content-type");
                for (name, value) in headers {
                    response.headers_mut().append(*name, value.parse().unwrap());
                }
                response
            }
        }
    }

    /// Sets the answer of a path.
    pub(super) fn set(&self, path: &str, status: u16, headers: &[(&'static str, &str)], body: &str) -> &Self {
        let headers = headers.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        self.answers.lock().unwrap().insert(path.to_owned(), (status, headers, body.to_owned()));
        self
    }

    /// Sets the document of a path.
    pub(super) fn json(&self, path: &str, document: Value) -> &Self {
        self.set(path, 200, &[("content-type", "application/json")], &document.to_string())
    }

    /// Redirects a path.
    pub(super) fn redirect(&self, path: &str, target: &str) -> &Self {
        self.set(path, 307, &[("location", target)], "")
    }

    /// Refuses each request of the protocol with a challenge, if it is not empty.
    pub(super) fn challenge(&self, challenge: &str) -> &Self {
        let header = [("www-authenticate", challenge)];
        self.set("/mcp", 401, if challenge.is_empty() { &[] } else { &header }, "")
    }

    /// Names the authorization servers of the protected resource.
    pub(super) fn issuers(&self, issuers: &[&str]) -> &Self {
        self.json(RESOURCE, json!({ "resource": self.mcp(), "authorization_servers": issuers }))
    }

    /// Becomes an authorization server whose tokens are `t`.
    pub(super) fn authorize(&self) -> &Self {
        self.json(METADATA, self.metadata())
            .json("/register", json!({ "client_id": "registered" }))
            .json("/token", json!({ "access_token": "t", "token_type": "Bearer" }))
    }

    pub(super) fn metadata(&self) -> Value {
        let url = &self.url;
        json!({
            "issuer": url,
            "authorization_endpoint": format!("{url}/authorize"),
            "token_endpoint": format!("{url}/token"),
            "registration_endpoint": format!("{url}/register"),
            "code_challenge_methods_supported": ["S256"],
        })
    }

    pub(super) fn mcp(&self) -> String {
        format!("{}/mcp", self.url)
    }

    /// Returns what the server received.
    pub(super) fn received(&self) -> Vec<String> {
        self.received.lock().unwrap().clone()
    }

    /// Returns `true` if a request has this text.
    pub(super) fn received_text(&self, text: &str) -> bool {
        self.received().iter().any(|request| request.contains(text))
    }
}

/// A user who agrees, and the number of times that this user was asked.
pub(super) fn agreeing() -> (OAuth, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let questions = Arc::clone(&count);
    let oauth = OAuth::new("http://127.0.0.1:1/callback", move |page| {
        questions.fetch_add(1, Ordering::Relaxed);
        async move {
            let page = Url::parse(&page).unwrap();
            let query: HashMap<_, _> = page.query_pairs().into_owned().collect();
            Ok(format!("{}?code=the-code&state={}", query["redirect_uri"], query["state"]))
        }
    });
    (oauth, count)
}

/// Connects to a server. There is always an error: these servers do not speak the protocol.
pub(super) async fn connect(server: &Web, oauth: OAuth) -> ClientError {
    let config = ServerConfig::new("secure", Endpoint::new(server.mcp()));
    McpToolSet::builder(config).oauth(oauth).connect().await.unwrap_err()
}
