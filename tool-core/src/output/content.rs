use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// One block of content for a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image; base64 in JSON.
    Image {
        /// The file.
        data: Blob,
        /// Its MIME type, such as `image/png`.
        mime_type: String,
    },
    /// Audio; base64 in JSON.
    Audio {
        /// The file.
        data: Blob,
        /// Its MIME type, such as `audio/wav`.
        mime_type: String,
    },
    /// An embedded document.
    Resource {
        /// The document.
        resource: Resource,
    },
    /// A link to a document.
    ResourceLink {
        /// The URI of the document.
        uri: String,
        /// The name of the document.
        name: String,
        /// Its MIME type, if it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
}

impl Content {
    /// Creates a block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// Creates an image.
    pub fn image(data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        Self::Image { data: Blob(data.into()), mime_type: mime_type.into() }
    }

    /// Creates an audio block.
    pub fn audio(data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        Self::Audio { data: Blob(data.into()), mime_type: mime_type.into() }
    }

    /// Returns the text of a text block.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            _ => None,
        }
    }
}

/// A document: URI, MIME type and body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// The URI or the name of the document.
    pub uri: String,
    /// Its MIME type.
    pub mime_type: String,
    /// The content of the document.
    #[serde(flatten)]
    pub body: ResourceBody,
}

/// The content of a [`Resource`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Anything else; base64 in JSON.
    Blob(Blob),
}

/// Bytes that are serialised as base64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob(pub Vec<u8>);

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Cow::<str>::deserialize(deserializer)?;
        BASE64.decode(text.as_bytes()).map(Self).map_err(D::Error::custom)
    }
}

/// Bytes as the result of a tool: UTF-8 text stays text, and other bytes become an image, audio or resource block
/// whose MIME type is detected.
///
/// `Vec<u8>` is a JSON list of numbers, as usual in `serde`.
///
/// # Examples
///
/// ```
/// use tool_runtime::{Content, ToolOutput, output::Bytes};
///
/// let png = b"\x89PNG\r\n\x1a\n".to_vec();
/// let output = ToolOutput::from(Bytes(png));
/// assert!(matches!(&output.content()[..], [Content::Image { mime_type, .. }] if mime_type == "image/png"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl From<Bytes> for Content {
    fn from(Bytes(data): Bytes) -> Self {
        let Some(kind) = infer::get(&data) else {
            return match String::from_utf8(data) {
                Ok(text) => Self::text(text),
                Err(error) => document_content(error.into_bytes(), "application/octet-stream"),
            };
        };
        let mime_type = kind.mime_type();
        match kind.matcher_type() {
            infer::MatcherType::Image => Self::image(data, mime_type),
            infer::MatcherType::Audio => Self::audio(data, mime_type),
            _ => document_content(data, mime_type),
        }
    }
}

fn document_content(data: Vec<u8>, mime_type: &str) -> Content {
    let body = ResourceBody::Blob(Blob(data));
    Content::Resource { resource: Resource { uri: String::new(), mime_type: mime_type.to_owned(), body } }
}
