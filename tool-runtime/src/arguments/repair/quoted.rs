//! Strings: where they end, and what their backslashes mean.
//!
//! A quote ends a string if what follows it can follow a string: in an object the next key or a
//! closer, in a list the next item. Any other is a quote that somebody forgot to escape, unless
//! that reading could have swallowed something: then the string is refused.

use std::fmt::Write;

use super::{
    bare,
    cursor::{Cursor, Gap, is_blank},
    doubt::Doubt,
};

/// What a string is for; that decides what may follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Key,
    Value,
    Item,
}

pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '´' | '‘' | '’' | '“' | '”')
}

/// What ends a string that `open` begins.
fn closers(open: char) -> &'static [char] {
    match open {
        '"' => &['"'],
        '\'' => &['\''],
        '“' | '”' => &['“', '”', '"'],
        _ => &['`', '´', '‘', '’', '\''],
    }
}

/// Writes `text` as a JSON string.
pub(super) fn write(out: &mut String, text: &str) {
    out.push('"');
    text.chars().for_each(|it| write_char(out, it));
    out.push('"');
}

fn write_char(out: &mut String, c: char) {
    match c {
        '"' => out.push_str("\\\""),
        '\\' => out.push_str("\\\\"),
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        // Writing to a string cannot fail.
        c if c < ' ' => _ = write!(out, "\\u{:04x}", u32::from(c)),
        c => out.push(c),
    }
}

/// Reads a string, and those that `+` adds to it; says whether its end came before that of the text.
pub(super) fn read(cursor: &mut Cursor<'_>, out: &mut String, role: Role) -> Result<bool, Doubt> {
    out.push('"');
    let mut is_whole = Piece::new(cursor, out, role).read()?;
    while is_whole && role != Role::Key && cursor.ahead(plus_follows) {
        plus_follows(cursor);
        is_whole = !cursor.at_end() && Piece::new(cursor, out, role).read()?;
    }
    out.push('"');
    Ok(is_whole)
}

/// One pair of quotes and what is between them.
struct Piece<'p, 'a> {
    cursor: &'p mut Cursor<'a>,
    out: &'p mut String,
    role: Role,
    start: usize,
    closers: &'static [char],
    /// Quotes within it that are not escaped.
    inner_quotes: usize,
    /// Whether one of these stands after a comma, as the next string would.
    follows_comma: bool,
    /// Whether one of these does not stand directly after a word, as that of `24"` does.
    stands_free: bool,
    /// Brackets within it that are open.
    depth: usize,
    /// Whether it closes one that it did not open.
    closes_other: bool,
    /// Whether there is a backslash, before a letter or a digit, that begins no escape.
    has_backslash: bool,
    /// Whether there is an escape that could have been meant as a backslash and a letter.
    has_letter_escape: bool,
}

impl<'p, 'a> Piece<'p, 'a> {
    fn new(cursor: &'p mut Cursor<'a>, out: &'p mut String, role: Role) -> Self {
        let start = cursor.at();
        Self {
            cursor,
            out,
            role,
            start,
            closers: &[],
            inner_quotes: 0,
            follows_comma: false,
            stands_free: false,
            depth: 0,
            closes_other: false,
            has_backslash: false,
            has_letter_escape: false,
        }
    }

    /// Reads up to the end of the string; says whether that came before the end of the text.
    fn read(mut self) -> Result<bool, Doubt> {
        let Some(open) = self.cursor.bump() else { return Ok(false) };
        self.closers = closers(open);
        let mut after = self.cursor.rest().chars();
        if (after.next(), after.next()) == (Some(open), Some(open)) {
            return self.doubt("a string in triple quotes");
        }
        let (mut before, mut last) = (open, open);
        while let Some(next) = self.cursor.bump() {
            if self.closers.contains(&next) {
                if self.ends_here()? {
                    return self.finish(true);
                }
                self.inner_quotes += 1;
                self.follows_comma |= last == ',';
                self.stands_free |= !before.is_alphanumeric();
                write_char(self.out, next);
            } else if next == '\\' {
                self.escape(before)?;
            } else {
                match next {
                    '{' | '[' => self.depth += 1,
                    '}' | ']' if self.depth == 0 => self.closes_other = true,
                    '}' | ']' => self.depth -= 1,
                    _ => {}
                }
                write_char(self.out, next);
            }
            before = next;
            if !is_blank(next) {
                last = next;
            }
        }
        self.finish(false)
    }

