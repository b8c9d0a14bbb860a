use std::{sync::Arc, time::Duration};

use rmcp::{
    model::{ProtocolVersion, SubscriptionFilter},
    service::{ClientLifecycleMode, ClientServiceExt},
};
use serde_json::json;
use tokio::time::Instant;
use tool_mcp::server::McpServer;
use tool_runtime::{
    CancellationToken, Toolbox,
    prelude::*,
    toolset::{NamedTools, ToolSetExt as _},
};

use super::{BOTH, connect, connect_to, text};

/// Adds two numbers.
#[tool(register = false, read_only)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Fails.
#[tool(register = false)]
fn fail() -> Result<(), ToolError> {
    Err(ToolError::failed("it broke"))
}

/// Panics.
#[tool(register = false)]
fn explode() {
    panic!("boom");
}

fn tools() -> Registry {
    Registry::builder().tool::<add>().tool::<fail>().tool::<explode>().build().unwrap()
}

#[tokio::test]
async fn tools_are_listed_and_called() {
    for version in BOTH {
        let it = connect(tools(), (), version).await;
        // O01
        let listed = it.client.list_all_tools().await.unwrap();
        let names: Vec<_> = listed.iter().map(|tool| tool.name.as_ref()).collect();
        assert_eq!(names, ["add", "explode", "fail"]);
        // O07
        assert_eq!(listed[0].annotations.as_ref().unwrap().read_only_hint, Some(true));
        assert_eq!(listed[2].annotations, None);
        let result = it.call("add", json!({ "a": 2, "b": 3 })).await;
        assert_eq!((text(&result).as_str(), result.is_error), ("5", Some(false)));
    }
}

#[tokio::test]
async fn a_toolbox_with_a_prefixed_set_is_listed_and_called() {
    for version in BOTH {
        let toolbox = Toolbox::from_registry(&Registry::builder().tool::<add>().build().unwrap());
        let other = Arc::clone(tools().get("add").unwrap());
        toolbox.add_toolset(NamedTools::new("srv", [other]).prefixed()).unwrap();
        let it = connect(toolbox, (), version).await;
        // O01
        let listed = it.client.list_all_tools().await.unwrap();
        assert_eq!(listed.iter().map(|tool| tool.name.as_ref()).collect::<Vec<_>>(), ["add", "srv__add"]);
        for tool in ["add", "srv__add"] {
            assert_eq!(text(&it.call(tool, json!({ "a": 2, "b": 3 })).await), "5", "{tool}");
        }
    }
}

#[tokio::test]
async fn a_server_has_the_version_of_the_package_of_its_tools() {
    let version = |server: McpServer| async {
        let it = connect_to(server, (), BOTH[0].clone()).await;
        it.client.peer_info().unwrap().server_info.clone().unwrap().version
    };
    assert_eq!(version(McpServer::new(tools())).await, env!("CARGO_PKG_VERSION"));
    assert_eq!(version(McpServer::new(Registry::default())).await, "0.0.0");
    assert_eq!(version(McpServer::new(tools()).named("a", "7.1.0")).await, "7.1.0");
}

#[tokio::test]
async fn a_server_says_who_it_is_and_how_it_is_used() {
    for version in BOTH {
        let server = McpServer::new(tools()).titled("Sums").instructions("Adds.").named("sums", "7.1.0");
        let it = connect_to(server, (), version.clone()).await;
        let info = it.client.peer_info().unwrap();
        let server = info.server_info.clone().unwrap();
        assert_eq!((server.name.as_str(), server.version.as_str()), ("sums", "7.1.0"));
        assert_eq!((server.title.as_deref(), info.instructions.as_deref()), (Some("Sums"), Some("Adds.")));
        let it = connect_to(McpServer::new(tools()).tools(Registry::default()), (), version).await;
        assert!(it.client.list_all_tools().await.unwrap().is_empty());
        let info = it.client.peer_info().unwrap();
        assert!(info.server_info.clone().unwrap().title.is_none() && info.instructions.is_none());
    }
}

#[tokio::test]
async fn pages_have_each_tool_once() {
    for version in BOTH {
        for size in 1..4 {
            let it = connect_to(McpServer::new(tools()).page_size(size), (), version.clone()).await;
            let listed = it.client.list_all_tools().await.unwrap();
            let names: Vec<_> = listed.iter().map(|tool| tool.name.as_ref()).collect();
            assert_eq!(names, ["add", "explode", "fail"], "{size}");
            let first = it.client.list_tools(None).await.unwrap();
            assert_eq!((first.tools.len(), first.next_cursor.is_some()), (size, size < 3));
        }
    }
}

#[tokio::test]
async fn failures_are_results_and_protocol_mistakes_are_errors() {
    for version in BOTH {
        let it = connect(tools(), (), version).await;
        // O06
        let result = it.call("fail", json!({})).await;
        assert_eq!((text(&result).as_str(), result.is_error), ("it broke", Some(true)));
        let result = it.call("explode", json!({})).await;
        assert_eq!(result.is_error, Some(true));
        let result = it.call("add", json!({ "a": 2 })).await;
        assert!(text(&result).starts_with("Invalid arguments: /b"), "{}", text(&result));
        let error = it.try_call("ad", json!({})).await.unwrap_err();
        let rmcp::ServiceError::McpError(error) = error else { panic!("{error}") };
        assert_eq!(error.code.0, -32602);
        assert!(error.message.contains("Did you mean `add`?"), "{}", error.message);
        // The connection lives.
        assert_eq!(text(&it.call("add", json!({ "a": 1, "b": 1 })).await), "2");
    }
}

#[tokio::test]
async fn a_toolbox_is_listed_as_it_is_now() {
    for version in BOTH {
        let toolbox = Toolbox::from_registry(&tools());
        let it = connect(toolbox.clone(), (), version).await;
        toolbox.remove("add");
        let listed = it.client.list_all_tools().await.unwrap();
        assert_eq!(listed.len(), 2);
        toolbox.add_toolset(NamedTools::new("none", [])).unwrap();
        assert!(it.try_call("add", json!({})).await.is_err());
    }
}

#[tokio::test(start_paused = true)]
async fn a_subscription_does_not_delay_the_end_of_the_server() {
    let (near, far) = tokio::io::duplex(64 * 1024);
    let (read, write) = tokio::io::split(far);
    let server = McpServer::new(Toolbox::from_registry(&tools()));
    let serving = tokio::spawn(server.serve(read, write, CancellationToken::new()));
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    let mode = ClientLifecycleMode::Auto { preferred_versions, legacy_version: None };
    let client = ().serve_with_lifecycle(near, mode).await.unwrap();
    let filter = SubscriptionFilter::builder().tools_list_changed().build();
    let subscription = client.peer().listen(filter).await.unwrap();
    let start = Instant::now();
    client.cancel().await.unwrap();
    serving.await.unwrap().unwrap();
    // The SDK waits for answers, of which there are none.
    assert_eq!(start.elapsed(), Duration::ZERO);
    drop(subscription);
}
