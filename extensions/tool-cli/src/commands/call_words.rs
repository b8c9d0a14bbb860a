//! The words after the name of a tool, where `clap` would report one mistake of several, or would not explain it: unknown
//! flags, and arguments without flags.

use std::ffi::OsString;

use clap::{
    Command,
    error::{ContextKind, ContextValue},
};
use tool_runtime::ToolDefinition;

use super::{CALL, options::usage_line, show};
use crate::{
    Program,
    flags::{Property, ValueKind, argument_properties, flag_name},
    page::{Page, TextStyle},
    sanitize::{escaped_line, is_shown_unchanged},
};

/// The limit of flags that a message lists.
const MAX_LISTED_FLAGS: usize = 20;

/// The words after the name of a tool, by their roles.
#[derive(Debug, Default)]
pub(super) struct CallWords {
    all: Vec<String>,
    /// Flags that the tool does not have, with the flag before them that expects a value.
    unknown: Vec<(String, Option<String>)>,
    /// The positions of words that are neither flags nor their values.
    loose: Vec<usize>,
    pub(super) has_help: bool,
}

impl CallWords {
    /// Assigns `words` to the arguments of `grammar`; `None` if one of them is not valid UTF-8.
    pub(super) fn classify(grammar: &Command, words: &[OsString]) -> Option<Self> {
        let all: Option<Vec<String>> = words.iter().map(|it| it.to_str().map(str::to_owned)).collect();
        let all = all?;
        let mut read = Self::default();
        // The flag that expects the next word as its value.
        let mut open: Option<String> = None;
        let mut only_loose = false;
        for (at, word) in all.iter().enumerate() {
            let before = open.take();
            let is_loose = word == "-" || !word.starts_with('-') || word.parse::<f64>().is_ok();
            if only_loose || is_loose {
                if only_loose || before.is_none() {
                    read.loose.push(at);
                }
            } else if word == "--" {
                only_loose = true;
            } else {
                let (name, has_value) = match word.split_once('=') {
                    Some((name, _)) => (name, true),
                    None => (word.as_str(), false),
                };
                match argument_of_flag(grammar, name) {
                    Some(known) => {
                        read.has_help |= known.get_id() == "help";
                        let is_open = known.get_action().takes_values() && !known.is_require_equals_set();
                        open = (is_open && !has_value).then(|| name.to_owned());
                    }
                    None => {
                        // The rest of a short flag may be its value.
                        let end = if name.starts_with("--") { name.len() } else { 2.min(name.len()) };
                        read.unknown.push((name.get(..end).unwrap_or(name).to_owned(), before));
                        // The next word is probably its value.
                        open = (!has_value).then(String::new);
                    }
                }
            }
        }
        Some(Self { all, ..read })
    }

    /// The message about unknown flags or words without flags, if there are any.
    pub(super) fn problem_page(
        &self,
        program: &Program,
        definition: &ToolDefinition,
        grammar: &Command,
        options: Option<Vec<String>>,
    ) -> Option<Page> {
        let properties = argument_properties(definition);
        if !self.unknown.is_empty() {
            return Some(self.unknown_flags_page(program, definition, grammar, &properties));
        }
        let is_json = |word: &str| word == "-" || word.starts_with('@') || word.trim_start().starts_with('{');
        match self.loose.as_slice() {
            [] => None,
            [one] if is_json(&self.all[*one]) => None,
            _ => Some(self.words_without_flags_page(program, definition, &properties, options)),
        }
    }

    fn unknown_flags_page(
        &self,
        program: &Program,
        definition: &ToolDefinition,
        grammar: &Command,
        properties: &[Property],
    ) -> Page {
        let mut page = program.terminal().error_page();
        let name = definition.name().as_str();
        let hints =
            self.unknown.iter().map(|(unknown, before)| match (closest_flag(grammar, unknown), before) {
                (Some(close), _) => Some(format!("did you mean `{close}`?")),
                (None, Some(flag)) if !flag.is_empty() => {
                    Some(format!("write a value that begins with a dash as `{flag}=-VALUE`"))
                }
                _ => None,
            });
        let hints: Vec<_> = hints.collect();
        let message = match (self.unknown.as_slice(), hints.as_slice()) {
            ([(only, _)], [hint]) => {
                let hint = hint.as_ref().map(|hint| format!("; {hint}")).unwrap_or_default();
                format!("`{name}` has no flag `{}`{hint}", escaped_line(only))
            }
            _ => format!("`{name}` does not have these flags:"),
        };
        page.add_message(TextStyle::Error, "error:", &message);
        if self.unknown.len() > 1 {
            page.add("\n");
            for ((unknown, _), hint) in self.unknown.iter().zip(hints) {
                let hint = hint.map(|hint| format!(": {hint}")).unwrap_or_default();
                page.add_item(TextStyle::Name, &escaped_line(unknown), &hint);
            }
        }
        page.add("\n");
        let flags: Vec<_> = properties.iter().filter(|it| it.has_flag).collect();
        if flags.is_empty() {
            page.add_wrapped_text(&format!("`{name}` has no arguments.")).add("\n");
        } else {
            page.add_table(
                show::HEADER,
                flags.iter().take(MAX_LISTED_FLAGS).map(|it| show::property_row(it)),
            );
        }
        let more = match flags.len().saturating_sub(MAX_LISTED_FLAGS) {
            0 => String::new(),
            more => format!("[{more} more flags] "),
        };
        let help = format!("{more}`{} {CALL} --help {name}` shows the help", program.name());
        page.add("\n").add_wrapped_text(&help).add("\n");
        page
    }

