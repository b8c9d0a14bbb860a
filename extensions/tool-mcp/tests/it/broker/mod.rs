//! The broker before servers in memory, as child processes and over HTTP.

mod arguments;
mod filters;
mod hooks;
mod urls;

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::{Value, json};
use tool_mcp::{
    broker::{BrokerPhase, McpBroker, McpBrokerBuilder},
    client::{Process, ServerConfig},
    server::McpServer,
};
use tool_runtime::{CancellationToken, ToolResult, Toolbox, prelude::*, toolset::NamedTools};

use crate::client::tools_of;

/// Adds two numbers.
#[tool(register = false, read_only)]
fn add(a: f64, b: f64) -> f64 {
    a + b
}

/// Fails.
#[tool(register = false, destructive, name = "fail-now")]
fn fail(reason: Option<String>) -> Result<(), ToolError> {
    Err(ToolError::failed(reason.unwrap_or_else(|| "boom".to_owned())))
}

/// Returns text.
#[tool(register = false)]
fn text() -> &'static str {
    "plain"
}

fn tools() -> Registry {
    Registry::builder().tool::<add>().tool::<fail>().tool::<text>().build().unwrap()
}

/// A broker of the servers `math` and `math.more`, and the number of connections that it has made.
pub(crate) fn broker() -> (McpBrokerBuilder, Arc<Mutex<usize>>) {
    let connections = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&connections);
    let server = McpServer::new(tools());
    let builder = McpBroker::builder()
        .server(ServerConfig::new(" math ", Process::new("unused")).description("Numbers."))
        .server(ServerConfig::new("math.more", Process::new("unused")))
        .client_options(move |_, options| {
            let (server, counted) = (server.clone(), Arc::clone(&counted));
            Ok(options.over(move || {
                *counted.lock().unwrap() += 1;
                let (near, far) = tokio::io::duplex(64 * 1024);
                let (read, write) = tokio::io::split(far);
                tokio::spawn(server.clone().serve(read, write, CancellationToken::new()));
                async { Ok(tokio::io::split(near)) }
            }))
        });
    (builder, connections)
}

/// Calls a tool of the broker as a model does.
pub(crate) async fn ask(broker: &McpBroker, tool: &str, arguments: Value) -> ToolResult {
    let toolbox = Toolbox::new();
    toolbox.add_toolset(broker.clone()).unwrap();
    let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
    let outcomes = Executor::new(tools).run(vec![ToolCall::new(tool, arguments)]).await;
    outcomes[0].result().unwrap().clone()
}

/// The value of a result, which is no error.
pub(crate) async fn value(broker: &McpBroker, tool: &str, arguments: Value) -> Value {
    let result = ask(broker, tool, arguments).await;
    assert!(!result.is_error(), "{}", result.text());
    result.structured().unwrap()
}

/// The text of a result, which is an error.
pub(crate) async fn error(broker: &McpBroker, tool: &str, arguments: Value) -> String {
    let result = ask(broker, tool, arguments).await;
    assert!(result.is_error(), "{}", result.text());
    result.text().into_owned()
}

#[tokio::test]
async fn a_broker_has_four_tools_with_schemas() {
    let broker = broker().0.build().unwrap();
    assert_eq!(tool_runtime::ToolSet::name(&broker), "mcp");
    let tools = tools_of(&broker).await;
    let names: Vec<_> = tools.iter().map(|tool| tool.definition().name().as_str()).collect();
    // N01
    assert_eq!(names, ["mcp_list_servers", "mcp_list_tools", "mcp_inspect_tools", "mcp_call"]);
    let required = [
        ("servers", json!(["name", "transport"])),
        ("tools", json!(["name", "selector", "signature", "hasOutputSchema"])),
        ("tools", json!(["name", "selector", "inputSchema"])),
    ];
    for (tool, (list, required)) in tools.iter().zip(required) {
        let schema = tool.definition().output_schema().unwrap().as_value();
        assert_eq!((&schema["type"], &schema["required"]), (&json!("object"), &json!([list])));
        assert_eq!(schema["properties"][list]["type"], "array");
        assert_eq!(schema["properties"][list]["items"]["required"], required);
    }
    let schema = tools[3].definition().output_schema().unwrap().as_value();
    let members = schema["properties"].as_object().unwrap().keys();
    let mut members: Vec<_> = members.map(String::as_str).collect();
    members.sort();
    assert_eq!(
        (&schema["type"], members),
        (&json!("object"), vec!["content", "isError", "structuredContent"])
    );
    assert_eq!(broker.tools().len(), 4);
    let call = tools[3].definition();
    assert_eq!(call.input_schema().as_value()["required"], json!(["selector", "arguments"]));
    // N09
    assert_eq!(call.input_schema().as_value()["properties"].get("headers"), None);
    // N16
    assert_eq!(call.metadata(), &tool_runtime::definition::Metadata::default());
}

