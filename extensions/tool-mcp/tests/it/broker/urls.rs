//! Servers that the model selects by URL.

use axum::{
    Router,
    extract::Request,
    http::{HeaderMap, HeaderValue, StatusCode},
    middleware::{self, Next},
};
use serde_json::{Value, json};
use test_support::http::LocalServer;
use tokio::net::TcpListener;
use tool_mcp::{
    broker::{Interception, McpBroker},
    client::{ClientErrorKind, Endpoint, ServerConfig},
    server::McpServer,
};
use tool_runtime::prelude::*;

use super::{ask, error, tools, value};

/// A server over HTTP that wants a token.
pub(super) async fn web() -> LocalServer {
    web_with(StatusCode::PAYMENT_REQUIRED).await
}

/// A server that answers with this status without a token.
pub(super) async fn web_with(refusal: StatusCode) -> LocalServer {
    let service = McpServer::new(tools()).http().unwrap();
    let guard = middleware::from_fn(move |request: Request, next: Next| async move {
        match request.headers().get("x-token").is_some_and(|it| it == "t") {
            true => Ok(next.run(request).await),
            false => Err((refusal, "no token")),
        }
    });
    let router = Router::new().nest_service("/mcp", service).layer(guard);
    let mut server = LocalServer::start(router).await;
    server.url.push_str("/mcp");
    server
}

fn with_token(url: &str) -> Value {
    json!({ "selector": url, "headers": { "X-Token": "t" } })
}

#[tokio::test]
async fn urls_are_refused_unless_they_are_allowed() {
    let web = web().await;
    let closed = McpBroker::builder().build().unwrap();
    // N09
    let refused = error(&closed, "mcp_list_tools", with_token(&web.url)).await;
    assert!(refused.contains("cannot be selected by URL"), "{refused}");
    let open = McpBroker::builder().allow_urls().build().unwrap();
    let listed = value(&open, "mcp_list_tools", with_token(&web.url)).await;
    let selector = listed["tools"][0]["selector"].as_str().unwrap();
    // N08
    assert_eq!(selector, format!("{}.add", web.url));
    let call =
        json!({ "selector": selector, "arguments": { "a": 1, "b": 2 }, "headers": { "X-Token": "t" } });
    assert_eq!(value(&open, "mcp_call", call).await, json!({ "structuredContent": 3.0 }));
    for (selector, transport, expected) in [
        ("ftp://h/mcp", "http", "no server"),
        ("http:///mcp", "http", "no host"),
        (web.url.as_str(), "stdio", "`stdio`"),
    ] {
        let arguments = json!({ "selector": selector, "transport": transport });
        let refused = error(&open, "mcp_list_tools", arguments).await;
        assert!(refused.contains(expected), "{refused}");
    }
}

#[tokio::test]
async fn a_model_sets_no_credentials() {
    let broker = McpBroker::builder().allow_urls().refuse_headers(["X-Tenant"]).build().unwrap();
    let names =
        ["AUTHORIZATION", "Cookie", "proxy-authorization", "Set-Cookie", "x-Api-Key", " X-TENANT ", "Host"];
    for name in names {
        let mut arguments = json!({ "selector": "http://127.0.0.1:1/mcp", "headers": {} });
        arguments["headers"][name] = "secret".into();
        let refused = error(&broker, "mcp_list_tools", arguments).await;
        // N10
        assert!(refused.contains("may not be set") && !refused.contains("secret"), "{refused}");
    }
    for url in
        ["http://me:secret@127.0.0.1:1/mcp", "http://me@h/mcp", "http://\\me:secret@h/mcp", "http://a b/mcp"]
    {
        for (tool, arguments) in [
            ("mcp_list_tools", json!({ "selector": url })),
            ("mcp_call", json!({ "selector": format!("{url}.add"), "arguments": {} })),
        ] {
            let refused = error(&broker, tool, arguments).await;
            assert!(refused.contains("the URL has") && !refused.contains("secret"), "{refused}");
        }
    }
}

#[tokio::test]
async fn a_named_server_ignores_transport_and_headers_of_the_model() {
    let web = web().await;
    let broker = McpBroker::builder()
        .allow_urls()
        .server(ServerConfig::new("web", Endpoint::new(&web.url)))
        .build()
        .unwrap();
    let mut arguments = with_token("web");
    arguments["transport"] = "sse".into();
    // N09
    let refused = error(&broker, "mcp_list_tools", arguments).await;
    assert!(refused.contains("no token"), "{refused}");
}

#[tokio::test]
async fn the_program_adds_headers_for_known_servers() {
    let web = web().await;
    let broker = McpBroker::builder()
        .allow_urls()
        .server(ServerConfig::new("web", Endpoint::new(&web.url).header("X-TOKEN", "wrong")))
        .headers(|target| {
            let is_known = target.server.is_some();
            assert!(target.url().is_some());
            Box::pin(async move {
                let headers = [("x-token".parse().unwrap(), HeaderValue::from_static("t"))];
                Ok(is_known.then(|| HeaderMap::from_iter(headers)))
            })
        })
        .build()
        .unwrap();
    // N11
    assert_eq!(
        value(&broker, "mcp_list_tools", json!({ "selector": "web" })).await["tools"][0]["name"],
        "add"
    );
    let refused = error(&broker, "mcp_list_tools", json!({ "selector": web.url })).await;
    assert!(refused.contains("no token"), "{refused}");

    let failing = McpBroker::builder()
        .server(ServerConfig::new("web", Endpoint::new(&web.url)))
        .headers(|_| Box::pin(async { Err(ToolError::failed("the vault is closed")) }))
        .build()
        .unwrap();
    let refused = error(&failing, "mcp_list_tools", json!({ "selector": "web" })).await;
    assert!(refused.contains("the vault is closed"), "{refused}");
}

#[tokio::test]
async fn errors_of_servers_behind_a_url_are_intercepted() {
    let web = web().await;
    for (interception, expected) in [
        (Interception::Unhandled, "no token"),
        (Interception::Handled, "the operation on the MCP server failed"),
        (Interception::Replaced(ToolError::failed("sign in first")), "sign in first"),
    ] {
        let broker = McpBroker::builder()
            .server(ServerConfig::new("web", Endpoint::new(&web.url)))
            .on_error(move |target, error| {
                assert_eq!((target.server, error.kind()), (Some("web"), ClientErrorKind::Connect));
                interception.clone()
            })
            .build()
            .unwrap();
        // N12
        let refused = ask(&broker, "mcp_list_tools", json!({ "selector": "web" })).await;
        assert!(refused.is_error() && refused.text().contains(expected), "{}", refused.text());
    }
}

#[tokio::test]
async fn an_operation_on_a_chosen_server_has_a_time_limit() {
    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", mute.local_addr().unwrap());
    let limit = std::time::Duration::from_millis(50);
    let broker = McpBroker::builder().allow_urls().time_limit(limit).build().unwrap();
    // N15
    let refused = error(&broker, "mcp_list_tools", json!({ "selector": url })).await;
    assert!(refused.contains("longer than 50ms"), "{refused}");
}
