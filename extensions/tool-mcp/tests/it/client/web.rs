//! Servers over HTTP: our own, and mocks that answer as a test tells them to.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{HeaderMap, HeaderValue, Response, StatusCode},
    response::IntoResponse,
    routing::any,
};
use serde_json::{Map, Value, json};
use test_support::http::LocalServer;
use tokio::net::TcpListener;
use tool_mcp::client::{ClientErrorKind, Endpoint, McpToolSet, ServerConfig, Transport};
use tool_runtime::prelude::*;

use super::{BOTH, call, names_of, server};

pub(super) fn config(url: impl Into<String>) -> ServerConfig {
    ServerConfig::new("web", Endpoint::new(url))
}

/// Adds two numbers.
#[tool(register = false, read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

fn tools() -> Registry {
    Registry::builder().tool::<add>().build().unwrap()
}

#[tokio::test]
async fn a_server_over_http_is_used_in_both_protocols() {
    let web = LocalServer::start(Router::new().nest_service("/mcp", server(tools()).http().unwrap())).await;
    for version in BOTH {
        let set = McpToolSet::builder(config(format!("{}/mcp", web.url))).protocol(version);
        let set = set.connect().await.unwrap();
        assert_eq!(names_of(&set).await, ["add"]);
        let result = call(set.clone(), "add", json!({ "a": 2, "b": 3 })).await;
        assert_eq!((result.text().as_ref(), result.is_error()), ("5", false));
        set.close().await;
    }
}

/// The answer of a mock to one request.
type Answer = dyn Fn(&HeaderMap, &Value) -> Response<Body> + Send + Sync;

/// The requests of a mock: method, headers and message.
pub(super) type Seen = Arc<Mutex<Vec<(String, HeaderMap, Value)>>>;

/// A server of revision 2025-11-25 with sessions, which answers `tools/call` by `answer`.
pub(super) async fn mock(
    answer: impl Fn(&HeaderMap, &Value) -> Response<Body> + Send + Sync + 'static,
) -> (LocalServer, Seen) {
    let (seen, answer) = (Seen::default(), Arc::new(answer) as Arc<Answer>);
    let all = Arc::clone(&seen);
    let handler = move |request: Request| {
        let (all, answer) = (Arc::clone(&all), Arc::clone(&answer));
        async move {
            let (parts, body) = request.into_parts();
            let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
            let message: Value = serde_json::from_slice(&body).unwrap_or_default();
            all.lock().unwrap().push((parts.method.to_string(), parts.headers.clone(), message.clone()));
            match (parts.method.as_str(), message["method"].as_str()) {
                ("POST", Some("server/discover")) => StatusCode::NOT_FOUND.into_response(),
                ("POST", Some("initialize")) => {
                    let sessions =
                        all.lock().unwrap().iter().filter(|it| it.2["method"] == "initialize").count();
                    let result = json!({
                        "protocolVersion": "2025-11-25",
                        "capabilities": { "tools": {} },
                        "serverInfo": { "name": "mock", "version": "1" },
                    });
                    let mut response = answered(&message, &result);
                    let session = HeaderValue::try_from(format!("session-{sessions}")).unwrap();
                    response.headers_mut().insert("mcp-session-id", session);
                    response
                }
                ("POST", Some("tools/list")) => answered(
                    &message,
                    &json!({ "tools": [{ "name": "one", "inputSchema": { "type": "object" } }] }),
                ),
                ("POST", Some("tools/call")) => answer(&parts.headers, &message),
                ("POST", _) => StatusCode::ACCEPTED.into_response(),
                ("DELETE", _) => StatusCode::OK.into_response(),
                _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
            }
        }
    };
    (LocalServer::start(Router::new().fallback(any(handler))).await, seen)
}

pub(super) fn json_of(body: &str) -> Response<Body> {
    ([("content-type", "application/json")], body.to_owned()).into_response()
}

/// A result as JSON.
pub(super) fn answered(request: &Value, result: &Value) -> Response<Body> {
    let message = json!({ "jsonrpc": "2.0", "id": request["id"], "result": result });
    ([("content-type", "application/json")], message.to_string()).into_response()
}

