//! Entries for a person: the messages of `tool-agent` as text, and any other body as it is.

use serde_json::Value;
use tool_runtime::policy::Escape;

use crate::EntryContent;

/// The maximum number of characters of an entry.
const MAX_ENTRY_CHARS: usize = 1_000;
/// The maximum number of lines of an entry.
const MAX_ENTRY_LINES: usize = 20;

/// Returns the title of an entry: the author of a message, or the kind.
pub(super) fn entry_title(content: &EntryContent, body: &Value) -> String {
    let role = body.pointer("/message/role").and_then(Value::as_str);
    let title = role.filter(|_| &*content.kind == EntryContent::MESSAGE).unwrap_or(&content.kind);
    super::request::escaped_line(title)
}

/// Returns the text of an entry: escaped, shortened, and indented, so that no line of it looks like a line of the page.
pub(super) fn entry_text(content: &EntryContent, body: &Value) -> String {
    let text = agent_body_text(body).unwrap_or_else(|| content.body.as_str().to_owned());
    let text = Escape::LINES.at_most(MAX_ENTRY_CHARS).text(text.trim_end());
    let count = text.lines().count();
    let mut page: String = text.lines().take(MAX_ENTRY_LINES).map(|line| format!("    {line}\n")).collect();
    if count > MAX_ENTRY_LINES {
        page.push_str(&format!("    [{} more lines]\n", count - MAX_ENTRY_LINES));
    }
    page
}

/// Returns the text of a body in a form that `tool-agent` writes; `None` for any other body.
fn agent_body_text(body: &Value) -> Option<String> {
    if body.get("sealed").is_some_and(Value::is_string) {
        return Some("[encrypted under the key of the program]".to_owned());
    }
    if let Some(reason) = body.pointer("/reason/reason").and_then(Value::as_str) {
        let message = body.pointer("/reason/message").and_then(Value::as_str);
        return Some(message.map_or_else(|| reason.to_owned(), |message| format!("{reason}: {message}")));
    }
    if let Some(messages) = body.get("messages").and_then(Value::as_array) {
        return Some(format!("[{} messages]", messages.len()));
    }
    let parts = body.pointer("/message/parts")?.as_array()?;
    let parts = parts.iter().map(message_part_text).collect::<Option<Vec<_>>>()?;
    Some(parts.join("\n"))
}

fn message_part_text(part: &Value) -> Option<String> {
    let (kind, value) = part.as_object()?.iter().next()?;
    match kind.as_str() {
        "text" => value.as_str().map(str::to_owned),
        "reasoning" => value.as_str().map(|text| format!("[reasoning] {text}")),
        "call" => {
            let arguments = value.get("arguments").map(Value::to_string).unwrap_or_default();
            Some(format!("call {} {arguments}", value.get("name")?.as_str()?))
        }
        "result" => {
            let content = value.get("content")?.as_array()?.iter().map(content_block_text);
            let failed = if value.get("isError") == Some(&Value::Bool(true)) { " failed" } else { "" };
            let content = content.collect::<Vec<_>>().join("\n");
            Some(format!("{}{failed}: {content}", value.get("name")?.as_str()?))
        }
        "content" => Some(content_block_text(value)),
        _ => None,
    }
}

/// Returns the text of a block of content, or its type.
fn content_block_text(content: &Value) -> String {
    match content.get("text").and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => format!("[{}]", content.get("type").and_then(Value::as_str).unwrap_or("file")),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::json;

    use super::*;

    fn content(kind: &str, body: &Value) -> EntryContent {
        EntryContent::new("run", kind, crate::JsonText::of(body).unwrap())
    }

    fn text(body: &Value) -> String {
        entry_text(&content("message", body), body)
    }

    #[test]
    fn a_title_is_the_author_of_a_message_or_the_kind() {
        let title = |kind: &str, body: Value| entry_title(&content(kind, &body), &body);
        assert_eq!(title("message", json!({ "message": { "role": "user" } })), "user");
        assert_eq!(title("message", json!({ "message": {} })), "message");
        assert_eq!(title("note", json!({ "message": { "role": "user" } })), "note");
    }

    #[test]
    fn bodies_of_an_agent_have_a_text() {
        let parts = |parts: Value| json!({ "message": { "parts": parts } });
        for (body, expected) in [
            (json!({ "sealed": "abc", "messages": [] }), "[encrypted under the key of the program]"),
            (json!({ "sealed": 1 }), "{\"sealed\":1}"),
            (json!({ "reason": { "reason": "stopped" } }), "stopped"),
            (json!({ "reason": { "reason": "failed", "message": "no" } }), "failed: no"),
            (json!({ "messages": [1, 2] }), "[2 messages]"),
            (json!({ "messages": 1 }), "{\"messages\":1}"),
            (parts(json!([{ "text": "a" }, { "reasoning": "b" }])), "a\n[reasoning] b"),
            (parts(json!([{ "call": { "name": "add", "arguments": { "a": 1 } } }])), "call add {\"a\":1}"),
            (parts(json!([{ "call": { "name": "add" } }])), "call add"),
            (
                parts(
                    json!([{ "result": { "name": "add", "content": [{ "text": "3" }, { "type": "image" }] } }]),
                ),
                "add: 3\n[image]",
            ),
            (
                parts(json!([{ "result": { "name": "add", "content": [{}], "isError": true } }])),
                "add failed: [file]",
            ),
            (parts(json!([{ "result": { "name": "add", "content": [], "isError": false } }])), "add:"),
            (
                parts(json!([{ "content": { "text": "t" } }, { "content": { "type": "audio" } }])),
                "t\n[audio]",
            ),
            (
                parts(json!([{ "text": "a" }, { "other": "b" }])),
                r#"{"message":{"parts":[{"text":"a"},{"other":"b"}]}}"#,
            ),
            (json!([1]), "[1]"),
        ] {
            let page: String = expected.lines().map(|line| format!("    {line}\n")).collect();
            assert_eq!(text(&body), page, "{body}");
        }
    }

    #[test]
    fn an_entry_has_at_most_twenty_lines_of_a_thousand_characters() {
        let of_lines =
            |count: usize| text(&json!({ "message": { "parts": vec![json!({ "text": "x" }); count] } }));
        assert_eq!(of_lines(20), "    x\n".repeat(20));
        assert_eq!(of_lines(21), "    x\n".repeat(20) + "    [1 more lines]\n");
        assert_eq!(of_lines(23), "    x\n".repeat(20) + "    [3 more lines]\n");
        let of_characters =
            |count: usize| text(&json!({ "message": { "parts": [{ "text": "x".repeat(count) }] } }));
        assert_eq!(of_characters(1_000), format!("    {}\n", "x".repeat(1_000)));
        assert!(!of_characters(1_001).contains(&"x".repeat(1_001)));
    }
}
