//! Parts of messages that cannot be read: each costs itself, and never the session.

use std::sync::Arc;

use rmcp::model::{Prompt, PromptArgument, ProtocolVersion, ResourceTemplate};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tool_mcp::server::{McpServer, PromptSet, ResourceSet};
use tool_runtime::{CancellationToken, Toolbox, context::Progress, output::ResourceBody, prelude::*};

use super::{
    BOTH, initialize, modern,
    requests::{Servers, request},
    serve, sse,
    streams::{open, raw},
};

const NOW: ProtocolVersion = ProtocolVersion::V_2026_07_28;
const BEFORE: ProtocolVersion = ProtocolVersion::V_2025_11_25;

/// Returns 5.
#[tool(register = false, long_running)]
fn five(cx: &ToolContext) -> Result<i64, ToolError> {
    cx.progress(Progress::new(1.0))?;
    Ok(5)
}

pub(super) fn server() -> McpServer {
    let resources = ResourceSet::new()
        .text("a:b", "a", "text")
        .template(ResourceTemplate::new("a://{x}", "x"), |_, _| async {
            Ok(ResourceBody::Text(String::new()))
        })
        .unwrap()
        .complete(|_, completing| vec![completing.value.to_owned()]);
    let argument = PromptArgument::new("topic").with_required(true);
    let prompts = PromptSet::new()
        .text(Prompt::new("five", None::<&str>, Some(vec![argument])), |arguments| arguments["topic"].clone())
        .complete(|_, completing| vec![completing.value.to_owned()]);
    let tools = Registry::builder().tool::<five>().build().unwrap();
    McpServer::new(Toolbox::from_registry(&tools)).resources(resources).prompts(prompts)
}

/// Sends `message` without the header for the revision, which a client does not know before its session is open.
async fn post_without_revision(servers: &Servers, message: &Value) -> String {
    let mut request = reqwest::Client::new()
        .post(&servers.http.url)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .body(message.to_string());
    if let Some(session) = &servers.session {
        request = request.header("mcp-session-id", session);
    }
    request.send().await.unwrap().text().await.unwrap()
}

