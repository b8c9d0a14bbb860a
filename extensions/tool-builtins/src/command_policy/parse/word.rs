//! Words: quotes, backslashes, and the characters that the shell expands.

use super::{Parsed, ShellParser, compound::ends_word};
use crate::command_policy::script::ShellWord;

impl ShellParser<'_> {
    /// Parses a word; an error if none begins here.
    pub(super) fn parse_word(&mut self) -> Parsed<ShellWord> {
        let start = self.position;
        let mut word = ShellWord::default();
        while let Some(c) = self.peek() {
            match c {
                '<' | '>' if self.peek_at(1) == Some('(') => {
                    word.expansion = Some("a process substitution");
                    self.position += 2;
                    self.parse_command_substitution()?;
                }
                _ if ends_word(c) => break,
                '\'' => self.parse_single_quotes(&mut word)?,
                '"' => self.parse_double_quotes(&mut word)?,
                '\\' => self.parse_backslash(&mut word)?,
                '$' => self.parse_dollar_expansion(&mut word, false)?,
                '`' => self.parse_backticks(&mut word, false)?,
                _ => self.push_unquoted_char(&mut word, c, start),
            }
        }
        if self.position == start {
            return Err(self.record_unreadable("does not parse"));
        }
        // A lone bracket is the command `[`, or its end.
        let is_bracket = self.position == start + 1 && word.text == "[";
        if is_bracket {
            word.expansion = None;
        }
        Ok(word)
    }

    fn push_unquoted_char(&mut self, word: &mut ShellWord, c: char, start: usize) {
        let before = self.position.checked_sub(1).and_then(|at| self.characters.get(at));
        match c {
            '*' | '?' | '[' => word.expansion = Some("a pattern of file names"),
            '{' | '}' => word.expansion = Some("braces"),
            '~' if self.position == start || matches!(before, Some('=' | ':')) => {
                word.expansion = Some("a tilde");
            }
            '!' => self.doubt_history_expansion(),
            _ => {}
        }
        word.text.push(c);
        self.position += 1;
    }

    /// An exclamation mark that an interactive shell replaces by an earlier command.
    fn doubt_history_expansion(&mut self) {
        let is_literal =
            matches!(self.peek_at(1), None | Some(' ' | '\t' | '\n' | '=' | '"' | ';' | '|' | ')'));
        if !is_literal {
            self.record_doubt("has an exclamation mark, which may be a history expansion");
        }
    }

    fn parse_single_quotes(&mut self, word: &mut ShellWord) -> Parsed {
        word.is_quoted = true;
        self.position += 1;
        loop {
            match self.peek() {
                None => return Err(self.record_unreadable("has a quote without an end")),
                Some('\'') => {
                    self.position += 1;
                    return Ok(());
                }
                Some(c) => self.push_quoted_char(word, c),
            }
        }
    }

    fn push_quoted_char(&mut self, word: &mut ShellWord, c: char) {
        if c == '\n' && !self.here_documents.is_empty() {
            self.record_doubt("has a line break in quotes before a here-document");
        }
        word.text.push(c);
        self.position += 1;
    }

    fn parse_double_quotes(&mut self, word: &mut ShellWord) -> Parsed {
        word.is_quoted = true;
        self.position += 1;
        loop {
            match self.peek() {
                None => return Err(self.record_unreadable("has a quote without an end")),
                Some('"') => {
                    self.position += 1;
                    return Ok(());
                }
                Some('\\') => match self.peek_at(1) {
                    Some('\n') => {
                        self.record_doubt("has a line break behind a backslash, in quotes");
                        self.position += 2;
                    }
                    Some(c @ ('$' | '`' | '"' | '\\')) => {
                        word.text.push(c);
                        self.position += 2;
                    }
                    _ => self.push_quoted_char(word, '\\'),
                },
                Some('$') => self.parse_dollar_expansion(word, true)?,
                Some('`') => self.parse_backticks(word, true)?,
                Some(c) => {
                    if c == '!' {
                        self.doubt_history_expansion();
                    }
                    self.push_quoted_char(word, c);
                }
            }
        }
    }

    fn parse_backslash(&mut self, word: &mut ShellWord) -> Parsed {
        word.is_quoted = true;
        match self.peek_at(1) {
            None => return Err(self.record_unreadable("ends in a backslash")),
            Some('\n') => self.record_doubt("has a line break behind a backslash, within a word"),
            Some(c) => word.text.push(c),
        }
        self.position += 2;
        Ok(())
    }

    /// Returns `true` if an assignment stands at the cursor.
    pub(super) fn is_at_assignment(&self) -> bool {
        let name = self.variable_name_length();
        let rest = self.position + name;
        let at = |distance| self.characters.get(rest + distance);
        name > 0
            && match at(0) {
                Some('=' | '[') => true,
                Some('+') => at(1) == Some(&'='),
                _ => false,
            }
    }

    /// The number of characters of the name of a variable at the cursor.
    pub(super) fn variable_name_length(&self) -> usize {
        let rest = self.characters.get(self.position..).unwrap_or_default();
        match rest.first() {
            Some(c) if c.is_ascii_alphabetic() || *c == '_' => {
                rest.iter().take_while(|c| c.is_ascii_alphanumeric() || **c == '_').count()
            }
            _ => 0,
        }
    }

    /// Parses an assignment, for the commands in its value; it is always a doubt.
    pub(super) fn parse_assignment(&mut self) -> Parsed {
        self.record_doubt_from(self.position, "assigns to a variable");
        self.parse_word()?;
        if self.consume_if_at("(") {
            loop {
                self.skip_blanks_and_lines()?;
                if self.consume_if_at(")") {
                    break;
                }
                self.parse_word()?;
            }
        }
        Ok(())
    }
}
