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

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;

    use super::*;

    #[test]
    fn each_text_of_a_context_is_escaped() {
        // Control characters are no part of a styled text.
        let styled = |text: &str| StyledStr::from(text.to_owned());
        for (kind, value, expected) in [
            (
                ContextKind::InvalidArg,
                ContextValue::String("a\u{7}\nb".into()),
                ContextValue::String("a\\u{7}\\nb".into()),
            ),
            (
                ContextKind::ValidValue,
                ContextValue::Strings(vec!["a\u{7}".into(), "b".into()]),
                ContextValue::Strings(vec!["a\\u{7}".into(), "b".into()]),
            ),
            (
                ContextKind::Usage,
                ContextValue::StyledStr(styled("a\u{202e}\nb")),
                ContextValue::StyledStr(styled("a\\u{202e}\nb")),
            ),
            (
                ContextKind::Custom,
                ContextValue::StyledStr(styled("a\u{202e}\nb")),
                ContextValue::StyledStr(styled("a\\u{202e}\\nb")),
            ),
            (
                ContextKind::Suggested,
                ContextValue::StyledStrs(vec![styled("a\u{202e}"), styled("b")]),
                ContextValue::StyledStrs(vec![styled("a\\u{202e}"), styled("b")]),
            ),
            (ContextKind::ActualNumValues, ContextValue::Number(3), ContextValue::Number(3)),
        ] {
            assert_eq!(escaped_context(kind, &value), expected, "{kind:?}");
        }
    }

    #[test]
    fn a_suggested_alias_is_replaced_by_its_command() {
        let list = clap::Command::new("list").visible_alias("ls");
        let grammar = clap::Command::new("it").subcommands([list, clap::Command::new("lint")]);
        let strings =
            |names: &[&str]| ContextValue::Strings(names.iter().map(|it| (*it).to_owned()).collect());
        for (suggested, expected) in [
            (Some(ContextValue::String("ls".into())), Some(strings(&["list"]))),
            (Some(ContextValue::String("lint".into())), Some(strings(&["lint"]))),
            (Some(strings(&["ls", "lint", "list", "none"])), Some(strings(&["list", "lint", "none"]))),
            (Some(ContextValue::Bool(true)), Some(ContextValue::Bool(true))),
            (None, None),
        ] {
            let mut error = clap::Error::new(ErrorKind::InvalidSubcommand);
            if let Some(suggested) = suggested {
                error.insert(ContextKind::SuggestedSubcommand, suggested);
            }
            replace_suggested_aliases(&mut error, &grammar);
            assert_eq!(error.get(ContextKind::SuggestedSubcommand), expected.as_ref());
        }
    }
}
