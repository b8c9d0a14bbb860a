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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_of_a_page_names_its_encoding() {
        for (declaration, expected) in [
            ("<meta charset=koi8-r>", "KOI8-R"),
            ("<META CharSet = \"koi8-r\">", "KOI8-R"),
            ("<meta charset='koi8-r' >", "KOI8-R"),
            ("<meta charset=koi8-r/>", "KOI8-R"),
            ("<meta charset= ' koi8-r'>", "KOI8-R"),
            ("<meta content='text/html; charset=koi8-r; a'>", "KOI8-R"),
            ("<meta name=a><meta><p><meta charset=koi8-r>", "KOI8-R"),
            ("<meta charset=unknown><meta charset=koi8-r>", "KOI8-R"),
            ("<meta charset=koi8-r ", "KOI8-R"),
            ("<meta charset=utf-16>", "UTF-8"),
            ("<meta charset=utf-16be>", "UTF-8"),
            ("<meta charset koi8-r>", "windows-1252"),
            ("<meta><p charset=koi8-r>", "windows-1252"),
            ("<p charset=koi8-r>", "windows-1252"),
        ] {
            let page = [declaration.as_bytes(), b"\xe9"].concat();
            assert_eq!(DecodedText::decode(&page, None, true).charset, expected, "{declaration}");
            // A text that is no page declares nothing.
            assert_eq!(DecodedText::decode(&page, None, false).charset, "windows-1252");
            assert_eq!(DecodedText::decode(&page, Some("utf-8"), true).charset, "UTF-8");
        }
        let late = |bytes: usize| {
            let page = [" ".repeat(bytes).as_bytes(), b"<meta charset=koi8-r>\xe9"].concat();
            DecodedText::decode(&page, None, true).charset
        };
        assert_eq!((late(1024 - 21), late(1024)), ("KOI8-R", "windows-1252"));
    }

    #[test]
    fn bytes_with_a_zero_in_the_first_64_kib_are_binary_but_in_encodings_of_two_bytes() {
        let zero_after = |count: usize| [vec![b'a'; count], vec![0]].concat();
        for (bytes, label, expected) in [
            (zero_after(0), None, true),
            (zero_after(65_535), None, true),
            (zero_after(65_536), None, false),
            (b"text\x01".to_vec(), None, false),
            (b"a\0".to_vec(), Some("utf-16"), false),
            (b"\0a".to_vec(), Some("utf-16be"), false),
            (b"a\0".to_vec(), Some("utf-8"), true),
            (b"a\0".to_vec(), Some("unknown"), true),
            (b"\xff\xfea\0".to_vec(), Some("utf-8"), false),
            (b"\xfe\xff\0a".to_vec(), None, false),
            (b"\xef\xbb\xbf\0a".to_vec(), Some("utf-16"), true),
        ] {
            assert_eq!(DecodedText::is_binary(&bytes, label), expected, "{label:?}");
        }
    }
}
