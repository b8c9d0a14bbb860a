//! `pattern`: a regular expression of ECMA-262, run by the `regex` crate.
//!
//! The two write the same things differently: `\d` is `[0-9]` in the one and any digit of Unicode
//! in the other, `[[]` is a bracket or the start of a nested class. Therefore a pattern is
//! translated, piece by piece, and what has no counterpart is refused: look-around and
//! back-references would need an engine whose time a model's text could blow up.

use std::fmt::Write as _;

use regex::Regex;

/// A pattern that matches anywhere in a text, unless it says otherwise.
#[derive(Debug)]
pub(super) struct Pattern {
    regex: Regex,
    /// As the schema has it.
    pub(super) source: Box<str>,
}

impl Pattern {
    /// Translates and compiles; the error says what is wrong with the pattern.
    pub(super) fn new(source: &str) -> Result<Self, String> {
        let translated = translate(source)?;
        let regex = Regex::new(&translated).map_err(|error| reason(&error))?;
        Ok(Self { regex, source: source.into() })
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }
}

/// The engine shows the pattern and a marker over several lines; the last one is what it means.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let last = text.lines().last().unwrap_or_default();
    last.trim().trim_start_matches("error: ").to_owned()
}

const DIGITS: &str = "0-9";
const WORD: &str = "0-9A-Za-z_";
const SPACE: &str = r"\t\n\x0B\x0C\r \x{A0}\x{FEFF}\x{2028}\x{2029}\p{Zs}";
const LOOK_AROUND: &str = "look-around is not supported";
const BACK_REFERENCE: &str = "back-references are not supported";

/// The same pattern as the `regex` crate writes it.
fn translate(pattern: &str) -> Result<String, String> {
    let mut out = String::with_capacity(pattern.len() + 16);
    let mut rest = pattern;
    while let Some(c) = take(&mut rest) {
        match c {
            '\\' => match escape(&mut rest)? {
                Atom::Char(c) => literal(c, &mut out),
                Atom::Set { inside, negated } => set(inside, negated, &mut out),
                Atom::Verbatim(text) => out.push_str(&text),
            },
            '[' => class(&mut rest, &mut out)?,
            '(' if ["?=", "?!", "?<=", "?<!"].iter().any(|it| rest.starts_with(it)) => {
                return Err(LOOK_AROUND.to_owned());
            }
            '.' => out.push_str(r"[^\n\r\x{2028}\x{2029}]"),
            '{' => match repetition(rest) {
                Some(length) => {
                    let (inside, after) = rest.split_at(length);
                    out.push('{');
                    out.push_str(inside);
                    rest = after;
                }
                // ECMA takes a brace that repeats nothing literally.
                None => literal(c, &mut out),
            },
            '}' | ']' => literal(c, &mut out),
            _ => out.push(c),
        }
    }
    Ok(out)
}

