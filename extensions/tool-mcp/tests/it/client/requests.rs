//! The requests of a toolset, and the connection that they use.

use serde_json::{Map, Value, json};
use tool_mcp::client::{ClientErrorKind, McpToolSet, ServerChange};
use tool_runtime::{ToolSet, pin::Pins};

use super::{
    call, config,
    fake::{Fake, Fakes},
    lives::{calling, started, text, tool},
    names_of,
};

/// Sends a request of the toolset; returns it as the server receives it, and answers it with this result.
async fn sent<F>(
    set: &McpToolSet,
    fake: &mut Fake,
    ask: impl FnOnce(McpToolSet) -> F,
    result: Value,
) -> (String, Value)
where
    F: Future<Output = bool> + Send + 'static,
{
    let asking = tokio::spawn(ask(set.clone()));
    let request = fake.message().await.unwrap();
    fake.answer(&request, result).await;
    assert!(asking.await.unwrap(), "{request}");
    let mut params = request["params"].clone();
    if let Some(params) = params.as_object_mut() {
        params.remove("_meta");
    }
    (request["method"].as_str().unwrap().to_owned(), params)
}

#[tokio::test]
async fn requests_have_the_parameters_of_the_program() {
    let (set, mut fake, _fakes) = started(config(), "one").await;
    let fake = &mut fake;
    let own = |method: &str, params: Value| (method.to_owned(), params);
    let messages = || json!({ "messages": [] });
    let without =
        sent(&set, fake, |set| async move { set.get_prompt("p", Map::new()).await.is_ok() }, messages());
    assert_eq!(without.await, own("prompts/get", json!({ "name": "p" })));
    let arguments = Map::from_iter([("a".to_owned(), json!("b"))]);
    let with =
        sent(&set, fake, |set| async move { set.get_prompt("p", arguments).await.is_ok() }, messages());
    assert_eq!(with.await, own("prompts/get", json!({ "name": "p", "arguments": { "a": "b" } })));
    let contents = json!({ "contents": [] });
    let read = sent(&set, fake, |set| async move { set.read_resource("a://b").await.is_ok() }, contents);
    assert_eq!(read.await, own("resources/read", json!({ "uri": "a://b" })));
    let subscribed = sent(&set, fake, |set| async move { set.subscribe("a://b").await.is_ok() }, json!({}));
    assert_eq!(subscribed.await, own("resources/subscribe", json!({ "uri": "a://b" })));
    let ended = sent(&set, fake, |set| async move { set.unsubscribe("a://b").await.is_ok() }, json!({}));
    assert_eq!(ended.await, own("resources/unsubscribe", json!({ "uri": "a://b" })));
    let level = rmcp::model::LoggingLevel::Error;
    let set_level =
        sent(&set, fake, move |set| async move { set.set_log_level(level).await.is_ok() }, json!({}));
    assert_eq!(set_level.await, own("logging/setLevel", json!({ "level": "error" })));
    let params =
        json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "v" } });
    let complete = serde_json::from_value(params.clone()).unwrap();
    let values = json!({ "completion": { "values": [] } });
    let completed = sent(&set, fake, |set| async move { set.complete(complete).await.is_ok() }, values);
    assert_eq!(completed.await, own("completion/complete", params));
    let called = sent(
        &set,
        fake,
        |set| async move { set.call_raw("one", Map::from_iter([("a".to_owned(), json!(1))])).await.is_ok() },
        json!({ "content": [] }),
    );
    assert_eq!(called.await, own("tools/call", json!({ "name": "one", "arguments": { "a": 1 } })));
}

#[tokio::test]
async fn a_list_of_the_server_has_all_tools_and_changes_nothing() {
    let (builder, fakes) = Fakes::builder(config());
    let fake = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        fake.start("one").await;
        fake
    });
    let set = builder.exclude(["two"]).connect().await.unwrap();
    let mut fake = fake.await.unwrap();
    let asking = set.clone();
    let listed = tokio::spawn(async move { asking.list().await });
    fake.list(json!([tool("two"), tool("three")])).await;
    let names: Vec<_> = listed.await.unwrap().unwrap().iter().map(|tool| tool.name.to_string()).collect();
    assert_eq!(names, ["two", "three"]);
    assert_eq!(names_of(&set).await, ["one"]);
}

#[tokio::test]
async fn a_listing_that_another_one_overtook_is_not_kept() {
    let (heard, mut changes) = tokio::sync::mpsc::unbounded_channel();
    let (builder, fakes) = Fakes::builder(config());
    let fake = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        fake.start("one").await;
        fake
    });
    let set = builder.on_change(move |change| drop(heard.send(change))).connect().await.unwrap();
    let mut fake = fake.await.unwrap();
    let refresh = || {
        let set = set.clone();
        tokio::spawn(async move { set.refresh().await })
    };
    let first = refresh();
    let of_first = fake.expect("tools/list").await;
    fake.send(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" })).await;
    assert_eq!(changes.recv().await, Some(ServerChange::Tools));
    let second = refresh();
    let of_second = fake.expect("tools/list").await;
    fake.answer(&of_second, json!({ "tools": [tool("new")] })).await;
    second.await.unwrap().unwrap();
    fake.answer(&of_first, json!({ "tools": [tool("old")] })).await;
    first.await.unwrap().unwrap();
    // M13
    assert_eq!(names_of(&set).await, ["new"]);
}

