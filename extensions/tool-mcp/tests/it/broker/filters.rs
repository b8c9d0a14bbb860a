//! Filters and pins of the program, and the tools that they leave out.

use std::collections::BTreeMap;

use serde_json::json;
use tool_mcp::{
    broker::{McpBroker, McpBrokerBuilder},
    client::{McpToolSet, McpToolSetBuilder, Process, ServerConfig},
    server::McpServer,
};
use tool_runtime::{CancellationToken, pin::Pins};

use super::{error, tools, value};
use crate::client::fake::Fakes;

fn config() -> ServerConfig {
    ServerConfig::new("math", Process::new("unused"))
}

/// Connects to the tools in memory.
fn in_memory(builder: McpToolSetBuilder) -> McpToolSetBuilder {
    let server = McpServer::new(tools());
    builder.over(move || {
        let (near, far) = tokio::io::duplex(64 * 1024);
        let (read, write) = tokio::io::split(far);
        tokio::spawn(server.clone().serve(read, write, CancellationToken::new()));
        async { Ok(tokio::io::split(near)) }
    })
}

/// A broker of the server `math`, whose connections have these options.
fn broker_with(
    options: impl Fn(McpToolSetBuilder) -> McpToolSetBuilder + Send + Sync + 'static,
) -> McpBrokerBuilder {
    McpBroker::builder().server(config()).client_options(move |_, builder| Ok(in_memory(options(builder))))
}

/// Asserts that `add` is there in all operations, and `fail-now` in none.
async fn assert_left_out(broker: &McpBroker) {
    let listed = value(broker, "mcp_list_tools", json!({ "selector": "math" })).await;
    let names: Vec<_> = listed["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert!(names.contains(&&json!("add")) && !names.contains(&&json!("fail-now")), "{names:?}");
    let inspect = |name: &str| json!({ "selector": "math", "tools": [name] });
    value(broker, "mcp_inspect_tools", inspect("add")).await;
    let refused = error(broker, "mcp_inspect_tools", inspect("fail-now")).await;
    assert!(refused.contains("has no tools `fail-now`"), "{refused}");
    let call = |tool: &str| json!({ "selector": format!("math.{tool}"), "arguments": { "a": 1, "b": 2 } });
    value(broker, "mcp_call", call("add")).await;
    let refused = error(broker, "mcp_call", call("fail-now")).await;
    assert!(refused.contains("no tool `fail-now`"), "{refused}");
}

#[tokio::test]
async fn filters_hold_for_all_operations_of_a_broker() {
    let included = broker_with(|options| options.include(["add", "text"])).build().unwrap();
    assert_left_out(&included).await;
    let excluded = broker_with(|options| options.exclude(["fail-now"])).build().unwrap();
    assert_left_out(&excluded).await;
    assert_eq!(excluded.diagnostics(), BTreeMap::new());
}

/// Pins of all tools but `fail-now`.
async fn pins() -> Pins {
    let set = in_memory(McpToolSet::builder(config())).exclude(["fail-now"]).connect().await.unwrap();
    set.current_pins().await.unwrap()
}

#[tokio::test]
async fn a_tool_that_is_not_as_it_was_pinned_is_shown_to_no_model() {
    let pins = pins().await;
    let broker = broker_with(move |options| options.pins(pins.clone())).build().unwrap();
    assert_left_out(&broker).await;
    let diagnostics = broker.diagnostics();
    let [diagnostic] = diagnostics["math"].as_slice() else { panic!("{diagnostics:?}") };
    assert_eq!((diagnostic.code, diagnostic.location.tool.as_deref()), ("not_pinned", Some("fail-now")));
}

#[tokio::test]
async fn a_server_that_cannot_be_listed_is_a_diagnostic_until_it_can() {
    let is_up = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let switch = std::sync::Arc::clone(&is_up);
    let broker = McpBroker::builder()
        .server(ServerConfig::new("math", Process::new("/nonexistent")))
        .client_options(move |_, options| match switch.load(std::sync::atomic::Ordering::Relaxed) {
            true => Ok(in_memory(options)),
            false => Ok(options),
        })
        .build()
        .unwrap();
    assert_eq!(broker.diagnostics(), BTreeMap::new());
    error(&broker, "mcp_list_tools", json!({ "selector": "math" })).await;
    let diagnostics = broker.diagnostics();
    let [diagnostic] = diagnostics["math"].as_slice() else { panic!("{diagnostics:?}") };
    assert_eq!(diagnostic.code, "not_listed");
    assert!(diagnostic.message.contains("`/nonexistent` cannot be started"), "{diagnostic}");

    is_up.store(true, std::sync::atomic::Ordering::Relaxed);
    value(&broker, "mcp_list_tools", json!({ "selector": "math" })).await;
    assert_eq!(broker.diagnostics(), BTreeMap::new());
}

/// A broker of a server that lists a good tool, and one whose arguments are a text.
fn broker_of_a_bad_tool(
    options: impl Fn(McpToolSetBuilder) -> McpToolSetBuilder + Send + Sync + 'static,
) -> McpBroker {
    let broker = McpBroker::builder().server(config()).client_options(move |target, _| {
        let (builder, fakes) = Fakes::builder(target.config.clone());
        tokio::spawn(async move {
            let mut fake = fakes.next().await;
            fake.initialize().await;
            let tool = |name: &str, kind: &str| json!({ "name": name, "inputSchema": { "type": kind } });
            fake.list(json!([tool("good", "object"), tool("bad", "string")])).await;
            fake.message().await
        });
        Ok(options(builder))
    });
    broker.build().unwrap()
}

#[tokio::test]
async fn a_tool_without_a_definition_has_no_pin() {
    let listed = async |broker: McpBroker| {
        let listed = value(&broker, "mcp_list_tools", json!({ "selector": "math" })).await;
        let names = listed["tools"].as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap());
        (names.map(str::to_owned).collect::<Vec<_>>(), broker.diagnostics().len())
    };
    let both = || vec!["bad".to_owned(), "good".to_owned()];
    assert_eq!(listed(broker_of_a_bad_tool(|options| options)).await, (both(), 0));
    let none = || Pins::of_definitions([]);
    assert_eq!(listed(broker_of_a_bad_tool(move |options| options.pins(none()))).await, (vec![], 1));
    let warned = broker_of_a_bad_tool(move |options| options.pins(none()).pins_warn());
    assert_eq!(listed(warned).await, (both(), 1));
}
