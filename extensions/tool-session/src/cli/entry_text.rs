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
