//! Redirections and here-documents.

use super::{Parsed, ShellParser};
use crate::command_policy::script::Redirection;

/// A here-document whose body has not been read.
pub(super) struct HereDocument {
    delimiter: Vec<char>,
    /// Is not expanded.
    is_literal: bool,
    strips_tabs: bool,
}

impl ShellParser<'_> {
    /// Returns `true` if a redirection stands at the cursor, and not a process substitution.
    pub(super) fn is_at_redirection(&self) -> bool {
        let rest = self.characters.get(self.position..).unwrap_or_default();
        let digits = rest.iter().take_while(|c| c.is_ascii_digit()).count();
        match (rest.get(digits), rest.get(digits + 1)) {
            (Some('<' | '>'), Some('(')) => false,
            (Some('<' | '>'), _) => true,
            (Some('&'), Some('>')) => digits == 0,
            _ => false,
        }
    }

    pub(super) fn parse_redirections(&mut self) -> Parsed {
        loop {
            self.skip_blanks();
            if !self.is_at_redirection() {
                return Ok(());
            }
            self.parse_redirection()?;
        }
    }

    pub(super) fn parse_redirection(&mut self) -> Parsed {
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.position += 1;
        }
        if self.consume_if_at("<<<") {
            self.skip_blanks();
            return self.parse_word().map(drop);
        }
        if self.consume_if_at("<<") {
            return self.parse_here_document();
        }
        let operators = [("&>>", true), ("&>", true), (">>", true), (">|", true), ("<>", true)];
        let writes = operators
            .into_iter()
            .find_map(|(operator, writes)| self.consume_if_at(operator).then_some(writes));
        let (writes, is_copy) = match writes {
            Some(writes) => (writes, false),
            None => {
                let writes = self.peek() == Some('>');
                self.position += 1;
                (writes, self.consume_if_at("&"))
            }
        };
        self.skip_blanks();
        let start = self.position;
        let target = self.parse_word()?;
        let is_descriptor = target.text == "-" || target.text.bytes().all(|byte| byte.is_ascii_digit());
        if is_copy && is_descriptor && target.has_no_expansion() && !target.text.is_empty() {
            return Ok(());
        }
        if !target.has_no_expansion() || is_copy {
            self.record_doubt_from(start, "redirects to a place that is not written out");
        }
        self.script.redirections.push(Redirection { path: target.text, writes: writes || is_copy });
        Ok(())
    }

    fn parse_here_document(&mut self) -> Parsed {
        let strips_tabs = self.consume_if_at("-");
        self.skip_blanks();
        let quote = self.peek().filter(|c| matches!(c, '\'' | '"'));
        self.position += usize::from(quote.is_some());
        let mut delimiter = Vec::new();
        while let Some(c) = self.peek().filter(|c| c.is_ascii_alphanumeric() || *c == '_') {
            delimiter.push(c);
            self.position += 1;
        }
        let is_closed = quote.is_none_or(|quote| self.peek() == Some(quote));
        self.position += usize::from(quote.is_some());
        if delimiter.is_empty() || !is_closed || !self.peek().is_none_or(super::compound::ends_word) {
            return Err(self.record_unreadable("has a here-document with an unusual end"));
        }
        self.here_documents.push(HereDocument { delimiter, is_literal: quote.is_some(), strips_tabs });
        Ok(())
    }

    /// A here-document whose body does not begin before the end of its command.
    pub(super) fn doubt_and_drop_open_here_documents(&mut self) {
        if !self.here_documents.is_empty() {
            self.record_doubt("has a here-document without a body");
            self.here_documents.clear();
        }
    }

    /// Reads the bodies of all here-documents that begin at the cursor.
    pub(super) fn parse_here_document_bodies(&mut self) -> Parsed {
        for document in std::mem::take(&mut self.here_documents) {
            let start = self.position;
            let end = loop {
                let line_start = self.position;
                let rest = self.characters.get(line_start..).unwrap_or_default();
                let length = rest.iter().take_while(|c| **c != '\n').count();
                let line = rest.get(..length).unwrap_or_default();
                let tabs = line.iter().take_while(|c| document.strips_tabs && **c == '\t').count();
                if line.get(tabs..) == Some(document.delimiter.as_slice()) {
                    self.position += length + 1;
                    break line_start;
                }
                if length == rest.len() {
                    return Err(self.record_unreadable("has a here-document without an end"));
                }
                self.position += length + 1;
            };
            if !document.is_literal {
                let body: Vec<char> = self.characters.get(start..end).unwrap_or_default().to_vec();
                self.parse_nested(|parser| {
                    ShellParser::new(&body, parser.depth, parser.script).parse_here_document_body()
                })?;
            }
        }
        Ok(())
    }
}
