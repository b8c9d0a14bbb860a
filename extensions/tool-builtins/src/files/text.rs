//! The encoding of a text: found, and written back as it was.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

/// Bytes at the start of a file by which its encoding is found.
pub(super) const DETECTION_BYTES: usize = 64 * 1024;

/// The form of a text in bytes.
#[derive(Debug, Clone, Copy)]
pub(super) struct TextForm {
    pub(super) encoding: &'static Encoding,
    /// Bytes of the byte order mark; 0 without one.
    pub(super) mark_bytes: usize,
}

impl TextForm {
    /// The form of a text that begins with `start`; `None` for a binary file. `is_whole` says that nothing follows.
    ///
    /// A text that is not UTF-8 is read as Windows-1252, which has a character for each byte.
    pub(super) fn detect(start: &[u8], is_whole: bool) -> Option<Self> {
        if let Some((encoding, mark_bytes)) = Encoding::for_bom(start) {
            return Some(Self { encoding, mark_bytes });
        }
        if start.contains(&0) {
            return None;
        }
        let is_utf8 = match std::str::from_utf8(start) {
            Ok(_) => true,
            Err(error) => error.error_len().is_none() && !is_whole,
        };
        Some(Self { encoding: if is_utf8 { UTF_8 } else { WINDOWS_1252 }, mark_bytes: 0 })
    }

    /// The form of a whole file, by its start: as a read of the file finds it.
    pub(super) fn of_whole_content(bytes: &[u8]) -> Option<Self> {
        Self::detect(bytes.get(..DETECTION_BYTES).unwrap_or(bytes), bytes.len() < DETECTION_BYTES)
    }

    /// The text of a whole file, without its mark; `None` if it would not be written back as the same bytes.
    pub(super) fn decode_if_lossless(self, bytes: &[u8]) -> Option<String> {
        let text = self
            .encoding
            .decode_without_bom_handling_and_without_replacement(bytes.get(self.mark_bytes..)?)?;
        (self.encode_after_mark(&text, bytes).as_deref() == Ok(bytes)).then(|| text.into_owned())
    }

    /// The bytes of `text`, after the mark of `original`.
    ///
    /// # Errors
    ///
    /// Returns the first character that the encoding does not have.
    pub(super) fn encode_after_mark(self, text: &str, original: &[u8]) -> Result<Vec<u8>, char> {
        let mut bytes = original.get(..self.mark_bytes).unwrap_or_default().to_vec();
        if self.encoding == UTF_16LE {
            bytes.extend(text.encode_utf16().flat_map(u16::to_le_bytes));
        } else if self.encoding == UTF_16BE {
            bytes.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
        } else {
            let (encoded, _, has_unmappable) = self.encoding.encode(text);
            if has_unmappable {
                let is_unmappable = |letter: &char| self.encoding.encode(letter.encode_utf8(&mut [0; 4])).2;
                return Err(text.chars().find(is_unmappable).unwrap_or('\u{fffd}'));
            }
            bytes.extend_from_slice(&encoded);
        }
        Ok(bytes)
    }
}
