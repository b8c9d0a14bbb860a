//! Strings: their ends, and the meaning of their backslashes.
//!
//! A quote ends a string if the text after it can follow a string: in an object the next key or a closing
//! bracket, in a list the next item. Any other quote is read as an unescaped quote inside the string, unless
//! that interpretation could have swallowed data: then the string is rejected.

use std::fmt::Write;

use super::{
    ambiguity::Ambiguity,
    cursor::{Cursor, Gap, is_blank},
    unquoted,
};

/// The role of a string, which determines the text that may follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StringRole {
    Key,
    Value,
    Item,
}

pub(super) fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '´' | '‘' | '’' | '“' | '”')
}

/// Returns the quotes that end a string beginning with `open`.
fn closing_quotes(open: char) -> &'static [char] {
    match open {
        '"' => &['"'],
        '\'' => &['\''],
        '“' | '”' => &['“', '”', '"'],
        _ => &['`', '´', '‘', '’', '\''],
    }
}

/// Writes `text` as a JSON string.
pub(super) fn write_string(out: &mut String, text: &str) {
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

/// Reads a string, and strings that `+` appends to it; returns `true` if it ended before the text did.
pub(super) fn read_string(
    cursor: &mut Cursor<'_>,
    out: &mut String,
    role: StringRole,
) -> Result<bool, Ambiguity> {
    out.push('"');
    let mut is_whole = StringPiece::new(cursor, out, role).read_to_end()?;
    while is_whole && role != StringRole::Key && cursor.look_ahead(skip_string_concatenation) {
        skip_string_concatenation(cursor);
        is_whole = !cursor.is_at_end() && StringPiece::new(cursor, out, role).read_to_end()?;
    }
    out.push('"');
    Ok(is_whole)
}

/// One quoted piece of a string.
struct StringPiece<'p, 'a> {
    cursor: &'p mut Cursor<'a>,
    out: &'p mut String,
    role: StringRole,
    start: usize,
    closers: &'static [char],
    /// The number of unescaped quotes within it.
    inner_quotes: usize,
    /// Set if one of these follows a comma, as the next string would.
    follows_comma: bool,
    /// Set if one of these does not directly follow a word, as in `24"`.
    stands_free: bool,
    /// The number of open brackets within it.
    depth: usize,
    /// Set if it closes a bracket that it did not open.
    closes_other: bool,
    /// Set if there is a backslash before a letter or digit that is not a valid escape.
    has_backslash: bool,
    /// Set if there is an escape that may be meant as a backslash and a letter.
    has_letter_escape: bool,
}

impl<'p, 'a> StringPiece<'p, 'a> {
    fn new(cursor: &'p mut Cursor<'a>, out: &'p mut String, role: StringRole) -> Self {
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

    /// Reads up to the end of the string; returns `true` if it ended before the text did.
    fn read_to_end(mut self) -> Result<bool, Ambiguity> {
        let Some(open) = self.cursor.take_char() else { return Ok(false) };
        self.closers = closing_quotes(open);
        let mut after = self.cursor.rest().chars();
        if (after.next(), after.next()) == (Some(open), Some(open)) {
            return self.ambiguous_here("a string in triple quotes");
        }
        let (mut before, mut last) = (open, open);
        while let Some(next) = self.cursor.take_char() {
            if self.closers.contains(&next) {
                if self.quote_ends_string()? {
                    return self.finish(true);
                }
                self.inner_quotes += 1;
                self.follows_comma |= last == ',';
                self.stands_free |= !before.is_alphanumeric();
                write_char(self.out, next);
            } else if next == '\\' {
                self.read_escape(before)?;
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

    fn ambiguous_here<T>(&self, what: &'static str) -> Result<T, Ambiguity> {
        Err(Ambiguity::new(what, self.start))
    }

    fn finish(self, is_whole: bool) -> Result<bool, Ambiguity> {
        let is_odd = self.inner_quotes % 2 == 1;
        let is_unbalanced = self.closes_other || self.depth > 0;
        let has_swallowed = match self.role {
            _ if !is_whole => self.inner_quotes > 0 || self.has_backslash,
            StringRole::Item => is_odd || self.follows_comma || (self.stands_free && is_unbalanced),
            StringRole::Key | StringRole::Value => self.stands_free && (is_odd || is_unbalanced),
        };
        if has_swallowed {
            return self.ambiguous_here("a string whose end is not certain");
        }
        if self.has_backslash && self.has_letter_escape {
            return self.ambiguous_here("a string with backslashes of two meanings");
        }
        Ok(is_whole)
    }

    /// Returns `true` if the quote before the cursor ends the string.
    fn quote_ends_string(&mut self) -> Result<bool, Ambiguity> {
        let role = self.role;
        let is_inner = self.inner_quotes % 2 == 1;
        let ends = self.cursor.look_ahead(|ahead| {
            let gap = ahead.skip_blanks();
            match (role, ahead.peek()) {
                (_, None) if is_inner => Err("a string whose end is not certain"),
                (_, None) | (StringRole::Key, Some(':')) => Ok(true),
                (StringRole::Key, _) => Err("a key without a colon"),
                (_, Some(':')) => Err("a string whose end is not certain"),
                (_, Some('}' | ']')) => Ok(closers_end_container(ahead)),
                (_, Some('+')) => Ok(skip_string_concatenation(ahead)),
                (StringRole::Item, Some(',')) => Ok(true),
                (StringRole::Item, Some(next)) if is_quote(next) && gap == Gap::None => {
                    Err("two strings without a comma")
                }
                (StringRole::Item, Some(next)) => Ok(gap == Gap::LineBreak || is_quote(next)),
                (StringRole::Value, Some(',')) => {
                    ahead.take_char();
                    Ok(key_or_object_end_follows(ahead))
                }
                (StringRole::Value, Some(next)) if is_quote(next) && gap != Gap::None => {
                    if key_or_object_end_follows(ahead) {
                        Ok(true)
                    } else {
                        Err("two strings without a comma")
                    }
                }
                (StringRole::Value, Some(_)) => Ok(gap == Gap::LineBreak && key_or_object_end_follows(ahead)),
            }
        });
        ends.or_else(|what| self.ambiguous_here(what))
    }

    /// Reads the text after a backslash; `before` is the character before it.
    fn read_escape(&mut self, before: char) -> Result<(), Ambiguity> {
        match self.cursor.peek() {
            // The text ends within the escape.
            None => {}
            Some(next @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't')) => {
                self.cursor.take_char();
                self.out.push('\\');
                self.out.push(next);
                self.has_letter_escape |= next.is_alphabetic();
            }
            Some('u') => self.read_unicode_escape()?,
            Some(next) if self.closers.contains(&next) => {
                self.cursor.take_char();
                write_char(self.out, next);
            }
            Some('\'') => {
                self.cursor.take_char();
                // A shell writes `'\''`, where the backslash is not part of the text.
                if before == '\'' || self.cursor.peek() == Some('\'') {
                    return self.ambiguous_here("a string with a backslash before an apostrophe");
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
    fn read_unicode_escape(&mut self) -> Result<(), Ambiguity> {
        match UnicodeEscape::of(self.cursor.rest()) {
            UnicodeEscape::Escape(escape) => {
                self.cursor.skip_if_next(escape);
                self.out.push('\\');
                self.out.push_str(escape);
                self.has_letter_escape = true;
            }
            UnicodeEscape::CutOff => self.cursor.skip_while(|_| true),
            UnicodeEscape::Half => return self.ambiguous_here("a string with an unpaired surrogate"),
            UnicodeEscape::None => {
                self.out.push_str("\\\\");
                self.has_backslash = true;
            }
        }
        Ok(())
    }
}

/// The text after a backslash that begins with `u`.
enum UnicodeEscape<'a> {
    /// One character: `uXXXX`, or a surrogate pair with a backslash between.
    Escape(&'a str),
    /// An unpaired surrogate.
    Half,
    /// The text ends within the escape.
    CutOff,
    None,
}

impl<'a> UnicodeEscape<'a> {
    fn of(text: &'a str) -> Self {
        let escape = |length| Self::Escape(text.get(..length).unwrap_or(""));
        let second = text.get(5..).unwrap_or("");
        match parse_code_unit(text) {
            None if is_cut_off_escape(text) => Self::CutOff,
            None => Self::None,
            Some(0xD800..=0xDBFF) => match second.strip_prefix('\\') {
                Some(second) if matches!(parse_code_unit(second), Some(0xDC00..=0xDFFF)) => escape(11),
                Some(second) if second.is_empty() || is_cut_off_escape(second) => Self::CutOff,
                None if second.is_empty() => Self::CutOff,
                _ => Self::Half,
            },
            Some(0xDC00..=0xDFFF) => Self::Half,
            Some(_) => escape(5),
        }
    }
}

/// Returns the number in `u` and four digits.
fn parse_code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix('u')?.get(..4)?;
    let is_hex = digits.bytes().all(|it| it.is_ascii_hexdigit());
    if is_hex { u16::from_str_radix(digits, 16).ok() } else { None }
}

/// Returns `true` if the text ends before the fourth digit.
fn is_cut_off_escape(text: &str) -> bool {
    let digits = text.strip_prefix('u');
    digits.is_some_and(|it| it.len() < 4 && it.bytes().all(|it| it.is_ascii_hexdigit()))
}

/// Skips a `+` between two strings; returns `true` if there is one.
fn skip_string_concatenation(cursor: &mut Cursor<'_>) -> bool {
    cursor.skip_blanks();
    let is_plus = cursor.skip_if_next("+");
    cursor.skip_blanks();
    is_plus && cursor.peek().is_none_or(is_quote)
}

/// Returns `true` if the text after the closing brackets can follow an object or a list. In `"x = {"a": "b"}"`
/// a quote does.
fn closers_end_container(ahead: &mut Cursor<'_>) -> bool {
    let mut gap = Gap::None;
    while matches!(ahead.peek(), Some('}' | ']')) {
        ahead.take_char();
        gap = ahead.skip_blanks();
    }
    let is_fence = ahead.rest().starts_with("```");
    gap != Gap::None || is_fence || !ahead.peek().is_some_and(is_quote)
}

/// Returns `true` if a key or the end of the object comes next.
fn key_or_object_end_follows(ahead: &mut Cursor<'_>) -> bool {
    ahead.skip_blanks();
    match ahead.peek() {
        None | Some('}' | ']' | '…') => return true,
        Some(open) if is_quote(open) => skip_string(ahead, open),
        Some(_) if ahead.rest().starts_with("...") => return true,
        Some(_) => ahead.skip_while(unquoted::is_key_char),
    }
    ahead.skip_blanks();
    ahead.peek().is_none_or(|it| it == ':')
}

fn skip_string(ahead: &mut Cursor<'_>, open: char) {
    ahead.take_char();
    while let Some(next) = ahead.take_char() {
        if next == '\\' {
            ahead.take_char();
        } else if closing_quotes(open).contains(&next) {
            return;
        }
    }
}
