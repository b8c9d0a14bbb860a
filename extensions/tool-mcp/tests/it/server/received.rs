//! Arguments reach the tool as received.

use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tool_mcp::server::McpServer;
use tool_runtime::{
    CancellationToken, Tool, ToolDefinition, ToolName,
    definition::Prepared,
    prelude::*,
    schema::{Arguments, InputSchema},
};

use super::{
    BOTH, Served,
    caller_tool::CallTool,
    initialize, modern, serve, sse,
    streams::{open, raw},
};

/// Returns the text of its arguments.
struct Text(ToolDefinition);

impl Tool for Text {
    fn definition(&self) -> &ToolDefinition {
        &self.0
    }

    fn prepare<'a>(&'a self, arguments: Arguments<'a>) -> Result<Prepared<'a>, ToolError> {
        Ok(Prepared::new(arguments, |arguments, _| {
            let text = arguments.as_str().to_owned();
            Box::pin(async move { Ok(ToolOutput::from(text)) })
        }))
    }
}

/// A server with the tools `text`, and `region`, whose parameter of that name is a header too.
fn server() -> McpServer {
    McpServer::new(tools()).max_request(100_000)
}

fn tools() -> Registry {
    let tool = |name: &'static str, schema: Value| {
        let schema = InputSchema::new(schema).unwrap();
        Text(ToolDefinition::new(ToolName::new(name).unwrap(), "Returns its arguments.", schema))
    };
    let region = json!({
        "type": "object", "properties": { "region": { "type": "string", "x-mcp-header": "Region" } }
    });
    let tools = Registry::builder()
        .add(tool("text", json!({ "type": "object" })))
        .add(tool("region", region))
        .add(CallTool::new())
        .build();
    tools.unwrap()
}

const EXACT: &str = r#"{ "n": 0.1234567890123456789012345678901, "m": 10000000000000000000000000 }"#;

/// A call of `tool` with `arguments`, and with `more` members after them.
fn call(version: &ProtocolVersion, tool: &str, arguments: &str, more: &str) -> String {
    let params = json!({ "name": tool, "arguments": "?" });
    let call = match version.has_initialize() {
        true => json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }),
        false => modern("tools/call", params),
    };
    call.to_string().replace("\"?\"", &format!("{arguments}{more}"))
}

fn text_of(answer: &Value) -> &str {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_default()
}

/// Posts `text`, in a session up to revision 2025-11-25.
async fn posted(served: &Served, version: &ProtocolVersion, text: String) -> reqwest::RequestBuilder {
    let shape = modern("tools/call", json!({ "name": "text" }));
    let request = served.post(&shape, version).body(text);
    if !version.has_initialize() {
        return request;
    }
    let opened = served.post(&initialize(), version).send().await.unwrap();
    request.header("mcp-session-id", opened.headers()["mcp-session-id"].clone())
}

#[tokio::test]
async fn numbers_keep_their_spelling() {
    let served = serve(server().http().unwrap()).await;
    for version in BOTH {
        let (mut client, _) = raw(server(), CancellationToken::new());
        open(&mut client, &version).await;
        client.write.write_all(format!("{}\n", call(&version, "text", EXACT, "")).as_bytes()).await.unwrap();
        assert_eq!(text_of(&client.receive().await), EXACT);

        let answer = posted(&served, &version, call(&version, "text", EXACT, "")).await.send().await.unwrap();
        assert_eq!(text_of(&sse(&answer.text().await.unwrap())), EXACT);
    }
}