    fn doubt<T>(&self, what: &'static str) -> Result<T, Doubt> {
        Err(Doubt::new(what, self.start))
    }

    fn finish(self, is_whole: bool) -> Result<bool, Doubt> {
        let is_odd = self.inner_quotes % 2 == 1;
        let is_unbalanced = self.closes_other || self.depth > 0;
        let has_swallowed = match self.role {
            _ if !is_whole => self.inner_quotes > 0 || self.has_backslash,
            Role::Item => is_odd || self.follows_comma || (self.stands_free && is_unbalanced),
            Role::Key | Role::Value => self.stands_free && (is_odd || is_unbalanced),
        };
        if has_swallowed {
            return self.doubt("a string whose end is not certain");
        }
        if self.has_backslash && self.has_letter_escape {
            return self.doubt("a string with backslashes of two meanings");
        }
        Ok(is_whole)
    }

    /// Whether the quote before the cursor ends the string.
    fn ends_here(&mut self) -> Result<bool, Doubt> {
        let role = self.role;
        let is_inner = self.inner_quotes % 2 == 1;
        let ends = self.cursor.ahead(|ahead| {
            let gap = ahead.skip_blanks();
            match (role, ahead.peek()) {
                (_, None) if is_inner => Err("a string whose end is not certain"),
                (_, None) | (Role::Key, Some(':')) => Ok(true),
                (Role::Key, _) => Err("a key without a colon"),
                (_, Some(':')) => Err("a string whose end is not certain"),
                (_, Some('}' | ']')) => Ok(closers_end_something(ahead)),
                (_, Some('+')) => Ok(plus_follows(ahead)),
                (Role::Item, Some(',')) => Ok(true),
                (Role::Item, Some(next)) if is_quote(next) && gap == Gap::None => {
                    Err("two strings without a comma")
                }
                (Role::Item, Some(next)) => Ok(gap == Gap::LineBreak || is_quote(next)),
                (Role::Value, Some(',')) => {
                    ahead.bump();
                    Ok(key_follows(ahead))
                }
                (Role::Value, Some(next)) if is_quote(next) && gap != Gap::None => {
                    if key_follows(ahead) {
                        Ok(true)
                    } else {
                        Err("two strings without a comma")
                    }
                }
                (Role::Value, Some(_)) => Ok(gap == Gap::LineBreak && key_follows(ahead)),
            }
        });
        ends.or_else(|what| self.doubt(what))
    }

    /// Reads what follows a backslash; `before` stands before it.
    fn escape(&mut self, before: char) -> Result<(), Doubt> {
        match self.cursor.peek() {
            // The text ends within the escape.
            None => {}
            Some(next @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't')) => {
                self.cursor.bump();
                self.out.push('\\');
                self.out.push(next);
                self.has_letter_escape |= next.is_alphabetic();
            }
            Some('u') => self.unicode()?,
            Some(next) if self.closers.contains(&next) => {
                self.cursor.bump();
                write_char(self.out, next);
            }
            Some('\'') => {
                self.cursor.bump();
                // A shell writes `'\''`, and means the backslash.
                if before == '\'' || self.cursor.peek() == Some('\'') {
                    return self.doubt("a string with a backslash before an apostrophe");
                }
                self.out.push('\'');
            }
            Some(next) => {
                self.out.push_str("\\\\");
                self.has_backslash |= next.is_alphanumeric();
            }
        }
        Ok(())
    }

    /// Reads an escape from its `u` on.
    fn unicode(&mut self) -> Result<(), Doubt> {
        match Unicode::of(self.cursor.rest()) {
            Unicode::Escape(escape) => {
                self.cursor.eat(escape);
                self.out.push('\\');
                self.out.push_str(escape);
                self.has_letter_escape = true;
            }
            Unicode::CutOff => self.cursor.skip_while(|_| true),
            Unicode::Half => return self.doubt("a string with half a character"),
            Unicode::None => {
                self.out.push_str("\\\\");
                self.has_backslash = true;
            }
        }
        Ok(())
    }
}

