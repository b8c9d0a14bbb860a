//! [Points](https://platform.claude.com/docs/en/build-with-claude/prompt-caching) up to which a request is cached.

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

/// The maximum number of points in a request.
pub(super) const MAX_POINTS: usize = 4;

/// The mark of a block, as a member.
const MARK: &str = r#""cache_control":{"type":"ephemeral"}"#;

/// Marks the end of the instruction of a request.
pub(super) fn add_cache_mark_to_instruction(request: &mut Value) {
    let Some(system) = request.get_mut("system") else { return };
    if let Some(text) = system.as_str() {
        *system = json!([{ "type": "text", "text": text }]);
    }
    add_cache_mark_to_last_item(system);
}

/// Marks the last tool of a request.
pub(super) fn add_cache_mark_to_tools(request: &mut Value) {
    if let Some(tools) = request.get_mut("tools") {
        add_cache_mark_to_last_item(tools);
    }
}

/// Marks the last item of a list.
fn add_cache_mark_to_last_item(list: &mut Value) {
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
pub(super) fn message_with_cache_mark(message: &RawValue) -> Option<Box<RawValue>> {
    let CachedMessage { role, content } = serde_json::from_str(message.get()).ok()?;
    let content = if content.get().starts_with('"') {
        format!(r#"[{{"type":"text","text":{content},{MARK}}}]"#)
    } else {
        let blocks: Vec<&RawValue> = serde_json::from_str(content.get()).ok()?;
        let at = blocks.iter().rposition(|block| can_have_cache_mark(block))?;
        let written = blocks.iter().enumerate().map(|(index, block)| match block.get().strip_suffix('}') {
            Some(rest) if index == at => format!("{rest},{MARK}}}"),
            _ => block.get().to_owned(),
        });
        format!("[{}]", written.collect::<Vec<_>>().join(","))
    };
    RawValue::from_string(format!(r#"{{"role":{role},"content":{content}}}"#)).ok()
}

/// Thinking cannot be marked, nor can an empty text.
fn can_have_cache_mark(block: &RawValue) -> bool {
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;

    #[test]
    fn the_last_block_that_can_be_marked_is_marked_and_all_other_bytes_stay() {
        let marked = |message: &str| {
            let message = RawValue::from_string(message.to_owned()).unwrap();
            message_with_cache_mark(&message).map(|message| message.get().to_owned())
        };
        let block = |rest: &str| format!(r#"{{"type":"text","text":{rest}}}"#);
        let of = |content: &str| format!(r#"{{"role":"user","content":{content}}}"#);
        let mark = |rest: &str| format!(r#"{{"type":"text","text":{rest},{MARK}}}"#);
        assert_eq!(marked(&of(r#""a""#)), Some(of(&format!("[{}]", mark(r#""a""#)))));
        for (content, expected) in [
            (format!("[ {} ]", block(r#""a""#)), Some(format!("[{}]", mark(r#""a""#)))),
            (
                format!("[{},{}]", block(r#""a""#), block(r#""b""#)),
                Some(format!("[{},{}]", block(r#""a""#), mark(r#""b""#))),
            ),
            (
                format!("[{},{}]", block(r#""a""#), block(r#""""#)),
                Some(format!("[{},{}]", mark(r#""a""#), block(r#""""#))),
            ),
            (
                format!(r#"[{},{{"type":"thinking"}},{{"type":"redacted_thinking"}}]"#, block(r#""a""#)),
                Some(format!(r#"[{},{{"type":"thinking"}},{{"type":"redacted_thinking"}}]"#, mark(r#""a""#))),
            ),
            (
                r#"[{"type":"tool_use","input":{"n":1.50}}]"#.to_owned(),
                Some(format!(r#"[{{"type":"tool_use","input":{{"n":1.50}},{MARK}}}]"#)),
            ),
            (format!("[{}]", mark(r#""a""#)), None),
            (format!("[{}]", block(r#""""#)), None),
            (r#"[{"type":"thinking"}]"#.to_owned(), None),
            (r#"[{"text":"a"}]"#.to_owned(), None),
            ("[]".to_owned(), None),
            ("7".to_owned(), None),
        ] {
            assert_eq!(marked(&of(&content)), expected.map(|it| of(&it)), "{content}");
        }
        assert_eq!(marked(r#"{"role":"user"}"#), None);
        assert_eq!(marked("[]"), None);
    }

    #[test]
    fn the_end_of_an_instruction_and_of_the_tools_are_marked() {
        let mark = json!({ "type": "ephemeral" });
        let with = |request: &Value, set: fn(&mut Value)| {
            let mut request = request.clone();
            set(&mut request);
            request
        };
        let text = json!({ "system": "a", "tools": [{ "name": "a" }, { "name": "b" }] });
        let block = json!([{ "type": "text", "text": "a", "cache_control": mark }]);
        assert_eq!(with(&text, add_cache_mark_to_instruction)["system"], block);
        assert_eq!(with(&text, add_cache_mark_to_instruction)["tools"], text["tools"]);
        assert_eq!(
            with(&text, add_cache_mark_to_tools)["tools"],
            json!([{ "name": "a" }, { "name": "b", "cache_control": mark }])
        );
        let blocks = json!({ "system": [{ "text": "a" }, { "text": "b" }] });
        assert_eq!(
            with(&blocks, add_cache_mark_to_instruction),
            json!({ "system": [{ "text": "a" }, { "text": "b", "cache_control": mark }] })
        );
        for other in [
            json!({}),
            json!({ "system": [], "tools": [] }),
            json!({ "system": 1, "tools": "x" }),
            json!({ "tools": ["x"] }),
        ] {
            assert_eq!(
                (with(&other, add_cache_mark_to_instruction), with(&other, add_cache_mark_to_tools)),
                (other.clone(), other.clone())
            );
        }
    }
}
