//! Parts of messages of `clap`: suggested commands, and repeated words.

use clap::{
    builder::StyledStr,
    error::{ContextKind, ContextValue},
};
use tool_runtime::policy::Escape;

use crate::sanitize::escaped_line;

/// Replaces aliases by their commands among the suggestions for an unknown command: a letter explains nothing.
pub(crate) fn replace_suggested_aliases(error: &mut clap::Error, grammar: &clap::Command) {
    let suggested = match error.get(ContextKind::SuggestedSubcommand) {
        Some(ContextValue::String(name)) => vec![name.clone()],
        Some(ContextValue::Strings(names)) => names.clone(),
        _ => return,
    };
    let mut names: Vec<String> = Vec::new();
    for name in suggested {
        let command = grammar.get_subcommands().find(|it| it.get_all_aliases().any(|alias| alias == name));
        let name = command.map_or(name, |command| command.get_name().to_owned());
        if !names.contains(&name) {
            names.push(name);
        }
    }
    error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(names));
}

/// A part of a message of `clap`, with control characters escaped: it may repeat the command line.
pub(crate) fn escaped_context(kind: ContextKind, value: &ContextValue) -> ContextValue {
    let text = |text: &StyledStr| match kind {
        ContextKind::Usage => Escape::LINES.text(&text.to_string()),
        _ => escaped_line(&text.to_string()),
    };
    match value {
        ContextValue::String(text) => ContextValue::String(escaped_line(text)),
        ContextValue::Strings(texts) => {
            ContextValue::Strings(texts.iter().map(|text| escaped_line(text)).collect())
        }
        ContextValue::StyledStr(styled) => ContextValue::StyledStr(text(styled).into()),
        ContextValue::StyledStrs(all) => {
            ContextValue::StyledStrs(all.iter().map(|styled| text(styled).into()).collect())
        }
        other => other.clone(),
    }
}
