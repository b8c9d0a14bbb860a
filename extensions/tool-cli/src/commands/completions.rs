use clap::{Arg, ArgMatches, builder::PossibleValuesParser};
use clap_complete::{Shell, generate};

use super::{CALL, tool_grammar};
use crate::{Command, Exit, Failure, Program};

/// The command `completions`, which writes a completion script.
pub(super) struct Completions;

impl Command for Completions {
    fn grammar(&self) -> clap::Command {
        let shells = PossibleValuesParser::new(["bash", "zsh", "fish"]);
        clap::Command::new("completions")
            .about("Write a completion script for commands, tools and flags")
            .after_help("For bash: source <(PROGRAM completions bash)")
            .arg(Arg::new("shell").value_name("SHELL").required(true).value_parser(shells).help("The shell"))
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let shell = match matches.get_one::<String>("shell").map(String::as_str) {
            Some("zsh") => Shell::Zsh,
            Some("fish") => Shell::Fish,
            _ => Shell::Bash,
        };
        program.print(&completion_script(program, shell)?)?;
        Ok(Exit::Done)
    }
}

fn completion_script(program: &Program, shell: Shell) -> Result<String, Failure> {
    let definitions = program.tools()?.definitions();
    let mut grammar = program.grammar().mut_subcommand(CALL, |call| {
        call.allow_external_subcommands(false)
            .subcommands(definitions.iter().map(|it| grammar_of_plain_words(&tool_grammar(program, it))))
    });
    let names: Vec<_> = definitions.iter().map(|it| it.name().to_string()).collect();
    // A command of the program that replaces `show` may have no such argument.
    grammar = grammar.mut_subcommand("show", |show| {
        show.mut_args(|it| {
            if it.get_id() == "name" { it.value_parser(PossibleValuesParser::new(names.clone())) } else { it }
        })
    });
    // The script for bash does not work for a program with a dash in its name (clap-rs/clap#6421): it is generated for
    // another name, and registered for the actual one.
    let name = program.name();
    let alias = if shell == Shell::Bash { name.replace('-', "_") } else { name.to_owned() };
    grammar = grammar.name(alias.clone());
    let mut script = Vec::new();
    generate(shell, &mut grammar, &alias, &mut script);
    let script = String::from_utf8_lossy(&script);
    let line = |line: &str| match line.strip_suffix(&alias) {
        Some(before) if line.trim_start().starts_with("complete -F") => format!("{before}{name}\n"),
        _ => format!("{line}\n"),
    };
    Ok(script.lines().map(line).collect())
}

/// A grammar without flags and values that are not plain words: a shell would interpret them in the script.
fn grammar_of_plain_words(grammar: &clap::Command) -> clap::Command {
    let options =
        grammar.get_arguments().filter(|it| it.get_long().is_none_or(is_plain_shell_word)).map(|option| {
            let mut values = option.get_possible_values();
            let count = values.len();
            values.retain(|value| is_plain_shell_word(value.get_name()));
            let are_all = values.len() == count;
            if are_all {
                option.clone()
            } else {
                option.clone().value_parser(PossibleValuesParser::new(values))
            }
        });
    let about = grammar.get_about().cloned().unwrap_or_default();
    clap::Command::new(grammar.get_name().to_owned()).about(about).disable_help_flag(true).args(options)
}

fn is_plain_shell_word(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/'))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use serde_json::json;
    use tool_runtime::{ToolDefinition, ToolName, builder::ExternalTool, schema::InputSchema};

    use super::*;
    use crate::{closures::ProgramClosures, commands::built_in_commands, terminal::Terminal};

    // A schema may come from another program, and a shell runs the script.
    #[test]
    fn a_script_contains_only_flags_and_values_that_are_words() {
        let schema = json!({ "type": "object", "properties": {
            "$(boom)": { "type": "string" }, "it's;boom": { "type": "string" },
            "size": { "enum": ["$(boom)", "`boom`", "a boom", "\"boom", "small-1"] },
            "wörter": { "type": "string" },
        }});
        let tool =
            ToolDefinition::new(ToolName::new("a__b").unwrap(), "Does.", InputSchema::new(schema).unwrap());
        let add = Box::new(move |it: tool_runtime::registry::RegistryBuilder| {
            it.add(ExternalTool::new(tool.clone()))
        });
        let closures = ProgramClosures { tools: vec![add], ..ProgramClosures::default() };
        let program = Program::new(
            "it".into(),
            None,
            Terminal::new(),
            closures,
            built_in_commands(),
            built_in_commands,
        );
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            let script = completion_script(&program, shell).unwrap();
            assert!(!script.contains("boom"), "{script}");
            assert!(script.contains("small-1") && script.contains("wörter"), "{script}");
        }
    }

    // The script for bash has underscores in place of dashes, and is registered for the actual name.
    #[test]
    fn a_script_is_registered_for_a_name_with_dashes() {
        for (shell, line) in [
            (Shell::Bash, "complete -F _my_shop -o bashdefault -o default my-shop"),
            (Shell::Zsh, "#compdef my-shop"),
            (
                Shell::Fish,
                "complete -c my-shop -n \"__fish_my_shop_needs_command\" -f -a \"list\" -d 'List the tools'",
            ),
        ] {
            let closures = ProgramClosures::default();
            let program = Program::new(
                "my-shop".into(),
                None,
                Terminal::new(),
                closures,
                built_in_commands(),
                built_in_commands,
            );
            let script = completion_script(&program, shell).unwrap();
            assert!(script.lines().any(|it| it.trim() == line), "{line}: {script}");
        }
    }

    #[test]
    fn a_word_needs_no_quotes_in_a_shell() {
        for (text, expected) in
            [("a-B_1.+/", true), ("größe", true), ("", false), ("a b", false), ("$a", false), ("a;", false)]
        {
            assert_eq!(is_plain_shell_word(text), expected, "{text:?}");
        }
    }
}