#[tokio::test]
async fn parts_that_nothing_depends_on_are_left_out() {
    let of_client = |member: &str, value: Value| (format!("/params/clientInfo/{member}"), value);
    let of_capabilities = |member: &str, value: Value| (format!("/params/capabilities/{member}"), value);
    let mut failures = Vec::new();
    for (path, value) in [
        of_client("title", json!(7)),
        of_client("title", json!("")),
        of_client("description", json!(["a"])),
        of_client("websiteUrl", json!({})),
        of_client("icons", json!("icon.png")),
        of_client("icons", json!({})),
        of_client("icons", json!([7])),
        of_client("icons", json!([{ "src": "a", "sizes": "48x48" }])),
        of_client("icons", json!([{ "src": "a", "theme": "blue" }])),
        of_client("icons", json!([{ "sizes": [] }])),
        of_client("more", json!({ "a": [1] })),
        of_capabilities("roots", json!({ "listChanged": "yes" })),
        of_capabilities("roots", json!({ "listChanged": 1 })),
        of_capabilities("roots", json!(null)),
        of_capabilities("sampling", json!({ "tools": true, "context": [] })),
        of_capabilities("elicitation", json!({ "form": true, "url": "yes" })),
        of_capabilities("elicitation", json!({ "form": { "schemaValidation": "yes" } })),
        of_capabilities("experimental", json!({ "a": true, "b": {}, "c": [] })),
        of_capabilities("extensions", json!({ "a/b": "on" })),
        of_capabilities("more", json!({ "a": [1] })),
        ("/params/_meta".to_owned(), json!({ "progressToken": {}, "a": null })),
        ("/params/more".to_owned(), json!([7])),
        ("/params/protocolVersion".to_owned(), json!("2099-01-01")),
        ("/params/protocolVersion".to_owned(), json!("latest")),
        ("/params/protocolVersion".to_owned(), json!("")),
    ] {
        let mut servers = Servers::of(server, BEFORE, false).await;
        let mut message = initialize();
        let (parent, name) = path.rsplit_once('/').unwrap();
        message.pointer_mut(parent).unwrap()[name] = value;
        let line = {
            servers.write(&message.to_string()).await;
            servers.lines.receive().await
        };
        for answer in [line, sse(&post_without_revision(&servers, &message).await)] {
            if answer["id"] != 0 || answer["result"]["protocolVersion"] != "2025-11-25" {
                failures.push(format!("{message}\n    {answer}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[tokio::test]
async fn a_progress_token_of_another_type_costs_the_progress() {
    for version in BOTH {
        let mut servers = Servers::of(server, version.clone(), true).await;
        for (token, has_progress) in [
            (json!("a"), true),
            (json!(7), true),
            (json!(null), false),
            (json!(true), false),
            (json!(1.5), false),
            (json!({ "a": 1 }), false),
            (json!([7]), false),
        ] {
            let mut call = request(&version, "tools/call", json!({ "name": "five", "arguments": {} }));
            call["params"]["_meta"]["progressToken"] = token.clone();
            call["params"]["_meta"]["io.modelcontextprotocol/logLevel"] = json!("loud");
            servers.write(&call.to_string()).await;
            let (status, body) = servers.post(&call.to_string(), "tools/call").await;
            assert_eq!(status, 200, "{token}");
            let mut lines = vec![servers.lines.receive().await];
            while lines.last().unwrap()["id"] != 7 {
                lines.push(servers.lines.receive().await);
            }
            assert_eq!(lines.pop().unwrap()["result"]["content"][0]["text"], "5", "{token}");
            assert_eq!(lines.iter().any(|line| line["method"] == "notifications/progress"), has_progress);
            assert_eq!(sse(&body)["result"]["content"][0]["text"], "5", "{token} {body}");
            assert_eq!(body.contains("notifications/progress"), has_progress, "{token} {body}");
        }
    }
}

#[tokio::test]
async fn an_id_is_a_text_or_an_integer() {
    for version in BOTH {
        let mut servers = Servers::of(server, version.clone(), true).await;
        let list = request(&version, "tools/list", json!({})).to_string();
        for (id, expected) in [
            (r#""""#, Some(json!(""))),
            (r#""a\u0062""#, Some(json!("ab"))),
            (r#""7""#, Some(json!("7"))),
            ("0", Some(json!(0))),
            ("-5", Some(json!(-5))),
            ("9223372036854775807", Some(json!(i64::MAX))),
            // The same number.
            ("7.0", Some(json!(7))),
            ("1e2", Some(json!(100))),
            ("1.5", None),
            ("9223372036854775808", None),
            ("1e400", None),
            ("null", None),
            ("true", None),
            ("{}", None),
            ("[7]", None),
            (r#""\ud800""#, None),
        ] {
            let text = list.replace(r#""id":7"#, &format!(r#""id":{id}"#));
            let (answers, status) = servers.answers(&text, "tools/list").await;
            for answer in answers {
                match &expected {
                    Some(expected) => {
                        assert_eq!((&answer["id"], status), (expected, 200), "{id} {answer}");
                        assert!(answer["result"]["tools"].is_array(), "{answer}");
                    }
                    None => {
                        assert_eq!(
                            (&answer["error"]["code"], status),
                            (&json!(-32600), 400),
                            "{id} {answer}"
                        );
                        assert!(answer["id"].is_null(), "{id} {answer}");
                        assert!(
                            answer["error"]["message"].as_str().unwrap().contains("`id`"),
                            "{id} {answer}"
                        );
                    }
                }
            }
        }
    }
}

#[tokio::test]
async fn notifications_and_answers_that_cannot_be_read_have_no_answer() {
    let messages = [
        // Of the protocol, with params of another kind.
        (r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":"a"}"#, 202),
        (r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":null}"#, 202),
        (r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":{"_meta":7}}"#, 202),
        (r#"{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":[7]}"#, 202),
        (r#"{"jsonrpc":"2.0","method":"notifications/cancelled"}"#, 202),
        (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}"#, 202),
        (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99,"reason":7}}"#, 202),
        (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.5}}"#, 400),
        (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#, 400),
        (r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":"a"}"#, 400),
        (
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":[],"progress":"a"}}"#,
            202,
        ),
        // Requests without an id, and methods that are none.
        (r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"five"}}"#, 202),
        (r#"{"jsonrpc":"2.0","method":"notifications/guess","params":[1]}"#, 202),
        (r#"{"jsonrpc":"2.0","method":""}"#, 202),
        // Answers to no question.
        (r#"{"jsonrpc":"2.0","id":99,"result":{}}"#, 202),
        (r#"{"jsonrpc":"2.0","id":"a","result":7}"#, 202),
        (r#"{"jsonrpc":"2.0","id":99,"error":"no"}"#, 202),
        (r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no"}}"#, 400),
        (r#"{"jsonrpc":"2.0","id":1.5,"result":{}}"#, 400),
        (r#"{"jsonrpc":"2.0","result":{}}"#, 400),
    ];
    let mut failures = Vec::new();
    for version in BOTH {
        let mut servers = Servers::of(server, version.clone(), true).await;
        let list = request(&version, "tools/list", json!({})).to_string();
        if !version.has_initialize() {
            servers.answers(&list, "tools/list").await;
        }
        for (text, status) in messages {
            servers.write(text).await;
            let next = servers.answers(&list, "tools/list").await.0;
            if next.iter().any(|it| it["id"] != 7 || !it["result"]["tools"].is_array()) {
                failures.push(format!("{version} {text}\n    {next:?}"));
            }
            let method = serde_json::from_str::<Value>(text).unwrap()["method"]
                .as_str()
                .unwrap_or_default()
                .to_owned();
            let (received, body) = servers.post(text, &method).await;
            if version.has_initialize() && received != status {
                failures.push(format!("{version} {received} {text}\n    {body}"));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[tokio::test]
async fn a_notification_with_an_id_is_a_request_that_does_not_exist() {
    for version in BOTH {
        let mut servers = Servers::of(server, version.clone(), true).await;
        for method in ["notifications/initialized", "notifications/cancelled", "notifications/guess"] {
            let text = request(&version, method, json!({})).to_string();
            for answer in servers.answers(&text, method).await.0 {
                assert_eq!(
                    (&answer["id"], &answer["error"]["code"]),
                    (&json!(7), &json!(-32601)),
                    "{answer}"
                );
            }
        }
    }
}

#[tokio::test]
async fn messages_before_the_first_request_are_left_out() {
    for version in BOTH {
        let (mut client, _served) = raw(server(), CancellationToken::new());
        for message in [
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }),
            json!({ "jsonrpc": "2.0", "id": 1, "result": {} }),
            json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": 1, "message": "no" } }),
        ] {
            client.send(&message).await;
        }
        let early = [
            (json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }), None),
            (json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" }), Some(-32602)),
            (modern("server/discover", json!({})), None),
        ];
        for (message, code) in early {
            client.send(&message).await;
            client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/guess" })).await;
            let answer = client.receive().await;
            assert_eq!((&answer["id"], answer["error"]["code"].as_i64()), (&message["id"], code), "{answer}");
        }
        open(&mut client, &version).await;
        client.send(&request(&version, "tools/list", json!({}))).await;
        assert!(client.receive().await["result"]["tools"].is_array());
    }
}

#[tokio::test]
async fn a_session_is_opened_once() {
    let mut servers = Servers::of(server, BEFORE, true).await;
    for version in ["2025-11-25", "2025-03-26", "2026-07-28", "2099-01-01"] {
        let mut again = initialize();
        again["id"] = json!(7);
        again["params"]["protocolVersion"] = json!(version);
        again["params"]["capabilities"] = json!({ "elicitation": {} });
        servers.write(&again.to_string()).await;
        let line = servers.lines.receive().await;
        for answer in [line, sse(&post_without_revision(&servers, &again).await)] {
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32600)), "{answer}");
        }
        // The session has the revision that it was opened with: a later one has no structured value in an object.
        let call = request(&BEFORE, "tools/call", json!({ "name": "five", "arguments": {} }));
        for answer in servers.answers(&call.to_string(), "tools/call").await.0 {
            assert_eq!(answer["result"]["structuredContent"], json!({ "result": 5 }), "{answer}");
        }
    }
}

#[derive(Default)]
struct Gate {
    started: Notify,
    go: Notify,
}

/// Waits.
#[tool(register = false, concurrency_safe)]
async fn wait(gate: &Gate) -> &'static str {
    gate.started.notify_one();
    gate.go.notified().await;
    "done"
}

#[tokio::test]
async fn an_id_of_a_request_that_is_not_answered_yet_is_refused() {
    let gate = Arc::new(Gate::default());
    let tools = Registry::builder().tool::<wait>().provide_shared(Arc::clone(&gate)).build().unwrap();
    let is_refused = |answer: &Value| {
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32600)), "{answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains("id of its own"), "{answer}");
    };
    for version in BOTH {
        let call = request(&version, "tools/call", json!({ "name": "wait", "arguments": {} }));
        let (mut client, _served) = raw(McpServer::new(tools.clone()), CancellationToken::new());
        open(&mut client, &version).await;
        client.send(&call).await;
        gate.started.notified().await;
        client.send(&call).await;
        is_refused(&client.receive().await);
        gate.go.notify_one();
        assert_eq!(client.receive().await["result"]["content"][0]["text"], "done");
        // It may be used again, also after a cancellation, which has no answer.
        client.send(&call).await;
        gate.started.notified().await;
        let cancelled =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 7 } });
        client.send(&cancelled).await;
        client.send(&request(&version, "tools/list", json!({}))).await;
        let answer = client.receive().await;
        assert!(answer["id"] == 7 && answer["result"].is_object(), "{answer}");
    }

    let served = serve(McpServer::new(tools).http().unwrap()).await;
    let opened = served.post(&initialize(), &BEFORE).send().await.unwrap();
    let session = opened.headers()["mcp-session-id"].clone();
    let call = request(&BEFORE, "tools/call", json!({ "name": "wait", "arguments": {} }));
    let post = || served.post(&call, &BEFORE).header("mcp-session-id", session.clone()).send();
    let first = tokio::spawn(post());
    gate.started.notified().await;
    let second = post().await.unwrap();
    assert_eq!(second.status(), 400);
    is_refused(&serde_json::from_str(&second.text().await.unwrap()).unwrap());
    gate.go.notify_one();
    let answer = sse(&first.await.unwrap().unwrap().text().await.unwrap());
    assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    let third = tokio::spawn(post());
    gate.started.notified().await;
    gate.go.notify_one();
    assert_eq!(sse(&third.await.unwrap().unwrap().text().await.unwrap())["id"], 7);
    // From revision 2026-07-28 on, requests over HTTP have nothing in common.
    let call = request(&NOW, "tools/call", json!({ "name": "wait", "arguments": {} }));
    let both = [served.post(&call, &NOW).send(), served.post(&call, &NOW).send()].map(tokio::spawn);
    for _ in &both {
        gate.started.notified().await;
        gate.go.notify_one();
    }
    for answer in both {
        let answer = sse(&answer.await.unwrap().unwrap().text().await.unwrap());
        assert_eq!(answer["result"]["content"][0]["text"], "done", "{answer}");
    }
}

#[tokio::test]
async fn changes_reach_a_client_whose_notification_had_other_params() {
    let tools = Toolbox::from_registry(&Registry::builder().tool::<five>().build().unwrap());
    let (mut client, _served) = raw(McpServer::new(tools.clone()), CancellationToken::new());
    client.send(&initialize()).await;
    client.receive().await;
    client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized", "params": "ready" })).await;
    client.send(&request(&BEFORE, "ping", json!({}))).await;
    assert_eq!(client.receive().await["id"], 7);
    tools.remove("five");
    assert_eq!(client.receive().await["method"], "notifications/tools/list_changed");
}
