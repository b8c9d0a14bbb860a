//! The ends of actions, statements and comments.

use super::{TemplateProblem, tokens::quoted_text_end};

/// The maximum length of an action or a statement: the engine takes the stack for each operator of it.
const MAX_ACTION_BYTES: usize = 1 << 10;

/// Returns the end of the `{{ .. }}`, `{% .. %}` or `{# .. #}` at `start`; `None` if none begins there. Of a block `raw`, that is its end.
pub(super) fn delimited_part_end(text: &str, start: usize) -> Result<Option<usize>, TemplateProblem> {
    let rest = &text[start..];
    let end = match rest.as_bytes().get(1) {
        Some(b'{') => action_end(text, start)?,
        Some(b'%') => statement_end(text, start)?,
        Some(b'#') => match rest[2..].find("#}") {
            Some(length) => return Ok(Some(start + 2 + length + 2)),
            None => return Err(TemplateProblem::new(start, "the comment is not closed; add `#}`")),
        },
        _ => return Ok(None),
    };
    Ok(Some(end))
}

fn action_end(text: &str, start: usize) -> Result<usize, TemplateProblem> {
    let inner = &text[start + 2..];
    let comment = without_left_trim_mark(inner).unwrap_or(inner).trim_start();
    let Some(comment) = comment.strip_prefix("/*") else { return end_outside_quotes(text, start, "}}") };
    let unclosed =
        || TemplateProblem::new(start, "the comment is not closed; write `*/}}` behind it, and nothing else");
    let after = &comment[comment.find("*/").ok_or_else(unclosed)? + 2..];
    let closing = after.trim_start();
    let closing = closing.strip_prefix('-').filter(|_| closing.len() < after.len()).unwrap_or(closing);
    let closing = closing.strip_prefix("}}").ok_or_else(unclosed)?;
    Ok(text.len() - closing.len())
}

fn statement_end(text: &str, start: usize) -> Result<usize, TemplateProblem> {
    let mut end = end_outside_quotes(text, start, "%}")?;
    if first_word_of_statement(&text[start..end]) != "raw" {
        return Ok(end);
    }
    while let Some(length) = text[end..].find("{%") {
        let inner = end + length;
        let unclosed = || TemplateProblem::new(inner, "the statement is not closed; add `%}`");
        end = inner + 2 + text[inner + 2..].find("%}").ok_or_else(unclosed)? + 2;
        if first_word_of_statement(&text[inner..end]) == "endraw" {
            return Ok(end);
        }
    }
    Err(TemplateProblem::new(start, "the block has no end; add `{% endraw %}`"))
}

/// Returns what is behind the `-` by which an action trims the text before it.
pub(super) fn without_left_trim_mark(inner: &str) -> Option<&str> {
    inner.strip_prefix('-').filter(|rest| rest.starts_with(char::is_whitespace))
}

/// Returns what is before the `-` by which an action trims the text behind it.
pub(super) fn without_right_trim_mark(inner: &str) -> Option<&str> {
    inner.strip_suffix('-').filter(|rest| rest.ends_with(char::is_whitespace))
}

/// Returns the first word of a statement.
pub(super) fn first_word_of_statement(statement: &str) -> &str {
    let is_around =
        |character: char| matches!(character, '{' | '}' | '%' | '-' | '+') || character.is_whitespace();
    statement.trim_matches(is_around).split_whitespace().next().unwrap_or_default()
}

/// Returns the end of an action or a statement, whose texts in quotes and braces may have what closes it.
fn end_outside_quotes(text: &str, start: usize, close: &str) -> Result<usize, TemplateProblem> {
    let inner = &text[start + 2..];
    let (mut at, mut braces) = (0, 0_usize);
    while let Some(character) = inner[at..].chars().next() {
        match character {
            '"' | '\'' | '`' => match quoted_text_end(&inner[at..], character) {
                Some(length) => {
                    at += length;
                    continue;
                }
                None => return Err(TemplateProblem::new(start + 2 + at, "the text in quotes is not closed")),
            },
            _ if braces == 0 && inner[at..].starts_with(close) => {
                let end = start + 2 + at + close.len();
                return match at <= MAX_ACTION_BYTES {
                    true => Ok(end),
                    false => Err(TemplateProblem::new(
                        start,
                        format!("the action has more than {MAX_ACTION_BYTES} bytes; divide it"),
                    )),
                };
            }
            '{' => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            _ => {}
        }
        at += character.len_utf8();
    }
    let problem = match close {
        "}}" => "the action is not closed; add `}}`",
        _ => "the statement is not closed; add `%}`",
    };
    Err(TemplateProblem::new(start, problem))
}