#[test]
fn servers_have_names_of_their_own_and_valid_configurations() {
    let check = |first: &str, second: &str, expected: &str| {
        let server = |name: &str| ServerConfig::new(name, Process::new("c"));
        let error = McpBroker::builder().server(server(first)).server(server(second)).build().unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    };
    // N02
    check(" a ", "a", "two servers of this name");
    check("a", "  ", "the name is empty");
    let wrong = McpBroker::builder().server(ServerConfig::new("a", Process::new(""))).build();
    assert!(wrong.unwrap_err().to_string().contains("`command` is empty"));
}

#[tokio::test]
async fn servers_are_listed_without_a_connection() {
    let (builder, connections) = broker();
    let broker = builder.build().unwrap();
    // N03
    assert_eq!(
        value(&broker, "mcp_list_servers", json!({})).await,
        json!({ "servers": [
            { "name": "math", "transport": "stdio", "description": "Numbers." },
            { "name": "math.more", "transport": "stdio" },
        ] })
    );
    assert_eq!(*connections.lock().unwrap(), 0);
}

#[tokio::test]
async fn tools_are_listed_in_one_line_each() {
    let broker = broker().0.build().unwrap();
    let listed = value(&broker, "mcp_list_tools", json!({ "selector": "math.more" })).await;
    // N04
    assert_eq!(
        listed,
        json!({ "tools": [
            { "name": "add", "selector": "math.more.add", "signature": "add(a: number, b: number) -> number",
              "hasOutputSchema": true, "description": "Adds two numbers." },
            { "name": "fail-now", "selector": "math.more.fail-now", "signature": "fail-now(reason?: string)",
              "hasOutputSchema": false, "description": "Fails." },
            { "name": "text", "selector": "math.more.text", "signature": "text()",
              "hasOutputSchema": false, "description": "Returns text." },
        ] })
    );
    let unknown = error(&broker, "mcp_list_tools", json!({ "selector": "maths" })).await;
    assert!(unknown.contains("`math`, `math.more`"), "{unknown}");
}

#[tokio::test]
async fn schemas_of_chosen_tools_are_inspected() {
    let broker = broker().0.build().unwrap();
    let inspect = |tools: Value| json!({ "selector": "math", "tools": tools });
    let tools = value(&broker, "mcp_inspect_tools", inspect(json!(["text", "add", "text"]))).await;
    // N05
    assert_eq!(tools["tools"].as_array().unwrap().len(), 2);
    assert_eq!(tools["tools"][1]["inputSchema"]["required"], json!(["a", "b"]));
    assert_eq!(tools["tools"][1]["selector"], "math.add");
    assert_eq!(tools["tools"][1].get("outputSchema"), None);
    let mut arguments = inspect(json!(["add"]));
    arguments["include_output_schema"] = true.into();
    assert!(value(&broker, "mcp_inspect_tools", arguments).await["tools"][0]["outputSchema"].is_object());
    let missing = error(&broker, "mcp_inspect_tools", inspect(json!(["add", "nope", "Add"]))).await;
    assert!(missing.contains("`nope`, `Add`") && !missing.contains("`add`"), "{missing}");
    for (tools, expected) in [(json!([]), "empty"), (json!(["add", " "]), "blank"), (json!("add"), "a list")]
    {
        let refused = error(&broker, "mcp_inspect_tools", inspect(tools)).await;
        assert!(refused.contains(expected), "{refused}");
    }
}

#[tokio::test]
async fn a_tool_is_called_once_over_a_connection_of_its_own() {
    let (builder, connections) = broker();
    let broker = builder.build().unwrap();
    let call = |selector: &str, arguments: Value| json!({ "selector": selector, "arguments": arguments });
    // N14
    let added = value(&broker, "mcp_call", call("math.add", json!({ "a": 1, "b": 2 }))).await;
    assert_eq!(added, json!({ "structuredContent": 3.0 }));
    let failed = ask(&broker, "mcp_call", call("math.more.fail-now", json!({ "reason": null }))).await;
    assert!(failed.is_error() && failed.text().contains("boom"), "{}", failed.text());
    assert_eq!(failed.structured().unwrap()["isError"], true);
    // N15
    assert_eq!(*connections.lock().unwrap(), 2);

    // N06
    let missing = error(&broker, "mcp_call", call("math.add", json!({ "a": 1 }))).await;
    assert!(missing.contains("misses `b`") && !missing.contains("`a`"), "{missing}");
    let null = error(&broker, "mcp_call", call("math.add", json!({ "a": 1, "b": null }))).await;
    assert!(!null.contains("misses"), "{null}");
    let none = error(&broker, "mcp_call", json!({ "selector": "math.text" })).await;
    assert!(none.contains("pass `{}`"), "{none}");
    let beside = error(&broker, "mcp_call", json!({ "selector": "math.add", "arguments": {}, "a": 1 })).await;
    assert!(beside.contains("belong into `arguments`"), "{beside}");
    let unknown = error(&broker, "mcp_call", call("math.subtract", json!({}))).await;
    assert!(unknown.contains("no tool `subtract`"), "{unknown}");
}