#[tokio::test]
async fn calls_in_other_forms_are_read_by_the_sdk() {
    let served = serve(server().http().unwrap()).await;
    for version in BOTH {
        let (mut client, _) = raw(server(), CancellationToken::new());
        open(&mut client, &version).await;
        for (arguments, more, expected) in
            [(r#"{ "n": 1.50 }"#, r#", "unknown": 1"#, r#"{"n":1.5}"#), ("null", "", "{}")]
        {
            let text = call(&version, "text", arguments, more);
            client.write.write_all(format!("{text}\n").as_bytes()).await.unwrap();
            assert_eq!(text_of(&client.receive().await), expected);
            let answer = posted(&served, &version, text).await.send().await.unwrap();
            assert_eq!(text_of(&sse(&answer.text().await.unwrap())), expected);
        }
        // Which of the two arguments counts is not defined: neither does.
        let twice = call(&version, "text", "{}", r#", "arguments": { "a": 1 }"#);
        let answer = posted(&served, &version, twice.clone()).await.send().await.unwrap();
        let answer = answer.text().await.unwrap();
        assert!(!answer.contains("\"result\""), "{answer}");
        client.write.write_all(format!("{twice}\n").as_bytes()).await.unwrap();
        let answer = client.receive().await;
        assert!(answer["error"].is_object(), "{answer}");
    }
}

#[tokio::test]
async fn lines_of_all_kinds_are_answered_in_one_stream() {
    let [version, _] = BOTH;
    let (mut client, _) = raw(server(), CancellationToken::new());
    open(&mut client, &version).await;
    let plain = |id: u32| call(&version, "text", EXACT, "").replace("\"id\":1", &format!("\"id\":{id}"));
    let too_long = format!("{}{}", plain(9), " ".repeat(100_000));
    let ping = r#"{"jsonrpc":"2.0","id":4,"method":"ping"}"#;
    let after_mark = format!("\u{feff}{}", plain(7));
    let lines = [
        &plain(2),
        "",
        "junk",
        &too_long,
        ping,
        "\u{feff}",
        &format!("{}\r", plain(5)),
        &plain(6),
        &after_mark,
    ];
    let sent = lines.join("\n") + "\n";
    // Parts of a line arrive one by one.
    for part in sent.as_bytes().chunks(7_000) {
        client.write.write_all(part).await.unwrap();
    }
    let mut ids = Vec::new();
    for _ in 0..6 {
        ids.push(client.receive().await["id"].as_u64());
    }
    ids.sort_unstable();
    // The line that is no JSON is answered without an id.
    assert_eq!(ids, [None, Some(2), Some(4), Some(5), Some(6), Some(7)]);
}

#[tokio::test]
async fn headers_are_compared_with_arguments() {
    let [_, version] = BOTH;
    let served = serve(server().http().unwrap()).await;
    for (header, is_right) in [(Some("north"), true), (Some("south"), false), (None, false)] {
        let shape = modern("tools/call", json!({ "name": "region" }));
        let text = call(&version, "region", r#"{ "region": "north" }"#, "");
        let mut request = served.post(&shape, &version).body(text);
        if let Some(header) = header {
            request = request.header("mcp-param-region", header);
        }
        let answer = request.send().await.unwrap();
        assert_eq!(answer.status().is_success(), is_right, "{header:?}");
    }
}

#[tokio::test]
async fn headers_are_compared_with_arguments_of_a_deferred_tool() {
    let [_, version] = BOTH;
    let server = McpServer::new(tools().with_deferred(|tool| tool.name() == "region"));
    let served = serve(server.http().unwrap()).await;
    let listed = served.post(&modern("tools/list", json!({})), &version).send().await.unwrap();
    assert!(!listed.text().await.unwrap().contains("\"region\""));
    for (header, is_right) in [("north", true), ("south", false)] {
        let shape = modern("tools/call", json!({ "name": "region" }));
        let text = call(&version, "region", r#"{ "region": "north" }"#, "");
        let request = served.post(&shape, &version).body(text).header("mcp-param-region", header);
        assert_eq!(request.send().await.unwrap().status().is_success(), is_right, "{header}");
    }
}

#[tokio::test]
async fn a_call_whose_headers_would_not_be_compared_is_refused() {
    let [_, version] = BOTH;
    let redirected = |name: &str| {
        let arguments = json!({ "name": name, "arguments": { "region": "north" } });
        call(&version, "call_tool", &arguments.to_string(), "")
    };
    let served = serve(server().http().unwrap()).await;
    let shape = modern("tools/call", json!({ "name": "call_tool" }));
    let answer = |text: String| async {
        let answer = served.post(&shape, &version).body(text).send().await.unwrap();
        sse(&answer.text().await.unwrap())
    };
    let refused = answer(redirected("region")).await;
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    assert_eq!(text_of(&answer(redirected("text")).await), r#"{"region":"north"}"#);
    // There are no headers in a stream.
    let (mut client, _) = raw(server(), CancellationToken::new());
    open(&mut client, &version).await;
    client.write.write_all(format!("{}\n", redirected("region")).as_bytes()).await.unwrap();
    assert_eq!(text_of(&client.receive().await), r#"{"region":"north"}"#);
}
