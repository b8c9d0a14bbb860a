//! The content of a result, as texts and files.
//!
//! Each dialect sends these blocks to a model, and [`ToolResult::text`] is built from them.

use serde_json::Value;
use tool_core::{Blob, Content, ErrorKind, ResourceBody};

use crate::ToolResult;

/// A block of a result: a text or a file.
pub(super) enum Block {
    Text(String),
    File { mime_type: String, data: String, name: String },
}

/// Returns the content of `result` for a model. Nothing is left out: a value is written as JSON where there is
/// no content beside it.
pub(super) fn blocks(result: &ToolResult) -> Vec<Block> {
    let content = result.content();
    if content.is_empty() {
        let value = result.structured();
        return value.into_iter().map(|value| Block::Text(value.to_string())).collect();
    }
    content.iter().map(block).collect()
}

/// Returns the texts among the blocks of `result`.
pub(crate) fn texts(result: &ToolResult) -> Vec<String> {
    let texts = blocks(result).into_iter().filter_map(|block| match block {
        Block::Text(text) => Some(text),
        Block::File { .. } => None,
    });
    texts.collect()
}

pub(super) fn block(content: &Content) -> Block {
    let file = |data: &Blob, mime_type: &str, name: &str| Block::File {
        mime_type: mime_type.to_owned(),
        data: base64(data),
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
fn base64(data: &Blob) -> String {
    match serde_json::to_value(data) {
        Ok(Value::String(text)) => text,
        _ => String::new(),
    }
}

/// Returns the text that replaces a file of a type that the provider does not accept.
pub(super) fn not_shown(mime_type: &str, data: &str) -> String {
    // Three bytes are four characters, the last of which may be padding.
    let bytes = data.len() / 4 * 3 - data.bytes().rev().take_while(|it| *it == b'=').count();
    format!("[{mime_type}, {bytes} bytes: not shown, the provider does not accept this type of file]")
}

/// Returns `true` if a failure needs an explicit error prefix where the provider has no error flag: its text
/// may not identify it as an error.
pub(super) fn needs_sign(result: &ToolResult) -> bool {
    match &result.outcome {
        Ok(output) => output.is_failure(),
        // The text of these kinds is the tool's own message.
        Err(error) => matches!(
            error.kind(),
            ErrorKind::Failed
                | ErrorKind::NotFound
                | ErrorKind::BadParameter
                | ErrorKind::NotImplemented
                | ErrorKind::Conflict
                | ErrorKind::Internal
        ),
    }
}

/// Joins the texts with line breaks, with an error prefix for failures.
pub(super) fn signed(texts: Vec<String>, result: &ToolResult) -> String {
    let text = texts.join("\n");
    let has_sign = text.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("error"));
    if needs_sign(result) && !has_sign { format!("Error: {text}") } else { text }
}
