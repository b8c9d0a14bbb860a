//! Subscriptions of revision 2026-07-28: to lists, and to resources.

use std::time::Duration;

use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};
use tokio::{
    sync::mpsc::{UnboundedReceiver, unbounded_channel},
    time::{Instant, timeout},
};
use tool_mcp::client::{ClientErrorKind, McpToolSet, ServerChange};

use super::{
    config,
    fake::{Fake, Fakes},
};

const SUBSCRIPTION_ID: &str = "io.modelcontextprotocol/subscriptionId";

/// The next request, which has this method.
async fn expect_request(fake: &mut Fake, method: &str) -> Value {
    loop {
        let message = fake.message().await.unwrap();
        if message["method"] != "notifications/cancelled" {
            assert_eq!(message["method"], method, "{message}");
            return message;
        }
    }
}

/// Sends a notification of the subscription that `request` asked for.
async fn notify(fake: &mut Fake, request: &Value, method: &str, mut params: Value) {
    params["_meta"] = json!({ SUBSCRIPTION_ID: request["id"] });
    fake.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
}

/// Accepts the subscription that `request` asks for.
async fn accept(fake: &mut Fake, request: &Value) {
    let params = json!({ "notifications": request["params"]["notifications"] });
    notify(fake, request, "notifications/subscriptions/acknowledged", params).await;
}

/// Ends the subscription that `request` asked for.
async fn end(fake: &mut Fake, request: &Value) {
    let meta = json!({ SUBSCRIPTION_ID: request["id"] });
    fake.answer(request, json!({ "resultType": "complete", "_meta": meta })).await;
}

/// The id of the request that the client cancels next.
async fn cancelled_request(fake: &mut Fake) -> Value {
    let message = timeout(Duration::from_secs(60), fake.expect("notifications/cancelled")).await.unwrap();
    message["params"]["requestId"].clone()
}

/// A toolset and its server, which is asked for its changes by the request.
async fn listening() -> (McpToolSet, Fake, Value, UnboundedReceiver<ServerChange>) {
    let (builder, fakes) = Fakes::builder(config());
    let (heard, changes) = unbounded_channel();
    let builder = builder.protocol(ProtocolVersion::V_2026_07_28);
    let connecting = tokio::spawn(builder.on_change(move |change| drop(heard.send(change))).connect());
    let mut fake = fakes.next().await;
    let discover = fake.expect("server/discover").await;
    let capabilities = json!({
        "tools": { "listChanged": true }, "prompts": { "listChanged": true },
        "resources": { "listChanged": true, "subscribe": true },
    });
    let result = json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": capabilities,
        "ttlMs": 0, "cacheScope": "private",
    });
    fake.answer(&discover, result).await;
    let mut listen = None;
    for _ in 0..2 {
        let request = fake.message().await.unwrap();
        match request["method"].as_str() {
            Some("tools/list") => fake.answer(&request, json!({ "tools": [] })).await,
            _ => listen = Some(request),
        }
    }
    (connecting.await.unwrap().unwrap(), fake, listen.unwrap(), changes)
}

#[tokio::test(start_paused = true)]
async fn a_subscription_that_ends_is_opened_again_after_pauses_and_what_was_missed_may_have_changed() {
    let (set, mut fake, mut request, mut changes) = listening().await;
    accept(&mut fake, &request).await;
    for (kind, change) in [
        ("prompts", ServerChange::Prompts),
        ("resources", ServerChange::Resources),
        ("tools", ServerChange::Tools),
    ] {
        notify(&mut fake, &request, &format!("notifications/{kind}/list_changed"), json!({})).await;
        assert_eq!(changes.recv().await, Some(change));
    }
    let minute = Duration::from_secs(60);
    // Its last life was stable.
    for (life, pause) in
        [(Duration::ZERO, 1), (minute / 2, 2), (Duration::ZERO, 4), (minute, 1), (minute / 2, 2)]
    {
        tokio::time::sleep(life).await;
        end(&mut fake, &request).await;
        let ended = Instant::now();
        request = expect_request(&mut fake, "subscriptions/listen").await;
        assert_eq!(ended.elapsed().as_secs(), pause, "{life:?}");
        assert!(changes.try_recv().is_err());
        accept(&mut fake, &request).await;
        let missed = [changes.recv().await, changes.recv().await, changes.recv().await].map(Option::unwrap);
        assert_eq!(missed, [ServerChange::Tools, ServerChange::Prompts, ServerChange::Resources]);
    }
    // A server that no longer announces its changes has another life.
    assert!(timeout(minute, set.disconnected()).await.is_err());
    end(&mut fake, &request).await;
    let request = expect_request(&mut fake, "subscriptions/listen").await;
    fake.refuse(&request, -32601, "no subscriptions").await;
    assert_eq!(timeout(minute, set.disconnected()).await.unwrap().kind(), ClientErrorKind::Lost);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_announces_no_changes_is_used_without_them() {
    let (set, mut fake, request, mut changes) = listening().await;
    fake.refuse(&request, -32601, "no subscriptions").await;
    let minute = Duration::from_secs(60);
    assert!(timeout(minute, set.disconnected()).await.is_err());
    assert!(timeout(minute, fake.message()).await.is_err());
    assert!(changes.try_recv().is_err());
}

#[tokio::test(start_paused = true)]
async fn a_resource_has_one_subscription_until_it_ends() {
    let (set, mut fake, lists, mut changes) = listening().await;
    accept(&mut fake, &lists).await;
    let mut before: Option<Value> = None;
    for _ in 0..2 {
        let subscribing = set.clone();
        let subscribed = tokio::spawn(async move { subscribing.subscribe("a://b").await });
        let request = fake.expect("subscriptions/listen").await;
        assert_eq!(request["params"]["notifications"], json!({ "resourceSubscriptions": ["a://b"] }));
        accept(&mut fake, &request).await;
        subscribed.await.unwrap().unwrap();
        notify(&mut fake, &request, "notifications/resources/updated", json!({ "uri": "a://b" })).await;
        assert_eq!(changes.recv().await, Some(ServerChange::Resource { uri: "a://b".to_owned() }));
        if let Some(before) = before.replace(request) {
            assert_eq!(cancelled_request(&mut fake).await, before["id"]);
        }
    }
    set.unsubscribe("a://b").await.unwrap();
    assert_eq!(cancelled_request(&mut fake).await, before.unwrap()["id"]);
    assert!(timeout(Duration::from_secs(60), fake.message()).await.is_err());
}
