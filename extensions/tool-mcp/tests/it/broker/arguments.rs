//! The four tools as a model sees them, and the arguments that they take.

use serde_json::{Value, json};
use tool_mcp::{
    broker::McpBroker,
    client::{Endpoint, McpServers, Process, ServerConfig},
};

use super::{ask, broker, error, value};
use crate::client::{fake::Fakes, tools_of};

/// A broker whose model selects servers by URL.
fn open() -> McpBroker {
    McpBroker::builder().allow_urls().build().unwrap()
}

#[tokio::test]
async fn each_tool_describes_itself_and_its_parameters() {
    let described = async |broker: &McpBroker| {
        let tools = tools_of(broker).await;
        let definitions = tools.iter().map(|tool| tool.definition());
        let describe = |definition: &tool_runtime::ToolDefinition| {
            (definition.description().to_owned(), definition.input_schema().as_value().clone())
        };
        definitions.map(describe).collect::<Vec<_>>()
    };
    let parameters = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let server = json!({ "type": "string", "description": "The name of the server." });
    let tool = json!({
        "type": "string", "description": "The selector of the tool, as `mcp_list_tools` prints it: `server.tool`.",
    });
    let arguments =
        json!({ "type": "object", "description": "The arguments of the tool; `{}` if it has none." });
    let names = json!({
        "type": "array", "items": { "type": "string" }, "minItems": 1, "description": "The exact names of the tools.",
    });
    let with_output =
        json!({ "type": "boolean", "description": "Whether the schemas of the results are returned, too." });
    let closed = described(&broker().0.build().unwrap()).await;
    let list_servers = "Lists the MCP servers that can be used, with their descriptions.";
    assert_eq!(closed[0], (list_servers.to_owned(), parameters(json!({}), json!([]))));
    assert!(closed[1].0.starts_with("Lists the tools of one MCP server: name, selector"), "{}", closed[1].0);
    assert_eq!(closed[1].1, parameters(json!({ "selector": server }), json!(["selector"])));
    assert!(closed[2].0.starts_with("Returns the JSON Schemas of the arguments"), "{}", closed[2].0);
    let inspect = json!({ "selector": server, "tools": names, "include_output_schema": with_output });
    assert_eq!(closed[2].1, parameters(inspect, json!(["selector", "tools"])));
    assert_eq!(closed[3].0, "Calls one tool of an MCP server and returns its result.");
    let call = json!({ "selector": tool, "arguments": arguments });
    assert_eq!(closed[3].1, parameters(call, json!(["selector", "arguments"])));

    // N09
    let open = described(&open()).await;
    assert_eq!(open[0], closed[0]);
    for (index, required) in [(1, json!(["selector"])), (3, json!(["selector", "arguments"]))] {
        let properties = &open[index].1["properties"];
        assert_eq!(properties["transport"]["enum"], json!(["http", "sse"]));
        assert_eq!(properties["headers"]["additionalProperties"], json!({ "type": "string" }));
        assert_eq!(open[index].1["required"], required);
    }
    assert_eq!(
        open[1].1["properties"]["selector"]["description"],
        "The name of the server, or its http(s) URL."
    );
    assert_eq!(open[3].1["properties"]["selector"], tool);
}

#[tokio::test]
async fn only_the_list_of_servers_is_read_only() {
    let broker = broker().0.build().unwrap();
    let read_only: Vec<_> =
        tools_of(&broker).await.iter().map(|tool| tool.definition().metadata().read_only).collect();
    assert_eq!(read_only, [Some(true), None, None, None]);
}

