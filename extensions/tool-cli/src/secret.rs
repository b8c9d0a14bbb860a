//! Values of secret arguments, which are never part of the command line: other programs of the machine, and the history
//! of the shell, can read that.
//!
//! A secret comes from an environment variable (`env:NAME`), from a file (`@FILE`), or from a prompt without echo (`-`;
//! without a terminal, a line of the standard input). Messages never contain the value.

use std::{
    env, fs,
    io::{self, IsTerminal},
};

use clap::ArgMatches;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, value::RawValue};
use tool_runtime::{ToolDefinition, schema::Arguments};

use crate::{
    Failure,
    flags::{
        CallArguments, Property, SECRET_SOURCES, ValueKind, argument_properties, flag_name, object_members,
        parse_lossless_json, valid_values,
    },
    page::TextStyle,
    sanitize::escaped_line,
    terminal::Terminal,
};

/// Reads the secret `property` from `source`.
///
/// # Errors
///
/// If the source cannot be read, or the value does not have the type of the property.
pub(crate) fn read_secret(terminal: &Terminal, property: &Property, source: &str) -> Result<Value, Failure> {
    parse_secret_value(property, &read_secret_text(terminal, &property.path.join("."), source)?)
}

/// Reads the text of the secret `name` from `source`.
///
/// # Errors
///
/// If `source` names none, or it cannot be read.
pub(crate) fn read_secret_text(terminal: &Terminal, name: &str, source: &str) -> Result<String, Failure> {
    let name = escaped_line(name);
    if source == "-" {
        return read_secret_from_person(terminal, &name);
    }
    if let Some(path) = source.strip_prefix('@').filter(|it| !it.is_empty()) {
        let unread = |error| Failure::usage(format!("{} cannot be read: {error}", escaped_line(path)));
        return Ok(without_line_end(fs::read_to_string(path).map_err(unread)?));
    }
    let Some(variable) = source.strip_prefix("env:").filter(|it| !it.is_empty()) else {
        // What stands there may be the secret itself.
        let message =
            format!("the secret `{name}` must not be part of the command line; use {SECRET_SOURCES}");
        return Err(Failure::usage(message));
    };
    let unset = |error| Failure::usage(format!("the secret `{name}`: `{}`: {error}", escaped_line(variable)));
    env::var(variable).map_err(unset)
}

fn parse_secret_value(property: &Property, text: &str) -> Result<Value, Failure> {
    // The error of the property may contain the value.
    property.kind.parse(text).map_err(|_| {
        let name = escaped_line(&property.path.join("."));
        Failure::usage(format!("the secret `{name}` is not valid; expected {}", property.kind.description()))
    })
}

/// Refuses JSON on the command line that contains a secret: anything that the definition would redact, also under an alias,
/// misspelt, or in a nested object.
pub(crate) fn refuse_secret_in_json(definition: &ToolDefinition, text: &str) -> Result<(), Failure> {
    // Text that is not valid JSON is refused later, and not repeated.
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return Ok(());
    }
    let received = Arguments::from(text);
    // Under their own names first, for the message.
    let canonical = definition.canonical(received.clone()).ok();
    let found = canonical.iter().chain([&received]).find_map(|arguments| {
        let redacted = definition.redacted(arguments);
        first_redacted_member("", arguments.as_str(), redacted.as_str())
    });
    let Some(name) = found else { return Ok(()) };
    let properties = argument_properties(definition);
    let secret = properties.iter().find(|it| it.secret && it.path.last() == Some(&name));
    let is_secret = definition.metadata().secrets.iter().any(|it| **it == name);
    let problem = match (is_secret, name.as_str()) {
        (true, name) => format!("the secret `{}` must not be part of the command line", escaped_line(name)),
        // The name itself may be the secret.
        (false, "***") => format!(
            "`{}` does not have one of the arguments; it may be a secret, which must not be part of the command line",
            definition.name()
        ),
        (false, _) => {
            "the arguments may contain a secret, which must not be part of the command line".to_owned()
        }
    };
    let flag = match secret.filter(|it| it.has_flag) {
        Some(it) => {
            format!(", or the secret alone with `{}` and {SECRET_SOURCES}", escaped_line(&flag_name(it)))
        }
        None => String::new(),
    };
    Err(Failure::usage(format!("{problem}\n\nGive the JSON as @FILE or on the standard input (-){flag}")))
}

