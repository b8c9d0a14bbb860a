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
    TemplateProblem,
    actions::FUNCTION_NAMES,
    functions::{PAIRS, VALUES},
    operands::PipelineParser,
    scan::{delimited_part_end, first_word_of_statement, without_left_trim_mark, without_right_trim_mark},
    scope::{OuterScope, VariableScope},
    tokens::{Token, TokenKind, tokenize_go_action},
};

/// The nesting of blocks.
const MAX_BLOCKS: usize = 64;

/// The `else if` of a template, each of which is nested in the one before for the engine.
const MAX_ALTERNATIVES: usize = 128;

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
    outer: OuterScope,
    /// The scope of its alternatives, with what its first action declares.
    header: OuterScope,
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
    let mut rewriter = Rewriter {
        source: text,
        text: String::with_capacity(text.len()),
        parts: Vec::new(),
        blocks: Vec::new(),
        scope: VariableScope::new(),
        alternatives: 0,
    };
    let mut at = 0;
    while let Some(length) = text[at..].find('{') {
        let start = at + length;
        let end = delimited_part_end(text, start)?.unwrap_or(start + 1);
        rewriter.copy_source_range(at, start);
        match &text[start..end] {
            action if action.starts_with("{{") => rewriter.rewrite_action(start, end)?,
            statement => {
                if first_word_of_statement(statement) == "elif" {
                    rewriter.count_else_if(start)?;
                }
                rewriter.copy_source_range(start, end);
            }
        }
        at = end;
    }
    rewriter.copy_source_range(at, text.len());
    if let Some(block) = rewriter.blocks.last() {
        return Err(TemplateProblem::new(block.offset, "the block has no end; add `{{ end }}`"));
    }
    let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
    Ok(RewrittenText { text: rewriter.text, parts: rewriter.parts, lines })
}

struct Rewriter<'a> {
    source: &'a str,
    text: String,
    parts: Vec<(usize, usize, PartKind)>,
    blocks: Vec<Block>,
    scope: VariableScope,
    /// The number of `else if` so far.
    alternatives: usize,
}

