//! The grammar of the command line.

use crate::Command;

/// The exit codes, for the help of the program.
const EXIT_CODES: &str = "\
Exit codes:
  0    success
  1    a tool failed, or a check found a problem
  2    the command line or the arguments are invalid
  3    a call was not permitted or not approved
  4    the tools cannot be used
  130  the call was cancelled";

/// Returns the grammar of the program `name` with its commands, in lines of `width` columns.
pub(crate) fn program_grammar(
    name: &str,
    about: Option<&str>,
    width: usize,
    commands: &[Box<dyn Command>],
) -> clap::Command {
    let about = about.map_or_else(|| format!("The tools of {name}"), str::to_owned);
    let all = clap::Command::new(name.to_owned())
        .about(about)
        .after_help(EXIT_CODES)
        .term_width(width)
        .subcommand_required(true)
        .arg_required_else_help(true);
    let commands: Vec<_> = commands.iter().map(|command| command.grammar_in(name)).collect();
    let helps = commands.iter().any(|it| it.get_name() == "help");
    let all = all.disable_help_subcommand(helps);
    (0..commands.len()).fold(all, |all, at| all.subcommand(without_taken_aliases(&commands, at)))
}

/// The command at `index` without the aliases that another command has as its name, or a later one as its alias: commands of
/// the program come after those that are built in, and take precedence.
fn without_taken_aliases(commands: &[clap::Command], index: usize) -> clap::Command {
    let is_taken = |alias: &str| {
        let (name, later) = (|it: &clap::Command| it.get_name() == alias, commands.iter().skip(index + 1));
        commands.iter().any(name) || later.flat_map(clap::Command::get_all_aliases).any(|it| it == alias)
    };
    let command = &commands[index];
    if !command.get_all_aliases().any(is_taken) {
        return command.clone();
    }
    let kept: Vec<_> =
        command.get_visible_aliases().filter(|alias| !is_taken(alias)).map(str::to_owned).collect();
    command.clone().visible_alias(None).visible_aliases(kept)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may")]
mod tests {
    use super::*;
    use crate::{Exit, Failure, Program};

    struct Named(clap::Command);

    impl Command for Named {
        fn grammar(&self) -> clap::Command {
            self.0.clone()
        }

        fn run(&self, _: &Program, _: &clap::ArgMatches) -> Result<Exit, Failure> {
            Ok(Exit::Done)
        }
    }

    /// The names of commands with their aliases, hidden ones in parentheses.
    fn names(commands: Vec<clap::Command>) -> Vec<String> {
        let commands = commands.into_iter().map(|it| Box::new(Named(it)) as Box<dyn Command>);
        let mut grammar = program_grammar("it", None, 80, &commands.collect::<Vec<_>>());
        grammar.build();
        grammar.clone().debug_assert();
        let aliases = |it: &clap::Command| {
            let visible: Vec<_> = it.get_visible_aliases().collect();
            let all = it.get_all_aliases().map(|alias| match visible.contains(&alias) {
                true => format!(" {alias}"),
                false => format!(" ({alias})"),
            });
            all.collect::<String>()
        };
        grammar.get_subcommands().map(|it| format!("{}{}", it.get_name(), aliases(it))).collect()
    }

    #[test]
    fn a_later_command_takes_the_aliases_that_it_needs() {
        let command = |name: &'static str, aliases: &[&'static str]| {
            clap::Command::new(name).visible_aliases(aliases.to_vec())
        };
        let list = || command("list", &["ls", "l"]);
        assert_eq!(names(vec![list(), command("call", &["c"])]), ["list ls l", "call c", "help"]);
        // The name of another command, before or after.
        assert_eq!(names(vec![list(), command("ls", &[])]), ["list l", "ls", "help"]);
        assert_eq!(names(vec![command("ls", &[]), list()]), ["ls", "list l", "help"]);
        // The alias of a later command.
        assert_eq!(names(vec![list(), command("look", &["l"])]), ["list ls", "look l", "help"]);
        assert_eq!(names(vec![command("look", &["l"]), list()]), ["look", "list ls l", "help"]);
        // A hidden alias goes with a visible one that is taken.
        let hidden = list().alias("h");
        assert_eq!(names(vec![hidden.clone(), command("l", &[])]), ["list ls", "l", "help"]);
        assert_eq!(names(vec![hidden]), ["list ls l (h)", "help"]);
        // A command of the program replaces the built-in help.
        assert_eq!(names(vec![list(), command("help", &[])]), ["list ls l", "help"]);
    }

    #[test]
    fn a_program_without_a_description_has_its_name() {
        let about = |about| program_grammar("it", about, 80, &[]).get_about().unwrap().to_string();
        assert_eq!(
            (about(None), about(Some("Sells cakes."))),
            ("The tools of it".into(), "Sells cakes.".into())
        );
    }
}
