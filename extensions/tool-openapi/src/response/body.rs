//! The body of a response: bounded reading, and its kind.

use encoding_rs::{Encoding, UTF_8};
use reqwest::Response;
use tool_http::{HttpBody, read_body};
use tool_runtime::{Content, ToolError, output};

use super::limit::shorten_part;
use crate::{connection::unavailable_error, media_type::is_text_essence};

/// The bytes of a body.
pub(crate) struct ReadBody {
    pub(super) bytes: Vec<u8>,
    /// There are more, which were not read.
    pub(super) is_cut: bool,
}

/// A body as it is shown.
pub(super) enum ShownBody {
    Nothing,
    Text {
        text: String,
        /// Remarks for the model.
        notes: Vec<String>,
    },
    Content(Content),
}

/// Reads at most `limit` bytes of a body, after decompression.
///
/// # Errors
///
/// If the response breaks off, or the time is over.
pub(crate) async fn read_response(response: Response, limit: usize) -> Result<ReadBody, ToolError> {
    let HttpBody { bytes, is_cut } =
        read_body(response, limit).await.map_err(|error| unavailable_error(&error))?;
    Ok(ReadBody { bytes, is_cut })
}

impl ReadBody {
    /// Returns the body in the form of its media type, whose first part is `essence`, or of its first bytes if it has none.
    pub(super) fn into_shown_body(self, media_type: &str, essence: &str, url: &str) -> ShownBody {
        let Self { bytes, is_cut } = self;
        if bytes.is_empty() {
            return ShownBody::Nothing;
        }
        let is_text = match essence {
            "" => std::str::from_utf8(&bytes).is_ok_and(|it| !it.contains('\0')),
            _ => is_text_essence(essence),
        };
        if is_text {
            return decode_text(bytes, media_type, is_cut);
        }
        if is_cut {
            let what = if essence.is_empty() { "bytes".into() } else { shorten_part(essence) };
            let text = format!("[the response is {what} of more than {} bytes, and not shown]", bytes.len());
            return ShownBody::Text { text, notes: Vec::new() };
        }
        ShownBody::Content(match essence.split('/').next() {
            Some("image") => Content::image(bytes, essence),
            Some("audio") => Content::audio(bytes, essence),
            _ => match Content::from(output::Bytes(bytes)) {
                Content::Resource { mut resource } => {
                    resource.uri = url.to_owned();
                    if !essence.is_empty() {
                        resource.mime_type = essence.to_owned();
                    }
                    Content::Resource { resource }
                }
                other => other,
            },
        })
    }
}

/// Decodes a text of any charset of the web; a character that is cut off at the end is left out.
fn decode_text(bytes: Vec<u8>, media_type: &str, is_cut: bool) -> ShownBody {
    let mut notes = Vec::new();
    let label = media_type.split(';').skip(1).find_map(|it| {
        let (name, value) = it.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    });
    let encoding = match label.map(|label| (label, Encoding::for_label(label.as_bytes()))) {
        Some((_, Some(encoding))) => encoding,
        Some((label, None)) => {
            notes.push(format!(
                "the charset `{}` is unknown, and read as UTF-8",
                shorten_part(label).escape_debug()
            ));
            UTF_8
        }
        None => UTF_8,
    };
    // Most texts need no conversion. A byte order mark is removed by the decoder.
    let bytes = match String::from_utf8(bytes) {
        Ok(text) if encoding == UTF_8 && !text.starts_with('\u{feff}') => {
            return ShownBody::Text { text, notes };
        }
        Ok(text) => text.into_bytes(),
        Err(error) => error.into_bytes(),
    };
    let mut decoder = encoding.new_decoder();
    // The length overflows for no bytes that fit into memory.
    let room = decoder.max_utf8_buffer_length(bytes.len()).unwrap_or_default();
    let mut text = String::with_capacity(room);
    let (_, _, is_broken) = decoder.decode_to_string(&bytes, &mut text, !is_cut);
    if is_broken {
        notes.push(format!("bytes that are not valid {} are shown as `\u{fffd}`", encoding.name()));
    }
    text.shrink_to_fit();
    ShownBody::Text { text, notes }
}
