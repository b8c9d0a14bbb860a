//! The parser of patterns.
//!
//! A parsed pattern is well-formed, so that an engine finds no further errors. Syntax that ECMA-262 permits only
//! without the `u` flag, such as a literal brace, is interpreted as there.
//! meant there.

use super::{
    Refusal,
    set::{DIGITS, LINE_ENDS, Range, SPACE, Set, WORD},
};

/// A piece of a pattern.
#[derive(Debug)]
pub(super) enum Piece {
    /// One character of a set.
    One(Set),
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

pub(super) fn read(pattern: &str) -> Result<Vec<Piece>, Refusal> {
    let mut reader = Reader { rest: pattern, pieces: Vec::with_capacity(pattern.len()), repeatable: false };
    let mut open = 0_usize;
    while let Some(c) = reader.take() {
        match c {
            '(' => {
                reader.group()?;
                open += 1;
            }
            ')' => {
                open = open.checked_sub(1).ok_or_else(|| mistake("unopened group"))?;
                reader.push(Piece::Close, true);
            }
            _ => reader.piece(c)?,
        }
    }
    if open > 0 { Err(mistake("unclosed group")) } else { Ok(reader.pieces) }
}

fn mistake(text: impl Into<String>) -> Refusal {
    Refusal::Mistake(text.into())
}

fn uncovered(text: impl Into<String>) -> Refusal {
    Refusal::Uncovered(text.into())
}

/// An element inside or outside of a class.
enum Atom {
    Char(char),
    Set(Set),
}

struct Reader<'p> {
    rest: &'p str,
    pieces: Vec<Piece>,
    /// `true` if the last piece can be repeated.
    repeatable: bool,
}

