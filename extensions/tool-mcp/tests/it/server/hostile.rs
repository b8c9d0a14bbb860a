//! Clients over HTTP that send heads and bodies without an end, or names of other servers.

use std::{convert::Infallible, time::Duration};

use axum::{body::Body, http::Request};
use futures_util::{FutureExt as _, StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::Instant,
};
use tool_mcp::server::{HttpConfig, HttpServer, McpServer, ServeError};
use tool_runtime::prelude::*;
use tower_service::Service as _;

use super::{Served, modern, serve};

fn server(config: HttpConfig) -> HttpServer {
    McpServer::new(Registry::builder().build().unwrap()).http_with(config).unwrap()
}

async fn connection(served: &Served) -> TcpStream {
    let address = served.url.trim_start_matches("http://").trim_end_matches("/mcp");
    TcpStream::connect(address).await.unwrap()
}

/// Sends `text`, and returns what the server sends until it closes the connection.
async fn answer(served: &Served, text: &str) -> String {
    let mut connection = connection(served).await;
    connection.write_all(text.as_bytes()).await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test(start_paused = true)]
async fn a_head_without_an_end_has_a_deadline() {
    let config = HttpConfig::new().head_time(Duration::from_secs(7)).keep_alive_time(Duration::from_secs(40));
    for (config, head) in [(HttpConfig::new(), 10), (config, 7)] {
        let served = serve(server(config)).await;
        for begun in ["", "POST /mcp HTTP/1.1\r\nhost: local"] {
            let start = Instant::now();
            assert_eq!(answer(&served, begun).await, "");
            assert_eq!(start.elapsed().as_secs(), head, "{begun}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_waits_between_two_requests_and_then_ends() {
    let config = HttpConfig::new().keep_alive_time(Duration::from_secs(40));
    for (config, time) in [(HttpConfig::new(), 60), (config, 40)] {
        let served = serve(server(config)).await;
        let start = Instant::now();
        let answer = answer(&served, "GET /nothing HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        assert!(answer.starts_with("HTTP/1.1 404"), "{answer}");
        assert_eq!(start.elapsed().as_secs(), time);
    }
}

#[tokio::test]
async fn deadlines_beyond_the_clock_are_none() {
    let config = HttpConfig::new().head_time(Duration::MAX).keep_alive_time(Duration::MAX);
    let served = serve(server(config.body_idle_time(Duration::MAX))).await;
    let mut connection = connection(&served).await;
    connection.write_all(b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n").await.unwrap();
    connection
        .write_all(b"accept: application/json, text/event-stream\r\ncontent-type: application/json\r\n")
        .await
        .unwrap();
    connection.write_all(b"content-length: 2\r\n\r\n{").await.unwrap();
    connection.write_all(b"}").await.unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
}

#[tokio::test]
async fn a_head_of_more_than_64_kib_is_refused() {
    let served = serve(server(HttpConfig::new())).await;
    let head = format!("POST /mcp HTTP/1.1\r\nhost: localhost\r\nx: {}", "x".repeat(70_000));
    let mut connection = connection(&served).await;
    connection.write_all(head.as_bytes()).await.ok();
    let mut answer = Vec::new();
    connection.read_to_end(&mut answer).await.ok();
    let answer = String::from_utf8_lossy(&answer);
    // The rest of the head may reset the connection before the answer is read.
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 431"), "{answer}");
}

/// A request whose body has `parts`, and no end.
fn endless(parts: &[&'static str]) -> Request<Body> {
    let parts: Vec<_> = parts.iter().map(|part| Ok::<_, Infallible>(*part)).collect();
    Request::post("/")
        .header("host", "localhost")
        .header("accept", "application/json, text/event-stream")
        .header("content-type", "application/json")
        .body(Body::from_stream(stream::iter(parts).chain(stream::pending())))
        .unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_body_without_an_end_has_a_deadline_since_its_last_part() {
    let config = HttpConfig::new().body_idle_time(Duration::from_secs(7));
    for (config, time) in [(HttpConfig::new(), 30), (config, 7)] {
        let mut server = server(config);
        let start = Instant::now();
        let refused = server.call(endless(&["{", " "])).await.unwrap();
        assert_eq!((refused.status().as_u16(), start.elapsed().as_secs()), (408, time));
        assert_eq!(refused.headers()["connection"], "close");

        // Each part begins the time again.
        let parts = stream::unfold(0, async |part| {
            tokio::time::sleep(Duration::from_secs(5)).await;
            (part < 10).then_some((Ok::<_, Infallible>(" "), part + 1))
        });
        let request = endless(&[]).map(|_| Body::from_stream(parts));
        assert_eq!(server.call(request).await.unwrap().status(), 400);
    }
}

#[tokio::test(start_paused = true)]
async fn the_slowest_body_gives_way_beyond_the_limit() {
    let mut server = server(HttpConfig::new().max_bodies(2));
    let [mut slow, mut fast] = [&["{"][..], &["{", "\"jsonrpc\": \"2.0\", "][..]].map(|parts| {
        let mut server = server.clone();
        Box::pin(async move { server.call(endless(parts)).await.unwrap() })
    });
    assert!((&mut slow).now_or_never().is_none() && (&mut fast).now_or_never().is_none());
    // All are new: none of them is known to be slow.
    let refused = server.call(endless(&[])).await.unwrap();
    assert_eq!((refused.status().as_u16(), refused.headers()["retry-after"].as_bytes()), (503, &b"5"[..]));
    // A body that arrives with its head needs no place.
    let whole = endless(&[]).map(|_| Body::from("{}"));
    assert_eq!(server.call(whole).await.unwrap().status(), 400);

    tokio::time::advance(Duration::from_secs(2)).await;
    let mut another = server.clone();
    let mut new = Box::pin(another.call(endless(&[])));
    assert!((&mut new).now_or_never().is_none());
    assert_eq!((&mut slow).now_or_never().map(|answer| answer.status().as_u16()), Some(503));
    assert!((&mut fast).now_or_never().is_none());
    // A client that leaves gives its place back.
    drop(fast);
    assert!(server.call(endless(&[])).now_or_never().is_none());
}

#[tokio::test]
async fn names_of_two_servers_are_refused() {
    let served = serve(server(HttpConfig::new())).await;
    let body = modern("tools/list", json!({})).to_string();
    let request = |target: &str, names: &str| {
        format!(
            "POST {target} HTTP/1.1\r\n{names}accept: application/json, text/event-stream\r\nconnection: close\r\n\
             content-type: application/json\r\nmcp-protocol-version: 2026-07-28\r\nmcp-method: tools/list\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    for (target, names, status) in [
        ("/mcp", "host: localhost\r\n", 200),
        ("http://localhost/mcp", "host: localhost\r\n", 200),
        ("/mcp", "host: localhost\r\norigin: http://localhost:5173\r\n", 200),
        ("/mcp", "host: localhost\r\norigin: http://localhost:80.evil.com\r\n", 403),
        ("/mcp", "host: localhost\r\norigin: http://localhost\r\norigin: http://localhost\r\n", 403),
        ("/mcp", "host: localhost\r\nhost: localhost\r\n", 400),
        ("/mcp", "host: localhost\r\nhost: evil.com\r\n", 400),
        ("/mcp", "host: localhost:80.evil.com\r\n", 400),
        ("/mcp", "host: evil.com@localhost\r\n", 400),
        ("http://evil.com/mcp", "host: localhost\r\n", 400),
        ("http://localhost@evil.com/mcp", "host: localhost\r\n", 400),
        ("http://evil.com/mcp", "host: evil.com\r\n", 403),
        ("/mcp", "", 400),
    ] {
        let answer = answer(&served, &request(target, names)).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{target} {names}{answer}");
    }
}

#[tokio::test]
async fn a_setting_that_no_request_fits_is_an_error() {
    let tools = || McpServer::new(Registry::builder().build().unwrap());
    for (config, name) in [
        (HttpConfig::new().hosts(["http://example.com"]), "hosts"),
        (HttpConfig::new().origins(["example.com"]), "origins"),
    ] {
        let error = tools().http_with(config).unwrap_err();
        assert!(matches!(&error, ServeError::Setting { setting, .. } if *setting == name), "{error}");
        assert!(error.to_string().contains("example.com"), "{error}");
    }
    let any = tools().http_with(HttpConfig::new().any_host().origins(["null"])).unwrap();
    let request = |host: &str, origin: &str| {
        endless(&[])
            .map(|_| Body::from(Value::Null.to_string()))
            .map(|body| (body, host.to_owned(), origin.to_owned()))
    };
    for (host, origin, status) in
        [("anything", "null", 400), ("any thing", "null", 400), ("a", "http://a", 403)]
    {
        let mut request = request(host, origin).map(|(body, ..)| body);
        request.headers_mut().insert("host", host.parse().unwrap());
        request.headers_mut().insert("origin", origin.parse().unwrap());
        assert_eq!(any.clone().call(request).await.unwrap().status(), status, "{host} {origin}");
    }
}
