//! A text of bounded length.

use std::io;

use super::MAX_OUTPUT_BYTES;

/// A text of at most [`MAX_OUTPUT_BYTES`].
#[derive(Default)]
pub(super) struct BoundedText {
    bytes: Vec<u8>,
    is_full: bool,
}

impl BoundedText {
    /// Returns `true` if something was left out.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    pub(super) fn push(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.bytes.len() + bytes.len() > MAX_OUTPUT_BYTES {
            self.is_full = true;
            return Err(io::Error::other("the text is too long"));
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Returns the text; `None` if something was left out, or the bytes are none.
    pub(super) fn into_string(self) -> Option<String> {
        String::from_utf8(self.bytes).ok().filter(|_| !self.is_full)
    }
}

impl io::Write for BoundedText {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.push(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