/// One thing that a backslash introduces.
enum Atom {
    Char(char),
    Set { inside: &'static str, negated: bool },
    Verbatim(String),
}

fn take(rest: &mut &str) -> Option<char> {
    let mut chars = rest.chars();
    let c = chars.next()?;
    *rest = chars.as_str();
    Some(c)
}

/// Reads what follows a backslash.
fn escape(rest: &mut &str) -> Result<Atom, String> {
    let Some(c) = take(rest) else { return Err("it ends in a backslash".to_owned()) };
    Ok(match c {
        'd' | 'D' => Atom::Set { inside: DIGITS, negated: c == 'D' },
        'w' | 'W' => Atom::Set { inside: WORD, negated: c == 'W' },
        's' | 'S' => Atom::Set { inside: SPACE, negated: c == 'S' },
        'b' => Atom::Verbatim(r"(?-u:\b)".to_owned()),
        'B' => Atom::Verbatim(r"(?-u:\B)".to_owned()),
        't' => Atom::Char('\t'),
        'n' => Atom::Char('\n'),
        'r' => Atom::Char('\r'),
        'v' => Atom::Char('\u{B}'),
        'f' => Atom::Char('\u{C}'),
        '0' if !rest.starts_with(|c: char| c.is_ascii_digit()) => Atom::Char('\0'),
        '0'..='9' | 'k' => return Err(BACK_REFERENCE.to_owned()),
        'c' => match take(rest) {
            Some(letter) if letter.is_ascii_alphabetic() => Atom::Char(char::from(letter as u8 % 32)),
            _ => return Err(r"`\c` wants a letter".to_owned()),
        },
        'x' => Atom::Char(char::from_u32(hex(rest, 2)?).unwrap_or_default()),
        'u' => Atom::Char(unicode(rest)?),
        'p' | 'P' => {
            let end = rest.strip_prefix('{').and_then(|it| it.find('}'));
            let Some(end) = end else { return Err(format!(r"`\{c}` wants a property in braces")) };
            let (name, after) = rest.split_at(end + 2);
            *rest = after;
            Atom::Verbatim(format!(r"\{c}{name}"))
        }
        _ if c.is_ascii_alphanumeric() => return Err(format!(r"`\{c}` is no escape of ECMA-262")),
        _ => Atom::Char(c),
    })
}

/// Reads what follows `\u`: four digits, two times four for a surrogate pair, or braces.
fn unicode(rest: &mut &str) -> Result<char, String> {
    let bad = || r"`\u` wants the number of a character".to_owned();
    if let Some(inside) = rest.strip_prefix('{') {
        let (digits, after) = inside.split_once('}').ok_or_else(bad)?;
        *rest = after;
        return u32::from_str_radix(digits, 16).ok().and_then(char::from_u32).ok_or_else(bad);
    }
    let first = hex(rest, 4)?;
    if let 0xD800..0xDC00 = first
        && let Some(mut after) = rest.strip_prefix(r"\u")
        && let Ok(second @ 0xDC00..0xE000) = hex(&mut after, 4)
    {
        *rest = after;
        let joined = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        return char::from_u32(joined).ok_or_else(bad);
    }
    char::from_u32(first).ok_or_else(bad)
}

fn hex(rest: &mut &str, digits: usize) -> Result<u32, String> {
    let number = rest.get(..digits).filter(|it| it.bytes().all(|it| it.is_ascii_hexdigit()));
    let number = number.and_then(|it| u32::from_str_radix(it, 16).ok());
    let number = number.ok_or_else(|| format!("an escape wants {digits} hexadecimal digits"))?;
    *rest = rest.get(digits..).unwrap_or_default();
    Ok(number)
}

/// The length of `n}`, `n,}` or `n,m}`, if `rest` begins so.
fn repetition(rest: &str) -> Option<usize> {
    let inside = rest.get(..rest.find('}')?)?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit());
    let (least, most) = inside.split_once(',').unwrap_or((inside, inside));
    (is_number(least) && (most.is_empty() || is_number(most))).then_some(inside.len() + 1)
}

/// Reads what follows `[`, up to and with its `]`.
fn class(rest: &mut &str, out: &mut String) -> Result<(), String> {
    let negated = rest.starts_with('^');
    if negated {
        take(rest);
    }
    if let Some(after) = rest.strip_prefix(']') {
        *rest = after;
        out.push_str(if negated { "(?s:.)" } else { r"[^\x00-\x{10FFFF}]" });
        return Ok(());
    }
    out.push_str(if negated { "[^" } else { "[" });
    loop {
        if let Some(after) = rest.strip_prefix(']') {
            *rest = after;
            out.push(']');
            return Ok(());
        }
        let first = member(rest)?;
        let upper = rest.strip_prefix('-').filter(|after| !after.starts_with(']'));
        match (first, upper) {
            (Atom::Char(first), Some(mut after)) => match member(&mut after)? {
                Atom::Char(last) if first > last => {
                    return Err(format!("the range `{first}-{last}` is out of order"));
                }
                Atom::Char(last) => {
                    *rest = after;
                    literal(first, out);
                    out.push('-');
                    literal(last, out);
                }
                // `[a-\d]`: the dash stands for itself.
                _ => literal(first, out),
            },
            (Atom::Char(first), None) => literal(first, out),
            (Atom::Set { inside, negated: false }, _) => out.push_str(inside),
            (Atom::Set { inside, negated: true }, _) => set(inside, true, out),
            (Atom::Verbatim(text), _) => out.push_str(&text),
        }
    }
}

/// Reads one member of a class.
fn member(rest: &mut &str) -> Result<Atom, String> {
    match take(rest) {
        Some('\\') => match rest.chars().next() {
            Some('b') => {
                take(rest);
                Ok(Atom::Char('\u{8}'))
            }
            Some('B') => Err(r"`\B` has no meaning in a class".to_owned()),
            _ => escape(rest),
        },
        Some(c) => Ok(Atom::Char(c)),
        None => Err("a class is not closed".to_owned()),
    }
}

fn set(inside: &str, negated: bool, out: &mut String) {
    out.push_str(if negated { "[^" } else { "[" });
    out.push_str(inside);
    out.push(']');
}

/// Writes a character that stands for itself, whatever it means to either syntax.
fn literal(c: char, out: &mut String) {
    if c.is_ascii() && !c.is_ascii_alphanumeric() {
        let _ = write!(out, r"\x{{{:X}}}", u32::from(c));
    } else {
        out.push(c);
    }
}
