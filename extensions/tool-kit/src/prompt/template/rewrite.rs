//! The rewriting of a text with actions of Go's `text/template` into one of the engine.
//!
//! | Go | engine |
//! | --- | --- |
//! | `{{ . }}`, `{{ .a.b }}`, `{{ $.a }}` | the input, and members of it |
//! | `{{ .a \| upper \| default "x" }}`, `{{ join .list ", " }}` | filters |
//! | `{{ if .a }} .. {{ else if .b }} .. {{ else }} .. {{ end }}` | `{% if %}` |
//! | `{{ range .list }} .. {{ else }} .. {{ end }}`, `{{ range $key, $value := .map }}` | `{% for %}` |
//! | `{{ with .a }} .. {{ end }}`, `{{ $x := .a }}`, `{{/* comment */}}` | `{% if %}` and `{% set %}`, `{% set %}`, nothing |
//!
//! Each other `{{ .. }}`, `{% .. %}` and `{# .. #}` is the engine's. A text keeps its lines, so that errors have the line of the original.

use super::{
    INPUT, TemplateProblem,
    functions::{PAIRS, VALUES},
    operands::{PipelineParser, variable_name},
    tokens::{Token, TokenKind, text_end, tokens_of},
};

/// The nesting of blocks.
const MAX_BLOCKS: usize = 64;

/// A text of the engine, and where its parts are in the original.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RewrittenText {
    pub(super) text: String,
    /// The offsets of copied parts and of actions, in both texts.
    parts: Vec<(usize, usize, PartKind)>,
    /// The offsets of the lines in the original.
    lines: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartKind {
    Copied,
    Rewritten,
}

impl RewrittenText {
    /// Returns the offset in the original of an offset in this text.
    pub(super) fn original_offset(&self, offset: usize) -> usize {
        let at = self.parts.partition_point(|(rewritten, ..)| *rewritten <= offset);
        match at.checked_sub(1).and_then(|at| self.parts.get(at)) {
            Some((rewritten, original, PartKind::Copied)) => original + (offset - rewritten),
            Some((_, original, PartKind::Rewritten)) => *original,
            None => 0,
        }
    }

    /// Returns the offset of a line, from 1 on.
    pub(super) fn offset_of_line(&self, line: usize) -> usize {
        line.checked_sub(1).and_then(|line| self.lines.get(line)).copied().unwrap_or_default()
    }
}

/// A block that is open.
struct Block {
    kind: BlockKind,
    /// The expression of `.` before it.
    before: String,
    offset: usize,
    has_else: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    If,
    With,
    Range,
}

/// Rewrites the actions of a text.
pub(super) fn rewrite_actions(text: &str) -> Result<RewrittenText, TemplateProblem> {
    let mut rewriter =
        Rewriter { source: text, text: String::with_capacity(text.len()), ..Rewriter::default() };
    rewriter.current = INPUT.to_owned();
    let mut at = 0;
    while let Some(length) = text[at..].find('{') {
        let start = at + length;
        let rest = &text[start..];
        let end = match rest.as_bytes().get(1) {
            Some(b'{') => Some(rewriter.action_end(start)?),
            Some(b'%') => Some(native_end(text, start)?),
            Some(b'#') => rest[2..].find("#}").map(|end| start + 2 + end + 2),
            _ => None,
        };
        let end = end.unwrap_or(start + 1);
        rewriter.copy_part(at, start);
        match rest.starts_with("{{") {
            true => rewriter.rewrite_action(start, end)?,
            false => rewriter.copy_part(start, end),
        }
        at = end;
    }
    rewriter.copy_part(at, text.len());
    if let Some(block) = rewriter.blocks.last() {
        return Err(TemplateProblem::new(block.offset, "the block has no end; add `{{ end }}`"));
    }
    let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    Ok(RewrittenText { text: rewriter.text, parts: rewriter.parts, lines })
}

/// Returns the end of a statement of the engine, or of the whole block `raw`.
fn native_end(text: &str, start: usize) -> Result<usize, TemplateProblem> {
    let (word, mut end) = native_statement(text, start)?;
    if word != "raw" {
        return Ok(end);
    }
    while let Some(length) = text[end..].find("{%") {
        let word;
        (word, end) = native_statement(text, end + length)?;
        if word == "endraw" {
            return Ok(end);
        }
    }
    Err(TemplateProblem::new(start, "the block has no end; add `{% endraw %}`"))
}

/// Returns the text of a statement of the engine, and its end.
fn native_statement(text: &str, start: usize) -> Result<(&str, usize), TemplateProblem> {
    let inner = &text[start + 2..];
    let length = inner
        .find("%}")
        .ok_or_else(|| TemplateProblem::new(start, "the statement is not closed; add `%}`"))?;
    let is_around = |character: char| matches!(character, '-' | '+') || character.is_whitespace();
    Ok((inner[..length].trim_matches(is_around), start + 2 + length + 2))
}

