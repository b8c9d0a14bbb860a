//! Content and metadata in the form of the protocol, in both directions.

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
#[cfg(feature = "client")]
use base64::{
    alphabet,
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use rmcp::model::{ContentBlock, ResourceContents, ToolAnnotations};
use tool_runtime::{
    Content,
    definition::Metadata,
    output::{Resource, ResourceBody},
};

/// Returns a block in the form of the protocol.
#[cfg(feature = "server")]
pub(crate) fn to_block(content: &Content) -> ContentBlock {
    match content {
        Content::Text { text } => ContentBlock::text(text.clone()),
        Content::Image { data, mime_type } => ContentBlock::image(BASE64.encode(&data.0), mime_type.clone()),
        Content::Audio { data, mime_type } => ContentBlock::audio(BASE64.encode(&data.0), mime_type.clone()),
        Content::Resource { resource } => ContentBlock::resource(to_contents(resource)),
        Content::ResourceLink { uri, name, mime_type } => {
            let mut link = rmcp::model::Resource::new(uri.clone(), name.clone());
            link.mime_type.clone_from(mime_type);
            ContentBlock::resource_link(link)
        }
        // A kind that this version does not know is sent as its JSON, so that nothing is lost.
        other => ContentBlock::text(serde_json::to_string(other).unwrap_or_default()),
    }
}

/// Returns a document in the form of the protocol.
#[cfg(feature = "server")]
pub(crate) fn to_contents(resource: &Resource) -> ResourceContents {
    let contents = match &resource.body {
        ResourceBody::Text(text) => ResourceContents::text(text.clone(), resource.uri.clone()),
        ResourceBody::Blob(blob) => ResourceContents::blob(BASE64.encode(&blob.0), resource.uri.clone()),
    };
    contents.with_mime_type(resource.mime_type.clone())
}

/// Returns a received block as content. A block whose data is not base64, or of an unknown kind, is a text that says so.
#[cfg(feature = "client")]
pub(crate) fn from_block(block: &ContentBlock) -> Content {
    let decoded = |data: &str, mime_type: &str, kind: &str| match decode_lenient_base64(data) {
        Ok(data) => Ok(data),
        Err(error) => {
            Err(Content::text(format!("[{kind} of type {mime_type}: the data is not base64: {error}]")))
        }
    };
    match block {
        ContentBlock::Text(text) => Content::text(text.text.clone()),
        ContentBlock::Image(image) => match decoded(&image.data, &image.mime_type, "image") {
            Ok(data) => Content::image(data, image.mime_type.clone()),
            Err(note) => note,
        },
        ContentBlock::Audio(audio) => match decoded(&audio.data, &audio.mime_type, "audio") {
            Ok(data) => Content::audio(data, audio.mime_type.clone()),
            Err(note) => note,
        },
        ContentBlock::Resource(embedded) => from_contents(&embedded.resource),
        ContentBlock::ResourceLink(link) => Content::ResourceLink {
            uri: link.uri.clone(),
            name: link.name.clone(),
            mime_type: link.mime_type.clone(),
        },
        other => Content::text(format!("[content of an unknown kind: {}]", block_json(other))),
    }
}

/// Decodes base64 of any server: also of the alphabet for URLs, without padding, in lines, and as a `data:` URL.
#[cfg(feature = "client")]
fn decode_lenient_base64(data: &str) -> Result<Vec<u8>, base64::DecodeError> {
    const LENIENT: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    if let Ok(decoded) = BASE64.decode(data) {
        return Ok(decoded);
    }
    let url = data.trim_start().strip_prefix("data:").and_then(|url| url.split_once(";base64,"));
    let digits = url.map_or(data, |(_, digits)| digits).chars().filter(|it| !it.is_ascii_whitespace());
    let standard = |digit: char| match digit {
        '-' => '+',
        '_' => '/',
        other => other,
    };
    let digits: String = digits.map(standard).collect();
    GeneralPurpose::new(&alphabet::STANDARD, LENIENT).decode(digits)
}

/// Returns the kind of a block whose data cannot be decoded.
#[cfg(feature = "client")]
pub(crate) fn kind_of_undecodable_block(block: &ContentBlock) -> Option<&'static str> {
    let (kind, data) = match block {
        ContentBlock::Image(image) => ("image", &image.data),
        ContentBlock::Audio(audio) => ("audio", &audio.data),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::BlobResourceContents { blob, .. } => ("resource", blob),
            _ => return None,
        },
        _ => return None,
    };
    decode_lenient_base64(data).is_err().then_some(kind)
}

#[cfg(feature = "client")]
fn block_json(block: &ContentBlock) -> String {
    serde_json::to_string(block).unwrap_or_default()
}

/// Returns a received document as content.
#[cfg(feature = "client")]
pub(crate) fn from_contents(contents: &ResourceContents) -> Content {
    let (uri, mime_type, body) = match contents {
        ResourceContents::TextResourceContents { uri, mime_type, text, .. } => {
            (uri, mime_type.as_deref().unwrap_or("text/plain"), ResourceBody::Text(text.clone()))
        }
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            let mime_type = mime_type.as_deref().unwrap_or("application/octet-stream");
            match decode_lenient_base64(blob) {
                Ok(data) => (uri, mime_type, ResourceBody::Blob(tool_runtime::output::Blob(data))),
                Err(error) => {
                    return Content::text(format!(
                        "[{uri} of type {mime_type}: the data is not base64: {error}]"
                    ));
                }
            }
        }
        other => {
            let text = serde_json::to_string(other).unwrap_or_default();
            return Content::text(format!("[a document of an unknown kind: {text}]"));
        }
    };
    Content::Resource { resource: Resource { uri: uri.clone(), mime_type: mime_type.to_owned(), body } }
}

/// Returns the hints of a tool in the form of the protocol: only those that are set; `None` if none is.
#[cfg(feature = "server")]
pub(crate) fn to_annotations(metadata: &Metadata) -> Option<ToolAnnotations> {
    let Metadata { read_only, destructive, idempotent, open_world, .. } = metadata;
    let any = [read_only, destructive, idempotent, open_world].iter().any(|hint| hint.is_some());
    any.then(|| ToolAnnotations::from_raw(None, *read_only, *destructive, *idempotent, *open_world))
}

/// Returns the hints of a server's tool: only those that the server gave.
#[cfg(feature = "client")]
pub(crate) fn from_annotations(annotations: Option<&ToolAnnotations>) -> Metadata {
    let Some(hints) = annotations else { return Metadata::default() };
    Metadata {
        read_only: hints.read_only_hint,
        destructive: hints.destructive_hint,
        idempotent: hints.idempotent_hint,
        open_world: hints.open_world_hint,
        ..Metadata::default()
    }
}
