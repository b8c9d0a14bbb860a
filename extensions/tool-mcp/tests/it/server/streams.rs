//! Streams that end, break, or carry too much.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rmcp::{
    model::{CallToolRequest, CallToolRequestParams, ClientRequest, ProtocolVersion},
    service::PeerRequestOptions,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream},
    sync::Notify,
};
use tool_mcp::server::{HttpConfig, McpServer};
use tool_runtime::{CancellationToken, prelude::*, schema::Repair};

use super::{BOTH, connect, connect_to, initialize, modern, serve, text};

/// The state of a body.
#[derive(Default)]
struct Gate {
    started: Notify,
    go: Notify,
    cancelled: Notify,
}

/// Waits until it may go on or is cancelled.
#[tool(register = false)]
async fn wait(gate: &Gate, cx: &ToolContext) -> &'static str {
    gate.started.notify_one();
    tokio::select! {
        () = gate.go.notified() => "done",
        () = cx.cancellation().cancelled() => {
            gate.cancelled.notify_one();
            "cancelled"
        }
    }
}

fn gated() -> (Registry, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let tools = Registry::builder().tool::<wait>().provide_shared(Arc::clone(&gate)).build().unwrap();
    (tools, gate)
}

/// A client that writes lines.
pub(super) struct Raw {
    read: BufReader<tokio::io::ReadHalf<DuplexStream>>,
    pub(super) write: tokio::io::WriteHalf<DuplexStream>,
}

impl Raw {
    pub(super) async fn send(&mut self, message: &Value) {
        self.write.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    pub(super) async fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.read.read_line(&mut line).await.unwrap();
        serde_json::from_str(&line).unwrap_or_default()
    }
}

pub(super) fn raw(server: McpServer, stop: CancellationToken) -> (Raw, tokio::task::JoinHandle<()>) {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (read, write) = tokio::io::split(far);
    let served = tokio::spawn(async move { server.serve(read, write, stop).await.unwrap() });
    let (read, write) = tokio::io::split(near);
    (Raw { read: BufReader::new(read), write }, served)
}

/// The call of a tool, in the revision `version`.
pub(super) fn call(version: &ProtocolVersion, tool: &str) -> Value {
    let params = json!({ "name": tool, "arguments": {} });
    match version.has_initialize() {
        true => json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }),
        false => modern("tools/call", params),
    }
}

pub(super) async fn open(client: &mut Raw, version: &ProtocolVersion) {
    if version.has_initialize() {
        client.send(&initialize()).await;
        client.receive().await;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;
    }
}

