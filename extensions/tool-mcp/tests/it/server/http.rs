//! Streamable HTTP on a port of this machine.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    body::{Body, Bytes},
    http::{Request, Response},
};
use futures_util::FutureExt as _;
use http_body_util::{BodyExt as _, combinators::BoxBody};
use serde_json::{Value, json};
use tokio::{
    net::{TcpListener, TcpStream},
    sync::Notify,
};
use tool_mcp::server::{HttpConfig, HttpServer, McpServer};
use tool_runtime::{CancellationToken, prelude::*};
use tower_service::Service as _;

use super::{BOTH, initialize, modern, serve, sse, text};

type Answer = BoxBody<Bytes, Infallible>;

/// Adds two numbers.
#[tool(register = false)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// The state of a body.
#[derive(Default)]
struct Gate {
    started: Notify,
    go: Notify,
}

/// Waits.
#[tool(register = false)]
async fn wait(gate: &Gate) -> &'static str {
    gate.started.notify_one();
    gate.go.notified().await;
    "done"
}

fn server() -> McpServer {
    McpServer::new(Registry::builder().tool::<add>().build().unwrap()).named("under-test", "1.2.3")
}

fn gated() -> (McpServer, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let tools = Registry::builder().tool::<wait>().provide_shared(Arc::clone(&gate)).build().unwrap();
    (McpServer::new(tools), gate)
}

#[tokio::test]
async fn both_protocols_are_served_at_one_url() {
    let served = serve(server().http().unwrap()).await;
    for version in BOTH {
        let it = served.connect((), version).await;
        assert_eq!(text(&it.call("add", json!({ "a": 2, "b": 3 })).await), "5");
    }
}

#[tokio::test]
async fn an_answer_ends_with_its_event_or_is_json_so_that_its_connection_is_free() {
    let mut server = server().http().unwrap();
    let mut send = async |message: Value, session: Option<&str>, version: &str| {
        let mut request = Request::post("/")
            .header("host", "localhost")
            .header("accept", "application/json, text/event-stream")
            .header("content-type", "application/json")
            .header("mcp-protocol-version", version)
            .header("mcp-method", "tools/call")
            .header("mcp-name", "add");
        if let Some(session) = session {
            request = request.header("mcp-session-id", session);
        }
        server.call(request.body(Body::from(message.to_string())).unwrap()).await.unwrap()
    };
    let opened = send(initialize(), None, "2025-11-25").await;
    let session = opened.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    opened.into_body().collect().await.unwrap();
    let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    send(initialized, Some(&session), "2025-11-25").await;

    let params = json!({ "name": "add", "arguments": { "a": 2, "b": 3 } });
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
    let answer = send(call, Some(&session), "2025-11-25").await;
    assert_eq!(answer.headers()["content-type"], "text/event-stream");
    let mut body = answer.into_body();
    while let data = body.frame().await.unwrap().unwrap().into_data().unwrap()
        && !data.windows(8).any(|part| part == b"\"result\"")
    {}
    assert!(body.frame().now_or_never().unwrap().is_none());

    let answer = send(modern("tools/call", params), None, "2026-07-28").await;
    assert_eq!(answer.headers()["content-type"], "application/json");
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(serde_json::from_slice::<Value>(&body).unwrap()["result"]["structuredContent"], 5);
}

#[tokio::test]
async fn other_hosts_and_origins_are_refused() {
    let served = serve(server().http().unwrap()).await;
    let [_, version] = BOTH;
    let list = modern("tools/list", json!({}));
    for (header, value, expected) in [
        ("host", "localhost:1", 200),
        ("host", "evil.example", 403),
        ("origin", "http://localhost:5173", 200),
        ("origin", "http://[::1]:80", 200),
        ("origin", "http://evil.example", 403),
        ("origin", "null", 403),
    ] {
        let answer = served.post(&list, &version).header(header, value).send().await.unwrap();
        assert_eq!(answer.status(), expected, "{header}: {value}");
    }
}

#[tokio::test]
async fn large_bodies_are_refused() {
    let served = serve(server().max_request(10_000).http().unwrap()).await;
    for version in BOTH {
        let list = modern("tools/list", json!({ "cursor": "x".repeat(10_000) }));
        let answer = served.post(&list, &version).send().await.unwrap();
        assert_eq!(answer.status(), 413);
    }
}

