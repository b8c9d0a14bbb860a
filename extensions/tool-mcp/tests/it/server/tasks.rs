//! Calls of long-running tools as tasks.

use std::sync::Arc;

use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tool_mcp::server::{Answer, Caller, McpServer};
use tool_runtime::{Executor, context::Progress, output::ToolOutput, prelude::*};

use super::{BOTH, Served, caller_tool::CallTool, connect, modern, serve, sse, text};

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

/// Starts a test.
#[tool(register = false, long_running)]
fn check() -> ToolOutput {
    ToolOutput::default().with_operation_id("check-7")
}

/// Reports its progress, and counts.
#[tool(register = false, long_running)]
async fn count(total: f64, message: Option<String>, gate: &Gate, cx: &ToolContext) -> Result<i64, ToolError> {
    let progress = Progress::new(3.0).of(total);
    cx.progress(match message {
        Some(message) => progress.message(message),
        None => progress,
    })?;
    gate.started.notify_one();
    gate.go.notified().await;
    Ok(3)
}

/// Ends as if it were cancelled.
#[tool(register = false, long_running)]
fn abandon() -> Result<&'static str, ToolError> {
    Err(ToolError::cancelled())
}

fn executor() -> (Executor, Arc<Gate>) {
    let gate = Arc::new(Gate::default());
    let tools = Registry::builder().tool::<work>().tool::<confirmed>().tool::<build>();
    let tools = tools.tool::<check>().tool::<count>().tool::<abandon>();
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
    start_with(served, tool, json!({})).await
}

