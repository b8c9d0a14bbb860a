//! A parser of the part of the shell's grammar that `bash` and `dash` read in the same way.
//!
//! Everything else is a [`Doubt`]: the text is read on, so that denied commands are found behind it, and the verdict is
//! at least "ask". A recursive descent in one pass; each level of nesting counts against [`MAX_DEPTH`].
//!
//! `brush-parser` 0.4 was measured and not used: 20 open parentheses take it 0.4 s and 30 take minutes, 2,000 nested
//! `$(` overflow its stack, which ends the process, it leaves the parts of words to a second parser, and it brings 75
//! packages. `conch-parser` is unmaintained, `yash-syntax` is under the GPL, and `tree-sitter-bash` is C. A parser of
//! the whole language is also the wrong side to start from: what it misreads is allowed, what this one does not know is
//! asked about.

mod compound;
mod expansion;
mod redirection;
#[cfg(test)]
mod tests;
mod word;

use self::redirection::HereDocument;
use super::script::{Doubt, ShellScript, SimpleCommand};

/// The maximum number of constructs within each other: groups, loops, substitutions, backticks.
pub(super) const MAX_DEPTH: usize = 32;
/// The maximum number of characters of a source in messages.
const MAX_SOURCE_CHARS: usize = 120;

/// A text that is not read further; the reason is a doubt of the script.
pub(super) struct UnreadableText;

type Parsed<T = ()> = Result<T, UnreadableText>;

/// A cursor over a text, or over a part of it that is read on its own, such as the content of backticks.
pub(super) struct ShellParser<'a> {
    characters: &'a [char],
    position: usize,
    depth: usize,
    /// Is within a substitution.
    is_substitution: bool,
    /// Here-documents whose bodies begin after the next line break.
    here_documents: Vec<HereDocument>,
    script: &'a mut ShellScript,
}

/// Reads a text; what cannot be read is a doubt of the result.
pub(super) fn parse_script(text: &str, depth: usize) -> ShellScript {
    let characters: Vec<char> = text.chars().collect();
    let mut script = ShellScript::default();
    if characters.iter().any(|c| !matches!(c, ' '..='~' | '\t' | '\n')) {
        let what = "contains a control character, or one outside of ASCII";
        script.doubts.push(Doubt { what, source: shortened_source(&characters) });
    }
    // An error has left its doubt.
    let _ = ShellParser::new(&characters, depth, &mut script).parse_whole_text();
    script
}

/// The begin of a source.
fn shortened_source(characters: &[char]) -> String {
    let mut source: String = characters.iter().take(MAX_SOURCE_CHARS).collect();
    if characters.len() > MAX_SOURCE_CHARS {
        source.push('…');
    }
    source
}

impl<'a> ShellParser<'a> {
    fn new(characters: &'a [char], depth: usize, script: &'a mut ShellScript) -> Self {
        Self {
            characters,
            position: 0,
            depth,
            is_substitution: depth > 0,
            here_documents: Vec::new(),
            script,
        }
    }

    fn parse_whole_text(&mut self) -> Parsed {
        self.parse_list(&[])?;
        if self.position < self.characters.len() {
            return Err(self.record_unreadable("does not parse"));
        }
        self.doubt_and_drop_open_here_documents();
        Ok(())
    }

    fn peek(&self) -> Option<char> {
        self.peek_at(0)
    }

    fn peek_at(&self, distance: usize) -> Option<char> {
        self.characters.get(self.position + distance).copied()
    }