pub(super) fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

fn status(status: u16, text: &str) -> Response<Body> {
    (StatusCode::from_u16(status).unwrap(), text.to_owned()).into_response()
}

pub(super) fn events(text: String) -> Response<Body> {
    ([("content-type", "text/event-stream")], text).into_response()
}

#[tokio::test]
async fn either_form_of_a_body_is_understood() {
    let (web, seen) = mock(|_, message| {
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": text("by events") }).to_string();
        let (first, second) = answer.split_at(answer.find("\"result\"").unwrap());
        let other = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": { "level": "info", "data": 1 } });
        events(format!(
            "\u{feff}: a comment\n\ndata: {other}\n\nid: 7\r\nevent: message\r\ndata: {first}\r\ndata: {second}\r\n\r\n"
        ))
    })
    .await;
    let set = McpToolSet::connect(config(&web.url)).await.unwrap();
    // M18
    assert_eq!(call(set.clone(), "one", json!({})).await.text(), "by events");
    set.close().await;
    let seen = seen.lock().unwrap();
    let initialize = seen.iter().find(|it| it.2["method"] == "initialize").unwrap();
    let accept = initialize.1["accept"].to_str().unwrap();
    assert!(accept.contains("application/json") && accept.contains("text/event-stream"), "{accept}");
    let calling = seen.iter().find(|it| it.2["method"] == "tools/call").unwrap();
    assert_eq!(calling.1["mcp-session-id"], "session-1");
    assert_eq!(calling.1["mcp-protocol-version"], "2025-11-25");
    let deleted = seen.iter().find(|it| it.0 == "DELETE").unwrap();
    assert_eq!(deleted.1["mcp-session-id"], "session-1");
}

