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
    content.iter().map(block_of_content).collect()
}

/// Returns the texts among the blocks of `result`.
pub(super) fn result_texts(result: &ToolResult) -> Vec<String> {
    let texts = blocks(result).into_iter().filter_map(|block| match block {
        Block::Text(text) => Some(text),
        Block::File { .. } => None,
    });
    texts.collect()
}

pub(crate) fn block_of_content(content: &Content) -> Block {
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

#[cfg(test)]
mod tests {
    use tool_core::Resource;

    use super::*;

    /// Returns the block as its text, or as its type, data and name.
    fn block_text(content: &Content) -> String {
        match block_of_content(content) {
            Block::Text(text) => text,
            Block::File { mime_type, data, name } => format!("[{mime_type} {data} {name}]"),
        }
    }

    #[test]
    fn each_content_is_a_text_or_a_file() {
        let resource = |uri: &str, body| Content::Resource {
            resource: Resource { uri: uri.to_owned(), mime_type: "text/plain".to_owned(), body },
        };
        let text = || ResourceBody::Text("Hi".to_owned());
        for (content, expected) in [
            (Content::text("Hi"), "Hi"),
            (Content::image(*b"png", "image/png"), "[image/png cG5n ]"),
            (resource("", text()), "Hi"),
            (resource("file:///a", text()), "file:///a:\nHi"),
            (resource("file:///a", ResourceBody::Blob(Blob(b"png".to_vec()))), "[text/plain cG5n file:///a]"),
            (resource("", ResourceBody::Blob(Blob(b"png".to_vec()))), "[text/plain cG5n ]"),
        ] {
            assert_eq!(block_text(&content), expected);
        }
    }
}
