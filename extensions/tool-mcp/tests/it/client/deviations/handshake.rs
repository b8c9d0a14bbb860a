//! Handshakes (kind K).

use serde_json::json;
use tool_mcp::client::McpToolSet;

use super::codes;
use crate::client::{config, fake::Fakes, lives::tool, names_of};

/// Connects to a server that answers `server/discover` with `discover` and `initialize` after the lines `before`.
async fn connect(discover: &str, initialize: &str, before: &[&str]) -> Result<McpToolSet, String> {
    let (builder, fakes) = Fakes::builder(config());
    let (discover, initialize) = (discover.to_owned(), initialize.to_owned());
    let before: Vec<_> = before.iter().map(|&line| line.to_owned()).collect();
    let server = tokio::spawn(async move {
        let mut fake = fakes.next().await;
        while let Some(request) = fake.message().await {
            let id = &request["id"];
            match request["method"].as_str() {
                Some("server/discover") => {
                    fake.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},{discover}}}"#)).await
                }
                Some("initialize") => {
                    for line in &before {
                        fake.line(line).await;
                    }
                    fake.line(&format!(r#"{{"jsonrpc":"2.0","id":{id},{initialize}}}"#)).await;
                }
                Some("tools/list") => fake.answer(&request, json!({ "tools": [tool("one")] })).await,
                _ => {}
            }
        }
    });
    let connected = builder.connect().await.map_err(|error| error.to_string());
    if connected.is_err() {
        server.abort();
    }
    connected
}

const NO_DISCOVER: &str = r#""error":{"code":-32601,"message":"?"}"#;
const INITIALIZE: &str = r#""result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}"#;

/// The revision on which the client and the server agree.
async fn revision(set: &McpToolSet) -> String {
    set.server_info().await.unwrap().protocol_version.to_string()
}

#[tokio::test]
async fn a_server_without_discovery_is_asked_to_initialize_whatever_it_answers() {
    for discover in [
        r#""result":{}"#,
        r#""result":null"#,
        r#""result":[]"#,
        r#""result":"ok""#,
        r#""result":{"supportedVersions":[],"capabilities":{}}"#,
        r#""result":{"supportedVersions":7,"capabilities":{}}"#,
        r#""result":{"supportedVersions":["2025-11-25"],"capabilities":{}}"#,
        r#""result":{"resultType":"complete","supportedVersions":["2025-06-18"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}"#,
        INITIALIZE,
        r#""error":"no such method""#,
        r#""error":{"code":"METHOD_NOT_FOUND"}"#,
        r#""error":null"#,
        r#""error":{"code":-32022,"message":"Unsupported","data":{"supported":["2025-11-25"]}}"#,
    ] {
        let set =
            connect(discover, INITIALIZE, &[]).await.unwrap_or_else(|error| panic!("{discover}: {error}"));
        assert_eq!(
            (names_of(&set).await, revision(&set).await),
            (vec!["one".to_owned()], "2025-11-25".to_owned()),
            "{discover}"
        );
    }
}

#[tokio::test]
async fn revisions_are_read_one_by_one() {
    for revisions in
        [json!(["2026-07-28", 7]), json!("2026-07-28"), json!([null, "2025-11-25", "2026-07-28", {}])]
    {
        let discover =
            json!({ "supportedVersions": revisions, "capabilities": [], "ttlMs": -1, "cacheScope": "world" });
        let set = connect(&format!(r#""result":{discover}"#), INITIALIZE, &[]).await.unwrap();
        assert_eq!(
            (revision(&set).await.as_str(), codes(&set)),
            ("2026-07-28", vec!["unreadable_handshake"])
        );
    }
    // A server of later revisions alone.
    let discover = r#""result":{"supportedVersions":["2099-01-01"],"capabilities":{}}"#;
    let error = connect(discover, INITIALIZE, &[]).await.unwrap_err();
    assert!(error.contains("2099-01-01"), "{error}");
}

#[tokio::test]
async fn messages_before_the_answer_to_the_handshake_do_not_end_it() {
    for line in [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
        r#"{"jsonrpc":"2.0","id":"r","method":"roots/list"}"#,
        r#"{"jsonrpc":"2.0","id":"s","method":"sampling/createMessage","params":{"messages":7}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/message","params":{}}"#,
        r#"{"jsonrpc":"2.0","method":7}"#,
        r#"{"jsonrpc":"2.0","id":99,"result":{}}"#,
        r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
        "{}",
        "starting",
    ] {
        let set =
            connect(NO_DISCOVER, INITIALIZE, &[line]).await.unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(names_of(&set).await, ["one"], "{line}");
    }
}

#[tokio::test]
async fn members_that_come_twice_or_in_depth_cost_themselves() {
    for (result, expected) in [
        (
            r#"{"protocolVersion":"2025-11-25","protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"x","version":"1"}}"#,
            "2025-06-18",
        ),
        (r#"{"protocolVersion":"2025-11-25","serverInfo":{}}"#, "2025-11-25"),
        (
            r#"{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":null,"subscribe":[]},"experimental":{"a":true}},"serverInfo":{"name":"x","version":"1","websiteUrl":7,"title":{}}}"#,
            "2025-11-25",
        ),
        (
            r#"{"protocolVersion":"2025-11-25","capabilities":{"TOOLS":{}},"serverInfo":[],"_meta":7,"instructions":["a"]}"#,
            "2025-11-25",
        ),
    ] {
        let set = connect(NO_DISCOVER, &format!(r#""result":{result}"#), &[])
            .await
            .unwrap_or_else(|error| panic!("{result}: {error}"));
        assert_eq!(
            (names_of(&set).await, revision(&set).await.as_str()),
            (vec!["one".to_owned()], expected),
            "{result}"
        );
    }
}

#[tokio::test]
async fn a_handshake_that_fails_names_the_reason_of_the_server() {
    for (initialize, reason) in [
        (
            r#""result":{"protocolVersion":20251125,"capabilities":{},"serverInfo":{"name":"x","version":"1"}}"#,
            "20251125",
        ),
        (r#""error":{}"#, "the server gave no message"),
        (r#""error":"the license has expired""#, "the license has expired"),
        (r#""result":null"#, "the answer to `initialize` is no object"),
    ] {
        let error = connect(NO_DISCOVER, initialize, &[]).await.unwrap_err();
        assert!(error.contains(reason), "{initialize}: {error}");
    }
}
