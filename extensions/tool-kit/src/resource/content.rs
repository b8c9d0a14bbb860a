//! The type of bytes, and their text.

use std::path::Path;

use encoding_rs::{Encoding, WINDOWS_1252};
use tool_runtime::output::{Blob, ResourceBody};

const PLAIN_TEXT: &str = "text/plain";
const UNKNOWN_TYPE: &str = "application/octet-stream";

/// Bytes with their type: text of any encoding as UTF-8, anything else as it is.
pub(crate) struct DetectedContent {
    pub(crate) mime_type: String,
    pub(crate) body: ResourceBody,
}

/// The beginnings of formats whose files may have characters of ASCII only, and are no texts.
const FORMAT_MARKS: [&[u8]; 3] = [b"%PDF-", b"{\\rtf", b"%!PS"];

/// Bytes that no character of Windows-1252 has, and the one that deletes.
const UNUSED_BYTES: [u8; 6] = [0x7f, 0x81, 0x8d, 0x8f, 0x90, 0x9d];

/// Detects the type by the content, and by the name of a file where the content does not tell.
///
/// A text stays one, whatever it begins with. Its type is the one that the name tells, or else the content: only a few texts have a mark.
pub(crate) fn detect_content(bytes: Vec<u8>, file_name: Option<&str>) -> DetectedContent {
    let by_content = infer::get(&bytes).map(|kind| kind.mime_type());
    let by_name = file_name.and_then(|name| mime_guess::from_path(Path::new(name)).first_raw());
    let is_binary = by_content.is_some_and(|mime_type| !mime_type.starts_with("text/"));
    let text = if is_binary && !is_plain_text(&bytes) { Err(bytes) } else { decode_text(bytes) };
    match text {
        Ok(text) => {
            let by_content = by_content.filter(|mime_type| mime_type.starts_with("text/"));
            let mime_type =
                by_name.filter(|mime_type| is_textual(mime_type)).or(by_content).unwrap_or(PLAIN_TEXT);
            DetectedContent { mime_type: mime_type.to_owned(), body: ResourceBody::Text(text) }
        }
        Err(bytes) => {
            let by_name = by_name.filter(|mime_type| !is_textual(mime_type));
            let mime_type = by_content.filter(|_| is_binary).or(by_name).unwrap_or(UNKNOWN_TYPE);
            DetectedContent { mime_type: mime_type.to_owned(), body: ResourceBody::Blob(Blob(bytes)) }
        }
    }
}

/// Returns `true` for UTF-8 without control characters, of no format of [`FORMAT_MARKS`].
fn is_plain_text(bytes: &[u8]) -> bool {
    let is_other = FORMAT_MARKS.iter().any(|mark| bytes.starts_with(mark));
    !is_other && !bytes.iter().any(is_control) && std::str::from_utf8(bytes).is_ok()
}

fn is_control(byte: &u8) -> bool {
    *byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x0c)
}

/// Returns `true` for the types whose files are texts.
fn is_textual(mime_type: &str) -> bool {
    let subtype = mime_type.split('/').nth(1).unwrap_or_default();
    mime_type.starts_with("text/")
        || ["json", "xml", "javascript", "yaml", "x-yaml", "toml", "sql", "x-sh", "graphql"]
            .contains(&subtype)
        || subtype.ends_with("+json")
        || subtype.ends_with("+xml")
}

/// Returns the text of bytes, or the bytes if they are none: UTF-8, UTF-16 with or without a mark, and else Windows-1252 without control
/// characters. No text has a zero character.
fn decode_text(bytes: Vec<u8>) -> Result<String, Vec<u8>> {
    if let Some((encoding, mark_bytes)) = Encoding::for_bom(&bytes) {
        let text = encoding.decode_without_bom_handling_and_without_replacement(&bytes[mark_bytes..]);
        return text.filter(|text| !text.contains('\0')).map(String::from).ok_or(bytes);
    }
    if bytes.contains(&0) {
        return decode_unmarked_utf16(&bytes).ok_or(bytes);
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) => {
            let bytes = error.into_bytes();
            match bytes.iter().any(|byte| is_control(byte) || UNUSED_BYTES.contains(byte)) {
                true => Err(bytes),
                false => Ok(WINDOWS_1252.decode_without_bom_handling(&bytes).0.into_owned()),
            }
        }
    }
}

