//! Rules for prompts.

use syn::{Expr, ExprLit, Lit};

use super::{Tool, validate_function};
use crate::args::{PromptKeys, WrittenKeys};
use crate::errors::Errors;
use crate::signature::Function;

/// The minimum length of a title, in characters.
const MIN_TITLE_CHARS: usize = 10;

/// A prompt without errors in its syntax.
pub(crate) struct Prompt {
    pub(crate) function: Tool,
    pub(crate) keys: PromptKeys,
}

/// Validates the function of a prompt.
pub(crate) fn validate_prompt(
    (keys, written): (PromptKeys, WrittenKeys),
    function: Function<'_>,
    errors: &Errors,
) -> Option<Prompt> {
    check_title(&keys, errors);
    check_system_prompt(&keys, errors);
    check_thinking(&keys, errors);
    let function = validate_function((keys.shared_keys(), written), function, errors)?;
    Some(Prompt { function, keys })
}

/// "a title has at least 10 characters"
fn check_title(keys: &PromptKeys, errors: &Errors) {
    if let Some(title) = &keys.title {
        let count = title.value.value().trim().chars().count();
        if count < MIN_TITLE_CHARS {
            let message = format!(
                "a title has at least {MIN_TITLE_CHARS} characters, but this one has {count}; say what the prompt is for"
            );
            errors.report_at(&title.value, message);
        }
    }
}

/// "`system_prompt` takes a string"
fn check_system_prompt(keys: &PromptKeys, errors: &Errors) {
    let Some(key) = &keys.system_prompt else { return };
    let Expr::Lit(ExprLit { lit, .. }) = &key.value else { return };
    match lit {
        Lit::Str(text) if text.value().trim().is_empty() => {
            errors.report_at(text, "`system_prompt` is empty; remove it or write a text");
        }
        Lit::Str(_) => {}
        other => {
            errors.report_at(other, "`system_prompt` takes a string; write `system_prompt = \"..\"`");
        }
    }
}

/// "these keys contradict each other"
fn check_thinking(keys: &PromptKeys, errors: &Errors) {
    if let (Some(thinking), Some(budget)) = (&keys.thinking, &keys.thinking_budget)
        && thinking.value.0 == "Off"
        && budget.value.0 > 0
    {
        let message = "`thinking_budget` contradicts `thinking = \"off\"`; keep one of the two";
        errors.report_at(&budget.path, message);
    }
}
