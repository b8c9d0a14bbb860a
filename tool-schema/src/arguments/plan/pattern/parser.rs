//! The parser of patterns.
//!
//! A parsed pattern is well-formed, so that an engine finds no further errors. Syntax that ECMA-262 permits only
//! without the `u` flag, such as a literal brace, is interpreted as there.
//! meant there.

use super::{
    PatternError,
    set::{CharSet, DIGITS, LINE_ENDS, Range, SPACE, WORD},
};

/// A piece of a pattern.
#[derive(Debug)]
pub(super) enum Piece {
    /// One character of a set.
    One(CharSet),
    /// A repetition of the previous piece or group; `usize::MAX` means unlimited.
    Repeat {
        least: usize,
        most: usize,
    },
    Open,
    Close,
    Or,
    Start,
    End,
    Boundary,
    NoBoundary,
}

pub(super) fn parse_pattern(pattern: &str) -> Result<Vec<Piece>, PatternError> {
    let mut reader =
        PatternParser { rest: pattern, pieces: Vec::with_capacity(pattern.len()), repeatable: false };
    let mut open = 0_usize;
    while let Some(c) = reader.take_char() {
        match c {
            '(' => {
                reader.parse_group_start()?;
                open += 1;
            }
            ')' => {
                open = open.checked_sub(1).ok_or_else(|| pattern_mistake("unopened group"))?;
                reader.push(Piece::Close, true);
            }
            _ => reader.parse_piece(c)?,
        }
    }
    if open > 0 { Err(pattern_mistake("unclosed group")) } else { Ok(reader.pieces) }
}

fn pattern_mistake(text: impl Into<String>) -> PatternError {
    PatternError::Mistake(text.into())
}

fn unsupported_pattern(text: impl Into<String>) -> PatternError {
    PatternError::Uncovered(text.into())
}

/// An element inside or outside of a class.
enum Atom {
    Char(char),
    Set(CharSet),
}

struct PatternParser<'p> {
    rest: &'p str,
    pieces: Vec<Piece>,
    /// `true` if the last piece can be repeated.
    repeatable: bool,
}

