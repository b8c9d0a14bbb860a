//! `pattern`: a regular expression of ECMA-262, as its `u` flag has it.
//!
//! Engines of Rust write the same things differently: `.` is any character but one in the one and
//! but four in the other, `[[]` is a bracket or the start of a nested class. Therefore a pattern is
//! read here, as what it means ([`read`]). Most patterns of a schema are a row of classes from the
//! beginning of a text to its end and are run as such ([`steps`]), in a tenth of an engine's time;
//! the others are written down again for `regex_lite`, whose time no text can blow up.
//!
//! Look-around, back-references and the tables of Unicode are not covered.

mod read;
mod set;
mod steps;

use std::fmt::{self, Write as _};

use regex_lite::{Regex, RegexBuilder};

use self::{
    read::{Piece, read},
    set::Set,
    steps::Steps,
};

/// How deep groups may be nested.
const DEEPEST: u32 = 128;

/// A pattern that matches anywhere in a text, unless it says otherwise.
#[derive(Debug)]
pub(super) struct Pattern {
    engine: Engine,
    /// As the schema has it.
    pub(super) source: Box<str>,
}

#[derive(Debug)]
enum Engine {
    Steps(Steps),
    Regex(Regex),
}

/// Why there is nothing that runs a pattern.
#[derive(Debug)]
pub(super) enum Refusal {
    /// It is none; what is wrong with it.
    Mistake(String),
    /// What is in it that is not covered.
    Uncovered(String),
}

impl Pattern {
    pub(super) fn new(source: &str) -> Result<Self, Refusal> {
        let pieces = read(source)?;
        let engine = match Steps::of(&pieces) {
            Some(steps) => Engine::Steps(steps),
            None => Engine::Regex(compile(&pieces)?),
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

/// Compiles what has been read; all that can be wrong with it is its size.
fn compile(pieces: &[Piece]) -> Result<Regex, Refusal> {
    let regex = RegexBuilder::new(&written(pieces)).nest_limit(DEEPEST).build();
    regex.map_err(|_| Refusal::Uncovered("so much nesting or repetition".to_owned()))
}

/// The pieces as `regex_lite` writes them.
fn written(pieces: &[Piece]) -> String {
    let mut out = String::new();
    for piece in pieces {
        match piece {
            Piece::One(set) => write_set(set, &mut out),
            Piece::Repeat { least, most: usize::MAX } => push(&mut out, format_args!("{{{least},}}")),
            Piece::Repeat { least, most } => push(&mut out, format_args!("{{{least},{most}}}")),
            // What a group captures is of no interest.
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

fn write_set(set: &Set, out: &mut String) {
    match set.ranges() {
        // There is no other way to write that nothing matches.
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

/// Writes a character that stands for itself, whatever it means to the engine.
fn write_char(c: char, out: &mut String) {
    if c.is_ascii_alphanumeric() {
        out.push(c);
    } else {
        push(out, format_args!(r"\x{{{:X}}}", u32::from(c)));
    }
}

fn push(out: &mut String, text: fmt::Arguments<'_>) {
    // Writing to a text cannot fail.
    let _ = out.write_fmt(text);
}
