//! Calls of long-running tools as tasks.

use std::sync::Arc;

use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tool_mcp::server::{Answer, Caller, McpServer};
use tool_runtime::{Executor, context::Progress, output::ToolOutput, prelude::*};

use super::{BOTH, Served, connect, modern, serve, sse, text};

const NOW: ProtocolVersion = ProtocolVersion::V_2026_07_28;

#[derive(Default)]
struct Gate {
    started: Notify,
    go: Notify,
}

/// Works for long.
#[tool(register = false, long_running)]
async fn work(gate: &Gate, cx: &ToolContext) -> Result<&'static str, ToolError> {
    cx.progress(Progress::new(1.0).of(2.0))?;
    gate.started.notify_one();
    tokio::select! {
        () = gate.go.notified() => Ok("worked"),
        () = async { cx.run().unwrap().cancellation().cancelled().await } => Err(ToolError::cancelled()),
    }
}

/// Asks, and fails if the user declines.
#[tool(register = false, long_running)]
async fn confirmed(caller: &Caller) -> Result<String, ToolError> {
    let schema = json!({ "type": "object", "properties": { "ok": { "type": "boolean" } } });
    match caller.require_elicitation()?.form("sure", "Are you sure?", schema).await? {
        Answer::Accepted(form) => Ok(format!("sure: {}", form["ok"])),
        _ => Err(ToolError::failed("the user is not sure")),
    }
}

/// Starts a build.
#[tool(register = false, long_running)]
fn build(gate: &Gate) -> ToolOutput {
    gate.started.notify_one();
    ToolOutput::default().with_operation_id("build-7")
}

fn executor() -> (Executor, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let tools = Registry::builder().tool::<work>().tool::<confirmed>().tool::<build>();
    let tools = tools.provide_shared(Arc::clone(&gate)).provide_per_run::<Caller>().build().unwrap();
    (Executor::new(tools), gate)
}

async fn send(served: &Served, method: &str, params: Value) -> Value {
    let mut request = modern(method, params);
    request["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] =
        json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
    sse(&served.post(&request, &NOW).send().await.unwrap().text().await.unwrap())
}

/// Calls `tool`, and returns the id of its task.
async fn start(served: &Served, tool: &str) -> String {
    let answer = send(served, "tools/call", json!({ "name": tool, "arguments": {} })).await;
    assert_eq!(answer["result"]["resultType"], "task", "{answer}");
    answer["result"]["taskId"].as_str().unwrap().to_owned()
}

/// Asks for the task until it has the status `status`.
async fn until(served: &Served, id: &str, status: &str) -> Value {
    loop {
        let task = send(served, "tasks/get", json!({ "taskId": id })).await;
        assert!(task["error"].is_null(), "{task}");
        if task["result"]["status"] == status {
            return task["result"].clone();
        }
    }
}

#[tokio::test]
async fn a_long_running_tool_is_a_task_for_a_client_that_knows_them() {
    let (executor, gate) = executor();
    let served = serve(McpServer::new(executor).http().unwrap()).await;
    let id = start(&served, "work").await;
    gate.started.notified().await;
    let task = until(&served, &id, "working").await;
    assert_eq!(task["statusMessage"], "1 of 2");
    gate.go.notify_one();
    let task = until(&served, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "worked", "{task}");
    let unknown = send(&served, "tasks/get", json!({ "taskId": "none" })).await;
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
}

#[tokio::test]
async fn a_task_is_cancelled() {
    let (executor, gate) = executor();
    let served = serve(McpServer::new(executor).http().unwrap()).await;
    let id = start(&served, "work").await;
    gate.started.notified().await;
    send(&served, "tasks/cancel", json!({ "taskId": id })).await;
    until(&served, &id, "cancelled").await;
}

#[tokio::test]
async fn a_task_asks_the_user() {
    let (executor, _) = executor();
    let served = serve(McpServer::new(executor).http().unwrap()).await;
    let id = start(&served, "confirmed").await;
    let task = until(&served, &id, "input_required").await;
    assert_eq!(task["inputRequests"]["sure"]["method"], "elicitation/create", "{task}");
    let responses = json!({ "sure": { "action": "accept", "content": { "ok": true } } });
    send(&served, "tasks/update", json!({ "taskId": id, "inputResponses": responses })).await;
    let task = until(&served, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "sure: true", "{task}");
}

#[tokio::test]
async fn a_task_waits_for_the_result_of_an_operation() {
    let (executor, gate) = executor();
    let served = serve(McpServer::new(executor.clone()).http().unwrap()).await;
    let id = start(&served, "build").await;
    gate.started.notified().await;
    until(&served, &id, "working").await;
    let open = loop {
        if let Some(open) = executor.open_calls().await.unwrap().pop() {
            break open;
        }
        tokio::task::yield_now().await;
    };
    executor.submit_result(open.address(), Ok("built".into())).await.unwrap();
    let task = until(&served, &id, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "built", "{task}");
}

#[tokio::test]
async fn other_clients_wait_for_the_result() {
    for version in BOTH {
        let (executor, gate) = executor();
        let it = connect(executor, (), version).await;
        gate.go.notify_one();
        assert_eq!(text(&it.call("work", json!({})).await), "worked");
    }
}

#[tokio::test]
async fn the_tasks_of_a_caller_have_a_limit() {
    let (executor, _) = executor();
    let server = McpServer::new(executor).max_calls_per_caller(2_000);
    let served = serve(server.http().unwrap()).await;
    let starting = (0..100).map(|_| async {
        for _ in 0..10 {
            start(&served, "work").await;
        }
    });
    futures_util::future::join_all(starting).await;
    let refused = send(&served, "tools/call", json!({ "name": "work", "arguments": {} })).await;
    assert_eq!(refused["error"]["code"], -32000, "{refused}");
    assert!(refused["error"]["message"].as_str().unwrap().contains("too many tasks"), "{refused}");
}
