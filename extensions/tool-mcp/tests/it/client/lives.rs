//! The life of a connection: pages, losses, questions.

use std::{sync::Arc, time::Duration};

use rmcp::model::{ElicitResult, ElicitationAction};
use serde_json::{Map, Value, json};
use tool_mcp::client::{ClientError, ClientErrorKind, McpToolSet};
use tool_runtime::{Toolbox, prelude::*};

use super::{
    call, config,
    fake::{Fake, Fakes},
    names_of, tools_of,
};

pub(super) fn tool(name: &str) -> Value {
    json!({ "name": name, "inputSchema": { "type": "object" } })
}

pub(super) fn text(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// Calls a tool without arguments in a task.
pub(super) fn calling(
    set: &McpToolSet,
    tool: &'static str,
) -> tokio::task::JoinHandle<Result<String, ClientError>> {
    let set = set.clone();
    tokio::spawn(async move {
        let result = set.call_raw(tool, Map::new()).await?;
        Ok(result.content[0].as_text().unwrap().text.clone())
    })
}

/// A toolset of `config` and its server, after they listed one tool.
pub(super) async fn started(
    config: tool_mcp::client::ServerConfig,
    tool: &'static str,
) -> (McpToolSet, Fake, Fakes) {
    let (builder, fakes) = Fakes::builder(config);
    let far = fakes.clone();
    let fake = tokio::spawn(async move {
        let mut fake = far.next().await;
        fake.start(tool).await;
        fake
    });
    (builder.connect().await.unwrap(), fake.await.unwrap(), fakes)
}

#[tokio::test]
async fn all_pages_are_listed_and_those_that_repeat_end_the_list() {
    let (builder, fakes) = Fakes::builder(config());
    let fake = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        let initialize = fake.initialize().await;
        // M02
        assert_eq!(initialize["params"]["clientInfo"]["name"], "tool-mcp");
        for (cursor, name, next) in
            [(None, "a", Some("1")), (Some("1"), "b", Some("2")), (Some("2"), "c", None)]
        {
            let request = fake.expect("tools/list").await;
            assert_eq!(request["params"].get("cursor").and_then(Value::as_str), cursor);
            let mut page = json!({ "tools": [tool(name)] });
            if let Some(next) = next {
                page["nextCursor"] = next.into();
            }
            fake.answer(&request, page).await;
        }
        for _ in 0..2 {
            let request = fake.expect("tools/list").await;
            fake.answer(&request, json!({ "tools": [], "nextCursor": "same" })).await;
        }
        fake
    });
    let set = builder.connect().await.unwrap();
    // M04
    assert_eq!(names_of(&set).await, ["a", "b", "c"]);
    // M03
    let info = set.server_info().await.unwrap();
    let server = info.server_info.unwrap();
    assert_eq!((server.name.as_str(), server.version.as_str()), ("fake", "9"));
    let tools = info.capabilities.tools.unwrap();
    assert_eq!((tools.list_changed, info.capabilities.prompts), (Some(true), None));
    // M13
    set.refresh().await.unwrap();
    assert_eq!(set.diagnostics()[0].code, "listing_cut");
    assert!(set.diagnostics()[0].to_string().contains("its pages repeat"), "{:?}", set.diagnostics());
    assert_eq!(names_of(&set).await, [""; 0]);
    drop(fake.await.unwrap());
}

