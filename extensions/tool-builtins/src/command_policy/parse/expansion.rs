//! Expansions behind a dollar sign, and backticks. Those whose effect is only their value mark the word; the others are
//! doubts.

use super::{Parsed, ShellParser};
use crate::command_policy::script::ShellWord;

const SUBSTITUTION: &str = "the output of a command";

impl ShellParser<'_> {
    /// Parses what begins with a dollar sign.
    pub(super) fn parse_dollar_expansion(&mut self, word: &mut ShellWord, is_quoted: bool) -> Parsed {
        self.position += 1;
        match self.peek() {
            Some('(') if self.peek_at(1) == Some('(') => {
                word.expansion = Some("arithmetic");
                self.parse_arithmetic()
            }
            Some('(') => {
                word.expansion = Some(SUBSTITUTION);
                self.position += 1;
                self.parse_command_substitution()
            }
            Some('{') => {
                word.expansion = Some("a variable");
                self.parse_nested(Self::parse_braced_parameter)
            }
            Some('\'' | '"') if !is_quoted => {
                self.record_doubt("has a quote behind a dollar sign");
                word.expansion = Some("a quote behind a dollar sign");
                Ok(())
            }
            Some('[') => {
                self.record_doubt("has arithmetic");
                word.expansion = Some("arithmetic");
                Ok(())
            }
            Some('@' | '*' | '#' | '?' | '-' | '$' | '!' | '0'..='9') => {
                word.expansion = Some("a variable");
                self.position += 1;
                Ok(())
            }
            Some('"' | ' ' | '\t' | '\n' | ';' | '|' | ')') | None => {
                word.text.push('$');
                Ok(())
            }
            _ => {
                word.expansion = Some("a variable");
                self.position += self.variable_name_length();
                Ok(())
            }
        }
    }

    /// Parses commands up to a closing parenthesis, behind the opening one.
    pub(super) fn parse_command_substitution(&mut self) -> Parsed {
        if !self.here_documents.is_empty() {
            self.record_doubt("has a command within a command that has a here-document");
        }
        let outer = std::mem::replace(&mut self.is_substitution, true);
        let documents = std::mem::take(&mut self.here_documents);
        self.parse_nested(|parser| {
            parser.parse_list(&[])?;
            parser.doubt_and_drop_open_here_documents();
            parser.expect_text(")")
        })?;
        self.here_documents = documents;
        self.is_substitution = outer;
        Ok(())
    }

    /// Parses `$((..))`, behind the dollar sign: numbers and operators are clear; a name is not, since the shell
    /// evaluates the value of a variable, including commands in it.
    fn parse_arithmetic(&mut self) -> Parsed {
        let rest = self.characters.get(self.position + 2..).unwrap_or_default();
        let is_plain = |c: &&char| matches!(c, '0'..='9' | ' ' | '+' | '-' | '*' | '/' | '%');
        let length = rest.iter().take_while(is_plain).count();
        if rest.get(length..).is_some_and(|end| end.starts_with(&[')', ')'])) {
            self.position += 2 + length + 2;
            return Ok(());
        }
        self.record_doubt("has arithmetic");
        self.position += 2;
        self.skip_to_end_of_arithmetic()
    }

    /// Moves behind `))`, over the substitutions in the expression.
    fn skip_to_end_of_arithmetic(&mut self) -> Parsed {
        let mut parentheses = 0_usize;
        let mut ignored = ShellWord::default();
        self.parse_nested(|parser| {
            loop {
                match parser.peek() {
                    None => return Err(parser.record_unreadable("has arithmetic without an end")),
                    Some('$') => parser.parse_dollar_expansion(&mut ignored, true)?,
                    Some('`') => parser.parse_backticks(&mut ignored, true)?,
                    Some(')') if parentheses == 0 => return parser.expect_text("))"),
                    Some(c) => {
                        parentheses += usize::from(c == '(');
                        parentheses -= usize::from(c == ')');
                        parser.position += 1;
                    }
                }
            }
        })
    }

    /// Parses `{name}` and `{name:-default}`, behind the dollar sign.
    fn parse_braced_parameter(&mut self) -> Parsed {
        self.position += 1;
        let name =
            self.variable_name_length().max(usize::from(self.peek().is_some_and(|c| c.is_ascii_digit())));
        self.position += name;
        let has_default = self.consume_if_at(":-")
            || self.consume_if_at(":+")
            || self.consume_if_at("-")
            || self.consume_if_at("+");
        if name == 0 || (!has_default && self.peek() != Some('}')) {
            self.record_doubt("changes a variable, or evaluates its value");
        }
        let mut ignored = ShellWord::default();
        loop {
            match self.peek() {
                None => return Err(self.record_unreadable("has a brace without an end")),
                Some('}') => {
                    self.position += 1;
                    return Ok(());
                }
                Some('$') => self.parse_dollar_expansion(&mut ignored, true)?,
                Some('`') => self.parse_backticks(&mut ignored, true)?,
                Some(c) => {
                    if matches!(c, '\'' | '"' | '\\' | '{' | '<' | '>' | '\n') {
                        self.record_doubt("has a quote or brace within a variable");
                    }
                    self.position += 1;
                }
            }
        }
    }

    /// Parses backticks. Their content is a text of its own, in which a backslash protects backticks, dollar signs and
    /// backslashes: with one, it is a doubt.
    pub(super) fn parse_backticks(&mut self, word: &mut ShellWord, is_quoted: bool) -> Parsed {
        word.expansion = Some(SUBSTITUTION);
        if !self.here_documents.is_empty() {
            self.record_doubt("has a command within a command that has a here-document");
        }
        self.position += 1;
        let mut content = Vec::new();
        loop {
            match (self.peek(), self.peek_at(1)) {
                (None, _) => return Err(self.record_unreadable("has a backtick without an end")),
                (Some('`'), _) => break,
                (Some('\\'), next) => {
                    self.record_doubt("has a backslash in backticks");
                    match next {
                        Some(c @ ('`' | '$' | '\\')) => content.push(c),
                        Some(c @ '"') if is_quoted => content.push(c),
                        next => content.extend(['\\'].into_iter().chain(next)),
                    }
                    self.position += 2;
                }
                (Some(c), _) => {
                    content.push(c);
                    self.position += 1;
                }
            }
        }
        self.position += 1;
        self.parse_nested(|parser| ShellParser::new(&content, parser.depth, parser.script).parse_whole_text())
    }

    /// Parses the body of a here-document, for the commands in it.
    pub(super) fn parse_here_document_body(&mut self) -> Parsed {
        let mut ignored = ShellWord::default();
        while let Some(c) = self.peek() {
            match c {
                '$' => self.parse_dollar_expansion(&mut ignored, true)?,
                '`' => self.parse_backticks(&mut ignored, true)?,
                '\\' => return Err(self.record_unreadable("has a backslash in a here-document")),
                _ => self.position += 1,
            }
        }
        Ok(())
    }
}