/// Refuses flags that take JSON, whose values contain a secret.
pub(crate) fn refuse_secret_in_json_flags(
    definition: &ToolDefinition,
    properties: &[Property],
    matches: &ArgMatches,
) -> Result<(), Failure> {
    for property in properties.iter().filter(|it| it.has_flag && !it.secret) {
        for value in valid_values(property, matches) {
            let mut arguments = Map::new();
            let value = match property.kind {
                ValueKind::List(_) => Value::Array(vec![value]),
                _ => value,
            };
            property.insert_into(&mut arguments, value).map_err(Failure::usage)?;
            refuse_secret_in_json(definition, &Value::Object(arguments).to_string())?;
        }
    }
    Ok(())
}

/// The name of the first member of `text` whose value `redacted`, the same arguments without secrets, hides. `null` is no
/// secret.
fn first_redacted_member(name: &str, text: &str, redacted: &str) -> Option<String> {
    if let (Some(all), Some(shown)) = (object_members(text), object_members(redacted)) {
        let mut pairs = all.iter().zip(&shown);
        return pairs
            .find_map(|((_, value), (name, shown))| first_redacted_member(name, value.get(), shown.get()));
    }
    let items = |text| serde_json::from_str::<Vec<&RawValue>>(text).ok();
    if let (Some(all), Some(shown)) = (items(text), items(redacted)) {
        return all
            .iter()
            .zip(&shown)
            .find_map(|(item, shown)| first_redacted_member(name, item.get(), shown.get()));
    }
    let is_hidden = |text| serde_json::from_str::<String>(text).is_ok_and(|it| it == "***");
    (text.trim() != "null" && is_hidden(redacted) && !is_hidden(text)).then(|| name.to_owned())
}

/// Asks for each required secret that `call_arguments` lacks, if there is a terminal.
pub(crate) fn ask_for_missing_secrets(
    terminal: &Terminal,
    properties: &[Property],
    call_arguments: CallArguments,
) -> Result<CallArguments, Failure> {
    let present = object_members(&call_arguments.text);
    let is_missing = |it: &&Property| {
        let has = |members: &Vec<(String, _)>| members.iter().any(|(name, _)| it.path.first() == Some(name));
        it.secret && it.path.len() == 1 && it.required && present.as_ref().is_some_and(|all| !has(all))
    };
    let missing: Vec<_> = properties.iter().filter(is_missing).collect();
    if missing.is_empty() || terminal.question_screen().is_none() {
        return Ok(call_arguments);
    }
    let object = |text: &str| match parse_lossless_json(text) {
        Ok(Value::Object(object)) => Some(object),
        _ => None,
    };
    let Some(mut arguments): Option<Map<String, Value>> = object(&call_arguments.text) else {
        return Ok(call_arguments);
    };
    for property in missing {
        let value = read_secret(terminal, property, "-")?;
        property.insert_into(&mut arguments, value).map_err(Failure::usage)?;
    }
    Ok(CallArguments { text: Value::Object(arguments).to_string(), origin: None })
}

/// A line from the person at the terminal, without echo; without a terminal, a line of the standard input.
fn read_secret_from_person(terminal: &Terminal, name: &str) -> Result<String, Failure> {
    let unread = |error: io::Error| Failure::usage(format!("the secret `{name}` cannot be read: {error}"));
    if !io::stdin().is_terminal() {
        let mut line = String::new();
        if io::stdin().read_line(&mut line).map_err(unread)? == 0 {
            let end = "the standard input ended before it";
            return Err(Failure::usage(format!("the secret `{name}` is missing: {end}")));
        }
        return Ok(without_line_end(line));
    }
    let mut page = terminal.error_page();
    page.add_styled_text(TextStyle::Name, &format!("Secret `{name}`:")).add(" ");
    hidden::read_line(|| terminal.write_error_page(&page)).map_err(unread).and_then(|line| {
        terminal.write_error_page(terminal.error_page().add("\n"));
        line.ok_or_else(|| Failure::new(crate::Exit::Cancelled, "no secret was entered"))
    })
}

