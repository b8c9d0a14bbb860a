//! Tools of a server as tools of the program.

use serde_json::json;
use tool_mcp::client::{ClientErrorKind, McpToolSet, Process, ServerConfig};
use tool_runtime::{prelude::*, toolset::ToolSetExt};

use super::{BOTH, call, config, connected, fake::Fakes, names_of, tools_of};

/// Adds two numbers.
#[tool(register = false, read_only, title = "Addition")]
fn add(a: i64, b: i64) -> i64 {
    a + b
}

/// Fails.
#[tool(register = false)]
fn fail() -> Result<(), ToolError> {
    Err(ToolError::failed("boom"))
}

fn tools() -> Registry {
    Registry::builder().tool::<add>().tool::<fail>().build().unwrap()
}

#[tokio::test]
async fn tools_of_a_server_are_listed_and_called() {
    for version in BOTH {
        let set = connected(tools(), &version).await;
        let listed = tools_of(&set).await;
        let definition = listed[0].definition();
        assert_eq!((definition.name().as_str(), definition.title()), ("add", "Addition"));
        assert_eq!(definition.description(), "Adds two numbers.");
        // M05
        assert_eq!(definition.input_schema(), tools().get("add").unwrap().definition().input_schema());
        // M14
        assert_eq!(definition.metadata().read_only, Some(true));
        assert_eq!(definition.metadata().destructive, None);
        assert_eq!(listed[1].definition().metadata().read_only, None);

        let result = call(set.clone(), "add", json!({ "a": 2, "b": 3 })).await;
        // M15
        assert_eq!((result.text().as_ref(), result.is_error()), ("5", false));
        // M16
        let result = call(set.clone(), "fail", json!({})).await;
        assert_eq!((result.text().as_ref(), result.is_error()), ("boom", true));
        // M21
        let result = call(set, "add", json!({ "a": 2 })).await;
        assert!(result.text().starts_with("Invalid arguments: /b"), "{}", result.text());
    }
}

#[tokio::test]
async fn a_prefix_is_shown_and_the_server_receives_the_raw_name() {
    let (builder, fakes) = Fakes::builder(config());
    let fake = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        fake.start("read_file").await;
        let request = fake.expect("tools/call").await;
        // M07
        assert_eq!(request["params"]["name"], "read_file");
        fake.answer(&request, json!({ "content": [{ "type": "text", "text": "done" }] })).await;
    });
    let set = builder.connect().await.unwrap().prefixed();
    assert_eq!(names_of(&set).await, ["remote__read_file"]);
    assert_eq!(call(set, "remote__read_file", json!({})).await.text(), "done");
    fake.await.unwrap();
}

#[tokio::test]
async fn connecting_fails_fast_and_a_lazy_toolset_connects_when_it_is_used() {
    let nowhere = ServerConfig::new("nowhere", Process::new("/nonexistent/program"));
    // M09
    let error = McpToolSet::connect(nowhere.clone()).await.unwrap_err();
    assert_eq!(error.kind(), ClientErrorKind::Connect);
    assert!(error.to_string().contains("`nowhere`"), "{error}");
    let set = McpToolSet::lazy(nowhere);
    assert!(set.call_raw("any", serde_json::Map::new()).await.is_err());

    let (builder, fakes) = Fakes::builder(config());
    let set = builder.lazy();
    assert_eq!(fakes.waiting(), 0);
    let fake = tokio::spawn(async move { fakes.next().await.start("one").await });
    assert_eq!(names_of(&set).await, ["one"]);
    fake.await.unwrap();
}

#[tokio::test]
async fn arguments_are_validated_before_anything_is_sent() {
    let (builder, fakes) = Fakes::builder(config());
    let schema = json!({ "type": "object", "properties": { "a": { "type": "integer" } }, "required": ["a"] });
    let fake = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        fake.initialize().await;
        fake.list(json!([{ "name": "one", "inputSchema": schema }])).await;
        // The first call that arrives is the valid one.
        let request = fake.expect("tools/call").await;
        fake.answer(&request, json!({ "content": [] })).await;
        request
    });
    let set = builder.connect().await.unwrap();
    let toolbox = tool_runtime::Toolbox::new();
    toolbox.add_toolset(set).unwrap();
    let tools = toolbox.snapshot(&RunContext::new()).await.unwrap().into_tools();
    let executor = Executor::new(tools);
    for (arguments, expected) in
        [("{}", "/a"), ("{\"a\":\"x\"}", "/a"), ("[1]", "object"), ("{\"a\":}", "JSON")]
    {
        let outcomes = executor.run(vec![ToolCall::new("one", arguments)]).await;
        let result = outcomes[0].result().unwrap();
        // M21
        assert!(result.is_error() && result.text().contains(expected), "{arguments}: {}", result.text());
    }
    let outcomes = executor.run(vec![ToolCall::new("one", "{\"a\":1}")]).await;
    assert!(!outcomes[0].result().unwrap().is_error());
    assert_eq!(fake.await.unwrap()["params"]["arguments"], json!({ "a": 1 }));
}
