use clap::{Arg, ArgMatches, builder::PossibleValuesParser};
use clap_complete::{Shell, generate};

use super::{CALL, grammar_of};
use crate::{Command, Exit, Failure, Program};

/// Writes what a shell needs to complete commands, tools and their flags.
pub(super) struct Completions;

impl Command for Completions {
    fn grammar(&self) -> clap::Command {
        let shells = PossibleValuesParser::new(["bash", "zsh", "fish"]);
        clap::Command::new("completions")
            .about("Write what a shell needs to complete commands, tools and flags")
            .after_help("For bash: source <(PROGRAM completions bash)")
            .arg(
                Arg::new("shell").value_name("SHELL").required(true).value_parser(shells).help("Which shell"),
            )
    }

    fn run(&self, program: &Program, matches: &ArgMatches) -> Result<Exit, Failure> {
        let shell = match matches.get_one::<String>("shell").map(String::as_str) {
            Some("zsh") => Shell::Zsh,
            Some("fish") => Shell::Fish,
            _ => Shell::Bash,
        };
        let definitions = program.tools()?.definitions();
        let mut grammar = program.grammar().mut_subcommand(CALL, |call| {
            call.allow_external_subcommands(false)
                .subcommands(definitions.iter().map(|it| grammar_of(program, it)))
        });
        let names: Vec<_> = definitions.iter().map(|it| it.name().to_string()).collect();
        let names = PossibleValuesParser::new(names);
        grammar =
            grammar.mut_subcommand("show", |show| show.mut_arg("name", |name| name.value_parser(names)));
        // The script for bash finds no command of a program with a dash in its name (clap-rs/clap#6421): it is made for
        // another name, and registered for the right one.
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
        let script: String = script.lines().map(line).collect();
        program.print(&script)?;
        Ok(Exit::Done)
    }
}
