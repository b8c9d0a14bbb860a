//! Requests of a wrong form are answered with their id, the code of their mistake and the member that is wrong.

use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tool_mcp::server::McpServer;
use tool_runtime::{CancellationToken, prelude::*};

use super::{
    BOTH, Served, initialize, modern, serve, sse,
    streams::{Raw, open, raw},
};

/// Returns 5.
#[tool(register = false)]
fn five() -> i64 {
    5
}

fn server() -> McpServer {
    McpServer::new(Registry::builder().tool::<five>().build().unwrap())
}

/// A server over lines, and one over HTTP, each with a client.
pub(super) struct Servers {
    pub(super) lines: Raw,
    pub(super) http: Served,
    pub(super) session: Option<String>,
    version: ProtocolVersion,
}

impl Servers {
    /// `is_open` opens the sessions of a revision that has them.
    async fn start(version: ProtocolVersion, is_open: bool) -> Self {
        Self::of(server, version, is_open).await
    }

    /// Starts servers that `server` returns.
    pub(super) async fn of(server: fn() -> McpServer, version: ProtocolVersion, is_open: bool) -> Self {
        let (lines, _) = raw(server(), CancellationToken::new());
        let http = serve(server().http().unwrap()).await;
        let mut it = Self { lines, http, session: None, version };
        if is_open && it.version.has_initialize() {
            open(&mut it.lines, &it.version).await;
            let opened = it.http.post(&initialize(), &it.version).send().await.unwrap();
            it.session = Some(opened.headers()["mcp-session-id"].to_str().unwrap().to_owned());
        }
        it
    }

    /// Sends `text` to both, and returns both answers, with the status over HTTP.
    pub(super) async fn answers(&mut self, text: &str, method: &str) -> ([Value; 2], u16) {
        self.write(text).await;
        let line = self.lines.receive().await;
        let (status, body) = self.post(text, method).await;
        ([line, sse(&body)], status)
    }

    /// Writes a line.
    pub(super) async fn write(&mut self, text: &str) {
        self.lines.write.write_all(format!("{text}\n").as_bytes()).await.unwrap();
    }

    /// Sends `text` over HTTP, and returns the status and the body.
    pub(super) async fn post(&self, text: &str, method: &str) -> (u16, String) {
        let headers = json!({ "method": method, "params": { "name": "five", "uri": "a:b", "taskId": "a" } });
        let mut request = self.http.post(&headers, &self.version).body(text.to_owned());
        if let Some(session) = &self.session {
            request = request.header("mcp-session-id", session);
        }
        let answer = request.send().await.unwrap();
        (answer.status().as_u16(), answer.text().await.unwrap())
    }
}

/// A request `method` with the id 7 and `params`, in the revision `version`.
pub(super) fn request(version: &ProtocolVersion, method: &str, params: Value) -> Value {
    let mut request = match version.has_initialize() || !params.is_object() {
        true => json!({ "jsonrpc": "2.0", "method": method, "params": params }),
        false => modern(method, params),
    };
    request["id"] = json!(7);
    request
}