    fn words_without_flags_page(
        &self,
        program: &Program,
        definition: &ToolDefinition,
        properties: &[Property],
        options: Option<Vec<String>>,
    ) -> Page {
        let mut page = program.terminal().error_page();
        let name = definition.name().as_str();
        if properties.is_empty() {
            page.add_message(
                TextStyle::Error,
                "error:",
                &format!("`{name}` has no arguments; nothing was run"),
            );
            return page;
        }
        let how = format!("the arguments of `{name}` are flags, or JSON; nothing was run");
        page.add_message(TextStyle::Error, "error:", &how).add("\n");
        match self.suggested_command(program, definition, properties, options) {
            // Not wrapped, so that it can be copied.
            Some(command) => {
                page.add("Did you mean:\n\n  ").add_styled_text(TextStyle::Name, &command).add("\n\n")
            }
            None => page.add("Usage: ").add(&usage_line(program, definition, properties)).add("\n\n"),
        };
        let help = format!("`{} {CALL} --help {name}` lists the flags.", program.name());
        page.add_wrapped_text(&format!(
            "{help} JSON is given as '{{..}}', @FILE, or - for the standard input."
        ));
        page.add("\n");
        page
    }

    /// The command that was probably meant: a flag before each loose word, if the words fit the parameters. Words of a call
    /// with secrets are not repeated.
    fn suggested_command(
        &self,
        program: &Program,
        definition: &ToolDefinition,
        properties: &[Property],
        options: Option<Vec<String>>,
    ) -> Option<String> {
        let is_shown = |it: &String| is_shown_unchanged(it) && !it.trim_start().starts_with('{');
        if !definition.metadata().secrets.is_empty() || !self.all.iter().all(is_shown) {
            return None;
        }
        let options = options?;
        let property = |word: &str| {
            let name = word.strip_prefix("--")?.split('=').next()?;
            let is_it = |it: &&Property| it.flag == name || it.alias.as_deref() == Some(name);
            properties.iter().filter(|it| it.has_flag).find(is_it)
        };
        let mut words: Vec<_> = self.all.iter().map(|it| shell_quoted(it)).collect();
        let (mut places, mut values) = (Vec::new(), Vec::new());
        for &at in &self.loose {
            let word = self.all[at].as_str();
            let before = at.checked_sub(1).map(|before| (before, self.all[before].as_str()));
            // A boolean flag takes its value after `=` only.
            match before.and_then(|(before, text)| Some((before, property(text)?))) {
                Some((before, it)) if it.kind == ValueKind::Switch && it.kind.parse(word).is_ok() => {
                    words[before] = format!("{}={word}", shell_quoted(&flag_name(it)));
                    words[at].clear();
                }
                _ => {
                    places.push(at);
                    values.push(word);
                }
            }
        }
        let given: Vec<_> = self.all.iter().filter_map(|word| property(word)).map(|it| &it.path).collect();
        for ((at, value), property) in
            places.iter().zip(&values).zip(properties_for_words_without_flags(properties, &given, &values)?)
        {
            let between = if value.starts_with('-') { "=" } else { " " };
            words[*at] = format!("{}{between}{}", shell_quoted(&flag_name(property)), shell_quoted(value));
        }
        let words = words.into_iter().filter(|it| !it.is_empty() && it != "--");
        let head = [shell_quoted(program.name()), CALL.to_owned()].into_iter();
        let options = options.iter().map(|it| shell_quoted(it));
        let all = head.chain(options).chain([definition.name().to_string()]).chain(words);
        Some(all.collect::<Vec<_>>().join(" "))
    }
}

/// The parameters for `values` without flags: the required ones that no path of `flag_paths` gives, or the first ones, in their order. The
/// last one may be a list.
fn properties_for_words_without_flags<'p>(
    properties: &'p [Property],
    flag_paths: &[&Vec<String>],
    values: &[&str],
) -> Option<Vec<&'p Property>> {
    let is_given = |it: &Property| flag_paths.iter().any(|path| it.path.starts_with(path));
    let free: Vec<_> =
        properties.iter().filter(|it| it.has_flag && !it.has_inner_flags && !is_given(it)).collect();
    let (required, first) = (
        free.iter().copied().filter(|it| it.is_always_required).collect::<Vec<_>>(),
        free.iter().copied().take(values.len()).collect::<Vec<_>>(),
    );
    let needed = required.len();
    [required, first].into_iter().find_map(|mut chosen| {
        if let Some(list) = chosen.last().copied().filter(|it| matches!(it.kind, ValueKind::List(_))) {
            chosen.resize(chosen.len().max(values.len()), list);
        }
        let fits = chosen.iter().zip(values).all(|(it, value)| it.kind.parse(value).is_ok());
        let has_required = chosen.iter().filter(|it| it.is_always_required).count() >= needed;
        (fits && has_required && chosen.len() == values.len()).then_some(chosen)
    })
}

