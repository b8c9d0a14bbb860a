//! The argument of `clap` for a property.

use tool_runtime::policy::Escape;

use super::{
    Property, ValueKind,
    source::{SECRET_SOURCES, is_secret_source},
    value_kind::value_text,
};
use crate::sanitize::{escaped_line, is_shown_unchanged};

/// The limit of choices that are listed and completed.
const MAX_CHOICES: usize = 100;

/// The argument of `clap` for one property.
pub(super) fn flag_argument(property: &Property) -> clap::Arg {
    let kind = &property.kind;
    let argument = clap::Arg::new(property.clap_id())
        .long(property.flag.clone())
        .value_name(property.placeholder())
        .help_heading("Arguments")
        .help(escaped_line(&property_help(property, false)))
        .long_help(Escape::LINES.text(&property_help(property, true)));
    let argument = match &property.alias {
        Some(alias) => argument.alias(alias.clone()),
        None => argument,
    };
    if property.secret {
        let problem = || format!("a secret must not be part of the command line; use {SECRET_SOURCES}");
        let source = move |text: &str| match is_secret_source(text) {
            true => Ok(text.to_owned()),
            false => Err(problem()),
        };
        return argument.value_parser(source);
    }
    let argument = match kind {
        ValueKind::List(_) => argument.action(clap::ArgAction::Append).allow_negative_numbers(true),
        ValueKind::Switch => argument.num_args(0..=1).require_equals(true).default_missing_value("true"),
        _ => argument.allow_negative_numbers(true),
    };
    let parser = kind.clone();
    let hint = match property.has_inner_flags {
        true => format!("; its properties have flags that begin with `--{}.`", property.flag),
        false => String::new(),
    };
    match listable_choices(kind) {
        // This parser lists its values in messages and completions.
        Some(values) => argument.value_parser(clap::builder::PossibleValuesParser::new(values)),
        None => argument.value_parser(move |text: &str| {
            parser.parse(text).map(|_| text.to_owned()).map_err(|error| escaped_line(&(error + &hint)))
        }),
    }
}

/// All choices, if they can be listed.
fn listable_choices(kind: &ValueKind) -> Option<Vec<String>> {
    match kind {
        ValueKind::Choice(values) if values.len() <= MAX_CHOICES => {
            let values: Vec<_> = values.iter().map(value_text).collect();
            values
                .iter()
                .all(|value| value.len() <= MAX_CHOICES && is_shown_unchanged(value))
                .then_some(values)
        }
        ValueKind::List(of) => listable_choices(of),
        _ => None,
    }
}

/// The help of a property: the first line of its description, or all of it with the properties inside JSON.
fn property_help(property: &Property, long: bool) -> String {
    let about =
        if long { property.about.as_str() } else { property.about.lines().next().unwrap_or_default() };
    let mut notes = property.limits.clone();
    if matches!(property.kind, ValueKind::List(_)) {
        notes.push("repeat for each item".to_owned());
    }
    if property.has_inner_flags {
        notes.push("the whole object".to_owned());
    } else if property.is_always_required {
        notes.insert(0, "required".to_owned());
    }
    notes.extend(property.default.as_ref().map(|value| format!("default: {}", value_text(value))));
    if property.secret {
        notes.push(format!("secret: {SECRET_SOURCES}"));
    }
    let text = match notes.as_slice() {
        [] => about.to_owned(),
        notes => {
            let between = if about.contains('\n') { '\n' } else { ' ' };
            format!("{about}{between}[{}]", notes.join("; ")).trim_start().to_owned()
        }
    };
    if !long || property.shape.is_empty() {
        return text;
    }
    let inner = property.shape.iter().map(|it| {
        let about = if it.about.is_empty() { String::new() } else { format!(". {}", it.about) };
        format!("\n{}{}: {}{about}", "  ".repeat(it.depth + 1), escaped_line(&it.name), it.takes)
    });
    inner.fold(text, |text, line| text + &line)
}
