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
    let commands: Vec<_> = commands.iter().map(|command| command.grammar()).collect();
    let helps = commands.iter().any(|it| it.get_name() == "help");
    let all = all.disable_help_subcommand(helps);
    (0..commands.len()).fold(all, |all, at| all.subcommand(with_free_aliases(&commands, at)))
}

/// The command at `at` without the aliases that another command has as its name, or a later one as its alias: commands of
/// the program come after those that are built in, and take precedence.
fn with_free_aliases(commands: &[clap::Command], at: usize) -> clap::Command {
    let is_taken = |alias: &str| {
        let (name, later) = (|it: &clap::Command| it.get_name() == alias, commands.iter().skip(at + 1));
        commands.iter().any(name) || later.flat_map(clap::Command::get_all_aliases).any(|it| it == alias)
    };
    let command = &commands[at];
    if !command.get_all_aliases().any(is_taken) {
        return command.clone();
    }
    let kept: Vec<_> =
        command.get_visible_aliases().filter(|alias| !is_taken(alias)).map(str::to_owned).collect();
    command.clone().visible_alias(None).visible_aliases(kept)
}
