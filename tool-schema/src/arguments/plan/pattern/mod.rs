//! `pattern`: a regular expression of ECMA-262 with the `u` flag.
//!
//! Rust engines interpret some syntax differently: `.` excludes one character in one and four in the other, and `[[]`
//! is a bracket or the start of a nested class. A pattern is therefore parsed here ([`parse_pattern`]). Most patterns of
//! schemas are a sequence of classes that spans the string and are executed directly ([`steps`]) in a tenth of an
//! engine's time; others are translated to `regex_lite`, which runs in linear time.
//!
//! Look-around, back-references and Unicode tables are not supported.

mod parser;
mod set;
mod steps;

use std::fmt::{self, Write as _};

use regex_lite::{Regex, RegexBuilder};

use self::{
    parser::{Piece, parse_pattern},
    set::CharSet,
    steps::CharSteps,
};

/// The maximum nesting of groups.
const MAX_GROUP_DEPTH: u32 = 128;

/// A compiled pattern; it matches anywhere in a string unless anchored.
#[derive(Debug)]
pub(super) struct Pattern {
    engine: Engine,
    /// The pattern as written in the schema.
    pub(super) source: Box<str>,
}

#[derive(Debug)]
enum Engine {
    Steps(CharSteps),
    Regex(Regex),
}

/// The reason why a pattern cannot be compiled.
#[derive(Debug)]
pub(super) enum PatternError {
    /// The pattern is malformed, for this reason.
    Mistake(String),
    /// The pattern contains this unsupported feature.
    Uncovered(String),
}

impl Pattern {
    pub(super) fn new(source: &str) -> Result<Self, PatternError> {
        let pieces = parse_pattern(source)?;
        let engine = match CharSteps::from_pieces(&pieces) {
            Some(steps) => Engine::Steps(steps),
            None => Engine::Regex(compile_regex(&pieces)?),
        };
        Ok(Self { engine, source: source.into() })
    }

    pub(super) fn is_match(&self, text: &str) -> bool {
        match &self.engine {
            Engine::Steps(steps) => steps.is_match(text),
            Engine::Regex(regex) => regex.is_match(text),
        }
    }
}

/// Compiles parsed pieces; fails only if the result is too large.
fn compile_regex(pieces: &[Piece]) -> Result<Regex, PatternError> {
    let regex = RegexBuilder::new(&regex_syntax(pieces)).nest_limit(MAX_GROUP_DEPTH).build();
    regex.map_err(|_| PatternError::Uncovered("so much nesting or repetition".to_owned()))
}

/// Translates the pieces to the syntax of `regex_lite`.
fn regex_syntax(pieces: &[Piece]) -> String {
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::One(set) => write_set(set, &mut out),
            Piece::Repeat { least, most: usize::MAX } => {
                append_formatted(&mut out, format_args!("{{{least},}}"))
            }
            Piece::Repeat { least, most } => append_formatted(&mut out, format_args!("{{{least},{most}}}")),
            // Captures are not used.
            Piece::Open => out.push_str("(?:"),
            Piece::Close => out.push(')'),
            Piece::Or => out.push('|'),
            Piece::Start => out.push('^'),
            Piece::End => out.push('$'),
            Piece::Boundary => out.push_str(r"\b"),
            Piece::NoBoundary => out.push_str(r"\B"),
        }
    }
    out
}

fn write_set(set: &CharSet, out: &mut String) {
    match set.ranges() {
        // The only way to write a class that matches nothing.
        [] => out.push_str(r"[^\x00-\x{10FFFF}]"),
        [(only, last)] if only == last => write_char(*only, out),
        ranges => {
            out.push('[');
            for (first, last) in ranges {
                write_char(*first, out);
                out.push('-');
                write_char(*last, out);
            }
            out.push(']');
        }
    }
}

/// Writes an escaped literal character.
fn write_char(c: char, out: &mut String) {
    if c.is_ascii_alphanumeric() {
        out.push(c);
    } else {
        append_formatted(out, format_args!(r"\x{{{:X}}}", u32::from(c)));
    }
}

fn append_formatted(out: &mut String, text: fmt::Arguments<'_>) {
    // Writing to a `String` cannot fail.
    let _ = out.write_fmt(text);
}
