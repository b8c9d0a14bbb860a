//! The text of a body, by its byte order mark, its header, or the declaration of a page.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Bytes in which a page declares its encoding.
const DECLARATION_BYTES: usize = 1024;

/// A body as text.
#[derive(Debug)]
pub(super) struct DecodedText {
    pub(super) text: String,
    pub(super) charset: &'static str,
}

impl DecodedText {
    /// Decodes `bytes`; `label` is the charset of the header.
    pub(super) fn decode(bytes: &[u8], label: Option<&str>, is_html: bool) -> Self {
        let encoding = Encoding::for_bom(bytes)
            .map(|(encoding, _)| encoding)
            .or_else(|| Encoding::for_label_no_replacement(label?.as_bytes()))
            .or_else(|| declared_encoding(bytes).filter(|_| is_html))
            .unwrap_or_else(|| if std::str::from_utf8(bytes).is_ok() { UTF_8 } else { WINDOWS_1252 });
        let (text, encoding, _) = encoding.decode(bytes);
        Self { text: text.into_owned(), charset: encoding.name() }
    }

    /// Returns `true` if `bytes` cannot be text: they have zeros, and no encoding of two bytes.
    pub(super) fn is_binary(bytes: &[u8], label: Option<&str>) -> bool {
        let encoding = Encoding::for_bom(bytes).map(|(encoding, _)| encoding);
        let encoding = encoding.or_else(|| Encoding::for_label(label?.as_bytes()));
        let is_wide = encoding.is_some_and(|it| it == UTF_16LE || it == UTF_16BE);
        !is_wide && bytes.iter().take(64 * 1024).any(|it| *it == 0)
    }
}

/// Returns the encoding that a `meta` element near the start names. One of two bytes cannot be written there.
fn declared_encoding(bytes: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(bytes.get(..DECLARATION_BYTES).unwrap_or(bytes)).to_ascii_lowercase();
    let mut rest = start.as_str();
    while let Some((_, tag)) = rest.split_once("<meta") {
        let (tag, after) = tag.split_once('>').unwrap_or((tag, ""));
        if let Some((_, value)) = tag.split_once("charset") {
            let value = value.trim_start().strip_prefix('=').unwrap_or_default();
            let value = value.trim_start_matches(|it: char| it.is_whitespace() || matches!(it, '"' | '\''));
            let end = value.find(|it: char| it.is_whitespace() || matches!(it, '"' | '\'' | ';' | '/'));
            let label = value.get(..end.unwrap_or(value.len())).unwrap_or_default();
            if let Some(encoding) = Encoding::for_label_no_replacement(label.as_bytes()) {
                return Some(if encoding == UTF_16LE || encoding == UTF_16BE { UTF_8 } else { encoding });
            }
        }
        rest = after;
    }
    None
}