#[tokio::test]
async fn errors_keep_the_explanation_of_the_server_and_calls_are_never_repeated() {
    type Check = (fn(&Value) -> Response<Body>, &'static str);
    let checks: [Check; 7] = [
        (|_| status(503, "overloaded"), "HTTP 503 Service Unavailable: overloaded"),
        (|_| status(429, "slow down"), "HTTP 429 Too Many Requests: slow down"),
        (|_| status(400, "missing things"), "HTTP 400 Bad Request: missing things"),
        (
            |_| status(200, ""),
            "the answer has `text/plain; charset=utf-8` in place of JSON or an event stream",
        ),
        (|_| json_of(""), "the response has no answer to the request: it is empty"),
        (|_| events(String::new()), "the connection to the MCP server `web` was lost"),
        (
            |it| {
                let error = json!({ "jsonrpc": "2.0", "id": it["id"], "error": { "code": -32602, "message": "bad x" } });
                json_of(&error.to_string())
            },
            "-32602: bad x",
        ),
    ];
    for (answer, expected) in checks {
        let (web, seen) = mock(move |_, message| answer(message)).await;
        let limits = config(&web.url).timeout(std::time::Duration::from_secs(2)).reconnect(3);
        let set = McpToolSet::connect(limits).await.unwrap();
        let error = set.call_raw("one", Map::new()).await.unwrap_err();
        // M18
        assert!(error.to_string().contains(expected), "{error}");
        // J12
        let calls = seen.lock().unwrap().iter().filter(|it| it.2["method"] == "tools/call").count();
        assert_eq!(calls, 1, "{error}");
    }
}

#[tokio::test]
async fn a_session_that_the_server_does_not_know_is_replaced_only_if_that_is_allowed() {
    for reconnect in [0, 1] {
        let (web, seen) = mock(|headers, message| match headers["mcp-session-id"] == "session-1" {
            true => status(404, "no session"),
            false => answered(message, &text("done")),
        })
        .await;
        let mut config = config(&web.url);
        config.reconnect = reconnect;
        let set = McpToolSet::connect(config).await.unwrap();
        let result = set.call_raw("one", Map::new()).await;
        // M12
        match reconnect {
            0 => {
                let error = result.unwrap_err();
                assert_eq!(error.to_string(), "the session of the MCP server `web` has expired");
                assert_eq!(error.kind(), ClientErrorKind::Lost);
                assert_eq!(set.call_raw("one", Map::new()).await.unwrap_err().kind(), ClientErrorKind::Lost);
            }
            _ => assert_eq!(result.unwrap().content[0].as_text().unwrap().text, "done"),
        }
        let started = seen.lock().unwrap().iter().filter(|it| it.2["method"] == "initialize").count();
        assert_eq!(started, 1 + usize::try_from(reconnect).unwrap());
        // A refresh connects again.
        set.refresh().await.unwrap();
        assert_eq!(set.call_raw("one", Map::new()).await.unwrap().content[0].as_text().unwrap().text, "done");
    }
}

#[tokio::test]
async fn headers_of_a_call_replace_configured_ones() {
    let (web, seen) = mock(|_, message| answered(message, &text("done"))).await;
    let config =
        ServerConfig::new("web", Endpoint::new(&web.url).header("Authorization", "A").header("X-Own", "1"));
    let set = McpToolSet::builder(config)
        .headers(|request| {
            let user = request.call.and_then(|call| call.run()).and_then(|run| run.user()).map(str::to_owned);
            Box::pin(async move {
                let mut headers = HeaderMap::new();
                match user.as_deref() {
                    None => {}
                    Some("guest") => return Err(ToolError::failed("no token")),
                    Some(user) => drop(headers.insert("authorization", HeaderValue::try_from(user).unwrap())),
                }
                Ok(headers)
            })
        })
        .connect()
        .await
        .unwrap();
    let toolbox = tool_runtime::Toolbox::new();
    toolbox.add_toolset(set).unwrap();
    let calling = async |run: RunContext| {
        let executor = Executor::new(toolbox.snapshot(&run).await.unwrap().into_tools());
        let outcomes = executor.batch(vec![ToolCall::new("one", "{}")]).with_run(run).run().await;
        outcomes[0].result().unwrap().clone()
    };
    assert!(!calling(RunContext::new().with_user("B")).await.is_error());
    assert!(!calling(RunContext::new()).await.is_error());
    let refused = calling(RunContext::new().with_user("guest")).await;
    assert!(refused.is_error() && refused.text().contains("no token"), "{}", refused.text());
    let seen = seen.lock().unwrap();
    let calls: Vec<_> = seen.iter().filter(|it| it.2["method"] == "tools/call").collect();
    // M11
    let authorizations: Vec<_> = calls.iter().map(|it| it.1["authorization"].to_str().unwrap()).collect();
    assert_eq!(authorizations, ["B", "A"]);
    assert!(calls.iter().all(|it| it.1["x-own"] == "1"));
}

#[tokio::test]
async fn errors_never_show_the_url_with_its_credentials() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    for transport in [
        Transport::Http(
            Endpoint::new(format!("http://me:hidden@{gone}/mcp?key=hidden")).header("Key", "hidden"),
        ),
        Transport::Sse(
            Endpoint::new(format!("http://me:hidden@{gone}/mcp?key=hidden")).header("Key", "hidden"),
        ),
        Transport::Http(Endpoint::new(format!("http://{gone}")).header("Key", "hid\nden")),
        Transport::Http(Endpoint::new(format!("http://{gone}")).header("Accept", "text/hidden")),
    ] {
        let error = McpToolSet::connect(ServerConfig::new("web", transport)).await.unwrap_err();
        // E10
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains("hidden") && !shown.contains("den"), "{shown}");
        // M09
        assert!(shown.contains("`web`") || shown.contains("header"), "{shown}");
    }
}

