//! Servers over HTTP that end before a client listens to them.

use std::{sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{HeaderValue, Response, StatusCode},
    middleware,
    response::IntoResponse,
    routing::any,
};
use futures_util::FutureExt as _;
use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};
use test_support::http::LocalServer;
use tokio::sync::{Notify, mpsc};
use tool_mcp::{
    client::{ClientErrorKind, McpToolSet, McpToolSetBuilder, ServerChange, ServerLimits},
    server::McpServer,
};
use tool_runtime::{Registry, Toolbox};

use super::{names_of, web};

/// The requests of a client: GET for its stream, or the method of a message.
type Requests = mpsc::UnboundedReceiver<String>;

/// Answers a GET or a ping, the n-th one of its kind from zero.
type Answer = fn(usize) -> Response<Body>;

/// A server with sessions. Each answer ends its connection, so that nothing is open once the server has ended.
async fn server_with_sessions(get: Answer, ping: Answer) -> (LocalServer, Requests) {
    let (sender, requests) = mpsc::unbounded_channel();
    let counts = Arc::new(std::sync::Mutex::new((0, 0)));
    let handler = move |request: Request| {
        let (sender, counts) = (sender.clone(), Arc::clone(&counts));
        async move {
            let (parts, body) = request.into_parts();
            let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
            let message: Value = serde_json::from_slice(&body).unwrap_or_default();
            let method = message["method"].as_str().unwrap_or(parts.method.as_str()).to_owned();
            let (gets, pings) = {
                let mut counts = counts.lock().unwrap();
                let before = *counts;
                counts.0 += usize::from(method == "GET");
                counts.1 += usize::from(method == "ping");
                before
            };
            let mut response = match &*method {
                "GET" => get(gets),
                "ping" => ping(pings),
                "server/discover" => StatusCode::NOT_FOUND.into_response(),
                "initialize" => {
                    let changing = json!({ "listChanged": true });
                    let mut response = web::answered(
                        &message,
                        &json!({
                            "protocolVersion": "2025-11-25", "capabilities": { "tools": changing },
                            "serverInfo": { "name": "s", "version": "1" },
                        }),
                    );
                    response.headers_mut().insert("mcp-session-id", HeaderValue::from_static("s1"));
                    response
                }
                "tools/list" => web::answered(&message, &json!({ "tools": [] })),
                _ => StatusCode::ACCEPTED.into_response(),
            };
            response.headers_mut().insert("connection", HeaderValue::from_static("close"));
            sender.send(method).ok();
            response
        }
    };
    (LocalServer::start(Router::new().fallback(any(handler))).await, requests)
}

/// Waits for the next request of this kind.
async fn wait_for(requests: &mut Requests, expected: &str) {
    while requests.recv().await.unwrap() != expected {}
}

fn builder(url: &str) -> McpToolSetBuilder {
    let mut limits = ServerLimits::default();
    limits.min_reconnect_pause = Duration::from_millis(5);
    McpToolSet::builder(web::config(url).limits(limits))
}

/// Waits for the loss of the connection.
async fn loss_of(set: &McpToolSet) -> ClientErrorKind {
    tokio::time::timeout(Duration::from_secs(60), set.disconnected()).await.unwrap().kind()
}

fn unavailable(_: usize) -> Response<Body> {
    StatusCode::SERVICE_UNAVAILABLE.into_response()
}

fn not_found(_: usize) -> Response<Body> {
    StatusCode::NOT_FOUND.into_response()
}

fn pong(_: usize) -> Response<Body> {
    web::json_of(r#"{"jsonrpc":"2.0","id":"session","result":{}}"#)
}

#[tokio::test]
async fn a_server_that_ends_before_its_stream_is_open_is_lost() {
    // A server that ends refuses the stream, or does not know the session any more.
    for get in [unavailable, not_found] {
        let (web, mut requests) = server_with_sessions(get, unavailable).await;
        let set = builder(&web.url).connect().await.unwrap();
        wait_for(&mut requests, "GET").await;
        drop(web);
        assert_eq!(loss_of(&set).await, ClientErrorKind::Lost); // U16
    }
}

#[tokio::test]
async fn a_session_that_the_server_does_not_know_is_lost_before_its_stream_is_open() {
    let (web, _requests) = server_with_sessions(not_found, not_found).await;
    let set = builder(&web.url).connect().await.unwrap();
    assert_eq!(loss_of(&set).await, ClientErrorKind::Lost); // U16
}

#[tokio::test]
async fn a_server_that_has_no_streams_is_not_lost() {
    let (web, mut requests) = server_with_sessions(not_found, pong).await;
    let set = builder(&web.url).connect().await.unwrap();
    wait_for(&mut requests, "ping").await;
    set.refresh().await.unwrap();
    assert!(names_of(&set).await.is_empty());
    assert!(set.disconnected().now_or_never().is_none());
}

#[tokio::test]
async fn a_stream_that_is_refused_for_now_is_opened_later() {
    let get = |number| match number {
        0 => StatusCode::SERVICE_UNAVAILABLE.into_response(),
        1 => StatusCode::BAD_GATEWAY.into_response(),
        _ => web::events(
            r#"data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#.to_owned() + "\n\n",
        ),
    };
    let (web, _requests) = server_with_sessions(get, pong).await;
    let heard = Arc::new(Notify::new());
    let changed = Arc::clone(&heard);
    let set = builder(&web.url).on_change(move |change| {
        if matches!(change, ServerChange::Tools) {
            changed.notify_one();
        }
    });
    let _set = set.connect().await.unwrap();
    tokio::time::timeout(Duration::from_secs(60), heard.notified()).await.unwrap();
}

#[tokio::test]
async fn a_server_of_the_newest_revision_that_ends_before_it_is_listened_to_is_lost() {
    let (sender, mut refused) = mpsc::unbounded_channel();
    // Tools that may change: the client listens.
    let server = McpServer::new(Toolbox::from_registry(&Registry::default())).http().unwrap();
    let refuse_to_announce = middleware::from_fn(move |request: Request, next: middleware::Next| {
        let sender = sender.clone();
        async move {
            let is_listen =
                request.headers().get("mcp-method").is_some_and(|it| it == "subscriptions/listen");
            let mut response = match is_listen {
                true => {
                    sender.send(()).ok();
                    unavailable(0)
                }
                false => next.run(request).await,
            };
            response.headers_mut().insert("connection", HeaderValue::from_static("close"));
            response
        }
    });
    let web = LocalServer::start(server.router().layer(refuse_to_announce)).await;
    let set = builder(&format!("{}/mcp", web.url)).protocol(ProtocolVersion::V_2026_07_28);
    let set = set.connect().await.unwrap();
    refused.recv().await.unwrap();
    drop(web);
    assert_eq!(loss_of(&set).await, ClientErrorKind::Lost); // U16
}