/// Calls `tool` with `arguments`, and returns the id of its task.
async fn start_with(served: &Served, tool: &str, arguments: Value) -> String {
    let answer = send(served, "tools/call", json!({ "name": tool, "arguments": arguments })).await;
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
async fn a_redirected_call_of_a_deferred_tool_is_a_task() {
    let (_, gate) = executor();
    let tools = Registry::builder().tool::<work>().add(CallTool::new());
    let tools = tools.provide_shared(Arc::clone(&gate)).build().unwrap();
    let tools = tools.with_deferred(|tool| tool.name() == "work");
    let served = serve(McpServer::new(tools).http().unwrap()).await;
    let discovered = send(&served, "server/discover", json!({})).await;
    assert!(discovered["result"]["capabilities"]["extensions"].is_object(), "{discovered}");
    let call = json!({ "name": "call_tool", "arguments": { "name": "work", "arguments": {} } });
    let answer = send(&served, "tools/call", call).await;
    assert_eq!(answer["result"]["resultType"], "task", "{answer}");
    gate.started.notified().await;
    gate.go.notify_one();
    let task = until(&served, answer["result"]["taskId"].as_str().unwrap(), "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "worked", "{task}");
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
async fn a_task_hears_of_its_own_operation_alone() {
    let (executor, _) = executor();
    let served = serve(McpServer::new(executor.clone()).http().unwrap()).await;
    let (building, checking) = (start(&served, "build").await, start(&served, "check").await);
    let open = loop {
        let open = executor.open_calls().await.unwrap();
        if open.len() == 2 {
            break open;
        }
        tokio::task::yield_now().await;
    };
    let address = |tool: &str| open.iter().find(|it| it.call().name == tool).unwrap().address().clone();
    executor.update(address("check"), "half".into()).await.unwrap();
    executor.submit_result(address("check"), Ok("checked".into())).await.unwrap();
    let task = until(&served, &checking, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "checked", "{task}");
    executor.update(address("build"), "almost".into()).await.unwrap();
    let task = loop {
        let task = until(&served, &building, "working").await;
        if !task["statusMessage"].is_null() {
            break task;
        }
    };
    assert_eq!(task["statusMessage"], "almost", "{task}");
    executor.submit_result(address("build"), Ok("built".into())).await.unwrap();
    let task = until(&served, &building, "completed").await;
    assert_eq!(task["result"]["content"][0]["text"], "built", "{task}");
}

#[tokio::test]
async fn the_progress_of_a_task_is_its_status() {
    let (executor, gate) = executor();
    let served = serve(McpServer::new(executor).http().unwrap()).await;
    for (arguments, expected) in [
        (json!({ "total": 0 }), "3"),
        (json!({ "total": 4 }), "3 of 4"),
        (json!({ "total": 4, "message": "three" }), "three"),
    ] {
        let id = start_with(&served, "count", arguments).await;
        gate.started.notified().await;
        assert_eq!(until(&served, &id, "working").await["statusMessage"], expected);
        gate.go.notify_one();
        let task = until(&served, &id, "completed").await;
        // As it is, since clients of tasks know values of all types.
        assert_eq!(task["result"]["structuredContent"], 3, "{task}");
    }
}

#[tokio::test]
async fn a_call_that_ends_as_cancelled_by_itself_is_an_error_of_its_task() {
    let (executor, _) = executor();
    let served = serve(McpServer::new(executor).http().unwrap()).await;
    let id = start(&served, "abandon").await;
    let task = until(&served, &id, "completed").await;
    assert_eq!(task["result"]["isError"], true, "{task}");
}

#[tokio::test]
async fn a_task_without_a_result_takes_no_place_of_results() {
    let (executor, gate) = executor();
    let served = serve(McpServer::new(executor).max_task_bytes(0).http().unwrap()).await;
    let mut ids = Vec::new();
    for _ in 0..2 {
        let id = start(&served, "work").await;
        gate.started.notified().await;
        send(&served, "tasks/cancel", json!({ "taskId": id })).await;
        until(&served, &id, "cancelled").await;
        ids.push(id);
    }
    until(&served, &ids[0], "cancelled").await;
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

/// Starts `work`, or returns the error.
async fn try_work(served: &Served, name: &str) -> Result<String, Value> {
    let mut request = modern("tools/call", json!({ "name": "work", "arguments": {} }));
    let meta = &mut request["params"]["_meta"];
    meta["io.modelcontextprotocol/clientCapabilities"] =
        json!({ "extensions": { "io.modelcontextprotocol/tasks": {} } });
    meta["io.modelcontextprotocol/clientInfo"]["name"] = json!(name);
    let answer = sse(&served.post(&request, &NOW).send().await.unwrap().text().await.unwrap());
    answer["result"]["taskId"].as_str().map(str::to_owned).ok_or(answer)
}

#[tokio::test]
async fn tasks_that_have_ended_give_way_to_new_ones() {
    let (executor, gate) = executor();
    let served = serve(McpServer::new(executor).max_tasks(3).http().unwrap()).await;
    let [first, second] = [try_work(&served, "a").await.unwrap(), try_work(&served, "b").await.unwrap()];
    for id in [&first, &second] {
        // In this order.
        send(&served, "tasks/cancel", json!({ "taskId": id })).await;
        until(&served, id, "cancelled").await;
    }
    // A client that has no identity has no limit of its own, whatever it calls itself.
    let running = [try_work(&served, "a").await.unwrap(), try_work(&served, "a").await.unwrap()];
    let gone = send(&served, "tasks/get", json!({ "taskId": first })).await;
    assert_eq!(gone["error"]["code"], -32602, "{gone}");
    until(&served, &second, "cancelled").await;
    let last = try_work(&served, "c").await.unwrap();
    let gone = send(&served, "tasks/get", json!({ "taskId": second })).await;
    assert_eq!(gone["error"]["code"], -32602, "{gone}");
    // All run: none of them gives way.
    let refused = try_work(&served, "d").await.unwrap_err();
    assert_eq!(refused["error"]["code"], -32000, "{refused}");
    assert!(
        refused["error"]["message"].as_str().unwrap().contains("too many tasks: there are 3"),
        "{refused}"
    );
    // One that ends makes a place.
    gate.go.notify_one();
    let ended = running.iter().chain([&last]).map(|id| until(&served, id, "completed"));
    futures_util::future::select_all(ended.map(Box::pin)).await;
    try_work(&served, "d").await.unwrap();
}

#[tokio::test]
async fn large_results_of_tasks_give_way_to_new_ones() {
    let (executor, gate) = executor();
    let served = serve(McpServer::new(executor).max_task_bytes(100).http().unwrap()).await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let id = start(&served, "work").await;
        gate.go.notify_one();
        // The last result is kept, whatever its size.
        until(&served, &id, "completed").await;
        ids.push(id);
    }
    for id in &ids[..2] {
        let gone = send(&served, "tasks/get", json!({ "taskId": id })).await;
        assert!(gone["error"]["message"].as_str().unwrap().contains("newer ones needed its place"), "{gone}");
    }
}
