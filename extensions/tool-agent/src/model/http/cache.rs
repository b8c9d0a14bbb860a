//! Points up to which Anthropic caches a request (<https://platform.claude.com/docs/en/build-with-claude/prompt-caching>).
//! The other providers cache on their own.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{Provider, Settings};
use crate::model::{CachePoint, Request};

/// The maximum number of points in a request.
const MOST: usize = 4;

/// The mark of a block, as a member.
const MARK: &str = r#""cache_control":{"type":"ephemeral"}"#;

/// The points of a request.
#[derive(Default)]
pub(super) struct Points {
    tools: bool,
    instruction: bool,
    /// The indices of messages, in order.
    messages: Vec<usize>,
}

impl Points {
    /// Returns the points of `request`, and a sentence about those that exceed the provider's maximum.
    pub(super) fn of(settings: &Settings, request: &Request) -> (Self, Option<String>) {
        if settings.provider != Provider::Anthropic || request.cache.is_empty() && !settings.cache {
            return (Self::default(), None);
        }
        if request.cache.is_empty() {
            return (Self { tools: true, instruction: true, messages: vec![usize::MAX] }, None);
        }
        let has = |point| request.cache.contains(&point);
        let (tools, instruction) = (has(CachePoint::Tools), has(CachePoint::Instruction));
        let last = request.messages.len().saturating_sub(1);
        let index = |point: &CachePoint| match point {
            CachePoint::Message(index) => Some((*index).min(last)),
            _ => None,
        };
        let mut messages: Vec<_> = request.cache.iter().filter_map(index).collect();
        messages.sort_unstable();
        messages.dedup();
        let most = MOST - usize::from(tools) - usize::from(instruction);
        let beyond = messages.len().saturating_sub(most);
        // The last messages contain the others.
        messages.drain(..beyond);
        let remark = (beyond > 0).then(|| {
            format!("a request has at most {MOST} cache points: the first {beyond} of its messages have none")
        });
        (Self { tools, instruction, messages }, remark)
    }

    /// Marks messages; `ends` are the numbers of JSON messages up to the end of each message of the conversation.
    pub(super) fn mark_messages(&self, ends: &[usize], messages: &mut [Arc<RawValue>]) {
        for index in &self.messages {
            let end = ends.get(*index).or(ends.last()).copied().unwrap_or_default();
            let message = end.checked_sub(1).and_then(|at| messages.get_mut(at));
            if let Some(message) = message
                && let Some(marked) = marked(message)
            {
                *message = marked;
            }
        }
    }

    /// Marks the instruction and the tools of a body.
    pub(super) fn mark_fields(&self, fields: &mut Value) {
        if self.instruction
            && let Some(system) = fields.get_mut("system")
        {
            if let Some(text) = system.as_str() {
                *system = json!([{ "type": "text", "text": text }]);
            }
            mark(system);
        }
        if self.tools
            && let Some(tools) = fields.get_mut("tools")
        {
            mark(tools);
        }
    }
}

/// Marks the last item of a list.
fn mark(list: &mut Value) {
    if let Some(Value::Object(last)) = list.as_array_mut().and_then(|list| list.last_mut()) {
        last.insert("cache_control".to_owned(), json!({ "type": "ephemeral" }));
    }
}

#[derive(Deserialize)]
struct Marked<'m> {
    #[serde(borrow)]
    role: &'m RawValue,
    #[serde(borrow)]
    content: &'m RawValue,
}

/// Marks the last block of a message that can be marked; every other byte stays.
fn marked(message: &RawValue) -> Option<Arc<RawValue>> {
    let Marked { role, content } = serde_json::from_str(message.get()).ok()?;
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
    let message = format!(r#"{{"role":{role},"content":{content}}}"#);
    RawValue::from_string(message).ok().map(Arc::from)
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
