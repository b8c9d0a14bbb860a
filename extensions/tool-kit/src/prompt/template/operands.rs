//! Pipelines of Go templates as expressions of the engine.

use super::{
    INPUT, TemplateProblem,
    actions::{Argument, call_expression},
    scope::VariableScope,
    tokens::{Token, TokenKind},
};

/// The depth of parentheses; the engine has a limit, too, and each of ours is several of its.
const MAX_DEPTH: usize = 16;

/// Reads the operands of an action.
pub(super) struct PipelineParser<'a> {
    tokens: &'a [Token],
    scope: &'a VariableScope,
    /// The offset of the action in the template.
    start: usize,
    depth: usize,
}

impl<'a> PipelineParser<'a> {
    pub(super) fn new(tokens: &'a [Token], scope: &'a VariableScope, start: usize) -> Self {
        Self { tokens, scope, start, depth: 0 }
    }

    /// Returns the expression of all tokens.
    pub(super) fn parse(mut self) -> Result<String, TemplateProblem> {
        let expression = self.parse_pipeline()?;
        match self.tokens.first() {
            None => Ok(expression.text),
            Some(token) => Err(self.problem_at(token.offset, "this is not expected here")),
        }
    }

    fn problem_at(&self, offset: usize, message: impl Into<String>) -> TemplateProblem {
        TemplateProblem::new(self.start + offset, message)
    }

    fn take_token(&mut self) -> Option<&'a Token> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(first)
    }

    fn parse_pipeline(&mut self) -> Result<Argument, TemplateProblem> {
        let mut value = self.parse_command(None)?;
        while self.tokens.first().is_some_and(|token| token.kind == TokenKind::Pipe) {
            self.take_token();
            value = self.parse_command(Some(value))?;
        }
        Ok(value)
    }

    /// Parses a value, or a function with its arguments, the last of which is `piped`.
    fn parse_command(&mut self, piped: Option<Argument>) -> Result<Argument, TemplateProblem> {
        let Some(first) = self.tokens.first() else {
            return Err(self.problem_at(0, "a value is missing; state one, such as `.` or `.name`"));
        };
        let offset = first.offset;
        let function = match &first.kind {
            TokenKind::Word(word) if constant_expression(word).is_none() => Some(word),
            _ => None,
        };
        let Some(function) = function else {
            let value = self.parse_operand()?;
            return match piped {
                None => Ok(value),
                Some(_) => Err(self.problem_at(offset, "a pipeline goes to a function; name one after `|`")),
            };
        };
        self.take_token();
        let mut arguments = Vec::new();
        while self.tokens.first().is_some_and(|token| begins_operand(&token.kind)) {
            arguments.push(self.parse_operand()?);
        }
        arguments.extend(piped);
        let text =
            call_expression(function, &arguments).map_err(|message| self.problem_at(offset, message))?;
        Ok(Argument { text, is_literal: false })
    }

    fn parse_operand(&mut self) -> Result<Argument, TemplateProblem> {
        let Some(token) = self.take_token() else { return Err(self.problem_at(0, "a value is missing")) };
        let text = match &token.kind {
            TokenKind::Field(names) => member_expression(self.scope.dot_expression(), names),
            TokenKind::Variable(name, names) if name.is_empty() => member_expression(INPUT, names),
            TokenKind::Variable(name, names) => match self.scope.engine_name_of_variable(name) {
                Some(variable) => member_expression(variable, names),
                None => {
                    let message = format!("the variable `${name}` is not declared; declare it by `:=`");
                    return Err(self.problem_at(token.offset, message));
                }
            },
            TokenKind::Text(text) => return Ok(Argument { text: quote_text(text), is_literal: true }),
            TokenKind::Number(number) => number.clone(),
            TokenKind::Word(word) => match constant_expression(word) {
                Some(constant) => constant.to_owned(),
                None => {
                    let message = format!("`{word}` is a function; write it in parentheses: `({word} ..)`");
                    return Err(self.problem_at(token.offset, message));
                }
            },
            TokenKind::Open => return self.parse_group(token.offset),
            _ => return Err(self.problem_at(token.offset, "a value is expected here")),
        };
        Ok(Argument { text, is_literal: false })
    }

    fn parse_group(&mut self, offset: usize) -> Result<Argument, TemplateProblem> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.problem_at(offset, format!("more than {MAX_DEPTH} parentheses are nested")));
        }
        let value = self.parse_pipeline()?;
        self.depth -= 1;
        match self.take_token().map(|token| &token.kind) {
            Some(TokenKind::Close(names)) => {
                let text = member_expression(&format!("({})", value.text), names);
                Ok(Argument { text, is_literal: value.is_literal && names.is_empty() })
            }
            _ => Err(self.problem_at(offset, "the parenthesis is not closed; add `)`")),
        }
    }
}

fn begins_operand(kind: &TokenKind) -> bool {
    match kind {
        TokenKind::Field(_)
        | TokenKind::Variable(..)
        | TokenKind::Text(_)
        | TokenKind::Number(_)
        | TokenKind::Word(_)
        | TokenKind::Open => true,
        TokenKind::Pipe | TokenKind::Close(_) | TokenKind::Comma | TokenKind::Declare | TokenKind::Assign => {
            false
        }
    }
}

fn constant_expression(word: &str) -> Option<&'static str> {
    match word {
        "true" => Some("true"),
        "false" => Some("false"),
        "nil" => Some("none"),
        _ => None,
    }
}

fn member_expression(value: &str, names: &[String]) -> String {
    names.iter().fold(value.to_owned(), |text, name| match name.is_ascii() {
        true => format!("{text}.{name}"),
        false => format!("{text}[{}]", quote_text(name)),
    })
}

/// Returns a text in quotes of the engine.
pub(super) fn quote_text(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            // The lines of an action stay those of the original.
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}
