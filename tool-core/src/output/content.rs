use std::borrow::Cow;

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

/// One block of what a tool gives to a model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A picture; base64 in JSON.
    Image {
        /// The file.
        data: Blob,
        /// Its MIME type, such as `image/png`.
        mime_type: String,
    },
    /// A sound; base64 in JSON.
    Audio {
        /// The file.
        data: Blob,
        /// Its MIME type, such as `audio/wav`.
        mime_type: String,
    },
    /// A document that travels along.
    Resource {
        /// The document.
        resource: Resource,
    },
    /// The address of a document.
    ResourceLink {
        /// Where it is.
        uri: String,
        /// What it is called.
        name: String,
        /// Its MIME type, where it is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        mime_type: Option<String>,
    },
}

impl Content {
    /// A block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text { text: text.into() }
    }

    /// A picture.
    pub fn image(data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        Self::Image { data: Blob(data.into()), mime_type: mime_type.into() }
    }

    /// A sound.
    pub fn audio(data: impl Into<Vec<u8>>, mime_type: impl Into<String>) -> Self {
        Self::Audio { data: Blob(data.into()), mime_type: mime_type.into() }
    }

    /// The text, where the block is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text { text } => Some(text),
            _ => None,
        }
    }
}

/// A document: its name, its type and what it holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Where it is from, or what it is called.
    pub uri: String,
    /// Its MIME type.
    pub mime_type: String,
    /// What it holds.
    #[serde(flatten)]
    pub body: ResourceBody,
}

/// What a [`Resource`] holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResourceBody {
    /// Text.
    Text(String),
    /// Anything else; base64 in JSON.
    Blob(Blob),
}

/// Bytes that are written as base64 where JSON is written.
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

/// Bytes as the result of a tool: text stays text, anything else becomes a [`Content::Resource`]
/// whose MIME type is read from the bytes.
///
/// (`Vec<u8>` would be a JSON list of numbers, as everywhere in `serde`.)
///
/// # Examples
///
/// ```
/// use tool_core::{Bytes, Content, ToolOutput};
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
                Err(error) => document(error.into_bytes(), "application/octet-stream"),
            };
        };
        let mime_type = kind.mime_type();
        match kind.matcher_type() {
            infer::MatcherType::Image => Self::image(data, mime_type),
            infer::MatcherType::Audio => Self::audio(data, mime_type),
            _ => document(data, mime_type),
        }
    }
}

fn document(data: Vec<u8>, mime_type: &str) -> Content {
    let body = ResourceBody::Blob(Blob(data));
    Content::Resource { resource: Resource { uri: String::new(), mime_type: mime_type.to_owned(), body } }
}