impl Reader<'_> {
    fn take(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        Some(c)
    }

    /// Consumes `text` if it comes next.
    fn takes(&mut self, text: &str) -> bool {
        let after = self.rest.strip_prefix(text);
        self.rest = after.unwrap_or(self.rest);
        after.is_some()
    }

    fn push(&mut self, piece: Piece, repeatable: bool) {
        self.pieces.push(piece);
        self.repeatable = repeatable;
    }

    fn one(&mut self, set: Set) {
        self.push(Piece::One(set), true);
    }

    /// Parses the piece that begins with `c`, unless it is a group.
    fn piece(&mut self, c: char) -> Result<(), Refusal> {
        match c {
            '|' => self.push(Piece::Or, false),
            '^' => self.push(Piece::Start, false),
            '$' => self.push(Piece::End, false),
            '.' => self.one(Set::new(LINE_ENDS.to_vec()).complement()),
            '[' => {
                let set = self.class()?;
                self.one(set);
            }
            '\\' if self.takes("b") => self.push(Piece::Boundary, false),
            '\\' if self.takes("B") => self.push(Piece::NoBoundary, false),
            '\\' => match self.escape()? {
                Atom::Char(c) => self.one(single(c)),
                Atom::Set(set) => self.one(set),
            },
            '*' => self.repeat(0, usize::MAX)?,
            '+' => self.repeat(1, usize::MAX)?,
            '?' => self.repeat(0, 1)?,
            '{' => match self.counts() {
                Some((least, most)) => self.repeat(least, most)?,
                // A brace that is not a repetition is a literal.
                None => self.one(single(c)),
            },
            _ => self.one(single(c)),
        }
        Ok(())
    }

    /// Parses the rest of a group after `(`.
    fn group(&mut self) -> Result<(), Refusal> {
        if ["?=", "?!", "?<=", "?<!"].iter().any(|it| self.rest.starts_with(it)) {
            return Err(uncovered("look-around"));
        }
        if self.takes("?<") {
            let is_name = |name: &str| {
                !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "_$".contains(c))
            };
            let end = self.rest.find('>').filter(|end| self.rest.get(..*end).is_some_and(is_name));
            let end = end.ok_or_else(|| mistake("a group wants a name between `<` and `>`"))?;
            self.rest = self.rest.get(end + 1..).unwrap_or_default();
        } else if !self.takes("?:") && self.rest.starts_with('?') {
            let flags = self.rest.find(|c: char| !c.is_ascii_alphabetic() && !"?-".contains(c));
            let flags = flags.and_then(|end| self.rest.get(..end)).unwrap_or(self.rest);
            return Err(uncovered(format!("the group `({flags}`")));
        }
        self.push(Piece::Open, false);
        Ok(())
    }

    fn repeat(&mut self, least: usize, most: usize) -> Result<(), Refusal> {
        if !self.repeatable {
            return Err(mistake("a repetition of nothing"));
        }
        if least > most {
            return Err(mistake(format!("the repetition `{{{least},{most}}}` is out of order")));
        }
        // Greedy and lazy repetitions match the same strings.
        self.takes("?");
        self.push(Piece::Repeat { least, most }, false);
        Ok(())
    }

    /// Parses `n}`, `n,}` or `n,m}`, if one of them follows.
    fn counts(&mut self) -> Option<(usize, usize)> {
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
    fn class(&mut self) -> Result<Set, Refusal> {
        let negated = self.takes("^");
        let mut ranges: Vec<Range> = Vec::new();
        while !self.takes("]") {
            let first = match self.member()? {
                Atom::Set(set) => {
                    ranges.extend(set.ranges());
                    continue;
                }
                Atom::Char(first) => first,
            };
            let before = self.rest;
            if !self.takes("-") || self.rest.starts_with(']') {
                self.rest = before;
                ranges.push((first, first));
                continue;
            }
            match self.member()? {
                Atom::Char(last) if first > last => {
                    return Err(mistake(format!("the range `{first}-{last}` is out of order")));
                }
                Atom::Char(last) => ranges.push((first, last)),
                // In `[a-\d]`, the dash is a literal.
                Atom::Set(set) => {
                    ranges.extend([(first, first), ('-', '-')]);
                    ranges.extend(set.ranges());
                }
            }
        }
        let set = Set::new(ranges);
        Ok(if negated { set.complement() } else { set })
    }

    /// Parses one member of a class.
    fn member(&mut self) -> Result<Atom, Refusal> {
        if self.takes(r"\b") {
            return Ok(Atom::Char('\u{8}'));
        }
        match self.take() {
            Some('\\') => self.escape(),
            Some(c) => Ok(Atom::Char(c)),
            None => Err(mistake("a class is not closed")),
        }
    }

    /// Parses an escape after its backslash.
    fn escape(&mut self) -> Result<Atom, Refusal> {
        let Some(c) = self.take() else { return Err(mistake("it ends in a backslash")) };
        let named = |ranges: &[Range], negated: bool| {
            let set = Set::new(ranges.to_vec());
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
            '0'..='9' | 'k' => return Err(uncovered("a back-reference")),
            'c' => match self.take() {
                Some(letter) if letter.is_ascii_alphabetic() => Atom::Char(char::from(letter as u8 % 32)),
                _ => return Err(mistake(r"`\c` wants a letter")),
            },
            'x' => Atom::Char(char::from_u32(self.hex(2)?).unwrap_or_default()),
            'u' => Atom::Char(self.unicode()?),
            'p' | 'P' => return Err(self.property(c)),
            _ if c.is_ascii_alphanumeric() => {
                return Err(mistake(format!(r"`\{c}` is not an escape of ECMA-262")));
            }
            _ => Atom::Char(c),
        })
    }

    /// Returns the error for `\p`, which is not supported because of the size of the Unicode tables.
    fn property(&self, c: char) -> Refusal {
        let inside = self.rest.strip_prefix('{').and_then(|it| it.split_once('}'));
        match inside {
            Some((name, _)) => uncovered(format!(r"the property `\{c}{{{name}}}`")),
            None => mistake(format!(r"`\{c}` wants a property in braces")),
        }
    }

    /// Parses an escape after `\u`: four digits, two times four for a surrogate pair, or braces.
    fn unicode(&mut self) -> Result<char, Refusal> {
        let bad = || mistake(r"`\u` wants the number of a character");
        if self.takes("{") {
            let (digits, after) = self.rest.split_once('}').ok_or_else(bad)?;
            self.rest = after;
            let is_number = !digits.is_empty() && digits.bytes().all(|it| it.is_ascii_hexdigit());
            let number = is_number.then(|| u32::from_str_radix(digits, 16).ok()).flatten();
            return character(number.filter(|it| *it <= u32::from(char::MAX)).ok_or_else(bad)?);
        }
        let first = self.hex(4)?;
        let after_first = self.rest;
        if let 0xD800..0xDC00 = first
            && self.takes(r"\u")
            && let Ok(second @ 0xDC00..0xE000) = self.hex(4)
        {
            return character(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00));
        }
        self.rest = after_first;
        character(first)
    }

    fn hex(&mut self, digits: usize) -> Result<u32, Refusal> {
        let number = self.rest.get(..digits).filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit()));
        let number = number.and_then(|it| u32::from_str_radix(it, 16).ok());
        let number = number.ok_or_else(|| mistake(format!("an escape wants {digits} hexadecimal digits")))?;
        self.rest = self.rest.get(digits..).unwrap_or_default();
        Ok(number)
    }
}

fn single(c: char) -> Set {
    Set::new(vec![(c, c)])
}

/// Returns the character; a lone surrogate is an error, since no string contains one.
fn character(number: u32) -> Result<char, Refusal> {
    char::from_u32(number).ok_or_else(|| uncovered("half of a surrogate pair"))
}