/// A word for a POSIX shell.
fn shell_quoted(word: &str) -> String {
    let is_safe = |c: char| c.is_alphanumeric() || "-_./:@%+=,".contains(c);
    if !word.is_empty() && word.chars().all(is_safe) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// The argument of `grammar` with the flag `name`.
fn argument_of_flag<'g>(grammar: &'g Command, name: &str) -> Option<&'g clap::Arg> {
    let is_short = |it: &clap::Arg| it.get_short().is_some_and(|short| name == format!("-{short}"));
    let long = name.strip_prefix("--");
    let is_long = |it: &clap::Arg| {
        long.is_some_and(|long| {
            it.get_long() == Some(long) || it.get_all_aliases().is_some_and(|all| all.contains(&long))
        })
    };
    grammar.get_arguments().find(|it| is_short(it) || is_long(it))
}

/// The flag of `grammar` that is close to the unknown flag `name`.
fn closest_flag(grammar: &Command, name: &str) -> Option<String> {
    let error = grammar.clone().try_get_matches_from([grammar.get_name(), name]).err()?;
    match error.get(ContextKind::SuggestedArg)? {
        // `clap` suggests it for many names.
        ContextValue::String(flag) if flag != "--help" => Some(escaped_line(flag)),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use clap::{Arg, ArgAction};

    use super::*;

    /// A grammar with a flag that takes a value, one that takes it after `=` only, and one without a value.
    fn grammar() -> Command {
        let eggs = Arg::new("eggs").long("eggs").short('e').alias("number_of_eggs");
        let vegan = Arg::new("vegan").long("vegan").require_equals(true).num_args(0..=1);
        let force = Arg::new("force").long("force").action(ArgAction::SetTrue);
        let help = Arg::new("help").long("help").short('h').action(ArgAction::SetTrue);
        Command::new("bake").disable_help_flag(true).args([eggs, vegan, force, help])
    }

    #[test]
    fn words_are_flags_their_values_or_loose() {
        let none: &[(&str, Option<&str>)] = &[];
        for (words, unknown, loose, has_help) in [
            (&["--eggs", "2", "a"][..], none, &[2][..], false),
            (&["--eggs=2", "a", "-e", "3", "--number_of_eggs", "4"], none, &[1], false),
            (&["--vegan", "yes", "--vegan=yes", "--force", "b"], none, &[1, 4], false),
            (&["-", "-1", "-1.5", "a"], none, &[0, 1, 2, 3], false),
            (&["--eggs", "-1"], none, &[], false),
            (&["--eggs", "--", "-x", "--eggs"], none, &[2, 3], false),
            (&["--force", "--help"], none, &[], true),
            (&["-h"], none, &[], true),
            (&["--", "-h"], none, &[1], false),
            (&["--egs", "2", "a"], &[("--egs", None)], &[2], false),
            (&["--egs=2", "a"], &[("--egs", None)], &[1], false),
            (&["-xyz", "a", "-q=1", "b"], &[("-x", None), ("-q", None)], &[3], false),
            (&["--eggs", "-x"], &[("-x", Some("--eggs"))], &[], false),
            (&["--none", "--other"], &[("--none", None), ("--other", Some(""))], &[], false),
            (&[], none, &[], false),
        ] {
            let written: Vec<_> = words.iter().map(OsString::from).collect();
            let read = CallWords::classify(&grammar(), &written).unwrap();
            let seen: Vec<_> =
                read.unknown.iter().map(|(flag, before)| (&**flag, before.as_deref())).collect();
            assert_eq!((&*seen, &*read.loose, read.has_help), (unknown, loose, has_help), "{words:?}");
            assert_eq!(read.all, words);
        }
    }

    #[cfg(unix)]
    #[test]
    fn words_that_are_no_text_have_no_roles() {
        use std::os::unix::ffi::OsStringExt as _;

        assert!(CallWords::classify(&grammar(), &["a".into(), OsString::from_vec(vec![0xff])]).is_none());
    }

    #[test]
    fn a_word_is_quoted_for_a_shell_where_it_has_to_be() {
        for (word, quoted) in [
            ("a-B_1./:@%+=,", "a-B_1./:@%+=,"),
            ("größe", "größe"),
            ("", "''"),
            ("a b", "'a b'"),
            ("$a", "'$a'"),
            ("it's", "'it'\\''s'"),
        ] {
            assert_eq!(shell_quoted(word), quoted, "{word}");
        }
    }

    #[test]
    fn a_flag_that_is_close_to_an_unknown_one_is_suggested() {
        for (name, close) in [("--egs", Some("--eggs")), ("--hlp", None), ("--zzzzzz", None)] {
            assert_eq!(closest_flag(&grammar(), name).as_deref(), close, "{name}");
        }
    }
}