/// The number of calls that reached the server.
#[derive(Default)]
struct Calls(AtomicUsize);

/// Counts its calls.
#[tool(register = false)]
fn count(calls: &Calls, step: u64) -> u64 {
    calls.0.fetch_add(1, Ordering::Relaxed);
    step
}

#[tokio::test]
async fn each_call_of_the_model_is_one_call_at_the_server_and_ends_its_connection() {
    let calls = Arc::new(Calls::default());
    let counting = Registry::builder().tool::<count>().provide_shared(Arc::clone(&calls)).build().unwrap();
    let server = McpServer::new(counting);
    let (ends, mut ended) = tokio::sync::mpsc::unbounded_channel();
    let broker = McpBroker::builder()
        .server(ServerConfig::new("counts", Process::new("unused")))
        .client_options(move |_, options| {
            let (server, ends) = (server.clone(), ends.clone());
            Ok(options.over(move || {
                let (near, far) = tokio::io::duplex(64 * 1024);
                let (read, write) = tokio::io::split(far);
                let serving = server.clone().serve(read, write, CancellationToken::new());
                let ends = ends.clone();
                tokio::spawn(async move {
                    let _ = serving.await;
                    let _ = ends.send(());
                });
                async { Ok(tokio::io::split(near)) }
            }))
        })
        .build()
        .unwrap();
    let call = |arguments: Value| json!({ "selector": "counts.count", "arguments": arguments });
    let count = || calls.0.load(Ordering::Relaxed);
    // N06
    for arguments in [json!({}), json!({ "steps": 1 })] {
        let refused = error(&broker, "mcp_call", call(arguments)).await;
        assert!(refused.contains("misses `step`"), "{refused}");
    }
    let none = error(&broker, "mcp_call", json!({ "selector": "counts.count" })).await;
    assert!(none.contains("pass `{}`"), "{none}");
    assert_eq!(count(), 0);
    for expected in 1..=2 {
        value(&broker, "mcp_call", call(json!({ "step": 1 }))).await;
        assert_eq!(count(), expected);
    }
    value(&broker, "mcp_list_tools", json!({ "selector": "counts" })).await;
    // N15: five operations had a connection, and the server saw the end of each.
    for _ in 0..5 {
        ended.recv().await.unwrap();
    }
    assert!(ended.try_recv().is_err());
}

#[tokio::test]
async fn options_may_refuse_a_connection_and_a_panic_is_an_error() {
    for panics in [false, true] {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&seen);
        let broker = McpBroker::builder()
            .server(ServerConfig::new("a", Process::new("/nonexistent")))
            .client_options(move |target, _| {
                assert!(!panics, "a hook of the program");
                all.lock().unwrap().push((
                    target.phase,
                    target.server.map(str::to_owned),
                    target.tool.map(str::to_owned),
                ));
                Err(ToolError::failed("not today"))
            })
            .build()
            .unwrap();
        // N13
        let expected = if panics { "panicked" } else { "not today" };
        for (tool, arguments) in [
            ("mcp_list_tools", json!({ "selector": "a" })),
            ("mcp_inspect_tools", json!({ "selector": "a", "tools": ["t"] })),
            ("mcp_call", json!({ "selector": "a.t", "arguments": {} })),
        ] {
            let refused = error(&broker, tool, arguments).await;
            assert!(refused.contains(expected), "{refused}");
        }
        if !panics {
            let server = Some("a".to_owned());
            assert_eq!(
                *seen.lock().unwrap(),
                [
                    (BrokerPhase::ListTools, server.clone(), None),
                    (BrokerPhase::InspectTools, server.clone(), None),
                    (BrokerPhase::CallTool, server, Some("t".to_owned())),
                ]
            );
        }
    }
}

#[tokio::test]
async fn a_broker_and_a_toolset_are_used_together() {
    let registry = tools();
    let toolbox = Toolbox::new();
    toolbox.add_toolset(broker().0.build().unwrap()).unwrap();
    toolbox.add_toolset(NamedTools::new("own", [Arc::clone(registry.get("add").unwrap())])).unwrap();
    let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
    // N16
    assert_eq!(tools.definitions().len(), 5);
}