impl PatternParser<'_> {
    fn take_char(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        Some(c)
    }

    /// Consumes `text` if it comes next.
    fn consume_if_next(&mut self, text: &str) -> bool {
        let after = self.rest.strip_prefix(text);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn push(&mut self, piece: Piece, repeatable: bool) {
        self.pieces.push(piece);
        self.repeatable = repeatable;
    }

    fn push_set(&mut self, set: CharSet) {
        self.push(Piece::One(set), true);
    }

    /// Parses the piece that begins with `c`, unless it is a group.
    fn parse_piece(&mut self, c: char) -> Result<(), PatternError> {
        match c {
            '|' => self.push(Piece::Or, false),
            '^' => self.push(Piece::Start, false),
            '$' => self.push(Piece::End, false),
            '.' => self.push_set(CharSet::new(LINE_ENDS.to_vec()).complement()),
            '[' => {
                let set = self.parse_class()?;
                self.push_set(set);
            }
            '\\' if self.consume_if_next("b") => self.push(Piece::Boundary, false),
            '\\' if self.consume_if_next("B") => self.push(Piece::NoBoundary, false),
            '\\' => match self.parse_escape()? {
                Atom::Char(c) => self.push_set(single_char(c)),
                Atom::Set(set) => self.push_set(set),
            },
            '*' => self.repeat_last(0, usize::MAX)?,
            '+' => self.repeat_last(1, usize::MAX)?,
            '?' => self.repeat_last(0, 1)?,
            '{' => match self.parse_repetition_counts() {
                Some((least, most)) => self.repeat_last(least, most)?,
                // A brace that is not a repetition is a literal.
                None => self.push_set(single_char(c)),
            },
            _ => self.push_set(single_char(c)),
        }
        Ok(())
    }

    /// Parses the rest of a group after `(`.
    fn parse_group_start(&mut self) -> Result<(), PatternError> {
        if ["?=", "?!", "?<=", "?<!"].iter().any(|it| self.rest.starts_with(it)) {
            return Err(unsupported_pattern("look-around"));
        }
        if self.consume_if_next("?<") {
            let is_name = |name: &str| {
                !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_$".contains(c))
            };
            let end = self.rest.find('>').filter(|end| self.rest.get(..*end).is_some_and(is_name));
            let end = end.ok_or_else(|| pattern_mistake("a group wants a name between `<` and `>`"))?;
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
        } else if !self.consume_if_next("?:") && self.rest.starts_with('?') {
            let flags = self.rest.find(|c: char| !c.is_ascii_alphabetic() && !"?-".contains(c));
            let flags = flags.and_then(|end| self.rest.get(..end)).unwrap_or(self.rest);
            return Err(unsupported_pattern(format!("the group `({flags}`")));
        }
        self.push(Piece::Open, false);
        Ok(())
    }

    fn repeat_last(&mut self, least: usize, most: usize) -> Result<(), PatternError> {
        if !self.repeatable {
            return Err(pattern_mistake("a repetition of nothing"));
        }
        if least > most {
            return Err(pattern_mistake(format!("the repetition `{{{least},{most}}}` is out of order")));
        }
        // Greedy and lazy repetitions match the same strings.
        self.consume_if_next("?");
        self.push(Piece::Repeat { least, most }, false);
        Ok(())
    }

    /// Parses `n}`, `n,}` or `n,m}`, if one of them follows.
    fn parse_repetition_counts(&mut self) -> Option<(usize, usize)> {
        let (inside, after) = self.rest.split_once('}')?;
        // A count longer than any string is as good as no limit.
        let number = |text: &str| {
            let is_number = !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
            is_number.then(|| text.parse().unwrap_or(usize::MAX))
        };
        let counts = match inside.split_once(',') {
            None => (number(inside)?, number(inside)?),
            Some((least, "")) => (number(least)?, usize::MAX),
            Some((least, most)) => (number(least)?, number(most)?),
        };
        self.rest = after;
        Some(counts)
    }

    /// Parses a class after `[`, including its `]`.
    fn parse_class(&mut self) -> Result<CharSet, PatternError> {
        let negated = self.consume_if_next("^");
        let mut ranges: Vec<Range> = Vec::new();
        while !self.consume_if_next("]") {
            let first = match self.parse_class_member()? {
                Atom::Set(set) => {
                    ranges.extend(set.ranges());
                    continue;
                }
                Atom::Char(first) => first,
            };
            let before = self.rest;
            if !self.consume_if_next("-") || self.rest.starts_with(']') {
                self.rest = before;
                ranges.push((first, first));
                continue;
            }
            match self.parse_class_member()? {
                Atom::Char(last) if first > last => {
                    return Err(pattern_mistake(format!("the range `{first}-{last}` is out of order")));
                }
                Atom::Char(last) => ranges.push((first, last)),
                // In `[a-\d]`, the dash is a literal.
                Atom::Set(set) => {
                    ranges.extend([(first, first), ('-', '-')]);
                    ranges.extend(set.ranges());
                }
            }
        }
        let set = CharSet::new(ranges);
        Ok(if negated { set.complement() } else { set })
    }

    /// Parses one member of a class.
    fn parse_class_member(&mut self) -> Result<Atom, PatternError> {
        if self.consume_if_next(r"\b") {
            return Ok(Atom::Char('\u{8}'));
        }
        match self.take_char() {
            Some('\\') => self.parse_escape(),
            Some(c) => Ok(Atom::Char(c)),
            None => Err(pattern_mistake("a class is not closed")),
        }
    }

    /// Parses an escape after its backslash.
    fn parse_escape(&mut self) -> Result<Atom, PatternError> {
        let Some(c) = self.take_char() else { return Err(pattern_mistake("it ends in a backslash")) };
        let named = |ranges: &[Range], negated: bool| {
            let set = CharSet::new(ranges.to_vec());
            Atom::Set(if negated { set.complement() } else { set })
        };
        Ok(match c {
            'd' | 'D' => named(DIGITS, c == 'D'),
            'w' | 'W' => named(WORD, c == 'W'),
            's' | 'S' => named(SPACE, c == 'S'),
            't' => Atom::Char('\t'),
            'n' => Atom::Char('\n'),
            'r' => Atom::Char('\r'),
            'v' => Atom::Char('\u{B}'),
            'f' => Atom::Char('\u{C}'),
            '0' if !self.rest.starts_with(|c: char| c.is_ascii_digit()) => Atom::Char('\0'),
            '0'..='9' | 'k' => return Err(unsupported_pattern("a back-reference")),
            'c' => match self.take_char() {
                Some(letter) if letter.is_ascii_alphabetic() => Atom::Char(char::from(letter as u8 % 32)),
                _ => return Err(pattern_mistake(r"`\c` wants a letter")),
            },
            'x' => Atom::Char(char::from_u32(self.parse_hex(2)?).unwrap_or_default()),
            'u' => Atom::Char(self.parse_unicode()?),
            'p' | 'P' => return Err(self.unsupported_property_error(c)),
            _ if c.is_ascii_alphanumeric() => {
                return Err(pattern_mistake(format!(r"`\{c}` is not an escape of ECMA-262")));
            }
            _ => Atom::Char(c),
        })
    }

    /// Returns the error for `\p`, which is not supported because of the size of the Unicode tables.
    fn unsupported_property_error(&self, c: char) -> PatternError {
        let inside = self.rest.strip_prefix('{').and_then(|it| it.split_once('}'));
        match inside {
            Some((name, _)) => unsupported_pattern(format!(r"the property `\{c}{{{name}}}`")),
            None => pattern_mistake(format!(r"`\{c}` wants a property in braces")),
        }
    }

    /// Parses an escape after `\u`: four digits, two times four for a surrogate pair, or braces.
    fn parse_unicode(&mut self) -> Result<char, PatternError> {
        let bad = || pattern_mistake(r"`\u` wants the number of a character");
        if self.consume_if_next("{") {
            let (digits, after) = self.rest.split_once('}').ok_or_else(bad)?;
            self.rest = after;
            let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_hexdigit());
            let number = is_number.then(|| u32::from_str_radix(digits, 16).ok()).flatten();
            return char_from_code(number.filter(|it| *it <= u32::from(char::MAX)).ok_or_else(bad)?);
        }
        let first = self.parse_hex(4)?;
        let after_first = self.rest;
        if let 0xD800..0xDC00 = first
            && self.consume_if_next(r"\u")
            && let Ok(second @ 0xDC00..0xE000) = self.parse_hex(4)
        {
            return char_from_code(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
        }
        self.rest = after_first;
        char_from_code(first)
    }

    fn parse_hex(&mut self, digits: usize) -> Result<u32, PatternError> {
        let number = self.rest.get(..digits).filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit()));
        let number = number.and_then(|it| u32::from_str_radix(it, 16).ok());
        let number =
            number.ok_or_else(|| pattern_mistake(format!("an escape wants {digits} hexadecimal digits")))?;
        self.rest = self.rest.get(digits..).unwrap_or_default();
        Ok(number)
    }
}

fn single_char(c: char) -> CharSet {
    CharSet::new(vec![(c, c)])
}

/// Returns the character; a lone surrogate is an error, since no string contains one.
fn char_from_code(number: u32) -> Result<char, PatternError> {
    char::from_u32(number).ok_or_else(|| unsupported_pattern("half of a surrogate pair"))
}
