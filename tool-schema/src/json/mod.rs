//! A tokenizer for JSON text.
//!
//! Validation happens while reading, which needs more than `serde_json` offers: the position of each value in the
//! text, borrowed strings, the spelling of numbers, and a depth limit. The meaning of a text is the same as in
//! `serde_json`, which also parses uncommon numbers.

mod escape;
mod number;
mod string;

use std::{borrow::Cow, ops::Range};

pub(crate) use self::{
    escape::{escape_string, write_quoted},
    number::{
        FRACTION_SENTINEL, MAX_SENTINEL, NumberParts, Numeral, fits_64_bits, integer_of_float, integer_value,
        nearest_float,
    },
    string::special_mask,
};

/// The maximum nesting of lists and objects, as in `serde_json`.
pub(crate) const MAX_DEPTH: u32 = 128;

/// Reads a text from start to end.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'t> {
    text: &'t str,
    /// The unread bytes; a slice, so that no access can exceed the end.
    rest: &'t [u8],
    /// The number of lists and objects that may still be opened.
    room: u32,
}

/// The reason why reading fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The text is not JSON.
    Syntax,
    /// The maximum nesting is exceeded.
    TooDeep,
}

impl<'t> Reader<'t> {
    pub(crate) const fn new(text: &'t str) -> Self {
        Self { text, rest: text.as_bytes(), room: MAX_DEPTH }
    }

    /// Creates a reader without a depth limit, for iterative walks.
    pub(crate) const fn of_any_depth(text: &'t str) -> Self {
        Self { room: u32::MAX, ..Self::new(text) }
    }

    /// Returns the offset of the next token in bytes; valid after a peek.
    pub(crate) const fn position(&self) -> usize {
        self.text.len() - self.rest.len()
    }

    /// Returns a reader of the same text from `position`.
    pub(crate) fn reader_at(&self, position: usize) -> Self {
        let rest = self.text.as_bytes().get(position..).unwrap_or_default();
        Self { text: self.text, rest, room: self.room }
    }

