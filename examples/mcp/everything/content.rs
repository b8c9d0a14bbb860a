//! Results of each kind.

use tool_runtime::{
    Content,
    output::{Resource, ResourceBody},
    prelude::*,
};

/// A red pixel.
pub(crate) const PIXEL: &[u8] = include_bytes!("data/pixel.png");
/// A millisecond of silence.
const SILENCE: &[u8] = include_bytes!("data/silence.wav");

/// Returns a text.
#[tool(read_only)]
fn test_simple_text() -> &'static str {
    "This is a simple text response for testing."
}

/// Returns an image.
#[tool(read_only)]
fn test_image_content() -> Content {
    Content::image(PIXEL, "image/png")
}

/// Returns audio.
#[tool(read_only)]
fn test_audio_content() -> Content {
    Content::audio(SILENCE, "audio/wav")
}

/// Returns a document.
#[tool(read_only)]
fn test_embedded_resource() -> Content {
    document("test://embedded-resource", "text/plain", "This is an embedded resource content.")
}

/// Returns a text, an image and a document.
#[tool(read_only)]
fn test_multiple_content_types() -> ToolOutput {
    ToolOutput::new([
        Content::text("Multiple content types test:"),
        Content::image(PIXEL, "image/png"),
        document("test://mixed-content-resource", "application/json", r#"{"test":"data","value":123}"#),
    ])
}

/// Returns a link to a document.
#[tool(read_only)]
fn test_resource_link() -> Content {
    Content::ResourceLink {
        uri: "test://static-text".to_owned(),
        name: "static-text".to_owned(),
        mime_type: Some("text/plain".to_owned()),
    }
}

/// Fails.
#[tool(read_only)]
fn test_error_handling() -> Result<String, ToolError> {
    Err(ToolError::failed("This tool intentionally returns an error for testing"))
}

/// The weather of a city.
#[tool_args(serialize)]
struct Weather {
    city: String,
    celsius: f64,
}

/// Returns a value with a schema.
#[tool(read_only)]
fn test_structured_content(
    /// City name.
    city: String,
) -> Weather {
    Weather { city, celsius: 21.5 }
}

/// Returns a text unchanged.
#[tool(read_only)]
fn test_echo(
    /// The text, of any length.
    text: String,
) -> String {
    text
}

fn document(uri: &str, mime_type: &str, text: &str) -> Content {
    let body = ResourceBody::Text(text.to_owned());
    Content::Resource { resource: Resource { uri: uri.to_owned(), mime_type: mime_type.to_owned(), body } }
}