fn without_line_end(mut text: String) -> String {
    if text.ends_with('\n') {
        text.pop();
        if text.ends_with('\r') {
            text.pop();
        }
    }
    text
}

#[cfg(unix)]
mod hidden {
    use std::io::{self, BufRead};

    use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};

    /// The byte of Ctrl-C.
    const INTERRUPT: u8 = 3;

    /// Restores the terminal.
    struct RestoredTerminal(Termios);

    impl Drop for RestoredTerminal {
        fn drop(&mut self) {
            let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
        }
    }

    /// Reads a line without echo after `prompt`; `None` if it ends with Ctrl-C or without a line.
    pub(super) fn read_line(prompt: impl FnOnce()) -> io::Result<Option<String>> {
        let before = tcgetattr(io::stdin())?;
        let mut silent = before.clone();
        // Ctrl-C arrives as the end of a line: as a signal, it would end the program without restoring the terminal.
        silent.local_modes.remove(LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ISIG);
        silent.special_codes[SpecialCodeIndex::VEOL] = INTERRUPT;
        let _restore = RestoredTerminal(before);
        // Drops keys that were pressed before the prompt.
        tcsetattr(io::stdin(), OptionalActions::Flush, &silent)?;
        prompt();
        let mut line = Vec::new();
        let mut stdin = io::stdin().lock();
        while !matches!(line.last(), Some(b'\n' | &INTERRUPT)) {
            let read = stdin.fill_buf()?;
            let count = read.len();
            line.extend_from_slice(read);
            stdin.consume(count);
            if count == 0 {
                return Ok(None);
            }
        }
        match line.pop() {
            Some(b'\n') => String::from_utf8(line).map(Some).map_err(|_| io::ErrorKind::InvalidData.into()),
            _ => Ok(None),
        }
    }
}

#[cfg(not(unix))]
mod hidden {
    use std::io;

    /// Reads a line without echo after `prompt`.
    pub(super) fn read_line(prompt: impl FnOnce()) -> io::Result<Option<String>> {
        prompt();
        console::Term::stderr().read_secure_line().map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::{first_redacted_member, without_line_end};

    #[test]
    fn one_line_end_is_removed() {
        for (text, expected) in [
            ("a\n", "a"),
            ("a\r\n", "a"),
            ("a\n\n", "a\n"),
            ("a\r", "a\r"),
            ("a\n\r", "a\n\r"),
            ("\n", ""),
            ("", ""),
            ("a", "a"),
        ] {
            assert_eq!(without_line_end(text.to_owned()), expected, "{text:?}");
        }
    }

    #[test]
    fn the_first_member_that_is_hidden_is_found_at_any_depth() {
        for (text, redacted, name) in [
            (r#"{"a": 1, "b": "x"}"#, r#"{"a": 1, "b": "***"}"#, Some("b")),
            (r#"{"a": 1, "b": 2}"#, r#"{"a": "***", "b": "***"}"#, Some("a")),
            (r#"{"a": {"b": [1, {"c": "x"}]}}"#, r#"{"a": {"b": [1, {"c": "***"}]}}"#, Some("c")),
            (r#"{"a": ["x", "y"]}"#, r#"{"a": ["x", "***"]}"#, Some("a")),
            (r#"{"a": {"b": 1}}"#, r#"{"a": "***"}"#, Some("a")),
            (r#"{"a": [1]}"#, r#"{"a": "***"}"#, Some("a")),
            (r#""x""#, r#""***""#, Some("")),
            // Nothing is hidden: the value is no secret, or was hidden before.
            (r#"{"a": null}"#, r#"{"a": "***"}"#, None),
            (r#"{"a": "***"}"#, r#"{"a": "***"}"#, None),
            (r#"{"a": "x"}"#, r#"{"a": "x"}"#, None),
            ("{}", "{}", None),
        ] {
            assert_eq!(first_redacted_member("", text, redacted).as_deref(), name, "{text}");
        }
    }
}
