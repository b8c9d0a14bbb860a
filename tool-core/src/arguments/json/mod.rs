//! JSON text, read one token at a time.
//!
//! A reader of our own, since checking is reading here: it knows where each value stands in the
//! text, hands out strings that are parts of it, keeps a number as it was written, and refuses
//! what nests too deeply. What a text means is decided in `serde_json`'s way throughout, and
//! numbers beyond the common ones are left to it.

mod number;
mod string;

use std::{borrow::Cow, ops::Range};

pub(in crate::arguments) use self::number::{Numeral, integral, is_kept, is_rounded, written};

/// How many lists and objects may be open at once, as in `serde_json`.
pub(in crate::arguments) const DEEPEST: u32 = 128;

/// Reads a text from its beginning to its end.
#[derive(Debug, Clone)]
pub(in crate::arguments) struct Reader<'t> {
    text: &'t str,
    /// What was not read yet; as a slice, so that no look at it can be beyond its end.
    rest: &'t [u8],
    /// How many more lists and objects may be opened.
    room: u32,
}

/// Why a text cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::arguments) enum Fault {
    /// It is no JSON.
    Syntax,
    /// Too many lists and objects are open.
    TooDeep,
}

impl<'t> Reader<'t> {
    pub(in crate::arguments) const fn new(text: &'t str) -> Self {
        Self { text, rest: text.as_bytes(), room: DEEPEST }
    }

    /// A reader of a text that may nest as deeply as it does: for walks that do not call themselves.
    pub(in crate::arguments) const fn of_any_depth(text: &'t str) -> Self {
        Self { room: u32::MAX, ..Self::new(text) }
    }

    /// Where the next token begins, in bytes from the start of the text; asked after a peek.
    pub(in crate::arguments) const fn position(&self) -> usize {
        self.text.len() - self.rest.len()
    }

    /// A reader of the same text from `position` on.
    pub(in crate::arguments) fn at(&self, position: usize) -> Self {
        let rest = self.text.as_bytes().get(position..).unwrap_or_default();
        Self { text: self.text, rest, room: self.room }
    }

    /// A part of the text.
    pub(in crate::arguments) fn part(&self, range: Range<usize>) -> &'t str {
        self.text.get(range).unwrap_or_default()
    }

    /// The first byte of the next token; `None` at the end.
    #[inline]
    pub(in crate::arguments) fn peek(&mut self) -> Option<u8> {
        // Mostly there is one blank or none.
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

    /// Takes the next token, if it is `wanted`, which is one byte long.
    #[inline]
    pub(in crate::arguments) fn take(&mut self, wanted: u8) -> bool {
        let is_it = self.peek() == Some(wanted);
        if is_it {
            self.skip();
        }
        is_it
    }

    /// Takes one byte, which was seen.
    #[inline]
    fn skip(&mut self) {
        if let [_, rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    /// Takes the token that opens a list or an object.
    #[inline]
    pub(in crate::arguments) fn open(&mut self) -> Result<(), Fault> {
        self.room = self.room.checked_sub(1).ok_or(Fault::TooDeep)?;
        self.skip();
        Ok(())
    }

    /// Takes `null`, `true` or `false`.
    pub(in crate::arguments) fn word(&mut self, word: &'static str) -> Result<(), Fault> {
        self.rest = self.rest.strip_prefix(word.as_bytes()).ok_or(Fault::Syntax)?;
        Ok(())
    }

    /// The string that begins here: a part of the text, unless it has escapes.
    // Most of what is read; whether a compiler inlines it on its own differs from one build to the next.
    #[inline(always)]
    pub(in crate::arguments) fn string(&mut self) -> Result<Cow<'t, str>, Fault> {
        self.skip();
        let start = self.position();
        let length = string::plain(self.rest)?;
        if let Some((b'"', rest)) = self.rest.get(length..).and_then(<[u8]>::split_first) {
            self.rest = rest;
            return Ok(Cow::Borrowed(self.text.get(start..start + length).unwrap_or_default()));
        }
        let (string, end) = string::unescaped(self.text, start, start + length)?;
        self.rest = self.text.as_bytes().get(end..).unwrap_or_default();
        Ok(Cow::Owned(string))
    }

    /// The name that begins here, with its colon.
    pub(in crate::arguments) fn name(&mut self) -> Result<Cow<'t, str>, Fault> {
        if self.peek() != Some(b'"') {
            return Err(Fault::Syntax);
        }
        let name = self.string()?;
        if self.take(b':') { Ok(name) } else { Err(Fault::Syntax) }
    }

    /// Takes what begins here, if it is written as `tokens`.
    #[inline]
    pub(in crate::arguments) fn take_all(&mut self, tokens: &str) -> bool {
        let rest = self.rest.strip_prefix(tokens.as_bytes());
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Takes the integer that begins here, if it is a common one: its sign and its digits.
    #[inline]
    pub(in crate::arguments) fn take_integer(&mut self) -> Option<(bool, u64)> {
        let (negative, magnitude, rest) = number::common(self.rest)?;
        self.rest = rest;
        Some((negative, magnitude))
    }

    /// The number that begins here.
    pub(in crate::arguments) fn number(&mut self) -> Result<Numeral<'t>, Fault> {
        let (number, end) = number::read(self.text, self.position())?;
        self.rest = self.text.as_bytes().get(end..).unwrap_or_default();
        Ok(number)
    }

    /// Takes the separator before the next item; false where `close` ends the list or object.
    #[inline]
    pub(in crate::arguments) fn next_item(&mut self, is_first: bool, close: u8) -> Result<bool, Fault> {
        match self.peek() {
            Some(byte) if byte == close => {
                self.skip();
                self.room += 1;
                Ok(false)
            }
            Some(b',') if !is_first => {
                self.skip();
                // `[1,]` is no list.
                if self.peek() == Some(close) { Err(Fault::Syntax) } else { Ok(true) }
            }
            Some(_) if is_first => Ok(true),
            _ => Err(Fault::Syntax),
        }
    }

    /// As [`next_item`](Self::next_item) in an object; that a name comes next is for the reader of
    /// names to see, also after the last comma.
    #[inline]
    pub(in crate::arguments) fn next_property(&mut self, is_first: bool) -> Result<bool, Fault> {
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

    /// Whether nothing is left.
    pub(in crate::arguments) fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }
}