#[tokio::test]
async fn the_limit_of_sessions_refuses_initialize() {
    let served = serve(server().http_with(HttpConfig::new().max_sessions(1)).unwrap()).await;
    let [version, _] = BOTH;
    let first = served.post(&initialize(), &version).send().await.unwrap();
    assert_eq!(first.status(), 200);
    let refused = served.post(&initialize(), &version).send().await.unwrap();
    assert_eq!(refused.status(), 503);
    assert!(refused.text().await.unwrap().contains("1 sessions are open"));
    // A closed session makes room.
    let id = first.headers()["mcp-session-id"].clone();
    let closed =
        reqwest::Client::new().delete(&served.url).header("mcp-session-id", &id).send().await.unwrap();
    assert_eq!(closed.status(), 204);
    assert_eq!(served.server.sessions(), 0);
    assert_eq!(served.post(&initialize(), &version).send().await.unwrap().status(), 200);
    // The other protocol has no sessions.
    let [_, version] = BOTH;
    let list = modern("tools/list", json!({}));
    assert_eq!(served.post(&list, &version).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn times_beyond_the_clock_are_no_limits() {
    let server = server()
        .state_lifetime(Duration::MAX)
        .task_lifetime(Duration::MAX)
        .question_timeout(Duration::MAX)
        .shutdown_time(Duration::MAX);
    let config = HttpConfig::new().idle_time(Duration::MAX).resume_time(Duration::MAX);
    let mut served = serve(server.http_with(config).unwrap()).await;
    for version in BOTH {
        let it = served.connect((), version).await;
        assert_eq!(text(&it.call("add", json!({ "a": 2, "b": 3 })).await), "5");
        // Its session is not idle, and no task of it panicked.
        assert_eq!(text(&it.call("add", json!({ "a": 2, "b": 4 })).await), "6");
    }
    // A stream of changes does not delay the end.
    let [version, _] = BOTH;
    let opened = served.post(&initialize(), &version).send().await.unwrap();
    let id = opened.headers()["mcp-session-id"].clone();
    let changes = reqwest::Client::new().get(&served.url).header("accept", "text/event-stream");
    let changes = changes.header("mcp-session-id", id).send().await.unwrap();
    assert_eq!(changes.status(), 200);
    served.stop.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(30), &mut served.ended).await;
    ended.unwrap().unwrap().unwrap();
}

#[tokio::test]
async fn a_session_has_its_own_limit_of_calls() {
    let (server, gate) = gated();
    let served = serve(server.max_calls_per_caller(1).http().unwrap()).await;
    let [version, _] = BOTH;
    let (first, other) =
        (served.connect((), version.clone()).await, served.connect((), version.clone()).await);
    let calls = async {
        gate.started.notified().await;
        let error = first.try_call("wait", json!({})).await.unwrap_err();
        assert!(error.to_string().contains("1 calls of this caller run"), "{error}");
        let others = async {
            gate.started.notified().await;
            gate.go.notify_one();
            gate.go.notify_one();
        };
        tokio::join!(other.call("wait", json!({})), others).0
    };
    let (one, two) = tokio::join!(first.call("wait", json!({})), calls);
    assert_eq!((text(&one), text(&two)), ("done".to_owned(), "done".to_owned()));
    gate.go.notify_one();
    assert_eq!(text(&first.call("wait", json!({})).await), "done");
}

/// Sends `message` in `session` to a server without a port, of the revision 2025-11-25.
async fn send_to(server: &HttpServer, message: &Value, session: Option<&str>) -> Response<Answer> {
    let mut request = Request::post("/")
        .header("host", "localhost")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .header("mcp-protocol-version", "2025-11-25");
    if let Some(session) = session {
        request = request.header("mcp-session-id", session);
    }
    server.clone().call(request.body(Body::from(message.to_string())).unwrap()).await.unwrap()
}

async fn text_of(answer: Response<Answer>) -> String {
    String::from_utf8(answer.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn idle_sessions_end_and_those_with_a_call_do_not() {
    let (server, gate) = gated();
    let time = Duration::from_secs(500);
    let server = server.http_with(HttpConfig::new().idle_time(time)).unwrap();
    let mut sessions = Vec::new();
    for _ in 0..2 {
        let opened = send_to(&server, &initialize(), None).await;
        sessions.push(opened.headers()["mcp-session-id"].to_str().unwrap().to_owned());
        text_of(opened).await;
    }
    let [idle, used] = &sessions[..] else { panic!("{sessions:?}") };
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "wait" } });
    // Its body is not read before the time is over: the pings of the SDK follow a clock that is not paused.
    let answer = send_to(&server, &call, Some(used)).await;
    gate.started.notified().await;
    tokio::time::sleep(time - Duration::from_secs(1)).await;
    assert_eq!(server.sessions(), 2);
    tokio::time::sleep(time * 3).await;
    assert_eq!(server.sessions(), 1);
    gate.go.notify_one();
    let answer = sse(&text_of(answer).await);
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    let list = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    assert_eq!(send_to(&server, &list, Some(idle)).await.status(), 404);
    assert_eq!(send_to(&server, &list, Some(used)).await.status(), 200);
    tokio::time::sleep(time * 2).await;
    assert_eq!(server.sessions(), 0);
}