/// What begins with a `u` after a backslash.
enum Unicode<'a> {
    /// One character: `uXXXX`, or two of these with a backslash between.
    Escape(&'a str),
    /// One of two that make a character.
    Half,
    /// The text ends within the escape.
    CutOff,
    None,
}

impl<'a> Unicode<'a> {
    fn of(text: &'a str) -> Self {
        let escape = |length| Self::Escape(text.get(..length).unwrap_or(""));
        let second = text.get(5..).unwrap_or("");
        match code_unit(text) {
            None if is_cut_off(text) => Self::CutOff,
            None => Self::None,
            Some(0xD800..=0xDBFF) => match second.strip_prefix('\\') {
                Some(second) if matches!(code_unit(second), Some(0xDC00..=0xDFFF)) => escape(11),
                Some(second) if second.is_empty() || is_cut_off(second) => Self::CutOff,
                None if second.is_empty() => Self::CutOff,
                _ => Self::Half,
            },
            Some(0xDC00..=0xDFFF) => Self::Half,
            Some(_) => escape(5),
        }
    }
}

/// The number in `u` and four digits.
fn code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix('u')?.get(..4)?;
    let is_hex = digits.bytes().all(|it| it.is_ascii_hexdigit());
    if is_hex { u16::from_str_radix(digits, 16).ok() } else { None }
}

/// Whether the text ends before the fourth digit.
fn is_cut_off(text: &str) -> bool {
    let digits = text.strip_prefix('u');
    digits.is_some_and(|it| it.len() < 4 && it.bytes().all(|it| it.is_ascii_hexdigit()))
}

/// Skips a `+` between two strings, and says whether there is one.
fn plus_follows(cursor: &mut Cursor<'_>) -> bool {
    cursor.skip_blanks();
    let is_plus = cursor.eat("+");
    cursor.skip_blanks();
    is_plus && cursor.peek().is_none_or(is_quote)
}

/// Whether what follows the closers can follow an object or a list. In `"x = {"a": "b"}"` a quote does.
fn closers_end_something(ahead: &mut Cursor<'_>) -> bool {
    let mut gap = Gap::None;
    while matches!(ahead.peek(), Some('}' | ']')) {
        ahead.bump();
        gap = ahead.skip_blanks();
    }
    let is_fence = ahead.rest().starts_with("```");
    gap != Gap::None || is_fence || !ahead.peek().is_some_and(is_quote)
}

/// Whether the next thing in an object is a key, or its end.
fn key_follows(ahead: &mut Cursor<'_>) -> bool {
    ahead.skip_blanks();
    match ahead.peek() {
        None | Some('}' | ']' | '…') => return true,
        Some(open) if is_quote(open) => skip_string(ahead, open),
        Some(_) if ahead.rest().starts_with("...") => return true,
        Some(_) => ahead.skip_while(bare::is_key_char),
    }
    ahead.skip_blanks();
    ahead.peek().is_none_or(|it| it == ':')
}

fn skip_string(ahead: &mut Cursor<'_>, open: char) {
    ahead.bump();
    while let Some(next) = ahead.bump() {
        if next == '\\' {
            ahead.bump();
        } else if closers(open).contains(&next) {
            return;
        }
    }
}