#[tokio::test]
async fn concurrent_calls_get_their_own_answers() {
    let (set, mut fake, fakes) = started(config(), "one").await;
    let (first, second) = (calling(&set, "first"), calling(&set, "second"));
    let requests = [fake.expect("tools/call").await, fake.expect("tools/call").await];
    // M06
    assert_ne!(requests[0]["id"], requests[1]["id"]);
    for request in requests.iter().rev() {
        let notice = json!({ "level": "info", "data": "working" });
        fake.send(&json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": notice })).await;
        fake.answer(request, text(request["params"]["name"].as_str().unwrap())).await;
    }
    assert_eq!(first.await.unwrap().unwrap(), "first");
    assert_eq!(second.await.unwrap().unwrap(), "second");
    assert_eq!(fakes.waiting(), 0);
}

#[tokio::test]
async fn a_dropped_call_is_cancelled_at_the_server() {
    let (set, mut fake, _fakes) = started(config(), "one").await;
    let call = calling(&set, "one");
    let request = fake.expect("tools/call").await;
    call.abort();
    let cancelled = fake.expect("notifications/cancelled").await;
    // M06
    assert_eq!(cancelled["params"]["requestId"], request["id"]);
}

#[tokio::test]
async fn a_lost_connection_fails_calls_unless_they_may_reconnect() {
    let (set, fake, fakes) = started(config(), "one").await;
    drop(fake);
    let error = calling(&set, "one").await.unwrap().unwrap_err();
    // M12
    assert_eq!(error.kind(), ClientErrorKind::Lost);
    assert!(error.to_string().starts_with("the connection to the MCP server `remote` was lost"), "{error}");
    assert_eq!(fakes.waiting(), 0);

    // Refreshing connects again.
    let refreshed = set.clone();
    let refreshed = tokio::spawn(async move { refreshed.refresh().await });
    let mut fake = fakes.next().await;
    fake.start("two").await;
    refreshed.await.unwrap().unwrap();
    drop(fake);
}

#[tokio::test]
async fn the_next_call_after_a_loss_connects_again_and_calls_share_the_new_connection() {
    let (set, fake, fakes) = started(config().reconnect(1), "one").await;
    drop(fake);
    let calls: Vec<_> = (0..8).map(|_| calling(&set, "one")).collect();
    let mut fake = fakes.next().await;
    fake.initialize().await;
    for _ in 0..8 {
        let request = fake.expect("tools/call").await;
        fake.answer(&request, text("done")).await;
    }
    for call in calls {
        // M12
        assert_eq!(call.await.unwrap().unwrap(), "done");
    }
    assert_eq!(fakes.waiting(), 0);

    // An error of the tool, or of the protocol, is no reason to connect again.
    let call = calling(&set, "one");
    let request = fake.expect("tools/call").await;
    fake.refuse(&request, -32602, "bad x").await;
    let error = call.await.unwrap().unwrap_err();
    // M21
    assert!(error.to_string().contains("-32602") && error.to_string().contains("bad x"), "{error}");
    assert_eq!(fakes.waiting(), 0);
}

#[tokio::test]
async fn a_call_that_may_have_arrived_is_repeated_only_if_that_is_harmless() {
    for (hints, repeats) in [
        (json!({}), false),
        (json!({ "destructiveHint": false }), false),
        (json!({ "readOnlyHint": true }), true),
        (json!({ "idempotentHint": true }), true),
    ] {
        let (builder, fakes) = Fakes::builder(config().reconnect(3));
        let far = fakes.clone();
        let fake = tokio::spawn(async move {
            let mut fake = far.next().await;
            fake.initialize().await;
            let schema = json!({ "type": "object" });
            fake.list(json!([{ "name": "one", "inputSchema": schema, "annotations": hints }])).await;
            fake
        });
        let set = builder.connect().await.unwrap();
        let mut fake = fake.await.unwrap();
        let call = calling(&set, "one");
        fake.expect("tools/call").await;
        drop(fake);
        if repeats {
            let mut fake = fakes.next().await;
            fake.initialize().await;
            let request = fake.expect("tools/call").await;
            fake.answer(&request, text("repeated")).await;
            // M12
            assert_eq!(call.await.unwrap().unwrap(), "repeated");
        } else {
            assert_eq!(call.await.unwrap().unwrap_err().kind(), ClientErrorKind::Lost);
            assert_eq!(fakes.waiting(), 0);
            // The next call has a new connection.
            let next = calling(&set, "one");
            let mut fake = fakes.next().await;
            fake.initialize().await;
            let request = fake.expect("tools/call").await;
            fake.answer(&request, text("next")).await;
            assert_eq!(next.await.unwrap().unwrap(), "next");
        }
    }
}

#[tokio::test]
async fn a_listing_starts_again_on_a_new_connection() {
    let (builder, fakes) = Fakes::builder(config().reconnect(1));
    let set = builder.lazy();
    let listing = tokio::spawn(async move { names_of(&set).await });
    let mut fake = fakes.next().await;
    fake.initialize().await;
    let request = fake.expect("tools/list").await;
    fake.answer(&request, json!({ "tools": [tool("old")], "nextCursor": "1" })).await;
    fake.expect("tools/list").await;
    drop(fake);
    let mut fake = fakes.next().await;
    fake.initialize().await;
    let request = fake.expect("tools/list").await;
    // M04
    assert_eq!(request["params"].get("cursor"), None);
    fake.answer(&request, json!({ "tools": [tool("new")] })).await;
    assert_eq!(listing.await.unwrap(), ["new"]);
}

#[tokio::test]
async fn an_unchanged_tool_stays_the_same_after_a_refresh() {
    let (set, mut fake, _fakes) = started(config(), "one").await;
    let before = tools_of(&set).await;
    let refreshing = set.clone();
    let refreshed = tokio::spawn(async move { refreshing.refresh().await });
    fake.list(json!([tool("two"), tool("one")])).await;
    refreshed.await.unwrap().unwrap();
    let after = tools_of(&set).await;
    // M13
    assert!(Arc::ptr_eq(&before[0], &after[1]));
}

#[tokio::test]
async fn an_executor_that_is_cancelled_cancels_the_remote_call() {
    let (set, mut fake, _fakes) = started(config(), "one").await;
    let token = tool_runtime::CancellationToken::new();
    let run = RunContext::new().with_cancellation(token.clone());
    let toolbox = Toolbox::new();
    toolbox.add_toolset(set).unwrap();
    let tools = toolbox.snapshot(&run).await.unwrap().into_tools();
    let executor = Executor::new(tools);
    let batch = tokio::spawn(async move {
        executor.batch(vec![ToolCall::new("one", json!({}))]).with_run(run).run().await
    });
    fake.expect("tools/call").await;
    token.cancel();
    fake.expect("notifications/cancelled").await;
    assert!(batch.await.unwrap()[0].result().unwrap().is_error());
}

#[tokio::test]
async fn arguments_that_are_empty_are_an_empty_object() {
    let (set, mut fake, _fakes) = started(config(), "one").await;
    let calling = tokio::spawn(async move { call(set, "one", Value::Null).await });
    let request = fake.expect("tools/call").await;
    // M21
    assert_eq!(request["params"]["arguments"], json!({}));
    fake.answer(&request, text("done")).await;
    assert_eq!(calling.await.unwrap().text(), "done");
}

#[tokio::test]
async fn a_question_belongs_to_a_call_only_if_no_other_one_waits() {
    let seen = Arc::new(std::sync::Mutex::new(Vec::new()));
    let calls = Arc::clone(&seen);
    let (builder, fakes) = Fakes::builder(config());
    let builder = builder.on_elicitation(move |question| {
        calls.lock().unwrap().push(question.call.is_some());
        async { Ok(ElicitResult::new(ElicitationAction::Decline)) }
    });
    let fake = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        fake.start("one").await;
        fake
    });
    let set = builder.connect().await.unwrap();
    let mut fake = fake.await.unwrap();
    let first = tokio::spawn(call(set.clone(), "one", json!({})));
    let request = fake.expect("tools/call").await;
    let second = tokio::spawn(call(set, "one", json!({})));
    let other = fake.expect("tools/call").await;
    let schema = json!({ "type": "object", "properties": {} });
    let params = json!({ "message": "?", "requestedSchema": schema });
    let question = json!({ "jsonrpc": "2.0", "id": 77, "method": "elicitation/create", "params": params });
    fake.send(&question).await;
    assert_eq!(fake.message().await.unwrap()["result"]["action"], "decline");
    fake.answer(&request, text("done")).await;
    first.await.unwrap();
    fake.send(&question).await;
    assert_eq!(fake.message().await.unwrap()["result"]["action"], "decline");
    fake.answer(&other, text("done")).await;
    second.await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [false, true]);
}

#[tokio::test]
async fn tools_are_listed_again_after_a_new_connection() {
    let (set, fake, fakes) = started(config().reconnect(1), "one").await;
    drop(fake);
    let call = calling(&set, "one");
    let mut fake = fakes.next().await;
    fake.initialize().await;
    let request = fake.expect("tools/call").await;
    fake.answer(&request, text("done")).await;
    assert_eq!(call.await.unwrap().unwrap(), "done");
    // The server may be another version of itself.
    let listing = tokio::spawn(async move { names_of(&set).await });
    let listed = tokio::time::timeout(Duration::from_secs(30), fake.list(json!([tool("two")]))).await;
    assert!(listed.is_ok());
    assert_eq!(listing.await.unwrap(), ["two"]);
}