impl Rewriter<'_> {
    fn copy_source_range(&mut self, start: usize, end: usize) {
        if start < end {
            self.parts.push((self.text.len(), start, PartKind::Copied));
            self.text.push_str(&self.source[start..end]);
        }
    }

    fn rewrite_action(&mut self, start: usize, end: usize) -> Result<(), TemplateProblem> {
        let inner = &self.source[start + 2..end - 2];
        let (inner, left) = match without_left_trim_mark(inner) {
            Some(rest) => (rest, "-"),
            None => (inner, ""),
        };
        let (inner, right) = match without_right_trim_mark(inner) {
            Some(rest) => (rest, "-"),
            None => (inner, ""),
        };
        let offset = start + 2 + left.len();
        let replacement = if inner.trim_start().starts_with("/*") {
            Some(Replacement::Comment)
        } else {
            // The engine has no text in backquotes.
            let tokens =
                tokenize_go_action(inner).filter(|tokens| is_go_syntax(tokens) || inner.contains('`'));
            tokens.map(|tokens| self.translate_action(&tokens, offset)).transpose()?
        };
        let Some(replacement) = replacement else {
            self.copy_source_range(start, end);
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

    fn translate_action(&mut self, tokens: &[Token], start: usize) -> Result<Replacement, TemplateProblem> {
        let offset = start + tokens.first().map_or(0, |token| token.offset);
        let keyword = match tokens.first().map(|token| &token.kind) {
            Some(TokenKind::Word(word)) => word.as_str(),
            _ => "",
        };
        let problem = |message: &str| Err(TemplateProblem::new(offset, message));
        match (keyword, tokens.get(1).map(|token| &token.kind)) {
            ("if", _) => self.translate_condition(BlockKind::If, &tokens[1..], start, offset),
            ("with", _) => self.translate_condition(BlockKind::With, &tokens[1..], start, offset),
            ("range", _) => self.translate_range(&tokens[1..], start, offset),
            ("else", Some(TokenKind::Word(word))) if word == "if" => match self.blocks.last() {
                Some(Block { kind: BlockKind::If, has_else: false, header, .. }) => {
                    self.scope.restore(header);
                    self.count_else_if(offset)?;
                    let condition = self.pipeline_expression(&tokens[2..], start)?;
                    Ok(Replacement::Statement(format!("elif {condition}")))
                }
                _ => problem("`else if` belongs to an `if`, before its `else`"),
            },
            ("else", None) => match self.blocks.last_mut().filter(|block| !block.has_else) {
                Some(block) => {
                    block.has_else = true;
                    self.scope.restore(&block.header);
                    Ok(Replacement::Statement("else".to_owned()))
                }
                None => problem("`else` belongs to an `if`, a `with` or a `range`, once"),
            },
            ("end", None) => match self.blocks.pop() {
                Some(block) => {
                    self.scope.restore(&block.outer);
                    let statement = if block.kind == BlockKind::Range { "endfor" } else { "endif" };
                    Ok(Replacement::Statement(statement.to_owned()))
                }
                None => problem("`end` without a block"),
            },
            ("else" | "end", Some(_)) => problem("`else` and `end` stand alone"),
            ("break" | "continue" | "define" | "template" | "block", _) => {
                problem("`break`, `continue`, `define`, `template` and `block` are not supported")
            }
            _ => self.translate_value(tokens, start, offset),
        }
    }

    /// Replaces the beginning of an `if` or a `with`, which may declare its value as a variable.
    fn translate_condition(
        &mut self,
        kind: BlockKind,
        tokens: &[Token],
        start: usize,
        offset: usize,
    ) -> Result<Replacement, TemplateProblem> {
        let outer = self.scope.outer_scope();
        let (declared, tokens) = match split_declaration(tokens) {
            Some((name, value)) => (Some(name), value),
            None => (None, tokens),
        };
        let value = self.pipeline_expression(tokens, start)?;
        let variable = match (declared, kind) {
            (Some(name), _) => Some(self.scope.declare_variable(name)),
            (None, BlockKind::With) => Some(self.scope.new_value_name()),
            (None, _) => None,
        };
        self.open_block(kind, outer, offset)?;
        let Some(variable) = variable else { return Ok(Replacement::Statement(format!("if {value}"))) };
        if kind == BlockKind::With {
            self.scope.set_dot_expression(&variable);
        }
        Ok(Replacement::Statements(format!("set {variable} = {value}"), format!("if {variable}")))
    }

    fn translate_value(
        &mut self,
        tokens: &[Token],
        start: usize,
        offset: usize,
    ) -> Result<Replacement, TemplateProblem> {
        if let Some((name, value)) = split_declaration(tokens) {
            let value = self.pipeline_expression(value, start)?;
            return Ok(Replacement::Statement(format!(
                "set {} = {value}",
                self.scope.declare_variable(name)
            )));
        }
        match tokens {
            [_, Token { kind: TokenKind::Assign, .. }, ..] => {
                Err(TemplateProblem::new(offset, "a variable keeps its value; declare another one by `:=`"))
            }
            _ => Ok(Replacement::Expression(self.pipeline_expression(tokens, start)?)),
        }
    }

    fn translate_range(
        &mut self,
        tokens: &[Token],
        start: usize,
        offset: usize,
    ) -> Result<Replacement, TemplateProblem> {
        let outer = self.scope.outer_scope();
        let declare = tokens.iter().position(|token| token.kind == TokenKind::Declare);
        let (variables, list) = match declare {
            Some(at) => (&tokens[..at], &tokens[at + 1..]),
            None => (&tokens[..0], tokens),
        };
        let list = self.pipeline_expression(list, start)?;
        self.open_block(BlockKind::Range, outer, offset)?;
        let problem = |message| Err(TemplateProblem::new(offset, message));
        let (value, statement) = match variables {
            [] if declare.is_none() => {
                let value = self.scope.new_value_name();
                let statement = format!("for {value} in ({list})|{VALUES}");
                (value, statement)
            }
            [value] => {
                let Some(value) = plain_variable_name(value) else {
                    return problem("write `range $value := ..`");
                };
                let value = self.scope.declare_variable(value);
                let statement = format!("for {value} in ({list})|{VALUES}");
                (value, statement)
            }
            [key, Token { kind: TokenKind::Comma, .. }, value] => {
                let (Some(key), Some(value)) = (plain_variable_name(key), plain_variable_name(value)) else {
                    return problem("write `range $key, $value := ..`");
                };
                let (key, value) = (self.scope.declare_variable(key), self.scope.declare_variable(value));
                let statement = format!("for {key}, {value} in ({list})|{PAIRS}");
                (value, statement)
            }
            _ => return problem("a `range` declares one or two variables"),
        };
        self.scope.set_dot_expression(&value);
        Ok(Replacement::Statement(statement))
    }

    fn pipeline_expression(&self, tokens: &[Token], offset: usize) -> Result<String, TemplateProblem> {
        PipelineParser::new(tokens, &self.scope, offset).parse()
    }

    /// Opens a block whose surroundings have the scope `outer`, and whose header may have declared a variable.
    fn open_block(
        &mut self,
        kind: BlockKind,
        outer: OuterScope,
        offset: usize,
    ) -> Result<(), TemplateProblem> {
        if self.blocks.len() == MAX_BLOCKS {
            return Err(TemplateProblem::new(offset, format!("more than {MAX_BLOCKS} blocks are nested")));
        }
        self.blocks.push(Block { kind, outer, header: self.scope.outer_scope(), offset, has_else: false });
        Ok(())
    }

    fn count_else_if(&mut self, offset: usize) -> Result<(), TemplateProblem> {
        self.alternatives += 1;
        match self.alternatives <= MAX_ALTERNATIVES {
            true => Ok(()),
            false => Err(TemplateProblem::new(
                offset,
                format!("a template has at most {MAX_ALTERNATIVES} `else if`; divide it"),
            )),
        }
    }
}

/// The text in place of an action.
enum Replacement {
    Comment,
    Expression(String),
    Statement(String),
    Statements(String, String),
}

/// Returns the name of the variable that tokens declare by `$name :=`, and the tokens of its value.
fn split_declaration(tokens: &[Token]) -> Option<(&str, &[Token])> {
    match tokens {
        [variable, Token { kind: TokenKind::Declare, .. }, value @ ..] => {
            Some((plain_variable_name(variable)?, value))
        }
        _ => None,
    }
}

fn plain_variable_name(token: &Token) -> Option<&str> {
    match &token.kind {
        TokenKind::Variable(name, names) if !name.is_empty() && names.is_empty() => Some(name),
        _ => None,
    }
}

/// Returns `true` if these are the tokens of Go, and not those of an expression of the engine.
fn is_go_syntax(tokens: &[Token]) -> bool {
    let keywords = ["if", "else", "end", "range", "with", "define", "template", "block", "break", "continue"];
    let is_mark = |token: &Token| {
        matches!(token.kind, TokenKind::Field(_) | TokenKind::Variable(..) | TokenKind::Declare)
    };
    match tokens {
        [Token { kind: TokenKind::Word(word), .. }, ..] if keywords.contains(&word.as_str()) => true,
        _ => tokens.iter().any(is_mark) || has_go_call(tokens),
    }
}

/// Returns `true` if a function stands before an argument without a parenthesis, such as `upper "a"`, but not the test `is eq 5`.
fn has_go_call(tokens: &[Token]) -> bool {
    let is_word = |token: &Token, words: &[&str]| match &token.kind {
        TokenKind::Word(word) => words.contains(&word.as_str()),
        _ => false,
    };
    tokens.windows(2).enumerate().any(|(at, pair)| {
        let [function, argument] = pair else { return false };
        let is_test =
            at.checked_sub(1).and_then(|at| tokens.get(at)).is_some_and(|it| is_word(it, &["is", "not"]));
        let is_argument = matches!(argument.kind, TokenKind::Text(_) | TokenKind::Number(_))
            || is_word(argument, &["true", "false", "nil"]);
        is_argument
            && !is_test
            && is_word(function, &FUNCTION_NAMES)
            && !is_word(function, &["not", "and", "or"])
    })
}