/// A server of revision 2024-11-05; `endpoint` is what it names for messages.
fn old(endpoint: &'static str) -> (Router, Seen) {
    let seen = Seen::default();
    let (all, sender) = (Arc::clone(&seen), Arc::new(Mutex::new(None)));
    let handler = move |request: Request| {
        let (all, sender) = (Arc::clone(&all), Arc::clone(&sender));
        async move {
            let (parts, body) = request.into_parts();
            let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
            let message: Value = serde_json::from_slice(&body).unwrap_or_default();
            let path = parts.uri.to_string();
            all.lock().unwrap().push((format!("{} {path}", parts.method), parts.headers, message.clone()));
            if parts.method == "GET" {
                let (to, from) = tokio::sync::mpsc::unbounded_channel::<String>();
                to.send(format!(": hello\n\nevent: endpoint\ndata: {endpoint}\n\n")).unwrap();
                *sender.lock().unwrap() = Some(to);
                let stream = futures_util::stream::unfold(from, |mut from| async move {
                    Some((Ok::<_, std::io::Error>(from.recv().await?), from))
                });
                return ([("content-type", "text/event-stream")], Body::from_stream(stream)).into_response();
            }
            if !path.starts_with("/messages") {
                return StatusCode::METHOD_NOT_ALLOWED.into_response();
            }
            let result = match message["method"].as_str() {
                Some("initialize") => json!({
                    "protocolVersion": "2024-11-05",
                    "capabilities": { "tools": {} },
                    "serverInfo": { "name": "old", "version": "1" },
                }),
                Some("tools/list") => {
                    json!({ "tools": [{ "name": "one", "inputSchema": { "type": "object" } }] })
                }
                Some("tools/call") => text("done"),
                _ => return StatusCode::ACCEPTED.into_response(),
            };
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
            let sender = sender.lock().unwrap();
            let sender = sender.as_ref().unwrap();
            sender.send("event: message\ndata: no JSON\n\n".to_owned()).unwrap();
            sender.send(format!("event: message\ndata: {answer}\n\n")).unwrap();
            StatusCode::ACCEPTED.into_response()
        }
    };
    (Router::new().fallback(any(handler)), seen)
}

#[tokio::test]
async fn an_old_server_is_used_over_server_sent_events() {
    let (router, seen) = old("/messages?session=1");
    let web = LocalServer::start(router).await;
    let url = format!("{}/sse", web.url);
    // M01, and M23: found out by the client.
    let told = Transport::Sse(Endpoint::new(&url).header("X-Key", "k"));
    let found = Transport::Http(Endpoint::new(&url).header("X-Key", "k"));
    for transport in [told, found] {
        let set = McpToolSet::connect(ServerConfig::new("old", transport)).await.unwrap();
        assert_eq!(call(set.clone(), "one", json!({})).await.text(), "done");
        assert_eq!(set.server_info().await.unwrap().protocol_version.as_str(), "2024-11-05");
        set.close().await;
    }
    let seen = seen.lock().unwrap();
    let calls = seen.iter().filter(|it| it.0 == "POST /messages?session=1" && it.2["method"] == "tools/call");
    assert_eq!(calls.filter(|it| it.1["x-key"] == "k").count(), 2);
}

#[tokio::test]
async fn an_endpoint_of_another_origin_gets_no_message() {
    let (router, seen) = old("http://example.invalid/messages");
    let web = LocalServer::start(router).await;
    let config = ServerConfig::new("old", Transport::Sse(Endpoint::new(format!("{}/sse", web.url))));
    let error = McpToolSet::connect(config).await.unwrap_err();
    assert!(error.to_string().contains("http://example.invalid"), "{error}");
    assert!(seen.lock().unwrap().iter().all(|it| it.0.starts_with("GET")));
}

#[tokio::test]
async fn a_redirect_takes_no_request_elsewhere() {
    let (other, seen) = mock(|_, message| answered(message, &text("done"))).await;
    let target = other.url.clone();
    let redirect = move || {
        let headers = [("location", format!("{target}/mcp"))];
        async move { (StatusCode::TEMPORARY_REDIRECT, headers).into_response() }
    };
    let web = LocalServer::start(Router::new().fallback(any(redirect))).await;
    let config = ServerConfig::new("web", Endpoint::new(&*web.url).header("authorization", "Bearer secret"));
    let error = McpToolSet::connect(config).await.unwrap_err();
    assert!(!error.to_string().contains("secret"), "{error}");
    assert!(seen.lock().unwrap().is_empty());
}
