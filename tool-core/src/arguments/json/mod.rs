//! JSON text, read one token at a time.
//!
//! A reader of our own, since checking is reading here: it knows where each value stands in the
//! text, hands out strings that are parts of it, keeps a number as it was written, and refuses
//! what nests too deeply. What a text means is decided in `serde_json`'s way throughout, and
//! numbers beyond the common ones are left to it.

mod number;
mod string;

use std::{borrow::Cow, ops::Range};

pub(in crate::arguments) use self::number::{Numeral, integral};

/// How many lists and objects may be open at once, as in `serde_json`.
pub(in crate::arguments) const DEEPEST: u8 = 128;

/// Reads a text from its beginning to its end.
#[derive(Debug, Clone)]
pub(in crate::arguments) struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// How many more lists and objects may be opened.
    room: u8,
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
        Self { text, at: 0, room: DEEPEST }
    }

    /// Where the next token begins, in bytes from the start of the text; asked after a peek.
    pub(in crate::arguments) const fn position(&self) -> usize {
        self.at
    }

    /// A reader of the same text from `position` on.
    pub(in crate::arguments) const fn at(&self, position: usize) -> Self {
        Self { text: self.text, at: position, room: self.room }
    }

    /// A part of the text.
    pub(in crate::arguments) fn part(&self, range: Range<usize>) -> &'t str {
        self.text.get(range).unwrap_or_default()
    }

    /// The first byte of the next token; `None` at the end.
    #[inline]
    pub(in crate::arguments) fn peek(&mut self) -> Option<u8> {
        loop {
            let next = self.byte()?;
            if !matches!(next, b' ' | b'\n' | b'\t' | b'\r') {
                return Some(next);
            }
            self.at += 1;
        }
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Takes the next token, if it is `wanted`, which is one byte long.
    #[inline]
    pub(in crate::arguments) fn take(&mut self, wanted: u8) -> bool {
        let is_it = self.peek() == Some(wanted);
        if is_it {
            self.at += 1;
        }
        is_it
    }

    /// Takes the token that opens a list or an object.
    pub(in crate::arguments) fn open(&mut self) -> Result<(), Fault> {
        self.room = self.room.checked_sub(1).ok_or(Fault::TooDeep)?;
        self.at += 1;
        Ok(())
    }

    /// Says that a list or an object was closed.
    pub(in crate::arguments) const fn closed(&mut self) {
        self.room += 1;
    }

    /// Takes `null`, `true` or `false`.
    pub(in crate::arguments) fn word(&mut self, word: &'static str) -> Result<(), Fault> {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        if rest.starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(());
        }
        Err(Fault::Syntax)
    }

    /// The string that begins here: a part of the text, unless it has escapes.
    pub(in crate::arguments) fn string(&mut self) -> Result<Cow<'t, str>, Fault> {
        let (string, end) = string::read(self.text, self.at + 1)?;
        self.at = end;
        Ok(string)
    }

    /// The number that begins here.
    pub(in crate::arguments) fn number(&mut self) -> Result<Numeral<'t>, Fault> {
        let (number, end) = number::read(self.text, self.at)?;
        self.at = end;
        Ok(number)
    }

    /// Takes the separator before the next item; false where `close` ends the list or object.
    #[inline]
    pub(in crate::arguments) fn next_item(&mut self, is_first: bool, close: u8) -> Result<bool, Fault> {
        match self.peek() {
            Some(byte) if byte == close => {
                self.at += 1;
                self.closed();
                Ok(false)
            }
            Some(b',') if !is_first => {
                self.at += 1;
                // `[1,]` is no list.
                if self.peek() == Some(close) { Err(Fault::Syntax) } else { Ok(true) }
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
