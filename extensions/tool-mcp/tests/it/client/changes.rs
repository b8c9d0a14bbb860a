//! Changes that a server announces.

use std::sync::Arc;

use serde_json::json;
use tool_mcp::client::ServerChange;
use tool_runtime::{Toolbox, prelude::*, toolset::ToolSetNotifier};

use super::{BOTH, config, fake::Fakes, names_of, tools_of};

/// Adds two numbers.
#[tool(register = false)]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Subtracts.
#[tool(register = false)]
fn subtract(a: i64, b: i64) -> i64 {
    a - b
}

#[tokio::test]
async fn a_change_of_the_tools_is_announced_and_tools_in_use_stay_as_they_were() {
    for version in BOTH {
        let first = Registry::builder().tool::<add>().build().unwrap();
        let second = Registry::builder().tool::<subtract>().build().unwrap();
        let served = Toolbox::from_registry(&first);
        let server = tool_mcp::server::McpServer::new(served.clone());
        let (heard, mut changes) = tokio::sync::mpsc::unbounded_channel();
        let set = super::before(server)
            .protocol(version)
            .on_change(move |change| drop(heard.send(change)))
            .connect()
            .await
            .unwrap();
        let (announced, mut announcements) = tokio::sync::mpsc::unbounded_channel();
        tool_runtime::ToolSet::attached(
            &set,
            ToolSetNotifier::new(move || {
                let _ = announced.send(());
            }),
        );
        let held = tools_of(&set).await;
        let before = held[0].definition().clone();
        served.remove("add");
        served.add(Arc::clone(second.get("subtract").unwrap())).unwrap();
        // M20
        assert_eq!(changes.recv().await, Some(ServerChange::Tools));
        announcements.recv().await.unwrap();
        // The server announces each of the two changes.
        while names_of(&set).await != ["subtract"] {
            tokio::task::yield_now().await;
        }
        // M13
        assert_eq!(held[0].definition(), &before);
    }
}

#[tokio::test]
async fn other_changes_are_announced() {
    let (heard, mut changes) = tokio::sync::mpsc::unbounded_channel();
    let (builder, fakes) = Fakes::builder(config());
    let fake = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        fake.start("one").await;
        for (method, params) in [
            ("notifications/prompts/list_changed", json!({})),
            ("notifications/resources/list_changed", json!({})),
            ("notifications/resources/updated", json!({ "uri": "file:///a" })),
        ] {
            fake.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params })).await;
        }
        fake
    });
    let _set = builder
        .on_change(move |change| {
            drop(heard.send(change));
            panic!("a listener of the program");
        })
        .connect()
        .await
        .unwrap();
    let mut all = Vec::new();
    for _ in 0..3 {
        all.push(changes.recv().await.unwrap());
    }
    // M20
    for change in [
        ServerChange::Prompts,
        ServerChange::Resources,
        ServerChange::Resource { uri: "file:///a".to_owned() },
    ] {
        assert!(all.contains(&change), "{all:?}");
    }
    drop(fake.await.unwrap());
}