#[derive(Default)]
struct Rewriter<'a> {
    source: &'a str,
    text: String,
    parts: Vec<(usize, usize, PartKind)>,
    blocks: Vec<Block>,
    current: String,
    /// The number of variables for `.` so far.
    values: usize,
}

impl Rewriter<'_> {
    fn copy_part(&mut self, start: usize, end: usize) {
        if start < end {
            self.parts.push((self.text.len(), start, PartKind::Copied));
            self.text.push_str(&self.source[start..end]);
        }
    }

    /// Returns the end of the action at `start`.
    fn action_end(&self, start: usize) -> Result<usize, TemplateProblem> {
        let text = &self.source[start + 2..];
        let inner = text.strip_prefix('-').unwrap_or(text).trim_start();
        if inner.starts_with("/*") {
            let comment = inner.find("*/").map(|end| text.len() - inner.len() + end + 2);
            let end = comment.and_then(|at| text[at..].find("}}").map(|end| start + 2 + at + end + 2));
            return end.ok_or_else(|| TemplateProblem::new(start, "the comment is not closed; add `*/}}`"));
        }
        let (mut at, mut braces) = (0, 0_usize);
        while let Some(character) = text[at..].chars().next() {
            match character {
                '"' | '\'' | '`' => match text_end(&text[at..], character) {
                    Some(length) => {
                        at += length;
                        continue;
                    }
                    None => {
                        return Err(TemplateProblem::new(start + 2 + at, "the text in quotes is not closed"));
                    }
                },
                '{' => braces += 1,
                '}' if braces > 0 => braces -= 1,
                '}' if text[at..].starts_with("}}") => return Ok(start + 2 + at + 2),
                _ => {}
            }
            at += character.len_utf8();
        }
        Err(TemplateProblem::new(start, "the action is not closed; add `}}`"))
    }

    fn rewrite_action(&mut self, start: usize, end: usize) -> Result<(), TemplateProblem> {
        let inner = &self.source[start + 2..end - 2];
        let (left, inner) = match inner.strip_prefix('-') {
            Some(rest) if rest.starts_with(char::is_whitespace) => ("-", rest),
            _ => ("", inner),
        };
        let (right, inner) = match inner.strip_suffix('-') {
            Some(rest) if rest.ends_with(char::is_whitespace) => ("-", rest),
            _ => ("", inner),
        };
        let offset = start + 2 + left.len();
        let replacement = match inner.trim() {
            comment if comment.starts_with("/*") => Some(Replacement::Comment),
            // The engine has no text in backquotes.
            _ => match tokens_of(inner).filter(|tokens| is_go(tokens) || inner.contains('`')) {
                Some(tokens) => Some(self.replacement_of(&tokens, offset)?),
                None => None,
            },
        };
        let Some(replacement) = replacement else {
            self.copy_part(start, end);
            return Ok(());
        };
        self.parts.push((self.text.len(), start, PartKind::Rewritten));
        let breaks = "\n".repeat(inner.matches('\n').count());
        match replacement {
            Replacement::Comment => self.text.push_str(&format!("{{#{left} {breaks}{right}#}}")),
            Replacement::Expression(text) => {
                self.text.push_str(&format!("{{{{{left} {text} {breaks}{right}}}}}"))
            }
            Replacement::Statement(text) => {
                self.text.push_str(&format!("{{%{left} {text} {breaks}{right}%}}"))
            }
            Replacement::Statements(first, second) => {
                self.text.push_str(&format!("{{%{left} {first} {breaks}%}}{{% {second} {right}%}}"));
            }
        }
        Ok(())
    }

    fn replacement_of(&mut self, tokens: &[Token], start: usize) -> Result<Replacement, TemplateProblem> {
        let offset = start + tokens.first().map_or(0, |token| token.offset);
        let keyword = match tokens.first().map(|token| &token.kind) {
            Some(TokenKind::Word(word)) => word.as_str(),
            _ => "",
        };
        let problem = |message: &str| Err(TemplateProblem::new(offset, message));
        match (keyword, tokens.get(1).map(|token| &token.kind)) {
            ("if", _) => {
                let condition = self.pipeline_expression(&tokens[1..], start)?;
                self.open_block(BlockKind::If, offset)?;
                Ok(Replacement::Statement(format!("if {condition}")))
            }
            ("with", _) => {
                let value = self.pipeline_expression(&tokens[1..], start)?;
                self.open_block(BlockKind::With, offset)?;
                let name = self.name_value();
                let statements =
                    Replacement::Statements(format!("if {value}"), format!("set {name} = {value}"));
                self.current = name;
                Ok(statements)
            }
            ("range", _) => self.replace_range(&tokens[1..], start, offset),
            ("else", Some(TokenKind::Word(word))) if word == "if" => match self.blocks.last() {
                Some(Block { kind: BlockKind::If, has_else: false, .. }) => {
                    let condition = self.pipeline_expression(&tokens[2..], start)?;
                    Ok(Replacement::Statement(format!("elif {condition}")))
                }
                _ => problem("`else if` belongs to an `if`"),
            },
            ("else", None) => match self.blocks.last_mut().filter(|block| !block.has_else) {
                Some(block) => {
                    block.has_else = true;
                    self.current.clone_from(&block.before);
                    Ok(Replacement::Statement("else".to_owned()))
                }
                None => problem("`else` belongs to an `if`, a `with` or a `range`, once"),
            },
            ("end", None) => match self.blocks.pop() {
                Some(block) => {
                    self.current = block.before;
                    let statement = if block.kind == BlockKind::Range { "endfor" } else { "endif" };
                    Ok(Replacement::Statement(statement.to_owned()))
                }
                None => problem("`end` without a block"),
            },
            ("else" | "end", Some(_)) => problem("`else` and `end` stand alone"),
            ("break" | "continue" | "define" | "template" | "block", _) => {
                problem("`break`, `continue`, `define`, `template` and `block` are not supported")
            }
            _ => self.replace_value(tokens, start, offset),
        }
    }

    fn replace_value(
        &self,
        tokens: &[Token],
        start: usize,
        offset: usize,
    ) -> Result<Replacement, TemplateProblem> {
        match tokens {
            [
                Token { kind: TokenKind::Variable(name, names), .. },
                Token { kind: TokenKind::Declare, .. },
                value @ ..,
            ] if !name.is_empty() && names.is_empty() => {
                let value = self.pipeline_expression(value, start)?;
                Ok(Replacement::Statement(format!("set {} = {value}", variable_name(name))))
            }
            [_, Token { kind: TokenKind::Assign, .. }, ..] => {
                Err(TemplateProblem::new(offset, "a variable keeps its value; declare another one by `:=`"))
            }
            _ => Ok(Replacement::Expression(self.pipeline_expression(tokens, start)?)),
        }
    }

    fn replace_range(
        &mut self,
        tokens: &[Token],
        start: usize,
        offset: usize,
    ) -> Result<Replacement, TemplateProblem> {
        let declare = tokens.iter().position(|token| token.kind == TokenKind::Declare);
        let (variables, list) = match declare {
            Some(at) => (&tokens[..at], &tokens[at + 1..]),
            None => (&tokens[..0], tokens),
        };
        let list = self.pipeline_expression(list, start)?;
        let variable = |token: &Token| match &token.kind {
            TokenKind::Variable(name, names) if !name.is_empty() && names.is_empty() => {
                Some(variable_name(name))
            }
            _ => None,
        };
        let names = match variables {
            [] => (None, self.name_value()),
            [value] => match variable(value) {
                Some(value) => (None, value),
                None => return Err(TemplateProblem::new(offset, "write `range $value := ..`")),
            },
            [key, Token { kind: TokenKind::Comma, .. }, value] => match (variable(key), variable(value)) {
                (Some(key), Some(value)) => (Some(key), value),
                _ => return Err(TemplateProblem::new(offset, "write `range $key, $value := ..`")),
            },
            _ => return Err(TemplateProblem::new(offset, "a `range` declares one or two variables")),
        };
        self.open_block(BlockKind::Range, offset)?;
        self.current.clone_from(&names.1);
        Ok(Replacement::Statement(match names {
            (None, value) => format!("for {value} in ({list})|{VALUES}"),
            (Some(key), value) => format!("for {key}, {value} in ({list})|{PAIRS}"),
        }))
    }

    fn pipeline_expression(&self, tokens: &[Token], offset: usize) -> Result<String, TemplateProblem> {
        PipelineParser::new(tokens, &self.current, offset).parse()
    }

    fn open_block(&mut self, kind: BlockKind, offset: usize) -> Result<(), TemplateProblem> {
        if self.blocks.len() == MAX_BLOCKS {
            return Err(TemplateProblem::new(offset, format!("more than {MAX_BLOCKS} blocks are nested")));
        }
        let before = self.current.clone();
        self.blocks.push(Block { kind, before, offset, has_else: false });
        Ok(())
    }

    fn name_value(&mut self) -> String {
        self.values += 1;
        format!("__d_{}", self.values)
    }
}

/// The text in place of an action.
enum Replacement {
    Comment,
    Expression(String),
    Statement(String),
    Statements(String, String),
}

/// Returns `true` if these are the tokens of Go, and not those of an expression of the engine.
fn is_go(tokens: &[Token]) -> bool {
    let keywords = ["if", "else", "end", "range", "with", "define", "template", "block", "break", "continue"];
    let is_mark = |token: &Token| {
        matches!(
            token.kind,
            TokenKind::Field(_) | TokenKind::Variable(..) | TokenKind::Declare | TokenKind::Close(_)
        ) && !matches!(&token.kind, TokenKind::Close(names) if names.is_empty())
    };
    match tokens {
        [Token { kind: TokenKind::Word(word), .. }, ..] if keywords.contains(&word.as_str()) => true,
        // `upper "a"` and `len $x`, but not `a if b`.
        [
            Token { kind: TokenKind::Word(_), .. },
            Token { kind: TokenKind::Text(_) | TokenKind::Number(_), .. },
            ..,
        ] => true,
        _ => tokens.iter().any(is_mark),
    }
}
