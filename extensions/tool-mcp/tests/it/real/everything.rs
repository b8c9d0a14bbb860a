use std::{
    io::{BufRead as _, BufReader},
    net::TcpListener,
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use rmcp::model::{ElicitResult, ElicitationAction};
use serde_json::json;
use tool_mcp::client::{Endpoint, McpToolSet, ServerConfig, Transport};
use tool_runtime::{Content, ToolCall, event::EventKind, executor::StreamItem};

use super::{Server, npm, variable};

/// The server over HTTP, which ends with the test.
struct Listening(Child, u16);

impl Drop for Listening {
    fn drop(&mut self) {
        self.0.kill().ok();
        self.0.wait().ok();
    }
}

/// Starts the server in a mode of HTTP, at a port that was free.
fn listening(mode: &str) -> Option<Listening> {
    let process = npm("server-everything", &[mode])?;
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut child = Command::new(&process.command)
        .args(&process.args)
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    while !lines.next().expect("the server does not serve").unwrap().contains(&port.to_string()) {}
    // What it writes from now on is dropped.
    std::thread::spawn(move || lines.for_each(drop));
    Some(Listening(child, port))
}

async fn check(server: &Server) {
    let names = server.names();
    assert!(names.contains(&"everything__echo") && names.contains(&"everything__get-sum"), "{names:?}");
    // M07
    assert_eq!(server.text("everything__echo", json!({ "message": "hi" })).await, "Echo: hi");
    assert!(server.text("everything__get-sum", json!({ "a": 2, "b": 3 })).await.contains('5'));
    // M15
    let result = server.call("everything__get-structured-content", json!({ "location": "Chicago" })).await;
    assert!(result.structured().unwrap()["temperature"].is_number(), "{result:?}");
    let result = server.call("everything__get-tiny-image", json!({})).await;
    assert!(result.content().iter().any(|block| matches!(block, Content::Image { .. })), "{result:?}");
    let result = server.call("everything__get-resource-links", json!({ "count": 2 })).await;
    let links = result.content().iter().filter(|block| matches!(block, Content::ResourceLink { .. })).count();
    assert_eq!(links, 2, "{result:?}");
    // M21
    let result = server.call("everything__get-sum", json!({ "a": "two" })).await;
    assert!(result.is_error() && result.text().contains("/b"), "{result:?}");
}

#[tokio::test]
async fn over_standard_streams() {
    let Some(process) = npm("server-everything", &["stdio"]) else { return };
    let server = Server::connect(ServerConfig::new("everything", process)).await;
    check(&server).await;
    server.set.close().await;
}

#[tokio::test]
async fn over_streamable_http() {
    let Some(listening) = listening("streamableHttp") else { return };
    let endpoint = Endpoint::new(format!("http://127.0.0.1:{}/mcp", listening.1));
    let server = Server::connect(ServerConfig::new("everything", endpoint)).await;
    check(&server).await;
    server.set.close().await;
}

// M01
#[tokio::test]
async fn over_http_with_server_sent_events() {
    let Some(listening) = listening("sse") else { return };
    let endpoint = Endpoint::new(format!("http://127.0.0.1:{}/sse", listening.1));
    let server = Server::connect(ServerConfig::new("everything", Transport::Sse(endpoint))).await;
    check(&server).await;
    server.set.close().await;
}

#[tokio::test]
async fn progress_arrives_while_a_tool_runs() {
    let Some(process) = npm("server-everything", &["stdio"]) else { return };
    let server = Server::connect(ServerConfig::new("everything", process)).await;
    let arguments = json!({ "duration": 0.2, "steps": 4 });
    let call = ToolCall::new("everything__trigger-long-running-operation", arguments);
    let mut items = server.executor.batch(vec![call]).stream();
    let mut seen = Vec::new();
    while let Some(item) = items.next().await {
        match item {
            StreamItem::Event(event) => {
                if let EventKind::Progress { progress } = &event.kind {
                    seen.push((progress.done, progress.total));
                }
            }
            StreamItem::Outcomes(outcomes) => assert!(!outcomes[0].result().unwrap().is_error()),
        }
    }
    assert_eq!(seen, [1.0, 2.0, 3.0, 4.0].map(|done| (done, Some(4.0))));
    server.set.close().await;
}

#[tokio::test]
async fn questions_of_a_tool_are_answered() {
    let Some(process) = npm("server-everything", &["stdio"]) else { return };
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let set = McpToolSet::builder(ServerConfig::new("everything", process))
        .on_elicitation(move |_| {
            count.fetch_add(1, Ordering::Relaxed);
            async { Ok(ElicitResult::new(ElicitationAction::Decline)) }
        })
        .connect()
        .await
        .unwrap();
    let server = Server::of(set).await;
    let text = server.text("everything__trigger-elicitation-request", json!({})).await;
    assert_eq!(asked.load(Ordering::Relaxed), 1, "{text}");
    assert!(text.to_lowercase().contains("decline"), "{text}");
    server.set.close().await;
}

#[tokio::test]
async fn a_child_has_few_variables_and_those_that_are_named() {
    let Some(process) = npm("server-everything", &["stdio"]) else { return };
    let hidden = variable("MCP_PEERS").unwrap();
    let process = process.env("NAMED", "by the configuration");
    let server = Server::connect(ServerConfig::new("everything", process)).await;
    let text = server.text("everything__get-env", json!({})).await;
    assert!(text.contains("by the configuration") && !text.contains("MCP_PYTHON"), "{text}");
    assert!(!text.contains(&format!("\"MCP_PEERS\": \"{hidden}\"")), "{text}");
    server.set.close().await;
}
