//! Params of each method that are wrong.

use rmcp::model::ProtocolVersion;
use serde_json::json;

use super::{
    BOTH,
    malformed::server,
    requests::{Servers, request},
};

/// The methods that the revision 2026-07-28 does not have.
const OLD: [&str; 4] = ["logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"];
/// Those that it added.
const NEW: [&str; 1] = ["subscriptions/listen"];

/// A request `method` with the id 7 and `params`, which need be no JSON that `serde_json` decodes.
fn request_text(version: &ProtocolVersion, method: &str, params: &str) -> String {
    let meta = request(version, method, json!({}))["params"]["_meta"].to_string();
    let params = match params.strip_prefix('{') {
        Some(rest) if meta != "null" && !rest.contains("_meta") => {
            let comma = if rest.starts_with('}') { "" } else { "," };
            format!("{{\"_meta\":{meta}{comma}{rest}")
        }
        _ => params.to_owned(),
    };
    format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{params}}}"#)
}

#[tokio::test]
async fn params_of_each_method_name_the_member_that_is_wrong() {
    let wrong_params =
        [r#""text""#, "7", "true", "[1]", r#"{"_meta":7}"#, r#"{"_meta":"a"}"#, r#"{"_meta":[1]}"#];
    let methods = [
        "tools/list",
        "tools/call",
        "prompts/list",
        "prompts/get",
        "resources/list",
        "resources/templates/list",
        "resources/read",
        "resources/subscribe",
        "resources/unsubscribe",
        "completion/complete",
        "logging/setLevel",
        "ping",
        "tasks/get",
        "tasks/update",
        "tasks/cancel",
        "server/discover",
        "subscriptions/listen",
    ];
    let of_all = methods.iter().flat_map(|method| wrong_params.map(|params| (*method, params, "`params")));
    let nested = [
        ("tools/list", r#"{"cursor":7}"#, "`params.cursor`"),
        ("tools/list", r#"{"cursor":{}}"#, "`params.cursor`"),
        ("prompts/list", r#"{"cursor":[]}"#, "`params.cursor`"),
        ("resources/list", r#"{"cursor":true}"#, "`params.cursor`"),
        ("resources/templates/list", r#"{"cursor":1.5}"#, "`params.cursor`"),
        ("tools/call", "null", "`params.name` is required"),
        ("tools/call", r#"{"name":["five"]}"#, "`params.name`"),
        ("tools/call", r#"{"name":{}}"#, "`params.name`"),
        ("tools/call", r#"{"name":"\ud800"}"#, "`params.name` must be a text, but has an escape"),
        ("tools/call", r#"{"name":"five","arguments":true}"#, "`params.arguments`"),
        ("tools/call", r#"{"name":"five","arguments":[[]]}"#, "`params.arguments`"),
        ("tools/call", r#"{"name":"five","inputResponses":[1]}"#, "`params.inputResponses`"),
        ("tools/call", r#"{"name":"five","requestState":7}"#, "`params.requestState`"),
        ("prompts/get", "null", "`params.name` is required"),
        ("prompts/get", r#"{"name":7}"#, "`params.name`"),
        ("prompts/get", r#"{"name":"five","arguments":[1]}"#, "`params.arguments`"),
        ("prompts/get", r#"{"name":"five","arguments":{"topic":{}}}"#, "`topic`"),
        ("prompts/get", r#"{"name":"five","arguments":{"topic":null}}"#, "`topic`"),
        ("resources/read", "null", "`params.uri` is required"),
        ("resources/read", r#"{"uri":null}"#, "`params.uri` is required"),
        ("resources/read", r#"{"uri":7}"#, "`params.uri`"),
        ("resources/read", r#"{"uri":"a:b","requestState":{}}"#, "`params.requestState`"),
        ("resources/read", r#"{"uri":"a:b","inputResponses":"a"}"#, "`params.inputResponses`"),
        ("resources/subscribe", r#"{"uri":["a:b"]}"#, "`params.uri`"),
        ("resources/subscribe", "{}", "`params.uri` is required"),
        ("resources/unsubscribe", r#"{"uri":{}}"#, "`params.uri`"),
        ("logging/setLevel", "{}", "`params.level` is required"),
        ("logging/setLevel", r#"{"level":7}"#, "`params.level`"),
        ("logging/setLevel", r#"{"level":"loud"}"#, "`params.level` must be one of `debug`, `info`"),
        ("logging/setLevel", r#"{"level":"WARNING"}"#, "`params.level`"),
        ("completion/complete", "{}", "`params.ref` is required"),
        ("completion/complete", r#"{"ref":"five","argument":{}}"#, "`params.ref`"),
        ("completion/complete", r#"{"ref":{"type":"x"},"argument":{}}"#, "`params.ref.type` must be one of"),
        ("completion/complete", r#"{"ref":{},"argument":{}}"#, "`params.ref.type` is required"),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt"},"argument":{}}"#,
            "`params.ref.name` is required",
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/resource"},"argument":{}}"#,
            "`params.ref.uri` is required",
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"five"},"argument":{"name":"topic"}}"#,
            "`params.argument.value` is required",
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"five"},"argument":{"name":"topic","value":7}}"#,
            "`params.argument.value`",
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"five"},"argument":"topic"}"#,
            "`params.argument`",
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"five"},"argument":{"name":"topic","value":""},"context":"a"}"#,
            "`params.context`",
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"five"},"argument":{"name":"topic","value":""},
                "context":{"arguments":{"a":7}}}"#,
            "`params.context.arguments.a`",
        ),
        ("tasks/get", "{}", "`params.taskId` is required"),
        ("tasks/get", r#"{"taskId":7}"#, "`params.taskId`"),
        ("tasks/cancel", r#"{"taskId":[]}"#, "`params.taskId`"),
        ("tasks/update", r#"{"taskId":"a"}"#, "`params.inputResponses` is required"),
        ("tasks/update", r#"{"taskId":"a","inputResponses":[7]}"#, "`params.inputResponses`"),
        ("subscriptions/listen", "{}", "`params.notifications` is required"),
        ("subscriptions/listen", r#"{"notifications":true}"#, "`params.notifications`"),
        (
            "subscriptions/listen",
            r#"{"notifications":{"toolsListChanged":"yes"}}"#,
            "`params.notifications.toolsListChanged`",
        ),
        (
            "subscriptions/listen",
            r#"{"notifications":{"resourceSubscriptions":["a:b",7]}}"#,
            "`params.notifications.resourceSubscriptions[1]`",
        ),
    ];
    let mut failures = Vec::new();
    for version in BOTH {
        let mut servers = Servers::of(server, version.clone(), true).await;
        let missing: &[&str] = if version.has_initialize() { &NEW } else { &OLD };
        for (method, params, member) in of_all.clone().chain(nested) {
            if missing.contains(&method) {
                continue;
            }
            let text = request_text(&version, method, &params.replace('\n', " "));
            let (answers, status) = servers.answers(&text, method).await;
            for answer in answers {
                let message = answer["error"]["message"].as_str().unwrap_or_default();
                let is_right =
                    answer["id"] == 7 && answer["error"]["code"] == -32602 && message.contains(member);
                if !is_right || status != 200 {
                    failures.push(format!("{version} {status} {text}\n    {answer}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