#[tokio::test]
async fn a_shutdown_answers_the_calls_that_run_and_refuses_others() {
    for version in BOTH {
        let (server, gate) = gated();
        let mut served = serve(server.http().unwrap()).await;
        let it = served.connect((), version.clone()).await;
        let stop = async {
            gate.started.notified().await;
            served.stop.cancel();
            let list = modern("tools/list", json!({}));
            while served.post(&list, &BOTH[1]).send().await.unwrap().status() != 503 {}
            gate.go.notify_one();
        };
        let (result, ()) = tokio::join!(it.call("wait", json!({})), stop);
        assert_eq!(text(&result), "done");
        drop(it);
        (&mut served.ended).await.unwrap().unwrap();
        assert_eq!(served.server.sessions(), 0, "{version}");
    }
}

#[tokio::test]
async fn a_server_that_has_ended_answers_that_it_ends() {
    let server = server().http().unwrap();
    server.shutdown().await;
    let answer = send_to(&server, &modern("tools/list", json!({})), None).await;
    assert_eq!((answer.status().as_u16(), answer.headers()["retry-after"].to_str().unwrap()), (503, "5"));
    let answer: serde_json::Value = serde_json::from_str(&text_of(answer).await).unwrap();
    assert_eq!(answer["error"], json!({ "code": -32000, "message": "the server ends" }));
}

#[tokio::test]
async fn a_server_whose_future_is_dropped_releases_its_address() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let mut serving = Box::pin(server().http().unwrap().serve(listener, CancellationToken::new()));
    assert!(futures_util::poll!(&mut serving).is_pending());
    drop(TcpStream::connect(address).await.unwrap());
    drop(serving);
    let released = async {
        while TcpListener::bind(address).await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), released).await.unwrap();
}

/// Calls that wait until all have begun.
struct All(tokio::sync::Barrier);

/// Waits for the others.
#[tool(register = false, concurrency_safe)]
async fn meet(number: usize, all: &All) -> usize {
    all.0.wait().await;
    number
}

#[tokio::test]
async fn a_thousand_calls_at_once_are_all_answered() {
    const CALLS: usize = 1_000;
    for version in BOTH {
        let all = All(tokio::sync::Barrier::new(CALLS));
        let tools = Registry::builder().tool::<meet>().provide(all).build().unwrap();
        // However long a busy machine takes: a connection that ends would leave the other calls without an answer.
        let config = HttpConfig::new().head_time(Duration::from_secs(3_600));
        let served = serve(McpServer::new(tools).http_with(config).unwrap()).await;
        let opened = served.post(&initialize(), &version).send().await.unwrap();
        let session = opened.headers().get("mcp-session-id").cloned();
        let calls = (0..CALLS).map(|number| {
            let params = json!({ "name": "meet", "arguments": { "number": number } });
            let mut call = modern("tools/call", params.clone());
            if version.has_initialize() {
                call = json!({ "jsonrpc": "2.0", "method": "tools/call", "params": params });
            }
            call["id"] = json!(number);
            let mut request = served.post(&call, &version);
            if let (true, Some(session)) = (version.has_initialize(), &session) {
                request = request.header("mcp-session-id", session);
            }
            tokio::spawn(async move { request.send().await.unwrap().text().await.unwrap() })
        });
        for (number, call) in calls.collect::<Vec<_>>().into_iter().enumerate() {
            let answer = sse(&call.await.unwrap());
            assert_eq!(answer["id"], json!(number));
            assert_eq!(answer["result"]["content"][0]["text"], json!(number.to_string()), "{answer}");
        }
    }
}

#[tokio::test]
async fn a_hundred_sessions_at_once_are_served() {
    let served = serve(server().http_with(HttpConfig::new().max_sessions(100)).unwrap()).await;
    let [version, _] = BOTH;
    let opening = (0..150).map(|_| tokio::spawn(served.post(&initialize(), &version).send()));
    let mut sessions = Vec::new();
    for opening in opening.collect::<Vec<_>>() {
        let answer = opening.await.unwrap().unwrap();
        match answer.status().as_u16() {
            200 => sessions.push(answer.headers()["mcp-session-id"].clone()),
            status => assert_eq!(status, 503),
        }
    }
    assert_eq!((sessions.len(), served.server.sessions()), (100, 100));
    for session in sessions {
        let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
        let answer = served.post(&ping, &version).header("mcp-session-id", session).send().await.unwrap();
        assert_eq!(sse(&answer.text().await.unwrap())["result"], json!({}));
    }
}
