//! Groups, conditions, loops and functions.

use super::{Parsed, ShellParser};

/// The maximum number of characters of the variable of a loop.
const MAX_LOOP_VARIABLE_CHARS: usize = 8;

impl ShellParser<'_> {
    /// Returns the unquoted word at the cursor, if it could be a reserved word; empty otherwise.
    pub(super) fn peek_possible_reserved_word(&self) -> String {
        let mut word = String::new();
        while let Some(c) = self.peek_at(word.len()) {
            match c {
                'a'..='z' | '{' | '}' | '!' | '[' | ']' => word.push(c),
                _ if ends_word(c) => break,
                _ => return String::new(),
            }
        }
        word
    }

    /// Returns `true` if the whole word `text` stands at the cursor.
    pub(super) fn is_at_whole_word(&self, text: &str) -> bool {
        self.is_at(text) && self.peek_at(text.len()).is_none_or(ends_word)
    }

    fn expect_reserved_word(&mut self, word: &str) -> Parsed {
        if !self.is_at_whole_word(word) {
            return Err(self.record_unreadable("does not parse"));
        }
        self.position += word.len();
        Ok(())
    }

    /// Parses a command, and the blanks behind it.
    pub(super) fn parse_command(&mut self) -> Parsed {
        if self.peek() == Some('(') {
            if self.is_at("((") {
                self.record_doubt("has arithmetic, or a group that looks like it");
            }
            self.position += 1;
            self.parse_nested(|parser| parser.parse_list(&[]))?;
            self.expect_text(")")?;
            return self.parse_redirections();
        }
        let word = self.peek_possible_reserved_word();
        match word.as_str() {
            "{" | "if" | "while" | "until" | "for" | "case" | "select" => {
                self.position += word.len();
                self.parse_nested(|parser| parser.parse_rest_of_compound(&word))?;
                self.parse_redirections()
            }
            "function" | "coproc" => {
                self.position += word.len();
                self.skip_blanks();
                self.record_doubt("defines a function or a coprocess");
                if word == "function" {
                    self.parse_word()?;
                    self.skip_blanks();
                    if self.consume_if_at("(") {
                        self.expect_text(")")?;
                    }
                    self.skip_blanks_and_lines()?;
                }
                self.parse_nested(Self::parse_command)
            }
            "then" | "elif" | "else" | "fi" | "do" | "done" | "esac" | "}" | "in" => {
                Err(self.record_unreadable("does not parse"))
            }
            "[[" => {
                self.record_doubt("has `[[`, which may evaluate arithmetic");
                self.parse_simple_command()
            }
            _ => self.parse_simple_command(),
        }
    }

    /// Parses the rest of the compound command that begins with the reserved word `word`.
    fn parse_rest_of_compound(&mut self, word: &str) -> Parsed {
        match word {
            "{" => {
                self.parse_list(&["}"])?;
                self.expect_reserved_word("}")
            }
            "if" => self.parse_if(),
            "while" | "until" => {
                self.parse_list(&["do"])?;
                self.parse_loop_body()
            }
            "case" => self.parse_case(),
            _ => {
                if word == "select" {
                    self.record_doubt("has `select`, which reads its answer");
                }
                self.parse_for()
            }
        }
    }

    fn parse_if(&mut self) -> Parsed {
        self.parse_list(&["then"])?;
        loop {
            self.expect_reserved_word("then")?;
            self.parse_list(&["elif", "else", "fi"])?;
            if self.is_at_whole_word("elif") {
                self.position += 4;
                self.parse_list(&["then"])?;
                continue;
            }
            if self.is_at_whole_word("else") {
                self.position += 4;
                self.parse_list(&["fi"])?;
            }
            return self.expect_reserved_word("fi");
        }
    }

    fn parse_loop_body(&mut self) -> Parsed {
        self.expect_reserved_word("do")?;
        self.parse_list(&["done"])?;
        self.expect_reserved_word("done")
    }

    fn parse_for(&mut self) -> Parsed {
        self.skip_blanks();
        if self.is_at("((") {
            return Err(self.record_unreadable("has arithmetic"));
        }
        let variable = self.parse_word()?;
        let is_harmless = variable.has_no_expansion()
            && !variable.is_quoted
            && (1..=MAX_LOOP_VARIABLE_CHARS).contains(&variable.text.len())
            && variable.text.bytes().all(|byte| byte.is_ascii_lowercase())
            && !variable.text.contains("path");
        if !is_harmless {
            self.record_doubt("sets a variable that programs or the shell may read");
        }
        self.skip_blanks_and_lines()?;
        if self.is_at_whole_word("in") {
            self.position += 2;
            loop {
                self.skip_blanks();
                match self.peek() {
                    Some(';' | '\n') => break,
                    None | Some('&' | '|' | '(' | ')' | '<' | '>') => {
                        return Err(self.record_unreadable("does not parse"));
                    }
                    _ => self.parse_word().map(drop)?,
                }
            }
        }
        if !self.is_at_case_end() {
            self.consume_if_at(";");
        }
        self.skip_blanks_and_lines()?;
        self.parse_loop_body()
    }

    /// Parses `case` for the commands in it; it is always a doubt.
    fn parse_case(&mut self) -> Parsed {
        self.record_doubt("has `case`");
        self.skip_blanks();
        self.parse_word()?;
        self.skip_blanks_and_lines()?;
        self.expect_reserved_word("in")?;
        loop {
            self.skip_blanks_and_lines()?;
            if self.is_at_whole_word("esac") {
                self.position += 4;
                return Ok(());
            }
            self.consume_if_at("(");
            loop {
                self.skip_blanks();
                self.parse_word()?;
                self.skip_blanks();
                if !self.consume_if_at("|") {
                    break;
                }
            }
            self.expect_text(")")?;
            self.parse_list(&["esac", ";;"])?;
            while matches!(self.peek(), Some(';' | '&')) {
                self.position += 1;
            }
        }
    }

    /// Parses the body of a function, from the parenthesis behind its name.
    pub(super) fn parse_function_body(&mut self) -> Parsed {
        self.record_doubt("defines a function");
        self.expect_text("(")?;
        self.skip_blanks();
        self.expect_text(")")?;
        self.skip_blanks_and_lines()?;
        self.parse_nested(Self::parse_command)
    }
}

/// Returns `true` for characters that end an unquoted word.
pub(super) fn ends_word(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>')
}