/// Returns the text of UTF-16 without a mark, whose characters are mostly those of ASCII.
fn decode_unmarked_utf16(bytes: &[u8]) -> Option<String> {
    if !bytes.len().is_multiple_of(2) {
        return None;
    }
    let zeros = |first: usize| bytes.iter().skip(first).step_by(2).filter(|byte| **byte == 0).count();
    let (in_high_first, in_low_first, units) = (zeros(0), zeros(1), bytes.len() / 2);
    let encoding = match (in_high_first * 2 > units, in_low_first * 2 > units) {
        (true, false) => encoding_rs::UTF_16BE,
        (false, true) => encoding_rs::UTF_16LE,
        _ => return None,
    };
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    (!text.contains('\0')).then(|| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the type, and the text; `None` for other bytes.
    fn detected(bytes: &[u8], file_name: Option<&str>) -> (String, Option<String>) {
        let DetectedContent { mime_type, body } = detect_content(bytes.to_vec(), file_name);
        match body {
            ResourceBody::Text(text) => (mime_type, Some(text)),
            ResourceBody::Blob(blob) => {
                assert_eq!(blob.0, bytes);
                (mime_type, None)
            }
        }
    }

    fn text_of(bytes: &[u8]) -> Option<String> {
        detected(bytes, None).1
    }

    #[test]
    fn types_of_texts_are_recognized() {
        for mime_type in [
            "text/plain",
            "application/json",
            "application/x-yaml",
            "application/x-sh",
            "application/geo+json",
            "image/svg+xml",
        ] {
            assert!(is_textual(mime_type), "{mime_type}");
        }
        for mime_type in
            ["", "text", "json", "image/png", "application/jsonp", "json/png", "application/octet-stream"]
        {
            assert!(!is_textual(mime_type), "{mime_type}");
        }
    }

    #[test]
    fn a_text_begins_like_a_format_and_has_no_control_characters() {
        assert_eq!(text_of(b"BM\x0c\t\r\n ~").as_deref(), Some("BM\x0c\t\r\n ~"));
        for bytes in [&b"BM\x1f"[..], b"BM\0a", b"BM\xff", b"%PDF-1.7", b"{\\rtf1 a", b"%!PS-Adobe"] {
            let (mime_type, text) = detected(bytes, Some("a.txt"));
            assert!(text.is_none() && !mime_type.starts_with("text/"), "{bytes:?}: {mime_type}");
        }
    }

    #[test]
    fn windows_1252_has_no_control_characters_and_no_unused_bytes() {
        assert_eq!(text_of(b"\xfc \t\r\n\x0c\x80").as_deref(), Some("ü \t\r\n\x0c€"));
        for byte in [0x01, 0x0b, 0x1b, 0x1f, 0x7f, 0x81, 0x8d, 0x8f, 0x90, 0x9d] {
            assert_eq!(text_of(&[0xfc, byte]), None, "{byte}");
        }
    }

    #[test]
    fn utf_16_without_a_mark_has_mostly_characters_of_ascii() {
        assert_eq!(text_of(b"a\0b\0").as_deref(), Some("ab"));
        assert_eq!(text_of(b"\0a\0b").as_deref(), Some("ab"));
        assert_eq!(text_of(b"a\0b\0\x30\x31").as_deref(), Some("ab\u{3130}"));
        for bytes in [
            // Half of them.
            &b"a\0\x30\x31"[..],
            b"\0a\x31\x30",
            b"a\0b",
            b"a\0b\0c\0\0\0",
            b"\0\0",
            // A half of a pair.
            b"a\0b\0c\0\x00\xd8",
        ] {
            assert_eq!(text_of(bytes), None, "{bytes:?}");
        }
    }
}
