//! Responses and event streams over HTTP that are not those of the protocol, and connections that a server ends.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{Response, StatusCode},
    response::IntoResponse,
    routing::any,
};
use serde_json::{Map, Value, json};
use test_support::http::LocalServer;
use tokio::time::Instant;
use tool_mcp::client::{ClientErrorKind, McpToolSet, ServerLimits};

use super::{
    call,
    web::{answered, config, events, json_of, mock, text},
};

#[tokio::test]
async fn an_answer_to_a_post_ends_its_request_whatever_its_form() {
    type Answer = fn(&Value) -> String;
    let checks: [(Answer, &str); 8] = [
        (
            |id| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000}}}}"#),
            "the server gave no message",
        ),
        (
            |_| r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"m"}}"#.to_owned(),
            "error -32000: m",
        ),
        (
            |_| r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32000,"message":"m"}}"#.to_owned(),
            "-32000: m",
        ),
        (|_| r#"{"error":"quota"}"#.to_owned(), "error -32603: quota"),
        (|id| format!(r#"{{"id":{id},"error":{{"code":"x"}}}}"#), "(code x)"),
        (|id| format!(r#"{{"jsonrpc":"2.0","id":{id},"error":null}}"#), "neither a result nor an error"),
        (|_| r#"{"detail":"gone"}"#.to_owned(), "neither a result nor an error"),
        (|_| "[]".to_owned(), "has no answer to the request: []"),
    ];
    for as_events in [false, true] {
        for (answer, expected) in checks {
            let (web, _) = mock(move |_, message| {
                let answer = answer(&message["id"]);
                if as_events { events(format!("data: {answer}\n\n")) } else { json_of(&answer) }
            })
            .await;
            let set = McpToolSet::connect(config(&web.url)).await.unwrap();
            let error = set.call_raw("one", Map::new()).await.unwrap_err();
            // An event that is no answer is not the last word.
            let is_last_word =
                !as_events || (!expected.contains("no answer") && !answer(&json!(1)).contains("detail"));
            let named = answer(&json!(1)).contains("server-error");
            if is_last_word && !(as_events && named) {
                assert!(error.to_string().contains(expected), "{error}");
            }
            assert_ne!(error.kind(), ClientErrorKind::TimedOut, "{error}");
        }
    }
}

#[tokio::test]
async fn an_answer_of_another_request_is_not_taken_for_ones_own() {
    // M18
    for stranger in [
        r#""id":999,"result":{}"#,
        r#""id":"999","error":{"code":1,"message":"m"}"#,
        r#""id":999,"error":{}"#,
    ] {
        let (web, _) = mock(move |_, message| {
            let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": text("own") });
            events(format!("data: {{\"jsonrpc\":\"2.0\",{stranger}}}\n\ndata: {answer}\n\n"))
        })
        .await;
        let set = McpToolSet::connect(config(&web.url)).await.unwrap();
        assert_eq!(call(set, "one", json!({})).await.text(), "own");
    }
}

#[tokio::test]
async fn an_error_as_an_event_and_a_mark_before_the_data_are_read() {
    // M18
    let (web, _) = mock(|_, message| {
        let error =
            json!({ "jsonrpc": "2.0", "id": message["id"], "error": { "code": -32602, "message": "bad x" } });
        events(format!("data: {error}\n\n"))
    })
    .await;
    let set = McpToolSet::connect(config(&web.url)).await.unwrap();
    let error = set.call_raw("one", Map::new()).await.unwrap_err();
    assert!(error.to_string().contains("-32602: bad x"), "{error}");
    let (web, _) = mock(|_, message| {
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": text("marked") });
        events(format!("\u{feff}data: {answer}\n\n"))
    })
    .await;
    let set = McpToolSet::connect(config(&web.url)).await.unwrap();
    assert_eq!(call(set, "one", json!({})).await.text(), "marked");
    let (web, _) = mock(|_, message| {
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": text("marked") });
        json_of(&format!("\u{feff}{answer}"))
    })
    .await;
    let set = McpToolSet::connect(config(&web.url)).await.unwrap();
    assert_eq!(call(set, "one", json!({})).await.text(), "marked");
}

/// A server that answers each request by an event stream, after these events.
fn streaming(before: &'static str) -> Router {
    let handler = move |request: Request| async move {
        let (parts, body) = request.into_parts();
        let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        let result = match (parts.method.as_str(), message["method"].as_str()) {
            ("POST", Some("server/discover")) => return StatusCode::NOT_FOUND.into_response(),
            ("POST", Some("initialize")) => json!({
                "protocolVersion": "2025-11-25", "capabilities": { "tools": [] }, "serverInfo": { "name": "s" },
            }),
            ("POST", Some("tools/list")) => {
                json!({ "tools": [{ "name": "one", "inputSchema": { "type": "object" } }] })
            }
            ("POST", Some("tools/call")) => json!({ "content": [{ "type": "future" }] }),
            ("POST", _) => return StatusCode::ACCEPTED.into_response(),
            _ => return StatusCode::METHOD_NOT_ALLOWED.into_response(),
        };
        let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": result });
        events(format!("{before}data: {answer}\n\n"))
    };
    Router::new().fallback(any(handler))
}

#[tokio::test]
async fn events_that_are_no_messages_are_skipped_in_the_handshake_too() {
    for before in [
        "event: ping\ndata: {}\n\n",
        "event: ping\ndata: pong\n\n",
        "event: endpoint\ndata: /messages\n\n",
        "event: open\n\n",
        "data: \n\n",
        "data: {}\n\n",
        "data: ok\n\n",
        "data: null\n\n",
        ": keep-alive\n\n",
        "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/own\"}\n\n",
        "id: 1\nretry: 5\n\n",
    ] {
        let web = LocalServer::start(streaming(before)).await;
        let set =
            McpToolSet::connect(config(&web.url)).await.unwrap_or_else(|error| panic!("{before:?}: {error}"));
        // K and J over HTTP.
        assert_eq!(call(set.clone(), "one", json!({})).await.text(), "{\"type\":\"future\"}", "{before:?}");
        let codes: Vec<_> = set.diagnostics().iter().map(|it| it.code).collect();
        assert!(
            codes.contains(&"unreadable_handshake") && codes.contains(&"unreadable_content"),
            "{codes:?}"
        );
    }
}

/// The times at which a stream was opened.
type Opened = Arc<Mutex<Vec<Instant>>>;

/// A server with sessions, which keeps each stream open for the next of these times, and the last one for ever.
fn ending(open_for: Vec<Duration>, body: &'static str) -> (Router, Opened) {
    let (opened, open_for) = (Opened::default(), Arc::new(Mutex::new(VecDeque::from(open_for))));
    let times = Arc::clone(&opened);
    let handler = move |request: Request| {
        let (times, open_for) = (Arc::clone(&times), Arc::clone(&open_for));
        async move {
            let (parts, received) = request.into_parts();
            let received = axum::body::to_bytes(received, 1 << 20).await.unwrap();
            let message: Value = serde_json::from_slice(&received).unwrap_or_default();
            match (parts.method.as_str(), message["method"].as_str()) {
                ("GET", _) => {
                    times.lock().unwrap().push(Instant::now());
                    let open_for = open_for.lock().unwrap().pop_front();
                    let stream = futures_util::stream::unfold(Some(body), move |next| async move {
                        if let Some(body) = next {
                            return Some((Ok::<_, std::io::Error>(body), None));
                        }
                        match open_for {
                            Some(time) => tokio::time::sleep(time).await,
                            None => std::future::pending().await,
                        }
                        None
                    });
                    ([("content-type", "text/event-stream")], Body::from_stream(stream)).into_response()
                }
                ("POST", Some("server/discover")) => StatusCode::NOT_FOUND.into_response(),
                ("POST", Some("initialize")) => {
                    let result = json!({
                        "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "s", "version": "1" },
                    });
                    let mut response = answered(&message, &result);
                    response.headers_mut().insert("mcp-session-id", "s".parse().unwrap());
                    response
                }
                ("POST", Some("tools/list")) => answered(&message, &json!({ "tools": [] })),
                ("DELETE", _) => StatusCode::OK.into_response(),
                _ => StatusCode::ACCEPTED.into_response() as Response<Body>,
            }
        }
    };
    (Router::new().fallback(any(handler)), opened)
}

/// The pauses of a client before each reconnection, in whole seconds of a clock that only the test moves.
fn pauses(open_for: Vec<Duration>, body: &'static str) -> Vec<u64> {
    // Sockets are polled at each tick, so that they keep up with the clock.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().event_interval(1).build().unwrap();
    runtime.block_on(measured_pauses(open_for, body))
}

async fn measured_pauses(open_for: Vec<Duration>, body: &'static str) -> Vec<u64> {
    let ends = open_for.clone();
    let (router, opened) = ending(open_for, body);
    let web = LocalServer::start(router).await;
    // Sockets are slower than the clock of the test: no stream counts as one that held.
    let mut limits = ServerLimits::default();
    limits.stable_after = Duration::MAX;
    let set = McpToolSet::connect(config(&web.url).limits(limits)).await.unwrap();
    tokio::time::pause();
    // A clock that is paused runs ahead whenever nothing runs, also while a socket is read.
    let busy = tokio::spawn(async {
        loop {
            tokio::task::yield_now().await;
        }
    });
    while opened.lock().unwrap().len() <= ends.len() {
        for _ in 0..130 {
            tokio::task::yield_now().await;
        }
        tokio::time::advance(Duration::from_millis(500)).await;
    }
    busy.abort();
    tokio::time::resume();
    let opened = opened.lock().unwrap().clone();
    drop(set);
    let gaps = opened.windows(2).zip(ends);
    gaps.map(|(times, open_for)| (times[1] - times[0]).saturating_sub(open_for).as_secs()).collect()
}

#[test]
fn a_stream_that_ends_is_opened_again_after_pauses_that_double() {
    for body in ["retry: 0\n\n", "id: 1\nretry: 0\n\n", "id: 1\n\n", ": nothing\n\n"] {
        let pauses = pauses(vec![Duration::ZERO; 8], body);
        let lowest = [1, 2, 4, 8, 16, 32, 60, 60];
        assert!(pauses.iter().zip(lowest).all(|(pause, lowest)| *pause >= lowest), "{body:?}: {pauses:?}");
    }
}

#[tokio::test]
async fn a_server_that_requires_an_authorization_is_an_error_with_its_challenge() {
    let challenge = "Bearer resource_metadata=\"https://a.example/.well-known/oauth-protected-resource\"";
    for status in [StatusCode::UNAUTHORIZED, StatusCode::FORBIDDEN] {
        let refuse = move || async move { (status, [("www-authenticate", challenge)]).into_response() };
        let web = LocalServer::start(Router::new().fallback(any(refuse))).await;
        let error = McpToolSet::connect(config(&web.url)).await.unwrap_err();
        // M23
        assert_eq!((error.kind(), error.challenge()), (ClientErrorKind::Unauthorized, Some(challenge)));
    }
    let (web, _) = mock(|_, _| StatusCode::PAYMENT_REQUIRED.into_response()).await;
    let set = McpToolSet::connect(config(&web.url)).await.unwrap();
    assert_eq!(set.call_raw("one", Map::new()).await.unwrap_err().challenge(), None);
}

#[tokio::test]
async fn the_status_and_not_a_text_decides_about_an_older_transport() {
    let count = Arc::new(Mutex::new(0));
    let gets = Arc::clone(&count);
    let handler = move |request: Request| {
        let gets = Arc::clone(&gets);
        async move {
            if request.method() == "GET" {
                *gets.lock().unwrap() += 1;
            }
            let error =
                json!({ "code": -32000, "message": "HTTP 404 of another server, HTTP 405 of a third" });
            (StatusCode::IM_A_TEAPOT, json!({ "jsonrpc": "2.0", "id": 0, "error": error }).to_string())
                .into_response()
        }
    };
    let web = LocalServer::start(Router::new().fallback(any(handler))).await;
    let error = McpToolSet::connect(config(&web.url)).await.unwrap_err();
    assert!(error.to_string().contains("HTTP 404 of another server"), "{error}");
    assert_eq!(*count.lock().unwrap(), 0);
}

#[tokio::test]
async fn a_host_without_an_address_is_named_as_the_reason() {
    // Longer than a name may be: no resolver asks the network for it.
    let url = format!("http://{}.invalid/mcp", "a".repeat(64));
    let error = McpToolSet::connect(config(url).reconnect(3)).await.unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Connect);
    // M12
    assert!(error.to_string().contains("the name of the host cannot be resolved"), "{error}");
}