#[tokio::test]
async fn a_server_that_is_stopped_answers_the_calls_that_run() {
    for version in BOTH {
        let (tools, gate) = gated();
        let stop = CancellationToken::new();
        let (mut client, served) = raw(McpServer::new(tools), stop.clone());
        open(&mut client, &version).await;
        client.send(&call(&version, "wait")).await;
        gate.started.notified().await;
        stop.cancel();
        gate.go.notify_one();
        let answer = client.receive().await;
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
        served.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn calls_that_outlast_a_stop_are_cancelled() {
    for version in BOTH {
        let (tools, gate) = gated();
        let stop = CancellationToken::new();
        let server = McpServer::new(tools).shutdown_time(Duration::from_secs(2));
        let (mut client, served) = raw(server, stop.clone());
        open(&mut client, &version).await;
        client.send(&call(&version, "wait")).await;
        gate.started.notified().await;
        stop.cancel();
        gate.cancelled.notified().await;
        served.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn the_calls_of_a_client_that_left_are_cancelled() {
    for version in BOTH {
        let (tools, gate) = gated();
        let (mut client, served) = raw(McpServer::new(tools), CancellationToken::new());
        open(&mut client, &version).await;
        client.send(&call(&version, "wait")).await;
        gate.started.notified().await;
        drop(client);
        gate.cancelled.notified().await;
        served.await.unwrap();
    }
}

#[tokio::test]
async fn broken_and_large_lines_do_not_end_the_connection() {
    for version in BOTH {
        let (tools, gate) = gated();
        let server = McpServer::new(tools).max_request(10_000);
        let (mut client, _served) = raw(server, CancellationToken::new());
        open(&mut client, &version).await;
        let mut large = call(&version, "wait");
        large["params"]["arguments"] = json!({ "more": "x".repeat(10_000) });
        client.send(&large).await;
        client.write.write_all(b"{ no json\n\n").await.unwrap();
        gate.go.notify_one();
        client.send(&call(&version, "wait")).await;
        // O06
        let answer = client.receive().await;
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32700), &Value::Null), "{answer}");
        let answer = client.receive().await;
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    }
}

#[tokio::test]
async fn a_client_cancels_its_call() {
    for version in BOTH {
        let (tools, gate) = gated();
        let it = connect(tools, (), version).await;
        let request =
            ClientRequest::CallToolRequest(CallToolRequest::new(CallToolRequestParams::new("wait")));
        let options = PeerRequestOptions::no_options();
        let handle = it.client.peer().send_cancellable_request(request, options).await.unwrap();
        gate.started.notified().await;
        handle.cancel(Some("enough".to_owned())).await.unwrap();
        gate.cancelled.notified().await;
        gate.go.notify_one();
        assert_eq!(text(&it.call("wait", json!({})).await), "done");
    }
}

#[tokio::test]
async fn a_client_that_disconnects_during_a_call_cancels_it() {
    for version in BOTH {
        let (tools, gate) = gated();
        let config = HttpConfig::new().resume_time(Duration::from_millis(1));
        let served = serve(McpServer::new(tools).http_with(config).unwrap()).await;
        let mut request = served.post(&call(&version, "wait"), &version);
        if version.has_initialize() {
            let opened = served.post(&initialize(), &version).send().await.unwrap();
            let id = opened.headers()["mcp-session-id"].clone();
            let initialized = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            served.post(&initialized, &version).header("mcp-session-id", &id).send().await.unwrap();
            request = request.header("mcp-session-id", id);
        }
        let sending = tokio::spawn(async move {
            // The answer's head comes before its body, or not at all.
            let mut answer = request.send().await.unwrap();
            while let Ok(Some(_)) = answer.chunk().await {}
        });
        gate.started.notified().await;
        sending.abort();
        gate.cancelled.notified().await;
    }
}

#[tokio::test]
async fn the_limit_of_calls_refuses_more() {
    for version in BOTH {
        let (tools, gate) = gated();
        let it = connect_to(McpServer::new(tools).max_calls(1).max_calls_per_caller(2), (), version).await;
        let second = async {
            gate.started.notified().await;
            // Refused calls do not count.
            for _ in 0..3 {
                let error = it.try_call("wait", json!({})).await.unwrap_err();
                assert!(error.to_string().contains("1 calls run"), "{error}");
            }
            gate.go.notify_one();
        };
        let (first, ()) = tokio::join!(it.call("wait", json!({})), second);
        assert_eq!(text(&first), "done");
        gate.go.notify_one();
        assert_eq!(text(&it.call("wait", json!({})).await), "done");
    }
}

static RAN: AtomicUsize = AtomicUsize::new(0);

/// Doubles a number.
#[tool(register = false)]
fn double(n: i64) -> i64 {
    RAN.fetch_add(1, Ordering::Relaxed);
    2 * n
}

#[tokio::test]
async fn arguments_that_are_no_json_run_no_body_and_are_not_repaired() {
    let all = [Repair::Off, Repair::AllTools].into_iter().flat_map(|repair| BOTH.map(|it| (repair, it)));
    for (repair, version) in all {
        let tools = Registry::builder().tool::<double>().repair(repair).build().unwrap();
        let (mut client, _served) = raw(McpServer::new(tools), CancellationToken::new());
        open(&mut client, &version).await;
        let text = call(&version, "double").to_string();
        for (arguments, is_json) in [(r#"{"n":2}"#, true), ("{n:2}", false)] {
            let text = text.replacen(r#""arguments":{}"#, &format!(r#""arguments":{arguments}"#), 1);
            client.write.write_all(format!("{text}\n").as_bytes()).await.unwrap();
            let answer = client.receive().await;
            match is_json {
                true => assert_eq!(answer["result"]["isError"], false, "{answer}"),
                // The decoder of the tool finds it, which runs nothing.
                false if repair == Repair::Off => assert_eq!(answer["result"]["isError"], true, "{answer}"),
                // O06
                false => assert_eq!(answer["error"]["code"], -32700, "{answer}"),
            }
            assert_eq!(RAN.swap(0, Ordering::Relaxed), usize::from(is_json), "{answer}");
        }
    }
}
