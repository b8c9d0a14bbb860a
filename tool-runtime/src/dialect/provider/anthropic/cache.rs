//! [Points](https://platform.claude.com/docs/en/build-with-claude/prompt-caching) up to which a request is cached.

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

/// The maximum number of points in a request.
pub(super) const MAX_POINTS: usize = 4;

/// The mark of a block, as a member.
const MARK: &str = r#""cache_control":{"type":"ephemeral"}"#;

/// Marks the end of the instruction of a request.
pub(super) fn mark_instruction(request: &mut Value) {
    let Some(system) = request.get_mut("system") else { return };
    if let Some(text) = system.as_str() {
        *system = json!([{ "type": "text", "text": text }]);
    }
    mark_last(system);
}

/// Marks the last tool of a request.
pub(super) fn mark_tools(request: &mut Value) {
    if let Some(tools) = request.get_mut("tools") {
        mark_last(tools);
    }
}

/// Marks the last item of a list.
fn mark_last(list: &mut Value) {
    if let Some(Value::Object(last)) = list.as_array_mut().and_then(|list| list.last_mut()) {
        last.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
    }
}

#[derive(Deserialize)]
struct CachedMessage<'m> {
    #[serde(borrow)]
    role: &'m RawValue,
    #[serde(borrow)]
    content: &'m RawValue,
}

/// Marks the last block of a message that can be marked; every other byte stays.
pub(super) fn marked_message(message: &RawValue) -> Option<Box<RawValue>> {
    let CachedMessage { role, content } = serde_json::from_str(message.get()).ok()?;
    let content = if content.get().starts_with('"') {
        format!(r#"[{{"type":"text","text":{content},{MARK}}}]"#)
    } else {
        let blocks: Vec<&RawValue> = serde_json::from_str(content.get()).ok()?;
        let at = blocks.iter().rposition(|block| can_be_marked(block))?;
        let written = blocks.iter().enumerate().map(|(index, block)| match block.get().strip_suffix('}') {
            Some(rest) if index == at => format!("{rest},{MARK}}}"),
            _ => block.get().to_owned(),
        });
        format!("[{}]", written.collect::<Vec<_>>().join(","))
    };
    RawValue::from_string(format!(r#"{{"role":{role},"content":{content}}}"#)).ok()
}

/// Thinking cannot be marked, nor can an empty text.
fn can_be_marked(block: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Block {
        #[serde(rename = "type")]
        kind: String,
        #[serde(default)]
        text: Option<Box<RawValue>>,
        #[serde(default)]
        cache_control: Option<Value>,
    }
    let Ok(Block { kind, text, cache_control }) = serde_json::from_str(block.get()) else { return false };
    let is_empty = text.is_some_and(|text| text.get() == r#""""#);
    !matches!(&*kind, "thinking" | "redacted_thinking") && !is_empty && cache_control.is_none()
}