    /// Returns `true` if `text` stands at the cursor.
    fn is_at(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(distance, c)| self.peek_at(distance) == Some(c))
    }

    /// Moves behind `text`, if it stands at the cursor.
    fn consume_if_at(&mut self, text: &str) -> bool {
        let is_at = self.is_at(text);
        if is_at {
            self.position += text.len();
        }
        is_at
    }

    fn expect_text(&mut self, text: &str) -> Parsed {
        if self.consume_if_at(text) { Ok(()) } else { Err(self.record_unreadable("does not parse")) }
    }

    /// Records a doubt about what stands at the cursor.
    fn record_doubt(&mut self, what: &'static str) {
        let start = self.position.min(self.characters.len());
        self.record_doubt_from(start.saturating_sub(8), what);
    }

    fn record_doubt_from(&mut self, start: usize, what: &'static str) {
        // One is enough to ask; a few are helpful; many cost memory.
        if self.script.doubts.len() < 8 {
            let source = shortened_source(self.characters.get(start..).unwrap_or_default());
            self.script.doubts.push(Doubt { what, source });
        }
    }

    fn record_unreadable(&mut self, what: &'static str) -> UnreadableText {
        self.record_doubt(what);
        UnreadableText
    }

    /// Runs `parse` one level deeper.
    fn parse_nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            return Err(self.record_unreadable("is nested too deeply"));
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// Skips blanks, a comment, and line breaks behind a backslash.
    fn skip_blanks(&mut self) {
        let mut is_continued = false;
        loop {
            match self.peek() {
                Some(' ' | '\t') => self.position += 1,
                Some('\\') if self.peek_at(1) == Some('\n') => {
                    let before = self.position.checked_sub(1).and_then(|at| self.characters.get(at));
                    if !matches!(before, None | Some(' ' | '\t' | '\n')) {
                        self.record_doubt("has a line break behind a backslash, without a blank before it");
                    }
                    is_continued = true;
                    self.position += 2;
                }
                Some('#') => {
                    if is_continued || self.is_substitution {
                        self.record_doubt("has a comment within a command");
                    }
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.position += 1;
                    }
                }
                _ => break,
            }
        }
    }

    /// Skips blanks, comments and line breaks.
    fn skip_blanks_and_lines(&mut self) -> Parsed {
        loop {
            self.skip_blanks();
            if self.peek() != Some('\n') {
                return Ok(());
            }
            self.skip_line_end_and_here_documents()?;
        }
    }

    /// Moves behind a line break, and behind the here-documents that begin there.
    fn skip_line_end_and_here_documents(&mut self) -> Parsed {
        self.position += 1;
        self.parse_here_document_bodies()
    }

    /// Parses commands up to a closing parenthesis, one of the reserved words of `ends`, or the end of the text.
    fn parse_list(&mut self, ends: &[&str]) -> Parsed {
        loop {
            self.skip_blanks_and_lines()?;
            let word = self.peek_possible_reserved_word();
            if matches!(self.peek(), None | Some(')')) || ends.contains(&word.as_str()) {
                return Ok(());
            }
            if ends.contains(&";;") && self.is_at(";") {
                return Ok(());
            }
            self.parse_and_or()?;
            match self.peek() {
                Some(';') if !self.is_at_case_end() => self.position += 1,
                Some('&') => {
                    self.record_doubt("runs in the background");
                    self.position += 1;
                }
                Some('\n') => self.skip_line_end_and_here_documents()?,
                _ => return Ok(()),
            }
        }
    }

    /// Returns `true` at `;;` and `;&`.
    fn is_at_case_end(&self) -> bool {
        self.is_at(";;") || self.is_at(";&")
    }

    fn parse_and_or(&mut self) -> Parsed {
        loop {
            self.parse_pipeline()?;
            if !self.consume_if_at("&&") && !self.consume_if_at("||") {
                return Ok(());
            }
            self.skip_blanks_and_lines()?;
        }
    }

    fn parse_pipeline(&mut self) -> Parsed {
        loop {
            let word = self.peek_possible_reserved_word();
            if word != "!" && word != "time" {
                break;
            }
            if word == "time" {
                self.record_doubt("uses `time`, which runs another command");
            }
            self.position += word.len();
            self.skip_blanks();
            if word == "time" && self.is_at_whole_word("-p") {
                self.position += 2;
                self.skip_blanks();
            }
        }
        loop {
            self.parse_command()?;
            if self.is_at("||") || !(self.consume_if_at("|&") || self.consume_if_at("|")) {
                return Ok(());
            }
            self.skip_blanks_and_lines()?;
        }
    }

    /// Parses words and redirections up to an operator.
    fn parse_simple_command(&mut self) -> Parsed {
        let start = self.position;
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some('\n' | ';' | '|' | ')') => break,
                Some('&') if self.peek_at(1) != Some('>') => break,
                Some('(') => {
                    if words.len() != 1 {
                        return Err(self.record_unreadable("does not parse"));
                    }
                    self.push_command(words, start);
                    return self.parse_function_body();
                }
                _ if self.is_at_redirection() => self.parse_redirection()?,
                _ if words.is_empty() && self.is_at_assignment() => self.parse_assignment()?,
                _ => words.push(self.parse_word()?),
            }
        }
        if self.position == start {
            return Err(self.record_unreadable("does not parse"));
        }
        self.push_command(words, start);
        Ok(())
    }

    fn push_command(&mut self, words: Vec<super::script::ShellWord>, start: usize) {
        if !words.is_empty() {
            let source = shortened_source(self.characters.get(start..self.position).unwrap_or_default());
            self.script.commands.push(SimpleCommand { words, source: source.trim_end().to_owned() });
        }
    }
}