#[tokio::test]
async fn a_toolset_that_is_closed_while_it_connects_ends_the_connection() {
    let (builder, fakes) = Fakes::builder(config());
    let set = builder.lazy();
    let refreshing = set.clone();
    let refreshed = tokio::spawn(async move { refreshing.refresh().await });
    let mut fake = fakes.next().await;
    let discover = fake.expect("server/discover").await;
    ToolSet::close(&set).await.unwrap();
    fake.refuse(&discover, -32601, "Method not found").await;
    let initialize = fake.expect("initialize").await;
    let result = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "fake", "version": "9" },
    });
    fake.answer(&initialize, result).await;
    assert_eq!(refreshed.await.unwrap().unwrap_err().kind(), ClientErrorKind::Closed);
    fake.expect("notifications/initialized").await;
    assert_eq!(fake.message().await, None);
}

#[tokio::test]
async fn a_late_answer_is_not_read() {
    let (set, mut fake, _fakes) = started(config(), "one").await;
    let call = calling(&set, "one");
    let late = fake.expect("tools/call").await;
    call.abort();
    fake.expect("notifications/cancelled").await;
    // It is malformed, and left out without a diagnostic.
    fake.answer(&late, json!({ "content": [7] })).await;
    let call = calling(&set, "one");
    let request = fake.expect("tools/call").await;
    fake.answer(&request, text("done")).await;
    assert_eq!(call.await.unwrap().unwrap(), "done");
    assert_eq!(set.diagnostics().len(), 0, "{:?}", set.diagnostics());
}

#[tokio::test]
async fn changes_are_listened_to_as_far_as_the_server_announces_them() {
    for (capabilities, expected) in [
        (json!({ "tools": {} }), None),
        (json!({ "tools": { "listChanged": true } }), Some(json!({ "toolsListChanged": true }))),
        (
            json!({ "tools": {}, "prompts": { "listChanged": true }, "resources": { "listChanged": true } }),
            Some(json!({ "promptsListChanged": true, "resourcesListChanged": true })),
        ),
    ] {
        let (builder, fakes) = Fakes::builder(config());
        let connecting = tokio::spawn(builder.protocol(rmcp::model::ProtocolVersion::V_2026_07_28).connect());
        let mut fake = fakes.next().await;
        let discover = fake.expect("server/discover").await;
        let result = json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities,
            "ttlMs": 0, "cacheScope": "private",
        });
        fake.answer(&discover, result).await;
        let mut listened = None;
        for _ in 0..1 + usize::from(expected.is_some()) {
            let request = fake.message().await.unwrap();
            match request["method"].as_str() {
                Some("tools/list") => fake.answer(&request, json!({ "tools": [] })).await,
                Some("subscriptions/listen") => listened = Some(request["params"]["notifications"].clone()),
                other => panic!("{other:?}"),
            }
        }
        // M20
        assert_eq!(listened, expected, "{capabilities}");
        let set = connecting.await.unwrap().unwrap();
        set.close().await;
    }
}

#[tokio::test]
async fn a_pin_of_a_tool_that_is_gone_is_no_problem_and_a_renamed_tool_has_its_own() {
    let (set, mut fake, _fakes) = started(config(), "one").await;
    let asking = set.clone();
    let pins = tokio::spawn(async move { asking.current_pins().await });
    fake.list(json!([tool("one"), tool("gone"), tool("a b")])).await;
    set.set_pins(pins.await.unwrap().unwrap());
    let listing = set.clone();
    let names = tokio::spawn(async move { names_of(&listing).await });
    fake.list(json!([tool("one"), tool("a b")])).await;
    assert_eq!(names.await.unwrap().len(), 2);
    let codes: Vec<_> = set.diagnostics().iter().map(|it| it.code).collect();
    assert_eq!(codes, ["renamed"]);
    // Without a pin, it is called by none of its names.
    set.set_pins(Pins::of_definitions([]));
    let listing = set.clone();
    let names = tokio::spawn(async move { names_of(&listing).await });
    fake.list(json!([tool("one"), tool("a b")])).await;
    assert_eq!(names.await.unwrap(), [""; 0]);
    for name in ["one", "a b"] {
        let error = set.call_raw(name, Map::new()).await.unwrap_err();
        assert_eq!(error.kind(), ClientErrorKind::Pinned);
    }
}

#[tokio::test]
async fn a_lost_call_may_be_tried_again_if_it_is_harmless_or_was_not_sent() {
    for (hints, is_harmless) in [
        (json!({}), false),
        (json!({ "readOnlyHint": true }), true),
        (json!({ "idempotentHint": true }), true),
    ] {
        let (builder, fakes) = Fakes::builder(config());
        let mut one = tool("one");
        one["annotations"] = hints;
        let fake = tokio::spawn(async move {
            let mut fake = fakes.next().await;
            fake.initialize().await;
            fake.list(json!([one])).await;
            fake
        });
        let set = builder.connect().await.unwrap();
        let mut fake = fake.await.unwrap();
        let calling = tokio::spawn(call(set.clone(), "one", json!({})));
        fake.expect("tools/call").await;
        drop(fake);
        let result = calling.await.unwrap();
        // M12
        assert_eq!(result.outcome.unwrap_err().is_retryable(), is_harmless);
        // The connection is gone: nothing is sent.
        let result = call(set, "one", json!({})).await;
        assert!(result.outcome.unwrap_err().is_retryable());
    }
}