#[tokio::test]
async fn arguments_that_are_wrong_are_named_before_anything_is_connected() {
    let (builder, connections) = broker();
    let broker = builder.build().unwrap();
    for (tool, arguments, expected) in [
        ("mcp_list_tools", json!({}), "`mcp_list_tools` needs `selector`, a string"),
        ("mcp_list_tools", json!({ "selector": " " }), "`mcp_list_tools` needs `selector`, a string"),
        ("mcp_list_tools", json!({ "selector": 7 }), "`mcp_list_tools` needs `selector`, a string"),
        ("mcp_list_tools", json!({ "selector": null }), "`mcp_list_tools` needs `selector`, a string"),
        ("mcp_list_tools", json!({ "selector": "math", "x": 1 }), "`mcp_list_tools` has no parameter `x`"),
        ("mcp_list_servers", json!({ "selector": "math" }), "`mcp_list_servers` has no parameter `selector`"),
        ("mcp_inspect_tools", json!({ "selector": "math" }), "`tools` is a list of names of tools"),
        ("mcp_inspect_tools", json!({ "tools": ["add"] }), "`mcp_inspect_tools` needs `selector`, a string"),
        (
            "mcp_inspect_tools",
            json!({ "selector": "math", "tools": ["add", 7] }),
            "`tools` is a list of names",
        ),
        ("mcp_inspect_tools", json!({ "selector": "math", "tools": [] }), "`tools` is empty; pass the names"),
        ("mcp_inspect_tools", json!({ "selector": "math", "tools": [" "] }), "`tools` has a blank name"),
        ("mcp_call", json!({ "selector": "math.add", "arguments": [1] }), "`arguments` is an object with"),
        ("mcp_call", json!({ "selector": "math.add", "arguments": null }), "`arguments` is an object with"),
        ("mcp_call", json!({ "arguments": {} }), "`mcp_call` needs `selector`, a string"),
        (
            "mcp_call",
            json!({ "selector": "math.add", "arguments": {}, "a": 1 }),
            "`mcp_call` has no parameter `a`; the arguments of the tool belong into `arguments`",
        ),
        ("mcp_call", json!({ "selector": "math", "arguments": {} }), "the selector `math` names no tool"),
    ] {
        let refused = error(&broker, tool, arguments.clone()).await;
        assert!(refused.contains(expected), "{tool} {arguments}: {refused}");
    }
    let plain = error(&broker, "mcp_list_tools", json!({ "selector": "math", "x": 1 })).await;
    assert!(!plain.contains("belong"), "{plain}");
    assert_eq!(*connections.lock().unwrap(), 0);
    // A selector may have blanks around it, and without URLs, a transport and headers have no effect.
    let arguments = json!({ "selector": " math ", "transport": "sse", "headers": { "Cookie": "c" } });
    assert_eq!(value(&broker, "mcp_list_tools", arguments).await["tools"].as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn an_unknown_server_is_answered_with_those_that_are_known() {
    let refused = error(&broker().0.build().unwrap(), "mcp_list_tools", json!({ "selector": "other" })).await;
    assert!(refused.contains("there is no server `other`; known servers: `math`, `math.more`"), "{refused}");
    let none = McpBroker::builder().build().unwrap();
    let refused = error(&none, "mcp_list_tools", json!({ "selector": "other" })).await;
    assert!(refused.contains("there is no server `other`; known servers: none"), "{refused}");
    assert_eq!(value(&none, "mcp_list_servers", json!({})).await, json!({ "servers": [] }));
}

#[tokio::test]
async fn what_a_model_says_about_a_url_is_checked() {
    let gone = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = format!("http://{gone}/mcp");
    let asked = async |members: Value| {
        let mut arguments = json!({ "selector": url });
        arguments.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        error(&open(), "mcp_list_tools", arguments).await
    };
    for (members, expected) in [
        (json!({ "headers": { "X": 7 } }), "the header `X` is not a string"),
        (json!({ "headers": { "Cookie": 7 } }), "the header `Cookie` may not be set"),
        (
            json!({ "transport": "ws" }),
            "the transport `ws` is unknown; a server behind a URL has `http` or `sse`",
        ),
    ] {
        let refused = asked(members).await;
        assert!(refused.contains(expected), "{refused}");
    }
    for transport in
        [json!("http"), json!(" sse "), json!("streamable"), json!("streamable_http"), json!(""), json!(null)]
    {
        let refused = asked(json!({ "transport": transport, "headers": { "X": "1" } })).await;
        assert!(refused.contains("cannot connect to the MCP server"), "{transport}: {refused}");
    }
    // What is no text is no transport, and what is no object has no headers.
    let refused = asked(json!({ "transport": 7, "headers": ["Cookie"] })).await;
    assert!(!refused.contains("Cookie"), "{refused}");
    for (url, expected) in [
        ("http://h\\x/mcp", "the URL has a backslash, a blank or a control character"),
        ("http://h/a b", "the URL has a backslash, a blank or a control character"),
        ("http://h/\u{7}", "the URL has a backslash, a blank or a control character"),
        ("http://me@h/mcp", "the URL has a user or a password, which may not be set"),
    ] {
        let refused = error(&open(), "mcp_list_tools", json!({ "selector": url })).await;
        assert!(refused.contains(expected), "{url}: {refused}");
    }
    // An `@` behind the host is none.
    let refused = error(&open(), "mcp_list_tools", json!({ "selector": format!("{url}/@x?me@h#@") })).await;
    assert!(refused.contains("cannot connect"), "{refused}");
}

/// A broker of one server that answers its listing with `tools` and a call with `result`.
fn scripted(tools: Value, result: Value) -> McpBroker {
    McpBroker::builder()
        .server(ServerConfig::new("s", Endpoint::new("http://unused.invalid/mcp")))
        .client_options(move |target, options| {
            let (fake_options, fakes) = Fakes::builder(target.config.clone());
            drop(options);
            let (tools, result) = (tools.clone(), result.clone());
            tokio::spawn(async move {
                let mut fake = fakes.next().await;
                fake.initialize().await;
                fake.list(tools).await;
                while let Some(request) = fake.message().await {
                    if request["method"] == "tools/call" {
                        fake.answer(&request, result.clone()).await;
                    }
                }
            });
            Ok(fake_options)
        })
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_result_is_its_structured_value_or_its_content() {
    let tools = json!([{ "name": "t", "inputSchema": { "type": "object" } }]);
    let text = json!([{ "type": "text", "text": "a" }]);
    for (result, is_error, expected) in [
        (
            json!({ "content": text, "structuredContent": { "n": 1 } }),
            false,
            json!({ "structuredContent": { "n": 1 } }),
        ),
        (json!({ "content": text, "structuredContent": null }), false, json!({ "content": text })),
        (json!({ "content": text, "isError": false }), false, json!({ "content": text })),
        (json!({ "content": text, "isError": true }), true, json!({ "content": text, "isError": true })),
        (
            json!({ "content": [], "structuredContent": { "n": 1 }, "isError": true }),
            true,
            json!({ "structuredContent": { "n": 1 }, "isError": true }),
        ),
    ] {
        let broker = scripted(tools.clone(), result.clone());
        let read = ask(&broker, "mcp_call", json!({ "selector": "s.t", "arguments": {} })).await;
        // N14
        assert_eq!((read.is_error(), read.structured()), (is_error, Some(expected.clone())), "{result}");
        let structured = expected.get("structuredContent").is_some();
        assert_eq!(read.text() == expected.to_string(), structured, "{result}: {}", read.text());
    }
}

#[tokio::test]
async fn tools_are_listed_by_name_and_inspected_in_the_order_of_the_model() {
    let tools = json!([
        { "name": "b", "description": "B.", "inputSchema": { "type": "object" }, "outputSchema": { "type": "object" } },
        { "name": "a", "inputSchema": { "type": "object", "properties": { "x": {} } } },
    ]);
    let broker = scripted(tools, json!({ "content": [] }));
    let listed = value(&broker, "mcp_list_tools", json!({ "selector": "s" })).await;
    assert_eq!(
        listed,
        json!({ "tools": [
            { "name": "a", "selector": "s.a", "signature": "a(x?: any)", "hasOutputSchema": false },
            { "name": "b", "selector": "s.b", "signature": "b()", "hasOutputSchema": true, "description": "B." },
        ] })
    );
    let inspect = async |with_output: Value| {
        let arguments =
            json!({ "selector": "s", "tools": ["b", "a", "b"], "include_output_schema": with_output });
        value(&broker, "mcp_inspect_tools", arguments).await
    };
    let a = json!({ "name": "a", "selector": "s.a", "inputSchema": { "type": "object", "properties": { "x": {} } } });
    let mut b =
        json!({ "name": "b", "selector": "s.b", "inputSchema": { "type": "object" }, "description": "B." });
    for without in [json!(false), json!(null)] {
        assert_eq!(inspect(without).await, json!({ "tools": [b, a] }));
    }
    b["outputSchema"] = json!({ "type": "object" });
    assert_eq!(inspect(json!(true)).await, json!({ "tools": [b, a] }));
}

#[tokio::test]
async fn the_servers_of_a_file_are_servers_of_the_broker_but_for_disabled_ones() {
    let servers = |first: Value| {
        let file = json!({ "mcpServers": { "a": first, "b": { "command": "b", "disabled": true }, "c": { "command": "c" } } });
        McpBroker::builder().servers(&McpServers::parse(&file.to_string()).unwrap()).build()
    };
    let broker = servers(json!({ "url": "http://h/mcp" })).unwrap();
    // N02, N03
    assert_eq!(
        value(&broker, "mcp_list_servers", json!({})).await,
        json!({ "servers": [{ "name": "a", "transport": "http" }, { "name": "c", "transport": "stdio" }] })
    );
    let error = servers(json!({})).unwrap_err().to_string();
    assert!(error.contains("`a`") && error.contains("`command` or `url` is missing"), "{error}");
}

#[tokio::test]
async fn the_first_of_two_problems_of_servers_is_the_error() {
    let server = |name: &str, command: &str| ServerConfig::new(name, Process::new(command));
    let builder =
        McpBroker::builder().server(server("a", "")).server(server("b", "c")).server(server("b", "c"));
    let error = builder.build().unwrap_err().to_string();
    assert!(error.contains("`command` is empty"), "{error}");
}