#[tokio::test]
async fn params_of_a_wrong_form_name_the_member() {
    for version in BOTH {
        let mut servers = Servers::start(version.clone(), true).await;
        for (method, params, member) in [
            ("tools/call", json!({ "arguments": {} }), "`params.name` is required"),
            ("tools/call", json!({ "name": null }), "`params.name` is required"),
            ("tools/call", json!({ "name": 5 }), "`params.name` must be a text, but is a number"),
            (
                "tools/call",
                json!({ "name": "five", "arguments": [1] }),
                "`params.arguments` must be an object, but is a list",
            ),
            (
                "tools/call",
                json!({ "name": "five", "arguments": "{}" }),
                "`params.arguments` must be an object, but is a text",
            ),
            ("tools/call", json!({ "name": "five", "arguments": 5 }), "`params.arguments`"),
            ("tools/call", json!([1]), "`params` must be an object, but is a list"),
            ("tools/call", json!("five"), "`params` must be an object, but is a text"),
            ("tools/call", json!([]), "`params.name` is required"),
            ("tools/list", json!({ "cursor": 5 }), "`params.cursor` must be a text, but is a number"),
            ("tools/list", json!("x"), "`params`"),
            ("resources/read", json!({}), "`params.uri` is required"),
            ("prompts/get", json!({ "name": "five", "arguments": "a" }), "`params.arguments`"),
            ("completion/complete", json!({ "ref": {} }), "`params.argument` is required"),
        ] {
            let text = request(&version, method, params).to_string();
            let (answers, status) = servers.answers(&text, method).await;
            assert_eq!(status, 200, "{text}");
            for answer in answers {
                assert_eq!(
                    (&answer["id"], &answer["error"]["code"]),
                    (&json!(7), &json!(-32602)),
                    "{text} {answer}"
                );
                assert!(answer["error"]["message"].as_str().unwrap().contains(member), "{text} {answer}");
            }
        }
    }
}

