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

#[cfg(all(test, feature = "client", feature = "server"))]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::{Value, json};
    use tool_runtime::output::Blob;

    use super::*;

    /// A resource with this body.
    fn resource(mime_type: &str, body: ResourceBody) -> Content {
        Content::Resource {
            resource: Resource { uri: "a:a".to_owned(), mime_type: mime_type.to_owned(), body },
        }
    }

    fn received(block: Value) -> ContentBlock {
        serde_json::from_value(block).unwrap()
    }

    #[test]
    fn content_of_each_kind_is_sent_and_received() {
        let link = |mime_type: Option<&str>| Content::ResourceLink {
            uri: "a:a".to_owned(),
            name: "a".to_owned(),
            mime_type: mime_type.map(str::to_owned),
        };
        for (content, block) in [
            (Content::text("a"), json!({ "type": "text", "text": "a" })),
            (
                Content::image(vec![0, 1, 2], "image/png".to_owned()),
                json!({ "type": "image", "data": "AAEC", "mimeType": "image/png" }),
            ),
            (
                Content::audio(vec![0, 1], "audio/wav".to_owned()),
                json!({ "type": "audio", "data": "AAE=", "mimeType": "audio/wav" }),
            ),
            (
                resource("text/css", ResourceBody::Text("b".to_owned())),
                json!({ "type": "resource", "resource": { "uri": "a:a", "mimeType": "text/css", "text": "b" } }),
            ),
            (
                resource("image/png", ResourceBody::Blob(Blob(vec![0]))),
                json!({ "type": "resource", "resource": { "uri": "a:a", "mimeType": "image/png", "blob": "AA==" } }),
            ),
            (link(None), json!({ "type": "resource_link", "uri": "a:a", "name": "a" })),
            (
                link(Some("text/css")),
                json!({ "type": "resource_link", "uri": "a:a", "name": "a", "mimeType": "text/css" }),
            ),
        ] {
            assert_eq!(serde_json::to_value(to_block(&content)).unwrap(), block);
            assert_eq!(from_block(&received(block)), content);
        }
    }

    #[test]
    fn a_document_without_a_type_has_the_one_of_its_body() {
        for (document, expected) in [
            (
                json!({ "uri": "a:a", "text": "b" }),
                resource("text/plain", ResourceBody::Text("b".to_owned())),
            ),
            (
                json!({ "uri": "a:a", "blob": "AA==" }),
                resource("application/octet-stream", ResourceBody::Blob(Blob(vec![0]))),
            ),
        ] {
            assert_eq!(from_block(&received(json!({ "type": "resource", "resource": document }))), expected);
        }
    }

    #[test]
    fn base64_of_other_alphabets_and_forms_is_decoded() {
        let bytes = [0xfb, 0xff, 0xbe, 0x01];
        for text in [
            "+/++AQ==",
            "-_--AQ==",
            "+/++AQ",
            "+/++AQ=",
            " +/+\n+A Q==\t",
            "data:image/png;base64,+/++AQ==",
            " data:;base64,-_--AQ",
            // Bits beyond the last byte.
            "+/++AR==",
        ] {
            assert_eq!(decode_lenient_base64(text).as_deref(), Ok(&bytes[..]), "{text}");
        }
        for text in ["+/++A", "a!", "data:image/png,+/++AQ==", "data:image/png;base64,!"] {
            assert!(decode_lenient_base64(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_block_whose_data_is_not_base64_is_a_text_that_says_so() {
        let error = decode_lenient_base64("!").unwrap_err();
        let image = json!({ "type": "image", "data": "!", "mimeType": "image/png" });
        let audio = json!({ "type": "audio", "data": "!", "mimeType": "audio/wav" });
        let file = |members: Value| json!({ "type": "resource", "resource": members });
        for (block, kind, text) in [
            (image, "image", "image of type image/png"),
            (audio, "audio", "audio of type audio/wav"),
            (
                file(json!({ "uri": "a:a", "blob": "!", "mimeType": "image/png" })),
                "resource",
                "a:a of type image/png",
            ),
            (file(json!({ "uri": "a:a", "blob": "!" })), "resource", "a:a of type application/octet-stream"),
        ] {
            let block = received(block);
            assert_eq!(kind_of_undecodable_block(&block), Some(kind));
            let expected = Content::text(format!("[{text}: the data is not base64: {error}]"));
            assert_eq!(from_block(&block), expected);
        }
        for block in [
            json!({ "type": "text", "text": "!" }),
            json!({ "type": "image", "data": "AA", "mimeType": "image/png" }),
            json!({ "type": "resource_link", "uri": "a:a", "name": "!" }),
            file(json!({ "uri": "a:a", "text": "!" })),
            file(json!({ "uri": "a:a", "blob": "AA==" })),
        ] {
            assert_eq!(kind_of_undecodable_block(&received(block)), None);
        }
    }

    #[test]
    fn only_hints_that_are_set_are_sent_and_read() {
        assert_eq!(to_annotations(&Metadata::default()), None);
        assert_eq!(from_annotations(None), Metadata::default());
        let names = ["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];
        for (position, name) in names.into_iter().enumerate() {
            for value in [true, false] {
                let hint = |at: usize| (at == position).then_some(value);
                let metadata = Metadata {
                    read_only: hint(0),
                    destructive: hint(1),
                    idempotent: hint(2),
                    open_world: hint(3),
                    ..Metadata::default()
                };
                let sent = to_annotations(&metadata);
                assert_eq!(serde_json::to_value(&sent).unwrap(), json!({ name: value }));
                assert_eq!(from_annotations(sent.as_ref()), metadata);
            }
        }
    }
}
