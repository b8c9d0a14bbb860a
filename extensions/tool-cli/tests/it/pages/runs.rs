//! The command `run`.

use tool_runtime::serde_json::json;

use super::{Line, file, hold_lines};

fn response(calls: &[(&str, tool_runtime::serde_json::Value)]) -> String {
    let call = |(at, (name, input)): (usize, &(&str, tool_runtime::serde_json::Value))| json!({ "type": "tool_use", "id": format!("call_{at}"), "name": name, "input": input });
    json!({ "content": calls.iter().enumerate().map(call).collect::<Vec<_>>() }).to_string()
}

// D12, Z19
#[test]
fn the_calls_of_a_response_are_answered() {
    let answer = |form: &str| ("answer", json!({ "form": form }));
    let files = [
        ("good.json", response(&[answer("line"), ("count", json!({}))])),
        ("failed.json", response(&[answer("line"), answer("error"), answer("failure")])),
        ("usage.json", response(&[answer("error"), ("answer", json!({})), ("answr", json!({}))])),
        ("refused.json", response(&[("wipe", json!({})), ("sell", json!({})), ("answr\u{7}", json!({}))])),
        ("denied.json", response(&[("lend", json!({ "to": "Zoe" }))])),
        ("external.json", response(&[("deliver", json!({})), ("deliver", json!({}))])),
        ("none.json", response(&[])),
        ("chatty.json", response(&[("chatty", json!({}))])),
        ("text.json", "a text".to_owned()),
        ("nothing.json", " \n".to_owned()),
        ("other.json", "{\"a\": 1}".to_owned()),
        ("number.json", "3".to_owned()),
        (
            "several.json",
            r#"{"content": [{"type": "tool_use", "id": "1", "name": "count", "input": {}}],
                "candidates": [{"content": {"parts": [{"functionCall": {"name": "cakes", "args": {}}}]}}]}"#.to_owned(),
        ),
        (
            "stream.json",
            "event: a\ndata: {\"candidates\": [{\"content\": {\"parts\": [{\"functionCall\": {\"name\": \"count\"}}]}}]}\n\n".to_owned(),
        ),
        (
            "mcp.json",
            r#"{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "count"}}"#.to_owned(),
        ),
    ];
    for (name, text) in &files {
        file(&format!("run-{name}"), text);
    }
    let commands: [&[&str]; 25] = [
        &["run", "run-good.json"],
        &["r", "run-good.json", "--dialect", "anthropic", "--strategy", "sequential"],
        &["run", "run-failed.json"],
        &["run", "run-usage.json"],
        &["run", "run-refused.json"],
        &["run", "run-refused.json", "--approve", "never"],
        &["run", "run-refused.json", "--approve", "read-only"],
        &["run", "run-refused.json", "--approve", "always"],
        &["run", "run-denied.json", "--approve", "always"],
        &["run", "run-external.json"],
        &["run", "run-none.json"],
        &["run", "run-none.json", "--dialect", "anthropic"],
        &["run", "run-chatty.json", "--events", "text"],
        &["run", "run-chatty.json", "--events", "json"],
        &["run", "run-text.json"],
        &["run", "run-text.json", "--dialect", "anthropic"],
        &["run", "run-nothing.json"],
        &["run", "run-other.json"],
        &["run", "run-other.json", "--dialect", "anthropic"],
        &["run", "run-number.json"],
        &["run", "run-mcp.json"],
        &["run", "run-several.json"],
        &["run", "run-stream.json"],
        &["run", "absent.json"],
        &["run", "--dialect", "anthropic"],
    ];
    hold_lines("run", &commands.map(Line::new));
}