#[tokio::test]
async fn what_the_sdk_cannot_decode_is_an_error_with_its_id() {
    for version in BOTH {
        let mut servers = Servers::start(version.clone(), true).await;
        let deep = |depth| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        for (method, params, code) in [
            // A level that does not exist.
            ("logging/setLevel", json!({ "level": "loud" }).to_string(), -32602),
            ("completion/complete", json!({ "ref": { "type": "x" }, "argument": {} }).to_string(), -32602),
            ("tools/list", format!(r#"{{"a":{}}}"#, deep(200)), -32600),
        ] {
            let text = match version.has_initialize() {
                true => format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#),
                false => {
                    let request = request(&version, method, json!({})).to_string();
                    request.replacen(
                        "\"params\":{",
                        &format!("\"params\":{},", params.trim_end_matches('}')),
                        1,
                    )
                }
            };
            if !version.has_initialize() && method != "tools/list" {
                continue;
            }
            let ([line, body], _) = servers.answers(&text, method).await;
            for answer in [line, body] {
                assert_eq!(
                    (&answer["id"], &answer["error"]["code"]),
                    (&json!(7), &json!(code)),
                    "{text} {answer}"
                );
            }
        }
    }
}

#[tokio::test]
async fn an_empty_list_is_an_empty_object() {
    for version in BOTH {
        let mut servers = Servers::start(version.clone(), true).await;
        // With the mark that some programs write first.
        let call = format!(
            "\u{feff}{}",
            request(&version, "tools/call", json!({ "name": "five", "arguments": [] }))
        );
        for answer in servers.answers(&call, "tools/call").await.0 {
            assert_eq!(
                answer["result"]["structuredContent"]
                    .get("result")
                    .unwrap_or(&answer["result"]["structuredContent"]),
                5,
                "{answer}"
            );
        }
        if version.has_initialize() {
            for method in ["tools/list", "ping"] {
                let text = request(&version, method, json!([])).to_string();
                for answer in servers.answers(&text, method).await.0 {
                    assert!(answer["id"] == 7 && answer["result"].is_object(), "{answer}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_session_that_cannot_be_opened_names_the_member_and_may_be_opened_again() {
    let version = BOTH[0].clone();
    let mut servers = Servers::start(version, false).await;
    for (path, value, member) in [
        ("/params/clientInfo", None, "`params.clientInfo` is required"),
        ("/params/clientInfo", Some(json!(null)), "`params.clientInfo` is required"),
        ("/params/clientInfo", Some(json!({ "version": "1" })), "`params.clientInfo.name` is required"),
        ("/params/clientInfo", Some(json!({ "name": "a" })), "`params.clientInfo.version` is required"),
        (
            "/params/clientInfo",
            Some(json!({ "name": "a", "version": 1 })),
            "`params.clientInfo.version` must be a text",
        ),
        ("/params/clientInfo", Some(json!([])), "`params.clientInfo.name` is required"),
        ("/params/clientInfo", Some(json!("a")), "`params.clientInfo` must be an object"),
        ("/params/capabilities", None, "`params.capabilities` is required"),
        (
            "/params/capabilities",
            Some(json!({ "sampling": true })),
            "`params.capabilities.sampling` must be an object",
        ),
        ("/params/protocolVersion", None, "`params.protocolVersion` is required"),
        ("/params/protocolVersion", Some(json!(2025)), "`params.protocolVersion` must be a text"),
        ("/params", Some(json!([])), "`params.protocolVersion` is required"),
        ("/params", None, "`params.protocolVersion` is required"),
    ] {
        let mut message = initialize();
        let (parent, name) = path.rsplit_once('/').unwrap();
        let parent = message.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        match value {
            Some(value) => parent.insert(name.to_owned(), value),
            None => parent.remove(name),
        };
        let (answers, status) = servers.answers(&message.to_string(), "initialize").await;
        assert_eq!(status, 200, "{message}");
        for answer in answers {
            assert_eq!(
                (&answer["id"], &answer["error"]["code"]),
                (&json!(0), &json!(-32602)),
                "{message} {answer}"
            );
            assert!(answer["error"]["message"].as_str().unwrap().contains(member), "{message} {answer}");
        }
    }
    let mut message = initialize();
    message["params"]["capabilities"]["experimental"] = json!({ "a": { "b": "x".repeat(10_000) } });
    for answer in servers.answers(&message.to_string(), "initialize").await.0 {
        assert!(answer["error"]["message"].as_str().unwrap().contains("8192 bytes"), "{answer}");
    }
    message = initialize();
    // Icons may be large, and are left out.
    message["params"]["clientInfo"]["icons"] =
        json!([{ "src": format!("data:image/png;base64,{}", "x".repeat(100_000)) }]);
    message["params"]["capabilities"] = json!({ "roots": [], "sampling": {} });
    for answer in servers.answers(&message.to_string(), "initialize").await.0 {
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
    }
}

#[tokio::test]
async fn methods_that_a_revision_does_not_have_are_not_found_whatever_their_params() {
    let version = BOTH[1].clone();
    let mut servers = Servers::start(version.clone(), true).await;
    let methods = ["initialize", "logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"];
    for method in methods {
        let text = request(&version, method, json!({})).to_string();
        let ([_, body], status) = servers.answers(&text, method).await;
        assert_eq!(
            (&body["id"], &body["error"]["code"], status),
            (&json!(7), &json!(-32601), 404),
            "{text} {body}"
        );
    }
}

#[tokio::test]
async fn mistakes_of_the_protocol_have_their_codes() {
    for version in BOTH {
        let mut servers = Servers::start(version.clone(), true).await;
        let unknown = request(&version, "tools/guess", json!({})).to_string();
        for (text, code, id, status) in [
            // O06
            ("{ not json".to_owned(), -32700, Value::Null, 400),
            (json!([request(&version, "ping", json!({}))]).to_string(), -32600, Value::Null, 400),
            ("5".to_owned(), -32600, Value::Null, 400),
            (json!({ "id": 7, "method": "ping" }).to_string(), -32600, json!(7), 400),
            (json!({ "jsonrpc": "1.0", "id": 7, "method": "ping" }).to_string(), -32600, json!(7), 400),
            (json!({ "jsonrpc": "2.0", "id": "a" }).to_string(), -32600, json!("a"), 400),
            (json!({ "jsonrpc": "2.0", "id": 7, "method": 5 }).to_string(), -32600, json!(7), 400),
            (json!({ "jsonrpc": "2.0", "id": null, "method": "ping" }).to_string(), -32600, Value::Null, 400),
            (unknown, -32601, json!(7), if version.has_initialize() { 200 } else { 404 }),
        ] {
            let (answers, received) = servers.answers(&text, "tools/guess").await;
            assert_eq!(received, status, "{text}");
            for answer in answers {
                assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{text} {answer}");
            }
        }
    }
}
