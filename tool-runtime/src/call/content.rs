//! The content of a result, as texts and files.
//!
//! Each dialect sends these blocks to a model, and [`ToolResult::text`] is built from them.

use serde_json::Value;
use tool_core::{Blob, Content, ResourceBody};

use super::ToolResult;

/// A block of a result: a text or a file.
pub(crate) enum Block {
    Text(String),
    File { mime_type: String, data: String, name: String },
}

/// Returns the content of `result` for a model. Nothing is left out: a value is written as JSON where there is
/// no content beside it.
pub(crate) fn blocks(result: &ToolResult) -> Vec<Block> {
    let content = result.content();
    if content.is_empty() {
        let value = result.structured();
        return value.into_iter().map(|value| Block::Text(value.to_string())).collect();
    }
    content.iter().map(block).collect()
}

/// Returns the texts among the blocks of `result`.
pub(super) fn result_texts(result: &ToolResult) -> Vec<String> {
    let texts = blocks(result).into_iter().filter_map(|block| match block {
        Block::Text(text) => Some(text),
        Block::File { .. } => None,
    });
    texts.collect()
}

pub(crate) fn block(content: &Content) -> Block {
    let file = |data: &Blob, mime_type: &str, name: &str| Block::File {
        mime_type: mime_type.to_owned(),
        data: base64_text(data),
        name: name.to_owned(),
    };
    match content {
        Content::Text { text } => Block::Text(text.clone()),
        Content::Image { data, mime_type } | Content::Audio { data, mime_type } => file(data, mime_type, ""),
        Content::Resource { resource } => match &resource.body {
            ResourceBody::Text(text) if resource.uri.is_empty() => Block::Text(text.clone()),
            ResourceBody::Text(text) => Block::Text(format!("{}:\n{text}", resource.uri)),
            ResourceBody::Blob(data) => file(data, &resource.mime_type, &resource.uri),
        },
        Content::ResourceLink { uri, name, .. } => Block::Text(format!("{name}: {uri}")),
        other => Block::Text(serde_json::to_string(other).unwrap_or_default()),
    }
}

/// Returns `data` as base64, by its JSON form.
fn base64_text(data: &Blob) -> String {
    match serde_json::to_value(data) {
        Ok(Value::String(text)) => text,
        _ => String::new(),
    }
}