    /// Returns a part of the text.
    pub(crate) fn text_in(&self, range: Range<usize>) -> &'t str {
        self.text.get(range).unwrap_or_default()
    }

    /// Returns the first byte of the next token; `None` at the end.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        // Usually there is at most one blank.
        match self.rest {
            [first, ..] if *first > b' ' => Some(*first),
            [b' ', first, ..] if *first > b' ' => {
                self.skip();
                Some(*first)
            }
            _ => self.peek_behind_blanks(),
        }
    }

    fn peek_behind_blanks(&mut self) -> Option<u8> {
        while let [b' ' | b'\n' | b'\t' | b'\r', rest @ ..] = self.rest {
            self.rest = rest;
        }
        self.rest.first().copied()
    }

    /// Consumes the next token if it is the single byte `wanted`.
    #[inline]
    pub(crate) fn consume_byte_if_next(&mut self, wanted: u8) -> bool {
        let is_it = self.peek() == Some(wanted);
        if is_it {
            self.skip();
        }
        is_it
    }

    /// Consumes one peeked byte.
    #[inline]
    fn skip(&mut self) {
        if let [_, rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// Consumes the token that opens a list or an object.
    #[inline]
    pub(crate) fn open_container(&mut self) -> Result<(), Fault> {
        self.room = self.room.checked_sub(1).ok_or(Fault::TooDeep)?;
        self.skip();
        Ok(())
    }

    /// Consumes `null`, `true` or `false`.
    pub(crate) fn read_word(&mut self, word: &'static str) -> Result<(), Fault> {
        self.rest = self.rest.strip_prefix(word.as_bytes()).ok_or(Fault::Syntax)?;
        Ok(())
    }

    /// Returns the next string, borrowed unless it has escapes.
    // Always inlined: it reads most of a text, and the compiler's own choice varies from build to build.
    #[inline(always)]
    pub(crate) fn read_string(&mut self) -> Result<Cow<'t, str>, Fault> {
        self.skip();
        let start = self.position();
        let length = string::literal_length(self.rest)?;
        if let Some((b'"', rest)) = self.rest.get(length..).and_then(<[u8]>::split_first) {
            self.rest = rest;
            return Ok(Cow::Borrowed(self.text.get(start..start + length).unwrap_or_default()));
        }
        let (string, end) = string::decode_escapes(self.text, start, start + length)?;
        self.rest = self.text.as_bytes().get(end..).unwrap_or_default();
        Ok(Cow::Owned(string))
    }

    /// Returns the next name and consumes its colon.
    pub(crate) fn read_name(&mut self) -> Result<Cow<'t, str>, Fault> {
        if self.peek() != Some(b'"') {
            return Err(Fault::Syntax);
        }
        let name = self.read_string()?;
        if self.consume_byte_if_next(b':') { Ok(name) } else { Err(Fault::Syntax) }
    }

    /// Consumes `tokens` if the text continues with them.
    #[inline]
    pub(crate) fn consume_text_if_next(&mut self, tokens: &str) -> bool {
        let Some((start, rest)) = self.rest.split_at_checked(tokens.len()) else { return false };
        let is_it = equal_bytes(start, tokens.as_bytes());
        if is_it {
            self.rest = rest;
        }
        is_it
    }

    /// Consumes the next integer if it is a common one; returns its sign and digits.
    #[inline]
    pub(crate) fn consume_common_integer(&mut self) -> Option<(bool, u64)> {
        let (negative, magnitude, rest) = number::read_common_integer(self.rest)?;
        self.rest = rest;
        Some((negative, magnitude))
    }

    /// Consumes the next number if it has a fraction and a common form; returns the nearest float.
    #[inline]
    pub(crate) fn consume_short_decimal(&mut self) -> Option<f64> {
        let (float, rest) = number::read_short_decimal(self.rest)?;
        self.rest = rest;
        Some(float)
    }

    /// Returns the next number.
    pub(crate) fn read_number(&mut self) -> Result<Numeral<'t>, Fault> {
        let (number, end) = number::read_numeral(self.text, self.position())?;
        self.rest = self.text.as_bytes().get(end..).unwrap_or_default();
        Ok(number)
    }

    /// Consumes the separator before the next item; returns `false` if `close` ends the list or object.
    #[inline]
    pub(crate) fn next_item(&mut self, is_first: bool, close: u8) -> Result<bool, Fault> {
        match self.peek() {
            Some(byte) if byte == close => {
                self.skip();
                self.room += 1;
                Ok(false)
            }
            Some(b',') if !is_first => {
                self.skip();
                // Rejects a trailing comma.
                if self.peek() == Some(close) { Err(Fault::Syntax) } else { Ok(true) }
            }
            Some(_) if is_first => Ok(true),
            _ => Err(Fault::Syntax),
        }
    }

    /// Consumes the separator before the next property, like [`next_item`](Self::next_item). Reading the name then
    /// detects a trailing comma.
    #[inline]
    pub(crate) fn next_property(&mut self, is_first: bool) -> Result<bool, Fault> {
        match self.peek() {
            Some(b',') if !is_first => {
                self.skip();
                self.peek();
                Ok(true)
            }
            Some(b'}') => {
                self.skip();
                self.room += 1;
                Ok(false)
            }
            Some(_) if is_first => Ok(true),
            _ => Err(Fault::Syntax),
        }
    }

    /// Returns `true` at the end of the text.
    pub(crate) fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }
}

/// Compares two slices of the same length. Short ones are compared in place, by two words that may overlap.
#[inline]
fn equal_bytes(left: &[u8], right: &[u8]) -> bool {
    match left.len() {
        4..8 => {
            left.first_chunk::<4>() == right.first_chunk() && left.last_chunk::<4>() == right.last_chunk()
        }
        8..=16 => {
            left.first_chunk::<8>() == right.first_chunk() && left.last_chunk::<8>() == right.last_chunk()
        }
        _ => left == right,
    }
}

#[cfg(test)]
mod tests {
    use super::equal_bytes;

    #[test]
    fn texts_of_one_length_are_equal_if_each_of_their_bytes_is() {
        for length in 0..20_u8 {
            let bytes: Vec<u8> = (0..length).collect();
            assert!(equal_bytes(&bytes, &bytes), "{length}");
            for at in 0..usize::from(length) {
                let mut other = bytes.clone();
                other[at] ^= 1;
                assert!(!equal_bytes(&bytes, &other) && !equal_bytes(&other, &bytes), "{length} {at}");
            }
        }
    }
}
