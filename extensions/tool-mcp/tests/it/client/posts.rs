//! The response to a message that was posted.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{HeaderValue, Response, StatusCode},
    response::IntoResponse,
    routing::any,
};
use serde_json::{Map, Value, json};
use test_support::http::LocalServer;
use tool_mcp::client::{ClientError, ClientErrorKind, McpToolSet};

use super::{
    call,
    web::{answered, config, json_of, mock, text},
};

/// The error of a call that a server answers so.
async fn refused(
    status: u16,
    headers: &'static [(&'static str, &'static str)],
    body: &'static str,
) -> ClientError {
    let (web, _) = mock(move |_, _| {
        let mut response = body.into_response();
        *response.status_mut() = StatusCode::from_u16(status).unwrap();
        response.headers_mut().remove("content-type");
        for (name, value) in headers {
            response.headers_mut().append(*name, HeaderValue::from_static(value));
        }
        response
    })
    .await;
    let set = McpToolSet::connect(config(&web.url)).await.unwrap();
    set.call_raw("one", Map::new()).await.unwrap_err()
}

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];
const ERROR: &str = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"bad x"}}"#;

#[tokio::test]
async fn an_error_of_the_protocol_is_json_and_no_ban() {
    let error = refused(400, JSON, ERROR).await;
    assert_eq!((error.kind(), error.refusal().unwrap().code.0), (ClientErrorKind::Refused, -32602));
    // A text may look like one, and a ban says why.
    for (status, headers, expected) in [
        (400, &[("content-type", "text/plain")][..], "HTTP 400 Bad Request: {"),
        (500, &[][..], "HTTP 500 Internal Server Error: {"),
        (403, JSON, "HTTP 403 Forbidden: {"),
    ] {
        let error = refused(status, headers, ERROR).await;
        assert_eq!((error.kind(), error.refusal()), (ClientErrorKind::Unusable, None), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
    // A result is none with the status of a failure.
    let error = refused(500, JSON, r#"{"jsonrpc":"2.0","id":1,"result":{"content":[]}}"#).await;
    assert!(error.to_string().contains("HTTP 500 Internal Server Error: {"), "{error}");
    let error = refused(404, JSON, "").await;
    assert_eq!(error.kind(), ClientErrorKind::Lost);
}

#[tokio::test]
async fn challenges_for_several_schemes_are_one() {
    const CHALLENGES: &[(&str, &str)] =
        &[("www-authenticate", "Basic realm=\"a\""), ("www-authenticate", "Bearer scope=\"b\"")];
    for status in [401, 403] {
        let error = refused(status, CHALLENGES, "").await;
        assert_eq!(error.kind(), ClientErrorKind::Unauthorized);
        assert_eq!(error.challenge(), Some("Basic realm=\"a\", Bearer scope=\"b\""));
    }
    assert_eq!(refused(401, &[], "").await.kind(), ClientErrorKind::Unauthorized);
    assert_eq!(refused(403, &[], "").await.kind(), ClientErrorKind::Unusable);
}

#[tokio::test]
async fn the_type_of_a_response_decides_how_it_is_read() {
    for (headers, body, expected) in [
        (
            &[("content-type", "application/problem+json")][..],
            "[]",
            "the response has no answer to the request: []",
        ),
        (&[("content-type", "Application/JSON; charset=x")][..], "[]", "no answer to the request: []"),
        (&[][..], "[]", "the answer has no content type in place of JSON or an event stream; check the path"),
        (&[("content-type", "text/json")][..], "", "the answer has `text/json` in place of JSON"),
    ] {
        let error = refused(200, headers, body).await;
        assert!(error.to_string().contains(expected), "{error}");
    }
}

/// A server that accepts each call, and answers it by the stream of its session.
fn accepting(status: StatusCode, session: &'static str) -> (Router, Arc<Mutex<Vec<Option<String>>>>) {
    let sessions = Arc::<Mutex<Vec<Option<String>>>>::default();
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel::<String>();
    let (seen, receiver) = (Arc::clone(&sessions), Arc::new(Mutex::new(Some(receiver))));
    let handler = move |request: Request| {
        let (seen, sender, receiver) = (Arc::clone(&seen), sender.clone(), Arc::clone(&receiver));
        async move {
            let (parts, body) = request.into_parts();
            let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
            let message: Value = serde_json::from_slice(&body).unwrap_or_default();
            let method = message["method"].as_str().unwrap_or_default();
            match (parts.method.as_str(), method) {
                ("GET", _) => {
                    let Some(receiver) = receiver.lock().unwrap().take() else {
                        return StatusCode::METHOD_NOT_ALLOWED.into_response();
                    };
                    let stream = futures_util::stream::unfold(receiver, |mut receiver| async move {
                        Some((Ok::<_, std::io::Error>(receiver.recv().await?), receiver))
                    });
                    ([("content-type", "text/event-stream")], Body::from_stream(stream)).into_response()
                }
                ("POST", "server/discover") => StatusCode::NOT_FOUND.into_response(),
                ("POST", "initialize") => {
                    let result = json!({
                        "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                        "serverInfo": { "name": "s", "version": "1" },
                    });
                    let mut response = answered(&message, &result);
                    response.headers_mut().insert("mcp-session-id", HeaderValue::from_static(session));
                    response
                }
                ("POST", "tools/list") => {
                    let session = parts.headers.get("mcp-session-id");
                    seen.lock().unwrap().push(session.map(|it| it.to_str().unwrap().to_owned()));
                    let tool = json!({ "name": "one", "inputSchema": { "type": "object" } });
                    answered(&message, &json!({ "tools": [tool] }))
                }
                ("POST", "tools/call") => {
                    let answer = json!({ "jsonrpc": "2.0", "id": message["id"], "result": text("done") });
                    sender.send(format!("data: {answer}\n\n")).unwrap();
                    status.into_response()
                }
                _ => StatusCode::ACCEPTED.into_response() as Response<Body>,
            }
        }
    };
    (Router::new().fallback(any(handler)), sessions)
}

#[tokio::test]
async fn a_call_that_is_accepted_is_answered_by_the_stream_of_the_session() {
    for status in [StatusCode::ACCEPTED, StatusCode::NO_CONTENT] {
        let (router, sessions) = accepting(status, "s1");
        let web = LocalServer::start(router).await;
        let set = McpToolSet::connect(config(&web.url)).await.unwrap();
        // M18
        assert_eq!(call(set, "one", json!({})).await.text(), "done", "{status}");
        assert_eq!(*sessions.lock().unwrap(), [Some("s1".to_owned())]);
    }
}

#[tokio::test]
async fn an_empty_name_of_a_session_is_none() {
    let (router, sessions) = accepting(StatusCode::ACCEPTED, "");
    let web = LocalServer::start(router).await;
    McpToolSet::connect(config(&web.url)).await.unwrap();
    assert_eq!(*sessions.lock().unwrap(), [None]);
}

#[tokio::test]
async fn a_response_to_a_message_that_has_no_answer_is_not_read() {
    // The server answers `notifications/initialized` like a request.
    let handler = |request: Request| async move {
        let (parts, body) = request.into_parts();
        let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
        let message: Value = serde_json::from_slice(&body).unwrap_or_default();
        match (parts.method.as_str(), message["method"].as_str()) {
            ("POST", Some("server/discover")) => StatusCode::NOT_FOUND.into_response(),
            ("POST", Some("initialize")) => answered(
                &message,
                &json!({
                    "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "s", "version": "1" },
                }),
            ),
            ("POST", Some("tools/list")) => answered(&message, &json!({ "tools": [] })),
            ("POST", _) => json_of("{\"ok\":"),
            _ => StatusCode::METHOD_NOT_ALLOWED.into_response(),
        }
    };
    let web = LocalServer::start(Router::new().fallback(any(handler))).await;
    assert!(McpToolSet::connect(config(&web.url)).await.is_ok());
}

#[tokio::test]
async fn a_path_without_a_server_is_an_error_with_the_usual_one() {
    let web = LocalServer::start(Router::new().fallback(any(|| async { StatusCode::GONE }))).await;
    let error = McpToolSet::connect(config(&web.url)).await.unwrap_err();
    assert!(error.to_string().contains("HTTP 410 Gone"), "{error}");
    let web = LocalServer::start(Router::new().fallback(any(|| async { StatusCode::NOT_FOUND }))).await;
    let error = McpToolSet::connect(config(&web.url)).await.unwrap_err();
    let path = "the answer is HTTP 404, not found; check the path of the URL, which is often `/mcp`";
    assert!(error.to_string().contains(path), "{error}");
}

#[tokio::test]
async fn the_older_transport_is_tried_after_some_refusals_of_the_handshake() {
    use rmcp::model::ProtocolVersion;

    for (status, protocol, is_tried) in [
        (400, None, true),
        (404, None, true),
        (405, None, true),
        (403, None, false),
        (406, None, false),
        (500, None, false),
        (404, Some(ProtocolVersion::V_2025_11_25), true),
        (404, Some(ProtocolVersion::V_2026_07_28), false),
    ] {
        let gets = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&gets);
        let handler = move |request: Request| {
            let seen = Arc::clone(&seen);
            async move {
                if request.method() == "GET" {
                    let key = request.headers().get("x-key").map(|it| it.to_str().unwrap().to_owned());
                    seen.lock().unwrap().push(key);
                }
                StatusCode::from_u16(status).unwrap()
            }
        };
        let web = LocalServer::start(Router::new().fallback(any(handler))).await;
        let endpoint = tool_mcp::client::Endpoint::new(&web.url).header("X-Key", "k");
        let mut builder = McpToolSet::builder(tool_mcp::client::ServerConfig::new("web", endpoint));
        if let Some(version) = protocol.clone() {
            builder = builder.protocol(version);
        }
        // M23: the error of the first transport is reported.
        let error = builder.connect().await.unwrap_err();
        assert!(error.to_string().contains(&status.to_string()), "{error}");
        let expected = if is_tried { vec![Some("k".to_owned())] } else { Vec::new() };
        assert_eq!(*gets.lock().unwrap(), expected, "{status} {protocol:?}");
    }
}

#[tokio::test]
async fn a_call_whose_answer_is_cut_off_is_repeated_if_that_is_harmless() {
    for (hint, is_repeated) in [(true, true), (false, false)] {
        let calls = Arc::new(Mutex::new(0));
        let count = Arc::clone(&calls);
        let handler = move |request: Request| {
            let count = Arc::clone(&count);
            async move {
                let (parts, body) = request.into_parts();
                let body = axum::body::to_bytes(body, 1 << 20).await.unwrap();
                let message: Value = serde_json::from_slice(&body).unwrap_or_default();
                let description = json!({
                    "protocolVersion": "2025-11-25", "capabilities": { "tools": {} },
                    "serverInfo": { "name": "s", "version": "1" },
                });
                let hints = json!({ "readOnlyHint": hint });
                let tool =
                    json!({ "name": "one", "inputSchema": { "type": "object" }, "annotations": hints });
                match (parts.method.as_str(), message["method"].as_str()) {
                    ("POST", Some("server/discover")) => StatusCode::NOT_FOUND.into_response(),
                    ("POST", Some("initialize")) => answered(&message, &description),
                    ("POST", Some("tools/list")) => answered(&message, &json!({ "tools": [tool] })),
                    ("POST", Some("tools/call")) => {
                        *count.lock().unwrap() += 1;
                        if *count.lock().unwrap() > 1 {
                            return answered(&message, &text("repeated"));
                        }
                        let cut = futures_util::stream::iter([
                            Ok("{\"jsonrpc\":"),
                            Err(std::io::Error::other("the process ended")),
                        ]);
                        ([("content-type", "application/json")], Body::from_stream(cut)).into_response()
                    }
                    ("POST", _) => StatusCode::ACCEPTED.into_response(),
                    _ => StatusCode::METHOD_NOT_ALLOWED.into_response() as Response<Body>,
                }
            }
        };
        let web = LocalServer::start(Router::new().fallback(any(handler))).await;
        let set = McpToolSet::connect(config(&web.url).reconnect(1)).await.unwrap();
        let result = set.call_raw("one", Map::new()).await;
        // M12
        match is_repeated {
            true => assert_eq!(result.unwrap().content[0].as_text().unwrap().text, "repeated"),
            false => assert_eq!(result.unwrap_err().kind(), ClientErrorKind::Lost),
        }
        assert_eq!(*calls.lock().unwrap(), 1 + usize::from(is_repeated));
    }
}
